"""The state before a statement of a block, in a proof that no threads race: touches that not all threads know of, and
instructions under way.

Each statement is one of all threads, in the same order: so what a thread knows of others is the same for all that have
come as far, but for who is who. It is noted of each touch. A touch that is made again is known to nobody again: who
knows of the later one knows of the earlier.

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
    told       what those who have arrived at it know; `known`, of the phase that ended last
    loads      the touches of loads that it waits for; `come`, of phases that have ended, and nobody has waited for
    products   the touches of products that arrive at it; `done`, of phases that have ended
    """

    arrivals: int
    pending: int
    bytes: int = 0
    parity: int = 0
    told: Told = _NOTHING
    known: Told = _NOTHING
    loads: frozenset[int] = _NONE
    come: frozenset[int] = _NONE
    products: frozenset[int] = _NONE
    done: frozenset[int] = _NONE

    def require_idle(self) -> None:
        """Raise Unordered where loads, or products, of a phase before are not waited for."""
        if self.come or self.done:
            raise Unordered("an mbarrier whose phase before may go on")

    def arrive(self, count: int, nbytes: int) -> Phase:
        """Count arrivals, and bytes that are to come. Raises Unordered for more than the phase waits for."""
        self.require_idle()
        if self.pending < count:
            raise Unordered("more arrivals at an mbarrier than its phase waits for")
        return self._replace(pending=self.pending - count, bytes=self.bytes + nbytes)._ended()

    def receive(self, load: int, nbytes: int) -> Phase:
        """Count the bytes of a load. Raises Unordered where the phase before is not waited for."""
        self.require_idle()
        return self._replace(bytes=self.bytes - nbytes, loads=self.loads | {load})._ended()

    def wait(self, parity: int) -> Phase:
        """Wait for the phase of a parity. Raises Unordered where nothing before ends it."""
        if self.parity == parity:
            raise Unordered("a wait for a phase of an mbarrier that nothing before it ends")
        return self._replace(come=_NONE, done=_NONE)

    def without(self, number: int) -> Phase:
        """Leave out a touch, which is made again."""
        told, known = (frozenset(x for x in y if x[0] != number) for y in (self.told, self.known))
        return self._replace(told=told, known=known, products=self.products - {number}, done=self.done - {number})

    def _ended(self) -> Phase:
        if self.pending or self.bytes:
            return self
        return Phase(
            self.arrivals,
            self.arrivals,
            parity=1 - self.parity,
            known=self.told,
            come=self.come | self.loads,
            done=self.done | self.products,
        )


class Before(NamedTuple):
    """The state before a statement.

    touched    touches that not all threads know of, and who does
    copies     those of asynchronous copies under way, by groups; the last is the one that is not ended
    stores     the same of stores by TMA, and `products` of a warpgroup's products
    ummas      touches of products of tcgen05 under way
    columns    those of loads of tensor memory, and `loaded`, the registers that these write
    unseen     writes of threads that instructions do not see which read by descriptors
    registers  those that were touched since the last warpgroup_arrive
    phases     the mbarriers; those that are not set up have no arrivals
    sizes      what is known of sizes: see ways
    """

    touched: frozenset[tuple[int, Known]] = frozenset()
    copies: tuple[frozenset[int], ...] = (_NONE,)
    stores: tuple[frozenset[int], ...] = (_NONE,)
    products: tuple[Products, ...] = (Products(),)
    ummas: frozenset[int] = _NONE
    columns: frozenset[int] = _NONE
    loaded: frozenset[int] = _NONE
    unseen: frozenset[int] = _NONE
    registers: frozenset[int] = _NONE
    phases: tuple[Phase, ...] = ()
    sizes: Sizes = frozenset()

    def touch(self, number: int, *, unseen: bool = False) -> Before:
        """Add a touch, of which each thread knows its own."""
        return self._replace(
            touched=frozenset(x for x in self.touched if x[0] != number) | {(number, Known())},
            products=tuple(x._replace(before=x.before - {number}) for x in self.products),
            phases=tuple(x.without(number) for x in self.phases),
            unseen=self.unseen | {number} if unseen else self.unseen,
        )

    def met(self) -> Before:
        """Let all threads wait for each other."""
        return self._replace(
            touched=frozenset(),
            products=tuple(x._replace(before=_NONE) for x in self.products),
            phases=tuple(x._replace(told=_NOTHING, known=_NOTHING) for x in self.phases),
        )

    def of(self, number: int, threads: int) -> int:
        """The number of threads, the first ones, of whose touch the first one knows; all of one that it knows."""
        known = dict(self.touched).get(number)
        return threads if known is None else max(1, *known)

    def told(self, threads: int | None) -> Told:
        """The knowledge that an arrival tells: of the first thread, as far as it knows; or of all, so many."""
        return frozenset((n, threads or max(1, *known)) for n, known in self.touched)

    def learn(self, told: Mapping[int, Known], threads: int) -> Before:
        """Let all threads know of touches, those of a group or those of the first ones."""
        touched = []
        for number, known in self.touched:
            more = Known(*map(max, known, told.get(number, known)))
            touched += [(number, more)] * (max(more) < threads)
        return self._replace(touched=frozenset(touched))

    def at(self, place: int, phase: Phase) -> Before:
        """Change an mbarrier."""
        return self._replace(phases=(*self.phases[:place], phase, *self.phases[place + 1 :]))

    def written(self) -> Iterable[int]:
        """The touches of instructions under way that write memory, but products of tcgen05."""
        loads = (touches for phase in self.phases for touches in (phase.loads, phase.come))
        return frozenset().union(*self.copies, *loads)

    def read(self) -> Iterable[int]:
        """The touches of instructions under way that read memory, but products of tcgen05."""
        return frozenset().union(*self.stores, *(x.reads for x in self.products), self.columns)


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
