"""The drawing of a value as a file: SVG, HTML with what each cell is, TikZ, text, or a table of offsets."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from ... import viz
from ...core.errors import RangeError
from ...core.int_tuple import modes_of
from ...viz.drawable import LIMIT, Subject
from ...viz.kernels import KINDS
from .accesses import counted
from .figures import by_index, coordinates, kernel_rule, rule_of, view_of
from .grammar import read
from .operations import Program
from .question import Question
from .tilings import subjects
from .views import threads_scene

#: format -> its file's ending, its type, and what prints a scene so.
FORMATS: dict[str, tuple[str, str, Callable[[viz.Scene], str] | None]] = {
    "svg": (".svg", "image/svg+xml", viz.svg),
    "html": (".html", "text/html", viz.html),
    "tikz": (".tex", "application/x-tex", viz.tikz),
    "txt": (".txt", "text/plain", viz.text),
    "csv": (".csv", "text/csv", None),
}


def file(question: Question) -> dict[str, Any]:
    """The drawing of a text's value as the text of a file, with its name and type.

    >>> found = file(Question("(2,2):(2,1)", format="csv"))
    >>> found["name"], found["text"].splitlines()[:3]
    ('layout.csv', ['i,j,index,offset', '0,0,0,0', '1,0,1,2'])
    """
    if question.format not in FORMATS:
        raise RangeError(f"the format {question.format:.20}", f"one of {', '.join(FORMATS)}", "write svg")
    ending, kind, printed = FORMATS[question.format]
    program = read(question.text)
    text = _table(program) if printed is None else printed(_scene(question, program))
    return {"name": f"layout{ending}", "type": kind, "text": text}


def _scene(question: Question, program: Program) -> viz.Scene:
    value = program.value.value
    if isinstance(value, KINDS):
        return viz.draw(value, color_by=kernel_rule(question.color_by))
    known = subjects(program)
    if question.view == "threads":
        return threads_scene(question, known[0])
    bits = question.bits
    if question.access and known and (element := counted(question, known[0])["element"]):
        bits = element
    return viz.draw(*known, color_by=rule_of(question.color_by, known, question.access), bits=bits)


def _table(program: Program) -> str:
    """The offset of every coordinate, first mode fastest, of each layout one below the other."""
    out = io.StringIO()
    known = subjects(program)
    writer = csv.writer(out, lineterminator="\n")
    if not known:
        raise RangeError("a table of what is no layout", "a layout", "write csv of a layout: (4,2):(1,4)")
    for k, subject in enumerate(known):
        writer.writerow([*_letters(subject), "index", "offset" if len(known) == 1 else f"offset of layout {k + 1}"])
        writer.writerows(_rows(subject))
    return out.getvalue()


def _letters(subject: Subject) -> list[str]:
    rank = len(modes_of(subject.layout.shape))
    return [*"ijklmn"[:rank]] if rank <= 6 else [f"i{k}" for k in range(rank)]


def _rows(subject: Subject) -> list[list[Any]]:
    seen = view_of(subject)
    if not seen.is_whole:
        what = f"a table of {' x '.join(map(str, seen.extents))} coordinates"
        raise RangeError(what, f"{LIMIT} at most", "take a tile")
    values = zip(coordinates(seen.shape), by_index(seen.values, seen.shape))
    return [[*coord, index, value] for index, (coord, value) in enumerate(values)]
