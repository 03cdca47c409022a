"""CuTe's algorithms as statements of a kernel: executed by tla.gpu for all threads of the block, and noted where races
are looked for.

Source: CuTe include/cute/algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown, size
from ...core.ints import is_int, known
from ...gpu.descriptors.tma import OF_PAIRS, TMACopy
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...gpu.instructions.tmem import LANES, PATH_BITS
from ...gpu.run import algorithms
from ...gpu.run.bulk import BulkStep, bulk_facts, run_bulk
from ...gpu.run.copy import copy_if_of, copy_of, run_copy
from ...gpu.run.copy_facts import CopyStep
from ...gpu.run.gemm import run_mma, run_mma_together
from ...gpu.run.mma_facts import MmaStep, mma_facts
from ...gpu.run.sides import memory_of
from ...gpu.run.values import places_of, thread_values, valid_of
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ..block.allocation import require_allocated, require_group
from ..block.lines import line
from ..block.mbarriers import Mbarrier
from ..block.touched import Access
from ..program.instructions import is_asynchronous, is_of_tensor_memory, require_load, stores_rows
from ..program.multicast import require_mask
from ..program.resources import require_box_aligned
from ..run.elementwise import require_own_places, run_atomic_add, run_reduce, run_shuffle, run_transform
from ..run.launch import Launch, blocks_of, executed, require_leader, require_pairs, running
from ..run.trace import Trace
from .loads import ended

#: Threads that exchange registers: of AMD's 64 those of each half.
WARP = 32


def copy(*operands: Any) -> None:
    """Copy what all threads read to where they write: `copy(tiled_copy, source, target)`, or `copy(source, target)`.

    By `tma.with_(mbarrier)` the first thread loads a tile of an argument to one of shared memory, as
    set_barrier_transaction_bytes shows, and by a TMA that stores the other way, as tma_store_wait shows.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import copy, kernel, local_partition, thread
    >>> @kernel(threads=4)
    ... def copied(a, b):
    ...     copy(*(local_partition(x, parse("_4:_1"), thread()) for x in (a, b)))
    >>> b = np.zeros(4, int)
    >>> copied.run(np.arange(4), b), b.tolist()
    (None, [0, 1, 2, 3])

    Operands and errors are those of tla.gpu.copy; RangeError outside a kernel. Source: CuTe `copy`.
    """
    now = running("copy()")
    _require_tensors("copy", *operands[-2:] if len(operands) > 1 else ())
    if operands and isinstance(operands[0], TMACopy):
        _of_tile(now, *operands)
    elif isinstance(now, Trace):
        now.copy(line(), operands, None)
    else:
        executed(now, lambda: _copied(copy_of(*operands)))


def copy_if(*operands: Any) -> None:
    """As copy, where a predicate is true: `copy_if(tiled_copy, predicate, source, target)`, or without the tiled copy.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import copy_if, kernel, local_partition, thread
    >>> @kernel(threads=4)
    ... def copied(a, b):
    ...     copy_if((thread() < 2)[:, None], *(local_partition(x, parse("_4:_1"), thread()) for x in (a, b)))
    >>> b = np.zeros(4, int)
    >>> copied.run(np.arange(4), b), b.tolist()
    (None, [0, 1, 0, 0])

    Operands and errors are those of tla.gpu.copy_if; RangeError outside a kernel. Source: CuTe `copy_if`.
    """
    now = running("copy_if()")
    _require_tensors("copy_if", *operands[1:][-2:])
    if isinstance(now, Trace):
        *tiled, predicate, source, target = operands
        now.copy(line(), (*tiled, source, target), predicate)
    else:
        executed(now, lambda: _copied(copy_if_of(*operands)))


def gemm(*operands: Any) -> None:
    """D = A * B + C by fragments of all threads: `gemm(mma, D, A, B, C)`, `gemm(mma, A, B, C)` or `gemm(A, B, C)`.

    >>> import numpy as np
    >>> from tla.gpu import UniversalFMA, float, make_tiled_mma
    >>> from tla.kernels import gemm, kernel, thread
    >>> mma = make_tiled_mma(UniversalFMA[float], (2, 2))
    >>> @kernel(threads=4)
    ... def product(a, b, c):
    ...     own = mma[thread()]
    ...     gemm(mma, own.partition_A(a), own.partition_B(b), own.partition_C(c))
    >>> a, b, c = np.ones((4, 3), np.float32), np.ones((2, 3), np.float32), np.zeros((4, 2), np.float32)
    >>> product.run(a, b, c), c.tolist()
    (None, [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0], [3.0, 3.0]])

    Operands and errors are those of tla.gpu.gemm; RangeError outside a kernel. Source: CuTe `gemm`.
    """
    now = running("gemm()")
    if isinstance(now, Trace):
        now.gemm(line(), operands)
    else:
        executed(now, lambda: _multiplied(mma_facts(*operands)))


def axpby(alpha: Any, x: Any, beta: Any, y: Any) -> None:
    """y = alpha * x + beta * y, for every element that is valid of both.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import axpby, kernel, local_partition, thread
    >>> @kernel(threads=4)
    ... def added(a, b):
    ...     own, other = (local_partition(x, parse("_4:_1"), thread()) for x in (a, b))
    ...     axpby(2, own, 1, other)
    >>> b = np.ones(4, int)
    >>> added.run(np.arange(4), b), b.tolist()
    (None, [1, 3, 5, 7])

    Operands and errors are those of tla.gpu.axpby; RangeError outside a kernel. Source: CuTe `axpby`.
    """
    now = _threads_touch("axpby", x, y)
    if isinstance(now, Trace):
        now.axpby(line(), alpha, x, beta, y)
    else:
        executed(now, lambda: _added(alpha, x, beta, y))


def fill(t: Any, value: Any) -> None:
    """Set every element of a tensor of threads to a value, as tla.gpu.fill.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import fill, kernel, local_partition, thread
    >>> @kernel(threads=4)
    ... def set_all(a):
    ...     fill(local_partition(a, parse("_4:_1"), thread()), 3)
    >>> a = np.ones(4, int)
    >>> set_all.run(a), a.tolist()
    (None, [3, 3, 3, 3])

    Raises RangeError outside a kernel. Source: CuTe `fill`.
    """
    now = _threads_touch("fill", t)
    if isinstance(now, Trace):
        now.fill(line(), t, value)
    else:
        executed(now, lambda: _filled(t, value))


def clear(t: Any) -> None:
    """Zero every element of a tensor of threads, as tla.gpu.clear.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import clear, kernel, local_partition, thread
    >>> @kernel(threads=4)
    ... def set_all(a):
    ...     clear(local_partition(a, parse("_4:_1"), thread()))
    >>> a = np.ones(4, int)
    >>> set_all.run(a), a.tolist()
    (None, [0, 0, 0, 0])

    Raises RangeError outside a kernel. Source: CuTe `clear`.
    """
    now = _threads_touch("clear", t)
    if isinstance(now, Trace):
        now.fill(line(), t, 0)
    else:
        executed(now, lambda: _filled(t, 0))


def transform(*operands: Any) -> None:
    """target = f(sources) for every element that is valid of all: `transform(source, target, f)`, or with more sources
    before the target.

    sources   tensors of floats, or of integers of 32 bits or fewer; one of one element stands for all
    target    a tensor of floats, of as many elements
    f         a function of elements, one for each source: + - * /, comparisons in numpy.where, and functions of numpy
              such as exp, sqrt, tanh, fmax. Floats of less than 32 bits, and integers, are computed in float32

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import kernel, local_partition, thread, transform
    >>> @kernel(threads=4)
    ... def rectified(a, b):
    ...     transform(*(local_partition(x, parse("_4:_1"), thread()) for x in (a, b)), lambda x: np.fmax(x, 0))
    >>> b = np.ones(4)
    >>> rectified.run(np.arange(-2.0, 2), b), b.tolist()
    (None, [0.0, 0.0, 0.0, 1.0])

    Raises RankError where the numbers of elements differ, LeafTypeError for integers to write, and for functions that a
    text does not have; RangeError outside a kernel. Source: CuTe `transform`.
    """
    *tensors, f = operands
    if len(tensors) < 2:
        what = f"transform of {len(operands)} operands"
        raise RankError(what, "source, target, function", "write transform(x, y, np.sqrt)")
    now = _threads_touch("transform", *tensors)
    if isinstance(now, Trace):
        now.transform(line(), tensors, f)
    else:
        executed(now, lambda: _noted(run_transform(tensors, f)))


def reduce(source: Any, target: Any, f: Callable[..., Any]) -> None:
    """target = f(target, element) for each element of the source, one after the other, each at its own place
    of the target.

    source   a tensor of floats
    target   registers of as many elements, of which a stride of 0 makes many one; or of one element, for all
    f        a function of what there is so far, and an element: numpy.add, numpy.fmax

    >>> import numpy as np
    >>> from tla import composition, parse
    >>> from tla.gpu import make_fragment_like
    >>> from tla.kernels import copy, fill, kernel, local_partition, reduce, thread
    >>> @kernel(threads=2)
    ... def sums(a, b):
    ...     own, t = (local_partition(x, parse("_2:_1"), thread()) for x in (a, b))
    ...     total = make_fragment_like(t)
    ...     fill(total, 0)
    ...     reduce(own, total, np.add)
    ...     copy(total, t)
    >>> b = np.zeros(2)
    >>> sums.run(np.arange(8.0), b), b.tolist()
    (None, [12.0, 16.0])

    Raises what transform raises; LeafTypeError for a target that is not in registers. Source: ours; CuTe DSL
    `TensorSSA.reduce`.
    """
    now = _threads_touch("reduce", source, target)
    if isinstance(now, Trace):
        now.reduce(line(), source, target, f)
    else:
        executed(now, lambda: _noted(run_reduce(source, target, f)))


def shuffle_xor(source: Any, target: Any, mask: int) -> None:
    """target = source of the thread whose number differs by the bits of a mask, in registers: exchanges inside
    of a warp.

    source   registers of floats
    target   other registers of as many elements
    mask     1 to 31

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.gpu import make_fragment_like
    >>> from tla.kernels import copy, kernel, local_partition, shuffle_xor, thread
    >>> @kernel(threads=4)
    ... def neighbours(a, b):
    ...     own, to = (local_partition(x, parse("_4:_1"), thread()) for x in (a, b))
    ...     here, there = make_fragment_like(own), make_fragment_like(own)
    ...     copy(own, here)
    ...     shuffle_xor(here, there, 1)
    ...     copy(there, to)
    >>> b = np.zeros(4)
    >>> neighbours.run(np.arange(4.0), b), b.tolist()
    (None, [1.0, 0.0, 3.0, 2.0])

    Raises RangeError for a mask that leaves the warp or the block; LeafTypeError for tensors that are not
    registers of their own.
    Source: CUDA `__shfl_xor_sync`; CuTe DSL `shuffle_sync_bfly`.
    """
    now = running("shuffle_xor()")
    threads = now.threads
    if not is_int(mask) or known(mask) is None or not 0 < int(mask) < WARP or threads % (1 << int(mask).bit_length()):
        expected = f"1 to {WARP - 1}, and threads that are a multiple of twice its highest bit"
        what = f"shuffle_xor by {shown(mask)} among {threads} threads"
        raise RangeError(what, expected, "write @kernel(threads=128), and 16, 8, 4, 2, 1")
    if isinstance(now, Trace):
        now.shuffle(line(), source, target, int(mask))
    else:
        executed(now, lambda: _noted(run_shuffle(source, target, int(mask), threads)))


def atomic_add(source: Any, target: Any) -> None:
    """target = target + source, each element by an instruction that no other one divides: threads, and blocks, may add
    to one element with nothing between. The order is any, so that sums of floats differ in their last bits.

    source   a tensor of float32, float64, int32 or uint32; one of one element stands for all
    target   a tensor in shared memory or of an argument, of as many elements of the same type; what others add
             behind a barrier, or in another launch, is read

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import atomic_add, kernel, local_partition, thread
    >>> @kernel(threads=4, grid=(3,))
    ... def total(a, b):
    ...     atomic_add(local_partition(a, parse("_4:_1"), thread()), b)
    >>> b = np.zeros(1, np.float32)
    >>> total.run(np.arange(4, dtype=np.float32), b), b.tolist()
    (None, [18.0])
    >>> total.check(np.arange(4, dtype=np.float32), b).races
    ()

    Raises LeafTypeError for other types, and for a target in registers; RankError where the numbers of elements differ;
    RangeError outside a kernel. Source: CUDA `atomicAdd`; CUTLASS `cutlass::atomic_add`.
    """
    now = _threads_touch("atomic_add", source, target)
    if isinstance(now, Trace):
        now.atomic_add(line(), source, target)
    else:
        executed(now, lambda: _added_atomically(source, target, now.threads))


def _threads_touch(where: str, *tensors: Any) -> Launch | Trace:
    """The block that runs, whose threads touch elements. LeafTypeError for tensor memory, and for no tensor."""
    now = running(f"{where}()")
    _require_tensors(where, *tensors)
    if any(memory_of(t) == "TMEM" for t in tensors):
        load = "copy(load, load[thread()].partition_S(t), registers) by make_tmem_copy"
        fix = f"load it: {load}; or write mma.with_(False) for zeros"
        raise LeafTypeError(f"{where} of a tensor in tensor memory", "one that threads read and write", fix)
    return now


def _require_tensors(where: str, *given: Any) -> None:
    """LeafTypeError for what is no tensor: the values of elements, which t[0] is, are a copy of them."""
    for x in given:
        if not isinstance(x, Tensor):
            fix = "cut a tensor of one element: local_tile(t, (1,), (k,)) for t[k]"
            raise LeafTypeError(f"{where} of {type(x).__name__}, the values of elements", "tensors of threads", fix)


def _of_tile(now: Launch | Trace, *operands: Any) -> None:
    """The load of a tile by TMA, for an mbarrier; or a store."""
    if len(operands) != 3:
        what = f"copy by TMA of {len(operands)} operands"
        raise RankError(what, "the copy, source, target", "write copy(tma.with_(full[0]), a, b)")
    tma, source, target = operands[0], *(as_tensor("copy", x) for x in operands[1:])
    stores = tma.operation == "SM90_TMA_STORE"
    if not stores and not isinstance(tma.barrier, Mbarrier):
        what = "a load by TMA without an mbarrier"
        raise LeafTypeError(what, "one of mbarriers(...)", "write copy(tma.with_(full[0]), source, target)")
    require_box_aligned(tma, source if stores else target)
    if tma.operation.endswith("_MULTICAST"):
        require_mask("a load by TMA", tma.mask, blocks_of(now))
    elif tma.mask is not None:
        fix = f"write make_tma_copy({tma.operation + '_MULTICAST'!r}, ...)"
        raise LeafTypeError(f"{tma.operation} for several blocks", "a load of these", fix)
    if tma.operation in OF_PAIRS:
        require_pairs(tma.operation, now)
    if isinstance(now, Trace):
        now.load(line(), tma, source, target)
        return

    def moved() -> None:
        step, watch = bulk_facts(tma, source, target), now.watch
        if watch is not None:
            watch.ask_tma()
        if stores:
            if watch is not None:
                watch.races.store(line(), Access(source), Access(target))
            run_bulk(step)
            return
        _loaded(now, [now] if tma.mask is None else [now.other(rank) for rank in tma.mask.ranks], step)

    executed(now, moved)


def _loaded(now: Launch, blocks: Sequence[Launch], step: BulkStep) -> None:
    """Load a tile to the memory of blocks of the cluster."""
    parts = [_begun(now, other, step) for other in blocks]
    run_bulk(step, *(target for target, _waiter, _barrier in parts))
    for _target, waiter, barrier in parts:
        barrier.receive(step.bytes)
        ended(waiter, barrier)


def _begun(now: Launch, other: Launch, step: BulkStep) -> tuple[Tensor, Launch, Mbarrier]:
    """Note a load to the memory of a block of the cluster: the tile there, and the mbarrier that counts the bytes with
    its block, which is the leader of a pair."""
    waiter = other.leader if step.tma.operation in OF_PAIRS else other
    barrier: Mbarrier = step.tma.barrier if waiter is now else waiter.mbarrier_as(now, step.tma.barrier)
    target = step.target if other is now else other.shared_as(now, step.target)
    if now.watch is not None and other.watch is not None and waiter.watch is not None:
        races, waits = now.watch.races, waiter.watch.races
        if waiter is now is other:
            races.load(line(), barrier, Access(step.source), Access(target))
        elif other is now:
            races.load_for(waits, line(), barrier, Access(step.source), Access(target))
        else:
            other.watch.races.load_from(races, line(), barrier, Access(target), waits)
    return target, waiter, barrier


def _noted(tensors: list[Tensor]) -> None:
    _note([Access(t) for t in tensors[:-1]], [Access(tensors[-1])])


def _filled(t: Any, value: Any) -> None:
    algorithms.fill(t, value)
    _note([], [Access(as_tensor("fill", t))])


def _added(alpha: Any, x: Any, beta: Any, y: Any) -> None:
    import numpy as np

    x, y = as_tensor("axpby", x), as_tensor("axpby", y)
    places, valid = (a.reshape(len(a), -1) for a in np.broadcast_arrays(places_of(y), valid_of(y)))
    require_own_places("axpby", y, places, valid)
    algorithms.axpby(alpha, x, beta, y)
    _noted([x, y, y])


def _added_atomically(source: Any, target: Any, threads: int) -> None:
    source, target = run_atomic_add(source, target, threads)
    _note([Access(source)], [Access(target, adds=True)])


def _ask(atom: CopyAtom | MMAAtom) -> None:
    """Ask the architecture of a check for an instruction."""
    now = running("a statement")
    if isinstance(now, Launch) and now.watch is not None:
        now.watch.ask(atom)


def _multiplied(step: MmaStep) -> None:
    now, atom = running("a statement"), step.mma.atom
    assert isinstance(now, Launch)  # of a trace nothing is executed
    _ask(atom)
    require_allocated(now.tmem, *step.operands.values())
    read = [(name, t) for name, t in step.operands.items() if name != "D"]
    if is_of_tensor_memory(atom):
        _added_up(now, step)
        return
    run_mma(step)
    if not is_asynchronous(atom):
        _note([Access(t) for _name, t in read], [Access(step.operands["D"])])
    elif now.watch is not None:
        tiles = [Access(t, together=int(size(atom.thr_id))) for name, t in read if name in "AB"]
        now.watch.product(line(), tiles, [step.operands["D"]])


def _added_up(now: Launch, step: MmaStep) -> None:
    """A product that adds to tensor memory: of two SMs by the first block of a pair, with the memory of both."""
    sms = int(size(step.mma.atom.thr_id))
    require_group(step.mma.atom.name, now.tmem, sms)
    blocks = [now] if sms == 1 else require_leader(step.mma.atom.name, now)
    operands = [step.operands, *({name: x.memory_as(now, t) for name, t in step.operands.items()} for x in blocks[1:])]
    if sms == 1:
        run_mma(step)
    else:
        run_mma_together(step, operands)
    number, adds = 0, step.mma.accumulate_
    for block, held in zip(blocks, operands):
        reads, to = [Access(held[name]) for name in "AB"], Access(held["D"])
        if now.watch is None or block.watch is None:
            continue
        if block is now:
            number = now.watch.races.umma(line(), reads, to, accumulates=adds)
        else:
            block.watch.races.umma_from(now.watch.races, line(), number, reads, to, accumulates=adds)


def _copied(step: CopyStep) -> None:
    now = running("a statement")
    assert isinstance(now, Launch)  # of a trace nothing is executed
    _ask(step.atom)
    require_load(step.atom)
    require_allocated(now.tmem, step.source, step.target)
    if is_of_tensor_memory(step.atom):
        _moved_cells(now, step)
        return
    run_copy(step)
    read, written = (None, None) if step.where is None else step.where
    atom, each = step.atom, 8 * step.target.dtype.itemsize
    counts = [1 if atom.most_bits is not None else max(1, side.bits // each) for side in (atom.reads, atom.writes)]
    target = Access(step.target, _of_rows(atom, step.target, None if atom.fills_zeros else written), counts[1])
    _note([Access(step.source, read, counts[0])], [target])
    if atom.asynchronous and now.watch is not None:
        now.watch.races.copy(line(), target)


def _moved_cells(now: Launch, step: CopyStep) -> None:
    """A load of tensor memory: each warp has the data paths that it may reach, each lane the values that it gets."""
    import numpy as np

    places, lanes = places_of(step.source), int(size(step.atom.thr_id))
    warps = np.arange(len(places)).reshape(-1, *(1,) * (places.ndim - 1)) // lanes
    wrong = (places >> PATH_BITS) // lanes != warps % (LANES // lanes)
    if wrong.any():
        warp = int(np.argwhere(wrong)[0][0]) // lanes
        first = warp % (LANES // lanes) * lanes
        what = f"a load of tensor memory by warp {warp} from data path {int(places[wrong][0]) >> PATH_BITS}"
        fix = "partition it by make_tmem_copy(...)[thread()]"
        raise RangeError(what, f"data paths {first} to {first + lanes - 1}", fix)
    run_copy(step)
    if now.watch is None:
        return
    count = int(size(step.atom.val_src)) // lanes
    own = thread_values(step.atom.val_dst, lanes)[:, :, None] == np.arange(count)
    atoms = places.shape[1] // count
    chosen = np.tile(own.any(1), (len(places) // lanes, atoms)).reshape(*places.shape[:2], *(1,) * (places.ndim - 2))
    source = Access(step.source, np.broadcast_to(chosen, places.shape))
    _note([source], [Access(step.target)])
    now.watch.races.load_tmem(line(), source, step.target)


def _of_rows(atom: CopyAtom, t: Tensor, chosen: Any) -> Any:
    """The elements that are written: a row of which several lanes of an instruction have the address is the first's."""
    import numpy as np

    if not stores_rows(atom):
        return chosen
    lanes = int(size(atom.thr_id))
    starts = [int(atom.val_dst(lane, 0)) for lane in range(lanes)]
    firsts = np.array([starts.index(x) == lane for lane, x in enumerate(starts)])
    places = places_of(t)
    each = np.tile(firsts, len(places) // lanes).reshape(-1, *(1,) * (places.ndim - 1))
    return each & (valid_of(t) if chosen is None else chosen)


def _note(reads: list[Access], writes: list[Access]) -> None:
    """Note a statement's accesses, with the line of the kernel that it stands at."""
    now = running("a statement")
    if isinstance(now, Launch) and now.watch is not None:
        now.watch.note(line(), reads, writes)
