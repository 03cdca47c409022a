"""A 4:2 sparse matrix: what is stored of it, the index that says which rows that is, and how the index comes to L1.

Of each four rows two are stored. Two bits say which row of the first three the one is, and two which of the last three
the other is; four such pairs of bits are a byte, first the lowest. A `plan` is the Plan of block.py, which stands on
this.

Source: AscendC `MmadWithSparse`; CATLASS examples/41_sparse_matmul_tla/sparse_gen_data.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import element as types
from ...core.errors import LeafTypeError, RangeError
from ...core.layout import Layout
from ...core.values import held
from ...tensors.views import GetTile
from ..tags import ColumnMajor, Tag, nZ
from ..transfers.instruction import TransferInstruction
from ..transfers.side import tensor_at
from ..transfers.sparse import STORED
from .mmad import INDEXED

if TYPE_CHECKING:
    import numpy.typing as npt

#: The rows of a matrix of which one fractal is stored: 32 of 64.
DEPTH = 64
#: The columns of a block of the index: 8 by 16 bytes.
INDEX_COLUMNS = 16


def require_sparse_tiles(tag: Tag, depths: tuple[int, int]) -> None:
    """LeafTypeError for a B that does not come to nZ in L1; RangeError for tiles of k that cut the fractals of what is
    stored.

    depths   of the tiles along k, in L1 and in L0
    """
    if tag not in (ColumnMajor, nZ):
        what, fix = f"a sparse B of the tag {tag}", "write b=(int8, ColumnMajor)"
        raise LeafTypeError(what, "ColumnMajor or nZ: no document places the index of others", fix)
    if any(n % DEPTH for n in depths):
        near = tuple(-(-n // DEPTH) * DEPTH for n in depths)
        expected, fix = f"multiples of {DEPTH}: whole fractals of what is stored", f"take {near[0]} and {near[1]}"
        raise RangeError(f"tiles of {depths[0]} along k in L1, and {depths[1]} in L0, of a sparse B", expected, fix)


def index_layout(k: Any, n: Any) -> Layout:
    """The layout of the index of (k, n) elements: (k / 8, n) bytes in blocks of 8 by 16."""
    return nZ.MakeLayout(types.int32, k // INDEXED, n)


def load_index(plan: Any, start: tuple[int, int], k: int, n: int) -> tuple[TransferInstruction, ...]:
    """The instructions that move the index of a tile of (k, n) elements of B to L1; start: where it begins."""
    (_, columns, deep), (_, whole_n, whole_k) = plan.tiling.l1, plan.sizes
    src = tensor_at("GM", index_layout(whole_k, whole_n))
    dst = tensor_at("L1", index_layout(deep, columns))
    tile = GetTile(src, (start[0] // INDEXED, start[1]), (k // INDEXED, n))
    made: tuple[TransferInstruction, ...] = plan.move(tile, dst, types.uint8)
    return made


def densify(b: npt.ArrayLike) -> tuple[Any, Any]:
    """The stored elements of a 4:2 sparse matrix, and their index: as MmadWithSparse takes them.

    b         an array (k, n), k in whole 8: of each four rows at most two of a column are not zero
    Returns   an array (k / 2, n), and one of bytes (k / 8, n)

    >>> import numpy as np
    >>> from tla.ascend import densify
    >>> stored, index = densify(np.array([[0], [5], [0], [7], [0], [0], [0], [9]]))
    >>> stored.ravel().tolist(), f"{index.item():08b}"
    ([5, 7, 0, 9], '10001001')

    Raises RangeError for other shapes, and for a column that has three of four; LeafTypeError for what are no numbers.
    Source: CATLASS examples/41_sparse_matmul_tla, densify_and_generate_index.
    """
    import numpy as np

    try:
        b = np.asarray(b)
    except ValueError:
        raise RangeError("a sparse matrix of rows of several lengths", "(k, n) numbers", "give an array") from None
    if b.dtype.kind not in "biuf":
        raise LeafTypeError(f"a sparse matrix of {b.dtype}", "numbers", "give an array of integers")
    if b.ndim != 2 or b.shape[0] % INDEXED:
        what, fix = f"a sparse matrix of the shape {b.shape}", "give all rows, and zeros behind the last"
        raise RangeError(what, f"(k, n), k a multiple of {INDEXED}", fix)
    fours = b.reshape(b.shape[0] // 4, 4, b.shape[1])
    there = fours != 0
    if (wrong := there.sum(1) > 2).any():
        group, column = (int(x[0]) for x in np.nonzero(wrong))
        number = int(there[group, :, column].sum())
        what = f"{number} elements of rows {4 * group} to {4 * group + 3} in column {column}"
        raise RangeError(what, "at most two of four that are not zero", "make the matrix sparse so")
    first = np.where(there[:, :3].any(1), there[:, :3].argmax(1), 0)
    last = 3 - there[:, ::-1].argmax(1)
    second = np.where(there.any(1) & (last > first), last, first + 1)  # without one the row behind: its zero is stored
    chosen = np.stack([first, second], 1)
    stored = np.take_along_axis(fours, chosen, 1).reshape(b.shape[0] // 2, b.shape[1])
    bits = (chosen - np.arange(2)[:, None]).reshape(b.shape[0] // INDEXED, STORED, b.shape[1])
    return stored, held("the index", (bits << 2 * np.arange(STORED)[:, None]).sum(1), np.dtype("uint8"))


def densified(b: Any, sizes: tuple[int, int]) -> tuple[Any, Any]:
    """As densify, of a matrix of these sizes; RangeError for others."""
    stored, index = densify(b)
    found = 2 * stored.shape[0], stored.shape[1]
    if found != sizes:
        fix = "give all rows, and zeros behind the last"
        raise RangeError(f"a sparse matrix of the shape {found}", f"{sizes}", fix)
    return stored, index


def dense(stored: Any, index: Any) -> Any:
    """The matrix (k, n) of what is stored of it, (k / 2, n), by the index, (k / 8, n); NaN where its bits are 3, which
    name no row, or where it is NaN."""
    import numpy as np

    row = np.arange(stored.shape[0])[:, None]
    bits = held("the index", np.nan_to_num(index), np.dtype("int64")).repeat(STORED, 0) >> 2 * (row % STORED) & 3
    values = np.where((bits == 3) | np.isnan(index.repeat(STORED, 0)), np.nan, stored)
    found = np.zeros((2 * stored.shape[0], stored.shape[1]))
    np.add.at(found, (row // 2 * 4 + np.minimum(bits, 2) + row % 2, np.arange(stored.shape[1])[None]), values)
    return found
