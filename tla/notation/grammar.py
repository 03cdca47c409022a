"""The reader of our notation: `((_4,_2),(_4,_3)):((_4,_16),(_1,_32))`.

    text   = part { "o" part "o" part }                      Sw<3,4,3> o _0 o (_8,_8):(_8,_1)
    part   = "Sw" "<" integer "," integer "," integer ">" | "CS" "<" integer "," integer "," modes "," integer
           "," modes ">"
           | tuple [ ":" tuple ]
    modes  = "[" [ integer { "," integer } ] "]"
    tuple  = leaf | "(" [ tuple { "," tuple } [ "," ] ] ")"  blanks may stand between any two of these
    leaf   = summand { "+" summand }                         several: of a stride along several modes, 1@0+2@1
    summand = ([ "_" ] [ "-" ] digits | expression) { "@" digits }     3@1@0 is 3 * E[0, 1]: the innermost mode first

An expression of symbols, such as ceil(N/128), is read where sizes have names; its grammar is that of SymInt.

Source: cute::print of CUTLASS; TLA's documents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..core.arrays import INT64_MAX, INT64_MIN, int64_of
from ..core.basis import Basis, E, as_stride
from ..core.cache import compiled
from ..core.composed import MAX_PARTS, ComposedLayout
from ..core.int_tuple import MAX_DEPTH, IntTuple
from ..core.ints import IntLike, IntTree, IntTupleLike, static
from ..core.layout import Layout
from ..core.on_demand import OnDemand
from ..core.reader import Reader, closings
from ..core.swizzle import CoordSwizzle, make_coord_swizzle, make_swizzle

# Sizes in a text bring the symbolic package with them.
_EXPRESSIONS = OnDemand("tla.symbolic.parse_expression")

_PATH = r"(?:@[0-9]{1,5})+(?![0-9A-Za-z_.@])"
LEAF = rf"_?-?[0-9]+(?:@[0-9]{{1,5}})*(?![0-9A-Za-z_.@])|{_PATH}"
NAME = r"[A-Za-z][A-Za-z0-9_]*"
_FIRST = frozenset("_-0123456789")  # of a leaf
_OPERATOR = r"\s*(//|[-+*%^])"


#: A stride along more modes than this is refused.
MAX_TERMS = 64


class NotationReader(Reader):
    """A reader of layouts and IntTuples.

    symbols          the integers that names stand for; None where there are no names
    bare_is_static   whether 4 is static, and not _4 alone
    """

    tokens = rf"{LEAF}|{NAME}|[][():,<>+]"
    noun, example = "a layout", "a layout reads (_4,2):(_1,4)"
    max_depth = MAX_DEPTH
    bare_is_static = False

    def __init__(self, text: str, symbols: object = None) -> None:
        super().__init__(text)
        self.symbols: Any = None if symbols is None else _EXPRESSIONS.names(symbols)

    def value(self, origin_shape: IntTupleLike | None = None) -> Any:
        """A part, or a chain of parts, put together from the right; origin_shape is that of the last layout."""
        parts = [self.part(origin_shape)]
        while len(parts) % 2 == 0 or self.token == "o":
            if len(parts) == MAX_PARTS or not self.take("o"):
                self.unexpected(f"'o' and a layout, {MAX_PARTS} parts at most", "write A o 0 o B")
            parts.append(self.part(origin_shape))
        return chained(parts)

    def part(self, origin_shape: IntTupleLike | None) -> Any:
        """The value that stands alone, or between the "o" of a chain."""
        if self.token == "Sw":
            return make_swizzle(*self.swizzle_numbers())
        if self.token == "CS":
            return self.coord_swizzle()
        shape = self.int_tuple()
        if not self.take(":"):
            return shape
        stride = self.int_tuple()
        return Layout(shape, stride, None if self.token == "o" else origin_shape)

    def swizzle_numbers(self) -> list[int]:
        """The numbers of a swizzle, and its name before them."""
        start = self.at
        self.advance()
        numbers = self.listed("<>", lambda: self.integer("a number"), "the 3 numbers of a swizzle")
        if len(numbers) != 3:
            self.fail(f"a swizzle of {len(numbers)} numbers", "3 numbers in <>", "write Sw<1,2,3>", start)
        return numbers

    def coord_swizzle(self) -> CoordSwizzle:
        """A swizzle of coordinates, CS<3,0,[0],0,[1]>: bits, base and mode of what is read, base and mode
        of what changes."""
        start = self.at
        self.advance()
        found = self.listed("<>", self.number_or_modes, "the 5 parts of a coordinate swizzle")
        if [type(x) for x in found] != [int, int, tuple, int, tuple]:
            what = "a coordinate swizzle of other parts"
            self.fail(what, "3 numbers, and modes after the second and third", "write CS<3,0,[0],0,[1]>", start)
        return make_coord_swizzle(*found)

    def number_or_modes(self) -> Any:
        if self.token == "[":
            return tuple(self.listed("[]", lambda: self.integer("a mode", 0), "modes"))
        return self.integer("a number, or modes in []")

    def int_tuple(self) -> Any:
        """An IntTuple, by a stack of the tuples that are open: however deep the caller is, recursion never
        meets its limit."""
        opened: list[tuple[int, list[Any]]] = []
        while True:
            if self.token == "(" and not (self.symbols is not None and self.at_expression()):
                self.depth = self.deeper()
                opened.append((self.at, []))
                self.advance()
                if not self.take(")"):
                    continue
                value: Any = self.closed(opened)
            else:
                value = self.leaf()
            while opened:
                opened[-1][1].append(value)
                if self.take(",") and self.token != ")":
                    break
                if not self.take(")"):
                    self.unexpected("',' or ')'", f"close the '(' at position {opened[-1][0]}")
                value = self.closed(opened)
            else:
                return value

    def closed(self, opened: list[tuple[int, list[Any]]]) -> IntTree:
        """The innermost of the tuples that are open, which ends here."""
        self.depth -= 1
        return tuple.__new__(IntTuple, opened.pop()[1])  # its leaves and depth are checked here

    @functools.cached_property
    def closings(self) -> Mapping[int, int]:
        """The place where each '(' of the text is closed: looked for once, as brackets may stand in brackets."""
        return closings(self.text)

    def at_expression(self) -> bool:
        """Whether an expression begins here: a name, or what an operator follows, a '(' with its ')' included."""
        if self.token == "(":
            return bool(compiled(_OPERATOR).match(self.text, self.closings.get(self.at, len(self.text))))
        if self.token[:1] in _FIRST:
            return "@" not in self.token and bool(compiled(_OPERATOR).match(self.text, self.after))
        return self.token[:1].isalpha() or self.text.startswith("-", self.at)

    def leaf(self) -> Any:
        """One summand, or the sum of basis elements, as in 1@0+2@1."""
        return sum_of_elements(self, self.summand)

    def summand(self) -> Any:
        """An integer, a symbolic expression, or either times a basis element, as in _4, M//2, 8@0@1."""
        if self.symbols is not None and self.at_expression():
            value, end = _EXPRESSIONS.read(self.text, self.at, self.symbols)
            self.go_to(end)
            return along(value, self.next()[1:]) if self.token[:1] == "@" else value
        token = self.token
        digits, _, path = token.removeprefix("_").partition("@")
        if not digits.removeprefix("-").isdecimal():
            self.unexpected("an integer like 4 or _4, or a tuple", self.other_reader(token))
        value = int64_of(digits)
        if value is None:
            self.fail(f"{digits:.24} does not fit in 64 bits", f"{INT64_MIN} to {INT64_MAX}", "use a smaller one")
        self.advance()
        value = static(value) if token[0] == "_" or self.bare_is_static else value
        return along(value, path) if path else value

    def other_reader(self, token: str) -> str:
        """The fix of a text that has this in the place of an integer."""
        if token[:1] == "F" and token[1:].isdecimal():
            return "write tla.linear.from_xor_strides(text), which reads PyCuTe's strides over bits"
        return (
            "give the names it has: parse(text, symbols=[M, N])" if token[:1].isalpha() and self.symbols is None else ""
        )


def sum_of_elements(reader: Reader, read: Callable[[], Any]) -> Any:
    """The value that `read` reads; of basis elements the sum of several with + between."""
    value, terms = read(), 1
    while isinstance(value, Basis) and reader.take("+"):
        terms += 1
        if terms > MAX_TERMS:
            reader.fail(f"a sum of more than {MAX_TERMS} basis elements", f"{MAX_TERMS} at most", "leave some out")
        at, other = reader.at, read()
        if not isinstance(other, Basis):
            reader.fail(f"{value} and {other}", "a basis element, such as 2@1", at=at)
        value = as_stride(value + other)
    return value


def chained(parts: list[Any]) -> Any:
    """The value of A o n o B, put together from the right: composed layouts."""
    value = parts.pop()
    while parts:
        offset = parts.pop()
        value = ComposedLayout(parts.pop(), offset, value)
    return value


def along(value: IntLike, path: str) -> IntTree:
    """value times the basis element of a path such as 1@0."""
    return E[tuple(map(int, reversed(path.split("@"))))] * value
