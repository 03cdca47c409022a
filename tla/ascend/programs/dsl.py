"""A block as a program of CATLASS's Python DSL: the statements of AnyCore one by one, tiles as views,
stages as pointers.

The DSL plans transfers itself, and crops a tile at the edge of its tensor; so of a transfer only its two tiles are
written. It has no minimum of integers: the width of the last strip, and where a slice of k begins, are told by conditions.

Source: CATLASS, branch `dsl`, python/tla_dsl: examples/end_to_end/basic_mmad/basic_matmul.py, catlass/core_api.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.ints import known
from ...symbolic import to_python
from ...symbolic.conditions import assuming
from ...symbolic.declare import dims
from ...symbolic.symint import SymInt
from ..schedules import BlockSwizzle
from ..tags import ColumnMajor, RowMajor
from ..transfers.steps import Loop, When
from .any_sizes import AnyCore
from .block import Plan
from .statements import Assign, Multiply, Part, PipeBarrier, SetFlag, WaitFlag, walk

#: An element type -> its name in the DSL; a pipe -> its name there.
TYPES = {"half": "Float16", "bf16": "BFloat16", "float": "Float32"}
_PIPES = {"M": "CUBE"}
#: A transfer -> the names of the tiles that it reads and writes, what the first is a view of, its sizes and coordinate,
#: the buffer and stage of the second.
_TILES = {
    "A to L1": ("fill_a", "into_a", "gm_a", "{m}, {k}", "blockM, fillTile", "l1A", "fillStage"),
    "B to L1": ("fill_b", "into_b", "gm_b", "{k}, {n}", "fillTile, blockN", "l1B", "fillStage"),
    "A to L0": ("part_a", "l0_a", "l1_a", "{m}, {deep}", "0, kPart", "l0A", "l0AStage"),
    "B to L0": ("part_b", "l0_b", "l1_b", "{deep}, {n}", "kPart, 0", "l0B", "l0BStage"),
}
#: What is assigned of which the DSL's views know: the sizes of tiles.
_CROPPED = ("shared", "task", "tileM", "tileN", "rowsM", "fillK", "partK")


def dsl(plan: Plan, swizzle: BlockSwizzle, proved: str, name: str, slices: int = 1) -> str:
    """The program of a block in CATLASS's DSL, for problems of any size; slices: of k, which are added in C.

    Raises what MatmulBlock.text raises.
    """
    _require_dsl(plan)
    core = AnyCore(plan, dims("M N K"), swizzle, slices)  # type: ignore[arg-type]
    with assuming():  # the DSL plans the transfers
        body = tuple(core.any_blocks())
    m, n, k = plan.tiling.l1
    lines = _Lines(core, {"m": m, "n": n, "k": k, "deep": plan.tiling.l0[2]})
    return "\n".join(
        [
            f'"""{name}: C = A * B in CATLASS\'s DSL, for any sizes and number of cores; {proved}. Made by tla.',
            "",
            f"Tiles of {shown(plan.tiling.l1)} in L1 and {shown(plan.tiling.l0)} in L0; blocks by {swizzle}.",
            '"""',
            "",
            "import catlass as tla",
            "",
            "",
            "@tla.kernel",
            f"def {name}(gm_a: tla.Tensor, gm_b: tla.Tensor, gm_c: tla.Tensor) -> None:",
            "    M = gm_a.origin_shape[0]",
            "    N = gm_b.origin_shape[1]",
            "    K = gm_a.origin_shape[1]",
            *(f"    {line}" for line in lines.flags(body)),
            *(f"    {line}" for line in lines.buffers()),
            "    with tla.cube():",
            *(f"        {line}" for line in lines.of(body)),
            "",
        ]
    )


def _require_dsl(plan: Plan) -> None:
    """LeafTypeError for a block that the DSL's front end does not take."""
    others = [x.element for x in (plan.a, plan.b, plan.c) if x.element.name not in TYPES]
    tags = [x.tag for x in (plan.a, plan.b) if x.tag not in (RowMajor, ColumnMajor)]
    tags += [plan.c.tag] * (plan.c.tag is not RowMajor)
    for wrong, what in (
        ("AtlasA" in plan.arch.name, f"for {plan.arch}"),
        (bool(others), f"of {others[0] if others else ''}"),
        (bool(tags), f"of the tag {tags[0] if tags else ''}"),
        (plan.bias, "with biases"),
        (plan.quant != "NO_QUANT" or plan.scale is not None or plan.relu, "with an epilogue"),
    ):
        if wrong:
            fix = "write text('ascendc'), which has every statement"
            expected = f"Ascend950, {', '.join(TYPES)}, RowMajor or ColumnMajor, no more"
            raise LeafTypeError(f"a block {what} in CATLASS's DSL", expected, fix)


