"""The algebra on tensors: what an operation does to the layout, over the same elements, the start kept.

A tile that does not divide, or reaches past what is valid, keeps its full extents, as in CuTe; which of its elements are
valid goes with it. A tensor of coordinates, as make_identity_tensor makes it, has no end: its values past one are what
predicates ask for.

Source: CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..algebra import coalesce, divide, modes
from ..algebra.codomain import coshape, cosize
from ..algebra.common import max_alignment
from ..algebra.composition import composition
from ..core.cache import not_remembered
from ..core.composed import ComposedLayout, innermost
from ..core.errors import DivisibilityError
from ..core.int_tuple import depth, get, mode, rank, size
from ..core.ints import Int, is_static, leaf, static
from ..core.kinds import AnyLayout, on
from ..core.layout import with_valid
from ..core.make_layout import MakeLayout, shape, stride
from ..core.questions import divides
from ..core.strides import compact_col_major
from ..core.valid import ALL
from . import guard as guards
from .tensor import Tensor, around, from_zero, gives_places, guarded_tensor

_0 = Int[0]()


def apply(operation: Callable[[Any], Any], t: Tensor, part: bool) -> Tensor:
    """The tensor whose layout is operation(layout of t). part: whether no two of its coordinates are one of t's."""
    layout, offset = from_zero(operation_name(operation), t)
    view = _unpadded(operation(_unpadded(layout)))
    if gives_places(t):
        return guarded_tensor(t, offset, view, None, part)

    def placed(place: AnyLayout) -> Any:
        try:
            return operation(place)
        except DivisibilityError:  # steps across the rows of coordinates: the place of the index is exact for a layout
            return ComposedLayout(place, _0, operation(MakeLayout(place.shape, compact_col_major(place.shape))))

    return guarded_tensor(t, offset, view, guards.cut(t._guard.placed(t.shape), placed, innermost(view).shape), part)


def operation_name(operation: object) -> str:
    return str(getattr(operation, "__name__", "an operation"))


def _unpadded(layout: AnyLayout) -> Any:
    """A layout whose shape is all valid: what is valid of a tensor is told apart."""
    inner = innermost(layout)
    return layout if inner._valid is ALL else around(layout, with_valid(inner, ALL))[0]


def _define(*operations: object, part: bool) -> None:
    """Define operations on tensors by what they do to the layout."""
    for operation in operations:
        on(Tensor, operation)(functools.partial(_applied, operation, part=part))


def _applied(operation: Any, t: Tensor, *more: Any, part: bool, **options: Any) -> Tensor:
    return apply(_named(operation, lambda layout: operation(layout, *more, **options)), t, part)


def _define_in_brackets(*operations: object) -> None:
    """Define operations with arguments in brackets on tensors by what they do to the layout."""
    for operation in operations:
        on(Tensor, operation)(functools.partial(_applied_in_brackets, operation))


def _applied_in_brackets(operation: Any, *arguments: int) -> Callable[..., Tensor]:
    return lambda t, *more: apply(_named(operation, lambda layout: operation[arguments](layout, *more)), t, True)


def _named(operation: object, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    f.__name__ = operation_name(operation)
    return f


def _of_layout(f: Any, t: Tensor, *path: int) -> Any:
    """`size[0](t)` and the like are the layout's."""
    return f[path](t.layout) if path else f(t.layout)


@on(Tensor, max_alignment)
def _alignment(t: Tensor) -> Any:
    """A divisor of the start of every run: of the layout's, and of where the tensor begins in its buffer."""
    layout, start = from_zero("max_alignment", t)
    n = max_alignment(layout)
    if divides(n, start) is True:
        return n
    return static(math.gcd(int(n), int(start))) if isinstance(start, int) and is_static(start) else Int[1]()


@on(Tensor, get)
def _get(t: Tensor, *path: int) -> Tensor:
    """The tensor of the mode at a path, from the first element on."""
    for i in path:
        mode(t.layout, leaf(i))
        t = _mode(t, int(i))
    return t


def _mode(t: Tensor, i: int) -> Tensor:
    if not isinstance(t.shape, tuple):
        return t

    def one(layout: AnyLayout) -> Any:
        return layout[i]

    one.__name__ = f"get[{i}]"
    return apply(one, t, True)


for _f in (rank, depth, size, shape, stride, coshape, cosize):
    on(Tensor, _f)(functools.partial(_of_layout, _f))
_define(coalesce.coalesce, coalesce.filter, coalesce.filter_zeros, part=True)
_define(divide.flat_divide, divide.logical_divide, divide.tiled_divide, divide.zipped_divide, part=True)
_define_in_brackets(modes.group, modes.select, modes.take)
_define(composition, part=False)
not_remembered(Tensor)
