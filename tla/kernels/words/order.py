"""Words of a kernel that order asynchronous instructions with others: copies into shared memory,
products of warpgroups.

An asynchronous copy or product is under way until each thread has waited for the group that it is in; then a barrier
tells the other threads. The watch of a launch asks that (races); a target prints the instruction.

Source: CuTe include/cute/arch/copy_sm80.hpp, mma_sm90_gmma.hpp; the PTX manual, "cp.async", "wgmma", "membar/fence".
"""

from __future__ import annotations

from collections.abc import Callable

from ...core.errors import RangeError
from ...core.int_tuple import shown
from ...core.ints import is_int, known
from ..block.lines import line
from ..run.launch import running
from ..run.trace import Trace


def _state(word: str, pending: int = 0) -> None:
    now = running(f"{word}()")
    if isinstance(now, Trace):
        now.order(line(), word, pending)
    elif now.watch is not None:
        now.watch.races.order(line(), word, pending)


def cp_async_fence() -> None:
    """Make each thread's asynchronous copies since the last fence a group, which cp_async_wait counts.

    Raises RangeError outside a kernel. Source: CuTe `cp_async_fence`; the PTX manual, "cp.async.commit_group".

    >>> from tla.kernels import cp_async_fence, cp_async_wait, kernel
    >>> @kernel(threads=4)
    ... def shown():
    ...     cp_async_fence()
    ...     cp_async_wait[0]()
    >>> shown.run()
    """
    _state("cp_async_fence")


def fence_view_async_shared() -> None:
    """Let instructions that read shared memory by a descriptor see what the threads wrote there, asynchronous copies
    that ended included.

    Each thread states it between what it wrote and the barrier before the product. Raises RangeError outside a kernel.
    Source: CUTLASS `fence_view_async_shared`; the PTX manual, "fence.proxy.async".

    >>> from tla.kernels import barrier, fence_view_async_shared, kernel
    >>> @kernel(threads=4)
    ... def shown():
    ...     fence_view_async_shared()
    ...     barrier()
    >>> shown.run()
    """
    _state("fence_view_async_shared")


def fence_view_async_tmem_load() -> None:
    """Wait until each thread's loads of tensor memory so far have ended: then it may touch the registers, and others
    may write there.

    Raises RangeError outside a kernel. Source: CUTLASS `fence_view_async_tmem_load`; the PTX manual, "tcgen05.wait".

    >>> from tla.kernels import fence_view_async_tmem_load, kernel
    >>> @kernel(threads=128)
    ... def shown():
    ...     fence_view_async_tmem_load()
    >>> shown.run()
    """
    _state("fence_view_async_tmem_load")


def warpgroup_arrive() -> None:
    """Let the warpgroup's products that follow see the registers that its threads wrote: before the first one, and
    after other statements.

    Raises RangeError outside a kernel. Source: CuTe `warpgroup_arrive`; the PTX manual, "wgmma.fence".

    >>> from tla.kernels import kernel, warpgroup_arrive, warpgroup_commit_batch, warpgroup_wait
    >>> @kernel(threads=128)
    ... def shown():
    ...     warpgroup_arrive()
    ...     warpgroup_commit_batch()
    ...     warpgroup_wait[0]()
    >>> shown.run()
    """
    _state("warpgroup_arrive")


def warpgroup_commit_batch() -> None:
    """Make the warpgroup's products since the last one a group, which warpgroup_wait counts.

    Raises RangeError outside a kernel. Source: CuTe `warpgroup_commit_batch`; the PTX manual, "wgmma.commit_group".

    >>> from tla.kernels import kernel, warpgroup_commit_batch
    >>> @kernel(threads=128)
    ... def shown():
    ...     warpgroup_commit_batch()
    >>> shown.run()
    """
    _state("warpgroup_commit_batch")


def tma_store_arrive() -> None:
    """Make the stores by TMA since the last one a group, which tma_store_wait counts.

    Raises RangeError outside a kernel; its example is that of tma_store_wait. Source: CuTe `tma_store_arrive`; the PTX
    manual, "cp.async.bulk.commit_group".

    >>> from tla.kernels import kernel, tma_store_arrive
    >>> @kernel(threads=4)
    ... def shown():
    ...     tma_store_arrive()
    >>> shown.run()
    """
    _state("tma_store_arrive")


class _Wait:
    """A word with a number in brackets: how many of the newest groups need not have ended."""

    word = ""

    def __getitem__(self, pending: int) -> Callable[[], None]:
        if not is_int(pending) or known(pending) is None or int(pending) < 0:
            what = f"{self.word}[{shown(pending)}]()"
            raise RangeError(what, "a number of groups, 0 or more", f"write {self.word}[0]() for all")
        return lambda: _state(self.word, int(pending))


class _CpAsyncWait(_Wait):
    """`cp_async_wait[n]()`: each thread waits until all but its n newest groups of asynchronous copies have ended.

    What they wrote the thread itself may read then; other threads after a barrier.

    >>> from tla.kernels import barrier, cp_async_wait, kernel
    >>> @kernel(threads=4)
    ... def waited():
    ...     cp_async_wait[0]()
    ...     barrier()
    >>> waited.run()

    Raises RangeError outside a kernel, and for what is no number of groups. Source: CuTe `cp_async_wait`; the PTX
    manual, "cp.async.wait_group".
    """

    word = "cp_async_wait"


class _WarpgroupWait(_Wait):
    """`warpgroup_wait[n]()`: the warpgroup waits until all but its n newest groups of products have ended.

    Then its threads may touch the accumulators, and after a barrier all threads may write the shared memory
    that was read.

    >>> from tla.kernels import kernel, warpgroup_wait
    >>> @kernel(threads=128)
    ... def waited():
    ...     warpgroup_wait[0]()
    >>> waited.run()

    Raises RangeError outside a kernel, and for what is no number of groups. Source: CuTe `warpgroup_wait`; the PTX
    manual, "wgmma.wait_group".
    """

    word = "warpgroup_wait"


class _TmaStoreWait(_Wait):
    """`tma_store_wait[n]()`: the first thread waits until all but its n newest groups of stores by TMA have read their
    shared memory.

    Then it may write there, and other threads after a barrier. Before a block ends all have to be waited for.

    >>> import numpy as np
    >>> from tla import local_tile, parse
    >>> from tla.kernels import barrier, copy, fence_view_async_shared, fill, kernel, local_partition, make_tma_copy, shared, thread
    >>> from tla.kernels import tma_store_arrive, tma_store_wait
    >>> @kernel(threads=32)
    ... def stored(a):
    ...     smem = shared(np.float32, parse("(_32,_4):(_4,_1)"))
    ...     fill(local_partition(smem, parse("(_32,_1):(_1,_32)"), thread()), 5)
    ...     fence_view_async_shared()
    ...     barrier()
    ...     copy(make_tma_copy("SM90_TMA_STORE", a, smem), smem, local_tile(a, (32, 4), (0, 0)))
    ...     tma_store_arrive()
    ...     tma_store_wait[0]()
    >>> a = np.zeros((20, 8), np.float32)
    >>> stored.run(a), a.sum()
    (None, np.float32(400.0))

    Raises RangeError outside a kernel, and for what is no number of groups. Source: CuTe `tma_store_wait`; the PTX
    manual, "cp.async.bulk.wait_group.read".
    """

    word = "tma_store_wait"


cp_async_wait = _CpAsyncWait()
tma_store_wait = _TmaStoreWait()
warpgroup_wait = _WarpgroupWait()
