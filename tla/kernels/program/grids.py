"""Grids of blocks, and the clusters that they are cut into.

Source: the CUDA C++ Programming Guide, "Thread Block Clusters".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike, is_int, known
from ...core.questions import require
from ...gpu.descriptors.multicast import MOST_CTAS


def cluster_of(given: Any) -> tuple[int, ...]:
    """The extents of a cluster as integers; none for None. Raises LeafTypeError, RangeError for what no cluster has."""
    if given is None:
        return ()
    modes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(is_int(n) and known(n) is not None for n in modes):
        what, fix = f"kernel(cluster={shown(given)})", "write cluster=(4, 4, 1)"
        raise LeafTypeError(what, "the number of blocks along each mode", fix)
    if not 1 <= len(modes) <= 3 or any(int(n) < 1 for n in modes) or math.prod(map(int, modes)) > MOST_CTAS:
        expected = f"one to three modes of 1 block or more, {MOST_CTAS} blocks at most"
        raise RangeError(f"kernel(cluster={shown(given)})", expected, "write cluster=(4, 4, 1)")
    return tuple(map(int, modes))


def require_whole_clusters(grid: Sequence[IntLike], extents: Sequence[int]) -> None:
    """Require a grid of whole clusters. Raises RangeError; of symbols Unproven, or assuming() records the condition."""
    for k, n in enumerate(extents):
        blocks = grid[k] if k < len(grid) else 1
        if not require("divides", n, blocks, lambda: "the blocks of a grid of clusters"):
            what = f"a grid of {shown(tuple(grid))} in clusters of {shown(tuple(extents))}"
            fix = "write grid=lambda a: (4 * ceil_div(a.shape[0], 4 * 128),)"
            raise RangeError(what, "whole clusters along each mode", fix)


def clusters_of(grid: Sequence[int], extents: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """The places of the blocks of each cluster, in the order of their numbers; without clusters each block by itself.

    >>> [*clusters_of((4, 1), (2, 1))]
    [[(0, 0), (1, 0)], [(2, 0), (3, 0)]]
    """
    own = [extents[k] if k < len(extents) else 1 for k in range(len(grid))]
    for first in _places([n // m for n, m in zip(grid, own)]):
        yield [tuple(a * m + b for a, m, b in zip(first, own, at)) for at in _places(own)]


def _places(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Coordinates, the first mode fastest."""
    return (at[::-1] for at in itertools.product(*map(range, reversed(extents))))
