"""A value made anew of its leaves: layouts, tuples and tilers, each leaf changed by a function; `static` and `dynamic` are two such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .basis import ScaledBasis
from .composed import ComposedLayout
from .errors import LeafTypeError
from .int_tuple import IntTuple, Underscore
from .ints import as_static, is_leaf, leaf
from .kinds import layout_fix
from .layout import Layout
from .swizzle import Swizzle


def each_leaf(where: str, x: Any, change: Callable[[Any], Any]) -> Any:
    """A layout, a tuple or a tiler with each of its integers changed. LeafTypeError for anything else."""
    if isinstance(x, Layout):
        origin = ... if x.origin_shape is None else each_leaf(where, x.origin_shape, change)
        return Layout(each_leaf(where, x.shape, change), each_leaf(where, x.stride, change), origin)
    if isinstance(x, ComposedLayout):
        return ComposedLayout(*(each_leaf(where, part, change) for part in (x.outer, x.offset, x.inner)))
    if isinstance(x, tuple):
        parts = [each_leaf(where, n, change) for n in x]
        return type(x)(*parts) if isinstance(x, IntTuple) else tuple(parts)
    if isinstance(x, ScaledBasis):
        return ScaledBasis(each_leaf(where, x.value, change), x.path)
    if x is None or isinstance(x, (Swizzle, Underscore)):
        return x
    if is_leaf(x) or hasattr(type(x), "__index__"):  # numpy's integers too
        return change(leaf(x))
    raise LeafTypeError(f"{where} of a {type(x).__name__}", "a layout, an IntTuple or a size", layout_fix(x))


def static(x: object) -> Any:
    """Make the plain integers of a layout, a tuple or a tiler known: 4 becomes Int[4](), as a template argument in C++ is.

    A plain int is a run-time value, as in CuTe: an operation must not look at it. The peers in Python take it as known. Symbols stay.

    >>> from tla import make_layout, right_inverse, static
    >>> print(static((4, (2, 8))), static(make_layout((4, 2))))
    (Int[4](), (Int[2](), Int[8]())) (_4,_2):(_1,_4)
    >>> print(right_inverse(make_layout((16, 8), (1, 16))), right_inverse(static(make_layout((16, 8), (1, 16)))))
    _1:_0 _128:_1

    Raises LeafTypeError for what has no integers. Source: CuTe `Int<N>`; ours for whole values.
    """
    return each_leaf("static", x, as_static)


def dynamic(x: object) -> Any:
    """Make the static integers of a layout, a tuple or a tiler plain ones, which are known at run time only: the way back of `static`.

    >>> from tla import dynamic, parse
    >>> print(dynamic(parse("(_4,_2):(_1,_4)")))
    (4,2):(1,4)

    Raises LeafTypeError for what has no integers. Source: ours.
    """
    return each_leaf("dynamic", x, lambda n: int(n) if isinstance(n, int) else n)
