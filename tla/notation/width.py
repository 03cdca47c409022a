"""The width of an element, from whatever says one: a number, an element type, a dtype, a print, or a value
that has one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ..core.element import Element, Width
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown
from ..core.ints import is_int, known
from .printed import pointed

#: The width that applications take where nothing says one.
ASSUMED = Width(32, "assumed")


def element_width(*given: Any, bits: object = None, default: Width | None = None) -> Width:
    """The width of the elements of what was given, and what says it.

    given     what may say it: bits, an element type, a dtype of numpy or an array of one, a tensor with a buffer, an
              XLA shape, a copy atom or a tiled copy, a tensor of Triton's (from_type), a text that CuTe, its DSL or a
              C++ compiler prints. What has no elements of its own says nothing: a layout, a text of one, None
    bits      what has to say it, if it is given: bits, an element type, a dtype or a Width
    default   the answer where nothing says a width
    Returns   Width: bits, and what says it
    Raises    RangeError where two say different widths, or one less than 1 bit; LeafTypeError where nothing says it and
              there is no default, and for `bits` that say none

    >>> from tla import xla
    >>> from tla.ascend import half
    >>> print(element_width("tensor<ptr<f8E4M3FN, smem> o (8,64):(64,1)>"), element_width(None, half, 16), sep=", ")
    8 bits (f8E4M3FN), 16 bits (half)
    >>> print(element_width(xla.parse_shape("s4[8]{0:E(4)}")))
    4 bits (s4)
    >>> element_width("smem_ptr[16b](0x0) o _8:_1", bits=32)
    Traceback (most recent call last):
    tla.core.errors.RangeError: elements of 16 bits (ptr[16b]), given as 32 bits
      expected  16 bits
      fix       leave bits out
    """
    asked = next(_said(bits), None)
    if bits is not None and asked is None:
        raise LeafTypeError(f"elements of {shown(bits)}", "a number of bits, or an element type", "write 16, or half")
    found = [width for x in given for width in _said(x)]
    for other in found[1:]:
        if other.bits != found[0].bits:
            raise RangeError(f"elements of {found[0]} and of {other}", "one width", "give both the same element type")
    if found and asked and asked.bits != found[0].bits:
        raise RangeError(
            f"elements of {found[0]}, given as {asked.bits} bits", f"{found[0].bits} bits", "leave bits out"
        )
    for width in (*found, asked, default):
        if width:
            return width
    raise LeafTypeError("elements of a width that nothing says", "the bits of an element", "give them, such as 16")


def _said(x: Any) -> Iterator[Width]:
    """The widths that a value says."""
    if isinstance(x, Width):
        yield x
    elif isinstance(x, Element):
        yield Width(x.bits, x.name)
    elif isinstance(x, str):
        yield from pointed(x)
    elif is_int(x):
        bits = int(x) if hasattr(x, "dtype") else known(x)  # an integer of numpy
        if bits is None or bits < 1:
            raise RangeError(
                f"elements of {x} bits", "an integer of 1 or more", "give the width of an element, such as 16"
            )
        yield Width(int(bits), "given")
    elif isinstance(of_its_own := getattr(x, "element_width", None), Width):
        yield of_its_own
    elif isinstance(size := getattr(dtype := _dtype(x), "itemsize", None), int) and size > 0:
        yield Width(8 * size, str(getattr(dtype, "name", dtype)))


def _dtype(x: object) -> Any:
    """The dtype of an array, or of a type of numpy's; x itself where it has none."""
    np = sys.modules.get("numpy")
    return np.dtype(x) if np and isinstance(x, type) and issubclass(x, np.generic) else getattr(x, "dtype", x)
