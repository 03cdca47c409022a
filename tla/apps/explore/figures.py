"""Drawings as data for the page: the grids of layouts, and which of their cells belong together."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import viz
from ...core.composed import ComposedLayout
from ...core.conversions import idx2crd
from ...core.int_tuple import modes_of
from ...core.ints import is_int, known
from ...core.kinds import AnyLayout
from ...core.swizzle import Swizzle
from ...viz.colouring import RULES, Paint
from ...viz.colours import ink
from ...viz.draw import Prepared, axis_of, notes_of, planes, prepare
from ...viz.drawable import LIMIT, Subject, View, as_subject, axes_of, outer_sums, view
from ...viz.scene import Axis, Figure, Grid, clean
from ...xla import ArrayShape, Relayout
from .operations import Program, Term

#: Operations whose result is in the memory of their first layout, by other coordinates; and those that keep its indices too.
IN_MEMORY = """logical_divide zipped_divide tiled_divide flat_divide logical_product zipped_product tiled_product flat_product
blocked_product raked_product tile_to_shape group select take MakeLayoutTile GetTileLayout slice_ composition compose"""
KEEPS_INDICES = "coalesce flatten filter_zeros lower"
#: The rules of colours of atoms, tiled MMAs and tiled copies.
KERNEL_RULES = "thread", "value"
_INVERSES = "left_inverse right_inverse"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a figure among others: cells of one index in figures of one domain belong together, and of one offset in one memory.

    name     what the page calls it: the name that the text gave it, else the letter of the argument, or "" for what was asked for
    domain   of which indices it is a function
    memory   what its offsets are of; an argument of a composition has offsets that are the indices of another
    """

    name: str
    domain: str
    memory: str


def inputs(program: Program) -> list[tuple[Any, Place]]:
    """The layouts that the value of a program was made of, each with its place beside the value, whose place is ("", "r", "m").

    >>> from .grammar import read
    >>> [(str(x), p.domain, p.memory) for x, p in inputs(read("composition((6,2):(8,2), (4,3):(3,1))"))]
    [('(6,2):(8,2)', 'a', 'm'), ('(4,3):(3,1)', 'r', 'a')]
    """
    value = program.value.value
    call = next((c for c in reversed(program.calls) if c.result.value is value), None)
    if isinstance(value, Relayout):
        return []  # what it goes from and to is shown itself
    if call is not None:
        layouts = [(k, x) for k, x in enumerate(call.arguments) if isinstance(x.value, (AnyLayout, ArrayShape))]
        return [(x.value, Place(_name(k, x), *_linked(call.name, k))) for k, x in layouts]
    if isinstance(value, ComposedLayout) and isinstance(value.outer, Swizzle):
        return [(value.inner, Place("before the swizzle", "r", "before"))]
    return []


def _name(k: int, term: Term) -> str:
    return term.python if term.python.isidentifier() else "AB"[k : k + 1]


def _linked(operation: str, k: int) -> tuple[str, str]:
    """The domain and the memory of argument k, beside the domain "r" and the memory "m" of the result."""
    if k:
        return ("r", "a") if operation == "composition" else ("b", "a") if "divide" in operation else (f"b{k}", f"n{k}")
    if operation in _INVERSES.split():
        return "m", "r"
    if operation in KEEPS_INDICES.split():
        return "r", "m"
    return ("a", "m") if operation in IN_MEMORY.split() else ("a", "n")


def rule_of(color_by: str, subjects: tuple[Subject, ...], access: str = "") -> str:
    """The rule of colours that "auto" is: banks of what is swizzled or accessed, else tiles."""
    if color_by != "auto":
        return color_by
    swizzled = (x for x in (s.layout for s in subjects) if isinstance(x, ComposedLayout) and isinstance(x.outer, Swizzle))
    asked = (s.layout for s in subjects[:1] if access and not isinstance(s.layout, ArrayShape))
    return "bank" if any(is_int(at := x(0)) and known(at) is not None for x in (*swizzled, *asked)) else "tile"


def rules(subjects: tuple[Subject, ...]) -> list[str]:
    """The rules of colours that these can be drawn by."""
    roles = {digit.role for s in subjects for digits in s.digits for digit in digits}
    return [name for name in RULES if name not in ("lane", "sublane", "packing") or name in roles]


def drawings(subjects: tuple[Subject, ...], related: list[tuple[Any, Place]], color_by: str, bits: int | None) -> dict[str, Any]:
    """The figures of what was asked for and of what it was made of, with their colours.

    Those in one memory have the colours of their offsets; others are drawn by themselves.
    """
    made_of = [(replace(as_subject(x), bits=subjects[0].bits), place) for x, place in related]
    together = [(subject, place) for subject, place in made_of if place.memory == "m"]
    apart = [(subject, place) for subject, place in made_of if place.memory != "m"]
    places = [Place("", "r", "m" if k == 0 else f"m{k}") for k in range(len(subjects))] + [place for _subject, place in together]
    drawn = prepare((*subjects, *(subject for subject, _place in together)), color_by=color_by, bits=bits, limit=LIMIT)
    figures = _figures(drawn, places)
    for subject, place in apart:
        figures += _figures(prepare((subject,), color_by=color_by, bits=bits, limit=LIMIT), [place])
    return {"figures": figures, "caption": drawn.caption, "legend": drawn.legend}


