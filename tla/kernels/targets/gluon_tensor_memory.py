"""Blackwell's products in tensor memory as Gluon's text.

A product of Gluon's is one of whole tiles, so those of the steps along K of a tile are one. Tensor memory is allocated
by the compiler, which frees it too.

Source: triton.experimental.gluon.language.nvidia.blackwell of Triton 3.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...core.int_tuple import leaves
from ...core.ints import known
from ...core.leaf_arithmetic import add
from ...symbolic import SymInt
from ..block.lines import Line
from ..program.instructions import is_of_tensor_memory
from ..program.statements import Access, Loop, Product, Program, Statement
from ..tiles.tiles import Columns, Memory, Tile, refused, side_of
from .gluon_loads import Loads
from .gluon_tiles import NARROW

#: The data paths of an accumulator of Gluon's, and from one of them to the next.
PATHS, NEXT_PATH = 128, 1 << 16


class Part(NamedTuple):
    """All rows of an operand's tile in shared memory, and some of its columns along K: the first, and how many."""

    memory: Memory
    first: int
    extent: int


class TensorMemory(Loads):
    """The text of products in tensor memory, and of loads from there.

    accumulators   (number of the allocation, first column) -> columns
    """

    def __init__(self, program: Program, bits: int = NARROW) -> None:
        super().__init__(program, bits)
        self.accumulators: dict[tuple[int, int], int] = {}

    def multiply(self, products: Sequence[Product]) -> None:
        """Products that follow each other, along K of tiles, as one of each tile."""
        group: list[tuple[Product, Part, Part]] = []
        for s in products:
            parts = [self._part(s, x) for x in "AB"]
            self._accumulator(s)
            if group and any(x.first != before.first + before.extent for x, before in zip(parts, group[-1][1:])):
                self._write(group)
                group = []
            group.append((s, parts[0], parts[1]))
        self._write(group)

    def _write(self, group: Sequence[tuple[Product, Part, Part]]) -> None:
        s, *first = group[0]
        for x, last, name in zip(first, group[-1][1:], "AB"):
            whole = self._allocated(x.memory.number)[1]
            if x.first or last.first + last.extent != whole[1]:
                what = f"a product of a part of smem{x.memory.number} along K"
                fix = "state the gemm of all parts of a tile one behind the other"
                raise refused(s.line, what, f"all of {name}: Triton does not slice what is swizzled", fix)
        for t, *parts in group[1:]:
            same = [x.memory.stage for x in parts] == [x.memory.stage for x in first]
            if t.accumulates is not True or not same:
                fix = "let the first gemm of a tile alone begin anew"
                raise refused(t.line, "a product that does not add, behind others of its tile", "one that adds", fix)
        asked = s.accumulates if isinstance(s.accumulates, tuple) else ()
        texts = self.scalars([x for pair in asked for x in pair])
        adds = " & ".join(f"({c} < {n})" for c, n in zip(texts[::2], texts[1::2]))
        more = f", use_acc={adds or s.accumulates}" if s.accumulates is not True else ""
        a, b = (self._whole(x.memory) for x in first)
        self.put(f"tcgen05_mma({a}, {b}.permute((1, 0)), {self._accumulator(s)}{more})")

    def _whole(self, x: Memory) -> str:
        if x.stage is None:
            return f"smem{x.number}"
        (stage,) = self.scalars([x.stage])
        return f"smem{x.number}.index({self.narrow(stage)})"

    def _part(self, s: Product, name: str) -> Part:
        """The part of shared memory that an operand is."""
        import numpy as np

        x = side_of(self.program, s.line, s.operands[name])
        atom, rows = s.step.mma.atom, int([*leaves(s.step.mma.atom.shape_mnk)]["AB".index(name)])
        is_narrow = str(s.operands[name].tensor.dtype) in ("float16", "bfloat16")
        if not isinstance(x, Memory) or not is_narrow or atom.sparsity or atom.val_SF:
            what = f"{name} of {atom.name}"
            raise refused(s.line, what, "dense float16 or bfloat16 in shared memory", "use target 'cuda'")
        at, along = (c[0].reshape(-1, rows) for c in x.at)
        first, extent = int(along.min()), len(along)
        here = (at == np.arange(rows)).all() and (along == first + np.arange(extent)[:, None]).all()
        if not here or self._allocated(x.number)[1][0] != rows:
            what = f"{name} of {atom.name} as a part of smem{x.number}"
            raise refused(s.line, what, f"all {rows} rows, each at its own place", "take the tile of one instruction")
        return Part(x, first, extent)

    def _accumulator(self, s: Product) -> str:
        """The name of the accumulator of a product."""
        t = s.operands["D"].tensor
        number = self.program.allocation_of(t)
        assert number is not None
        modes = [(int(n), known(d)) for n, d in zip(leaves(t.layout.shape), leaves(t.layout.stride)) if int(n) > 1]
        column, kind = known(t.offset), str(t.dtype)
        there = [d for _n, d in modes] == [NEXT_PATH, 1] and modes[0][0] == PATHS
        if not there or column is None or kind != "float32":
            what = f"sums of {kind} in tensor memory at {t.offset}: {t.layout}"
            expected = f"{PATHS} data paths of columns of float32, as Triton's TensorMemoryLayout has them"
            raise refused(s.line, what, expected, "use an instruction of M = 128, or target 'cuda'")
        n = modes[1][0]
        others = [(c, m) for (of, c), m in self.accumulators.items() if of == number and (c, m) != (column, n)]
        if any(c < column + n and column < c + m for c, m in others):
            what = f"columns {column} to {column + n - 1} of tensor memory as two accumulators"
            raise refused(s.line, what, "columns of one: Triton allocates them", "allocate for each its own")
        self.accumulators[number, column] = n
        return f"tmem{[*self.accumulators].index((number, column))}"

    def allocations_of_columns(self) -> Iterator[str]:
        """The lines that allocate tensor memory."""
        for k, n in enumerate(self.accumulators.values()):
            layout = f"TensorMemoryLayout(({PATHS}, {n}), 1)"
            yield f"tmem{k} = allocate_tensor_memory(gl.float32, [{PATHS}, {n}], {layout})"

    def columns(self, line: Line, x: Columns, tile: Tile) -> str:
        """The text of a load from tensor memory."""
        found = [(k, at[1], n) for k, (at, n) in enumerate(self.accumulators.items()) if at[0] == x.number]
        if len(found) != 1 or tile.shape[0] != PATHS:
            what = "a load from tensor memory of several accumulators"
            raise refused(line, what, f"all {PATHS} data paths of one of a product's", "allocate for each its own")
        (number, column, n) = found[0]
        start = add(x.start, -column)
        if isinstance(start, SymInt) and not {*map(str, start.symbols)} <= {str(s.step) for s in self._unrolled()}:
            fix = "take them in a loop of a number of steps, or Python's own"
            raise refused(line, f"tensor memory from column {start} on", "a number, or a step of such a loop", fix)
        part = "" if (tile.shape[1], known(start)) == (n, 0) else f".slice({start}, {tile.shape[1]})"
        return f"tmem{number}{part}.load({self.layout_of(tile)})"

    def _unrolled(self) -> list[Loop]:
        """The loops of a number of steps."""
        return [s for s in self.statements if isinstance(s, Loop) and known(s.count) is not None]


def joined(body: Sequence[Statement]) -> list[Statement | tuple[Product, ...]]:
    """The statements of a body, products of one accumulator in tensor memory that follow each other together."""
    found: list[Any] = []
    for s in body:
        if not isinstance(s, Product) or not is_of_tensor_memory(s.step.mma.atom):
            found.append(s)
        elif found and isinstance(found[-1], tuple) and _same(found[-1][0].operands["D"], s.operands["D"]):
            found[-1] = (*found[-1], s)
        else:
            found.append((s,))
    return found


def _same(a: Access, b: Access) -> bool:
    return (
        a.tensor.data is b.tensor.data
        and a.tensor.layout == b.tensor.layout
        and bool(a.tensor.offset == b.tensor.offset)
    )
