"""Thread-value layouts drawn: who holds each element of a tile."""

from __future__ import annotations

from typing import Any

from ..core.errors import RangeError, RankError, printable
from ..core.int_tuple import modes_of, shown
from ..core.ints import IntTree, is_int, known
from .colours import tint
from .drawable import LIMIT, Subject, as_subject, view
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
        raise RankError(f"draw_threads of a tile {shown(tile)}", "two positive integers", "give its rows and columns, as in tile=(16, 8)")
    if color_by not in ("thread", "value"):
        raise RangeError(f"color_by {color_by!r:.60} of threads", "thread or value", "write color_by='thread'")
    if len(modes_of(subject.layout.shape)) != 2:
        raise RankError(f"draw_threads of {shown(subject.layout)}", "two modes, thread and value", "group its modes first")
    return Drawing((_threads(subject, extents, color_by),), (), f"colours: {color_by}s")


def _threads(subject: Subject, tile: tuple[int, int], color_by: str) -> Figure:
    """The figure of a tile, each cell with the threads and values that hold it."""
    seen, count = view(subject, (0, 1), LIMIT), tile[0] * tile[1]
    if not seen.is_whole:
        raise RangeError(f"draw_threads of {shown(subject.layout)}: more than {LIMIT} pairs", f"{LIMIT} at most", "draw fewer threads")
    if count > LIMIT:
        raise RangeError(f"draw_threads of a tile {shown(tile)}", f"{LIMIT} elements at most", "draw a smaller one")
    holders: dict[Any, list[tuple[int, int]]] = {}
    for (thread, value), element in zip(seen.coords, seen.values):
        if isinstance(element, str) or not 0 <= element < count:
            what = f"value {value} of thread {thread} of {shown(subject.layout)} is {element}"
            raise RangeError(what, f"an element of the tile {shown(tile)}: 0 to {count - 1}", "give the tile that the layout covers")
        holders.setdefault(element, []).append((thread, value))
    chosen = 0 if color_by == "thread" else 1
    cells = tuple(tuple(_held(holders.get(i + j * tile[0], []), chosen) for j in range(tile[1])) for i in range(tile[0]))
    axes = [Axis(tuple((str(i),) for i in range(n)), (0,) * n) for n in tile]
    return Figure(printable(subject.title), (f"threads and values in {tile[0]} x {tile[1]}",), (Grid(axes[0], axes[1], cells),))


def _held(holders: list[tuple[int, int]], chosen: int) -> Cell:
    if not holders:
        return Cell("")
    (thread, value), more = holders[0], len(holders) - 1
    return Cell(f"T{thread}\nV{value}" + (f"\n+{more}" if more else ""), tint(holders[0][chosen]))
