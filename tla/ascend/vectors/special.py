"""The plan of vector instructions whose result has another shape than their sources.

What each repeat reads and writes is listed, by the rows of the tensors; repeats that follow one another at one step,
which the fields hold, are one instruction. That each result is made of its own elements, and nothing else
is written, is proved.

Source: AscendC; CATLASS include/catlass/epilogue (softmax, TileBroadcastOneBlk).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from typing import Any, NamedTuple

from ...core import element as types
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import quoted, shown
from ...core.leaf_arithmetic import plus
from ...tensors.tensor import Tensor
from ..element import as_element, element_of
from .forms import MODES, SPECIAL, Special, repeat_of
from .instruction import MOST_REPEATS, VectorInstruction
from .operands import Operand, offsets_of, operand, require_apart, require_in_ub, shape_of, steps_of

Made = tuple[VectorInstruction, ...]


class Repeat(NamedTuple):
    """A repeat: its mask, and the offset at which each operand begins."""

    mask: int
    at: tuple[int, ...]


class Call(NamedTuple):
    """A call of `vector`: an instruction by name, its tensors with their types, and its mode."""

    name: str
    special: Special
    tensors: tuple[Tensor, ...]
    elements: tuple[Element, ...]
    mode: str


def planned(name: str, tensors: tuple[Tensor, ...], mode: str, given: Any, room: int) -> Made:
    """The instructions of a special form; raises what `vector` raises. room: the bytes of UB."""
    special = SPECIAL[name]
    if len(tensors) != len(special.operands):
        what = f"{name} of {len(tensors) - 1} sources"
        raise LeafTypeError(what, f"{len(special.operands) - 1}", f"give {', '.join(special.operands)}")
    if special.form == "bits" and mode not in MODES:
        raise LeafTypeError(f"{name} with mode={quoted(mode, 40)}", f"one of {', '.join(MODES)}", 'write mode="LT"')
    if special.form != "bits" and mode:
        raise LeafTypeError(f"{name} with mode={quoted(mode, 40)}", "mode= of Compare and Compares", "leave out mode=")
    call = Call(name, special, tensors, _elements(name, special, tensors, given), mode)
    sizes = _sizes(call)
    if 0 in sizes:
        return ()
    made = _gathered(call, sizes) if special.form == "gather" else tuple(_instructions(call, sizes))
    for i in made:
        i.require_fields()
    _require_lawful(made, call, sizes, room)
    return made


def _elements(name: str, special: Special, tensors: tuple[Tensor, ...], given: Any) -> tuple[Element, ...]:
    """The element type of each operand; bits are in bytes."""
    require_in_ub(name, tensors)
    told = (
        as_element(given) if given is not None else None if tensors[-1].data is None else element_of(tensors[-1].data)
    )
    if told is None or told.name not in special.types:
        what = f"{name} of tensors without buffers" if told is None else f"{name} of {told}"
        raise LeafTypeError(what, f"one of {', '.join(special.types)}", f"write vector({name!r}, ..., element=half)")
    bytes_ = {"bits": "dst", "select": "sel"}.get(special.form)
    found = tuple(types.uint8 if side == bytes_ else told for side in special.operands)
    for t, e in zip(tensors, found):
        if t.data is not None and element_of(t.data) != e:
            fix = "make all operands of one type, bits of uint8"
            raise LeafTypeError(f"{name} of a buffer of {element_of(t.data)}", f"one of {e}", fix)
    return found


# -------------------------------------------------------------------------------------------------------- shapes


def _sizes(call: Call) -> tuple[int, int]:
    """The rows and columns read, or of Brcb written; RangeError where the other operands' do not go with them."""
    shapes = [shape_of(call.name, t) for t in call.tensors]
    whole = shapes[0] if call.special.form in ("spread", "gather") else shapes[-1]
    if len(whole) > 2:
        raise RangeError(f"{call.name} of {shown(whole)}", "a vector, or a matrix", "slice one of them")
    m, n = (1, *whole)[-2:]
    c0 = int(call.elements[-1].C0)
    less = {"whole": (m,), "block": (m, -(-n // c0)), "pair": (m, -(-n // 2)), "spread": (m,)}
    for side, shape in zip(call.special.operands, shapes):
        wanted: tuple[int, ...] = (m, n)
        if (call.special.form, side) in (("bits", "dst"), ("select", "sel")):
            wanted = m, n // 8
        elif side == ("src" if call.special.form == "spread" else "dst"):
            wanted = less.get(call.special.form, wanted)
        if shape != wanted and (1, *shape) != wanted:
            what = f"{call.name}: {side} of {shown(shape)}, for {shown(whole)}"
            raise RangeError(what, shown(wanted), f"make {side} of {shown(wanted)}")
    _require_whole(call, m, n)
    return m, n


def _require_whole(call: Call, m: int, n: int) -> None:
    """RangeError for repeats of which no manual says what is done with the part that is masked out."""
    most, c0 = repeat_of(call.elements), int(call.elements[-1].C0)
    if call.special.form == "whole" and n > most:
        fix = "fold the rows first: Add of their halves, or BlockReduceSum"
        raise RangeError(f"{call.name} of rows of {n}", f"at most {most} elements, 256 bytes", fix)
    if call.special.form == "block" and 0 < n % most <= most - c0:
        fix = f"take {-(-n // most) * most} columns"
        raise RangeError(f"{call.name} of rows of {n}", f"8 blocks of {c0} in each repeat", fix)
    if call.special.form in ("pair", "bits", "select") and n % most:
        fix = f"take {-(-n // most) * most} columns"
        raise RangeError(f"{call.name} of rows of {n}", f"whole repeats of {most} elements", fix)
    if call.special.form == "spread" and (m % 8 or n != c0):
        fix = f"make dst of {shown((-(-m // 8) * 8, c0))}"
        raise RangeError(f"Brcb into {shown((m, n))}", f"rows of {c0} elements, 8 at a time", fix)


# ----------------------------------------------------------------------------------------------------- instructions


def _instructions(call: Call, sizes: tuple[int, int]) -> Iterator[VectorInstruction]:
    """Repeats that follow one another at one step, as instructions."""
    operands = [_operand(call, k) for k in range(len(call.tensors))]
    units = [_unit(call, k) for k in range(len(operands))]
    c0 = int(call.elements[-1].C0)
    masked = call.special.form != "spread"
    together = max(lcm(u.size, int(o.element.C0)) // u.size if u.fixed else 1 for u, o in zip(units, operands))
    for run, steps in _runs([*_repeats(call, operands, sizes)], units, MOST_REPEATS // together * together):
        fields = {"mask": run[0].mask} if masked else {}
        fields["repeatTimes"] = len(run)
        for side, o, unit, step in zip(call.special.operands, operands, units, steps or (None,) * len(units)):
            if unit.fixed:
                continue
            if side != "dst" or call.special.form in ("spread", "select"):
                fields[f"{side}BlkStride"] = 1 if masked and run[0].mask <= c0 else o.block // c0
            fields[f"{side}RepStride"] = unit.usual if step is None else step // unit.size
        yield VectorInstruction(call.name, run[0].at, fields, call.elements, mode=call.mode)


def _operand(call: Call, k: int) -> Operand:
    """An operand by its rows and blocks; of Brcb's dst a row is a block, and a vector of results or sources has
    one row for each."""
    t, e, form, side = call.tensors[k], call.elements[k], call.special.form, call.special.operands[k]
    if (form, side) in (("whole", "dst"), ("spread", "src")):
        steps = steps_of(t.layout.shape, t.layout.stride)
        if len(steps) > 1 or (form == "spread" and steps[0] != (1, 0) and steps[0][1] != 1):
            expected = "a vector" if form == "whole" else "a vector side by side"
            raise LeafTypeError(f"{call.name}: {side} of {shown(t.layout)}", expected, "copy it into one")
        return Operand(t, e, int(plus(t.offset, t.layout(t.coord))), steps[0][1], int(e.C0))
    found = operand(call.name, t, e)
    rows = (found.row, "rows") if _sizes_of(t)[0] > 1 else (0, "rows")
    for step, what in (rows, (found.block, "blocks")):
        whole = side != "dst" or form not in ("block", "pair", "bits")
        if step % int(e.C0) and whole and not (form == "select" and side == "sel"):
            text = f"{call.name} of {what} that are {step} elements apart, {step * e.bits // 8} bytes"
            fix = f"lay it out with ld={-(-step // int(e.C0)) * int(e.C0)}"
            raise RangeError(text, "whole blocks of 32 bytes", fix)
    return found._replace(block=found.row) if form == "spread" else found


def _sizes_of(t: Tensor) -> tuple[int, int]:
    sizes = tuple(int(n) for n in t.origin_shape)
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _repeats(call: Call, operands: list[Operand], sizes: tuple[int, int]) -> Iterator[Repeat]:
    """The places that each repeat reads and writes: a row, a part of one, or 8 elements of a vector."""
    (m, n), most, form = sizes, repeat_of(call.elements), call.special.form
    if form == "spread":
        dst, src = operands
        yield from (Repeat(0, (dst.at + i * dst.row, src.at + i)) for i in range(0, m, 8))
        return
    made = {"whole": 1, "block": 8, "pair": most // 2, "bits": most // 8}
    for i in range(m):
        for j in range(-(-n // most)):
            at = []
            for side, o in zip(call.special.operands, operands):
                part = most // int(o.element.C0) * o.block
                if (form, side) == ("select", "sel"):
                    part = most // 8
                elif side == "dst":
                    part = made.get(form, part)
                at.append(o.at + i * o.row + j * part)
            yield Repeat(min(most, n - j * most), tuple(at))


class Unit(NamedTuple):
    """The repeat stride of an operand: its unit [elements], whether it is fixed, that of a lone repeat, the largest."""

    size: int
    fixed: bool
    usual: int
    most: int = 255


def _unit(call: Call, k: int) -> Unit:
    """The repeat stride of an operand."""
    form, side, most = call.special.form, call.special.operands[k], repeat_of(call.elements)
    match form, side:
        case "whole", "dst":
            return Unit(1, False, 1)
        case "block", "dst":
            return Unit(8, False, 1)
        case "pair", "dst":
            return Unit(most // 2, False, 1)
        case "spread", "src":
            return Unit(8, True, 1)
        case ("bits", "dst") | ("select", "sel"):
            return Unit(most // 8, True, 1)
    return Unit(int(call.elements[k].C0), False, 8, 2**16 - 1 if form == "spread" else 255)


def _runs(repeats: list[Repeat], units: list[Unit], most: int) -> Iterator[tuple[list[Repeat], tuple[int, ...] | None]]:
    """Runs of repeats at one step that the fields hold, with the step of each operand; most: as many as end where
    another may begin."""
    run: list[Repeat] = []
    steps: tuple[int, ...] | None = None
    for r in repeats:
        step = tuple(b - a for a, b in zip(run[-1].at, r.at)) if run else None
        goes_on = step is not None and r.mask == run[-1].mask and len(run) < most
        if goes_on and (step == steps if steps else _holds(step, units)):
            run, steps = [*run, r], step
        else:
            if run:
                yield run, steps
            run, steps = [r], None
    yield run, steps


def _holds(step: Any, units: list[Unit]) -> bool:
    """Whether fields hold a step; the results of two repeats lie apart."""
    rules = [n == u.size if u.fixed else n % u.size == 0 and 0 <= n <= u.most * u.size for n, u in zip(step, units)]
    return all(rules) and step[0] > 0


def _gathered(call: Call, sizes: tuple[int, int]) -> Made:
    """One Gather with its table of bytes, into elements side by side."""
    dst, src = call.tensors
    to, begin = (offsets_of(t, sizes) for t in (dst, src))
    if (to[1:] - to[:-1] != 1).any():
        what = f"Gather into {shown(dst.layout)}"
        raise LeafTypeError(what, "elements side by side, row after row", "gather into rows without gaps")
    size, base = call.elements[1].bits // 8, int(begin.min())
    fields = {"count": to.size, "srcBaseAddr": base * size}
    table = tuple(((begin - base) * size).tolist())
    return (VectorInstruction("Gather", (int(to[0]), 0), fields, call.elements, table=table),)


# ------------------------------------------------------------------------------------------------------------ proof


def _require_lawful(made: Made, call: Call, sizes: tuple[int, int], room: int) -> None:
    """Require that each result is made of its own elements, and once, and that nothing else is written."""
    import numpy as np

    rows, columns = np.indices(sizes)
    offsets = [offsets_of(t, _sizes_of(t)) for t in call.tensors]
    shaped = [x.reshape(_sizes_of(t)) for x, t in zip(offsets, call.tensors)]
    wanted = np.stack([_index(call, k, at, rows, columns, False).ravel() for k, at in enumerate(shaped)])
    parts = []
    for i in made:
        by_repeats = i.by_repeats()
        count = i.parameters.get("mask") or by_repeats[0].shape[1]
        repeat, j = np.indices((len(by_repeats[0]), count))
        parts.append(np.stack([_index(call, k, at, repeat, j, True).ravel() for k, at in enumerate(by_repeats)]))
    found = np.concatenate(parts, 1)
    if wanted.shape != found.shape or (wanted[:, np.lexsort(wanted)] != found[:, np.lexsort(found)]).any():
        expected = "each result from its own elements, once"
        raise Unproven(f"{call.name} of {shown(sizes)}", expected, "copy the operands into rows")
    if np.unique(offsets[0]).size < offsets[0].size:
        what = f"{call.name} into {shown(call.tensors[0].layout)}"
        raise LeafTypeError(what, "a place for each element", "give dst strides of its own")
    require_apart(call.name, [*call.tensors], [*call.elements], offsets, room)


def _index(call: Call, k: int, at: Any, row: Any, j: Any, of_repeat: bool) -> Any:
    """The place of an operand for element j of a row, or of a repeat: its offset, of bits eight times with the bit."""
    form, side, c0 = call.special.form, call.special.operands[k], int(call.elements[-1].C0)
    match form, side:
        case "whole", "dst":
            return at.ravel()[row]
        case "block", "dst":
            return at[row, j // c0]
        case "pair", "dst":
            return at[row, j // 2]
        case "spread", "src":
            return at[row, j // c0] if of_repeat else at.ravel()[row]
        case ("bits", "dst") | ("select", "sel"):
            return at[row, j // 8] * 8 + j % 8
    return at[row, j]
