"""The block of a kernel that runs, or is traced: what it asks for by block(), thread(), shared(), loop() and barrier().

Source: CuTe's kernels; CUDA's blockIdx, threadIdx and __syncthreads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ...algebra.codomain import cosize
from ...algebra.make import make_layout
from ...core.errors import LeafTypeError, RangeError, TlaError
from ...core.int_tuple import shown
from ...core.ints import IntLike, Leaf, is_int, known, leaf
from ...core.layout import Layout
from ...tensors.buffers import as_dtype
from ...tensors.make import registers as new_registers
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor, tensor_of
from ..block.allocation import Allocation
from ..block.lines import line
from ..block.mbarriers import Mbarrier, Mbarriers
from ..block.turns import Turns
from ..checks.watch import Watch
from .trace import Trace


@dataclass
class Launch:
    """A block that runs.

    block      its place in the grid
    threads    the number of its threads
    watch      what watches it; None without a check
    tmem       the columns of tensor memory that it has allocated, and `released` whether it allocates no more
    cluster    the blocks that it runs with; None of a kernel without clusters. rank: its number among them
    shared     its tensors in shared memory, in the order in which they are asked for, as other blocks have theirs
    mbarriers  those among them that are mbarriers
    """

    block: tuple[int, ...]
    threads: int
    watch: Watch | None = None
    tmem: list[Allocation] = field(default_factory=list)
    released: bool = False
    cluster: Cluster | None = None
    rank: int = 0
    shared: list[Tensor] = field(default_factory=list)
    mbarriers: list[Mbarriers] = field(default_factory=list)

    def other(self, rank: int) -> Launch:
        """A block of the cluster by its number."""
        assert self.cluster is not None  # a mask is of a cluster
        return self.cluster.blocks[rank]

    @property
    def leader(self) -> Launch:
        """The first block of this one's pair, whose numbers in the cluster are 2 k and 2 k + 1."""
        return self.other(self.rank & ~1)

    def memory_as(self, other: Launch, t: Tensor) -> Tensor:
        """The tensor of this block's memory that lies where another block's does. RangeError before there is one."""
        at = next((k for k, x in enumerate(other.tmem) if x.data is t.data), None)
        if at is None:
            return self.shared_as(other, t)
        self._require(at < len(self.tmem) and self.tmem[at].data is not None, "tensor memory")
        return tensor_of(None, self.tmem[at].data, t.offset, t.layout, t.coord, t._guard, t.memory)

    def shared_as(self, other: Launch, t: Tensor) -> Tensor:
        """The tensor of this block's shared memory that lies where another's does. RangeError before it is there."""
        at = next(k for k, x in enumerate(other.shared) if x.data is t.data)
        self._require(at < len(self.shared) and self.shared[at].data.dtype == t.data.dtype, "shared memory")
        return tensor_of(None, self.shared[at].data, t.offset, t.layout, t.coord, t._guard, t.memory)

    def mbarrier_as(self, other: Launch, barrier: Mbarrier) -> Mbarrier:
        """The mbarrier of this block that lies where one of another block does. RangeError before there is one."""
        at = next(k for k, x in enumerate(other.mbarriers) if x is barrier.of)
        self._require(at < len(self.mbarriers), "mbarriers")
        return Mbarrier(self.mbarriers[at], barrier.at)

    def _require(self, there: bool, what: str) -> None:
        """RangeError for what another block uses of this one before it is there."""
        if not there:
            known = f"{what} that all blocks of the cluster have set up"
            given = f"the {what} of block {self.rank} of the cluster, which it does not have yet"
            raise RangeError(given, known, "write cluster_sync()")


@dataclass
class Cluster:
    """The blocks of a cluster that run together.

    extents  the number of blocks along each mode
    turns    lets one of them go on at a time
    blocks   the blocks by their numbers
    arrived  how often each has arrived at the cluster's barrier, and `waited` how often it has waited there
    """

    extents: tuple[int, ...]
    turns: Turns
    blocks: list[Launch] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)


_running: ContextVar[Launch | Trace] = ContextVar("running")


def running(where: str) -> Launch | Trace:
    """The block that runs, or the trace of a call with symbols; RangeError outside a kernel."""
    try:
        return _running.get()
    except LookupError:
        fix = "call it in a function under @kernel(threads=...), and that by .run(...)"
        raise RangeError(f"{where} outside a kernel that runs", "a statement of a kernel", fix) from None


def blocks_of(now: Launch | Trace) -> int | None:
    """The number of blocks of a cluster; None without clusters."""
    extents = now.cluster if isinstance(now, Trace) else now.cluster and now.cluster.extents
    return math.prod(extents) if extents else None


