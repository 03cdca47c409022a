"""The types of Triton's IR that hold a layout: `tensor<64x64xf16, #ttg.blocked<{...}>>`,
`!ttg.memdesc<64x64xf16, #shared, ...>`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...algebra.compose import compose
from ...core.element import Width
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import size
from ...core.ints import Int
from ...core.layout import Layout
from ..arguments import checked
from ..bridge import layout_of
from ..linear_layout import LinearLayout
from .distributed import BlockedLayout
from .forms import with_rank
from .shared import NVMMASharedLayout, PaddedSharedLayout, SwizzledSharedLayout
from .text import TritonReader

#: A tensor of which the text says no shape is no larger [elements]; one of shared memory has so many rows and columns.
_MOST, _SHARED = 2**14, 64


class Typed(NamedTuple):
    """A tensor of Triton's IR.

    layout   of tla.linear.triton
    shape    one integer for each dimension of the layout
    bits     the width of an element; None where the text does not say it
    element  the text that says it: f16, !tt.ptr<f32>, or a parameter of the layout

    >>> from tla.linear.triton import from_type
    >>> found = from_type("tensor<8xf32, #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [4], warpsPerCTA = [1], order = [0]}>>")
    >>> found.shape, found.bits
    ((8,), 32)
    """

    layout: Any
    shape: tuple[int, ...]
    bits: int | None
    element: str = ""

    @property
    def element_width(self) -> Width | None:
        """The width of an element, as the text says it."""
        return None if self.bits is None else Width(self.bits, self.element)

    @property
    def linear(self) -> LinearLayout:
        """The linear layout of the tensor.

        >>> text = "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [4], warpsPerCTA = [1], order = [0]}>"
        >>> from_type(f"tensor<8xf32, {text}>").linear.bases["lane"]
        ((2,), (4,))
        """
        return self.layout.linear(self.shape)  # type: ignore[no-any-return]

    @property
    def memory(self) -> Any:
        """The layout from a coordinate of a tensor in shared memory to its offset, padding included [elements].

        >>> print(from_type("#ttg.padded_shared<[8:+2] {order = [1, 0], shape = [4, 8]}>").memory)
        (_4,_8):(_10,_1)

        Raises     LeafTypeError for a layout of registers or of tensor memory
        """
        found = self.linear
        if "offset" not in found.get_in_dim_names():
            what = f"the memory of a {self.layout.name}"
            raise LeafTypeError(what, "a layout of shared memory", "use .linear: who holds each element")
        before = layout_of(found.invert())
        if not isinstance(self.layout, PaddedSharedLayout):
            return before
        return compose(_padding(self.layout, size(before)), before)


def _padding(layout: PaddedSharedLayout, count: int) -> Layout:
    """The layout from an offset before padding to the one behind it."""
    places = [1, *sorted(interval for interval, _padding in layout.interval_padding_pairs if interval < count), count]
    shape = tuple(Int[high // low]() for low, high in itertools.pairwise(places))
    return Layout(shape, tuple(Int[layout.padded(low)]() for low in places[:-1]))


@checked
def from_type(text: str, names: Mapping[str, Any] | None = None) -> Typed:
    """The layout and the shape of a type of Triton's IR; `names` has what aliases such as #mma stand for,
    as from_text takes them.

    Of a layout alone, as in `#ttg.blocked<{...}>`, the shape is the smallest of which every thread holds elements of
    its own, and of shared memory the last two dimensions are 64. The first dimensions of a memdesc that has more than
    its layout are left out: buffers.

    >>> text = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>"
    >>> found = from_type(f"tensor<64x64xf16, {text}>")
    >>> found.layout.warps_per_cta, found.shape, found.bits
    ((2, 1), (64, 64), 16)
    >>> from_type(text).shape
    (8, 32)

    Raises     ParseError for a text that is not a type, RankError for a layout of another rank, RangeError for another
               elementBitWidth
    Source: the printer of Triton 3.9's dialects.
    """
    reader = TritonReader(text, names)
    if reader.token == "#":
        layout = reader.whole(reader.attribute)
        return Typed(layout, _least(layout), getattr(layout, "element_bitwidth", None), "elementBitWidth")
    layout, shape, width = reader.whole(reader.type)
    layout = with_rank(layout, len(shape)) if text.lstrip().startswith("tensor") else layout
    rank = int(layout.rank)
    if len(shape) < rank or (text.lstrip().startswith("tensor") and len(shape) != rank):
        what = f"{text:.60}: {len(shape)} extents"
        raise RankError(what, f"{rank}, the rank of its layout", "give one for each dimension")
    if isinstance(layout, NVMMASharedLayout) and width.bits != layout.element_bitwidth:
        what = f"{text:.60}: {width.said} in a layout of elementBitWidth = {layout.element_bitwidth}"
        raise RangeError(what, f"elementBitWidth = {width.bits}", "give the layout and the elements one width")
    return Typed(layout, shape[len(shape) - rank :], *width)


def _least(layout: Any) -> tuple[int, ...]:
    """The shape of a tensor to show a layout by."""
    if hasattr(layout, "shape"):  # it is of one tensor
        return tuple(layout.shape)
    shape = [1] * int(layout.rank)
    if isinstance(layout, (NVMMASharedLayout, SwizzledSharedLayout)):
        # one row of the swizzle
        wide = 8 * getattr(layout, "swizzle_byte_width", 0) // getattr(layout, "element_bitwidth", 8)
        last = [_SHARED, max(_SHARED, wide)]
        return (*shape[2:], *(last[::-1] if getattr(layout, "transposed", False) else last)[-len(shape) :])
    free = _free(layout, shape)
    while free and math.prod(shape) < _MOST:
        larger = [[n << (k == d) for k, n in enumerate(shape)] for d in range(len(shape))]
        best = min(larger, key=lambda s: _free(layout, s))
        if _free(layout, best) >= free:
            break
        shape, free = best, _free(layout, best)
    return tuple(shape)


def _free(layout: Any, shape: list[int]) -> int:
    """The number of bits of the threads' numbers that change nothing of what they hold."""
    # registers are not left out
    linear = layout.linear(shape, "3.8") if isinstance(layout, BlockedLayout) else layout.linear(shape)
    masks = linear.get_free_variable_masks()
    return sum(mask.bit_count() for mask in masks.values())
