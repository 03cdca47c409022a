"""Layouts of shared memory, from an offset to an element: swizzled, NVIDIA's for wgmma and TMA, linear, padded.

Source: Gluon, triton.experimental.gluon.language, of Triton 3.9; the swizzles of the PTX manual.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.arrays import dtype_of, require_held
from ...core.conversions import over
from ...core.coord import CoordLike, Offset, coord_leaf
from ...core.errors import LeafTypeError, RankError
from ...core.ints import IntTree
from ...core.leaf_arithmetic import plus, times
from ..linear_layout import LinearLayout
from ..value import integer, power_of_two
from . import tiles
from .parameters import Parameters, Vector, flag, one_of
from .tiles import identity_1d

#: TMA copies at most so many elements along a dimension.
TMA_BOX = 256


def _per_block(where: str, shape: Sequence[int], cga_layout: Sequence[Vector]) -> tuple[int, ...]:
    """The part of a shape that one block has."""
    return tuple(max(1, n // c) for n, c in zip(shape, tiles.least_shape(cga_layout, len(shape))))


@dataclass(frozen=True, repr=False)
class SwizzledSharedLayout(Parameters):
    """Rows whose vectors of `vec` elements are xored with the row's phase.

    vec         elements that stay together
    per_phase   neighbouring rows of one phase
    max_phase   how many phases
    order       the dimensions, fastest first

    >>> SwizzledSharedLayout(2, 1, 4, [1, 0]).linear([4, 8]).bases["offset"]
    ((0, 1), (0, 2), (0, 4), (1, 2), (2, 4))

    Source: Gluon `SwizzledSharedLayout`, Triton `#ttg.swizzled_shared`.
    """

    vec: int
    per_phase: int
    max_phase: int
    order: Sequence[int]
    cga_layout: Any = ()

    _ranked = "order"

    def __post_init__(self) -> None:
        for name in ("vec", "per_phase", "max_phase"):
            n = integer(f"{self.name}: {name}", getattr(self, name))
            tiles.require(self.name, n > 0, f"{name} is 0", "1 or more", "use 1")
            self._set(**{name: n})
        self._order("order", len(self.order) if isinstance(self.order, (list, tuple)) else 0)
        self._vectors("cga_layout", self.rank)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape, from offset and block to its elements."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        part = _per_block(self.name, shape, self.cga_layout)
        if self.rank < 2:
            return tiles.combine(self.name, tiles.identity("offset", part, self.order), self.cga_layout, shape)
        names = [f"dim{d}" for d in self.order]
        columns, rows = part[self.order[0]], part[self.order[1]]
        bases = [(1 << c, 0) for c in range(tiles.log2(columns))]
        bases += [(self.vec * self._phase(1 << r) % columns, 1 << r) for r in range(tiles.log2(rows))]
        tile = LinearLayout({"offset": bases}, {names[0]: columns, names[1]: rows})
        for d in self.order[2:]:
            tile = tile * identity_1d(part[d], "offset", f"dim{d}")
        return tiles.combine(self.name, tile, self.cga_layout, shape)

    def _phase(self, row: int) -> int:
        """The phase of a row of one bit."""
        return row // self.per_phase % self.max_phase


@dataclass(frozen=True, repr=False)
class AMDRotatingSharedLayout(SwizzledSharedLayout):
    """A swizzled layout whose phases begin one further in each block of rows: reads along either dimension
    are then apart.

    vec, per_phase, max_phase, order, cga_layout as SwizzledSharedLayout has them; a block is per_phase * max_phase rows

    >>> AMDRotatingSharedLayout(1, 1, 4, [1, 0]).linear([16, 4]).bases["offset"][2:]
    ((1, 1), (2, 2), (4, 1), (8, 2))

    Source: Triton `#ttg.amd_rotating_shared`, which 3.9 prints for operands on gfx942 and gfx1100; Gluon has no class
    of it, but its bases as SharedLinearLayout.
    """

    def _phase(self, row: int) -> int:
        block = row // self.max_phase // self.per_phase % self.max_phase
        return SwizzledSharedLayout._phase(self, row) ^ block


@dataclass(frozen=True, repr=False)
class NVMMASharedLayout(Parameters):
    """Shared memory as wgmma, tcgen05.mma and TMA want it: 8 rows of 32, 64 or 128 bytes whose 16-byte
    vectors are swizzled.

    swizzle_byte_width   0, 32, 64 or 128
    element_bitwidth     8, 16, 32 or 64
    rank                 how many dimensions, 2 by default
    transposed           whether dimension 0 is the contiguous one
    fp4_padded           whether 8 bytes of packed fp4 stand in each 16
    cga_layout           a basis, in blocks, for each bit of the block's number

    >>> NVMMASharedLayout(32, 16).linear([8, 16]).bases["offset"]
    ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8))

    Source: Gluon `NVMMASharedLayout`, Triton `#ttg.nvmma_shared`.
    """

    swizzle_byte_width: int
    element_bitwidth: int
    rank: int = 2  # pyright: ignore[reportIncompatibleMethodOverride]  # as Gluon has it, a parameter here
    transposed: bool = False
    fp4_padded: bool = False
    cga_layout: Any = ()

    def __post_init__(self) -> None:
        one_of(f"{self.name}: swizzle_byte_width", self.swizzle_byte_width, (0, 32, 64, 128))
        one_of(f"{self.name}: element_bitwidth", self.element_bitwidth, (8, 16, 32, 64))
        self._set(rank=integer(f"{self.name}: rank", self.rank))
        for name in ("transposed", "fp4_padded"):
            flag(f"{self.name}: {name}", getattr(self, name))
        self._vectors("cga_layout", self.rank)
        whole = not self.fp4_padded or (self.swizzle_byte_width, self.element_bitwidth) == (128, 8)
        tiles.require(self.name, whole, "fp4_padded with another swizzle or width", "128 bytes and 8 bits", "use these")

    def _core(self) -> LinearLayout:
        """8 rows of the swizzle's width, from an offset to row and column."""
        width = 8 * max(16, self.swizzle_byte_width) // self.element_bitwidth
        phases = max(1, self.swizzle_byte_width // 16)
        vec, per_phase = 128 // self.element_bitwidth, 8 // phases

        def packed(column: int) -> int:  # of 16 bytes of padded fp4 the first 8 are there
            return column // 16 * 8 + column % 8 if self.fp4_padded else column

        bases = [(0, packed(1 << c)) for c in range(tiles.log2(width))]
        bases += [(1 << r, packed(vec * ((1 << r) // per_phase % phases))) for r in range(3)]
        return LinearLayout({"offset": bases}, {"dim0": 8, "dim1": width // (2 if self.fp4_padded else 1)})

    def _box(self, part: Sequence[int]) -> list[int]:
        """The box that TMA copies at once: at most 256 along a dimension, the swizzle's width along the contiguous."""
        box = [min(n, TMA_BOX) for n in part]
        if self.swizzle_byte_width:
            k = 0 if self.transposed else self.rank - 1
            width = 8 * self.swizzle_byte_width // self.element_bitwidth // (2 if self.fp4_padded else 1)
            what = f"{part[k]} elements along the contiguous dimension, {k}"
            expected = f"at least {width}: {self.swizzle_byte_width} bytes"
            tiles.require(self.name, part[k] >= width, what, expected, "use a narrower swizzle")
            box[k] = width
        return box

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape, from offset and block to its elements."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        part = _per_block(self.name, shape, self.cga_layout)
        flat = self.swizzle_byte_width and self.rank < 2
        what = f"a swizzle of rank {self.rank}"
        tiles.require(self.name, not flat, what, "rank 2 or more", "use swizzle_byte_width=0")
        box, names = self._box(part), tiles.dim_names(self.rank)
        tile = self._swizzled(box, names).transpose_outs(names) if self.swizzle_byte_width else self._plain(box, names)
        tile = tiles.not_smaller(tile, dict(zip(names, part)))
        return tiles.combine(self.name, tile, self.cga_layout, shape)

    def _plain(self, box: Sequence[int], names: list[str]) -> LinearLayout:
        """Rows without a swizzle; repeated along the last dimension first."""
        if not self.transposed:
            return tiles.identity("offset", box, tiles.matrix_order(self.rank))
        tile = LinearLayout({"offset": ()}, {})
        # Triton turns the box left and the names left again: of rank 3 and more they do not meet
        for j in range(self.rank):
            tile = tile * identity_1d(box[-j], "offset", names[(self.rank - 2 - j) % self.rank])
        return tile.transpose_outs(names[::-1])

    def _swizzled(self, box: Sequence[int], names: list[str]) -> LinearLayout:
        last = math.prod(box[:-1]), box[-1]  # transposed, Triton's rows are the last dimension alone, whatever the rank
        rows, columns = last[::-1] if self.transposed else last
        tiles.require(self.name, rows >= 8, f"{rows} rows of {columns}", "at least 8", "use swizzle_byte_width=0")
        flat = tiles.not_smaller(self._core(), {"dim0": rows, "dim1": columns})
        in_order = [*range(1, self.rank), 0] if self.transposed else [*range(self.rank)]
        pieces = {names[d]: box[d] for d in reversed(in_order)}  # row-major: the last one has the lowest bits
        return flat.transpose_outs(["dim1", "dim0"]).reshape_outs(pieces)


@dataclass(frozen=True, repr=False)
class SharedLinearLayout(Parameters):
    """Bases as they are: for each bit of the offset, and of the block, its coordinate in the tensor.

    >>> SharedLinearLayout([[1], [2], [4]]).linear([8]).out_dims
    {'dim0': 8}

    Source: Gluon `SharedLinearLayout`, Triton `#ttg.shared_linear`.
    """

    offset_bases: Any
    block_bases: Any = ()
    alignment: int = 16

    def __post_init__(self) -> None:
        vectors = self._vectors("offset_bases")
        if not vectors:
            raise RankError(f"{self.name}: no offset_bases", "at least one", "write [[1]]")
        self._vectors("offset_bases", len(vectors[0]))
        self._vectors("block_bases", len(vectors[0]))
        self._set(alignment=power_of_two(f"{self.name}: alignment", self.alignment))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.offset_bases[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The least shape that holds all bases."""
        return tuple(tiles.least_shape((*self.offset_bases, *self.block_bases), self.rank))

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape, from offset and block to its elements."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        wanted = dict(zip(tiles.dim_names(self.rank), shape))
        tile = LinearLayout({"offset": self.offset_bases, "block": self.block_bases}, dict(zip(wanted, self.shape)))
        return tiles.not_larger(tiles.not_smaller(tile, wanted), wanted)


@dataclass(frozen=True, repr=False)
class PaddedSharedLayout(Parameters):
    """A linear layout of offsets, with padding after each interval of them.

    interval_padding_pairs   [interval, padding] in elements, powers of two; several add up
    offset_bases             for each bit of the offset before padding, its coordinate in the tensor
    cga_layout               a basis, in blocks, for each bit of the block's number
    shape                    of the tensor

    Offsets with padding are not linear over bits: padded(offset) is where they lie, linear(shape) is the
    map before padding.

    >>> a = PaddedSharedLayout.with_identity_for([[32, 4]], [8, 32], [1, 0])
    >>> a.linear([8, 32]).invert().apply({"dim0": 2, "dim1": 1})["offset"], a.padded(65)
    (65, 73)

    Source: Gluon `PaddedSharedLayout`, Triton `#ttg.padded_shared`.
    """

    interval_padding_pairs: Any
    offset_bases: Any
    cga_layout: Any
    shape: Sequence[int]

    _ranked = "shape"

    def __post_init__(self) -> None:
        rank = len(self._powers("shape"))
        self._vectors("offset_bases", rank)
        self._vectors("cga_layout", rank)
        pairs = self._vectors("interval_padding_pairs", 2)
        if not pairs or len({interval for interval, _ in pairs}) != len(pairs):
            what = f"{self.name}: interval_padding_pairs {list(pairs)}"
            raise RankError(what, "intervals that differ, at least one", "write [[32, 4]]")
        for interval, padding in pairs:
            power_of_two(f"{self.name}: an interval", interval)
            power_of_two(f"{self.name}: a padding", padding)

    @staticmethod
    def with_identity_for(
        pairs: Any, shape: Sequence[int], order: Sequence[int], cga_layout: IntTree = ()
    ) -> PaddedSharedLayout:
        """The padded layout whose elements lie in an order of the dimensions, fastest first."""
        part = _per_block("PaddedSharedLayout", shape, cga_layout)
        steps = ((d, 1 << k) for d in order for k in range(tiles.log2(part[d])))
        bases = [[step if i == d else 0 for i in range(len(shape))] for d, step in steps]
        return PaddedSharedLayout(pairs, bases, cga_layout, shape)

    def padded(self, offset: CoordLike) -> Offset:
        """The place of an offset with the padding before it [elements]; an integer or an array."""
        x = coord_leaf(offset)
        if dtype_of(x):
            require_held(self.name, x, 0, self.padded(max(0, math.prod(self.shape) - 1)))
        paddings = (times(over(x, interval), padding) for interval, padding in self.interval_padding_pairs)
        return functools.reduce(plus, paddings, x)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout before padding, of a tensor of this shape."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        sizes = zip(tiles.dim_names(self.rank), tiles.least_shape(self.offset_bases, self.rank))
        tile = LinearLayout({"offset": self.offset_bases}, dict(sizes))
        return tiles.combine(self.name, tile, self.cga_layout, shape)


@dataclass(frozen=True, repr=False)
class PartitionedSharedLayout(Parameters):
    """A tensor cut along a dimension into pieces that lie, in turn, in several allocations of shared memory.

    num_partitions     how many allocations
    num_groups         how many pieces each of them has, one behind the other
    partition_dim      the dimension that is cut
    partition_layout   of a piece: a layout of shared memory

    Inputs are offset, block and partition.

    >>> rows = PartitionedSharedLayout(2, 2, 0, SwizzledSharedLayout(1, 1, 1, [1, 0])).linear([8, 2]).bases
    >>> rows["offset"], rows["partition"]
    (((0, 1), (1, 0), (4, 0)), ((2, 0),))

    Source: Gluon `PartitionedSharedLayout` of amd.cdna5, Triton `#ttg.partitioned_shared`.
    """

    num_partitions: int
    num_groups: int
    partition_dim: int
    partition_layout: Any

    def __post_init__(self) -> None:
        for name in ("num_partitions", "num_groups"):
            self._set(**{name: power_of_two(f"{self.name}: {name}", getattr(self, name))})
        fix = "use the layout of the piece"
        tiles.require(self.name, self.num_partitions > 1, "num_partitions 1", "at least 2", fix)
        piece = self.partition_layout
        if not isinstance(piece, (SwizzledSharedLayout, NVMMASharedLayout, SharedLinearLayout, PaddedSharedLayout)):
            fix = "give a SwizzledSharedLayout or a PaddedSharedLayout"
            what = f"{self.name}: the partition_layout is a {type(piece).__name__}"
            raise LeafTypeError(what, "a layout of shared memory", fix)
        self._set(partition_dim=integer(f"{self.name}: partition_dim", self.partition_dim))
        inside = self.partition_dim < piece.rank
        what = f"partition_dim {self.partition_dim} of {piece.rank} dimensions"
        tiles.require(self.name, inside, what, "one of them", "use 0")

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.partition_layout.rank)

    @property
    def cga_layout(self) -> tuple[Vector, ...]:
        """The pieces' bases, in blocks."""
        return tuple(getattr(self.partition_layout, "cga_layout", ()))

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape, from offset, block and partition to its elements."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        pieces, d = self.num_partitions * self.num_groups, self.partition_dim
        what = f"{shape[d]} elements along dimension {d} in {pieces} pieces"
        tiles.require(self.name, shape[d] >= pieces, what, "one or more in each", "use fewer partitions or groups")
        piece: LinearLayout = self.partition_layout.linear((*shape[:d], shape[d] // pieces, *shape[d + 1 :]))
        cut = identity_1d(self.num_partitions, "partition", f"dim{d}")
        cut = cut * identity_1d(self.num_groups, "offset", f"dim{d}")
        return (piece * cut).transpose_outs(tiles.dim_names(self.rank)).transpose_ins(["offset", "block", "partition"])
