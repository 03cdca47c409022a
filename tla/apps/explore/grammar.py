"""Expressions of layouts, read and worked out. The text is data: names are looked up in fixed tables, and nothing is evaluated.

    text       = statement { (";" | end of line) statement }
    statement  = [ name "=" ] value
    value      = part { "o" part "o" part }                  part = term [ ":" term ], as tla.notation.text has them
    term       = leaf | "_" | name | array | call | "(" [ value { "," value } ] ")"
    array      = an XLA shape, such as f32[M,5]{1,0:T(8,128)}
    call       = name [ "[" arguments "]" ] "(" [ arguments ] ")"           MakeLayout[half, zN](100, 60, ld=112)
    arguments  = [ name "=" ] value { "," [ name "=" ] value }

A leaf is an integer, or an expression of sizes. A name that nothing has is a size that is not known.
"""

from __future__ import annotations

import difflib
import inspect
import keyword
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tla

from ... import ascend, xla
from ...core.errors import ParseError, RangeError, RankError, TlaError
from ...core.int_tuple import MAX_DEPTH, AnyLayout, IntTuple, leaves, require_depth, shown
from ...core.ints import INT64_MAX, is_int, known, leaf
from ...notation.text import Reader
from ...symbolic import assuming, dim
from ...xla.array_shape import BITS

#: A longer text is refused [characters]; so are more calls, more sizes that are not known, and values of more extents.
MAX_TEXT, MAX_CALLS, MAX_SIZES, MAX_LEAVES = 4096, 64, 16, 1024
#: No operation begins later than this [seconds]: chains on open sizes take longer with each.
MAX_SECONDS = 5.0

_OPERATIONS = """Int MakeLayout MakeOrderedLayout MakeLayoutLike MakeIdentityLayout MakeLayoutFmap MakeLayoutL0C MakeLayoutTile
GetTileLayout MakeBatchedLayout Swizzle composition compose coalesce complement filter filter_zeros left_inverse
right_inverse logical_divide zipped_divide tiled_divide flat_divide logical_product zipped_product tiled_product
flat_product blocked_product raked_product tile_to_shape upcast downcast recast_layout flatten group select take size
cosize max_common_layout max_common_vector nullspace is_injective is_bijective is_compact same_map"""
_XLA_OPERATIONS = "lower relayout is_bitcast byte_size padded_element_count"
#: What may be called, by name.
OPERATIONS: dict[str, Callable[..., Any]] = {name: getattr(tla, name) for name in _OPERATIONS.split()}
OPERATIONS |= {name: getattr(xla, name) for name in _XLA_OPERATIONS.split()}
#: What stands for itself: element types and tags, and the orders of strides.
CONSTANTS: dict[str, Any] = {name: x for name, x in vars(ascend).items() if isinstance(x, (ascend.Element, ascend.Tag))}
CONSTANTS |= {"LayoutLeft": tla.LayoutLeft, "LayoutRight": tla.LayoutRight}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NEXT = re.compile(r"[ \t]*(//|[-+*%^\[(]|=(?!=))?")
_UNDERSCORE = re.compile(r"_(?!-?[0-9]|[A-Za-z_])")  # _-4 is a static integer
_ARRAY = re.compile(r"[A-Za-z0-9]+\[([^][{}]*)\](?:\{[^{}]*\})?")
_DIGITS = re.compile(r"[0-9]+")
_FUNCTIONS = ("ceil", "min", "max")  # of expressions of sizes


class Term(NamedTuple):
    """A value, and the Python that gives it.

    bits    the width of an element of it, where that was said
    parts   the terms of a tuple
    """

    value: Any
    python: str
    bits: int | None = None
    parts: tuple[Term, ...] = ()


class Call(NamedTuple):
    """An operation that was done: how it was written, its arguments by place, and what it gave."""

    name: str
    text: str
    arguments: tuple[Term, ...]
    result: Term


class Program(NamedTuple):
    """The value of a text.

    names     what it binds to each name, in order
    sizes     the names that it gives no value
    assumed   what its operations need of these, as text
    calls     the operations, as they were done
    value     that of the last statement
    """

    names: tuple[tuple[str, Term], ...]
    sizes: tuple[str, ...]
    assumed: tuple[str, ...]
    calls: tuple[Call, ...]
    value: Term


