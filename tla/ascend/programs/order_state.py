"""The state of buffers and flags in the order of a program: what has been done, and which pipe knows that it is.

Flags between cores are counters: a wait of one is known, as an access is, and what sets the flag has to know of the waits
before the counter ends.

Source: ours; the flags are those of AscendC's SetFlag and WaitFlag.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ...algebra.codomain import cosize
from ...core.int_tuple import modes_of
from ...core.layout import Layout
from .check import FEW_FRACTALS
from .memory import Touched
from .queues import MOST_UP, unit_flag, wrongly_set
from .results import Finding
from .statements import Buffer, Compute, Move, Multiply, PipeBarrier, Program, SetFlag, WaitFlag
from .trace import PIPES, VECTOR_PIPES, Event, between_cores, ends_of


class Access(NamedTuple):
    """The last thing that a pipe did to a stage of a buffer; or its last wait for a flag between cores, by event and id."""

    pipe: str
    buffer: str
    stage: int
    writes: bool


Known = frozenset[Access]
#: A stage of a buffer; a flag, by its event and id.
Place = tuple[str, int]
Flag = tuple[str, int]
#: The pipe, the buffer, and whether it writes: who does an access, whichever stage it is of.
Doer = tuple[str, str, bool]


class State(NamedTuple):
    """The accesses that were made, those that each pipe and each flag that is up knows to be done, unit flags, and how many
    waits for a flag between cores are not known to who sets it."""

    made: Known
    pipes: tuple[Known, ...]
    flags: tuple[tuple[Flag, Known], ...]
    handed: Known
    counts: tuple[tuple[Flag, int], ...]


#: The pipes of a core, and those of its vector cores, for which no barrier waits.
_PIPES = (*PIPES, *VECTOR_PIPES)
START = State(frozenset(), (frozenset(),) * len(_PIPES), (), frozenset(), ())


class Order:
    """A state while statements change it, and what is found to be wrong."""

    def __init__(
        self,
        program: Program,
        state: State,
        last: dict[Doer, Event],
        same: Mapping[Place, set[Place]],
        noted: Collection[str],
    ) -> None:
        """last: what did each access last, in this and earlier parts of a program; same: the places that have bytes of
        a place; noted: the buffers whose accesses count."""
        self._program, self._last, self._same, self._noted = program, last, same, noted
        self.made, self.handed = set(state.made), set(state.handed)
        self.pipes = {pipe: set(known) for pipe, known in zip(_PIPES, state.pipes)}
        self.flags = {key: set(known) for key, known in state.flags}
        self.counts = dict(state.counts)
        self.findings: list[Finding] = []

    @property
    def state(self) -> State:
        """The state, as a value."""
        pipes = tuple(frozenset(self.pipes[pipe]) for pipe in _PIPES)
        flags = tuple(sorted(((key, frozenset(known)) for key, known in self.flags.items()), key=lambda x: x[0]))
        counts = tuple(sorted((key, up) for key in self.counts if (up := self._up(*key))))
        return State(frozenset(self.made), pipes, flags, frozenset(self.handed), counts)

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
        if self._up(*key) >= MOST_UP:
            what = f"SetFlag {s.event} {s.id} may come before {MOST_UP} before it are waited for"
            self._wrong("flag", what, event)
        self.flags[key] = self.pipes[first] | self._own(first)

    def _wait(self, event: Event, s: WaitFlag) -> None:
        known = self.flags.pop((s.event, s.id), None)
        if known is None:
            self._wrong("flag", f"WaitFlag {s.event} {s.id}: nothing has set it before", event)
        pipe = ends_of(s.event)[1]
        self.pipes[pipe] |= known or set()
        if between_cores(s.event):
            self.counts[s.event, s.id] = self._up(s.event, s.id) + 1
            self._done_anew(Access(pipe, s.event, s.id, False))

    def _up(self, event: str, id_: int) -> int:
        """The waits for a flag between cores of which who sets it may not know: all since the last that it knows of."""
        first, second = ends_of(event)
        return 0 if Access(second, event, id_, False) in self.pipes[first] else self.counts.get((event, id_), 0)

    def _done_anew(self, access: Access) -> None:
        """Note an access, of which nothing is known yet."""
        for done in (*self.pipes.values(), *self.flags.values()):
            done.discard(access)
        self.made.add(access)

    def _touch(self, event: Event, reads: list[tuple[str, str, int]], written: list[tuple[str, int]]) -> None:
        """Note what an instruction reads and writes. A place of C in global memory is written once, and read only behind
        that: there a read alone may come too early."""
        pipe = event.pipe
        places = [(*self._stage(name, at), False) for _, name, at in reads] + [
            (*self._stage(*x), True) for x in written
        ]
        local = [Access(pipe, *p) for p in places if p[0] in self._noted]
        for access in local:
            position = self._program.buffers[access.buffer].position
            if unit_flag(event.statement) and position == "L0C":
                self._hand_over(event, access)
            here = (access.buffer, access.stage)
            same = self._same.get(here, {here}) if position != "GM" or not access.writes else ()
            for other in self.made:
                if (other.buffer, other.stage) in same and (other.writes or access.writes):
                    self._meet(event, other, access.writes)
        for access in local:
            self._last[access.pipe, access.buffer, access.writes] = event
            self._done_anew(access)

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


def same_places(buffers: Mapping[str, Buffer]) -> dict[Place, set[Place]]:
    """For each stage of a buffer of the core those that have bytes of it, its own too."""
    found = []
    for name, b in buffers.items():
        sizes, strides = modes_of(b.layout.shape), modes_of(b.layout.stride)
        one, apart = Layout(tuple(sizes[:2]), tuple(strides[:2])), int(strides[2]) if len(strides) > 2 else 0
        for stage in range(int(sizes[2]) if apart else 1 if b.position != "GM" else 0):
            begin = b.address + stage * apart * b.element.bits // 8
            found.append(((name, stage), b.position, begin, begin + int(cosize(one)) * b.element.bits // 8))
    return {x[0]: {y[0] for y in found if y[1] == x[1] and y[2] < x[3] and x[2] < y[3]} for x in found}
