"""Tiles drawn by who holds each element: thread-value layouts here, atoms in kernels.py, programs in programs.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import RangeError, RankError, printable
from ..core.int_tuple import modes_of, shown
from ..core.ints import IntTree, is_int, known
from .colours import tint
from .drawable import CORNER, LIMIT, Subject, as_subject, levels, view
from .drawing import Drawing
from .scene import Axis, Cell, Figure, Grid


def draw_threads(layout: object, tile: IntTree | None, color_by: str = "thread") -> Drawing:
    """A thread-value layout as the tile that it covers: which thread holds each element, as which of its values.

    layout     of rank 2: (thread, value) to the index of an element in the tile, first mode fastest
    tile       the extents of the tile, rows and columns [elements]
    color_by   "thread" or "value"
    Returns    Drawing: `T3 V1` is value 1 of thread 3; `+2` says that two more hold it too
    Raises     RankError for other ranks, RangeError for an element outside of the tile

    >>> from tla import parse
    >>> print(draw_threads(parse("((2,2),2):((4,1),2)"), (2, 4)))
    ((2,2),2):((4,1),2)
    threads and values in 2 x 4
           0    1    2    3
      ┌─────────────────────┐
    0 │ T0V0 T0V1 T1V0 T1V1 │
    1 │ T2V0 T2V1 T3V0 T3V1 │
      └─────────────────────┘

    Source: CuTe's print_latex of a TV layout.
    """
    subject = as_subject(layout)
    extents = tile if isinstance(tile, tuple) else (tile,)
    if len(extents) != 2 or not all(is_int(n) and (known(n) or 0) > 0 for n in extents):
        fix = "give its rows and columns, as in tile=(16, 8)"
        raise RankError(f"draw_threads of a tile {shown(tile)}", "two positive integers", fix)
    require_rule(color_by, "threads")
    if len(modes_of(subject.layout.shape)) != 2:
        what = f"draw_threads of {shown(subject.layout)}"
        raise RankError(what, "two modes, thread and value", "group its modes first")
    return Drawing((_threads(subject, extents, color_by),), (), caption_of(color_by, None))


def _threads(subject: Subject, tile: tuple[int, int], color_by: str) -> Figure:
    """The figure of a tile, each cell with the threads and values that hold it."""
    seen, count = view(subject, (0, 1), LIMIT), tile[0] * tile[1]
    if not seen.is_whole:
        what = f"draw_threads of {shown(subject.layout)}: more than {LIMIT} pairs"
        raise RangeError(what, f"{LIMIT} at most", "draw fewer threads")
    if count > LIMIT:
        raise RangeError(f"draw_threads of a tile {shown(tile)}", f"{LIMIT} elements at most", "draw a smaller one")
    for (thread, value), element in zip(seen.coords, seen.values):
        if isinstance(element, str) or not 0 <= element < count:
            what = f"value {value} of thread {thread} of {shown(subject.layout)} is {element}"
            expected = f"an element of the tile {shown(tile)}: 0 to {count - 1}"
            raise RangeError(what, expected, "give the tile that the layout covers")
    threads, each = seen.shape
    places = [place for (place,) in row_by_row(seen.values, [0], *tile)]
    held = Held("", *tile, [*range(threads)], [places[t * each : (t + 1) * each] for t in range(threads)])
    notes, grid = (f"threads and values in {tile[0]} x {tile[1]}",), grid_of(held, color_by, None, False)
    return Figure(printable(subject.title), notes, (grid,))


# ------------------------------------------------------------------------------------------------- who holds a tile


class Held(NamedTuple):
    """A tile, and who holds what of it.

    title     of its grid
    rows      how many there are
    columns   how many there are
    lanes     the thread of each row of `places`
    places    (which thread, value) -> index of a cell, row after row
    blocks    every so many rows and columns a border; 0 for none
    named     whether cells name the thread: not those of memory that all of them read
    """

    title: str
    rows: int
    columns: int
    lanes: list[int]
    places: list[list[int]]
    blocks: tuple[int, int] = (0, 0)
    named: bool = True


def row_by_row(held_by: Sequence[int], values: Sequence[int], rows: int, columns: int) -> list[list[int]]:
    """Indices that go down columns, each the sum of its thread's and its value's, as ones that go along rows."""
    return [[(h + w) % rows * columns + (h + w) // rows for w in values] for h in held_by]


def require_rule(color_by: object, whose: str) -> None:
    """RangeError for a rule of colours that is not of threads and values."""
    if color_by not in ("thread", "value"):
        raise RangeError(f"color_by {color_by!r:.60} of {whose}", "thread or value", "write color_by='thread'")


def checked_thread(x: object, thread: object, present: set[int]) -> int:
    n = known(thread) if is_int(thread) else None
    if n is None or int(n) not in present:
        expected = f"one of its {len(present)} threads"
        raise RangeError(f"thread {shown(thread)} of {shown(x)}", expected, f"write thread={min(present)}")
    return int(n)


def caption_of(color_by: str, thread: int | None) -> str:
    """The caption of a drawing by threads. thread: the one whose cells alone have colours; None for all."""
    return f"colours: {color_by}s" if thread is None else f"colours, and a star: thread {thread}"


def grids_of(
    tiles: Sequence[Held], color_by: str, thread: int | None, limit: int
) -> tuple[tuple[Grid, ...], list[str]]:
    """The grids of tiles; of more cells than `limit` in all their corners, and a note of that."""
    cut = sum(held.rows * held.columns for held in tiles) > limit
    note = [f"of each the first {CORNER[0]} rows and {CORNER[1]} columns at most"] if cut else []
    return tuple(grid_of(held, color_by, thread, cut) for held in tiles), note


def grid_of(held: Held, color_by: str, thread: int | None, cut: bool) -> Grid:
    """The grid of a tile: the first thread of each cell by number, and how many more there are."""
    rows, columns = (min(n, most) if cut else n for n, most in zip((held.rows, held.columns), CORNER))
    holders: dict[int, list[tuple[int, int]]] = {}
    for lane, places in sorted(zip(held.lanes, held.places)):
        for value, place in enumerate(places):
            holders.setdefault(place, []).append((lane, value))
    cells = tuple(
        tuple(_cell(holders.get(i * held.columns + j, []), held.named, color_by, thread) for j in range(columns))
        for i in range(rows)
    )
    axes = [_axis(n, b) for n, b in zip((rows, columns), held.blocks)]
    return Grid(axes[0], axes[1], cells, held.title)


def _axis(count: int, block: int) -> Axis:
    borders = levels(range(count), [block] if 0 < block < count else [])
    return Axis(tuple((str(i),) for i in range(count)), tuple(borders))


def _cell(holders: list[tuple[int, int]], named: bool, color_by: str, thread: int | None) -> Cell:
    own = next((x for x in holders if x[0] == thread), None)
    if not holders:
        return Cell("")
    lane, value = own or holders[0]
    if not named:
        return Cell(f"V{value}", tint(value) if color_by == "value" else None)
    star = "*" if own and thread is not None else ""
    text = f"T{lane}\nV{value}{star}" + (f"\n+{len(holders) - 1}" if len(holders) > 1 else "")
    return Cell(text, tint(lane if color_by == "thread" else value) if thread is None or own else None)
