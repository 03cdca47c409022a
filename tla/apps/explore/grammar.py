"""Expressions of layouts, read and worked out. The text is data: names come from fixed tables, nothing is evaluated.

    text       = statement { (";" | end of line) statement }
    statement  = [ name ( "=" | ":" ) ] item { "," item } | "#" name "=" attribute of Triton item = value | print
    value      = part { "o" part }                           part = term [ ":" term ], as tla.notation.text has them
    term       = leaf | "_" | name | array | call | "(" [ value { "," value } ] ")"
    array      = an XLA shape, such as f32[M,5]{1,0:T(8,128)}
    call       = name [ "[" arguments "]" ] "(" [ arguments ] ")"           MakeLayout[half, zN](100, 60, ld=112)
    arguments  = [ name "=" ] value { "," [ name "=" ] value }; of layout_of a value may be a text in quotes
    print      = what CuTe, its DSL, C++ compilers, Triton and Mosaic print of a layout or its type; of a
               TiledMMA, in several lines

A leaf is an integer, or an expression of sizes. A name that nothing has is a size that is not known. The name of a
layout is called with a coordinate. A `o` B is composition(A, B), and A o n o B, with an offset n between, a
ComposedLayout. What is spelled as in C++ or the CuTe DSL is respelled first: cpp.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import tla

from ... import xla
from ...core.arrays import INT64_MAX
from ...core.brackets import split
from ...core.composed import MAX_PARTS
from ...core.errors import ParseError, RangeError, RankError, TlaError
from ...core.int_tuple import MAX_DEPTH, IntTuple, Underscore, leaves, require_depth, shown
from ...core.ints import Leaf, is_int, leaf
from ...core.kinds import AnyLayout
from ...core.on_demand import OnDemand
from ...core.reader import write_nearest
from ...notation.grammar import LEAF, NAME, NotationReader
from ...notation.printed import PrintedReader, Unknown, is_foreign, without_table
from ...notation.text import of_peer
from ...notation.width import element_width
from ...symbolic import assuming, dim
from ...symbolic.declare import unknown
from ...xla.shapes.array_shape import BITS
from . import cpp, prints
from .operations import (
    CANONICAL,
    GPU_OPERATIONS,
    OPERATIONS,
    OTHER_NAMES,
    Call,
    Program,
    Term,
    constants,
    family,
    given_python,
    in_order,
    is_free,
    module_of,
    width_of,
    with_brackets,
)

if TYPE_CHECKING:
    from ... import gpu
    from . import index_text
else:  # most texts have no atom, and no index expression
    gpu, index_text = OnDemand("tla.gpu"), OnDemand("tla.apps.explore.index_text")

#: The fix of a name that is like none.
EXAMPLE = "write a layout, such as (8,4):(1,8), or an operation of one, such as zipped_divide((8,4):(1,8), (4,2))"
#: A longer text is refused [characters]; so are more calls, more sizes that are not known, and values of more extents.
MAX_TEXT, MAX_CALLS, MAX_SIZES, MAX_LEAVES = 4096, 64, 16, 1024
#: No operation begins later than this [seconds]: chains on open sizes take longer with each.
MAX_SECONDS = 5.0

_NAME = re.compile(NAME)
_NEXT = re.compile(r"[ \t]*(//|[-+*%^\[(]|=(?!=))?")
_ARRAY = re.compile(r"[A-Za-z0-9]+\[([^][{}]*)\](?:\{[^{}]*\})?")
_DIGITS = re.compile(r"[0-9]+")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_STATEMENT = re.compile(r"[^;\n]*")
_QUOTE = re.compile("[\"']")
_FUNCTIONS = ("ceil", "min", "max")  # of expressions of sizes


class Misread(TlaError, ValueError):
    """The reason that a text has no value, and the offset of the statement, call or character that is wrong."""

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
        error = error if isinstance(error, RangeError) else _unclosed(text) or error
        raise Misread(error, error.position if isinstance(error, ParseError) else reader.began) from error


def _unclosed(text: str) -> ParseError | None:
    """The fault in a text's brackets. It is told before any other: nothing behind a missing bracket reads right."""
    opened: list[int] = []
    for at, c in enumerate(text):
        if c in _CLOSING:
            opened.append(at)
        elif c in _CLOSING.values() and (not opened or _CLOSING[text[opened.pop()]] != c):
            fix = f"leave {c!r} out, or open its bracket"
            return ParseError(text, at, f"{c!r} closes no bracket", "a bracket that it closes", fix)
    if not 0 < len(opened) < MAX_DEPTH:
        return None
    c, closing = text[opened[-1]], _CLOSING[text[opened[-1]]]
    fix = f"close the bracket with {closing}"
    return ParseError(text, opened[-1], f"{c!r} is never closed", f"its {closing!r}", fix)


