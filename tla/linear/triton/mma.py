"""Layouts of the accumulators and operands of matrix instructions: NVIDIA's MMA, AMD's MFMA and WMMA.

Source: Gluon of Triton 3.9; the PTX manual's fragments; ROCm's amd_matrix_instruction_calculator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..linear_layout import LinearLayout
from ..value import power_of_two
from . import tiles
from .distributed import BlockedLayout, require_distributed
from .parameters import Parameters, Vector, flag, one_of
from .tiles import identity_1d, zeros_1d

#: Lanes of a warp of MFMA.
WARP_MFMA = 64
#: version of WMMA -> the instructions that it has, M, N, K.
WMMA_SHAPES = {
    1: ((16, 16, 16),),
    2: ((16, 16, 16), (16, 16, 32)),
    3: ((16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128)),
}
#: version of WMMA -> how many neighbours along k a lane may hold together; of others any power of two.
WMMA_WIDTHS = {1: (8, 16), 2: (4, 8, 16)}


@dataclass(frozen=True, repr=False)
class NVMMADistributedLayout(Parameters):
    """The accumulator of mma.sync (version 2) or wgmma (version 3).

    version         [2, 0] or [3, 0]
    warps_per_cta   one power of two for each dimension
    instr_shape     [16, 8] of version 2, [16, N, K] of version 3; a batch before it
    cga_layout      a basis, in blocks, for each bit of the block's number

    >>> NVMMADistributedLayout([2, 0], [1, 1], [16, 8]).linear([16, 8]).bases["register"]
    ((0, 1), (8, 0))

    Source: Gluon `NVMMADistributedLayout`, Triton `#ttg.nvidia_mma`.
    """

    version: Sequence[int]
    warps_per_cta: Sequence[int]
    instr_shape: Sequence[int]
    cga_layout: Any = ()

    _ranked = "warps_per_cta"

    def __post_init__(self) -> None:
        version = self._vector("version", 2)
        one_of(f"{self.name}: the major version", version[0], (2, 3))
        rank = len(self._powers("warps_per_cta"))
        self._vector("instr_shape", rank if version[0] == 2 else 3)
        self._vectors("cga_layout", rank)
        tiles.require(self.name, rank >= 2, f"rank {rank}", "at least 2", "give the warps along both dimensions")

    @property
    def is_hopper(self) -> bool:
        """Whether the layout is that of wgmma."""
        return self.version[0] == 3

    @property
    def warp_order(self) -> list[int]:
        """The dimensions along which warps are numbered, fastest first."""
        return tiles.matrix_order(self.rank, row_major=not self.is_hopper)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of an accumulator of this shape."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        box = (*(1,) * (self.rank - 2), *self.instr_shape[:2]) if self.is_hopper else self.instr_shape
        order = tiles.matrix_order(self.rank)
        tile = quads(self.name, box, 2, order)
        warps = tiles.ordered(tiles.identity("warp", self.warps_per_cta, self.warp_order), order)
        return tiles.combine(self.name, tile * warps, self.cga_layout, shape)

    def operand(self, index: int, k_width: int, shape: Vector, cga_layout: Sequence[Vector]) -> LinearLayout:
        """The linear layout of operand A (0) or B (1)."""
        fits, expected = index == 0 or not self.is_hopper, "operand 0: wgmma reads B from shared memory"
        tiles.require(self.name, fits, "operand 1 of version 3", expected, "use operand_index 0")
        box = [1] * self.rank
        box[-2:] = (16, 8 * k_width) if index == 0 else (8 * k_width, 8)
        order, k = tiles.operand_order(index, self.rank), tiles.k_of(index, self.rank)
        warps = tiles.identity("warp", self.warps_per_cta, self.warp_order, shared=k)
        tile = quads(self.name, box, k_width, order) * tiles.ordered(warps, order)
        return tiles.combine(self.name, tile, cga_layout, shape)


def quads(where: str, box: Sequence[int], k_width: int, order: Sequence[int]) -> LinearLayout:
    """A box of 8 rows of 4 lanes, each with k_width neighbours. Registers repeat it over the rows, then along them."""
    inner, outer = f"dim{order[0]}", f"dim{order[1]}"
    rows, columns = box[order[1]], box[order[0]]
    what = f"an instruction of {rows} by {columns}, {k_width} elements together"
    whole = rows % 8 == columns % (4 * k_width) == 0 < min(rows, columns)
    tiles.require(where, whole, what, f"multiples of 8 and of {4 * k_width}", "use [16, 8]")
    tile = tiles.trivial(order) * identity_1d(k_width, "register", inner)
    tile = tile * identity_1d(4, "lane", inner) * identity_1d(8, "lane", outer)
    return tile * identity_1d(rows // 8, "register", outer) * identity_1d(columns // (4 * k_width), "register", inner)


@dataclass(frozen=True, repr=False)
class AMDMFMALayout(Parameters):
    """The accumulator of MFMA, of warps of 64 lanes.

    version            1 gfx908, 2 gfx90a, 3 gfx942, 4 gfx950
    instr_shape        [M, N, K], of which M, N are 32, 32; 16, 16; 64, 4 or 4, 64
    transposed         whether lanes hold neighbours of a row instead of a column
    warps_per_cta      one power of two for each dimension
    element_bitwidth   of an element of the accumulator: 32 or 64
    tiles_per_warp     how many neighbouring instructions' tiles a warp has, in each dimension

    >>> AMDMFMALayout(3, [32, 32, 8], True, [1, 1]).linear([32, 32]).bases["register"]
    ((0, 1), (0, 2), (0, 8), (0, 16))

    Source: Gluon `AMDMFMALayout`, Triton `#ttg.amd_mfma`.
    """

    version: int
    instr_shape: Sequence[int]
    transposed: bool
    warps_per_cta: Sequence[int]
    element_bitwidth: int | None = None
    tiles_per_warp: Any = None
    cga_layout: Any = ()

    _ranked = "warps_per_cta"

    def __post_init__(self) -> None:
        self._set(version=one_of(f"{self.name}: version", self.version, (1, 2, 3, 4)))
        flag(f"{self.name}: transposed", self.transposed)
        m, n, _k = self._vector("instr_shape", 3)
        known = (m, n) in ((32, 32), (16, 16), (64, 4), (4, 64))
        what, expected = f"an instruction of {m} by {n}", "32 by 32, 16 by 16, 64 by 4 or 4 by 64"
        tiles.require(self.name, known, what, expected, "use [32, 32, 8]")
        rank = len(self._powers("warps_per_cta"))
        tiles.require(self.name, rank >= 2, f"rank {rank}", "at least 2", "give the warps along both dimensions")
        self._set(element_bitwidth=one_of(f"{self.name}: element_bitwidth", self.element_bitwidth or 32, (32, 64)))
        self._set(tiles_per_warp=self.tiles_per_warp or (1,) * rank)
        self._powers("tiles_per_warp", rank)
        self._vectors("cga_layout", rank)

    def _instruction(self) -> LinearLayout:
        m, n, _ = self.instr_shape
        (along, a), (across, b) = (("n", n), ("m", m)) if self.transposed else (("m", m), ("n", n))
        names = {"m": f"dim{self.rank - 2}", "n": f"dim{self.rank - 1}"}
        height = 1 if self.element_bitwidth == 64 else 4
        tile = identity_1d(height, "register", names[along])
        tile = tile * identity_1d(b, "lane", names[across]) * identity_1d(WARP_MFMA // b, "lane", names[along])
        repeats = a * b // (WARP_MFMA * height)
        return tile * identity_1d(repeats, "register", names[along]) if repeats else tile

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of an accumulator of this shape; tiles go along N over all of it, then along M."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        m, n, _ = self.instr_shape
        legal = self.transposed or (m, n) != (64, 4)
        what = "an instruction of 64 by 4 that is not transposed"
        tiles.require(self.name, legal, what, "transposed", "write transposed=True")
        row, column = f"dim{self.rank - 2}", f"dim{self.rank - 1}"
        tile = self._instruction().transpose_outs([column, row])
        tile = tile * identity_1d(self.tiles_per_warp[-1], "register", column)
        tile = tile * identity_1d(self.warps_per_cta[-1], "warp", column)
        there = n * self.warps_per_cta[-1] * self.tiles_per_warp[-1]
        tile = tile * identity_1d(shape[-1] // there, "register", column)
        tile = tile * identity_1d(self.tiles_per_warp[-2], "register", row)
        tile = tile * identity_1d(self.warps_per_cta[-2], "warp", row)
        for d in range(self.rank - 3, -1, -1):
            tile = tile * identity_1d(self.warps_per_cta[d], "warp", f"dim{d}")
        return tiles.combine(self.name, tile, self.cga_layout, shape)

    def operand(self, index: int, k_width: int, shape: Vector, cga_layout: Sequence[Vector]) -> LinearLayout:
        """The linear layout of operand A (0) or B (1), which Triton cuts to blocks as the accumulator, along k too."""
        m, n, _ = self.instr_shape
        other = m if index == 0 else n
        order, k = tiles.operand_order(index, self.rank), tiles.k_of(index, self.rank)
        along, across = f"dim{order[0]}", f"dim{order[1]}"
        tile = identity_1d(k_width, "register", along)
        tile = tile * identity_1d(other, "lane", across) * identity_1d(WARP_MFMA // other, "lane", along)
        depth = WARP_MFMA // other * k_width
        if other == 64:  # the 64 by 64 operand of 64x4 and 4x64
            tile, depth = tile * identity_1d(16, "register", along), depth * 16
        if shape[k] > depth:
            tile = tile * identity_1d(shape[k] // depth, "register", along)
        tile = tile * identity_1d(self.tiles_per_warp[order[1]], "register", across)
        tile = tile * tiles.trivial(order)
        warps = tiles.identity("warp", self.warps_per_cta, tiles.matrix_order(self.rank), shared=k)
        tile = tiles.ordered(tile, order) * tiles.ordered(warps, order)
        return tiles.combine(self.name, tile, self.cga_layout, shape)


@dataclass(frozen=True, repr=False)
class AMDWMMALayout(Parameters):
    """The accumulator of WMMA, of warps of 32 lanes.

    version       1 RDNA3, 2 RDNA4, 3 gfx1250
    transposed    whether lanes hold neighbours of a row instead of a column
    warp_bases    a basis, in instructions' tiles, for each bit of the warp's number
    reg_bases     the same for the tiles that a warp repeats
    instr_shape   [M, N, K], [16, 16, 16] by default
    rank          how many dimensions, 2 by default

    >>> AMDWMMALayout(2, True, [[1, 0]]).linear([32, 16]).bases["warp"]
    ((16, 0),)

    Source: Gluon `AMDWMMALayout`, Triton `#ttg.amd_wmma`.
    """

    version: int
    transposed: bool
    warp_bases: Any
    reg_bases: Any = None
    instr_shape: Any = None
    cga_layout: Any = ()
    rank: Any = None

    def __post_init__(self) -> None:
        self._set(version=one_of(f"{self.name}: version", self.version, (1, 2, 3)))
        flag(f"{self.name}: transposed", self.transposed)
        self._set(rank=one_of(f"{self.name}: rank", 2 if self.rank is None else self.rank, (2, 3)))
        self._set(reg_bases=self.reg_bases or (), instr_shape=self.instr_shape or (16, 16, 16))
        self._powers("instr_shape", 3)
        shapes = WMMA_SHAPES[self.version]
        what, given = f"an instruction of {list(self.instr_shape)} in version {self.version}", tuple(self.instr_shape)
        expected = f"one of {', '.join(map(str, shapes))}"
        tiles.require(self.name, given in shapes, what, expected, f"use {list(shapes[0])}")
        for name in ("warp_bases", "reg_bases", "cga_layout"):
            self._vectors(name, self.rank)

    def _with_warps(self, tile: LinearLayout, zero: int | None = None) -> LinearLayout:
        """The instruction's tile repeated over registers and warps; along dimension `zero` all have the same."""
        rank = int(self.rank or 2)
        sizes = tiles.least_shape((*self.reg_bases, *self.warp_bases), rank)
        given = (self.reg_bases, self.warp_bases)
        cut = [[tuple(0 if k == zero else x for k, x in enumerate(v)) for v in vs] for vs in given]
        registers = [v for v in cut[0] if any(v)]
        sizes = [1 if k == zero else n for k, n in enumerate(sizes)]
        warps = LinearLayout({"register": registers, "warp": cut[1]}, dict(zip(tiles.dim_names(rank), sizes)))
        return tile * warps.transpose_outs(tile.get_out_dim_names())

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of an accumulator of this shape."""
        rank = int(self.rank or 2)
        shape = tiles.checked_shape(self.name, shape, rank)
        order = tiles.matrix_order(rank, row_major=not self.transposed)
        across, along = f"dim{order[0]}", f"dim{order[1]}"
        if self.version == 1:  # rows alternate between the two halves of the warp
            tile = identity_1d(16, "lane", across) * identity_1d(2, "lane", along) * identity_1d(8, "register", along)
        else:
            tile = identity_1d(8, "register", along) * identity_1d(16, "lane", across) * identity_1d(2, "lane", along)
        tile = tile * identity_1d(self.instr_shape[0] // 16, "register", along)  # of 32 rows: 16 and then 16
        tile = tiles.trivial(tiles.matrix_order(rank)) * tile.transpose_ins(["register", "lane"])
        return tiles.combine(self.name, self._with_warps(tile), self.cga_layout, shape)

    def operand(self, index: int, k_width: int, shape: Vector, cga_layout: Sequence[Vector]) -> LinearLayout:
        """The linear layout of operand A (0) or B (1); version 1 holds everything twice."""
        one_of(f"{self.name}: k_width of version {self.version}", k_width, WMMA_WIDTHS.get(self.version, (k_width,)))
        rank = int(self.rank or 2)
        order, k = tiles.operand_order(index, rank), tiles.k_of(index, rank)
        along, across = f"dim{order[0]}", f"dim{order[1]}"
        tile = tiles.trivial(order) * identity_1d(k_width, "register", along) * identity_1d(16, "lane", across)
        tile = tile * (zeros_1d if self.version == 1 else identity_1d)(2, "lane", along)
        tile = tile * identity_1d(max(1, self.instr_shape[2] // (2 * k_width)), "register", along)
        other = self.instr_shape[index ^ self.transposed]  # a transposed product is that of B^T and A^T
        tile = tile * identity_1d(other // 16, "register", across)
        return tiles.combine(self.name, self._with_warps(tile, zero=k), cga_layout, shape)


@dataclass(frozen=True, repr=False)
class DotOperandLayout(Parameters):
    """An operand of a dot whose accumulator is `parent`.

    operand_index   0 for A, 1 for B
    parent          the accumulator's layout: of an MMA, or blocked
    k_width         how many neighbours along k a lane holds together; 0 where the parent is blocked

    >>> acc = NVMMADistributedLayout([2, 0], [1, 1], [16, 8])
    >>> DotOperandLayout(1, acc, 2).linear([16, 8]).bases["register"]
    ((1, 0), (8, 0))

    Source: Gluon `DotOperandLayout`, Triton `#ttg.dot_op`.
    """

    operand_index: int
    parent: Any
    k_width: int

    def __post_init__(self) -> None:
        self._set(operand_index=one_of(f"{self.name}: operand_index", self.operand_index, (0, 1)))
        require_distributed(f"{self.name}: the parent", self.parent)
        known = isinstance(self.parent, (BlockedLayout, NVMMADistributedLayout, AMDMFMALayout, AMDWMMALayout))
        what = f"a parent that is a {type(self.parent).__name__}"
        expected = "an accumulator: of an MMA, or blocked"
        tiles.require(self.name, known, what, expected, "give the layout of the accumulator")

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.parent.rank)

    @property
    def cga_layout(self) -> tuple[Vector, ...]:
        """The parent's, but all blocks along k hold the same elements."""
        k = tiles.k_of(self.operand_index, self.rank)
        return tuple(tuple(0 if d == k else x for d, x in enumerate(v)) for v in self.parent.cga_layout)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of an operand of this shape."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        if isinstance(self.parent, BlockedLayout):
            return self._of_fma(shape)
        width = power_of_two(f"{self.name}: k_width", self.k_width)
        return self.parent.operand(self.operand_index, width, shape, self.cga_layout)  # type: ignore[no-any-return]

    def _of_fma(self, shape: Vector) -> LinearLayout:
        """The operands of products by single threads: each has all of k."""
        parent, k = self.parent, tiles.k_of(self.operand_index, self.rank)
        order = parent.order
        per_thread = [shape[d] if d == k else n for d, n in enumerate(parent.size_per_thread)]
        tile = tiles.identity("register", per_thread, order)
        tile = tile * tiles.identity("lane", parent.threads_per_warp, order, shared=k)
        tile = tile * tiles.identity("warp", parent.warps_per_cta, order, shared=k)
        return tiles.combine(self.name, tile, self.cga_layout, shape)
