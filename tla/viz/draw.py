"""Scenes made from layouts."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..algebra.plain_integers import note_of
from ..core.errors import LeafTypeError, RangeError, RankError, printable
from ..core.int_tuple import modes_of, shown
from ..core.ints import IntLike, IntTupleLike, Leaf, is_int, known
from ..core.kinds import AnyLayout
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED, element_width
from .colouring import Paint, Painted, auto, checked_tile, paint
from .drawable import LIMIT, MAX_GRIDS, Subject, View, as_subject, axes_of, has_layout, levels, steps, view
from .drawing import Drawing
from .scene import Axis, Cell, Figure, Grid

_BANKS = OnDemand("tla.viz.bank_conflicts")  # with tla.access, which other drawings do without
_kernels = OnDemand("tla.viz.kernels")  # with tla.gpu, which layouts do without
_programs = OnDemand("tla.viz.programs")  # with tla.kernels


def draw(
    *layouts: object,
    color_by: object = "auto",
    tile: IntTupleLike | None = None,
    bits: IntLike | None = None,
    axes: Sequence[int] | None = None,
    titles: str | Sequence[str] | None = None,
    limit: int = LIMIT,
    owners: AnyLayout | None = None,
    thread: int | str | None = None,
) -> Drawing:
    """Layouts drawn beside each other, as grids of their offsets: mode 0 down, mode 1 across.

    layouts    layouts of any kind, XLA shapes; or one TiledMMA, TiledCopy or atom of tla.gpu: then cells are threads
               and values; or one Program of tla.kernels: the same for each of its statements that touches memory
    color_by   "auto": banks of what is swizzled, tiles where there are several, else offsets; or "tile", "offset",
               "bank", "ub_bank", "thread" (the index of mode 0), of XLA shapes "lane", "sublane", "packing"; "none"; or
               a function of a coordinate and its offset to a number, the name of a hue, `#rrggbb` or None
    tile       of the first layout, one extent per top-level mode: it has borders, and colours by tile are those
               [elements]; by default a block of it, all levels but the outermost, or if it has one level of the next of
               its extents that has more
    bits       the width of an element, for banks, or its type; by default that of the XLA shape or of the tensor's
               buffer, else 32
    axes       the modes that are down and across, by default the first two, of XLA shapes the last two; the others are
               folded: one grid for each index of them. A vector is across
    titles     one for each layout, instead of its text
    owners     with banks: who accesses the first layout, as tla.access.access takes it; the title has the degree of
               conflict, and what collides in the worst instruction has a star
    thread     of a TiledMMA, TiledCopy, atom or Program: the one whose cells alone have colours, and a star
    limit      more coordinates than this, of all layouts together, are not drawn: then it is their corners,
               and notes say so
    Returns    Drawing: a picture in a notebook; svg, tikz, html and text print it, save writes it to a file
    Raises     Unproven for sizes that are not known, LeafTypeError for what has no layout, RangeError for
               an unknown colour

    Colours are places in memory: they are chosen in the first layout, and in the others a cell has the colour that its
    offset has there. Strides that are not known, or coordinates, are drawn as text. More than eight colours have
    numbers, small in the cells and in the legend.

    >>> from tla import parse
    >>> print(draw(parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")))
    ((_4,_2),(_4,_3)):((_4,_16),(_1,_32))
         0  1  2  3    4  5  6  7    8  9 10 11
      ┌─────────────┬─────────────┬─────────────┐
    0 │  0  1  2  3 │ 32 33 34 35 │ 64 65 66 67 │
    1 │  4  5  6  7 │ 36 37 38 39 │ 68 69 70 71 │
    2 │  8  9 10 11 │ 40 41 42 43 │ 72 73 74 75 │
    3 │ 12 13 14 15 │ 44 45 46 47 │ 76 77 78 79 │
      ├─────────────┼─────────────┼─────────────┤
    4 │ 16 17 18 19 │ 48 49 50 51 │ 80 81 82 83 │
    5 │ 20 21 22 23 │ 52 53 54 55 │ 84 85 86 87 │
    6 │ 24 25 26 27 │ 56 57 58 59 │ 88 89 90 91 │
    7 │ 28 29 30 31 │ 60 61 62 63 │ 92 93 94 95 │
      └─────────────┴─────────────┴─────────────┘

    Source: the drawings of TLA's documents, and CuTe's print_layout and print_latex.
    """
    if not is_int(limit) or (known(limit) or 0) < 1:
        raise RangeError(f"draw with the limit {shown(limit)}", "an integer of 1 or more", "leave limit out")
    others = [x for x in layouts if not has_layout(x)]
    for module in (_kernels, _programs):
        if any(isinstance(x, module.KINDS) for x in others):
            _require_alone(layouts, {"tile": tile, "bits": bits, "axes": axes, "owners": owners})
            title = None if titles is None else str(_one_each(titles, layouts)[0])
            rule = "thread" if color_by == "auto" else color_by
            by_threads: Drawing = module.drawn(layouts[0], color_by=rule, title=title, limit=limit, thread=thread)
            return by_threads
    subjects = [as_subject(x) for x in layouts]
    if thread is not None:
        what = f"draw of thread {shown(thread)} of a layout"
        raise LeafTypeError(what, "a TiledMMA, TiledCopy, atom or Program", "leave thread out")
    if owners is not None:  # who accesses it may say the width of what is accessed
        subjects = [replace(s, bits=element_width(s.bits, owners, bits=bits, default=ASSUMED)) for s in subjects]
    if titles is not None:
        subjects = [replace(s, title=str(t)) for s, t in zip(subjects, _one_each(titles, subjects))]
    if not 0 < len(subjects) <= MAX_GRIDS:
        raise RankError(f"draw of {len(subjects)} layouts", f"1 to {MAX_GRIDS}", "draw some of them")
    seen = prepare(subjects, color_by=color_by, tile=tile, bits=bits, axes=axes, limit=limit // len(subjects))
    figures = tuple(_figure(v, p.paints, seen.cut_of(v)) for v, p in zip(seen.views, seen.painted))
    if owners is not None:
        figures = (_BANKS.marked(figures[0], seen.views[0].subject, layouts[0], owners, color_by), *figures[1:])
    return Drawing(figures, seen.legend, seen.caption)


class Prepared(NamedTuple):
    """Subjects to be drawn, before there are cells: their views, and the colours of each.

    cut    the tile of the first view, for its borders, where there is one
    rule   of colours, what "auto" is; "" for a function
    """

    views: list[View]
    painted: list[Painted]
    cut: tuple[int, ...] | None
    caption: str
    rule: str

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        return tuple(dict.fromkeys(key for p in self.painted for key in p.legend))

    def cut_of(self, view: View) -> tuple[int, ...] | None:
        return self.cut if view is self.views[0] else None


def prepare(
    subjects: Sequence[Subject],
    *,
    color_by: Any,
    tile: IntTupleLike | None = None,
    bits: IntLike | None = None,
    axes: Any = None,
    limit: int,
) -> Prepared:
    """The views of subjects and their colours, as draw has them; `limit` is of each."""
    if bits is not None:
        subjects = [replace(s, bits=element_width(s.bits, bits=bits)) for s in subjects]
    views = [view(s, axes_of(s, axes), limit) for s in subjects]
    cut, lead = checked_tile(views[0], tile), 0
    if color_by == "auto":
        color_by = auto(views) if cut is None else "tile"
    if color_by == "tile" and cut is None:
        lead = next((k for k, v in enumerate(views) if v.subject.tiling and v.subject.tiling.in_memory), 0)
        cut = _block_beside(views) if lead == 0 else None
    painted = _painted(views, color_by, cut, lead)
    return Prepared(views, painted, cut, painted[lead].caption, color_by if isinstance(color_by, str) else "")


def _require_alone(layouts: Sequence[Any], options: dict[str, Any]) -> None:
    """LeafTypeError for what is drawn by its threads together with anything else, or with an option of layouts."""
    given = [name for name, x in options.items() if x is not None]
    if len(layouts) > 1:
        what = f"draw of {len(layouts)} values, one of them {shown(layouts[0])}"
        raise LeafTypeError(what, "a value of this kind alone", "draw each by itself")
    if given:
        what = f"draw of {shown(layouts[0])} with {', '.join(given)}"
        raise LeafTypeError(what, "color_by, titles, thread or limit", f"leave {given[0]} out")


def _one_each(titles: str | Sequence[str], subjects: Sequence[Any]) -> Sequence[str]:
    titles = [titles] if isinstance(titles, str) else titles
    if len(titles) != len(subjects):
        what = f"{len(titles)} titles for {len(subjects)} layouts"
        raise RankError(what, "one for each", "leave titles out for their texts")
    return titles


def _block_beside(views: Sequence[View]) -> tuple[int, ...] | None:
    """The blocks of a layout without its own, from one beside it: its divide, or where it is moved to."""
    first = views[0]
    whole = tuple(max(n, 1) for n in first.extents)
    tiled = (v for v in views if v.extents == first.extents and v.tiling.extents != whole)
    return None if (found := next(tiled, first)) is first else found.tiling.extents


def _painted(views: Sequence[View], color_by: Any, cut: tuple[Leaf, ...] | None, lead: int) -> list[Painted]:
    """The colours of each view: by the rule in the one that leads, in the others those of the same places."""
    first = paint(views[lead], color_by, cut)
    if first.by_place:
        return [first if k == lead else paint(v, color_by, None) for k, v in enumerate(views)]
    if len(views) == 1:
        return [first]
    valid = [*map(operator.not_, views[lead].padding)]
    values, paints = ([*itertools.compress(found, valid)] for found in (views[lead].values, first.paints))
    places = dict(zip(reversed(values), reversed(paints)))  # of cells of one place the first says its colour
    none = Paint()

    def of_places(v: View) -> Painted:
        return Painted([places.get(value, none) for value in v.values])

    return [first if k == lead else of_places(v) for k, v in enumerate(views)]


# ------------------------------------------------------------------------------------------------- figures


def _figure(view: View, paints: Sequence[Paint], cut: tuple[int, ...] | None) -> Figure:
    down, across = (axis_of(view, k, cut) for k in view.axes)
    cells = [*map(_cell, view.values, paints, view.padding)]
    grids = (
        Grid(down, across, tuple(tuple(cells[n] for n in row) for row in rows), index) for index, rows in planes(view)
    )
    return Figure(printable(view.subject.title), notes_of(view), tuple(grids))


def notes_of(view: View) -> tuple[str, ...]:
    """The notes of a view: those of its subject, what known integers would give, and how much of it is drawn."""
    smaller = note_of(view.subject.layout)
    notes = (*view.subject.notes, *([str(smaller)] if smaller else []), *(() if view.is_whole else (_partly(view),)))
    return tuple(map(printable, notes))


def _cell(value: object, paint: Paint, padding: bool) -> Cell:
    return Cell("", None, True) if padding else Cell(str(value), paint.fill, mark=paint.mark)


def planes(view: View) -> Iterator[tuple[str, list[Sequence[int]]]]:
    """The grids of a view: for each index of its other modes a title, and where the values of each row of cells are."""
    shape = view.shape
    if not math.prod(shape):
        yield "", []
        return
    places = [math.prod(shape[k + 1 :]) for k in range(len(shape))]  # of each mode, from one index to the next
    (rows, down), (columns, across) = ((shape[k], places[k]) if 0 <= k < len(shape) else (1, 1) for k in view.axes)
    others = [k for k in range(len(shape)) if k not in view.axes]
    for rest in itertools.product(*(range(shape[k]) for k in others)):
        first = sum(n * places[k] for n, k in zip(rest, others))
        starts = range(first, first + rows * down, down)
        yield _index(view, rest), [range(start, start + columns * across, across) for start in starts]


def _index(view: View, rest: tuple[int, ...]) -> str:
    if not rest:
        return ""
    others = iter(rest)
    return f"({','.join('_' if k in view.axes else str(next(others)) for k in range(len(view.extents)))})"


def _partly(view: View) -> str:
    """
    >>> from tla import parse
    >>> draw(parse("(4096,4096,3):(1,4096,16777216)")).figures[0].notes
    ('50,331,648 coordinates, 4096 x 4096 x 3: of these 8 x 16 x 1',)
    """
    whole, part = (" x ".join(map(str, extents)) for extents in (view.extents, view.shape))
    return f"{math.prod(view.extents):,} coordinates, {whole}: of these {part}"


def axis_of(view: View, k: int, cut: tuple[int, ...] | None) -> Axis:
    """The labels and borders of mode k; of a single row that is no mode, none."""
    if k < 0 or not view.extents:
        return Axis((("",),), (0,))
    count = view.shape[k]
    digits = view.subject.digits[k] if view.subject.digits else ()
    sizes = {d.place for d in digits} - {1}  # modes coalesce, digits do not
    sizes = sizes or {*steps(modes_of(view.subject.layout.shape)[k])}
    sizes |= {n for n in (cut or view.tiling.extents)[k : k + 1] if 1 < n < view.extents[k]}
    labels = [[str(i) for i in range(count)]]
    for d in reversed(digits):
        labels.append([f"{d.role[0]}{i // d.place % d.extent}" for i in range(count)])
    start = view.start[k]
    return Axis(tuple(zip(*labels)), tuple(levels(range(start, start + count), sorted(sizes))))
