"""Layouts of tensors in registers that are no operands of an instruction: blocked, linear, sliced.

Source: Gluon, triton.experimental.gluon.language, of Triton 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import RankError
from ..linear_layout import LinearLayout
from ..value import integer
from . import tiles
from .parameters import Parameters, Vector


@dataclass(frozen=True, repr=False)
class BlockedLayout(Parameters):
    """Boxes of elements in each thread, boxes of threads in each warp, boxes of warps in each block, all in one order.

    size_per_thread, threads_per_warp, warps_per_cta   one power of two for each dimension
    order        the dimensions, fastest first
    cga_layout   a basis, in blocks, for each bit of the block's number in its cluster

    >>> BlockedLayout([1, 4], [4, 8], [2, 1], [1, 0]).linear([8, 32]).bases["lane"]
    ((0, 4), (0, 8), (0, 16), (1, 0), (2, 0))

    Source: Gluon `BlockedLayout`, Triton `#ttg.blocked`.
    """

    size_per_thread: Sequence[int]
    threads_per_warp: Sequence[int]
    warps_per_cta: Sequence[int]
    order: Sequence[int]
    cga_layout: Any = ()

    _ranked = "order"

    def __post_init__(self) -> None:
        rank = len(self._powers("size_per_thread"))
        self._powers("threads_per_warp", rank)
        self._powers("warps_per_cta", rank)
        self._order("order", rank)
        self._vectors("cga_layout", rank)

    def linear(self, shape: Sequence[int], release: str = "3.9") -> LinearLayout:
        """The linear layout of a tensor of this shape.

        release   Triton's: if a thread has more registers than the tensor fills, 3.8 keeps the copies, 3.9 drops them

        >>> wide = BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0])
        >>> wide.linear([8, 4]).bases["register"], wide.linear([8, 4], "3.8").bases["register"]
        (((0, 1), (0, 2)), ((0, 1), (0, 2), (0, 0)))
        """
        known = isinstance(release, str) and release in ("3.8", "3.9")
        tiles.require(self.name, known, f"release {release!r:.20} of Triton", "'3.8' or '3.9'", "leave it out for 3.9")
        shape = tiles.checked_shape(self.name, shape, self.rank)
        tile = tiles.identity("register", self.size_per_thread, self.order)
        tile = tile * tiles.identity("lane", self.threads_per_warp, self.order)
        tile = tile * tiles.identity("warp", self.warps_per_cta, self.order)
        found = tiles.combine(self.name, tile, self.cga_layout, shape)
        return found if release == "3.8" else found.remove_zero_bases_along_dim("register")


@dataclass(frozen=True, repr=False)
class DistributedLinearLayout(Parameters):
    """Bases as they are: for each bit of register, lane, warp and block its coordinate in a tensor of a shape.

    >>> DistributedLinearLayout([[1]], [[2], [4]], [], [], [8]).linear([16]).bases["register"]
    ((1,), (8,))

    Source: Gluon `DistributedLinearLayout`, Triton `#ttg.linear`.
    """

    reg_bases: Any
    lane_bases: Any
    warp_bases: Any
    block_bases: Any
    shape: Sequence[int]

    _ranked = "shape"

    def __post_init__(self) -> None:
        rank = len(self._powers("shape"))
        for name in ("reg_bases", "lane_bases", "warp_bases", "block_bases"):
            self._vectors(name, rank)
        self._tile()

    @property
    def cga_layout(self) -> tuple[Vector, ...]:
        """The bases of blocks, in elements."""
        return self.block_bases  # type: ignore[no-any-return]

    def _tile(self) -> LinearLayout:
        bases = {"register": self.reg_bases, "lane": self.lane_bases}
        bases |= {"warp": self.warp_bases, "block": self.block_bases}
        return LinearLayout(bases, dict(zip(tiles.dim_names(self.rank), self.shape)))

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape: repeated in registers where it is larger, cut where smaller."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        wanted = dict(zip(tiles.dim_names(self.rank), shape))
        tile = tiles.ordered(self._tile(), self._order_of_registers())
        tile = tiles.not_larger(tiles.not_smaller(tile, wanted), wanted, drop="register").transpose_outs([*wanted])
        return LinearLayout({d: tile.bases.get(d, ()) for d in ("register", "lane", "warp", "block")}, tile.out_dims)

    def _order_of_registers(self) -> list[int]:
        """The dimensions as the registers go along them, then the others, the last first: so is a tile repeated."""
        found = [next(k for k, x in enumerate(v) if x) for v in self.reg_bases if any(v)]
        return [*dict.fromkeys([*found, *tiles.matrix_order(self.rank)])]


@dataclass(frozen=True, repr=False)
class SliceLayout(Parameters):
    """A parent's layout without one dimension: what is left of a tensor that was reduced along it.

    >>> SliceLayout(1, BlockedLayout([1, 1], [8, 4], [1, 1], [1, 0])).linear([8]).bases["lane"]
    ((0,), (0,), (1,), (2,), (4,))

    Source: Gluon `SliceLayout`, Triton `#ttg.slice`.
    """

    dim: int
    parent: Any

    def __post_init__(self) -> None:
        require_distributed(f"{self.name}: the parent", self.parent)
        dim = integer(f"{self.name}: dim", self.dim)
        if dim >= self.parent.rank:
            what = f"{self.name}: dim {dim} of a parent of rank {self.parent.rank}"
            raise RankError(what, "one of its dimensions", "use 0")
        self._set(dim=dim)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.parent.rank) - 1

    @property
    def cga_layout(self) -> tuple[Vector, ...]:
        """The parent's, without the dimension."""
        return tuple((*v[: self.dim], *v[self.dim + 1 :]) for v in self.parent.cga_layout)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tensor of this shape; registers that hold the same are one register."""
        shape = tiles.checked_shape(self.name, shape, self.rank)
        whole = self.parent.linear((*shape[: self.dim], 1, *shape[self.dim :]))
        kept = [d for k, d in enumerate(tiles.dim_names(self.parent.rank)) if k != self.dim]
        cut = whole.sublayout(whole.get_in_dim_names(), kept).rename(dict(zip(kept, tiles.dim_names(self.rank))))
        return cut.remove_zero_bases_along_dim("register")  # type: ignore[no-any-return]


def require_distributed(where: str, x: object) -> None:
    """Refuse what is no layout of registers."""
    if not (isinstance(x, Parameters) and hasattr(x, "linear") and hasattr(x, "cga_layout") and hasattr(x, "rank")):
        what = f"{where} is a {type(x).__name__}"
        raise RankError(what, "a distributed layout", "give a BlockedLayout, or that of an MMA")