class Misread(TlaError, ValueError):
    """The reason that a text has no value, and the place in it: the offset of the statement or call that is wrong, or of the character."""

    def __init__(self, error: TlaError, position: int) -> None:
        super().__init__(*error.reason)
        self.args = error, position
        self.position = position


def read(text: str, names: dict[str, Any] | None = None) -> Program:
    """The value of a text of this grammar.

    names    values that it may use
    Raises   Misread, which says where too

    >>> program = read("A = (_8,_6):(_1,_8); logical_divide(A, (_4, _2))")
    >>> print(program.value.value)
    ((_4,_2),(_2,_3)):((_1,_4),(_8,_16))
    >>> print(program.value.python, program.calls[0].name, program.names[0][0])
    logical_divide(A, parse('(_4,_2)')) logical_divide A
    >>> print(read("MakeLayout[half, zN](M, 60)").sizes)
    ('M',)
    """
    reader = _Reader({name: Term(value, name) for name, value in (names or {}).items()})
    try:
        with assuming() as conditions:
            program = reader.program(text)
        return program._replace(assumed=tuple(map(str, conditions)))
    except TlaError as error:
        raise Misread(error, error.position if isinstance(error, ParseError) else reader.began) from error


class _Sizes(dict[str, Any]):
    """The integers that names stand for; a name that is not here is asked for."""

    def __init__(self, ask: Callable[[str], Any]) -> None:
        super().__init__()
        self._ask = ask

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return self._ask(name)


