"""The reader of emitted functions: the text of C and its kin, or of Python, as a tree of operations.
Nothing is evaluated."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from ...core.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: An integer, a name, or (operation, operand, ...).
Tree: TypeAlias = "int | str | tuple[str, Unpack[tuple[Any, ...]]]"

#: Python's operators of integers.
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
#: The operations of two operands that are no arithmetic: with values that are true or false, or chosen.
COMPARED = frozenset(("&&", "and", "<", "<=", "==", "divides", "min", "max"))
RELATIONS = ("<", "<=", "==", "divides")
_BITS, _ARITHMETIC = (("|",), ("^",), ("&",)), (("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"))
#: More operations are refused: a tree is as deep as its longest chain.
MAX_OPERATIONS = 300
#: A function that C's text has beside it: the smaller or the larger of two integers.
_CHOICE = re.compile(r"\b(\w+)\([\w: ]+ a, [\w: ]+ b\) \{\s+return a < b \? (a : b|b : a);")


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
    """The grammar of an expression of integers, as Python and tla's notation have it; comparisons in it,
    and their conjunctions.

    levels     the operations of two operands, those that bind least first
    relations  the comparisons among them: a chain of these is refused
    choices    functions of two integers, by name: min or max
    """

    tokens: ClassVar[str] = r"[A-Za-z_]\w*|\d+|<<|>>|<=|==|//|[-+*/%&^|(){},;:=<]"
    levels: ClassVar[tuple[tuple[str, ...], ...]] = (("and",), RELATIONS, *_BITS, *_ARITHMETIC)
    noun, example, max_depth = "an emitted function", "give the text that emit wrote", 60
    operations = 0
    choices: Mapping[str, str] = {"min": "min", "max": "max"}
    relations: ClassVar[tuple[str, ...]] = RELATIONS

    def expression(self, least: int = 0) -> Tree:
        """A chain of operations that bind as the level `least` does, or more."""
        left = self.operand()
        while (level := self.level()) >= least:
            left = (self.operation(), left, self.expression(level + 1))
            if left[0] in self.relations and self.token in self.relations:
                self.unexpected("one comparison")
        return left

    def operation(self) -> str:
        self.count()
        return self.next()

    def count(self) -> None:
        """Count one operation more, if that may be."""
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            self.fail(f"more than {MAX_OPERATIONS} operations", "the function of one layout", "give a simpler one")

    def level(self) -> int:
        """The level of the next operation; -1 if no operation follows."""
        return next((k for k, level in enumerate(self.levels) if self.token in level), -1)

    def operand(self) -> Tree:
        if self.token == "-":
            return (self.operation(), 0, self.operand())
        if self.token == "(":
            return self.enclosed("()", self.expression)
        if self.token[:1].isdigit():
            number = self.integer("an integer")
            if self.token in ("LL", "L", "ll", "l", "u", "ull"):
                self.advance()
            return number
        name = self.name()
        if name in ("true", "True"):
            return ("==", 0, 0)
        if name in self.choices:
            return (self.choices[name], *self.enclosed("()", self.pair))
        if name == "ceil":  # of a quotient, which the notation writes a/b: it is -((-a)//b)
            a, b = self.enclosed("()", self.quotient)
            return ("-", 0, ("//", ("-", 0, a), b))
        return name

    def pair(self) -> tuple[Tree, Tree]:
        first = self.expression()
        self.expect(",")
        return first, self.expression()

    def quotient(self) -> tuple[Tree, Tree]:
        """The dividend and the divisor of ceil(a/b): a product or a factor, and a factor."""
        first = self.operand()
        while self.token in ("*", "//", "%"):
            first = (self.operation(), first, self.operand())
        self.expect("/")
        return first, self.operand()

    def name(self) -> str:
        if not (self.token[:1].isalpha() or self.token[:1] == "_"):
            self.unexpected("a name or an integer")
        return self.next()


class Requirements(Expression):
    """The conditions of a comment: `requires 16 divides M, 1 <= M`."""

    def conditions(self) -> Iterator[tuple[str, Tree, Tree]]:
        while self.token:
            match self.expression():
                case ("<=" | "divides" as relation, left, right):
                    yield relation, left, right
                case _:
                    self.unexpected("<= or divides")
            self.take(",")


class CFunction(Expression):
    """The grammar of a function in C, C++, CUDA, HIP or OpenCL."""

    blank = r"(?:[ \t\r\n]|//[^\n]*\n|#[^\n]*\n)*"
    tokens = r"[A-Za-z_]\w*(?:::\w+)*|\d+|<<|>>|<=|==|&&|/(?!/)|[-+*%&^|(){},;:=<?]"
    levels: ClassVar[tuple[tuple[str, ...], ...]] = (("&&",), *_BITS, ("==",), ("<", "<="), *_ARITHMETIC)
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
        if len({*parameters}) < len(parameters):
            self.fail("two parameters of one name", "each name once", "give it another name")
        self.expect(self.body)
        steps: list[tuple[str, Tree]] = []
        while not self.take("return"):
            if self.take("("):  # (void)j; of a parameter that is not used
                self.expect("void")
                self.expect(")")
                self.name()
                self.expect(self.ends)
                continue
            step = self.last_word("=")
            self.require_new(step, (*parameters, *dict(steps)))
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

    def require_new(self, step: str, names: Sequence[str]) -> None:
        """Refuse a step with the name of a parameter or of a step before it."""
        if step in names:
            self.fail(f"{step:.40} has two values", "each name once", "give it another name")

    def last_word(self, *ends: str) -> str:
        """The last name before one of these tokens: what stands before it is its type."""
        word = self.name()
        while self.token not in ends:
            word = self.name()
        return word


class PythonFunction(CFunction):
    """The grammar of a function in Python."""

    blank, tokens = r"(?:[ \t\r\n]|#[^\n]*\n)*", Expression.tokens
    body, ends, levels = ":", "", Expression.levels


def read_function(text: str, name: str, python: bool) -> Function:
    """The function of a text, with the conditions that its comment requires.

    >>> from tla import parse
    >>> from tla.codegen import emit
    >>> f = read_function(emit(parse("((_3,_5),(_4,_6)):((_24,_7),(_1,_4))"), "cuda"), "offset", python=False)
    >>> print(f.parameters, f.value)
    ('i', 'j') ('-', ('+', ('*', 'i', 24), 'j'), ('*', ('/', 'i', 3), 65))

    Raises ParseError for anything else: calls other than of min and max, branches.
    """
    mark = "# " if python else "// "
    said = [line.removeprefix(f"{mark}requires ") for line in text.splitlines() if line.startswith(f"{mark}requires ")]
    requires = tuple(c for line in said for c in Requirements(line).conditions())
    reader = (PythonFunction if python else CFunction)(text)
    if not python:
        reader.choices = choices_of(text)
    return reader.function(name)._replace(requires=requires)


def choices_of(text: str) -> dict[str, str]:
    """The functions of C's text that choose one of two integers: min or max, by their names."""
    return {m[1]: "min" if m[2] == "a : b" else "max" for m in _CHOICE.finditer(text)}


def read_expression(text: str) -> Tree:
    """An expression in Python's words, whole."""
    reader = Expression(text)
    return reader.whole(reader.expression)
