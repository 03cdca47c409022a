"""Parse the text of a SymInt. The text is data: it is parsed by this grammar and never evaluated.

    expression = sum { "^" sum }
    sum        = [ "-" ] product { ("+" | "-") product }
    product    = factor { ("*" | "//" | "%") factor }
    factor     = digits | name | "(" expression ")" | "ceil" "(" product "/" factor ")"
               | ("min" | "max") "(" expression { "," expression } ")"

`ceil(a/b)` is a / b rounded up. Blanks may stand between any two of these.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..core.errors import LeafTypeError
from ..core.ints import Leaf
from ..core.reader import Reader, write_nearest
from .symint import SymInt, compute

#: Operations in a row, more than these, are refused.
MAX_OPERATIONS = 2**14

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
            raise LeafTypeError(
                f"{x!r:.60} among the symbols", "sizes and indices, or a dict of names", "write symbols=[M, N]"
            )
    return {str(x): x for x in symbols}


def read(text: str, at: int, symbols: Mapping[str, Any]) -> tuple[Any, int]:
    """The expression of `text` from `at` on, as far as it goes, and where what follows begins."""
    reader = _ExpressionReader(text, at)
    reader.symbols = symbols
    return reader.xor(), reader.at


class _ExpressionReader(Reader):
    tokens = r"[0-9]+|[A-Za-z][A-Za-z0-9_]*|//|[-+*%^(),/]"
    noun, example = "an expression", "write an expression such as 16*(M//4)+1"
    symbols: Mapping[str, Any]
    operations = 0

    def next(self) -> str:
        """The token that stands here, which is taken: an operator, or a name."""
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            what = f"more than {MAX_OPERATIONS:,} operations and names"
            self.fail(what, f"{MAX_OPERATIONS:,} at most", "give parts of it names")
        return super().next()

    def xor(self) -> Leaf:
        value = self.sum()
        while self.token == "^":
            self.next()
            value = compute("xor", value, self.sum())
        return value

    def sum(self) -> Leaf:
        value = self.product()
        while self.token in _SUM:
            value = _SUM[self.next()](value, self.product())
        return value

    def product(self) -> Any:
        value = -self.factor() if self.take("-") else self.factor()  # as in Python, -7//2 is (-7)//2
        while self.token in _PRODUCT:
            op = self.next()
            value = _PRODUCT[op](value, self.factor() if op == "*" else self.divisor())
        return value

    def divisor(self) -> Any:
        start, value = self.at, self.factor()
        if isinstance(value, int) and value == 0:
            self.fail("a division by 0", "1 or more, or a name", "divide by another number", start)
        return value

    def factor(self) -> Leaf:
        """A number, a symbol, a call of ceil, min or max, or an expression in parentheses."""
        if self.token == "(":
            return self.enclosed("()", self.xor)
        if not self.token[:1].isalpha():
            return self.integer("a number, a name or '('")
        start, name = self.at, self.next()
        if name == "ceil":
            return self.enclosed("()", self.ceiling)
        if name in ("min", "max"):
            values = self.listed("()", self.xor, empty=False)
            return functools.reduce(lambda a, b: compute(name, a, b), values)
        try:
            return self.symbols[name]
        except KeyError:
            fix = write_nearest(name, [*self.symbols]) or f"give symbols=[dim('{name:.40}')]"
            what = f"the name {name!r:.40} is not known"
            self.fail(what, f"one of the symbols: {', '.join(self.symbols) or 'none'}"[:400], fix, start)

    def ceiling(self) -> Leaf:
        a = self.product()
        self.expect("/", "and what divides it")
        return -(-a // self.divisor())
