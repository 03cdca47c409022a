"""The algebra on tensors: what an operation does to the layout, over the same elements, the start kept.

A tile that does not divide, or reaches past what is valid, keeps its full extents, as in CuTe; which of its elements are
valid goes with it. A tensor of coordinates, as make_identity_tensor makes it, has no end: its values past one are what
predicates ask for.

Source: CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra import coalesce as coalescing, divide as tilers, modes
from ..algebra.composition import composition
from ..core.cache import not_remembered
from ..core.composed import ComposedLayout, innermost
from ..core.errors import DivisibilityError
from ..core.int_tuple import get, mode, register_by_path, register_kind
from ..core.ints import Int, leaf
from ..core.layout import Layout, MakeLayout, compact_col_major
from . import guard as guards
from .tensor import Tensor, around, from_zero, gives_places, guarded_tensor

_0 = Int[0]()


def apply(operation: Callable[[Any], Any], t: Tensor, part: bool) -> Tensor:
    """The tensor whose layout is operation(layout of t). part: whether no two of its coordinates are one of t's."""
    layout, offset = from_zero(operation_name(operation), t)
    view = _unpadded(operation(_unpadded(layout)))
    if gives_places(t):
        return guarded_tensor(t, offset, view, None, part)
    before = t._guard or guards.of_box(t.shape, t.origin_shape, t._room)

    def placed(place: Any) -> Any:
        try:
            return operation(place)
        except DivisibilityError:  # steps across the rows of coordinates: the place of the index is exact for a layout
            shape = place.shape
            return ComposedLayout(place, _0, operation(MakeLayout(shape, compact_col_major(shape))))

    return guarded_tensor(t, offset, view, guards.cut(before, placed, innermost(view).shape), part)


def operation_name(operation: Any) -> str:
    return str(getattr(operation, "__name__", "an operation"))


def _unpadded(layout: Any) -> Any:
    """A layout whose shape is all valid: what is valid of a tensor is told apart."""
    inner = innermost(layout)
    return layout if inner._origin is None else around(layout, Layout(inner.shape, inner.stride))[0]


def _registered(part: bool) -> Callable[..., Tensor]:
    def run(operation: Any, t: Tensor, *more: Any) -> Tensor:
        def f(layout: Any) -> Any:
            return operation(layout, *more)

        f.__name__ = operation_name(operation)
        return apply(f, t, part)

    return run


def _by_path(f: Any, t: Tensor, path: tuple[int, ...]) -> Any:
    """`size[0](t)` and the like are the layout's; `get[0](t)` is the tensor of that mode, from the first element on."""
    if f is not get:
        return f[path](t.layout) if path else f(t.layout)
    for i in path:
        mode(t.layout, leaf(i))
        t = _mode(t, int(i))
    return t


def _mode(t: Tensor, i: int) -> Tensor:
    if not isinstance(t.shape, tuple):
        return t

    def one(layout: Any) -> Any:
        return layout[i]

    one.__name__ = f"get[{i}]"
    return apply(one, t, True)


register_by_path(Tensor, _by_path)
register_kind(
    Tensor,
    {
        **dict.fromkeys(
            [
                *(coalescing.coalesce, coalescing.filter, coalescing.filter_zeros, modes.group, modes.select, modes.take),
                *(tilers.flat_divide, tilers.logical_divide, tilers.tiled_divide, tilers.zipped_divide),
            ],
            _registered(part=True),
        ),
        composition: _registered(part=False),
    },
)
not_remembered(Tensor)
