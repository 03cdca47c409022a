"""Sizes as expressions of the language that a layout is written in.

The text is that of the simplest form. A division that rounds toward zero is the one that rounds down where what is
divided is 0 or more: that is proved, or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...core.arrays import INT64_MIN
from ...core.errors import LeafTypeError, RangeError
from ...core.ints import IntLike
from ...notation.cpp_words import CPP_WORDS
from ...symbolic import SymInt
from ...symbolic.conditions import Condition, require_condition
from ...symbolic.poly import number
from ...symbolic.symint import wrap
from ..expressions.graph import Graph, Node, in_order
from ..expressions.target import CALL, Syntax, expression
from ..indices.c import syntax_of

INT32_MAX = 2**31 - 1


def not_in(system: str, what: object, expected: str, fix: str) -> LeafTypeError:
    """The refusal of what a system's source has no words for."""
    return LeafTypeError(f"{what} as source of {system}", expected, fix)


@dataclass(frozen=True)
class Language:
    """A language's way to write dynamic integers: numbers, and expressions of sizes.

    variable      a number that is to be dynamic; `wide` where it has to be one of 64 bits
    number        a number in an expression
    syntax        its operators
    rounds_down   those of // and % that round down; the others round toward zero
    reserved      what no size may be called
    """

    variable: Callable[[int, bool], str]
    number: Callable[[int], str]
    syntax: Syntax
    rounds_down: frozenset[str]
    reserved: frozenset[str]

    def dynamic(self, n: IntLike, wide: bool = False, factor: bool = False) -> str:
        """A dynamic integer; as a factor in parentheses where it is a sum."""
        if isinstance(n, int):
            return self.variable(int(n), wide)
        if not isinstance(n, SymInt):
            what = f"{n} of type {type(n).__name__} as source"
            raise LeafTypeError(what, "an integer, or a size made by dim", "give it a value first")
        for name in map(str, n.symbols):
            if name in self.reserved or "__" in name:
                raise LeafTypeError(
                    f"the size {name} as source", "a name that is no word of the language, and without __", "rename it"
                )
        (root,) = Graph({str(s): s.poly for s in n.symbols}).of([n.form])
        numbers = {}
        for node in in_order([root]):
            self._require(node)
            if node.op == "n" and self.number(node.args[0]) != str(node.args[0]):
                numbers[id(node)] = self.number(node.args[0])
        return expression(root, self.syntax, numbers, self.syntax["*"][0] if factor else 0)

    def _require(self, node: Node) -> None:
        """An error for what the language would compute otherwise."""
        if node.op in ("//", "%") and node.op not in self.rounds_down:
            x, d = (wrap(a.poly) for a in node.args)
            where = f"({x}){node.op}({d}), which this language rounds toward zero"
            if not require_condition(Condition("<=", number(0), node.args[0].poly), where):
                raise RangeError(where, f"0 <= {x}", f"add a multiple of {d} first, so that it is")


def cpp_number(n: int, wide: bool = False) -> str:
    """An integer of C++: an int, or a long long where that does not hold it or `wide` asks for it."""
    if n == INT64_MIN:  # its digits alone are no long long
        return f"({n + 1}LL - 1)"
    return f"{n}LL" if wide or abs(n) > INT32_MAX else str(n)


#: What no size is called in a source of C++: its words, the types of Ascend, and what is a macro on most machines.
_TAKEN = CPP_WORDS | {"bfloat16_t", "half", "int4b_t", "NULL", "EOF", "errno", "offsetof", "stderr", "stdin", "stdout"}


def cpp(namespace: str) -> Language:
    """C++ with the min and max of a namespace."""
    calls = {op: (CALL, f"{namespace}::{op}({{}}, {{}})") for op in ("min", "max")}
    operators = syntax_of("")
    operators = {**operators, **calls, "//": operators["/"], "%": operators["rem"]}
    return Language(cpp_number, cpp_number, operators, frozenset(), _TAKEN)
