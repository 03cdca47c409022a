"""The results of a program that a check is asked for, and what it finds to be wrong.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...core.errors import RangeError
from ...core.ints import IntLike, leaf
from ...symbolic.conditions import Condition
from ..schedules import Block
from .activations import Activation
from .memory import Touched
from .origins import Sum, Term, joined, scale_term

R = TypeVar("R")

#: So many findings are told; more are counted.
MOST_FINDINGS = 20


class Product(NamedTuple):
    """A result: c is a @ b, plus the biases, or plus what c held.

    c, a, b   the names of tensors in global memory;  bias   the name of a vector, or None
    blocks    the blocks of c that the program makes, with what it adds of k; None: all of c
    adds      whether it adds them to zeros that c holds before
    scales    the names of the tensors of scales of a and b, of MX types; None without
    sparse    the name of the index of a 4:2 sparse b, of which then half of the rows are stored; None of others
    channels  the name of the vector whose elements the columns are multiplied by, or None
    relu      whether negative elements become 0 on the way out, which a log is asked for
    activation  what vector cores make of each element (Activation), or None
    conversion  of a block, the fields with which Fixpipe converts the sums: quantPre, reluEn, deqScalar; None of a log

    >>> from tla.ascend import Product
    >>> Product("C", "A", "B").terms(64)
    (Term(a='A', b='B', begin=0, end=64),)

    Source: ours.
    """

    c: str
    a: str
    b: str
    bias: str | None = None
    blocks: tuple[Block, ...] | None = None
    adds: bool = False
    scales: tuple[str, str] | None = None
    sparse: str | None = None
    channels: str | None = None
    relu: bool = False
    activation: Activation | None = None
    conversion: tuple[tuple[str, str], ...] | None = None

    def terms(self, end: int, begin: int = 0) -> Sum:
        """The terms of each element of a block."""
        a, b = (self.a, self.b) if self.scales is None else map("*".join, zip((self.a, self.b), self.scales))
        b = b if self.sparse is None else f"{b}*{self.sparse}"
        more = [Term(self.bias, None)] if self.bias is not None else []
        more += [scale_term(self.channels)] if self.channels is not None else []
        return joined([Term(a, b, begin, end), *more])


class Copied(NamedTuple):
    """A result: the elements of one tensor are those of another at the same coordinates; its padding may be anything.

    dst, src    the names of buffers
    parts       the boxes of dst that are copied, ((row, column), (rows, columns)), all else stays; None: all of it
    activation  what becomes of each element on the way (Activation), or None

    >>> from tla.ascend import Copied
    >>> Copied("tile", "A").src
    'A'

    Source: ours.
    """

    dst: str
    src: str
    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] | None = None
    activation: Activation | None = None


class Computed(NamedTuple):
    """A result: a function of other tensors, or of what it held before; its padding may be anything.

    dst       the name of a tensor in global memory
    function  of numpy arrays, the values of `sources`: gives those of dst, in floating point
    sources   the names of tensors in global memory

    >>> import numpy as np
    >>> from tla.ascend import Computed
    >>> Computed("C", np.add, ("A", "B")).sources
    ('A', 'B')

    Source: ours.
    """

    dst: str
    function: Callable[..., Any]
    sources: tuple[str, ...]


class Finding(NamedTuple):
    """A thing that is wrong.

    kind   "value": an element of a result is not what it should be, or converted otherwise; "outside": a place outside of
           a memory or a tensor is read or written, or a tile begins off the unit of its memory; "order": two instructions
           touch the same place in no order, or one writes it twice; "pipe": two in the same pipe without a barrier
           between; "flag": a flag is set twice, waited for by nothing, or for ever, or an accumulator is handed over for ever
    what   in words;  event   where it shows, or None;  between   of an order the two events and their place (Touched)

    >>> from tla.ascend import Finding
    >>> print(Finding("order", "Mmad may not wait for LoadData2D"))
    order: Mmad may not wait for LoadData2D

    Source: ours.
    """

    kind: str
    what: str
    event: Any = None
    between: Touched | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@dataclass(frozen=True)
class Report:
    """The findings of a check.

    findings   what is wrong, the first of each kind and place
    notes      what is right if a pipe finishes what it begins in order, as CATLASS takes for granted and the manual
               does not promise
    counts     how much was gone through: events, elements of results
    proved     of a block of sizes that are names: what is proved, for which sizes; conditions on sizes under
               which it is

    >>> from tla.ascend import block
    >>> report = block((20, 20, 20), (32, 32, 32), (32, 32, 32)).check()
    >>> report.holds, report.counts["elements of results"]
    (True, 400)

    Source: ours.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    counts: Mapping[str, int]
    proved: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        counted = ", ".join(f"{n} {what}" for what, n in self.counts.items())
        told = [str(f) for f in self.findings[:MOST_FINDINGS]]
        more = [f"and {len(self.findings) - MOST_FINDINGS} more"] if len(self.findings) > MOST_FINDINGS else []
        rows = [f"{'holds' if self.holds else 'does not hold'}: {counted}", *told, *more]
        rows += (f"proved: {what}" for what in self.proved)
        rows += (f"where {c}" for c in self.conditions)
        return "\n".join([*rows, *(f"note: {n.what}" for n in self.notes)])


def together(reports: Iterable[Report]) -> Report:
    """Several reports as one."""
    found = [*reports]
    counts: dict[str, int] = {}
    for what, n in (row for r in found for row in r.counts.items()):
        counts[what] = counts.get(what, 0) + n
    notes = {n.what: n for r in found for n in r.notes}
    return Report(tuple(f for r in found for f in r.findings), tuple(notes.values()), counts)


def of_cores(table: Sequence[R], core: IntLike | None) -> Sequence[R]:
    """The rows of a table for every core, or for one; RangeError for a core that there is not."""
    number = None if core is None else int(leaf(core))
    if number is not None and not 0 <= number < len(table):
        raise RangeError(f"check of core {number}", f"0 to {len(table) - 1}", "leave out core=")
    return table if number is None else table[number : number + 1]
