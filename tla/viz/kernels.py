"""Atoms, tiled MMAs, tiled copies and linear layouts drawn: which thread holds each element of A, B and C, of source and destination.

Source: CuTe include/cute/util/print_latex.hpp, print_latex of a TiledMMA and of a TiledCopy.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algebra.codomain import cosize
from ..core.element import uint1, uint4, uint8, uint16, uint32
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, printable
from ..core.int_tuple import product, product_each, shown, size
from ..core.ints import Int, IntLike, Leaf, is_int, known
from ..core.layout import Layout
from ..core.make_layout import MakeLayout
from ..gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA, make_tiled_mma
from ..gpu.tiled.tiled_mma import MODES
from ..linear import LinearLayout
from .colours import tint
from .drawable import CORNER, levels
from .drawing import Drawing
from .scene import Axis, Cell, Figure, Grid

#: What is drawn by its threads.
KINDS = (TiledMMA, TiledCopy, MMAAtom, CopyAtom, LinearLayout)
#: The inputs of a linear layout that are threads, the fastest first.
_THREADS = ("lane", "warp", "block")
#: Of a linear layout no more registers of all threads are drawn than 2 to this, and of others no more values.
MAX_BITS = 18
#: So many lanes of tensor memory an instruction reaches, as CuTe's name of it says.
_TMEM_LANES = re.compile(r"_TMEM_.*_([0-9]+)dp")
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
    lanes: list[int]
    places: list[list[int]]
    blocks: tuple[int, int] = (0, 0)
    named: bool = True


def drawn(x: Any, *, color_by: str, title: str | None, limit: int, thread: int | str | None) -> Drawing:
    """The drawing of an atom, a TiledMMA, a TiledCopy or a LinearLayout, as draw makes it.

    color_by   "thread" or "value"
    thread     the one whose cells alone have colours, and a star; None for all
    """
    if color_by not in ("thread", "value"):
        raise RangeError(f"color_by {color_by!r:.60} of {shown(x)}", "thread or value", "write color_by='thread'")
    if isinstance(x, (TiledCopy, CopyAtom)):
        tables, more, notes = _of_copy(x)
    else:
        tables, more, notes = _of_linear(x) if isinstance(x, LinearLayout) else _of_mma(x)
    chosen = None if thread is None else checked_thread(x, thread, {n for held in tables for n in held.lanes})
    cut = sum(held.rows * held.columns for held in (*tables, *more)) > limit
    notes += [f"of each the first {CORNER[0]} rows and {CORNER[1]} columns at most"] if cut else []
    first, rest = ([grid_of(held, color_by, chosen, cut) for held in found] for found in (tables, more))
    name = printable(title if title is not None else _named(x))
    figures = [Figure(name, tuple(map(printable, notes)), tuple(first), 2 if len(first) == 3 else 0)]
    figures += [Figure(grid.title, (), (grid._replace(title=""),)) for grid in rest]
    return Drawing(tuple(figures), (), f"colours: {color_by}s" if chosen is None else f"colours, and a star: thread {chosen}")


def _require_few(x: Any, count: int, what: str) -> None:
    """RangeError for what takes seconds to draw."""
    if count > 1 << MAX_BITS:
        fix = f"draw its atom, {x.atom.name}, or a tile of fewer: what is beside it is the same again"
        raise RangeError(f"draw of {shown(x)}, {what}", f"{1 << MAX_BITS} elements at most", fix)


def checked_thread(x: Any, thread: object, present: set[int]) -> int:
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
    _require_few(x, m * n + n * k + k * m, f"a tile of {m} x {n} x {k}")
    what = "SMs" if atom.instruction.startswith("tcgen05") else "threads"
    notes = [f"{_counted(mma.threads, what)}, M x N x K of {m} x {n} x {k}", *([atom.instruction] if atom.instruction else [])]
    return [_operand(mma, name) for name in "BAC"], [_operand(mma, name) for name in also], notes


def _counted(n: int, what: str = "threads") -> str:
    return f"{n} {what if n != 1 else what[:-1]}"


def _operand(mma: TiledMMA, name: str) -> Held:
    """An operand: A and C row after row, B with K down, so that a row of A meets a column of B."""
    i, j = MODES[name]
    atom, vmnk = mma.atom, mma.thr_layout_vmnk
    first, second = int(mma.tile_size[i]), int(mma.tile_size[j]) * atom.blocks
    modes = (*(mma.tile_size[k] for k in (i, j)), *([Int[atom.blocks]()] if atom.blocks > 1 else []))
    frg = mma.thrfrg(name, MakeLayout(modes))
    memory = isinstance(getattr(atom, f"frg_{name}", None), str) and "desc" in getattr(atom, f"frg_{name}")
    counts = [int(size(mode)) for mode in vmnk]
    lanes, held_by = list[int](), list[int]()
    for v, *among in itertools.product(*map(range, (1, *counts[1:]) if memory and counts[0] > 2 else counts)):
        lanes.append(int(vmnk(v + counts[0] * (among[0] + counts[1] * (among[1] + counts[2] * among[2])))))
        held_by.append(int(frg[0](v, among[i] + counts[i + 1] * among[j])))
    values = [int(frg[1](k)) for k in range(int(size(frg[1])))]
    step = tuple(0 if isinstance(mma.permutations[k], Layout) else int(atom.shape_mnk[k]) for k in (i, j))
    where = f"{name} {'in shared memory ' if memory else ''}({','.join('MNK'[k] for k in (i, j))})"
    if i == 1:  # B
        places = [[h + w for w in values] for h in held_by]
        return Held(f"{where}, K down", second, first, lanes, places, (step[1], step[0]), not memory)
    return Held(where, first, second, lanes, _row_by_row(held_by, values, first, second), (step[0], step[1]), not memory)


def _row_by_row(held_by: Sequence[int], values: Sequence[int], rows: int, columns: int) -> list[list[int]]:
    """Indices that go down the columns, each the sum of its thread's and its value's, as indices that go along the rows."""
    return [[(h + w) % rows * columns + (h + w) // rows for w in values] for h in held_by]


# ------------------------------------------------------------------------------------------------------------ copy


def _of_copy(x: TiledCopy | CopyAtom) -> tuple[list[Held], list[Held], list[str]]:
    """Source and destination, and notes."""
    if isinstance(x, TiledCopy):
        extents = [int(n) for n in product_each(MakeLayout(tuple(product_each(_shape(t)) for t in x.tiler_mn)).shape)]
        rows, columns = (1, extents[0]) if len(extents) == 1 else (extents[0], math.prod(extents[1:]))
        _require_few(x, x.threads * int(size(x.TV[1])), f"{_counted(x.threads)} of {size(x.TV[1])} values")
        tables = [
            _side(f"{name} (M,N)", x_tv, None, rows, columns, down=True) for name, x_tv in (("source", x.S_TV), ("destination", x.D_TV))
        ]
        return tables, [], [f"{_counted(x.threads)}, a tile of {' x '.join(map(str, extents))}", x.atom.instruction or x.atom.name]
    typed = x if x.val_type is not None else _in_units(x)
    sides = {"source": typed.val_src, "destination": typed.val_dst}
    elements = max(int(cosize(tv)) for tv in sides.values())  # several threads may have one
    lanes = _TMEM_LANES.search(x.name)
    columns = elements // int(lanes[1]) if lanes else max(int(size(tv[1])) for tv in sides.values())
    tables = [_side(name, tv, typed.thr_id, -(-elements // columns), columns, down=False) for name, tv in sides.items()]
    unit = f"elements of {typed.val_type}" if x.val_type is not None else f"units of {typed.val_type.bits} bits" if typed.val_type else ""
    order = "a row is a lane" if lanes else "row after row"
    return tables, [], [f"{_counted(int(size(x.thr_id)))}, {elements} {unit}, {order}", *([x.instruction] if x.instruction else [])]


def _shape(tile: IntLike) -> tuple[Leaf, ...]:
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
    held_by, values = ([int(tv[k](n)) for n in range(int(size(tv[k])))] for k in (0, 1))
    lanes = [n if ids is None else int(ids(n)) for n in range(len(held_by))]
    places = _row_by_row(held_by, values, rows, columns) if down else [[h + w for w in values] for h in held_by]
    return Held(title, rows, columns, lanes, places, named=len({*held_by}) > 1 or len(held_by) == 1)


# ---------------------------------------------------------------------------------------------------------- linear


def _of_linear(x: LinearLayout) -> tuple[list[Held], list[Held], list[str]]:
    """A linear layout of registers, lanes, warps and blocks: its last dimension across, the others down."""
    if {*x.get_in_dim_names()} - {"register", *_THREADS}:
        what = f"draw of a linear layout of {', '.join(x.get_in_dim_names())}"
        fix = "write draw(tla.linear.layout_of(layout.invert())) of one of shared memory"
        raise LeafTypeError(what, "inputs register, lane, warp, block", fix)
    if (bits := x.get_total_in_dim_size_log2()) > MAX_BITS:
        raise RangeError(
            f"draw of a linear layout of 2**{bits} registers in all", f"2**{MAX_BITS} at most", "draw that of a smaller tensor"
        )
    sizes = [*x.out_dims.values()]
    weights = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]  # sizes are powers of two: coordinates share no bits of an index
    ends = {name: [sum(c * w for c, w in zip(v, weights)) for v in vectors] for name, vectors in x.bases.items()}
    held_by = _sums([end for name in _THREADS for end in ends.get(name, [])])
    values = _sums(ends.get("register", []))
    rows, columns = math.prod(sizes[:-1]), sizes[-1] if sizes else 1
    held = Held("", rows, columns, [*range(len(held_by))], [[h ^ w for w in values] for h in held_by])
    counts = [_counted(x.get_in_dim_size(name), f"{name}s") for name in ("register", *_THREADS) if x.has_in_dim(name)]
    return [held], [], [", ".join(counts)]


def _sums(bases: Sequence[int]) -> list[int]:
    """The xor of the bases of each number's bits."""
    found = [0]
    for base in bases:
        found += [n ^ base for n in found]
    return found


def _named(x: Any) -> str:
    if isinstance(x, LinearLayout):
        return f"a linear layout of {' x '.join(map(str, x.out_dims.values()))}"
    return str(x.name) if isinstance(x, (MMAAtom, CopyAtom)) else repr(x)


# ------------------------------------------------------------------------------------------------------------ cells


def grid_of(held: Held, color_by: str, thread: int | None, cut: bool) -> Grid:
    """The grid of a tile: the first thread of each cell by number, and how many more there are."""
    rows, columns = (min(n, most) if cut else n for n, most in zip((held.rows, held.columns), CORNER))
    holders: dict[int, list[tuple[int, int]]] = {}
    for lane, places in sorted(zip(held.lanes, held.places)):
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
