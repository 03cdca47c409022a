"""Statements of a program for one core, as plain data: instructions on named buffers, flags between pipes,
loops and conditions.

Numbers in them are integers, or expressions of sizes and of the variables of loops. `origins.py` and `values.py` say
what a statement does, `queues.py` when it may begin.

Source: AscendC's SetFlag, WaitFlag, PipeBarrier and SetAtomicAdd; the memory model of CATLASS's Arch::Resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...algebra.codomain import cosize
from ...core.element import Element
from ...core.layout import Layout
from ...symbolic.conditions import QUESTIONS, Condition
from ...symbolic.evaluate import value
from ...symbolic.symint import SymInt, wrap
from ..architecture import Architecture
from ..transfers.instruction import TransferInstruction
from ..transfers.steps import Loop, When
from ..vectors.instruction import VectorInstruction
from .mmad import MmadInstruction

__all__ = [
    "Assign",
    "Buffer",
    "Compute",
    "Fill",
    "Move",
    "Multiply",
    "Part",
    "PipeBarrier",
    "Program",
    "SetAtomic",
    "SetFlag",
    "WaitFlag",
]

#: The bits of the scale of a column.
SCALE_BITS = 64
#: The blocks of an InitConstValue, by the memory that it fills [bytes].
FILLED = {"L1": 32, "L0A": 512, "L0B": 512}


@dataclass(frozen=True)
class Buffer:
    """A named part of a memory: where a tile of a program lies, or a tensor in global memory.

    name       how statements call it;  position  GM, L1, L0A ...
    element    the type of its elements;  layout  of what it holds
    address    where it begins [bytes]: in its memory, or in global memory

    >>> from tla import MakeLayout
    >>> from tla.ascend import Buffer, half, zN
    >>> l1A = Buffer("l1A1", "L1", half, MakeLayout[half, zN](128, 256), address=65536)
    >>> l1A.size, l1A.end
    (65536, 131072)

    Source: CATLASS `LocalTensorBuffer::GetBufferByByte`.
    """

    name: str
    position: str
    element: Element
    layout: Layout
    address: int = 0

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return -(-int(cosize(self.layout)) * self.element.bits // 8)

    @property
    def end(self) -> int:
        """The byte behind its last element."""
        return self.address + self.size


#: The tensors of a block in global memory, in the order of their addresses.
_TENSORS = ("A", "B", "C", "bias", "scaleA", "scaleB", "index", "WA", "WB", "scale", "D")


def in_gm(name: str, element: Element, layout: Layout) -> Buffer:
    """A tensor of a block in global memory, at an address of its own, far from the others."""
    return Buffer(name, "GM", element, layout, _TENSORS.index(name) + 1 << 40)


class Move(NamedTuple):
    """An instruction that moves elements from one buffer to another.

    dst, src      the names of the buffers
    instruction   its places are elements behind the beginning of these
    beside        of LoadDataWithSparse the name of the buffer of the index, of Fixpipe that of the columns' scales
    first         where these scales begin in it [words of 64 bits]

    Source: ours.
    """

    dst: str
    src: str
    instruction: TransferInstruction
    beside: str = ""
    first: int = 0


class Multiply(NamedTuple):
    """A Mmad of buffers.

    dst, a, b     the names of the buffers;  bias   that of the biases, or None
    instruction   its places are elements behind the beginning of these

    Source: ours.
    """

    dst: str
    a: str
    b: str
    bias: str | None
    instruction: MmadInstruction


class Fill(NamedTuple):
    """An InitConstValue: zeros into a buffer of L1, L0A or L0B.

    dst          the name of the buffer;  at  where they begin in it [elements];  element  the type of its elements
    parameters   repeatTimes; blockNum and dstGap [32 bytes, in L0A and L0B 512]: how many are written, and how many are
                 left out behind them, in each repeat

    Source: AscendC `InitConstValue`; CATLASS `BlockMmadTla` of MmadMx, `BlockConv` of three axes.
    """

    dst: str
    at: Any
    element: Element
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return f"InitConstValue(dst={self.at}, {', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


class Compute(NamedTuple):
    """A computation of the vector unit: a call, as the instructions that it takes one after another.

    operands       the names of the buffers, that of the result first
    instructions   their places are elements behind the beginning of these

    Source: AscendC's vector computation; CATLASS's epilogues and paddings.
    """

    operands: tuple[str, ...]
    instructions: tuple[VectorInstruction, ...]

    @property
    def instruction(self) -> VectorInstruction:
        """The first of its instructions, which has the name of all."""
        return self.instructions[0]


class SetFlag(NamedTuple):
    """SetFlag<HardEvent::event>(id): the flag is up once all that the first pipe of the event has before it is done.

    event   "MTE2_MTE1": the pipe that is waited for, and the pipe that waits;  id   0 to 7

    Source: AscendC `SetFlag`.
    """

    event: str
    id: Any


class WaitFlag(NamedTuple):
    """WaitFlag<HardEvent::event>(id): the second pipe of the event goes on once the flag is up, and takes it down.

    event   "MTE2_MTE1";  id   0 to 7

    Source: AscendC `WaitFlag`.
    """

    event: str
    id: Any


class PipeBarrier(NamedTuple):
    """PipeBarrier<PIPE_...>(): what follows in the pipe begins when all before it is done; of ALL in every pipe.

    Source: AscendC `PipeBarrier`.
    """

    pipe: str


class SetAtomic(NamedTuple):
    """SetAtomicAdd, or SetAtomicNone: whether what goes to global memory from here on is added to what is there.

    Source: AscendC `SetAtomicAdd`.
    """

    adds: bool


class Assign(NamedTuple):
    """A name has this value from here on, in the order in which statements are issued.

    variable   the symbol that stands for it in other statements;  value  an expression, of the name itself too

    >>> from tla import index
    >>> from tla.ascend import Assign
    >>> stage = index("stage", 2)
    >>> print(Assign(stage, (stage + 1) % 2).value)
    (stage+1)%2

    Source: ours.
    """

    variable: Any
    value: Any


class Part(NamedTuple):
    """Statements that do one thing together: a transfer of a tile, or a product of tiles.

    what   "A to L1": for people;  dst, src   the tiles (Tile) that the statements copy, None where they do not copy
    body   the statements

    Source: ours.
    """

    what: str
    dst: Any
    src: Any
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """The statements of one core, with the buffers that they name.

    arch         the architecture
    buffers      by name
    body         the statements, in the order in which they are issued
    parameters   the sizes that have no value yet, by name

    Source: ours.
    """

    arch: Architecture
    buffers: Mapping[str, Buffer]
    body: tuple[Any, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def children(statement: Any) -> Iterable[Any]:
    """The statements inside of one."""
    if isinstance(statement, When):
        return (*statement.body, *statement.otherwise)
    return statement.body if isinstance(statement, (Loop, Part)) else ()


def walk(body: Iterable[Any]) -> Iterator[Any]:
    """Every statement of a body, with those inside of it."""
    for statement in body:
        yield statement
        yield from walk(children(statement))


def names_in(statement: Any) -> set[str]:
    """The names that a statement itself has, without those inside of it, and without the one that it gives a value to."""
    own = ""
    match statement:
        case Assign():
            own, numbers = str(statement.variable), [statement.value]
        case Loop():
            numbers = [statement.turns]
        case When():
            numbers = [wrap(side) for side in (statement.condition.a, statement.condition.b)]
        case SetFlag() | WaitFlag():
            numbers = [statement.id]
        case Fill():
            numbers = [statement.at, *statement.parameters.values()]
        case Move(instruction=i):
            numbers = [statement.first, i.dst, i.src, *i.parameters.values()]
        case Multiply(instruction=i):
            numbers = [i.dst, i.a, i.b, i.bias, *i.parameters.values()]
        case Compute():
            numbers = [n for i in statement.instructions for n in (*i.places, *i.parameters.values())]
        case _:
            numbers = []
    return set[str]().union(*map(symbols_of, numbers)) - {own}


def symbols_of(n: Any) -> set[str]:
    """The names in a number."""
    return {str(s) for s in n.symbols} if isinstance(n, SymInt) else set()


def with_bodies(s: Loop | When | Part, change: Callable[[tuple[Any, ...]], Iterable[Any]]) -> Loop | When | Part:
    """A statement with others inside, of which `change` makes others."""
    if isinstance(s, When):
        return s._replace(body=tuple(change(s.body)), otherwise=tuple(change(s.otherwise)))
    return s._replace(body=tuple(change(s.body)))


def chosen(body: Iterable[Any], kept: Callable[[Any], bool]) -> tuple[Any, ...]:
    """The statements for which `kept` holds, in their loops, conditions and parts; and what the names in them are."""

    def of(body: Iterable[Any]) -> Iterator[Any]:
        for s in body:
            if isinstance(s, (Loop, When, Part)):
                yield with_bodies(s, of)
            elif isinstance(s, Assign) or kept(s):
                yield s

    return used(of(body))


def used(body: Iterable[Any]) -> tuple[Any, ...]:
    """Statements without those that give a value to a name that no other has, without what is empty then, and without loops
    that do nothing else and count no name on that another has."""
    found = tuple(body)
    while True:
        names = set[str]().union(*map(names_in, walk(found)))
        kept = tuple(_with_names(found, names))
        if kept == found:
            return found
        found = kept


def _with_names(body: Iterable[Any], names: set[str]) -> Iterator[Any]:
    """Statements without those that give a value to another name than these."""
    for s in body:
        if isinstance(s, (Loop, When, Part)):
            inner = with_bodies(s, lambda body: _with_names(body, names))
            if any(_does(x, names, isinstance(s, Loop)) for x in children(inner)):
                yield inner
        elif not isinstance(s, Assign) or str(s.variable) in names:
            yield s


def _does(statement: Any, names: set[str], in_loop: bool) -> bool:
    """Whether a statement does more than give a value to a name; in a loop also whether it counts one of these on."""
    for s in walk([statement]):
        if not isinstance(s, (Assign, Loop, When, Part)):
            return True
        if isinstance(s, Assign) and (not in_loop or str(s.variable) in names & symbols_of(s.value)):
            return True
    return False


def condition_holds(condition: Condition, values: Mapping[str, int]) -> bool:
    """Whether a condition holds where all sizes have values."""
    return QUESTIONS[condition.question][1](value(condition.a, values), value(condition.b, values))
