"""The pipes of a core over time, predicted: how many cycles each statement of a block takes, and when it can begin.

How long an instruction takes is told from its fields, by rates that CANN's own tiling of matrix products uses; when it
begins follows from the flags. What no such rate is known of (the issue of instructions, conflicts of cores for one part
of memory) is left out, so that a kernel takes longer than this, and which of two is faster is told better
than how fast.

Of what that tiling does not have, bytes go at the rate of the way that is most like it: to a unified buffer at that to
L1, out of one at that of Fixpipe, indices and scales at that of the operand which they lie beside, scales of columns
at that of biases. The vector unit takes the cycles that its accesses take of the banks (banks.py).

Source: CANN's tiling of matrix products, as it is published: cache_tiling_soc_spec.h (GemmSocSpecBandwidth) and
cache_tiling_cycle_model.cc (GemmCycleModelL0c2out). Of a core's reads the one has 128 bytes a cycle, out of L2, the
other 64; here it is 128, by which the tiles of CATLASS's examples keep the matrix unit busy.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import leaves, quoted, size
from ...core.layout import Layout, require_origin
from ...tensors.tensor import Tensor
from ..architecture import Architecture
from ..schedules import Block, Schedule, Traffic
from ..transfers.instruction import TransferInstruction
from ..transfers.plan import unproved
from ..transfers.steps import all_of
from .block import Core, Plan
from .mmad import MmadInstruction
from .paddings import Paddings
from .queues import unit_flag
from .statements import FILLED, Buffer, Compute, Fill, Multiply, Part, PipeBarrier, SetFlag, WaitFlag
from .trace import PIPES, VECTOR_PIPES, ends_of, pipe_of, pipe_of_statement

#: The bytes of a package of global memory; what is left of a run goes in one of 256, one of 128, and one for the rest.
PACKAGE = 512
GLOBAL_MEMORY, L2 = "global memory", "L2"
#: The most products of a core that are gone through one by one.
MOST_PRODUCTS = 10**6


@dataclass(frozen=True)
class Rates:
    """The speed of the pipes of an architecture: bytes a cycle, and cycles before the first byte of a transfer.

    load       of what a core reads into L1 or UB, in packages that each take as long as 512 bytes;  load_start  [cycles]
    l0a, l0b   of L1 to L0A, to L0B, and to the table of biases or of scales;  l0_start  [cycles]
    words      the cycles of a product of two fractals of float; of other types it is 1
    l0c        of what Fixpipe reads;  store  of what it writes, and of what leaves UB
    gm, l2     of all cores together, from and to global memory, and L2;  l2_size  the bytes that L2 keeps

    >>> from tla.ascend import Rates
    >>> Rates().load, Rates(gm=530).gm
    (128, 530)

    Source: CANN's cost model of AtlasA2's matrix products; the defaults are its numbers.
    """

    load: int = 128
    load_start: int = 210
    l0a: int = 256
    l0b: int = 128
    l0_start: int = 26
    words: int = 2
    l0c: int = 256
    store: int = 128
    gm: int = 850
    l2: int = 2550
    l2_size: int = 192 * 2**20

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < (0 if name.endswith("_start") else 1):
                fix = f"leave out {name}=, or write {name}=64"
                raise LeafTypeError(f"{name}={quoted(value, 40)} of Rates", "a positive integer", fix)

    def moved(self, made: Iterable[TransferInstruction], src: str, dst: str) -> int:
        """The cycles of the instructions of one transfer between two positions."""
        if src == "GM":
            return self.load_start + self.read(sum(packages(*_runs(i.moved.src, i.element.bits)) for i in made))
        if src == "L1":
            return self.l0_start + sum(-(-_written(i) // self._beside(dst)) for i in made)
        if src != "L0C":
            return sum(-(-_written(i) // self.store) for i in made)
        return sum(-(-_count(i) * 4 // self.l0c) + -(-_written(i) // self.store) for i in made)

    def _beside(self, position: str) -> int:
        """The bytes a cycle to L0A, or to L0B and what is like it."""
        return self.l0a if position in ("L0A", "L0AMx") else self.l0b

    def filled(self, fill: Fill, position: str) -> int:
        """The cycles of an InitConstValue: of L1 as of a load, without its start."""
        p = fill.parameters
        written = int(p["repeatTimes"] * p["blockNum"]) * FILLED[position]
        return -(-written // (self.load if position == "L1" else self._beside(position)))

    def read(self, count: int) -> int:
        """The cycles of packages of global memory."""
        return count * -(-PACKAGE // self.load)

    def multiplied(self, i: MmadInstruction) -> int:
        """The cycles of a Mmad: one for each product of two fractals, of a sparse one for each that is stored."""
        left, p = i.elements[1], i.parameters
        deep = -(-int(p["k"]) // (int(left.C0) * (2 if i.sparse else 1)))
        fractals = -(-int(p["m"]) // 16) * -(-int(p["n"]) // 16) * deep
        return fractals * (self.words if left.bits == 32 else 1)


#: The rates that are published, by architecture.
RATES = {"AtlasA2": Rates(), "AtlasA3": Rates()}


def rates_of(arch: Architecture, given: Any) -> Rates:
    """The rates that are given, or those of an architecture; LeafTypeError where none are published."""
    found = RATES.get(arch.name) if given is None else given
    if not isinstance(found, Rates):
        what = f"rates of {arch}" if given is None else f"rates={quoted(given, 40)}"
        fix = "write rates=Rates(gm=..., l2=...) with those that you have measured"
        raise LeafTypeError(what, f"a Rates; published are those of {', '.join(RATES)}", fix)
    return found


def packages(runs: int, length: int) -> int:
    """The packages of runs of bytes."""
    count = 0
    for part in (PACKAGE, PACKAGE // 2, PACKAGE // 4):
        count, length = count + length // part, length % part
    return runs * (count + (length > 0))


def _runs(layout: Layout, bits: int) -> tuple[int, int]:
    """Count the runs of bytes side by side of a layout without padding: how many, and how long each is."""
    count, length = 1, 1
    for stride, n in sorted(zip(map(int, leaves(layout.stride)), map(int, leaves(layout.shape)))):
        if n > 1 and stride == length:
            length *= n
        else:
            count *= n
    return count, length * bits // 8


def _count(i: TransferInstruction) -> int:
    return int(size(require_origin("what an instruction writes", i.moved.dst)))


def _written(i: TransferInstruction) -> int:
    """The bytes that an instruction writes; of LoadDataWithSparse with those of the index, two bits an element."""
    bits = i.element.bits + (2 if i.name == "LoadDataWithSparse" else 0)
    return _count(i) * bits // 8


class Span(NamedTuple):
    """A transfer or a product over time.

    pipe         its pipe; AIV0.V one of a vector core;  begin, end  [cycles]
    what         "A to L1", "Mmad" ...; step the tile of k in L1 that it belongs to, counted over all blocks of the core

    >>> from tla.ascend import block
    >>> block((32, 32, 32), (32, 32, 32), (32, 32, 32)).timeline()[0]
    Span(pipe='MTE2', begin=0, end=226, what='A to L1', step=0)

    Source: ours.
    """

    pipe: str
    begin: int
    end: int
    what: str
    step: int


@dataclass(frozen=True)
class Estimate:
    """A prediction of how long a block takes, never a measurement. `str()` says so, and what it is bound by.

    cycles   of the slowest core, or of the memory that all cores share, if that takes longer
    bound    the pipe, "global memory" or "L2" that is busy longest: what a faster kernel has less of
    pipes    how long each pipe of the slowest core is busy [cycles];  core  its number
    memory   how long what all cores read and write takes from and to global memory, and L2 [cycles]
    steps    for each tile of k of that core, how long each pipe is busy with it
    vectors  of a block with padding=, how long each pipe of the slowest vector core is busy before [cycles]
    tiles    for each tile of that vector core, how long each pipe is busy with it

    >>> from tla.ascend import block
    >>> print(block((1024, 1024, 1024), (128, 256, 256), (128, 256, 64), cores=20).estimate())
    predicted: 20670 cycles, bound by M
    MTE1 11904 57%
    MTE2 15648 75%
    M 16384 79%
    FIX 2048 9%
    global memory 7402 35%
    L2 10692 51%

    Source: ours, of CANN's rates.
    """

    cycles: int
    bound: str
    pipes: Mapping[str, int]
    memory: Mapping[str, int]
    core: int
    steps: tuple[Mapping[str, int], ...]
    vectors: Mapping[str, int] = field(default_factory=dict)
    tiles: tuple[Mapping[str, int], ...] = ()

    @property
    def rows(self) -> dict[str, int]:
        """Pipes and memories, with how long each is busy [cycles]: what the bound is one of."""
        return {**self.pipes, **{f"{name} of vector cores": n for name, n in self.vectors.items()}, **self.memory}

    def __str__(self) -> str:
        rows = [f"{name} {n} {100 * n // max(self.cycles, 1)}%" for name, n in self.rows.items()]
        return "\n".join([f"predicted: {self.cycles} cycles, bound by {self.bound}", *rows])


class _Draft(Plan):
    """A plan whose transfers are not proved: how long one takes is predicted anyway."""

    def move(self, src: Tensor, dst: Tensor, element: Element, **options: Any) -> tuple[TransferInstruction, ...]:
        """The instructions of a transfer."""
        if options.keys() & {"split", "index"}:
            return super().move(src, dst, element, **options)
        return tuple(all_of(unproved(src, dst, self.arch, element, **options)))


class _BySizes(Core):
    """A core whose tiles all begin at 0: how long a transfer takes goes by its sizes, so each is planned once."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(_Draft(*(getattr(plan, f.name) for f in fields(plan))))
        load, load_l0, store, load_bias = self._load, self._load_l0, self._store, self._load_bias
        self._load = lambda which, _start, sizes: load(which, (0, 0), sizes)
        self._load_l0 = lambda which, _start, sizes: load_l0(which, (0, 0), sizes)
        self._store = lambda _start, sizes: store((0, 0), sizes)
        self._load_bias = lambda _start, n: load_bias(0, n)
        channels, scales, l0_scales = self._load_channels, self._load_scales, self._load_l0_scales
        self._load_channels = lambda _start, n: channels(0, n)
        self._load_scales = lambda which, _start, other, k: scales(which, (0, 0), other, k)
        self._load_l0_scales = lambda which, _at, other, k: l0_scales(which, 0, other, k)
        index, from_ub = self._load_index, self._from_ub
        self._load_index = lambda _start, k, n: index((0, 0), k, n)
        self._from_ub = lambda _start, sizes, core: from_ub((0, 0), sizes, core)
        tile_to_ub, tile_from_ub = self._tile_to_ub, self._tile_from_ub
        self._tile_to_ub = lambda _start, sizes: tile_to_ub((0, 0), sizes)
        self._tile_from_ub = lambda _start, sizes: tile_from_ub((0, 0), sizes)


