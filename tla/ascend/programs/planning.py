"""The choice of a block for a problem: tiles, stages, unit flags and swizzle, all of a stated space, by the estimate.

Source: ours. The tiles of CATLASS's examples are in the space.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.layout import require_origin
from ..architecture import Architecture, AtlasA2, as_architecture
from ..schedules import Block, GemmIdentityBlockSwizzle
from ..schedules.dealt import Dealt
from ..schedules.schedule import positive, sizes_of
from ..tags import ColumnMajor, RowMajor
from .behind import Behind, Beside, besides
from .block import Operand, Plan
from .estimate import MOST_PRODUCTS, PACKAGE, Clock, Estimate, Rates, packages, rates_of, require_products, shared
from .make_block import block
from .matmul import MatmulBlock
from .vector_cores import require_whole_halves

#: The m and n of tiles that are tried: those of CATLASS's examples, and what lies between.
SIZES = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
#: The swizzles that are tried, by offset and direction.
SWIZZLES = tuple((offset, direction) for offset in (1, 2, 3, 4, 5, 6, 8) for direction in (0, 1))


class Tried(NamedTuple):
    """A tiling that was tried.

    l1, l0      its tiles;  stages  of L0C;  unit_flag  whether Fixpipe begins while Mmad still runs
    swizzle     (offset, direction) of the fastest, None where that was not needed
    cycles      predicted; where that was not needed, as another takes no more, so many at least
    exact       whether they are predicted
    beside      with an activation, what vector cores have of UB in the fastest: (rows, columns) of a tile, and the stages
                of C there, 0 over a workspace; None where that was not needed

    >>> from tla.ascend import plan
    >>> print(*plan((64, 64, 64)).tried[0])
    (16, 64, 64) (16, 64, 64) 1 True (1, 0) 622 True None

    Source: ours.
    """

    l1: tuple[int, int, int]
    l0: tuple[int, int, int]
    stages: int
    unit_flag: bool
    swizzle: tuple[int, int] | None
    cycles: int
    exact: bool
    beside: Beside | None = None


@dataclass(frozen=True)
class Planned:
    """A block that was chosen for a problem, with the reason. `str()` is the reason.

    block      the MatmulBlock;  estimate  its prediction
    tried      all tilings of the space, the best first: those that a bound excludes with that bound

    >>> from tla.ascend import plan
    >>> chosen = plan((64, 64, 64))
    >>> chosen.block.plan.tiling.l1, chosen.estimate.cycles, len(chosen.tried)
    ((16, 64, 64), 622, 96)

    Source: ours.
    """

    block: MatmulBlock
    estimate: Estimate
    tried: tuple[Tried, ...]

    def why(self) -> str:
        """The reason of the choice: what it takes and is bound by, what was compared, and the next best."""
        best, e = self.tried[0], self.estimate
        share = 100 * {**e.pipes, **e.memory}[e.bound] // max(e.cycles, 1)
        flags = {False: "without unit flags", True: "with unit flags"}
        compared = " or ".join(flags[flag] for flag in sorted({t.unit_flag for t in self.tried}))
        tile, by = "", f"any of {len(SWIZZLES)} swizzles"
        if best.beside is not None:
            ub, stages = best.beside
            tile = f"{shown(ub)} in UB{f' with {stages} of C' if stages else ''}, "
            by += ", with any tile in UB that is tried"
        rows = [
            f"{shown(best.l1)} in L1, {shown(best.l0)} in L0, {tile}{flags[best.unit_flag]}, "
            f"{self.block.schedule.swizzle}: {e.cycles} cycles predicted",
            f"bound by {e.bound}, which is busy {share}% of the time",
            f"no other of {len(self.tried)} tilings, {compared}, takes fewer by {by}",
        ]
        for what, others in (
            ("", [t for t in self.tried if t.l1[:2] != best.l1[:2]]),
            (f", {flags[not best.unit_flag]}", [t for t in self.tried if t.unit_flag != best.unit_flag]),
        ):
            if others:
                other = min(others, key=lambda t: t.cycles)
                more = 100 * (other.cycles - best.cycles) / max(best.cycles, 1)
                least = "" if other.exact else "at least "
                rows.append(f"next{what}: {shown(other.l1)} in L1, {least}{more:.1f}% more")
        return "\n".join(rows)

    def __str__(self) -> str:
        return self.why()


def plan(problem: Any, arch: Any = AtlasA2, *, cores: Any = None, rates: Any = None, **more: Any) -> Planned:
    """Choose the tiles, the stages of L0C, unit flags and the swizzle of a block, and with an activation the tile of its
    vector cores: the fewest cycles that are predicted, of a stated space.

    problem   (m, n, k) [elements];  arch  AtlasA2, AtlasA3, or with `rates` another
    cores     how many there are; by default the architecture's fewest
    rates     a Rates; by default those published for the architecture
    more      what `block` takes besides: a, b, c, bias, quant, scale, relu; unit_flag, which is chosen if left out;
              activation, with d, and on Ascend950 with split
    Returns   Planned
    Raises    what `block` raises; RangeError for problems of more than a million products a core; LeafTypeError where no
              rates are published, for l1=, l0=, stages=, swizzle= and ub=, which are chosen, and for what no tiling of
              the space has (scales=, sparse=, padding=, and split= without an activation)

    The space: m and n of 16 to 512 as CATLASS's examples have them; L0A and L0B in two stages, of the most of k that
    they hold, or of half of it; L1 in two stages, of the most of these, or of a power of two of them; L0C in one stage,
    or in two where it holds them, or in one with unit flags; swizzles of strips of 1 to 8 blocks along m or n. Vector cores
    have the highest tile that UB has room for beside one or two stages of C, half or a quarter of it, as wide as what they
    have of a block, or half. Of equally
    fast swizzles the one by which all cores together read least from global memory. Law: no block of the space has a
    smaller estimate.

    >>> from tla.ascend import plan
    >>> print(plan((4096, 4096, 4096), cores=24))
    (128,256,256) in L1, (128,256,64) in L0, with unit flags, GemmIdentityBlockSwizzle[3, 1]: 723646 cycles predicted
    bound by M, which is busy 99% of the time
    no other of 3923 tilings, without unit flags or with unit flags, takes fewer by any of 14 swizzles
    next: (112,256,256) in L1, at least 3.1% more
    next, without unit flags: (128,256,256) in L1, at least 0.1% more

    Source: ours.
    """
    for name in ("l1", "l0", "stages", "swizzle", "splitkFactor", "ub"):
        if name in more:
            fix = f"leave out {name}=, or write block(..., {name}=...)"
            raise LeafTypeError(f"plan with {name}=", "what is not chosen", fix)
    for name in ("scales", "sparse", "padding", *(["split"] if more.get("activation") is None else [])):
        wanted = more.get(name)
        if not (wanted is None or wanted is False or (isinstance(wanted, Mapping) and not wanted)):
            what, fix = f"plan with {name}=", f"leave out {name}=, or write block(..., {name}=...), and estimate()"
            raise LeafTypeError(what, f"a block without {name}=: the space of tilings is of those", fix)
    arch = as_architecture(arch)
    speed = rates_of(arch, rates)
    return _Space(problem, arch, min(arch.cores) if cores is None else cores, speed, more).best()


#: The sizes (m, n, k) of blocks, by their kind.
_Sizes = tuple[tuple[int, int, int], ...]


class _Tiling(NamedTuple):
    """A tiling of the space, with the cycles that it takes at least."""

    bound: int
    l1: tuple[int, int, int]
    l0: tuple[int, int, int]
    stages: int
    unit_flag: bool


class _Way(NamedTuple):
    """The blocks that a swizzle deals to cores, by the list of their kinds; and the cycles of the memory that all share."""

    swizzle: tuple[int, int]
    lists: list[bytes]
    memory: int


class _Space:
    """The tilings of a problem, each with what it takes at least, and with its estimate."""

    def __init__(self, problem: Any, arch: Architecture, cores: Any, rates: Rates, more: dict[str, Any]) -> None:
        self.given, self.arch, self.cores, self.rates, self.more = problem, arch, cores, rates, more
        m, n, k = sizes_of("the problem of a plan", problem)
        require_products(-(-m // 512) * -(-n // 512) * -(-k // 64) // positive("cores", cores))
        probe: MatmulBlock = block(problem, (128, 128, 64), (128, 128, 64), arch, cores=cores, **more)
        self.sizes, self.plan, self.count = probe.problem, probe.plan, probe.schedule.cores
        self._kept: dict[tuple[int, int], dict[Beside, Behind]] = {}
        self._least_behind: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._ways: dict[tuple[int, int], tuple[_Sizes, list[_Way]]] = {}

    def best(self) -> Planned:
        """The tiling with the fewest cycles: predicted in the order of their least, up to where none can be better."""
        found: list[Tried] = []
        chosen, least = None, math.inf
        # of equal ones with fewer instructions
        for tiling in sorted(self._tilings(), key=lambda t: (t.bound, -t.l0[2], t.unit_flag)):
            way, cycles = self._fastest(tiling, least) if tiling.bound < least else (None, tiling.bound)
            swizzle, beside = way or (None, None)
            found.append(Tried(*tiling[1:], swizzle, cycles, way is not None, beside))
            if way is not None:
                chosen, least = found[-1], cycles
        if chosen is None:
            raise RangeError(f"no tiling of {shown(self.sizes)} on {self.arch}", "one that fits", "take narrower types")
        found.sort(key=lambda t: (not t.exact, t.cycles))
        made = self._made(*chosen[:5], chosen.beside)
        return Planned(made, made.estimate(self.rates), tuple(found))

    def _tilings(self) -> Iterator[_Tiling]:
        """The tilings of the space, each with what it takes at least."""
        m, n, k = self.sizes
        flags = (self.plan.unit_flag,) if "unit_flag" in self.more else (False, True)
        for high, wide in itertools.product(self._lengths(m), self._lengths(n)):
            tables = (
                (self.plan.scale_of_fixpipe == "fb", 8, "FixBuf"),
                (self.plan.bias, self.plan.total.bits // 8, "Bias"),
            )
            if any(there and each * wide > self.arch.sizes[table] for there, each, table in tables):
                continue
            if self.plan.activation is not None and not self._behind((high, wide)):
                continue
            alone = -(-m // high) * -(-n // wide) <= self.count
            fit = [s for s in ((1,) if alone else (1, 2)) if 4 * high * wide * s <= self.arch.sizes["L0C"]]
            for l1, l0 in self._depths(high, wide) if fit else ():
                if -(-(-(-m // high) * -(-n // wide)) // self.count) * -(-k // l0[2]) > MOST_PRODUCTS:
                    continue
                least = self._least(l1, l0)
                for flag in (flag for flag in flags if not (flag and self._odd_halves(wide))):
                    yield from (_Tiling(least[flag], l1, l0, s, flag) for s in (fit[:1] if flag else fit))

    def _odd_halves(self, wide: int) -> bool:
        """Whether unit flags would wait for what no Mmad makes, of tiles of so many columns over unified buffers."""
        if self.plan.split is None:
            return False
        try:
            require_whole_halves(self.plan.split, True, {*_cut(self.sizes[1], wide)}, self.plan.c.element)
        except LeafTypeError:
            return True
        return False

    @property
    def _unit(self) -> int:
        """The elements that tiles are multiples of."""
        return max(16, int(self.plan.a.element.C0), int(self.plan.b.element.C0))

    def _lengths(self, size: int) -> list[int]:
        """The lengths of tiles along a mode: up to the first that has all of it."""
        lengths = [n for n in SIZES if n % self._unit == 0]
        return [n for i, n in enumerate(lengths) if i == 0 or lengths[i - 1] < size]

    def _depths(self, high: int, wide: int) -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
        """The tiles in L1 and L0 of m and n, by how much of k they have."""
        a, b, unit = self.plan.a.element.bits, self.plan.b.element.bits, self._unit
        whole, sizes = -(-self.sizes[2] // unit) * unit, self.arch.sizes
        most = min(sizes["L0A"] * 8 // (2 * high * a), sizes["L0B"] * 8 // (2 * wide * b), whole) // unit * unit
        room = sizes["L1"] * 8 - (32 * wide if self.plan.bias else 0) - (64 * wide if self.plan.channels else 0)
        for deep in sorted({most, most // 2 // unit * unit} - {0}):
            parts = min(room // (2 * (high * a + wide * b) * deep), -(-whole // deep))
            for count in sorted({parts, *(2**i for i in range(parts.bit_length()))} - {0}):
                yield (high, wide, deep * count), (high, wide, deep)

    def _least(self, l1: tuple[int, int, int], l0: tuple[int, int, int]) -> tuple[int, int]:
        """The cycles that the busiest core takes at least, without and with unit flags, by its blocks, which are as many
        as an even share: no fewer, no smaller."""
        kinds = self._kinds(l1)
        share = -(-sum(count for _, _, count in kinds) // self.count)
        cost = _Costs(self.plan, self.rates, self.sizes, l1, l0)
        busy = [self._cheapest(f, kinds, share) for f in (cost.load, cost.move, cost.multiply)]
        sizes = [kind[:2] for kind in kinds]
        found = [cost.least(busy, sizes, sizes, unit_flag=flag) for flag in (False, True)]
        if self.plan.activation is not None:
            head = [min(cost.of_core([kind], unit_flag=flag) for kind in kinds) for flag in (False, True)]
            beside = self._cheapest_behind(l1[:2], kinds, share)
            found = [min((max(c + tail, h + took) for tail, took in beside), default=c) for c, h in zip(found, head)]
        return found[0], found[1]

    def _cheapest_behind(
        self, l1: tuple[int, int], kinds: list[tuple[int, int, int]], share: int
    ) -> list[tuple[int, int]]:
        """The least cycles of vector cores with each tile of UB: behind the last block, and of all."""
        if l1 not in self._least_behind:
            found = []
            for behind in self._behind(l1).values():
                each = ((core, pipe) for core in range(self.plan.vectors) for pipe in range(3))
                busy = (functools.partial(behind.of_pipe, *of) for of in each)
                took = max(self._cheapest(cost, kinds, share) for cost in busy)
                found.append((min(behind.tail(m, n) for m, n, _ in kinds), took))
            self._least_behind[l1] = found
        return self._least_behind[l1]

    def _behind(self, l1: tuple[int, int]) -> dict[Beside, Behind]:
        """The least of vector cores by each tile of UB that is tried for tiles of m and n; of products none."""
        if l1 not in self._kept:
            tiling = replace(self.plan.tiling, l1=(*l1, self.plan.tiling.l1[2]))
            plan = replace(self.plan, tiling=tiling)
            tried = besides(plan) if plan.activation is not None else ()
            self._kept[l1] = {x: Behind(plan, self.rates, x) for x in tried}
        return self._kept[l1]

    def _kinds(self, l1: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        """The m and n of blocks, and how many have them."""
        rows, columns = (_cut(size, t) for size, t in zip(self.sizes[:2], l1[:2]))
        return [(m, n, i * j) for (m, i), (n, j) in itertools.product(rows.items(), columns.items())]

    def _cheapest(self, cost: Callable[[int, int], int], kinds: list[tuple[int, int, int]], share: int) -> int:
        """The cycles of as many blocks as a share has, the cheapest; or of all, shared out evenly, or of the dearest
        block, if more."""
        priced = sorted((cost(m, n), count) for m, n, count in kinds)
        even, total = sum(c * count for c, count in priced) // self.count, 0
        for c, count in priced:
            taken = min(count, share)
            total, share = total + c * taken, share - taken
        return max(even, total, priced[-1][0])

    def _fastest(self, tiling: _Tiling, least: float) -> tuple[tuple[tuple[int, int], Beside | None] | None, int]:
        """The swizzle of a tiling with the fewest cycles, with the tile of UB, and how many; None, and how many at least,
        where there is none with fewer than `least`."""
        sizes, ways = self._dealt(tiling.l1)
        cost = _Costs(self.plan, self.rates, self.sizes, tiling.l1, tiling.l0)
        clocks: dict[Beside | None, Clock] = {}
        took: dict[Any, int] = {}
        found, best = None, []
        for cycles, way, beside in self._cases(tiling, cost, least):
            for kinds in way.lists:
                blocks = [sizes[kind] for kind in kinds]
                if cycles < least and (kinds, beside) not in took:
                    cycles = max(cycles, cost.of_core(blocks, unit_flag=tiling.unit_flag))
                if cycles >= least:
                    break
                if (kinds, beside) not in took:
                    if beside not in clocks:
                        clocks[beside] = Clock(self._made(*tiling[1:], ways[0].swizzle, beside).plan, self.rates)
                    took[kinds, beside] = clocks[beside].cycles([Block(0, 0, 0, (0, 0, 0), x) for x in blocks])
                cycles = max(cycles, took[kinds, beside])
            best.append(cycles)
            if cycles < least:
                found, least = (way.swizzle, beside), cycles
        return found, min(best)

    def _cases(self, tiling: _Tiling, cost: _Costs, least: float) -> Iterable[tuple[int, _Way, Beside | None]]:
        """The ways of a tiling, of an activation with each tile of UB, and what they take at least: those first that may take
        fewest. What is no less than `least` may be told by repeats alone."""
        sizes, ways = self._dealt(tiling.l1)
        behind = self._behind(tiling.l1[:2])
        if not behind:
            return [(max(way.memory, tiling.bound), way, None) for way in ways]
        found = []
        for way, (beside, tiles) in itertools.product(ways, behind.items()):
            lists, cycles = [[sizes[kind] for kind in kinds] for kinds in way.lists], max(way.memory, tiling.bound)
            for x in (tiles, tiles.exact):
                if cycles < least:
                    cycles = max(cycles, *(self._least_of(cost, x, blocks, tiling.unit_flag) for blocks in lists))
            found.append((cycles, way, beside))
        return sorted(found, key=lambda case: case[0])

    def _least_of(self, cost: _Costs, behind: Behind, blocks: list[tuple[int, int, int]], unit_flag: bool) -> int:
        """The cycles that a core with these blocks takes at least, and its vector cores behind it."""
        cycles = cost.of_core(blocks, unit_flag=unit_flag)
        if not blocks:
            return cycles
        counts = Counter((m, n) for m, n, _ in blocks)
        head = cost.of_core(blocks[:1], unit_flag=unit_flag)
        return max(cycles + behind.tail(*blocks[-1][:2]), head + behind.busy(counts.items()))

    def _dealt(self, l1: tuple[int, int, int]) -> tuple[_Sizes, list[_Way]]:
        """The sizes of blocks of m and n by their kind, and the ways that cores are dealt these, those first by which they
        read least from global memory."""
        if l1[:2] not in self._ways:
            ways: dict[frozenset[Any], tuple[Any, _Way]] = {}
            m, n, _ = self.sizes
            every = {x: Dealt(GemmIdentityBlockSwizzle[x](self.sizes, l1, cores=self.count)) for x in SWIZZLES}
            for swizzle, dealt in every.items():
                # the core with most to compute first: it says soonest that a way is too slow
                most = {
                    x: -sum(math.prod(dealt.sizes[kind]) * count for kind, count in Counter(x).items())
                    for x in dealt.lists
                }
                read = dealt.traffic(self.plan.a.element)
                memory = max(shared(self.plan, self.sizes, read, m * n, self.rates).values())
                way = _Way(swizzle, sorted(most, key=lambda x: most[x]), memory)
                # where cores compute the same blocks, only what they read tells ways apart
                key = frozenset(most)
                ways[key] = min(ways.get(key, (read, way)), (read, way), key=lambda x: x[0])
            sizes = every[SWIZZLES[-1]].sizes
            self._ways[l1[:2]] = sizes, [way for _, way in sorted(ways.values(), key=lambda x: x[0])]
        return self._ways[l1[:2]]

    def _made(self, l1: Any, l0: Any, stages: int, unit_flag: bool, swizzle: Any, beside: Beside | None) -> MatmulBlock:
        """The block of a tiling by a swizzle, with a tile of UB."""
        told: dict[str, Any] = {"stages": {"L1": 2, "L0A": 2, "L0B": 2, "L0C": stages}, "unit_flag": unit_flag}
        if beside is not None:
            told["ub"], told["stages"]["UB"] = beside
            told["stages"] = {name: n for name, n in told["stages"].items() if n}
        how = GemmIdentityBlockSwizzle[swizzle]
        made: MatmulBlock = block(self.given, l1, l0, self.arch, cores=self.cores, swizzle=how, **{**self.more, **told})
        return made


class _Costs:
    """The least that a block of m by n takes of each pipe: by its bytes and its products, however they lie."""

    def __init__(
        self, plan: Plan, rates: Rates, sizes: tuple[int, int, int], l1: tuple[int, int, int], l0: tuple[int, int, int]
    ) -> None:
        self.plan, self.rates, self.k, r, k = plan, rates, sizes[2], rates, sizes[2]
        c0, each = int(plan.a.element.C0), r.words if plan.a.element.bits == 32 else 1
        self.tiles = _cut(k, l1[2])
        parts = [(p, count * n) for t, count in self.tiles.items() for p, n in _cut(t, l0[2]).items()]
        self.starts = 2 * sum(count for _, count in parts) * r.l0_start
        self.deep = sum(-(-p // c0) * count for p, count in parts) * each
        first, last = min(k, l1[2]), [*self.tiles][-1]
        self.ends = first, min(first, l0[2])
        self.lasts = -(-[*_cut(last, l0[2])][-1] // c0) * each, -(-last // c0) * each

    def of_core(self, extents: Iterable[tuple[int, int, int]], *, unit_flag: bool) -> int:
        """The cycles that a core with blocks of these sizes takes at least."""
        sizes = [(m, n) for m, n, _ in extents if m and n]
        counts = Counter(sizes).items()
        busy = [sum(f(m, n) * count for (m, n), count in counts) for f in (self.load, self.move, self.multiply)]
        return self.least(busy, sizes[:1], sizes[-1:], unit_flag=unit_flag) if sizes else 0

    def least(self, busy: Iterable[int], firsts: Any, lasts: Any, *, unit_flag: bool) -> int:
        """The cycles that a core takes at least.

        busy            how long its pipes MTE2, MTE1 and M are busy
        firsts, lasts   the sizes that its first block may have, and its last

        Nothing is multiplied before the first tiles have come. Behind the last Mmad's begin there is that Mmad, and
        what it has summed is stored: the one after the other, with unit flags side by side.
        """
        loads, moves, products = busy
        ends = [(self.last(m, n), self.products_of_last(m, n), self.store(m, n)) for m, n in lasts]
        outs = [(max(last, store) if unit_flag else last + store, last, tile) for last, tile, store in ends]
        behind_loads = min(tile - last + out for out, last, tile in outs)
        behind_moves = min(out for out, _, _ in outs)
        behind_products = min(out - last for out, last, _ in outs)
        first = min(self.first(m, n) for m, n in firsts)
        return max(loads + behind_loads, moves + behind_moves, first + products + behind_products)

    def _bytes(self, m: int, n: int, k: int) -> tuple[int, int]:
        return m * k * self.plan.a.element.bits // 8, n * k * self.plan.b.element.bits // 8

    def load(self, m: int, n: int) -> int:
        """The cycles of MTE2."""
        return sum(count * self._loaded(m, n, k) for k, count in self.tiles.items())

    def _loaded(self, m: int, n: int, k: int) -> int:
        """The cycles of a tile of A and one of B into L1."""
        sides = (self.plan.a, m, k), (self.plan.b, k, n)
        return 2 * self.rates.load_start + sum(self.rates.read(_least_packages(*side)) for side in sides)

    def move(self, m: int, n: int) -> int:
        """The cycles of MTE1."""
        a, b = self._bytes(m, n, self.k)
        return self.starts + a // self.rates.l0a + b // self.rates.l0b

    def multiply(self, m: int, n: int) -> int:
        """The cycles of M."""
        return -(-m // 16) * -(-n // 16) * self.deep

    def first(self, m: int, n: int) -> int:
        """The cycles before the first Mmad: a tile of A and one of B in L1, and a part of B in L0."""
        tile, part = self.ends
        return self._loaded(m, n, tile) + self.rates.l0_start + self._bytes(m, n, part)[1] // self.rates.l0b

    def last(self, m: int, n: int) -> int:
        """The cycles of the last Mmad."""
        return -(-m // 16) * -(-n // 16) * self.lasts[0]

    def products_of_last(self, m: int, n: int) -> int:
        """The cycles of all products of the last tile of k."""
        return -(-m // 16) * -(-n // 16) * self.lasts[1]

    def store(self, m: int, n: int) -> int:
        """The cycles of FIX."""
        return m * n * 4 // self.rates.l0c + m * n * self.plan.c.element.bits // 8 // self.rates.store


def _cut(n: int, step: int) -> dict[int, int]:
    """The sizes of the parts of n, and how many have them, the last one last."""
    return {**({step: n // step} if n >= step else {}), **({n % step: 1} if n % step else {})}


def _least_packages(x: Operand, rows: int, columns: int) -> int:
    """The packages of a tile of a matrix at least: of rows, or columns, one by one where not side by side."""
    high, wide = (int(n) for n in require_origin("a matrix", x.layout))
    if x.tag is RowMajor and columns < wide:
        return packages(rows, columns * x.element.bits // 8)
    if x.tag is ColumnMajor and rows < high:
        return packages(columns, rows * x.element.bits // 8)
    return rows * columns * x.element.bits // 8 // PACKAGE
