"""Races by every access: an element that one thread writes, and another touches with no barrier between.

Two levels ask the same: threads of a block between two barriers, and blocks of the grid, which never wait
for each other.

Source: the PTX manual, "Memory Consistency Model", "Data-races".
"""

from __future__ import annotations

from typing import Any

from ...algebra.make import make_layout
from ...gpu.instructions.tmem import LANES, PATH_BITS
from ...gpu.run.sides import memory_of
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ..block.allocation import Allocation, address_of
from ..block.lines import Line
from ..block.mbarriers import Mbarrier, Mbarriers
from ..block.touched import SEVERAL, Access, Marks, accessed, count_of, key_of, name_of
from .beside import Beside, Place, Told
from .clocks import Clocks
from .levels import Findings, Level
from .race import Race, Unwritten

#: A word that orders asynchronous instructions -> what their groups are of.
_GROUPS = {
    "cp_async_fence": "copy",
    "cp_async_wait": "copy",
    "tma_store_arrive": "store",
    "tma_store_wait": "store",
    "warpgroup_commit_batch": "product",
    "warpgroup_wait": "product",
}


class Phase:
    """An mbarrier.

    ended   how many of its phases have ended
    told    what those who have arrived know, of the phase that goes on; `known`, of the one that ended last
    loads   loads of the phase that goes on, each with the block whose memory they write; `come`, of phases that have
            ended, and that nobody has waited for
    products   the number of the last product of tcgen05 that arrives at the phase that goes on; `done`, at
               phases that have ended
    waited  the number of the last statement that waited for it, and `arrived` of that by which all threads arrived
    going   what other blocks of the cluster tell by the phase that goes on; `over`, by phases that have ended
    """

    def __init__(self) -> None:
        self.ended = 0
        self.told: Any = None
        self.known: Any = None
        self.loads: list[tuple[Races, int]] = []
        self.come: list[tuple[Races, int]] = []
        self.products = self.done = -1
        self.waited: int | None = None
        self.arrived: int | None = None
        self.going, self.over = Told(), Told()


