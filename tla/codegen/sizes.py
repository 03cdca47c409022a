"""Sizes as expressions of the language that a layout is written in.

The text is that of the simplest form. A division that rounds toward zero is the one that rounds down where what is
divided is 0 or more: that is proved, or it is refused.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import LeafTypeError, RangeError
from ..ints import INT64_MAX, INT64_MIN
from ..symbolic import SymInt
from ..symbolic.conditions import Condition, require
from ..symbolic.poly import Poly, number
from ..symbolic.rules import floor_div, modulo, node
from ..symbolic.syms import wrap
from ..symbolic.text import number_first
from ..symbolic.tree import Tree

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Language:
    """How a language writes dynamic integers: numbers, and expressions of sizes.

    variable      a number that is to be dynamic; `wide` where it has to be one of 64 bits
    number        a number in an expression
    quotient      its division of integers
    rounds_down   the operators, of // and %, that round down; the others round toward zero
    extreme       what stands before min and max of two integers: where it has them
    reserved      what no size may be called
    """

    variable: Callable[[int, bool], str]
    number: Callable[[int], str]
    quotient: str
    rounds_down: frozenset[str]
    extreme: str
    reserved: frozenset[str]

    def dynamic(self, n: Any, wide: bool = False, outside: int = 0) -> str:
        """A dynamic integer; in parentheses where it is an expression that binds looser than `outside`."""
        if isinstance(n, int):
            return self.variable(int(n), wide)
        if not isinstance(n, SymInt):
            raise LeafTypeError(f"{n} of type {type(n).__name__} as source", "an integer, or a size made by dim", "give it a value first")
        return _Writer(self, {str(s): s.poly for s in n.symbols}).text(n.form, outside)


def cpp_number(n: int, wide: bool = False) -> str:
    """An integer of C++: an int, or a long long where that does not hold it or `wide` asks for it."""
    if n == INT64_MIN:  # its digits alone are no long long
        return f"({n + 1}LL - 1)"
    return f"{n}LL" if wide or abs(n) > INT32_MAX else str(n)


_WORDS = """alignas alignof and_eq asm auto bfloat16_t bitand bitor bool case catch char char8_t char16_t char32_t co_await co_return
co_yield compl concept const const_cast consteval constexpr constinit decltype default delete do double dynamic_cast enum explicit
export extern false float friend goto half inline int int4b_t int8_t int16_t int32_t int64_t long mutable namespace new noexcept not_eq
nullptr operator or_eq private protected public register reinterpret_cast requires short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true typedef typeid typename uint8_t uint32_t union unsigned using virtual
void volatile wchar_t xor xor_eq NULL EOF assert errno linux offsetof stderr stdin stdout unix"""
#: The words of C++ that tla's own rule for names allows, the types of Ascend, and what is a macro on most machines.
CPP_WORDS = frozenset(_WORDS.split())


def cpp(namespace: str) -> Language:
    """C++ with the min and max of a namespace."""
    return Language(cpp_number, cpp_number, "/", frozenset(), f"{namespace}::", CPP_WORDS)


_VALUES: dict[str, Callable[..., Poly]] = {
    "+": lambda *xs: functools.reduce(operator.add, xs),
    "*": lambda *xs: functools.reduce(operator.mul, xs),
    "-": lambda x: -x,
    "//": floor_div,
    "%": modulo,
    **{op: functools.partial(node, op) for op in ("^", "min", "max")},
}
#: How tightly an operation binds, as in Python and in C++ alike; what is looser stands in parentheses.
_BINDS = {"^": 1, "+": 2, "-": 2, "*": 3, "//": 3, "%": 3}


class _Writer:
    """The text of one expression, whose names have these values."""

    def __init__(self, language: Language, sizes: dict[str, Poly]) -> None:
        self.language, self.sizes = language, sizes
        for name in sizes:
            if name in language.reserved or "__" in name:
                raise LeafTypeError(f"the size {name} as source", "a name that is no word of the language, and without __", "rename it")

    def text(self, t: Tree, outside: int) -> str:
        if t.op == "v":
            return str(t.args[0])
        if t.op in ("min", "max"):
            call = f"{self.language.extreme}{t.op}"
            return functools.reduce(lambda a, b: f"{call}({a}, {b})", (self.text(a, 0) for a in t.args))
        negative = t.op == "n" and t.args[0] < 0
        binds = _BINDS.get(t.op, 2 if negative else 4)
        text = self._number(t.args[0]) if t.op == "n" else self._operation(t)
        return f"({text})" if binds < outside else text

    def _number(self, n: int) -> str:
        if abs(n) > INT64_MAX:
            raise RangeError(f"a size with the number {n} as source", "what 64 bits hold, negative or not", "use smaller ones")
        return self.language.number(n)

    def _operation(self, t: Tree) -> str:
        if t.op == "-":
            return f"-{self.text(t.args[0], 4)}"
        if t.op == "+":
            first, *rest = t.args
            return self.text(first, 2) + "".join(map(self._signed, rest))
        if t.op in ("//", "%") and t.op not in self.language.rounds_down:
            self._require_not_negative(t)
        sign = self.language.quotient if t.op == "//" else t.op
        first, *rest = number_first(t.args) if t.op == "*" else t.args
        # a division inside of a product is set off, so that it reads without the rule that they go from left to right
        parts = [self.text(first, 3 + (first.op in ("//", "%"))), *(self.text(a, 3 if t.op == "^" else 4) for a in rest)]
        return f" {sign} ".join(parts)

    def _signed(self, t: Tree) -> str:
        if t.op == "n" and t.args[0] < 0:
            return f" - {self._number(-t.args[0])}"
        return f" - {self.text(t.args[0], 3)}" if t.op == "-" else f" + {self.text(t, 2)}"

    def _require_not_negative(self, t: Tree) -> None:
        x = self._value(t.args[0])
        where = f"({wrap(x)}){t.op}({wrap(self._value(t.args[1]))}), which this language rounds toward zero"
        if not require(Condition("<=", number(0), x), where):
            raise RangeError(where, f"0 <= {wrap(x)}", "divide what is 0 or more")

    def _value(self, t: Tree) -> Poly:
        if t.op == "n":
            return number(t.args[0])
        return self.sizes[t.args[0]] if t.op == "v" else _VALUES[t.op](*map(self._value, t.args))
