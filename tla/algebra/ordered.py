"""Compact layouts whose modes lie in memory in a given order.

Source: CuTe include/cute/layout.hpp and stride.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.errors import LeafTypeError, RankError
from ..core.int_tuple import as_int_tuple, leaves, like, shown
from ..core.ints import Int, IntTree, IntTupleLike, _0, _1, is_int, leaf
from ..core.layout import Layout, as_layout, with_valid
from ..core.leaf_arithmetic import mul
from ..core.strides import Stride
from .coalesce import filter_zeros


def compact_order(shape: IntTupleLike, order: IntTupleLike) -> IntTree:
    """The strides of a shape laid out without gaps, the leaf of the smallest order fastest.

    order   weakly congruent to the shape: integers, the smallest first; a mode under one integer is first mode fastest.
            Dynamic integers come after static ones, from left to right, so that the result does not depend on them

    >>> from tla import compact_order, _0, _1, _2, _3, _4
    >>> print(compact_order((_2, (_3, _4)), (_2, (_1, _0))))
    (_12,(_4,_1))

    Raises RankError where the profiles do not fit. Source: CuTe `compact_order`.
    """
    shape, order = as_int_tuple(shape), as_int_tuple(order)
    keys = [
        (not isinstance(o, Int), int(o) if isinstance(o, Int) else 0, k) for k, o in enumerate(_orders(shape, order))
    ]
    extents, current = list(leaves(shape)), _1
    strides: dict[int, Any] = {}
    for key in sorted(keys):
        n = extents[key[2]]
        strides[key[2]] = _0 if type(n) is Int and n == 1 else leaf(current)
        current = mul(current, n)
    return like(shape, iter([strides[k] for k in range(len(extents))]), Stride)


def _orders(shape: IntTupleLike, order: IntTupleLike) -> Iterable[Any]:
    if not isinstance(order, tuple):
        if not is_int(order):
            raise LeafTypeError(f"order {shown(order)}", "integers", "give integers: coordinates have no order")
        return [order for _leaf in leaves(shape)]
    if not isinstance(shape, tuple) or len(shape) != len(order):
        raise RankError(
            f"order {shown(order)} of {shown(shape)}",
            "one integer for each mode, nested no deeper than the shape",
            "order the modes, or their leaves",
        )
    return [o for pair in zip(shape, order) for o in _orders(*pair)]


def MakeOrderedLayout(shape: IntTupleLike, order: IntTupleLike) -> Layout:
    """The compact layout of a shape with its modes in an order, which has to be static to count: see compact_order.

    >>> from tla import MakeOrderedLayout, _0, _1, _2, _3
    >>> print(MakeOrderedLayout((_2, _3), (_1, _0)))
    (_2,_3):(_3,_1)

    Source: CuTe `make_ordered_layout`.
    """
    return Layout(shape, compact_order(shape, order))


def MakeLayoutLike(layout: Layout) -> Layout:
    """A compact layout of the same shape, with its modes in the order of the layout's static strides; broadcasts stay.

    Modes of dynamic strides come last, from left to right: their order must not depend on what a variable holds.

    >>> from tla import MakeLayoutLike, parse
    >>> print(MakeLayoutLike(parse("(_4,_8,_2):(_16,_1,_0)")))
    (_4,_8,_2):(_8,_1,_0)

    Source: CuTe `make_layout_like`.
    """
    strides = compact_order(filter_zeros(as_layout("MakeLayoutLike", layout)).shape, layout.stride)
    return with_valid(Layout(layout.shape, strides), layout._valid)
