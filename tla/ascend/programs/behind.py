"""The least that vector cores take of a block behind a product, by bytes and repeats, however these lie; and the tiles of UB
that are tried for them.

Source: ours, of CANN's rates.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ...core.arithmetic import round_up
from ..transfers.side import tensor_at
from .activations import STAGES
from .block import Plan, placed
from .estimate import PACKAGE, Costs, Rates, packages
from .statements import Part
from .vector_cores import COLUMNS, MOST_UB, buffer_rows, room_of_tiles, tiles_of

#: How many heights of tiles of vector cores are tried, each half of the one before; and how many widths.
HEIGHTS, WIDTHS = 3, 2
#: The bytes that a repeat of the vector unit computes.
REPEAT = 256


class Beside(NamedTuple):
    """The part of UB that vector cores have: (rows, columns) of a tile, and the stages of C, 0 over a workspace."""

    ub: tuple[int, int]
    stages: int


def besides(plan: Plan) -> Iterator[Beside]:
    """The tiles of UB that are tried: as high as UB has room for of what a vector core has of a block, half and a quarter of
    that; as wide, and half."""
    of, whole = plan.activation, plan.split is None
    assert of is not None
    for stages in (0,) if whole else range(1, MOST_UB + 1):
        (high, wide), room = room_of_tiles(plan, stages)
        for columns in dict.fromkeys((wide, min(wide, round_up(-(-wide // WIDTHS), COLUMNS)))):
            heights = dict.fromkeys(-(-high // 2**i) for i in range(high.bit_length() + 1))
            fit = [rows for rows in heights if of.taken((rows, columns), whole) <= room]
            yield from (Beside((rows, columns), stages) for rows in fit[:HEIGHTS])


class _Work(NamedTuple):
    """The cycles that a vector core's pipes take of a block, and of its first and its last tile."""

    busy: tuple[int, int, int]
    first: tuple[int, int, int]
    last: tuple[int, int, int]


_NONE = _Work((0, 0, 0), (0, 0, 0), (0, 0, 0))


class Behind:
    """The least cycles of vector cores behind a core with blocks of a plan."""

    def __init__(self, plan: Plan, rates: Rates, beside: Beside) -> None:
        assert plan.activation is not None
        self._of = replace(plan.activation, tile=beside.ub)
        self._plan, self._rates, self._beside = replace(plan, activation=self._of), rates, beside
        self._kept: dict[tuple[int, int], tuple[_Work, ...]] = {}

    def of(self, m: int, n: int) -> tuple[_Work, ...]:
        """The work of each vector core for a block of m by n."""
        if (m, n) not in self._kept:
            cores = range(self._plan.vectors)
            self._kept[m, n] = tuple(self._of_tiles([x for _, x in tiles_of(self._plan, (m, n), i)]) for i in cores)
        return self._kept[m, n]

    def of_pipe(self, core: int, pipe: int, m: int, n: int) -> int:
        """The cycles of a pipe of a vector core for a block of m by n: of MTE2, V and MTE3."""
        return self.of(m, n)[core].busy[pipe]

    def _of_tiles(self, tiles: list[tuple[int, int]]) -> _Work:
        each = [(self._comes(m, n), self._computed(m, n), self._leaves(m, n)) for m, n in tiles]
        if not each:
            return _NONE
        mte2, v, mte3 = map(sum, zip(*each))
        return _Work((mte2, v, mte3), each[0], each[-1])

    def _comes(self, m: int, n: int) -> int:
        """The cycles of MTE2: of a tile of the workspace."""
        if self._plan.split is not None:
            return 0
        wide, size = self._plan.sizes[1], self._of.element.bits // 8
        count = packages(m, n * size) if n < wide else m * n * size // PACKAGE
        return self._rates.load_start + self._rates.read(count)

    def _computed(self, m: int, n: int) -> int:
        """The cycles of V: each repeat of an instruction computes 256 bytes of the wider type at most."""
        of, sizes = self._of, [self._of.element.bits] * len(self._of.steps)
        sizes += [max(of.element.bits, of.to.bits)] * of.casts
        return sum(-(-m * n * bits // (8 * REPEAT)) for bits in sizes)

    def _leaves(self, m: int, n: int) -> int:
        """The cycles of MTE3."""
        return -(-m * n * self._of.to.bits // (8 * self._rates.store))

    @functools.cached_property
    def exact(self) -> Behind:
        """The same, with the cycles that V takes of the banks; over unified buffers, where C lies as a block does, this one."""
        return self if self._plan.split is not None else _Exact(self._plan, self._rates, self._beside)

    def busy(self, blocks: Iterable[tuple[tuple[int, int], int]]) -> int:
        """The cycles of the busiest pipe of vector cores, of blocks (m, n), each so many times."""
        totals: dict[tuple[int, int], int] = {}
        for sizes, count in blocks:
            for core, work in enumerate(self.of(*sizes)):
                for pipe, cycles in enumerate(work.busy):
                    totals[core, pipe] = totals.get((core, pipe), 0) + cycles * count
        return max(totals.values(), default=0)

    def tail(self, m: int, n: int) -> int:
        """The cycles behind the store of a block: its tiles come, are computed and leave, one behind another."""
        return max(_through(work) for work in self.of(m, n))


class _Exact(Behind):
    """The least cycles of vector cores, with those of V as they are, but for the stage that a tile lies in."""

    @functools.cached_property
    def _costs(self) -> Costs:
        rows = placed(buffer_rows(self._plan), {"tiles": STAGES}, self._plan.arch)
        return Costs(self._rates, {b.name: b for b in rows}, self._plan.arch)

    def _computed(self, m: int, n: int) -> int:
        if (m, n) not in self._took:
            tile, stages = tensor_at("UB", self._of.layout(self._of.element, (m, n))), range(STAGES)
            made = (self._of.computed("ub0", i, "AIV0.V", f"ub0C{i}", tile) for i in stages)
            self._took[m, n] = min(sum(self._costs.of_part(s)[1] for s in x if isinstance(s, Part)) for x in made)
        return self._took[m, n]

    @functools.cached_property
    def _took(self) -> dict[tuple[int, int], int]:
        """The cycles of V by the sizes of tiles."""
        return {}


def _through(work: _Work) -> int:
    """The cycles from the first tile's begin to the last one's end, whichever pipe is the slowest."""
    (mte2, v, mte3), first, last = work
    return max(mte2 + last[1] + last[2], first[0] + v + last[2], first[0] + first[1] + mte3)
