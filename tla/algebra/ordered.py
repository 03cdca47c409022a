"""Compact layouts whose modes lie in memory in a given order.

Source: CuTe include/cute/layout.hpp and stride.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.arithmetic import colex_less
from ..core.basis import Basis
from ..core.errors import RankError
from ..core.int_tuple import as_int_tuple, leaves, like, shown
from ..core.ints import Int, IntTree, IntTupleLike, _0, _1, is_static, leaf
from ..core.layout import Layout, as_layout, with_valid
from ..core.leaf_arithmetic import mul
from ..core.strides import Stride
from .coalesce import filter_zeros


def compact_order(shape: IntTupleLike, order: IntTupleLike) -> IntTree:
    """The strides of a shape laid out without gaps, the leaf of the smallest order fastest.

    order   weakly congruent to the shape: integers, the smallest first, or coordinates, in the order of colex_less; a
            mode under one of them is first mode fastest. Dynamic ones come after static ones, from left to right, so
            that the result does not depend on them

    >>> from tla import E, compact_order, _0, _1, _2, _3, _4
    >>> print(compact_order((_2, (_3, _4)), (_2, (_1, _0))), compact_order((_2, _3), (E[1], E[0])))
    (_12,(_4,_1)) (_3,_1)

    Raises RankError where the profiles do not fit. Source: CuTe `compact_order`; of coordinates PyCuTe.
    """
    shape, order = as_int_tuple(shape), as_int_tuple(order)
    extents, current = list(leaves(shape)), _1
    strides: dict[int, Any] = {}
    for k in _in_order([*_orders(shape, order)]):
        n = extents[k]
        strides[k] = _0 if type(n) is Int and n == 1 else leaf(current)
        current = mul(current, n)
    return like(shape, iter([strides[k] for k in range(len(extents))]), Stride)


def _in_order(orders: Sequence[Any]) -> list[int]:
    """The places of the static orders, the least first, then of the others."""
    coordinates = [o for o in orders if isinstance(o, Basis)]
    for o in orders if coordinates else ():
        _before(coordinates[0], o)  # RankError for an integer among coordinates
    key: Callable[[Any], Any] = functools.cmp_to_key(_before) if coordinates else int
    known = [k for k, o in enumerate(orders) if is_static(o)]
    return [*sorted(known, key=lambda k: key(orders[k])), *(k for k, o in enumerate(orders) if not is_static(o))]


def _before(a: Any, b: Any) -> int:
    """Below 0 where a comes before b, above it where b comes before a."""
    return bool(colex_less(b, a)) - bool(colex_less(a, b))


def _orders(shape: IntTupleLike, order: IntTupleLike) -> Iterable[Any]:
    if not isinstance(order, tuple):
        return [order for _leaf in leaves(shape)]
    if not isinstance(shape, tuple) or len(shape) != len(order):
        expected = "one integer for each mode, nested no deeper than the shape"
        raise RankError(f"order {shown(order)} of {shown(shape)}", expected, "order the modes, or their leaves")
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

    Of a layout of coordinates it is the memory for one value at each, axis 0 the fastest. Modes of dynamic strides come
    last, from left to right: their order must not depend on what a variable holds.

    >>> from tla import MakeLayoutLike, parse
    >>> print(MakeLayoutLike(parse("(_4,_8,_2):(_16,_1,_0)")))
    (_4,_8,_2):(_8,_1,_0)
    >>> print(MakeLayoutLike(parse("(_4,_8):(_1@1,_1@0)")))
    (_4,_8):(_8,_1)

    Source: CuTe `make_layout_like`.
    """
    strides = compact_order(filter_zeros(as_layout("MakeLayoutLike", layout)).shape, layout.stride)
    return with_valid(Layout(layout.shape, strides), layout._valid)
