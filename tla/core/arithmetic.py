"""Arithmetic on IntTuples: mode by mode where there are modes, over all their integers where that is asked.

Source: CuTe include/cute/int_tuple.hpp and numeric/math.hpp; TLA include/tla/int_tuple.hpp.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from . import leaf_arithmetic
from .arrays import computed
from .coord import as_coord
from .errors import DivisibilityError, RangeError, RankError
from .int_tuple import IntTuple, as_int_tuple, leaves, product, shown
from .ints import Int, IntLike, IntTree, IntTupleLike, Leaf, is_leaf, leaf, static
from .kinds import by_kind
from .leaf_arithmetic import add, mul
from .profiles import require_congruent
from .questions import at_most, equal, every, require


def ceil_div(a: IntTupleLike, b: IntTupleLike) -> IntTree:
    """a / b rounded up, for b > 0. On tuples mode by mode; an integer b divides the modes of a from the left.

    Raises RangeError where b is not positive, RankError where b has more modes than a.

    >>> from tla.core.arithmetic import ceil_div, Int
    >>> print(ceil_div(100, 16), ceil_div((Int[8](), 10), (Int[3](), 4)), ceil_div((4, 8, 2), 16))
    7 (_3,3) (1,2,2)

    Source: CuTe `ceil_div`; TLA `CeilDiv`.
    """
    return _divide(ceil_div, leaf_arithmetic.ceil_div, as_int_tuple(a), as_int_tuple(b))


def shape_div(a: IntTupleLike, b: IntTupleLike) -> IntTree:
    """The shape a without a tile of b: a / b where b divides a, 1 where a divides b. On tuples as ceil_div does.

    Raises DivisibilityError where neither divides the other, RankError where two tuples differ in length.

    >>> from tla import shape_div, Int
    >>> print(shape_div(12, 4), shape_div(4, 12), shape_div((Int[3](), Int[4]()), Int[6]()))
    3 1 (_1,_2)

    Source: CuTe `shape_div`.
    """
    a, b = as_int_tuple(a), as_int_tuple(b)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) != len(b):
        raise RankError(f"shape_div: {len(b)} modes of {shown(b)} for {shown(a)}", f"{len(a)}, or one integer", "give one for each mode")
    return _divide(shape_div, leaf_arithmetic.shape_div, a, b)


def _divide(divide: Callable[[Any, Any], Any], divide_ints: Callable[[Any, Any], Any], a: IntTree, b: IntTree) -> IntTree:
    if not isinstance(a, tuple):
        return divide_ints(a, product(b))
    if isinstance(b, tuple):
        return IntTuple(*(divide(x, y) for x, y in _paired(divide.__name__, a, b)))
    out = []
    for m in a:  # b is used up from the left: what a mode takes of it no longer divides the modes after it
        out.append(divide(m, b))
        b = divide_ints(b, product(m))
    return IntTuple(*out)


def round_up(a: IntTupleLike, b: IntTupleLike) -> IntTree:
    """The least multiple of b that is at least a, for b > 0; mode by mode on tuples; of an integer, that of each b.

    Raises RangeError where b is not positive, RankError where the profiles differ.

    >>> from tla import round_up, Int
    >>> print(round_up(100, 16), round_up((Int[2](), 9), (Int[2](), 4)), round_up(100, (16, 32)))
    112 (_2,12) (112,128)

    Source: CuTe `round_up`; TLA `RoundUp`, and `round_up` of its branch tla_v2.
    """
    a, b = as_int_tuple(a), as_int_tuple(b)
    if isinstance(b, tuple):
        pairs = _paired("round_up", a, b) if isinstance(a, tuple) else ((a, n) for n in b)
        return IntTuple(*(round_up(x, y) for x, y in pairs))
    require_congruent("round_up", a, b)
    return mul(leaf_arithmetic.ceil_div(a, b), b)


def _paired(name: str, a: tuple[Any, ...], b: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """The modes of a with those of b; where b is shorter the rest is left whole."""
    if len(b) > len(a):
        raise RankError(f"{name}: {len(b)} modes of {shown(b)} for {shown(a)}", f"at most {len(a)}", f"drop the last {len(b) - len(a)}")
    one = Int[1]()
    return zip(a, b + (one,) * (len(a) - len(b)))


def _over_leaves(name: str, decide: Callable[[int, int], int], xs: tuple[Any, ...]) -> Leaf:
    found = [n for x in xs for n in leaves(as_int_tuple(x))]
    if not found:
        raise RankError(f"{name} of no integers", "at least one", "give one, or a tuple that has one")
    return functools.reduce(functools.partial(leaf_arithmetic.fold, name, decide), found)


def gcd(*xs: IntTupleLike) -> Leaf:
    """The greatest common divisor of all integers in the arguments; static if all of them are.

    >>> from tla import gcd, Int
    >>> print(gcd(12, 18), gcd(Int[12](), Int[18]()), gcd((12, (18, 8))))
    6 _6 2

    Source: CuTe `gcd`.
    """
    return _over_leaves("gcd", math.gcd, xs)


def max(*xs: IntTupleLike) -> Leaf:
    """The largest of all integers in the arguments; static if all of them are.

    >>> import tla
    >>> print(tla.max(3, 9), tla.max(tla.Int[3](), tla.Int[9]()), tla.max((3, (7, 1))))
    9 _9 7

    Source: CuTe and TLA `max`.
    """
    return _over_leaves("max", builtins.max, xs)


def min(*xs: IntTupleLike) -> Leaf:
    """The smallest of all integers in the arguments; static if all of them are.

    >>> import tla
    >>> print(tla.min(3, 9), tla.min(tla.Int[3](), tla.Int[9]()), tla.min((3, (7, 1))))
    3 _3 1

    Source: CuTe and TLA `min`.
    """
    return _over_leaves("min", builtins.min, xs)


def lcm(*xs: IntTupleLike) -> Leaf:
    """The least common multiple of all integers in the arguments; static if all of them are.

    >>> from tla import lcm, Int
    >>> print(lcm(4, 6), lcm(Int[4](), Int[6]()))
    12 _12

    Source: CuTe `lcm`.
    """
    return leaf(_over_leaves("lcm", math.lcm, xs))


def sum(x: IntTupleLike) -> Leaf:
    """The sum of all integers of an IntTuple; static if all of them are, _0 for ().

    >>> import tla
    >>> print(tla.sum((2, (3, tla.Int[4]()))), tla.sum(tla.parse("(_2,_5)")))
    9 _7

    Source: CuTe `sum`.
    """
    return functools.reduce(add, leaves(as_int_tuple(x)), Int[0]())


def signum(x: IntTupleLike) -> Leaf:
    """-1, 0 or 1: the sign of an integer; static if it is.

    >>> from tla import signum, Int
    >>> print(signum(-7), signum(Int[0]()), signum(Int[3]()))
    -1 _0 _1

    Source: CuTe `signum`.
    """
    x = leaf(x)
    return leaf_arithmetic.fold("signum", lambda n, zero: (n > zero) - (n < zero), x, Int[0]() if type(x) is Int else 0)


def safe_div(a: IntLike, b: IntLike) -> Leaf:
    """a / b, which has no remainder. DivisibilityError where it has one, RangeError where b is 0.

    >>> from tla import safe_div, Int
    >>> print(safe_div(24, Int[3]()), safe_div(Int[8](), Int[2]()))
    8 _4

    Source: CuTe `safe_div`, which checks static integers only.
    """
    x, d = leaf(a), leaf(b)
    if equal(d, 0):
        raise RangeError(f"safe_div({x}, {d})", "a divisor that is not 0", "leave out what is empty")
    if not require("divides", d, x, lambda: f"safe_div({x}, {d})"):
        raise DivisibilityError(
            f"safe_div({x}, {d}): there is a remainder", f"{d} divides {x}", f"use ceil_div({x}, {d}), or pad to round_up({x}, {d})"
        )
    return x // d


def inner_product(a: IntTupleLike, b: IntTupleLike) -> Leaf:
    """The sum of the products of the integers of two congruent IntTuples: the offset of a coordinate by its strides.

    >>> from tla import inner_product
    >>> print(inner_product((1, (2, 3)), (4, (5, 6))))
    32

    Raises RankError where the profiles differ. Source: CuTe `inner_product`.
    """
    a, b = as_int_tuple(a), as_int_tuple(b)
    require_congruent("inner_product", a, b)
    return functools.reduce(add, builtins.map(mul, leaves(a), leaves(b)), Int[0]())


def elem_scale(a: IntTupleLike, b: IntTupleLike) -> IntTree:
    """Each integer of a times the product of what b has in its place.

    >>> from tla import elem_scale
    >>> print(elem_scale((2, (3, 4)), ((2, 5), (1, 2))))
    (20,(3,8))

    Raises RankError where b is not nested like a, or deeper. Source: CuTe `elem_scale`.
    """
    a, b = as_int_tuple(a), as_int_tuple(b)
    if not isinstance(a, tuple):
        return mul(a, product(b))
    if not isinstance(b, tuple) or len(a) != len(b):
        raise RankError(f"elem_scale: {shown(a)} by {shown(b)}", f"{len(a)} modes", "give one factor for each mode")
    return IntTuple(*builtins.map(elem_scale, a, b))


@by_kind(object)
def elem_less(a: object, b: object) -> Any:
    """Whether every integer of a is less than its counterpart in b: whether a coordinate is inside of a shape.

    True, False, or None where that is not known. A tuple with more modes than its counterpart is not less; one with fewer
    has its own compared.

    >>> from tla import elem_less
    >>> elem_less((1, (2, 3)), (2, (3, 4))), elem_less((1, 3), (4, 3)), elem_less((1, 1), (4,))
    (True, False, False)

    Coordinates that are arrays are compared element by element: the predicate of a whole tile. Of a tensor of coordinates it
    is the tensor of these conditions.

    Raises RankError where an integer meets a tuple. Source: CuTe `elem_less`.
    """
    return _elementwise(
        "elem_less",
        lambda x, y: at_most(add(x, static(1)), y) if is_leaf(x) and is_leaf(y) else computed(operator.lt, x, y),
        as_coord(a),
        as_coord(b),
    )


def elem_leq(a: IntLike, b: IntLike) -> Any:
    """Whether every integer of a is at most its counterpart in b; see elem_less.

    >>> from tla import elem_leq
    >>> elem_leq((1, 3), (4, 3)), elem_leq((1, 4), (4, 3))
    (True, False)

    Source: CuTe `elem_leq`, which is true there wherever b is not less than a in every integer.
    """
    return _elementwise(
        "elem_leq", lambda x, y: at_most(x, y) if is_leaf(x) and is_leaf(y) else computed(operator.le, x, y), as_coord(a), as_coord(b)
    )


def elem_gtr(a: IntLike, b: IntLike) -> Any:
    """Whether every integer of a is greater than its counterpart in b: elem_less(b, a).

    >>> from tla import elem_gtr
    >>> elem_gtr((2, 4), (1, 3))
    True

    Source: CuTe `elem_gtr`.
    """
    return elem_less(b, a)


def elem_geq(a: IntLike, b: IntLike) -> Any:
    """Whether every integer of a is at least its counterpart in b: elem_leq(b, a).

    >>> from tla import elem_geq
    >>> elem_geq((2, 3), (1, 3))
    True

    Source: CuTe `elem_geq`.
    """
    return elem_leq(b, a)


def _elementwise(name: str, holds: Callable[[Any, Any], Any], a: IntTree, b: IntTree) -> Any:
    """Whether holds(x, y) for every x of a and its counterpart y in b: True, False or None; of arrays, element by element."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise RankError(f"{name}: {shown(a)} and {shown(b)}", "integers in the same places", "give each integer its counterpart")
    if not isinstance(a, tuple):
        return holds(a, b)
    if len(a) > len(b):
        return False
    answers = [_elementwise(name, holds, x, y) for x, y in zip(a, b)]
    if any(hasattr(x, "dtype") for x in answers):
        return functools.reduce(operator.and_, answers)
    return every(answers)


