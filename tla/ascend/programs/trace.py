"""The events of a program: its statements one by one, with all numbers known, and what each touches.

Source: ours; the pipes are those of AscendC ("core-internal synchronisation", table 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.cache import known_memo
from ...core.errors import LeafTypeError, RangeError
from ...core.ints import IntLike
from ...symbolic.evaluate import value
from ...symbolic.symint import SymInt
from ..transfers.instruction import TransferInstruction
from ..transfers.steps import Loop, When
from ..vectors.instruction import VectorInstruction
from .statements import (
    Assign,
    Buffer,
    Compute,
    Fill,
    Move,
    Multiply,
    Part,
    PipeBarrier,
    Program,
    SetAtomic,
    SetFlag,
    WaitFlag,
    condition_holds,
)

#: The pipes of a core.
PIPES = ("S", "MTE1", "MTE2", "MTE3", "M", "FIX", "V")
#: The two vector cores beside a core for matrices, each with its memory; and their pipes, each with that.
VECTOR_CORES = {"AIV0": "UB0", "AIV1": "UB1"}
VECTOR_PIPES = {f"{core}.{pipe}": place for core, place in VECTOR_CORES.items() for pipe in ("MTE2", "V", "MTE3")}

#: The pipe of an instruction that moves, by where it moves from and to.
_PIPE_OF = {
    **{("GM", place): "MTE2" for place in ("L1", "UB", "L0A", "L0B")},
    **{("L1", place): "MTE1" for place in ("L0A", "L0B", "L0AMx", "L0BMx", "Bias")},
    ("L1", "FixBuf"): "FIX",
    **{("L0C", place): "FIX" for place in ("GM", "UB", "L1")},
    **{("UB", place): "MTE3" for place in ("GM", "L1")},
    ("L1", "GM"): "MTE3",
    ("UB", "UB"): "V",
    ("L0C", "UB0"): "FIX",
    **{("GM", place): f"{core}.MTE2" for core, place in VECTOR_CORES.items()},
    **{(place, "GM"): f"{core}.MTE3" for core, place in VECTOR_CORES.items()},
}

#: More events than are gone through.
MOST_EVENTS = 10**6


@dataclass(frozen=True)
class Event:
    """A statement with all its numbers, in the order of issue.

    index   its number;  pipe   the pipe that it is issued to, "ALL" of a barrier for all;  statement   the statement
    adds    whether what it writes to global memory is added to what is there; part the part that it belongs
            to, for people

    Source: ours.
    """

    index: int
    pipe: str
    statement: Any
    adds: bool
    part: str


def pipe_of(src: str, dst: str) -> str:
    """The pipe of a move between two positions; LeafTypeError where no instruction moves so."""
    found = _PIPE_OF.get((src, dst))
    if found is None:
        ways = ", ".join(f"{a} to {b}" for a, b in _PIPE_OF)
        raise LeafTypeError(f"a move from {src} to {dst}", ways, "move over a position between")
    return found


def events(program: Program, values: Mapping[str, int] = {}) -> Iterator[Event]:
    """The events of a program whose sizes have values.

    >>> from tla.ascend import AtlasA2
    >>> from tla.ascend.programs import PipeBarrier, Program, SetFlag
    >>> from tla.ascend.programs.trace import events
    >>> for e in events(Program(AtlasA2, {}, (SetFlag("MTE2_MTE1", 0), PipeBarrier("M")))): print(e.pipe, e.statement)
    MTE2 SetFlag(event='MTE2_MTE1', id=0)
    M PipeBarrier(pipe='M')

    Raises RangeError for more than a million events.
    """
    return of_body(program, program.body, {**values})


def require_events(count: int) -> None:
    """RangeError for more events than are gone through."""
    if count > MOST_EVENTS:
        what = f"a program of more than {MOST_EVENTS} events"
        raise RangeError(what, f"at most {MOST_EVENTS}", "check a smaller problem")


def of_body(program: Program, body: Iterable[Any], values: dict[str, int]) -> Iterator[Event]:
    """The events of statements of a program; values: of all names, which those that are assigned change."""
    adds = False
    for index, (statement, part) in enumerate(_flat(body, values, "")):
        require_events(index + 1)
        if isinstance(statement, SetAtomic):
            adds = statement.adds
        yield Event(index, pipe_of_statement(statement, program.buffers), statement, adds, part)


def _flat(body: Iterable[Any], values: dict[str, int], part: str) -> Iterator[tuple[Any, str]]:
    """The statements of a body with known numbers, loops one turn after another; and the part that each belongs to.

    values   of all names; what is assigned changes them
    """
    for statement in body:
        if isinstance(statement, Loop):
            name = str(statement.variable)
            before = {name: values[name]} if name in values else {}
            for i in range(number(statement.turns, values)):
                values[name] = i
                yield from _flat(statement.body, values, part)
            values.update(before)
        elif isinstance(statement, Assign):
            values[str(statement.variable)] = number(statement.value, values)
        elif isinstance(statement, When):
            holds = condition_holds(statement.condition, values)
            yield from _flat(statement.body if holds else statement.otherwise, values, part)
        elif isinstance(statement, Part):
            yield from _flat(statement.body, values, statement.what)
        else:
            yield _known(statement, values), part


def number(n: IntLike, values: Mapping[str, int]) -> int:
    """An integer of any kind as a plain one, where all names have values."""
    return value(n.poly, values) if isinstance(n, SymInt) else int(n)


def _known(statement: Any, values: Mapping[str, int]) -> Any:
    """A statement with its numbers known."""
    if not values:  # of a program of numbers there is nothing to find out
        return statement
    if isinstance(statement, Move):
        return statement._replace(instruction=_known_transfer(statement.instruction, values))
    if isinstance(statement, Multiply):
        i = statement.instruction
        fields = {name: number(n, values) for name, n in i.parameters.items()}
        bias = None if i.bias is None else number(i.bias, values)
        dst, a, b = (number(n, values) for n in (i.dst, i.a, i.b))
        return statement._replace(instruction=replace(i, dst=dst, a=a, b=b, bias=bias, parameters=fields))
    if isinstance(statement, Fill):
        fields = {name: number(n, values) for name, n in statement.parameters.items()}
        return statement._replace(at=number(statement.at, values), parameters=fields)
    if isinstance(statement, Compute):
        return statement._replace(instructions=tuple(_known_vector(i, values) for i in statement.instructions))
    if isinstance(statement, (SetFlag, WaitFlag)):
        return statement._replace(id=number(statement.id, values))
    return statement


def _known_transfer(i: TransferInstruction, values: Mapping[str, int]) -> TransferInstruction:
    fields = {name: number(n, values) for name, n in i.parameters.items()}
    return replace(i, dst=number(i.dst, values), src=number(i.src, values), parameters=fields)


def _known_vector(i: VectorInstruction, values: Mapping[str, int]) -> VectorInstruction:
    fields = {name: number(n, values) for name, n in i.parameters.items()}
    return replace(i, places=tuple(number(n, values) for n in i.places), parameters=fields)


def pipe_of_statement(statement: Any, buffers: Mapping[str, Buffer]) -> str:
    """The pipe that a statement is issued to: ALL of a barrier for all, S of one that no pipe has."""
    if isinstance(statement, Move):
        return pipe_of(buffers[statement.src].position, buffers[statement.dst].position)
    if isinstance(statement, Multiply):
        return "M"
    if isinstance(statement, Compute):
        place = buffers[statement.operands[0]].position
        return next((f"{core}.V" for core, x in VECTOR_CORES.items() if x == place), "V")
    if isinstance(statement, Fill):
        return pipe_of("GM" if buffers[statement.dst].position == "L1" else "L1", buffers[statement.dst].position)
    if isinstance(statement, (SetFlag, WaitFlag)):
        first, second = ends_of(statement.event)
        return first if isinstance(statement, SetFlag) else second
    return statement.pipe if isinstance(statement, PipeBarrier) else "S"


def kind_of(pipe: str) -> str:
    """The kind of a pipe: MTE2, V or MTE3 of one that a vector core beside has."""
    return pipe.rpartition(".")[2]


@known_memo
def between_cores(event: str) -> bool:
    """Whether an event is between a core for matrices and a vector core."""
    first, _, second = event.partition("_")
    return first.startswith("AIV") is not second.startswith("AIV")


@known_memo
def ends_of(event: str) -> tuple[str, str]:
    """The pipe that an event waits for, and the one that waits; LeafTypeError for what is none."""
    first, _, second = event.partition("_")
    if any(pipe not in PIPES and pipe not in VECTOR_PIPES for pipe in (first, second)):
        raise LeafTypeError(f"the event {event}", "two pipes, as in MTE2_MTE1", f"use {', '.join(PIPES)}")
    return first, second
