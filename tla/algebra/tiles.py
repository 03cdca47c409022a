"""Tiles of layouts: the part of a layout that a block works on, with its tail, and what is padding.

A tile is a layout and a start. The layout has the strides of the whole, so the offset of the element c of the tile is
`tile(start + c)`, wherever the tile starts; the start is kept apart, as instructions need it in blocks, not
as an address.

Source: TLA include/tla/layout.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core.cache import memo
from ..core.conversions import crd2idx
from ..core.coord import Coord, CoordLike, as_coord
from ..core.errors import Predicate, RangeError, RankError, Reason
from ..core.int_tuple import as_int_tuple, leaves, modes_of, product, product_each, shown
from ..core.ints import IntTree, IntTupleLike, Leaf, _0, is_constant, leaf
from ..core.layout import Layout, as_layout, require_origin
from ..core.leaf_arithmetic import ceil_div, larger, smaller
from ..core.profiles import weakly_congruent
from ..core.questions import at_most, divides, equal
from ..core.strides import Shape
from .modes import prepend


def MakeLayoutTile(layout: Layout, tile: IntTupleLike) -> Layout:
    """The layout of a tile of `layout`, starting at its origin: the tile's extents, the layout's strides.

    tile      one integer per top-level mode, 0 or more [elements]
    Returns   a nested mode keeps its inner extents (a fractal stays whole), and counts as many of the last as cover the
              tile; origin_shape is as much of the tile as holds valid data of the layout
    Raises    RankError where the ranks differ, RangeError for an extent below 0

    >>> from tla import MakeLayoutTile, MakeShape, parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> print(MakeLayoutTile(a, MakeShape(4, 4)))
    ((_4,1),(_4,1)):((_4,_16),(_1,_32))
    >>> MakeLayoutTile(a, (5, 9))
    parse('((_4,2),(_4,3)):((_4,_16),(_1,_32))', origin_shape=parse('(5,9)'))

    Source: TLA `MakeLayoutTile` (2025); static tiles give static counts here.
    """
    layout = as_layout("MakeLayoutTile", layout)
    return tiled("MakeLayoutTile", layout, tile, (_0,) * len(modes_of(layout.shape)))


def GetTileLayout(layout: Layout, tile: IntTupleLike, coord: CoordLike) -> Layout:
    """The layout of the tile of `layout` that starts at `coord`: the tile's extents, the layout's strides.

    tile      one integer per top-level mode, 0 or more [elements]; it may reach past the end
    coord     where the tile starts, one integer per top-level mode, 0 or more [elements]; or in blocks: nested like the
              shape, such as ((0, 2), (0, 3)) for block row 2 and block column 3
    Returns   shape as MakeLayoutTile has it; origin_shape is what is valid from the start on, 0 where that is
              past the end
    Raises    RankError where the ranks differ, RangeError for an extent or a start below 0, Unproven where
              sizes that are not known decide

    The offset of the element c of the tile is `tile(coord + c)`, for every start. Where the start is on a block
    boundary, which `is_on_block` answers, it is `layout(coord) + tile(c)` too, and the blocks that the shape counts
    hold the tile.

    >>> from tla import GetTileLayout, idx2crd, parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> tile = GetTileLayout(a, (4, 8), (4, 8))
    >>> print(tile, tile.origin_shape, tile(4 + 3, 8 + 1), idx2crd((4, 8), a.shape))
    ((_4,1),(_4,2)):((_4,_16),(_1,_32)) (4,4) 93 ((0,1),(0,2))

    Source: TLA `GetTileLayout` (2026), which takes flat layouts of any rank, and pairs of rank 2.
    """
    layout = as_layout("GetTileLayout", layout)
    return tiled("GetTileLayout", layout, tile, start_of("GetTileLayout", layout, coord))


@Predicate
def is_on_block(layout: Layout, coord: CoordLike) -> Reason | bool | None:
    """Whether `coord` is on a block boundary in every mode: a multiple of the inner extents, all but
    the outermost count.

    coord     as in GetTileLayout
    Returns   True, False, or None where sizes are not known. If True, the tile at `coord` can be addressed from there:
              layout(coord + c) == layout(coord) + tile(c)

    >>> from tla import is_on_block, parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> is_on_block(a, (4, 8)), is_on_block(a, (5, 8)), is_on_block.why_not(a, (5, 8)).what
    (True, False, 'the start (5,8) is inside a block of _4 in mode 0 of ((_4,_2),(_4,_3)):((_4,_16),(_1,_32))')
    """
    layout = as_layout("is_on_block", layout)
    answer: bool | None = True
    for i, (c, s) in enumerate(zip(start_of("is_on_block", layout, coord), modes_of(layout.shape))):
        block = product(tuple(leaves(s))[:-1])
        here = True if equal(c, 0) else divides(block, c)
        if here is False:
            what = f"the start {shown(coord)} is inside a block of {block} in mode {i} of {shown(layout)}"
            return Reason(
                what, f"a multiple of {block}", "start at the block before, or address the tile by absolute coordinates"
            )
        answer = answer and here
    return answer


def MakeBatchedLayout(layout: Layout, batch: IntTupleLike, stride: IntTupleLike) -> Layout:
    """`batch` copies of a layout, `stride` elements apart: one mode more, in front.

    Returns   Layout, with the origin_shape of `layout` behind that of the batch
    Raises    LeafTypeError, RangeError as Layout does

    >>> from tla import GetTileLayout, MakeBatchedLayout, parse
    >>> a = MakeBatchedLayout(parse("((_16,7),(_16,4)):((_16,_256),(_1,1792))"), 3, 7168)
    >>> print(a, GetTileLayout(a, (1, 32, 16), (2, 16, 16)))
    (3,(_16,7),(_16,4)):(7168,(_16,_256),(_1,1792)) (1,(_16,2),(_16,1)):(7168,(_16,_256),(_1,1792))

    Source: TLA `MakeBatchedLayout_t`, which is a type, and whose fractals it does not tile.
    """
    return prepend(as_layout("MakeBatchedLayout", layout), Layout(leaf(batch), leaf(stride)))  # type: ignore[no-any-return]


class Box(NamedTuple):
    """A box of coordinates in a layout: its layout, and where it starts.

    layout   as GetTileLayout has it: the offset of the element c is `layout(coord + c)`; its origin_shape is the box
    coord    the start, one integer per top-level mode [elements]
    """

    layout: Layout
    coord: Coord


def padding(layout: Layout) -> Iterator[Box]:
    """The padding of a layout, shape minus origin_shape, as disjoint boxes that are all of it together.

    Yields   Box, at most one per top-level mode: in mode i all that is past origin_shape, in those before it what is
             valid. A box that is known to be empty is left out.

    >>> from tla import MakeLayout, padding
    >>> from tla.ascend import half, zN
    >>> for box in padding(MakeLayout[half, zN](20, 30)):
    ...     print(box.coord, box.layout.origin_shape, box.layout)
    (20,_0) (12,32) ((_16,1),(_16,2)):((_16,_256),(_1,512))
    (_0,30) (20,2) ((_16,2),(_16,1)):((_16,_256),(_1,512))

    Source: CATLASS `InitZeroInL1A`, which computes it by hand.
    """
    layout = as_layout("padding", layout)
    whole, valid = product_each(layout.shape), require_origin("padding", layout)
    for i, (n, v) in enumerate(zip(whole, valid)):
        extents = (*valid[:i], n - v, *whole[i + 1 :])
        if any(at_most(e, 0) for e in extents):
            continue
        coord = Coord(*(v if k == i else _0 for k in range(len(whole))))
        yield Box(_cut(layout, extents, extents), coord)


def tiled(where: str, layout: Layout, tile: IntTupleLike, start: tuple[Any, ...]) -> Layout:
    """The result of GetTileLayout, for a start [elements] that has been checked."""
    extents = _extents(where, layout, tile)
    rests = map(_rest, require_origin(where, layout), start)
    return _cut(layout, extents, tuple(map(smaller, extents, rests)))


@memo  # all tiles but the tails are one layout
def _cut(layout: Layout, extents: tuple[Any, ...], valid: tuple[Any, ...]) -> Layout:
    """The layout with other extents [elements], of which some are valid, and its own strides."""
    shapes = [*map(_tile_mode, modes_of(layout.shape), extents)]
    return Layout(Shape(*shapes) if isinstance(layout.shape, tuple) else shapes[0], layout.stride, Shape(*valid))


def _extents(where: str, layout: Layout, tile: IntTupleLike) -> tuple[Any, ...]:
    tile = as_int_tuple(tile)
    if not _has_modes_of(tile, layout.shape) or any(isinstance(t, tuple) for t in modes_of(tile)):
        whole = product_each(layout.shape) if isinstance(layout.shape, tuple) else product(layout.shape)
        expected = f"extents like {shown(whole)}: one integer per top-level mode"
        raise RankError(f"tile {shown(tile)} of {shown(layout)}", expected, "give the size of the tile in each mode")
    for t in modes_of(tile):
        if at_most(t, -1):
            raise RangeError(f"{where}: a tile of {t}", "0 or more", "give how many elements it has in each mode")
    return modes_of(tile)


def _has_modes_of(x: object, shape: IntTupleLike) -> bool:
    """Whether x has a mode for each of a shape; or is one, where that is one integer."""
    return isinstance(x, tuple) == isinstance(shape, tuple) and len(modes_of(x)) == len(modes_of(shape))


def start_of(where: str, layout: Layout, coord: object) -> tuple[Any, ...]:
    """The start in elements, one integer per top-level mode."""
    coord, shape = as_coord(coord), layout.shape
    modes = [*zip(modes_of(coord), modes_of(shape))]
    if not _has_modes_of(coord, shape) or any(isinstance(c, tuple) and not weakly_congruent(c, s) for c, s in modes):
        what = f"{where}: the start {shown(coord)} in {shown(layout)}"
        expected = f"{len(modes_of(shape))} integers, or a coordinate nested like the shape"
        raise RankError(what, expected, "give where the tile starts in each mode")
    start = tuple(leaf(crd2idx(c, s) if isinstance(c, tuple) else c) for c, s in modes)
    for c in start:
        if at_most(c, -1):
            raise RangeError(
                f"{where}: the start {shown(coord)} is before the layout", "0 or more in each mode", "start it at 0"
            )
    if not all(_digits_fit(c, s) for c, s in modes if isinstance(c, tuple)):
        what = f"{where}: the start {shown(coord)} in {shown(layout)}"
        raise RangeError(
            what, "each integer 0 or more, and below its extent but for the last", "carry what is more over to the next"
        )
    return start


def _digits_fit(c: IntTree, s: IntTree, last: bool = True) -> bool:
    """Whether no integer of a coordinate is known to be outside of its extent; the last of all has no end."""
    if isinstance(c, tuple):
        return all(_digits_fit(x, n, last and k == len(c) - 1) for k, (x, n) in enumerate(zip(c, s)))
    return not at_most(c, -1) and (last or not at_most(product(s), c))


def _rest(valid: Leaf, start: Leaf) -> Any:
    """The part of what is valid that lies from the start on."""
    return valid if is_constant(0, start) else larger(valid - start, _0)


def _tile_mode(s: object, t: int) -> IntTree:
    if not isinstance(s, tuple):
        return t
    if not s:
        raise RankError(f"a tile of {t} of a mode without extents", "a mode that has extents", "leave that mode out")
    inner = s[:-1]
    return (*inner, _tile_mode(s[-1], ceil_div(t, product(inner))))
