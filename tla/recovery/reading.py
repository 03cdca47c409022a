"""Index expressions of other languages, read to trees of operations: parsed by the grammar of the proofs, widened; never evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

from ..codegen.proofs.reading import CFunction, Expression, Function, PythonFunction, Tree, choices_of
from ..core.errors import ParseError, RangeError
from ..core.reader import nearest
from .languages import CALLS, CASTS, FRACTIONS, LANGUAGES, TYPES, Language

_NAME = r"[A-Za-z_]\w*(?:(?:::|\.)(?!to\(|astype\()\w+)*"
_NUMBER = r"0[xX][0-9a-fA-F]+|\d+"
_OPERATORS = r"<<=?|>>=?|<=|>=|==|!=|//|[-+*/%&|^]=|[-+*/%&^|~!(){}\[\],;:?=<>.]"
#: Names of coordinates that have an order of their own.
_ORDERS = (("i", "j", "k", "l"), ("row", "col"), ("row", "column"), ("r", "c"), ("y", "x"), ("m", "n"), ("m", "k"), ("k", "n"))


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
    steps       what is computed on the way, by name, in order
    value       the offset
    parameters  the names of its parameters, where it says them
    names       the names that are no steps, and where they stand first, in this order
    unsigned    whether it computes in integers without a sign somewhere
    """

    text: str
    steps: tuple[tuple[str, Tree], ...]
    value: Tree
    parameters: tuple[str, ...]
    names: Mapping[str, int]
    unsigned: bool


