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

It is taken for granted, and proved elsewhere, that a statement touches nothing but the stages of buffers that it names.

Source: ours; the flags are those of AscendC's SetFlag and WaitFlag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...algebra.codomain import cosize
from ...core.errors import RangeError
from ...core.int_tuple import modes_of
from ...core.ints import known
from ...core.layout import Layout
from ...symbolic.conditions import Condition
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.symint import SymInt, of_symbol, wrap
from ..transfers.steps import Loop, When, value_at
from .check import FEW_FRACTALS
from .memory import Touched
from .queues import unit_flag, wrongly_set
from .results import Finding
from .statements import (
    Assign,
    Buffer,
    Compute,
    Move,
    Multiply,
    Part,
    PipeBarrier,
    Program,
    SetFlag,
    WaitFlag,
    used,
    walk,
)
from .trace import PIPES, VECTOR_PIPES, Event, ends_of, number, of_body


class Access(NamedTuple):
    """The last thing that a pipe did to a stage of a buffer."""

    pipe: str
    buffer: str
    stage: int
    writes: bool


Known = frozenset[Access]
#: A stage of a buffer.
Place = tuple[str, int]
#: The pipe, the buffer, and whether it writes: who does an access, whichever stage it is of.
Doer = tuple[str, str, bool]


class State(NamedTuple):
    """The accesses that were made, those that each pipe and each flag that is up knows to be done, and unit flags."""

    made: Known
    pipes: tuple[Known, ...]
    flags: tuple[tuple[tuple[str, int], Known], ...]
    handed: Known


#: The pipes of a core, and those of its vector cores, for which no barrier waits.
_PIPES = (*PIPES, *VECTOR_PIPES)
START = State(frozenset(), (frozenset(),) * len(_PIPES), (), frozenset())


