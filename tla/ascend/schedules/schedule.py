"""A schedule: the blocks of each core, in order, as a table; waves, and what they read.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.element import half
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import shown
from ...core.ints import IntLike, known, leaf
from ..element import as_element
from .block import Block, Strip, Traffic, elements_read

#: The strips that number the blocks of a matrix: of (blocks along m, along n), an offset and a direction.
Order = Callable[[tuple[int, int], int, int], Iterator[Strip]]
#: The blocks of one core.
Deal = Callable[["Schedule", int], Iterator[Block]]


#: More blocks than this are not gone through one by one.
MOST_BLOCKS = 2**20


def require_countable(what: str, count: int) -> int:
    """The number of things that are to be gone through; RangeError where there are too many."""
    if count >= MOST_BLOCKS:
        fix = "take larger tiles, or a part of the problem"
        raise RangeError(f"{what}: {count} or more", f"less than {MOST_BLOCKS}", fix)
    return count


def sizes_of(what: str, sizes: object, rank: int = 3) -> tuple[int, ...]:
    """Sizes along m, n and, of a product, k as plain ints."""
    if not isinstance(sizes, tuple) or len(sizes) != rank:
        given = shown(sizes) if isinstance(sizes, tuple) else repr(sizes)
        raise LeafTypeError(f"{what}: {given}", f"({', '.join('mnk'[:rank])})", f"write {(128, 256, 64)[:rank]}")
    found = tuple(leaf(size) for size in sizes)
    if any(known(size) is None for size in found):
        fix = f"write {(128, 256, 64)[:rank]}, and once more for each size; ascend.block and ascend.transfer take names"
        expected = "sizes that are numbers: how many blocks there are decides the statements"
        raise Unproven(f"{what}: {shown(found)}", expected, fix)
    return tuple(map(int, found))


def positive(what: str, given: IntLike | None) -> int:
    """A number that is 1 or more, and no more than are gone through."""
    n = int(leaf(given))
    if n >= MOST_BLOCKS:
        raise RangeError(f"{n} {what}", f"less than {MOST_BLOCKS}", f"take fewer {what}")
    if n < 1:
        raise RangeError(f"{n} {what}", "1 or more", f"leave {what} out for 1")
    return n


@dataclass(frozen=True)
class Schedule:
    """The blocks of each core, as a block swizzle deals them out. `str()` is CATLASS's picture: the cores
    that compute each block.

    swizzle        the name of the swizzle, with its arguments
    problem        (m, n, k) [elements], k 0 of an epilogue;  tile  (m, n, k) of a block [elements]
    cores          how many there are
    splitkFactor   into how many slices k is cut, by the swizzle that does so; the slices of a block are added
    first          the core that takes the first block, of a problem behind another

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> s = GemmIdentityBlockSwizzle[2, 0]((96, 96, 128), (32, 32, 64), cores=4)
    >>> print(s)
    0 2 0
    1 3 1
    0 3 2
    >>> [(b.m, b.n) for b in s.core(0)]
    [(0, 0), (0, 2), (2, 0)]

    Source: CATLASS block_swizzle.hpp, and the kernels that use it.
    """

    swizzle: str
    order_of: Order
    deal: Deal
    offset: int
    direction: int
    problem: tuple[int, int, int]
    tile: tuple[int, int, int]
    cores: int
    splitkFactor: int
    first: int = 0

    @functools.cached_property
    def blocks(self) -> tuple[int, int, int]:
        """The blocks along m, n and k."""
        m, n, k = (-(-size // t) for size, t in zip(self.problem, self.tile))
        return m, n, k

    @functools.cached_property
    def strips(self) -> tuple[Strip, ...]:
        """The order of the blocks of the result as layouts, one behind another."""
        require_countable(f"the strips of {self!r}", max(self.blocks[:2]))
        return tuple(self.order_of(self.blocks[:2], self.offset, self.direction))

    @functools.cached_property
    def coordinates(self) -> Any:
        """The coordinates of the blocks of the result, in the order of the strips, as an array: a row of m, and one of n."""
        import numpy as np

        require_countable(f"the blocks of {self!r}", self.blocks[0] * self.blocks[1])
        return np.concatenate([strip.places() for strip in self.strips], axis=1)

    @functools.cached_property
    def numbered(self) -> list[tuple[int, int]]:
        """The coordinates (m, n) of the blocks of the result, in the order of the strips."""
        return [*zip(*self.coordinates.tolist())]

    @functools.cached_property
    def table(self) -> tuple[tuple[Block, ...], ...]:
        """The blocks of each core, in order."""
        found: list[tuple[Block, ...]] = []
        count = 0
        for core in range(self.cores):
            found.append(tuple(itertools.islice(self.deal(self, core), MOST_BLOCKS)))
            count = require_countable(f"the blocks of all cores of {self!r}", count + len(found[-1]))
        return tuple(found)

    @property
    def tasks(self) -> int:
        """The number of blocks of all cores, slices of k counted one by one."""
        return sum(map(len, self.table))

    def core(self, index: Any) -> tuple[Block, ...]:
        """The blocks of one core, in order."""
        index = int(leaf(index))
        if not 0 <= index < self.cores:
            raise RangeError(f"core {index} of {self.cores}", f"0 to {self.cores - 1}", "count cores from 0")
        return self.table[index]

    def waves(self) -> Iterator[tuple[Block, ...]]:
        """The blocks that are computed side by side: the first of each core, the second of each, and so on."""
        for wave in itertools.zip_longest(*self.table):
            yield tuple(block for block in wave if block is not None)

    def order(self) -> tuple[Block, ...]:
        """The blocks, wave after wave."""
        return tuple(itertools.chain.from_iterable(self.waves()))

    def traffic(self, element: object = half, wave: IntLike | None = None) -> Traffic:
        """The bytes of A and B that cores read, from global memory and from L2: of all waves, or of one.

        What several cores read in one wave comes from global memory once, and to the others from L2.

        >>> from tla.ascend import GemmIdentityBlockSwizzle
        >>> problem, tile = (4096, 4096, 4096), (128, 256, 256)
        >>> for offset in (1, 3, 5):
        ...     gm, l2 = GemmIdentityBlockSwizzle[offset, 0](problem, tile, cores=20).traffic()
        ...     print(gm >> 20, l2 >> 20)
        779 757
        444 1092
        348 1188
        """
        waves = [*self.waves()]
        if wave is not None:
            wave = int(leaf(wave))
            if not 0 <= wave < len(waves):
                raise RangeError(f"wave {wave} of {len(waves)}", f"0 to {len(waves) - 1}", "count waves from 0")
            waves = [waves[wave]]
        bits = as_element(element).bits
        once, total = (sum(n) * bits // 8 for n in zip(*map(elements_read, waves)))
        return Traffic(once, total - once)

    def block(self, m: int, n: int, begin: int = 0, end: int | None = None) -> Block:
        """The block at a coordinate, from block `begin` of k up to block `end` of it."""
        last = self.blocks[2] if end is None else end
        start = tuple(i * t for i, t in zip((m, n, begin), self.tile))
        extents = (min(t, size - s) for t, size, s in zip(self.tile[:2], self.problem, start))
        return Block(m, n, begin, start, (*extents, self._depth(begin, last)))  # type: ignore[arg-type]

    def _depth(self, begin: int, end: int) -> int:
        return max(0, min(end * self.tile[2], self.problem[2]) - begin * self.tile[2])

    def __str__(self) -> str:
        cells: dict[tuple[int, int], list[int]] = {}
        for core, blocks in enumerate(self.table):
            for b in blocks:
                cells.setdefault((b.m, b.n), []).append(core)
        m, n, _ = self.blocks
        text = [["+".join(map(str, sorted(set(cells.get((i, j), []))))) for j in range(n)] for i in range(m)]
        width = max(len(cell) for row in text for cell in row)
        return "\n".join(" ".join(cell.rjust(width) for cell in row).rstrip() for row in text)

    def __repr__(self) -> str:
        more = f", splitkFactor={self.splitkFactor}" if self.splitkFactor > 1 else ""
        rank = 3 if self.problem[2] else 2
        return f"{self.swizzle}({self.problem[:rank]}, {self.tile[:rank]}, cores={self.cores}{more})"