class Address(Expression):
    """The grammar of an index expression, in one of several languages."""

    tokens: ClassVar[str] = rf"{_NAME}|{_NUMBER}|{_OPERATORS}"
    noun, example = "an index expression", "write one such as i*64 + j"
    relations = ("<", "<=", ">", ">=", "==", "!=")
    language: Language
    unsigned = False

    def __init__(self, text: str, language: str, start: int = 0) -> None:
        self.language, self.levels = LANGUAGES[language], LANGUAGES[language].levels  # type: ignore[misc]
        self.seen: dict[str, int] = {}
        self.axes: dict[str, str] = {}
        super().__init__(text, start)

    def expression(self, least: int = 0) -> Tree:
        value = super().expression(least)
        if least == 0 and self.token == "?":
            op = self.named("select")
            chosen = self.inside(self.expression)
            self.expect(":")
            return self.tree(op, value, chosen, self.inside(self.expression))
        if least == 0 and self.token == "if":
            op = self.named("select")
            condition = self.expression(1)
            self.expect("else")
            return self.tree(op, condition, value, self.inside(self.expression))
        return value

    def inside(self, read: Callable[[], Tree]) -> Tree:
        """The tree that `read` reads, one level deeper."""
        depth, self.depth = self.depth, self.deeper()
        value = read()
        self.depth = depth
        return value

    def operation(self) -> str:
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
        at, token = self.at, self.token
        if token in ("-", "~", "!", "not", "+"):
            op = self.named({"-": "neg", "!": "not"}.get(token, token))
            value = self.inside(self.operand if token != "not" else self.negated)
            return value if token == "+" else self.tree(op, value)
        if token == "(" and (kind := self.cast_here()):
            return self.tree(Op(f"as {kind}", at), self.inside(self.operand))
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

    def number(self) -> Tree:
        at, digits = self.at, self.token
        if digits.isdecimal() and digits[0] == "0" and digits.strip("0"):
            value = self.of_base_8(self.next(), at)
        else:
            value = int(self.next(), 16) if digits[:2] in ("0x", "0X") else self.integer("an integer")
        if value >= 2**63:
            self.fail(f"{value} does not fit in 64 bits", "an integer of 64 bits", at=at)
        if at + 1 < self.after and self.token.lower() in ("l", "ll", "u", "ul", "ull", "lu", "llu") and self.text[self.at - 1].isalnum():
            self.unsigned |= "u" in self.next().lower()
        return value

    def of_base_8(self, digits: str, at: int) -> int:
        """The integer of digits behind a 0: of base 8 in C, and of none in the other languages."""
        if self.language.grammar != "c" or digits.strip("01234567"):
            self.fail(f"{digits:.24}, which begins with 0", "an integer", "write it without the 0", at)
        return int(digits, 8)

    #: A type in parentheses, and indices that only add axes, or a method that gives another type.
    _CAST = re.compile(r"\(\s*((?:const\s+|std::)*(?:(?:unsigned|signed|long|int|short|char)\b\s*)+|(?:std::)?\w+)\s*\)")
    _AXES = re.compile(r"\[[\s:,]*(?:None[\s:,]*)*\]|\.(?:to|astype)\(([\w.]*)\)")

    def cast_here(self) -> str:
        """The integers of a cast `(int)` that stands here, which is taken; "" where none does."""
        found = self._CAST.match(self.text, self.at)
        kind = found and self.kind_of(found[1])
        if not found or not kind or found[1] in self.seen:
            return ""
        self.go_to(found.end())
        return kind

    def kind_of(self, words: str) -> str:
        """The integers of a type; "" where it is none."""
        *before, last = re.sub(r"const\b|signed\b(?<!unsigned)|(?<!\w)\w+(?:::|\.)", " ", words).split() or [""]
        if "long" in (*before, last):
            kind = "uint64" if "unsigned" in before else "int64"
        elif before[:1] == ["unsigned"]:
            kind = f"u{TYPES.get(last, '')}"
        else:
            kind = "" if before else TYPES.get(last, "")
        self.unsigned |= kind.startswith("u")
        return kind

    def word_here(self) -> Tree:
        """A name, a call, or an element of memory whose index is the whole expression."""
        at, name = self.at, self.name()
        if name in ("true", "True", "false", "False"):
            return int(name in ("true", "True"))
        if name in ("static_cast", "reinterpret_cast"):
            self.expect("<")
            end = self.text.find(">", self.at)
            kind = self.kind_of(self.text[self.at : end]) if end > 0 else ""
            if not kind:
                self.unexpected("a type of integers")
            self.go_to(end + 1)
            return self.tree(Op(f"as {kind}", at), self.enclosed("()", self.expression))
        if self.token == "(":
            return self.call(name, at)
        if self.token == "[" and not self._AXES.match(self.text, self.at):
            return self.element(name, at)
        self.seen.setdefault(name, at)
        return name

    def element(self, name: str, at: int) -> Tree:
        """The index of `smem[...]`, where that is the whole text; else it is data."""
        if at != self.first:
            self.data(name, at)
        value = self.enclosed("[]", self.expression)
        if self.token == "[":
            self.unexpected("one index", f"write the index of {name:.40} as one expression, with its extents")
        if not self.addressed and (self.level() >= 0 or self.token in ("?", "if")):
            self.data(name, at)
        return value

    def data(self, name: str, at: int) -> NoReturn:
        what = f"{name:.40}[...]: an index that depends on data"
        self.fail(what, "arithmetic of the coordinates", "give layout_of the table itself", at)

    @property
    def first(self) -> int:
        """The place where the expression begins, but for an `&`."""
        return self._skip(self.text, self._began).end()  # type: ignore[union-attr]

    _began = 0
    #: Whether it begins with `&`: what is added to an address is added to the index.
    addressed = False

    def call(self, name: str, at: int) -> Tree:
        last = re.split(r"::|\.", name)[-1]
        if last in ("floor", "ceil", "ceiling"):
            return self.rounded(last, at)
        if last in CASTS:
            return self.enclosed("()", lambda: self.cast(at))
        if (kind := self.kind_of(last)) or last in ("int", "Integer"):
            return self.tree(Op(f"as {kind or 'int64'}", at), self.enclosed("()", self.expression))
        last = name if name in CALLS else last
        if last not in CALLS:
            near = nearest(last, {*CALLS, *CASTS, "floor"}, 0.8)
            self.fail(f"a call of {name:.40}", "arithmetic of integers", f"write {near or 'what it computes'}", at)
        op, count = CALLS[last]
        given = self.listed("()", self.expression)
        if len(given) != count and not (count < 0 and len(given) > 1):
            self.fail(f"{len(given)} arguments of {last}", "two or more" if count < 0 else str(count), "give it as many", at)
        if op == "modular":  # Inductor's (x // divisor) % modulus
            return self.tree(Op("%", at), self.tree(Op("//", at), *given[:2]), given[2])
        if op == "select":
            return self.tree(Op(op, at), *given)
        value = given[0]
        for other in given[1:]:
            self.count()
            value = self.tree(Op(op, at), value, other)
        return value

    def cast(self, at: int) -> Tree:
        """A value and its type: `tl.cast(i, tl.int64)`, `T.Cast("int32", i)`."""
        value = self.expression()
        self.expect(",")
        end = self.text.find(")", self.at)
        kind = self.kind_of(self.text[self.at : end].removeprefix("dtype="))
        if not kind:
            self.unexpected("a type of integers")
        self.go_to(end)
        return self.tree(Op(f"as {kind}", at), value)

    def rounded(self, name: str, at: int) -> Tree:
        """floor or ceil of a sum of quotients, over one denominator."""
        value = self.enclosed("()", self.expression)
        top, bottom = self.ratio(value)
        return self.tree(Op("//" if name == "floor" else "ceildiv", at), top, bottom)

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
        while found := self._AXES.match(self.text, self.at):
            at = self.at
            if found[1] is not None:
                kind = self.kind_of(found[1])
                if not kind:
                    self.unexpected("a type of integers")
                value = self.tree(Op(f"as {kind}", at), value)
            elif "None" in found[0]:
                self.require_one_axis(value, re.sub(r"\s", "", found[0]), at)
            self.go_to(found.end())
        return value

    def require_one_axis(self, value: Tree, axes: str, at: int) -> None:
        """Require that a name stands for one axis: x[:, None] and x[None, :] are two coordinates."""
        for name in {*_names(value)}:
            if self.axes.setdefault(name, axes) != axes:
                what = f"{name:.40} along two axes: {self.axes[name]:.40} and {axes:.40}"
                self.fail(what, "a name for each coordinate", f"write {name:.40} and {name:.40}2, with their extents", at)

    def name(self) -> str:
        if self.token in ("lambda", "if", "for", "while", "return"):
            self.unexpected("a name or an integer")
        return super().name()

    def require_new(self, step: str, names: Sequence[str]) -> None:
        """Take a name that has a value already: the steps are computed in order."""

    def end(self) -> None:
        if self.token in ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"):
            self.fail(f"a side effect: {self.token}", "an expression", "give the expression alone")
        super().end()