class _Sizes(dict[str, Any]):
    """The integers that names stand for; a name that is not here is asked for."""

    def __init__(self, ask: Callable[[str], Any]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, name: str) -> Leaf:
        return self._ask(name)


class _Reader(NotationReader):
    """The reader of layouts, whose tuples hold any values.

    began   where the statement or call begins that is being read or done
    term    the last term that is more than a leaf: if it is all of a value, its Python is the value's
    """

    tokens = rf"{LEAF}|_(?![A-Za-z0-9_])|{NAME}|=(?!=)|[][():,<>;#\"']"

    def __init__(self, names: dict[str, Term]) -> None:
        super().__init__("")
        self.symbols = _Sizes(self.size)
        self.names, self.bound = names, list[tuple[str, Term]]()
        self.asked, self.calls = dict[str, Any](), list[Call]()
        self.aliases = dict[str, str]()
        self.began, self.term = 0, Term(None, "")
        self.written = ""
        self.until = time.monotonic() + MAX_SECONDS

    def program(self, text: str) -> Program:
        if len(text) > MAX_TEXT:
            raise RangeError(f"a text of {len(text)} characters", f"{MAX_TEXT} at most", "take a part of it")
        self.text = cpp.respelled(without_table(text))
        self.written = text
        value = Term(None, "")
        self.go_to(0)
        while self.at < len(self.text) or not value.python:
            value = self.statement()
            if not self.at_break():
                self.unexpected("';', or the end of the line")
            while self.take(";"):
                pass
        if self.text[self.began :].rstrip("; \t\n") in self.asked:  # a name on its way to that of an operation
            self.go_to(self.began)
            self.unknown("the name", [*OPERATIONS, *self.names], "a layout, or an operation of layouts")
        return Program((*self.bound,), (*self.asked,), (), (*self.calls,), value)

    def at_break(self) -> bool:
        """Whether a statement may end here."""
        blank = self.text[len(self.text[: self.at].rstrip()) : self.at]
        return "\n" in blank or self.text[self.at : self.at + 1] in ("", ";")

    def statement(self) -> Term:
        self.began = self.at
        name, following = self.ahead()
        if following != "=":
            return self.items()
        if not is_free(name):
            self.fail(f"the name {name!r} is taken", "a name of your own", f"write my_{name} = ...")
        self.go_past_name()
        value = self.items()
        self.names[name] = value
        self.bound.append((name, value))
        return value

    def items(self) -> Term:
        """A value or a print; of several between commas a tuple, to be seen beside each other."""
        found = [self.printed() or self.expression()]
        while self.take(","):
            found.append(self.printed() or self.expression())
        return found[0] if len(found) == 1 else self.tuple_of(found)

    def ahead(self) -> tuple[str, str]:
        """The name that stands here, and the operator, bracket or '=' behind it."""
        if not self.token[:1].isalpha():
            return "", ""
        return self.token, _NEXT.match(self.text, self.after)[1] or ""  # type: ignore[index]  # it matches the empty text too

    def go_past_name(self) -> None:
        """Go past a name and the '=' behind it."""
        self.advance()
        self.advance()

    def expression(self) -> Term:
        self.term = Term(None, "")
        value = self.chain()
        if is_int(value):
            leaf(value)  # what 64 bits cannot hold ends here
        return self.term_of(value)

    def term_of(self, value: object) -> Term:
        """The term of a value that was just read."""
        is_whole = self.term.python and self.term.value is value
        return self.term if is_whole else Term(value, _python(value), self.term.width)

    def printed(self) -> Term | None:
        """Read what CuTe, its DSL or a compiler printed, to the end of the statement; None where nothing of that is."""
        if n := prints.length(self.written[self.at :]):
            text = self.written[self.at : self.at + n]
            term = self.part_from(self.at, lambda: prints.term(text, self.aliases))
            self.go_to(self.at + n)
            return term
        found = _STATEMENT.match(self.text, self.at)
        text = split(found[0])[0].rstrip() if found else ""
        if cpp.is_atom(text):
            self.go_to(self.at + len(text))
            return Term(gpu.atom(text), f"gpu.atom({text!r})")
        is_own = text.startswith("Layout(") and "IntTuple" not in text  # the page has a Layout(...) of its own
        if of_peer(text) is not None and not is_own:
            value = self.part_from(self.at, lambda: tla.parse(text))
            self.go_to(self.at + len(text))
            return Term(_limited(value), f"parse({text!r})")
        if not is_foreign(_QUOTE.split(text)[0]):  # of an index expression in quotes nothing is looked at
            return None
        sizes = dict[int, Term]()

        def ask(size: Unknown) -> Any:
            own = self.names.get(size.name)
            term = self.unknown_size(size) if own is None else own._replace(python=size.name)
            sizes[int(size.name[1:])] = term
            return term.value

        reader = self.part_from(self.at, lambda: PrintedReader(text, ask))
        value = self.part_from(self.at, reader.printed)
        self.go_to(self.at + len(text))
        names = f", symbols=[{', '.join(sizes[k].python for k in sorted(sizes))}]" if sizes else ""
        width = element_width(*reader.widths) if reader.widths else None
        return Term(_limited(value), f"parse({text!r}{names})", width)

    def unknown_size(self, size: Unknown) -> Term:
        """The stand-in for a size that a print does not tell."""
        self.require_room()
        value = self.asked.setdefault(size.name, unknown(*size))
        return Term(value, repr(value))

    def chain(self) -> Any:
        """Parts with `o` between, the last two first: a ComposedLayout with an offset between, else a composition."""
        starts, parts = [self.at], [self.part(None)]
        if not self.at_o():
            return parts[0]
        terms = [self.term_of(parts[0])]
        while self.at_o():
            if len(terms) == MAX_PARTS:
                self.unexpected(f"{MAX_PARTS} parts at most", "give a part a name")
            self.advance()
            starts.append(self.at)
            terms.append(self.term_of(self.part(None)))
        inner, end = terms.pop(), self.at
        while terms:
            outer = terms.pop()
            if terms and (is_int(outer.value) or isinstance(outer.value, IntTuple)):
                made = tla.ComposedLayout(terms.pop().value, outer.value, inner.value)
                inner = Term(made, _python(made), inner.width)
            else:
                inner = self.composed(outer, inner, self.written[starts[len(terms)] : end].rstrip())
        self.term = inner
        return inner.value

    def at_o(self) -> bool:
        """Whether an `o` between two parts stands here, and no name that gets a value."""
        return self.token == "o" and self.ahead()[1] != "="

    def composed(self, outer: Term, inner: Term, text: str) -> Term:
        """composition(outer, inner), as a call; (0,4) o coordinates is a tensor of these, as the DSL has it."""
        if isinstance(outer.value, IntTuple) and isinstance(inner.value, AnyLayout):
            printed = f"ArithTuple{outer.value} o {inner.value}"
            return Term(tla.parse(printed), f"parse('{printed}')")
        self.require_calls()
        first: Any = outer.value  # what is no layout composition refuses
        made = _limited(tla.composition(first, inner.value))
        result = Term(made, f"composition({outer.python}, {inner.python})", outer.width)
        self.calls.append(Call("composition", text, (outer, inner), result))
        return result

    # ------------------------------------------------------------------------------------------------- terms

    def int_tuple(self) -> Any:
        """A term; of these the notation knows integers and tuples of integers."""
        self.term = Term(None, "")
        name, following = self.ahead()
        if following == "[" and name not in OPERATIONS and (name in BITS or family(name)[0] is None):
            term = self.array()
        elif following in ("[", "(") and name not in _FUNCTIONS:
            term = self.call(name)
        elif name and following in ("", "=") and (found := self.named(name)):
            self.advance()
            term = found
        elif self.take("_"):
            term = Term(tla._, "_")
        elif self.token == "(" and not self.at_expression():
            term = self.tuple_of_values()
        else:
            return self.leaf()
        self.term = term
        return term.value

    def named(self, name: str) -> Term | None:
        if name in self.names:
            return self.names[name]._replace(python=name)
        if (found := constants().get(name)) is not None:
            return Term(found, f"{module_of(name)}{name}")
        found = gpu.names.entry(name)
        return None if found is None else Term(found, f"gpu.{name}")

    def size(self, name: str) -> Any:
        """The integer that a name in an expression stands for."""
        if name in self.names:
            if not is_int(value := self.names[name].value):
                self.fail(f"{name} is {shown(value)}", "the name of an integer", "use it as an argument")
            return value
        if name in OPERATIONS or name in constants():
            self.fail(f"{name} is no integer", "the name of one", "call it, or choose another name")
        self.require_room()
        return self.asked.setdefault(name, dim(name))

    def require_room(self) -> None:
        if len(self.asked) == MAX_SIZES:
            what = f"more than {MAX_SIZES} sizes that are not known"
            raise RangeError(what, "fewer", "give some a value, as in M = 4;")

    def tuple_of_values(self) -> Term:
        items = self.arguments("()")
        if any(name for name, _item in items):
            self.unexpected("a tuple of values", "only calls have named arguments")
        return self.tuple_of([item for _name, item in items])

    def tuple_of(self, parts: list[Term]) -> Term:
        values = tuple(part.value for part in parts)
        if all(is_int(x) or isinstance(x, IntTuple) for x in values):
            made = IntTuple(*values)
            return Term(made, repr(made))
        require_depth((values,))
        python = f"({', '.join(part.python for part in parts)}{',' * (len(parts) == 1)})"
        return Term(_limited(values), python, parts=tuple(parts))

    def arguments(self, brackets: str) -> list[tuple[str, Term]]:
        """Values between commas, each with its name or ""."""
        return self.listed(brackets, self.argument)

    def argument(self) -> tuple[str, Term]:
        name, following = self.ahead()
        if following != "=":
            return "", self.expression()
        self.go_past_name()
        return name, self.expression()

    def array(self) -> Term:
        """An XLA shape. Its dimensions may be names."""
        start, name = self.at, self.ahead()[0]
        if name.lower() not in BITS:
            expected = f'an element type of XLA, an operation, or an address as layout_of("{name:.40}[...]", (64, 64))'
            self.unknown("what stands before '['", [*BITS, *(n for n in OPERATIONS if n[0].isupper())], expected)
        found = _ARRAY.match(self.text, start)
        text, dimensions = (found[0], found[1]) if found else (self.text[start:], "")  # which is refused below
        used = {name: self.symbols[name] for name in _NAME.findall(dimensions) if name not in _FUNCTIONS}
        shape = self.part_from(start, lambda: xla.parse_shape(text, symbols=used or None))
        self.go_to(start + len(text))
        return Term(shape, f"xla.parse_shape({text!r}{f', symbols={used}' if used else ''})")

    def unknown(self, what: str, known: list[str], expected: str) -> NoReturn:
        name, _following = self.ahead()
        self.fail(f"{what}, {name!r:.40}, is not known", expected, write_nearest(name, known) or EXAMPLE)

    # ------------------------------------------------------------------------------------------------- calls

    def call(self, name: str) -> Term:
        if name in self.names:
            return self.at_coordinate(name)
        if family(name)[0] is not None:
            return self.of_family(name)
        start, name = self.at, OTHER_NAMES.get(name, name)
        if name not in OPERATIONS:
            self.unknown("the operation", [*OPERATIONS], "one of the operations of tla")
        operation, brackets = OPERATIONS[name], list[Term]()
        python = f"{module_of(name)}{name}"
        self.advance()
        if self.token == "[":
            brackets = [item for _name, item in self.arguments("[]")]
            operation = with_brackets(name, operation, tuple(x.value for x in brackets))
            python += f"[{', '.join(x.python for x in brackets)}]"
        if not brackets and not callable(operation):
            raise RankError(f"{name}(...)", f"{name}[...]", "put its arguments in square brackets")
        if name in GPU_OPERATIONS and isinstance(operation, (gpu.CopyAtom, gpu.MMAAtom)):
            return Term(operation, python)
        if self.token != "(":
            self.unexpected("'(' and the arguments", f"write {name}(...)")
        if name == "layout_of":
            return self.read_back(start)
        given = self.arguments("()")
        self.began = start
        self.require_calls()
        arguments, options = in_order(name, operation, given)
        try:
            value = _limited(operation(*(x.value for x in arguments), **{key: x.value for key, x in options.items()}))
        except TypeError as error:
            if isinstance(error, TlaError) or "positional argument" not in str(error):
                raise
            what = f"{name}[...] with {len(arguments)} arguments"  # what stands in brackets decides how many
            raise RankError(what, "as many as it takes", f"write {name}[...](layout)") from None
        python += f"({given_python(arguments, options)})"
        given_width = next((w for x in arguments if (w := x.element_width)), None)
        width = width_of(name, [x.value for x in brackets], given_width)
        self.calls.append(Call(name, self.written[start : self.at].rstrip(), arguments, Term(value, python, width)))
        return self.calls[-1].result

    def read_back(self, start: int) -> Term:
        """layout_of("i*ld + j", (64, 64), language="cuda"), names of integers are values; or of a table of offsets."""
        place = self.after
        given = self.listed("()", self.text_argument)
        self.began = start
        self.require_calls()
        terms, options = in_order("layout_of", tla.layout_of, given)
        quotes = index_text.QUOTED.search(self.written, place)
        place = quotes.start(2) if quotes else place
        term = self.part_from(place, lambda: index_text.layout_term(terms, options, self.names))
        _limited(term.value)
        self.calls.append(Call("layout_of", self.written[start : self.at].rstrip(), terms, term))
        return term

    def text_argument(self) -> tuple[str, Term]:
        """An argument that may be a text in quotes; what stands in these is left as it is."""
        name = self.ahead()[0] * (self.ahead()[1] == "=")
        if name:
            self.go_past_name()
        if self.token not in ("'", '"'):
            return name, self.expression()
        if not (found := index_text.QUOTED.match(self.written, self.at)):
            self.fail("a text without its end", "the quote that closes it", f"write {self.token}...{self.token}")
        self.go_to(found.end())
        return name, Term(found[2], repr(found[2]))

    def of_family(self, name: str) -> Term:
        """An atom with parameters, such as UniversalCopy[uint128]."""
        found, python = family(name)
        self.advance()
        if self.token != "[":
            self.unexpected("'[' and its parameters", f"write {name}[...]")
        given = [item for _name, item in self.arguments("[]")]
        value = with_brackets(name, found, tuple(x.value for x in given))
        width = element_width(given[0].value) if CANONICAL.fullmatch(name) else None
        return Term(value, f"{python}[{', '.join(x.python for x in given)}]", width)

    def require_calls(self) -> None:
        if len(self.calls) == MAX_CALLS:
            raise RangeError(f"more than {MAX_CALLS} calls", "fewer", "look at a part of it")
        if time.monotonic() > self.until:
            what = f"operations of more than {MAX_SECONDS:g} seconds before this one"
            raise RangeError(what, "fewer", "give sizes values, or look at a part")

    def at_coordinate(self, name: str) -> Term:
        """The offset of a named layout at a coordinate; if that has a `_`, the layout of the modes under `_`."""
        start, term = self.at, self.names[name]
        if not isinstance(term.value, AnyLayout):
            self.fail(f"{name} is {shown(term.value)}", "the name of a layout", f"write {name} with no bracket")
        self.advance()
        if self.token != "(":
            self.unexpected("'(' and a coordinate", f"write {name}(0)")
        given = [item for _name, item in self.arguments("()")]
        self.began = start
        coord, python = tuple(x.value for x in given), ", ".join(x.python for x in given)
        if any(isinstance(x, Underscore) for x in leaves(coord)):
            return term._replace(value=tla.slice_(coord, term.value), python=f"slice_(({python},), {name})", parts=())
        return Term(term.value(*coord), f"{name}({python})")


def _limited(value: object) -> Any:
    """The value, unless it has more extents than anyone looks at: texts of products of products grow without end."""
    shapes = (x.shape if isinstance(x, AnyLayout) else x for x in (value if isinstance(value, tuple) else (value,)))
    if sum(sum(1 for _ in leaves(shape)) for shape in shapes) > MAX_LEAVES:
        raise RangeError(f"a value of more than {MAX_LEAVES} extents", "fewer", "coalesce it on the way")
    return value


def _python(value: object) -> str:
    """The Python of a value. RangeError if its symbols have factors past 64 bits, which parse refuses."""
    text = str(value) if is_int(value) and not hasattr(value, "symbols") else repr(value)
    if any(int(digits) > INT64_MAX for digits in _DIGITS.findall(text)):
        raise RangeError(f"{shown(value)}", "integers that 64 bits hold", "use smaller ones")
    return text
