"""The proof of a transfer of sizes that are not known, for all of them at once.

Its steps, and the copy of the valid elements, are moves of digits; they are the same if their digits are. In a core's
buffer a transfer may move padding too: then it is the copy of a larger box, in whole blocks.

Source: ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.errors import Unproven
from ...core.int_tuple import leaves, modes_of, shown
from ...core.ints import IntLike, Leaf
from ...core.leaf_arithmetic import ceil_div, larger
from ...core.questions import at_most, divides, require
from ...symbolic.conditions import Condition
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.symint import poly_of, wrap
from ..architecture import Architecture
from .digits import (
    Axes,
    Axis,
    Digit,
    Given,
    axes_of,
    axes_of_move,
    last_place,
    same_move,
    without_overflow,
    writes_once,
)
from .instruction import TransferInstruction
from .moved import ROWS
from .paths import BY_SOURCE
from .side import Side
from .steps import Loop, Step, When, steps_at

_L0 = ("L0A", "L0B")


def require_lawful_for_all(
    steps: Sequence[Step], ends: tuple[str, str], src: Side, dst: Side, arch: Architecture
) -> tuple[Any, Any]:
    """Require that exactly the valid elements move, whatever the sizes are.

    Returns   how many bytes behind the tile are written, and how many are read behind the tensor that src is a
              tile of: expressions
    """
    for side in (src, dst):
        _require_whole_start(side)
    found = [_behind(case, ends, src, dst, arch, Given(conditions)) for conditions, case in _cases(steps)]
    written, read = found[0]
    for other in found[1:]:
        written, read = larger(written, other[0]), larger(read, other[1])
    return written, read


def _cases(
    steps: Sequence[Step], conditions: tuple[Condition, ...] = ()
) -> Iterator[tuple[tuple[Condition, ...], Sequence[Step]]]:
    """The steps of every way that conditions may go, with these conditions."""
    if len(steps) == 1 and isinstance(steps[0], When):
        when = steps[0]
        yield from _cases(when.body, (*conditions, when.condition))
        yield from _cases(when.otherwise, conditions)
    else:
        yield conditions, steps


def _behind(
    steps: Sequence[Step], ends: tuple[str, str], src: Side, dst: Side, arch: Architecture, given: Given
) -> tuple[Any, Any]:
    """The bytes behind both sides that steps without conditions touch; Unproven where not proved to be the copy."""
    if len(steps) != 1:
        what = f"{len(steps)} instructions of a transfer of sizes that are not known"
        raise Unproven(what, "one, or a loop over one", "give known sizes")
    instruction, axes, loops = _flat(steps[0], src, dst)
    found = [m for m in _moves(axes, loops, given) if _is_copy(m[0], ends, src, dst, arch, given)]
    if not found:
        what = f"{instruction.name}: that it moves the tile to its place is not proved for all sizes"
        fix = "begin tiles at whole blocks, or give its sizes values"
        raise Unproven(what, "blocks that the instruction moves whole", fix)
    move, more, open_ = min(
        ((m, more, writes_once(m, given)) for m, more in found), key=lambda f: len(f[2]) if f[2] is not None else _MANY
    )
    for a, b in [(1, 0)] if open_ is None else open_:
        if not require("<=", a, b, lambda: f"{instruction.name}: rows that do not overlap"):
            what = f"{instruction.name}: it writes a place twice"
            raise Unproven(what, "rows that do not overlap", "give a larger leading dimension")
    return _written_behind(last_place(move, 2) + more, ends[1], dst, arch), _read_behind([*axes, *loops], ends[0], src)


#: More conditions than a move has.
_MANY = 1 << 30


def _moves(axes: Axes, loops: list[Axis], given: Given) -> Iterator[tuple[Axes, Any]]:
    """The move of an instruction and its loops, as it is and without what a turn rewrites; how far the last reaches."""
    yield [*axes, *loops], 0
    if len(loops) == 1:
        yield from without_overflow(axes, loops[0], given)


def _is_copy(move: Axes, ends: tuple[str, str], src: Side, dst: Side, arch: Architecture, given: Given) -> bool:
    """Whether a move is proved to be the copy of what is valid of a tile, or of a box around it that may be written."""
    return any(same_move(move, axes_of(src.layout, dst.layout, box), given) for box in _boxes(ends, src, dst, arch))


def _flat(step: Step, src: Side, dst: Side) -> tuple[TransferInstruction, Axes, list[Axis]]:
    """An instruction, alone or in a loop, as digits from the first places of both sides on, and its loops'."""
    loops: list[Axis] = []
    while isinstance(step, Loop):
        i, inner = step.variable, step.body[0]
        if len(step.body) != 1 or not isinstance(inner, TransferInstruction):
            raise Unproven("a loop over several instructions", "one instruction", "give known sizes")
        loops.append(Axis((Digit(None, _step(_begin(inner), i), _step(inner.dst, i)),), step.turns))
        step = next(i for i in steps_at([inner], {str(i): 0}) if isinstance(i, TransferInstruction))
    if not isinstance(step, TransferInstruction):
        raise Unproven("a condition inside of a loop", "a loop over one instruction", "give known sizes")
    if not (step.dst == dst.at and _begin(step) == src.at):
        what = f"{step.name}: it begins at another place than the tile"
        raise Unproven(what, "the tile's first element", "begin tiles at whole blocks")
    return step, axes_of_move(step.moved), loops