class Races:
    """The races of a block that runs.

    A barrier is needed if without it something before it races with something behind it: before it up to the last that
    was needed, behind it up to the next.

    threads   of the block
    findings  what is found, of all blocks
    block     the number of the block in the grid
    beside    what is noted for the other blocks of its cluster

    Source: ours.
    """

    def __init__(self, threads: int, findings: Findings, block: int = 0, beside: Beside | None = None) -> None:
        self.findings, self.threads, self.block, self.beside = findings, threads, block, beside or Beside(alone=True)
        self._before: list[Level] = []
        self._last: Line | None = None
        self._is_needed = False
        self._lines = findings.lines
        self._threads = Level("thread")
        self._written: dict[int, Any] = {}
        self._groups: dict[str, list[list[tuple[int, Access]]]] = {what: [[]] for what in _GROUPS.values()}
        self._under_way = {what: Marks() for what in (*_GROUPS.values(), "load", "umma", "accumulator", "tmem")}
        self._products: list[tuple[int, list[tuple[str, Tensor, Any, Any]]]] = []
        self._loads: list[tuple[int, Access]] = []
        self._loaded: list[tuple[int, Access, Tensor]] = []
        self._unseen = Marks()
        self._since_arrive: dict[int, tuple[Tensor, Line]] = {}
        self._clocks: Clocks | None = None
        self._phases: dict[tuple[int, int], Phase] = {}

    def order(self, line: Line, word: str, pending: int) -> None:
        """Note a statement that orders asynchronous instructions with others."""
        if word == "warpgroup_arrive":
            self._since_arrive.clear()
        elif word == "fence_view_async_shared":
            self._unseen.clear()
        elif word == "fence_view_async_tmem_load":
            self._end_loads()
        elif word.endswith("wait"):
            self._end_groups(_GROUPS[word], pending)
        else:
            self._groups[_GROUPS[word]].append([])

    def _end_loads(self) -> None:
        """End loads of tensor memory: each thread has read its own then; others know of it by a barrier behind."""
        self._under_way["tmem"].clear()
        for number, source, _target in self._loaded:
            touched, read = accessed(source, self.threads), self._number(self._lines[number])
            self._ask(self._threads, source.tensor, touched, read, False)
        self._loaded.clear()

    def _end_groups(self, what: str, pending: int) -> None:
        """End all groups but the `pending` newest: each thread has then written what its copies write, and read what
        its products read.

        A product of the only warpgroup of a block needs no barrier more: who waited for it waited for what
        every thread of it reads.
        """
        groups = self._groups[what]
        ended = groups[: max(0, len(groups) - 1 - pending)]
        del groups[: len(ended)]
        self._under_way[what].clear()
        for number, access in (given for group in groups for given in group):
            self._mark(what, access, number)
        for number, access in (given for group in ended for given in group):
            if what == "store":  # the first thread has waited: others go on after a barrier
                ended_at = self._number(self._lines[number])  # what barriers told before does not say that it has
                self._ask(self._threads, access.tensor, accessed(access, 1), ended_at, False)
                continue
            if what == "product" and self._clocks is not None:
                self._clocks.meet(access.together, number)
            if what == "product" and memory_of(access.tensor) == "smem":
                self.beside.put("read", access.tensor, *accessed(access, self.threads), len(self._lines) - 1)
            if what == "copy":
                self.note(self._lines[number], [], [access])
            elif memory_of(access.tensor) == "smem" and access.together < self.threads:
                self.note(self._lines[number], [access], [])

    def _mark(self, what: str, access: Access, number: int) -> None:
        """Mark the elements of shared memory that an instruction under way writes, or reads."""
        if what == "store":
            self._under_way[what].put(access.tensor, *accessed(access, 1), number)
        elif memory_of(access.tensor) != "registers":
            self._under_way[what].put(access.tensor, *accessed(access, self.threads), number)

    def copy(self, line: Line, access: Access) -> None:
        """Note an asynchronous copy: until it is waited for nobody may touch what it writes."""
        number = self._number(line)
        self._groups["copy"][-1].append((number, access))
        self._mark("copy", access, number)

    def product(self, line: Line, reads: list[Access], adds: list[Tensor]) -> None:
        """Note an asynchronous product: until its wait nobody may write what it reads, or touch what it adds to."""
        number = self._number(line)
        for t in (*adds, *(x.tensor for x in reads if memory_of(x.tensor) == "registers")):
            before = self._since_arrive.get(key_of(t))
            if before is not None:
                self._add(Race("register", "registers", 0, 0, True, before[1], None, True, line))
        for access in reads:
            t, (places, who) = access.tensor, accessed(access, self.threads)
            if memory_of(t) != "smem":
                continue
            self._ask_loaded(t, places, who, number, False)
            self._ask(self._threads, t, (places, who), number, False, remembered=access.together < self.threads)
            self._ask_needed(t, places, who, False)
            self._ask_written(t, places, who, line, False)
            self._ask_seen(t, places, line, None)
            self._mark("product", access, number)
        self._groups["product"][-1] += [(number, access) for access in (*reads, *map(Access, adds))]

    # --------------------------------------------------------------------------------------------- mbarriers

    def set_up(self, line: Line, made: Mbarriers) -> None:
        """Note mbarriers that the first thread sets up."""
        import numpy as np

        self._begun()
        first = (np.arange(self.threads) == 0)[:, None]
        self.note(line, [], [Access(made.held, first)])
        for at in range(len(made.ended)):
            self._phases[key_of(made.held), at] = Phase()

    def arrive(self, line: Line, barrier: Mbarrier, *, alone: bool) -> None:
        """Note that the first thread, or each, arrives at an mbarrier: who waits for it knows what they have done."""
        clocks, phase = self._used(line, barrier)
        number = len(self._lines) - 1
        told = clocks.arriving(0 if alone else None, number)
        if alone:
            self._ask_all_have_waited(line, barrier, clocks, phase)
        else:
            if phase.arrived is not None and not clocks.know(SEVERAL, phase.arrived, SEVERAL):
                at = self._lines[phase.arrived]
                self._add(Race("arrival", "mbarriers", int(barrier.at), None, False, at, None, True, line))
            phase.arrived = number
        phase.told = told if phase.told is None else phase.told.clip(min=told)

    def _ask_all_have_waited(self, line: Line, barrier: Mbarrier, clocks: Clocks, phase: Phase) -> None:
        """Add the race of the first thread, which arrives, with one that may still wait for the phase before."""
        if phase.waited is None:
            return
        self._is_needed = self._is_needed or clocks.unknown(phase.waited, without=True) is not None
        unknown = clocks.unknown(phase.waited)
        if unknown is not None:
            waited = self._lines[phase.waited]
            self._add(Race("phase", "mbarriers", int(barrier.at), unknown, False, waited, 0, True, line))

    def load(self, line: Line, barrier: Mbarrier, source: Access, target: Access) -> None:
        """Note a load by TMA: until the phase of its mbarrier has been waited for nobody may touch what it writes."""
        _clocks, phase = self._used(line, barrier)
        self._load(line, phase, len(self._lines) - 1, source, target)

    def _load(self, line: Line, phase: Phase, number: int, source: Access, target: Access) -> None:
        """Note a load of this block to its own memory, by a phase of an mbarrier."""
        for access, written in ((source, False), (target, True)):
            t, (places, who) = access.tensor, accessed(access, 1)
            self._ask_loaded(t, places, who, number, written)
            if written:
                self._ask_read(t, places, who, number)
                self._ask_seen(t, places, line, 0)
                self._ask_written(t, places, who, line, written)
            self._ask(self._threads, t, (places, who), number, written, remembered=False)
            self._ask_needed(t, places, who, written)
        if memory_of(source.tensor) != "smem":
            places, who = accessed(source, 1)
            self._ask(self.findings.blocks, source.tensor, (places, who * 0 + self.block), number, False)
        self._begin_load(phase, number, target)

    def _begin_load(self, phase: Phase, number: int, target: Access) -> None:
        """Note that a load writes shared memory until its phase has been waited for."""
        phase.loads.append((self, number))
        self._loads.append((number, target))
        self._under_way["load"].put(target.tensor, *accessed(target, 1), number)
        self.beside.put("load", target.tensor, *accessed(target, 1), number)

    def umma(self, line: Line, reads: list[Access], adds: Access, *, accumulates: bool) -> int:
        """Note a product of the first thread that adds to tensor memory: its number.

        Until an mbarrier at which it arrives has been waited for nobody may write what it reads, nor touch what it adds
        to but another product, which comes behind it.
        """
        number = self._number(line)
        product: list[tuple[str, Tensor, Any, Any]] = []
        for access in reads:
            t, (places, who) = access.tensor, accessed(access, 1)
            self._ask_loaded(t, places, who, number, False)
            self._ask_seen(t, places, line, None)
            self._ask(self._threads, t, (places, who), number, False, remembered=False)
            self._ask_needed(t, places, who, False)
            self._ask_written(t, places, who, line, False)
            product.append(("umma", t, places, who))
        t, (places, who) = adds.tensor, accessed(adds, 1)
        self._ask_under_way("tmem", t, places, who, number, True)
        self._ask(self._threads, t, (places, who), number, True, remembered=False)
        self._ask_needed(t, places, who, True)
        if accumulates:
            self._ask_written(t, places, who, line, False)
        self._ask_written(t, places, who, line, True)
        product.append(("accumulator", t, places, who))
        self._begin_product(number, product, (self.beside.rank, number))
        return number

    def _begin_product(self, number: int, product: list[tuple[str, Tensor, Any, Any]], end: tuple[int, int]) -> None:
        """Note that a product of tcgen05 reads, and adds to, memory of this block; end: its block, and number there."""
        self._products.append((number, product))
        self.beside.ends[number] = end
        self._mark_product(number, product)
        for what, t, places, who in product:
            if what == "umma":
                self.beside.put(what, t, places, who, number)

    def _mark_product(self, number: int, product: list[tuple[str, Tensor, Any, Any]]) -> None:
        """Mark the elements that a product of tcgen05 under way reads, and those that it adds to."""
        for what, t, places, who in product:
            self._under_way[what].put(t, places, who, number)

    def commit(self, line: Line, barrier: Mbarrier) -> None:
        """Note that the products of tcgen05 so far arrive at an mbarrier as they end: who waits knows of them alone."""
        clocks, phase = self._used(line, barrier)
        self._ask_all_have_waited(line, barrier, clocks, phase)
        phase.products = len(self._lines) - 1

    def load_tmem(self, line: Line, source: Access, target: Tensor) -> None:
        """Note a load of tensor memory: until its wait nobody may touch the registers, nor write what it reads."""
        number = self._number(line)
        self._loaded.append((number, source, target))
        self._under_way["tmem"].put(source.tensor, *accessed(source, self.threads), number)

    def free(self, line: Line, allocation: Allocation) -> None:
        """Note that columns of tensor memory are freed: nobody touches them any more."""
        number = self._number(line)
        if allocation.data is None:
            return
        paths = make_layout((LANES, allocation.columns), stride=(1 << PATH_BITS, 1))
        access = Access(MakeTensor(allocation.data, paths, position="TMEM"))
        t, (places, who) = access.tensor, accessed(access, 1)
        for what in ("tmem", "accumulator"):
            self._ask_under_way(what, t, places, who, number, True)
        self._ask(self._threads, t, (places, who), number, True, remembered=False)
        self._ask_needed(t, places, who, True)

    def store(self, line: Line, source: Access, target: Access) -> None:
        """Note a store by TMA: until it has been waited for nobody may write what it reads."""
        number = self._number(line)
        t, (places, who) = source.tensor, accessed(source, 1)
        self._ask_loaded(t, places, who, number, False)
        self._ask_seen(t, places, line, 0)
        self._ask(self._threads, t, (places, who), number, False, remembered=False)
        self._ask_needed(t, places, who, False)
        self._ask_written(t, places, who, line, False)
        self._groups["store"][-1].append((number, source))
        self._mark("store", source, number)
        places, who = accessed(target, 1)
        self._ask(self._threads, target.tensor, (places, who), number, True)
        self._ask(self.findings.blocks, target.tensor, (places, who * 0 + self.block), number, True)

    def end_phase(self, barrier: Mbarrier) -> None:
        """Note phases of an mbarrier that have ended: the next arrivals are of another one."""
        phase = self._phases.get(_place(barrier))
        if phase is not None and phase.ended < barrier.of.ended[int(barrier.at)]:
            phase.ended, phase.known, phase.told = barrier.of.ended[int(barrier.at)], phase.told, None
            phase.come, phase.loads, phase.done = [*phase.come, *phase.loads], [], phase.products
            phase.over.add(phase.going)
            phase.going = Told()

    def wait_phase(self, line: Line, barrier: Mbarrier) -> None:
        """Note that every thread waits for the phase of an mbarrier that has ended last."""
        clocks, phase = self._used(line, barrier)
        phase.waited = len(self._lines) - 1
        if phase.known is not None:
            clocks.learn(phase.known)
        for owner, number in phase.come:
            owner.beside.ends[number] = self.beside.rank, phase.waited
        of = self._of_cluster(barrier)
        self.beside.learn(Told({self.beside.rank: phase.done}, phases={of: phase.ended}))
        self.beside.learn(phase.over)
        phase.come, phase.over = [], Told()
        self._forget_ended()

    def _forget_ended(self) -> None:
        """Take away the marks of products and loads that this block knows to have ended."""
        products = [x for x in self._products if not self.beside.has_ended(x[0], self.beside)]
        if len(products) < len(self._products):
            self._products = products
            for what in ("umma", "accumulator"):
                self._under_way[what].clear()
            for product in products:
                self._mark_product(*product)
        loads = [x for x in self._loads if not self.beside.has_come(x[0], self.beside)]
        if len(loads) < len(self._loads):
            self._loads = loads
            self._under_way["load"].clear()
            for number, access in loads:
                self._under_way["load"].put(access.tensor, *accessed(access, 1), number)

    def _used(self, line: Line, barrier: Mbarrier) -> tuple[Clocks, Phase]:
        """The state of an mbarrier that all threads use: somebody set it up before, and a barrier is between."""
        self.note(line, [Access(barrier.of.held)], [])
        return self._begun(), self._phases[_place(barrier)]

    def _of_cluster(self, barrier: Mbarrier) -> Place:
        """An mbarrier of this block, among those of all blocks."""
        return self.beside.rank, *_place(barrier)

    def _begun(self) -> Clocks:
        """The clocks of the threads, which begin with what orders some statements and leaves out others."""
        self._clocks = self._clocks or Clocks(self.threads)
        return self._clocks

    # ------------------------------------------------------------------------------------------- what is asked

    def _number(self, line: Line) -> int:
        """The number of a statement."""
        self._lines.append(line)
        return len(self._lines) - 1

    def wait(self, line: Line) -> None:
        """Forget who touched which element: a barrier orders them."""
        self._judge()
        if self._clocks is not None:
            self._clocks.wait(len(self._lines) - 1, needed=self._is_needed or self._last is None)
        self._before.append(self._threads)
        self._threads, self._last, self._is_needed = Level("thread"), line, False

    def _judge(self) -> None:
        """Judge the last barrier by what came behind it."""
        if self._last is not None:
            self.findings.barriers[self._last] = self.findings.barriers.get(self._last, False) or self._is_needed
        if self._is_needed:
            self._before.clear()

    def note(self, line: Line, reads: list[Access], writes: list[Access]) -> None:
        """Note what a statement of all threads reads, then what it writes."""
        number = self._number(line)
        for accesses, written in ((reads, False), (writes, True)):
            for access in accesses:
                if memory_of(access.tensor) == "registers":
                    self._note_registers(access.tensor, line, written)
                elif access.tensor.data is not None:
                    self._note(access, number, written)

    def _note_registers(self, t: Tensor, line: Line, written: bool) -> None:
        """Note that threads touch registers: products that have them must be waited for, or see warpgroup_arrive."""
        key = key_of(t)
        for number, access in (given for group in self._groups["product"] for given in group):
            held = memory_of(access.tensor) == "registers" and key_of(access.tensor) == key
            if held and (written or access.together == 1):
                self._add(Race("product", "registers", 0, None, True, self._lines[number], 0, written, line))
        for number, _source, target in self._loaded:
            if key_of(target) == key:
                self._add(Race("tmem", "registers", 0, 0, True, self._lines[number], 0, written, line))
        self._since_arrive[key] = t, line

    def end_block(self) -> None:
        """End the block. Stores by TMA read its shared memory until they are waited for."""
        for number, access in (given for group in self._groups["store"] for given in group):
            place, line = int(accessed(access, 1)[0][0]), self._lines[number]
            self._add(Race("store", name_of(access.tensor), place, None, False, line, None, True, line))
        self._judge()

    def _note(self, access: Access, number: int, written: bool) -> None:
        t = access.tensor
        places, threads = accessed(access, self.threads)
        self._ask_loaded(t, places, threads, number, written)
        if written:
            self._ask_read(t, places, threads, number)
        self._ask(self._threads, t, (places, threads), number, written, adds=access.adds)
        self._ask_needed(t, places, threads, written, adds=access.adds)
        if memory_of(t) in ("smem", "TMEM"):
            self.beside.put("written" if written else "read", t, places, threads, number)
            if access.adds:  # to what is there
                self._ask_written(t, places, threads, self._lines[number], False)
            self._ask_written(t, places, threads, self._lines[number], written)
            if written:
                self._unseen.put(t, places, threads, number)
        else:
            self._ask(self.findings.blocks, t, (places, threads * 0 + self.block), number, written, adds=access.adds)

    def _ask_needed(self, t: Tensor, places: Any, who: Any, written: bool, *, adds: bool = False) -> None:
        """Ask whether an access needs a barrier before it."""
        if not self._is_needed:
            self._is_needed = any(level.clashes(t, places, who, _does(written, adds)) for level in self._before)

    def _ask(
        self,
        level: Level,
        t: Tensor,
        accesses: tuple[Any, Any],
        number: int,
        written: bool,
        *,
        remembered: bool = True,
        adds: bool = False,
    ) -> None:
        """Add the race of an access with those before it; remembered: whether it is noted for those behind it."""
        places, who = accesses
        touched = level.of(t)
        clocks = self._clocks if level is self._threads else None
        if remembered:
            found = touched.note(places, who, number, clocks, _does(written, adds))
        else:
            found = touched.clash(places, who, clocks, _does(written, adds))
        if found is None:
            return
        i, did = found
        place = int(places[i])
        before, at = touched.by[did]
        first, line = named(int(before[place])), self._lines[int(at[place])]
        place, after = _number_of(t, place), named(int(who[i]))
        wrote = did != "reads"
        self._add(Race(level.who, name_of(t), place, first, wrote, line, after, written, self._lines[number]))

    def _ask_written(self, t: Tensor, places: Any, threads: Any, line: Line, written: bool) -> None:
        """Note what a block has written of its shared memory, and the first of a line that it reads before."""
        import numpy as np

        held = self._written.setdefault(key_of(t), np.zeros(count_of(t), bool))
        if written:
            held[places] = True
        elif line not in self.findings.unwritten and not held[places].all():
            i = int(np.argmin(held[places]))
            place, who = _number_of(t, places[i]), named(int(threads[i]))
            self.findings.unwritten[line] = Unwritten(line, place, who, name_of(t))

    def _ask_read(self, t: Tensor, places: Any, who: Any, number: int) -> None:
        """Add the race of a write with what is still being read from shared memory."""
        for what in ("product", "store", "umma"):
            self._ask_under_way(what, t, places, who, number, True)

    def _ask_seen(self, t: Tensor, places: Any, line: Line, who: int | None) -> None:
        """Add the race of an instruction that does not see what threads wrote to shared memory."""
        if (found := self._unseen.first(t, places)) is not None:
            i, writer, at = found
            place, wrote = _number_of(t, places[i]), self._lines[at]
            self._add(Race("proxy", name_of(t), place, writer, True, wrote, who, who is not None, line))

    def _ask_loaded(self, t: Tensor, places: Any, who: Any, number: int, written: bool) -> None:
        """Add the race of an access with what is still being written to shared memory."""
        for what in ("copy", "load", "accumulator"):
            self._ask_under_way(what, t, places, who, number, written)

    def _ask_under_way(self, what: str, t: Tensor, places: Any, who: Any, number: int, written: bool) -> None:
        """Add the race of an access with an asynchronous instruction that is under way."""
        found = self._under_way[what].first(t, places)
        if found is not None:
            i, holder, at = found
            before = named(holder) if what in ("copy", "load", "tmem") else None
            place, after, line = _number_of(t, places[i]), named(int(who[i])), self._lines[number]
            writes = what in ("copy", "load", "accumulator")
            self._add(Race(what, name_of(t), place, before, writes, self._lines[at], after, written, line))

    def _add(self, race: Race) -> None:
        if not any((race.line, race.at, race.who) == (r.line, r.at, r.who) for r in self.findings.races):
            self.findings.races.append(race)


def _place(barrier: Mbarrier) -> tuple[int, int]:
    """An mbarrier of a block: the key of its tensor, its number."""
    return key_of(barrier.of.held), int(barrier.at)


def _does(written: bool, adds: bool) -> str:
    """The word by which levels tell an access: "reads", "writes" or "adds"."""
    return "adds" if adds else "writes" if written else "reads"


def named(who: int | None) -> int | None:
    """The number of a thread; None of several."""
    return None if who == SEVERAL else who


def _number_of(t: Tensor, place: Any) -> int:
    """The number of an element by its place; of tensor memory its address."""
    return address_of(int(place)) if memory_of(t) == "TMEM" else int(place)
