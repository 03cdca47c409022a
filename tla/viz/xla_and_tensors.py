"""Drawings of XLA arrays, with the role of each digit on the chip, and of tensors."""

from __future__ import annotations

from typing import Any

from ..core.errors import LoweringError
from ..core.ints import known
from ..core.leaf_arithmetic import plus
from ..tensors.tensor import Tensor
from ..xla import ArrayShape, digits
from ..xla.shapes.lower import lower
from .drawable import Subject, Tiling, register_subject


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
    return Subject(layout, str(shape), tuple(notes), (rank - 2, rank - 1), shape, digits=found, tiling=_tiling(shape))


def _tiling(shape: ArrayShape) -> Tiling | None:
    """The first tile of an array over its dimensions, which may coalesce in its layout; None if it is no box."""
    order, tiles = shape.effective_layout.minor_to_major, shape.effective_layout.tiles
    sizes = [known(n) for n in tiles[0]] if tiles else []
    if not sizes or None in sizes or len(sizes) > len(order):
        return None
    extents = dict(zip(order, reversed(sizes)))
    return Tiling(tuple(extents.get(d) or 1 for d in range(len(order))))


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
    return Subject(
        _Started(tensor), repr(tensor), (f"origin_shape {tensor.origin_shape}",), bits=tensor, start=tuple(tensor.coord)
    )


register_subject(ArrayShape, _of_array)
register_subject(Tensor, _of_tensor)
