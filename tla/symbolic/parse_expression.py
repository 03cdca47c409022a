"""Expressions as text, read: what a SymInt prints, by a grammar of our own. The text is data and never evaluated.

    expression = sum { "^" sum }
    sum        = [ "-" ] product { ("+" | "-") product }
    product    = factor { ("*" | "//" | "%") factor }
    factor     = digits | name | "(" expression ")" | "ceil" "(" product "/" factor ")"
               | ("min" | "max") "(" expression { "," expression } ")"

`ceil(a/b)` is a / b rounded up. Blanks may stand between any two of these.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..core.arrays import INT64_MAX, int64_of
from ..core.errors import LeafTypeError, ParseError
from .symint import SymInt, compute

#: Parentheses inside of each other, deeper than this, are refused.
MAX_DEPTH = 64

_TOKEN = re.compile(r"\s*([0-9]+|[A-Za-z][A-Za-z0-9_]*|//|[-+*%^(),/])")
_SUM: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_PRODUCT: dict[str, Callable[[Any, Any], Any]] = {"*": operator.mul, "//": operator.floordiv, "%": operator.mod}


def names(symbols: object) -> dict[str, Any]:
    """The symbols of parse() by name: a mapping of names to integers, or SymInts that are sizes or indices."""
    if isinstance(symbols, Mapping):
        return dict(symbols)
    if isinstance(symbols, SymInt) or not isinstance(symbols, Iterable):
        symbols = (symbols,)
    for x in symbols:
        if not isinstance(x, SymInt) or len(x.symbols) != 1 or x.symbols[0] != x:
            raise LeafTypeError(f"{x!r:.60} among the symbols", "sizes and indices, or a dict of names", "write symbols=[M, N]")
    return {str(x): x for x in symbols}


def read(text: str, at: int, symbols: Mapping[str, Any]) -> tuple[Any, int]:
    """The expression of `text` from `at` on, as far as it goes, and where it ends."""
    reader = _Reader(text, at, symbols)
    return reader.xor(), reader.at


class _Reader:
    """A text and a position in it."""

    def __init__(self, text: str, at: int, symbols: Mapping[str, Any]) -> None:
        self.text, self.at, self.symbols, self.depth = text, at, symbols, 0

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, *wanted: str) -> str:
        """The next token, if it is one of these."""
        found = _TOKEN.match(self.text, self.at)
        if not found or found[1] not in wanted:
            return ""
        self.at = found.end()
        return found[1]

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.unexpected(repr(token))

    def xor(self) -> Any:
        value = self.sum()
        while self.take("^"):
            value = compute("xor", value, self.sum())
        return value

    def sum(self) -> Any:
        value = self.product()
        while op := self.take(*_SUM):
            value = _SUM[op](value, self.product())
        return value

    def product(self) -> Any:
        value = -self.factor() if self.take("-") else self.factor()  # as in Python, -7//2 is (-7)//2
        while op := self.take(*_PRODUCT):
            value = _PRODUCT[op](value, self.factor() if op == "*" else self.divisor())
        return value

    def divisor(self) -> Any:
        start, value = self.at, self.factor()
        if isinstance(value, int) and value == 0:
            raise ParseError(self.text, start, "a division by 0", "1 or more, or a name", "divide by another number")
        return value

    def factor(self) -> Any:
        """A number, a symbol, a call of ceil, min or max, or what stands in parentheses."""
        start, token = self.at, self.peek()
        if token == "(":
            return self.within(lambda: self.xor())
        if token[:1].isdigit():
            self.take(token)
            value = int64_of(token)
            if value is None:
                raise ParseError(self.text, start, f"{token:.24} does not fit in 64 bits", f"up to {INT64_MAX}", "use a smaller one")
            return value
        if not token[:1].isalpha():
            raise self.unexpected("a number, a name or '('")
        self.take(token)
        if token == "ceil":
            return self.within(self.ceiling)
        if token in ("min", "max"):
            return self.within(lambda: self.extreme(token))
        if token not in self.symbols:
            known = ", ".join(self.symbols) or "none"
            raise ParseError(
                self.text, start, f"the name {token!r} is not known", f"one of the symbols: {known}", f"give symbols=[dim('{token}')]"
            )
        return self.symbols[token]

    def within(self, read: Callable[[], Any]) -> Any:
        """The value in parentheses."""
        if self.depth == MAX_DEPTH:
            raise ParseError(self.text, self.at, f"parentheses {MAX_DEPTH} deep", "an expression", "name a part of it")
        self.depth += 1
        self.expect("(")
        value = read()
        self.expect(")")
        self.depth -= 1
        return value

    def ceiling(self) -> Any:
        a = self.product()
        self.expect("/")
        return -(-a // self.divisor())

    def extreme(self, name: str) -> Any:
        value = self.xor()
        while self.take(","):
            value = compute(name, value, self.xor())
        return value

    def unexpected(self, expected: str) -> ParseError:
        found = self.peek() or self.text[self.at : self.at + 1]
        return ParseError(
            self.text, self.at, f"unexpected {found!r}" if found else "the text ends", expected, "write an expression such as 16*(M//4)+1"
        )
