"""Linear and multi-dimensional indices of an XLA array: the definition, computed for one index.

Each tile level pads the dimensions that it covers, splits each in a tile count and an in-tile part, and puts all counts
before all in-tile parts. The offset is the row-major index in what the last level leaves.

Source: XLA docs/tiled_layout.md; LayoutUtil::LinearIndexForNestedTiling, and `*` from its documentation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.errors import LeafTypeError, LoweringError, RangeError, RankError
from ..core.ints import leaf
from .array_shape import ArrayShape, TileEntry, cover, groups, tiled
from .grammar import as_shape
from .shapes import Shape


def physical_dimensions(shape: Shape | str) -> tuple[int, ...]:
    """The dimensions in the order of memory, major to minor, before any tile [elements]; a dynamic one by its bound.

    Raises LoweringError for a dimension without a bound.

    >>> physical_dimensions("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}")
    (1, 8, 1280, 16384)
    """
    shape = as_shape(shape)
    dims = logical_dimensions(shape)
    return tuple(dims[d] for d in reversed(shape.effective_layout.minor_to_major))


def integers(what: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """A sequence of integers as a tuple of ints."""
    if not isinstance(numbers, (tuple, list)):
        raise LeafTypeError(f"{what} of type {type(numbers).__name__}", "a tuple of integers", "write (3, 5), or (3,) for one")
    return tuple(int(leaf(n)) for n in numbers)


def logical_dimensions(shape: ArrayShape) -> tuple[int, ...]:
    """The dimensions in logical order [elements]; LoweringError for one without a bound."""
    for d, n in enumerate(shape.dimensions):
        if n is None:
            raise LoweringError(f"{shape}: dimension {d} has no bound", "a size or a bound: <=n", "give it one")
    return tuple(n for n in shape.dimensions if n is not None)


def tiled_dimensions(shape: Shape | str) -> tuple[int, ...]:
    """The dimensions after all tile levels, major to minor, padding included [elements].

    >>> tiled_dimensions("f32[3,5]{1,0:T(2,2)}")
    (2, 3, 2, 2)
    """
    shape = as_shape(shape)
    return _levels(shape)[-1]


def linear_index(shape: Shape | str, index: Sequence[int]) -> int:
    """The offset of the element at a multi-index, one integer per logical dimension [elements].

    Raises RankError or RangeError for an index outside of the array, LoweringError for an array in pieces (SC).

    >>> linear_index("F32[3,5]{1,0:T(2,2)}", (2, 3))
    17

    Source: XLA docs/tiled_layout.md, linear_index_with_tile.
    """
    shape = as_shape(shape)
    refuse_pieces(shape)
    dims = logical_dimensions(shape)
    if not isinstance(index, (tuple, list)):
        raise LeafTypeError(f"an index of type {type(index).__name__}", f"a tuple of {len(dims)} integers", "write (i,) for one dimension")
    index = tuple(int(leaf(i)) for i in index)
    if len(index) != len(dims):
        raise RankError(f"index {index} of {shape}", f"{len(dims)} integers", "give one for each dimension")
    for d, (i, n) in enumerate(zip(index, dims)):
        if not 0 <= i < n:
            inside = f"0 to {n - 1} in dimension {d}" if n else f"none: dimension {d} is empty"
            raise RangeError(f"index {index} of {shape}", inside, "a layout, lower(shape), has no bounds")
    place = tuple(index[d] for d in reversed(shape.effective_layout.minor_to_major))
    levels = _levels(shape)
    for sizes, tile in zip(levels, shape.effective_layout.tiles):
        place = _into_tiles(sizes, place, tile)
    return _horner(levels[-1], place)


def multi_index(shape: Shape | str, offset: int) -> tuple[int, ...] | None:
    """The multi-index of the element at an offset [elements]; None where there is padding.

    Raises RangeError for an offset outside of the buffer, LoweringError for an array in pieces (SC).

    >>> multi_index("F32[3,5]{1,0:T(2,2)}", 17), multi_index("F32[3,5]{1,0:T(2,2)}", 23)
    ((2, 3), None)

    Source: XLA docs/tiled_layout.md; LayoutUtil::DelinearizeIndexForNestedTiling.
    """
    shape, offset = as_shape(shape), int(leaf(offset))
    refuse_pieces(shape)
    levels = _levels(shape)
    total, unit = math.prod(levels[-1]), shape.effective_layout.tail_padding_alignment_in_elements
    end = -(-total // unit) * unit
    if not 0 <= offset < end:
        raise RangeError(f"offset {offset} of {shape}", f"0 to {end - 1}" if total else "none: the array is empty", "offsets are elements")
    if offset >= total:
        return None  # the tail that L(n) pads
    place: tuple[int, ...] | None = _digits(levels[-1], offset)
    for sizes, tile in reversed(tuple(zip(levels, shape.effective_layout.tiles))):
        place = place and _out_of_tiles(sizes, place, tile)
    if place is None:
        return None
    index = [0] * len(place)
    for d, i in zip(reversed(shape.effective_layout.minor_to_major), place):
        index[d] = i
    return tuple(index)


def refuse_pieces(shape: ArrayShape) -> None:
    if shape.effective_layout.split_configs:
        raise LoweringError(
            f"{shape}: an array in pieces (SC) has no single map",
            "an array in one piece",
            "cut its dimension at the SC indices, and take each piece as an array of its own, with the same layout and no SC",
        )


def _levels(shape: ArrayShape) -> list[tuple[int, ...]]:
    """The dimensions before the first tile level, and after each."""
    levels = [physical_dimensions(shape)]
    for tile in shape.effective_layout.tiles:
        levels.append(tiled(levels[-1], tile))
    return levels


def _horner(sizes: Sequence[int], place: Sequence[int]) -> int:
    """The row-major index of a place."""
    index = 0
    for n, i in zip(sizes, place):
        index = index * n + i
    return index


def _digits(sizes: Sequence[int], index: int) -> tuple[int, ...]:
    """The place of a row-major index: _horner undone."""
    place = []
    for n in reversed(sizes):
        index, i = divmod(index, n)
        place.append(i)
    return tuple(reversed(place))


def _into_tiles(sizes: tuple[int, ...], place: tuple[int, ...], tile: tuple[TileEntry, ...]) -> tuple[int, ...]:
    left, covered = cover(sizes, tile)
    place = (0,) * (len(covered) - len(sizes)) + place
    counts, inner, at = [], [], left
    for group, t in groups(covered[left:], tile):
        i = _horner(group, place[at : at + len(group)])
        counts.append(i // t)
        inner.append(i % t)
        at += len(group)
    return (*place[:left], *counts, *inner)


def _out_of_tiles(sizes: tuple[int, ...], place: tuple[int, ...], tile: tuple[TileEntry, ...]) -> tuple[int, ...] | None:
    """_into_tiles undone; None for a place in the padding."""
    left, covered = cover(sizes, tile)
    merged = tuple(groups(covered[left:], tile))
    out = list(place[:left])
    for (group, t), count, inner in zip(merged, place[left:], place[left + len(merged) :]):
        i = count * t + inner
        if i >= math.prod(group):
            return None
        out += _digits(group, i)
    return tuple(out[len(covered) - len(sizes) :])
