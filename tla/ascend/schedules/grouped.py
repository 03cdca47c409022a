"""Grouped and batched products: the blocks of several problems dealt out to one set of cores.

Source: CATLASS include/catlass/gemm/kernel/grouped_matmul_m.hpp.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import LeafTypeError
from .block import Block
from .schedule import positive, three
from .swizzles import BlockSwizzle, GemmIdentityBlockSwizzle, in_turn


def grouped(
    problems: Any, tile: Any, *, cores: Any = 1, swizzle: BlockSwizzle = GemmIdentityBlockSwizzle
) -> tuple[tuple[tuple[int, Block], ...], ...]:
    """The blocks of each core for problems one after another: (problem, block) in order.

    The first block of a problem goes to the core behind the one that took the last block of the problem before it.

    problems   (m, n, k) of each [elements], of which some may be empty;  tile  (m, n, k) of a block;  swizzle  a GemmIdentityBlockSwizzle

    >>> from tla.ascend import grouped
    >>> [[(g, b.m, b.n) for g, b in blocks] for blocks in grouped([(64, 32, 8), (32, 64, 8)], (32, 32, 8), cores=3)]
    [[(0, 0, 0), (1, 0, 1)], [(0, 1, 0)], [(1, 0, 0)]]

    Batches are problems of one size. Raises what the swizzle raises. Source: CATLASS grouped_matmul_m.hpp (`startCoreIdx`), and
    `GetBatchIdx`.
    """
    cores = positive("cores", cores)
    if not isinstance(problems, (list, tuple)):
        raise LeafTypeError(
            f"grouped of a {type(problems).__name__}", "a list of problems", "write grouped([(m, n, k), ...], tile, cores=20)"
        )
    if not isinstance(swizzle, BlockSwizzle) or swizzle.deal is not in_turn:
        raise LeafTypeError(f"grouped by {swizzle!r:.60}", "a swizzle that goes from core to core", "write GemmIdentityBlockSwizzle[3, 0]")
    found: list[list[tuple[int, Block]]] = [[] for _ in range(cores)]
    start = 0
    for g, problem in enumerate(problems):
        if 0 in three("a problem of grouped", problem):
            continue
        schedule = swizzle(problem, tile, cores=cores)
        for i, blocks in enumerate(schedule.table):
            found[(start + i) % cores] += [(g, block) for block in blocks]
        start = (start + schedule.tasks) % cores
    return tuple(map(tuple, found))
