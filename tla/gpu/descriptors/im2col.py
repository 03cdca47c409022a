"""TMA of convolutions (im2col): pixels of activations are rows of a matrix, filter taps and channels its columns.

The output pixels (q, p, z, n) are the rows; the column (c, s, r, t) of a row is the channel c of the input pixel
(q * stride - padding + s * dilation, ...). A tap is one offset for all pixels of a copy, so that a copy has one tap.

Source: CuTe include/cute/atom/copy_traits_sm90_im2col.hpp, make_im2col_tma_copy; CUTLASS's corners of fprop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...algebra.codomain import MakeIdentityLayout
from ...core.basis import ArithmeticTuple, E
from ...core.conversions import idx2crd
from ...core.errors import DivisibilityError, RangeError, RankError
from ...core.int_tuple import depth, product_each, rank, shown, size
from ...core.ints import known, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div
from ...core.strides import Shape
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ..instructions.elements import element_of, require_number
from .tensor_map import CORNERS, MAX_BOX, MAX_PIXELS, Im2colMap, swizzle_name
from .tma import box_values, require_own_places, shared_of
from .tma_basis import bytes_of, runs_of


class Im2colBox(NamedTuple):
    """One instruction of an im2col copy.

    at             the coordinate (c, w, (h, (d,)) n) of the first pixel
    filter_offset  what is added to each pixel along w, (h, (d))
    base           where the box begins in the tile of shared memory [bytes]

    >>> from tla.gpu import Im2colBox
    >>> Im2colBox((0, -1, 0), (2,), 0).filter_offset
    (2,)

    Source: the PTX manual, `cp.async.bulk.tensor` with `.im2col`.
    """

    at: tuple[int, ...]
    filter_offset: tuple[int, ...]
    base: int


@dataclass(frozen=True)
class Im2colCopy:
    """An im2col copy of tiles (pixels, channels) into shared memory.

    map         the Im2colMap
    tma_tensor  ((q, (p, (z,)) n), (c, s, (r, (t)))) -> (c, w, (h, (d,)) n, then the filter's offsets)
    tile        pixels and channels of one tile
    smem        the layout of a tile in shared memory

    >>> from tla import parse, tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, half, make_im2col_copy
    >>> image = parse("((32,32,8),64):((64,2048,65536),_1)")
    >>> copy = make_im2col_copy(image, tile_to_shape(GMMA.K_SW128[half], (_128, _64)), (3, 3), element=half,
    ...     lower_padding=(1, 1), upper_padding=(1, 1))
    >>> copy.boxes(1, (0, 2, 0))                    # pixels 128 to 255, the third tap of the first row
    [Im2colBox(at=(0, -1, 3, 0), filter_offset=(2, 0), base=0)]

    Source: CuTe `make_im2col_tma_copy`.
    """

    map: Im2colMap
    tma_tensor: Tensor
    tile: tuple[int, int]
    smem: Any
    _boxes: tuple[tuple[int, int, int], ...]

    def boxes(self, m: int, k: Any) -> list[Im2colBox]:
        """The instructions that fill a tile: rows from m * tile[0] on, of a tap channels from (k's first) * tile[1] on.

        k   (channel tile, s, (r, (t))), or its number, the channel tile the fastest
        Raises RangeError past the rows or columns; LeafTypeError for sizes that are not known

        >>> from tla import parse
        >>> from tla.gpu import half, make_im2col_copy
        >>> copy = make_im2col_copy(parse("((8,2),16):((16,128),_1)"), parse("(_8,_16):(_16,_1)"), (3,), element=half)
        >>> copy.boxes(1, 2)
        [Im2colBox(at=(0, 2, 1), filter_offset=(2,), base=0)]
        """
        rows, columns = self.tma_tensor.layout.shape
        row = require_number("the tile of pixels", m) * self.tile[0]
        taps = tuple(require_number("an extent", n) for n in (ceil_div(columns[0], self.tile[1]), *columns[1:]))
        is_number = not isinstance(k, tuple) and 0 <= require_number("the tile of columns", k) < math.prod(taps)
        at = tuple(idx2crd(k, taps)) if is_number else k
        inside = isinstance(at, tuple) and len(at) == len(taps)
        inside = inside and all(0 <= require_number("a tap", i) < n for i, n in zip(at, taps))
        if not 0 <= row < require_number("the pixels", size(rows)) or not inside:
            expected = f"tiles of pixels below {-(-int(size(rows)) // self.tile[0])}, columns below {taps}"
            raise RangeError(f"the tile ({shown(m)}, {shown(k)})", expected, "count from 0")
        first = at[0] * self.tile[1]
        return [self._box(row + pixel, (first + channel, *at[1:]), base) for pixel, channel, base in self._boxes]

    def _box(self, row: int, column: tuple[int, ...], base: int) -> Im2colBox:
        view = self.tma_tensor
        start = tuple(int(n) for n in view.offset + view.layout(row, column))
        return Im2colBox(start[: self.map.rank], start[self.map.rank :], base)


def make_im2col_copy(
    gmem: object,
    smem: object,
    filter_size: tuple[int, ...],
    *,
    lower_padding: tuple[int, ...] = (),
    upper_padding: tuple[int, ...] = (),
    stride: tuple[int, ...] = (),
    dilation: tuple[int, ...] = (),
    element: object = None,
    l2_promotion: str = "128B",
) -> Im2colCopy:
    """The TMA load of a convolution's activations as a matrix of output pixels by channels of filter taps.

    gmem           the activations ((w, (h, (d,)) n), c), a tensor or its layout, contiguous along c
    smem           the layout of one tile (pixels, channels) in shared memory, static, swizzled or not
    filter_size    the taps along w, (h, (d));  stride, dilation  of the convolution: 1 by default
    lower_padding, upper_padding   zeros before and behind the tensor [pixels]: none by default
    element        the element type, where the tensor has no buffer
    Returns        Im2colCopy; the tensor map is checked as the driver does
    Raises         RankError for other ranks, LeafTypeError; InjectivityError for a tile that overlaps itself;
                   DivisibilityError where shared memory does not run along channels and then along pixels; RangeError
                   for what the map does not hold: corners, strides, boxes, offsets of taps past their bits

    >>> from tla import parse, tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, half, make_im2col_copy
    >>> image = parse("((32,32,8),64):((64,2048,65536),_1)")
    >>> copy = make_im2col_copy(image, tile_to_shape(GMMA.K_SW128[half], (_128, _64)), (3, 3), element=half,
    ...     lower_padding=(1, 1), upper_padding=(1, 1))
    >>> copy.map.lower, copy.map.upper, copy.map.pixels, copy.map.channels, copy.map.swizzle
    ((-1, -1), (-1, -1), 128, 64, '128B')
    >>> print(copy.tma_tensor.layout)
    ((32,32,8),(64,3,3)):((1@1,1@2,_1@3),(_1@0,1@4,1@5))

    Source: CuTe `make_im2col_tma_copy`.
    """
    where = "make_im2col_copy"
    element = element_of(f"{where}(..., element=half)", gmem, element)
    extents, steps = _activations(gmem.layout if isinstance(gmem, Tensor) else gmem)
    count = len(extents) - 2
    taps = _per_axis("filter_size", filter_size, count, 1)
    steps_of, gaps = (_per_axis(name, x, count, 1, 1) for name, x in (("stride", stride), ("dilation", dilation)))
    zeros = ("lower_padding", lower_padding), ("upper_padding", upper_padding)
    before, behind = (_per_axis(name, x, count, 0, 0) for name, x in zeros)
    _require_taps(taps, gaps, count)
    parts = shared_of(where, smem, element)
    vectors, (channels, pixels) = _runs(parts.inner)
    tensor_map = Im2colMap(
        element=element,
        shape=extents,
        strides=(element.bits // 8, *(bytes_of(where, d, element) for d in steps[1:])),
        element_strides=(1, *steps_of, 1),
        swizzle=swizzle_name(parts.mode),
        l2_promotion=l2_promotion,
        lower=tuple(-n for n in before),
        upper=tuple(n - (t - 1) * g for n, t, g in zip(behind, taps, gaps)),
        channels=channels,
        pixels=pixels,
    )
    values = box_values(parts.inner, vectors, Layout(Shape(static(channels), static(pixels)), (E[1], E[0])), element)
    tile = tuple(int(n) for n in product_each(parts.inner.shape))
    starts = [int(values[0][1](i)) for i in range(int(size(values[0][1])))]
    boxes = tuple((i % tile[0], i // tile[0], int(parts.inner(i)) * element.bits // 8) for i in starts)
    whole = smem.layout if isinstance(smem, Tensor) else smem
    return Im2colCopy(tensor_map, _tma_tensor(tensor_map, taps, gaps), (tile[0], tile[1]), whole, boxes)


def _activations(layout: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Extents and strides of activations ((w, ..., n), c) in the order of a map: c, w, ..., n."""
    shape: Any = layout.shape if isinstance(layout, Layout) and rank(layout) == 2 else ()
    nested = [isinstance(m, tuple) for m in shape]
    if nested != [True, False] or depth(shape[0]) != 1 or len(shape[0]) + 1 not in CORNERS:
        what = f"make_im2col_copy of {shown(layout)}"
        raise RankError(what, "((w, n), c), ((w, h, n), c) or ((w, h, d, n), c)", "group its modes, channels last")
    extents, steps = (tuple(x if known(x) is None else int(x) for x in (m[1], *m[0])) for m in (shape, layout.stride))
    if known(steps[0]) != 1:
        what = f"make_im2col_copy of {layout}: channels are {steps[0]} apart"
        raise DivisibilityError(what, "1", "store the channels last: NHWC")
    return extents, steps


def _per_axis(name: str, given: object, count: int, least: int, default: int | None = None) -> tuple[int, ...]:
    """A parameter of a convolution along w, (h, (d))."""
    if isinstance(given, tuple) and not given and default is not None:
        return (default,) * count
    fix = f"write {name}={(max(least, 1),) * count}"
    if not isinstance(given, tuple) or len(given) != count:
        raise RankError(f"make_im2col_copy with {name}={shown(given)}", f"a tuple of {count} integers", fix)
    numbers = tuple(require_number(name, n) for n in given)
    if min(numbers) < least:
        raise RangeError(f"make_im2col_copy with {name}={numbers}", f"{least} or more", fix)
    return numbers


def _require_taps(taps: tuple[int, ...], gaps: tuple[int, ...], count: int) -> None:
    """Require that a tap's offset fits the bits that the instruction has for it."""
    limit = 2 * CORNERS[count + 2]
    for n, g in zip(taps, gaps):
        if (n - 1) * g >= limit:
            what = f"make_im2col_copy: the last of {n} taps, {g} apart, at {(n - 1) * g}"
            raise RangeError(what, f"less than {limit} for {count + 2} modes", "split the filter")


def _runs(smem: Layout) -> tuple[Layout, tuple[int, int]]:
    """The tile's coordinates, and how many channels and pixels follow on one another in shared memory: a box."""
    if rank(smem) != 2 or not smem.is_static:
        what = f"make_im2col_copy into {shown(smem)}"
        raise RankError(what, "a static tile (pixels, channels)", "tile GMMA.K_SW128[half] to it")
    require_own_places("make_im2col_copy", smem)
    vectors = MakeIdentityLayout(Shape(*product_each(smem.shape)))
    runs = [(int(extent), e.path[0]) for extent, e in runs_of(vectors, smem)]
    if runs[0][1] != 1:
        expected = "channels first, as in (_128,_64):(_64,_1)"
        raise DivisibilityError(f"make_im2col_copy into {smem}", expected, "take a K-major atom")
    channels, pixels = runs[0][0], next((n for n, mode in runs[1:2] if mode == 0), 1)
    if channels > MAX_BOX or pixels > MAX_PIXELS:
        what = f"make_im2col_copy: a box of {pixels} pixels and {channels} channels"
        raise RangeError(what, f"at most {MAX_PIXELS} and {MAX_BOX}", "take smaller tiles")
    return vectors, (channels, pixels)


def _tma_tensor(m: Im2colMap, taps: tuple[int, ...], gaps: tuple[int, ...]) -> Tensor:
    """The matrix as coordinates of the instruction, from the bounding box's first pixel on."""
    pixels = (*(E[i + 1] * step for i, step in enumerate(m.element_strides[1:-1])), E[m.rank - 1])
    columns = (E[0], *(E[m.rank + i] * g for i, g in enumerate(gaps)))
    layout = Layout((m.pixel_counts, (m.shape[0], *taps)), (pixels, columns))
    return MakeTensor(None, layout, offset=ArithmeticTuple(0, *m.lower, 0, *(0 for _ in taps)))
