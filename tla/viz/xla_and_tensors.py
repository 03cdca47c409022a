"""Drawings of XLA arrays, with the role of each digit on the chip, and of tensors."""

from __future__ import annotations

from typing import Any

from ..core.errors import LoweringError
from ..core.ints import plus
from ..tensors.tensor import Tensor
from ..xla import ArrayShape, digits, lower
from .drawable import Subject, register_subject


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
    return Subject(layout, str(shape), tuple(notes), (rank - 2, rank - 1), shape.bits, digits=found)


class _Started:
    """The layout of a tensor, from the tensor's start on and into the buffer: the offsets of its elements."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor, self.shape, self.origin_shape = tensor, tensor.shape, tensor.origin_shape

    def __str__(self) -> str:
        return str(self._tensor.layout)

    def __call__(self, *coord: Any) -> Any:
        at = tuple(plus(start, c) for start, c in zip(self._tensor.coord, coord))
        return plus(self._tensor.offset, self._tensor.layout(at if isinstance(self.shape, tuple) else at[0]))


def _of_tensor(tensor: Tensor) -> Subject:
    bits = 32 if tensor.dtype is None else 8 * tensor.dtype.itemsize
    return Subject(_Started(tensor), repr(tensor), (f"origin_shape {tensor.origin_shape}",), bits=bits, start=tuple(tensor.coord))


register_subject(ArrayShape, _of_array)
register_subject(Tensor, _of_tensor)
