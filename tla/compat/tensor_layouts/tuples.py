"""The integer tuples of tensor-layouts: questions, other forms of a tuple, and what is done to each integer of one.

Source: tensor-layouts 0.3.2, layouts/core.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from ...core import profiles
from ...core.errors import LeafTypeError, TlaError
from ...core.ints import IntTree as IntTree
from .. import pycute
from ..door import guard
from ..int_tuples import IntTuple, has_none, is_int, is_tuple, prefix_product, product, tuple_max
from ..pycute import inner_product
from ..torch import suffix_product

__all__ = [
    "IntOrIntTuple",
    "IntTuple",
    "LayoutError",
    "UnsupportedComposedLayoutError",
    "as_list",
    "as_shape",
    "as_tuple",
    "compatible",
    "compute_col_major_strides",
    "compute_row_major_strides",
    "congruent",
    "coords_all_none",
    "elem_scale",
    "fold",
    "fold_accumulate",
    "has_none",
    "inner_product",
    "is_int",
    "is_iterable",
    "is_scalar",
    "is_tuple",
    "normalize",
    "prefix_product",
    "product_each",
    "safe_div",
    "shape_div",
    "shape_mod",
    "suffix_product",
    "transform_tuple",
    "tuple_max",
    "unwrap",
    "weakly_congruent",
    "zip_transform",
]

T = TypeVar("T")

#: An integer, or a tuple of these.
IntOrIntTuple = IntTuple
#: An integer, None for an open mode, or a tuple of these; which of them depends on the shape, so checkers let it be
#: used as any.
Coordinate: TypeAlias = Any


class LayoutError(TlaError, ValueError):
    """A layout that there is not, or an argument that does not fit. Programs of tensor-layouts expect a ValueError."""


class UnsupportedComposedLayoutError(LayoutError, NotImplementedError):
    """A map for which there is no layout of this module."""


# ------------------------------------------------------------------------------------------------------ questions

congruent, weakly_congruent, compatible = profiles.congruent, profiles.weakly_congruent, profiles.compatible


def is_scalar(x: object) -> bool:
    return is_int(x)


def is_iterable(x: object) -> bool:
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes))


def coords_all_none(a: object) -> bool:
    return all(map(coords_all_none, a)) if isinstance(a, tuple) else a is None


# ---------------------------------------------------------------------------------------------------- other forms


def as_tuple(x: IntTuple | list[IntTuple]) -> tuple[Any, ...]:
    return (x,) if isinstance(x, int) else tuple(x)


def as_list(x: IntTuple) -> list[IntTuple]:
    return list(as_tuple(x))


def as_shape(items: list[IntTuple] | tuple[IntTuple, ...]) -> IntTuple:
    """A list of modes as a tuple; one mode without it.

    >>> as_shape([4, 8]), as_shape([8])
    ((4, 8), 8)
    """
    return items[0] if len(items) == 1 else tuple(items)


def unwrap(t: IntTuple) -> IntTuple:
    """The only mode of a tuple of one; any other tuple, and an integer, as it is."""
    return t[0] if isinstance(t, tuple) and len(t) == 1 else t


def normalize(x: object) -> IntTuple:
    """Make tuples of lists, at every depth. LeafTypeError for anything that is no integer.

    >>> normalize([[2, 4], 8])
    ((2, 4), 8)
    """
    if type(x) is int or (isinstance(x, int) and is_int(x)):
        return x
    if type(x) is tuple:
        return tuple([normalize(n) for n in x])
    if isinstance(x, Iterable) and is_iterable(x):
        return tuple(map(normalize, x))
    raise LeafTypeError(f"a shape of {type(x).__name__}", "int or tuple of ints", "give integers, or tuples of them")


# ------------------------------------------------------------------------------------------------ each of a tuple


def product_each(shape: IntTuple) -> tuple[Any, ...]:
    """The size of each mode of a shape.

    >>> product_each((3, (2, 4))), product_each(16)
    ((3, 8), (16,))
    """
    return tuple(map(product, as_tuple(shape)))


def transform_tuple(t: IntTree, f: Callable[[Any], T]) -> IntTree:
    return tuple(transform_tuple(x, f) for x in t) if is_tuple(t) else f(t)


def zip_transform(a: IntTuple, b: IntTuple, f: Callable[..., T]) -> IntTree:
    """f of each integer of a and what is in its place in b.

    >>> zip_transform((2, (3, 4)), (5, (6, 7)), max)
    (5, (6, 7))
    """
    if not isinstance(a, tuple):
        return f(a, b)
    if not isinstance(b, tuple) or len(a) != len(b):
        raise LayoutError(f"{a} with {b}", "as many modes in both", "give one for each mode")
    return tuple(zip_transform(x, y, f) for x, y in zip(a, b))


def fold(t: IntTree, init: T, f: Callable[[T, Any], T]) -> T:
    """f of what was found so far and the next integer, over all integers of a tuple.

    >>> fold(((2, 3), 4), 1, lambda found, n: found * n)
    24
    """
    if not isinstance(t, tuple):
        return f(init, t)
    for x in t:
        init = fold(x, init, f)
    return init


def fold_accumulate(t: IntTree, init: T, f: Callable[[Any, T], Any], update: Callable[[Any, T], T]) -> IntTree:
    """f of each integer and the state there; a mode that is done changes the state for the modes after it.

    >>> fold_accumulate((2, 3, 4), 1, lambda n, state: state, lambda n, state: state * n)
    (1, 2, 6)
    """
    if not isinstance(t, tuple):
        return f(t, init)
    done = []
    for mode in t:
        done.append(fold_accumulate(mode, init, f, update))
        init = update(mode, init)
    return tuple(done)


def elem_scale(a: IntTuple, b: IntTuple) -> IntTree:
    """Each integer of a by what is in its place in b, of a tuple its product. LeafTypeError for a tuple by an integer.

    >>> elem_scale((2, 3), (4, 5)), elem_scale(2, (3, 4))
    ((8, 15), 24)
    """
    if is_tuple(a) and not is_tuple(b):
        raise LeafTypeError(f"{a} by {b}", "two tuples, or an integer first", "give a factor for each mode")
    return pycute.elem_scale(a, b)


# -------------------------------------------------------------------------------------------- strides and quotients


def compute_col_major_strides(shape: IntTuple) -> IntTree:
    """The strides of a compact layout, the first mode fastest; 0 for extents of 1 before the first longer one.

    >>> compute_col_major_strides((1, 2, (3, 4)))
    (0, 1, (2, 6))
    """
    return _compact(shape, 1)[0]


def _compact(shape: IntTree, step: int) -> tuple[IntTree, int]:
    """The strides from a step on, and the step after them."""
    if not isinstance(shape, tuple):
        return (0 if shape == step == 1 else step), step * shape
    strides = []
    for mode in shape:
        found, step = _compact(mode, step)
        strides.append(found)
    return tuple(strides), step


def compute_row_major_strides(shape: IntTuple) -> IntTree:
    """The strides of a compact layout, the last mode fastest."""
    return suffix_product(shape)


def safe_div(a: int, b: int) -> int:
    """a / b where b divides a."""
    if b == 0 or a % b:
        raise LayoutError(f"safe_div({a}, {b})", f"an integer that divides {a}", "divide by such a one")
    return a // b


def shape_div(shape: IntTuple, divisor: int) -> IntTree:
    """A shape of so many elements less, taken from its first modes; a divisor that divides no mode, or is divided by
    none, is refused.

    >>> shape_div((6, 2), 3), shape_div((3, 6, 2, 8), 9)
    ((2, 2), (1, 2, 2, 8))
    """
    return fold_accumulate(shape, divisor, _quotient, lambda mode, left: _quotient(left, product(mode)))


def _quotient(a: int, b: int) -> int:
    if b == 1:
        return a
    if not a or not b or (a % b and b % a):
        raise LayoutError(f"shape_div({a}, {b})", "one that divides the other", f"use {math.gcd(a, b)} for {b}")
    return -(-a // b)


def shape_mod(shape: IntTuple, modulus: int) -> IntTree:
    """The shape that shape_div takes away.

    >>> shape_mod((6, 2), 3), shape_mod((3, 6, 2, 8), 9)
    ((3, 1), (3, 3, 1, 1))
    """
    return fold_accumulate(shape, modulus, _kept, lambda mode, left: _quotient(left, _kept(product(mode), left)))


def _kept(a: int, modulus: int) -> int:
    return a if modulus >= a else math.gcd(a, modulus)


guard(globals())
