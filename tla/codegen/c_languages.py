"""The languages of the C family, as one table: C, C++, CUDA, HIP and OpenCL. Offsets, copies and loops are
written by it.

A new language of the family is a row here. Targets that are no C have a file each in indices/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..notation.cpp_words import CPP_WORDS
from . import narrow_floats
from .narrow_floats import NarrowFloat


class Threads(NamedTuple):
    """The parts of a kernel in a language that has a grid of threads.

    kernel   what stands before its name
    first    the number of a thread, and `count` of how many; (I) stands for a cast to the integer type
    helper   what stands before the type of a function that a kernel calls
    """

    kernel: str
    first: str
    total: str
    helper: str


class CLanguage(NamedTuple):
    """The spellings that differ between languages of the C family.

    includes   what is used -> the line that makes it known: "runtime" always, "bool", "int", "memcpy", "assert"
               and "math" on use
    integers   integer type -> its name
    words      bytes -> the type of an element of this size
    function   what stands before the type of a function of integers
    restrict   what says that a pointer's memory is its own
    space      text before a pointer's element type
    prefix     what stands before the names of the standard library
    inline     what stands before the type of a function that copies, and of one that it calls
    threads    of a language in which a copy is a kernel; else None
    asserts    whether it has an assert
    floats     numpy's name of a float narrower than 32 bits -> what it is in the language
    """

    includes: Mapping[str, str]
    integers: Mapping[str, str]
    words: Mapping[int, str]
    function: str
    restrict: str
    space: str = ""
    prefix: str = ""
    inline: str = ""
    threads: Threads | None = None
    asserts: bool = True
    floats: Mapping[str, NarrowFloat] = {}

    def head(self, *used: str) -> list[str]:
        """The lines that a text begins with which uses these."""
        return [self.includes[name] for name in (*used, "runtime") if name in self.includes]


_STDINT = {name: f"{name}_t" for name in ("int32", "int64", "uint32", "uint64")}
_STD_WORDS = {width: f"uint{8 * width}_t" for width in (1, 2, 4, 8)}
_CUDA = CLanguage(
    includes={"assert": "#include <cassert>"},
    floats=narrow_floats.CUDA,
    integers={"int32": "int", "int64": "long long", "uint32": "unsigned int", "uint64": "unsigned long long"},
    words={1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", 16: "uint4"},
    function="__host__ __device__ __forceinline__",
    restrict="__restrict__",
    threads=Threads(
        kernel='extern "C" __global__ void',
        first="(I)blockIdx.x * blockDim.x + threadIdx.x",
        total="(I)gridDim.x * blockDim.x",
        helper="static __device__ __forceinline__",
    ),
)

#: Every language of the family, by the name of its target.
C_FAMILY: dict[str, CLanguage] = {
    "c": CLanguage(
        includes={
            "bool": "#include <stdbool.h>",
            "int": "#include <stdint.h>",
            "memcpy": "#include <string.h>",
            "assert": "#include <assert.h>",
            "math": "#include <math.h>",
        },
        floats=narrow_floats.C,
        integers=_STDINT,
        words=_STD_WORDS,
        function="static inline",
        restrict="restrict",
        inline="static inline",
    ),
    "cpp": CLanguage(
        includes={"int": "#include <cstdint>", "memcpy": "#include <cstring>", "assert": "#include <cassert>"},
        integers={k: f"std::{v}" for k, v in _STDINT.items()},
        words={k: f"std::{v}" for k, v in _STD_WORDS.items()},
        function="constexpr",
        restrict="__restrict",
        prefix="std::",
        inline="inline",
    ),
    "cuda": _CUDA,
    "hip": _CUDA._replace(
        includes={**_CUDA.includes, "runtime": "#include <hip/hip_runtime.h>"}, floats=narrow_floats.HIP
    ),
    "opencl": CLanguage(
        includes={},
        integers={"int32": "int", "int64": "long", "uint32": "uint", "uint64": "ulong"},
        words={1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "uint4"},
        function="static inline",
        restrict="restrict",
        space="global ",
        threads=Threads(
            kernel="kernel void", first="get_global_id(0)", total="get_global_size(0)", helper="static inline"
        ),
        asserts=False,
    ),
}

# ------------------------------------------------------------------------------------------------------- names

_OTHERS = """
    atomic_cancel main out restrict std typeof
    blockDim blockIdx gridDim threadIdx warpSize uint uchar ushort ulong half kernel global local constant complex imaginary
    image1d_t image2d_t image3d_t sampler_t event_t size_t ptrdiff_t intptr_t uintptr_t"""
#: What no function and no parameter of emitted code is called: words of the family, and what the text itself names.
C_WORDS = CPP_WORDS | frozenset(_OTHERS.split())
_VECTORS = r"u?(char|short|int|long|longlong|float|double|half)([1-4]|8|16)|u?int\w*_t|dim3"
_MACROS = r"U?INT\w*|(SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_M(IN|AX)|NULL|EOF|NDEBUG|E[A-Z0-9]+_\w*"
#: More of these.
C_PATTERN = f"{_VECTORS}|{_MACROS}"
