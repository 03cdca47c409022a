"""Mosaic GPU's layouts of registers: tiled and strided, with Mosaic's parameters, each with the linear layout
of an array.

A tiled layout cuts the array into tiles of tiles. Of the dimensions that this makes, some are spread over the 4 warps
of a warpgroup, some over the 32 lanes, one is the vector in a register; the rest numbers the registers, the
last one fastest.

Source: JAX 0.12, jax.experimental.mosaic.gpu, fragmented_array.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from .. import bits
from ..linear_layout import LinearLayout
from ..value import power_of_two

LANES, WARPS = 32, 4
Tile = tuple[int, ...]


class Replicated(NamedTuple):
    """So many lanes, or warps, that hold the same.

    >>> print(Replicated(4))
    Replicated(times=4)

    Source: Mosaic GPU `Replicated`.
    """

    times: int


Dim = int | Replicated


class Part(NamedTuple):
    """A dimension that tiling made: so many bits of a dimension of the array, from the bit `low` on."""

    dim: int
    low: int
    bits: int


@dataclass(frozen=True)
class TiledLayout:
    """Registers of a warpgroup, by tiles of tiles.

    tiling       tiles, each of the tile before; the first of the last dimensions of the array
    warp_dims    the dimensions that number the warps, slowest first: negative, counted from the last; or Replicated
    lane_dims    those that number the lanes
    vector_dim   the one within a register
    Raises       RangeError for extents that are no powers of two, or do not divide, RankError for dimensions
                 that are not there

    >>> wgmma = TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], warp_dims=[-7], lane_dims=[-3, -2], vector_dim=-1)
    >>> wgmma.linear([64, 8]).apply({"register": 3, "lane": 5, "warp": 1})
    {'dim0': 25, 'dim1': 3}

    Source: Mosaic GPU `TiledLayout`.
    """

    tiling: Sequence[Tile]
    warp_dims: Sequence[Dim]
    lane_dims: Sequence[Dim]
    vector_dim: int

    def __post_init__(self) -> None:
        tiles = _tiles(self.tiling)
        dims = [_dims(name, getattr(self, name)) for name in ("warp_dims", "lane_dims")]
        vector = self.vector_dim
        for name, value in (("tiling", tiles), ("warp_dims", dims[0]), ("lane_dims", dims[1])):
            object.__setattr__(self, name, value)
        parts = tiled(tiles[0], tiles)[len(tiles[0]) :]
        used = [*(d for d in (*dims[0], *dims[1]) if not isinstance(d, Replicated)), vector]
        for d in used:
            if isinstance(d, bool) or not isinstance(d, int) or not -len(parts) <= d < 0:
                what = f"TiledLayout: dimension {shown(d)}"
                raise RankError(what, f"-{len(parts)} to -1, of the tiles", "count from the last dimension")
        if len({*used}) < len(used):
            raise RankError(f"TiledLayout: dimensions {used}", "each of them once", "leave one out")
        for name, chosen, count in (("warp_dims", dims[0], WARPS), ("lane_dims", dims[1], LANES)):
            product = math.prod(d.times if isinstance(d, Replicated) else 1 << parts[d].bits for d in chosen)
            if product != count:
                what = f"TiledLayout: {name} of {product} in all"
                raise RangeError(what, f"{count}", "choose other dimensions, or Replicated")

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of an array of this shape: register, lane, warp to dim0, dim1, ..."""
        sizes = _shape("TiledLayout", shape)
        parts = tiled(sizes, self.tiling)
        taken = {d for d in (*self.warp_dims, *self.lane_dims) if isinstance(d, int)} | {self.vector_dim}
        registers = [self.vector_dim, *(d for d in range(-1, -len(parts) - 1, -1) if d not in taken)]
        fastest_first = {"register": registers, "lane": self.lane_dims[::-1], "warp": self.warp_dims[::-1]}
        columns = {name: _columns(parts, dims, len(sizes)) for name, dims in fastest_first.items()}
        return LinearLayout(columns, {f"dim{k}": n for k, n in enumerate(sizes)})


