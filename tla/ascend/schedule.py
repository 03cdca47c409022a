"""Schedules: which block of the result each task computes, and what that moves from global memory.

A task is one block of a matrix, or one slice along k of it. CATLASS's block swizzles number the tasks; the cores take them in
turn. `order` is that numbering as data, so that traffic and balance can be counted before a kernel runs.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.element import half
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown
from ..core.ints import leaf
from .element import as_element


class Block(NamedTuple):
    """A task: the coordinate of its block in blocks, and the actual extents of that block [elements].

    >>> from tla.ascend import BlockSwizzle
    >>> print(BlockSwizzle((100, 64, 32), (64, 64, 32)).block(1))
    Block(m=1, n=0, k=0, extents=(36, 64, 32))

    Source: CATLASS `GetBlockCoord`, `GetActualBlockShape`.
    """

    m: int
    n: int
    k: int
    extents: tuple[int, int, int]


def _three(what: str, sizes: Any) -> tuple[int, int, int]:
    """Sizes along m, n and k as plain ints."""
    if not isinstance(sizes, tuple) or len(sizes) != 3:
        raise LeafTypeError(f"{what}: {shown(sizes) if isinstance(sizes, tuple) else repr(sizes)}", "(m, n, k)", "write (128, 256, 64)")
    m, n, k = (int(leaf(size)) for size in sizes)
    return m, n, k


def _cores(given: Any) -> int:
    """A number of cores."""
    cores = int(leaf(given))
    if cores < 1:
        raise RangeError(f"{cores} cores", "1 or more", "use the number of cores of the chip")
    return cores


@dataclass(frozen=True)
class BlockSwizzle:
    """The order of the blocks of a GEMM: strips of `offset` blocks, each walked across, every other one backwards.

    problem      (m, n, k) [elements];  tile  (m, n, k) of a block [elements]
    offset       the blocks of a strip, side by side
    direction    0: strips of rows, walked along n (Zn);  1: strips of columns, walked along m (Nz)
    split_k      into how many slices k is cut; a task is one slice of one block, and the slices of a block are added

    >>> from tla.ascend import BlockSwizzle
    >>> s = BlockSwizzle((96, 64, 128), (32, 32, 64), offset=2)
    >>> [(b.m, b.n) for b in s.order()]
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 0)]

    Raises RangeError for sizes below 1. Source: CATLASS `GemmIdentityBlockSwizzle`, `SplitkGemmIdentityBlockSwizzle`.
    """

    problem: tuple[int, int, int]
    tile: tuple[int, int, int]
    offset: int = 1
    direction: int = 0
    split_k: int = 1

    def __post_init__(self) -> None:
        for name in ("problem", "tile"):
            object.__setattr__(self, name, _three(f"the {name} of a BlockSwizzle", getattr(self, name)))
        for name in ("offset", "direction", "split_k"):
            object.__setattr__(self, name, int(leaf(getattr(self, name))))
        if min(*self.problem, *self.tile, self.offset, self.split_k) < 1 or self.direction not in (0, 1):
            given = f"the problem {shown(self.problem)} in tiles of {shown(self.tile)}, offset {self.offset}, direction {self.direction}"
            raise RangeError(given, "sizes of 1 or more, direction 0 or 1", "leave out what is empty")

    @property
    def blocks(self) -> tuple[int, int, int]:
        """The blocks along m, n and k."""
        m, n, k = (-(-size // t) for size, t in zip(self.problem, self.tile))
        return m, n, k

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        m, n, _ = self.blocks
        return m * n * self.split_k

    def block(self, task: int) -> Block:
        """The block of a task; RangeError past the last."""
        task = int(leaf(task))
        if not 0 <= task < self.tasks:
            raise RangeError(f"task {task}", f"0 to {self.tasks - 1}", "count tasks from 0")
        blocks_m, blocks_n, _ = self.blocks
        part, inner = divmod(task, blocks_m * blocks_n)
        along, across = (blocks_m, blocks_n) if self.direction == 0 else (blocks_n, blocks_m)
        strip, inside = divmod(inner, self.offset * across)
        width = min(self.offset, along - self.offset * strip)
        major, minor = strip * self.offset + inside % width, inside // width
        minor = across - 1 - minor if strip % 2 else minor
        m, n = (major, minor) if self.direction == 0 else (minor, major)
        begin, end = (self._slice_begin(i) for i in (part, part + 1))
        return Block(m, n, begin, self._extents(m, n, begin, end))

    def _slice_begin(self, part: int) -> int:
        """The block of k at which a slice begins: the first slices have one block more."""
        size, longer = divmod(self.blocks[2], self.split_k)
        return part * size + min(part, longer)

    def _extents(self, m: int, n: int, begin: int, end: int) -> tuple[int, int, int]:
        rows, columns = (min(t, size - i * t) for i, t, size in zip((m, n), self.tile, self.problem))
        return rows, columns, max(0, min(end * self.tile[2], self.problem[2]) - begin * self.tile[2])

    def order(self) -> Iterator[Block]:
        """The blocks, task after task."""
        return map(self.block, range(self.tasks))

    def waves(self, cores: int) -> Iterator[list[Block]]:
        """The blocks that are computed side by side: task i is core i % cores's, in wave i // cores."""
        cores = _cores(cores)
        for first in range(0, self.tasks, cores):
            yield [self.block(task) for task in range(first, min(first + cores, self.tasks))]

    def core(self, cores: int, index: int) -> list[Block]:
        """The work of one core: its blocks, in order."""
        cores, index = _cores(cores), int(leaf(index))
        if not 0 <= index < cores:
            raise RangeError(f"core {index} of {cores}", f"0 to {cores - 1}", "count cores from 0")
        return [self.block(task) for task in range(index, self.tasks, cores)]

    def traffic(self, cores: int, element: object = half) -> int:
        """The bytes of A and B that all waves together read from global memory, if a wave reads each panel once.

        A wave's cores share what they read at the same time (L2): a row of blocks of A, or a column of B, counts once a wave.

        >>> from tla.ascend import BlockSwizzle
        >>> [BlockSwizzle((4096, 4096, 4096), (128, 256, 256), offset=o).traffic(20) >> 20 for o in (1, 3, 5)]
        [779, 444, 348]
        """
        bits = as_element(element).bits
        return sum(self._wave_elements(wave) for wave in self.waves(cores)) * bits // 8

    @staticmethod
    def _wave_elements(wave: list[Block]) -> int:
        rows = {(b.m, b.k): b.extents[0] * b.extents[2] for b in wave}
        columns = {(b.n, b.k): b.extents[1] * b.extents[2] for b in wave}
        return sum(rows.values()) + sum(columns.values())