#: All pipes; and those of the tiles of k of a block, but for the first tile and the last.
_EVERY, _OF_TILES = (*PIPES, *VECTOR_PIPES), ("MTE1", "MTE2", "M")


class _Pipes:
    """The pipes of a core: from which cycle on each is free, since when flags are up, and what unit flags hand over."""

    def __init__(self) -> None:
        self.free: dict[str, int] = dict.fromkeys(_EVERY, 0)
        self.flags: dict[tuple[str, int], deque[int]] = {}
        # when the last Mmad and the last Fixpipe with a unit flag began and ended
        self.handed = {"M": (0, 0), "FIX": (0, 0)}

    def end(self, pipes: Sequence[str] = _EVERY) -> int:
        """The cycle from which on all of these are free."""
        return max(self.free[p] for p in pipes)

    def flag(self, s: SetFlag | WaitFlag | PipeBarrier) -> None:
        """Set a flag, once its pipe has done all before; or wait for one, set before in the order of issue."""
        if isinstance(s, PipeBarrier):
            if s.pipe == "ALL":
                self.free.update(dict.fromkeys(PIPES, max(self.free[pipe] for pipe in PIPES)))
            return
        first, second = ends_of(s.event)
        if isinstance(s, SetFlag):
            self.flags.setdefault((s.event, s.id), deque()).append(self.free[first])
        else:
            self.free[second] = max(self.free[second], self.flags[s.event, s.id].popleft())

    def run(self, s: Any, costs: Costs) -> Span | None:
        """Take a statement; its time, where it takes some."""
        if isinstance(s, (SetFlag, WaitFlag, PipeBarrier)):
            self.flag(s)
        elif isinstance(s, Multiply):
            return Span("M", *self.take("M", costs.of_product(s), unit_flag(s)), "Mmad", 0)
        elif isinstance(s, Part) and s.body:
            pipe, cycles = costs.of_part(s)
            return Span(pipe, *self.take(pipe, cycles, unit_flag(s.body[0])), s.what, 0)
        return None

    def take(self, pipe: str, cycles: int, unit: int) -> tuple[int, int]:
        """The begin and the end of what takes so many cycles of a pipe."""
        begin, last = self.free[pipe], 0
        if unit:
            other, last = self.handed["FIX" if pipe == "M" else "M"]
            begin = max(begin, other)
        # fractals are handed over one by one: neither begins before the other, nor ends
        end = max(begin + cycles, last)
        if unit == 3:
            self.handed[pipe] = begin, end
        self.free[pipe] = end
        return begin, end

    def form(self, pipes: Sequence[str] = _EVERY) -> tuple[Any, ...]:
        """The state that decides what follows, but for when: of these pipes, and of what they wait for. A flag that is up
        before the pipe that waits for it is free is up in time."""
        free, end = self.free, self.end(pipes)
        ups = ((key, up, ends_of(key[0])) for key, up in self.flags.items())
        flags = sorted(
            (key, *(max(t, free[b]) - end for t in up)) for key, up, (a, b) in ups if a in pipes and b in pipes
        )
        waits = ((p, other) for p, other in (("M", "FIX"), ("FIX", "M")) if p in pipes)
        handed = tuple(max(t, free[p]) - end for p, other in waits for t in self.handed[other])
        return tuple(free[p] - end for p in pipes if free[p]), tuple(flags), handed

    def later(self, cycles: int, pipes: Sequence[str] = _EVERY) -> None:
        """Make all of these pipes later: of what has not been used yet nothing."""
        self.free |= {p: self.free[p] + cycles for p in pipes if self.free[p]}
        for key, up in self.flags.items():
            if all(p in pipes for p in ends_of(key[0])):
                self.flags[key] = deque(t + cycles for t in up)
        self.handed |= {p: (b + cycles, e + cycles) for p, (b, e) in self.handed.items() if p in pipes and e}


