"""Matrices of sizes that are not known, which vector cores lay out anew before a product: PADDING_ND, in rows of whole
512 bytes.

A vector core has its share of rows, and a loop over its tiles: as many whole rows as UB holds, or a part of one. Where a
tile begins, its sizes and what is behind it are names, so both its moves are planned and proved once.

Source: CATLASS `PaddingMatrixND` (padding_matmul.hpp), whose statements these are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...core.int_tuple import shown
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, larger, smaller
from ...symbolic.conditions import Condition, assuming
from ...symbolic.declare import dim, index
from ...symbolic.symint import poly_of
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..schedules.any_sizes import FAR
from ..tags import RowMajor
from ..transfers import transfer
from ..transfers.side import tensor_at
from ..transfers.steps import Loop, steps_at
from .any_order import Order, State
from .any_sizes import CORE, CORES, around, moves_of
from .paddings import STAGES, WAYS, Padded, Paddings, whole_row
from .results import Finding, Report, together
from .statements import Assign, Buffer, Move, Part, Program, SetFlag, WaitFlag, in_gm, walk
from .trace import of_body

#: The most bytes that DataCopyPad has between two rows.
_GAP = 2**32 - 1
#: The vector cores that elements are gone through for, and the most elements of a matrix.
_FEW, _ELEMENTS = 3, 2**20


class _Rows(NamedTuple):
    """A matrix as rows, with its names: the first row of a core, its rows, how many a tile has, and how long it is."""

    matrix: Padded
    high: Any
    wide: Any
    names: Mapping[str, Any]

    @property
    def most(self) -> int:
        """The elements of a tile at most."""
        return WAYS[self.matrix.way] * 8 // self.matrix.before.element.bits

    @property
    def longest(self) -> int:
        """The longest row, in whole 512 bytes, that a field of DataCopyPad has."""
        e = self.matrix.before.element
        return _GAP * 8 // e.bits // whole_row(e) * whole_row(e)


def _rows(x: Padded) -> _Rows:
    (high, wide), name = x.open_sizes, x.name
    least = {"First": 0, "Count": 0, "Span": 0, "Step": 1, "Wide": 1, "Across": 1}
    return _Rows(x, high, wide, {n: dim(f"pad{n}{name}", at_least=low) for n, low in least.items()})


@dataclass(frozen=True)
class AnyPaddings:
    """The work of vector cores before a product of sizes that are names: one program for all of them.

    arch   the architecture;  matrices  each with its way, which is PADDING_ND

    Source: CATLASS `PaddingMatrixND`.
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
        for x in map(_rows, self.matrices):
            name, most = f"ub{x.matrix.name}In", x.most
            layout = Layout((most, 1, STAGES), (1, most, most))
            found[name] = Buffer(name, "UB", x.matrix.before.element, layout)
        return found

    @functools.cached_property
    def bodies(self) -> dict[str, tuple[Any, ...]]:
        """The statements for each matrix by its name."""
        return {x.matrix.name: tuple(self._statements(x)) for x in map(_rows, self.matrices)}

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
        asked = (Condition("<=", poly_of(x.wide), poly_of(x.longest)) for x in map(_rows, self.matrices))
        return tuple(dict.fromkeys(c for c in asked if not c.holds))

    def _statements(self, x: _Rows) -> Iterator[Any]:
        """The statements for one matrix: the share of the core, the loop over its tiles."""
        n, c0 = x.names, int(x.matrix.before.element.C0)
        turn, free = index(f"padTurn{x.matrix.name}", FAR), [("MTE3_MTE2", i) for i in range(STAGES)]
        share, rest = x.high // CORES, x.high % CORES
        yield Assign(n["First"], CORE * share + smaller(CORE, rest))
        yield Assign(n["Count"], share + larger(0, smaller(1, rest - CORE)))
        yield Assign(n["Step"], larger(1, x.most // (ceil_div(x.wide, c0) * c0)))
        yield Assign(n["Span"], n["Count"] + n["Step"] - 1)  # of no rows too not negative: so C divides
        yield Assign(n["Wide"], smaller(x.wide, x.most))
        yield Assign(n["Across"], ceil_div(x.wide, x.most))
        yield from (SetFlag(*flag) for flag in free)
        yield Loop(turn, n["Span"] // n["Step"] * n["Across"], tuple(self._of_tile(x, turn)))
        yield from (WaitFlag(*flag) for flag in free)

    def _of_tile(self, x: _Rows, turn: Any) -> Iterator[Any]:
        """One tile: to UB and to the workspace."""
        e, name, n = x.matrix.before.element, x.matrix.name, x.names
        c0, stage = int(e.C0), turn % STAGES
        row, column = index(f"padRow{name}", FAR), index(f"padColumn{name}", FAR)
        columns = dim(f"padColumns{name}", at_most=x.most)
        units = ceil_div(columns, c0)
        # a tile has as many rows as fit when it is as long as they are; of a part of a row, which fits, one
        rows = dim(f"padRows{name}", at_most=x.most // c0 // units)
        below = dim(f"padBelow{name}", at_least=0)
        behind = dim(f"padBehind{name}", at_least=0, at_most=x.longest - column - columns)
        done = turn // n["Across"] * n["Step"]
        yield Assign(row, n["First"] + done)
        yield Assign(rows, smaller(n["Step"], n["Count"] - done))
        yield Assign(column, turn % n["Across"] * n["Wide"])
        yield Assign(columns, smaller(n["Wide"], x.wide - column))
        high, wide = row + rows + below, column + columns + behind
        tile = tensor_at("UB", RowMajor.MakeLayout(e, rows, columns, ld=units * c0))
        whole = whole_row(e)
        before, after = (
            GetTile(tensor_at("GM", RowMajor.MakeLayout(e, high, wide, ld=ld)), (row, column), (rows, columns))
            for ld in (wide, ceil_div(wide, whole) * whole)
        )
        told = {str(below): x.high - row - rows, str(behind): x.wide - column - columns}
        ub, at = f"ub{name}In", stage * x.most
        parts = []
        for what, dst, src, ends, shifts in (
            (f"{name} to UB", ub, name, (before, tile), (at, 0)),
            (f"{name} to its workspace", f"W{name}", ub, (tile, after), (0, at)),
        ):
            made = transfer(*ends, self.arch, element=e)
            with assuming():
                steps = tuple(steps_at(made, told))
            parts.append(Part(what, dst, src, tuple(moves_of(steps, dst, src, shifts))))
        yield WaitFlag("MTE3_MTE2", stage)
        yield parts[0]
        yield SetFlag("MTE2_MTE3", stage)
        yield WaitFlag("MTE2_MTE3", stage)
        yield parts[1]
        yield SetFlag("MTE3_MTE2", stage)

    # ------------------------------------------------------------------------------------------------- of numbers

    def at(self, made: Paddings) -> PaddingsOf:
        """The program with the tensors of the paddings of a known problem, for the matrices that it has."""
        matrices, sizes = tuple(x for x in self.matrices for y in made.matrices if x.name == y.name), dict[str, int]()
        for x, y in zip(matrices, made.matrices):
            sizes |= {str(n): known for n, known in zip(x.open_sizes, y.sizes) if not isinstance(n, int)}
        program = self._program_of(matrices)
        return PaddingsOf(made.arch, made.matrices, made.tensors, made.count, made.room, program, sizes)

    # --------------------------------------------------------------------------------------------------- the proof

    def check(self) -> tuple[tuple[Finding, ...], Report]:
        """Check the program: flags and stages for any number of tiles, and each element for sizes of every class of
        tails: what is wrong, and the report of elements, with what is proved."""
        findings, states = self.order()
        told = [(x, sizes) for x in self.matrices for sizes in self._classes(_rows(x))] if not findings else []
        report = together(r for x, sizes in told for r in self._reports(x, sizes))
        sizes = ", ".join(f"{x.name} of {shown(found[:: -1 if x.turned else 1])}" for x, found in told)
        proved = (
            "of vector cores both moves of a tile, for all its sizes; flags and stages, for any number of tiles: all "
            f"{states} states",
            f"each element that {_FEW} vector cores move, for rows that are few, whole and in parts: {sizes}",
        )
        return findings, replace(report, proved=proved)

    def _classes(self, x: _Rows) -> list[tuple[int, int]]:
        """Numbers of rows and their lengths: of fewer rows than cores, of several tiles with fewer rows in the last, of
        rows in parts; as far as facts of names allow, and no more elements than are soon gone through."""
        c0 = int(x.matrix.before.element.C0)
        third = x.most // 3 // c0 * c0
        found = []
        for high, wide in ((1, 5), (4 * _FEW + 1, third - c0 + 1), (_FEW + 1, x.most + c0 + 1)):
            if str(x.high) == str(x.wide):  # one name for both
                high = wide = min(wide, 12 * high)
            rows = around(x.high, [high])[0]
            found.append((rows, around(x.wide, [min(wide, max(1, _ELEMENTS // rows))])[0]))
        return [*dict.fromkeys(found)]

    def _reports(self, x: Padded, sizes: tuple[int, int]) -> Iterator[Report]:
        high, wide = sizes
        known = (x.of((wide, high) if x.turned else (high, wide)),)
        tensors = replace(self, matrices=known).tensors
        yield from self.at(Paddings(self.arch, known, tensors, _FEW, WAYS)).reports()

    def order(self) -> tuple[tuple[Finding, ...], int]:
        """The findings of flags and stages, for any number of tiles of each matrix, and the number of states."""
        ub = Buffer("ub", "UB", self.matrices[0].before.element, Layout((1, 1, STAGES), (1, 1, 1)))
        program = replace(self.program, buffers={**self.tensors, "ub": ub})
        begins, findings, count = {Order(program).state}, [], 0
        for s in (s for s in self.program.body if not isinstance(s, Assign)):
            ends: set[State] = set()
            for state in begins:
                order = Order(program, state)
                if not isinstance(s, Loop):
                    order.take(of_body(program, [s], {}))
                    ends.add(order.state)
                    findings += order.findings
                    continue
                met: set[tuple[State, int]] = set()
                turn = 0
                while (order.state, turn % STAGES) not in met and not order.findings:
                    met.add((order.state, turn % STAGES))
                    ends.add(order.state)
                    values = {str(s.variable): turn % STAGES}
                    order.take(of_body(program, [*_sketch(s.body, values[str(s.variable)])], values))
                    turn += 1
                findings += order.findings
                count += len(met)
            begins = ends
        for state in begins:
            findings += Order(program, state).unwaited
        return tuple({f.what: f for f in findings}.values()), count


def _sketch(body: Any, stage: int) -> Iterator[Any]:
    """The statements of a tile with one move a part, by its stage alone: all matrices have the same place."""
    for s in body:
        if isinstance(s, Part):
            into = s.dst.startswith("ub")
            dst, src = ("ub", s.src) if into else (s.dst, "ub")
            for move in [m for m in walk(s.body) if isinstance(m, Move)][:1]:
                i = replace(move.instruction, dst=stage * into, src=stage * (not into), parameters={})
                yield Part(s.what, dst, src, (Move(dst, src, i),))
        elif not isinstance(s, Assign):
            yield s


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
