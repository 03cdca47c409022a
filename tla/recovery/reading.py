"""The grammar that index expressions of all languages share: that of the proofs, widened, to trees of operations.
Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from ..codegen.proofs.reading import Expression, Tree
from ..core.arrays import int64_of
from ..core.reader import nearest
from .languages import CALLS, CASTS, LANGUAGES, Language, kind_of

T = TypeVar("T")

NAME = r"[A-Za-z_]\w*(?:(?:::|\.)(?!to\(|astype\()\w+)*"
NUMBER = r"0[xX][0-9a-fA-F]+(?:[_'][0-9a-fA-F]+)*|0[bB][01]+(?:[_'][01]+)*|0[oO][0-7]+|[0-9]+(?:[_'][0-9]+)*"
OPERATORS = r"<<=?|>>=?|<=|>=|==|!=|//|[-+*/%&|^]=|[-+*/%&^|~!(){}\[\],;:?=<>.]"
#: Operators that give a name another value.
ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--")


class Op(str):
    """The name of an operation, and its place in the text."""

    at: int

    def __new__(cls, name: str, at: int) -> Op:
        op = super().__new__(cls, name)
        op.at = at
        return op


class Code(NamedTuple):
    """An index expression that was read.

    text        the text
    language    what it is written in
    steps       what is computed on the way, by name, in order
    value       the offset
    parameters  the names of its parameters, where it says them
    names       the names that are no steps, and where they stand first, in this order
    kinds       the integers of names whose type is said
    bases       those of the names that are memory: an address is counted from there
    """

    text: str
    language: str
    steps: tuple[tuple[str, Tree | Call], ...]
    value: Tree | Call
    parameters: tuple[str, ...]
    names: Mapping[str, int]
    kinds: Mapping[str, str]
    bases: Collection[str] = ()


class Call(NamedTuple):
    """A call of a function that the text has.

    op          the call, and its place
    parameters  their names, no two functions' the same
    arguments   what they are given
    steps       what the function computes on the way
    value       what it returns
    """

    op: Op
    parameters: tuple[str, ...]
    arguments: tuple[Tree, ...]
    steps: tuple[tuple[str, Tree | Call], ...]
    value: Tree | Call


class Address(Expression):
    """The grammar of an index expression, in one of several languages."""

    tokens: ClassVar[str] = rf"{NAME}|{NUMBER}|{OPERATORS}"
    noun, example = "an index expression", "write one such as i*64 + j"
    relations = ("<", "<=", ">", ">=", "==", "!=")
    language: Language

    def __init__(self, text: str, language: str, start: int = 0) -> None:
        self.written = language
        self.language, self.levels = LANGUAGES[language], LANGUAGES[language].levels  # type: ignore[misc]
        self.seen: dict[str, int] = {}
        self.bases: set[str] = set()
        self.axes: dict[str, str] = {}
        super().__init__(text, start)
        self.began = self.at

    def expression(self, least: int = 0) -> Tree:
        value = super().expression(least)
        if least == 0 and self.token == "?":
            op = self.named("select")
            chosen = self.inside(self.expression)
            self.expect(":")
            return self.tree(op, value, chosen, self.inside(self.expression))
        if least == 0 and self.token == "if":
            op = self.named("select")
            condition = super().expression()
            self.expect("else")
            return self.tree(op, condition, value, self.inside(self.expression))
        return value

    def inside(self, read: Callable[[], T]) -> T:
        """The result of `read`, one level deeper."""
        depth, self.depth = self.depth, self.deeper()
        value = read()
        self.depth = depth
        return value

    def operation(self) -> str:
        self.require_unread()
        at = self.at
        name = super().operation()
        return Op(self.language.means.get(name, name), at)

    def named(self, name: str) -> Op:
        """An operation that its token does not name."""
        at = self.at
        self.operation()
        return Op(name, at)

    def tree(self, *parts: Any) -> Tree:
        return parts

    def operand(self) -> Tree:
        token = self.token
        if token in ("-", "~", "!", "not", "+"):
            op = self.named({"-": "neg", "!": "not"}.get(token, token))
            value = self.inside(self.operand if token != "not" else self.negated)
            return value if token == "+" else self.tree(op, value)
        if token == "(":
            return self.passed(self.enclosed("()", self.expression))
        if token[:1].isdigit():
            return self.number()
        if token in self.choices or not (token[:1].isalpha() or token[:1] == "_"):
            return super().operand()
        return self.passed(self.word_here())

    def negated(self) -> Tree:
        """The operand of `not` in Python: a comparison, or what binds more."""
        return self.expression(2)

    #: What may stand between the digits of an integer.
    separator = "_"

    def number(self) -> Tree:
        at, digits = self.at, self.next().replace(self.separator, "")
        if not digits.isalnum():
            self.fail(f"{digits:.24}", "an integer", "write its digits without marks", at)
        if digits.isdecimal():
            value = int64_of(digits) if digits[0] != "0" else self.of_zero(digits, at)
        else:
            value = int(digits, 0) if len(digits) < 80 else None
        if value is None or value >= 2**63:
            self.fail(f"{digits:.24} does not fit in 64 bits", "an integer of 64 bits", at=at)
        return value

    def of_zero(self, digits: str, at: int) -> int:
        """The integer of digits that begin with 0."""
        if digits.strip("0"):
            self.fail(f"{digits:.24}, which begins with 0", "an integer", "write it without the 0", at)
        return 0

    #: Indices that only add axes, or a method that gives another type.
    _AXES = re.compile(r"\[[\s:,]*(?:None[\s:,]*)*\]|\.(?:to|astype)\([\"']?([\w.]*)[\"']?\)")
    _NAMED = re.compile(r"[\"'](\w*)[\"']\s{0,9},")

    def word_here(self) -> Tree:
        """A name, a call, or an element of memory whose index is the whole expression."""
        at, name = self.at, self.name()
        if name in ("true", "True", "false", "False"):
            return int(name in ("true", "True"))
        if self.token == "(":
            return self.call(name, at)
        if self.token == "[" and not self._AXES.match(self.text, self.at):
            return self.element(name, at)
        return self.free(name, at)

    def free(self, name: str, at: int) -> str:
        """A name that the text gives no value."""
        self.seen.setdefault(name, at)
        return name

    #: Where the expression begins, and where in it an element of memory stands that is read; -1: none is.
    began, read_at = 0, -1

    def element(self, name: str, at: int) -> Tree:
        """The index of `smem[...]`, where that is the whole expression; else it is data."""
        if at != self.began:
            self.data(name, at)
        value = self.index(name)
        self.read_at = at
        return value

    def index(self, name: str) -> Tree:
        """The index in brackets behind a name."""
        value = self.enclosed("[]", self.expression)
        if self.token == "[":
            self.unexpected("one index", f"write the index of {name:.40} as one expression, with its extents")
        return value

    def require_unread(self) -> None:
        """Require that no element of memory was read: what is computed of it is data."""
        if self.read_at >= 0:
            self.data(self.text[self.read_at : self.at].partition("[")[0], self.read_at)

    def based(self, value: Tree) -> Tree:
        """An address: the first of its sum is memory, if that is the name of one, and counts from there."""
        first = value
        while isinstance(first, tuple) and first[0] in ("+", "-") and len(first) == 3:
            first = first[1]
        if isinstance(first, str) and self.is_base(first):
            self.bases.add(first)
        return value

    def is_base(self, name: str) -> bool:
        """Whether a name is that of memory."""
        return name in self.seen

    def two_meanings(self, name: str, at: int) -> NoReturn:
        what = f"{name:.40}, which is a variable of two loops or has another meaning"
        self.fail(what, "one meaning", "give it another name", at)

    def carried(self, name: str) -> NoReturn:
        what = f"{name:.40}, which is carried from one pass of a loop to the next"
        self.fail(what, "a value of the coordinates", f"write what {name:.40} is in each pass")

    def call_of(self, routine: Any, names: tuple[str, ...], given: Sequence[Tree], value: Tree | Call, at: int) -> Call:
        """The call of a function of the text, whose operations count here too."""
        self.operations += routine.operations
        self.count()
        return Call(Op("call", at), names, tuple(given), routine.steps, value)

    def arguments(self, given: list[Tree], count: int, name: str, at: int) -> list[Tree]:
        """The arguments of a function, which has to have so many."""
        if len(given) != count:
            self.fail(f"{len(given)} arguments of {name:.40}", str(count), "give it as many", at)
        return given

    def data(self, name: str, at: int) -> NoReturn:
        what = f"{name:.40}[...]: an index that depends on data"
        self.fail(what, "arithmetic of the coordinates", "give layout_of the table itself", at)

    def kind_called(self, name: str) -> str:
        """The integers that a type gives when it is called, as in int(x)."""
        return "int64" if name in ("int", "Integer") else kind_of(name)

    def call(self, name: str, at: int) -> Tree:
        last = re.split(r"::|\.", name)[-1]
        if last in ("floor", "ceil", "ceiling"):
            return self.rounded(last, at)
        if last in CASTS:
            return self.enclosed("()", lambda: self.cast(at))
        if kind := self.kind_called(last):
            return self.tree(Op(f"as {kind}", at), self.enclosed("()", self.expression))
        last = name if name in CALLS else last
        if last not in CALLS:
            near = nearest(last, {*CALLS, *CASTS, "floor"}, 0.8)
            self.fail(f"a call of {name:.40}", "arithmetic of integers", f"write {near or 'what it computes'}", at)
        op, count = CALLS[last]
        given = self.listed("()", self.expression)
        if len(given) != count and not (count < 0 and len(given) > 1):
            self.fail(
                f"{len(given)} arguments of {last}", "two or more" if count < 0 else str(count), "give it as many", at
            )
        if op == "modular":  # Inductor's (x // divisor) % modulus
            return self.tree(Op("%", at), self.tree(Op("//", at), *given[:2]), given[2])
        if op == "mad24":  # OpenCL's product of 24 bits, and a sum
            return self.tree(Op("+", at), self.tree(Op("mul24", at), *given[:2]), given[2])
        if op == "select":
            return self.tree(Op(op, at), *given)
        value = given[0]
        for other in given[1:]:
            self.count()
            value = self.tree(Op(op, at), value, other)
        return value

    def cast(self, at: int) -> Tree:
        """A value and its type: `tl.cast(i, tl.int64)`, `T.Cast("int32", i)`."""
        named = self._NAMED.match(self.text, self.at)
        if named:
            self.go_to(named.end())
        value = self.expression()
        end = self.at if named else self.text.find(")", self.at)
        if not named:
            self.expect(",")
        kind = kind_of(named[1] if named else self.text[self.at : end].removeprefix("dtype=").strip("\"'"))
        if not kind:
            self.unexpected("a type of integers")
        self.go_to(end)
        return self.tree(Op(f"as {kind}", at), value)

    def rounded(self, name: str, at: int) -> Tree:
        """floor or ceil of a sum of quotients, over one denominator."""
        value = self.enclosed("()", self.expression)
        return self.over_one(Op("//" if name == "floor" else "ceildiv", at), value)

    def over_one(self, op: Op, value: Any) -> Tree:
        """A quotient of integers, of one that is written with fractions."""
        top, bottom = self.ratio(value)
        if bottom == 1 and isinstance(top, tuple) and top[0] == "/":
            return self.tree(op, *top[1:])
        return self.tree(op, top, bottom)

    def ratio(self, value: Any) -> tuple[Tree, int]:
        """A tree with quotients in it as one of integers, over a positive integer."""
        if not isinstance(value, tuple):
            return value, 1
        op, *parts = value
        if op == "/" and isinstance(parts[1], int) and parts[1] > 0:
            top, bottom = self.ratio(parts[0])
            return top, bottom * parts[1]
        if op == "neg":
            top, bottom = self.ratio(parts[0])
            return self.tree(op, top), bottom
        if op in ("+", "-", "*"):
            (a, m), (b, n) = map(self.ratio, parts)
            if op == "*":
                return self.tree(op, a, b), m * n
            times = Op("*", getattr(op, "at", 0))
            return self.tree(op, self.tree(times, a, n), self.tree(times, b, m)), m * n
        return value, 1

    def passed(self, value: Tree) -> Tree:
        """A value, behind which stands what changes no offset: `[:, None]`, `.to(tl.int64)`."""
        while self.read_at < 0 and (found := self._AXES.match(self.text, self.at)):
            at = self.at
            if found[1] is not None:
                kind = kind_of(found[1])
                if not kind:
                    self.unexpected("a type of integers")
                value = self.tree(Op(f"as {kind}", at), value)
            elif "None" in found[0]:
                self.require_one_axis(value, re.sub(r"\s", "", found[0]), at)
            self.go_to(found.end())
        return value

    def require_one_axis(self, value: Tree, axes: str, at: int) -> None:
        """Require that a name stands for one axis: x[:, None] and x[None, :] are two coordinates."""
        for name in {*names_of(value)}:
            if self.axes.setdefault(name, axes) != axes:
                what = f"{name:.40} along two axes: {self.axes[name]:.40} and {axes:.40}"
                self.fail(
                    what, "a name for each coordinate", f"write {name:.40} and {name:.40}2, with their extents", at
                )

    def name(self) -> str:
        if self.token in ("lambda", "if", "for", "while", "return"):
            self.unexpected("a name or an integer")
        return super().name()

    def require_new(self, step: str, names: Sequence[str]) -> None:
        """Take a name that has a value already: the steps are computed in order."""

    def end(self) -> None:
        if self.token in ASSIGNS:
            self.side_effect()
        super().end()

    def side_effect(self) -> NoReturn:
        self.fail(f"a side effect: {self.token}", "an expression", "give the expression alone")


def names_of(tree: Tree | Call) -> Iterator[str]:
    """The names in a tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, tuple):
        parts: Sequence[Any] = tree.arguments if isinstance(tree, Call) else tree[1:]
        for part in parts:
            yield from names_of(part)
