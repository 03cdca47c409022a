"""The text of layouts and IntTuples, read: `((_4,_2),(_4,_3)):((_4,_16),(_1,_32))`.

`_4` is static and `4` dynamic; `shape:stride` is a layout. What a value prints is its str(); this file reads it back with
the same static-ness. The text is data: it is parsed by this grammar and never evaluated.

    text   = part { "o" part "o" part }                       Sw<3,4,3> o _0 o (_8,_8):(_8,_1)
    part   = word "<" digits { "," digits } ">" | tuple [ ":" tuple ]
    tuple  = leaf | "(" [ tuple { "," tuple } ] ")"          blanks may stand between any two of these
    leaf   = ([ "_" ] [ "-" ] digits | expression) { "@" digits }     3@1@0 is 3 * E[0, 1]: the innermost mode first

An expression of symbols, such as ceil(N/128), is what parse(text, symbols=...) reads; its grammar is that of SymInt.

Source: cute::print of CUTLASS; TLA's documents.
"""

from __future__ import annotations

from typing import Any

from ..core.arrays import INT64_MAX, INT64_MIN, int64_of
from ..core.basis import E
from ..core.brackets import closing
from ..core.cache import compiled
from ..core.composed import MAX_PARTS, ComposedLayout
from ..core.errors import LeafTypeError, ParseError
from ..core.int_tuple import MAX_DEPTH, TOO_DEEP, IntTuple
from ..core.ints import IntTupleLike, static
from ..core.layout import Layout
from ..core.on_demand import OnDemand
from ..core.swizzle import make_swizzle
from .printed import is_foreign, translated, without_table

# Sizes in a text bring the symbolic package with them.
_EXPRESSIONS, _DECLARE = OnDemand("tla.symbolic.parse_expression"), OnDemand("tla.symbolic.declare")

_LEAF = r"(_?)(-?[0-9]+)((?:@[0-9]{1,5})*)(?![0-9A-Za-z_.@])"
_WORD = r"(?s)[0-9A-Za-z_.+-]+|."
_SWIZZLE = r"(?a)Sw<\s*(-?[0-9]{1,9}(?:\s*,\s*-?[0-9]{1,9})*)\s*>"  # the blanks that int() takes
_PATH = r"(?:@[0-9]{1,5})*(?![0-9A-Za-z_.@])"
_OPERATOR = r"\s*(//|[-+*%^])"
_BLANK = r"(?a)\s*"


def parse(text: str, *, origin_shape: Any = None, symbols: Any = None) -> Any:
    """The layout, IntTuple or integer that a text stands for: the inverse of str().

    text           `shape:stride`, or an IntTuple, or an integer; `_4` static, `4` dynamic
    origin_shape   of a layout: how much of each top-level mode holds valid data; all of it by default
    symbols        the sizes that the text names: a SymInt, several, or a dict of names to integers
    Returns        Layout, IntTuple, Int or int
    Raises         ParseError with the position, and what Layout raises

    >>> from tla import parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> a(1, 5), a.shape[0], parse(str(a)) == a
    (37, parse('(_4,_2)'), True)
    >>> parse("(_4,2):(_1)")
    Traceback (most recent call last):
    tla.core.errors.RankError: Layout: (_4,2) has 2 modes and (_1) has 1
      expected  the same nesting
      fix       give each mode its counterpart

    What CuTe, its DSL and C++ compilers print is read too: tensors (their layout, in elements; where a pointer points is left out,
    but for where a swizzle begins), tables (the layout above them), `S<...>`, `?`, ArithTuple, counting_iter, and types. There `int`
    and `?` are sizes d0, d1, ... that are not known, or the symbols, in their order; and a bare number of the DSL is static.

    >>> print(parse("Sw<3,4,3>_smem_ptr[16b](0x7f0000000000) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1)
    >>> print(parse("(?,?{div=16}):(?,1)"), parse("cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<cute::C<1>, cute::C<4>>>"))
    (d0,d1):(d2,_1) (_4,d0):(_1,_4)

    >>> from tla import dims
    >>> M, N = dims("M N")
    >>> print(parse("(M,ceil(N/4)):(_1,16*M)", symbols=[M, N]).stride)
    (_1,16*M)

    Source: docs/language.md; the notation is that of cute::print.
    """
    if not isinstance(text, str):
        raise LeafTypeError(
            f"parse of a {type(text).__name__}", "a text such as '(_4,2):(_2,_1)'", "give a text: str(x) of a layout is one"
        )
    if "\n" in text and symbols is None:  # a table has no sizes that are not known
        text = without_table(text)
    if is_foreign(text):
        text, symbols = _translated(text, symbols)
    reader = Reader(text, symbols)
    value = reader.value(origin_shape)
    reader.end(", or ':'")
    if origin_shape is not None and not hasattr(value, "origin_shape"):
        raise ParseError(text, len(text), "an origin_shape, and no layout", "shape:stride", "drop origin_shape")
    return value


def _translated(text: str, symbols: object) -> tuple[str, Any]:
    """A print of others in our notation, with its symbols: what it does not know takes those that are given, in their order."""
    ours, unknown = translated(text)
    if not unknown:
        return ours, symbols
    given = [*symbols] if isinstance(symbols, (list, tuple)) else [] if symbols is None else [symbols]
    if given and len(given) != len(unknown):
        what = f"{len(given)} symbols for {len(unknown)} sizes that the text does not tell"
        raise ParseError(text, 0, what, f"{len(unknown)} of them, in the order of the text", "leave out symbols: they are d0, d1, ... then")
    return ours, {u.name: given[k] if given else _DECLARE.unknown(*u) for k, u in enumerate(unknown)}


