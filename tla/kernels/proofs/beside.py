"""Statements of the blocks of a cluster, each of all blocks one after the other; without clusters there is one.

A block loads to another one's memory, multiplies it, and arrives at its mbarriers, when it knows that nobody touches it
any more. It learns that all threads of another have come to a statement by the barrier of the cluster; by an mbarrier
that loads have come, products have ended, and what the block that sent these has seen of phases.

An arrival, or bytes, count for the phase that they are meant for: who sends them knows that the phase before has ended,
and who arrives that all threads have waited for it. So no other order of blocks ends a phase by other arrivals.

Source: clocks as those of threads; the PTX manual, "barrier.cluster", "mbarrier", "tcgen05.commit", "ctaMask".
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...core.int_tuple import size
from ...core.ints import known
from ...gpu.descriptors.tma import OF_PAIRS
from ...tensors.tensor import Tensor
from ..program.instructions import is_of_tensor_memory
from ..program.statements import Barrier, Load, Order, Product, Program, Signal, Statement
from .before import Before, Beside, Block, Facts, Phase, Unordered
from .ordering import FIRST, Ordering
from .touches import Known, Stages, Unknown, of_threads


@dataclass
class _Here:
    """A block at a statement: the blocks of its cluster, its number among them, the values of what loops count."""

    blocks: list[Block]
    rank: int
    stages: Stages

    @property
    def block(self) -> Block:
        """The state of the block."""
        return self.blocks[self.rank]

    @block.setter
    def block(self, block: Block) -> None:
        self.blocks[self.rank] = block

    def forget(self, fact: tuple[int, int]) -> None:
        """Let nobody know of a fact, of what is made again."""
        self.blocks[:] = [x.without_fact(fact) for x in self.blocks]


class Together(Ordering):
    """The statements of a program, each a step from one state of all blocks of a cluster to the next."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        modes = [range(n) for n in reversed(program.cluster)]
        self.coords = [{str(b): n for b, n in zip(program.blocks, reversed(at))} for at in itertools.product(*modes)]
        self.ranks = tuple(range(len(self.coords)))
        count = len(self._phases)
        self._ended = {place: wait - 2 * count for place, wait in self._waits.items()}  # as waits, facts of mbarriers
        self._sends = -1 - 3 * count  # the fact that a block has sent something
        self._masks: dict[tuple[int, int], list[int]] = {}
        self._of_products: set[int] = set()
        self._pair = max((x.sms for x in program.tmem), default=1)
        block = Block(phases=(Phase(0, 0),) * count, beside=Beside() if program.cluster else None)
        self.first = Before((block,) * len(self.ranks))

    def behind(self, s: Statement, before: Before, stages: Stages, ranks: Sequence[int]) -> Before:
        """The state before the next statement, of which blocks of some ranks come to this one.

        Raises Unknown for a race, or where that is not seen.
        """
        blocks = [*before.blocks]
        try:
            if isinstance(s, Barrier) and s.of_cluster:
                self._require_all("cluster_sync", ranks)
                blocks = [x.met() for x in self._waited_for(self._arrived_at(blocks))]
            elif isinstance(s, Order) and s.word.startswith("cluster_"):
                self._require_all(s.word, ranks)
                blocks = (self._arrived_at if s.word == "cluster_arrive" else self._waited_for)(blocks)
            else:
                for rank in ranks:
                    self._step(s, _Here(blocks, rank, {**stages, **self.coords[rank]}))
        except Unordered as reason:
            raise Unknown(f"{s.line}: {reason}") from None
        learns = isinstance(s, (Barrier, Order)) or (isinstance(s, Signal) and s.word == "wait_barrier")
        return before._replace(blocks=self._settled(blocks) if learns else tuple(blocks))

    def _step(self, s: Statement, here: _Here) -> None:
        if isinstance(s, Load) and s.barriers is not None:
            self._loaded(s, s.barriers, here)
        elif isinstance(s, Product) and is_of_tensor_memory(s.step.mma.atom):
            self._added_up(s, here)
        elif isinstance(s, Signal):
            self._signalled(s, here)
        else:
            here.block = self._of_block(s, here.block, here.stages)

    def why_not_ended(self, before: Before) -> str | None:
        """The reason why a block may not end; None where it may. Its own loads to its memory may be under way."""
        for rank, block in enumerate(before.blocks):
            if any(block.stores):
                return "a store by TMA that nobody waits for before the block ends"
            told = {x for phase in block.phases for x in phase.facts | phase.over}
            sent = any(number == self._sends and of != rank for of, number in told)
            under_way = {(rank, x) for x in block.loads} - told or (block.ummas and rank % self._pair)
            if block.beside is not None and (sent or under_way):
                return "memory of a block that others of its cluster may touch when it has ended"
        return None

    def _settled(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """Leave out the instructions of which all blocks know that they have ended."""
        sides = [x.beside for x in blocks if x.beside is not None]
        if not sides:
            return tuple(blocks)
        by_all = frozenset.intersection(*(x.knows for x in sides))
        going = {(rank, x) for rank, side in enumerate(sides) for x in side.under_way} - by_all
        found = []
        for rank, (block, side) in enumerate(zip(blocks, sides)):
            under_way = frozenset(x for x in side.under_way if (rank, x) in going)
            knows = frozenset(x for x in side.knows if x[1] < 0 or x in going)
            found.append(block._replace(beside=side._replace(under_way=under_way, knows=knows)))
        return tuple(found)

    # ---------------------------------------------------------------------------------------- the cluster's barrier

    def _require_all(self, word: str, ranks: Sequence[int]) -> None:
        if len(ranks) < len(self.ranks):
            raise Unordered(f"{word}, to which some blocks of the cluster may not come")

    def _arrived_at(self, blocks: Sequence[Block]) -> list[Block]:
        """Let all blocks arrive at the cluster's barrier."""
        found = []
        for rank, block in enumerate(blocks):
            beside = block.beside
            if beside is None or beside.arrived is not None:
                raise Unordered("an arrival at the barrier of the cluster without a wait for the one before")
            touched = beside.touched | {x for x, _who in block.touched}
            facts = beside.knows | {(rank, x) for x in self._waits.values()}
            found.append(block._replace(beside=beside._replace(arrived=(touched, facts))))
        return found

    def _waited_for(self, blocks: Sequence[Block]) -> list[Block]:
        """Let all blocks know of what stood before the arrivals."""
        sides = [x.beside for x in blocks]
        arrived = [x.arrived for x in sides if x is not None and x.arrived is not None]
        if len(arrived) < len(blocks):
            raise Unordered("a wait at the barrier of the cluster without an arrival")
        facts: Facts = frozenset().union(*(known_then for _touched, known_then in arrived))
        found = []
        for rank, (block, side, (touched, _facts)) in enumerate(zip(blocks, sides, arrived)):
            left = frozenset(x for x in block.touched if x[0] not in touched)
            beside = side and side._replace(touched=side.touched - touched, arrived=None)
            found.append(block._replace(touched=left, beside=beside).learn_facts(facts, rank))
        return found

    # ---------------------------------------------------------------------------------------- memory of several blocks

    def _blocks_of(self, s: Load | Signal, here: _Here) -> list[int]:
        """The blocks that a load comes to, or at whose mbarriers products arrive."""
        if s.mask is None:
            return [here.rank]
        key = id(s), here.rank
        if key not in self._masks:
            parts = tuple((pattern, self._value(s, shift, here.stages)) for pattern, shift in s.mask.parts)
            self._masks[key] = s.mask._replace(parts=parts).ranks
        return self._masks[key]

    def _require_free_in(self, to: int, number: int, here: _Here, *, of_products: bool = False) -> None:
        """Require that a touch of a block's memory is ordered with what is before it. Raises Unordered."""
        block, own = here.blocks[to], here.block.beside
        if to == here.rank:
            self._require_free(number, block, of_products=of_products)
            return
        assert own is not None  # there are other blocks
        assert block.beside is not None
        touched = (*block.beside.touched, *frozenset().union(*block.copies), *block.read())
        if any(self._clash(x, number) for x in touched):
            raise Unordered("memory of another block of the cluster, which that may still touch")
        going = {x for x in block.beside.under_way if (to, x) not in own.knows}
        if any(self._clash(x, number) for x in going - (self._of_products if of_products else set())):
            raise Unordered("memory of another block of the cluster, which an instruction may still touch")

    def _clash(self, before: int, number: int) -> bool:
        """Whether two touches are of one element, and one of them writes."""
        writes = self._touches.writes(before) or self._touches.writes(number)
        return writes and self._touches.overlap(before, number)

    def _loaded(self, s: Load, barriers: Tensor, here: _Here) -> None:
        """A load by TMA: the first thread writes, when nobody else touches it."""
        self._used(s, barriers, here)
        number = self._touches.number(s.line, s.target.tensor, here.stages, True, by=FIRST)
        for to in self._blocks_of(s, here):
            self._require_free_in(to, number, here)
            self._require_seen(number, here.blocks[to])
            here.forget((to, number))
            block = here.blocks[to]
            here.blocks[to] = block._replace(loads=block.loads | {number}, beside=_begun(block.beside, number))
            come = operator.methodcaller("receive", s.step.bytes, self._sent(here) | {(to, number)})
            self._change(s, barriers, here, to & ~1 if s.step.tma.operation in OF_PAIRS else to, come)

    def _added_up(self, s: Product, here: _Here) -> None:
        """A product of tcgen05: the first thread reads shared memory, adds to tensor memory; of two blocks in both."""
        together = int(size(s.step.mma.atom.thr_id))
        self._require_leader(together, here)
        for to in range(here.rank, here.rank + together):
            numbers = []
            for name in "ABD":
                t = s.operands[name].tensor
                number = self._touches.number(s.line, t, here.stages, name == "D", by=FIRST)
                self._require_free_in(to, number, here, of_products=name == "D")
                if name != "D":
                    self._require_seen(number, here.blocks[to])
                numbers.append(number)
            for number in numbers:
                self._of_products.add(number)
                here.forget((to, number))
                block = here.blocks[to]
                here.blocks[to] = block._replace(ummas=block.ummas | {number}, beside=_begun(block.beside, number))

    def _require_leader(self, together: int, here: _Here) -> None:
        if here.rank % together:
            raise Unordered("products of two blocks by the second of a pair")

    # ---------------------------------------------------------------------------------------- mbarriers

    def _of_mbarriers(self, s: Statement, t: Tensor, stages: Stages) -> int:
        """The touch of mbarriers by those who use them."""
        return self._touches.number(s.line, t, stages, False, by=slice(None, None, self._threads))

    def _used(self, s: Load | Signal, t: Tensor, here: _Here) -> int:
        """Use an mbarrier that somebody set up before, and a barrier is between: its place."""
        number = self._of_mbarriers(s, t, here.stages)
        self._require_free(number, here.block)
        here.block = here.block.touch(number)
        return self._phases[id(t.data), self._value(s, s.at, here.stages)]

    def _value(self, s: Statement, x: object, stages: Stages) -> int:
        n = known(x)
        return int(of_threads(s.line, [x], self._program, stages)[0]) if n is None else n

    def _sent(self, here: _Here) -> Facts:
        """The facts of phases that a block tells others by what it sends."""
        if here.block.beside is None:
            return frozenset()
        seen = {x for x in here.block.beside.knows if x[1] < 0}
        waited = (x for x in self._waits.values() if self._all_have(x, here))
        return frozenset({*seen, *((here.rank, x) for x in waited), (here.rank, self._sends)})

    def _all_have(self, wait: int, here: _Here) -> bool:
        """Whether all threads of the block have waited for the last phase of an mbarrier, as the first one knows."""
        return here.block.of(wait, self._threads) == self._threads

    def _change(
        self,
        s: Load | Signal,
        t: Tensor,
        here: _Here,
        to: int,
        change: Callable[[Phase], Phase],
        *,
        arrives: bool = False,
    ) -> None:
        """Change the phase of a block's mbarrier by bytes, or an arrival, that are meant for it. Raises Unordered."""
        place = self._phases[id(t.data), self._value(s, s.at, here.stages)]
        if to != here.rank:
            self._require_free_in(to, self._of_mbarriers(s, t, here.stages), here)
            assert here.block.beside is not None  # there are other blocks
            facts = here.block.beside.knows
            if (to, self._ended[place]) not in facts:
                raise Unordered("an mbarrier of another block whose phase before may go on")
            if arrives and (to, self._waits[place]) not in facts:
                raise Unordered("an mbarrier at which another block may still wait for the phase before")
        elif arrives and not self._all_have(self._waits[place], here):
            raise Unordered("an mbarrier at which a thread may still wait for the phase before")
        phase = here.blocks[to].phases[place]
        changed = change(phase)
        here.blocks[to] = here.blocks[to].at(place, changed)
        if changed.parity != phase.parity:
            here.forget((to, self._ended[place]))

    def _signalled(self, s: Signal, here: _Here) -> None:
        """A statement about an mbarrier."""
        if s.word == "initialize_barrier":
            self._set_up(s, here)
            return
        place = self._used(s, s.barriers, here)
        if s.word == "wait_barrier":
            self._waited_at(place, self._value(s, s.number, here.stages), here)
        elif s.word == "arrive_barrier":
            self._all_arrived(s, place, here)
        elif s.word == "set_barrier_transaction_bytes":
            told = _most(here.block.phases[place].told | here.block.told(None))
            count = int(s.number)
            self._change(s, s.barriers, here, here.rank, lambda x: x._replace(told=told).arrive(1, count), arrives=True)
        else:
            self._products_arrive(s, here)

    def _set_up(self, s: Signal, here: _Here) -> None:
        number = self._touches.number(s.line, s.barriers, here.stages, True, by=FIRST)
        here.block = self._touched(number, here.block)
        for at in range(int(size(s.barriers.shape))):
            place = self._phases[id(s.barriers.data), at]
            here.block = here.block.at(place, here.block.phases[place].set_up(int(s.number)))
            self._know(here, {(here.rank, self._ended[place])})

    def _know(self, here: _Here, facts: Iterable[tuple[int, int]]) -> None:
        if here.block.beside is not None:
            here.block = here.block.learn_facts(frozenset(facts), here.rank)

    def _waited_at(self, place: int, parity: int, here: _Here) -> None:
        """All threads wait for the end of a phase, and know what it tells."""
        block, wait = here.block, self._waits[place]
        told = {x: Known(1, first) for x, first in block.phases[place].known}
        facts = frozenset(x for x in block.phases[place].over if x[1] != self._sends)
        block = block.at(place, block.phases[place].wait(parity)).learn_facts(facts, here.rank)
        here.block = block.learn(told, self._threads).touch(wait)
        here.forget((here.rank, wait))
        self._know(here, {(here.rank, self._ended[place])})

    def _all_arrived(self, s: Signal, place: int, here: _Here) -> None:
        """An arrival of all threads."""
        met = self._waits[place] - len(self._phases)
        if self._threads > 1 and met in dict(here.block.touched):
            raise Unordered("an arrival at an mbarrier for which another thread may not have arrived before")
        here.block = here.block.touch(met)
        told = _most(here.block.phases[place].told | here.block.told(self._threads))
        self._change(s, s.barriers, here, here.rank, lambda x: x._replace(told=told).arrive(self._threads, 0))

    def _products_arrive(self, s: Signal, here: _Here) -> None:
        """An arrival of products of tcgen05, when they have ended."""
        if s.word.endswith("2x1SM"):
            self._require_leader(2, here)
        facts = set(self._sent(here))
        for of in range(here.rank, here.rank + self._pair if here.block.beside else here.rank + 1):
            block = here.blocks[of]
            going = block.ummas if block.beside is None else block.beside.under_way & self._of_products
            facts |= {(of, x) for x in going}
        if here.block.beside is not None:
            facts |= here.block.beside.knows
        for to in self._blocks_of(s, here):
            self._change(s, s.barriers, here, to, lambda x: x.arrive(1, 0, frozenset(facts)), arrives=True)


def _begun(beside: Beside | None, number: int) -> Beside | None:
    """A block beside others, with an instruction more that touches its memory."""
    return beside and beside._replace(under_way=beside.under_way | {number})


def _most(told: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """The most that is told of each touch."""
    found: dict[int, int] = {}
    for number, first in told:
        found[number] = max(first, found.get(number, 0))
    return frozenset(found.items())
