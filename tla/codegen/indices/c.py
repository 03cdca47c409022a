"""C and what is like it: C++, CUDA, HIP, OpenCL. One printer, their types.

Division truncates there: where what is divided may be negative, a function of the text rounds down. Integers are in two's
complement, and >> of a negative one keeps its sign: so C++20 has it, and so every compiler of the others does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..expressions.graph import Node, names_in, ops_in
from ..expressions.integer_types import Integer
from ..expressions.plan import Plan
from ..expressions.target import CALL, Syntax, Target, calls, commented, expression, register, remarks, required_names, statements


class Dialect(NamedTuple):
    """What one of these languages writes in its own way.

    head      what the text begins with
    types     integer type -> its name
    function  what stands before the type of a function
    checked   what `assert` needs at the head; None where there is none
    """

    head: tuple[str, ...]
    types: dict[str, str]
    function: str
    checked: str | None


_STDINT = {name: f"{name}_t" for name in ("int32", "int64", "uint32", "uint64")}
_DEVICE = {"int32": "int", "int64": "long long", "uint32": "unsigned int", "uint64": "unsigned long long"}
_OPENCL = {"int32": "int", "int64": "long", "uint32": "uint", "uint64": "ulong"}
DIALECTS = {
    "c": Dialect(("#include <stdbool.h>", "#include <stdint.h>"), _STDINT, "static inline", "#include <assert.h>"),
    "cpp": Dialect(("#include <cstdint>",), {k: f"std::{v}" for k, v in _STDINT.items()}, "constexpr", "#include <cassert>"),
    "cuda": Dialect((), _DEVICE, "__host__ __device__ __forceinline__", "#include <cassert>"),
    "hip": Dialect(("#include <hip/hip_runtime.h>",), _DEVICE, "__host__ __device__ __forceinline__", "#include <cassert>"),
    "opencl": Dialect((), _OPENCL, "static inline", None),
}

#: Operands of shifts, masks and xor stand in parentheses, as compilers ask for.
_SYNTAX: Syntax = {
    "neg": (11, "-{}"),
    "*": (10, "{} * {}"),
    "/": (10, "{} / {}"),
    "rem": (10, "{} % {}"),
    "+": (9, "{} + {}"),
    ">>": (8, "{} >> {}"),
    "<": (7, "{} < {}"),
    "<=": (7, "{} <= {}"),
    "==": (6, "{} == {}"),
    "&": (5, "{} & {}"),
    "^": (4, "{} ^ {}"),
    "and": (3, "{} && {}"),
    "true": (CALL, "true"),
}
HELPERS = {
    "//": ("floor_div", "return a / b - (a % b < 0);"),
    "%": ("floor_mod", "return a % b + (a % b < 0 ? b : 0);"),
    "min": ("min", "return a < b ? a : b;"),
    "max": ("max", "return a < b ? b : a;"),
}


def syntax_of(prefix: str) -> Syntax:
    """The operators, with what calls a function of the text: these begin with the name of the function that calls them."""
    return {**_SYNTAX, **calls(prefix, HELPERS)}


def _writer(dialect: Dialect) -> Callable[[Plan, str], str]:
    def write(plan: Plan, check: str) -> str:
        head = [*dialect.head, *([dialect.checked] if check == "assert" and dialect.checked else [])]
        parts = ["\n".join(head)] if head else []
        parts += _functions(plan, dialect, check)
        return "\n\n".join(parts) + "\n"

    return write


def _functions(plan: Plan, dialect: Dialect, check: str) -> list[str]:
    sizes, tests = required_names(plan), [node for _c, node in plan.requires]
    out = _helpers(dialect, plan.name, dialect.types[str(plan.integer)], plan.results)
    out += requirement(dialect, plan.name, sizes, tests) if check and tests else []
    return [*out, _body(plan, dialect, sizes if check == "assert" and tests else None)]


def requirement(dialect: Dialect, name: str, sizes: Iterable[str], tests: Sequence[Node]) -> list[str]:
    """The function `<name>_requires` of sizes, whether they pass all tests; behind those that it calls."""
    name, wide = f"{name}_requires", dialect.types[str(Integer(64, True))]
    both = " && ".join(expression(node, syntax_of(name), {}, 1) for node in tests)
    return [*_helpers(dialect, name, wide, tests), _function(dialect, "bool", name, sizes, wide, [f"return {both};"])]


def _helpers(dialect: Dialect, prefix: str, kind: str, roots: Iterable[Node]) -> list[str]:
    """The functions that stand for operations which the language does not have, of integers of one kind."""
    return [helper(prefix, op, kind, dialect.function) for op in sorted(ops_in(roots) & {*HELPERS})]


def helper(prefix: str, op: str, integer: str, function: str) -> str:
    """The function that an operator calls. function: what stands before its type."""
    name, body = HELPERS[op]
    return f"{function} {integer} {prefix}_{name}({integer} a, {integer} b) {{\n    {body}\n}}"


def _body(plan: Plan, dialect: Dialect, asserted: list[str] | None) -> str:
    kind = dialect.types[str(plan.integer)]
    lines = [] if asserted is None else [f"assert({plan.name}_requires({', '.join(asserted)}));"]
    used = names_in(plan.results)
    lines += [f"(void){p.name};" for p in plan.parameters if p.name not in used]
    temporaries, results = statements(plan, syntax_of(plan.name))
    lines += [f"const {kind} {name} = {text};" for name, text in temporaries]
    remark = commented("//", remarks(plan))
    given = [p.name for p in plan.parameters]
    if len(results) == 1:
        gives = kind if plan.results[0].poly is not None else "bool"
        return remark + _function(dialect, gives, plan.name, given, kind, [*lines, f"return {results[0]};"])
    lines += [f"out[{k}] = {text};" for k, text in enumerate(results)]
    return remark + _function(dialect, "void", plan.name, given, kind, lines, [f"{kind} *out"])


def _function(
    dialect: Dialect, gives: str, name: str, names: Iterable[str], kind: str, lines: Iterable[str], more: Sequence[str] = ()
) -> str:
    parameters = ", ".join([*(f"{kind} {n}" for n in names), *more]) or "void"
    body = "".join(f"    {line}\n" for line in lines)
    return f"{dialect.function} {gives} {name}({parameters}) {{\n{body}}}"


_WORDS = """
    alignas alignof and and_eq asm assert atomic_cancel auto bitand bitor bool break case catch char char16_t char32_t char8_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int int16_t int32_t int64_t int8_t long main mutable
    namespace new noexcept not not_eq nullptr operator or or_eq out private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast std struct switch template this thread_local throw true try typedef typeid
    typename typeof uint16_t uint32_t uint64_t uint8_t union unsigned using virtual void volatile wchar_t while xor xor_eq
    blockDim blockIdx gridDim threadIdx warpSize uint uchar ushort ulong half kernel global local constant complex imaginary
    image1d_t image2d_t image3d_t sampler_t event_t size_t ptrdiff_t intptr_t uintptr_t unix linux"""
WORDS = frozenset(_WORDS.split())
_VECTORS = r"u?(char|short|int|long|longlong|float|double|half)([1-4]|8|16)|u?int\w*_t|dim3"
_MACROS = r"U?INT\w*|(SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_M(IN|AX)|NULL|EOF|NDEBUG|E[A-Z0-9]+_\w*"

for _name, _dialect in DIALECTS.items():
    register(
        Target(
            name=_name,
            syntax={**_SYNTAX, **dict.fromkeys(HELPERS, (CALL, ""))},
            write=_writer(_dialect),
            words=WORDS,
            pattern=f"{_VECTORS}|{_MACROS}",
            checks=("", "function", "assert") if _dialect.checked else ("", "function"),
        )
    )