def require_pairs(where: str, now: Launch | Trace) -> None:
    """RangeError for what pairs of blocks do in a kernel whose clusters have none."""
    if (blocks_of(now) or 1) % 2:
        expected, fix = "clusters of an even number of blocks", "write @kernel(..., cluster=(2, 1, 1))"
        raise RangeError(f"{where} without pairs of blocks", expected, fix)


def require_leader(where: str, now: Launch) -> list[Launch]:
    """The pair of the block that runs, whose first it is to be: RangeError for the other one."""
    require_pairs(where, now)
    if now.leader is not now:
        what = f"{where} by block {now.rank} of the cluster, the second of its pair"
        raise RangeError(what, "the first, of an even number", "write `for _leader in when(v < 1):` around it")
    return [now, now.other(now.rank + 1)]


def block(mode: int) -> Leaf:
    """The index of the block that runs, along a mode of the grid; 0 along modes that the grid does not have.

    >>> from tla.kernels import block, kernel
    >>> @kernel(threads=4)
    ... def shown():
    ...     print(block(0), block(1))
    >>> shown.run()
    0 0

    Raises RangeError outside a kernel, and for what is no mode of CUDA's grid. Source: CUDA `blockIdx`.
    """
    now = running("block()")
    if not is_int(mode) or mode not in (0, 1, 2):
        raise RangeError(f"block({shown(mode)})", "a mode of the grid: 0, 1 or 2", "write block(0) for blockIdx.x")
    place = now.blocks if isinstance(now, Trace) else now.block
    return place[mode] if mode < len(place) else 0


def thread() -> Any:
    """The indices of the block's threads: an array of them all while it runs on numpy, a symbol while it is traced.

    >>> from tla.kernels import kernel, thread
    >>> @kernel(threads=4)
    ... def shown():
    ...     print(thread())
    >>> shown.run()
    [0 1 2 3]

    Raises RangeError outside a kernel. Source: CUDA `threadIdx.x`.
    """
    import numpy as np

    now = running("thread()")
    return now.thread if isinstance(now, Trace) else np.arange(now.threads)


def shared(element: Any, layout: Any) -> Tensor:
    """A tensor in the block's shared memory, not yet written: every bit is 1, which is NaN of a float.

    element   a type of numpy
    layout    a layout of static or dynamic sizes, composed ones too
    Raises    LeafTypeError for another type, RangeError outside a kernel

    >>> from tla.kernels import kernel, shared
    >>> @kernel(threads=4)
    ... def shown():
    ...     import numpy as np
    ...     from tla import parse
    ...     print(shared(np.float32, parse("_4:_1")).data)
    >>> shown.run()
    [nan nan nan nan]

    Source: CuTe `make_tensor(make_smem_ptr(smem), layout)`.
    """
    import numpy as np

    now, dtype = running("shared()"), as_dtype("shared", element)
    if isinstance(now, Trace):
        return now.allocate(dtype, layout)
    count = int(cosize(layout))
    if now.watch is not None:
        now.watch.allocate(count * dtype.itemsize)
    made: Tensor = MakeTensor(np.full(count * dtype.itemsize, 0xFF, np.uint8).view(dtype), layout, position="smem")
    now.shared.append(made)
    return made


def registers(element: Any, layout: Any) -> Tensor:
    """A tensor in registers, of each thread its own, not yet written: every bit is 1, which is NaN of a float.

    element   a type of numpy
    layout    a layout of static or dynamic sizes, or a shape
    Raises    LeafTypeError for another type, RangeError outside a kernel

    >>> from tla.kernels import kernel, registers
    >>> @kernel(threads=4)
    ... def shown():
    ...     import numpy as np
    ...     print(registers(np.float32, 2).data.size)
    >>> shown.run()
    8

    Source: CuTe `make_tensor<T>(layout)`; CuTe DSL `make_rmem_tensor`.
    """
    now, dtype = running("registers()"), as_dtype("registers", element)
    made = new_registers(layout if isinstance(layout, Layout) else make_layout(layout), thread(), dtype)
    if isinstance(now, Launch):
        made.data.view("u1")[:] = 0xFF
    return made


def loop(n: IntLike) -> Iterator[Leaf]:
    """The steps 0 to n - 1 of a kernel's loop. Python's own loops are for what is unrolled.

    >>> from tla.kernels import kernel, loop
    >>> @kernel(threads=4)
    ... def shown():
    ...     print([k for k in loop(3)])
    >>> shown.run()
    [0, 1, 2]

    Raises RangeError outside a kernel, LeafTypeError for what is no number of steps.
    """
    now = running("loop()")
    if isinstance(now, Trace):
        return now.loop(line(), n)
    if not is_int(n) or known(n) is None:
        what = f"loop({shown(n)})"
        raise LeafTypeError(what, "a number of steps", "take it from the tensors' shapes: loop(a.shape[1])")
    return iter(range(int(n)))


