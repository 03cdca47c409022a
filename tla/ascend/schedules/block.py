"""Blocks of a matrix product, strips of blocks, and what blocks read.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...core.basis import E
from ...core.int_tuple import leaves, size
from ...core.layout import Layout


class Block(NamedTuple):
    """The part of a product that a core computes at a time.

    m, n, k   its coordinate, in blocks
    start     where it begins along m, n and k, and  extents  how much of each it has [elements]

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> print(GemmIdentityBlockSwizzle((100, 64, 32), (64, 64, 32)).order()[1])
    Block(m=1, n=0, k=0, start=(64, 0, 0), extents=(36, 64, 32))

    Source: CATLASS `GetBlockCoord`, `GetActualBlockShape`.
    """

    m: int
    n: int
    k: int
    start: tuple[int, int, int]
    extents: tuple[int, int, int]


class Strip(NamedTuple):
    """A run of blocks as a layout: block i of it has the coordinate (m, n) = start + layout(i).

    first    how many blocks come before it
    start    the coordinate of its first block
    layout   from the number of a block in the strip to the step from the first: strides are coordinates

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> for strip in GemmIdentityBlockSwizzle[2, 0]((96, 96, 8), (32, 32, 8)).strips: print(strip.first, strip.start, strip.layout)
    0 (0, 0) (2,3):(1@0,1@1)
    6 (2, 2) (1,3):(1@0,-1@1)

    Source: ours; the order is that of CATLASS `GetBlockCoord`.
    """

    first: int
    start: tuple[int, int]
    layout: Layout

    def coords(self) -> Iterator[tuple[int, int]]:
        """The coordinates of its blocks, in order."""
        return zip(*self.places().tolist())

    def places(self) -> Any:
        """The coordinates of its blocks, in order, as an array: a row of those along m, and one of those along n."""
        import numpy as np

        number, above = np.arange(int(size(self.layout))), 1
        found = np.stack([np.full_like(number, start) for start in self.start])
        for extent, step in zip(map(int, leaves(self.layout.shape)), leaves(self.layout.stride)):
            found[step.path[0]] += number // above % extent * int(step.value)
            above *= extent
        return found


class Traffic(NamedTuple):
    """The bytes of A and B that cores read: `gm` from global memory, `l2` of what another core has read in
    the same wave.

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> GemmIdentityBlockSwizzle((64, 64, 32), (32, 64, 32), cores=2).traffic()
    Traffic(gm=8192, l2=4096)

    Source: ours.
    """

    gm: int
    l2: int


def strip_of(
    first: int, start: tuple[int, int], shape: tuple[int, ...], direction: int, steps: tuple[int, ...]
) -> Strip:
    """A strip of blocks. Its first extent goes along m in direction 0, along n in direction 1; steps are 1 or -1."""
    ends = (E[direction], E[1 - direction])
    return Strip(first, start, Layout(shape, tuple(step * end for step, end in zip(steps, ends))))


def elements_read(wave: Iterable[Block]) -> tuple[int, int]:
    """The elements of A and B that blocks read between them, and how many they read one by one."""
    rows: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    columns: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    total = 0
    for _m, _n, _k, (row, column, begin), (high, wide, depth) in wave:
        rows[row, high].append((begin, begin + depth))
        columns[column, wide].append((begin, begin + depth))
        total += (high + wide) * depth
    once = sum(size * _covered(pieces) for panels in (rows, columns) for (_start, size), pieces in panels.items())
    return once, total


def _covered(pieces: list[tuple[int, int]]) -> int:
    """The length of a union of intervals."""
    length, end = 0, 0
    for lo, hi in sorted(pieces):
        length += max(0, hi - max(lo, end))
        end = max(end, hi)
    return length