class Costs:
    """The pipe and the cycles of statements on buffers, each once for as long as this is there."""

    def __init__(self, rates: Rates, buffers: Mapping[str, Buffer], arch: Architecture) -> None:
        self._rates, self._buffers, self._arch = rates, buffers, arch
        self._kept: dict[int, tuple[Any, int]] = {}

    def of_product(self, s: Multiply) -> int:
        """The cycles of a Mmad."""
        return self._once(s.instruction, lambda: self._rates.multiplied(s.instruction))

    def of_part(self, s: Part) -> tuple[str, int]:
        """The pipe and the cycles of statements that do one thing together."""
        first = s.body[0]
        if isinstance(first, Fill):
            position = self._buffers[first.dst].position
            return "MTE2" if position == "L1" else "MTE1", sum(self._rates.filled(x, position) for x in s.body)
        if isinstance(first, Compute):
            pipe = pipe_of_statement(first, self._buffers)
            return pipe, self._once(first.instruction, lambda: sum(map(self._computed, s.body)))
        src, dst = (self._buffers[n].position if n in self._buffers else "GM" for n in (s.src, s.dst))
        made = [m.instruction for m in s.body]
        return pipe_of(src, dst), self._once(made[0], lambda: self._rates.moved(made, src, dst))

    def _computed(self, s: Compute) -> int:
        """The cycles that the accesses of a computation take of the banks, where its buffers lie."""
        places = [self._buffers[name].address for name in s.operands]
        return sum(i.banks(*places, arch=self._arch).cycles for i in s.instructions)

    def _once(self, key: Any, cost: Callable[[], int]) -> int:
        """The cost of what begins with an instruction; kept with it, so that its identity stays its own."""
        if id(key) not in self._kept:
            self._kept[id(key)] = key, cost()
        return self._kept[id(key)][1]


