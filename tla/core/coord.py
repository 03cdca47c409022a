"""Coordinates as values, and what they may be made of: integers, arrays, tracers, expressions, `_`.

Source: CuTe include/cute/int_tuple.hpp; TLA include/tla/layout.hpp.
"""

from __future__ import annotations

import re
import sys
from numbers import Integral
from typing import Any, Protocol, TypeAlias

from .arrays import NO_INTEGER_DTYPE, as_int64, dtype_of
from .errors import LeafTypeError
from .int_tuple import IntTuple, Underscore, as_tuple, opened
from .ints import IntTree, Leaf, foreign, is_int, is_leaf, is_no_integer, leaf, taken


class Coord(IntTuple):
    """A coordinate: an integer, anything with + * // %, or `_` for all of it, for each mode.

    >>> from tla import Coord, MakeCoord, _1, _3
    >>> print(MakeCoord(1, (_3, 5)), Coord[_1, _3]())
    (1,(_3,5)) (_1,_3)

    Source: TLA and CuTe `Coord`.
    """

    __slots__ = ()
    checked = False  # it may hold arrays and tracers

    def __new__(cls, *modes: CoordLike) -> Coord:
        return as_tuple(cls, opened(modes), lambda c: c if isinstance(c, Underscore) else coord_leaf(c))


class Computes(Protocol):
    """An operand that has + * // and %: an integer of any kind, an array, a tracer."""

    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...


#: A coordinate: an integer, an array or a tracer, `_`, or a tuple of these, nested.
CoordLike: TypeAlias = "Computes | Underscore | tuple[CoordLike, ...]"
#: The value of a layout: an integer, a coordinate, an array, or what a tracer makes of it; which depends on the
#: coordinate and the strides.
Offset: TypeAlias = Any


#: TLA's maker: MakeCoord(1, (2, 0)) is a Coord of a coordinate for each mode.
MakeCoord = Coord


def coord_leaf(x: object) -> Leaf:
    """x as a coordinate: an integer as leaf() has it, an array of integers in 64 bits, what has + * // % as it is."""
    if is_leaf(x):
        return taken(x) if is_int(x) else no_coordinate(x)
    if foreign(x):
        return leaf(x)
    np = sys.modules.get("numpy")
    if np and isinstance(x, np.ndarray):
        return _index_array(np, x)
    if x is None or isinstance(x, Underscore):
        raise LeafTypeError(
            f"`{x}` in a coordinate", "an integer for each mode", "write slice_((_, 3), layout) for what is left open"
        )
    if re.search(NO_INTEGER_DTYPE, dtype := dtype_of(x)):
        raise LeafTypeError(
            f"a coordinate array of {dtype}", "an integer array", "convert it with .astype('int32') if that is meant"
        )
    if (
        is_no_integer(x)
        or isinstance(x, Integral)
        or not all(hasattr(type(x), op) for op in ("__add__", "__mul__", "__floordiv__", "__mod__"))
    ):
        return leaf(x)
    return x


def no_coordinate(x: object) -> Any:
    """LeafTypeError for a basis element where an integer of a coordinate belongs."""
    raise LeafTypeError(f"the coordinate {x}", "an integer for each mode", "write it as a tuple: (0, 2) for 2@1")


def _index_array(np: Any, x: Any) -> Any:
    """An integer array as int64; as Python's integers where these do not fit."""
    if x.dtype == object:
        x = np.array([leaf(n) for n in x.flat], object).reshape(x.shape)
    elif x.dtype.kind not in "iu":
        raise LeafTypeError(
            f"a coordinate array of {x.dtype}", "an integer array", "convert it with .astype('int64') if that is meant"
        )
    return as_int64(x)


def as_coord(x: object) -> IntTree:
    """x checked: an integer or a foreign object as a leaf, a tuple as a Coord."""
    return as_tuple(Coord, x, coord_leaf) if isinstance(x, tuple) else coord_leaf(x)
