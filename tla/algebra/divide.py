"""Divides and products: layouts cut into tiles, and repeated.

The zipped, tiled and flat forms are regroupings of the logical ones; blocked and raked products interleave the modes.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from typing import Any

from ..core import arithmetic
from ..core.basis import Basis
from ..core.cache import memo
from ..core.errors import DivisibilityError, Predicate, RankError, Reason
from ..core.int_tuple import (
    IntTuple,
    Underscore,
    as_int_tuple,
    get,
    leaves,
    modes_of,
    opened,
    product,
    product_each,
    rank,
    shown,
    size,
)
from ..core.ints import Int, IntTree, IntTupleLike, _0, _1, is_int
from ..core.kinds import AnyLayout, by_kind, certified
from ..core.layout import Layout, as_layout, carried, join
from ..core.leaf_arithmetic import mul
from ..core.questions import at_most, equal, every, require
from ..core.strides import LayoutLeft, LayoutRight
from ..core.valid import ALL
from .by_mode import TilerLike, by_mode, in_brackets, keeping_valid
from .coalesce import coalesce
from .codomain import cosize
from .complement import complement, ends_and_strides, modes_along, plain_complement, reach_of
from .composition import composition
from .cutting import cut_static
from .flat_modes import by_stride, has_symbols
from .modes import append
from .ordered import MakeOrderedLayout
from .plain_integers import naming_static

_ONE = Layout(_1, _0)


@in_brackets
@certified
@functools.partial(by_mode, keep_rest=True)
def logical_divide(a: Layout, b: Layout) -> Layout:
    """The layout cut into tiles: mode 0 is a tile, mode 1 counts the tiles.

    a         what is cut
    b         a tile: a layout into a's domain, an integer n for n:1, or a tuple of these, one per mode of a; `_` and
              the modes that the tuple does not reach stay whole
    Returns   composition(a, (b, complement(b, size(a)))). Of numbers, tiles that do not divide reach past the end; of
              sizes that are not known, that they divide is proved, or recorded by assuming(). origin_shape is None
              where tiles cross the edge of what is valid and no mode says which part of them is
    Raises    what composition and complement raise; DivisibilityError for a tile with gaps that no copies of it fill:
              elements would be lost

    >>> from tla import logical_divide, parse, _2, _4
    >>> print(logical_divide(parse("_16:_3"), _4))
    (_4,_4):(_3,_12)
    >>> print(logical_divide(parse("(_8,_6):(_1,_8)"), (_4, _2)))
    ((_4,_2),(_2,_3)):((_1,_4),(_8,_16))

    Source: CuTe `logical_divide`.
    """
    plain_a, plain_b = a.plain_modes(), b.plain_modes()
    if plain_a and plain_b and b._valid is ALL:
        n = math.prod([s for s, _d in plain_a])
        rest, filled = plain_complement(plain_b, n)
        if rest and math.prod([s for s, _d in (*plain_b, *rest)]) <= n:  # no tile reaches past the end
            cut = cut_static(plain_a, [*plain_b, *rest])
            if cut.why_not is None:
                if not filled:
                    _require_all_in_tiles(a, b)
                return cut.in_profile((b.shape, rest[0][0] if len(rest) == 1 else tuple([s for s, _d in rest])))
    if any(isinstance(d, Basis) for d in leaves(b.stride)):
        tiler = join([b, complement(b, a.shape)])
        _require_whole_coordinates(a, b)
        return composition(a, tiler)
    if has_symbols(a.shape, b.shape, b.stride):
        _require_whole_tiles(a, b)
    tiler = join([b, complement(b, coalesce(a).shape)])
    tiles = composition(a, tiler)
    _require_all_in_tiles(a, b)
    if at_most(size(tiles), size(a)) is not False:
        return tiles
    return carried(lambda place: composition(place, tiler), a, tiles)


def _named(a: Layout, b: Layout) -> str:
    return f"logical_divide of {shown(a)} by {shown(b)}"


def _require_all_in_tiles(a: Layout, b: Layout) -> None:
    """DivisibilityError where the tile b has a gap that copies of it do not fill, below the size of a."""
    where = functools.partial(_named, a, b)
    for end, d in ends_and_strides(b):
        first = mul(d // end, end)  # the first element that is in no tile
        if at_most(size(a), first) is not True and not require("divides", end, d, where):
            what = f"{where()}: the elements {first} to {d - 1} are in no tile"
            fix = f"use a stride that {end} divides, {d - d % end} or {d - d % end + end}"
            raise DivisibilityError(what, "a tile whose copies fill its gaps", fix)


def _require_whole_tiles(a: Layout, b: Layout) -> None:
    """DivisibilityError unless the tiles b make up a."""
    where = functools.partial(_named, a, b)
    reach, n = reach_of(b), size(a)
    if not require("divides", reach, n, where):
        raise DivisibilityError(
            f"{where()}: tiles of {reach} do not make up {n}", "a tile that divides", "pad, or take another tile"
        )


def _require_whole_coordinates(a: Layout, b: Layout) -> None:
    """DivisibilityError unless tiles of coordinates make up each mode of a."""
    where = functools.partial(_named, a, b)
    for path, modes in modes_along(b).items():
        end: Any = _1
        for n, d in by_stride(modes, where):
            if not require("divides", end, d, where):
                what = f"{where()}: a gap below {d} that tiles of {end} do not fill"
                raise DivisibilityError(what, "strides that divide", "use another tile")
            end = mul(n, d)
        extent = product(get[path](a.shape))
        if not require("divides", end, extent, where):
            raise DivisibilityError(
                f"{where()}: tiles of {end} do not make up {extent}", "a tile that divides", "pad, or take another tile"
            )


@in_brackets
@certified
@functools.partial(by_mode, keep_rest=True, multiplies=True)
def logical_product(a: Layout, b: Layout) -> Layout:
    """The layout repeated: mode 0 is `a`, mode 1 are its copies in the order of b.

    a         what is repeated, injective. A tuple repeats each mode by itself, without a look at the others: copies may
              overlap then. blocked_product repeats all modes together
    b         a layout of copies, an integer n for n:1, or a tuple of these, one per mode of a
    Returns   (a, composition(complement(a, size(a) * cosize(b)), b))
    Raises    what composition and complement raise

    >>> from tla import logical_product, parse
    >>> print(logical_product(parse("(_2,_2):(_4,_1)"), parse("_6:_1")))
    ((_2,_2),(_2,_3)):((_4,_1),(_2,_8))

    Source: CuTe `logical_product`.
    """
    return join([a, composition(complement(a, mul(size(a), cosize(b))), b)])


@memo
@naming_static
@by_kind(Layout)
@keeping_valid
def zipped_divide(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_divide with the tiles gathered: ((tile, ...), (rest, ...)).

    A mode of two modes under `_` counts as (tile, rest) already, as CuTe has it; an integer under `_` is a tile of its
    own. RankError for a mode of another rank there.

    >>> from tla import parse, zipped_divide, _, _2, _4
    >>> print(zipped_divide(parse("(_8,_6):(_1,_8)"), (_4, _2)))
    ((_4,_2),(_2,_3)):((_1,_8),(_4,_16))
    >>> print(zipped_divide(parse("((_4,_2),_6):((_1,_4),_8)"), (_, _2)))
    ((_4,_2),(_2,_3)):((_1,_8),(_4,_16))

    Source: CuTe `zipped_divide`.
    """
    return join(_halves(logical_divide(layout, tiler), opened(tiler)))


