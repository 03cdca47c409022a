"""CATLASS's block swizzles, a row of a table each: how blocks are numbered, and how the cores take them.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp, epilogue/tile/tile_swizzle.hpp, and the loops of the
kernels that use them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import quoted, shown
from ...core.ints import leaf
from .block import Block
from .orders import columns, lines, snake, windows_of_4, zigzag
from .schedule import Deal, Order, Schedule, positive, require_countable, sizes_of

__all__ = [
    "BlockSchedulerIterateK",
    "BlockSwizzle",
    "ColumnBlockSwizzle",
    "EpilogueHorizontalTileSwizzle",
    "EpilogueIdentityTileSwizzle",
    "GemmIdentityBlockSwizzle",
    "GemmIdentityBlockSwizzleL1FullLoad",
    "SingleCoreSplitkGemmIdentityBlockSwizzle",
    "SplitkGemmIdentityBlockSwizzle",
    "StreamkGemmIdentityBlockSwizzle",
    "TailSplitkGemmIdentityBlockSwizzle",
]


@dataclass(frozen=True)
class BlockSwizzle:
    """A block swizzle of CATLASS: called with a problem and a tile it gives the schedule.

    name        as CATLASS has it
    offset      the blocks of a strip, side by side; direction 0: strips of rows, walked along n (Zn), 1: of columns,
                along m (Nz). In square brackets, as C++ has them: `GemmIdentityBlockSwizzle[3, 0]`
    rank        3: problems and tiles are (m, n, k) of a product, 2: (m, n) of an epilogue's block

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> GemmIdentityBlockSwizzle, GemmIdentityBlockSwizzle[3, 1]
    (GemmIdentityBlockSwizzle[1, 0], GemmIdentityBlockSwizzle[3, 1])
    >>> print(GemmIdentityBlockSwizzle[3, 1]((64, 128, 32), (32, 32, 32), cores=5))
    0 1 2 2
    3 4 0 1

    Raises LeafTypeError and RangeError for sizes that are none. Source: CATLASS block_swizzle.hpp.
    """

    name: str
    deal: Deal
    order_of: Order = zigzag
    splits: bool = False
    rank: int = 3
    offset: int = 1
    direction: int = 0

    def __getitem__(self, arguments: object) -> BlockSwizzle:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if not 1 <= len(given) <= 2 or self.order_of in _FIXED:
            expected = "no arguments: it has one order" if self.order_of in _FIXED else "an offset, and a direction"
            what = f"{self.name}[{', '.join(map(str, given))}]"
            raise LeafTypeError(what, expected, f"write {self.name}(problem, tile)")
        offset, direction = int(leaf(given[0])), int(leaf((*given, 0)[1]))
        if offset < 1 or direction not in (0, 1):
            expected = "an offset of 1 or more, direction 0 or 1"
            raise RangeError(f"{self.name}[{offset}, {direction}]", expected, f"write {self.name}[1, 0]")
        return replace(self, offset=offset, direction=direction)

    def __call__(self, problem: object, tile: object, *, cores: int | None = 1, splitkFactor: int = 1) -> Schedule:
        given = ("problem", problem), ("tile", tile)
        sizes, tiles = (sizes_of(f"the {what} of {self.name}", x, self.rank) for what, x in given)
        if min(*sizes, *tiles) < 1:
            what = f"the problem {shown(sizes)} in tiles of {shown(tiles)}"
            raise RangeError(what, "sizes of 1 or more", "leave out what is empty")
        cores, factor = positive("cores", cores), positive("splitkFactor", splitkFactor)
        self.require_slices(factor)
        if self.rank == 2:  # nothing is multiplied
            sizes, tiles = (*sizes, 0), (*tiles, 1)
        return Schedule(repr(self), self.order_of, self.deal, self.offset, self.direction, sizes, tiles, cores, factor)  # type: ignore[arg-type]

    def require_slices(self, factor: int) -> None:
        """LeafTypeError for slices of k that it does not deal."""
        if factor > 1 and not self.splits:
            what, fix = f"{self.name} with splitkFactor={factor}", "write SplitkGemmIdentityBlockSwizzle"
            raise LeafTypeError(what, "a swizzle that cuts k into that many slices", fix)

    def __repr__(self) -> str:
        return self.name if self.order_of in _FIXED else f"{self.name}[{self.offset}, {self.direction}]"


def require_product_swizzle(what: str, given: object) -> None:
    """LeafTypeError for what is no block swizzle of a product; what: which is dealt by it."""
    if not isinstance(given, BlockSwizzle) or given.rank != 3:
        expected = "a block swizzle of (m, n, k)"
        raise LeafTypeError(
            f"{what} dealt by {quoted(given, 60)}", expected, "write swizzle=GemmIdentityBlockSwizzle[3, 0]"
        )


#: The orders without an offset.
_FIXED = (columns, lines, windows_of_4)

# -------------------------------------------------------------------------------------------- how the cores take blocks


def _slice(count: int, parts: int, i: int) -> tuple[int, int]:
    """The begin and the end of part i of `count`, the first parts one longer."""
    size, longer = divmod(count, parts)
    begin = i * size + min(i, longer)
    return begin, begin + size + (i < longer)


def in_turn(s: Schedule, core: int) -> Iterator[Block]:
    """Block i is core i % cores's; slices of k are the matrix again, and again."""
    for task in range((core - s.first) % s.cores, len(s.numbered) * s.splitkFactor, s.cores):
        part, i = divmod(task, len(s.numbered))
        yield s.block(*s.numbered[i], *_slice(s.blocks[2], s.splitkFactor, part))


