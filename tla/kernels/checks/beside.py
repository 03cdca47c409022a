"""The blocks of a cluster beside each other: what each has done to its memory, and what it knows of the others.

A block learns that all threads of another have come to a statement by the barrier of the cluster, and by no other word;
that products of another have ended by an mbarrier at which they arrive, too. By other waits it sees no more than that
something was before.

Source: clocks as those of threads; the PTX manual, "barrier.cluster", "mbarrier", "tcgen05.commit".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..block.touched import Marks

#: An mbarrier: the rank of its block, the key of its tensor, its number.
Place = tuple[int, int, int]
_Of = TypeVar("_Of", int, Place)


@dataclass
class Told:
    """The knowledge that other blocks give by a phase of an mbarrier.

    products   rank of a block -> the number of its last product that has ended
    seen       rank -> the statement that all its threads had come to
    phases     mbarrier of a block -> how many of its phases have ended
    lines      of the statements by which loads and arrivals come, and the rank of the block of each
    """

    products: dict[int, int] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)
    phases: dict[Place, int] = field(default_factory=dict)
    lines: list[tuple[Line, int]] = field(default_factory=list)

    def add(self, other: Told) -> None:
        """Add what another phase tells."""
        _later(self.products, other.products)
        _later(self.seen, other.seen)
        _later(self.phases, other.phases)
        self.lines += other.lines


class _Arrived(NamedTuple):
    """A block that arrives at the cluster's barrier: the number of the statement, and what it knew then."""

    number: int
    products: dict[int, int]
    seen: dict[int, int]
    phases: dict[Place, int]


class Clash(NamedTuple):
    """A statement of a block that is not known to have ended: its kind, thread, number, element, writes."""

    what: str
    who: int
    number: int
    place: int
    writes: bool


class Beside:
    """A block of a cluster beside the others.

    rank       its number in the cluster
    alone      whether there are no others, so that nothing is noted for them
    ends       number of a load to its memory, or of a product that reads it -> the block, and the number there, of the
               statement that waited for the load, or of the product: who knows of that knows that this has ended
    knows      rank -> the statement that it knows all threads of that block to have come to, by the cluster's barrier
    products   rank -> the product of that block that it knows to have ended
    seen       rank -> the statement that all threads of that block had come to, before what it has waited for
    phases     mbarrier of a block -> how many of its phases it knows to have ended, for that block has waited for them

    Source: ours.
    """

    def __init__(self, rank: int = 0, *, alone: bool = False) -> None:
        self.rank, self.alone = rank, alone
        self.ends: dict[int, tuple[int, int]] = {}
        self.knows: dict[int, int] = {}
        self.products: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.phases: dict[Place, int] = {}
        self._touched = {what: Marks() for what in ("written", "read", "umma", "load")}
        self._arrived: list[_Arrived] = []
        self._waits = 0

    def put(self, what: str, t: Tensor, places: Any, who: Any, number: int) -> None:
        """Note elements that threads have "written" or "read"; that a product reads, "umma"; that a "load" writes."""
        if not self.alone:
            self._touched[what].put(t, places, who, number)

    def has_ended(self, number: int, to: Beside) -> bool:
        """Whether a block knows that a load to this block's memory, or a product that reads it, has ended."""
        if number not in self.ends:
            return False
        rank, last = self.ends[number]
        return to.products.get(rank, -1) >= last

    def has_come(self, number: int, to: Beside) -> bool:
        """Whether a block knows that a load has ended: it has waited for it, or knows of the block that has."""
        if number not in self.ends:
            return False
        rank, last = self.ends[number]
        return to.rank == rank or to.knows.get(rank, -1) >= last or self.has_ended(number, to)

    def clash(self, other: Beside, t: Tensor, places: Any, *, writes: bool) -> Clash | None:
        """The first statement of this block that `other` races with, which touches elements of this block's."""
        knows = other.knows.get(self.rank, -1)
        for what, marks in self._touched.items():
            if what in ("written", "load") or writes:
                for who, number, place in marks.each(t, places):
                    known = {"umma": self.has_ended, "load": self.has_come}.get(what, lambda n, _to: n <= knows)
                    if not known(number, other):
                        kind = what if what in ("umma", "load") else "cluster"
                        return Clash(kind, who, number, place, what in ("written", "load"))
        return None

    def arrive(self, number: int) -> None:
        """Arrive at the cluster's barrier."""
        self._arrived.append(_Arrived(number, {**self.products}, {**self.seen, self.rank: number}, {**self.phases}))

    def wait(self, others: Sequence[Beside]) -> int:
        """Learn what all blocks knew when they came to the cluster's barrier: the statement at which this one did."""
        for other in others:
            if self._waits < len(other._arrived):
                arrived = other._arrived[self._waits]
                self.knows[other.rank] = arrived.number
                _later(self.products, arrived.products)
                _later(self.seen, arrived.seen)
                _later(self.phases, arrived.phases)
        self._waits += 1
        return self._arrived[self._waits - 1].number

    def learn(self, told: Told) -> None:
        """Learn what a phase tells that has been waited for."""
        _later(self.products, told.products)
        _later(self.seen, told.seen)
        _later(self.phases, told.phases)

    def told(self, line: Line, come_to: int, product: int | None = None) -> Told:
        """The knowledge that a statement gives to other blocks: where all threads are, the last product that ends."""
        products = {} if product is None else {self.rank: product}
        return Told(products, {**self.seen, self.rank: come_to}, {**self.phases}, [(line, self.rank)])


def _later(known: dict[_Of, int], others: dict[_Of, int]) -> None:
    """Take the later of what is known of each block, or mbarrier."""
    for of, number in others.items():
        known[of] = max(known.get(of, -1), number)
