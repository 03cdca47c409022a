"""From a layout back to XLA: the minor_to_major and the tiles that have its map.

Candidates are tried, the tilings of real programs first, and one is taken if it lowers to the same map. At the end stands
a construction that has a spec for every layout whose digits clear each other in memory.

Source: ours; the families are those of 313 programs compiled for TPU.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from ..composed import ComposedLayout
from ..errors import LoweringError, TlaError
from ..int_tuple import leaves, modes_of, shown
from ..ints import known
from ..layout import Layout, as_layout
from ..steps import merged
from .default import default_layout
from .lower import lower
from .spec import ArrayLayout, ArrayShape, TileEntry

Tiles = tuple[tuple[TileEntry, ...], ...]
Digits = list[list[tuple[int, int]]]  # of each dimension: extents and strides, the least significant first

#: The tilings of real programs, the most frequent first.
FAMILIES: tuple[Tiles, ...] = (
    *(((8, 128),), ((8, 128), (2, 1)), ((128,),), ((4, 128),), (), ((8, 128), (4, 1)), ((4, 128), (2, 1)), ((1024,),), ((256,),)),
    *(((1, 128),), ((1024,), (128,), (4, 1)), ((1024,), (128,), (2, 1)), ((2, 128),), ((2, 128), (2, 1)), ((512,),)),
    *(((8, 128), (8, 1)), ((4, 128), (4, 1)), ((8,),), ((16, 128), (2, 1)), ((16,),), ((256,), (128,), (2, 1)), ((32,),)),
    *(((16, 128), (4, 1)), ((32, 128), (4, 1)), ((32, 128), (8, 1)), ((512,), (128,), (4, 1)), ((16, 128),), ((32, 128),)),
)


def raise_(layout: Layout, element_type: str = "f32") -> ArrayShape:
    """The XLA shape whose map a layout is: `lower(raise_(layout))` has the same offsets for every index of the array.

    layout         its origin_shape is the array's; offsets in elements
    element_type   of the shape; it has no part in the map, only in the choice
    Returns        the tiles that the compiler would choose, or those of the families that real programs use, if one has the
                   map; else few levels; else a tiling that is constructed
    Raises         LoweringError where no tiling has the map: strides of 0 or less, places that interleave, or a
                   ComposedLayout

    >>> from tla import parse
    >>> print(raise_(parse("((_2,_4,_160),(_128,_128)):((_1,_256,_131072),(_2,_1024))"), "bf16"))
    bf16[1280,16384]{1,0:T(8,128)(2,1)}
    >>> print(raise_(parse("(3,5):(1,3)")), raise_(parse("((2,2),(2,3)):((2,12),(1,4))", origin_shape=(3, 5))))
    f32[3,5]{0,1} f32[3,5]{1,0:T(2,2)}

    Law: lower(raise_(a)) and a are the same function on the valid part of a.
    Source: XLA docs/tiled_layout.md has the way there; the way back is ours.
    """
    if isinstance(layout, ComposedLayout):
        raise LoweringError(f"raise_ of {shown(layout)}", "one shape:stride", "no tiling is known for a composed layout")
    dims = tuple(known(n) for n in as_layout("raise_", layout).origin_shape)
    wanted = _digits_of(layout, dims)
    if None in dims or wanted is None:
        raise LoweringError(
            f"raise_ of {shown(layout)}", "known sizes, and strides in elements", "no tiling maps to coordinates or symbols"
        )
    ArrayShape(element_type, ())  # which checks the type
    sizes = tuple(int(n or 0) for n in dims)
    if 0 in sizes:  # there is nothing that a map could differ in
        return ArrayShape(element_type, sizes, ArrayLayout(tuple(reversed(range(len(sizes))))))
    if why := _why_not(wanted):
        raise LoweringError(
            f"raise_ of {shown(layout)}: {why}", "places that clear each other, as tiles leave them", "no tiling has this map"
        )
    short = itertools.islice(_cuts(wanted), 2000)
    for order, tiles in itertools.chain(_chosen(element_type, sizes, wanted), _usual(wanted), short, _sorted_in_memory(wanted)):
        if found := _with_map(element_type, sizes, ArrayLayout(order, tiles), wanted):
            return found
    raise LoweringError(f"raise_ of {shown(layout)}", "the map of a tiling", "no tiling with this map was found")


def _digits_of(layout: Layout, dims: tuple[int | None, ...]) -> Digits | None:
    """The digits of each dimension as far as its coordinates reach, merged: equal where the maps are."""
    out: Digits = []
    for shape, stride, n in zip(modes_of(layout.shape), modes_of(layout.stride), dims):
        pairs = [(known(s), known(d)) for s, d in zip(leaves(shape), leaves(stride))]
        if n is None or any(s is None or d is None for s, d in pairs):
            return None
        reached, weight = [], 1
        for s, d in merged((int(s or 0), int(d or 0)) for s, d in pairs):
            if weight < n:
                reached.append((min(s, -(-n // weight)), d))
            weight *= s
        out.append(reached)
    return out


def _with_map(element_type: str, dims: tuple[int, ...], layout: ArrayLayout, wanted: Digits) -> ArrayShape | None:
    """The shape with this layout, if it has the map."""
    try:
        shape = ArrayShape(element_type, dims, layout)
        found = lower(shape)
    except TlaError:  # a tile that overflows, for example
        return None
    return shape if isinstance(found, Layout) and _digits_of(found, dims) == wanted else None


def _in_memory(wanted: Digits) -> list[tuple[int, int, int, int]]:
    """All digits by stride, the smallest first: stride, extent, dimension, number in it."""
    return sorted((d, s, dim, k) for dim, digits in enumerate(wanted) for k, (s, d) in enumerate(digits))


def _why_not(wanted: Digits) -> str | None:
    reach = 1
    for d, s, dim, _k in _in_memory(wanted):
        if d < reach:
            return f"the stride {d} of dimension {dim} is inside of what is below it, which reaches up to {reach}"
        reach = d * s
    return None


# ------------------------------------------------------------------------------------------------ candidates


def _orders(wanted: Digits) -> list[tuple[int, ...]]:
    """Orders of the dimensions, minor to major, that the strides suggest: by their largest, by their smallest, and as they are."""
    rank = len(wanted)
    largest = sorted(range(rank), key=lambda i: (wanted[i][-1][1] if wanted[i] else math.inf, -i))
    smallest = sorted(range(rank), key=lambda i: (wanted[i][0][1] if wanted[i] else math.inf, -i))
    natural = [*reversed(range(rank))]
    swapped = [*largest[1::-1], *largest[2:]]
    return [*dict.fromkeys(map(tuple, (natural, largest, smallest, swapped)))]


def _chosen(element_type: str, sizes: tuple[int, ...], wanted: Digits) -> Iterator[tuple[tuple[int, ...], Tiles]]:
    """The tiles that the compiler would choose, for each order of the dimensions."""
    for order in _orders(wanted):
        try:
            layout = default_layout(element_type, [sizes[i] for i in reversed(order)]).layout
        except TlaError:  # a tile that overflows, or a type that was not measured
            continue
        if layout is not None and layout.minor_to_major == tuple(reversed(range(len(sizes)))):
            yield order, layout.tiles


def _usual(wanted: Digits) -> Iterator[tuple[tuple[int, ...], Tiles]]:
    if not any(wanted):
        yield tuple(reversed(range(len(wanted)))), ()
    for tiles, order in itertools.product(FAMILIES, _orders(wanted)):
        yield order, tiles


def _cuts(wanted: Digits) -> Iterator[tuple[tuple[int, ...], Tiles]]:
    """One level of tiles, then two, whose sizes are products of digits, or of the slots that these take."""
    slots = _slots(wanted)
    for order in _orders(wanted):
        choices = [_products(wanted[i], slots[i]) for i in reversed(order)]
        for k in range(1, min(len(order), 3) + 1):
            for tile in itertools.product(*choices[len(choices) - k :]):
                yield order, (tile,)
    for order in _orders(wanted)[:2]:
        minor = [_products(wanted[i], slots[i])[:4] for i in reversed(order)][-2:]
        for tile in itertools.product(*minor):
            inner = [[t for t in (1, *sizes) if t <= n] for sizes, n in zip(minor, tile)]
            for second in itertools.product(*inner):
                yield order, (tile, second)


def _slots(wanted: Digits) -> list[list[int]]:
    """How many steps of memory each digit takes, up to the next one."""
    placed = _in_memory(wanted)
    out = [[s for s, _d in digits] for digits in wanted]
    for (d, _s, dim, k), (following, *_rest) in itertools.pairwise(placed):
        out[dim][k] = following // d
    return out


def _products(digits: list[tuple[int, int]], slots: list[int]) -> list[int]:
    """Tile sizes that end where a digit does, or where its padding does; 1 for a dimension that no tile cuts."""
    out, weight = [1], 1
    for (s, _d), n in zip(digits, slots):
        out += [weight * s, weight * n]
        weight *= s
    return [*dict.fromkeys(out)]


# ----------------------------------------------------------------------------------------------- construction


class _Piece(NamedTuple):
    """An entry of the list that tile levels split and reorder: how many steps it has, and where in memory it belongs."""

    size: int
    slots: int
    place: int  # 0 is the most minor; what has no digit is most major


def _sorted_in_memory(wanted: Digits) -> Iterator[tuple[tuple[int, ...], Tiles]]:
    """The tiling that a radix sort of the digits by their place in memory is.

    The first tile pads every dimension to its digits, the next ones split these off. A level whose entries are 1 or all of
    a piece moves the pieces with the whole entries behind the others, and keeps their order: one pass of a radix sort by a
    bit of the place. `*` takes up the pieces of 1 that it leaves. A gap in memory is padding: of the piece below it, where
    it is whole steps of that; else of all pieces below it, merged.
    """
    order, rank = tuple(reversed(range(len(wanted)))), len(wanted)
    placed = _in_memory(wanted)
    if not placed:
        return
    depth = max(map(len, wanted))
    levels: list[tuple[TileEntry, ...]] = [tuple(math.prod(s for s, _d in digits[:k]) for digits in wanted) for k in range(depth, 0, -1)]
    pieces = [_Piece(1, 1, len(placed) + 1)] * rank + _pieces(wanted, placed, depth)
    if placed[0][0] > 1:  # nothing is at offset 1: a piece of 1, padded, takes the slots below
        pieces[0] = _Piece(1, placed[0][0], 0)
    for bit in range((len(placed) + 1).bit_length()):
        tile, pieces = _pass(pieces, bit)
        levels.append(tile)
    yield order, (*levels, *_gaps(placed, pieces))


def _pieces(wanted: Digits, placed: list[tuple[int, int, int, int]], depth: int) -> list[_Piece]:
    """The digits as the splits leave them: the most significant of each dimension first, and 1 where there is none."""
    places = {(dim, k): at + 1 for at, (_d, _s, dim, k) in enumerate(placed)}
    whole = {(dim, k): following // d if following % d == 0 else s for (d, s, dim, k), (following, *_r) in itertools.pairwise(placed)}
    last = len(placed) + 1
    return [
        _Piece(digits[k][0], whole.get((dim, k), digits[k][0]), places[dim, k]) if k < len(digits) else _Piece(1, 1, last)
        for k in reversed(range(depth))
        for dim, digits in enumerate(wanted)
    ]


def _pass(pieces: list[_Piece], bit: int) -> tuple[tuple[TileEntry, ...], list[_Piece]]:
    """A tile level that moves the pieces whose place has no such bit behind the others; and what it leaves."""
    top = max(p.place for p in pieces)
    tile: list[TileEntry] = []
    counts, inner = [], []
    for at, piece in enumerate(pieces):
        if piece.slots == 1 and piece.place == top and at < len(pieces) - 1:
            tile.append("*")
        elif (top - piece.place) >> bit & 1:
            tile.append(piece.slots)
            counts.append(_Piece(1, 1, top))
            inner.append(piece._replace(size=piece.slots))
        else:
            tile.append(1)
            counts.append(piece)
            inner.append(_Piece(1, 1, top))
    return tuple(tile), counts + inner


def _gaps(placed: list[tuple[int, int, int, int]], pieces: list[_Piece]) -> list[tuple[TileEntry, ...]]:
    """Tile levels that pad what is below a gap that is no whole number of steps: all of it merged, from the lowest gap up."""
    out: list[tuple[TileEntry, ...]] = []
    order = [p.place for p in pieces]
    for at, ((d, _s, _dim, _k), (following, *_rest)) in enumerate(itertools.pairwise(placed)):
        if following % d:
            first = order.index(at + 1)  # the digit below the gap; what is behind it in the list is below it in memory
            out.append(("*",) * (len(order) - first - 1) + (following,))
            order = [*order[:first], -1, at + 1]
    return out
