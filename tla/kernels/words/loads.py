"""Words of a kernel for tiles that TMA loads: the mbarriers that count what has come, and the maps.

An mbarrier counts arrivals and bytes. When all that one phase of it waits for has come the phase ends, and the next
begins. One thread of the block, the first, loads: set_barrier_transaction_bytes and copies by TMA are its
own; all threads wait.

Source: CuTe include/cute/arch/copy_sm90_desc.hpp; the PTX manual, "mbarrier".
"""

from __future__ import annotations

from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.ints import Int, IntLike, is_int, known, leaf
from ...core.layout import Layout
from ...core.questions import at_most
from ...gpu.descriptors.tma import TMACopy, make_tma_copy as of_tensor
from ...tensors.make_tensor import as_tensor
from ..block.lines import line
from ..block.mbarriers import MOST_ARRIVALS, MOST_BYTES, Mbarrier, Mbarriers
from ..run.launch import Launch, executed, running, shared
from ..run.trace import Trace


def mbarriers(count: int, arrivals: int = 1) -> Mbarriers:
    """Mbarriers in shared memory, set up by the first thread: others may use them after a barrier.

    count      how many: one for each stage
    arrivals   the arrivals that a phase waits for: 1 of set_barrier_transaction_bytes, one of each thread of
               arrive_barrier
    Raises     RangeError outside a kernel and for numbers that no mbarrier has

    >>> from tla.kernels import arrive_barrier, barrier, kernel, mbarriers, wait_barrier
    >>> @kernel(threads=4)
    ... def met():
    ...     all_here = mbarriers(1, arrivals=4)
    ...     barrier()
    ...     arrive_barrier(all_here[0])
    ...     wait_barrier(all_here[0], 0)
    >>> met.run()

    Source: CuTe `initialize_barrier`; the PTX manual, "mbarrier.init".
    """
    import numpy as np

    for name, n, most in (("count", count, 1 << 12), ("arrivals", arrivals, MOST_ARRIVALS)):
        if not is_int(n) or known(n) is None or not 1 <= int(n) <= most:
            raise RangeError(f"mbarriers of {name}={shown(n)}", f"1 to {most}", "write mbarriers(stages, arrivals=1)")
    made = Mbarriers(shared(np.uint64, Layout(Int[int(count)](), Int[1]())), int(arrivals))
    now, here = running("mbarriers()"), line()
    if isinstance(now, Trace):
        now.signal(here, "initialize_barrier", Mbarrier(made, Int[0]()), int(arrivals))
        return made
    now.mbarriers.append(made)
    if now.watch is not None:
        now.watch.races.set_up(here, made)
    return made


def set_barrier_transaction_bytes(barrier: Mbarrier, nbytes: int) -> None:
    """Let the phase of an mbarrier wait for bytes that TMA loads; the first thread arrives at it.

    nbytes   of all tiles that are loaded for it: tma_transaction_bytes of them

    >>> import numpy as np
    >>> from tla import local_tile, parse
    >>> from tla.gpu import tma_transaction_bytes
    >>> from tla.kernels import barrier, copy, kernel, local_partition, make_tma_copy, mbarriers, set_barrier_transaction_bytes
    >>> from tla.kernels import shared, thread, wait_barrier
    >>> @kernel(threads=32)
    ... def loaded(a, b):
    ...     smem, full = shared(np.float32, parse("(_32,_4):(_4,_1)")), mbarriers(1)
    ...     tma = make_tma_copy("SM90_TMA_LOAD", a, smem)
    ...     barrier()
    ...     set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
    ...     copy(tma.with_(full[0]), local_tile(a, (32, 4), (0, 0)), smem)
    ...     wait_barrier(full[0], 0)
    ...     copy(*(local_partition(x, parse("_32:_1"), thread()) for x in (smem, b)))
    >>> a, b = np.ones((20, 4), np.float32), np.full((32, 4), 7, np.float32)
    >>> loaded.run(a, b), b.sum()
    (None, np.float32(80.0))

    Raises RangeError outside a kernel, and for more bytes than an mbarrier counts. Source: CuTe
    `set_barrier_transaction_bytes`; the PTX manual, "mbarrier.arrive.expect_tx".
    """
    if not is_int(nbytes) or known(nbytes) is None or not 0 < int(nbytes) <= MOST_BYTES:
        fix = "write tma_transaction_bytes(tile, tile)"
        raise RangeError(f"set_barrier_transaction_bytes of {shown(nbytes)}", f"1 to {MOST_BYTES} bytes", fix)
    now, here, number = running("set_barrier_transaction_bytes()"), line(), int(nbytes)
    require_mbarrier("set_barrier_transaction_bytes", barrier)
    if isinstance(now, Trace):
        now.signal(here, "set_barrier_transaction_bytes", barrier, number)
        return
    if now.watch is not None:
        now.watch.races.arrive(here, barrier, alone=True)
    executed(now, lambda: barrier.arrive(1, number))
    ended(now, barrier)


