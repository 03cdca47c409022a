"""Atoms, tiled MMAs and tiled copies drawn: which thread holds each element of A, B and C, of source and destination.

Source: CuTe include/cute/util/print_latex.hpp, print_latex of a TiledMMA and of a TiledCopy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.element import uint1, uint4, uint8, uint16, uint32
from ..core.errors import DivisibilityError, LeafTypeError, RangeError
from ..core.int_tuple import product, product_each, shown, size
from ..core.ints import Int, is_int, known
from ..core.layout import Layout
from ..core.make_layout import MakeLayout
from ..gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA, make_tiled_mma
from ..gpu.tiled_mma import MODES
from .colours import tint
from .drawable import CORNER, levels
from .drawing import Drawing
from .scene import Axis, Cell, Figure, Grid, clean

if TYPE_CHECKING:
    import numpy.typing as npt

#: What is drawn by its threads.
KINDS = (TiledMMA, TiledCopy, MMAAtom, CopyAtom)
#: Elements that a copy of bits is drawn in, the widest that are whole.
_UNITS = (uint32, uint16, uint8, uint4, uint1)


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
    lanes: npt.NDArray[Any]
    places: npt.NDArray[Any]
    blocks: tuple[int, int] = (0, 0)
    named: bool = True


def draw_kernel(x: Any, *, color_by: str, title: str | None, limit: int, thread: Any) -> Drawing:
    """The drawing of an atom, a TiledMMA or a TiledCopy, as draw makes it.

    color_by   "thread" or "value"
    thread     the one whose cells alone have colours, and a star; None for all
    """
    if color_by not in ("thread", "value"):
        raise RangeError(f"color_by {color_by!r:.60} of {shown(x)}", "thread or value", "write color_by='thread'")
    tables, more, notes = _of_copy(x) if isinstance(x, (TiledCopy, CopyAtom)) else _of_mma(x)
    chosen = None if thread is None else _checked_thread(x, thread, {n for held in tables for n in held.lanes.tolist()})
    cut = sum(held.rows * held.columns for held in (*tables, *more)) > limit
    notes += [f"of each the first {CORNER[0]} rows and {CORNER[1]} columns at most"] if cut else []
    first, rest = ([_grid(held, color_by, chosen, cut) for held in found] for found in (tables, more))
    name = clean(title if title is not None else x.name if isinstance(x, (MMAAtom, CopyAtom)) else repr(x))
    figures = [Figure(name, tuple(map(clean, notes)), tuple(first), 2 if len(first) == 3 else 0)]
    figures += [Figure(grid.title, (), (grid._replace(title=""),)) for grid in rest]
    return Drawing(tuple(figures), (), f"colours: {color_by}s" if chosen is None else f"colours, and a star: thread {chosen}")


def _checked_thread(x: Any, thread: Any, present: set[int]) -> int:
    n = known(thread) if is_int(thread) else None
    if n is None or int(n) not in present:
        raise RangeError(f"thread {shown(thread)} of {shown(x)}", f"one of its {len(present)} threads", f"write thread={min(present)}")
    return int(n)


# ------------------------------------------------------------------------------------------------------------- MMA


def _of_mma(x: TiledMMA | MMAAtom) -> tuple[list[Held], list[Held], list[str]]:
    """B, A and C, then what else the atom's registers hold; and notes."""
    mma = make_tiled_mma(x) if isinstance(x, MMAAtom) else x
    atom = mma.atom
    also = [name for name in ("E", "SFA", "SFB") if getattr(atom, name) is not None]
    m, n, k = map(int, mma.tile_size)
    what = "SMs" if atom.instruction.startswith("tcgen05") else "threads"
    notes = [f"{_counted(mma.threads, what)}, M x N x K of {m} x {n} x {k}", *([atom.instruction] if atom.instruction else [])]
    return [_operand(mma, name) for name in "BAC"], [_operand(mma, name) for name in also], notes


def _counted(n: int, what: str = "threads") -> str:
    return f"{n} {what if n != 1 else what[:-1]}"


