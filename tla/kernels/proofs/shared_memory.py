"""Races in shared memory, for all sizes: none, or the reason why that is not seen.

Where an access is does not depend on sizes, blocks and steps of loops, but on the thread, and on stages that a loop
counts. So the elements that each thread touches are known in every step, and compared. What may come before a statement
is what threads have touched since a barrier, and the groups of asynchronous copies that are under way: until its thread
has waited for a copy nobody may touch what it writes, and others not before a barrier behind that.

A loop is gone through step by step, of which each has its stages, until no step finds more before it than an earlier
one of the same stages: then behind it stands what any number of steps leaves. Of several ways to a statement all that
is before it on one of them is taken: of groups the newest with the newest, for waits count from there. What more is
before a statement makes no race go away.

Source: ours; Betts et al., "GPUVerify", and Leung et al., "Verifying GPU Kernels by Test Amplification", for accesses
that no size changes; the PTX manual, "cp.async.wait_group".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.ints import known
from ...symbolic import SymInt
from ...symbolic.tree import value
from ..program.instructions import is_asynchronous
from ..program.offsets import Offsets
from ..program.statements import (
    Atomic,
    Barrier,
    Copy,
    Either,
    Load,
    Loop,
    Order,
    Product,
    Program,
    Reserve,
    Signal,
    Statement,
    accesses,
)

_OPERATIONS = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    "min": lambda a, b: _numpy().minimum(a, b),
    "max": lambda a, b: _numpy().maximum(a, b),
}
#: The words about asynchronous copies, the groups of them that are followed, and the stages of a loop.
_GROUP, _WAIT = "cp_async_fence", "cp_async_wait"
_MOST_GROUPS, _MOST_STAGES = 32, 64


def _numpy() -> Any:
    import numpy as np

    return np


class Unknown(Exception):
    """The reason why race freedom is not seen."""


class _Touch:
    """The elements of a buffer that each thread reads, or writes.

    places       an array of (thread, element)
    adds         whether it adds atomically, which is no race among such touches
    first, last  the first and the last thread that touches each place; -1 the last of what nobody touches
    """

    def __init__(self, buffer: int, places: Any, *, writes: bool, adds: bool) -> None:
        np = _numpy()
        self.buffer, self.writes, self.adds, self.places = buffer, writes, adds, places
        self.who = np.broadcast_to(np.arange(len(places))[:, None], places.shape)
        self.first, self.last = (np.full(1 + places.max(initial=0), x) for x in (len(places), -1))
        np.minimum.at(self.first, places, self.who)
        np.maximum.at(self.last, places, self.who)

    @property
    def key(self) -> tuple[int, bool, bool, bytes]:
        """The key that tells it from others."""
        return self.buffer, self.writes, self.adds, self.places.tobytes()

    def meets(self, other: _Touch, *, under_way: bool) -> bool:
        """Whether some element is touched by two threads, and written by one of them; under_way: touched at all."""
        if self.buffer != other.buffer or not (self.writes or other.writes) or (self.adds and other.adds):
            return False
        inside = other.places < len(self.last)
        places, who = other.places[inside], other.who[inside]
        touched = self.last[places] >= 0
        return bool((touched & (under_way | (self.first[places] != who) | (self.last[places] != who))).any())


class _Before(NamedTuple):
    """The touches, by their numbers, that may be before a statement.

    since    those since a barrier
    groups   those of asynchronous copies under way, by groups; the last is the one that is not ended
    """

    since: frozenset[int] = frozenset()
    groups: tuple[frozenset[int], ...] = (frozenset(),)

    def joined(self, other: _Before) -> _Before:
        """Take what may be before a statement that is reached on two ways."""
        count = max(len(self.groups), len(other.groups))
        a, b = ((frozenset[int](),) * (count - len(x.groups)) + x.groups for x in (self, other))
        return _Before(self.since | other.since, tuple(map(operator.or_, a, b)))

    def waited(self, pending: int) -> _Before:
        """Wait for all groups but the newest: their copies are then writes."""
        ended = max(0, len(self.groups) - 1 - pending)
        return _Before(self.since.union(*self.groups[:ended]), self.groups[ended:])

    def with_group(self) -> _Before:
        """End a group; where all are empty they are left out."""
        groups = self.groups if any(self.groups) else ()
        return _Before(self.since, (*groups, frozenset()))


class SharedMemory:
    """The proof that no threads of a block race in shared memory. `require_no_race` raises Unknown where there is none.

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import copy, kernel, local_partition, shared, thread
    >>> from tla.kernels.proofs.shared_memory import SharedMemory
    >>> @kernel(threads=4)
    ... def rotated(a):
    ...     memory = shared(np.float32, parse("_4:_1"))
    ...     copy(*(local_partition(memory, parse("_4:_1"), x) for x in (thread(), (thread() + 1) % 4)))
    >>> SharedMemory(rotated.program(np.zeros(4, np.float32))).require_no_race()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tla.kernels.proofs.shared_memory.Unknown: <doctest ...>:4: shared memory that another thread may touch

    Source: ours.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._touches: list[_Touch] = []
        self._numbers: dict[Any, int] = {}
        self._found: dict[Any, list[int]] = {}
        self._meeting: dict[tuple[int, int, bool], bool] = {}

    def require_no_race(self) -> None:
        """Raise Unknown for a race, or none seen."""
        self._behind(self._program.body, _Before(), {})

    def _behind(self, body: Sequence[Statement], before: _Before, stages: Mapping[str, int]) -> _Before:
        """Go through a body: the touches that may be before a statement behind it."""
        for s in body:
            if isinstance(s, Barrier):
                before = before._replace(since=frozenset())
            elif isinstance(s, Either):
                a, b = (self._behind(x, before, stages) for x in (s.inside, s.otherwise))
                before = a.joined(b)
            elif isinstance(s, Loop):
                before = self._behind_loop(s, before, stages)
            elif isinstance(s, Order) and s.word in (_GROUP, _WAIT):
                before = before.with_group() if s.word == _GROUP else before.waited(s.pending)
                if len(before.groups) > _MOST_GROUPS:
                    raise Unknown(f"{s.line}: groups of asynchronous copies that nobody waits for")
            else:
                before = self._behind_statement(s, before, stages)
        return before

    def _behind_loop(self, s: Loop, before: _Before, stages: Mapping[str, int]) -> _Before:
        """Go through any number of steps of a loop."""
        counted = [c for c in s.counters if c.of is None]  # the others are phases of mbarriers
        period, found = math.lcm(*(c.period for c in counted)), dict[int, _Before]()
        if period > _MOST_STAGES:
            raise Unknown(f"{s.line}: a loop whose stages come round in {period} steps")
        ended, step = before, 0
        while True:
            known_before = found.get(step % period, before)
            before = known_before.joined(before)
            if step >= period and before == known_before:
                return ended
            found[step % period] = before
            now = {str(c.symbol): (c.first + step) % c.period for c in counted}
            before = self._behind(s.body, before, {**stages, **now})
            ended, step = ended.joined(before), step + 1

    def _behind_statement(self, s: Statement, before: _Before, stages: Mapping[str, int]) -> _Before:
        _require_ordered(s)
        for number in self._touched(s, stages):
            under_way = frozenset().union(*before.groups)
            if any(self._meet(x, number, under_way=False) for x in (*before.since, number)):
                raise Unknown(f"{s.line}: shared memory that another thread may touch")
            if any(self._meet(x, number, under_way=True) for x in under_way):
                raise Unknown(f"{s.line}: shared memory that an asynchronous copy may still write")
            before = before._replace(since=before.since | {number})
            if isinstance(s, Copy) and s.atom.asynchronous and self._touches[number].writes:
                *ended, last = before.groups
                before = before._replace(groups=(*ended, last | {number}))
        return before

    def _meet(self, a: int, b: int, *, under_way: bool) -> bool:
        key = a, b, under_way
        if key not in self._meeting:
            self._meeting[key] = self._touches[a].meets(self._touches[b], under_way=under_way)
        return self._meeting[key]

    def _touched(self, s: Statement, stages: Mapping[str, int]) -> list[int]:
        """The numbers of a statement's touches, what it reads first."""
        key = id(s), tuple(stages.items())
        if key not in self._found:
            self._found[key] = [self._number(x) for x in self._touches_of(s, stages)]
        return self._found[key]

    def _number(self, touch: _Touch) -> int:
        number = self._numbers.setdefault(touch.key, len(self._touches))
        if number == len(self._touches):
            self._touches.append(touch)
        return number

    def _touches_of(self, s: Statement, stages: Mapping[str, int]) -> Iterator[_Touch]:
        for verb, access in accesses(s):
            if any(x.data is access.tensor.data for x in self._program.shared):
                parts = Offsets(access.tensor).parts
                sums = {terms: of_threads(s, terms, self._program, stages) for terms in {terms for terms, _n in parts}}
                places = _numpy().stack([sums[terms] + n for terms, n in parts], axis=1)
                writes = verb == "writes"
                yield _Touch(id(access.tensor.data), places, writes=writes, adds=writes and isinstance(s, Atomic))


def of_threads(s: Statement, terms: Sequence[Any], program: Program, stages: Mapping[str, int] | None = None) -> Any:
    """A sum for every thread. Raises Unknown where it depends on more than the thread, and stages that are known."""
    np = _numpy()
    names = {**(stages or {}), "tid": np.arange(program.threads)}
    total = np.zeros(program.threads, int)
    for x in terms:
        n = known(x)
        if n is None and (not isinstance(x, SymInt) or not {str(name) for name in x.symbols} <= names.keys()):
            raise Unknown(f"{s.line}: a place in memory that depends on {x}")
        total = total + (n if n is not None else value(x.form, int, names, _OPERATIONS))
    return total


def _require_ordered(s: Statement) -> None:
    """Raise Unknown for an instruction that is under way behind its statement, but copies by cp.async."""
    is_waited = isinstance(s, Copy) and s.atom.asynchronous and s.atom.writes.memory != "smem"
    if is_waited or isinstance(s, (Load, Order, Reserve, Signal)):
        raise Unknown(f"{s.line}: an asynchronous instruction")
    if isinstance(s, Product) and is_asynchronous(s.step.mma.atom):
        raise Unknown(f"{s.line}: an asynchronous instruction")