def _begin(instruction: TransferInstruction) -> Leaf:
    """The offset that an instruction begins to read at."""
    return instruction.src + instruction.moved.begin


def _step(n: IntLike, i: IntLike) -> Leaf:
    """The step of an expression from one value of i to the next; Unproven where that differs."""
    (symbol,) = symbols_in(poly_of(i))
    found, _ = split(poly_of(n), symbol)
    if symbol in symbols_in(found):
        raise Unproven(f"{n}, in a loop over {i}", "even steps", "give known sizes")
    return wrap(found)


def _boxes(ends: tuple[str, str], src: Side, dst: Side, arch: Architecture) -> Iterator[tuple[Any, ...]]:
    """The boxes of a tile that may be moved: what is valid; in a core's buffer whole blocks, squares of L0, units."""
    valid = src.valid if ends in BY_SOURCE else dst.valid
    units: list[set[int]] = [{1} for _ in valid]
    if ends[1] != "GM":
        for mode, found in enumerate(units):
            found |= {src.block(mode), dst.block(mode)} if ends[1] in _L0 else {dst.block(mode), dst.element.group}
            if ends[1] in _L0:
                found |= {ROWS, int(dst.element.C0), max(ROWS, int(dst.element.C0))}
        if all(dst.block(mode) == 1 for mode in range(len(valid))):
            units[dst.along].add(arch.alignment[ends[1]] * 8 // dst.element.bits)
    rounded = (
        [n if unit == 1 else ceil_div(n, unit) * unit for unit in sorted(found)] for n, found in zip(valid, units)
    )
    yield from itertools.product(*rounded)


def _require_whole_start(side: Side) -> None:
    """Unproven where a tile is not known to begin at whole blocks: there a coordinate's digits add up."""
    for mode, start in enumerate(side.start):
        unit = 1
        for n in [*leaves(modes_of(side.layout.shape)[mode])][:-1]:
            unit = unit * int(n)
        if divides(unit, start) is not True:
            what = f"a tile that begins at {shown(side.start)} of {shown(side.layout)}"
            fix = "begin it at a whole block, or give its sizes values"
            raise Unproven(what, f"a multiple of {unit} along mode {mode}", fix)


def _written_behind(last: IntLike, place: str, dst: Side, arch: Architecture) -> Leaf:
    """The bytes behind the tile that are written; Unproven where they may lie behind the buffer."""
    if place == "GM":
        return 0
    bits = dst.element.bits
    own = dst.base + dst.layout(tuple(s + n - 1 for s, n in zip(dst.start, dst.room))) - dst.at
    if at_most(last, own):
        return 0
    room = arch.sizes[place] * 8 // bits
    if not require("<=", dst.at + last + 1, room, lambda: f"a tile of {place}, padding included"):
        what = f"a tile whose last units lie behind the end of {place}"
        raise Unproven(what, f"at most {room} elements", "take a smaller tile")
    return larger(0, last - own) * bits // 8


def _read_behind(move: Axes, place: str, src: Side) -> Leaf:
    """The bytes behind the source's tensor that are read."""
    end = src.at + last_place(move, 1) + 1
    bits = 32 if place == "L0C" else src.element.bits
    return 0 if at_most(end, src.end) else larger(0, end - src.end) * bits // 8
