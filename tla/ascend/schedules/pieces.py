"""The tail of CATLASS's grouped products: the blocks of the last wave cut along m and n, a piece for each core that has
nothing to do.

Source: CATLASS include/catlass/gemm/block/block_swizzle_grouped_aswt.hpp, block_scheduler_aswt.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...core.arithmetic import round_up
from ...core.errors import LeafTypeError, RangeError
from ...core.ints import leaf
from .block import Block
from .orders import windows, windows_of_4
from .schedule import Schedule
from .swizzles import BlockSwizzle, in_turn

#: The least rows and columns of a piece: those of a block of L1, and of a line of the cache along the axis that is
#: contiguous.
_BLOCK, _LINE = 16, 128


@dataclass(frozen=True)
class TailInPieces:
    """In turn; where no more than half of the cores have a block in the last wave, those blocks are cut into pieces.

    m, n   what a piece is cut by and is a multiple of [elements]; along m it is a multiple only where that is 128
    """

    m: int
    n: int

    def __call__(self, s: Schedule, core: int) -> Iterator[Block]:
        count = len(s.numbered)
        busy = (s.first + count - 1) % s.cores + 1
        tail = min(busy, count)
        high, wide = self._cut(s, 1 + (s.cores - busy) // tail) if 2 * busy <= s.cores else (1, 1)
        yield from (
            b for i, b in enumerate(in_turn(s, core)) if (core - s.first) % s.cores + i * s.cores < count - tail
        )
        i = (core - (busy - tail)) // (high * wide)
        if 0 <= i < tail:
            yield from self._piece(s.block(*s.numbered[count - tail + i]), core % (high * wide), high, wide)

    def _cut(self, s: Schedule, most: int) -> tuple[int, int]:
        """Into how many a block is cut along m and n: as even as can be, of no more than `most` pieces."""
        last = s.block(s.blocks[0] - 1, s.blocks[1] - 1).extents
        high, wide = min(-(-last[0] // self.m), most), min(-(-last[1] // self.n), most)
        while high * wide > most:
            high, wide = (high - 1, wide) if high >= wide else (high, wide - 1)
        return high, wide

    def _piece(self, b: Block, index: int, high: int, wide: int) -> Iterator[Block]:
        """A piece of a block; none where those before it have all of it."""
        rows, columns = -(-b.extents[0] // high), -(-b.extents[1] // wide)
        size = (round_up(rows, self.m) if self.m == _LINE else rows, round_up(columns, self.n))
        at = (index % high * size[0], index // high * size[1])
        m, n = (min(s, extent - a) for s, extent, a in zip(size, b.extents, at))
        if m > 0 and n > 0:
            yield b._replace(start=(b.start[0] + at[0], b.start[1] + at[1], 0), extents=(m, n, b.extents[2]))


@dataclass(frozen=True)
class TailInEvenPieces(TailInPieces):
    """As TailInPieces, of any number of rows and columns: no more pieces than hold a block, each as large as needed."""

    m: int = 1
    n: int = 1

    def _cut(self, s: Schedule, most: int) -> tuple[int, int]:
        last = s.block(s.blocks[0] - 1, s.blocks[1] - 1).extents
        high, wide = (-(-n // -(-n // parts)) for n, parts in zip(last, super()._cut(s, most)))
        return high, wide


class _Aswt(BlockSwizzle):
    """The swizzle with its own arguments: WindowLen, TransA and TransB.

    >>> from tla.ascend import GemmGroupedAswtTailSplitSwizzle
    >>> GemmGroupedAswtTailSplitSwizzle[8, False, True]
    GemmGroupedAswtTailSplitSwizzle[8, False, True]
    """

    def __getitem__(self, arguments: object) -> BlockSwizzle:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if not 1 <= len(given) <= 3:
            wanted = "the length of a window, TransA and TransB"
            what = f"{self.name}[{', '.join(map(str, given))}]"
            raise LeafTypeError(what, wanted, f"write {self.name}[4, False, True]")
        window, *turned = (int(x) if isinstance(x, bool) else int(leaf(x)) for x in (*given, *(0, 1)[len(given) - 1 :]))
        if window < 1 or not {*turned} <= {0, 1}:
            fix = f"write {self.name}[4, False, True]"
            raise RangeError(f"{self.name}{[*given]}", "a window of 1 or more, False or True", fix)
        deal = TailInPieces(_LINE if turned[0] else _BLOCK, _BLOCK if turned[1] else _LINE)
        return replace(self, offset=window, deal=deal)

    def __repr__(self) -> str:
        assert isinstance(self.deal, TailInPieces)
        return f"{self.name}[{self.offset}, {self.deal.m == _LINE}, {self.deal.n == _BLOCK}]"


GemmGroupedAswtTailSplitSwizzle = _Aswt(
    "GemmGroupedAswtTailSplitSwizzle", TailInPieces(m=_BLOCK, n=_BLOCK), windows, offset=4
)
BlockSchedulerAswt = BlockSwizzle("BlockSchedulerAswt", TailInEvenPieces(), windows_of_4)
