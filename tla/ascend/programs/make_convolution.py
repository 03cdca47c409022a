"""Convolutions made into blocks: what is given is checked, and the blocks are dealt to cores.

Source: CATLASS examples 24, 33 and 56.
"""

from __future__ import annotations

from typing import Any

from ...core import element as types
from ...core.errors import LeafTypeError, RangeError, require_type
from ...core.int_tuple import quoted, shown
from ...core.ints import is_int, leaf
from ..architecture import AtlasA2, as_architecture
from ..element import as_element
from ..schedules.convolutions import Conv2dIdentityBlockSwizzle, ConvolutionSwizzle
from .convolution import ConvolutionBlocks
from .convolution_numbers import C0, Window


def conv_block(
    images: Any,
    filters: Any,
    tile: Any,
    arch: Any = AtlasA2,
    *,
    stride: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    padding: Any = (0, 0, 0),
    element: Any = types.half,
    bias: bool = False,
    stages: Any = 2,
    cores: Any = 1,
    swizzle: ConvolutionSwizzle = Conv2dIdentityBlockSwizzle,
) -> ConvolutionBlocks:
    """A convolution in blocks: addresses, transfers, products and flags of each core. A convolution of two axes
    has a depth of 1.

    images     (batch, channels, depth, height, width); filters (filters, depth, height, width): how many,
               and the window
    tile       (height, width, filters) of a block of the result
    stride, dilation, padding   along depth, height and width; padding is on both sides
    element    half or bf16;  bias  whether a vector of float is added;  stages  of L1 and L0
    swizzle    how blocks are dealt: Conv2dIdentityBlockSwizzle, with batches and depths as batches
    Raises     LeafTypeError for types and swizzles that there are not; RangeError for sizes that are none, tiles that
               do not fit, and windows that lie in the border alone, but along the depth

    >>> from tla.ascend import Ascend950, conv_block
    >>> conv_block((2, 32, 1, 14, 14), (32, 1, 3, 3), (7, 14, 32), Ascend950, padding=(0, 1, 1)).result
    (2, 32, 1, 14, 14)

    Source: CATLASS `BlockConv`, examples 24, 33 and 56.
    """
    arch, element = as_architecture(arch), as_element(element)
    if element not in (types.half, types.bf16):
        raise LeafTypeError(f"a convolution of {element}", "half or bf16", "write element=half")
    require_type(bias, bool, f"bias={quoted(bias, 40)} of a convolution, of type", "True or False", "write bias=True")
    if not isinstance(swizzle, ConvolutionSwizzle) or swizzle.name != "Conv2dIdentityBlockSwizzle":
        what = f"a convolution dealt by {quoted(swizzle, 60)}"
        raise LeafTypeError(what, "boxes: Conv2dIdentityBlockSwizzle", "leave out swizzle=")
    batch, channels, *sizes = _whole("images", images, 5)
    count, *kernel = _whole("filters", filters, 4)
    ho, wo, cout = _whole("tile", tile, 3)
    if cout % C0:
        raise RangeError(f"a tile of {cout} filters", f"a multiple of {C0}", f"take {-(-cout // C0) * C0}")
    told = (_whole("stride", stride, 3), _whole("dilation", dilation, 3), _whole("padding", padding, 3, 0))
    windows = tuple(Window(*row) for row in zip(sizes, kernel, *told))
    for axis, x in zip(("depth", "height", "width"), windows):
        if x.places < 1 or (x.padding > x.dilation * (x.kernel - 1) and axis != "depth"):
            what = f"a window of {x.kernel} along the {axis} of {x.size}, with padding={x.padding}"
            fix = f"take a padding of at most {x.dilation * (x.kernel - 1)}, and a larger image"
            raise RangeError(what, "windows that each have a part of the image", fix)
    (stage_count,) = _whole("stages", (stages,), 1)
    if 2 * stage_count + bias > 8:
        raise RangeError(f"{stage_count} stages", "at most 8 events, with biases 7", "write stages=2")
    outs = batch * windows[0].places, windows[1].places, windows[2].places, count
    ho, wo, cout = min(ho, outs[1]), min(wo, outs[2]), min(cout, -(-count // C0) * C0)
    table = swizzle(outs, (ho, wo, cout), cores=cores)
    depth, height, width = windows
    made = ConvolutionBlocks(
        arch, batch, channels, count, (depth, height, width), (ho, wo, cout), element, bias, stage_count, table
    )
    _ = made.buffers  # where they do not fit, this raises
    return made


def _whole(name: str, given: Any, count: int, least: int = 1) -> tuple[int, ...]:
    """So many integers."""
    if not isinstance(given, tuple) or len(given) != count or not all(map(is_int, given)):
        what = f"{name}={shown(given) if isinstance(given, tuple) else repr(given):.60}"
        raise LeafTypeError(what, f"{count} integers", f"write {name}=({', '.join('1' * count)})")
    found = tuple(int(leaf(n)) for n in given)
    if min(found) < least:
        fix = f"write {name}={shown(tuple(max(n, least) for n in found))}"
        raise RangeError(f"{name}={shown(found)}", f"{least} or more", fix)
    return found
