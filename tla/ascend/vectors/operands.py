"""The operands of a vector computation: where each begins, and the steps of its rows and blocks.

Source: AscendC.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import leaves, modes_of, rank, shown
from ...core.ints import known
from ...core.leaf_arithmetic import plus
from ...tensors.tensor import Tensor
from ..architecture import position_of
from ..transfers.side import offsets_in


def require_in_ub(name: str, tensors: Iterable[object]) -> None:
    """LeafTypeError for what is no tensor in the unified buffer."""
    for t in tensors:
        if not isinstance(t, Tensor) or position_of(t.position) != "UB":
            what = f"{name} of a tensor at {t.position}" if isinstance(t, Tensor) else f"{name} of a {type(t).__name__}"
            raise LeafTypeError(what, "tensors at UB", "write MakeTensor(..., position='UB')")


def shape_of(name: str, t: Tensor) -> tuple[int, ...]:
    """The sizes of what is valid of a tensor; Unproven where one is a name."""
    sizes = tuple(known(n) for n in t.origin_shape)
    if None in sizes:
        raise Unproven(f"{name} of {shown(t.origin_shape)}", "sizes that are numbers", "make the layouts of numbers")
    return tuple(int(n) for n in sizes if n is not None)


class Operand(NamedTuple):
    """An operand of a vector computation: its begin, the steps from row to row and block to block [elements]."""

    tensor: Tensor
    element: Element
    at: int
    row: int
    block: int


def operand(name: str, t: Tensor, e: Element) -> Operand:
    """The steps of an operand; LeafTypeError where its columns lie in no blocks of 32 bytes."""
    c0, steps = int(e.C0), [steps_of(*mode) for mode in zip(modes_of(t.layout.shape), modes_of(t.layout.stride))]
    rows, columns = steps if len(steps) == 2 else ([(1, 0)], steps[0])
    plain = len(columns) == 1 and (columns[0][1] == 1 or columns[0][0] == 1)
    blocked = len(columns) == 2 and columns[0] == (c0, 1)
    if len(rows) != 1 or not (plain or blocked):
        what = f"{name} of {shown(t.layout)}, elements of {e.bits} bits"
        raise LeafTypeError(what, f"rows of columns side by side, or in blocks of {c0}", "copy it into rows first")
    at = int(plus(t.offset, t.layout(t.coord)))
    start = int(t.coord[-1]) if blocked else 0
    if start % c0:
        what = f"{name} of a tile that begins at column {start}"
        raise RangeError(what, f"a multiple of {c0}", f"begin it at column {start // c0 * c0}")
    return Operand(t, e, at, rows[0][1], c0 if plain else columns[1][1])


def steps_of(shape: Any, stride: Any) -> list[tuple[int, int]]:
    """The extents of a mode with their strides, those that go on where the one before ends merged."""
    found: list[tuple[int, int]] = []
    for n, step in zip(map(int, leaves(shape)), map(int, leaves(stride))):
        if found and step == found[-1][0] * found[-1][1]:
            found[-1] = found[-1][0] * n, found[-1][1]
        elif n > 1:
            found.append((n, step))
    return found or [(1, 0)]


def offsets_of(t: Tensor, sizes: tuple[int, int]) -> Any:
    """The offsets of the elements that are computed, row after row."""
    extents = sizes if rank(t.layout.shape) == 2 else sizes[1:]
    return plus(t.offset, offsets_in(t.layout, extents, [*map(int, t.coord)])).ravel()


def require_apart(name: str, tensors: list[Tensor], elements: list[Element], offsets: list[Any], room: int) -> None:
    """Require that operands lie inside of the buffer, and that sources lie where dst does, or apart from it.

    offsets   of the elements of each operand, in numpy;  room  the bytes of the buffer
    """
    import numpy as np

    for e, at in zip(elements, offsets):
        end = (int(at.max()) + 1) * e.bits // 8
        if int(at.min()) < 0 or end > room:
            raise RangeError(f"{name} up to byte {end} of UB", f"at most {room}", "take a smaller tile")
    dst, to = tensors[0], offsets[0]
    for t, at in zip(tensors[1:], offsets[1:]):
        same = _begins(t) is not None and _begins(t) == _begins(dst)
        if same and np.intersect1d(at, to).size and (at.shape != to.shape or (at != to).any()):
            what = f"{name} of a source that dst overlaps in part"
            raise Unproven(what, "the same elements, or none in common", "compute into another buffer")


def _begins(t: Tensor) -> int | None:
    """The address of the first byte of a tensor's buffer, of an array in numpy; else None."""
    import numpy as np

    return int(t.data.ctypes.data) if isinstance(t.data, np.ndarray) else None
