"""Drawings as data for the page: the grids of layouts, and which of their cells belong together."""

from __future__ import annotations

import base64
import itertools
import operator
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ... import viz
from ...core.composed import ComposedLayout
from ...core.errors import printable
from ...core.int_tuple import modes_of
from ...core.ints import IntTupleLike, is_int, known
from ...core.kinds import AnyLayout
from ...core.swizzle import Swizzle
from ...viz.colouring import RULES, Paint
from ...viz.colours import ink
from ...viz.draw import Prepared, axis_of, notes_of, planes, prepare
from ...viz.drawable import LIMIT, Subject, View, as_subject, view
from ...viz.scene import Axis, Figure, Grid, Scene
from ...xla import ArrayShape, Relayout
from .operations import Program, Term

#: Operations whose result is in the memory of their first layout, by other coordinates; and those that keep
#: its indices too.
IN_MEMORY = """logical_divide zipped_divide tiled_divide flat_divide logical_product zipped_product tiled_product flat_product
blocked_product raked_product tile_to_shape group select take MakeLayoutTile GetTileLayout slice_ composition compose"""
KEEPS_INDICES = "coalesce flatten filter_zeros lower"
#: The rules of colours of atoms, tiled MMAs and tiled copies.
KERNEL_RULES = "thread", "value"
_INVERSES = "left_inverse right_inverse"
#: What stands for a cell that is padding, where characters stand for the colours of cells; those of the
#: palette come after it.
_PADDING = "0"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a figure among others: equal indices of one domain, and equal offsets of one memory, go together.

    name     what the page calls it: the name that the text gave it, else the letter of the argument, or "" for
             what was asked for
    domain   of which indices it is a function
    memory   what its offsets are of; an argument of a composition has offsets that are the indices of another
    """

    name: str
    domain: str
    memory: str


def inputs(program: Program) -> list[tuple[Any, Place]]:
    """The layouts that a program's value was made of, each with its place beside the value's, ("", "r", "m").

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
    """The rule of colours; with an access, "auto" means banks."""
    if color_by != "auto" or not access or not subjects:
        return color_by
    return "bank" if is_int(at := subjects[0].layout(0)) and known(at) is not None else color_by


def rules(subjects: tuple[Subject, ...]) -> list[str]:
    """The rules of colours that these can be drawn by."""
    roles = {digit.role for s in subjects for digits in s.digits for digit in digits}
    return [name for name in RULES if name not in ("lane", "sublane", "packing") or name in roles]


def drawings(
    subjects: tuple[Subject, ...], related: list[tuple[Any, Place]], color_by: str, bits: int | None
) -> dict[str, Any]:
    """The figures of what was asked for and of what it was made of, with their colours; of two, where they differ.

    Those in one memory have the colours of their offsets; others are drawn by themselves.
    """
    made_of = [(replace(as_subject(x), bits=subjects[0].bits), place) for x, place in related]
    together = [(subject, place) for subject, place in made_of if place.memory == "m"]
    apart = [(subject, place) for subject, place in made_of if place.memory != "m"]
    own = [Place("", "r", "m" if k == 0 else f"m{k}") for k in range(len(subjects))]
    places = [*own, *(place for _subject, place in together)]
    drawn = prepare((*subjects, *(subject for subject, _place in together)), color_by=color_by, bits=bits, limit=LIMIT)
    figures = _figures(drawn, places)
    for subject, place in apart:
        figures += _figures(prepare((subject,), color_by=drawn.rule, bits=bits, limit=LIMIT), [place])
    twice = collision(drawn.views[0]) if len(subjects) == 1 else None
    said = {"caption": drawn.caption, "legend": drawn.legend, "rule": drawn.rule}
    return {"figures": figures, **said, "collision": twice, "seen": drawn.views[: len(subjects)]}


def collision(seen: View) -> dict[str, Any] | None:
    """Two indices of a layout that share an offset, and that offset; None if none of those drawn do."""
    if not seen.has_numbers or not seen.is_whole or len({*seen.values}) == len(seen.values):
        return None
    offsets, indices = by_index(seen.values, seen.shape), range(len(seen.values))
    first = dict(zip(reversed(offsets), reversed(indices)))
    again = next(itertools.compress(indices, map(operator.ne, map(first.__getitem__, offsets), indices)))
    return {"indices": [first[offsets[again]], again], "offset": str(offsets[again])}


def by_index(values: Sequence[int], shape: Sequence[int]) -> Sequence[int]:
    """The values of a view in the order of the index: its first mode fastest, not its last."""
    if len(shape) < 2:
        return values
    size = len(values) // shape[0]
    rows = (by_index(values[start : start + size], shape[1:]) for start in range(0, len(values), size))
    return [*itertools.chain.from_iterable(zip(*rows))]


