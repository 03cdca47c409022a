"""Grouped and batched products: the blocks of several problems dealt out to one set of cores.

Source: CATLASS include/catlass/gemm/kernel/grouped_matmul_m.hpp.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.errors import LeafTypeError
from ...core.int_tuple import quoted
from ...core.ints import IntLike
from .block import Block
from .pieces import TailInPieces
from .schedule import positive, sizes_of
from .swizzles import BlockSwizzle, GemmIdentityBlockSwizzle, in_turn


def grouped(
    problems: object, tile: object, *, cores: IntLike = 1, swizzle: BlockSwizzle = GemmIdentityBlockSwizzle
) -> tuple[tuple[tuple[int, Block], ...], ...]:
    """The blocks of each core for problems one after another: (problem, block) in order.

    The first block of a problem goes to the core behind the one that took the last block of the problem before it.

    problems   (m, n, k) of each [elements], of which some may be empty;  tile  (m, n, k) of a block
    swizzle    a GemmIdentityBlockSwizzle, or GemmGroupedAswtTailSplitSwizzle: it cuts the blocks of the last wave of
               the last problem

    >>> from tla.ascend import grouped
    >>> [[(g, b.m, b.n) for g, b in blocks] for blocks in grouped([(64, 32, 8), (32, 64, 8)], (32, 32, 8), cores=3)]
    [[(0, 0, 0), (1, 0, 1)], [(0, 1, 0)], [(1, 0, 0)]]

    Batches are problems of one size. Raises what the swizzle raises. Source: CATLASS grouped_matmul_m.hpp
    (`startCoreIdx`), and `GetBatchIdx`.
    """
    cores = positive("cores", cores)
    if not isinstance(problems, (list, tuple)):
        fix = "write grouped([(m, n, k), ...], tile, cores=20)"
        raise LeafTypeError(f"grouped of a {type(problems).__name__}", "a list of problems", fix)
    if not isinstance(swizzle, BlockSwizzle) or not (swizzle.deal is in_turn or isinstance(swizzle.deal, TailInPieces)):
        fix = "write GemmIdentityBlockSwizzle[3, 0]"
        raise LeafTypeError(f"grouped by {quoted(swizzle, 60)}", "a swizzle that goes from core to core", fix)
    found: list[list[tuple[int, Block]]] = [[] for _ in range(cores)]
    sizes = (sizes_of("a problem of grouped", problem, swizzle.rank) for problem in problems)
    present = [g for g, n in enumerate(sizes) if 0 not in n]
    start = 0
    for g in present:
        schedule = swizzle(problems[g], tile, cores=cores)
        schedule = replace(schedule, first=start, deal=swizzle.deal if g == present[-1] else in_turn)
        for own, blocks in zip(found, schedule.table):
            own += [(g, block) for block in blocks]
        start = (start + len(schedule.numbered)) % cores
    return tuple(map(tuple, found))
