"""The languages that index expressions are written in, as tables: operators by how tightly they bind, calls, and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Language(NamedTuple):
    """A language of index expressions.

    levels     the operators of two operands, those that bind least first
    means      what an operator computes, where that is not what its text says: quot and rem truncate, // and % round down
    integer    the integers that it computes in, where nothing is said
    grammar    the grammar of the rest: c, python or mlir
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

#: Every language by its name.
LANGUAGES: dict[str, Language] = {
    **dict.fromkeys(("c", "cpp", "cuda", "hip", "opencl"), _C),
    **dict.fromkeys(("python", "numpy", "sympy"), _PYTHON),
    "tvm": _PYTHON._replace(integer="int32"),
    "triton": _PYTHON._replace(means={"//": "quot", "%": "rem"}, integer="int32"),
    "mlir": _MLIR,
}

#: A function's name, or the last part of it -> the operation, and how many arguments it has; -1: two or more. Where libraries differ
#: (C's remainder rounds to the nearest, OpenCL's select has another order, torch.div gives fractions) the whole name is asked for.
CALLS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(["floordiv", "FloorDiv", "floor_divide", "indexdiv"], ("//", 2)),
    **dict.fromkeys(
        ["floormod", "FloorMod", "Mod", "PythonMod", "indexmod", "np.remainder", "numpy.remainder", "torch.remainder"], ("%", 2)
    ),
    **dict.fromkeys(["truncdiv", "T.div", "tir.div", "tvm.tir.div", "CleanDiv"], ("quot", 2)),
    **dict.fromkeys(["truncmod", "fmod"], ("rem", 2)),
    **dict.fromkeys(["ceildiv", "ceil_div", "CeilDiv", "cdiv", "divUp", "div_ceil"], ("ceil_div", 2)),
    **dict.fromkeys(["min", "Min", "minimum"], ("min", -1)),
    **dict.fromkeys(["max", "Max", "maximum"], ("max", -1)),
    **dict.fromkeys(["bitwise_xor", "Xor"], ("^", -1)),
    "bitwise_and": ("&", -1),
    "bitwise_or": ("|", -1),
    **dict.fromkeys(["shift_left", "left_shift"], ("<<", 2)),
    **dict.fromkeys(["shift_right", "right_shift"], (">>", 2)),
    **dict.fromkeys(["where", "T.select", "tir.select", "Select", "if_then_else"], ("select", 3)),
    **dict.fromkeys(["__mul24", "__umul24", "mul24"], ("mul24", 2)),
    "ModularIndexing": ("modular", 3),
}
#: Types -> the integers that a cast to them gives; `int` of Python and of C are different, and both hold what is not refused.
TYPES: dict[str, str] = {
    **dict.fromkeys(["int", "int32", "int32_t", "i32", "index_cast"], "int32"),
    **dict.fromkeys(["short", "int16", "int16_t"], "int16"),
    **dict.fromkeys(["char", "int8", "int8_t"], "int8"),
    **dict.fromkeys(["long", "int64", "int64_t", "ptrdiff_t", "ssize_t", "intptr_t", "index_t", "i64", "index"], "int64"),
    **dict.fromkeys(["unsigned", "uint", "uint32", "uint32_t", "u32"], "uint32"),
    **dict.fromkeys(["uint16", "uint16_t", "ushort"], "uint16"),
    **dict.fromkeys(["uint8", "uint8_t", "uchar"], "uint8"),
    **dict.fromkeys(["size_t", "uint64", "uint64_t", "ulong", "uintptr_t", "u64"], "uint64"),
}
#: Types with fractions: what is computed in them is no arithmetic of integers.
FRACTIONS = frozenset(["float", "double", "half", "__half", "__nv_bfloat16", "bfloat16", "float16", "float32", "float64"])
#: Calls of a value and a type, which give the value as that type.
CASTS = frozenset(["cast", "asarray", "array", "astype", "Cast"])