class _Reader(Reader):
    """The reader of layouts, whose tuples hold any values.

    began   where the statement or call begins that is being read or done
    term    the last term that is more than a leaf: if it is all of a value, its Python is the value's
    """

    def __init__(self, names: dict[str, Term]) -> None:
        super().__init__("", {})
        self.symbols = _Sizes(self.size)
        self.names, self.bound = names, list[tuple[str, Term]]()
        self.asked, self.calls = dict[str, Any](), list[Call]()
        self.began, self.depth, self.term = 0, 0, Term(None, "")
        self.until = time.monotonic() + MAX_SECONDS

    def program(self, text: str) -> Program:
        if len(text) > MAX_TEXT:
            raise RangeError(f"a text of {len(text)} characters", f"{MAX_TEXT} at most", "take a part of it")
        self.text = text
        value = Term(None, "")
        self.skip_blank()
        while self.at < len(text) or not value.python:
            value = self.statement()
            if not self.at_break():
                raise self.unexpected("';', or the end of the line", "")
            while self.take(";"):
                pass
        return Program((*self.bound,), (*self.asked,), (), (*self.calls,), value)

    def at_break(self) -> bool:
        """Whether a statement may end here."""
        blank = self.text[len(self.text[: self.at].rstrip()) : self.at]
        return "\n" in blank or self.text[self.at : self.at + 1] in ("", ";")

    def statement(self) -> Term:
        self.began = self.at
        name, following = self.ahead()
        if following != "=":
            return self.expression()
        if name in CONSTANTS or name in ("o", "Sw", "print") or hasattr(tla, name) or keyword.iskeyword(name):
            raise ParseError(self.text, self.at, f"the name {name!r} is taken", "a name of your own", f"write my_{name} = ...")
        self.take(name)
        self.take("=")
        value = self.expression()
        self.names[name] = value
        self.bound.append((name, value))
        return value

    def ahead(self) -> tuple[str, str]:
        """The name that stands here, and the operator, bracket or '=' behind it."""
        found = _NAME.match(self.text, self.at)
        following = _NEXT.match(self.text, found.end()) if found else None
        return (found[0], following[1] or "") if found and following else ("", "")

    def expression(self) -> Term:
        self.term = Term(None, "")
        value = self.value()
        if is_int(value):
            leaf(value)  # what 64 bits cannot hold ends here
        return self.term if self.term.python and self.term.value is value else Term(value, _python(value), self.term.bits)

    # ------------------------------------------------------------------------------------------------- terms

    def int_tuple(self) -> Any:
        """A term; of these the notation knows integers and tuples of integers."""
        self.term = Term(None, "")
        name, following = self.ahead()
        if following == "[" and name not in OPERATIONS:
            term = self.array()
        elif following in ("[", "(") and name not in _FUNCTIONS:
            term = self.call(name)
        elif name and following in ("", "=") and (found := self.named(name)):
            self.take(name)
            term = found
        elif _UNDERSCORE.match(self.text, self.at):
            self.take("_")
            term = Term(tla._, "_")
        elif not self.at_expression() and self.take("("):
            term = self.several()
        else:
            return self.leaf()
        self.term = term
        return term.value

    def named(self, name: str) -> Term | None:
        if name in self.names:
            return self.names[name]._replace(python=name)
        return Term(CONSTANTS[name], name if name.startswith("Layout") else f"ascend.{name}") if name in CONSTANTS else None

    def size(self, name: str) -> Any:
        """The integer that a name in an expression stands for."""
        if name in self.names:
            if not is_int(value := self.names[name].value):
                raise ParseError(self.text, self.at, f"{name} is {shown(value)}", "the name of an integer", "use it as an argument")
            return value
        if name in OPERATIONS or name in CONSTANTS:
            raise ParseError(self.text, self.at, f"{name} is no integer", "the name of one", "call it, or choose another name")
        if len(self.asked) == MAX_SIZES:
            raise RangeError(f"more than {MAX_SIZES} sizes that are not known", "fewer", f"give some a value, as in {name} = 4;")
        return self.asked.setdefault(name, dim(name))

    def several(self) -> Term:
        items = [*self.arguments(")")]
        if any(name for name, _item in items):
            raise self.unexpected("a tuple of values", "only calls have named arguments")
        values = tuple(item.value for _name, item in items)
        if all(is_int(x) or isinstance(x, IntTuple) for x in values):
            made = IntTuple(*values)
            return Term(made, repr(made))
        require_depth((values,))
        parts = tuple(item for _name, item in items)
        return Term(_limited(values), f"({', '.join(item.python for item in parts)}{',' * (len(parts) == 1)})", None, parts)

    def arguments(self, end: str) -> Iterator[tuple[str, Term]]:
        """Values between commas, each with its name or "", up to the bracket that ends them."""
        if self.depth == MAX_DEPTH:
            raise ParseError(self.text, self.at, f"brackets {MAX_DEPTH} deep", "an expression", "give a part of it a name")
        self.depth += 1
        more = not self.take(end)
        while more:
            name, following = self.ahead()
            if following == "=":
                self.take(name)
                self.take("=")
            yield name if following == "=" else "", self.expression()
            more = self.take(",")
            if not more and not self.take(end):
                raise self.unexpected(f"',' or {end!r}", f"close the bracket with {end}")
        self.depth -= 1

    def array(self) -> Term:
        """An XLA shape. Its dimensions may be names."""
        start, name = self.at, self.ahead()[0]
        if name.lower() not in BITS:
            raise self.unknown("what stands before '['", [*OPERATIONS, *BITS], "an element type of XLA, or an operation")
        found = _ARRAY.match(self.text, start)
        text, dimensions = (found[0], found[1]) if found else (self.text[start:], "")  # which is refused below
        used = {name: self.symbols[name] for name in _NAME.findall(dimensions) if name not in _FUNCTIONS}
        try:
            shape = xla.parse_shape(text, symbols=used or None)
        except ParseError as error:
            raise ParseError(self.text, start + error.position, *error.args[2:]) from None
        self.at = start + len(text)
        self.skip_blank()
        return Term(shape, f"xla.parse_shape({text!r}{f', symbols={used}' if used else ''})", getattr(shape, "bits", None))

    def unknown(self, what: str, known: list[str], expected: str) -> ParseError:
        name, _following = self.ahead()
        close = difflib.get_close_matches(name, known, 1)
        fix = f"write {close[0]}" if close else "docs/explore.md lists them"
        return ParseError(self.text, self.at, f"{what}, {name!r:.40}, is not known", expected, fix)

    # ------------------------------------------------------------------------------------------------- calls

    def call(self, name: str) -> Term:
        if name not in OPERATIONS:
            raise self.unknown("the operation", [*OPERATIONS], "one of the operations of tla")
        start, operation, brackets = self.at, OPERATIONS[name], list[Term]()
        python = f"xla.{name}" if name in _XLA_OPERATIONS.split() else name
        self.take(name)
        if self.take("["):
            brackets = [item for _name, item in self.arguments("]")]
            operation = _with_brackets(name, operation, tuple(x.value for x in brackets))
            python += f"[{', '.join(x.python for x in brackets)}]"
        if not self.take("("):
            raise self.unexpected("'(' and the arguments", f"write {name}(...)")
        given = [*self.arguments(")")]
        self.began = start
        if len(self.calls) == MAX_CALLS:
            raise RangeError(f"more than {MAX_CALLS} calls", "fewer", "look at a part of it")
        if time.monotonic() > self.until:
            raise RangeError(
                f"operations of more than {MAX_SECONDS:g} seconds before this one", "fewer", "give sizes values, or look at a part"
            )
        arguments, options = _in_order(name, operation, given)
        value = _limited(operation(*(x.value for x in arguments), **{key: x.value for key, x in options.items()}))
        python += f"({', '.join([*(x.python for x in arguments), *(f'{key}={x.python}' for key, x in options.items())])})"
        bits = _bits(name, [x.value for x in brackets], next((x.bits for x in arguments if x.bits), None))
        self.calls.append(Call(name, self.text[start : self.at].rstrip(), arguments, Term(value, python, bits)))
        return self.calls[-1].result