def grouped(
    problems: list[tuple[int, int, int]], tile: tuple[int, int, int], cores: int, **options: int
) -> Iterator[list[tuple[int, Block]]]:
    """The tasks of each core for problems one after another, as a grouped GEMM has them: (problem, block) in order.

    The first task of a problem goes to the core behind the one that took the last task of the problem before it.

    >>> from tla.ascend import grouped
    >>> [[(g, b.m, b.n) for g, b in tasks] for tasks in grouped([(64, 32, 8), (32, 64, 8)], (32, 32, 8), cores=3)]
    [[(0, 0, 0), (1, 0, 1)], [(0, 1, 0)], [(1, 0, 0)]]

    Batches are problems of one size. Source: CATLASS include/catlass/gemm/kernel/grouped_matmul_m.hpp (`startCoreIdx`).
    """
    cores = _cores(cores)
    if not isinstance(problems, (list, tuple)):
        raise LeafTypeError(f"grouped of a {type(problems).__name__}", "a list of problems", "write grouped([(m, n, k), ...], tile, 20)")
    tasks: list[list[tuple[int, Block]]] = [[] for _ in range(cores)]
    start = 0
    for g, problem in enumerate(problems):
        if 0 in _three("a problem of grouped", problem):
            continue
        swizzle = BlockSwizzle(problem, tile, **options)
        for task, block in enumerate(swizzle.order()):
            tasks[(start + task) % cores].append((g, block))
        start = (start + swizzle.tasks) % cores
    yield from tasks
