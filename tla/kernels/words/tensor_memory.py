"""Words of a kernel for tensor memory: its allocation, tensors in it, and the mbarrier at which products arrive.

A product of tcgen05 adds to tensor memory, which no other instruction reads before an mbarrier has told that the
product has ended. The first warp of the block allocates and frees; the first thread states products and their arrival.

Source: CuTe include/cute/arch/tmem_allocator_sm100.hpp; the PTX manual, "tcgen05.alloc", "tcgen05.commit".
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import product_each, shown
from ...core.ints import Int, is_int, known
from ...core.layout import Layout
from ...gpu.instructions.tmem import COLUMNS, PATH_BITS
from ...gpu.run.values import places_of
from ...tensors.buffers import as_dtype
from ...tensors.guard import whole
from ...tensors.positions import Memory
from ...tensors.tensor import Tensor, tensor_of
from ..block.allocation import Allocation, require_columns, require_group
from ..block.lines import line
from ..block.mbarriers import Mbarrier
from ..block.touched import Access
from ..program.multicast import Multicast, require_mask
from ..program.statements import Reserve
from ..run.launch import Launch, blocks_of, executed, require_leader, require_pairs, running, shared
from ..run.trace import Trace
from .loads import ended, require_mbarrier

#: The fewest columns that are allocated, and the threads of the warp that does it. Source: the PTX manual,
#: "tcgen05.alloc".
LEAST, _WARP = 32, 32


class Allocator1Sm:
    """The allocator of tensor memory of a block: its first warp asks for columns, and frees them before the block ends.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import Allocator1Sm, barrier, kernel, tmem
    >>> @kernel(threads=128)
    ... def shown():
    ...     allocator = Allocator1Sm()
    ...     columns = allocator.allocate(64)
    ...     barrier()
    ...     print(tmem(np.float32, parse("(_128,_64):(_65536,_1)"), columns).position)
    ...     barrier()
    ...     allocator.release_allocation_lock()
    ...     allocator.free(columns)
    >>> shown.run()
    TMEM

    Source: CuTe `cute::TMEM::Allocator1Sm`.
    """

    Sm100TmemCapacityColumns = COLUMNS
    _sms = 1

    def allocate(self, columns: int) -> Allocation:
        """Allocate columns, all 128 data paths of them: others use them after a barrier. It waits while
        other blocks have them.

        columns   a power of two, 32 to 512
        Raises    RangeError outside a kernel, for another number, for more than there are, and behind
                  release_allocation_lock
        """
        now, here = running("allocate()"), line()
        _require_number(now, columns)
        import numpy as np

        if self._sms > 1:
            require_pairs("Allocator2Sm().allocate()", now)
        made = Allocation(here, int(columns), shared(np.uint32, Layout(Int[1](), Int[1]())), sms=self._sms)
        require_group("allocate()", now.tmem, self._sms)
        now.tmem.append(made)
        if isinstance(now, Trace):
            now.state(Reserve(here, "allocate", made, self._sms))
        elif now.watch is not None:
            first = (np.arange(now.threads) == 0)[:, None]
            now.watch.races.note(here, [], [Access(made.address, first)])
            now.watch.reserve(here, sum(x.columns for x in now.tmem if not x.freed))
        return made

    def release_allocation_lock(self) -> None:
        """Let the next block of the multiprocessor allocate, this one no more. Raises RangeError outside a kernel."""
        now = running("release_allocation_lock()")
        now.released = True
        if isinstance(now, Trace):
            now.state(Reserve(line(), "release_allocation_lock", None, self._sms))

    def free(self, allocation: Allocation) -> None:
        """Free columns, when all threads have read what they need of them.

        Raises LeafTypeError for what is no allocation, RangeError outside a kernel and for one that is free
        """
        now, here = running("free()"), line()
        if not isinstance(allocation, Allocation):
            what = f"free({shown(allocation)})"
            raise LeafTypeError(what, "what allocate gave", "write columns = allocator.allocate(512)")
        if allocation.freed:
            raise RangeError("columns that are free are freed again", "one free of each allocation", "leave it out")
        allocation.freed = True
        if isinstance(now, Trace):
            now.state(Reserve(here, "free", allocation, self._sms))
        elif now.watch is not None:
            now.watch.races.free(here, allocation)


class Allocator2Sm(Allocator1Sm):
    """The allocator of tensor memory of a pair of blocks, for products of two SMs: each of both has the columns.

    Both blocks state what it does, at the same time. The other words are those of Allocator1Sm.

    >>> from tla.kernels import Allocator2Sm, barrier, cluster_sync, kernel
    >>> @kernel(threads=128, grid=(2,), cluster=(2,))
    ... def shown():
    ...     allocator = Allocator2Sm()
    ...     columns = allocator.allocate(64)
    ...     cluster_sync()
    ...     allocator.release_allocation_lock()
    ...     allocator.free(columns)
    >>> shown.run()

    Raises RangeError in a kernel without pairs of blocks. Source: CuTe `cute::TMEM::Allocator2Sm`.
    """

    _sms = 2


def tmem(element: object, layout: Layout, allocation: Allocation, column: int = 0) -> Tensor:
    """A tensor in tensor memory that was allocated, behind the barrier by which all threads know of it.

    element      a type of numpy of 32 bits: float32, int32
    layout       of addresses, as that of make_fragment_C
    allocation   what allocate gave
    column       where it begins
    Raises       LeafTypeError for another type or no allocation; RangeError outside a kernel, and for columns
                 that are not allocated

    >>> import numpy as np
    >>> from tla import _64, _128
    >>> from tla.gpu import K, SM100_MMA_F16BF16_SS, float, half, make_tiled_mma, partition_fragment_C
    >>> from tla.kernels import Allocator1Sm, barrier, kernel, tmem
    >>> mma = make_tiled_mma(SM100_MMA_F16BF16_SS[half, half, float, 128, 64, K, K])
    >>> @kernel(threads=128)
    ... def shown():
    ...     columns = Allocator1Sm().allocate(64)
    ...     barrier()
    ...     print(tmem(np.float32, partition_fragment_C(mma, (_128, _64)).layout, columns).layout)
    ...     Allocator1Sm().free(columns)
    >>> shown.run()
    ((_128,_64),_1,_1):((_65536,_1),_0,_0)

    Source: CuTe `tensor.data() = tmem_ptr`.
    """
    now, here, dtype = running("tmem()"), line(), as_dtype("tmem", element)
    if dtype.itemsize != 4:
        what = f"tensor memory of {dtype}"
        raise LeafTypeError(what, "elements of 32 bits, as columns are", "write tmem(np.float32, ...)")
    if not isinstance(allocation, Allocation) or not isinstance(layout, Layout):
        what = f"tmem of {shown(layout)} in {shown(allocation)}"
        fix = "write tmem(np.float32, mma.make_fragment_C(part).layout, allocator.allocate(512))"
        raise LeafTypeError(what, "a layout, and what allocate gave", fix)
    if not is_int(column) or known(column) is None:
        what = f"tmem at column {shown(column)}"
        raise LeafTypeError(what, "a number", "slice the tensor for one that symbols choose")
    data = allocation.buffer(dtype, filled=isinstance(now, Launch))
    start, first = Int[int(column)](), [Int[0]()] * len(product_each(layout.shape))
    made = tensor_of(None, data, start, layout, first, whole(layout.shape), Memory("TMEM"))
    places = places_of(made)
    for offset in places.max(), places.min(), (places % (1 << PATH_BITS)).max():
        require_columns(allocation, int(offset), f"tmem of {layout}")
    if isinstance(now, Trace):
        now.state(Reserve(here, "tmem", allocation))
    elif now.watch is not None:
        now.watch.races.note(here, [Access(allocation.address)], [])
    return made


def umma_arrive(barrier: Mbarrier) -> None:
    """Let the products so far of tcgen05 arrive at an mbarrier when they have ended; the first thread states it.

    Who has waited for its phase may read what they added to, and write what they read; nobody may before.

    >>> from tla.kernels import barrier, kernel, mbarriers, umma_arrive, wait_barrier
    >>> @kernel(threads=32)
    ... def nothing_to_wait_for():
    ...     done = mbarriers(1)
    ...     barrier()
    ...     umma_arrive(done[0])
    ...     wait_barrier(done[0], 0)
    >>> nothing_to_wait_for.run()

    Raises RangeError outside a kernel, and for more arrivals than the phase waits for.
    Source: CUTLASS `cutlass::arch::umma_arrive`; the PTX manual, "tcgen05.commit".
    """
    now, here = running("umma_arrive()"), line()
    require_mbarrier("umma_arrive", barrier)
    if isinstance(now, Trace):
        require_group("umma_arrive", now.tmem, 1)
        now.signal(here, "umma_arrive", barrier, 0)
        return
    if now.watch is not None:
        now.watch.races.commit(here, barrier)
    executed(now, lambda: require_group("umma_arrive", now.tmem, 1))
    executed(now, lambda: barrier.arrive(1, 0))
    ended(now, barrier)


def umma_arrive_multicast(barrier: Mbarrier, mask: Multicast) -> None:
    """umma_arrive at the mbarriers of several blocks of the cluster, each at the same place.

    mask     the blocks: who waits there knows that this block has read what the products read
    Raises   what umma_arrive raises; RangeError for a block that there is not

    >>> from tla import make_layout, _2
    >>> from tla.kernels import block, cluster_sync, create_tma_multicast_mask, kernel, mbarriers, umma_arrive_multicast, wait_barrier
    >>> @kernel(threads=32, grid=(2,), cluster=(2,))
    ... def met():
    ...     done = mbarriers(1, arrivals=2)
    ...     cluster_sync()
    ...     umma_arrive_multicast(done[0], create_tma_multicast_mask[0](make_layout((_2,)), (block(0),)))
    ...     wait_barrier(done[0], 0)
    >>> met.run()

    Source: CUTLASS `cutlass::arch::umma_arrive_multicast`; the PTX manual, "tcgen05.commit".
    """
    _arrive("umma_arrive_multicast", barrier, mask, 1)


def umma_arrive_multicast_2x1SM(barrier: Mbarrier, mask: Multicast) -> None:
    """umma_arrive_multicast of products of two SMs: the first block of a pair states it, for both.

    mask     the blocks, both of each pair

    >>> from tla.kernels import block, cluster_sync, create_tma_multicast_mask, kernel, mbarriers, umma_arrive_multicast_2x1SM
    >>> from tla.kernels import wait_barrier, when
    >>> from tla import make_layout, _2
    >>> @kernel(threads=32, grid=(2,), cluster=(2,))
    ... def met():
    ...     done = mbarriers(1)
    ...     cluster_sync()
    ...     for _leader in when(block(0) < 1):
    ...         umma_arrive_multicast_2x1SM(done[0], create_tma_multicast_mask[0](make_layout((_2,)), (block(0),)))
    ...     wait_barrier(done[0], 0)
    >>> met.run()

    Raises what umma_arrive_multicast raises; RangeError for the second block of a pair, and in a kernel without pairs.
    Source: CUTLASS `cutlass::arch::umma_arrive_multicast_2x1SM`.
    """
    _arrive("umma_arrive_multicast_2x1SM", barrier, mask, 2)


def _arrive(word: str, barrier: Mbarrier, mask: Multicast, sms: int) -> None:
    """Let products arrive at the mbarriers of the blocks of a mask."""
    now, here = running(f"{word}()"), line()
    require_mbarrier(word, barrier)
    require_mask(word, mask, blocks_of(now))
    if sms > 1:
        require_pairs(word, now)
    if isinstance(now, Trace):
        require_group(word, now.tmem, sms)
        now.signal(here, word, barrier, 0, mask)
        return
    executed(now, functools.partial(require_group, word, now.tmem, sms))
    if sms > 1:
        executed(now, functools.partial(require_leader, word, now))
    for rank in mask.ranks:
        executed(now, functools.partial(_arrive_at, now, now.other(rank), barrier))


def _arrive_at(now: Launch, other: Launch, barrier: Mbarrier) -> None:
    """Let the products of a block arrive at the mbarrier of a block of its cluster."""
    here, to = line(), barrier if other is now else other.mbarrier_as(now, barrier)
    if now.watch is not None and other.watch is not None:
        if other is now:
            now.watch.races.commit(here, to)
        else:
            other.watch.races.commit_from(now.watch.races, here, to)
    to.arrive(1, 0)
    ended(other, to)


def _require_number(now: Launch | Trace, columns: Any) -> None:
    """RangeError for columns that a block cannot allocate."""
    n = known(columns) if is_int(columns) else None
    if n is None or n < LEAST or n > COLUMNS or n & (n - 1):
        what = f"{shown(columns)} columns of tensor memory"
        raise RangeError(what, f"a power of two, {LEAST} to {COLUMNS}", "write allocate(512)")
    if now.threads < _WARP:
        what = f"tensor memory for {now.threads} threads"
        raise RangeError(what, "a whole warp, which allocates it", "write @kernel(threads=128)")
    if now.released:
        what = "tensor memory behind release_allocation_lock"
        raise RangeError(what, "allocations before it", "release the lock at the end")
    held = sum(x.columns for x in now.tmem if not x.freed)
    if held + n > COLUMNS:
        what = f"{n} columns of tensor memory besides {held}"
        raise RangeError(what, f"{COLUMNS} of a multiprocessor", "allocate fewer")