def _with_brackets(name: str, operation: object, brackets: tuple[Any, ...]) -> Any:
    if not hasattr(operation, "__getitem__"):
        raise RankError(f"{name}[...]", f"{name}(...)", "leave the square brackets out")
    return operation[brackets if len(brackets) != 1 else brackets[0]]


def _bits(name: str, brackets: list[Any], given: int | None) -> int | None:
    """The width of an element of what a call gives: as its brackets say, or as its arguments have it."""
    sizes = [x.bits if isinstance(x, ascend.Element) else known(x) if is_int(x) else None for x in brackets]
    if name.startswith("Make") and sizes:
        return sizes[0] or given
    if name == "recast_layout":
        return sizes[-1]
    n = sizes[0] if sizes else None
    return {"upcast": given * n, "downcast": given // n or None}.get(name, given) if given and n else given


def _in_order(name: str, operation: Any, given: list[tuple[str, Term]]) -> tuple[tuple[Term, ...], dict[str, Term]]:
    """The arguments by place, those with names too where they have one, and the others by name."""
    signature = inspect.signature(operation)
    try:
        bound = signature.bind(*(x for key, x in given if not key), **{key: x for key, x in given if key})
    except TypeError as error:
        usage = f"{name}({', '.join(map(str, signature.parameters.values()))})".replace("'", "")
        raise RankError(f"{name} with {len(given)} arguments: {error}", usage, "give these arguments") from None
    return bound.args, bound.kwargs


def _limited(value: object) -> Any:
    """The value, unless it has more extents than anyone looks at: texts of products of products grow without end."""
    shapes = (x.shape if isinstance(x, AnyLayout) else x for x in (value if isinstance(value, tuple) else (value,)))
    if sum(sum(1 for _ in leaves(shape)) for shape in shapes) > MAX_LEAVES:
        raise RangeError(f"a value of more than {MAX_LEAVES} extents", "fewer", "coalesce it on the way")
    return value


def _python(value: object) -> str:
    """The Python of a value. RangeError where its symbols have factors that 64 bits do not hold: parse refuses these."""
    text = str(value) if is_int(value) and not hasattr(value, "symbols") else repr(value)
    if any(int(digits) > INT64_MAX for digits in _DIGITS.findall(text)):
        raise RangeError(f"{shown(value)}", "integers that 64 bits hold", "use smaller ones")
    return text