def arrive_barrier(barrier: Mbarrier) -> None:
    """Let every thread arrive at an mbarrier: who waits for its phase knows that they have done what
    they stated before.

    >>> from tla.kernels import arrive_barrier, barrier, kernel, mbarriers
    >>> @kernel(threads=4)
    ... def left():
    ...     done = mbarriers(2, arrivals=4)
    ...     barrier()
    ...     arrive_barrier(done[1])
    >>> left.run()

    Raises RangeError outside a kernel, and for more arrivals than the phase waits for. Source: CuTe `arrive_barrier`;
    the PTX manual, "mbarrier.arrive".
    """
    now, here = running("arrive_barrier()"), line()
    require_mbarrier("arrive_barrier", barrier)
    if isinstance(now, Trace):
        now.signal(here, "arrive_barrier", barrier, 0)
        return
    if now.watch is not None:
        now.watch.races.arrive(here, barrier, alone=False)
    threads = now.threads
    executed(now, lambda: barrier.arrive(threads, 0))
    ended(now, barrier)


def wait_barrier(barrier: Mbarrier, phase: IntLike) -> None:
    """Let every thread wait until a phase of an mbarrier has ended: what was loaded for it can be read, and what
    arrived knows of.

    phase   the parity of the phase: 0 of the first, 1 of the next, as phase(k, stages) counts

    >>> from tla.kernels import barrier, kernel, mbarriers, wait_barrier
    >>> @kernel(threads=4)
    ... def stuck():
    ...     full = mbarriers(1)
    ...     barrier()
    ...     wait_barrier(full[0], 0)
    >>> stuck.run()
    Traceback (most recent call last):
    tla.core.errors.RangeError: mbarrier 0: a wait for phase 0, which misses 1 arrivals and 0 bytes
      expected  a phase that ends
      fix       state before it what arrives, of the bytes that are loaded: tma_transaction_bytes; and wait for phase(k, stages)

    Raises RangeError outside a kernel, and for a phase that nothing before it ends: such a kernel would never end.
    Source: CuTe `wait_barrier`; the PTX manual, "mbarrier.try_wait.parity".
    """
    now, here = running("wait_barrier()"), line()
    require_mbarrier("wait_barrier", barrier)
    if not is_int(phase) or at_most(0, phase) is not True or at_most(phase, 1) is not True:
        raise RangeError(f"wait_barrier for the phase {shown(phase)}", "0 or 1, its parity", "write phase(k, stages)")
    if isinstance(now, Trace):
        now.signal(here, "wait_barrier", barrier, leaf(phase))
        return
    cluster = now.cluster
    if cluster is not None:
        cluster.turns.wait(lambda: barrier.has_ended(int(phase)))
    executed(now, lambda: barrier.wait(int(phase)))
    if now.watch is not None:
        now.watch.races.wait_phase(here, barrier)


def make_tma_copy(operation: str, gmem: Any, smem: Any, tile: object = None) -> TMACopy:
    """The TMA copy of tiles of an argument, as tla.gpu.make_tma_copy: the text's launch makes its map.

    operation   "SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_LOAD_MULTICAST"
    gmem        an argument of the kernel, whole
    smem        the shared memory of one tile: a stage of it

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import kernel, make_tma_copy, shared
    >>> @kernel(threads=32)
    ... def shown(a):
    ...     print(make_tma_copy("SM90_TMA_LOAD", a, shared(np.float32, parse("(_32,_4):(_4,_1)"))).map.box)
    >>> shown.run(np.ones((20, 4), np.float32))
    (4, 32)

    Raises what tla.gpu.make_tma_copy raises. Source: CuTe `make_tma_copy`.
    """
    now, gmem = running("make_tma_copy()"), as_tensor("make_tma_copy", gmem)
    return of_tensor(operation, now.argument(gmem) if isinstance(now, Trace) else gmem, smem, tile)


def require_mbarrier(where: str, barrier: object) -> None:
    """LeafTypeError for what is no mbarrier."""
    if not isinstance(barrier, Mbarrier):
        what = f"{where} of {shown(barrier)}"
        raise LeafTypeError(what, "one of the mbarriers", "write full = mbarriers(stages), and full[0]")


def ended(now: Launch, barrier: Mbarrier) -> None:
    """Tell the watch that a phase may have ended."""
    if now.watch is not None:
        now.watch.races.end_phase(barrier)
