"""The languages that index expressions are written in, as tables: operators by how tightly they bind,
calls, and types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Language(NamedTuple):
    """A language of index expressions.

    levels     the operators of two operands, those that bind least first
    means      what an operator computes, where that is not what its text says: quot and rem truncate, // and
               % round down
    integer    the integers that it computes in, where nothing is said
    grammar    the grammar of the rest: c, python, mlir or latex
    """

    levels: tuple[tuple[str, ...], ...]
    means: Mapping[str, str]
    integer: str
    grammar: str = "python"


_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_C = Language(
    levels=(
        *(("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">=")),
        *(("<<", ">>"), ("+", "-"), ("*", "/", "%")),
    ),
    means={"/": "quot", "%": "rem", "||": "either", "&&": "both"},
    integer="int32",
    grammar="c",
)
_PYTHON = Language(
    levels=(("or",), ("and",), _COMPARED, ("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%")),
    means={},
    integer="int64",
)
_MLIR = Language(
    levels=(("+", "-"), ("*", "floordiv", "ceildiv", "mod")),
    means={"floordiv": "//", "mod": "%"},
    integer="int64",
    grammar="mlir",
)
#: LaTeX has signs and commands, which its grammar gives these names.
_LATEX = Language(levels=(("^",), ("+", "-"), ("*", "/"), ("%",)), means={}, integer="int64", grammar="latex")

#: Every language by its name.
LANGUAGES: dict[str, Language] = {
    **dict.fromkeys(("c", "cpp", "cuda", "hip", "opencl"), _C),
    **dict.fromkeys(("python", "numpy", "sympy"), _PYTHON),
    **dict.fromkeys(("tvm", "jax", "pallas"), _PYTHON._replace(integer="int32")),
    "triton": _PYTHON._replace(means={"//": "quot", "%": "rem"}, integer="int32"),
    "mlir": _MLIR,
    "latex": _LATEX,
}

#: A function's name, or the last part of it -> the operation, and how many arguments it has; -1: two or more. Where
#: libraries differ (C's remainder rounds to the nearest, OpenCL's select has another order, torch.div gives fractions)
#: the whole name is asked for.
CALLS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(["floordiv", "FloorDiv", "floor_divide", "indexdiv"], ("//", 2)),
    **dict.fromkeys(
        ["floormod", "FloorMod", "Mod", "PythonMod", "indexmod", "np.remainder", "numpy.remainder", "torch.remainder"],
        ("%", 2),
    ),
    **dict.fromkeys(["truncdiv", "T.div", "tir.div", "tvm.tir.div", "CleanDiv", "lax.div", "jax.lax.div"], ("quot", 2)),
    **dict.fromkeys(["truncmod", "fmod", "lax.rem", "jax.lax.rem"], ("rem", 2)),
    **dict.fromkeys(["ceildiv", "ceil_div", "CeilDiv", "cdiv", "divUp", "div_ceil"], ("ceil_div", 2)),
    **dict.fromkeys(["min", "Min", "minimum"], ("min", -1)),
    **dict.fromkeys(["max", "Max", "maximum"], ("max", -1)),
    **dict.fromkeys(["bitwise_xor", "Xor"], ("^", -1)),
    "bitwise_and": ("&", -1),
    "bitwise_or": ("|", -1),
    **dict.fromkeys(["shift_left", "left_shift"], ("<<", 2)),
    **dict.fromkeys(["shift_right", "right_shift"], (">>", 2)),
    **dict.fromkeys(["where", "T.select", "tir.select", "Select", "if_then_else"], ("select", 3)),
    **dict.fromkeys(["__mul24", "mul24"], ("mul24", 2)),
    "__umul24": ("umul24", 2),
    "mad24": ("mad24", 3),
    "__umulhi": ("umulhi", 2),
    "ModularIndexing": ("modular", 3),
}
#: Types -> their integers.
TYPES: dict[str, str] = {
    **dict.fromkeys(["int", "int32", "int32_t", "i32", "index_cast"], "int32"),
    **dict.fromkeys(["short", "int16", "int16_t"], "int16"),
    **dict.fromkeys(["char", "int8", "int8_t"], "int8"),
    **dict.fromkeys(
        ["long", "int64", "int64_t", "ptrdiff_t", "ssize_t", "intptr_t", "index_t", "i64", "index"], "int64"
    ),
    **dict.fromkeys(["unsigned", "uint", "uint32", "uint32_t", "u32"], "uint32"),
    **dict.fromkeys(["uint16", "uint16_t", "ushort"], "uint16"),
    **dict.fromkeys(["uint8", "uint8_t", "uchar"], "uint8"),
    **dict.fromkeys(["bool", "_Bool", "int1"], "bool"),
    **dict.fromkeys(["size_t", "uint64", "uint64_t", "ulong", "uintptr_t", "u64"], "uint64"),
}
#: Variables of CUDA and HIP without a sign, and calls of OpenCL that are variables, of its size_t.
UNSIGNED = (
    "threadIdx.",
    "blockIdx.",
    "blockDim.",
    "gridDim.",
    "hipThreadIdx_",
    "hipBlockIdx_",
    "hipBlockDim_",
    "hipGridDim_",
)
WORK_ITEMS = frozenset(
    ["get_global_id", "get_local_id", "get_group_id", "get_local_size", "get_global_size", "get_num_groups"]
)
#: Types with fractions: what is computed in them is no arithmetic of integers.
FRACTIONS = frozenset(
    ["float", "double", "half", "__half", "__nv_bfloat16", "bfloat16", "float16", "float32", "float64"]
)
#: The sizes of types that are no integers [bytes].
SIZES: dict[str, int] = {
    **dict.fromkeys(["__nv_fp8_e4m3", "__nv_fp8_e5m2", "fp8e4m3", "fp8e5m2", "float_e4m3_t", "float_e5m2_t"], 1),
    **dict.fromkeys(
        [
            "half",
            "__half",
            "half_t",
            "bfloat16",
            "bfloat16_t",
            "__nv_bfloat16",
            "nv_bfloat16",
            "__hip_bfloat16",
            "bf16",
        ],
        2,
    ),
    **dict.fromkeys(["float", "half2", "__half2", "__nv_bfloat162", "char4", "uchar4"], 4),
    **dict.fromkeys(["double", "float2", "int2", "uint2", "short4", "ushort4"], 8),
    **dict.fromkeys(["float4", "int4", "uint4", "double2", "longlong2"], 16),
}
#: Calls of a value and a type, which give the value as that type.
CASTS = frozenset(["cast", "asarray", "array", "astype", "Cast"])
#: What else the words of a type may be: they change no value.
_QUALIFIERS = frozenset(("const", "constexpr", "static", "inline", "volatile", "register", "signed", "long"))


def kind_of(words: str) -> str:
    """The integers of a type in C's words, or the last part of another language's name of one; "" where it is none.

    >>> [kind_of(words) for words in ("const unsigned long long", "std::size_t", "unsigned char", "short int", "tl.int64", "auto")]
    ['uint64', 'uint64', 'uint8', 'int16', 'int64', '']
    """
    plain = re.sub(r"\b\w+(?:::|\.)", "", words)
    given = re.findall(r"\w+", plain)
    if not {*given} <= {*TYPES, *_QUALIFIERS} or "*" in words:
        return ""
    if "long" in given:
        return "uint64" if "unsigned" in given else "int64"
    sizes = [TYPES[w] for w in given if w in TYPES and w not in ("unsigned", "int")]
    if "unsigned" in given:
        return f"u{sizes[0]}" if sizes else "uint32"
    return sizes[0] if sizes else "int32" if {"int", "signed"} & {*given} else ""


def promoted(kind: str) -> str:
    """The integers that C computes in, of a type: int where that holds it."""
    return "int32" if kind in ("bool", "int8", "int16", "uint8", "uint16") else kind


def common(a: str, b: str) -> str:
    """The integers that a result of two operands has: the wider; of one width those without a sign. "" is a literal,
    which has any."""
    return max(a, b, key=lambda kind: (int(kind.strip("uintbol") or 0), kind.startswith("u"))) if a and b else a or b
