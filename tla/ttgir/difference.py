"""Two compiles of a kernel compared: what each place in the source costs in the one and in the other."""

from __future__ import annotations

from typing import NamedTuple

from .costs import Costs
from .loops import Size


class Change(NamedTuple):
    """The cost of the operations of one name at one place in the source, in two programs.

    operation   such as ttg.local_load
    source      the place; nothing where the programs do not say it
    unit        wavefronts, sectors, shuffles or bytes
    before      of all of them, each as often as it runs
    after       the same in the other program

    >>> Change("ttg.local_load", "kernels.py:16:13", "wavefronts", 512, 64).differs
    True
    """

    operation: str
    source: str
    unit: str
    before: Size
    after: Size

    @property
    def differs(self) -> bool:
        """Whether the two are not the same number, or formula."""
        return self.before != self.after


def difference(before: Costs, after: Costs) -> tuple[Change, ...]:
    """Compare what two compiles of a kernel cost, place by place: all places, those that are the same too.

    >>> from tla.ttgir import costs, program_of
    >>> text = '''
    ... #rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
    ... #m = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    ... module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:80"} {
    ...   %x = arith.constant dense<0.0> : tensor<8x64xf16, #rows>
    ...   %m = ttg.local_alloc %x : (tensor<8x64xf16, #rows>) -> !ttg.memdesc<8x64xf16, #m, #ttg.shared_memory>
    ... }'''
    >>> before, after = (costs(program_of(t)) for t in (text, text.replace("order = [0, 1]", "order = [1, 0]")))
    >>> difference(before, after)
    (Change(operation='ttg.local_alloc', source='', unit='wavefronts', before=128, after=8),)
    """
    one, other = _by_place(before), _by_place(after)
    return tuple(Change(*key, one.get(key, 0), other.get(key, 0)) for key in dict.fromkeys((*one, *other)))


def _by_place(found: Costs) -> dict[tuple[str, str, str], Size]:
    total: dict[tuple[str, str, str], Size] = {}
    for row in found.rows:
        for part in row.parts:
            key = row.op.name, row.op.source, part.unit
            total[key] = total.get(key, 0) + row.times * (part.cost or 0)
    return total