class CAddress(Address, CFunction):
    """The grammar of C, C++, CUDA, HIP and OpenCL."""

    blank = r"(?:[ \t\r\n\f\v]|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|#[^\n]*\n)*"
    tokens = rf"{_NAME}|{_NUMBER}|\+\+|--|&&|\|\||{_OPERATORS}".replace("|//|", "|")

    def operand(self) -> Tree:
        if self.token in ("++", "--"):
            self.fail(f"a side effect: {self.token}", "an expression", "give the expression alone")
        if self.token in ("&", "*") and self.at == self.first:  # the address of an element
            self.addressed = self.next() == "&"
            self._began = self.at
        return super().operand()

    def function(self, name: str) -> Function:
        """The function of this name, its values as the types that they are declared with."""
        self.declared: dict[str, tuple[str, int]] = {}
        found = super().function(name)
        for parameter in found.parameters:
            self.of_type(parameter, 0)
        return found._replace(steps=tuple((n, self.of_type(n, tree)) for n, tree in found.steps))

    def last_word(self, *ends: str) -> str:
        at = self.at
        word = super().last_word(*ends)
        self.declared[word] = self.text[at : self.at].rstrip().removesuffix(word), at
        return word

    def of_type(self, name: str, value: Tree) -> Tree:
        """A value as what its name is declared as: narrow integers have to hold it."""
        words, at = self.declared.get(name, ("", 0))
        if found := FRACTIONS.intersection(re.findall(r"\w+", words)):
            self.fail(f"{name:.40}, which is a {min(found)}", "integers", "declare it as one", at)
        kind = self.kind_of(words)
        return self.tree(Op(f"as {kind}", at), value) if kind not in ("", "int32", "int64") else value


class PythonAddress(Address, PythonFunction):
    """The grammar of Python, Triton, sympy's text and TVM's."""

    blank = r"(?:[ \t\r\n\f\v]|#[^\n]*\n)*"


class AffineAddress(Address):
    """The grammar of MLIR's affine expressions."""


