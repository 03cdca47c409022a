"""Floats narrower than 32 bits in the C family: of each language a type, its value as a float, and one made of a float,
rounded to the nearest, ties to even, as numpy and ml_dtypes round.

Past the largest number of 8 bits, infinity in with it, the instruction of NVIDIA's GPUs stops there, where C and
ml_dtypes have infinity or NaN.

Source: CUDA's cuda_fp16.h, cuda_bf16.h and cuda_fp8.h; clang's manual, "Half-Precision Floating Point", and its
BuiltinsAMDGPU.def; ISO/IEC TS 18661-3; OCP 8-bit Floating Point Specification, table 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class NarrowFloat(NamedTuple):
    """A float narrower than 32 bits in a language.

    name    the name of its type
    head    the parts of a file that make the type known, which several types may have in common
    reads   the function that makes a float of it, and
    makes   that which makes it of a float; none where a cast does
    machines   the architectures whose instructions these are; none of what compilers know for all of them
    """

    name: str
    head: tuple[str, ...] = ()
    reads: str = ""
    makes: str = ""
    machines: tuple[str, ...] = ()

    def as_float(self, text: str) -> str:
        return f"{self.reads}({text})" if self.reads else cast("float", text)

    def of_float(self, text: str) -> str:
        return f"{self.makes}({text})" if self.makes else cast(self.name, text)


def cast(kind: str, text: str) -> str:
    """An expression cast to a type."""
    return f"({kind}){text}" if _OPERAND.fullmatch(text) else f"({kind})({text})"


#: A number, a name, an element of an array: what an operator takes without brackets.
_OPERAND = re.compile(r"[\w.]+(\[[^]]*\])*")


def _named(name: str, *head: str) -> NarrowFloat:
    """One with functions of its own."""
    return NarrowFloat(name, head, f"float_of_{name}", f"{name}_of")


# ---------------------------------------------------------------------------------------------------------------- C

_C_BFLOAT16 = _named(
    "bfloat16",
    """\
typedef struct { uint16_t bits; } bfloat16;
static inline float float_of_bfloat16(bfloat16 x) {
    const uint32_t bits = (uint32_t)x.bits << 16;
    float y;
    memcpy(&y, &bits, 4);
    return y;
}
static inline bfloat16 bfloat16_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (bfloat16){(uint16_t)((x == x ? rounded : bits | 0x400000) >> 16)};
}""",
)

#: Numbers of a sign, an exponent and a mantissa in 8 bits, and the bits of a float's magnitude. A number is the
#: mantissa's, in steps of 2^(e - bias - mantissa), so codes in order are numbers in order: where rounding carries, the
#: sum is the next exponent's first code. beyond: what is past the largest, infinity, or NaN where there is none.
_C_FLOAT8 = """\
static inline float float_of_bits(int bits, int mantissa, int bias) {
    const int e = (bits & 127) >> mantissa, m = bits & ((1 << mantissa) - 1);
    const float x = ldexpf((float)(e ? m + (1 << mantissa) : m), (e ? e : 1) - bias - mantissa);
    return bits & 128 ? -x : x;
}
static inline int bits_of_float(float x, int mantissa, int bias, int beyond, int nan) {
    int e = 0;
    if (x != x) return nan;
    if (isinf(x)) return beyond;
    (void)frexpf(x, &e);
    e = x == 0 || e < 2 - bias ? 1 - bias : e - 1;
    if (e > bias + 1) return beyond;
    const int bits = ((e + bias - 1) << mantissa) + (int)rintf(ldexpf(fabsf(x), mantissa - e));
    return bits < beyond ? bits : beyond;
}"""


def _c_float8(name: str, mantissa: int, bias: int, beyond: int, nan: int, special: str) -> NarrowFloat:
    """A float of 8 bits in C.

    beyond, nan   codes of what is past the largest number, and of NaN: 128 where that is the only one, and no number
    special       the values of the codes that are no numbers, of x.bits
    """
    is_signed = "signbit(x)" if nan < 128 else "signbit(x) && bits"
    functions = f"""\
typedef struct {{ uint8_t bits; }} {name};
static inline float float_of_{name}({name} x) {{
    return {special} : float_of_bits(x.bits, {mantissa}, {bias});
}}
static inline {name} {name}_of(float x) {{
    const int bits = bits_of_float(x, {mantissa}, {bias}, {beyond}, {nan});
    return ({name}){{(uint8_t)({is_signed} ? bits | 128 : bits)}};
}}"""
    return _named(name, "#include <math.h>", _C_FLOAT8, functions)


_INFINITE = "(x.bits & 124) == 124 ? x.bits & 3 ? NAN : x.bits & 128 ? -INFINITY : INFINITY"

# ------------------------------------------------------------------------------------------------------- CUDA and HIP

_DEVICE = "static __device__ __forceinline__"


def _hip_float8(name: str, word: str, machines: tuple[str, ...]) -> NarrowFloat:
    """AMD's float of 8 bits, by the machine's own conversions, which know one of the two kinds that there are."""
    functions = f"""\
#if defined __HIP_DEVICE_COMPILE__ && !({" || ".join(f"defined __{x}__" for x in machines)})
#error "this machine has no {name}"
#endif
struct {name} {{ unsigned char bits; }};
{_DEVICE} float float_of_{name}({name} x) {{
    return __builtin_amdgcn_cvt_f32_{word}(x.bits, 0);
}}
{_DEVICE} {name} {name}_of(float x) {{
    return {name}{{(unsigned char)__builtin_amdgcn_cvt_pk_{word}_f32(x, x, 0, false)}};
}}"""
    return _named(name, functions)._replace(machines=machines)


_FNUZ, _OCP = ("gfx940", "gfx941", "gfx942"), ("gfx950", "gfx1200", "gfx1201")

#: The floats of each language, by numpy's and ml_dtypes' names.
C = {
    "float16": NarrowFloat("_Float16"),
    "bfloat16": _C_BFLOAT16,
    "float8_e4m3fn": _c_float8("float8_e4m3fn", 3, 7, 127, 127, "(x.bits & 127) == 127 ? NAN"),
    "float8_e5m2": _c_float8("float8_e5m2", 2, 15, 124, 126, _INFINITE),
    "float8_e4m3fnuz": _c_float8("float8_e4m3fnuz", 3, 8, 128, 128, "x.bits == 128 ? NAN"),
    "float8_e5m2fnuz": _c_float8("float8_e5m2fnuz", 2, 16, 128, 128, "x.bits == 128 ? NAN"),
}
CUDA = {
    "float16": NarrowFloat("__half", ("#include <cuda_fp16.h>",)),
    "bfloat16": NarrowFloat("__nv_bfloat16", ("#include <cuda_bf16.h>",)),
    "float8_e4m3fn": NarrowFloat("__nv_fp8_e4m3", ("#include <cuda_fp8.h>",)),
    "float8_e5m2": NarrowFloat("__nv_fp8_e5m2", ("#include <cuda_fp8.h>",)),
}
HIP = {
    "float16": NarrowFloat("__half", ("#include <hip/hip_fp16.h>",)),
    "bfloat16": NarrowFloat("__bf16"),
    "float8_e4m3fnuz": _hip_float8("float8_e4m3fnuz", "fp8", _FNUZ),
    "float8_e5m2fnuz": _hip_float8("float8_e5m2fnuz", "bf8", _FNUZ),
    "float8_e4m3fn": _hip_float8("float8_e4m3fn", "fp8", _OCP),
    "float8_e5m2": _hip_float8("float8_e5m2", "bf8", _OCP),
}
