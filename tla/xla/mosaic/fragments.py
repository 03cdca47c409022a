"""Arrays in the registers of a warpgroup, as Mosaic GPU lays them out.

Source: JAX jax/experimental/mosaic/gpu/fragmented_array.py (Tiling, TiledLayout, WGStridedFragLayout) and tcgen05.py (TMEMLayout).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...algebra.coalesce import coalesce
from ...algebra.compose import compose
from ...core.composed import ComposedLayout
from ...core.errors import DivisibilityError, RangeError, RankError
from ...core.ints import _1, static
from ...core.layout import Layout
from ..shapes.arguments import integers_of

#: Warps of a warpgroup, and lanes of a warp.
WARPS, LANES = 4, 32
Modes: TypeAlias = "list[tuple[int, int]]"


class Replicated(NamedTuple):
    """Warps or lanes that hold the same elements: so many of them."""

    times: int


Dim: TypeAlias = "int | Replicated"


@dataclass(frozen=True, slots=True)
class TiledFragment:
    """An array in the registers of a warpgroup, as tilings say it: Mosaic GPU's TiledLayout. Its str() is the attribute's text.

    tiles        each cuts the last dimensions of what the tile before it left in two: which tile, and where in it
    warp_dims    of the dimensions after all tiles, those that go over the warps, the slowest first: numbers from the end (-1 is the last),
                 or Replicated
    lane_dims    those that go over the lanes of a warp
    vector_dim   the one whose elements stand together in a register
    Raises       RangeError for dimensions that are not there, or that do not make 4 warps of 32 lanes

    >>> from tla.xla import parse_fragment_layout
    >>> print(parse_fragment_layout("WGMMA"))
    #mosaic_gpu.TiledLayout<[[64, 8], [16, 8], [8, 8], [2]], warp_dims = [-7], lane_dims = [-3, -2], vector_dim = -1>

    Source: JAX jax/experimental/mosaic/gpu/fragmented_array.py, TiledLayout.
    """

    tiles: tuple[tuple[int, ...], ...]
    warp_dims: tuple[Dim, ...]
    lane_dims: tuple[Dim, ...]
    vector_dim: int

    def __post_init__(self) -> None:
        if not self.tiles or any(not tile or min(tile) < 1 for tile in self.tiles):
            raise RangeError(f"tiles {self.tiles}", "tiles of extents of 1 or more", "write ((64, 8), (16, 8), (8, 8), (2,))")
        if any(len(one) < len(after) for one, after in zip(self.tiles, self.tiles[1:])):
            raise RankError(f"tiles {self.tiles}", "no tile of more dimensions than the one before it", "write the larger one first")
        tiled = _tiled(self.tiles, [(n, 0) for n in self.tiles[0]])[len(self.tiles[0]) :]
        used = [d for d in (*self.warp_dims, *self.lane_dims, self.vector_dim) if not isinstance(d, Replicated)]
        if len({*used}) != len(used) or any(not -len(tiled) <= d < 0 for d in used):
            raise RangeError(f"dimensions {used} of {self.tiles}", f"different ones of -{len(tiled)} to -1", "count them from the end")
        for what, dims, size in (("warp_dims", self.warp_dims, WARPS), ("lane_dims", self.lane_dims, LANES)):
            count = math.prod(_mode(tiled, d)[0] for d in dims)
            if count != size:
                raise RangeError(f"{what} of {count}", f"{size} together", "a warpgroup is 4 warps of 32 lanes")

    def __str__(self) -> str:
        tiles = ", ".join(map(_listed, self.tiles))
        return (
            f"#mosaic_gpu.TiledLayout<[{tiles}], warp_dims = {_listed(self.warp_dims)}, lane_dims = {_listed(self.lane_dims)}, "
            f"vector_dim = {self.vector_dim}>"
        )

    def layout(self, shape: Sequence[int]) -> Layout:
        """The layout (thread, value) -> index in an array of this shape, its first dimension fastest, as the atoms of tla.gpu have it.

        Threads are lane + 32 * warp. Values go through the vector first, then through the registers, the last dimension of their
        array fastest. Raises DivisibilityError for a shape that the tiles do not divide.

        >>> from tla.xla import parse_fragment_layout
        >>> print(parse_fragment_layout("WGMMA").layout((64, 16)))
        ((_4,_8,_4),(_2,_2,_2)):((_128,_1,_16),(_64,_8,_512))

        Source: fragmented_array.py, TiledLayout.thread_idxs.
        """
        dims = extents_of(shape)
        if len(dims) < len(self.tiles[0]):
            raise RankError(f"{self} of an array of {dims}", f"{len(self.tiles[0])} dimensions or more", "write its shape")
        steps = [math.prod(dims[:k]) for k in range(len(dims))]
        tiled = _tiled(self.tiles, [*zip(dims, steps)], f"{self} of an array of {dims}")
        lanes, warps = ([_mode(tiled, d) for d in reversed(dims)] for dims in (self.lane_dims, self.warp_dims))
        shared = {d % len(tiled) for d in (*self.warp_dims, *self.lane_dims, self.vector_dim) if not isinstance(d, Replicated)}
        registers = [tiled[k] for k in reversed(range(len(tiled))) if k not in shared]
        return _by_thread([*lanes, *warps], [tiled[self.vector_dim], *registers])


@dataclass(frozen=True, slots=True)
class StridedFragment:
    """An array in the registers of a warpgroup, in row-major order: vector after vector goes to thread after thread.

    shape    of the array
    vector   elements of a vector
    Raises   DivisibilityError for an array that 128 vectors do not divide

    >>> layout = StridedFragment((64, 16), 4)
    >>> print(layout, layout.layout())
    #mosaic_gpu.WGStridedFragLayout<[64, 16], 4> ((_4,_32),(_4,_2)):((_256,_1),(_64,_32))

    Source: JAX jax/experimental/mosaic/gpu/fragmented_array.py, WGStridedFragLayout.
    """

    shape: tuple[int, ...]
    vector: int

    def __post_init__(self) -> None:
        count, step = math.prod(extents_of(self.shape)), WARPS * LANES * self.vector
        if self.vector < 1 or count % step:
            fix = "take another vector, or pad the array"
            raise DivisibilityError(f"an array of {self.shape} in vectors of {self.vector}", f"{step} elements, or n times as many", fix)

    def __str__(self) -> str:
        return f"#mosaic_gpu.WGStridedFragLayout<{_listed(self.shape)}, {self.vector}>"

    def layout(self) -> Layout | ComposedLayout:
        """The layout (thread, value) -> index in the array, its first dimension fastest: see TiledFragment.layout.

        A ComposedLayout where threads go by steps that the rows do not take evenly.
        """
        threads, count = WARPS * LANES, math.prod(self.shape)
        order = [(n, math.prod(self.shape[:k])) for k, n in enumerate(self.shape)][::-1]  # row-major: the last dimension first
        rows = _by_thread([(threads, self.vector)], [(self.vector, 1), (count // (threads * self.vector), threads * self.vector)])
        made: Layout | ComposedLayout = compose(layout_of_modes(order), rows)
        return made


# ------------------------------------------------------------------------------------------------------ modes


def _tiled(tiles: Sequence[Sequence[int]], dims: Modes, where: str = "tiles") -> Modes:
    """The dimensions (extent, step) after each tile has cut the last of them in two."""
    for tile in tiles:
        kept, cut = dims[: len(dims) - len(tile)], dims[len(dims) - len(tile) :]
        if any(n % t for (n, _d), t in zip(cut, tile)):
            what = f"{where}: {tuple(tile)} does not divide {tuple(n for n, _d in cut)}"
            raise DivisibilityError(what, "extents that each tile divides", "pad the array, or take another layout")
        dims = [*kept, *((n // t, d * t) for (n, d), t in zip(cut, tile)), *((t, d) for (_n, d), t in zip(cut, tile))]
    return dims


def _mode(tiled: Modes, d: Dim) -> tuple[int, int]:
    """The extent and the step of a dimension; who is replicated takes no step."""
    return (d.times, 0) if isinstance(d, Replicated) else tiled[d]


def layout_of_modes(modes: Modes) -> Layout:
    """The static layout with these modes."""
    return Layout(tuple(static(n) for n, _d in modes), tuple(static(d) for _n, d in modes))


def _by_thread(threads: Modes, values: Modes) -> Layout:
    """The layout of threads and of values, each as few modes as it takes."""
    parts = [layout_of_modes(threads), layout_of_modes(values)]
    return coalesce(Layout(tuple(p.shape for p in parts), tuple(p.stride for p in parts)), (_1, _1))


def extents_of(shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of an array, checked."""
    dims = integers_of("shape", shape)
    if not dims or min(dims) < 1 or math.prod(dims) > 2**43:
        raise RangeError(f"an array of {dims}", "extents of 1 or more, at most 2**43 elements", "write its shape")
    return dims


def _listed(parts: Sequence[Dim]) -> str:
    return f"[{', '.join(f'#mosaic_gpu.Replicated<times = {x.times}>' if isinstance(x, Replicated) else str(x) for x in parts)}]"
