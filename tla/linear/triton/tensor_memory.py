"""Layouts of Blackwell's tensor memory: 128 rows, of which each warp reaches 32, of columns of 32 bits.

Source: Gluon, triton.experimental.gluon.language.nvidia.blackwell, of Triton 3.9; the PTX manual on tcgen05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..linear_layout import LinearLayout
from ..value import power_of_two
from . import tiles
from .parameters import Parameters, flag
from .tiles import identity_1d, zeros_1d

MN_THEN_K = "mnThenK"
#: How Triton names the orders in which blocks of scale factors are repeated -> the dimensions, the first one first.
REP_ORDERS = {MN_THEN_K: ("dim0", "dim1"), "kThenMn": ("dim1", "dim0")}


class _OfMatrices(Parameters):
    """The base of the layouts of tensor memory: what a block holds of a matrix, and which block holds what."""

    __slots__ = ()
    cga_layout: Any

    @property
    def rank(self) -> int:
        """The number of dimensions: 2."""
        return 2

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape, from row, col and block to its elements."""
        shape = tiles.checked_shape(self.name, shape, 2)
        cga = tiles.blocks(self.name, self.cga_layout, shape)
        m, n = (size // cga.get_out_dim_size(d) for d, size in zip(("dim0", "dim1"), shape))
        return (self._of_block(m, n) * cga).transpose_ins(["row", "col", "block"])

    def _of_block(self, m: int, n: int) -> LinearLayout:
        """The part of one block, m rows of n elements: from row and col."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class TensorMemoryLayout(_OfMatrices):
    """An accumulator, or operand A, of tcgen05.mma in tensor memory.

    block        rows and columns of an instruction of one block: 64 or 128 rows
    col_stride   how many columns from one element to the next: 1 packed, 32 / bits unpacked
    cga_layout   a basis, in blocks, for each bit of the block's number
    two_ctas     whether two blocks share an instruction
    fp4_padded   whether operand A is packed fp4, of which each byte takes the room of two: so MMA reads a byte
                 for each element

    Inputs are row, col and block. A bit that leads nowhere is a row or column that holds nothing of its own.

    >>> TensorMemoryLayout([64, 64], 1).linear([64, 64]).bases["row"]
    ((1, 0), (2, 0), (4, 0), (8, 0), (0, 0), (16, 0), (32, 0))

    Source: Gluon `TensorMemoryLayout`, Triton `#ttng.tensor_memory_encoding`.
    """

    block: Sequence[int]
    col_stride: int
    cga_layout: Any = ()
    two_ctas: bool = False
    fp4_padded: bool = False

    def __post_init__(self) -> None:
        rows, _ = self._powers("block", 2)
        tiles.require(self.name, rows in (64, 128), f"a block of {rows} rows", "64 or 128", "use 128")
        self._set(col_stride=power_of_two(f"{self.name}: col_stride", self.col_stride))
        self._vectors("cga_layout", 2)
        for name in ("two_ctas", "fp4_padded"):
            flag(f"{self.name}: {name}", getattr(self, name))
        packed = not self.fp4_padded or self.col_stride == 1
        tiles.require(self.name, packed, f"fp4_padded and col_stride {self.col_stride}", "col_stride 1", "use 1")

    def _of_block(self, m: int, n: int) -> LinearLayout:
        rows, columns = self.block[0], min(self.block[1], n)
        fix = "use a smaller block, or a larger tensor"
        tiles.require(self.name, m >= rows, f"{m} rows in a block", f"at least {rows}", fix)
        tile = zeros_1d(2 if self.fp4_padded else self.col_stride, "col", "dim1")
        if rows == 128:
            tile = tile * (identity_1d(128, "row", "dim0") * identity_1d(columns, "col", "dim1"))
        else:
            tile = self._of_two_halves(tile, columns) if self.two_ctas else self._of_64_rows(tile, m, n, columns)
        tile = tile.transpose_ins(["row", "col"]).transpose_outs(["dim0", "dim1"])
        down, across = m // tile.get_out_dim_size("dim0"), n // tile.get_out_dim_size("dim1")
        return tile * identity_1d(down, "col", "dim0") * identity_1d(across, "col", "dim1")

    def _of_two_halves(self, tile: LinearLayout, columns: int) -> LinearLayout:
        """64 rows twice: of the left half of the columns and of the right."""
        half = tile * identity_1d(64, "row", "dim0") * identity_1d(columns // 2, "col", "dim1")
        return half * identity_1d(2, "row", "dim1")

    def _of_64_rows(self, tile: LinearLayout, m: int, n: int, columns: int) -> LinearLayout:
        """16 rows of each 32, and in the other 16 the next block of the tensor, below or beside, if there is one."""
        there = (64, 0) if m > 64 else (0, columns) if n > columns else (0, 0)
        bases = [(1, 0), (2, 0), (4, 0), (8, 0), there, (16, 0), (32, 0)]
        outs = {"dim0": 128 if there[0] else 64, "dim1": columns * (2 if there[1] else 1)}
        column = tile * identity_1d(columns, "col", "dim1")
        return LinearLayout({"row": bases, "col": [(0, v[0]) for v in column.bases["col"]]}, outs)


@dataclass(frozen=True, repr=False)
class TensorMemoryScalesLayout(_OfMatrices):
    """The block-scale factors of tcgen05.mma in tensor memory: 32 rows, four times, of 4 columns.

    cga_layout        a basis, in blocks, for each bit of the block's number
    block_rep_order   how blocks of 128 by 4 are repeated: "mnThenK" down the rows first, "kThenMn" along them first

    >>> TensorMemoryScalesLayout().linear([64, 4]).bases["col"]
    ((0, 1), (0, 2), (32, 0))

    Source: Gluon `TensorMemoryScalesLayout`, Triton `#ttng.tensor_memory_scales_encoding`.
    """

    cga_layout: Any = ()
    block_rep_order: str = field(default=MN_THEN_K, metadata={"gluon": False})

    def __post_init__(self) -> None:
        self._vectors("cga_layout", 2)
        known = self.block_rep_order in REP_ORDERS
        what = f"block_rep_order {self.block_rep_order!r:.40}"
        tiles.require(self.name, known, what, f"one of {', '.join(REP_ORDERS)}", f"use {MN_THEN_K!r}")

    def _of_block(self, m: int, n: int) -> LinearLayout:
        part = {"dim0": m, "dim1": n}
        tile = identity_1d(32, "row", "dim0") * zeros_1d(4, "row", "dim0")
        tile = tile * identity_1d(4, "col", "dim1") * identity_1d(2, "col", "dim0")
        tile = tile * identity_1d(2 if m > 64 else 1, "col", "dim0")
        for d in REP_ORDERS[self.block_rep_order]:
            tile = tile * identity_1d(max(1, part[d] // tile.get_out_dim_size(d)), "col", d)
        return tiles.not_larger(tile, part)
