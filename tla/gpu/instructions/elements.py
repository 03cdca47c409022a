"""The element types of matrix and copy instructions, under the names that CUTLASS and the vendors' manuals have.

A type is the one object that tla has for it: `half_t` of CUTLASS is `half`, `float_e4m3_t` is `fp8_e4m3`. C++'s own names are
in CPP, the short codes of the names of instructions (F16, S8, E4M3) in CODES.

Source: CuTe include/cute/numeric/numeric_types.hpp; the PTX manual, fundamental and alternate types.
"""

from __future__ import annotations

import builtins
from typing import Any

from ...core.element import (
    Element,
    bf16,
    complex64,
    complex128,
    complex_tf32,
    double,
    float,
    fp4_e2m1,
    fp6_e2m3,
    fp6_e3m2,
    fp8_e4m3,
    fp8_e5m2,
    fp8_e8m0,
    fp8_ue4m3,
    gauss_complex128,
    half,
    int4b,
    int8,
    int16,
    int32,
    int64,
    of_dtype,
    tf32,
    uint1,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
    uint128,
)
from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.ints import is_int, known
from ...tensors.tensor import Tensor

#: What C++ calls them, the name that we write first.
CPP: dict[str, Element] = {
    "half_t": half,
    "bfloat16_t": bf16,
    "tfloat32_t": tf32,
    "float": float,
    "double": double,
    "complex<float>": complex64,
    "complex<double>": complex128,
    "complex<tfloat32_t>": complex_tf32,
    "SM80_8x8x4_GC64C64C64GC64_TN::GaussComplex": gauss_complex128,
    "float_e4m3_t": fp8_e4m3,
    "float_e5m2_t": fp8_e5m2,
    "float_e3m2_t": fp6_e3m2,
    "float_e2m3_t": fp6_e2m3,
    "float_e2m1_t": fp4_e2m1,
    "float_ue8m0_t": fp8_e8m0,
    "float_ue4m3_t": fp8_ue4m3,
    "int8_t": int8,
    "int16_t": int16,
    "int32_t": int32,
    "int64_t": int64,
    "int4_t": int4b,
    "uint1_t": uint1,
    "uint2_t": uint2,
    "uint4_t": uint4,
    "uint8_t": uint8,
    "uint16_t": uint16,
    "uint32_t": uint32,
    "uint64_t": uint64,
    "uint128_t": uint128,
    "bf16_t": bf16,
    "bin1_t": uint1,
    "half": half,
    "int": int32,
    "cute::half_t": half,
}
_CPP_OF = {element: name for name, element in reversed(CPP.items())}

#: The codes in the names of instructions.
CODES: dict[str, Element] = {
    "F16": half,
    "BF16": bf16,
    "TF32": tf32,
    "F32": float,
    "F64": double,
    "C64": complex128,
    "GC64": gauss_complex128,
    "S32": int32,
    "S16": int16,
    "S8": int8,
    "U8": uint8,
    "S4": int4b,
    "U4": uint4,
    "U1": uint1,
    "E4M3": fp8_e4m3,
    "E5M2": fp8_e5m2,
    "E3M2": fp6_e3m2,
    "E2M3": fp6_e2m3,
    "E2M1": fp4_e2m1,
}
_PTX = {**{element: code.lower() for code, element in CODES.items()}, uint1: "b1", fp8_e8m0: "ue8m0", fp8_ue4m3: "ue4m3"}


def as_element(x: Any) -> Element:
    """x as an element type: one of ours, C++'s name of one as text, or Python's float, which is C++'s."""
    if isinstance(x, Element):
        return x
    if x is builtins.float:
        return float
    if x is builtins.int:
        return int32
    found = CPP.get(x.replace("cutlass::", "").replace("cute::", "")) if isinstance(x, str) else None
    if found is None:
        raise LeafTypeError(f"{shown(x)} for an element type", "a type of tla.gpu, or its name in C++", "write half, or 'half_t'")
    return found


def cpp_name(x: Element) -> str:
    """C++'s name of an element type."""
    return _CPP_OF.get(x, x.name)


def ptx_name(x: Element) -> str:
    """The PTX manual's name of an element type."""
    return _PTX.get(x, x.name)


def element_of(call: str, tile: Any, given: Any) -> Element:
    """The element type of a tile: what is given, or that of its tensor's buffer. call: how to give one, for the message.

    LeafTypeError where there is none, and where the buffer's elements have another width than the given one, those below a byte aside.
    """
    dtype = tile.dtype if isinstance(tile, Tensor) else None
    if given is None:
        if dtype is None:
            raise LeafTypeError(f"{call.partition('(')[0]} of {shown(tile)}", "an element type", f"write {call}")
        return of_dtype(dtype.name) or Element(str(dtype), 8 * dtype.itemsize)
    element = as_element(given)
    held = 8 * dtype.itemsize if dtype is not None else max(8, element.bits)
    if held != max(8, element.bits):
        fix = f"leave out the element type, or view the buffer as elements of {element.bits} bits"
        raise LeafTypeError(f"{call.partition('(')[0]} of {element} over a buffer of {dtype}", f"elements of {held} bits", fix)
    return element


def tensor_core_type(element: Element) -> Element:
    """The type that tensor cores take elements as: of the 32 bits of a float they read tf32's."""
    return tf32 if element is float else element


def require_number(what: str, x: object) -> builtins.int:
    """An integer that is known, as a plain one; LeafTypeError for anything else."""
    n = known(x) if is_int(x) else None
    if n is None:
        raise LeafTypeError(f"{what}: {shown(x)}", "a known integer", "write a number, as 0")
    return builtins.int(n)