def side_by_side(s: Schedule, core: int) -> Iterator[Block]:
    """A core's blocks follow one another, so that it keeps what they share."""
    for i in range(*_slice(len(s.numbered), s.cores, core)):
        yield s.block(*s.numbered[i])


def k_outside(s: Schedule, core: int) -> Iterator[Block]:
    """As side_by_side, block by block of k: the result is added to in global memory."""
    require_countable(f"the blocks of all cores of {s!r}", s.blocks[2] * len(s.numbered))
    for k in range(s.blocks[2]):
        for i in range(*_slice(len(s.numbered), s.cores, core)):
            yield s.block(*s.numbered[i], k, k + 1)


def tail_in_slices(s: Schedule, core: int) -> Iterator[Block]:
    """In turn; the blocks that are left in the last wave are cut along k, as long as there are cores for the slices."""
    left = len(s.numbered) % s.cores
    whole, factor = len(s.numbered) - left, min(s.cores // left, s.blocks[2]) if left else 1
    for task in range(core, whole + left * factor, s.cores):
        if task < whole:
            yield s.block(*s.numbered[task], 0, s.blocks[2])
            continue
        i, part = divmod(task - whole, factor)
        yield s.block(*s.numbered[whole + i], *_slice(s.blocks[2], factor, part))


def tail_as_stream(s: Schedule, core: int) -> Iterator[Block]:
    """In turn; the blocks of k of what is left in the last wave are one row, of which each core takes as many.

    So a core may have the end of one block and the begin of the next. It has them before its last whole block.
    """
    k, left = s.blocks[2], len(s.numbered) % s.cores
    whole = len(s.numbered) - left
    own = [*range(core, whole, s.cores)]
    yield from (s.block(*s.numbered[i]) for i in own[:-1])
    begin, end = _slice(left * k, s.cores, core)
    while begin < end:
        i, first = divmod(begin, k)
        last = min(k, first + end - begin)
        yield s.block(*s.numbered[whole + i], first, last)
        begin += last - first
    yield from (s.block(*s.numbered[i]) for i in own[-1:])


def in_columns(s: Schedule, core: int) -> Iterator[Block]:
    """A core has as many whole columns of blocks as every other; columns of elements left are shared out evenly."""
    high, wide, width = s.blocks[0], s.problem[1], s.tile[1]
    own, left = divmod(wide, s.cores * width)
    for i in range(own * core * high, own * (core + 1) * high):
        yield s.block(*s.numbered[i])
    begin, end = _slice(left, s.cores, core)
    for m in range(high if begin < end else 0):
        b = s.block(m, own * s.cores)
        yield b._replace(start=(b.start[0], b.start[1] + begin, 0), extents=(b.extents[0], end - begin, b.extents[2]))


GemmIdentityBlockSwizzle = BlockSwizzle("GemmIdentityBlockSwizzle", in_turn)
SplitkGemmIdentityBlockSwizzle = BlockSwizzle("SplitkGemmIdentityBlockSwizzle", in_turn, splits=True)
SingleCoreSplitkGemmIdentityBlockSwizzle = BlockSwizzle("SingleCoreSplitkGemmIdentityBlockSwizzle", k_outside, snake)
GemmIdentityBlockSwizzleL1FullLoad = BlockSwizzle("GemmIdentityBlockSwizzleL1FullLoad", side_by_side)
TailSplitkGemmIdentityBlockSwizzle = BlockSwizzle("TailSplitkGemmIdentityBlockSwizzle", tail_in_slices)
StreamkGemmIdentityBlockSwizzle = BlockSwizzle("StreamkGemmIdentityBlockSwizzle", tail_as_stream)
ColumnBlockSwizzle = BlockSwizzle("ColumnBlockSwizzle", in_columns, columns)
EpilogueIdentityTileSwizzle = BlockSwizzle("EpilogueIdentityTileSwizzle", in_turn, lines, rank=2)
BlockSchedulerIterateK = BlockSwizzle("BlockSchedulerIterateK", in_turn, lines)
EpilogueHorizontalTileSwizzle = BlockSwizzle("EpilogueHorizontalTileSwizzle", in_turn, columns, rank=2)
