"""Other ways to look at a layout: who holds each element of a tile, and what lies in each line of memory."""

from __future__ import annotations

import math
from typing import Any

from ... import viz
from ...algebra.codomain import cosize
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import modes_of, shown
from ...core.ints import known
from ...notation.text import parse
from ...viz.colouring import BANKS, Paint, bank_colour
from ...viz.drawable import LIMIT, Subject, View
from .figures import (
    Place,
    by_index,
    by_threads,
    coordinates,
    figure,
    kernel_rule,
    packed,
    palette_of,
    plain_modes,
    view_of,
)
from .question import Question

#: Of an element of a line that no coordinate has.
EMPTY = -1


def threads(question: Question, subject: Subject) -> dict[str, Any]:
    """The figures of a (thread, value) layout on its tile: which thread holds each element, as which value.

    >>> from tla import parse
    >>> from tla.viz.drawable import as_subject
    >>> found = threads(Question("", tile="2,4"), as_subject(parse("((2,2),2):((4,1),2)")))
    >>> found["figures"][0]["grids"][0]["texts"][:3], found["tile"]
    (['T0\\nV0', 'T0\\nV1', 'T1\\nV0'], '2,4')
    """
    tile = _tile(question.tile, subject)
    scene, rule = threads_scene(question, subject), kernel_rule(question.color_by)
    return by_threads(scene, rule) | {"tile": f"{tile[0]},{tile[1]}"}


def threads_scene(question: Question, subject: Subject) -> viz.Scene:
    """The drawing of a (thread, value) layout on its tile."""
    return viz.draw_threads(subject, _tile(question.tile, subject), kernel_rule(question.color_by))


def has_threads(subject: Subject) -> bool:
    """Whether a layout may be one of (thread, value): it has two modes, and integers for offsets."""
    return len(modes_of(subject.layout.shape)) == 2


def _tile(text: str, subject: Subject) -> tuple[int, int]:
    """The rows and columns of a tile; where none is said, the two nearest factors of what the layout reaches."""
    if text:
        found = parse(f"({text})")
        extents = tuple(known(n) for n in found) if isinstance(found, tuple) else ()
        if len(extents) != 2 or None in extents:
            raise RankError(f"the tile {text:.40}", "rows and columns", "write 16,8")
        return int(extents[0] or 0), int(extents[1] or 0)
    count = known(cosize(subject.layout))
    if count is None:
        raise RangeError(f"the tile of {shown(subject.layout)}", "a known size", "give its symbols values first")
    rows = next((n for n in range(math.isqrt(count), 0, -1) if count % n == 0), 1)
    return count // rows, rows


# ------------------------------------------------------------------------------------------------- memory


def memory(question: Question, subject: Subject) -> dict[str, Any]:
    """The figure of memory in its physical order: a row is a line of all banks, a column an element in it.

    >>> from tla import parse
    >>> from tla.viz.drawable import as_subject
    >>> found = memory(Question(""), as_subject(parse("(4,2):(2,1)")))
    >>> found["figures"][0]["grids"][0]["shows"][:3]
    ['(0,0)', '(0,1)', '(1,0)']
    """
    name = question.color_by if question.color_by in BANKS else "bank"
    banks, word = BANKS[name]
    element = subject.element_width
    seen = view_of(subject)
    if not seen.has_numbers:
        what = f"the memory of {shown(subject.layout)}"
        raise LeafTypeError(what, "offsets that are known", "give its symbols values first")
    line = banks * word // element.bits
    if not line or banks * word % element.bits:
        what = f"lines of {banks * word // 8} bytes of elements of {element}"
        raise RangeError(what, "whole elements", "give the width of an element")
    offsets = by_index(seen.values, seen.shape)
    if min(offsets, default=0) < 0 or max(offsets, default=0) >= LIMIT:
        what = f"memory from {min(offsets)} to {max(offsets)}"
        raise RangeError(what, f"offsets from 0 to {LIMIT - 1}", "look at a smaller tile")
    found = _memory_figure(seen, offsets, line, max(1, word // element.bits))
    caption = f"rows are lines of {banks} banks of {word // 8} bytes, elements of {element}"
    return {"figures": [found], "caption": caption, "legend": (), "rule": name, "rules": [*BANKS]}


def _memory_figure(seen: View, offsets: Any, line: int, per_bank: int) -> dict[str, Any]:
    lines = -(-(max(offsets, default=-1) + 1) // line)
    slots: list[list[int]] = [[] for _ in range(lines * line)]
    for index, offset in enumerate(offsets):
        slots[offset].append(index)
    paints = [Paint(bank_colour(k % line // per_bank)) if held else Paint() for k, held in enumerate(slots)]
    palette = palette_of(paints)
    coords = [f"({','.join(map(str, coord))})" for coord in coordinates(seen.shape)]
    labels = [str(k // per_bank) if k % per_bank == 0 else "" for k in range(line)]
    borders = [int(k % per_bank == 0 and per_bank > 1) for k in range(line)]
    grid = {
        "title": "",
        "at": ["_", "_"],
        "rows": {"labels": [str(k * line) for k in range(lines)], "borders": [0] * lines},
        "columns": {"labels": labels, "borders": borders},
        "texts": packed([held[0] if held else EMPTY for held in slots]),
        "shows": [f"{coords[x[0]]}{f'+{len(x) - 1}' if len(x) > 1 else ''}" if x else "" for x in slots],
        "fills": "".join(map(palette.__getitem__, paints)),
    }
    title, modes = f"memory of {seen.subject.title}", plain_modes((line, lines))
    return figure(title, Place("", "m", "r"), (line, lines), modes, [grid], palette, axes=(1, 0))