def read(text: str, language: str) -> Code:
    """An expression, a lambda, a function or an affine map, read.

    >>> read("smem[(row / 8) * 512 + (col ^ row % 8)]", "cuda").names
    {'row': 6, 'col': 24}
    >>> read("affine_map<(d0, d1) -> (d0 floordiv 8 + d1)>", "mlir").parameters
    ('d0', 'd1')
    """
    kind = _GRAMMARS[LANGUAGES[language].grammar]
    kind.checked(text)
    if head := _HEADS[kind].search(text):
        return _with_head(kind, text, language, head)
    reader = kind(text, language)
    reader._began = reader.at
    if kind is CAddress:
        reader.choices = {**reader.choices, **choices_of(text)}
    value = reader.expression()
    reader.take(";")
    reader.end()
    return Code(text, (), value, (), reader.seen, reader.unsigned)


_GRAMMARS: dict[str, Any] = {"c": CAddress, "python": PythonAddress, "mlir": AffineAddress}
_HEADS: dict[Any, re.Pattern[str]] = {
    CAddress: re.compile(r"\b(\w+)\s*\((?=[^(){}]*\)\s*\{(?!\s*return a < b))"),
    PythonAddress: re.compile(r"\bdef\s+(\w+)\s*\(|\A\s*lambda\s+([\w, ]*):"),
    AffineAddress: re.compile(r"\(([\w, ]*)\)(?:\[[\w, ]*\])?\s*->\s*(\()"),
}


def _with_head(kind: Any, text: str, language: str, head: re.Match[str]) -> Code:
    """A text that says its parameters."""
    if kind is AffineAddress or head[0].lstrip().startswith("lambda"):
        affine = kind is AffineAddress
        reader = kind(text, language, head.end(2) - 1 if affine else head.end())
        reader._began = reader.at
        value = reader.enclosed("()", reader.expression) if affine else reader.expression()
        reader.take(">")
        reader.end()
        parameters = tuple(n.strip() for n in head[1 if affine else 2].split(",") if n.strip())
        return Code(text, (), value, parameters, reader.seen, reader.unsigned)
    reader = kind(text, language, head.start(1))
    if kind is CAddress:
        reader.choices = {**reader.choices, **choices_of(text)}
        given = re.split(r"[^\w\s]", text[: head.start(1)][-200:])[-1].split()
        reader.kind_of(" ".join(w for w in given if w in TYPES or w in ("unsigned", "long")))  # of what it returns: whether it has a sign
    found = reader.function(head[1])
    reader.end()
    steps = {*dict(found.steps)}
    return Code(
        text, found.steps, found.value, found.parameters, {n: at for n, at in reader.seen.items() if n not in steps}, reader.unsigned
    )


def _names(tree: Tree) -> Iterator[str]:
    """The names in a tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, tuple):
        for part in tree[1:]:
            yield from _names(part)


def coordinates_of(code: Code, given: Sequence[str] | None, count: int, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the coordinates, in order: those that are given, the parameters, or those in the text if these have an order."""
    names = tuple(given) if given is not None else tuple(n for n in code.parameters if n not in values)
    found = tuple(n for n in code.names if n not in values)
    if not names:
        numbered = all(re.fullmatch(r"\D+\d+", n) for n in found)
        orders = [o[:count] for o in _ORDERS if {*found} == {*o[:count]} or (o is _ORDERS[0] and {*found} <= {*o[:count]})]
        names = found if len(found) <= 1 == count else next(iter(orders), ())
        names = tuple(sorted(found, key=lambda n: (re.sub(r"\d", "", n), int(re.sub(r"\D", "", n))))) if numbered and found else names
        if len(names) != count and found:
            fix = f"write coords={','.join(found)[:200]!r}, in the order of the extents"
            raise RangeError(f"the names {', '.join(found)[:200]} for {count} extents", "the coordinates in order", fix)
        names = tuple(names) if found else tuple(f"i{k}" for k in range(count))
    if len(names) != count:
        raise RangeError(
            f"the coordinates {', '.join(names)[:200]} for {count} extents", "an extent for each", f"give shape= {len(names)} extents"
        )
    for name in found:
        if name not in names:
            fix = f"give it a value: values={{{name[:40]!r}: 64}}"
            what, expected = f"{name[:40]}, which has no range", f"coordinates: {', '.join(names)[:200]}"
            raise ParseError(code.text, code.names[name], what, expected, fix)
    return names
