"""A kernel as plain data: statements over tensors of one thread, with symbols for blocks, threads and steps of loops.

Source: ours; CuTe's words for the statements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.ints import IntLike, Leaf, is_constant
from ...gpu.instructions.atom import CopyAtom
from ...gpu.run.bulk import BulkStep
from ...gpu.run.mma_facts import MmaStep
from ...symbolic import Condition, SymInt
from ...tensors.predicated import Within
from ...tensors.tensor import Tensor
from ..block.allocation import Allocation
from ..block.lines import Line
from .elements import Scalar, Value
from .multicast import Multicast


class Access(NamedTuple):
    """The elements of a tensor that each thread reads or writes.

    tensor   the tensor of a thread: offsets are of its own buffer
    places   of an argument, a tensor of the same shape whose values are the coordinates of these elements in
             it; else None
    """

    tensor: Tensor
    places: Tensor | None = None


@dataclass(frozen=True)
class Copy:
    """`copy` or `copy_if`: target = source, where the predicate holds; None for everywhere."""

    line: Line
    atom: CopyAtom
    source: Access
    target: Access
    where: Within | None


@dataclass(frozen=True)
class Fill:
    """`fill` and `clear`: every element of a tensor is a value."""

    line: Line
    target: Access
    value: int | float | Scalar


@dataclass(frozen=True)
class Axpby:
    """`axpby`: y = alpha * x + beta * y."""

    line: Line
    alpha: int | float | Scalar
    x: Access
    beta: int | float | Scalar
    y: Access


@dataclass(frozen=True)
class Transform:
    """`transform`: target = value of the sources, of each element that is valid. `reduce` if the target is a source."""

    line: Line
    operands: tuple[Access, ...]
    value: Value

    @property
    def target(self) -> Access:
        """The tensor that is written: the last operand."""
        return self.operands[-1]


@dataclass(frozen=True)
class Shuffle:
    """`shuffle_xor`: target = source of the thread whose number differs by the bits of a mask."""

    line: Line
    source: Access
    target: Access
    mask: int


@dataclass(frozen=True)
class Atomic:
    """`atomic_add`: target = target + source, each element by an instruction that no other one divides."""

    line: Line
    source: Access
    target: Access


@dataclass(frozen=True)
class Product:
    """`gemm`: D = A * B + C, by an instruction.

    accumulates   whether it adds to C: True or False, or comparisons c < n that all hold where it does
    """

    line: Line
    step: MmaStep
    operands: dict[str, Access]
    accumulates: bool | tuple[tuple[Any, Any], ...] = True


@dataclass(frozen=True)
class Read:
    """`read_index`: an element of an argument as an integer, the same for all threads of a block.

    symbol    the integer: 0 <= it < below
    source    a tensor of this one element
    distinct  whether elements at several places are assumed to differ
    """

    line: Line
    symbol: SymInt
    source: Access
    below: IntLike
    distinct: bool = False


@dataclass(frozen=True)
class Barrier:
    """`barrier`: all threads of the block wait for each other; `cluster_sync`, those of the cluster."""

    line: Line
    of_cluster: bool = False


@dataclass(frozen=True)
class Order:
    """A statement that orders asynchronous instructions with others, by CuTe's word for it: `cp_async_fence`,
    `warpgroup_wait` ...

    pending   of a wait, how many of the newest groups need not have ended
    """

    line: Line
    word: str
    pending: int = 0


@dataclass(frozen=True)
class Load:
    """`copy` by TMA: the first thread loads a tile for an mbarrier, or stores one.

    step      the load or the store, with its map
    barriers  of a load the tensor of mbarriers, and `at` the number of this one; of a store None
    mask      the blocks of the cluster that it comes to, each at the same place; None for this one alone
    """

    line: Line
    step: BulkStep
    source: Access
    target: Access
    barriers: Tensor | None
    at: Leaf
    mask: Multicast | None = None


@dataclass(frozen=True)
class Signal:
    """A statement about an mbarrier, by CuTe's word for it: `initialize_barrier` (of all of them), `wait_barrier` ...

    barriers  the tensor of mbarriers, and `at` the number of this one
    number    the arrivals that a phase waits for, the bytes that are to come, or the phase's parity
    mask      the blocks of the cluster whose mbarriers they are; None for this one alone
    """

    line: Line
    word: str
    barriers: Tensor
    at: Leaf
    number: Leaf
    mask: Multicast | None = None


@dataclass(frozen=True)
class Reserve:
    """A statement about tensor memory, by CuTe's word for it: `allocate`, `free` ...; `tmem` begins to use it.

    allocation   the columns; None of release_allocation_lock
    sms          the SMs that they are for, 1 or 2
    """

    line: Line
    word: str
    allocation: Allocation | None
    sms: int = 1


class Counter(NamedTuple):
    """An integer that a loop counts beside its step k: (first + k) % count.

    of   another one: then it is 0 or 1, `first` in the first step, and changes where that begins anew
    """

    symbol: SymInt
    first: int
    period: int
    of: SymInt | None = None


@dataclass(frozen=True)
class Loop:
    """`for k in loop(n)`: the body for each k from 0 to n - 1.

    counters   what the loop counts beside its step
    """

    line: Line
    step: SymInt
    count: IntLike
    body: tuple[Statement, ...]
    counters: tuple[Counter, ...] = ()


@dataclass(frozen=True)
class Either:
    """`when(condition)`: statements where all comparisons c < n hold, and others; none depends on the thread."""

    line: Line
    asked: tuple[tuple[Any, Any], ...]
    inside: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


_OfElements = Copy | Fill | Axpby | Transform | Shuffle | Atomic | Product | Load | Read
Statement = _OfElements | Barrier | Order | Signal | Reserve | Loop | Either


@dataclass(frozen=True)
class Program:
    """A kernel's statements, and what they are over. `Kernel.program` makes one.

    name         the kernel's name
    arguments    a tensor, a Scalar or a size for each parameter, by its name
    grid         the number of blocks along each mode
    threads      the number of threads of a block
    blocks       the symbol of the block along each mode of the grid
    thread       the symbol of the thread
    shared       the tensors in shared memory
    tmem         the columns of tensor memory that it allocates
    body         its statements
    conditions   what it rests on: conditions about sizes that could not be proved
    registers    the most that CUDA's compiler may give a thread; None for as many as there are
    cluster      the blocks of a cluster along each mode; none without clusters

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import clear, kernel, local_partition, tensor, thread
    >>> @kernel(threads=4)
    ... def zeros(a):
    ...     clear(local_partition(a, parse("_4:_1"), thread()))
    >>> program = zeros.program(tensor(np.float32, parse("_8:_1")))
    >>> [type(s).__name__ for s in program.statements()], program.threads, program.thread
    (['Fill'], 4, index('tid', below=4))
    >>> print(program)  # doctest: +ELLIPSIS
    zeros: 1 blocks of 4 threads
    fill a at tid: (_2):(_4)  <doctest ...>:3

    It prints as its statements, in loops indented, with where each tensor starts and its layout. Source: ours.
    """

    name: str
    arguments: dict[str, Any]
    grid: tuple[Any, ...]
    threads: int
    blocks: tuple[Any, ...]
    thread: SymInt
    shared: tuple[Tensor, ...]
    tmem: tuple[Allocation, ...]
    body: tuple[Statement, ...]
    conditions: tuple[Condition, ...]
    registers: int | None = None
    cluster: tuple[int, ...] = ()

    def __str__(self) -> str:
        grid = " by ".join(map(str, self.grid))
        together = f", in clusters of {' by '.join(map(str, self.cluster))}" if self.cluster else ""
        first = f"{self.name}: {grid} blocks of {self.threads} threads{together}"
        return "\n".join([first, *_lines(self.body, self.namer())])

    def statements(self) -> Iterator[Statement]:
        """Its statements, those in loops behind their loop."""
        return statements_of(self.body)

    def namer(self) -> Callable[[Tensor], str]:
        """A function that names tensors by their buffers: arguments, `shared0` ..., `tmem0` ..., `registers0` ..."""
        held = {id(x.data): f"shared{k}" for k, x in enumerate(self.shared)}  # by their place in Python's memory
        held |= {id(x.data): f"tmem{k}" for k, x in enumerate(self.tmem)}
        before = len(held)

        def named(t: Tensor) -> str:
            return self.argument_of(t) or held.setdefault(id(t.data), f"registers{len(held) - before}")

        return named

    def allocation_of(self, t: Tensor) -> int | None:
        """The number of the allocation that a tensor in tensor memory is a part of; None of other memory."""
        return next((k for k, x in enumerate(self.tmem) if x.data is not None and x.data is t.data), None)

    @functools.cached_property
    def reads(self) -> dict[str, Read]:
        """The integers that elements of arguments are, by the names of their symbols."""
        return {str(s.symbol): s for s in self.statements() if isinstance(s, Read)}

    def argument_of(self, t: Tensor) -> str | None:
        """The name of the argument that a tensor is a part of; None of shared memory and registers."""
        return next((name for name, x in self.arguments.items() if isinstance(x, Tensor) and x.data is t.data), None)


def statements_of(body: Sequence[Statement]) -> Iterator[Statement]:
    """The statements of a body, those in loops and conditions behind these."""
    for s in body:
        yield s
        for inside in bodies_of(s):
            yield from statements_of(inside)


def bodies_of(s: Statement) -> tuple[Sequence[Statement], ...]:
    """The bodies of a loop or a condition; none of another statement."""
    return (s.body,) if isinstance(s, Loop) else (s.inside, s.otherwise) if isinstance(s, Either) else ()


def _lines(body: Sequence[Statement], name_of: Callable[[Tensor], str], indent: str = "") -> Iterator[str]:
    """The lines of a program that is printed."""

    def named(access: Access) -> str:
        t = access.tensor
        return f"{name_of(t)}{'' if is_constant(0, t.offset) else f' at {t.offset}'}: {t.layout}"

    for s in body:
        if isinstance(s, Loop):
            yield f"{indent}for {s.step} in loop({s.count}):  {s.line}"
            yield from _lines(s.body, name_of, f"{indent}    ")
        elif isinstance(s, Either):
            yield f"{indent}if {' and '.join(f'{c} < {n}' for c, n in s.asked)}:"
            yield from _lines(s.inside, name_of, f"{indent}    ")
            if s.otherwise:
                yield f"{indent}else:"
                yield from _lines(s.otherwise, name_of, f"{indent}    ")
        else:
            sides = [[named(x) for verb, x in accesses(s) if verb == wanted] for wanted in ("writes", "reads")]
            what = " = ".join(", ".join(side) for side in sides if side)
            yield f"{indent}{word_of(s)}{' ' * bool(what)}{what}{_more(s, name_of)}  {s.line}"


def _more(s: Statement, name_of: Callable[[Tensor], str]) -> str:
    """The rest of a statement's line, behind its accesses."""
    if isinstance(s, Copy) and s.where:
        return f" where {s.where.bounds}"
    if isinstance(s, Transform):
        return f" by {s.value}"
    if isinstance(s, Read):
        return f" as {s.symbol} < {s.below}{', distinct' * s.distinct}"
    if isinstance(s, Product) and s.accumulates is not True:
        where = " and ".join(f"{c} < {n}" for c, n in s.accumulates or ())
        return f" adding where {where}" if where else " without adding"
    if isinstance(s, Reserve) and s.allocation is not None:
        return f" {s.allocation.columns} columns"
    if isinstance(s, (Load, Signal)) and s.barriers is not None:
        blocks = "" if s.mask is None else f", of blocks {s.mask}"
        number = f", {s.number}" if isinstance(s, Signal) else ""
        return f"{' for' * isinstance(s, Load)} {name_of(s.barriers)}[{s.at}]{number}{blocks}"
    return ""


def word_of(s: Statement) -> str:
    """The word that a statement prints as: `copy`, `product`, `cp_async_wait`."""
    if isinstance(s, Barrier) and s.of_cluster:
        return "cluster_sync"
    if isinstance(s, (Atomic, Read)):
        return "atomic_add" if isinstance(s, Atomic) else "read_index"
    return s.word if isinstance(s, (Order, Signal, Reserve)) else type(s).__name__.lower()


def accesses(s: Statement) -> Iterator[tuple[str, Access]]:
    """The accesses of a statement, what it reads first: ("reads" or "writes", access)."""
    if isinstance(s, Read):
        yield "reads", s.source
    elif isinstance(s, (Copy, Load, Shuffle, Atomic)):
        yield from (("reads", s.source), ("writes", s.target))
    elif isinstance(s, Fill):
        yield "writes", s.target
    elif isinstance(s, Axpby):
        yield from (("reads", s.x), ("reads", s.y), ("writes", s.y))
    elif isinstance(s, Transform):
        yield from (("reads", x) for x in s.operands[:-1])
        yield "writes", s.target
    elif isinstance(s, Product):
        yield from (("reads", x) for name, x in s.operands.items() if name != "D")
        yield "writes", s.operands["D"]