class Reader:
    """A text and a position in it. tla.apps.explore has one that reads more."""

    def __init__(self, text: str, symbols: object = None) -> None:
        self.text, self.at = text, 0
        self.symbols: Any = None if symbols is None else _EXPRESSIONS.names(symbols)
        self.skip_blank()

    def skip_blank(self) -> None:
        self.at = compiled(_BLANK).match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches the empty text too

    def take(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        self.skip_blank()
        return True

    def value(self, origin_shape: IntTupleLike | None = None) -> Any:
        """A part, or a chain of parts, put together from the right."""
        parts = [self.part(origin_shape)]
        while len(parts) % 2 == 0 or self.text.startswith("o", self.at):
            if not self.take("o") or len(parts) == MAX_PARTS:
                raise self.unexpected(f"'o' and a layout, {MAX_PARTS} parts at most", "write A o 0 o B")
            parts.append(self.part(origin_shape))
        value = parts.pop()
        while parts:
            offset = parts.pop()
            value = ComposedLayout(parts.pop(), offset, value)
        return value

    def part(self, origin_shape: IntTupleLike | None) -> Any:
        """The value that stands alone, or between the "o" of a chain; origin_shape is that of the last layout."""
        found = compiled(_SWIZZLE).match(self.text, self.at)
        if found:
            numbers = [*map(int, found[1].split(","))]
            if len(numbers) != 3:
                raise self.unexpected("3 numbers in <>", "write Sw<1,2,3>")
            self.at = found.end()
            self.skip_blank()
            return make_swizzle(*numbers)
        shape = self.int_tuple()
        if self.take(":"):
            stride = self.int_tuple()
            last = not self.text.startswith("o", self.at)
            return Layout(shape, stride, origin_shape if last else None)
        return shape

    def int_tuple(self) -> Any:
        """An IntTuple, by a stack of the tuples that are open: nesting is limited, and recursion never meets it."""
        open_tuples: list[tuple[int, list[Any]]] = []
        while True:
            start = self.at
            if not self.at_expression() and self.take("("):
                if len(open_tuples) == MAX_DEPTH:
                    raise ParseError(self.text, start, *TOO_DEEP)
                open_tuples.append((start, []))
                if not self.take(")"):
                    continue
                value: Any = tuple.__new__(IntTuple, open_tuples.pop()[1])  # its leaves and depth are checked here
            else:
                value = self.leaf()
            while open_tuples:
                open_tuples[-1][1].append(value)
                if self.take(","):
                    break
                if not self.take(")"):
                    raise self.unexpected("',' or ')'", f"close the '(' at position {open_tuples[-1][0]}")
                value = tuple.__new__(IntTuple, open_tuples.pop()[1])
            else:
                return value

    def at_expression(self) -> bool:
        """Whether an expression begins here: a name, or what an operator follows, a '(' with its ')' included."""
        if self.symbols is None:
            return False
        first = self.text[self.at : self.at + 1]
        if first == "(":
            return bool(compiled(_OPERATOR).match(self.text, closing(self.text, self.at) or len(self.text)))
        found = compiled(_LEAF).match(self.text, self.at)
        return bool(compiled(_OPERATOR).match(self.text, found.end())) if found else first.isalpha() or first == "-"

    def leaf(self) -> Any:
        """An integer, a symbolic expression, or either times a basis element, as in _4, M//2, 8@0@1."""
        if self.at_expression():
            value, self.at = _EXPRESSIONS.read(self.text, self.at, self.symbols)
            path = compiled(_PATH).match(self.text, self.at)
            if path:
                self.at = path.end()
            self.skip_blank()
            return _along(value, path[0] if path else "")
        found = compiled(_LEAF).match(self.text, self.at)
        if not found:
            named = self.text[self.at : self.at + 1].isalpha() and self.symbols is None
            raise self.unexpected(
                "an integer like 4 or _4, or a tuple", "give the names it has: parse(text, symbols=[M, N])" if named else ""
            )
        underscore, digits, modes = found.groups()
        value = int64_of(digits)
        if value is None:
            raise ParseError(
                self.text, self.at, f"{digits:.24} does not fit in 64 bits", f"{INT64_MIN} to {INT64_MAX}", "use a smaller one"
            )
        self.at = found.end()
        self.skip_blank()
        return _along(static(value) if underscore else value, modes)

    def end(self, otherwise: str = "") -> None:
        if self.at < len(self.text):
            raise self.unexpected(f"the end of the text{otherwise}", "")

    def unexpected(self, expected: str, fix: str) -> ParseError:
        found = compiled(_WORD).match(self.text, self.at)
        return ParseError(
            self.text,
            self.at,
            f"unexpected {found[0][:24]!r}" if found else "the text ends",
            expected,
            fix or "a layout reads (_4,2):(_1,4)",
        )


def _along(value: Any, modes: str) -> Any:
    """value, or that many of the basis element of `@1@0`."""
    return E[tuple(map(int, reversed(modes.split("@")[1:])))] * value if modes else value
