"""The element types of matrix and copy instructions, under the names that CUTLASS and the vendors' manuals have.

A type is the one object that tla has for it: `half_t` of CUTLASS is `half`, `float_e4m3_t` is `fp8_e4m3`. C++'s own
names are in CPP, the short codes of the names of instructions (F16, S8, E4M3) in CODES, numpy's types in
NUMPY, MLIR's in MLIR.

Source: CuTe include/cute/numeric/numeric_types.hpp; the PTX manual, fundamental and alternate types.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...core import element as types
from ...core.element import Element, of_dtype
from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.ints import value_of
from ...tensors.tensor import Tensor

#: An element type, its names in C++, the first the one that we write; its code in the names of instructions; the type
#: of numpy that holds its values, of those without one float32; its names in MLIR.
_ROWS: tuple[tuple[Element, str, str, str, str], ...] = (
    (types.half, "half_t half cute::half_t", "F16", "float16", "f16"),
    (types.bf16, "bfloat16_t bf16_t", "BF16", "", "bf16"),
    (types.tf32, "tfloat32_t", "TF32", "float32", "tf32"),
    (types.float, "float", "F32", "float32", "f32"),
    (types.double, "double", "F64", "float64", "f64"),
    (types.complex64, "complex<float>", "", "complex64", ""),
    (types.complex128, "complex<double>", "C64", "complex128", ""),
    (types.complex_tf32, "complex<tfloat32_t>", "", "complex64", ""),
    (types.gauss_complex128, "SM80_8x8x4_GC64C64C64GC64_TN::GaussComplex", "GC64", "complex128", ""),
    (types.int32, "int32_t int", "S32", "int32", "i32 si32"),
    (types.int16, "int16_t", "S16", "int16", "i16 si16"),
    (types.int8, "int8_t", "S8", "int8", "i8 si8"),
    (types.int64, "int64_t", "", "int64", "i64 si64"),
    (types.uint8, "uint8_t", "U8", "uint8", "ui8"),
    (types.int4b, "int4_t", "S4", "int8", "i4"),
    (types.uint4, "uint4_t", "U4", "uint8", ""),
    (types.uint2, "uint2_t", "", "uint8", ""),
    (types.uint1, "uint1_t bin1_t", "U1", "uint8", ""),
    (types.uint16, "uint16_t", "", "uint16", "ui16"),
    (types.uint32, "uint32_t", "", "uint32", "ui32"),
    (types.uint64, "uint64_t", "", "uint64", "ui64"),
    (types.uint128, "uint128_t", "", "", ""),
    (types.fp8_e4m3, "float_e4m3_t", "E4M3", "", "f8E4M3FN"),
    (types.fp8_e5m2, "float_e5m2_t", "E5M2", "", "f8E5M2"),
    (types.fp6_e3m2, "float_e3m2_t", "E3M2", "", "f6E3M2FN"),
    (types.fp6_e2m3, "float_e2m3_t", "E2M3", "", "f6E2M3FN"),
    (types.fp4_e2m1, "float_e2m1_t", "E2M1", "", "f4E2M1FN"),
    (types.fp8_e8m0, "float_ue8m0_t", "", "", "f8E8M0FNU"),
    (types.fp8_ue4m3, "float_ue4m3_t", "", "", ""),
)
CPP = {name: x for x, names, *_others in _ROWS for name in names.split()}
CODES = {code: x for x, _names, code, *_others in _ROWS if code}
#: By the name of an element type.
NUMPY = {x.name: name for x, _names, _code, name, _mlir in _ROWS if name}
MLIR = {name: x for x, *_others, names in _ROWS for name in names.split()}
_CPP_OF = {x: name for name, x in reversed(CPP.items())}
_PTX = {x: code.lower() for code, x in CODES.items()}
_PTX |= {types.uint1: "b1", types.fp8_e8m0: "ue8m0", types.fp8_ue4m3: "ue4m3"}


def as_element(x: object) -> Element:
    """x as an element type: one of ours, C++'s name of one as text, or Python's float, which is C++'s."""
    if isinstance(x, Element):
        return x
    if x is float:
        return types.float
    if x is int:
        return types.int32
    found = CPP.get(x.replace("cutlass::", "").replace("cute::", "")) if isinstance(x, str) else None
    if found is None:
        expected = "a type of tla.gpu, or its name in C++"
        raise LeafTypeError(f"{shown(x)} for an element type", expected, "write half, or 'half_t'")
    return found


def cpp_name(x: Element) -> str:
    """C++'s name of an element type."""
    return _CPP_OF.get(x, x.name)


def ptx_name(x: Element) -> str:
    """The PTX manual's name of an element type."""
    return _PTX.get(x, x.name)


def element_of(call: str, tile: object, given: object) -> Element:
    """The element type of a tile: what is given, or that of its tensor's buffer. call: how to give one,
    for the message.

    LeafTypeError where there is none, and where the buffer's elements have another width than the given one, those
    below a byte aside.
    """
    dtype = tile.dtype if isinstance(tile, Tensor) else None
    if given is None:
        if dtype is None:
            raise LeafTypeError(f"{call.partition('(')[0]} of {shown(tile)}", "an element type", f"write {call}")
        return of_dtype(dtype.name) or Element(str(dtype), 8 * dtype.itemsize)
    element = as_element(given)
    held = 8 * dtype.itemsize if dtype is not None else max(8, element.bits)
    if held != max(8, element.bits):
        what = f"{call.partition('(')[0]} of {element} over a buffer of {dtype}"
        fix = f"leave out the element type, or view the buffer as elements of {element.bits} bits"
        raise LeafTypeError(what, f"elements of {held} bits", fix)
    return element


def tensor_core_type(element: Element) -> Element:
    """The type that tensor cores take elements as: of the 32 bits of a float they read tf32's."""
    return types.tf32 if element is types.float else element


def require_one_of(what: str, x: object, allowed: Iterable[str], fix: str) -> None:
    """Require one of some names; LeafTypeError, which has them all, for anything else."""
    names = [*allowed]
    if not isinstance(x, str) or x not in names:
        raise LeafTypeError(f"{what} {shown(x)}", f"one of {', '.join(names)}", fix)


def require_number(what: str, x: object) -> int:
    """An integer that is known, as a plain one; LeafTypeError for anything else."""
    n = value_of(x)
    if n is None:
        raise LeafTypeError(f"{what}: {shown(x)}", "a known integer", "write a number, as 0")
    return n