class _Rounds:
    """The times at which the same came next: where pipes are then as they were, what is between repeats."""

    def __init__(self, core: Core, pipes: _Pipes, of: Sequence[str]) -> None:
        """of: the pipes that what repeats goes through."""
        self._core, self._pipes, self._of = core, pipes, of
        self._met: dict[tuple[Any, ...], tuple[int, int]] = {}

    def skipped(self, at: int, same: int) -> int:
        """Skip whole rounds, where number `at` is next and `same` of what comes are alike: how many are skipped."""
        if same <= 0:
            self._met.clear()
            return 0
        pipes, key = self._pipes, (self._pipes.form(self._of), *self._core.next.values())
        if key not in self._met:
            self._met[key] = at, pipes.end(self._of)
            return 0
        before, end = self._met[key]
        self._met.clear()
        turns = same // (at - before)
        pipes.later(turns * (pipes.end(self._of) - end), self._of)
        return turns * (at - before)


class Clock:
    """The statements of cores of a block over time."""

    def __init__(self, plan: Plan, rates: Rates) -> None:
        self._plan, self._costs, self._sizes = plan, Costs(rates, plan.buffers, plan.arch), _BySizes(plan)

    def spans(self, blocks: Sequence[Block]) -> Iterator[Span]:
        """The transfers and products of a core's blocks over time, in the order of issue."""
        require_products(sum(-(-b.extents[2] // self._plan.tiling.l0[2]) for b in blocks))
        pipes, loads, tiles = _Pipes(), 0, 0
        for s in self._core().statements(blocks):
            if isinstance(s, WaitFlag) and s.event == "MTE2_MTE1":
                tiles += s.id < self._plan.tiling.stages["L1"]
            if (span := self._run(s, pipes)) is not None:
                loads += span.what == "A to L1"
                yield span._replace(step=(loads if span.pipe == "MTE2" else tiles) - 1)

    def cycles(self, blocks: Sequence[Block]) -> int:
        """The cycles that a core takes.

        Where blocks of the same sizes, or tiles of k of one block, leave the pipes as they were some before, but later,
        this goes on: they are skipped.
        """
        core, pipes, at = self._core(), _Pipes(), 0
        core.turns = functools.partial(self._turns, core, pipes)
        self._through(core.begin(), pipes)
        rounds = _Rounds(core, pipes, _EVERY)
        while at < len(blocks):
            self._through(core.block(blocks[at]), pipes)
            sizes, at = blocks[at].extents, at + 1
            same = next((i for i, b in enumerate(blocks[at:]) if b.extents != sizes), len(blocks) - at)
            at += rounds.skipped(at, same)
        return pipes.end()

    def _turns(self, core: Core, pipes: _Pipes, count: int) -> Iterator[int]:
        """The tiles of k of a block that are gone through: between the first and the last two all are alike, which one
        behind another are loaded, multiplied, and neither the first of a sum nor the last."""
        rounds, number = _Rounds(core, pipes, _OF_TILES), 0
        while number < count:
            yield number
            number += 1
            number += rounds.skipped(number, count - 2 - number)

    def _core(self) -> Core:
        """A core at its first block; what it has planned stays."""
        self._sizes.next, self._sizes.turns = dict.fromkeys(self._sizes.next, 0), range
        return self._sizes

    def _through(self, statements: Iterable[Any], pipes: _Pipes) -> None:
        for s in statements:
            self._run(s, pipes)

    def _run(self, s: Any, pipes: _Pipes) -> Span | None:
        """Take a statement; its time, where it takes some."""
        return pipes.run(s, self._costs)


def estimated(plan: Plan, schedule: Schedule, rates: Rates, paddings: Paddings | None = None) -> Estimate:
    """The estimate of a block: its cores one by one, those with the same sizes once, and what all share; before them
    the vector cores that lay matrices out anew, for the slowest of which all wait."""
    deep, clock = plan.tiling.l0[2], Clock(plan, rates)
    require_products(max(sum(-(-b.extents[2] // deep) for b in blocks) for blocks in schedule.table))
    found: dict[tuple[tuple[int, int, int], ...], tuple[int, int]] = {}
    for core, blocks in enumerate(schedule.table):
        key = tuple(b.extents for b in blocks)
        if key not in found:
            found[key] = clock.cycles(blocks), core
    cycles, core = max(found.values(), key=lambda x: (x[0], -x[1]))
    pipes, steps = _busy(clock.spans(schedule.table[core]))
    count = sum(b.extents[0] * b.extents[1] for blocks in schedule.table for b in blocks)
    memory = shared(plan, schedule.problem, schedule.traffic(plan.a.element), count, rates)
    made = Estimate(max(cycles, *memory.values()), "", pipes, memory, core, steps)
    if paddings is not None:
        took, vectors, tiles = _before(paddings, rates)
        own = _moved_anew(paddings, rates)
        every = {name: n + own[name] for name, n in memory.items()}
        took = max(took, *own.values())
        made = replace(made, cycles=made.cycles + took, memory=every, vectors=vectors, tiles=tiles)
    return replace(made, bound=max(made.rows, key=lambda name: made.rows[name]))


def require_products(count: int) -> None:
    """RangeError for more products of a core than are gone through."""
    if count > MOST_PRODUCTS:
        fix = "predict a part of it, or give it more cores"
        raise RangeError(f"an estimate of {count} products of a core, one by one", f"at most {MOST_PRODUCTS}", fix)


def _before(paddings: Paddings, rates: Rates) -> tuple[int, dict[str, int], tuple[Mapping[str, int], ...]]:
    """The time of the slowest vector core before a product: its cycles, and those of its pipes, in all and for each
    tile."""
    costs = Costs(rates, paddings.buffers, paddings.arch)
    slowest: tuple[int, list[Span]] = 0, []
    for program in paddings.programs:
        pipes, spans, tile = _Pipes(), [], -1
        for s in program.body:
            if (span := pipes.run(s, costs)) is not None:
                tile += span.pipe == "MTE2"
                spans.append(span._replace(step=tile))
        slowest = max(slowest, (pipes.end(), spans), key=lambda x: x[0])
    return slowest[0], *_busy(slowest[1])


def _moved_anew(paddings: Paddings, rates: Rates) -> dict[str, int]:
    """The cycles of the memory that all vector cores share: each matrix once, and once as it lies then."""
    moved = sum(
        2 * int(size(require_origin(x.name, x.before.layout))) * x.before.element.bits // 8 for x in paddings.matrices
    )
    return {GLOBAL_MEMORY: -(-moved // rates.gm), L2: -(-moved // rates.l2)}


def _busy(spans: Iterable[Span]) -> tuple[dict[str, int], tuple[Mapping[str, int], ...]]:
    """Add up how long each pipe is busy, in all and in each step."""
    pipes: dict[str, int] = {}
    steps: dict[int, dict[str, int]] = {}
    for s in spans:
        pipes[s.pipe] = pipes.get(s.pipe, 0) + s.end - s.begin
        step = steps.setdefault(s.step, {})
        step[s.pipe] = step.get(s.pipe, 0) + s.end - s.begin
    return {p: pipes[p] for p in (*PIPES, *VECTOR_PIPES) if p in pipes}, tuple(steps[i] for i in sorted(steps))


def shared(plan: Plan, problem: tuple[int, int, int], traffic: Traffic, count: int, rates: Rates) -> dict[str, int]:
    """The cycles of what all cores read and write: of A and B once where L2 keeps them, else once a wave; and of the
    result, before it of C in its workspace, which is read from L2 where that keeps it.

    traffic   of A and B;  count   the elements that blocks have of C, slices of k one by one
    """
    m, n, k = problem
    once = (m * k * plan.a.element.bits + k * n * plan.b.element.bits) // 8
    gm, l2 = traffic
    x, spaced = plan.result[1], plan.activation is not None and plan.split is None
    space = count * plan.c.element.bits // 8 if spaced else 0
    written = count * x.element.bits // 8 + space
    kept = once + m * n * x.element.bits // 8 + space <= rates.l2_size
    read, every = (once if kept else gm + space), gm + l2 + written + space
    return {GLOBAL_MEMORY: -(-(read + written) // rates.gm), L2: -(-every // rates.l2)}
