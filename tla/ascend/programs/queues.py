"""The pipes of a core at work: when each event of a program may begin, and what is known to be done by then.

Every pipe takes its events in order. A WaitFlag waits for the SetFlag of its event and id, the first for the first,
the second for the second; a Mmad and a Fixpipe with a unit flag wait for each other, for every fractal of
accumulators. By these an event comes after others: it knows, for each pipe, up to which event all is done. Events
that no such order joins may run in any order, or at once.

Source: AscendC SetFlag/WaitFlag, PipeBarrier, UnitFlag.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .statements import Move, Multiply, PipeBarrier, SetFlag, WaitFlag
from .trace import Event, between_cores, ends_of

#: The most that the counter of a flag between cores goes to.
MOST_UP = 15
#: The values of unitFlag: none, one accumulator after another, and the last time.
UNIT_FLAGS = (0, 2, 3)
#: For each pipe, how many of its events are done; one number for each pipe in the order of PIPES, as a dict.
Clock = dict[str, int]


class Begun(NamedTuple):
    """An event that begins: `done` says of every pipe how many of its events are known to be done by then, of its own
    too; `turn` is its number in its pipe."""

    event: Event
    turn: int
    done: Clock


class Trouble(NamedTuple):
    """A fault of flags: the kind, and the event at which it shows."""

    kind: str
    what: str
    event: Event | None


class _Flag:
    """One event and id: the sets that are not waited for yet, how many there were, and the turn of each wait."""

    def __init__(self) -> None:
        self.up: deque[tuple[Clock, Event]] = deque()
        self.set = 0
        self.turns: list[int] = []

    def most_up(self, done: int) -> int:
        """The most sets that none has waited for, where so many turns of the pipe that waits are known to be done."""
        return self.set - bisect_right(self.turns, done)


class Queues:
    """Runs the events of a program pipe by pipe; iterate over it for each event as it begins.

    troubles   what is wrong with flags; early flags that may be set again before they are waited for: fine where the
               hardware counts
    """

    def __init__(self, events: Iterable[Event], units: Callable[[Event], Any]) -> None:
        """units: the fractals of L0C that an event with a unit flag works on."""
        self.waiting: dict[str, deque[Event]] = {}
        self.troubles: list[Trouble] = []
        self.early: list[Trouble] = []
        self._units_of = units
        self._clocks: dict[str, Clock] = {}
        self._turns: dict[str, int] = {}
        self._flags: dict[tuple[str, int], _Flag] = {}
        self._unit_up: dict[int, Clock] = {}
        self._unit_down: dict[int, Clock] = {}
        up: set[tuple[str, int]] = set()
        for event in events:
            self._issue(event, up)
            for pipe in (*_ALL,) if event.pipe == "ALL" else (event.pipe,):
                self.waiting.setdefault(pipe, deque()).append(event)

    def _issue(self, event: Event, up: set[tuple[str, int]]) -> None:
        """Note what is wrong with a flag that is set."""
        s = event.statement
        if isinstance(s, SetFlag):
            self.troubles += [Trouble(kind, what, event) for kind, what in wrongly_set(s, (s.event, s.id) in up)]
            up.add((s.event, s.id))
        elif isinstance(s, WaitFlag):
            up.discard((s.event, s.id))
        elif (unit := unit_flag(s)) not in UNIT_FLAGS:
            self.troubles.append(Trouble("unit", f"{_text(event)} with unitFlag={unit}: 0, 2 or 3", event))

    def __iter__(self) -> Iterator[Begun]:
        moved = True
        while moved:
            moved = False
            for pipe, queue in self.waiting.items():
                while queue and (begun := self._begin(pipe, queue)) is not None:
                    moved = True
                    yield from begun
        for queue in self.waiting.values():
            if queue and queue[0].pipe != "ALL":
                self.troubles.append(Trouble("stuck", f"{_text(queue[0])} waits for ever", queue[0]))
        if self._unit_up:
            what = "accumulators that a Mmad with unitFlag=3 hands over are taken by no Fixpipe with unitFlag=3"
            self.troubles.append(Trouble("left", what, None))
        for (name, id_), flag in self._flags.items():
            if flag.up:
                self.troubles.append(Trouble("left", f"SetFlag {name} {id_} is waited for by nothing", flag.up[0][1]))

    def _begin(self, pipe: str, queue: deque[Event]) -> list[Begun] | None:
        """The first event of a pipe, begun; None where it has to wait."""
        event = queue[0]
        if event.pipe == "ALL":
            return self._begin_all(event)
        clock = self._clocks.setdefault(pipe, {})
        if not self._may_begin(event, clock):
            return None
        queue.popleft()
        turn = self._turns[pipe] = self._turns.get(pipe, 0) + 1
        begun = Begun(event, turn, dict(clock))
        if isinstance(event.statement, PipeBarrier):
            clock[pipe] = turn
        self._end(event, begun)
        return [begun]

    def _begin_all(self, event: Event) -> list[Begun] | None:
        """A barrier of all pipes, where each of them has come to it."""
        if any(not self.waiting[pipe] or self.waiting[pipe][0] is not event for pipe in _ALL):
            return None
        for pipe in _ALL:
            self.waiting[pipe].popleft()
            self._clocks[pipe] = dict(self._turns)
        return []

    def _may_begin(self, event: Event, clock: Clock) -> bool:
        """Whether an event need not wait; then its pipe's clock knows what it has waited for."""
        s = event.statement
        if isinstance(s, WaitFlag):
            flag = self._flags.get((s.event, s.id))
            if flag is None or not flag.up:
                return False
            _join(clock, flag.up.popleft()[0])
            flag.turns.append(self._turns.get(event.pipe, 0) + 1)
            return True
        if unit_flag(s):
            for unit in self._units_of(event):
                if (unit in self._unit_up) != isinstance(s, Move):
                    return False
            for unit in self._units_of(event):
                _join(clock, self._unit_up[unit] if isinstance(s, Move) else self._unit_down.get(unit, {}))
        return True

    def _end(self, event: Event, begun: Begun) -> None:
        """The flags that an event sets."""
        s, done = event.statement, {**begun.done, event.pipe: begun.turn}
        if isinstance(s, SetFlag):
            flag = self._flags.setdefault((s.event, s.id), _Flag())
            flag.set += 1
            if (up := flag.most_up(begun.done.get(ends_of(s.event)[1], 0))) > 1:
                counted = between_cores(s.event)  # by a counter, which has no more
                if not counted:
                    what = f"{_text(event)} may come before the one before it is waited for"
                    self.early.append(Trouble("early", what, event))
                elif up > MOST_UP:
                    what = f"{_text(event)} may come before {MOST_UP} before it are waited for"
                    self.troubles.append(Trouble("count", what, event))
            flag.up.append((done, event))
        elif unit_flag(s) == 3:
            for unit in self._units_of(event):
                if isinstance(s, Multiply):
                    self._unit_up[unit] = done
                else:
                    del self._unit_up[unit]
                    self._unit_down[unit] = done


