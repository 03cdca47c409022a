"""Layouts of sizes that are powers of two as matrices over the field of two elements, and back.

Source: tensor-layouts 0.3.2, analysis.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..door import guard
from .layouts import (
    ComposedLayout,
    IntTuple,
    Layout,
    LayoutError,
    LayoutExpr,
    Swizzle,
    UnsupportedComposedLayoutError,
    as_layout_expr,
    flatten,
    is_tuple,
    size,
    unflatten,
)

#: Rows of 0 and 1: a row for each bit of an offset, a column for each bit of an index.
Matrix = list[list[int]]


def to_F2_matrix(layout: LayoutExpr) -> Matrix:
    """The matrix of a layout: the bits of an offset from those of an index, the lowest first.

    >>> to_F2_matrix(Layout((2, 4), (4, 1))), to_F2_matrix(ComposedLayout(Swizzle(1, 0, 1), Layout(4)))
    ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[1, 1], [0, 1]])

    Each element is compared with what the matrix says. LayoutError for extents that are no powers of two, and for
    layouts that are no such map.
    """
    found = as_layout_expr(layout)
    extents = [n for n in flatten(found.shape) if n & (n - 1) or n < 1]
    if extents:
        raise LayoutError(f"the extent {extents[0]} of {found} is not a power of 2", "powers of two", "pad it")
    offsets = [found(i) for i in range(size(found))]
    if min(offsets) < 0:
        what = f"to_F2_matrix does not support negative strides: {found}"
        raise LayoutError(what, "strides of 0 or more", "reverse the mode")
    columns = [offsets[1 << j] for j in range(len(offsets).bit_length() - 1)]
    if offsets != _spanned(columns):
        what = f"{found} is no XOR of its powers of two"
        raise LayoutError(what, "offsets that do not carry into each other", "use compact strides")
    return [[column >> i & 1 for column in columns] for i in range(max(1, max(offsets).bit_length()))]


def _spanned(columns: list[int]) -> list[int]:
    """The XOR of the columns of each index's bits."""
    found = [0]
    for column in columns:
        found += [column ^ offset for offset in found]
    return found


def from_F2_matrix(M: Matrix, shape: IntTuple) -> LayoutExpr:
    """The layout of a shape whose matrix this is, with a swizzle where it needs one.

    >>> from_F2_matrix([[1, 1], [0, 1]], (2, 2)), from_F2_matrix([[0, 1, 0], [0, 0, 1], [1, 0, 0]], (2, 4))
    (ComposedLayout(Swizzle(1, 0, 1), Layout((2, 2), (1, 2)), offset=0), Layout((2, 4), (4, 1)))

    UnsupportedComposedLayoutError where no layout with one swizzle has it.
    """
    columns = _columns(M, size(shape).bit_length() - 1)
    if any(n < 1 or n & (n - 1) for n in flatten(shape)):
        raise LayoutError(f"the shape {shape}: an extent is not a power of 2", "powers of two", "give such extents")
    for swizzle in itertools.chain([None], _swizzles(len(M))):
        layout = _of_columns(columns if swizzle is None else [swizzle(column) for column in columns], shape)
        if layout is not None:
            found = layout if swizzle is None else ComposedLayout(swizzle, layout)
            if [found(i) for i in range(size(found))] == _spanned(columns):
                return found
    what = f"{M} of the shape {shape}"
    raise UnsupportedComposedLayoutError(what, "a layout with at most one swizzle", "use tla.linear")


def _columns(M: Matrix, wide: int) -> list[int]:
    if not M or {len(row) for row in M} != {wide} or {bit for row in M for bit in row} - {0, 1}:
        raise LayoutError(f"the matrix {M}", f"rows of {wide} bits", "give 0 and 1, a column for each bit of an index")
    return [sum(row[j] << i for i, row in enumerate(M)) for j in range(wide)]


def _of_columns(columns: list[int], shape: IntTuple) -> Layout | None:
    """The plain layout whose bits step so, or None."""
    left, strides = [*columns], []
    for extent in flatten(shape):
        own = [left.pop(0) for _ in range(extent.bit_length() - 1)]
        strides.append(own[0] if own else 0)
        if own != [strides[-1] << i for i in range(len(own))]:
            return None
    return Layout(shape, unflatten(tuple(strides), shape) if is_tuple(shape) else strides[0])


def _swizzles(rows: int) -> Iterator[Swizzle]:
    """All swizzles of so many bits, of few bits first."""
    for bits in range(1, rows + 1):
        for base in range(rows - bits + 1):
            for shift in range(bits, rows - bits - base + 1):
                yield from (Swizzle(bits, base, shift), Swizzle(bits, base, -shift))


guard(globals())
