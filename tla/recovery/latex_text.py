r"""The grammar of a formula in LaTeX: sums, products, floors and ceilings of fractions, remainders, xor; equations with
names before it.

What a reader of the page may take in two ways is refused: a remainder or an xor beside other
operations without brackets.
"""

from __future__ import annotations

import re

from ..codegen.proofs.reading import Tree
from .reading import Address, Call, Code, Op

_BEGIN, _END = re.compile(r"\\begin\{\w{1,20}\*?\}|\\\[|\$\$?"), re.compile(r"\\end\{\w{1,20}\*?\}|\\\]|\$\$?")
_WORD = re.compile(r"\\(?:mathrm|mathit|mathtt|mathsf|text|operatorname)\{((?:\w|\\_)+)\}|([A-Za-z])")
_INDEX = re.compile(r"_(?:\{(?:\\math[a-z]{2}\{(\w+)\}|(\w+))\}|(\w))")
_ROUNDED = {r"\lfloor": (r"\rfloor", "//"), r"\lceil": (r"\rceil", "ceildiv")}
_SPACE = r"\\(?:left|right|quad|qquad|displaystyle|[bB]igg?[lr]?)(?![A-Za-z])"
_PRODUCT = (r"\cdot", r"\times", "*")
_FACTORS = ("(", "{", r"\frac", r"\min", r"\max", *_ROUNDED)


class LatexFormula(Address):
    """The grammar of a formula, or of equations of which the last is the offset."""

    tokens = rf"\\\\|(?!{_SPACE})\\[A-Za-z]+|[A-Za-z]|[0-9]+|[-+*/=_^(){{}},]"
    blank = rf"(?:[ \t\r\n\f\v~&]|\\[,;:! ]|{_SPACE}|%[^\n]*(?:\n|\Z))*"
    noun, example = "a formula", r"write one such as f(i, j) = 64 i + \left\lfloor \frac{j}{8} \right\rfloor"

    def code(self) -> Code:
        """The whole text."""
        steps: list[tuple[str, Tree | Call]] = []
        parameters: tuple[str, ...] = ()
        begun = self.past(_BEGIN)
        while True:
            name, parameters = self.head()
            value = self.expression()
            if not self.take(r"\\") or _END.match(self.text, self.at):
                break
            if not name or parameters:
                self.unexpected(
                    "the last line: the lines before it name a value", "write a = ... for what is used below"
                )
            steps.append((name, value))
        if begun:
            self.past(_END)
        self.end()
        names = {n: at for n, at in self.seen.items() if n not in dict(steps)}
        return Code(
            self.text, self.written, tuple(steps), value, parameters, {**dict.fromkeys(parameters, 0), **names}, {}
        )

    def past(self, form: re.Pattern[str]) -> bool:
        if found := form.match(self.text, self.at):
            self.go_to(found.end())
        return bool(found)

    def head(self) -> tuple[str, tuple[str, ...]]:
        r"""`f(i, j) =` or `a =` in front of a value: the name, and the parameters."""
        line = self.text.find("\\\\", self.at)
        if "=" not in self.text[self.at : line if line >= 0 else len(self.text)]:
            return "", ()
        name = self.name()
        parameters = tuple(self.listed("()", self.name)) if self.token == "(" else ()
        self.expect("=")
        return name, parameters

    def name(self) -> str:
        r"""A letter, or a word set upright, with an index: \mathrm{row}_{i} is row_i."""
        found = _WORD.match(self.text, self.at)
        if not found:
            self.unexpected("a name", r"write a name of several letters as \mathrm{name}")
        name = (found[1] or found[2]).replace("\\_", "_")
        end = found.end()
        if index := _INDEX.match(self.text, end):
            name, end = f"{name}_{index[1] or index[2] or index[3]}", index.end()
        self.go_to(end)
        return name

    # -------------------------------------------------------------------------------------------- expressions

    def expression(self, least: int = 0) -> Tree:
        """A sum; or a remainder or an xor, beside which no other operation stands without brackets."""
        at = self.at
        negative = self.token == "-"
        if negative:
            self.operation()
        value, factors = self.product()
        if negative:
            value = self.tree(Op("neg", at), value)
        if self.token == r"\bmod":
            self.require_alone(not negative and factors == 1)
            value, factors = self.tree(self.named("%"), value, self.inside(self.factor)), 1
            self.require_alone(not self.operates())
        while self.token == r"\oplus":
            self.require_alone(not negative)
            value = self.tree(self.named("^"), value, self.product()[0])
            self.require_alone(self.token == r"\oplus" or not self.operates())
        while self.token in ("+", "-"):
            value = self.tree(Op(self.token, self.at), value, self.next_product())
            self.require_alone(self.token in ("+", "-") or not self.operates())
        return value

    def next_product(self) -> Tree:
        self.operation()
        return self.product()[0]

    def operates(self) -> bool:
        """Whether an operation or another factor stands here."""
        return self.token in ("+", "-", "/", r"\bmod", r"\oplus", *_PRODUCT) or self.begins_factor()

    def require_alone(self, alone: bool) -> None:
        if not alone:
            what = f"{self.token} beside another operation"
            self.fail(what, "brackets around what is done first", r"write \left(i \bmod 8\right)")

    def begins_factor(self) -> bool:
        return self.token in _FACTORS or self.token[:1].isdigit() or bool(_WORD.match(self.text, self.at))

    def product(self) -> tuple[Tree, int]:
        """Factors beside each other, with a sign or without, and how many they are."""
        value, count = self.inside(self.factor), 1
        while self.token in _PRODUCT or self.begins_factor():
            if self.token in _PRODUCT:
                self.advance()
            self.count()
            value, count = self.tree(Op("*", self.at), value, self.inside(self.factor)), count + 1
        if self.token == "/":
            value, count = self.tree(self.named("/"), value, self.inside(self.factor)), 2
            self.require_alone(self.token not in _PRODUCT and not self.begins_factor())
        return value, count

    def factor(self) -> Tree:
        at, token = self.at, self.token
        if token[:1].isdigit():
            return self.number()
        if token in ("(", "{"):
            return self.enclosed("()" if token == "(" else "{}", self.expression)
        if token in _ROUNDED:
            self.advance()
            close, op = _ROUNDED[token]
            value = self.over_one(Op(op, at), self.inside(self.expression))
            self.expect(close)
            return value
        if token == r"\frac":
            self.operation()
            return self.tree(Op("/", at), self.enclosed("{}", self.expression), self.enclosed("{}", self.expression))
        if token in (r"\min", r"\max"):
            self.operation()
            first, *others = self.listed("()", self.expression, empty=False)
            for other in others:
                first = self.tree(Op(token[1:], at), first, other)
            return first
        return self.free(self.name(), at)
