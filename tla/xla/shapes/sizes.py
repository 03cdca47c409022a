"""The memory that an XLA array takes: what the TPU compiler allocates.

Source: XLA ShapeUtil::ArraySize; measured of libtpu on 1,667 arrays (tests/data/xla/sizes.json).
"""

from __future__ import annotations

import itertools
import math

from ...core.arrays import INT64_MAX
from ...core.errors import LoweringError, RangeError, TlaError
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most, equal
from .array_shape import COMBINE, ArrayLayout, ArrayShape, cover, tiled
from .grammar import as_shape
from .index import physical_dimensions
from .values import Shape


def element_count(shape: Shape | str) -> int:
    """The number of elements of an array, padding not counted; a dynamic dimension counts by its bound.

    >>> element_count("f32[3,5]{1,0:T(8,128)}")
    15
    """
    return math.prod(physical_dimensions(shape))


def padded_element_count(shape: Shape | str) -> int:
    """The number of elements that the compiler allocates: padded by the first tile, then rounded up to L(n).

    Levels after the first are taken to pad nothing; L counts only where there are tiles; of an array in pieces (SC) it
    is the largest piece; an array without elements takes none.

    >>> padded_element_count("f32[3,5]{1,0:T(8,128)}"), padded_element_count("f32[]{:T(128)}")
    (1024, 128)

    Source: XLA ShapeUtil::ArraySize.
    """
    shape = as_shape(shape)
    return _padded(shape.effective_layout, _largest_piece(shape))


def _padded(layout: ArrayLayout, sizes: tuple[int, ...]) -> int:
    """The padded number of elements of a piece of these physical dimensions."""
    if 0 in sizes:
        return 0
    if not layout.tiles:
        return math.prod(sizes)
    unit = layout.tail_padding_alignment_in_elements
    count: int = ceil_div(math.prod(tiled(sizes, layout.tiles[0])), unit) * unit
    return count


def _largest_piece(shape: ArrayShape) -> tuple[int, ...]:
    """The physical dimensions of the largest piece of an array that SC cuts; without SC, of the array."""
    sizes = list(physical_dimensions(shape))
    for d, at in shape.effective_layout.split_configs:
        sizes[d] = max(hi - lo for lo, hi in itertools.pairwise((0, *at, sizes[d])))
    return tuple(sizes)


def byte_size(shape: Shape | str) -> int:
    """The number of bytes that the compiler allocates: the padded elements at their bits, and M(n) of the sizes of
    dynamic dimensions.

    >>> byte_size("f32[3,5]{1,0:T(8,128)}"), byte_size("s4[16,128]{1,0:T(8,128)(8,1)E(4)}"), byte_size("s4[16,128]")
    (4096, 1024, 2048)

    Source: XLA ShapeUtil::ArraySize and ByteSizeOf.
    """
    shape = as_shape(shape)
    return _allocated(shape, _largest_piece(shape))


def size_if_known(shape: ArrayShape) -> int | None:
    """byte_size; None of what has none, as a dimension without a bound.

    >>> size_if_known(as_shape("f32[3,5]{1,0:T(8,128)}")), size_if_known(as_shape("f32[?]"))
    (4096, None)
    """
    try:
        return byte_size(shape)
    except TlaError:
        return None


def _allocated(shape: ArrayShape, piece: tuple[int, ...]) -> int:
    """The number of bytes of an array whose largest piece has these physical dimensions."""
    layout = shape.effective_layout
    prefix = layout.dynamic_shape_metadata_prefix_bytes if any(shape.dynamic) else 0
    size = _bytes(_padded(layout, piece), shape.bits) + prefix
    if at_most(size, INT64_MAX) is False:
        what = f"{shape}: its byte size overflows"
        raise RangeError(what, "a byte count that 64 bits hold", "use a smaller E, L or M")
    return size


def waste(shape: Shape | str) -> int:
    """The number of allocated bytes that hold no element. Of an array in pieces (SC): in the largest one.

    >>> waste("f32[3,5]{1,0:T(8,128)}")
    4036
    """
    return bytes_and_waste(as_shape(shape))[1]


def bytes_and_waste(shape: ArrayShape) -> tuple[int, int]:
    """The parts of byte_size and waste.

    >>> bytes_and_waste(as_shape("f32[3,5]{1,0:T(8,128)}"))
    (4096, 4036)
    """
    piece = _largest_piece(shape)
    size = _allocated(shape, piece)
    return size, size - _bytes(math.prod(piece), shape.bits)


def waste_by_dimension(shape: Shape | str) -> tuple[int, ...]:
    """The number of bytes that each logical dimension costs by its padding: what would be saved if it alone
    were not padded.

    Dimensions pad each other's padding too, so these do not add up to `waste`. What a tile pads before the first
    dimension, or L(n) behind the last, is no dimension's.

    >>> waste_by_dimension("f32[3,5]{1,0:T(8,128)}"), waste("f32[3,5]{1,0:T(8,128)}")
    ((2560, 3936), 4036)

    Raises LoweringError for a first tile that merges dimensions (*). Source: XLA ShapeUtil::ArraySize.
    """
    shape = as_shape(shape)
    layout, sizes, total = shape.effective_layout, _largest_piece(shape), padded_element_count(shape)
    tile = layout.tiles[0] if layout.tiles else ()
    if COMBINE in tile:
        what = f"{shape}: its first tile merges dimensions"
        raise LoweringError(what, "a tile size for each dimension", "write waste(shape), for the whole")
    left, covered = cover(sizes, tile)
    units = [1] * left + [t for t in tile if isinstance(t, int)]
    lost = [0 if equal(n, 0) else total - total * n // (ceil_div(n, t) * t) for n, t in zip(covered, units)]
    by_physical = dict(zip(reversed(layout.minor_to_major), lost[len(covered) - len(sizes) :]))
    return tuple(_bytes(by_physical[d], shape.bits) for d in range(len(sizes)))


def _bytes(count: int, bits: int) -> int:
    size: int = ceil_div(count * bits, 8)
    return size
