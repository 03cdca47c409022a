"""Matrices that vector cores lay out anew before a product: with PADDING_ND in rows of whole 512 bytes, with PADDING_NZ in
fractals, with PADDING_BLOCK_ND in blocks of rows, each a tile of L1.

Every vector core moves its share of tiles to UB, there into blocks where it has to be, and on to a workspace in global
memory; UB holds two at a time. Behind the last stands a barrier of all vector cores, so that the product begins when all
is there.

Source: CATLASS `PaddingMatrixND`, `PaddingMatrixNZ`, `PaddingMatrixBlockND`, `PaddingBuilder` (padding_matmul.hpp),
`OptimizedMatmulTla`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.arithmetic import round_up
from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import quoted
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..tags import ColumnMajor, PaddingColumnMajor, PaddingRowMajor, RowMajor, nZ, zN
from ..transfers import transfer
from ..transfers.side import tensor_at
from ..vectors.instruction import VectorInstruction
from .block import Operand, once
from .check import check_program
from .results import Copied, Report
from .statements import Buffer, Compute, Move, Part, Program, SetFlag, WaitFlag, in_gm
from .values import execute_program, merged

if TYPE_CHECKING:
    import numpy.typing as npt

#: A way of padding -> the bytes of UB that a tile of it has at most.
WAYS = {"PADDING_ND": 96 * 1024, "PADDING_NZ": 48 * 1024, "PADDING_BLOCK_ND": 96 * 1024}
#: The bytes that PADDING_ND makes rows a multiple of: these are read best.
_WHOLE = 512
#: The vector cores beside a core for matrices, and the tiles that are in UB at a time.
BESIDE, STAGES = 2, 2
#: The rows of a tile of PADDING_NZ, and of a repeat of its Copy.
ROWS, OF_REPEAT = 16, 8

#: A way -> the pipes that a tile goes through.
_PIPES = {way: ("MTE2", "V", "MTE3") if way == "PADDING_NZ" else ("MTE2", "MTE3") for way in WAYS}

#: A part of a matrix: where it begins, and its sizes.
Box = tuple[tuple[int, int], tuple[int, int]]


class Padded(NamedTuple):
    """A matrix that is laid out anew: its name, the way, as it lies in global memory, and as it is to lie there."""

    name: str
    way: str
    before: Operand
    after: Operand

    @property
    def turned(self) -> bool:
        """Whether it lies column by column: then all is as of its transpose."""
        return self.before.tag is ColumnMajor

    @property
    def open_sizes(self) -> tuple[Any, Any]:
        """The number of rows, and the length of each, names or numbers; of one that is turned those of columns."""
        m, n = require_origin(self.name, self.before.layout)
        return (n, m) if self.turned else (m, n)

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of rows, and the length of each, where they are numbers."""
        high, wide = self.open_sizes
        return int(high), int(wide)

    @property
    def block(self) -> tuple[int, int]:
        """The rows and the columns of a block of PADDING_BLOCK_ND, as rows; those of a whole matrix in other ways."""
        if self.way != "PADDING_BLOCK_ND":
            return self.open_sizes
        high, wide = (int(mode[0]) for mode in self.after.layout.shape)
        return (wide, high) if self.turned else (high, wide)

    def of(self, shape: tuple[Any, Any]) -> Padded:
        """The matrix of another shape, laid out anew in the same way."""
        x, (high, wide) = self.before, self.block
        before = Operand(x.element, x.tag, x.tag.MakeLayout(x.element, *shape))
        return padded(self.name, before, self.way, (wide, high) if self.turned else (high, wide))

    def rows(self, x: Operand) -> Tensor:
        """The matrix in global memory as rows, before or after; of blocks the last ones whole."""
        high, wide = self.sizes
        if x.tag in (zN, nZ):
            return tensor_at("GM", zN.MakeLayout(x.element, high, round_up(wide, int(x.element.C0))))
        if x.tag in (PaddingRowMajor, PaddingColumnMajor):
            return tensor_at("GM", PaddingRowMajor.MakeLayout(x.element, high, wide, *self.block))
        step = int(x.layout.stride[1 if self.turned else 0])
        return tensor_at("GM", RowMajor.MakeLayout(x.element, high, wide, ld=step))

    def tiles(self, room: int, core: int, count: int) -> Iterator[Box]:
        """The tiles of a vector core, as rows: of PADDING_NZ every count-th of 16 rows; of other ways whole rows where
        they fit, its share one behind the other.

        room   the bytes of a tile at most;  count  the number of vector cores
        """
        (high, wide), c0, most = self.sizes, int(self.before.element.C0), room * 8 // self.before.element.bits
        if self.way == "PADDING_NZ":
            step, columns = ROWS, round_up(wide // -(-wide // (most // ROWS)), c0)
            starts = [*itertools.product(range(0, high, step), range(0, wide, columns))][core::count]
            end = high
        else:
            share, rest = divmod(high, count)
            first = core * share + min(core, rest)
            end, step, columns = first + share + (core < rest), max(1, most // round_up(wide, c0)), min(wide, most)
            starts = [*itertools.product(range(first, end, step), range(0, wide, columns))]
        for row, column in starts:
            yield (row, column), (min(step, end - row), min(columns, wide - column))


def padded(name: str, x: Operand, way: str, block: tuple[int, int]) -> Padded:
    """A matrix of rows, or of columns, with what a way of padding makes of it; LeafTypeError for others.

    block   the rows and columns of a tile of it in L1
    """
    fix = f"leave out padding={{{name!r}: ...}}"
    if not isinstance(way, str) or way not in WAYS:
        raise LeafTypeError(f"padding={{{name!r}: {quoted(way, 40)}}}", f"one of {', '.join(WAYS)}", fix)
    if x.tag not in (RowMajor, ColumnMajor):
        raise LeafTypeError(f"{way} of {name} of the tag {x.tag}", "RowMajor or ColumnMajor", fix)
    if x.element.bits < 8:
        raise LeafTypeError(f"{way} of {x.element}", "elements of whole bytes, which UB takes", fix)
    if x.element.bits not in (16, 32) and way == "PADDING_NZ":
        raise LeafTypeError(f"PADDING_NZ of {x.element}", "elements of 16 or 32 bits, as Copy has", "write PADDING_ND")
    sizes = require_origin(name, x.layout)
    if way == "PADDING_NZ":
        tag = zN if x.tag is RowMajor else nZ
        return Padded(name, way, x, Operand(x.element, tag, tag.MakeLayout(x.element, *sizes)))
    if way == "PADDING_BLOCK_ND":
        tag = PaddingRowMajor if x.tag is RowMajor else PaddingColumnMajor
        return Padded(name, way, x, Operand(x.element, tag, tag.MakeLayout(x.element, *sizes, *block)))
    return Padded(name, way, x, Operand(x.element, x.tag, in_whole_rows(x, sizes)))


def free_of(way: str) -> list[tuple[str, int]]:
    """The flags by which each pipe says, before the first tile too, that its buffers may be filled."""
    return [(f"{after}_{pipe}", i) for pipe, after in itertools.pairwise(_PIPES[way]) for i in range(STAGES)]


def piped(way: str, of_pipes: Iterable[Iterable[Any]], stage: Any) -> Iterator[Any]:
    """The statements of a tile, those of each pipe apart, which goes from pipe to pipe: each says when its buffer may be
    filled again."""
    pipes = _PIPES[way]
    for pipe, before, after, statements in zip(pipes, ("", *pipes), (*pipes[1:], ""), of_pipes):
        yield from [WaitFlag(f"{before}_{pipe}", stage)] if before else []
        yield from [WaitFlag(f"{after}_{pipe}", stage)] if after else []
        yield from statements
        yield from [SetFlag(f"{pipe}_{before}", stage)] if before else []
        yield from [SetFlag(f"{pipe}_{after}", stage)] if after else []


def into_blocks(element: Element, number: Any, units: Any) -> VectorInstruction:
    """The Copy of 8 rows of so many blocks of 32 bytes, which become columns of blocks: those of a number, from 0 on.

    Source: CATLASS `PaddingMatrixNZ::CopyUb2Ub`.
    """
    first = number * OF_REPEAT * int(element.C0)
    fields = {"mask": OF_REPEAT * int(element.C0), "repeatTimes": units, "dstBlkStride": 1, "srcBlkStride": units}
    fields |= {"dstRepStride": ROWS, "srcRepStride": 1}
    return VectorInstruction("Copy", (first, first * units), fields, (element, element))


def whole_row(element: Element) -> int:
    """The elements of 512 bytes."""
    return _WHOLE * 8 // element.bits


def in_whole_rows(x: Operand, sizes: tuple[Any, ...]) -> Layout:
    """The layout of a matrix of these sizes in rows, or columns, of whole 512 bytes."""
    unit = whole_row(x.element)
    ld = ceil_div(sizes[1 if x.tag is RowMajor else 0], unit) * unit
    layout: Layout = x.tag.MakeLayout(x.element, *sizes, ld=ld)
    return layout


@dataclass(frozen=True)
class Paddings:
    """The work of vector cores before a product: the matrices that they lay out anew, and the program of each core.

    arch      the architecture;  matrices  each with its way
    tensors   in global memory, before and after: WA is what A becomes
    count     the number of vector cores
    room      the bytes of a tile by its way

    Source: CATLASS `PaddingMatrixND`, `PaddingMatrixNZ`.
    """

    arch: Architecture
    matrices: tuple[Padded, ...]
    tensors: Mapping[str, Buffer]
    count: int
    room: Mapping[str, int]

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers of UB: two tiles, of PADDING_NZ with the blocks that each becomes; each matrix reuses them."""
        found = {}
        for x in self.matrices:
            size, sides = self.room[x.way], ("In", "Out") if x.way == "PADDING_NZ" else ("In",)
            flat = Layout((size * 8 // x.before.element.bits,), (1,))
            for i, (stage, side) in enumerate(itertools.product(range(STAGES), sides)):
                name = f"ub{x.name}{side}{stage}"
                found[name] = Buffer(name, "UB", x.before.element, flat, i * size)
        return found

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each vector core."""
        every, moves = {**self.tensors, **self.buffers}, once(self._moves)
        cores = range(self.count)
        bodies = (tuple(s for x in self.matrices for s in self._statements(x, core, moves)) for core in cores)
        return tuple(Program(self.arch, every, body) for body in bodies)

    def _statements(self, x: Padded, core: int, moves: Any) -> Iterator[Any]:
        """The statements of a vector core for one matrix."""
        free = free_of(x.way)
        yield from (SetFlag(*flag) for flag in free)
        for number, box in enumerate(x.tiles(self.room[x.way], core, self.count)):
            stage = number % STAGES
            yield from piped(x.way, ([part] for part in moves(x, *box, stage)), stage)
        yield from (WaitFlag(*flag) for flag in free)

    def _moves(self, x: Padded, start: tuple[int, int], sizes: tuple[int, int], stage: int) -> tuple[Part, ...]:
        """The parts of a tile, one for each pipe: into UB, there into blocks, and to the workspace."""
        (rows, columns), e = sizes, x.before.element
        wide = round_up(columns, int(e.C0))
        into, out, to = f"ub{x.name}In{stage}", f"ub{x.name}Out{stage}", f"W{x.name}"
        tile = tensor_at("UB", RowMajor.MakeLayout(e, rows, columns, ld=wide))
        parts = [self._part(f"{x.name} to UB", into, x.name, GetTile(x.rows(x.before), start, sizes), tile, e)]
        made = columns
        if x.way == "PADDING_NZ":  # whole repeats and blocks: what is behind the tile is in its buffer
            copies = (into_blocks(e, i, wide // int(e.C0)) for i in range(ceil_div(rows, OF_REPEAT)))
            parts += [Part(f"{x.name} into blocks", out, into, tuple(Compute((out, into), (i,)) for i in copies))]
            into, made, tile = out, wide, tensor_at("UB", zN.MakeLayout(e, rows, wide))
        dst = GetTile(x.rows(x.after), start, (rows, made))
        return (*parts, self._part(f"{x.name} to its workspace", to, into, tile, dst, e))

    def _part(self, what: str, dst: str, src: str, begin: Tensor, end: Tensor, e: Any) -> Part:
        made = transfer(begin, end, self.arch, element=e)
        return Part(what, dst, src, tuple(Move(dst, src, i) for i in made))

    def results(self, core: int) -> list[Copied]:
        """The results of a vector core: its tiles of each workspace are those of the matrix."""
        results = []
        for x in self.matrices:
            boxes = x.tiles(self.room[x.way], core, self.count)
            parts = ((a[::-1], b[::-1]) if x.turned else (a, b) for a, b in boxes)
            results.append(Copied(f"W{x.name}", x.name, tuple(parts)))
        return results

    def check(self, core: int) -> Report:
        """Check the program of a vector core."""
        return check_program(self.programs[core], self.results(core), self.values(core))

    def values(self, core: int) -> Mapping[str, int]:
        """The values of the names of a core's program: it has none."""
        return {}

    def reports(self) -> tuple[Report, ...]:
        """The report of each vector core."""
        return tuple(map(self.check, range(self.count)))

    def execute(self, given: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Execute the programs of all vector cores on the matrices by name: what is in each workspace then."""
        made: dict[str, Any] = {}
        held = {x.name: given[x.name] for x in self.matrices}
        for core, program in enumerate(self.programs):
            done = execute_program(program, held, self.values(core))
            made = {f"W{name}": merged(made.get(f"W{name}"), done.get(f"W{name}")) for name in held}
        return made


def paddings_of(arch: Architecture, matrices: Sequence[Padded], cores: int, room: Mapping[str, int] = WAYS) -> Paddings:
    """Make the work of the vector cores beside so many cores; room: the bytes of a tile by its way."""
    sides = (side for x in matrices for side in ((x.name, x.before), (f"W{x.name}", x.after)))
    tensors = [in_gm(name, o.element, o.layout) for name, o in sides]
    made = Paddings(arch, tuple(matrices), {b.name: b for b in tensors}, BESIDE * cores, room)
    _ = made.programs
    return made
