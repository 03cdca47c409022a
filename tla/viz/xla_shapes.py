"""XLA arrays drawn: what each digit is on the chip."""

from __future__ import annotations

from ..errors import LoweringError
from ..xla import ArrayShape, digits, lower
from .subject import Subject, register_subject


def _of_array(shape: ArrayShape) -> Subject:
    layout = lower(shape)
    try:
        found = tuple(tuple(d for d in mode if d.role != "untiled") for mode in digits(shape))
    except LoweringError:  # a tile cuts what is no digit
        found = ()
    notes = [str(layout)]
    for k, mode in enumerate(found):
        notes += [f"mode {k}: {', '.join(f'{d.role[0]} {d.role} {d.extent}' for d in reversed(mode))}"] if mode else []
    rank = len(shape.dimensions)
    return Subject(layout, str(shape), tuple(notes), (rank - 2, rank - 1), shape.bits, found)


register_subject(ArrayShape, _of_array)
