"""The reader of emitted functions: the text of C and its kin, or of Python, as a tree of operations. Nothing is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple, TypeAlias

from ...core.reader import Reader

#: An integer, a name, or (operation, operand, ...).
Tree: TypeAlias = "int | str | tuple[str, ...] | tuple[str, Tree] | tuple[str, Tree, Tree]"

#: The operations of two operands, those that bind least first, in both languages.
_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"))


class Function(NamedTuple):
    """A function of integers that is one value.

    parameters  its names, in order
    steps       what is computed on the way, by name
    value       what it returns
    requires    conditions of its comment: (relation, left, right), with <= and "divides"
    """

    parameters: tuple[str, ...]
    steps: tuple[tuple[str, Tree], ...]
    value: Tree
    requires: tuple[tuple[str, Tree, Tree], ...] = ()


class Expression(Reader):
    """The grammar of an expression of integers, as both languages have it."""

    tokens: ClassVar[str] = r"[A-Za-z_]\w*|\d+|<<|>>|<=|//|[-+*/%&^|(){},;:=<]"
    noun, example, max_depth = "an emitted function", "give the text that emit wrote", 200

    def expression(self, level: int = 0) -> Tree:
        """A chain of operations of a level, to the left."""
        if level == len(_LEVELS):
            return self.operand()
        left = self.expression(level + 1)
        while self.token in _LEVELS[level]:
            left = (self.next(), left, self.expression(level + 1))
        return left

    def operand(self) -> Tree:
        if self.take("-"):
            return ("-", 0, self.operand())
        if self.token == "(":
            return self.enclosed("()", self.expression)
        if self.token[:1].isdigit():
            number = self.integer("an integer")
            if self.token in ("LL", "L", "ll", "l", "u", "ull"):
                self.advance()
            return number
        return self.name()

    def name(self) -> str:
        if not (self.token[:1].isalpha() or self.token[:1] == "_"):
            self.unexpected("a name or an integer")
        return self.next()


class Requirements(Expression):
    """The conditions of a comment: `requires 16 divides M, 1 <= M`."""

    def conditions(self) -> Iterator[tuple[str, Tree, Tree]]:
        while self.token:
            left, relation = self.expression(), self.next()
            if relation not in ("<=", "divides"):
                self.unexpected("<= or divides")
            yield relation, left, self.expression()
            self.take(",")


class CFunction(Expression):
    """The grammar of a function in C, C++, CUDA, HIP or OpenCL."""

    blank = r"(?:[ \t\r\n]|//[^\n]*\n|#[^\n]*\n)*"
    tokens = r"[A-Za-z_]\w*(?:::\w+)*|\d+|<<|>>|<=|/(?!/)|[-+*%&^|(){},;:=<]"
    body, ends = "{", ";"

    def function(self, name: str) -> Function:
        """The function of this name: what stands before it is passed over."""
        while self.token not in ("", name):
            self.advance()
        self.expect(name)
        self.expect("(")
        parameters = []
        while self.token != ")":
            parameters.append(self.last_word(",", ")"))
            self.take(",")
        self.expect(")")
        self.expect(self.body)
        steps = []
        while not self.take("return"):
            step = self.last_word("=")
            self.expect("=")
            steps.append((step, self.expression()))
            self.take(self.ends)
        value = self.expression()
        if self.ends:
            self.expect(self.ends)
            self.expect("}")
        else:
            self.end()
        return Function(tuple(parameters), tuple(steps), value)

    def last_word(self, *ends: str) -> str:
        """The last name before one of these tokens: what stands before it is its type."""
        word = self.name()
        while self.token not in ends:
            word = self.name()
        return word


class PythonFunction(CFunction):
    """The grammar of a function in Python."""

    blank, tokens = r"(?:[ \t\r\n]|#[^\n]*\n)*", Expression.tokens
    body, ends = ":", ""


def read_function(text: str, name: str, python: bool) -> Function:
    """The function of a text, with the conditions that its comment requires.

    >>> from tla import parse
    >>> from tla.codegen import emit
    >>> f = read_function(emit(parse("((_3,_5),(_4,_6)):((_24,_7),(_1,_4))"), "cuda"), "offset", python=False)
    >>> print(f.parameters, f.value)
    ('i', 'j') ('-', ('+', ('*', 'i', 24), 'j'), ('*', ('/', 'i', 3), 65))

    Raises ParseError for anything else: calls, comparisons, branches.
    """
    mark = "# " if python else "// "
    said = [line.removeprefix(f"{mark}requires ") for line in text.splitlines() if line.startswith(f"{mark}requires ")]
    requires = tuple(c for line in said for c in Requirements(line).conditions())
    return (PythonFunction if python else CFunction)(text).function(name)._replace(requires=requires)


def read_expression(text: str) -> Tree:
    """An expression in Python's words, whole."""
    reader = Expression(text)
    return reader.whole(reader.expression)
