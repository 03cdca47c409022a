"""The tiles of a kernel in Gluon's text: layouts, coordinates, what is in shared memory, and integers.

Source: triton.experimental.gluon of Triton 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...codegen.expressions.graph import ops_in
from ...codegen.expressions.plan import plan
from ...codegen.expressions.target import Syntax, statements
from ...codegen.indices.python import SYNTAX
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import leaves, product_each, size
from ...core.ints import Leaf, known
from ...core.layout import Layout
from ...core.leaf_arithmetic import add, mul
from ...linear.triton import SwizzledSharedLayout
from ...symbolic import SymInt, index
from ...symbolic.facts import symbols_in
from ...symbolic.symint import poly_of
from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..program.instructions import is_of_tensor_memory
from ..program.statements import Counter, Load, Loop, Product, Program, Signal
from ..run.trace import sizes_of
from ..tiles.products import by_descriptors
from ..tiles.tiles import STAGED, Argument, Memory, Tile, as_expression, refused, tile_of
from .gluon_layouts import DESCRIBED, MATRIX, distributed, layout_text, shared_layout

#: numpy's type -> Gluon's.
TYPES = {f"{kind}{bits}": f"gl.{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
TYPES |= {f"float{bits}": f"gl.float{bits}" for bits in (16, 32, 64)}
#: Floats of less than 32 bits, which are computed in float32; of 8 bits those of NVIDIA, and of AMD.
NARROW_FLOATS = {"float16": "gl.float16", "bfloat16": "gl.bfloat16", "float8_e4m3fn": "gl.float8e4nv"}
NARROW_FLOATS |= {"float8_e5m2": "gl.float8e5", "float8_e4m3fnuz": "gl.float8e4b8", "float8_e5m2fnuz": "gl.float8e5b16"}
TYPES |= NARROW_FLOATS
_SYNTAX: Syntax = {**SYNTAX, "min": (99, "gl.minimum({}, {})"), "max": (99, "gl.maximum({}, {})")}
INDENT = "    "
#: The bits of integers that nothing makes wider.
NARROW = 32


class Tiles:
    """The text of tiles: their layouts, the coordinates in them, integers, and the parts of shared memory.

    lines   the text so far
    bits    the bits of its integers; as far as is known, which a second Tiles is given
    """

    def __init__(self, program: Program, bits: int = NARROW) -> None:
        self.program = program
        self.layouts: dict[str, str] = {}
        self.indices: dict[tuple[str, tuple[int, ...]], tuple[SymInt, ...]] = {}
        self.bits, self._count = bits, 0
        self.lines: list[str] = []
        self.depth = 0
        self.statements = [*program.statements()]
        self.maps: list[Any] = []

    def put(self, line: str) -> None:
        """Add a line to the text."""
        self.lines.append(INDENT * self.depth + line)

    def prologue(self) -> Iterator[str]:
        """The lines before the statements: layouts, blocks, sizes, coordinates, shared memory."""
        wide, words = self.bits > NARROW, {*re.findall(r"\w+", "\n".join(self.lines))}
        memory = [*self._allocations(words), *self.allocations_of_columns()]
        yield from (f"{name}: gl.constexpr = {text}" for text, name in self.layouts.items())
        for k in range(len(self.program.grid)):
            if f"bid{k}" in words:
                yield f"bid{k} = gl.program_id({k}){'.to(gl.int64)' if wide else ''}"
        for n in sizes_of(self.program):
            unit = next(iter(symbols_in(poly_of(n)))).unit
            if str(n) in words and wide:
                yield f"{n} = gl.to_tensor({n}).to(gl.int64)"
            if str(n) in words and unit > 1:
                yield f"{n} = {n} // {unit} * {unit}  # {unit} divides it, as the launch has seen"
        for (layout, shape), symbols in self.indices.items():
            used = [d for d, i in enumerate(symbols) if str(i) in words]
            yield from (f"{symbols[d]} = {_arange(layout, shape, d)}{'.to(gl.int64)' if wide else ''}" for d in used)
        yield from (line for line in memory if line.split(" ", 1)[0] in words)

    def allocations_of_columns(self) -> Iterator[str]:
        """The lines that allocate tensor memory."""
        yield from ()

    def _allocations(self, words: set[str]) -> Iterator[str]:
        used = ((k, t) for k, t in enumerate(self.program.shared) if f"smem{k}" in words)
        for k, t in used:
            if any(isinstance(s, Signal) and s.barriers.data is t.data for s in self.statements):
                yield f"smem{k} = gl.allocate_shared_memory(gl.int64, [{int(size(t.shape))}, 1], mbarrier.MBarrierLayout())"
                continue
            stages, kept = self._allocated(k)
            layout = self.layout(self._shared(k), f"shared{k}")
            yield f"smem{k} = gl.allocate_shared_memory({type_of(t)}, {[*stages, *kept]}, {layout})"

    def _shared(self, number: int) -> Any:
        """The layout of a tensor in shared memory, of one stage."""
        t = self.program.shared[number]
        products = (s for s in self.statements if isinstance(s, Product))
        read = [s for s in products if by_descriptors(s) or is_of_tensor_memory(s.step.mma.atom)]
        described = any(x.tensor.data is t.data for s in read for x in s.operands.values())
        loads = [s for s in self.statements if isinstance(s, Load)]
        loaded = any(x.tensor.data is t.data for s in loads for x in (s.source, s.target))
        swizzles = (*DESCRIBED, 0) if loaded and not described else DESCRIBED if described else ()
        return shared_layout(number, t, self._allocated(number)[1], swizzles)

    def _allocated(self, number: int) -> tuple[list[int], list[int]]:
        """The number of stages of a tensor in shared memory, where it has some, and the extents of one."""
        modes = [int(size(m)) for m in product_each(self.program.shared[number].layout.shape)]
        return (modes[-1:], modes[:-1]) if len(modes) >= STAGED else ([], modes)

    def layout(self, made: Any, name: str | None = None) -> str:
        """The name of a layout in the text."""
        text = layout_text(made)
        number = sum(x.startswith("layout") for x in self.layouts.values())
        return self.layouts.setdefault(text, name or f"layout{number}")

    def layout_of(self, tile: Tile) -> str:
        """The text of a tile's layout."""
        if tile.whole is None:
            return self.layout(tile.layout or distributed(tile))
        whole, axes = tile.whole
        return "".join(f"gl.SliceLayout({axis}, " for axis in axes) + self.layout_of(whole) + ")" * len(axes)

    def scalars(self, wanted: Sequence[Any]) -> list[str]:
        """The texts of integers, behind lines that compute what they share."""
        wanted = [self._counted(x) for x in wanted]
        found = {poly_of(x): x for x in wanted if known(x) is None}
        if not found:
            return [str(known(x)) for x in wanted]
        made = plan(tuple(found.values()), name="kernel")
        self.bits = max(self.bits, made.integer.bits)
        if ops_in(made.results) & {"//", "%"}:
            what = f"an offset of {', '.join(map(str, found.values()))}"
            raise RangeError(what, "offsets of 0 or more", "give sizes facts: at_least=0")
        temporaries, results = statements(made, _SYNTAX)
        names: dict[str, str] = {}

        def renamed(text: str) -> str:
            return re.sub(r"\bt\d+\b", lambda m: names[m[0]], text)

        for name, text in temporaries:
            names[name] = self.named(renamed(text))
        texts = dict(zip(found, map(renamed, results)))
        return [str(known(x)) if known(x) is not None else texts[poly_of(x)] for x in wanted]

    def _counted(self, x: Any) -> Any:
        """An integer without what loops count beside their step."""
        for loop in (s for s in self.statements if isinstance(s, Loop)):
            for c in loop.counters:
                if isinstance(x, SymInt) and c.symbol in x.symbols:
                    x = x.at({str(c.symbol): _value(loop, c)})
        return x

    def narrow(self, text: str) -> str:
        """The text of an integer that Triton wants in 32 bits: a stage, a phase, a coordinate of a map."""
        return text if self.bits <= NARROW or text.isdecimal() else f"({text}).to(gl.int32)"

    def symbols(self, tile: Tile) -> tuple[SymInt, ...]:
        """The names of the coordinates in a tile."""
        key = self.layout_of(tile), tile.shape
        number = len(self.indices)
        return self.indices.setdefault(key, tuple(index(f"i{number}_{d}", n) for d, n in enumerate(tile.shape)))

    def coordinates(self, line: Line, x: Argument, tile: Tile) -> list[Leaf]:
        """Each integer of the coordinate of a tile's elements in an argument."""
        indices = self.symbols(tile)
        return [add(start, as_expression(line, tile, at, indices, x.name)) for start, at in zip(x.starts, x.at)]

    def offset(self, line: Line, x: Argument, tile: Tile) -> Leaf:
        """The offset of a tile's elements in an argument."""
        layout = self.program.arguments[x.name].layout
        if not isinstance(layout, Layout):
            what = f"{x.name} of a swizzled layout in global memory"
            raise refused(line, what, "shape and stride", "copy it to a plain one")
        found: Leaf = 0
        for c, d in zip(self.coordinates(line, x, tile), leaves(layout.stride)):
            found = add(found, mul(d, c))
        return found

    def view(self, line: Line, x: Memory, tile: Tile) -> str:
        """The text of the part of shared memory that a tile is."""
        sizes = self._allocated(x.number)[1]
        text = f"smem{x.number}"
        if x.stage is not None:
            (stage,) = self.scalars([x.stage])
            text += f".index({self.narrow(stage)})"
        box = tile_of(line, (at - at.min() for at in x.at), "a part of shared memory", tile.warp)
        for d, (at, n) in enumerate(zip(x.at, box.shape)):
            if n != sizes[d]:
                self._require_plain(line, x.number)
                if at.min() % n:
                    what = f"{n} elements of smem{x.number} from {int(at.min())} on"
                    fix = "take parts of tiles: local_tile(tensor, tile, coord)"
                    raise refused(line, what, f"a multiple of {n}, where Triton's slices begin", fix)
                text += f".slice({int(at.min())}, {n}, dim={d})"
        if not box.same(tile) and len(box.shape) == MATRIX and box.turned.same(tile):
            return f"{text}.permute((1, 0))"
        if not box.same(tile):
            fix = "partition shared memory as the other side is"
            raise refused(line, f"smem{x.number} as another tile", "one tile on both sides", fix)
        return text

    def _require_plain(self, line: Line, number: int) -> None:
        """Refuse a part of swizzled memory, which Triton's slices are not."""
        made = self._shared(number)
        if not isinstance(made, SwizzledSharedLayout) or made.max_phase > 1:
            what = f"a part of smem{number}, whose layout is {made.name}"
            fix = "read the whole tile by one copy, or use another target"
            raise refused(line, what, "a part of plain memory: Triton does not slice what is swizzled", fix)

    def named(self, text: str) -> str:
        """A name for a text: no other statement has it."""
        name, self._count = f"e{self._count}", self._count + 1
        self.put(f"{name} = {text}")
        return name


def _value(loop: Loop, c: Counter) -> Any:
    """A counter of a loop by its step: (step + first) % count, or of a phase how often that began anew, % 2."""
    if c.of is None:
        return (loop.step + c.first) % c.period
    of = next(x for x in loop.counters if x.symbol is c.of or str(x.symbol) == str(c.of))
    return (loop.step + (c.first * of.period + of.first)) // of.period % c.period


def _arange(layout: str, shape: Sequence[int], d: int) -> str:
    """The coordinate along a mode of a tile, of the tile's rank."""
    rank = len(shape)
    for axis in reversed([k for k in range(rank) if k != d]):
        layout = f"gl.SliceLayout({axis}, {layout})"
    modes = ", ".join(":" if k == d else "None" for k in range(rank))
    return f"gl.arange(0, {shape[d]}, {layout})" + (f"[{modes}]" if rank > 1 else "")


def type_of(t: Tensor) -> str:
    """Gluon's name of a tensor's element type. Raises LeafTypeError for a type that it does not have."""
    name = str(t.dtype)
    if name not in TYPES:
        what = f"elements of {name} in Gluon's text"
        raise LeafTypeError(what, f"one of {', '.join(TYPES)}", "use run for this type, or give it another")
    return TYPES[name]
