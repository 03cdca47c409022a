"""The widest vector of a copy that is proved legal: consecutive in both layouts, aligned in both memories.

Sizes may be open: what is proved of them counts, what is not known does not. A dynamic integer counts with its value.
"""

from __future__ import annotations

import math
from typing import Any

from ..algebra.common import max_common_vector
from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import leaves, product, shown
from ..core.ints import is_int, is_static, known
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from ..core.profiles import congruent
from ..core.questions import divides, equal
from ..core.swizzle import Swizzle
from ..linear.value import integer, power_of_two


def vector_width(
    src: Any, dst: object, element_bits: int, src_alignment: int = 128, dst_alignment: int = 128, most: int = 128
) -> int:
    """The widest vector that a copy from src to dst may use, proved legal and aligned [bits].

    src, dst        layouts of one shape, plain or with a swizzle on them; sizes may be open
    element_bits    the width of an element [bits]
    src_alignment, dst_alignment   what divides the base pointers [bits]: powers of two
    most            the widest that the instructions have [bits]
    Returns         a multiple of element_bits: 2^k elements that follow on one another in both, each such vector at a
                    multiple of its width; element_bits where no more is proved
    Raises          RangeError for a width or an alignment that is no power of two, or sizes that differ; LeafTypeError
                    for other kinds of layouts

    >>> from tla import dim, MakeLayout, parse
    >>> vector_width(parse("(8,64):(64,1)"), parse("Sw<3,3,3> o 0 o (8,64):(64,1)"), 16)
    128
    >>> n = dim("N", multiple_of=4)
    >>> rows = MakeLayout((8, n), (n, 1))
    >>> vector_width(rows, rows, 16), vector_width(rows, rows, 16, src_alignment=32)
    (64, 32)

    Source: the alignment that CUDA's vector loads need; CuTe's `max_common_vector` and `max_alignment`.
    """
    bits = integer("vector_width: element_bits", element_bits)
    ends = [power_of_two("vector_width: an alignment", n) for n in (src_alignment, dst_alignment, most)]
    if not bits:
        raise RangeError("vector_width of elements of 0 bits", "1 or more", "give the width of an element, such as 16")
    count = 1
    while all(n % (bits * count * 2) == 0 for n in ends) and _legal(src, dst, count * 2):
        count *= 2
    return bits * count


def _legal(src: Layout, dst: Any, count: int) -> bool:
    plain = [_unswizzled(x, count) for x in (src, dst)]
    if plain[0] is None or plain[1] is None:
        return False
    return _common(plain[0], plain[1], count) and _aligned(plain[0], count) and _aligned(plain[1], count)


def _unswizzled(layout: AnyLayout, count: int) -> Layout | None:
    """The layout below a swizzle that keeps so many elements together; None if one does not or an offset parts them."""
    while isinstance(layout, ComposedLayout):
        keeps = isinstance(layout.outer, Swizzle) and (layout.outer.bits == 0 or 1 << layout.outer.base >= count)
        if not keeps or not is_int(layout.offset) or divides(count, layout.offset) is not True:
            return None
        layout = layout.inner
    if not isinstance(layout, Layout):
        what = f"vector_width of a {type(layout).__name__}"
        raise LeafTypeError(what, "a layout, or a swizzle on one", "give tensor.layout")
    return layout


def _common(src: Layout, dst: Layout, count: int) -> bool:
    """Whether `count` consecutive offsets are at the same coordinates in both layouts."""
    if equal(product(src.shape), product(dst.shape)) is False:
        what = f"vector_width of {shown(src)} and {shown(dst)}"
        raise RangeError(what, "layouts of one size", "cut both to one tile")
    if congruent(src.shape, dst.shape):
        modes = zip(leaves(src.shape), leaves(src.stride), leaves(dst.stride))
        if any(known(a) == 1 and known(b) == 1 and divides(count, n) is True for n, a, b in modes):
            return True
    if not all(map(is_static, (src.shape, src.stride, dst.shape, dst.stride))):
        return False
    return int(max_common_vector(src, dst)) % count == 0


def _aligned(layout: Layout, count: int) -> bool:
    """Whether runs of so many elements begin at multiples of it: other strides are multiples, the run's own add up."""
    run = 1
    modes = zip(leaves(layout.shape), leaves(layout.stride))
    for extent, stride in sorted(modes, key=lambda mode: known(mode[1]) or math.inf):
        if known(stride) == run and run < count:
            n = known(extent)
            if n is None:
                run = count if divides(count // run, extent) is True else 0
            else:
                run = run * n
            if not run or (run < count and count % run) or (run > count and run % count):
                return False
        elif known(extent) != 1 and divides(count, stride) is not True:
            return False
    return run >= count
