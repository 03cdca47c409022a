"""Conversions that need not run, or not so often: of values from outside of the loop, back to a layout that was there,
of constants."""

from __future__ import annotations

from collections.abc import Iterator

from .advice import Advice
from .costs import Cost, Costs
from .loops import Size
from .program import Op, Program

_CONVERSION, _LOOPS = "ttg.convert_layout", ("scf.for", "scf.while")
#: Operations that make a value of any layout without moving it.
_MADE_ANYWHERE = ("arith.constant", "tt.splat", "tt.make_range")


def reuses(found: Costs) -> Iterator[Advice]:
    """Advice on conversions that move data: those that can stand before a loop, and those whose result is
    there without them."""
    earlier: dict[tuple[str, str], Op] = {}
    for row in found.rows:
        if row.op.name != _CONVERSION or not row.parts or not row.op.operands:
            continue
        key = row.op.operands[0], row.op.result_types[0]
        if instead := _instead(found.program, row.op, earlier.get(key)):
            yield _advice(found, row, "repeat", instead, 0)
        elif (loop := _outermost(found.program, row.op)) is not None:
            before_loop = f"before the loop of line {loop.line}"
            yield _advice(found, row, "hoist", before_loop, found.loops.times(loop))
        earlier.setdefault(key, row.op)


def _advice(found: Costs, row: Cost, kind: str, change: str, times: Size) -> Advice:
    unit = row.parts[0].unit
    cost = sum(part.cost or 0 for part in row.parts if part.unit == unit)
    was = f"{row.op.results[0]} = {row.op.name} {row.op.body}"
    return Advice(kind, "", was, change, (row,), unit, row.times * cost, times * cost, cost)


def _instead(program: Program, op: Op, earlier: Op | None) -> str:
    """The value, or how to make it, that has the elements of a conversion in its layout; nothing where
    there is none."""
    if earlier is not None and _is_there(program, earlier, op):
        return f"use {earlier.results[0]}"
    made = program.definitions.get(op.operands[0])
    if made is None:
        return ""
    if made.name == _CONVERSION and made.operands and made.operand_types[:1] == op.result_types[:1]:
        return f"use {made.operands[0]}"
    return f"make {op.operands[0]} in this layout" if made.name in _MADE_ANYWHERE else ""


def _is_there(program: Program, earlier: Op, op: Op) -> bool:
    """Whether what an earlier operation makes is there at a later one: both at the top, or inside of the
    earlier one's loop."""
    if earlier.parent is None:
        return True
    around = program.ops[earlier.parent]
    return around.name in _LOOPS and any(outer is around for outer in program.around(op))


def _outermost(program: Program, op: Op) -> Op | None:
    """The outermost loop around a conversion that its operand comes from outside of; None where there is none."""
    made = program.definitions.get(op.operands[0])
    if made is None and all(a.name != op.operands[0] for a in program.arguments):
        return None  # an argument of a block
    inside = [] if made is None else [made, *program.around(made)]
    found = None
    for loop in program.around(op):
        if op.operands[0] in loop.begins or any(outer is loop for outer in inside):
            break
        found = loop if loop.name in _LOOPS else found
    return found