#: The pipes that a barrier of all waits for.
_ALL = ("MTE1", "MTE2", "MTE3", "M", "FIX", "V")


def wrongly_set(s: SetFlag, up: bool) -> Iterator[tuple[str, str]]:
    """Tell what is wrong with a flag that is set, as a kind and words; up: whether it is set already."""
    flag, most = f"SetFlag {s.event} {s.id}", 15 if between_cores(s.event) else 7  # those between cores are more
    if up:
        yield "twice", f"{flag} twice, with no WaitFlag between"
    if not 0 <= s.id <= most:
        yield "id", f"{flag}: ids go from 0 to {most}"


def unit_flag(statement: Any) -> int:
    """The unit flag of an instruction: 0 where it has none."""
    if isinstance(statement, Multiply):
        return int(statement.instruction.parameters.get("unitFlag", 0))
    return int(statement.instruction.parameters.get("unitFlag", 0)) if isinstance(statement, Move) else 0


def _join(clock: Clock, other: Clock) -> None:
    for pipe, turn in other.items():
        clock[pipe] = max(clock.get(pipe, 0), turn)


def _text(event: Event) -> str:
    s = event.statement
    if isinstance(s, (SetFlag, WaitFlag)):
        return f"{type(s).__name__} {s.event} {s.id}"
    return f"PipeBarrier {s.pipe}" if isinstance(s, PipeBarrier) else str(getattr(s, "instruction", s)).split("(", 1)[0]