class Order:
    """A state while statements change it, and what is found to be wrong."""

    def __init__(
        self, program: Program, state: State, last: dict[Doer, Event], same: Mapping[Place, set[Place]]
    ) -> None:
        """last: what did each access last, in this and earlier parts of a program; same: the places that have bytes of
        a place."""
        self._program, self._last, self._same = program, last, same
        self.made, self.handed = set(state.made), set(state.handed)
        self.pipes = {pipe: set(known) for pipe, known in zip(_PIPES, state.pipes)}
        self.flags = {key: set(known) for key, known in state.flags}
        self.findings: list[Finding] = []

    @property
    def state(self) -> State:
        """The state, as a value."""
        pipes = tuple(frozenset(self.pipes[pipe]) for pipe in _PIPES)
        flags = tuple(sorted(((key, frozenset(known)) for key, known in self.flags.items()), key=lambda x: x[0]))
        return State(frozenset(self.made), pipes, flags, frozenset(self.handed))

    def take(self, events: Iterable[Event]) -> None:
        """Take statements, one after another."""
        for event in events:
            s = event.statement
            if isinstance(s, SetFlag):
                self._set(event, s)
            elif isinstance(s, WaitFlag):
                self._wait(event, s)
            elif isinstance(s, PipeBarrier):
                waited = PIPES if s.pipe == "ALL" else (s.pipe,)
                done = set[Access]().union(*(self.pipes[pipe] | self._own(pipe) for pipe in waited))
                for pipe in waited:
                    self.pipes[pipe] |= done
            elif isinstance(s, Multiply):
                read = [("a", s.a, s.instruction.a), ("b", s.b, s.instruction.b)]
                if s.instruction.scaled:
                    read += [("scales", f"{name}Mx", self._beside(name, at)) for _, name, at in read]
                self._touch(event, read, [(s.dst, s.instruction.dst)])
            elif isinstance(s, Compute):
                (dst, *srcs), (to, *places) = s.operands, s.instruction.places
                self._touch(event, [("src", name, at) for name, at in zip(srcs, places)], [(dst, to)])
            elif isinstance(s, Move):
                beside = [("beside", s.beside, s.instruction.parameters.get("index", 0))] if s.beside else []
                both = ["ub1C"] if s.instruction.parameters.get("dualDstCtl") else []
                written = [(name, s.instruction.dst) for name in (s.dst, *both)]
                self._touch(event, [("src", s.src, s.instruction.src), *beside], written)

    @property
    def unwaited(self) -> list[Finding]:
        """The flags that are set at the end."""
        return [Finding("flag", f"SetFlag {event} {id_} is waited for by nothing") for event, id_ in self.flags]

    def _own(self, pipe: str) -> set[Access]:
        return {a for a in self.made if a.pipe == pipe}

    def _wrong(self, kind: str, what: str, event: Event, between: Touched | None = None) -> None:
        if all(f.what != what for f in self.findings):
            self.findings.append(Finding(kind, what, event, between))

    def _set(self, event: Event, s: SetFlag) -> None:
        key, first = (s.event, s.id), ends_of(s.event)[0]
        for _, what in wrongly_set(s, key in self.flags):
            self._wrong("flag", what, event)
        self.flags[key] = self.pipes[first] | self._own(first)

    def _wait(self, event: Event, s: WaitFlag) -> None:
        known = self.flags.pop((s.event, s.id), None)
        if known is None:
            self._wrong("flag", f"WaitFlag {s.event} {s.id}: nothing has set it before", event)
        self.pipes[ends_of(s.event)[1]] |= known or set()

    def _touch(self, event: Event, reads: list[tuple[str, str, int]], written: list[tuple[str, int]]) -> None:
        """Note what an instruction reads and writes on chip: a place of C in global memory is written once."""
        pipe = event.pipe
        places = [(*self._stage(name, at), False) for _, name, at in reads] + [
            (*self._stage(*x), True) for x in written
        ]
        local = [Access(pipe, *p) for p in places if self._program.buffers[p[0]].position != "GM"]
        for access in local:
            if unit_flag(event.statement) and self._program.buffers[access.buffer].position == "L0C":
                self._hand_over(event, access)
            here = (access.buffer, access.stage)
            same = self._same.get(here, {here})
            for other in self.made:
                if (other.buffer, other.stage) in same and (other.writes or access.writes):
                    self._meet(event, other, access.writes)
        for access in local:
            self._last[access.pipe, access.buffer, access.writes] = event
            for done in (*self.pipes.values(), *self.flags.values()):
                done.discard(access)
            self.made.add(access)

    def _stage(self, name: str, at: int) -> tuple[str, int]:
        buffer = self._program.buffers[name]
        apart = 0 if buffer.position == "GM" else self._elements(buffer)
        return name, int(at) // apart if apart else 0

    def _beside(self, name: str, at: int) -> int:
        """The place of the scales of an operand: as many stages on as its own."""
        return self._stage(name, at)[1] * self._elements(self._program.buffers[f"{name}Mx"])

    def _elements(self, buffer: Buffer) -> int:
        """The elements from one stage of a buffer to the next; 0 where it has but one."""
        strides = modes_of(buffer.layout.stride)
        return int(strides[2]) if len(strides) > 2 else 0

    def _meet(self, event: Event, other: Access, writes: bool) -> None:
        """Require that what touched the same stage is known to be done, where its pipe does not keep the order."""
        pipe = event.pipe
        in_order = pipe not in ("M", "MTE2", "MTE3", *VECTOR_PIPES)
        if self._program.buffers[other.buffer].position == "FixBuf" and not writes:
            in_order = False  # Fixpipe reads the scales that its own pipe has brought behind a barrier
        if other in self.pipes[pipe] or (other.pipe == pipe and in_order):
            return
        if other.pipe == pipe == "M" and not self._few(event):
            return
        what = f"{event.part or 'Mmad'} may not wait for what {other.pipe} does to {other.buffer}, stage {other.stage}"
        first, buffer = self._last[other.pipe, other.buffer, other.writes], self._program.buffers[other.buffer]
        byte = buffer.address + other.stage * self._elements(buffer) * buffer.element.bits // 8
        same = other.pipe == pipe
        between = Touched(first, event, buffer.position, byte, same, other.writes, writes)
        self._wrong("pipe" if same else "order", what, event, between)

    def _few(self, event: Event) -> bool:
        p = event.statement.instruction.parameters
        return bool(p["m"] // 16 * (p["n"] // 16) < FEW_FRACTALS)

    def _hand_over(self, event: Event, access: Access) -> None:
        """Mmad and Fixpipe with unit flags wait for each other, for each fractal that both work on."""
        buffer = Access("", access.buffer, access.stage, True)
        if (event.pipe == "FIX") != (buffer in self.handed):
            self._wrong("flag", f"{event.part or 'Mmad'} waits for a unit flag that nothing sets", event)
        other = "M" if event.pipe == "FIX" else "FIX"
        here = {a for a in self.made if a[1:3] == access[1:3]}
        self.pipes[event.pipe] |= {a for a in here if a.pipe == other or a in self.pipes[other]}
        if unit_flag(event.statement) == 3:
            (self.handed.discard if event.pipe == "FIX" else self.handed.add)(buffer)


def _same_places(buffers: Mapping[str, Buffer]) -> dict[Place, set[Place]]:
    """For each stage of a buffer of the core those that have bytes of it, its own too."""
    found = []
    for name, b in buffers.items():
        sizes, strides = modes_of(b.layout.shape), modes_of(b.layout.stride)
        one, apart = Layout(tuple(sizes[:2]), tuple(strides[:2])), int(strides[2]) if len(strides) > 2 else 0
        for stage in range(int(sizes[2]) if apart else 1 if b.position != "GM" else 0):
            begin = b.address + stage * apart * b.element.bits // 8
            found.append(((name, stage), b.position, begin, begin + int(cosize(one)) * b.element.bits // 8))
    return {x[0]: {y[0] for y in found if y[1] == x[1] and y[2] < x[3] and x[2] < y[3]} for x in found}


class Proof(NamedTuple):
    """The findings of a proof, and how many states and turns were gone through."""

    findings: tuple[Finding, ...]
    states: int
    blocks: int


#: The names that say which block it is and how large: no statement but for barriers depends on them.
OF_BLOCK = ("task", "slice", "number", "strip", "inside", "width", "blockM", "blockN", "tileM", "tileN", "rowsM")


class Tiles(NamedTuple):
    """The numbers of tiles of k that a problem may have.

    fewest, most   of them, `most` MANY where there is no end
    period         whether a number of tiles is possible depends on it modulo this many
    depths         for a number of tiles, the sizes of the problem to go through, one for every number of parts of the
                   last
    """

    fewest: int
    most: int
    period: int
    depths: Callable[[int], Sequence[Mapping[str, int]]]


#: The most states that are gone through.
MOST_STATES = 1000
#: The turns of a loop over k that are taken one by one.
_FEW_TURNS = 8
#: More tiles of k than make new states.
MANY = 1 << 12


#: Of a loop without one inside of it.
ONE_TILE = Tiles(1, 1, 1, lambda _tiles: [{}])


def prove_order(program: Program, kinds: Sequence[Mapping[str, int]] = ({},), tiles: Tiles = ONE_TILE) -> Proof:
    """Prove the order of a program in every state at the beginning of a turn of its loops, for any number of turns, and
    of turns of a loop over tiles of k in it.

    kinds   sizes of a block (the values of OF_BLOCK) whose statements differ: with and without barriers
    """
    findings, states, blocks, begins = list[Finding](), 0, 0, {_BEGIN}
    walk_ = _Walk(program, tiles)
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
    return Proof(tuple({f.what: f for f in findings}.values()), states, blocks)


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

        moved = {
            a: a._replace(stage=stage(self.buffers.get(a.buffer), a.stage)) for a in {*state.made, *state.handed}
        }  # of what was made alone something is known

        def accesses(xs: Known) -> Known:
            return frozenset(moved[a] for a in xs)

        def flag(event: str, n: int) -> int:
            first = self.first(event, n)
            return n if first is None else first + stage(self.flags[event, first], n - first)

        flags = tuple(sorted((((e, flag(e, i)), accesses(xs)) for (e, i), xs in state.flags), key=lambda x: x[0]))
        turned = State(accesses(state.made), tuple(map(accesses, state.pipes)), flags, accesses(state.handed))
        return turned, tuple((n, 0 if n in self.counts else x) for n, x in at.items())


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
    """The statements of a program: its loops over blocks or tiles, and what stands between them."""

    def __init__(self, program: Program, tiles: Tiles) -> None:
        body = _sketch(program.body, program.buffers)
        self.body = used(
            s._replace(turns=1) if isinstance(s, Loop) else s for s in body
        )  # of these any number is taken
        self.program, self.tiles = replace(program, body=self.body), tiles
        loops = [s for s in self.body if isinstance(s, Loop)]
        # behind a loop states that are turned into one another are no longer one: there stages begin at 0
        self.rings = Rings.of(loops[0].body, program.buffers) if len(loops) == 1 else Rings({}, {}, {})
        self._last: dict[Doer, Event] = {}
        self._same = _same_places(program.buffers)

    def order(self, at: _At) -> Order:
        """A state, to be changed."""
        return Order(self.program, at[0], self._last, self._same)

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
        body, tiles = self.body[at].body, self.tiles
        for sizes in kinds:
            most = next(t for t in range(tiles.most, 0, -1) if tiles.depths(t))
            values = self._values(at, {**sizes, **tiles.depths(most)[-1]}, state[1])
            last = min(tiles.most, tiles.fewest + self._through(self.order(state), values, body) * tiles.period)
            for depth in (d for count in range(tiles.fewest, last + 1) for d in tiles.depths(count)):
                order, values = self.order(state), self._values(at, {**sizes, **depth}, state[1])
                self._through(order, values, body)
                yield order.findings, self._at(order, values)

    def _through(self, order: Order, values: dict[str, int], body: Sequence[Any]) -> int:
        """Take the statements of a block: the number of turns of its loop over k after which states repeat; 0 where there
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


def _sketch(body: Iterable[Any], buffers: Mapping[str, Buffer]) -> Iterator[Any]:
    """Statements with one move for each transfer, by its stages: its other numbers do not matter here."""
    for s in body:
        if isinstance(s, Part):
            done = (_sketch_of(x, buffers) for x in [*walk(s.body)] if isinstance(x, (Move, Compute)))
            yield s._replace(body=tuple(done)[:1])
        elif isinstance(s, Loop):
            yield s._replace(body=tuple(_sketch(s.body, buffers)))
        elif isinstance(s, When):
            yield s._replace(body=tuple(_sketch(s.body, buffers)), otherwise=tuple(_sketch(s.otherwise, buffers)))
        elif not (isinstance(s, Assign) and str(s.variable) in OF_BLOCK):
            yield s


def _sketch_of(s: Move | Compute, buffers: Mapping[str, Buffer]) -> Move | Compute:
    """An instruction of a part without its fields, at the beginning of the stages that it names."""
    if isinstance(s, Compute):
        places = tuple(map(_begin_of_stage, s.instruction.places))
        return s._replace(instructions=(replace(s.instruction, places=places, parameters={}),))
    i = s.instruction
    dst, src = (
        0 if buffers[name].position == "GM" else _begin_of_stage(n) for name, n in ((s.dst, i.dst), (s.src, i.src))
    )
    kept = {name: n for name, n in i.parameters.items() if name in ("unitFlag", "dualDstCtl")}
    kept |= {"index": _begin_of_stage(i.parameters["index"])} if "index" in i.parameters else {}
    return s._replace(instruction=replace(i, dst=dst, src=src, parameters=kept))


def _begin_of_stage(n: Any) -> Any:
    """The beginning of the stage that a place is in, which is named: a multiple of its number."""
    stages = (s for s in (symbols_in(n.poly) if isinstance(n, SymInt) else ()) if s.name.endswith("Stage"))
    return sum(wrap(split(n.poly, s)[0]) * of_symbol(s) for s in stages)