def _operand(mma: TiledMMA, name: str) -> Held:
    """An operand: A and C row after row, B with K down, so that a row of A meets a column of B."""
    import numpy as np

    i, j = MODES[name]
    atom, vmnk = mma.atom, mma.thr_layout_vmnk
    first, second = int(mma.tile_size[i]), int(mma.tile_size[j]) * atom.blocks
    modes = (*(mma.tile_size[k] for k in (i, j)), *([Int[atom.blocks]()] if atom.blocks > 1 else []))
    frg = mma.thrfrg(name, MakeLayout(modes))
    memory = isinstance(getattr(atom, f"frg_{name}", None), str) and "desc" in getattr(atom, f"frg_{name}")
    counts = [int(size(mode)) for mode in vmnk]
    v, *among = (g.ravel() for g in np.indices([1, *counts[1:]] if memory and counts[0] > 2 else counts))
    lanes = vmnk(v + counts[0] * (among[0] + counts[1] * (among[1] + counts[2] * among[2])))
    held_by = frg[0](v, among[i] + counts[i + 1] * among[j])
    index = held_by[:, None] + frg[1](np.arange(int(size(frg[1]))))[None]
    rows, columns = index % first, index // first
    step = tuple(0 if isinstance(mma.permutations[k], Layout) else int(atom.shape_mnk[k]) for k in (i, j))
    where = f"{name} {'in shared memory ' if memory else ''}({','.join('MNK'[k] for k in (i, j))})"
    if i == 1:  # B
        return Held(f"{where}, K down", second, first, lanes, columns * first + rows, (step[1], step[0]), not memory)
    return Held(where, first, second, lanes, rows * second + columns, (step[0], step[1]), not memory)


# ------------------------------------------------------------------------------------------------------------ copy


def _of_copy(x: TiledCopy | CopyAtom) -> tuple[list[Held], list[Held], list[str]]:
    """Source and destination, and notes."""
    if isinstance(x, TiledCopy):
        extents = [int(n) for n in product_each(MakeLayout(tuple(product_each(_shape(t)) for t in x.tiler_mn)).shape)]
        rows, columns = (1, extents[0]) if len(extents) == 1 else (extents[0], math.prod(extents[1:]))
        tables = [
            _side(f"{name} (M,N)", x_tv, None, rows, columns, down=True) for name, x_tv in (("source", x.S_TV), ("destination", x.D_TV))
        ]
        return tables, [], [f"{_counted(x.threads)}, a tile of {' x '.join(map(str, extents))}", x.atom.instruction or x.atom.name]
    typed = x if x.val_type is not None else _in_units(x)
    columns = max(int(size(typed.val_src[1])), int(size(typed.val_dst[1])))
    elements = int(size(typed.val_ref))
    rows = -(-elements // columns)
    sides = {"source": typed.val_src, "destination": typed.val_dst}
    tables = [_side(name, tv, typed.thr_id, rows, columns, down=False) for name, tv in sides.items()]
    unit = f"elements of {typed.val_type}" if x.val_type is not None else f"units of {typed.val_type.bits} bits" if typed.val_type else ""
    return tables, [], [f"{_counted(int(size(x.thr_id)))}, {elements} {unit}, row after row", *([x.instruction] if x.instruction else [])]


def _shape(tile: Any) -> Any:
    return (product(tile.shape),) if isinstance(tile, Layout) else (tile,)


def _in_units(x: CopyAtom) -> CopyAtom:
    """The atom with elements as wide as leave each thread's part whole."""
    for unit in _UNITS:
        try:
            return x[unit]
        except DivisibilityError:
            continue
    raise LeafTypeError(f"draw of {x!r}, which copies no whole elements", "a copy atom of an element type", "write Copy_Atom[atom, half]")


def _side(title: str, tv: Layout, ids: Layout | None, rows: int, columns: int, *, down: bool) -> Held:
    """A side of a copy. down: whether an index of the tile goes down its rows first."""
    import numpy as np

    threads, values = (int(size(tv[k])) for k in (0, 1))
    t, v = np.ogrid[:threads, :values]
    index = np.broadcast_to(tv(t, v), (threads, values))
    lanes = np.arange(threads) if ids is None else ids(np.arange(threads))
    return Held(title, rows, columns, lanes, index % rows * columns + index // rows if down else index)


# ------------------------------------------------------------------------------------------------------------ cells


def _grid(held: Held, color_by: str, thread: int | None, cut: bool) -> Grid:
    """The grid of a tile: the first thread of each cell by number, and how many more there are."""
    rows, columns = (min(n, most) if cut else n for n, most in zip((held.rows, held.columns), CORNER))
    holders: dict[int, list[tuple[int, int]]] = {}
    for lane, places in sorted(zip(held.lanes.tolist(), held.places.tolist())):
        for value, place in enumerate(places):
            holders.setdefault(place, []).append((lane, value))
    cells = tuple(
        tuple(_cell(holders.get(i * held.columns + j, []), held.named, color_by, thread) for j in range(columns)) for i in range(rows)
    )
    axes = [_axis(n, b) for n, b in zip((rows, columns), held.blocks)]
    return Grid(axes[0], axes[1], cells, held.title)


def _axis(count: int, block: int) -> Axis:
    return Axis(tuple((str(i),) for i in range(count)), tuple(levels(range(count), [block] if 0 < block < count else [])))


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
