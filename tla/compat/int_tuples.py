"""Integers and tuples of them as pycute has them: what needs no layout.

Source: CUTLASS python/pycute/int_tuple.py.
"""

from __future__ import annotations

import math
from abc import ABC
from typing import Any

from ..core.errors import RankError
from ..core.ints import leaf


class Integer(ABC):  # noqa: B024  # it is asked, and has no members
    """An integer: int and its subclasses, but for bool."""

    @classmethod
    def __subclasshook__(cls, kind: type, /) -> bool:
        return kind is not bool and issubclass(kind, int)


#: An integer, or a tuple of these.
IntTuple = int | tuple[Any, ...]


def is_int(x: object) -> bool:
    return isinstance(x, Integer)


def is_tuple(x: object) -> bool:
    return isinstance(x, tuple)


def flatten(t: Any) -> tuple[Any, ...]:
    """All integers of a tuple, in order; of an integer a tuple of it.

    >>> flatten((1, (2, (3,)))), flatten(4)
    ((1, 2, 3), (4,))
    """
    return tuple(n for mode in t for n in flatten(mode)) if is_tuple(t) else (t,)


def plain_tuple(x: Any) -> Any:
    """An integer, or a tuple of them, of plain integers: of numpy's, and of tla's, their values; LeafTypeError for
    anything else.

    >>> from tla import Int
    >>> plain_tuple((Int[2](), (3, 4)))
    (2, (3, 4))
    """
    if type(x) is tuple:
        for n in x:
            if type(n) is not int:
                break
        else:
            return x
    if isinstance(x, tuple):
        return tuple([n if type(n) is int else plain_tuple(n) for n in x])
    if type(x) is int:
        return x
    n = leaf(x)
    return int(n) if isinstance(n, int) else n


def are_modes(shape: Any, stride: Any) -> bool:
    """Whether these are plain integers, or flat tuples of them, that are the shape and the strides of a layout.

    >>> are_modes((2, 4), (4, 1)), are_modes((2, 3), (1,)), are_modes(-3, 1), are_modes((2, (3, 4)), (1, (2, 6)))
    (True, False, False, False)
    """
    if type(shape) is tuple is type(stride) and len(shape) == len(stride):
        for n, d in zip(shape, stride):
            if type(n) is not int or type(d) is not int or n < 0:
                break
        else:
            return True
        return False
    return type(shape) is int is type(stride) and shape >= 0


def nested_alike(shape: Any, stride: Any) -> bool:
    """Whether plain tuples are the shape and the strides of a layout: nested alike, no extent below 0.

    >>> nested_alike((2, (3, 4)), (1, (2, 6))), nested_alike((2, 3), (1,)), nested_alike(-3, 1)
    (True, False, False)
    """
    if type(shape) is tuple is type(stride):
        return len(shape) == len(stride) and all(map(nested_alike, shape, stride))
    return tuple not in (type(shape), type(stride)) and are_extents(shape)


def are_extents(shape: Any) -> bool:
    """Whether no extent of plain tuples is below 0.

    >>> are_extents((2, (0, 4))), are_extents((2, (-3, 4)))
    (True, False)
    """
    return all(map(are_extents, shape)) if type(shape) is tuple else type(shape) is not int or shape >= 0


def signum(a: Any) -> int:
    return bool(a > 0) - bool(a < 0)


def product(a: Any) -> Any:
    """The product of all integers of a tuple; LeafTypeError for what is none.

    >>> product((2, (3, 4)))
    24
    """
    if isinstance(a, tuple):
        return math.prod(map(product, a))
    return a if type(a) is int else plain_tuple(a)


def tuple_max(a: Any) -> Any:
    return max(flatten(a))


def prefix_product(a: Any, init: Any = 1) -> Any:
    """The strides of a compact layout of this shape, the first mode fastest; `init` is where they begin.

    >>> prefix_product((2, (3, 4)))
    (1, (2, 6))
    """
    if not isinstance(a, tuple):
        if isinstance(init, tuple):
            what = f"prefix_product of {a} from {init}"
            raise RankError(what, "as many modes in both", "give one integer to begin with")
        return init
    if isinstance(init, tuple):
        return tuple(map(prefix_product, a, as_many("prefix_product", init, a)))
    strides = []
    for mode in a:
        strides.append(prefix_product(mode, init))
        init = init * product(mode)
    return tuple(strides)


def as_many(name: str, x: tuple[Any, ...], a: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(x) != len(a):
        raise RankError(f"{name} of {a} and {x}", "as many modes in both", "give one of each mode")
    return x


def closed(crd: Any) -> Any:
    return tuple(map(closed, crd)) if is_tuple(crd) else 0 if crd is None else crd


def slice_(crd: Any, trg: Any) -> Any:
    """The modes of a tuple at the places of a coordinate that are None, in one flat tuple."""
    if is_tuple(crd):
        if not is_tuple(trg):
            raise RankError(f"slice_ of {trg} by {crd}", "a tuple", "give an integer or None")
        return tuple(n for c, t in zip(crd, as_many("slice_", trg, crd)) for n in slice_(c, t))
    return (trg,) if crd is None else ()


def has_none(a: Any) -> bool:
    return any(map(has_none, a)) if is_tuple(a) else a is None
