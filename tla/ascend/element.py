"""Element types where Ascend takes them: a type, or its width in bits. The types are those of core.

Source: CATLASS include/catlass/numeric_size.hpp, and AscendC::SizeOfBits on the device.
"""

from __future__ import annotations

from typing import Any

from ..core.element import C0_BITS, Element, of_dtype
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown
from ..core.ints import is_int, leaf
from ..tensors.packed import bits_of

#: What CATLASS calls the element types in C++.
CPP_NAMES = {
    "half": "half",
    "float": "float",
    "bf16": "bfloat16_t",
    **{name: f"{name}_t" for name in ("int8", "uint8", "int16", "int32", "uint32", "int64")},
    "int4b": "AscendC::int4b_t",
    "hif8": "hifloat8_t",
    **{f"fp8_{kind}": f"float8_{kind}_t" for kind in ("e4m3", "e5m2", "e8m0")},
    **{f"fp4_{kind}": f"float4_{kind}x2_t" for kind in ("e2m1", "e1m2")},
}

#: The numpy types of elements: those that it has. Values of others are kept as float32 has them.
DTYPES = {"half": "float16", "float": "float32", "int8": "int8", "uint8": "uint8", "int16": "int16", "int32": "int32"}


def dtype_of(element: Element) -> Any:
    """The numpy type that holds the values of an element type."""
    import numpy as np

    return np.dtype(DTYPES.get(element.name, "float32"))


def element_of(data: Any) -> Element:
    """The element type of a buffer; its width in bits for one that Ascend has no name for."""
    found, bits = of_dtype(data.dtype.name), bits_of(data)
    return found if found and found.name in CPP_NAMES and found.bits <= bits else as_element(bits)


def as_element(x: Any) -> Element:
    """x as an element type: one of them, or a width in bits that divides 256."""
    if isinstance(x, Element):
        return x
    if not is_int(x):
        expected = "a type of tla.ascend, or a width in bits"
        raise LeafTypeError(f"{shown(x)} for an element type", expected, "write half, or 16")
    bits = int(leaf(x))
    if bits <= 0 or C0_BITS % bits:
        expected = "a width that divides the 256 bits of a block"
        raise RangeError(f"elements of {bits} bits", expected, "use 4, 8, 16, 32 or 64")
    return Element(str(bits), bits)
