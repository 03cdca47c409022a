"""Faults of who touches which element: a race, and a read of an element that nobody has written.

Source: the PTX manual, "Memory Consistency Model", "Data-races".
"""

from __future__ import annotations

from typing import NamedTuple

from ...gpu.instructions.tmem import PATH_BITS
from ..block.lines import Line

_UMMA = "no umma_arrive and wait_barrier for it between", "umma_arrive(done[k]) and wait_barrier(done[k], phase)"
#: Who touches an element wrongly -> what is missing between, and what to write there.
_MISSING = {
    "thread": ("no barrier between", "barrier()"),
    "block": ("blocks do not wait for each other", "barrier()"),
    "copy": ("no cp_async_wait for it between", "cp_async_wait[n]() and barrier()"),
    "product": ("no warpgroup_wait for it between", "warpgroup_commit_batch() and warpgroup_wait[n]()"),
    "register": ("no warpgroup_arrive between", "warpgroup_arrive()"),
    "proxy": ("no fence_view_async_shared between", "fence_view_async_shared() and barrier()"),
    "store": ("no tma_store_wait for it between", "tma_store_arrive() and tma_store_wait[n]()"),
    "load": ("no wait_barrier for it between", "wait_barrier(full[k], phase)"),
    "umma": _UMMA,
    "accumulator": _UMMA,
    "tmem": ("no fence_view_async_tmem_load for it between", "fence_view_async_tmem_load()"),
    "phase": ("it may still wait for the phase before", "arrive_barrier(empty[k]) and wait_barrier(empty[k], phase)"),
    "arrival": ("it may not have arrived for the phase before", "wait_barrier(empty[k], phase) between two arrivals"),
    "bytes": ("its phase before may go on, and end by them", "cluster_sync()"),
    "cluster": ("no cluster_sync between", "cluster_sync()"),
    "flag": ("no SetFlag and WaitFlag between", "SetFlag and WaitFlag of an event of the two pipes"),
    "pipe": ("no PipeBarrier between", "PipeBarrier of the pipe"),
    "end": ("no wait_barrier for it before the block ends", "wait_barrier(full[k], phase)"),
}


class Race(NamedTuple):
    """Two threads, or blocks, that touch one element with nothing that orders them; the second access is the
    one that was found.

    who       "thread" or "block"; of asynchronous instructions "copy", "load" or "product" where one has not been
              waited for, "register" and "proxy" where one may not see what threads wrote to registers or shared memory;
              "phase" and "arrival" of an mbarrier, "bytes" that come before the phase that they are meant for; of
              tensor memory "umma" and "accumulator" for what a product still reads and adds to, "tmem" for what is
              still being loaded; of a cluster "cluster" for blocks of which one
              does not know what the other has done, "end" for what comes from another block and is not waited for; on
              Ascend "flag" for two pipes of a core, "pipe" for two instructions of one
    memory    where the element is: "shared memory", "global memory", "registers" or "tensor memory"; on Ascend "L1" ...
    element   its place in the buffer [elements]; of tensor memory its address, a data path in the upper 16 bits
              and a column; on Ascend the byte of the memory, or of the tensor
    before    who touched it first, on Ascend the pipe and what it does, and `written` whether that was a write; None
              where several read it, or a product did
    line      of that access
    after     who touched it then, None for a product; `writes` whether that is a write
    at        the line of that access
    block     the number in the cluster of another block, whose access that is

    >>> from tla.kernels import Race
    >>> from tla.kernels.block.lines import Line
    >>> print(Race("thread", "shared memory", 5, 1, True, Line("k.py", 7), 2, False, Line("k.py", 8)))
    k.py:8: thread 2 reads element 5 of shared memory, which thread 1 writes at k.py:7: no barrier between

    Source: ours.
    """

    who: str
    memory: str
    element: int
    before: int | str | None
    written: bool
    line: Line
    after: int | str | None
    writes: bool
    at: Line
    block: int | None = None

    @property
    def fix(self) -> str:
        """The words to write between."""
        return _MISSING[self.who][1]

    def __str__(self) -> str:
        missing = _MISSING[self.who][0]
        if self.who == "store" and self.after is None:
            reads = f"a store by TMA reads element {self.element} of {self.memory}"
            return f"{self.at}: the block ends while {reads}: {missing}"
        if self.who == "end":
            return f"{self.at}: {self._other} touches {self.memory} of this one, or an mbarrier: {missing}"
        if self.who == "bytes":
            return f"{self.at}: {self._other} sends bytes to {_element(self.element, self.memory)}: {missing}"
        first = {"copy": "an asynchronous copy of ", "load": "a load by ", "tmem": "a load by "}.get(self.who, "")
        first += self._does(self.before, self.written)
        if self.before is None and self.who in ("thread", "block"):
            first = f"several {self.who}s {'add to' if self.written else 'read'}"
        then = self._does(self.after, self.writes)
        if self.block is not None:
            then = f"{self._other} {'writes' if self.writes else 'uses'}"
        if self.who == "phase" and self.before is None:
            first = "a thread of this one reads"
        if self.who == "arrival":
            then, first = "a thread arrives at", "another one comes to"
        element = _element(self.element, self.memory)
        if isinstance(self.after, str):
            element = f"byte {self.element} of {self.memory}"
        return f"{self.at}: {then} {element}, which {first} at {self.line}: {missing}"

    @property
    def _other(self) -> str:
        return f"block {self.block} of the cluster"

    def _does(self, number: int | str | None, writes: bool) -> str:
        verb = "writes" if writes else "reads"
        if isinstance(number, str):
            return f"the pipe {number} {verb}"
        if number is None:
            return f"a {'store by TMA' if self.who == 'store' else 'product'} {verb}"
        return f"{'block' if self.who == 'block' else 'thread'} {number} {verb}"


def _element(number: int, memory: str) -> str:
    """An element in words."""
    if memory == "tensor memory":
        return f"data path {number >> PATH_BITS}, column {number % (1 << PATH_BITS)} of {memory}"
    return f"element {number} of {memory}"


class Unwritten(NamedTuple):
    """An element of shared or tensor memory that is read, and that no thread of the block has written.

    line      of the access, the first of this line
    element   its place, as that of a Race
    thread    who reads it; None for a product
    memory    where it is

    >>> from tla.kernels import Unwritten
    >>> from tla.kernels.block.lines import Line
    >>> print(Unwritten(Line("k.py", 7), 5, 2))
    k.py:7: thread 2 reads element 5 of shared memory, which nobody has written

    Source: ours.
    """

    line: Line
    element: int
    thread: int | None
    memory: str = "shared memory"

    def __str__(self) -> str:
        who = "a product" if self.thread is None else f"thread {self.thread}"
        return f"{self.line}: {who} reads {_element(self.element, self.memory)}, which nobody has written"
