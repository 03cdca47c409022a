"""The calls of the vector unit in a log, as computations.

A call takes as many elements as it says, or repeats with a mask and strides. Elements in a run are repeats side by
side, and what is left of the last.

Source: AscendC's vector computation of the first n elements, and its high-dimensional tensor sharding computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ..vectors.instruction import BLOCK, MOST_REPEATS, OPERATIONS, REPEAT, VectorInstruction
from .statements import Compute

#: A field of CopyRepeatParams -> the field of other instructions that says the same.
_COPY = {
    "dstStride": "dstBlkStride",
    "srcStride": "srcBlkStride",
    "dstRepeatSize": "dstRepStride",
    "srcRepeatSize": "srcRepStride",
}
#: The most elements of a call: those of 256 KiB.
MOST_COUNT = 1 << 18
#: The ways in which Cast rounds: AscendC's RoundMode.
MODES = 8
#: The memory, the element that it begins at, and the element type of an operand.
Operand = tuple[str, int, Element]


def computation(name: str, args: list[Any], operand: Callable[[Any], Operand]) -> Compute:
    """The computation that a logged call makes.

    name      of the call;  args  its arguments, tensors first;  operand  reads a tensor

    Raises LeafTypeError for arguments that are none of such a call, RangeError for fields that the hardware does not
    take, and where a repeat reads what an earlier one of the same call has written.
    """
    operation = OPERATIONS[name]
    count = 1 + operation.sources
    operands = [operand(x) for x in args[:count]]
    rest = args[count:]
    scalar = _number(name, rest.pop(0) if rest else None) if operation.scalar else None
    fields = next((x for x in rest if isinstance(x, dict)), None)
    numbers = [x for x in rest if _is_integer(x)]
    if any(place != "UB" for place, *_at in operands) or len(operands) != count or not numbers:
        what = f"{name} of {len(operands)} tensors at {', '.join(place for place, *_at in operands)}"
        raise LeafTypeError(what, f"{count} tensors in UB, and how many elements", "log it with the stand-in")
    if name == "Cast" and len(numbers) > 1 and 0 <= numbers[0] < MODES:
        del numbers[0]  # how it rounds, which changes no place
    if len(numbers) != (1 if fields is None else 2):
        what = f"{name} of {', '.join(map(str, numbers))} and {'no ' if fields is None else ''}strides"
        expected = "how many elements, or a mask, a number of repeats, and strides"
        raise LeafTypeError(what, expected, "log it with the stand-in")
    if fields is None:
        made = tuple(_of_run(name, operands, scalar, int(numbers[-1])))
    else:
        made = (_of_repeats(name, operands, scalar, (int(numbers[-2]), int(numbers[-1])), fields),)
    for i in made:
        i.require_fields()
    _require_in_turn(made)
    return Compute(tuple(place for place, *_at in operands), made)


def _number(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise LeafTypeError(f"{name} with the scalar {given!r:.40}", "a number", "log its value")
    return float(given)


def _is_integer(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _sides(count: int) -> tuple[str, ...]:
    return ("dst", *(("src0", "src1") if count == 3 else ("src",) * (count - 1)))


def _of_run(name: str, operands: list[Operand], scalar: float | None, count: int) -> Iterator[VectorInstruction]:
    """The instructions of so many elements that lie side by side."""
    elements = tuple(e for _place, _at, e in operands)
    most = REPEAT // max(e.bits for e in elements)
    steps = {f"{side}RepStride": most * e.bits // BLOCK for side, e in zip(_sides(len(operands)), elements)}
    blocks = {f"{side}BlkStride": 1 for side in _sides(len(operands))}
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
    wanted = [f"{side}{kind}Stride" for kind in ("Blk", "Rep") for side in _sides(len(operands))]
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
