"""A block of a matrix product as one value: where its tiles lie, and the statements of the core that computes it.

The loop is that of CATLASS: two or more stages of L1 are filled while one is read, L0A and L0B are filled while the
other is multiplied, and an event for each buffer says when it may be read, and when it may be filled again.

Source: CATLASS `BlockMmadTla` (block_mmad_pingpong_tla.hpp), `TileMmadTla`, `BasicMatmulTla`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...core import element as types
from ...core.element import Element
from ...core.errors import RangeError
from ...core.layout import Layout, require_origin
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..schedules import Block
from ..tags import L0C, ColumnMajor, PaddingColumnMajor, PaddingRowMajor, RowMajor, Tag, VectorLayout, nZ, zN, zZ
from ..transfers import transfer
from ..transfers.fixpipe import CONVERTS, scaled_by, settings_of
from ..transfers.instruction import TransferInstruction
from ..transfers.proof import require_place
from ..transfers.side import side_of, tensor_at
from ..transfers.sparse import STORED
from . import channels
from .activations import STAGES, Activation, tile_statements
from .channels import channel_row, load_channels, load_fb, scaled
from .check import FEW_FRACTALS
from .mmad import MX_PAIR, MmadInstruction, mmad
from .queues import MOST_UP
from .scales import load_l0_scales, load_scales, scale_buffers, scale_rows, zeros_behind
from .sparse import index_layout, load_index
from .statements import Buffer, Move, Multiply, Part, PipeBarrier, SetAtomic, SetFlag, WaitFlag
from .trace import VECTOR_PIPES
from .vector_cores import buffer_rows, came, from_ub, in_ub, over_ub, over_workspace, own_flags, tiles_of

R = TypeVar("R")

#: The tag that a matrix of global memory has in L1.
L1_TAGS: dict[Tag, Tag] = {RowMajor: zN, ColumnMajor: nZ, zN: zN, nZ: nZ, PaddingRowMajor: zN, PaddingColumnMajor: nZ}


@dataclass(frozen=True)
class Operand:
    """A matrix of global memory: its element type, its tag, and its layout."""

    element: Element
    tag: Tag
    layout: Layout


@dataclass(frozen=True)
class Tiling:
    """The tiles of a block, and how often each buffer is there.

    l1       (m, n, k) of what L1 holds;  l0  of what L0 holds: m and n as in L1
    stages   of L1, L0A, L0B and L0C
    """

    l1: tuple[int, int, int]
    l0: tuple[int, int, int]
    stages: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """All that decides the statements of a block: matrices, tiles, architecture, and what is done with the result."""

    arch: Architecture
    a: Operand
    b: Operand
    c: Operand
    total: Element
    bias: bool
    tiling: Tiling
    unit_flag: bool
    quant: str
    scale: float | None
    relu: bool
    adds: bool
    scales: bool = False
    sparse: bool = False
    split: str | None = None
    padded: tuple[str, ...] = ()
    activation: Activation | None = None
    d: Operand | None = None

    @functools.cached_property
    def l1_layouts(self) -> tuple[Layout, Layout]:
        """The layouts of A and B in L1: those of whole tiles."""
        m, n, k = self.tiling.l1
        sides = ((self.a, (m, k)), (self.b, self.held("B", k, n)))
        return tuple(L1_TAGS[x.tag].MakeLayout(x.element, *sizes) for x, sizes in sides)  # type: ignore[return-value]

    @property
    def sizes(self) -> tuple[Any, Any, Any]:
        """The problem, (m, n, k), by the matrices A and C."""
        (_, k), (m, n) = (require_origin("a matrix", x.layout) for x in (self.a, self.c))
        return m, n, k

    def source(self, which: str) -> str:
        """The name of the tensor that A or B is read from: WA of an A that vector cores have laid out anew."""
        return f"W{which}" if which in self.padded else which

    def held(self, which: str, rows: Any, columns: Any) -> tuple[Any, Any]:
        """The size, or the place, of a tile of A or B in what is stored: of a sparse B half of the rows."""
        return (rows // 2, columns) if which == "B" and self.sparse else (rows, columns)

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """Every buffer of the core by name, each stage one: A in L1, then B, then biases; the others from 0 on."""
        (m, n, _), (_, _, k), stages = self.tiling.l1, self.tiling.l0, self.tiling.stages
        tag = zZ if "AtlasA" in self.arch.name else zN
        sides = zip("AB", (self.a, self.b), self.l1_layouts)
        rows = [(f"l1{name}", "L1", side.element, layout, "L1") for name, side, layout in sides]
        rows += [("l1Index", "L1", types.uint8, index_layout(self.tiling.l1[2], n), "L1")] if self.sparse else []
        rows += [("l1Bias", "L1", self.total, VectorLayout.MakeLayout(self.total, n), "")] if self.bias else []
        rows += [channel_row("l1Scale", "L1", n)] if self.channels else []
        rows += [("l0A", "L0A", self.a.element, tag.MakeLayout(self.a.element, m, k), "L0A")]
        rows += [("l0B", "L0B", self.b.element, nZ.MakeLayout(self.b.element, *self.held("B", k, n)), "L0B")]
        rows += [("l0C", "L0C", self.total, L0C(m, n).layout, "L0C")]
        rows += buffer_rows(self)
        rows += [("bt", "Bias", self.total, VectorLayout.MakeLayout(self.total, n), "")] if self.bias else []
        rows += [channel_row("fb", "FixBuf", n)] if self.scale_of_fixpipe == "fb" else []
        rows[2 + self.bias : 2 + self.bias] = scale_rows(self) if self.scales else ()
        found = {b.name: b for b in placed(rows, {**stages, "tiles": STAGES}, self.arch)}
        return found | ({b.name: b for b in scale_buffers(self, found)} if self.scales else {})

    @property
    def channels(self) -> bool:
        """Whether each column has a scale of its own."""
        return self.quant == "PER_CHANNEL"

    @property
    def scale_of_fixpipe(self) -> str:
        """The buffer that Fixpipe takes the scales of columns from; "" where there are none."""
        return "" if not self.channels else "fb" if "AtlasA" in self.arch.name else "l1Scale"

    @property
    def conversion(self) -> tuple[tuple[str, str], ...]:
        """The fields with which Fixpipe converts."""
        told = settings_of(self.c.element, self.total, self.quant, self.relu, "AtlasA" not in self.arch.name)
        told = {**told, **({"deqScalar": repr(self.scale)} if self.scale is not None else {})}
        return tuple((f, told[f]) for f in CONVERTS if f in told)

    @property
    def vectors(self) -> int:
        """The number of vector cores that the result goes through."""
        if self.split is None:
            return 0 if self.activation is None else 2
        return 1 if self.split == "NO_SPLIT" else 2

    @property
    def result(self) -> tuple[str, Operand]:
        """The name and the matrix of the result: C, or D that an activation makes of it."""
        return ("C", self.c) if self.d is None else ("D", self.d)

    # ------------------------------------------------------------------------------------------------- tiles

    def move(self, src: Tensor, dst: Tensor, element: Element, **options: Any) -> tuple[TransferInstruction, ...]:
        """The instructions of a transfer."""
        return transfer(src, dst, self.arch, element=element, **options)

    def memory(self, name: str) -> Tensor:
        """A buffer of the core as a tensor."""
        buffer = self.buffers[name]
        return tensor_at(buffer.position, buffer.layout)

    def _gm(self, x: Operand) -> Tensor:
        return tensor_at("GM", x.layout)

    def load(self, which: str, start: tuple[int, int], sizes: tuple[int, int]) -> tuple[TransferInstruction, ...]:
        """The instructions that move a tile of A or B from global memory to L1."""
        x, layout = (self.a, self.l1_layouts[0]) if which == "A" else (self.b, self.l1_layouts[1])
        src = GetTile(self._gm(x), self.held(which, *start), self.held(which, *sizes))
        made: tuple[TransferInstruction, ...] = self._anywhere(
            which, x, src, "src", lambda: self.move(src, tensor_at("L1", layout), x.element)
        )
        return made

    def _anywhere(self, key: Any, x: Operand, tile: Tensor, side: str, make: Callable[[], Any]) -> Any:
        """The instructions that move a tile of a matrix in global memory, their `side`; of a plain matrix as they are proved
        for another tile of the same sizes.

        Lines lie at one step from one another, wherever a tile begins: element (i, j) of a tile is i and j times the
        strides behind its first. So what is proved to move one tile moves each of the same sizes, begun at that
        tile's first element. What is asked of the place itself, GetTile and require_place ask for each tile anew.
        """
        place = side_of(tile, x.element)
        if x.tag not in (RowMajor, ColumnMajor) or place.symbols:
            return make()
        require_place("GM", place, self.arch)
        if (key, place.valid) not in self._proved:
            self._proved[key, place.valid] = place.at, make()
        at, made = self._proved[key, place.valid]
        moved = ({side: getattr(i, side) + place.at - at} for i in made)
        return made if at == place.at else tuple(replace(i, **n) for i, n in zip(made, moved))

    @functools.cached_property
    def _proved(self) -> dict[Any, tuple[int, Any]]:
        """The transfers of tiles of plain matrices by matrix and sizes: where the tile begins that each is proved for."""
        return {}

    def tile_to_ub(self, start: tuple[int, int], sizes: tuple[int, int]) -> Any:
        """The instructions that move a tile of C from the workspace to UB."""
        assert self.activation is not None
        src, dst = GetTile(self._gm(self.c), start, sizes), self.activation.layout(self.c.element, sizes)
        return self._anywhere("C", self.c, src, "src", lambda: self.move(src, tensor_at("UB", dst), self.c.element))

    def tile_from_ub(self, start: tuple[int, int], sizes: tuple[int, int]) -> Any:
        """The instructions that move a tile that an activation has made from UB to D."""
        assert self.activation is not None
        d = self.result[1]
        src, dst = self.activation.leaving(sizes)[1], GetTile(self._gm(d), start, sizes)
        return self._anywhere("D", d, dst, "dst", lambda: self.move(src, dst, d.element))

    def load_l0(
        self, which: str, start: tuple[int, int], sizes: tuple[int, int]
    ) -> tuple[tuple[TransferInstruction, ...], Tensor]:
        """The instructions that move a part of a tile from L1 to L0, and the tensor there."""
        x, layout = (self.a, self.l1_layouts[0]) if which == "A" else (self.b, self.l1_layouts[1])
        start, sizes = self.held(which, *start), self.held(which, *sizes)
        dst = tensor_at(f"L0{which}", self._l0_layout(which, sizes))
        src = GetTile(tensor_at("L1", layout), start, sizes)
        return self.move(src, dst, x.element, **self._index(which, start, sizes)), dst

    def _index(self, which: str, start: tuple[Any, Any], sizes: tuple[Any, Any]) -> dict[str, Tensor]:
        """The index of a part of a sparse B in L1, as an option of its transfer to L0B."""
        if which == "A" or not self.sparse:
            return {}
        whole = tensor_at("L1", self.buffers["l1Index0"].layout)
        return {"index": GetTile(whole, (start[0] // STORED, start[1]), (sizes[0] // STORED, sizes[1]))}

    def _l0_layout(self, which: str, sizes: tuple[int, int]) -> Layout:
        """The layout of a part in L0; of words from nZ in k of whole 16, which Mmad reads with kDirectionAlign."""
        if which == "B":
            return nZ.MakeLayout(self.b.element, *sizes)
        if "AtlasA" not in self.arch.name:
            return zN.MakeLayout(self.a.element, *sizes)
        words = self.a.element.bits == 32 and L1_TAGS[self.a.tag] is nZ
        return zZ.MakeLayout(self.a.element, *sizes, ld=-(-sizes[1] // 16) * 16 if words else None)

    def load_bias(self, start: int, n: int) -> tuple[TransferInstruction, ...]:
        """The instructions that move n biases from global memory to L1."""
        whole = tensor_at("GM", VectorLayout.MakeLayout(self.total, require_origin("C", self.c.layout)[1]))
        return self.move(GetTile(whole, (start,), (n,)), self.memory("l1Bias"), self.total)

    def load_bt(self, n: int) -> tuple[TransferInstruction, ...]:
        """The instructions that move n biases from L1 to the table of biases."""
        return self.move(GetTile(self.memory("l1Bias"), (0,), (n,)), self.memory("bt"), self.total)

    def store(
        self, start: tuple[int, int], sizes: tuple[int, int], rows: Any = None
    ) -> tuple[TransferInstruction, ...]:
        """The instructions that move the accumulators of a block to global memory; rows: those that were multiplied."""
        return tuple(map(self.told, self.leaving(start, sizes, rows)))

    def leaving(self, start: tuple[Any, Any], sizes: tuple[Any, Any], rows: Any = None) -> Any:
        """The transfer of the accumulators of a block, as it is without unit flags and scales."""
        m, n = sizes
        rows = self.rows(m) if rows is None else rows
        src, more = tensor_at("L0C", L0C(rows, n).layout), dict[str, Any]()
        dst = GetTile(self._gm(self.c), start, sizes)
        if self.split is not None:
            dst, more = tensor_at("UB", in_ub(self, m, n)), {"split": self.split}
        more |= {"accumulator": self.total, "quant": self.quant, "relu": self.relu}
        move = functools.partial(self.move, src, dst, self.c.element, **more)
        return move() if self.split is not None else self._anywhere(("C", rows), self.c, dst, "dst", move)

    def told(self, i: TransferInstruction) -> TransferInstruction:
        """A Fixpipe with its unit flag and its scale, or the buffer of its scales."""
        settings = {**i.settings, **({"deqScalar": repr(self.scale)} if self.scale is not None else {})}
        if self.channels:
            settings |= scaled_by(self.quant, "AtlasA" not in self.arch.name, self.scale_of_fixpipe)
        return replace(i, parameters={**i.parameters, **({"unitFlag": 3} if self.unit_flag else {})}, settings=settings)

    def rows(self, m: int) -> int:
        """The rows that are multiplied for m rows: of one, which Mmad would take for a vector, 16 on AtlasA2."""
        return 16 if m == 1 and "AtlasA" in self.arch.name else m


_Row = tuple[str, str, Element, Layout, str]


def placed(rows: Iterable[_Row], stages: dict[str, int], arch: Architecture) -> Iterator[Buffer]:
    """Buffers one behind another in each memory, each as often as it has stages; RangeError where a memory is full."""
    ends: dict[str, int] = {}
    for name, place, element, layout, kind in rows:
        for i in range(stages.get(kind, 1)):
            memory = "UB" if place in VECTOR_PIPES.values() else place
            unit = arch.alignment[memory]
            begin = -(-ends.get(place, 0) // unit) * unit
            made = Buffer(f"{name}{i}" if kind else name, place, element, layout, begin)
            ends[place] = made.end
            if made.end > arch.sizes[memory]:
                expected, fix = f"at most {arch.sizes[memory]} bytes on {arch}", "take smaller tiles, or fewer stages"
                raise RangeError(f"{made.name} at bytes {begin} to {made.end - 1} of {place}", expected, fix)
            yield made


def once(f: Callable[..., R]) -> Callable[..., R]:
    """f with what it has made before, for as long as the core that holds it is written."""
    made: dict[tuple[Any, ...], R] = {}

    def kept(*arguments: Any) -> R:
        if arguments not in made:
            made[arguments] = f(*arguments)
        return made[arguments]

    return kept


class Core:
    """The statements of one core, while they are written: which stage of each buffer comes next."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        own = ["ub"] * (plan.split is not None) + ["tile0", "tile1", "told"] * (plan.activation is not None)
        self.next = dict.fromkeys(["l1", "l0A", "l0B", "l0C", *own], 0)
        #: The numbers of the tiles of k that a block is written of, by how many there are.
        self.turns: Callable[[int], Iterable[int]] = range
        self._load, self._load_l0, self._store = once(plan.load), once(plan.load_l0), once(plan.store)
        self._load_bias, self._load_bt = once(plan.load_bias), once(plan.load_bt)
        self._load_channels, self._load_fb = (once(functools.partial(f, plan)) for f in (load_channels, load_fb))
        self._load_scales = once(functools.partial(load_scales, plan))
        self._load_l0_scales = once(functools.partial(load_l0_scales, plan))
        self._load_index = once(functools.partial(load_index, plan))
        self._from_ub = once(functools.partial(from_ub, plan))
        self._tile_to_ub, self._tile_from_ub = once(plan.tile_to_ub), once(plan.tile_from_ub)
        self._activate = once(self._activated)
        self._mmad = once(self._made)

    def statements(self, blocks: Iterable[Block]) -> Iterator[Any]:
        """The statements of all blocks, with flags that are up before the first, and waited for behind the last."""
        yield from self.begin()
        for block in blocks:
            yield from self.block(block)
        yield from ([SetAtomic(False)] if self.plan.adds else [])
        yield PipeBarrier("ALL")
        yield from (WaitFlag(event, i) for event, i in self._own_flags())

    def begin(self) -> Iterator[Any]:
        """The statements before the first block."""
        yield from (SetFlag(event, i) for event, i in self._own_flags())
        yield from ([SetAtomic(True)] if self.plan.adds else [])

    def block(self, block: Block) -> Iterator[Any]:
        """The statements of a block; of an empty one none."""
        if min(block.extents) > 0:
            yield from self._block(block)

    def _own_flags(self) -> Iterator[tuple[str, int]]:
        """The flags that say that a buffer may be filled: for each of A and B in L1, in L0, of L0C and biases."""
        stages = self.plan.tiling.stages
        yield from (("MTE1_MTE2", i) for i in range(2 * stages["L1"]))
        yield from (("M_MTE1", i) for i in range(stages["L0A"] + stages["L0B"]))
        if not self.plan.unit_flag:
            yield from (("FIX_M", i) for i in range(stages["L0C"]))
        if self.plan.bias:
            yield from self._bias_flags()
        if self.plan.channels:
            yield channels.READ
        yield from own_flags(self.plan)

    def _bias_flags(self) -> tuple[tuple[str, int], tuple[str, int]]:
        stages = self.plan.tiling.stages
        return ("MTE1_MTE2", 2 * stages["L1"]), ("M_MTE1", stages["L0A"] + stages["L0B"])

    def _block(self, block: Block) -> Iterator[Any]:
        """One block: tiles of k are loaded, one ahead where L1 has room, multiplied part by part; sums move out."""
        ahead = self.plan.tiling.stages["L1"] > 1
        plan, depth, step = self.plan, block.extents[2], self.plan.tiling.l1[2]
        yield from self._fill(block, 0, min(step, depth), self.next["l1"])
        if plan.bias:
            yield from self._fill_bias(block)
        if plan.channels:
            yield WaitFlag(*channels.READ)
            yield _part("scale to L1", "l1Scale", "scale", self._load_channels(block.start[1], block.extents[1]))
            yield SetFlag(*channels.FILLED)
        if not plan.unit_flag:
            yield WaitFlag("FIX_M", self.next["l0C"])
        for number in self.turns(-(-depth // step)):
            at = number * step
            end = min(at + step, depth)
            following = (self.next["l1"] + 1) % plan.tiling.stages["L1"]
            fill = [*self._fill(block, end, min(step, depth - end), following)] if end < depth else []
            yield from fill if ahead else ()
            yield from self._multiply_tile(block, at, end - at, last=not fill)
            yield from () if ahead else fill
            self.next["l1"] = following
        yield from self._out(block)

    def _fill(self, block: Block, at: int, size: int, stage: int) -> Iterator[Any]:
        """The loads of a tile of A and one of B into a stage of L1."""
        (row, column, first), (m, n, _) = block.start, block.extents
        k = first + at
        for which, start, sizes in (("A", (row, k), (m, size)), ("B", (k, column), (size, n))):
            flag = stage + (self.plan.tiling.stages["L1"] if which == "B" else 0)
            name = f"l1{which}{stage}"
            yield WaitFlag("MTE1_MTE2", flag)
            yield _part(f"{which} to L1", name, self.plan.source(which), self._load(which, start, sizes))
            if self.plan.scales:
                yield from self._fill_scales(which, stage, (row, m) if which == "A" else (column, n), (k, size))
            if self.plan.sparse and which == "B":
                yield _part("index to L1", f"l1Index{stage}", "index", self._load_index((k, column), size, n))
            yield SetFlag("MTE2_MTE1", flag)

    def _fill_scales(self, which: str, stage: int, across: tuple[int, int], along: tuple[int, int]) -> Iterator[Part]:
        """The zeros behind a tile in L1, and its scales; across, along: where it begins, and how large it is."""
        (start, other), (k, size) = across, along
        left, zeros = zeros_behind(self.plan, which, f"l1{which}{stage}", other, size)
        yield from [Part(f"zeros behind {which}", None, None, (zeros,))] if left > 0 else []
        made = self._load_scales(which, (start, k), other, size)
        yield _part(f"scales of {which} to L1", f"l1Scale{which}{stage}", f"scale{which}", made)

    def _fill_bias(self, block: Block) -> Iterator[Any]:
        (filled, flag), n = self._bias_flags()[0], block.extents[1]
        yield WaitFlag(filled, flag)
        yield _part("biases to L1", "l1Bias", "bias", self._load_bias(block.start[1], n))
        yield SetFlag("MTE2_MTE1", flag)

    def _multiply_tile(self, block: Block, at: int, size: int, last: bool) -> Iterator[Any]:
        """A tile of L1, part by part along k: into L0A and L0B, and multiplied."""
        plan, step, stage = self.plan, self.plan.tiling.l0[2], self.next["l1"]
        m, n, _ = block.extents
        rows, l1 = plan.rows(m), plan.tiling.stages["L1"]
        unit = MX_PAIR if plan.scales else 1
        parts = [(k, -(-min(step, size - k) // unit) * unit) for k in range(0, size, step)]
        for number, (k, deep) in enumerate(parts):
            first, end = at == 0 and number == 0, number + 1 == len(parts)
            for which, start, sizes, flag in (("A", (0, k), (rows, deep), stage), ("B", (k, 0), (deep, n), stage + l1)):
                own = self.next[f"l0{which}"]
                yield WaitFlag("M_MTE1", own + (plan.tiling.stages["L0A"] if which == "B" else 0))
                yield from ([WaitFlag("MTE2_MTE1", flag)] if number == 0 else [])
                made, _ = self._load_l0(which, start, sizes)
                index = f"l1Index{stage}" if plan.sparse and which == "B" else ""
                yield _part(f"{which} to L0", f"l0{which}{own}", f"l1{which}{stage}", made, index)
                if plan.scales:
                    made = self._load_l0_scales(which, k, rows if which == "A" else n, deep)
                    yield _part(f"scales of {which} to L0", f"l0{which}Mx{own}", f"l1Scale{which}{stage}", made)
                yield from ([SetFlag("MTE1_MTE2", flag)] if end else [])
            yield from self._multiply(n, rows, deep, first, last and end)

    def _multiply(self, n: int, rows: int, deep: int, first: bool, last: bool) -> Iterator[Any]:
        """A Mmad, with the biases before the first."""
        plan, bias = self.plan, self.plan.bias and first
        if bias:
            yield from self._fill_bt(n)
        yield SetFlag("MTE1_M", self.next["l0C"])
        yield WaitFlag("MTE1_M", self.next["l0C"])
        unit = (3 if last else 2) if plan.unit_flag else 0
        names = [f"{name}{self.next[name]}" for name in ("l0C", "l0A", "l0B")]
        yield Multiply(names[0], names[1], names[2], "bt" if bias else None, self._mmad(rows, n, deep, first, unit))
        if rows // 16 * (n // 16) < FEW_FRACTALS:
            yield PipeBarrier("M")
        if bias:
            yield SetFlag(*self._bias_flags()[1])
        for which, before in (("B", plan.tiling.stages["L0A"]), ("A", 0)):
            own = self.next[f"l0{which}"]
            yield SetFlag("M_MTE1", own + before)
            self.next[f"l0{which}"] = (own + 1) % plan.tiling.stages[f"L0{which}"]

    def _made(self, rows: int, n: int, deep: int, first: bool, unit: int) -> MmadInstruction:
        plan = self.plan
        a, b = self._load_l0("A", (0, 0), (rows, deep))[1], self._load_l0("B", (0, 0), (deep, n))[1]
        c, elements = tensor_at("L0C", L0C(rows, n).layout), (plan.a.element, plan.b.element)
        bias = plan.memory("bt") if plan.bias and first else None
        bias = GetTile(bias, (0,), (n,)) if bias is not None else None
        more: dict[str, Any] = {"init": first, "bias": bias, "unit_flag": unit, "scaled": plan.scales}
        more["sparse"] = plan.sparse
        return mmad(a, b, c, plan.arch, element=elements, **more)

    def _fill_bt(self, n: int) -> Iterator[Any]:
        (filled, flag), (read, id_) = self._bias_flags()
        yield WaitFlag("MTE2_MTE1", flag)
        yield WaitFlag(read, id_)
        yield _part("biases to BT", "bt", "l1Bias", self._load_bt(n))
        yield SetFlag(filled, flag)

    def _out(self, block: Block) -> Iterator[Any]:
        """The accumulators to global memory."""
        stage, plan, start, sizes = self.next["l0C"], self.plan, block.start[:2], block.extents[:2]
        what, to = ("C to GM", "C") if plan.split is None else ("C to UB", f"ub0C{self.next['ub']}")
        made = _part(what, to, f"l0C{stage}", self._store(start, sizes), plan.scale_of_fixpipe)
        out: Iterable[Any] = [made]
        if plan.split is not None:
            ub = self.next["ub"]
            out = over_ub(plan, made, functools.partial(self._of_vector_core, start, sizes, ub), ub)
            self.next["ub"] = (ub + 1) % plan.tiling.stages["UB"]
        elif plan.activation is not None:
            told = self.next["told"]
            out = over_workspace(made, functools.partial(self._of_vector_core, start, sizes, 0), told)
            self.next["told"] = told % MOST_UP + 1
        own = plan.scale_of_fixpipe == "fb"
        out = scaled(plan, _part("scale to FB", "fb", "l1Scale", self._load_fb(sizes[1])) if own else None, out)
        if plan.unit_flag:
            yield from out
            return
        yield SetFlag("M_FIX", stage)
        yield WaitFlag("M_FIX", stage)
        yield from out
        yield SetFlag("FIX_M", stage)
        self.next["l0C"] = (stage + 1) % plan.tiling.stages["L0C"]

    def _of_vector_core(self, start: tuple[int, int], sizes: tuple[int, int], stage: int, core: int) -> Iterator[Any]:
        """The move of a vector core's part of a block to global memory, with what is computed on the way."""
        plan = self.plan
        if plan.activation is None:
            yield _part("C to GM", "C", f"ub{core}C{stage}", self._from_ub(start, sizes, core))
            return
        (last, _e), key = plan.activation.made[-1], f"tile{core}"
        for box in tiles_of(plan, sizes, core):
            (row, column), tile = box
            own, at = self.next[key], (start[0] + row, start[1] + column)
            source = f"ub{core}C{own if plan.split is None else stage}"
            comes = _part("C to UB", source, "C", self._tile_to_ub(at, tile)) if plan.split is None else None
            leaves = _part("D to GM", "D", f"ub{core}{last}{own}", self._tile_from_ub(at, tile))
            yield from tile_statements(f"AIV{core}.", own, comes, self._activate(source, sizes, core, box, own), leaves)
            self.next[key] = (own + 1) % STAGES

    def _activated(self, source: str, sizes: tuple[int, int], core: int, box: Any, stage: int) -> tuple[Any, ...]:
        """The statements that compute a tile of a block of these sizes."""
        assert self.plan.activation is not None
        tile = came(self.plan, sizes, core, box)
        return (*self.plan.activation.computed(f"ub{core}", stage, f"AIV{core}.V", source, tile),)


def _part(what: str, dst: str, src: str, made: Iterable[TransferInstruction], index: str = "") -> Part:
    return Part(what, dst, src, tuple(Move(dst, src, i, index) for i in made))
