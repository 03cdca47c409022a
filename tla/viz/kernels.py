"""Atoms, tiled MMAs, tiled copies and linear layouts drawn: which thread holds each element.

Source: CuTe include/cute/util/print_latex.hpp, print_latex of a TiledMMA and of a TiledCopy.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

from ..algebra.codomain import cosize
from ..core.element import uint1, uint4, uint8, uint16, uint32
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, printable
from ..core.int_tuple import shown, size
from ..core.ints import Int
from ..core.layout import Layout
from ..core.make_layout import MakeLayout
from ..gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA, make_tiled_mma
from ..gpu.tiled.tiled_mma import MODES
from ..linear import LinearLayout
from .drawing import Drawing
from .scene import Figure
from .threads import Held, caption_of, checked_thread, grids_of, require_rule, row_by_row

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


def drawn(x: Any, *, color_by: str, title: str | None, limit: int, thread: int | str | None) -> Drawing:
    """The drawing of an atom, a TiledMMA, a TiledCopy or a LinearLayout, as draw makes it.

    color_by   "thread" or "value"
    thread     the one whose cells alone have colours, and a star; None for all
    """
    require_rule(color_by, shown(x))
    if isinstance(x, (TiledCopy, CopyAtom)):
        tables, more, notes = _of_copy(x)
    else:
        tables, more, notes = _of_linear(x) if isinstance(x, LinearLayout) else _of_mma(x)
    chosen = None if thread is None else checked_thread(x, thread, {n for held in tables for n in held.lanes})
    grids, cut = grids_of([*tables, *more], color_by, chosen, limit)
    first = grids[: len(tables)]
    name = printable(title if title is not None else _named(x))
    figures = [Figure(name, tuple(map(printable, [*notes, *cut])), first, 2 if len(first) == 3 else 0)]
    figures += [Figure(grid.title, (), (grid._replace(title=""),)) for grid in grids[len(tables) :]]
    return Drawing(tuple(figures), (), caption_of(color_by, chosen))


def _require_few(x: Any, count: int, what: str) -> None:
    """RangeError for what takes seconds to draw."""
    if count > 1 << MAX_BITS:
        fix = f"draw its atom, {x.atom.name}, or a tile of fewer: what is beside it is the same again"
        raise RangeError(f"draw of {shown(x)}, {what}", f"{1 << MAX_BITS} elements at most", fix)


# ------------------------------------------------------------------------------------------------------------- MMA


def _of_mma(x: TiledMMA | MMAAtom) -> tuple[list[Held], list[Held], list[str]]:
    """B, A and C, then what else the atom's registers hold; and notes."""
    mma = make_tiled_mma(x) if isinstance(x, MMAAtom) else x
    atom = mma.atom
    also = [name for name in ("E", "SFA", "SFB") if getattr(atom, name) is not None]
    m, n, k = map(int, mma.tile_size)
    _require_few(x, m * n + n * k + k * m, f"a tile of {m} x {n} x {k}")
    what = "SMs" if atom.instruction.startswith("tcgen05") else "threads"
    notes = [f"{_counted(mma.threads, what)}, M x N x K of {m} x {n} x {k}", *filter(None, [atom.instruction])]
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
    memory = atom.memory(name) == "smem"
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
    return Held(where, first, second, lanes, row_by_row(held_by, values, first, second), (step[0], step[1]), not memory)


# ------------------------------------------------------------------------------------------------------------ copy


def _of_copy(x: TiledCopy | CopyAtom) -> tuple[list[Held], list[Held], list[str]]:
    """Source and destination, and notes."""
    if isinstance(x, TiledCopy):
        extents = [int(size(t)) for t in x.tiler_mn]
        rows, columns = (1, extents[0]) if len(extents) == 1 else (extents[0], math.prod(extents[1:]))
        _require_few(x, x.threads * int(size(x.TV[1])), f"{_counted(x.threads)} of {size(x.TV[1])} values")
        sides = {"source": x.S_TV, "destination": x.D_TV}
        tables = [_side(f"{name} (M,N)", tv, None, rows, columns, down=True) for name, tv in sides.items()]
        tile = f"{_counted(x.threads)}, a tile of {' x '.join(map(str, extents))}"
        return tables, [], [tile, x.atom.instruction or x.atom.name]
    typed = x if x.val_type is not None else _in_units(x)
    sides = {"source": typed.val_src, "destination": typed.val_dst}
    elements = max(int(cosize(tv)) for tv in sides.values())  # several threads may have one
    lanes = _TMEM_LANES.search(x.name)
    columns = elements // int(lanes[1]) if lanes else max(int(size(tv[1])) for tv in sides.values())
    tables = [_side(name, tv, typed.thr_id, -(-elements // columns), columns, down=False) for name, tv in sides.items()]
    assert typed.val_type is not None
    unit = f"units of {typed.val_type.bits} bits" if x.val_type is None else f"elements of {typed.val_type}"
    order = "a row is a lane" if lanes else "row after row"
    held = f"{_counted(int(size(x.thr_id)))}, {elements} {unit}, {order}"
    return tables, [], [held, *filter(None, [x.instruction])]


def _in_units(x: CopyAtom) -> CopyAtom:
    """The atom with elements as wide as leave each thread's part whole."""
    for unit in _UNITS:
        try:
            return x[unit]
        except DivisibilityError:
            continue
    what = f"draw of {x!r}, which copies no whole elements"
    raise LeafTypeError(what, "a copy atom of an element type", "write Copy_Atom[atom, half]")


def _side(title: str, tv: Layout, ids: Layout | None, rows: int, columns: int, *, down: bool) -> Held:
    """A side of a copy. down: whether an index of the tile goes down its rows first."""
    held_by, values = ([int(tv[k](n)) for n in range(int(size(tv[k])))] for k in (0, 1))
    lanes = [n if ids is None else int(ids(n)) for n in range(len(held_by))]
    places = row_by_row(held_by, values, rows, columns) if down else [[h + w for w in values] for h in held_by]
    return Held(title, rows, columns, lanes, places, named=len({*held_by}) > 1 or len(held_by) == 1)


# ---------------------------------------------------------------------------------------------------------- linear


def _of_linear(x: LinearLayout) -> tuple[list[Held], list[Held], list[str]]:
    """A linear layout of registers, lanes, warps and blocks: its last dimension across, the others down."""
    if {*x.get_in_dim_names()} - {"register", *_THREADS}:
        what = f"draw of a linear layout of {', '.join(x.get_in_dim_names())}"
        fix = "write draw(tla.linear.layout_of(layout.invert())) of one of shared memory"
        raise LeafTypeError(what, "inputs register, lane, warp, block", fix)
    if (bits := x.get_total_in_dim_size_log2()) > MAX_BITS:
        what = f"draw of a linear layout of 2**{bits} registers in all"
        raise RangeError(what, f"2**{MAX_BITS} at most", "draw that of a smaller tensor")
    sizes = [*x.out_dims.values()]
    # sizes are powers of two: coordinates share no bits of an index
    weights = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
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
