"""Shapes and strides, and the strides of compact layouts.

Source: CuTe include/cute/layout.hpp and stride.hpp; TLA include/tla/layout.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .int_tuple import IntTuple, as_int_tuple, leaves, like
from .ints import IntLike, IntTree, IntTupleLike, _0, _1, is_constant, leaf
from .leaf_arithmetic import mul


class Shape(IntTuple):
    """The extents of a layout's modes [elements]. `Shape[_4, _2]` is a static one as a type; MakeShape makes the value.

    >>> from tla import MakeShape, Shape, _2, _4
    >>> print(MakeShape(_4, 2), Shape[_4, _2]())
    (_4,2) (_4,_2)

    Source: TLA and CuTe `Shape`.
    """

    __slots__ = ()


class Stride(IntTuple):
    """The length of one step in each mode [elements]; congruent to the layout's shape.

    >>> from tla import MakeStride, Stride, _1, _4
    >>> print(MakeStride(_1, 4), Stride[_1, _4]())
    (_1,4) (_1,_4)

    Source: TLA and CuTe `Stride`.
    """

    __slots__ = ()


#: TLA's and CuTe's makers: MakeShape(_4, 2) is a Shape of these extents, MakeStride((_1, 8), 16) a Stride
#: of these steps.
MakeShape, MakeStride = Shape, Stride


class _Order:
    """The fastest mode of a compact layout: the first or the last."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:  # the one object of its name, after pickle and copy too
        return self._name


#: The order of a compact layout with its first mode fastest: MakeLayout's default.
LayoutLeft = _Order("LayoutLeft")


#: The order of a compact layout with its last mode fastest.
LayoutRight = _Order("LayoutRight")


def compact_col_major(shape: IntTupleLike, current: IntLike = _1) -> IntTree:
    """The strides of a shape laid out without gaps, first mode fastest, from stride `current` on [elements].

    A static 1 gets stride _0: no coordinate steps along it. Raises RangeError for a stride that 64 bits do not hold.

    >>> from tla import compact_col_major, _1, _4
    >>> print(compact_col_major((_4, (3, _1))))
    (_1,(_4,_0))

    Source: CuTe `compact_col_major`.
    """
    shape = as_int_tuple(shape)
    return _compact(shape, leaves(shape), current)[0]


def compact_row_major(shape: IntTupleLike, current: IntLike = _1) -> IntTree:
    """The strides of a shape laid out without gaps, last mode fastest, from stride `current` on [elements].

    >>> from tla import compact_row_major, _1, _4
    >>> print(compact_row_major((_4, (3, _1))))
    (3,(_1,_0))

    Source: CuTe `compact_row_major`.
    """
    shape = as_int_tuple(shape)
    return _compact(shape, reversed(tuple(leaves(shape))), current)[1]


def _compact(shape: IntTupleLike, extents: Iterable[Any], current: IntLike) -> tuple[Any, Any]:
    """Running products over the extents, in the profile of shape: as they come, and reversed."""
    current, strides = leaf(current), []
    for n in extents:
        strides.append(_0 if is_constant(1, n) else leaf(current))  # which refuses what 64 bits do not hold
        current = mul(current, n)
    return like(shape, iter(strides), Stride), like(shape, reversed(strides), Stride)