def when(condition: Any) -> Iterator[None]:
    """A condition of the block: `for _ in when(k + 1 < steps):` states what is in it where the condition
    holds, else nothing.

    condition   a comparison of sizes, blocks and steps of loops by < or <=, the same for all threads; == of symbols
                tells whether they are written alike, as everywhere: write both comparisons
    Raises      LeafTypeError for another condition, RangeError outside a kernel

    >>> from tla.kernels import kernel, loop, when
    >>> @kernel(threads=4)
    ... def shown():
    ...     for k in loop(3):
    ...         for _ in when(k + 1 < 3):
    ...             print(k)
    >>> shown.run()
    0
    1

    Source: CUDA's `if`.
    """
    import numpy as np

    now = running("when()")
    if isinstance(now, Trace):
        return now.when(line(), condition)
    if not isinstance(condition, (bool, np.bool_)):
        fix = "write copy_if by elem_less for a condition of each thread"
        raise LeafTypeError(f"when({condition!r:.60})", "one truth value for all threads", fix)
    return iter((None,) if condition else ())


def phase(k: IntLike, n: int) -> Leaf:
    """The parity of the phase that a stage's mbarrier is in at step k of a loop over n stages: k // n % 2.

    k   a step of a loop, or a number more
    n   the number of stages

    >>> from tla.kernels import kernel, loop, phase
    >>> @kernel(threads=4)
    ... def shown():
    ...     print([phase(k, 2) for k in loop(6)])
    >>> shown.run()
    [0, 0, 1, 1, 0, 0]

    Raises RangeError outside a kernel, and for what is no number of stages. Source: CUTLASS `PipelineState`.
    """
    now = running("phase()")
    _require_stages("phase", n)
    if isinstance(now, Trace):
        return now.phase(k, int(n))
    return leaf(k) // int(n) % 2


def stage(k: IntLike, n: int) -> Leaf:
    """The stage of n that step k of a loop is in: k % n, which the text counts from step to step.

    k   a step of a loop, or a number more
    n   the number of stages

    >>> from tla.kernels import kernel, loop, stage
    >>> @kernel(threads=4)
    ... def shown():
    ...     print([stage(k + 1, 3) for k in loop(5)])
    >>> shown.run()
    [1, 2, 0, 1, 2]

    Raises RangeError outside a kernel, and for what is no number of stages. Source: ours; CUTLASS `PipelineState`.
    """
    now = running("stage()")
    _require_stages("stage", n)
    if isinstance(now, Trace):
        return now.stage(k, int(n))
    return leaf(k) % int(n)


def _require_stages(where: str, n: Any) -> None:
    if not is_int(n) or known(n) is None or int(n) < 1:
        raise RangeError(f"{where} of {shown(n)}", "a number of stages, 1 or more", f"write {where}(k, 3)")


def barrier() -> None:
    """Wait for all threads of the block: what they wrote before it others may touch after it.

    >>> from tla.kernels import barrier, fill, kernel, local_partition, shared, thread
    >>> @kernel(threads=4)
    ... def shown():
    ...     import numpy as np
    ...     from tla import parse
    ...     memory = shared(np.int32, parse("_4:_1"))
    ...     fill(local_partition(memory, parse("_4:_1"), thread()), 7)
    ...     barrier()
    ...     print(memory.data)
    >>> shown.run()
    [7 7 7 7]

    Raises RangeError outside a kernel. Source: CUDA `__syncthreads`.
    """
    now = running("barrier()")
    if isinstance(now, Trace):
        now.barrier(line())
    elif now.watch is not None:
        now.watch.races.wait(line())


def run_block(function: Callable[..., None], arguments: tuple[Any, ...], launch: Launch | Trace) -> None:
    """Call a kernel's function for the threads of one block, or to trace it."""
    token = _running.set(launch)
    try:
        function(*arguments)
        _require_freed(launch)
    finally:
        _running.reset(token)
        if isinstance(launch, Launch) and launch.watch is not None:
            launch.watch.end_block()


def _require_freed(launch: Launch | Trace) -> None:
    """RangeError at the end of a block for tensor memory that it has not freed."""
    for held in launch.tmem:
        if not held.freed:
            fix = "write barrier(), and allocator.free(columns), at the end"
            what = f"the block ends with {held.columns} columns of tensor memory"
            error = RangeError(what, "columns that are free again", fix)
            if isinstance(launch, Trace) or launch.watch is None:
                raise error
            launch.watch.refuse(held.line, error)


def executed(now: Launch, statement: Callable[[], object]) -> None:
    """Execute a statement; what is watched goes on behind one that is refused."""
    if now.watch is None:
        statement()
        return
    try:
        statement()
    except TlaError as error:
        now.watch.refuse(line(), error)
