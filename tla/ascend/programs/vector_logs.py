"""The calls of the vector unit in a log, as computations.

A call takes as many elements as it says, or repeats with a mask and strides. Elements in a run are repeats side by
side, and what is left of the last. A mask of 0 is that of the register, which SetVectorMask sets before.

Source: AscendC's vector computation of the first n elements, and its high-dimensional tensor sharding computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import quoted
from ..vectors.forms import MODES as COMPARISONS, SPECIAL, Special, repeat_of
from ..vectors.gathered import LoggedGather
from ..vectors.instruction import (
    BLOCK,
    EITHER,
    MOST_REPEATS,
    OPERATIONS,
    REPEAT,
    SCALAR_FIRST,
    VectorInstruction,
    sides_of,
)
from ..vectors.transposed import FIELDS, Transposition, require_table
from .statements import Compute

#: A field of CopyRepeatParams -> the field of other instructions that says the same.
_COPY = {
    "dstStride": "dstBlkStride",
    "srcStride": "srcBlkStride",
    "dstRepeatSize": "dstRepStride",
    "srcRepeatSize": "srcRepStride",
}
_REDUCED = ("dstRepStride", "srcBlkStride", "srcRepStride")
#: What makes the result of another form -> the numbers of its call behind the tensors.
_NUMBERS = {
    "whole": ("mask", "repeatTimes", *_REDUCED),
    "block": ("repeatTimes", "mask", *_REDUCED),
    "pair": ("repeatTimes", "mask", *_REDUCED),
    "spread": ("repeatTimes",),
    "bits": ("mode", "mask", "repeatTimes"),
    "select": ("mode", "mask", "repeatTimes"),
}
#: ... -> the operands whose strides stand in a struct.
_STRIDES = {"spread": ("dst",), "select": ("dst", "src0", "src1")}
#: A call that is another one with its numbers in another order, of which dstBlkStride says nothing.
_SAME = {"RepeatReduceSum": ("WholeReduceSum", ("repeatTimes", "mask", "dstBlkStride", "srcBlkStride", *_REDUCED[::2]))}
#: AscendC's ReduceOrder and SELMODE that are computed, by number.
_ONLY_VALUE, _OF_TENSORS = 2, 2
#: Calls of the vector unit whose elements lie where their numbers say.
CALLS = frozenset((*OPERATIONS, *(x for x in SPECIAL if SPECIAL[x].form in _NUMBERS), *_SAME))
#: The call whose operands are lists of addresses, and the one with a table of them in UB.
TRANSPOSES, GATHERS = "TransDataTo5HD", "Gather"
#: The register of the mask with all bits set.
ALL_BITS = (1 << 128) - 1
#: So many repeats at a time, whose bits end at a whole block.
_MOST_OF_BITS = MOST_REPEATS // 4 * 4
#: The most elements of a call: those of 256 KiB.
MOST_COUNT = 1 << 18
#: More bytes than any UB has.
MOST_BYTES = 1 << 20
#: The ways in which Cast rounds: AscendC's RoundMode.
MODES = 8
#: The memory, the element that it begins at, and the element type of an operand.
Operand = tuple[str, int, Element]


def whole(n: Any) -> int:
    """An integer of a log; TypeError for what is none."""
    if not isinstance(n, int):
        raise TypeError(f"{quoted(n, 40)} is no integer")
    return int(n)


def computation(name: str, args: list[Any], operand: Callable[[Any], Operand], register: int = ALL_BITS) -> Compute:
    """The computation that a logged call makes.

    name      of the call;  args  its arguments, tensors first;  operand  reads a tensor
    register  the bits of the mask that SetVectorMask has set

    Raises LeafTypeError for arguments that are none of such a call, RangeError for fields that the hardware does not
    take, and where a repeat reads what an earlier one of the same call has written.
    """
    first = name in EITHER and len(args) > 2 and not isinstance(args[1], dict)
    if first:  # the scalar stands before the source
        args = [args[0], args[2], args[1], *args[3:]]
    special = SPECIAL.get(_SAME.get(name, (name,))[0])
    count = len(special.operands) if special else 1 + OPERATIONS[name].sources
    operands = [operand(x) for x in args[:count]]
    rest = args[count:]
    takes = special.scalar if special else OPERATIONS[name].scalar
    scalar = _number(name, rest.pop(0) if rest else None) if takes else None
    fields = next((x for x in rest if isinstance(x, dict)), None)
    numbers = [x for x in rest if _is_integer(x)]
    if any(place != "UB" for place, *_at in operands) or len(operands) != count or not numbers:
        what = f"{name} of {len(operands)} tensors at {', '.join(place for place, *_at in operands)}"
        raise LeafTypeError(what, f"{count} tensors in UB, and how many elements", "log it with the stand-in")
    if special:
        made = tuple(_of_form(name, special, operands, numbers, fields or {}, register))
        made = tuple(replace(i, scalar=scalar) for i in made) if special.scalar else made
    else:
        operands += operands[:1] * OPERATIONS[name].reads_dst
        made = tuple(_of_elements(name, operands, scalar, numbers, fields, register))
        made = tuple(replace(i, mode=SCALAR_FIRST) for i in made) if first else made
    for i in made:
        i.require_fields()
    _require_in_turn(made)
    return Compute(tuple(place for place, *_at in operands), made)


def transposition(args: list[Any], element: Element) -> Compute:
    """The computation that a logged TransDataTo5HD makes: two lists of 16 addresses in UB, and a struct.

    Raises LeafTypeError for other arguments, RangeError for what the hardware does not take, and where a repeat reads
    what an earlier one has written.
    """
    table, fields = require_table(TRANSPOSES, args[:2]), args[2]
    told = {name: whole(fields[name]) for name in FIELDS}
    made = Transposition(TRANSPOSES, (0, 0), told, (element, element), table=table)
    made.require_fields()
    if told["repeatTimes"]:
        _require_in_turn((made,))
    return Compute(("UB", "UB"), (made,))


def gather(args: list[Any], operand: Callable[[Any], Operand]) -> Compute:
    """The computation that a logged Gather of so many elements makes, its table unknown yet.

    Raises LeafTypeError for other arguments, RangeError for what the hardware does not take.
    """
    sides, numbers = [operand(x) for x in args[:3]], args[3:]
    if len(numbers) != 2 or not all(map(_is_integer, numbers)) or any(place != "UB" for place, *_at in sides):
        what = f"{GATHERS} of {len(sides)} tensors at {', '.join(place for place, *_at in sides)} and {quoted(numbers, 40)}"
        raise LeafTypeError(what, "three tensors in UB, srcBaseAddr and count", "log it with the stand-in")
    if not 0 <= numbers[1] <= MOST_COUNT:
        raise RangeError(f"{GATHERS} of {numbers[1]} elements", f"0 to {MOST_COUNT}", "gather what is in UB")
    fields = {"count": numbers[1], "srcBaseAddr": numbers[0]}
    made = LoggedGather(GATHERS, tuple(at for _place, at, _e in sides), fields, tuple(e for *_at, e in sides))
    made.require_fields()
    return Compute(("UB",) * 3, (made,))


def _of_elements(
    name: str,
    operands: list[Operand],
    scalar: float | None,
    numbers: list[int],
    fields: Mapping[str, Any] | None,
    register: int,
) -> Iterator[VectorInstruction]:
    """The instructions of a call whose result has the shape of its sources."""
    if name == "Cast" and len(numbers) > 1 and 0 <= numbers[0] < MODES:
        del numbers[0]  # how it rounds, which changes no place
    if name == "Duplicate" and len(numbers) == 4 and fields is None:  # its strides are no struct
        fields = dict(zip(("dstBlkStride", "dstRepStride"), numbers[2:]))
        del numbers[2:]
    if len(numbers) != (1 if fields is None else 2):
        what = f"{name} of {', '.join(map(str, numbers))} and {'no ' if fields is None else ''}strides"
        expected = "how many elements, or a mask, a number of repeats, and strides"
        raise LeafTypeError(what, expected, "log it with the stand-in")
    if fields is None:
        yield from _of_run(name, operands, scalar, whole(numbers[-1]))
        return
    mask = _masked(name, whole(numbers[-2]), register, REPEAT // max(e.bits for _place, _at, e in operands))
    yield _of_repeats(name, operands, scalar, (mask, whole(numbers[-1])), fields)


def _masked(name: str, mask: int, register: int, most: int) -> int:
    """The number of elements of a repeat that are computed; of a mask of 0 by the register's lowest bits.

    most   the elements of a repeat

    Raises LeafTypeError for bits with gaps.
    """
    bits = register & ((1 << most) - 1)
    if mask or not bits:
        return mask
    if bits & (bits + 1):
        raise LeafTypeError(f"{name} with the mask {bits:#x}", "the first bits, without gaps", "log a mask of these")
    return bits.bit_length()


def _of_form(
    name: str, special: Special, operands: list[Operand], numbers: list[int], fields: Mapping[str, Any], register: int
) -> Iterator[VectorInstruction]:
    """The instructions of a call whose result has another shape than its sources."""
    elements = tuple(e for _place, _at, e in operands)
    bytes_ = {"bits": "dst", "select": "sel"}.get(special.form)
    if len({e.bits for side, e in zip(special.operands, elements) if side != bytes_}) > 1:
        what = f"{name} of {', '.join(map(str, elements))}"
        raise LeafTypeError(what, "operands of one type", "log it with the stand-in")
    if special.form not in ("bits", "select") or len(numbers) != 2 or fields:
        yield _of_one_form(name, special, operands, numbers, fields, register)
        return
    (mode, count), most = numbers, repeat_of(elements)
    if count < 1 or count % most or count > MOST_COUNT:
        what = f"{name} of {count} elements"
        raise RangeError(what, f"whole repeats of {most}, at most {MOST_COUNT}", "fill the last repeat up")
    usual = {f"{side}{kind}Stride": n for side in _strided(special) for kind, n in (("Blk", 1), ("Rep", 8))}
    for first in range(0, count, _MOST_OF_BITS * most):
        sides = zip(special.operands, operands)
        here = [(place, at + first // (8 if side == bytes_ else 1), e) for side, (place, at, e) in sides]
        repeats = min(_MOST_OF_BITS, (count - first) // most)
        yield _of_one_form(name, special, here, [mode, most, repeats], usual, register)


def _of_one_form(
    name: str, special: Special, operands: list[Operand], numbers: list[int], fields: Mapping[str, Any], register: int
) -> VectorInstruction:
    """The instruction of the numbers of a call and its strides."""
    form, elements = special.form, tuple(e for _place, _at, e in operands)
    called, names = _SAME.get(name, (name, _NUMBERS[form]))
    names = (*names, "order") if form == "whole" and not called.endswith("Sum") else names
    strides = [f"{side}{kind}Stride" for kind in ("Blk", "Rep") for side in _strided(special)]
    if len(numbers) != len(names) or any(not _is_integer(fields.get(x)) for x in strides):
        what = f"{name} of {', '.join(map(str, numbers))} and {len(fields)} fields"
        raise LeafTypeError(what, ", ".join((*names, *strides)), "log it with the stand-in")
    told = {**dict(zip(names, numbers)), **{x: fields[x] for x in strides}}
    enums = {x: told.pop(x) for x in ("order", "mode") if x in told}
    known = {"order": (_ONLY_VALUE,), "mode": range(len(COMPARISONS)) if form == "bits" else (_OF_TENSORS,)}
    for what, number in enums.items():
        if number not in known[what]:
            expected = "ORDER_ONLY_VALUE of a reduction, a CMPMODE, VSEL_TENSOR_TENSOR_MODE of Select"
            fix = "check the parts before and behind it"
            raise LeafTypeError(f"{name} with the {what} {number}", expected, fix)
    if name in _SAME:
        del told["dstBlkStride"]
    if form != "spread":
        most, c0 = repeat_of(elements), int(elements[-1].C0)
        told["mask"] = _masked(name, told["mask"], register, most)
        if told["mask"] < {"whole": 1, "block": most - c0 + 1}.get(form, most):
            what = f"{name} with a mask of {told['mask']} of {most}"
            raise RangeError(what, "one of all results: no manual says what others are", "compute whole repeats")
    mode = [*COMPARISONS][enums["mode"]] if form == "bits" else ""
    return VectorInstruction(called, tuple(at for _place, at, _e in operands), told, elements, mode=mode)


def _strided(special: Special) -> tuple[str, ...]:
    """The operands whose strides stand in a struct; bits have none."""
    return special.operands[1:] if special.form == "bits" else _STRIDES.get(special.form, ())


def _number(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise LeafTypeError(f"{name} with the scalar {quoted(given, 40)}", "a number", "log its value")
    return float(given)


def _is_integer(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _of_run(name: str, operands: list[Operand], scalar: float | None, count: int) -> Iterator[VectorInstruction]:
    """The instructions of so many elements that lie side by side."""
    elements = tuple(e for _place, _at, e in operands)
    most = REPEAT // max(e.bits for e in elements)
    steps = {f"{side}RepStride": most * e.bits // BLOCK for side, e in zip(sides_of(name, len(operands)), elements)}
    blocks = {f"{side}BlkStride": 1 for side in sides_of(name, len(operands))}
    if not 1 <= count <= MOST_COUNT:
        raise RangeError(f"{name} of {count} elements", f"1 to {MOST_COUNT}", "compute what is in UB")
    whole, left = divmod(count, most)
    runs = [(at, min(MOST_REPEATS, whole - at), most) for at in range(0, whole, MOST_REPEATS)]
    for first, repeats, mask in (*runs, *([(whole, 1, left)] if left else [])):
        places = tuple(at + first * most for _place, at, _e in operands)
        told = {"mask": mask, "repeatTimes": repeats, **blocks, **steps}
        yield VectorInstruction(name, places, told, elements, scalar)


def _of_repeats(
    name: str, operands: list[Operand], scalar: float | None, numbers: tuple[int, int], fields: Mapping[str, Any]
) -> VectorInstruction:
    """The instruction of a mask, a number of repeats, and strides."""
    told = {_COPY.get(field, field): value for field, value in fields.items()}
    wanted = [f"{side}{kind}Stride" for kind in ("Blk", "Rep") for side in dict.fromkeys(sides_of(name, len(operands)))]
    if missing := [x for x in wanted if not _is_integer(told.get(x))]:
        what = f"{name} without {missing[0]}"
        raise LeafTypeError(what, f"the fields {', '.join(wanted)}", "log them with the stand-in")
    mask, repeats = numbers
    places, elements = tuple(at for _place, at, _e in operands), tuple(e for _place, _at, e in operands)
    parameters = {"mask": mask, "repeatTimes": repeats, **{x: told[x] for x in wanted}}
    return VectorInstruction(name, places, parameters, elements, scalar)


def _require_in_turn(made: tuple[VectorInstruction, ...]) -> None:
    """RangeError where a repeat reads what an earlier one of the call has written: no manual says what that is."""
    import numpy as np

    sides = [[_bytes(rows, e) for rows, e in zip(i.by_repeats(), i.elements)] for i in made]
    last = max((int(rows.max()) for side in sides for rows in side if rows.size), default=0)
    if last >= MOST_BYTES:
        what = f"{made[0].name} that reaches byte {last} of UB"
        raise RangeError(what, f"less than {MOST_BYTES}", "log the addresses that it is given")
    turns = np.cumsum([0, *(i.parameters["repeatTimes"] for i in made)])
    written = np.full(last + 1, turns[-1])
    for begin, (to, *_read) in zip(turns, sides):
        np.minimum.at(written, to, np.broadcast_to(begin + np.arange(len(to))[:, None], to.shape))
    for begin, (_to, *read) in zip(turns, sides):
        for rows in read:
            if (written[rows] < begin + np.arange(len(rows))[:, None]).any():
                what = f"{made[0].name} of {turns[-1]} repeats, one of which reads what an earlier one has written"
                fix = "compute into another buffer"
                raise RangeError(what, "sources that lie where dst does, or apart from it", fix)


def _bytes(rows: Any, e: Element) -> Any:
    """The bytes of elements, a row for each repeat."""
    import numpy as np

    size = e.bits // 8
    return (rows[..., None] * size + np.arange(size)).reshape(len(rows), -1)
