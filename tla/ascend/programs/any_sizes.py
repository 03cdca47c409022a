"""The statements of a core for a matrix product of sizes that are not known: loops over blocks and over k,
names for tails.

A tile begins at a whole one and has a size that a name stands for; behind it are as many elements as there are, another
name. So each transfer and each Mmad is planned once, and proved for every size that the names may have. Then the last
names are told by the problem's.

Source: CATLASS `BlockMmadTla`, whose statements these are, one by one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ...algebra.codomain import cosize
from ...core.errors import Unproven
from ...core.ints import known
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, larger, smaller
from ...core.questions import at_most
from ...symbolic.conditions import Condition, assuming
from ...symbolic.declare import dim, index
from ...symbolic.poly import split
from ...symbolic.proofs import greatest, least
from ...symbolic.symint import of_symbol, wrap
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..schedules import BlockSwizzle
from ..schedules.any_sizes import coordinates
from ..tags import L0C, ColumnMajor, PaddingColumnMajor, PaddingRowMajor, RowMajor
from ..transfers import Transfer
from ..transfers.halves import SPLITS, half_of
from ..transfers.instruction import TransferInstruction
from ..transfers.side import tensor_at
from ..transfers.steps import Loop, Step, When, changed, choose, condition_at, steps_at
from . import channels
from .any_names import CORE, CORES, Sizes, sizes_of, unit_of
from .block import Core, Operand, Plan
from .channels import scaled
from .check import FEW_FRACTALS
from .mmad import MX_PAIR
from .paddings import in_whole_rows
from .scales import zeros_behind
from .statements import Assign, Buffer, Move, Multiply, Part, PipeBarrier, SetAtomic, SetFlag, WaitFlag
from .vector_cores import in_ub, over_ub


def buffers_of(plan: Plan) -> dict[str, Buffer]:
    """The buffers of the core by name, all stages of one side by side: its last mode counts them."""
    found: dict[str, Buffer] = {}
    for b in plan.buffers.values():
        name = b.name.rstrip("0123456789")
        first = found.get(name, b)
        layout = b.layout
        if name != b.name:
            stages, apart = int(b.name[len(name) :]) + 1, int(cosize(b.layout))
            if stages > 1:
                apart = (b.address - first.address) // (stages - 1) * 8 // b.element.bits
            layout = Layout((*b.layout.shape, stages), (*b.layout.stride, apart))
        found[name] = replace(first, name=name, layout=layout)
    return found


#: The buffers whose stages are those of another, or of the same pipe: scales lie beside what they scale.
_BESIDE = {
    "l1A": "l1",
    "l1B": "l1",
    "l1ScaleA": "l1",
    "l1ScaleB": "l1",
    "l1Index": "l1",
    "l0AMx": "l0A",
    "l0BMx": "l0B",
    "ub0C": "ub",
    "ub1C": "ub",
}


class Share(NamedTuple):
    """The part of a block that a vector core has.

    sizes   of it along both modes;  room  the columns that its rows have
    names   what its names are;  there   whether there is one: of two cores the second has none of one row, or of few columns
    """

    sizes: tuple[Sizes, Sizes]
    room: Any
    names: tuple[Assign, ...]
    there: Any


class AnyCore(Core):
    """The statements of any core, for a problem whose sizes are names or numbers."""

    def __init__(self, plan: Plan, problem: tuple[Any, Any, Any], swizzle: BlockSwizzle, slices: int = 1) -> None:
        """plan: of any sizes, its matrices are laid out anew here; slices: of k, which are added in C."""
        m, n, k = plan.tiling.l1
        self.problem, self.swizzle, self.slices = problem, swizzle, slices
        self.m = sizes_of("blockM", "tileM", "restM", m, problem[0])
        self.n = sizes_of("blockN", "tileN", "restN", n, problem[1])
        self.k = sizes_of("fillTile", "fillK", "restK", k, problem[2])
        high, wide, depth = (x.extent for x in (self.m, self.n, self.k))
        shapes = (high, depth), plan.held("B", depth, wide), (high, wide)
        a, b, c = (laid(x, s, n in plan.padded) for n, x, s in zip("ABC", (plan.a, plan.b, plan.c), shapes))
        super().__init__(replace(plan, a=a, b=b, c=c, d=None if plan.d is None else laid(plan.d, (high, wide))))
        self.rows = (
            dim("rowsM", at_least=larger(2, self.m.size), at_most=m) if "AtlasA" in plan.arch.name else self.m.size
        )
        self.buffers = buffers_of(plan)
        self.stage = {name: _stage(f"{name}Stage", self.stages_of(name)) for name in self.next}
        self.fill_stage = _stage("fillStage", self.stages_of("l1"))
        self.tiles, self.k_tile, self.tile_k = dim("tiles"), dim("kTile", at_least=0), dim("tileK", at_most=k)
        self.first_tile: Any = dim("firstTile", at_least=0) if slices > 1 else 0
        deep = plan.tiling.l0[2]
        self.parts, self.k_part = dim("parts", at_most=k // deep), index("kPart", k // deep)
        unit = math.gcd(deep, unit_of(problem[2]))
        self.part_k, self.part_pairs = (
            dim("partK", at_most=deep, multiple_of=unit),
            dim("partPairs", at_most=max(1, deep // MX_PAIR)),
        )
        if plan.scales:  # a Mmad takes whole pairs of scales
            self.part_k = MX_PAIR * self.part_pairs
        pairs = dim("fillPairs", at_most=max(1, k // MX_PAIR)), dim("restPairs", at_least=0)
        self.pairs = Sizes(self.k.at, *pairs, k // MX_PAIR, ceil_div(problem[2], MX_PAIR))
        #: The names of what lies behind tiles and their parts, by those of the problem.
        self.told = {name: rest for x in (self.m, self.n, self.k, self.pairs) for name, rest in x.told.items()}

    # ------------------------------------------------------------------------------------- the proof of a tile

    def inside(self, x: Sizes, begin: Any, size: Any, rest: str) -> Sizes:
        """A part of a tile, or of a part of one, along one mode; rest: the name of how much of the matrix is behind it."""
        made = replace(x, inside=x.inside + begin, size=size, rest=dim(rest, at_least=0))
        self.told |= made.told
        return made

    def settled(self, made: Iterable[Step]) -> tuple[Step, ...]:
        """Steps by the names of the problem, not by what lies behind a tile or behind a part of one."""
        with assuming():  # what lies behind a tile is 0 or more: so the sizes of tiles are assigned
            return tuple(steps_at(made, self.told))

    def condition(self, c: Condition) -> Condition:
        """A condition by the names of the problem."""
        with assuming():
            return condition_at(c, self.told)

    def _within(self, what: str, name: str, layout: Layout, beyond: Any, bits: int) -> None:
        """Require that a tile, and what is written behind it, lies in its stage, whatever its sizes are."""
        buffer = self.buffers[name]
        end, room = cosize(layout) + beyond * 8 // bits, self._size(name)
        if not at_most(end, room):
            fix = "take tiles of whole squares"
            raise Unproven(f"{what}: {end} elements in a stage of {room} of {buffer.name}", f"at most {room}", fix)

    def _size(self, name: str) -> int:
        """The elements of one stage of a buffer."""
        layout = self.buffers[name].layout
        *_, last = layout.stride if isinstance(layout.stride, tuple) else (cosize(layout),)
        return int(last) if len(layout.shape) == 3 else int(cosize(layout))

    def _part(self, what: str, dst: str, src: str, made: Iterable[Step], beside: str = "") -> Part:
        """A transfer as statements, from the stage of one buffer to that of another; beside: that of Fixpipe's scales."""
        shifts = self._shift(dst), self._shift(src)
        return Part(what, dst, src, tuple(moves_of(self.settled(made), dst, src, shifts, beside)))

    def _shift(self, name: str) -> Any:
        """The offset of the stage of a buffer that is in use [elements]."""
        stage = self.stage.get(_BESIDE.get(name, name), 0)
        return stage * self._size(name) if name in self.buffers and name not in ("l1Bias", "bt", "l1Scale", "fb") else 0

    # ------------------------------------------------------------------------------------------------- statements

    def any_blocks(self) -> Iterator[Any]:
        """The statements of one core, whose number is `core`, of `cores`."""
        yield from self.begin()
        yield from (Assign(stage, 0) for stage in self.stage.values() if known(stage) is None)
        blocks = dim("blocksM"), dim("blocksN")
        for b, x in zip(blocks, (self.m, self.n)):
            yield Assign(b, ceil_div(x.whole, x.tile))
        tiles = dim("tilesK") if self.slices > 1 else self.tiles
        yield Assign(tiles, ceil_div(self.problem[2], self.k.tile))
        turn, shared = dim("turn", at_least=0), dim("shared", at_least=0)  # C divides what is not negative
        # slices without a tile are the last: nobody takes them
        yield Assign(shared, blocks[0] * blocks[1] * smaller(tiles, self.slices) + (CORES - 1 - CORE))
        yield Loop(turn, shared // CORES, tuple(self._of_block(turn, blocks)))
        yield from [SetAtomic(False)] if self.plan.adds else ()
        yield PipeBarrier("ALL")
        yield from (WaitFlag(event, i) for event, i in self._own_flags())

    def _of_block(self, turn: Any, blocks: tuple[Any, Any]) -> Iterator[Any]:
        """One block: its place and its sizes, the loop over k, and its accumulators out."""
        task = dim("task", at_least=0)
        yield Assign(task, CORE + turn * CORES)
        if self.slices > 1:
            number = dim("number", at_least=0)
            yield from self._of_slice(task, blocks, number)
            task = number
        names, m, n = coordinates(self.swizzle, task, blocks)
        yield from (Assign(name, value) for name, value in names)
        for x, at in ((self.m, m), (self.n, n)):
            yield Assign(x.at, at)
            yield Assign(x.size, smaller(x.tile, x.whole - x.start))
        if self.rows is not self.m.size:  # one row would be multiplied as a vector: 16 are
            yield Assign(self.rows, larger(self.m.size, 31 - 15 * self.m.size))
        yield from self._filled(0, self.stage["l1"])
        if self.plan.bias:
            yield from self._biases_in()
        if self.plan.channels:
            yield WaitFlag(*channels.READ)
            made: Any = self._load_channels(self.n.start, self.n.size)
            yield self._part("scale to L1", "l1Scale", "scale", made)
            yield SetFlag(*channels.FILLED)
        if not self.plan.unit_flag:
            yield WaitFlag("FIX_M", self.stage["l0C"])
        yield Loop(self.k_tile, self.tiles, tuple(self._of_tile()))
        yield from self._stored()

    def _of_slice(self, task: Any, blocks: tuple[Any, Any], number: Any) -> Iterator[Any]:
        """The names of a slice of k: its number, that of its block in the matrix, and its tiles. As many as all others
        have, the first ones one more."""
        cut, tiles = index("slice", self.slices), dim("tilesK")
        yield Assign(cut, task // (blocks[0] * blocks[1]))
        yield Assign(number, task % (blocks[0] * blocks[1]))
        before, here = (smaller(n, tiles % self.slices) for n in (cut, cut + 1))
        yield Assign(self.first_tile, cut * (tiles // self.slices) + before)
        yield Assign(self.tiles, tiles // self.slices + here - before)

    def _of_tile(self) -> Iterator[Any]:
        """One tile of k: the next is loaded, before or behind it; its parts are multiplied."""
        count = self.plan.tiling.stages["L1"]
        following = (self.stage["l1"] + 1) % count
        fill = When(self.k_tile + 1 < self.tiles, tuple(self._filled(self.k_tile + 1, following)), ())
        yield from [fill] if count > 1 else ()
        at = self.first_tile + self.k_tile
        yield Assign(self.tile_k, smaller(self.k.tile, self.problem[2] - self.k.tile * at))
        yield Assign(self.parts, ceil_div(self.tile_k, self.plan.tiling.l0[2]))
        yield Loop(self.k_part, self.parts, tuple(self._of_part()))
        yield from [fill] if count == 1 else ()
        yield from self._next("l1")

    def _filled(self, tile: Any, stage: Any) -> Iterator[Any]:
        """The loads of a tile of A and one of B into a stage of L1."""
        yield Assign(self.k.at, self.first_tile + tile)
        yield from [Assign(self.fill_stage, stage)] if known(self.fill_stage) is None else ()
        yield Assign(self.k.size, smaller(self.k.tile, self.problem[2] - self.k.start))
        for which, sides in (("A", (self.m, self.k)), ("B", (self.k, self.n))):
            flag, name = self.fill_stage + (self.plan.tiling.stages["L1"] if which == "B" else 0), f"l1{which}"
            made: Any = self._load(which, tuple(x.start for x in sides), tuple(x.size for x in sides))
            self._within(f"{which} to L1", name, self.plan.l1_layouts["AB".index(which)], made.beyond, 8)
            shifts = self.fill_stage * self._size(name), 0
            source = self.plan.source(which)
            body = [*moves_of(self.settled(made), name, source, shifts)]
            yield WaitFlag("MTE1_MTE2", flag)
            if self.plan.scales:
                body += self._zeros(which, sides[which == "B"])
            yield Part(f"{which} to L1", name, source, tuple(body))
            yield from self._fill_with_scales(which, sides[which == "B"]) if self.plan.scales else ()
            if self.plan.sparse and which == "B":
                made = self._load_index((self.k.start, self.n.start), self.k.size, self.n.size)
                self._within("index to L1", "l1Index", self.plan.buffers["l1Index0"].layout, made.beyond, 8)
                shifts = self.fill_stage * self._size("l1Index"), 0
                moves = moves_of(self.settled(made), "l1Index", "index", shifts)
                yield Part("index to L1", "l1Index", "index", tuple(moves))
            yield SetFlag("MTE2_MTE1", flag)

    def _zeros(self, which: str, across: Sizes) -> Iterator[Any]:
        """The zeros behind a tile in L1, where there are any; they lie in its stage."""
        name, size = f"l1{which}", self._size(f"l1{which}")
        left, zeros = zeros_behind(self.plan, which, name, across.size, self.k.size)
        p, c0 = zeros.parameters, int(zeros.element.C0)
        end = zeros.at + ((p["repeatTimes"] - 1) * (p["blockNum"] + p["dstGap"]) + p["blockNum"]) * c0
        if known(left) != 0 and not at_most(end, size):
            raise Unproven(
                f"zeros behind {which}: {end} elements in {size}", f"at most {size}", "take tiles of whole 64"
            )
        yield from choose(left > 0, [zeros._replace(at=zeros.at + self.fill_stage * size)], [])

    def _fill_with_scales(self, which: str, across: Sizes) -> Iterator[Any]:
        """The scales of a tile, in whole pairs."""
        name, pairs = f"l1Scale{which}", self.pairs
        yield Assign(pairs.size, ceil_div(self.k.size, MX_PAIR))
        start, depth = (across.start, MX_PAIR * pairs.start), MX_PAIR * pairs.extent
        made: Any = self._load_scales(which, start, across.size, MX_PAIR * pairs.size, depth)
        self._within(f"scales of {which} to L1", name, self.plan.buffers[f"{name}0"].layout, made.beyond, 8)
        shifts = self.fill_stage * self._size(name), 0
        what, src = f"scales of {which} to L1", f"scale{which}"
        yield Part(what, name, src, tuple(moves_of(self.settled(made), name, src, shifts)))

    def _biases_in(self) -> Iterator[Any]:
        (filled, flag), _ = self._bias_flags()
        yield WaitFlag(filled, flag)
        yield self._part("biases to L1", "l1Bias", "bias", self._load_bias(self.n.start, self.n.size))
        yield SetFlag("MTE2_MTE1", flag)

    def _of_part(self) -> Iterator[Any]:
        """A part of a tile of k: into L0A and L0B, and multiplied."""
        plan, deep, l1 = self.plan, self.plan.tiling.l0[2], self.plan.tiling.stages["L1"]
        left = smaller(deep, self.tile_k - deep * self.k_part)
        yield Assign(self.part_pairs, ceil_div(left, MX_PAIR)) if plan.scales else Assign(self.part_k, left)
        at = deep * self.k_part
        a, b = ("A", (0, at), (self.rows, self.part_k)), ("B", (at, 0), (self.part_k, self.n.size))
        for which, start, sizes in (a, b):
            own, flag = self.stage[f"l0{which}"], self.stage["l1"] + (l1 if which == "B" else 0)
            yield WaitFlag("M_MTE1", own + (plan.tiling.stages["L0A"] if which == "B" else 0))
            yield When(self.k_part < 1, (WaitFlag("MTE2_MTE1", flag),), ())
            yield self._to_l0(which, start, sizes)
            if plan.scales:
                made: Any = self._load_l0_scales(which, at, sizes[which == "B"], self.part_k)
                yield self._part(f"scales of {which} to L0", f"l0{which}Mx", f"l1Scale{which}", made)
            yield When(self.parts <= self.k_part + 1, (SetFlag("MTE1_MTE2", flag),), ())
        yield from self._multiplied()

    def _to_l0(self, which: str, start: tuple[Any, Any], sizes: tuple[Any, Any]) -> Part:
        found: Any = self._load_l0(which, start, sizes)
        made, dst = found
        element = (self.plan.a if which == "A" else self.plan.b).element
        self._within(f"{which} to L0", f"l0{which}", dst.layout, made.beyond, element.bits)
        if not at_most(made.reads_beyond, 0):
            what = f"{which} to L0: it reads {made.reads_beyond} bytes behind its tile of L1"
            raise Unproven(what, "none", "take tiles of whole squares")
        if which == "A" or not self.plan.sparse:
            return self._part(f"{which} to L0", f"l0{which}", f"l1{which}", made)
        further = functools.partial(_with_index_further, shift=self._shift("l1Index"))
        return self._part("B to L0", "l0B", "l1B", changed(made, further), "l1Index")

    def _multiplied(self) -> Iterator[Any]:
        """A Mmad, with the biases before the first."""
        plan, l0c = self.plan, self.stage["l0C"]
        first = self.k_tile + self.k_part < 1
        yield from [When(first, tuple(self._fill_bt(self.n.size)), ())] if plan.bias else ()
        yield SetFlag("MTE1_M", l0c)
        yield WaitFlag("MTE1_M", l0c)
        biased: list[Any] = [When(first, (self._product(True),), (self._product(False),))] if plan.bias else []
        yield from biased or [self._product(False)]
        few = self.rows // 16 * (self.n.size // 16) < FEW_FRACTALS
        yield from choose(few, [PipeBarrier("M")], [])
        yield from [When(first, (SetFlag(*self._bias_flags()[1]),), ())] if plan.bias else ()
        for which, before in (("B", plan.tiling.stages["L0A"]), ("A", 0)):
            yield SetFlag("M_MTE1", self.stage[f"l0{which}"] + before)
            yield from self._next(f"l0{which}")

    def _product(self, biased: bool) -> Multiply:
        """The Mmad of a part: the first part of the first tile begins anew, the last hands the accumulators over."""
        plan = self.plan
        made = self._mmad(self.rows, self.n.size, self.part_k, biased or not plan.bias, 2 if plan.unit_flag else 0)
        self._within("Mmad", "l0C", made.operands(plan.arch).c, 0, 8)
        left = (self.tiles - 1 - self.k_tile) + (self.parts - 1 - self.k_part)
        told = {"cmatrixInitVal": 0 if plan.bias else larger(0, 1 - self.k_tile - self.k_part)}
        told |= {"unitFlag": larger(2, 3 - left)} if plan.unit_flag else {}
        places = {x: getattr(made, x) + self._shift(name) for x, name in (("dst", "l0C"), ("a", "l0A"), ("b", "l0B"))}
        instruction = replace(made, **places, parameters={**made.parameters, **told})
        return Multiply("l0C", "l0A", "l0B", "bt" if biased else None, instruction)

    def _stored(self) -> Iterator[Any]:
        """The accumulators to global memory."""
        stage, unit = self.stage["l0C"], self.plan.unit_flag
        leaving = self.plan.leaving((self.m.start, self.n.start), (self.m.size, self.n.size), self.rows)
        made = tuple(map(self.plan.told, leaving))
        yield from [] if unit else [SetFlag("M_FIX", stage), WaitFlag("M_FIX", stage)]
        beside = self.plan.scale_of_fixpipe
        to_fb = self._part("scale to FB", "fb", "l1Scale", self._load_fb(self.n.size)) if beside == "fb" else None
        what, to = ("C to GM", "C") if self.plan.split is None else ("C to UB", "ub0C")
        part = self._part(what, to, "l0C", made, beside)
        yield from scaled(self.plan, to_fb, self._moved_on(part, leaving))
        yield from [] if unit else [SetFlag("FIX_M", stage), *self._next("l0C")]

    def _moved_on(self, part: Part, made: Transfer) -> Iterable[Any]:
        """The transfer of accumulators, and what vector cores do then."""
        if self.plan.split is None:
            return [part]
        self._require_in_ub(made)
        return [*over_ub(self.plan, part, self._from_core, self.stage["ub"]), *self._next("ub")]

    def _require_in_ub(self, made: Transfer) -> None:
        """Require that what Fixpipe moves to vector cores lies in its stages of L0C and UB, whatever its sizes are."""
        m, n, plan = self.m.size, self.n.size, self.plan
        self._within("C to UB", "ub0C", in_ub(plan, m, n), made.beyond, plan.c.element.bits)
        if plan.split == "SPLIT_N":
            self._within("C to UB", "l0C", L0C(m, 2 * half_of("SPLIT_N", n)).layout, 0, 8)

    def _from_core(self, core: int) -> Iterator[Any]:
        """The statements that move a vector core's part of a block to global memory."""
        plan, made = self.plan, self._share(core)
        m, n = (x.size for x in made.sizes)
        c0, more = int(plan.c.element.C0), list[Any]()
        across = ceil_div(n, c0)
        if plan.split == "SPLIT_N":  # the second half has fewer columns than there is room for
            rest = dim(f"ubRest{core}", at_least=0, at_most=ceil_div(plan.tiling.l1[1] // 2, c0) - across)
            more = [Assign(rest, made.room // c0 - across)]
            across += rest
        src = tensor_at("UB", RowMajor.MakeLayout(plan.c.element, m, n, ld=c0 * across))
        out = self._part("C to GM", "C", f"ub{core}C", plan.move(src, in_gm(plan.c, made.sizes), plan.c.element))
        yield from choose(made.there, [*made.names, *more, out], ())

    def _share(self, core: int) -> Share:
        """The part of a block that a vector core has."""
        if self.plan.split in (None, "NO_SPLIT"):
            return Share((self.m, self.n), self.n.size, (), True)
        split = str(self.plan.split)
        mode = SPLITS[split][0]
        whole, most = (self.m, self.n)[mode], self.plan.tiling.l1[mode] // 2
        half = half_of(split, whole.size)
        begin, share = index(f"splitAt{core}", most + 1), dim(f"share{core}", at_most=most)
        own = self.inside(whole, begin, share, f"shareRest{core}")
        names = Assign(begin, core * half), Assign(share, smaller(half, whole.size - core * half))
        sizes = (self.m, own) if mode else (own, self.n)
        return Share(sizes, half if mode else self.n.size, names, core == 0 or core * half < whole.size)

    def _next(self, name: str) -> Iterator[Any]:
        """The next stage of a buffer."""
        stage, count = self.stage[name], self.stages_of(name)
        yield from [Assign(stage, (stage + 1) % count)] if known(stage) is None else ()

    def stages_of(self, name: str) -> int:
        """The number of stages of l1, l0A, l0B, l0C or ub."""
        return self.plan.tiling.stages[name.replace("l", "L").replace("ub", "UB")]


def laid(x: Operand, sizes: tuple[Any, ...], padded: bool = False) -> Operand:
    """A matrix of other sizes; padded: whether vector cores lay it out anew, in rows of whole 512 bytes where not in blocks."""
    if x.tag in (PaddingRowMajor, PaddingColumnMajor):
        block = (int(mode[0]) for mode in x.layout.shape)
        return Operand(x.element, x.tag, x.tag.MakeLayout(x.element, *sizes, *block))
    if padded and x.tag in (RowMajor, ColumnMajor):
        return Operand(x.element, x.tag, in_whole_rows(x, sizes))
    return Operand(x.element, x.tag, x.tag.MakeLayout(x.element, *sizes))


def in_gm(x: Operand, sizes: tuple[Sizes, Sizes]) -> Tensor:
    """A tile of a matrix in global memory."""
    whole = tensor_at("GM", laid(x, tuple(s.extent for s in sizes)).layout)
    return GetTile(whole, tuple(s.start for s in sizes), tuple(s.size for s in sizes))


def _stage(name: str, count: int) -> Any:
    """The name of the stage of a buffer that is in use; 0 where there is but one."""
    return index(name, count) if count > 1 else 0


def moves_of(steps: Iterable[Step], dst: str, src: str, shifts: tuple[Any, Any], beside: str = "") -> Iterator[Any]:
    """Steps of a transfer as statements, so many elements further."""

    def one(i: TransferInstruction) -> Move:
        return Move(dst, src, replace(i, dst=i.dst + shifts[0], src=i.src + shifts[1]), beside)

    return changed(steps, one)


def _with_index_further(i: TransferInstruction, shift: Any) -> TransferInstruction:
    """An instruction whose index lies so many bytes further."""
    return replace(i, parameters={**i.parameters, "index": i.parameters["index"] + shift})


def conditions_of(core: AnyCore, recorded: Iterable[Condition], names: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions that a host has to ask before it starts a kernel, by the names of the problem's sizes.

    One that speaks of tiles too has to hold for all of them. Raises Unproven where that is not known.
    """
    found: list[Condition] = []
    for c in (_for_all(core.condition(c), names) for c in recorded):
        if c.holds or c in found:
            continue
        if {n.name for n in c.a.scope | c.b.scope} - {*names}:
            what = f"a block of any size: it is not known whether {c}"
            raise Unproven(what, str(c), "give facts of its sizes: dim(..., at_most=...)")
        found.append(c)
    return tuple(found)


def _for_all(c: Condition, names: Collection[str]) -> Condition:
    """A condition of other names than these too, under which it holds for all of their values: each at its worse end, where
    a number times the name is all that it stands in."""
    for n in () if c.holds or c.question not in ("<", "<=") else (c.a.scope | c.b.scope):
        more, rest = split((wrap(c.a) - wrap(c.b)).poly, n)
        factor = known(wrap(more))
        if n.name in names or not factor or n in rest.scope:
            continue
        end = (greatest if factor > 0 else least)(of_symbol(n).poly)
        c = c if end is None else condition_at(c, {n.name: end})
    return c
