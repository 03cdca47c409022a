"""The state before a statement, in a proof that no threads race: touches that not all threads know of, and instructions
under way.

Each statement is one of all threads, in the same order: so what a thread knows of others is the same for all that have
come as far, but for who is who. It is noted of each touch. A touch that is made again is known to nobody again: who
knows of the later one knows of the earlier. The blocks of a cluster are followed beside each other, statement by
statement; what each of them knows of others are facts, of which a later one takes the place of the earlier too.

Source: L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; the PTX manual, "mbarrier",
"cp.async.wait_group", "wgmma.wait_group".
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .touches import Known
from .ways import Sizes

_NONE: frozenset[int] = frozenset()
#: Touches -> of how many threads, the first ones, all are told that they have made it.
Told = frozenset[tuple[int, int]]
#: Facts that blocks know: a block by its rank, and a touch of its memory by a load, or by products, that has ended; or
#: below 0 what has come to pass with one of its mbarriers, see `Ordering`.
Facts = frozenset[tuple[int, int]]
_NOTHING: Told = frozenset()


class Unordered(Exception):
    """The reason why a statement may not be ordered with what is before it."""


class Products(NamedTuple):
    """A group of a warpgroup's products under way.

    reads      touches of shared memory
    registers  buffers of registers, and whether products add to them
    before     the touches before them, which all threads of the warpgroup have come to
    """

    reads: frozenset[int] = _NONE
    registers: frozenset[tuple[int, bool]] = frozenset()
    before: frozenset[int] = _NONE


class Phase(NamedTuple):
    """An mbarrier.

    arrivals   that a phase waits for; `pending`, how many are left of the phase that goes on, and `bytes`
    parity     of the phase that goes on
    told       what those threads who have arrived at it know; `known`, of the phase that ended last
    facts      what its end tells: of loads, of products that arrive, and of blocks that send these
    over       the facts of phases that have ended, and nobody has waited for
    """

    arrivals: int
    pending: int
    bytes: int = 0
    parity: int = 0
    told: Told = _NOTHING
    known: Told = _NOTHING
    facts: Facts = _NOTHING
    over: Facts = _NOTHING

    def _require_idle(self) -> None:
        """Raise Unordered where a phase before, which tells facts, is not waited for."""
        if self.over:
            raise Unordered("an mbarrier whose phase before may go on")

    def arrive(self, count: int, nbytes: int, facts: Facts = _NOTHING) -> Phase:
        """Count arrivals, and bytes that are to come. Raises Unordered for more than the phase waits for."""
        self._require_idle()
        if self.pending < count:
            raise Unordered("more arrivals at an mbarrier than its phase waits for")
        return self._replace(pending=self.pending - count, bytes=self.bytes + nbytes, facts=self.facts | facts)._ended()

    def receive(self, nbytes: int, facts: Facts) -> Phase:
        """Count the bytes of a load. Raises Unordered where the phase before is not waited for."""
        self._require_idle()
        return self._replace(bytes=self.bytes - nbytes, facts=self.facts | facts)._ended()

    def wait(self, parity: int) -> Phase:
        """Wait for the phase of a parity. Raises Unordered where nothing before ends it."""
        if self.parity == parity:
            raise Unordered("a wait for a phase of an mbarrier that nothing before it ends")
        return self._replace(over=_NOTHING)

    def set_up(self, arrivals: int) -> Phase:
        """Begin anew, with so many arrivals. Raises Unordered where a phase is not waited for."""
        self._require_idle()
        return Phase(arrivals, arrivals)

    def without(self, number: int) -> Phase:
        """Leave out a touch, which is made again."""
        told, known = (frozenset(x for x in y if x[0] != number) for y in (self.told, self.known))
        return self._replace(told=told, known=known)

    def without_fact(self, fact: tuple[int, int]) -> Phase:
        """Leave out a fact, of what is made again."""
        if fact not in self.facts and fact not in self.over:
            return self
        return self._replace(facts=self.facts - {fact}, over=self.over - {fact})

    def _ended(self) -> Phase:
        if self.pending or self.bytes:
            return self
        parity, over = 1 - self.parity, self.over | self.facts
        return Phase(self.arrivals, self.arrivals, parity=parity, known=self.told, over=over)


class Beside(NamedTuple):
    """A block of a cluster beside the others.

    touched    touches of its own threads that other blocks do not know of
    under_way  touches of its memory by loads and products of which not all blocks know that they have ended
    knows      the facts that it knows
    arrived    what it had touched before it arrived at the cluster's barrier, and knew then; None where it has waited
    """

    touched: frozenset[int] = _NONE
    under_way: frozenset[int] = _NONE
    knows: Facts = _NOTHING
    arrived: tuple[frozenset[int], Facts] | None = None

    def touch(self, number: int) -> Beside:
        """Add a touch, which is made again."""
        arrived = self.arrived and (self.arrived[0] - {number}, self.arrived[1])
        return self._replace(touched=self.touched | ({number} if number >= 0 else _NONE), arrived=arrived)

    def without_fact(self, fact: tuple[int, int]) -> Beside:
        """Leave out a fact, of what is made again."""
        arrived = self.arrived and (self.arrived[0], self.arrived[1] - {fact})
        return self._replace(knows=self.knows - {fact}, arrived=arrived)


class Block(NamedTuple):
    """The state of a block.

    touched    touches that not all threads know of, and who does
    copies     those of asynchronous copies under way, by groups; the last is the one that is not ended
    stores     the same of stores by TMA, and `products` of a warpgroup's products
    loads      touches of loads by TMA under way, as far as this block knows, and `ummas` of products of tcgen05
    columns    those of loads of tensor memory, and `loaded`, the registers that these write
    unseen     writes of threads that instructions do not see which read by descriptors
    registers  those that were touched since the last warpgroup_arrive
    phases     the mbarriers; those that are not set up have no arrivals
    beside     what there is beside other blocks of its cluster; None without a cluster
    """

    touched: frozenset[tuple[int, Known]] = frozenset()
    copies: tuple[frozenset[int], ...] = (_NONE,)
    stores: tuple[frozenset[int], ...] = (_NONE,)
    products: tuple[Products, ...] = (Products(),)
    loads: frozenset[int] = _NONE
    ummas: frozenset[int] = _NONE
    columns: frozenset[int] = _NONE
    loaded: frozenset[int] = _NONE
    unseen: frozenset[int] = _NONE
    registers: frozenset[int] = _NONE
    phases: tuple[Phase, ...] = ()
    beside: Beside | None = None

    def touch(self, number: int, *, unseen: bool = False) -> Block:
        """Add a touch, of which each thread knows its own."""
        touched = frozenset(x for x in self.touched if x[0] != number) | {(number, Known())}
        products = tuple(x._replace(before=x.before - {number}) for x in self.products)
        phases, beside = tuple(x.without(number) for x in self.phases), self.beside and self.beside.touch(number)
        of_all = self.unseen | {number} if unseen else self.unseen
        return self._replace(touched=touched, products=products, phases=phases, unseen=of_all, beside=beside)

    def met(self) -> Block:
        """Let all threads wait for each other."""
        products = tuple(x._replace(before=_NONE) for x in self.products)
        phases = tuple(x._replace(told=_NOTHING, known=_NOTHING) for x in self.phases)
        return self._replace(touched=frozenset(), products=products, phases=phases)

    def of(self, number: int, threads: int) -> int:
        """The number of threads, the first ones, of whose touch the first one knows; all of one that it knows."""
        known = dict(self.touched).get(number)
        return threads if known is None else max(1, *known)

    def told(self, threads: int | None) -> Told:
        """The knowledge that an arrival tells: of the first thread, as far as it knows; or of all, so many."""
        return frozenset((n, threads or max(1, *known)) for n, known in self.touched)

    def learn(self, told: Mapping[int, Known], threads: int) -> Block:
        """Let all threads know of touches, those of a group or those of the first ones."""
        touched = []
        for number, known in self.touched:
            more = Known(*map(max, known, told.get(number, known)))
            touched += [(number, more)] * (max(more) < threads)
        return self._replace(touched=frozenset(touched))

    def learn_facts(self, facts: Facts, rank: int) -> Block:
        """Let all threads know of facts."""
        own, beside = {n for of, n in facts if of == rank}, self.beside
        beside = beside and beside._replace(knows=beside.knows | facts)
        return self._replace(loads=self.loads - own, ummas=self.ummas - own, beside=beside)

    def without_fact(self, fact: tuple[int, int]) -> Block:
        """Leave out a fact, of what is made again."""
        phases = tuple(x.without_fact(fact) for x in self.phases)
        return self._replace(phases=phases, beside=self.beside and self.beside.without_fact(fact))

    def at(self, place: int, phase: Phase) -> Block:
        """Change an mbarrier."""
        return self._replace(phases=(*self.phases[:place], phase, *self.phases[place + 1 :]))

    def written(self) -> Iterable[int]:
        """The touches of instructions under way that write memory, but products of tcgen05."""
        return frozenset().union(*self.copies, self.loads)

    def read(self) -> Iterable[int]:
        """The touches of instructions under way that read memory, but products of tcgen05."""
        return frozenset().union(*self.stores, *(x.reads for x in self.products), self.columns)


class Before(NamedTuple):
    """The state before a statement: of each block of a cluster, and what is known of sizes, see ways."""

    blocks: tuple[Block, ...]
    sizes: Sizes = frozenset()


def ended(groups: tuple[frozenset[int], ...], pending: int) -> tuple[frozenset[int], tuple[frozenset[int], ...]]:
    """Divide groups: the touches of those that have ended, all but the newest, and the others."""
    count = max(0, len(groups) - 1 - pending)
    return frozenset().union(*groups[:count]), groups[count:]


def with_group(groups: tuple[frozenset[int], ...]) -> tuple[frozenset[int], ...]:
    """End a group; where all are empty they are left out."""
    return (*(groups if any(groups) else ()), _NONE)


def added(groups: tuple[frozenset[int], ...], number: int) -> tuple[frozenset[int], ...]:
    """Add a touch to the group that is not ended."""
    return (*groups[:-1], operator.or_(groups[-1], {number}))
