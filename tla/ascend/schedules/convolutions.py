"""CATLASS's block swizzles of convolutions: places by channels, numbered as the blocks of a matrix are.

Source: CATLASS include/catlass/conv/block/block_swizzle.hpp.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...core.errors import RangeError
from ...core.int_tuple import shown
from .schedule import positive, require_countable, sizes_of
from .swizzles import GemmIdentityBlockSwizzle

Sizes = tuple[int, ...]


class ConvolutionBlock(NamedTuple):
    """A block of a convolution's result, four numbers each: (batch, height, width, channel), or (batch,
    depth, c1, place).

    coord    its number along each;  start  where it begins;  extents  how much of it there is

    >>> from tla.ascend import Conv2dIdentityBlockSwizzle
    >>> (blocks,) = Conv2dIdentityBlockSwizzle((1, 5, 8, 16), (4, 8, 16))
    >>> blocks[1]
    ConvolutionBlock(coord=(0, 1, 0, 0), start=(0, 4, 0, 0), extents=(1, 1, 8, 16))

    Source: CATLASS `GetBlockCoord`, `GetActualBlockShape`.
    """

    coord: Sizes
    start: Sizes
    extents: Sizes


@dataclass(frozen=True)
class ConvolutionSwizzle:
    """A block swizzle of a convolution: called with the sizes of the result and of its parts it gives the
    blocks of each core.

    name        as CATLASS has it;  offset, direction  in square brackets, as of GemmIdentityBlockSwizzle
    tiles       the tile of a block and how many there are, along each of four modes, from what it is called with
    batched     whether batches come one after another, each numbered by itself

    >>> from tla.ascend import Conv2dIdentityBlockSwizzle, Conv3dIdentityBlockSwizzle
    >>> Conv2dIdentityBlockSwizzle[2, 1]
    Conv2dIdentityBlockSwizzle[2, 1]
    >>> cores = Conv2dIdentityBlockSwizzle[2, 0]((2, 9, 9, 32), (4, 4, 16), cores=7)     # (batch, ho, wo, cout), (ho, wo, cout)
    >>> [b.coord for b in cores[0]]
    [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (1, 0, 1, 1), (1, 1, 1, 1), (1, 2, 2, 1)]
    >>> (blocks,) = Conv3dIdentityBlockSwizzle((1, 2, 3, 70), (1, 2, 1, 4))              # (n, do, c1, howo), how many parts of each
    >>> len(blocks), blocks[-1].extents
    (8, (1, 1, 3, 16))

    Raises LeafTypeError and RangeError for sizes that are none. Source: CATLASS conv/block/block_swizzle.hpp.
    """

    name: str
    tiles: Callable[[Sizes, object], tuple[Sizes, Sizes]]
    batched: bool
    offset: int = 1
    direction: int = 0

    def __getitem__(self, arguments: object) -> ConvolutionSwizzle:
        told = GemmIdentityBlockSwizzle[arguments]
        return replace(self, offset=told.offset, direction=told.direction)

    def __call__(self, sizes: object, parts: object, *, cores: Any = 1) -> tuple[tuple[ConvolutionBlock, ...], ...]:
        whole = _positive(f"the result of {self.name}", sizes, 4)
        tile, counts = self.tiles(whole, parts)
        cores = positive("cores", cores)
        require_countable(f"the blocks of {self.name}", math.prod(counts))
        coords = self._two(counts) if self.batched else self._three(counts)
        blocks = [_block(coord, tile, whole) for coord in coords]
        return tuple(tuple(blocks[core::cores]) for core in range(cores))

    def _numbered(self, down: int, across: int) -> list[tuple[int, int]]:
        return GemmIdentityBlockSwizzle[self.offset, self.direction]((down, across, 1), (1, 1, 1)).numbered

    def _two(self, counts: Sizes) -> Any:
        """Places by channels, batch after batch."""
        batches, high, wide, channels = counts
        for batch, (place, channel) in itertools.product(range(batches), self._numbered(high * wide, channels)):
            yield batch, *divmod(place, wide), channel

    def _three(self, counts: Sizes) -> Any:
        """Places by batches, depths and channels."""
        batches, deep, channels, places = counts
        for place, other in self._numbered(places, batches * deep * channels):
            yield *divmod(other // channels, deep), other % channels, place

    def __repr__(self) -> str:
        return f"{self.name}[{self.offset}, {self.direction}]"


def _positive(what: str, given: object, rank: int) -> Sizes:
    found = sizes_of(what, given, rank)
    if min(found) < 1:
        raise RangeError(f"{what}: {shown(found)}", "sizes of 1 or more", "leave out what is empty")
    return found


def _block(coord: Sizes, tile: Sizes, whole: Sizes) -> ConvolutionBlock:
    start = tuple(c * t for c, t in zip(coord, tile))
    return ConvolutionBlock(coord, start, tuple(max(0, min(t, n - s)) for t, n, s in zip(tile, whole, start)))


def _by_tile(whole: Sizes, given: object) -> tuple[Sizes, Sizes]:
    """The tile (ho, wo, cout) of one batch, and how many there are."""
    tile = (1, *_positive("the tile of Conv2dIdentityBlockSwizzle", given, 3))
    return tile, tuple(-(-n // t) for n, t in zip(whole, tile))


def _by_count(whole: Sizes, given: object) -> tuple[Sizes, Sizes]:
    """The tile that so many parts make, and how many there are: no more than a mode has elements."""
    counts = tuple(map(min, whole, _positive("the parts of Conv3dIdentityBlockSwizzle", given, 4)))
    return tuple(-(-n // c) for n, c in zip(whole, counts)), counts


Conv2dIdentityBlockSwizzle = ConvolutionSwizzle("Conv2dIdentityBlockSwizzle", _by_tile, batched=True)
Conv3dIdentityBlockSwizzle = ConvolutionSwizzle("Conv3dIdentityBlockSwizzle", _by_count, batched=False)
