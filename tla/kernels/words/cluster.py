"""Words of a kernel for clusters, whose blocks run together and may load to each other's memory; and how they run.

Source: the PTX manual, "Cluster of Cooperative Thread Arrays"; CuTe include/cute/arch/cluster_sm90.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...core.errors import RangeError
from ...core.ints import Leaf, leaf
from ...core.leaf_arithmetic import add, mul
from ..block.lines import Line, line
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
    executed(now, functools.partial(_arrive, now, here, "cluster_sync"))
    executed(now, functools.partial(_wait, now, here, "cluster_sync"))


def cluster_arrive() -> None:
    """Arrive at the barrier of the cluster, and go on: behind their cluster_wait others go on when all have arrived.

    What stands between it and cluster_wait nobody else knows of; there a block does what is its own.

    >>> from tla.kernels import block_rank_in_cluster, cluster_arrive, cluster_wait, kernel
    >>> @kernel(threads=32, grid=(2,), cluster=(2,))
    ... def shown():
    ...     cluster_arrive()
    ...     print("between", block_rank_in_cluster())
    ...     cluster_wait()
    ...     print("behind", block_rank_in_cluster())
    >>> shown.run()
    between 0
    between 1
    behind 1
    behind 0

    Raises RangeError outside a kernel, in one without clusters, and where no cluster_wait is between two of them.
    Source: CuTe `cluster_arrive`; the PTX manual, "barrier.cluster".
    """
    _state_part("cluster_arrive", _arrive)


def cluster_wait() -> None:
    """Wait until all threads of all blocks of the cluster have come to cluster_arrive: then every block knows what the
    others did before that.

    Raises RangeError outside a kernel, in one without clusters, without a cluster_arrive before, and where other blocks
    do not arrive. Source: CuTe `cluster_wait`; the PTX manual, "barrier.cluster".

    >>> from tla.kernels import cluster_arrive, cluster_wait, kernel
    >>> @kernel(threads=32, grid=(2,), cluster=(2,))
    ... def shown():
    ...     cluster_arrive()
    ...     cluster_wait()
    >>> shown.run()
    """
    _state_part("cluster_wait", _wait)


def _state_part(word: str, execute: Callable[[Launch, Line, str], None]) -> None:
    """State one half of cluster_sync."""
    now, here = running(f"{word}()"), line()
    _extents(now, f"{word}()")
    if isinstance(now, Trace):
        now.order(here, word, 0)
        return
    executed(now, functools.partial(execute, now, here, word))


def _arrive(now: Launch, here: Line, word: str) -> None:
    """Arrive. RangeError for a block that has not waited since it arrived before."""
    cluster = _cluster(now)
    if cluster.arrived[now.rank] > cluster.waited[now.rank]:
        what = f"{word} of block {now.rank} of the cluster, which has not waited since it arrived before"
        raise RangeError(what, "a wait between two arrivals", "write cluster_wait() before it")
    if now.watch is not None:
        now.watch.races.arrive_cluster(here)
    cluster.arrived[now.rank] += 1


def _wait(now: Launch, here: Line, word: str) -> None:
    """Wait until all blocks have arrived. RangeError where one never does, and for a block that has not."""
    cluster = _cluster(now)
    mine = cluster.arrived[now.rank]
    if mine == cluster.waited[now.rank]:
        what = f"{word} of block {now.rank} of the cluster, which has not arrived"
        raise RangeError(what, "one wait for each arrival", "write cluster_arrive() before it")
    come = cluster.turns.wait(lambda: min(cluster.arrived) >= mine)
    cluster.waited[now.rank] = mine
    if now.watch is not None:
        others = [x.watch.races.beside for x in cluster.blocks if x.watch is not None]
        now.watch.races.wait_cluster(here, others, apart=word == "cluster_wait")
    if not come:
        missing = cluster.arrived.index(min(cluster.arrived))
        what = f"{word} of block {now.rank} of the cluster, to which block {missing} does not come"
        raise RangeError(what, "all blocks of the cluster", "let no block leave it out")


def _cluster(now: Launch) -> Cluster:
    """The cluster of a block that runs."""
    assert now.cluster is not None  # a kernel of clusters runs in one
    return now.cluster


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
    cluster = Cluster(extents, Turns(), launches, [0] * len(launches), [0] * len(launches))
    for rank, launch in enumerate(launches):
        launch.cluster, launch.rank = cluster, rank
    cluster.turns.take([functools.partial(run, x) for x in launches])
    for launch in launches:
        if launch.watch is not None:
            launch.watch.races.end_cluster()
