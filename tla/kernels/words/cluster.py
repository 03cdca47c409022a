"""Words of a kernel for clusters, whose blocks run together and may load to each other's memory; and how they run.

Source: the PTX manual, "Cluster of Cooperative Thread Arrays"; CuTe include/cute/arch/cluster_sm90.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...core.errors import RangeError
from ...core.ints import Leaf, leaf
from ...core.leaf_arithmetic import add, mul
from ..block.lines import line
from ..block.turns import Turns
from ..run.launch import Cluster, Launch, block, executed, running
from ..run.trace import Trace


def block_rank_in_cluster() -> Leaf:
    """The number of the block in its cluster, mode 0 of the grid first.

    >>> from tla.kernels import block_rank_in_cluster, kernel
    >>> @kernel(threads=32, grid=(2, 2), cluster=(2, 2))
    ... def shown():
    ...     print(block_rank_in_cluster())
    >>> shown.run()
    0
    1
    2
    3

    Raises RangeError outside a kernel, and in one without clusters.
    Source: CuTe `block_rank_in_cluster`; PTX `%cluster_ctarank`.
    """
    extents = _extents(running("block_rank_in_cluster()"), "block_rank_in_cluster()")
    rank: Leaf = leaf(0)
    for mode, extent in reversed([*enumerate(extents)]):
        rank = add(mul(rank, extent), block(mode) % extent)
    return rank


def cluster_sync() -> None:
    """Wait for all threads of all blocks of the cluster: then every block knows what the others did before.

    So it stands between the mbarriers and what other blocks do with them.

    >>> from tla.kernels import block_rank_in_cluster, cluster_sync, kernel
    >>> @kernel(threads=32, grid=(2,), cluster=(2,))
    ... def shown():
    ...     print("before", block_rank_in_cluster())
    ...     cluster_sync()
    ...     print("behind", block_rank_in_cluster())
    >>> shown.run()
    before 0
    before 1
    behind 1
    behind 0

    Raises RangeError outside a kernel, in one without clusters, and where other blocks do not come to it.
    Source: CuTe `cluster_sync`; the PTX manual, "barrier.cluster".
    """
    now, here = running("cluster_sync()"), line()
    _extents(now, "cluster_sync()")
    if isinstance(now, Trace):
        now.barrier(here, of_cluster=True)
        return
    cluster = now.cluster
    assert cluster is not None  # a kernel of clusters runs in one
    if now.watch is not None:
        now.watch.races.arrive_cluster(here)
    cluster.arrived[now.rank] += 1
    executed(now, functools.partial(_wait, now, cluster))
    if now.watch is not None:
        now.watch.races.wait_cluster(here, [x.watch.races.beside for x in cluster.blocks if x.watch is not None])


def _wait(now: Launch, cluster: Cluster) -> None:
    """Wait until all blocks have come. RangeError where one never does."""
    mine = cluster.arrived[now.rank]
    if not cluster.turns.wait(lambda: min(cluster.arrived) >= mine):
        missing = cluster.arrived.index(min(cluster.arrived))
        what = f"cluster_sync of block {now.rank} of the cluster, to which block {missing} does not come"
        raise RangeError(what, "all blocks of the cluster", "let no block leave it out")


def _extents(now: Launch | Trace, where: str) -> tuple[int, ...]:
    """The extents of the clusters of the kernel that runs. RangeError where it has none."""
    extents = now.cluster if isinstance(now, Trace) else now.cluster and now.cluster.extents
    if not extents:
        fix = "write @kernel(..., cluster=(4, 4, 1))"
        raise RangeError(f"{where} in a kernel without clusters", "a kernel of clusters", fix)
    return extents


# ----------------------------------------------------------------------------------------------------- how they run


def run_together(launches: list[Launch], extents: tuple[int, ...], run: Callable[[Launch], None]) -> None:
    """Run the blocks of a cluster, each until it waits for another one; without clusters the one that there is."""
    if not extents:
        run(launches[0])
        return
    cluster = Cluster(extents, Turns(), launches, [0] * len(launches))
    for rank, launch in enumerate(launches):
        launch.cluster, launch.rank = cluster, rank
    cluster.turns.take([functools.partial(run, x) for x in launches])
    for launch in launches:
        if launch.watch is not None:
            launch.watch.races.end_cluster()
