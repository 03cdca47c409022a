"""Mosaic GPU's arrays in shared memory: the transforms of a block as the layout that they make.

A transform is applied to the dimensions of the block: tiles become dimensions of their own, dimensions change places.
What comes of it is row-major in shared memory, where a swizzle exchanges pieces of 16 bytes.

Source: JAX 0.10, jax/_src/pallas/mosaic_gpu/core.py (TilingTransform, SwizzleTransform),
jax/experimental/mosaic/gpu/launch_context.py (TileTransform, TransposeTransform); the CUDA driver API,
CUtensorMapSwizzle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.composed import ComposedLayout
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from ...core.ints import Int
from ...core.layout import Layout
from ...core.swizzle import Swizzle
from ..value import integer, power_of_two
from .text import Tiled, Transposed, read_transforms

#: Spans of a swizzle [bytes]; 16 is none.
SPANS = (16, 32, 64, 128)
PIECE = 16


class _Digit(NamedTuple):
    """A dimension on the way: coordinate // place % extent of a dimension of the block."""

    dim: int
    place: int
    extent: int


def shared_layout(shape: Sequence[int], transforms: str, bits: int) -> Layout | ComposedLayout:
    """The layout in shared memory of a block of Mosaic GPU, from coordinates to offsets in elements.

    shape        the extents of the block
    transforms   as Pallas, Mosaic's Python or its MLIR writes them, one after the other:
                 `TilingTransform((8, 64)), SwizzleTransform(128)`, `[#mosaic_gpu.tile<[8,
                 64]>, #mosaic_gpu.swizzle<128 : i32>]`
    bits         of an element: a power of two up to 128
    Raises       ParseError for a text that is none; RangeError for tiles that do not divide, and a swizzle that is not
                 the last one or not of whole rows; RankError for more tiles than dimensions

    >>> print(shared_layout((128, 128), "plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128)", 16))
    Sw<3,3,3> o _0 o ((_8,_16),(_64,_2)):((_64,_1024),(_1,_512))
    >>> print(shared_layout((64, 32), "TransposeTransform(permutation=(1, 0))", 32))
    (_64,_32):(_1,_64)
    """
    if not isinstance(shape, (list, tuple)):
        raise LeafTypeError(f"shared_layout: the shape {shown(shape)}", "a list of extents", "write (64, 128)")
    extents = tuple(integer("shared_layout: an extent", n) for n in shape)
    width = power_of_two("shared_layout: bits", bits)
    if min(extents, default=1) < 1 or width > 8 * PIECE:
        what = f"a block {shown(extents)} of {width} bits"
        raise RangeError(what, "extents of 1 or more, of 128 bits at most", "give its shape")
    digits, span = [_Digit(k, 1, n) for k, n in enumerate(extents)], PIECE
    for transform in read_transforms(transforms):
        if span != PIECE:
            raise RangeError("a transform behind a swizzle", "the swizzle last", "write it behind all others")
        if isinstance(transform, Tiled):
            digits = _cut(digits, transform)
        elif isinstance(transform, Transposed):
            digits = _transposed(digits, transform.permutation)
        else:
            span = _span(transform, digits, width)
    layout = _row_major(digits, len(extents))
    if span == PIECE:
        return layout
    swizzle = Swizzle[(span // PIECE).bit_length() - 1, (8 * PIECE // width).bit_length() - 1, 3]()
    found: ComposedLayout = ComposedLayout(swizzle, Int[0](), layout)
    return found


def _cut(digits: list[_Digit], tiled: Tiled) -> list[_Digit]:
    """Cut the last dimensions into tiles, whose dimensions come behind all others."""
    first = len(digits) - len(tiled.tiling)
    if first < 0:
        what = f"a tiling {shown(tiled.tiling)} of {len(digits)} dimensions"
        raise RankError(what, "one extent a dimension at most", "drop the first")
    outer, inner = digits[:first], []
    for (dim, place, extent), n in zip(digits[first:], tiled.tiling):
        if n < 1 or extent % n:
            what = f"a tile of {n} in an extent of {extent}"
            raise RangeError(what, "tiles that divide it", f"take a divisor of {extent}")
        outer.append(_Digit(dim, place * n, extent // n))
        inner.append(_Digit(dim, place, n))
    return outer + inner


def _transposed(digits: list[_Digit], permutation: Sequence[int]) -> list[_Digit]:
    if sorted(permutation) != [*range(len(digits))]:
        what = f"the permutation {shown(permutation)} of {len(digits)} dimensions"
        raise RankError(what, "each of them once", "name each dimension once")
    return [digits[k] for k in permutation]


def _span(span: int, digits: list[_Digit], width: int) -> int:
    """The bytes of a swizzle, whose rows are the last dimension."""
    if span not in SPANS:
        what = f"a swizzle of {span} bytes"
        raise RangeError(what, f"one of {', '.join(map(str, SPANS))}", "write SwizzleTransform(128)")
    row = digits[-1].extent * width if digits else width
    if span != PIECE and row != 8 * span:
        fix = f"tile the last dimension by {8 * span // width}"
        raise RangeError(f"a swizzle of {span} bytes of rows of {row} bits", f"rows of {8 * span} bits", fix)
    return span


def _row_major(digits: list[_Digit], rank: int) -> Layout:
    """The layout of the block whose dimensions on the way lie one in the other, the last one fastest."""
    modes: list[list[tuple[int, int, int]]] = [[] for _ in range(rank)]
    stride = 1
    for dim, place, extent in reversed(digits):
        if extent > 1:
            modes[dim].append((place, extent, stride))
        stride *= extent
    shape, strides = [], []
    for mode in modes:
        leaves = sorted(mode) or [(1, 1, 0)]
        shape.append(_mode([n for _place, n, _stride in leaves]))
        strides.append(_mode([s for _place, _n, s in leaves]))
    return Layout(tuple(shape), tuple(strides))


def _mode(numbers: list[int]) -> int | tuple[int, ...]:
    leaves = tuple(Int[n]() for n in numbers)
    return leaves[0] if len(leaves) == 1 else leaves
