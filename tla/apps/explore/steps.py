"""The steps of an operation: its law, as a text of the same grammar, worked out on what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import tla

from ... import viz, xla
from ...core.errors import TlaError
from ...core.int_tuple import Underscore, leaves, shape_of, shown
from ...core.ints import IntTupleLike, is_int, known
from ...core.layout import Layout
from ..terminal import summary
from .figures import IN_MEMORY, KEEPS_INDICES
from .grammar import Misread, read
from .operations import OPERATIONS, Call, Term

#: With more steps those of laws are left out; of a picture so many coordinates are drawn.
MAX_STEPS, LIMIT = 48, 256

#: What an operation of layouts A and B is, of those that come before it.
LAWS = {
    "composition": "",
    "logical_divide": "rest = complement(B, size(A)); composition(A, MakeLayout(B, rest))",
    "logical_product": "m = size(A); n = cosize(B); rest = complement(A, m * n); MakeLayout(A, composition(rest, B))",
    "zipped_divide": "logical_divide(A, B)",
    "tiled_divide": "zipped_divide(A, B)",
    "flat_divide": "zipped_divide(A, B)",
    "zipped_product": "logical_product(A, B)",
    "tiled_product": "zipped_product(A, B)",
    "flat_product": "zipped_product(A, B)",
    "blocked_product": "logical_product(A, B)",
    "raked_product": "logical_product(A, B)",
    "right_inverse": "coalesce(A)",
    "left_inverse": "coalesce(A)",
}
#: Names that laws bind.
_LAW_NAMES = "rest", "m", "n"
#: What goes mode by mode with a tuple; n is n:1.
BY_MODE = "logical_divide", "logical_product", "composition"
_COUNTS = "size", "cosize"  # no step of a law
#: The operations of which each mode of the result is one of the first argument.
_MODEWISE = "upcast", "downcast", "recast_layout", "MakeLayoutTile", "GetTileLayout"


class Worked(NamedTuple):
    """One operation of a text, or of the law of another.

    text     what was done
    depth    0 for an operation of the text, 1 for one of its law, and so on
    why      what the operation is, in one line
    before   its arguments
    after    its result
    modes    what became of each mode, where that can be said: before and after
    svg      a picture of the result, beside what it was made of
    """

    text: str
    depth: int
    why: str
    before: tuple[str, ...]
    after: str
    modes: tuple[tuple[str, str], ...]
    svg: str


def steps(calls: tuple[Call, ...]) -> tuple[Worked, ...]:
    """The steps of operations, those of a law before what it makes; without laws where these would be too many.

    >>> for step in steps(read("logical_divide(_24:_3, (_2,_2):(_1,_6))").calls):
    ...     print("  " * step.depth + step.text, "->", step.after)
      complement(B, size(A)) -> (_3,_2):(_2,_12)
      MakeLayout(B, rest) -> ((_2,_2),(_3,_2)):((_1,_6),(_2,_12))
      composition(A, MakeLayout(B, rest)) -> ((_2,_2),(_3,_2)):((_3,_18),(_6,_36))
    logical_divide(_24:_3, (_2,_2):(_1,_6)) -> ((_2,_2),(_3,_2)):((_3,_18),(_6,_36))
    """
    found = [
        (call, depth) for one in calls for call, depth in _expanded(one, 0) if not depth or call.name not in _COUNTS
    ]
    return tuple(_step(call, depth) for call, depth in found if not depth or len(found) <= MAX_STEPS)


def _expanded(call: Call, depth: int) -> Iterator[tuple[Call, int]]:
    """The calls of the law of a call, then the call."""
    for inner in of_law(call):
        yield from _expanded(inner, depth + 1)
    yield call, depth


def of_law(call: Call) -> tuple[Call, ...]:
    """The calls that make a call by its law; of a tuple of tiles those that make each mode."""
    a, b = _first_two(call)
    if call.name == "lower":
        return _tile_levels(a)
    if call.name not in LAWS or not isinstance(a, Layout):
        return ()
    if call.name in BY_MODE and isinstance(b, tuple):
        pairs = [(k, m, t) for k, (m, t) in enumerate(zip(a, b)) if not isinstance(t, Underscore)]
        return tuple(c for k, m, t in pairs for c in _calls(f"{call.name}(A{k}, B{k})", {f"A{k}": m, f"B{k}": t}))
    first, second = _names(call)
    law = re.sub(r"\b[AB]\b", lambda found: {"A": first, "B": second}[found[0]], LAWS[call.name])
    return _calls(law, {first: a, second: Layout(b, tla._1) if call.name in BY_MODE and is_int(b) else b})


def _names(call: Call) -> tuple[str, str]:
    """Names of the first two arguments in the law: the names that the text gave them, else A and B."""
    names = [x.python for x in call.arguments[:2]]
    given = [*(name if name.isidentifier() and name not in _LAW_NAMES else "" for name in names), "", ""]
    first = given[0] or ("A" if given[1] != "A" else "A0")
    return first, given[1] if given[1] and given[1] != first else ("B" if first != "B" else "B0")


def _first_two(call: Call) -> tuple[Any, Any]:
    a, b = [*(x.value for x in call.arguments), None, None][:2]
    return a, b


def _calls(law: str, values: dict[str, Any]) -> tuple[Call, ...]:
    try:
        return read(law, values).calls
    except Misread:  # there may be a result where one of its parts has none
        return ()


def _tile_levels(shape: IntTupleLike) -> tuple[Call, ...]:
    """An XLA shape lowered with none of its tiles, with the first, and so on; the last is the call itself."""
    if not isinstance(shape, xla.ArrayShape) or shape.layout is None:
        return ()
    layout = shape.layout
    cuts = [shape._replace(layout=layout._replace(tiles=layout.tiles[:n])) for n in range(len(layout.tiles))]
    return tuple(Call("tiles", f"lower({cut})", (Term(cut, str(cut)),), Term(xla.lower(cut), "")) for cut in cuts)


def text_of(value: object) -> str:
    """The text of a value on the page."""
    if isinstance(value, xla.Relayout):
        moved = "nothing moves" if value.bitcast else f"{value.bytes:,} bytes move, in runs of {value.run}"
        return f"{value.source} to {value.destination}: {moved}"
    return shown(value, 2000)


def _step(call: Call, depth: int) -> Worked:
    known = call.name in OPERATIONS
    why = summary(OPERATIONS[call.name]) if known else "The array with its first levels of tiles only."
    modes = tuple((str(a), str(b)) for a, b in _modes(call))
    before, after = tuple(text_of(x.value) for x in call.arguments), text_of(call.result.value)
    return Worked(call.text, depth, why.replace("`", ""), before, after, modes, _svg(call))


def _svg(call: Call) -> str:
    """The picture of a result, beside the layout in whose memory it is; "" where it cannot be drawn."""
    in_memory = call.name in (*IN_MEMORY.split(), *KEEPS_INDICES.split())
    drawn = [x.value for x in (*call.arguments[:in_memory], call.result)]
    for rule in ("offset", "tile"):  # coordinates have no order
        try:
            return viz.svg(viz.draw(*drawn, color_by=rule, limit=LIMIT * len(drawn)))
        except TlaError:
            continue
    return ""


# ------------------------------------------------------------------------------------------------- mode by mode


def _modes(call: Call) -> Iterator[tuple[Any, Any]]:
    """The origin of each mode of a result: the layout, the coordinates or the sizes that it is made of."""
    result, (a, b) = call.result.value, _first_two(call)
    if not isinstance(result, Layout):
        return
    if call.name == "MakeLayout":
        yield from _paired(a if isinstance(a, tuple) else tuple(x.value for x in call.arguments), result)
    elif call.name == "composition" and isinstance(b, Layout):
        yield from _paired(b, result)
    elif isinstance(a, Layout) and (call.name in _MODEWISE or (call.name in BY_MODE and isinstance(b, tuple))):
        yield from _paired(a, result)
    elif isinstance(a, Layout) and call.name == "coalesce" and len(call.arguments) == 1:
        yield from _merged(a, result)


def _paired(x: Any, result: Layout) -> Iterable[tuple[Any, Any]]:
    return zip(x, result) if isinstance(shape_of(x), tuple) else ((x, result),)


def _merged(a: Layout, result: Layout) -> Iterator[tuple[str, Layout]]:
    """The modes of a, side by side, that are one of the result."""
    flat = zip(leaves(a.shape), leaves(a.stride))
    for mode in result:
        n, run = 1, list[str]()
        while n != known(mode.shape) and (found := next(flat, None)):
            n *= known(found[0]) or 0
            run.append("{}:{}".format(*found))
        yield ", ".join(run), mode