def lex_less(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a comes before b, the first mode deciding first: True, False, or None where that is not known.

    >>> from tla import lex_less
    >>> lex_less((0, 1), (1, 0)), lex_less((1, (0, 2)), (1, (0, 2))), lex_less((1,), (1, 0))
    (True, False, True)

    A tuple that the other begins with comes before it. Raises RankError where an integer meets a tuple. Source: CuTe `lex_less`.
    """
    return _order("lex_less", as_int_tuple(a), as_int_tuple(b), 0)[0]


def lex_leq(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether b does not come before a, the first mode deciding first; see lex_less.

    >>> from tla import lex_leq
    >>> lex_leq((1, 2), (1, 2))
    True

    Source: CuTe `lex_leq`.
    """
    return _order("lex_leq", as_int_tuple(a), as_int_tuple(b), 0)[1]


def lex_gtr(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a comes after b, the first mode deciding first: lex_less(b, a).

    >>> from tla import lex_gtr
    >>> lex_gtr((1, 2), (1, 0))
    True

    Source: CuTe `lex_gtr`.
    """
    return lex_less(b, a)


def lex_geq(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a does not come before b, the first mode deciding first: lex_leq(b, a).

    >>> from tla import lex_geq
    >>> lex_geq((1, 2), (1, 2))
    True

    Source: CuTe `lex_geq`.
    """
    return lex_leq(b, a)


def colex_less(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a comes before b, the last mode deciding first: the order of the index. True, False or None; see lex_less.

    >>> from tla import colex_less
    >>> colex_less((0, 1), (1, 0)), colex_less((1, 0), (0, 1))
    (False, True)

    Source: CuTe `colex_less`.
    """
    return _order("colex_less", as_int_tuple(a), as_int_tuple(b), -1)[0]


def colex_leq(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether b does not come before a, the last mode deciding first; see colex_less.

    >>> from tla import colex_leq
    >>> colex_leq((1, 2), (1, 2))
    True

    Source: CuTe `colex_leq`.
    """
    return _order("colex_leq", as_int_tuple(a), as_int_tuple(b), -1)[1]


def colex_gtr(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a comes after b, the last mode deciding first: colex_less(b, a).

    >>> from tla import colex_gtr
    >>> colex_gtr((2, 1), (0, 1))
    True

    Source: CuTe `colex_gtr`.
    """
    return colex_less(b, a)


def colex_geq(a: IntTupleLike, b: IntTupleLike) -> Any:
    """Whether a does not come before b, the last mode deciding first: colex_leq(b, a).

    >>> from tla import colex_geq
    >>> colex_geq((2, 1), (2, 1))
    True

    Source: CuTe `colex_geq`.
    """
    return colex_leq(b, a)


def _order(name: str, a: IntTree, b: IntTree, end: int) -> tuple[bool | None, bool | None]:
    """Whether a comes before b, and whether b does not come before a, the mode at an end (0 or -1) deciding first."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise RankError(f"{name}: {shown(a)} and {shown(b)}", "integers in the same places", "give each integer its counterpart")
    if not isinstance(a, tuple):
        return at_most(add(a, static(1)), b), at_most(a, b)
    if not a or not b:
        return len(a) < len(b), len(a) <= len(b)
    less, leq = _order(name, a[end], b[end], end)
    if less is True or leq is False:
        return less, leq
    others = slice(1, None) if end == 0 else slice(None, -1)
    rest = _order(name, a[others], b[others], end)
    return tuple(leq if r else less if r is False else None for r in rest)  # type: ignore[return-value]  # less, or leq and r