@memo
@naming_static
@by_kind(Layout)
@keeping_valid
def tiled_divide(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_divide with the tiles gathered and the rest side by side: ((tile, ...), rest, ...).

    >>> from tla import parse, tiled_divide, _2, _4
    >>> print(tiled_divide(parse("(_8,_6):(_1,_8)"), (_4, _2)))
    ((_4,_2),_2,_3):((_1,_8),_4,_16)

    Source: CuTe `tiled_divide`.
    """
    return _tiled(*_halves(logical_divide(layout, tiler), opened(tiler)))


@memo
@naming_static
@by_kind(Layout)
@keeping_valid
def flat_divide(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_divide with tiles and rest side by side: (tile, ..., rest, ...).

    >>> from tla import flat_divide, parse, _2, _4
    >>> print(flat_divide(parse("(_8,_6):(_1,_8)"), (_4, _2)))
    (_4,_2,_2,_3):(_1,_8,_4,_16)

    Source: CuTe `flat_divide`.
    """
    return _flat(*_halves(logical_divide(layout, tiler), opened(tiler)))


@memo
@naming_static
@by_kind(Layout)
def zipped_product(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_product with the blocks gathered: ((block, ...), (copies, ...)). Source: CuTe `zipped_product`.

    >>> from tla import parse, zipped_product
    >>> print(zipped_product(parse("(_2,_2):(_1,_2)"), parse("(_3,_4):(_1,_3)")))
    ((_2,_2),(_3,_4)):((_1,_2),(_4,_12))
    """
    return join(_halves(logical_product(layout, tiler), opened(tiler)))


@memo
@naming_static
@by_kind(Layout)
def tiled_product(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_product with the blocks gathered and the copies side by side. Source: CuTe `tiled_product`.

    >>> from tla import parse, tiled_product
    >>> print(tiled_product(parse("(_2,_2):(_1,_2)"), parse("(_3,_4):(_1,_3)")))
    ((_2,_2),_3,_4):((_1,_2),_4,_12)
    """
    return _tiled(*_halves(logical_product(layout, tiler), opened(tiler)))


@memo
@naming_static
@by_kind(Layout)
def flat_product(layout: Layout, tiler: TilerLike) -> Layout:
    """logical_product with blocks and copies side by side. Source: CuTe `flat_product`.

    >>> from tla import flat_product, parse
    >>> print(flat_product(parse("(_2,_2):(_1,_2)"), parse("(_3,_4):(_1,_3)")))
    (_2,_2,_3,_4):(_1,_2,_4,_12)
    """
    return _flat(*_halves(logical_product(layout, tiler), opened(tiler)))


def ceil_div(a: IntTree, b: IntTree) -> IntTree:
    """a / b rounded up: of integers and tuples as numbers are, of a shape by a layout how many tiles there are of it.

    a         an integer or a shape
    b         an integer; a tuple, mode by mode; or a layout, into a's coordinates: then it is the shape of its
              complement. Of a shape, an integer is used up mode by mode, each time rounded up: for (2,4) and 7 the
              modes are 2/7 and 4/4
    Raises    RangeError where an integer is not positive, RankError where b has more modes than a, and
              what complement does

    >>> from tla import ceil_div, parse, Int
    >>> print(ceil_div(100, 16), ceil_div((Int[8](), 10), (Int[3](), 4)), ceil_div((4, 8, 2), 16))
    7 (_3,3) (1,2,2)
    >>> print(ceil_div(parse("(_6,_8)"), (parse("_3:_2"), parse("_4:_1"))))
    (_2,_2)

    Source: CuTe `ceil_div`; TLA `CeilDiv`.
    """
    if isinstance(b, AnyLayout):
        return complement(as_layout("ceil_div by a layout", b), as_int_tuple(a)).shape
    if isinstance(b, tuple) and isinstance(a, tuple) and any(isinstance(x, (AnyLayout, tuple, Underscore)) for x in b):
        if len(b) > len(a):
            raise RankError(
                f"ceil_div: {len(b)} tiles for {shown(a)}", f"at most {len(a)}", f"drop the last {len(b) - len(a)}"
            )
        return IntTuple(*(_1 if isinstance(y, Underscore) else ceil_div(x, y) for x, y in zip(a, b)), *a[len(b) :])
    return arithmetic.ceil_div(a, b)


@Predicate
def evenly_divides(shape: IntTupleLike, tiler: TilerLike) -> Reason | bool | None:
    """Whether a tiler cuts a shape into whole tiles, mode by mode: whether no tile overhangs.

    >>> from tla import evenly_divides, parse
    >>> evenly_divides((8, 6), (4, 3)), evenly_divides((8, 6), (4, 4)), evenly_divides(16, parse("_4:_4"))
    (True, False, True)

    False for a tiler of more modes than the shape. None where that is not known. Raises what complement raises.
    Source: CuTe `evenly_divides`.
    """
    shape = as_int_tuple(shape)
    if isinstance(tiler, Underscore):
        return True
    if isinstance(tiler, tuple) and len(tiler) > len(modes_of(shape)):
        return Reason(f"{len(tiler)} tiles for {shown(shape)}", f"at most {len(modes_of(shape))}", "drop the last ones")
    if isinstance(tiler, tuple):
        return every(evenly_divides._decide(s, t) for s, t in zip(modes_of(shape), tiler))
    tile = as_layout("evenly_divides", Layout(tiler, _1) if is_int(tiler) else tiler)
    tiles = mul(size(tile), size(complement(tile, size(shape))))
    even = equal(tiles, size(shape))
    if even is not False:
        return even
    return Reason(f"{tiles} of {shown(shape)} in tiles of {shown(tiler)}", "whole tiles", "pad the shape")


def _halves(layout: Layout, tiler: TilerLike) -> tuple[Layout, Layout]:
    """The tiles and the rest of a divide or a product."""
    if not isinstance(tiler, tuple):
        first, second = _zipped_already(layout) if isinstance(tiler, Underscore) else layout
        return first, second
    tiles, rests = [], []
    for mode, tile in itertools.zip_longest(layout, tiler):
        if tile is None:
            rests.append(mode)
            continue
        first, second = _halves(mode, tile)
        tiles.append(first)
        rests.append(second)
    return join(tiles), join(rests)


def _zipped_already(mode: Layout) -> Layout:
    """A mode under `_`: its two modes are (tile, rest), as in CuTe; an integer is a tile of its own."""
    if not isinstance(mode.shape, tuple):
        return join([mode, _ONE])
    if rank(mode) != 2:
        what = f"`_` over the mode {shown(mode)} in a zipped, tiled or flat form, where it stands for (tile, rest)"
        raise RankError(
            what, "an integer, or two modes", "give the tile of that mode, its extents, or group its modes to two"
        )
    return mode


def _spread(mode: Layout) -> Iterable[Layout]:
    """The modes of a mode; one that has but one mode stays as it is, as in CuTe."""
    return mode if rank(mode) > 1 else (mode,)


def _tiled(tiles: Layout, rests: Layout) -> Layout:
    return join([tiles, *_spread(rests)])


def _flat(tiles: Layout, rests: Layout) -> Layout:
    return join([*_spread(tiles), *_spread(rests)])


@memo
@naming_static
@by_kind(Layout)
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """The block repeated, mode by mode: in each mode the block's coordinate is fastest, ((block 0, copies 0), ...).

    >>> from tla import blocked_product, parse
    >>> print(blocked_product(parse("(_2,_5):(_5,_1)"), parse("(_3,_4):(_1,_3)")))
    ((_2,_3),(_5,_4)):((_5,_10),(_1,_30))

    Source: CuTe `blocked_product`.
    """
    blocks, copies = _padded_product(block, tiler)
    return join([join(pair) for pair in zip(blocks, copies)])


@memo
@naming_static
@by_kind(Layout)
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """The block repeated, mode by mode: in each mode the copies' coordinate is fastest, ((copies 0, block 0), ...).

    >>> from tla import parse, raked_product
    >>> print(raked_product(parse("(_2,_5):(_5,_1)"), parse("(_3,_4):(_1,_3)")))
    ((_3,_2),(_4,_5)):((_10,_5),(_30,_1))

    Source: CuTe `raked_product`.
    """
    blocks, copies = _padded_product(block, tiler)
    return join([join(pair) for pair in zip(copies, blocks)])


def _padded_product(block: Layout, tiler: Layout) -> Iterable[Layout]:
    r = max(rank(block), rank(as_layout("blocked_product", tiler)))
    return logical_product(append[r](block), append[r](tiler))


@naming_static
@by_kind(Layout)
def tile_to_shape(block: Layout, shape: IntTupleLike, order: Any = LayoutLeft) -> Layout:
    """The block repeated until it fills a shape.

    shape    what is filled; each mode a multiple of the block's
    order    in which modes the copies go, as compact_order takes it, LayoutLeft or LayoutRight; plain integers are
             static here, for an order is known when a kernel is written
    Raises   RankError for a shape of less rank than the block, DivisibilityError where the block does not divide it

    >>> from tla import parse, tile_to_shape, _4, _6
    >>> print(tile_to_shape(parse("(_2,_2):(_1,_2)"), (_4, _6)), tile_to_shape(parse("(_2,_2):(_1,_2)"), (_4, _6), (2, 1)))
    ((_2,_2),(_2,_3)):((_1,_4),(_2,_8)) ((_2,_2),(_2,_3)):((_1,_12),(_2,_4))

    Source: CuTe `tile_to_shape`.
    """
    target = as_int_tuple(shape)
    r = len(modes_of(target))
    if rank(block) > r:
        what = f"tile_to_shape: a block {shown(block)} for {shown(target)}"
        raise RankError(what, f"rank {rank(block):d} or more", "give each mode of the block its extent")
    extents = product_each(target)
    padded = append[r](block)
    for n, b in zip(extents, product_each(padded.shape)):
        if not require("divides", b, n, lambda: f"tile_to_shape of {shown(block)} to {shown(target)}"):
            what = f"tile_to_shape: {b} of {shown(block)} does not divide {n} of {shown(target)}"
            raise DivisibilityError(what, "whole blocks", f"round it up: {arithmetic.round_up(n, b)}")
    copies = ceil_div(extents, product_each(padded.shape))
    orders = {LayoutLeft: range(r), LayoutRight: range(r)[::-1]}
    ordered = tuple(orders[order]) if order in (LayoutLeft, LayoutRight) else order
    return blocked_product(padded, MakeOrderedLayout(copies, _as_types(ordered)))


def _as_types(order: IntTupleLike) -> IntTree:
    """An order with its plain integers as static ones."""
    return tuple(map(_as_types, order)) if isinstance(order, tuple) else Int[order]() if type(order) is int else order