def _columns(parts: Sequence[Part], dims: Sequence[Dim], rank: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for d in dims:
        if isinstance(d, Replicated):
            found += [(0,) * rank] * bits.log2(d.times)
        else:
            dim, low, count = parts[d]
            found += [tuple(1 << low + k if i == dim else 0 for i in range(rank)) for k in range(count)]
    return found


def _tiles(tiling: object) -> tuple[Tile, ...]:
    given = [*tiling] if isinstance(tiling, (list, tuple)) else []
    if not given or not all(isinstance(t, (list, tuple)) and t for t in given):
        what = f"TiledLayout: the tiling {shown(tiling)}"
        raise LeafTypeError(what, "a list of tiles", "write [(64, 8), (16, 8), (8, 8), (2,)]")
    tiles = tuple(tuple(power_of_two("TiledLayout: a tile", n) for n in t) for t in given)
    for before, tile in itertools.pairwise(tiles):
        if len(tile) > len(before):
            what = f"TiledLayout: the tile {tile} of a tile {before}"
            raise RankError(what, "as many dimensions, or fewer", "leave the first ones out")
    return tiles


def _dims(name: str, dims: Any) -> tuple[Dim, ...]:
    if not isinstance(dims, (list, tuple)) or isinstance(dims, Replicated):
        raise LeafTypeError(f"TiledLayout: {name} {shown(dims)}", "a list of dimensions", f"write {name}=[-1]")
    return tuple(Replicated(power_of_two("Replicated", d.times)) if isinstance(d, Replicated) else d for d in dims)


def _shape(where: str, shape: object) -> tuple[int, ...]:
    if not isinstance(shape, (list, tuple)):
        raise LeafTypeError(f"{where}: the shape {shown(shape)}", "a list of extents", "write [64, 128]")
    return tuple(power_of_two(f"{where}: an extent", n) for n in shape)


def tiled(shape: Sequence[int], tiles: Sequence[Tile]) -> list[Part]:
    """The dimensions that the tiles make of a shape."""
    parts = [Part(k, 0, bits.log2(n)) for k, n in enumerate(shape)]
    for tile in tiles:
        kept, cut = parts[: max(0, len(parts) - len(tile))], parts[max(0, len(parts) - len(tile)) :]
        inner = [bits.log2(n) for n in tile]
        if len(cut) < len(tile) or any(part.bits < n for part, n in zip(cut, inner)):
            what = f"TiledLayout: the tile {tile} of {tuple(1 << part.bits for part in cut)}"
            raise RangeError(what, "a tile that divides it", "use a smaller tile, or a larger shape")
        outer = [Part(dim, low + n, count - n) for (dim, low, count), n in zip(cut, inner)]
        parts = [*kept, *outer, *(Part(dim, low, n) for (dim, low, _), n in zip(cut, inner))]
    return parts


@dataclass(frozen=True)
class WGStridedFragLayout:
    """The array as one row, dealt out to 128 threads by vectors.

    shape      of the array
    vec_size   elements of a vector

    >>> WGStridedFragLayout([64, 16], 4).linear().apply({"register": 5, "lane": 1, "warp": 0})
    {'dim0': 32, 'dim1': 5}

    Source: Mosaic GPU `WGStridedFragLayout`.
    """

    shape: Sequence[int]
    vec_size: int

    def __post_init__(self) -> None:
        shape = _shape("WGStridedFragLayout", self.shape)
        vector = power_of_two("WGStridedFragLayout: vec_size", self.vec_size)
        if math.prod(shape) % (vector * LANES * WARPS):
            what = f"WGStridedFragLayout: {math.prod(shape)} elements in vectors of {vector}"
            expected = f"a multiple of {vector * LANES * WARPS}: a vector for each of 128 threads"
            raise RangeError(what, expected, "use shorter vectors")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "vec_size", vector)

    def linear(self, shape: Sequence[int] | None = None) -> LinearLayout:
        """The linear layout: register, lane, warp to dim0, dim1, ...; the shape is the layout's own."""
        if shape is not None and tuple(shape) != self.shape:
            what = f"WGStridedFragLayout of {self.shape}: the shape {shown(tuple(shape))}"
            raise RangeError(what, f"{self.shape}", "leave it out")
        n, vector, lanes, warps = map(bits.log2, (math.prod(self.shape), self.vec_size, LANES, WARPS))
        order = [*range(vector), *range(vector + lanes + warps, n), *range(vector, vector + lanes + warps)]
        names = {f"dim{k}": size for k, size in reversed([*enumerate(self.shape)])}
        counts = [("register", n - lanes - warps), ("lane", lanes), ("warp", warps)]
        found = LinearLayout._of_columns(counts, tuple(names.items()), [1 << k for k in order])
        return found.transpose_outs([*names][::-1])


#: Mosaic's own layouts by name.
NAMED_LAYOUTS = MappingProxyType(
    {
        "WGMMA_LAYOUT": TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], [-7], [-3, -2], -1),
        "WGMMA_LAYOUT_ACC_32BIT": TiledLayout([(64, 8), (16, 8), (8, 8), (2,), (1,)], [-8], [-4, -3], -1),
        "WGMMA_LAYOUT_8BIT": TiledLayout([(64, 16), (16, 16), (8, 16), (4,)], [-7], [-3, -2], -1),
        "WGMMA_LAYOUT_UPCAST_2X": TiledLayout([(64, 16), (16, 16), (8, 16), (8,), (4,)], [-8], [-4, -2, -3], -1),
        "WGMMA_LAYOUT_UPCAST_4X": TiledLayout([(64, 32), (16, 32), (8, 32), (8,)], [-7], [-3, -2], -1),
        "WGMMA_TRANSPOSED_LAYOUT": TiledLayout([(64, 8), (16, 8), (8, 8), (2, 2), (2, 1)], [-10], [-6, -3, -5], -2),
        "WGMMA_ROW_LAYOUT": TiledLayout([(64,), (16,), (8,), (1,)], [-4], [-2, Replicated(4)], -1),
        "WGMMA_COL_LAYOUT": TiledLayout([(8,), (2,)], [Replicated(4)], [Replicated(8), -2], -1),
        "TCGEN05_LAYOUT": TiledLayout([(128, 8), (32, 8), (8, 8), (2,)], [-7], [-3, -2], -1),
        "TCGEN05_TRANSPOSED_LAYOUT": TiledLayout([(128, 8), (32, 8), (8, 8), (2, 2), (2, 1)], [-10], [-6, -3, -5], -2),
        "TCGEN05_ROW_LAYOUT": TiledLayout([(128,), (32,), (8,), (1,)], [-4], [-2, Replicated(4)], -1),
        "TMEM_NATIVE_LAYOUT": TiledLayout([(128, 2), (32, 2)], [-4], [-2], -1),
        "TMA_INDICES_LAYOUT": TiledLayout([(16,), (4,)], [-2], [Replicated(32)], -1),
        "TMA_INDICES_4_LAYOUT": TiledLayout([(4,)], [Replicated(4)], [Replicated(32)], -1),
    }
)
