"""Layouts made for a purpose: in an order, over a whole shape, of a part, and the places of tiled instructions.

Source: tensor-layouts 0.3.2, layout_utils.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..door import guard
from .layouts import (
    IntTuple,
    Layout,
    LayoutError,
    as_tuple,
    blocked_product,
    flatten,
    is_int,
    normalize,
    product_each,
    rank,
    right_inverse,
    size,
    unflatten,
)
from .modes import modes

if TYPE_CHECKING:
    from .atoms import MMAAtom

#: The row and column of a tile, and the thread, value and thread among those that take part of each.
Grid = dict[tuple[int, int], tuple[int, int, int]]


def round_up(a: int, b: int) -> int:
    return -(-a // b) * b


def make_ordered_layout(shape: IntTuple, order: tuple[int, ...] | None = None) -> Layout:
    """A compact layout whose modes get faster in this order: the first one named is the fastest.

    >>> make_ordered_layout((2, 3, 4), (2, 0, 1)), make_ordered_layout((4, 8))
    (Layout((2, 3, 4), (4, 8, 1)), Layout((4, 8), (1, 4)))
    """
    extents = as_tuple(shape)
    order = tuple(range(len(extents))) if order is None else tuple(order)
    if sorted(order) != [*range(len(extents))]:
        what = f"the order {order} of {shape}"
        raise LayoutError(what, f"a permutation of {tuple(range(len(extents)))}", "name each mode once")
    strides, step = [0] * len(extents), 1
    for i in order:
        strides[i], step = step, step * extents[i]
    return Layout(shape, strides[0] if is_int(shape) else tuple(strides))


def tile_to_shape(layout: Layout, target_shape: IntTuple, order: tuple[int, ...] | None = None) -> Layout:
    """A layout repeated until it covers a shape.

    >>> tile_to_shape(Layout((2, 3)), (8, 6))
    Layout(((2, 4), (3, 2)), ((1, 6), (2, 24)))
    """
    block, target = product_each(layout.shape), product_each(normalize(target_shape))
    if len(block) != len(target):
        what = f"{layout} to the shape {target_shape}"
        raise LayoutError(what, "the same number of top-level modes", f"give {len(block)} extents")
    times = tuple(-(-t // b) for t, b in zip(target, block))
    found: Layout = blocked_product(layout, make_ordered_layout(times, order))
    return found


def make_layout_like(layout: Layout, tiler: Any) -> Layout:
    """A layout of a tiler's shape with the strides of another, as many as it needs of its first ones.

    >>> make_layout_like(Layout((2, 3, 5, 7)), (2, 3))
    Layout((2, 3), (1, 2))
    """
    shape = tiler.shape if isinstance(tiler, Layout) else normalize(tiler)
    strides, needed = as_tuple(flatten(layout).stride), len(flatten(shape))
    if needed > len(strides):
        what = f"{shape} with the strides of {layout}"
        raise LayoutError(what, f"no more flat modes than {len(strides)}", "give a shorter shape")
    return Layout(shape, strides[0] if is_int(shape) else unflatten(strides[:needed], shape))


def tile_mma_grid(
    atom: MMAAtom, atom_layout: Layout, matrix: str = "C", tile_mnk: tuple[int, int, int] | None = None
) -> tuple[Grid, Any]:
    """The threads and values that hold each place of an operand, where instructions lie beside each other;
    and the tile's shape.

    atom_layout  the number of the instruction at (m, n)
    matrix       A, B or C
    tile_mnk     the whole tile, a multiple of what the instructions cover at once

    Source: CuTe make_tiled_mma.
    """
    if matrix not in ("A", "B", "C"):
        raise LayoutError(f"the matrix {matrix!r}", "'A', 'B' or 'C'", "name an operand")
    natural = _covered(atom, atom_layout)
    tile = natural if tile_mnk is None else tuple(tile_mnk)
    for axis, n, whole in zip("MNK", natural, tile):
        if whole < n or whole % n:
            what = f"tile_mma_grid: {axis} = {whole}"
            raise LayoutError(what, f"an exact multiple of {n}", "give whole instructions")
    m, n, k = (whole // n for n, whole in zip(natural, tile))
    base, (rows, columns) = _one_tile(atom, atom_layout, matrix)
    down, across = {"A": (m, k), "B": (n, k), "C": (m, n)}[matrix]
    values = size(modes(_operand(atom, matrix))[1])
    return {
        (row + r * rows, column + c * columns): (thread, value + (r * across + c) * values, logical)
        for r in range(down)
        for c in range(across)
        for (row, column), (thread, value, logical) in base.items()
    }, tile


def _operand(atom: MMAAtom, matrix: str) -> Layout:
    found: Layout = {"A": atom.a_layout, "B": atom.b_layout, "C": atom.c_layout}[matrix]
    return found


def _covered(atom: MMAAtom, atom_layout: Layout) -> tuple[int, int, int]:
    m, n = (*product_each(atom_layout.shape), 1)[:2]
    return atom.shape_mnk[0] * m, atom.shape_mnk[1] * n, atom.shape_mnk[2]


def _one_tile(atom: MMAAtom, atom_layout: Layout, matrix: str) -> tuple[Grid, tuple[int, int]]:
    """The places that the instructions cover at once, and how many rows and columns these are."""
    m, n, k = atom.shape_mnk
    rows, columns = {"A": (m, k), "B": (n, k), "C": (m, n)}[matrix]
    atoms_m, atoms_n = (*product_each(atom_layout.shape), 1)[:2]
    down, across = {"A": (atoms_m, 1), "B": (atoms_n, 1), "C": (atoms_m, atoms_n)}[matrix]
    threads, values = modes(_operand(atom, matrix))
    # lanes beside each other
    step = size(modes(atom.c_layout)[0]) if atom.thr_id is None else size(right_inverse(atom.thr_id))
    grid: Grid = {}
    for i in range(down):
        for j in range(across):
            at = i if rank(atom_layout) == 1 else atom_layout({"A": (i, 0), "B": (0, i), "C": (i, j)}[matrix])
            for t in range(size(threads)):
                lane = (t if atom.thr_id is None else atom.thr_id(t)) + at * step
                for v in range(size(values)):
                    column, row = divmod(threads(t) + values(v), rows)
                    grid[row + i * rows, column + j * columns] = lane, v, t + at * size(threads)
    return grid, (down * rows, across * columns)


guard(globals())