def collision(subject: Subject) -> dict[str, Any] | None:
    """Two indices of a layout whose offset is the same, and that offset; None where none of those that are drawn are."""
    seen = view(subject, axes_of(subject, None), LIMIT)
    if not seen.has_numbers or not seen.is_whole:
        return None
    places = [*itertools.accumulate((1, *seen.shape[:-1]), operator.mul)]
    first: dict[int, int] = {}
    for offset, index in sorted(
        zip(seen.values, outer_sums([range(0, n * p, p) for n, p in zip(seen.shape, places)])), key=operator.itemgetter(1)
    ):
        if first.setdefault(offset, index) != index:
            return {"indices": [first[offset], index], "offset": str(offset)}
    return None


def kernel_rule(color_by: str) -> str:
    """The rule of colours of an atom, a tiled MMA or a tiled copy: threads where none of theirs is asked for."""
    return color_by if color_by in KERNEL_RULES else "thread"


def kernel(x: Any, color_by: str) -> dict[str, Any]:
    """The figures of what is drawn by its threads: one of each operand. Cells of one thread belong together."""
    rule = kernel_rule(color_by)
    scene = viz.draw(x, color_by=rule)
    figures = [_held(figure, grid) for figure in scene.figures for grid in figure.grids]
    return {"figures": figures, "caption": scene.caption, "legend": scene.legend, "rule": rule, "rules": [*KERNEL_RULES]}


def _held(figure: Figure, grid: Grid) -> dict[str, Any]:
    palette = {Paint(): 0}
    extents = [len(grid.rows.labels), len(grid.columns.labels)]
    modes = [{"natural": [*map(str, range(n))], "digits": []} for n in extents]
    data = {
        "title": grid.title or figure.title,
        "at": ["_", "_"],
        "rows": _axis(grid.rows),
        "columns": _axis(grid.columns),
        "texts": [cell.text.replace("\n", "") for row in grid.cells for cell in row],
        "fills": [palette.setdefault(Paint(cell.fill), len(palette)) for row in grid.cells for cell in row],
        "threads": [cell.text.partition("\n")[0] if cell.text.startswith("T") else "" for row in grid.cells for cell in row],
    }
    return {
        "title": f"{figure.title}: {grid.title}" if grid.title else figure.title,
        "name": "",
        "domain": grid.title,
        "memory": grid.title,
        "notes": figure.notes,
        "axes": (0, 1),
        "extents": [*map(str, extents)],
        "modes": modes,
        "grids": [{**data, "title": ""}],
        "palette": [[fill, ink(fill), mark] for fill, mark in palette],
    }


def _figures(drawn: Prepared, places: Sequence[Place]) -> list[dict[str, Any]]:
    return [_figure(v, p.paints, drawn.cut_of(v), place) for v, p, place in zip(drawn.views, drawn.painted, places)]


def _figure(seen: View, paints: Sequence[Paint], cut: tuple[int, ...] | None, place: Place) -> dict[str, Any]:
    """A figure for the page: what it says of each coordinate of each mode, and its grids with colours by number.

    Cells row by row, those that are padding with their offsets too; a fill is a place in the palette, -1 for padding. Of it the palette
    has the colour, that of text on it, and its number.
    """
    palette = {paint: k for k, paint in enumerate(dict.fromkeys((Paint(), *paints)))}
    numbers = [-1 if past else palette[paint] for paint, past in zip(paints, seen.padding)]
    texts = [*map(str, seen.values)]
    rows, columns = (_axis(axis_of(seen, k, cut)) for k in seen.axes)
    modes = zip(itertools.count(), modes_of(seen.subject.layout.shape), seen.shape)
    in_order = len(seen.shape) <= 2 and seen.axes != (1, 0)  # the one grid, row by row
    grids = [
        {
            "title": title,
            "at": title.strip("()").split(","),  # of each mode, `_` for down and across
            "rows": rows,
            "columns": columns,
            "texts": texts if in_order else [texts[n] for line in lines for n in line],
            "fills": numbers if in_order else [numbers[n] for line in lines for n in line],
        }
        for title, lines in planes(seen)
    ]
    return {
        "title": clean(seen.subject.title),
        "name": place.name,
        "domain": place.domain,
        "memory": place.memory,
        "notes": notes_of(seen),
        "axes": seen.axes,
        "extents": [*map(str, seen.extents)],  # texts: they may be past 2**53
        "modes": [{"natural": [str(idx2crd(i, mode)) for i in range(n)], "digits": _digits(seen.subject, k, n)} for k, mode, n in modes],
        "grids": grids,
        "palette": [[fill, ink(fill), mark] for fill, mark in palette],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {"labels": [" ".join(label) for label in axis.labels], "borders": axis.borders}


def _digits(subject: Subject, k: int, count: int) -> list[str]:
    """The digits of the first indices of a mode of a tiled array, the slowest first."""
    digits = subject.digits[k] if subject.digits else ()
    return [", ".join(f"{d.role} {i // d.place % d.extent}" for d in reversed(digits)) for i in range(count)] if digits else []