def coordinates(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The coordinates of a shape in the order of the index."""
    return (coord[::-1] for coord in itertools.product(*map(range, reversed(shape))))


def view_of(subject: Subject) -> View:
    """The view of a layout by its first two modes; a vector is across."""
    return view(subject, (0, 1) if len(modes_of(subject.layout.shape)) > 1 else (-1, 0), LIMIT)


def kernel_rule(color_by: str) -> str:
    """The rule of colours of an atom, a tiled MMA or a tiled copy: threads where none of theirs is asked for."""
    return color_by if color_by in KERNEL_RULES else "thread"


def kernel(x: object, color_by: str) -> dict[str, Any]:
    """The figures of a tiled copy or MMA, one for each operand, with the cells of one thread marked together."""
    rule = kernel_rule(color_by)
    return by_threads(viz.draw(x, color_by=rule), rule)


def by_threads(scene: Scene, rule: str) -> dict[str, Any]:
    """The figures of a scene whose cells say threads and values, and what their colours mean."""
    found = [_held(drawn, grid) for drawn in scene.figures for grid in drawn.grids]
    if len(scene.figures) == 1 and len(found) == 3:  # B above C, A left of it
        for one, role in zip(found, "BAC"):
            one["role"] = role
    said = {"caption": scene.caption, "legend": scene.legend, "rule": rule, "rules": [*KERNEL_RULES]}
    return {"figures": found, **said}


def _held(drawn: Figure, grid: Grid) -> dict[str, Any]:
    cells = [cell for row in grid.cells for cell in row]
    paints = [Paint(cell.fill) for cell in cells]
    palette = palette_of(paints)
    extents = len(grid.rows.labels), len(grid.columns.labels)
    data = {
        "title": "",
        "at": ["_", "_"],
        "rows": _axis(grid.rows),
        "columns": _axis(grid.columns),
        "texts": [cell.text for cell in cells],
        "fills": "".join(map(palette.__getitem__, paints)),
        "threads": [cell.text.partition("\n")[0] if cell.text.startswith("T") else "" for cell in cells],
    }
    title = f"{drawn.title}: {grid.title}" if grid.title else drawn.title
    notes = drawn.notes if grid is drawn.grids[0] else ()
    place = Place("", grid.title, grid.title)
    return figure(title, place, extents, plain_modes(extents), [data], palette, notes)


def plain_modes(extents: tuple[int, int]) -> list[dict[str, Any]]:
    """Modes whose coordinates are integers."""
    return [{"natural": [*map(str, range(n))], "digits": []} for n in extents]


def figure(
    title: str,
    place: Place,
    extents: Sequence[int],
    modes: list[dict[str, Any]],
    grids: list[dict[str, Any]],
    palette: Iterable[Paint],
    notes: tuple[str, ...] = (),
    axes: tuple[int, int] = (0, 1),
) -> dict[str, Any]:
    """A figure for the page: what it says of each coordinate of each mode, and its grids.

    Of a colour the palette has the fill, that of text on it, and its number.
    """
    return {
        "title": title,
        **asdict(place),
        "notes": notes,
        "axes": axes,
        "extents": [*map(str, extents)],  # texts: they may be past 2**53
        "modes": modes,
        "grids": grids,
        "palette": [[fill, ink(fill), mark] for fill, mark in palette],
    }


def _figures(drawn: Prepared, places: Sequence[Place]) -> list[dict[str, Any]]:
    return [_figure(v, p.paints, drawn.cut_of(v), place) for v, p, place in zip(drawn.views, drawn.painted, places)]


def _figure(seen: View, paints: Sequence[Paint], cut: tuple[int, ...] | None, place: Place) -> dict[str, Any]:
    """The figure of a view: cells row by row, those that are padding with their offsets too."""
    palette = palette_of(paints)
    numbers = "".join(map(palette.__getitem__, paints))
    if any(padding := seen.padding):
        numbers = "".join(_PADDING if past else n for n, past in zip(numbers, padding))
    rows, columns = (_axis(axis_of(seen, k, cut)) for k in seen.axes)
    shapes = enumerate(zip(modes_of(seen.subject.layout.shape), seen.shape))
    modes = [{"natural": _naturals(mode, n), "digits": _digits(seen.subject, k, n)} for k, (mode, n) in shapes]
    in_order = len(seen.shape) <= 2 and seen.axes != (1, 0)  # the one grid, row by row
    grids = [
        {
            "title": title,
            "at": title.strip("()").split(","),  # of each mode, `_` for down and across
            "rows": rows,
            "columns": columns,
            "texts": packed(seen.values if in_order else [seen.values[n] for line in lines for n in line]),
            "fills": numbers if in_order else "".join(numbers[n] for line in lines for n in line),
        }
        for title, lines in planes(seen)
    ]
    return figure(printable(seen.subject.title), place, seen.extents, modes, grids, palette, notes_of(seen), seen.axes)


def palette_of(paints: Iterable[Paint]) -> dict[Paint, str]:
    """The colours of cells, each with the character that stands for it; the first is no colour."""
    return {paint: chr(ord(_PADDING) + k) for k, paint in enumerate(dict.fromkeys((Paint(), *paints)), 1)}


def packed(values: Sequence[Any]) -> str | list[str]:
    """The contents of cells: offsets of 32 bits as base64, little-endian, which the page reads at once; else texts.

    >>> packed([0, 1]), packed([0, 2**31])
    ('AAAAAAEAAAA=', ['0', '2147483648'])
    """
    try:
        return base64.b64encode(struct.pack(f"<{len(values)}i", *values)).decode()
    except struct.error:
        return [*map(str, values)]


def _naturals(shape: IntTupleLike, count: int) -> list[str]:
    """The natural coordinates of the first indices of a mode.

    >>> _naturals((2, (2, 3)), 6)
    ['(0,(0,0))', '(1,(0,0))', '(0,(1,0))', '(1,(1,0))', '(0,(0,1))', '(1,(0,1))']
    """
    if not isinstance(shape, tuple):
        return [*map(str, range(min(count, int(known(shape) or 0))))]
    parts = (_naturals(mode, count) for mode in reversed(shape))  # the first one is the fastest
    return [f"({','.join(reversed(part))})" for part in itertools.islice(itertools.product(*parts), count)]


def _axis(axis: Axis) -> dict[str, Any]:
    return {"labels": [" ".join(label) for label in axis.labels], "borders": axis.borders}


def _digits(subject: Subject, k: int, count: int) -> list[str]:
    """The digits of the first indices of a mode of a tiled array, the slowest first."""
    digits = subject.digits[k] if subject.digits else ()
    texts = (", ".join(f"{d.role} {i // d.place % d.extent}" for d in reversed(digits)) for i in range(count))
    return [*texts] if digits else []
