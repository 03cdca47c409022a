"""Linear and multi-dimensional indices of an XLA array: the definition, computed for one index.

Each tile level pads the dimensions that it covers, splits each in a tile count and an in-tile part, and puts all counts
before all in-tile parts. The offset is the row-major index in what the last level leaves.

Source: XLA docs/tiled_layout.md; LayoutUtil::LinearIndexForNestedTiling, and `*` from its documentation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, overload

from ...core.arrays import INT64_MAX, as_int64, computed, dtype_of, range_of, require_held, seen
from ...core.conversions import modulo, over
from ...core.errors import LeafTypeError, LoweringError, RangeError, RankError
from ...core.int_tuple import shown
from ...core.ints import Leaf, is_int, known, leaf, plain
from ...core.leaf_arithmetic import ceil_div, plus, times
from ...core.questions import equal, require
from .array_shape import COMBINE, ArrayShape, TileEntry, cover, groups, tiled, why_not_tile
from .grammar import as_shape
from .values import Shape


def physical_dimensions(shape: Shape | str) -> tuple[int, ...]:
    """The dimensions in the order of memory, major to minor, before any tile [elements]; a dynamic one by its bound.

    Raises LoweringError for a dimension without a bound.

    >>> physical_dimensions("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}")
    (1, 8, 1280, 16384)
    """
    shape = as_shape(shape)
    dims = logical_dimensions(shape)
    return tuple(dims[d] for d in reversed(shape.effective_layout.minor_to_major))


def logical_dimensions(shape: ArrayShape) -> tuple[int, ...]:
    """The dimensions in logical order [elements]; LoweringError for one without a bound."""
    for d, n in enumerate(shape.dimensions):
        if n is None:
            what = f"{shape}: dimension {d} has no bound"
            raise LoweringError(what, "a size or a bound", "write a size, as in f32[8], or a bound, as in f32[<=8]")
    return shape.dimensions  # type: ignore[return-value]  # none of them is None


def tiled_dimensions(shape: Shape | str) -> tuple[int, ...]:
    """The dimensions after all tile levels, major to minor, padding included [elements].

    >>> tiled_dimensions("f32[3,5]{1,0:T(2,2)}")
    (2, 3, 2, 2)
    """
    shape = as_shape(shape)
    return _levels(shape)[-1]


@overload
def linear_index(shape: Shape | str, index: Sequence[int]) -> int: ...
@overload
def linear_index(shape: Shape | str, index: Sequence[Any]) -> Any: ...
def linear_index(shape: Shape | str, index: Sequence[Any]) -> Any:
    """The offset of the element at a multi-index, one integer per logical dimension [elements].

    index    integers; symbols, arrays of numpy or tracers of JAX compute too
    Raises   RankError or RangeError for an index outside of the array, Unproven where that is not known of a symbol;
             LoweringError for an array in pieces (SC). Whether a tracer is inside is not seen

    >>> linear_index("F32[3,5]{1,0:T(2,2)}", (2, 3))
    17
    >>> from tla import dim
    >>> print(linear_index("F32[4,6]{1,0:T(2,2)}", (2, dim("x", at_least=0, at_most=5))))
    x+(x//2)*2+12

    Source: XLA docs/tiled_layout.md, linear_index_with_tile.
    """
    shape = as_shape(shape)
    refuse_pieces(shape)
    levels, index = _levels(shape), _inside(shape, index)
    place = tuple(index[d] for d in reversed(shape.effective_layout.minor_to_major))
    for sizes, tile in zip(levels, shape.effective_layout.tiles):
        place = into_tiles(sizes, place, tile)
    return row_major(levels[-1], place)


def linear_index_with_tile(index: Sequence[Any], dims: Sequence[Any], tile: Sequence[Any]) -> Leaf:
    """The offset of an element in an array of one tile level, major to minor, as the documents define it [elements].

    index, dims, tile   integers or symbols, as many of each; `*` or -1 in a tile merges its dimension with the next one
    Raises              RankError where their numbers differ, LeafTypeError for what is no integer

    >>> linear_index_with_tile((2, 3), (3, 5), (2, 2))
    17
    >>> from tla import dims
    >>> print(linear_index_with_tile(dims("y x"), dims("M N"), dims("a b")))
    ((a-1)*(x//b)+y+((N-1)//b)*(y//a)*a)*b+x

    Source: XLA docs/tiled_layout.md.
    """
    lists = tuple(_leaves(what, given) for what, given in (("index", index), ("dims", dims)))
    entries = tuple(COMBINE if t in (COMBINE, -1) else t for t in _sequence("tile", tile))
    sizes = tuple(t if isinstance(t, str) else leaf(t) for t in entries)
    if why := why_not_tile(sizes):
        raise RangeError(*why)
    if not len(lists[0]) == len(lists[1]) == len(sizes):
        what = f"an index of {len(lists[0])}, {len(lists[1])} dims and a tile of {len(sizes)}"
        raise RankError(what, "equal ranks", "give one for each")
    return row_major(tiled(lists[1], sizes), into_tiles(lists[1], lists[0], sizes))


@overload
def multi_index(shape: Shape | str, offset: int) -> tuple[int, ...] | None: ...
@overload
def multi_index(shape: Shape | str, offset: Any) -> tuple[Any, ...] | None: ...
def multi_index(shape: Shape | str, offset: Any) -> tuple[Any, ...] | None:
    """The multi-index of the element at an offset [elements]; None where there is padding.

    offset   an integer or a symbol; of an array of numpy or a tracer of JAX the result is one array a dimension, -1
             where there is padding
    Raises   RangeError for an offset outside of the buffer, Unproven where a symbol may be there or in the padding;
             LoweringError for an array in pieces (SC). Of a tracer that is not seen; its dtype has to hold -1 too

    >>> multi_index("F32[3,5]{1,0:T(2,2)}", 17), multi_index("F32[3,5]{1,0:T(2,2)}", 23)
    ((2, 3), None)
    >>> import numpy
    >>> multi_index("F32[3,5]{1,0:T(2,2)}", numpy.array([17, 23]))
    (array([ 2, -1]), array([ 3, -1]))

    Source: XLA docs/tiled_layout.md; LayoutUtil::DelinearizeIndexForNestedTiling.
    """
    shape = as_shape(shape)
    refuse_pieces(shape)
    levels = _levels(shape)
    total, unit = math.prod(levels[-1]), shape.effective_layout.tail_padding_alignment_in_elements
    offset = _number(shape, offset, total, -1)
    end = ceil_div(total, unit) * unit
    if not _all_below(shape, "offset", offset, end):
        expected = "none: the array is empty" if equal(total, 0) else f"0 to {end - 1}"
        raise RangeError(f"offset {offset} of {shape}", expected, "count offsets in elements")
    inside = _below(shape, offset, total)
    place = _from_row_major(levels[-1], offset)
    for sizes, tile in reversed(tuple(zip(levels, shape.effective_layout.tiles))):
        place, there = _out_of_tiles(shape, sizes, place, tile)
        inside = inside & there
        if inside is False:
            return None
    by_dimension = dict(zip(reversed(shape.effective_layout.minor_to_major), place))
    index = tuple(by_dimension[d] for d in range(len(place)))
    return index if inside is True else tuple(plus(times(plus(i, 1), inside), -1) for i in index)


def _inside(shape: ArrayShape, index: object) -> tuple[Any, ...]:
    """The index as a tuple of numbers that are inside of the array, as far as that can be seen."""
    dims = logical_dimensions(shape)
    given = _sequence("index", index)
    if len(given) != len(dims):
        raise RankError(f"index {shown(given)} of {shape}", f"{len(dims)} integers", "give one for each dimension")
    total = math.prod(tiled_dimensions(shape))
    numbers = tuple(_number(shape, i, total) for i in given)
    for d, (i, n) in enumerate(zip(numbers, dims)):
        if not _all_below(shape, f"index {d}", i, n):
            inside = f"none: dimension {d} is empty" if equal(n, 0) else f"0 to {n - 1} in dimension {d}"
            what = f"index {shown(given)} of {shape}"
            raise RangeError(what, inside, "count from 0; the layout, lower(shape), has no bounds")
    return numbers


def _sequence(what: str, given: object) -> tuple[Any, ...]:
    if not isinstance(given, (tuple, list)):
        fix = "write (3, 5), or (3,) for one"
        raise LeafTypeError(f"{what} of type {type(given).__name__}", "a tuple of integers", fix)
    return tuple(given)


def _leaves(what: str, given: object) -> tuple[Any, ...]:
    return tuple(plain(leaf(n)) for n in _sequence(what, given))


def _number(shape: ArrayShape, x: Any, total: int, low: int = 0) -> Any:
    """An integer or symbol as such; a numpy array in 64 bits; a tracer, if its dtype holds every offset, and `low`."""
    if not dtype_of(x) or is_int(x):
        return plain(leaf(x))
    if range_of(dtype_of(x)) is None:
        raise LeafTypeError(f"an index of {x.dtype} for {shape}", "integers", "convert it to int32 or int64")
    values = seen(x)
    if values is not None and values.size and not 0 <= int(values.min()) <= int(values.max()) <= INT64_MAX:
        what = f"an index from {values.min()} to {values.max()} of {shape}"
        raise RangeError(what, "0 or more", "count from 0; the layout, lower(shape), has no bounds")
    if values is x:
        return as_int64(x)
    require_held(str(shape), x, low, known(total) or 0)
    return x


def _below(shape: ArrayShape, i: Any, n: Any) -> Any:
    """Whether i < n: an answer, or of an array one for each of its elements."""
    return computed(operator.lt, i, n) if dtype_of(i) else require("<=", plus(i, 1), n, lambda: f"{i} in {shape}")


def _all_below(shape: ArrayShape, what: str, i: Any, n: int) -> bool:
    """Whether 0 <= i < n, as far as that can be seen."""
    if dtype_of(i):
        values = seen(i)
        return values is None or bool(computed(operator.lt, values, n).all())
    return all(require("<=", low, high, lambda: f"{what} {i} of {shape}") for low, high in ((0, i), (plus(i, 1), n)))


def refuse_pieces(shape: ArrayShape) -> None:
    if shape.effective_layout.split_configs:
        what, cut = f"{shape}: an array in pieces (SC) has no single map", "cut its dimension at the SC indices"
        fix = f"{cut}, and take each piece as an array of its own, with the same layout and no SC"
        raise LoweringError(what, "an array in one piece", fix)


def _levels(shape: ArrayShape) -> list[tuple[int, ...]]:
    """The dimensions before the first tile level, and after each."""
    levels = [physical_dimensions(shape)]
    for tile in shape.effective_layout.tiles:
        levels.append(tiled(levels[-1], tile))
    return levels


def row_major(sizes: Sequence[Any], place: Sequence[Any]) -> Any:
    """The row-major index of a place: linear_index of the documents.

    >>> row_major((2, 3, 2, 2), (1, 1, 0, 1))
    17
    """
    index: Any = place[0] if place else 0
    for n, i in zip(sizes[1:], place[1:]):
        index = plus(times(index, n), i)
    return index


def _from_row_major(sizes: Sequence[Any], index: Any) -> tuple[Any, ...]:
    """The place of a row-major index: row_major undone."""
    place = []
    for n in reversed(sizes):
        n = 1 if equal(n, 0) else n  # an empty array has no index: arrays of none are taken
        place.append(modulo(index, n))
        index = over(index, n)
    return tuple(reversed(place))


def into_tiles(sizes: tuple[Any, ...], place: tuple[Any, ...], tile: tuple[TileEntry, ...]) -> tuple[Any, ...]:
    """The combined coordinate of a place: what the tile leaves, the numbers of the tile, the place in the tile.

    >>> into_tiles((3, 5), (2, 3), (2, 2))
    (1, 1, 0, 1)
    """
    left, covered = cover(sizes, tile)
    place = (0,) * (len(covered) - len(sizes)) + place
    counts, inner, at = [], [], left
    for group, t in groups(covered[left:], tile):
        i = row_major(group, place[at : at + len(group)])
        counts.append(over(i, t))
        inner.append(modulo(i, t))
        at += len(group)
    return (*place[:left], *counts, *inner)


def _out_of_tiles(
    shape: ArrayShape, sizes: tuple[int, ...], place: tuple[Any, ...], tile: tuple[TileEntry, ...]
) -> tuple[tuple[Any, ...], Any]:
    """into_tiles undone; and whether the place is in no padding: an answer, or one for each element of an array."""
    left, covered = cover(sizes, tile)
    merged = tuple(groups(covered[left:], tile))
    out, inside = list(place[:left]), True
    for (group, t), count, inner in zip(merged, place[left:], place[left + len(merged) :]):
        i = plus(times(count, t), inner)
        inside = inside & _below(shape, i, math.prod(group))
        out += _from_row_major(group, i)
    return tuple(out[len(covered) - len(sizes) :]), inside
