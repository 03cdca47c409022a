"""Races in shared and tensor memory, for all sizes: none, or the reason why that is not seen.

Every way that a block may go is gone: loops step by step, of which each has its stages and the steps that are left,
until no step finds before it what none found before; conditions where they hold, and where they do not.

Source: ours; the reachable states of a program, Cousot and Cousot, "Abstract Interpretation", 1977.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...core.ints import known
from ..program.statements import Either, Loop, Program, Statement
from .before import Before
from .ordering import Ordering
from .touches import Unknown
from .ways import MOST_STEPS, Step, Steps, starts, ways

#: The most that may be before a statement, each something else.
_MOST_BEFORE = 4096


class _Now(NamedTuple):
    """The steps that a statement is in.

    stages   the values of what loops count, by name
    loops    the steps, by their names
    """

    stages: Mapping[str, int]
    loops: Mapping[str, Step]


class SharedMemory:
    """The proof that no threads of a block race in shared or tensor memory. `require_no_race` raises Unknown where there
    is none.

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
    tla.kernels.proofs.touches.Unknown: <doctest ...>:4: shared memory that another thread may touch

    Source: ours.
    """

    def __init__(self, program: Program) -> None:
        self._program, self._ordering = program, Ordering(program)

    def require_no_race(self) -> None:
        """Raise Unknown for a race, or none seen."""
        if self._program.cluster:
            raise Unknown("blocks of a cluster, which load to each other's memory")
        for before in self._behind(self._program.body, {self._ordering.first}, _Now({}, {})):
            if any(before.stores):
                raise Unknown("a store by TMA that nobody waits for before the block ends")

    def _behind(self, body: Sequence[Statement], befores: set[Before], now: _Now) -> set[Before]:
        """Go through a body: what may be before a statement behind it."""
        for s in body:
            if isinstance(s, Either):
                befores = {x for before in befores for x in self._behind_condition(s, before, now)}
            elif isinstance(s, Loop):
                befores = {x for before in befores for x in self._behind_loop(s, before, now)}
            else:
                befores = {self._ordering.behind(s, before, now.stages) for before in befores}
            if len(befores) > _MOST_BEFORE:
                raise Unknown(f"{s.line}: more than {_MOST_BEFORE} ways to a statement")
        return befores

    def _behind_condition(self, s: Either, before: Before, now: _Now) -> set[Before]:
        """Go through what is stated where a condition holds, and where it does not."""
        found = set()
        for holds, sizes in ways(s.asked, before.sizes, now.loops, now.stages):
            found |= self._behind(s.inside if holds else s.otherwise, {before._replace(sizes=sizes)}, now)
        return found

    def _behind_loop(self, s: Loop, before: Before, now: _Now) -> set[Before]:
        """Go through any number of steps of a loop."""
        steps, counted = Steps(s, _period(s), self._program.body), {*now.stages, *now.loops}
        waiting = [(0, n, before._replace(sizes=sizes)) for n, sizes in starts(s, before.sizes, steps.most, counted)]
        seen, behind = set(waiting), set[Before]()
        while waiting:
            gone, left, found = waiting.pop()
            if left == 0:
                behind.add(found)
                continue
            inside = _Now({**now.stages, **dict(_counted(s, gone))}, {**now.loops, str(s.step): Step(s, gone, left)})
            for after in self._behind(s.body, {found}, inside):
                more = {(*step, after) for step in steps.behind(gone, left)} - seen
                seen |= more
                waiting += more
            if len(seen) > _MOST_BEFORE:
                raise Unknown(f"{s.line}: more than {_MOST_BEFORE} ways to a step")
        return behind


def _period(s: Loop) -> int:
    """The steps after which what a loop counts comes round. Raises Unknown for too many."""
    if (count := known(s.count)) is not None and count <= MOST_STEPS:
        return count  # each step is gone by itself
    of = {str(c.symbol): c.period for c in s.counters}
    period = math.lcm(*(c.period if c.of is None else 2 * of[str(c.of)] for c in s.counters))
    if period > MOST_STEPS:
        raise Unknown(f"{s.line}: a loop whose stages come round in {period} steps")
    return period


def _counted(s: Loop, step: int) -> Iterator[tuple[str, int]]:
    """The counters of a loop in a step: stages, and the phases that change where these begin anew; of a loop of a known
    number of steps the step itself."""
    if known(s.count) is not None and _period(s) == known(s.count):
        yield str(s.step), step
    stages = {str(c.symbol): c for c in s.counters}
    for name, c in stages.items():
        if c.of is None:
            yield name, (c.first + step) % c.period
        else:
            of = stages[str(c.of)]
            yield name, (c.first + (of.first + step) // of.period) % 2
