"""Layouts drawn in text."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RangeError
from ..evaluate import offsets
from ..int_tuple import product, shown
from ..layout import Layout

PADDING = "."


def grid(layout: Layout, limit: int = 2**16) -> str:
    """The offsets of a layout as TLA's documents draw them: mode 0 down, mode 1 across, one grid for each index of the rest.

    limit     how many offsets are not too many to read
    Returns   lines of numbers; a coordinate past origin_shape is a `.`: padding
    Raises    RangeError for more offsets than `limit`

    >>> from tla import parse
    >>> print(grid(parse("((2,2),3):((3,6),1)")))
     0  1  2
     3  4  5
     6  7  8
     9 10 11
    """
    if product(layout.origin_shape) == 0:
        return "(no elements)"
    if product(layout.shape) > limit:
        raise RangeError(f"a grid of {shown(layout)}: {product(layout.shape):d} offsets", f"at most {limit}", "draw a tile of it")
    table = offsets(layout)
    valid = np.zeros(table.shape, bool)
    valid[tuple(slice(int(n)) for n in layout.origin_shape)] = True
    cells = np.where(valid, table.astype(str), PADDING)
    cells = cells.reshape(cells.shape + (1,) * (2 - cells.ndim)) if cells.ndim != 1 else cells[None, :]
    width = max(map(len, cells.ravel()))
    return "\n\n".join(_titled(cells, rest, width) for rest in itertools.product(*map(range, cells.shape[2:])))


def _titled(cells: npt.NDArray[np.str_], rest: tuple[int, ...], width: int) -> str:
    plane: Any = (slice(None), slice(None), *rest)
    rows = [" ".join(cell.rjust(width) for cell in row) for row in cells[plane]]
    return "\n".join([f"(_,_,{','.join(map(str, rest))})", *rows] if rest else rows)
