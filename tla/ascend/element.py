"""Element types where Ascend takes them: a type, or its width in bits. The types are those of core.

Source: CATLASS include/catlass/numeric_size.hpp, and AscendC::SizeOfBits on the device.
"""

from __future__ import annotations

from typing import Any

from ..core.element import C0_BITS, Element
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown
from ..core.ints import is_int, leaf


def as_element(x: Any) -> Element:
    """x as an element type: one of them, or a width in bits that divides 256."""
    if isinstance(x, Element):
        return x
    if not is_int(x):
        raise LeafTypeError(f"{shown(x)} for an element type", "a type of tla.ascend, or a width in bits", "write half, or 16")
    bits = int(leaf(x))
    if bits <= 0 or C0_BITS % bits:
        raise RangeError(f"elements of {bits} bits", "a width that divides the 256 bits of a block", "use 4, 8, 16, 32 or 64")
    return Element(str(bits), bits)
