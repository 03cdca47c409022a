"""Races in shared and tensor memory, for all sizes: none, or the reason why that is not seen.

Every way that a block may go is gone: loops step by step, of which each has its stages and the steps that are left,
until no step finds before it what none found before; conditions where they hold, and where they do not. Blocks of a
cluster go beside each other, each at the same statement but where a condition of its place lets it out.

Source: ours; the reachable states of a program, Cousot and Cousot, "Abstract Interpretation", 1977.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.ints import known
from ..program.offsets import names_of
from ..program.reads import read_in_loops
from ..program.statements import Either, Loop, Program, Statement
from .before import Before
from .beside import Together
from .touches import Unknown, of_block
from .ways import MOST_STEPS, Sizes, Step, Steps, starts, ways

#: The most that may be before a statement, each something else.
_MOST_BEFORE = 4096


class _Now(NamedTuple):
    """The steps that a statement is in, and the blocks that come to it.

    stages   the values of what loops count, by name
    loops    the steps, by their names
    ranks    the blocks, by their numbers in the cluster
    """

    stages: Mapping[str, int]
    loops: Mapping[str, Step]
    ranks: Sequence[int]


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
        self._program, self._together = program, Together(program)
        self._read = read_in_loops(program)
        self._conditions: dict[tuple[int, int], Sequence[tuple[Any, Any]]] = {}

    def require_no_race(self) -> None:
        """Raise Unknown for a race, or none seen."""
        together = self._together
        for before in self._behind(self._program.body, {together.first}, _Now({}, {}, together.ranks)):
            if (why := together.why_not_ended(before)) is not None:
                raise Unknown(why)

    def _behind(self, body: Sequence[Statement], befores: set[Before], now: _Now) -> set[Before]:
        """Go through a body: what may be before a statement behind it."""
        for s in body:
            if isinstance(s, Either):
                befores = {x for before in befores for x in self._behind_condition(s, before, now)}
            elif isinstance(s, Loop):
                befores = {x for before in befores for x in self._behind_loop(s, before, now)}
            else:
                befores = {self._together.behind(s, before, now.stages, now.ranks) for before in befores}
            if len(befores) > _MOST_BEFORE:
                raise Unknown(f"{s.line}: more than {_MOST_BEFORE} ways to a statement")
        return befores

    def _behind_condition(self, s: Either, before: Before, now: _Now) -> set[Before]:
        """Go through what is stated where a condition holds, and where it does not."""
        found = set()
        for holds, sizes in self._ways(s, now.ranks, before.sizes, now):
            befores = {before._replace(sizes=sizes)}
            for body, ranks in ((s.inside, holds), (s.otherwise, [x for x in now.ranks if x not in holds])):
                if ranks:
                    befores = self._behind(body, befores, now._replace(ranks=ranks))
            found |= befores
        return found

    def _ways(self, s: Either, ranks: Sequence[int], sizes: Sizes, now: _Now) -> Iterator[tuple[list[int], Sizes]]:
        """The blocks for which a condition may hold, each time with what is then known of sizes."""
        if not ranks:
            yield [], sizes
            return
        asked = self._asked(s, ranks[0])
        alike = [x for x in ranks if self._asked(s, x) == asked]
        for holds, then in ways(asked, sizes, now.loops, {*now.stages, *self._read}):
            for others, known_then in self._ways(s, [x for x in ranks if x not in alike], then, now):
                yield sorted([*alike * holds, *others]), known_then

    def _asked(self, s: Either, rank: int) -> Sequence[tuple[Any, Any]]:
        """The comparisons of a condition in a block of the cluster."""
        key = id(s), rank
        if key not in self._conditions:
            at = self._together.coords[rank]
            self._conditions[key] = [tuple(of_block(x, self._program, at) for x in pair) for pair in s.asked]
        return self._conditions[key]

    def _behind_loop(self, s: Loop, before: Before, now: _Now) -> set[Before]:
        """Go through any number of steps of a loop."""
        if self._program.cluster and not {*map(str, self._program.blocks)}.isdisjoint(names_of(s.count)):
            raise Unknown(f"{s.line}: a loop whose number of steps differs among the blocks of a cluster")
        steps, counted = Steps(s, _period(s), self._program.body), {*now.stages, *now.loops, *self._read}
        waiting = [(0, n, before._replace(sizes=sizes)) for n, sizes in starts(s, before.sizes, steps.most, counted)]
        seen, behind = set(waiting), set[Before]()
        while waiting:
            gone, left, found = waiting.pop()
            if left == 0:
                behind.add(found)
                continue
            stages = {**now.stages, **dict(_counted(s, gone))}
            inside = now._replace(stages=stages, loops={**now.loops, str(s.step): Step(s, gone, left)})
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
