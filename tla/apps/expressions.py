"""Expressions on the command line: layouts, XLA arrays and coordinates, read as `tla explore` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import xla
from ..core.errors import LeafTypeError, ParseError, RankError, Unproven
from ..core.int_tuple import IntTuple
from ..core.ints import IntTree
from ..core.on_demand import OnDemand
from ..notation.text import parse

if TYPE_CHECKING:
    from .explore.operations import Program

_grammar, _operations = OnDemand("tla.apps.explore.grammar"), OnDemand("tla.apps.explore.operations")


def read(text: str, names: dict[str, Any] | None = None) -> Program:
    """The program of a text: its statements, and their value. names: what stands for names that it has not set."""
    program: Program = _grammar.read(text, names)
    return program


def closed(text: str) -> Program:
    """The program of a text all of whose sizes are known; Unproven where one is open."""
    program = read(text)
    if program.sizes:
        what, given = f"the sizes of {text}: {', '.join(program.sizes)}", "".join(f"{n} = 64; " for n in program.sizes)
        raise Unproven(what, "numbers", f"put them before it: '{given}{text}'")
    return program


def layouts_in(text: str, program: Program) -> tuple[Any, ...]:
    """The layouts of a program, and XLA arrays: two of a relayout, all of a tuple; LeafTypeError where there is none."""
    found: tuple[Any, ...] = _operations.drawn(program.value.value)
    if found:
        return found
    fix = "write (4,2):(1,4), or f32[4,2], or MakeLayout[half, zN](100, 60)"
    raise LeafTypeError(f"{text} is no layout", "shape:stride, an XLA shape, or an expression of these", fix)


def only(text: str, program: Program) -> Any:
    """The one layout that an expression says; RankError where it says more."""
    if len(found := layouts_in(text, program)) != 1:
        raise RankError(f"{text}: {len(found)} layouts", "one", "give one of them; tla draw takes several")
    return found[0]


def layout_of(subject: object) -> Any:
    """The layout of an XLA array; any other is its own."""
    return xla.lower(subject) if isinstance(subject, xla.ArrayShape) else subject


def read_coord(text: str) -> IntTree:
    """A coordinate, in parentheses or without: `1,5` and `(1,5)` are the same."""
    try:
        inner = parse(f"({text})")
    except ParseError as error:
        raise ParseError(text, min(max(error.position - 1, 0), len(text)), *error.args[2:]) from None
    if not isinstance(inner, IntTuple):
        raise LeafTypeError(
            f"{text} is no coordinate", "an integer, or integers between commas", "write it as in 1,5 or (1,0),5"
        )
    return inner[0] if len(inner) == 1 else inner