class _Lines:
    """The lines of statements in the DSL."""

    def __init__(self, core: AnyCore, sizes: dict[str, int]) -> None:
        self._core, self._plan, self._sizes = core, core.plan, sizes

    def flags(self, body: Iterable[Any]) -> Iterator[str]:
        """The lines that declare the flags, each with the two pipes that it joins."""
        met = dict.fromkeys(key for s in walk(body) if isinstance(s, (SetFlag, WaitFlag)) for _, key in self._ids(s))
        for event, i in met:
            first, second = (f"tla.arch.{_PIPES.get(pipe, pipe)}" for pipe in event.split("_"))
            yield f'{_flag(event, i)} = tla.flag("{_flag(event, i)}", {first}, {second})'

    def buffers(self) -> Iterator[str]:
        """The lines that allocate the buffers, each stage one."""
        for b in self._plan.buffers.values():
            count = b.size * 8 // b.element.bits
            name, stage = b.name.rstrip("0123456789"), b.name[len(b.name.rstrip("0123456789")) :]
            yield f"{name}_{stage} = tla.allocate({count}, tla.{TYPES[b.element.name]}, tla.AddressSpace.{b.position.lower()}, 512)"

    def _ids(self, s: Any) -> list[tuple[int, tuple[str, int]]]:
        """The flags that a statement may name: for each value of the stage that its number is told by."""
        if known(s.id) is not None:
            return [(0, (s.event, int(s.id)))]
        (stage,) = s.id.symbols
        named = (*self._core.stage.items(), ("l1", self._core.fill_stage))
        count = next(self._core.stages_of(name) for name, x in named if str(x) == str(stage))
        return [(i, (s.event, int(s.id.at({str(stage): i})))) for i in range(count)]

    def of(self, body: Iterable[Any]) -> Iterator[str]:
        """The lines of statements."""
        for s in body:
            if isinstance(s, (SetFlag, WaitFlag)):
                yield from self._of_flag(s)
            elif isinstance(s, Assign):
                yield from self._of_name(s)
            elif isinstance(s, Loop):
                yield from self._of_loop(s)
            elif isinstance(s, When):
                yield f"if {s.condition.to_python()}:"
                yield from (f"    {line}" for line in self.of(s.body))
            elif isinstance(s, Part):
                yield from self._of_transfer(s)
            elif isinstance(s, Multiply):
                yield from self._of_product()
            elif isinstance(s, PipeBarrier):
                yield f"tla.pipe_barrier(tla.pipes.{_PIPES.get(s.pipe, s.pipe)})"

    def _of_flag(self, s: Any) -> Iterator[str]:
        """A flag by its name; of several stages one by a condition each."""
        call = "set_flag" if isinstance(s, SetFlag) else "wait_flag"
        ids = self._ids(s)
        if len(ids) == 1:
            yield f"tla.{call}({_flag(*ids[0][1])})"
            return
        (stage,) = s.id.symbols
        for i, key in ids:
            yield f"if {stage} == {i}:" if i == 0 else "else:" if i == len(ids) - 1 else f"elif {stage} == {i}:"
            yield f"    tla.{call}({_flag(*key)})"

    def _of_name(self, s: Assign) -> Iterator[str]:
        name = str(s.variable)
        if name == "tileK":  # here the tile in L1 begins: its views are made anew, as the load may be of a turn before
            for which, at in (("a", "blockM, kTile"), ("b", "kTile, blockN")):
                shape = "{m}, {k}" if which == "a" else "{k}, {n}"
                at = at.replace("kTile", "firstTile + kTile") if self._core.slices > 1 else at
                view = f"tla.tile_view(gm_{which}, tla.make_shape({shape}), tla.make_coord({at}))".format(**self._sizes)
                yield f"tile_{which} = {view}"
                yield f"l1_{which} = tla.make_tensor_like({self._pointer(f'l1{which.upper()}', 'l1Stage')}, tile_{which})"
        elif name == "parts":
            deep = self._sizes["deep"]
            yield f"parts = (l1_a.origin_shape[1] + {deep - 1}) // {deep}"
        elif name == "width":
            offset, left = self._core.swizzle.offset, "blocksM" if self._core.swizzle.direction == 0 else "blocksN"
            yield f"width = {offset}"
            yield f"if {left} - {offset} * strip < {offset}:"
            yield f"    width = {left} - {offset} * strip"
        elif name == "firstTile":
            yield f"left = tilesK % {self._core.slices}"
            yield f"firstTile = tilesK // {self._core.slices} * slice + slice"
            yield "if left < slice:"
            yield f"    firstTile = tilesK // {self._core.slices} * slice + left"
        elif name == "tiles" and self._core.slices > 1:
            yield f"tiles = tilesK // {self._core.slices}"
            yield "if slice < left:"
            yield "    tiles = tiles + 1"
        elif name not in _CROPPED:
            yield f"{name} = {_text(s.value)}"

    def _of_loop(self, s: Loop) -> Iterator[str]:
        name = str(s.variable)
        if name == "turn":
            count = "blocksM * blocksN"
            if self._core.slices > 1:  # slices without a tile are the last: nobody takes them
                count = "blocksM * blocksN * slices"
                yield f"slices = {self._core.slices}"
                yield "if tilesK < slices:"
                yield "    slices = tilesK"
            yield f"for task in tla.range(tla.arch.block_idx(), {count}, tla.arch.block_num()):"
        else:
            yield f"for {name} in tla.range(0, {_text(s.turns)}, 1):"
        inside = [*self.of(s.body)]
        if name == "turn":
            at = next(i for i, line in enumerate(inside) if line.startswith("fillTile"))
            view = "tla.tile_view(gm_c, tla.make_shape({m}, {n}), tla.make_coord(blockM, blockN))".format(**self._sizes)
            made = f"tla.make_tensor_like({self._pointer('l0C', 'l0CStage')}, block_c)"
            sizes = [f"tile{x} = block_c.origin_shape[{i}]" for i, x in enumerate("MN")]
            inside[at:at] = [f"block_c = {view}", f"l0_c = {made}", *sizes]
        yield from (f"    {line}" for line in inside)

    def _of_transfer(self, s: Part) -> Iterator[str]:
        if s.what == "C to GM":
            told = ["unit_flag=0b11"] * self._plan.unit_flag
            told += ["atomic_mode=tla.params.AtomicMode.ADD"] * (self._core.slices > 1)
            more = f", tla.params.CopyL0C2DstParams({', '.join(told)})" if told else ""
            yield f"tla.copy(block_c, l0_c{more})"
            return
        read, written, whole, sizes, coord, buffer, stage = _TILES[s.what]
        shape = sizes.format(**self._sizes)
        yield f"{read} = tla.tile_view({whole}, tla.make_shape({shape}), tla.make_coord({coord}))"
        yield f"{written} = tla.make_tensor_like({self._pointer(buffer, stage)}, {read})"
        yield f"tla.copy({written}, {read})"

    def _of_product(self) -> Iterator[str]:
        yield "init_c = True if kTile == 0 and kPart == 0 else False"
        if self._plan.unit_flag:
            yield "unit_flag = 0b10"
            yield "if (kTile == tiles - 1) and (kPart == parts - 1):"
            yield "    unit_flag = 0b11"
        yield f"tla.mmad(l0_c, l0_a, l0_b, init_c=init_c{', unit_flag=unit_flag' if self._plan.unit_flag else ''})"

    def _pointer(self, buffer: str, stage: str) -> str:
        """The pointer of the stage of a buffer that is in use."""
        count = self._core.stages_of("l1" if buffer in ("l1A", "l1B") else buffer)
        text = f"{buffer}_{count - 1}"
        for i in range(count - 2, -1, -1):
            text = f"{buffer}_{i} if ({stage} == {i}) else {text if i == count - 2 else f'({text})'}"
        return text


def _flag(event: str, i: int) -> str:
    return f"{event}_{i}"


def _text(n: Any) -> str:
    return str(to_python(n)) if isinstance(n, SymInt) else str(n)
