"""How much memory an XLA array takes: what the TPU compiler allocates.

Source: XLA ShapeUtil::ArraySize; measured of libtpu on 1,667 arrays (tests/data/xla/sizes.json).
"""

from __future__ import annotations

import itertools
import math

from .grammar import as_shape
from .index import layout_of, physical_dimensions
from .spec import ArrayShape, tiled


def element_count(shape: ArrayShape | str) -> int:
    """How many elements an array has, padding not counted; a dynamic dimension counts by its bound.

    >>> element_count("f32[3,5]{1,0:T(8,128)}")
    15
    """
    return math.prod(physical_dimensions(shape))


def padded_element_count(shape: ArrayShape | str) -> int:
    """How many elements the compiler allocates: padded by the first tile, then rounded up to L(n).

    Levels after the first are taken to pad nothing; L counts only where there are tiles; of an array in pieces (SC) it is
    the largest piece; an array without elements takes none.

    >>> padded_element_count("f32[3,5]{1,0:T(8,128)}"), padded_element_count("f32[]{:T(128)}")
    (1024, 128)

    Source: XLA ShapeUtil::ArraySize.
    """
    shape = as_shape(shape)
    layout, sizes = layout_of(shape), list(physical_dimensions(shape))
    if 0 in sizes:
        return 0
    for d, at in layout.split_configs:
        cuts = (0, *at, sizes[d])
        sizes[d] = max(hi - lo for lo, hi in itertools.pairwise(cuts))
    if not layout.tiles:
        return math.prod(sizes)
    unit = layout.tail_padding_alignment_in_elements
    return -(-math.prod(tiled(tuple(sizes), layout.tiles[0])) // unit) * unit


def byte_size(shape: ArrayShape | str) -> int:
    """How many bytes the compiler allocates: the padded elements at their bits, and M(n) of the sizes of dynamic dimensions.

    >>> byte_size("f32[3,5]{1,0:T(8,128)}"), byte_size("s4[16,128]{1,0:T(8,128)(8,1)E(4)}"), byte_size("s4[16,128]")
    (4096, 1024, 2048)

    Source: XLA ShapeUtil::ArraySize and ByteSizeOf.
    """
    shape = as_shape(shape)
    prefix = layout_of(shape).dynamic_shape_metadata_prefix_bytes if any(shape.dynamic) else 0
    return _bytes(padded_element_count(shape), shape.bits) + prefix


def waste(shape: ArrayShape | str) -> int:
    """How many of the allocated bytes hold no element.

    >>> waste("f32[3,5]{1,0:T(8,128)}")
    4036
    """
    shape = as_shape(shape)
    return byte_size(shape) - _bytes(element_count(shape), shape.bits)


def _bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)
