"""Races of a block with others of its cluster, which load to its memory, multiply it and arrive at its mbarriers.

Source: the PTX manual, "Memory Consistency Model"; what blocks know of each other is in beside.
"""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..block.mbarriers import Mbarrier
from ..block.touched import Access, accessed, key_of, name_of
from .beside import Beside, Told
from .race import Race
from .races import Phase, Races, named


class ClusterRaces(Races):
    """The races of a block that may run beside others: notes what they do to its memory.

    Source: ours.
    """

    def arrive_cluster(self, line: Line) -> None:
        """Note that the block arrives at the barrier of its cluster."""
        self.beside.arrive(self._number(line))

    def wait_cluster(self, line: Line, others: list[Beside], *, apart: bool) -> None:
        """Note that the block has waited at the barrier of its cluster, which is needed for other blocks.

        apart   whether statements are between its arrival and this: these it does not order
        """
        arrived = self.beside.wait(others)
        self._forget_ended()
        if apart:
            clocks = self._begun()
            clocks.learn(clocks.arriving(None, arrived))
            return
        self.wait(line)
        self._is_needed = True

    def load_from(
        self, other: ClusterRaces, line: Line, barrier: Mbarrier, target: Access, waiter: ClusterRaces
    ) -> None:
        """Note a load by TMA of another block to this one's memory, whose bytes an mbarrier of the waiter counts."""
        phase = other._used(line, barrier)[1] if waiter is other else waiter._sent_to(other, line, barrier)
        number, t, (places, who) = self._number(line), target.tensor, accessed(target, 1)
        for what in ("copy", "product", "store"):
            self._ask_under_way(what, t, places, who, number, True)
        self._ask_beside(other, line, t, places, writes=True)
        self._ask_written(t, places, who, line, True)
        self._begin_load(phase, number, target)
        phase.going.add(other.told(line))

    def load_for(self, waiter: ClusterRaces, line: Line, barrier: Mbarrier, source: Access, target: Access) -> None:
        """Note a load by TMA of this block to its own memory, whose bytes an mbarrier of another one counts."""
        phase = waiter._sent_to(self, line, barrier)
        self._load(line, phase, self._number(line), source, target)
        phase.going.add(self.told(line))

    def umma_from(
        self, other: ClusterRaces, line: Line, product: int, reads: list[Access], adds: Access, *, accumulates: bool
    ) -> None:
        """Note a product of two SMs, of a number in the block that began it, which reads and adds to memory here."""
        number, touched = self._number(line), []
        for access in reads:
            t, (places, who) = access.tensor, accessed(access, 1)
            self._ask_beside(other, line, t, places, writes=False)
            self._ask_seen(t, places, line, None)
            self._ask_written(t, places, who, line, False)
            touched.append(("umma", t, places, who))
        t, (places, who) = adds.tensor, accessed(adds, 1)
        self._ask_under_way("tmem", t, places, who, number, True)
        self._ask_beside(other, line, t, places, writes=True)
        if accumulates:
            self._ask_written(t, places, who, line, False)
        self._ask_written(t, places, who, line, True)
        self._begin_product(number, [*touched, ("accumulator", t, places, who)], (other.beside.rank, product))

    def commit_from(self, other: ClusterRaces, line: Line, barrier: Mbarrier) -> None:
        """Note that products of another block arrive at an mbarrier of this one."""
        _number, phase = self._met(other, line, barrier)
        told = other.told(line, len(other._lines) - 1)
        if phase.waited is not None and told.seen.get(self.beside.rank, -1) < phase.waited:
            at, who = self._lines[phase.waited], other.beside.rank
            self._add(Race("phase", "mbarriers", int(barrier.at), None, False, at, None, True, line, who))
        phase.going.add(told)

    def told(self, line: Line, product: int | None = None) -> Told:
        """The knowledge that a statement of this block gives to others."""
        number = len(self._lines) - 1
        return self.beside.told(line, number if self._clocks is None else self._clocks.come_to(number), product)

    def _met(self, other: ClusterRaces, line: Line, barrier: Mbarrier) -> tuple[int, Phase]:
        """The number of a statement of another block that uses an mbarrier of this one, and the state of that."""
        held = barrier.of.held
        self._ask_beside(other, line, held, accessed(Access(held), 1)[0], writes=False)
        return self._number(line), self._phases[key_of(held), int(barrier.at)]

    def _sent_to(self, other: ClusterRaces, line: Line, barrier: Mbarrier) -> Phase:
        """The state of an mbarrier of this block that counts bytes which another one sends.

        They count for the phase that goes on when they come. So the other block has to know that the phase before has
        ended: else that one may end by them, before its own have come. Source: the PTX manual, "Tracking asynchronous
        operations by the mbarrier object".
        """
        phase, of = self._met(other, line, barrier)[1], self._of_cluster(barrier)
        if other.beside.phases.get(of, 0) < phase.ended:
            self._add(Race("bytes", "mbarriers", of[2], None, True, line, None, True, line, other.beside.rank))
        return phase

    def _ask_beside(self, other: ClusterRaces, line: Line, t: Tensor, places: Any, *, writes: bool) -> None:
        """Add the race of an access by another block."""
        found = self.beside.clash(other.beside, t, places, writes=writes)
        if found is not None:
            before = None if found.what == "umma" else named(found.who)
            at, who = self._lines[found.number], other.beside.rank
            self._add(Race(found.what, name_of(t), found.place, before, found.writes, at, None, writes, line, who))

    def end_cluster(self) -> None:
        """End the cluster: what other blocks do to this one's memory has ended, and it knows that."""
        lines = [pair for phase in self._phases.values() for told in (phase.going, phase.over) for pair in told.lines]
        under_way = [number for number, *_rest in (*self._loads, *self._products)]
        still = ((self._lines[n], self.beside.ends.get(n, (self.beside.rank, 0))[0]) for n in under_way)
        for line, rank in (*lines, *still):
            if rank != self.beside.rank:
                self._add(Race("end", "memory", 0, None, False, line, None, True, line, rank))
