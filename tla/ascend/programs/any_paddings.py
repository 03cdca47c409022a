"""Matrices of sizes that are not known, which vector cores lay out anew before a product.

A vector core has its share of tiles, and a loop over them: with PADDING_ND and PADDING_BLOCK_ND as many whole rows as UB
holds, or a part of one; with PADDING_NZ 16 rows, or a part of them. Where a tile begins, its sizes and what is behind it
are names, so each of its moves is planned and proved once.

Source: CATLASS `PaddingMatrixND`, `PaddingMatrixNZ`, `PaddingMatrixBlockND` (padding_matmul.hpp), whose statements these
are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import Unproven
from ...core.int_tuple import shown
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, larger, smaller
from ...core.questions import at_most, equal
from ...symbolic.conditions import Condition, assuming
from ...symbolic.declare import dim, index
from ...symbolic.facts import symbols_in
from ...symbolic.symint import poly_of, wrap
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..tags import RowMajor, zN
from ..transfers import transfer
from ..transfers.digits import Given, axes_of, same_move
from ..transfers.side import tensor_at
from ..transfers.steps import Loop, steps_at
from ..vectors.instruction import MOST_REPEATS, VectorInstruction
from .any_names import CORE, CORES, around, named_by, require_few
from .any_order import prove_order
from .any_sizes import moves_of
from .paddings import (
    OF_REPEAT,
    ROWS,
    STAGES,
    WAYS,
    Padded,
    Paddings,
    free_of,
    into_blocks,
    piped,
    whole_row,
)
from .results import Finding, Report, together
from .statements import Assign, Buffer, Compute, Part, Program, SetFlag, WaitFlag, in_gm

#: The most bytes that DataCopyPad has between two rows.
_GAP = 2**32 - 1
#: The vector cores that elements are gone through for, and the most elements of a matrix.
_FEW, _ELEMENTS = 3, 2**20


class _Rows:
    """A matrix as rows, with the names of its program."""

    def __init__(self, x: Padded) -> None:
        (self.high, self.wide), self.matrix, self.name = x.open_sizes, x, x.name
        self.element = x.before.element
        self.c0 = int(self.element.C0)
        #: The elements of a tile at most, and the blocks of 32 bytes of each of its rows.
        self.most = WAYS[x.way] * 8 // self.element.bits
        self.room = self.most // self.c0 // (ROWS if x.way == "PADDING_NZ" else 1)
        self.sides = ("In", "Out") if x.way == "PADDING_NZ" else ("In",)
        #: Of a row of a tile the blocks, and the rows that fit then; the parts that a row has, the tiles and the stage.
        self.units = self.dim("Units", at_most=self.room)
        self.step = ROWS if x.way == "PADDING_NZ" else self.dim("Step", at_most=self.room // self.units)
        self.across, self.turn = self.dim("Across"), self.dim("Turn", at_least=0)
        self.stage = index(f"pad{self.name}Stage", STAGES)
        #: Where a tile begins, its sizes, and what is behind it.
        self.line, self.part = self.dim("Line", at_least=0), self.dim("Part", at_least=0)
        self.row = self.line * (ROWS if x.way == "PADDING_NZ" else 1)
        self.rows, self.columns = self.dim("Rows", at_most=self.step), self.dim("Columns", at_most=self.c0 * self.units)
        self.below, wide = self.dim("Below", at_least=0), self.column + self.columns
        self.behind = self.dim("Behind", at_least=0, at_most=self.longest - wide)
        self.blocks_behind = self.dim("BlocksBehind", at_least=0)

    def dim(self, name: str, **facts: Any) -> Any:
        """The name of a size of this matrix."""
        return dim(f"pad{name}{self.name}", **facts)

    def index(self, name: str, below: Any) -> Any:
        """The name of an index of this matrix."""
        return index(f"pad{name}{self.name}", below)

    @property
    def longest(self) -> int:
        """The longest row that a field of DataCopyPad has: with PADDING_ND in whole 512 bytes."""
        unit = whole_row(self.element) if self.matrix.way == "PADDING_ND" else self.c0
        return _GAP * 8 // self.element.bits // unit * unit

    @property
    def column(self) -> Any:
        """The column that a tile begins at: where there are several in a row, each but the last is as long as can be."""
        return self.part * (self.c0 * self.units if self.matrix.way == "PADDING_NZ" else self.most)

    @property
    def blocks(self) -> Any:
        """The blocks of 32 bytes of each row of a tile."""
        return ceil_div(self.columns, self.c0)

    @property
    def told(self) -> dict[str, Any]:
        """The rows, columns and blocks behind a tile, by the sizes of the matrix."""
        below, behind = self.high - self.row - self.rows, self.wide - self.column - self.columns
        blocks = ceil_div(self.wide, self.c0) - self.column // self.c0 - self.blocks
        return {str(self.below): below, str(self.behind): behind, str(self.blocks_behind): blocks}

    def tile(self) -> Tensor:
        """A tile in UB."""
        layout = RowMajor.MakeLayout(self.element, self.rows, self.columns, ld=self.blocks * self.c0)
        return tensor_at("UB", layout)

    def in_gm(self, unit: int = 1) -> Tensor:
        """A tile in global memory, of rows that begin at multiples of so many elements."""
        high, wide = self.row + self.rows + self.below, self.column + self.columns + self.behind
        layout = RowMajor.MakeLayout(self.element, high, wide, ld=ceil_div(wide, unit) * unit)
        return GetTile(tensor_at("GM", layout), (self.row, self.column), (self.rows, self.columns))


def _assign(name: Any, value: Any, *mosts: Any) -> Assign:
    """Give a value to a name; Unproven where it may exceed what proofs take the name for.

    mosts   what the name is at most, where that is the least of several
    """
    (symbol,) = symbols_in(name.poly)
    for most in mosts or map(wrap, symbol.uppers):
        if not at_most(value, most):
            raise Unproven(f"{name} = {value}", f"at most {most}", "give facts of sizes: dim(..., at_most=...)")
    return Assign(name, value)


class _Cut:
    """A run of a mode of a tile, cut where blocks end: names of a part, which lies in one block.

    start, block   where the run begins, and the length of a block, in units of so many elements;  size  [elements]
    """

    def __init__(self, x: _Rows, name: str, start: Any, size: Any, block: int, unit: int) -> None:
        self.turn, inside = x.dim(f"Turn{name}", at_least=0), x.index(f"Inside{name}", block)
        self.size = x.dim(f"Size{name}", at_most=smaller(block * unit, size))
        #: The block by its number; where the part begins in the tile, and in its block.
        self.number = start // block + self.turn
        self.at, self.within = larger(0, self.turn * block - inside), larger(0, inside - self.turn * block)
        self.begin, self.turns = Assign(inside, start % block), ceil_div(inside + ceil_div(size, unit), block)
        end = smaller(size, ((self.turn + 1) * block - inside) * unit)
        self.told = _assign(self.size, end - self.at * unit, block * unit, size)


def _shared(x: _Rows) -> tuple[list[Assign], Any, list[Assign]]:
    """The tiles of a core that has its share of rows, one behind the other: names, the number of tiles, names of each."""
    share, rest = x.high // CORES, x.high % CORES
    first, count, span = x.dim("First", at_least=0), x.dim("Count", at_least=0), x.dim("Span", at_least=0)
    names = [
        Assign(first, CORE * share + smaller(CORE, rest)),
        Assign(count, share + larger(0, smaller(1, rest - CORE))),
        _assign(x.units, ceil_div(smaller(x.wide, x.most), x.c0)),
        _assign(x.step, x.room // x.units),
        Assign(x.across, ceil_div(x.wide, x.most)),
        Assign(span, count + x.step - 1),  # of no rows too not negative: so C divides
    ]
    done = x.turn // x.across * x.step
    place = [Assign(x.line, first + done), Assign(x.part, x.turn % x.across)]
    return names, span // x.step * x.across, [*place, *_sizes_of(x, count - done)]


def _dealt(x: _Rows) -> tuple[list[Assign], Any, list[Assign]]:
    """The tiles that are dealt to a core in turn: names, the number of tiles, names of each."""
    tile, span = x.dim("Tile", at_least=0), x.dim("Span", at_least=0)  # C divides what is not negative
    names = [
        _assign(x.units, smaller(x.room, ceil_div(x.wide // ceil_div(x.wide, x.room * x.c0), x.c0))),
        Assign(x.across, ceil_div(x.wide, x.units * x.c0)),
        Assign(span, ceil_div(x.high, ROWS) * x.across + (CORES - 1 - CORE)),
    ]
    place = [Assign(tile, CORE + x.turn * CORES), Assign(x.line, tile // x.across), Assign(x.part, tile % x.across)]
    return names, span // CORES, [*place, *_sizes_of(x, x.high - x.row)]


def _sizes_of(x: _Rows, left: Any) -> list[Assign]:
    """The sizes of a tile, where so many rows are left."""
    columns = smaller(x.units * x.c0, x.wide - x.column)
    return [_assign(x.rows, smaller(x.step, left)), _assign(x.columns, columns)]


def _require_room(x: _Rows) -> None:
    """Require that a tile lies in its stage of UB, whatever its sizes are."""
    blocks = x.dim("Blocks", at_most=x.units)  # any number of blocks that a row may have
    high = ROWS if x.matrix.way == "PADDING_NZ" else x.rows  # Copy moves rows behind the tile too
    if not (at_most(x.blocks, x.units) and at_most(high * blocks * x.c0, x.most)):
        what = f"a tile of {x.name}: {x.rows} rows of {x.blocks} blocks of 32 bytes in UB"
        raise Unproven(what, f"at most {x.most} elements", "leave out padding=")


def _require_copy(x: _Rows, copy: VectorInstruction, number: Any) -> None:
    """Require that a Copy moves 8 rows of a tile into blocks, whatever its sizes are."""
    wide = x.blocks * x.c0
    rows, blocks = (tag.MakeLayout(x.element, ROWS, wide) for tag in (RowMajor, zN))
    begins = (blocks((number * OF_REPEAT, 0)), rows((number * OF_REPEAT, 0)))
    to, of = copy.operands
    moved = axes_of(of, to, (OF_REPEAT * x.c0, x.blocks))
    same = same_move(moved, axes_of(rows, blocks, (OF_REPEAT, wide)), Given())
    if not (same and all(map(equal, copy.places, begins)) and at_most(x.blocks, MOST_REPEATS)):
        raise Unproven(f"{copy}", f"{OF_REPEAT} rows of {x.name} into blocks", "leave out padding=")


@dataclass(frozen=True)
class AnyPaddings:
    """The work of vector cores before a product of sizes that are names: one program for all of them.

    arch   the architecture;  matrices  each with its way

    Source: CATLASS `PaddingMatrixND`, `PaddingMatrixNZ`, `PaddingMatrixBlockND`.
    """

    arch: Architecture
    matrices: tuple[Padded, ...]

    @functools.cached_property
    def tensors(self) -> dict[str, Buffer]:
        """The matrices in global memory, before and after: WA is what A becomes."""
        sides = (side for x in self.matrices for side in ((x.name, x.before), (f"W{x.name}", x.after)))
        return {name: in_gm(name, o.element, o.layout) for name, o in sides}

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers of UB, all stages of one side by side: each matrix reuses them."""
        found = {}
        for x in map(_Rows, self.matrices):
            for i, side in enumerate(x.sides):
                name, apart = f"ub{x.name}{side}", x.most * len(x.sides)
                layout = Layout((x.most, 1, STAGES), (1, x.most, apart))
                found[name] = Buffer(name, "UB", x.element, layout, i * WAYS[x.matrix.way])
        return found

    @functools.cached_property
    def bodies(self) -> dict[str, tuple[Any, ...]]:
        """The statements for each matrix by its name."""
        return {x.name: tuple(self._statements(x)) for x in map(_Rows, self.matrices)}

    @property
    def program(self) -> Program:
        """The program of every vector core, by the names of sizes, `core` and `cores`: those of vector cores."""
        return self._program_of(self.matrices)

    def _program_of(self, matrices: tuple[Padded, ...]) -> Program:
        """The program for some of the matrices."""
        own = replace(self, matrices=matrices)
        sizes = {str(s): s for x in matrices for n in x.open_sizes for s in getattr(n, "symbols", ())}
        body = tuple(s for x in matrices for s in self.bodies[x.name])
        return Program(self.arch, {**own.tensors, **own.buffers}, body, {**sizes, "core": CORE, "cores": CORES})

    @functools.cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions on sizes under which it is right."""
        asked = (Condition("<=", poly_of(x.wide), poly_of(x.longest)) for x in map(_Rows, self.matrices))
        return tuple(dict.fromkeys(c for c in asked if not c.holds))

    def _statements(self, x: _Rows) -> Iterator[Any]:
        """The statements for one matrix: the share of the core, the loop over its tiles."""
        _require_room(x)
        free = free_of(x.matrix.way)
        yield Assign(x.stage, 0)
        begin, turns, place = _dealt(x) if x.matrix.way == "PADDING_NZ" else _shared(x)
        yield from begin
        yield from (SetFlag(*flag) for flag in free)
        tile = (*place, *piped(x.matrix.way, self._of_tile(x), x.stage), Assign(x.stage, (x.stage + 1) % STAGES))
        yield Loop(x.turn, turns, tile)
        yield from (WaitFlag(*flag) for flag in free)

    def _of_tile(self, x: _Rows) -> Iterator[list[Any]]:
        """The statements of each pipe for one tile: to UB, there into blocks, and to the workspace."""
        name, way, at = x.name, x.matrix.way, x.stage * x.most * len(x.sides)
        into, out, to = f"ub{name}In", f"ub{name}Out", f"W{name}"
        yield [self._part(x, f"{name} to UB", into, name, (x.in_gm(), x.tile()), (at, 0))]
        what = f"{name} to its workspace"
        if way == "PADDING_NZ":
            yield [Part(f"{name} into blocks", out, into, (self._copies(x, at),))]
            wide, high = x.blocks * x.c0, x.row + x.rows + x.below
            tile = tensor_at("UB", zN.MakeLayout(x.element, x.rows, wide))
            matrix = tensor_at("GM", zN.MakeLayout(x.element, high, x.column + wide + x.blocks_behind * x.c0))
            dst = GetTile(matrix, (x.row, x.column), (x.rows, wide))
            yield [self._part(x, what, to, out, (tile, dst), (0, at))]
        elif way == "PADDING_ND":
            yield [self._part(x, what, to, into, (x.tile(), x.in_gm(whole_row(x.element))), (0, at))]
        else:
            yield [self._into_matrix_of_blocks(x, what, at)]

    def _part(
        self, x: _Rows, what: str, dst: str, src: str, ends: tuple[Tensor, Tensor], shifts: tuple[Any, Any]
    ) -> Part:
        """A transfer as statements, by the sizes of the matrix; shifts: of dst and of src [elements]."""
        made = transfer(*ends, self.arch, element=x.element)
        with assuming():  # what is behind a tile is 0 or more
            steps = tuple(steps_at(made, x.told))
        return Part(what, dst, src, tuple(moves_of(steps, dst, src, shifts)))

    def _copies(self, x: _Rows, at: Any) -> Loop:
        """The Copy of each 8 rows of a tile into blocks."""
        number = x.index("Copy", ROWS // OF_REPEAT)
        made = into_blocks(x.element, number, x.blocks)
        _require_copy(x, made, number)
        names = f"ub{x.name}Out", f"ub{x.name}In"
        copy = replace(made, places=tuple(n + at for n in made.places))
        return Loop(number, ceil_div(x.rows, OF_REPEAT), (Compute(names, (copy,)),))

    def _into_matrix_of_blocks(self, x: _Rows, what: str, at: Any) -> Part:
        """The part of each block that a tile has, row by row of blocks."""
        high, wide = x.matrix.block[0], x.matrix.block[1] // x.c0
        down, over = _Cut(x, "Down", x.row, x.rows, high, 1), _Cut(x, "Over", x.column // x.c0, x.columns, wide, x.c0)
        src, dst = (RowMajor.MakeLayout(x.element, down.size, over.size, ld=n * x.c0) for n in (x.blocks, wide))
        block = down.number * ceil_div(x.wide, wide * x.c0) + over.number
        shifts = ((block * high + down.within) * wide + over.within) * x.c0, at + (down.at * x.blocks + over.at) * x.c0
        ends = tensor_at("UB", src), tensor_at("GM", dst)
        part = self._part(x, what, f"W{x.name}", f"ub{x.name}In", ends, shifts)
        loops = Loop(down.turn, down.turns, (down.told, Loop(over.turn, over.turns, (over.told, *part.body))))
        return part._replace(body=(down.begin, over.begin, loops))

    # ------------------------------------------------------------------------------------------------- of numbers

    def at(self, made: Paddings) -> PaddingsOf:
        """The program with the tensors of the paddings of a known problem, for the matrices that it has."""
        matrices, sizes = tuple(x for x in self.matrices for y in made.matrices if x.name == y.name), dict[str, int]()
        for x, y in zip(matrices, made.matrices):
            for n, known in zip(x.open_sizes, y.sizes):
                sizes |= named_by(n, known)
        program = self._program_of(matrices)
        return PaddingsOf(made.arch, made.matrices, made.tensors, made.count, made.room, program, sizes)

    # --------------------------------------------------------------------------------------------------- the proof

    def check(self) -> tuple[tuple[Finding, ...], Report]:
        """Check the program: flags and stages for any number of tiles, and each element for sizes of every class of
        tails: what is wrong, and the report of elements, with what is proved."""
        findings, states, _ = prove_order(self.program)
        told = (
            [(x, sizes) for x in self.matrices for sizes in map(require_few, _classes(_Rows(x)))]
            if not findings
            else []
        )
        report = together(r for x, sizes in told for r in self._reports(x, sizes))
        sizes = ", ".join(f"{x.name} of {shown(found[:: -1 if x.turned else 1])}" for x, found in told)
        proved = (
            "of vector cores each move of a tile, for all its sizes; flags and stages, for any number of tiles: all "
            f"{states} states",
            f"each element that {_FEW} vector cores move, for rows that are few, whole and in parts: {sizes}",
        )
        return findings, replace(report, proved=proved)

    def _reports(self, x: Padded, sizes: tuple[int, int]) -> Iterator[Report]:
        high, wide = sizes
        known = (x.of((wide, high) if x.turned else (high, wide)),)
        tensors = replace(self, matrices=known).tensors
        yield from self.at(Paddings(self.arch, known, tensors, _FEW, WAYS)).reports()


def _classes(x: _Rows) -> list[tuple[int, int]]:
    """Numbers of rows and their lengths: of fewer rows than cores, of several tiles with fewer rows in the last, of rows
    in parts; of blocks, rows of several. As far as facts of names allow, and no more elements than are soon gone
    through."""
    third = x.most // 3 // x.c0 * x.c0
    found = [(1, 5), (4 * _FEW + 1, third - x.c0 + 1), (_FEW + 1, x.most + x.c0 + 1)]
    if x.matrix.way == "PADDING_NZ":
        found = [(1, 5), (2 * _FEW * ROWS + 9, x.c0 + 1), (ROWS + 4, x.room * x.c0 + 1)]
    if x.matrix.way == "PADDING_BLOCK_ND":
        found.append((2 * x.matrix.block[0] + 5, x.matrix.block[1] + x.c0 + 1))
    told = []
    for high, wide in found:
        if str(x.high) == str(x.wide):  # one name for both
            high = wide = min(wide, 12 * high)
        rows = around(x.high, [high])[0]
        told.append((rows, around(x.wide, [min(wide, max(1, _ELEMENTS // rows))])[0]))
    return [*dict.fromkeys(told)]


@dataclass(frozen=True)
class PaddingsOf(Paddings):
    """The work of vector cores for one problem, by the program for all of them.

    program   for all sizes;  sizes   the values of its names
    """

    program: Program
    sizes: Mapping[str, int]

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each vector core."""
        return (replace(self.program, buffers={**self.program.buffers, **self.tensors}),) * self.count

    def values(self, core: int) -> dict[str, int]:
        """The values of the names of a core's program."""
        return {**self.sizes, "core": core, "cores": self.count}
