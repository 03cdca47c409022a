"""The order of a program of any sizes, proved for all numbers of blocks and of tiles of k.

A state says of every buffer which pipe has read and written it, and which pipes and which flags that are up know that
this is done. A statement makes one state of another, whatever numbers are in it: so a block with one tile more is one
more turn, and where a turn leads to a state that was there before, so do all that follow. There are few states;
all are gone through.

Stages are told by names that count around. A statement that names stage `s` of a buffer, and its flag, does so by such
a name alone: so if all stages of one are turned by as many, each statement does the same to the turned state. States
that are turned into one another are one, that in which all names are 0.

A flag is set and waited for in turn, in the order of issue, so each wait is for the last set before it. What a pipe
knows of an access is forgotten when the access is made again: so nothing is taken for known that is not.

The memory of each vector core behind a product is proved by itself, as that of the core is, so their states do not
multiply: with the pipes that touch it, and what the flags between these make known. What comes to be known by others on the
way is left out, so nothing is taken for known that is not. Flags between pipes that no memory on chip joins are proved by
themselves, with the tensors in global memory that they are for.

It is taken for granted, and proved elsewhere, that a statement touches nothing but the stages of buffers that it names.

Source: ours; the flags are those of AscendC's SetFlag and WaitFlag.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.errors import RangeError
from ...core.int_tuple import modes_of
from ...core.ints import known
from ...symbolic.conditions import Condition
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.symint import SymInt, of_symbol, wrap
from ..transfers.steps import Loop, When, value_at
from .order_state import START, Access, Doer, Known, Order, State, same_places
from .results import Finding
from .statements import (
    Assign,
    Buffer,
    Compute,
    Move,
    Multiply,
    Part,
    Program,
    SetFlag,
    WaitFlag,
    chosen,
    used,
    walk,
    with_bodies,
)
from .trace import VECTOR_CORES, Event, ends_of, number, of_body, pipe_of_statement


class Proof(NamedTuple):
    """The findings of a proof, and how many states and turns were gone through."""

    findings: tuple[Finding, ...]
    states: int
    blocks: int


#: The names that say which block it is and how large: no statement but for barriers depends on them.
OF_BLOCK = (
    *("task", "slice", "number", "strip", "inside", "width", "blockM", "blockN", "tileM", "tileN", "rowsM"),
    *("ubTiles0", "ubTiles1"),
)


class Tiles(NamedTuple):
    """The numbers of tiles, of k or of a vector core, that a block may have.

    fewest, most   of them, `most` MANY where there is no end
    period         whether a number of tiles is possible depends on it modulo this many
    depths         for a number of tiles, the values of names to go through: the sizes of the problem, of k one for every
                   number of parts of the last; the number of tiles of a vector core
    """

    fewest: int
    most: int
    period: int
    depths: Callable[[int], Sequence[Mapping[str, int]]]


#: The most states that are gone through.
MOST_STATES = 1000
#: The turns of a loop over tiles that are taken one by one.
_FEW_TURNS = 8
#: More tiles of k than make new states.
MANY = 1 << 12


#: Of a loop without one inside of it.
ONE_TILE = Tiles(1, 1, 1, lambda _tiles: [{}])


def prove_order(program: Program, kinds: Sequence[Mapping[str, int]] = ({},), tiles: Mapping[str, Tiles] = {}) -> Proof:
    """Prove the order of a program in every state at the beginning of a turn of its loops, for any number of turns, and
    of turns of a loop over tiles in it; up to the first side of it in which something is wrong.

    kinds   sizes of a block (the values of OF_BLOCK) whose statements differ: with and without barriers
    tiles   the numbers of tiles, by the variable of the loop over them
    """
    states, blocks = 0, 0
    for side in _apart(program):
        proof = _proved(side, kinds, tiles)
        states, blocks = states + proof.states, blocks + proof.blocks
        if proof.findings:
            return Proof(tuple({f.what: f for f in proof.findings}.values()), states, blocks)
    return Proof((), states, blocks)


class _Side(NamedTuple):
    """The statements of a program that are proved by themselves, and the buffers whose accesses count."""

    program: Program
    noted: frozenset[str]


def _apart(program: Program) -> Iterator[_Side]:
    """The sides of a program, those of fewest states first: the memory of each vector core behind a product, and all other
    memory on chip, each with the pipes that touch it and the flags between these; and where there are several, the flags of
    none, with the tensors that one pipe writes and another reads."""
    buffers = program.buffers
    memories = {b.position for b in buffers.values()} - {"GM"}
    beside = memories.intersection(VECTOR_CORES.values())
    if not beside:
        yield _Side(program, frozenset(n for n, b in buffers.items() if b.position != "GM"))
        return
    moved = [s for s in walk(program.body) if isinstance(s, (Move, Multiply, Compute))]
    touched = [(pipe_of_statement(s, buffers), _memories(s, buffers)) for s in moved]
    every = [*({place} for place in sorted(beside)), memories - beside]
    sides = [{pipe for pipe, places in touched if places & side} for side in every]
    moves = [s for s in moved if isinstance(s, Move)]
    both = {s.dst for s in moves} & {s.src for s in moves if buffers[s.src].position == "GM"}

    def between(s: Any) -> bool:
        if isinstance(s, (SetFlag, WaitFlag)):
            return not any(_is_of(pipes, buffers, s) for pipes in sides)
        return isinstance(s, Move) and not both.isdisjoint((s.dst, s.src))

    yield _Side(_of(program, between), frozenset(both))
    for places, pipes in zip(every, sides):
        noted = frozenset(n for n, b in buffers.items() if b.position in places)
        yield _Side(_of(program, functools.partial(_is_of, pipes, buffers)), noted)


def _memories(s: Move | Multiply | Compute, buffers: Mapping[str, Buffer]) -> set[str]:
    """The memories that an instruction touches: of both vector cores, where each is given half."""
    both = VECTOR_CORES.values() if isinstance(s, Move) and s.instruction.parameters.get("dualDstCtl") else ()
    return {*both, *(buffers[name].position for name, _ in _places(s))}


def _is_of(pipes: Collection[str], buffers: Mapping[str, Buffer], s: Any) -> bool:
    """Whether a statement is of these pipes, a flag of two of them; and a barrier for all."""
    ends = ends_of(s.event) if isinstance(s, (SetFlag, WaitFlag)) else (pipe_of_statement(s, buffers),)
    return {*pipes, "ALL"}.issuperset(ends)


def _of(program: Program, kept: Callable[[Any], bool]) -> Program:
    return replace(program, body=chosen(program.body, kept))


def _proved(side: _Side, kinds: Sequence[Mapping[str, int]], tiles: Mapping[str, Tiles]) -> Proof:
    """The proof of one side of a program."""
    findings, states, blocks, begins = list[Finding](), 0, 0, {_BEGIN}
    walk_ = _Walk(side, tiles)
    for at, s in enumerate(walk_.body):
        if not isinstance(s, Loop):
            done = [walk_.straight(state, s) for state in begins]
            findings, begins = [*findings, *(f for wrong, _ in done for f in wrong)], {end for _, end in done}
            continue
        begins = {walk_.rings.turned(*state) for state in begins}
        todo = [*begins]
        while todo and not findings:
            if len(begins) > MOST_STATES:
                what = f"{len(begins)} states of flags and stages"
                raise RangeError(what, f"at most {MOST_STATES}", "take fewer stages")
            state = todo.pop()
            for wrong, end in walk_.turns(state, at, kinds):
                blocks, findings = blocks + 1, findings + wrong
                todo += [end] if end not in begins else []
                begins.add(end)
        states += len(begins)
    findings += [f for state in begins for f in walk_.order(state).unwaited] if not findings else []
    return Proof((*findings,), states, blocks)


#: The state of flags and buffers, and the stages that are in use.
_At = tuple[State, tuple[tuple[str, int], ...]]
_BEGIN: _At = (START, ())


class Rings(NamedTuple):
    """The stages that are counted around by a name: how many, the buffers that have them, and the first of their flags.

    counts   name -> stages;  buffers  buffer -> name;  flags  (event, first id) -> name
    """

    counts: Mapping[str, int]
    buffers: Mapping[str, str]
    flags: Mapping[tuple[str, int], str]

    @classmethod
    def of(cls, body: Sequence[Any], every_buffer: Mapping[str, Buffer]) -> Rings:
        """The rings of statements; none where one of them does not name a stage by its name alone."""
        statements, nothing = [*walk(body)], cls({}, {}, {})
        counts = {
            str(s.variable): next((n for n in range(1, 9) if number(s.value, {str(s.variable): n - 1}) == 0), 0)
            for s in statements
            if isinstance(s, Assign) and str(s.variable) in _stages_in(s.value)
        }
        if 0 in counts.values():  # one that never comes back to its first stage
            return nothing
        ids = [(s.event, s.id) for s in statements if isinstance(s, (SetFlag, WaitFlag))]
        places = [place for s in statements if isinstance(s, (Move, Multiply, Compute)) for place in _places(s)]
        flags = {(event, number(n, {found: 0, "fillStage": 0})): found for event, n in ids for found in _stages_in(n)}
        buffers = {buffer: found for buffer, at in places for found in _stages_in(at)}
        found = cls(counts, buffers, flags)
        branches = (s for s in statements if isinstance(s, (When, Loop)))
        if any(_stages_in(s.condition if isinstance(s, When) else s.turns) for s in branches):
            return nothing
        held = all(found.has_flag(*x) for x in ids) and all(found.has_place(every_buffer[b], at) for b, at in places)
        return found if held else nothing

    def has_flag(self, event: str, n: Any) -> bool:
        """Whether an id goes around with a name, from a first id on; or belongs to no ring."""
        if not (names := _stages_in(n)):
            return self.first(event, int(n)) is None
        (name,) = names
        first = number(n, {name: 0, "fillStage": 0})
        return all(number(n, {name: i, "fillStage": i}) == first + i for i in range(self.counts.get(name, 1)))

    def has_place(self, buffer: Buffer, at: Any) -> bool:
        """Whether a place goes around with a name, by steps of one stage; or lies in a buffer without stages."""
        if not (names := _stages_in(at)):
            return buffer.name not in self.buffers
        (name,) = names
        first, *others = (value_at(at, {name: i, "fillStage": i}) for i in range(self.counts.get(name, 1)))
        step = int(modes_of(buffer.layout.stride)[2])
        return all(known(other - first) == i * step for i, other in enumerate(others, 1))

    def first(self, event: str, n: int) -> int | None:
        """The first id of the ring that an id belongs to."""
        return next((i for (e, i), x in self.flags.items() if e == event and i <= n < i + self.counts.get(x, 0)), None)

    def turned(self, state: State, stages: Iterable[tuple[str, int]]) -> _At:
        """The state in which the names are 0 that is turned into one in which they have these values."""
        at = dict(stages)

        def stage(found: str | None, n: int) -> int:
            return n if found is None or found not in self.counts else (n - at[found]) % self.counts[found]

        def flag(event: str, n: int) -> int:
            first = self.first(event, n)
            return n if first is None else first + stage(self.flags[event, first], n - first)

        def turned(a: Access) -> Access:  # of a buffer, or of a flag
            name = self.buffers.get(a.buffer)
            return a._replace(stage=flag(a.buffer, a.stage) if name is None else stage(name, a.stage))

        moved = {a: turned(a) for a in {*state.made, *state.handed}}  # of what was made alone something is known

        def accesses(xs: Known) -> Known:
            return frozenset(moved[a] for a in xs)

        flags = tuple(sorted((((e, flag(e, i)), accesses(xs)) for (e, i), xs in state.flags), key=lambda x: x[0]))
        counts = tuple(sorted(((e, flag(e, i)), up) for (e, i), up in state.counts))
        pipes = tuple(map(accesses, state.pipes))
        found = State(accesses(state.made), pipes, flags, accesses(state.handed), counts)
        return found, tuple((n, 0 if n in self.counts else x) for n, x in at.items())


def _places(s: Move | Multiply | Compute) -> list[tuple[str, Any]]:
    """The buffers of an instruction, with the places where it begins in them."""
    if isinstance(s, Compute):
        return [*zip(s.operands, s.instruction.places)]
    if isinstance(s, Move):
        return [(s.dst, s.instruction.dst), (s.src, s.instruction.src)]
    return [(s.dst, s.instruction.dst), (s.a, s.instruction.a), (s.b, s.instruction.b)]


def _stages_in(n: Any) -> set[str]:
    """The names of stages in an expression or a condition; of the stage that is filled next, that of L1."""
    sides = (wrap(n.a), wrap(n.b)) if isinstance(n, Condition) else (n,)
    found = {str(s) for x in sides if isinstance(x, SymInt) for s in x.symbols}
    return {"l1Stage" if s == "fillStage" else s for s in found if s.endswith("Stage")}


class _Walk:
    """The statements of a side: its loops over blocks or tiles, and what stands between them."""

    def __init__(self, side: _Side, tiles: Mapping[str, Tiles]) -> None:
        """tiles: the numbers of tiles, by the variable of the loop over them."""
        program, self._noted = side
        body = _sketch(program.body, self._noted - {n for n, b in program.buffers.items() if b.position == "GM"})
        self.body = used(
            s._replace(turns=1) if isinstance(s, Loop) else s for s in body
        )  # of these any number is taken
        self.program, self._tiles = replace(program, body=self.body), tiles
        loops = [s for s in self.body if isinstance(s, Loop)]
        # behind a loop states that are turned into one another are no longer one: there stages begin at 0
        self.rings = Rings.of(loops[0].body, program.buffers) if len(loops) == 1 else Rings({}, {}, {})
        self._last: dict[Doer, Event] = {}
        self._same = same_places(program.buffers)

    def order(self, at: _At) -> Order:
        """A state, to be changed."""
        return Order(self.program, at[0], self._last, self._same, self._noted)

    def _values(self, at: int, sizes: Mapping[str, int], stages: Iterable[tuple[str, int]]) -> dict[str, int]:
        """The values of names at the beginning of the first turn of the loop that is statement `at`, of one core."""
        values = {"core": 0, "cores": 1, **sizes, str(self.body[at].variable): 0}
        for s in self.body[:at]:
            if isinstance(s, Assign):
                values[str(s.variable)] = number(s.value, values)
        return {**values, **dict(stages)}

    def _at(self, order: Order, values: Mapping[str, int]) -> _At:
        stages = ((n, x) for n, x in values.items() if n.endswith("Stage") and n != "fillStage")
        return self.rings.turned(order.state, stages)

    def straight(self, at: _At, s: Any) -> tuple[list[Finding], _At]:
        """Take a statement outside of loops: what is wrong there, and the state behind it."""
        if isinstance(s, Assign):
            stage = str(s.variable), s.value
            return [], (at[0], (*at[1], stage)) if stage[0].endswith("Stage") else at
        order = self.order(at)
        order.take(of_body(self.program, [s], {}))
        return order.findings, (order.state, at[1])

    def turns(self, state: _At, at: int, kinds: Sequence[Mapping[str, int]]) -> Iterator[tuple[list[Finding], _At]]:
        """Take every turn of the loop that is statement `at`, from a state on: what is wrong there, and the state behind
        it."""
        body = self.body[at].body
        inner = next((str(s.variable) for s in body if isinstance(s, Loop)), "")
        tiles = self._tiles.get(inner, ONE_TILE)
        for sizes in kinds:
            most = next(t for t in range(tiles.most, 0, -1) if tiles.depths(t))
            values = self._values(at, {**sizes, **tiles.depths(most)[-1]}, state[1])
            last = min(tiles.most, tiles.fewest + self._through(self.order(state), values, body) * tiles.period)
            for depth in (d for count in range(tiles.fewest, last + 1) for d in tiles.depths(count)):
                order, values = self.order(state), self._values(at, {**sizes, **depth}, state[1])
                self._through(order, values, body)
                yield order.findings, self._at(order, values)

    def _through(self, order: Order, values: dict[str, int], body: Sequence[Any]) -> int:
        """Take the statements of a block: the number of turns of its loop over tiles after which states repeat; 0 where there
        is none.

        All turns but the first and the last are the same statements. So once one begins in the state in which an
        earlier one did, what follows repeats: whole rounds of it are left out, and the last turn of a block of more tiles
        begins where the last of one of fewer does.
        """
        at = next((i for i, s in enumerate(body) if isinstance(s, Loop)), None)
        order.take(of_body(self.program, body[:at], values))
        if at is None:
            return 0
        inner, met, turn = body[at], dict[_At, int](), 0
        repeats = count = number(inner.turns, values)
        while turn < count:
            if count > _FEW_TURNS and repeats == count and 0 < turn < count - 1:
                here = self._at(order, values)
                if here in met:
                    repeats, round_ = turn + 1, turn - met[here]
                    turn += (count - 2 - turn) // round_ * round_
                met[here] = turn
            values[str(inner.variable)] = turn
            order.take(of_body(self.program, inner.body, values))
            turn += 1
        order.take(of_body(self.program, body[at + 1 :], values))
        return repeats


def _sketch(body: Iterable[Any], staged: Collection[str]) -> Iterator[Any]:
    """Statements with one move for each transfer, by its stages: its other numbers do not matter here.

    staged   the buffers whose stages count
    """
    for s in body:
        if isinstance(s, Part):
            done = (_sketch_of(x, staged) for x in [*walk(s.body)] if isinstance(x, (Move, Compute)))
            yield s._replace(body=tuple(done)[:1])
        elif isinstance(s, (Loop, When)):
            yield with_bodies(s, lambda body: _sketch(body, staged))
        elif not (isinstance(s, Assign) and str(s.variable) in OF_BLOCK):
            yield s


def _sketch_of(s: Move | Compute, staged: Collection[str]) -> Move | Compute:
    """An instruction of a part without its fields, at the beginning of the stages that it names."""
    if isinstance(s, Compute):
        places = tuple(map(_begin_of_stage, s.instruction.places))
        return s._replace(instructions=(replace(s.instruction, places=places, parameters={}),))
    i = s.instruction
    dst, src = (_begin_of_stage(n) if name in staged else 0 for name, n in ((s.dst, i.dst), (s.src, i.src)))
    kept = {name: n for name, n in i.parameters.items() if name in ("unitFlag", "dualDstCtl")}
    kept |= {"index": _begin_of_stage(i.parameters["index"])} if "index" in i.parameters else {}
    return s._replace(instruction=replace(i, dst=dst, src=src, parameters=kept))


def _begin_of_stage(n: Any) -> Any:
    """The beginning of the stage that a place is in, which is named: a multiple of its number."""
    stages = (s for s in (symbols_in(n.poly) if isinstance(n, SymInt) else ()) if s.name.endswith("Stage"))
    return sum(wrap(split(n.poly, s)[0]) * of_symbol(s) for s in stages)
