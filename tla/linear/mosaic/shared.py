"""Shared memory as Mosaic GPU lays it out: in tiles, and swizzled.

Source: JAX 0.10.2, jax.experimental.mosaic.gpu, launch_context.py (TileTransform); CUTLASS's swizzles of pieces of 16 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...algebra.coalesce import coalesce
from ...core.composed import ComposedLayout
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from ...core.ints import _0, static
from ...core.layout import Layout, join
from ...core.swizzle import make_swizzle
from ..value import integer
from .layouts import SwizzleTransform, TileTransform
from .text import transform_of


def shared_layout(shape: Sequence[int], bits: int, *transforms: str | TileTransform | SwizzleTransform) -> Layout | ComposedLayout:
    """The layout of a reference in shared memory under transforms: from its coordinate to the place of the element.

    shape        of the reference, before it is transformed [elements]
    bits         of an element
    transforms   a tile, a swizzle, or both, in this order; as values, or texts that MLIR or Python prints
    Raises       RangeError for tiles that do not divide an extent, and for transforms in another order; RankError for a tile of more
                 dimensions; ParseError for another text

    >>> print(shared_layout((64, 128), 16, "#mosaic_gpu.tile<[8, 64]>", "#mosaic_gpu.swizzle<128>"))
    Sw<3,3,3> o _0 o ((_8,_8),(_64,_2)):((_64,_1024),(_1,_512))

    An extent that is shorter than its tile is one tile. Source: Mosaic GPU `TileTransform.apply`; CUTLASS `Swizzle<B, 4, 3>` of bytes.
    """
    if not isinstance(shape, (list, tuple)):
        raise LeafTypeError(f"shared_layout: the shape {shown(shape)}", "a list of extents", "write (64, 128)")
    dims = [integer("shared_layout: an extent", n) for n in shape]
    if not dims or min(dims) < 1 or math.prod(dims) > 2**43:
        raise RangeError(
            f"shared_layout: the shape {shown(tuple(dims))}", "extents of 1 or more, 2**43 elements at most", "write (64, 128)"
        )
    if bits not in (4, 8, 16, 32, 64):
        raise RangeError(f"shared_layout: elements of {shown(bits)} bits", "4, 8, 16, 32 or 64", "give the width of the element type")
    tile, swizzle = _both([transform_of(x) if isinstance(x, str) else x for x in transforms])
    memory = _in_tiles(dims, tile)
    return (
        memory
        if swizzle == 16
        else ComposedLayout(make_swizzle((swizzle // 16).bit_length() - 1, (128 // bits).bit_length() - 1, 3), _0, memory)
    )


def _both(transforms: Sequence[object]) -> tuple[tuple[int, ...], int]:
    """The tile and the bytes of the swizzle: () and 16 where there is none."""
    kinds = [type(x) for x in transforms]
    if kinds not in ([], [TileTransform], [SwizzleTransform], [TileTransform, SwizzleTransform]):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise RangeError(f"shared_layout under {names}", "a tile, a swizzle, or both, in this order", "write each once")
    tile = next((x.tiling for x in transforms if isinstance(x, TileTransform)), ())
    return tile, next((x.swizzle for x in transforms if isinstance(x, SwizzleTransform)), 16)


def _in_tiles(dims: Sequence[int], tile: Sequence[int]) -> Layout:
    """The layout of tiles after each other, both in row-major order."""
    if len(tile) > len(dims):
        raise RankError(
            f"shared_layout: a tile {shown(tuple(tile))} of {shown(tuple(dims))}", f"at most {len(dims)} dimensions", "use fewer"
        )
    inner = [1] * (len(dims) - len(tile)) + [min(t, n) for t, n in zip(tile, dims[len(dims) - len(tile) :])]
    if any(t < 1 or n % t for t, n in zip(inner, dims)):
        raise RangeError(f"shared_layout: tiles {shown(tuple(tile))} of {shown(tuple(dims))}", "tiles that divide it", "pad it")
    slots = [*(n // t for n, t in zip(dims, inner)), *inner]  # the last goes fastest
    steps = [math.prod(slots[k + 1 :]) for k in range(len(slots))]
    rank = len(dims)
    pairs = [[(static(slots[i]), static(steps[i])) for i in (rank + k, k)] for k in range(rank)]
    return join([coalesce(Layout(*zip(*pair))) for pair in pairs])
