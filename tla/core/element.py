"""Element types: a name and a width in bits, which is all that a layout asks of one.

Source: CATLASS include/catlass/numeric_size.hpp and AscendC::SizeOfBits; CuTe include/cute/numeric/numeric_types.hpp.
"""

from __future__ import annotations

from typing import NamedTuple

from .ints import Int, static
from .value import Record, put

#: The width of Ascend's block in bits: 32 bytes, which every move between its memories takes at once.
C0_BITS = 256


class Element(Record):
    """An element type: `half`, `int4b`, ... Wherever Ascend takes one, its width in bits may stand instead.

    name    as CATLASS has it; of a bare width, its digits
    bits    the width of one element
    group   how many are stored together: a row of fp4 elements, which come in pairs, is a whole number of pairs

    >>> from tla.ascend import half, int4b
    >>> half, half.bits, print(half.C0, int4b.C0)
    _16 _64
    (half, 16, None)

    Source: CATLASS `SizeOfBits`. A host build of CATLASS takes int4b for 8 bits; here it has 4 everywhere, as
    on the device.
    """

    __slots__ = __match_args__ = ("name", "bits", "group")
    _instead = "make another with Element"
    name: str
    bits: int
    group: int

    def __init__(self, name: str, bits: int, group: int = 1) -> None:
        put(self, "name", name)
        put(self, "bits", bits)
        put(self, "group", group)

    @property
    def C0(self) -> Int:
        """The number of whole elements that 32 bytes hold. Static."""
        return static(C0_BITS // self.bits)

    def __repr__(self) -> str:
        return self.name


class Width(NamedTuple):
    """The width of an element, and what says it; tla.access.element_width finds it.

    bits   of an element
    said   what says it, in words: an element type, or where one stood

    >>> print(Width(16, "half"))
    16 bits (half)
    """

    bits: int
    said: str

    def __str__(self) -> str:
        return f"{self.bits} bits ({self.said})"


int4b = Element("int4b", 4)
fp4_e2m1 = Element("fp4_e2m1", 4, group=2)
fp4_e1m2 = Element("fp4_e1m2", 4, group=2)
int8 = Element("int8", 8)
uint8 = Element("uint8", 8)
hif8 = Element("hif8", 8)
fp8_e4m3 = Element("fp8_e4m3", 8)
fp8_e5m2 = Element("fp8_e5m2", 8)
fp8_e8m0 = Element("fp8_e8m0", 8)
int16 = Element("int16", 16)
half = Element("half", 16)
bf16 = Element("bf16", 16)
int32 = Element("int32", 32)
uint32 = Element("uint32", 32)
float = Element("float", 32)
int64 = Element("int64", 64)

# Of GPUs.
tf32 = Element("tf32", 32)
double = Element("double", 64)
complex64 = Element("complex64", 64)
complex128 = Element("complex128", 128)
complex_tf32 = Element("complex_tf32", 64)
#: The three products of a complex multiplication by Gauss: what one accumulator of a GC64 instruction is.
gauss_complex128 = Element("gauss_complex128", 192)
fp6_e3m2 = Element("fp6_e3m2", 6)
fp6_e2m3 = Element("fp6_e2m3", 6)
fp8_ue4m3 = Element("fp8_ue4m3", 8)
uint1 = Element("uint1", 1)
uint2 = Element("uint2", 2)
uint4 = Element("uint4", 4)
uint16 = Element("uint16", 16)
uint64 = Element("uint64", 64)
uint128 = Element("uint128", 128)
fp8_e4m3fnuz = Element("fp8_e4m3fnuz", 8)
fp8_e5m2fnuz = Element("fp8_e5m2fnuz", 8)

#: numpy's names of element types, and ml_dtypes' of those that numpy has not, where these are not ours.
DTYPES = {
    "half": "float16",
    "bf16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "int4b": "int4",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "fp8_e8m0": "float8_e8m0fnu",
    "fp8_e4m3fnuz": "float8_e4m3fnuz",
    "fp8_e5m2fnuz": "float8_e5m2fnuz",
    "fp6_e2m3": "float6_e2m3fn",
    "fp6_e3m2": "float6_e3m2fn",
    "fp4_e2m1": "float4_e2m1fn",
}
_OF_DTYPES = {DTYPES.get(name, name): x for name, x in globals().items() if isinstance(x, Element)}


def of_dtype(name: str) -> Element | None:
    """The element type that a name of numpy's or ml_dtypes' is; None for another.

    >>> print(of_dtype("float16"), of_dtype("float8_e4m3fn"), of_dtype("datetime64[s]"))
    half fp8_e4m3 None
    """
    return _OF_DTYPES.get(name)
