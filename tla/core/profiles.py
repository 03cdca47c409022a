"""Profiles: how IntTuples are nested, and which of them fit each other.

Source: CuTe include/cute/int_tuple.hpp and algorithm/tuple_algorithms.hpp; TLA include/tla/int_tuple.hpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import Predicate, RankError, Reason
from .int_tuple import IntTuple, as_int_tuple, as_shape, leaves, like, product, shape_of, shown
from .ints import IntLike, IntTupleLike
from .kinds import AnyLayout
from .questions import divides, equal, every

if TYPE_CHECKING:
    from .ints import IntTree


def flatten(x: object) -> Any:
    """All leaves side by side, as a tuple; an integer stays one. A layout becomes flat in shape and stride.

    >>> from tla import flatten, parse
    >>> print(flatten((2, (3, (4,)))), flatten(5), flatten(parse("(_2,(3,_4)):(_12,(4,_1))")))
    (2,3,4) 5 (_2,3,_4):(_12,4,_1)

    What is valid of a layout stays so; origin_shape is None where that is no box of the leaves. Source: CuTe `flatten`.
    """
    if isinstance(x, AnyLayout):
        return x.flatten()
    x = as_int_tuple(x)
    return IntTuple(*leaves(x)) if isinstance(x, tuple) else x


def unflatten(flat: object, profile: IntTupleLike) -> Any:
    """The leaves of `flat` in the nesting of `profile`: `unflatten(flatten(x), x) == x`. Of a layout, the modes
    of both parts.

    profile   an IntTuple: of a layout that was flattened, its shape
    Raises    RankError where the number of leaves differs

    >>> from tla import parse, unflatten
    >>> print(unflatten((2, 3, 4), (0, (0, 0))), unflatten(parse("(_2,_3,_4):(_12,_4,_1)"), (0, (0, 0))))
    (2,(3,4)) (_2,(_3,_4)):(_12,(_4,_1))

    Source: CuTe `unflatten`.
    """
    if isinstance(flat, AnyLayout):
        return flat.unflatten(profile)
    values, profile = tuple(leaves(as_int_tuple(flat))), as_int_tuple(profile)
    if len(values) != (n := sum(1 for _ in leaves(profile))):
        what = f"unflatten: {len(values)} leaves of {shown(flat)} for {n} of {shown(profile)}"
        raise RankError(what, f"{n} leaves", "give one for each integer of the profile")
    return like(profile, iter(values))


def why_not_congruent(a: IntTree, b: IntTree) -> Reason | None:
    """The reason why a and b are not congruent, None if they are."""
    a, b = shape_of(a), shape_of(b)
    if isinstance(a, tuple) != isinstance(b, tuple):
        return Reason(f"{shown(a)} and {shown(b)} are not congruent", "the same nesting", "write one like the other")
    if not isinstance(a, tuple):
        return None
    if len(a) != len(b):
        what = f"{shown(a)} has {len(a)} modes and {shown(b)} has {len(b)}"
        return Reason(what, "the same nesting", "give each mode its counterpart")
    return next((why for pair in zip(a, b) if (why := why_not_congruent(*pair))), None)


def require_congruent(where: str, a: object, b: object) -> None:
    """RankError, with the place where it matters, if a and b are not congruent."""
    if why := why_not_congruent(a, b):
        raise RankError(f"{where}: {why.what}", why.expected, why.fix)


@Predicate
def congruent(a: IntTupleLike | AnyLayout, b: IntTupleLike | AnyLayout) -> Reason | bool | None:
    """Whether a and b have the same nesting, whatever their values.

    >>> from tla import congruent
    >>> congruent((2, (3, 4)), (1, (0, 7))), congruent((2, 3), (2, (3,)))
    (True, False)

    Source: CuTe `congruent`.
    """
    return why_not_congruent(as_shape(a), as_shape(b)) or True


@Predicate
def weakly_congruent(a: IntTupleLike | AnyLayout, b: IntTupleLike | AnyLayout) -> Reason | bool | None:
    """Whether the nesting of b refines that of a: where a has an integer, b may have anything.

    >>> from tla import weakly_congruent
    >>> weakly_congruent((2, 3), (2, (3, 4))), weakly_congruent((2, (3, 4)), (2, 3))
    (True, False)

    Source: CuTe `weakly_congruent`.
    """
    return _refines(as_shape(a), as_shape(b), lambda n, m: True, "")


@Predicate
def compatible(a: IntTupleLike | AnyLayout, b: IntTupleLike | AnyLayout) -> Reason | bool | None:
    """Whether every coordinate of shape a is one of shape b: the sizes are equal and b refines a's nesting.

    True, False, or None where sizes are not known.

    >>> from tla import compatible
    >>> compatible(24, (4, 6)), compatible((4, 6), (4, (2, 3))), compatible((4, 6), 24), compatible(23, (4, 6))
    (True, True, False, False)

    Source: CuTe `compatible`.
    """
    return _refines(as_shape(a), as_shape(b), equal, "is not the size of")


@Predicate
def weakly_compatible(a: IntTupleLike | AnyLayout, b: IntTupleLike | AnyLayout) -> Reason | bool | None:
    """Whether b tiles by a: b refines a's nesting, and each integer of a divides the size of b there.

    True, False, or None where sizes are not known.

    >>> from tla import weakly_compatible
    >>> weakly_compatible(4, (4, 6)), weakly_compatible((4, 3), (4, (2, 3))), weakly_compatible(5, (4, 6))
    (True, True, False)

    Source: CuTe `weakly_compatible`.
    """
    return _refines(as_shape(a), as_shape(b), divides, "does not divide the size of")


def _refines(a: IntLike, b: IntLike, holds: Callable[[Any, Any], bool | None], otherwise: str) -> Reason | bool | None:
    """Whether b refines the nesting of a, and holds(n, size of b there) at each integer n of a; if not, why."""
    if not isinstance(a, tuple):
        answer = holds(a, product(b))
        if answer is not False:
            return answer
        return Reason(f"{a} {otherwise} {shown(b)}", "sizes that fit", f"use {product(b)} for {a}")
    if not isinstance(b, tuple) or len(a) != len(b):
        return Reason(
            f"{shown(b)} has not the {len(a)} modes of {shown(a)}", "a nesting that refines the first", "group modes"
        )
    return every(_refines(x, y, holds, otherwise) for x, y in zip(a, b))
