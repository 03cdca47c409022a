"""Arithmetic on IntTuples: mode by mode where there are modes, over all their integers where that is asked.

Source: CuTe include/cute/int_tuple.hpp and numeric/math.hpp; TLA include/tla/int_tuple.hpp.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from . import leaf_arithmetic
from .arrays import computed
from .basis import ArithmeticTuple, Basis, with_zeros
from .coord import as_coord
from .errors import DivisibilityError, RangeError, RankError
from .int_tuple import IntTuple, as_int_tuple, leaves, product, shown
from .ints import Int, IntLike, IntTree, IntTupleLike, Leaf, is_leaf, leaf, static
from .kinds import by_kind
from .leaf_arithmetic import add, mul
from .profiles import require_congruent
from .questions import at_most, equal, every, require


def ceil_div(a: IntTupleLike, b: IntTupleLike) -> IntTree:
    """a / b rounded up, on tuples mode by mode; see tla.ceil_div, which takes layouts too."""
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
        what = f"shape_div: {len(b)} modes of {shown(b)} for {shown(a)}"
        raise RankError(what, f"{len(a)}, or one integer", "give one for each mode")
    return _divide(shape_div, leaf_arithmetic.shape_div, a, b)


def _divide(
    divide: Callable[[Any, Any], Any], divide_ints: Callable[[Any, Any], Any], a: IntTree, b: IntTree
) -> IntTree:
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
        what = f"{name}: {len(b)} modes of {shown(b)} for {shown(a)}"
        raise RankError(what, f"at most {len(a)}", f"drop the last {len(b) - len(a)}")
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
    return leaf_arithmetic.fold("signum", lambda n, _n: (n > 0) - (n < 0), x := leaf(x), x)


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
        what = f"safe_div({x}, {d}): there is a remainder"
        raise DivisibilityError(what, f"{d} divides {x}", f"use ceil_div({x}, {d}), or pad to round_up({x}, {d})")
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
    """Each integer of a times the product of the integers that b has at the same place.

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

    True, False, or None where that is not known. A tuple with more modes than its counterpart is not less; one with
    fewer has its own compared.

    >>> from tla import elem_less
    >>> elem_less((1, (2, 3)), (2, (3, 4))), elem_less((1, 3), (4, 3)), elem_less((1, 1), (4,))
    (True, False, False)

    Coordinates that are arrays are compared element by element: the predicate of a whole tile. Of a tensor of
    coordinates it is the tensor of these conditions.

    Raises RankError where an integer meets a tuple. Source: CuTe `elem_less`.
    """
    return _elementwise(
        "elem_less",
        lambda x, y: at_most(add(x, static(1)), y) if is_leaf(x) and is_leaf(y) else computed(operator.lt, x, y),
        as_coord(a),
        as_coord(b),
    )


def _elementwise(name: str, holds: Callable[[Any, Any], Any], a: IntTree, b: IntTree) -> Any:
    """Whether holds(x, y) for every x of a and its counterpart y in b: True, False or None; of arrays,
    element by element."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise RankError(
            f"{name}: {shown(a)} and {shown(b)}", "integers in the same places", "give each integer its counterpart"
        )
    if not isinstance(a, tuple):
        return holds(a, b)
    if len(a) > len(b):
        return False
    answers = [_elementwise(name, holds, x, y) for x, y in zip(a, b)]
    if any(hasattr(x, "dtype") for x in answers):
        return functools.reduce(operator.and_, answers)
    return every(answers)


def _order(name: str, a: IntTree, b: IntTree, end: int) -> tuple[bool | None, bool | None]:
    """Whether a comes before b, and whether b does not come before a, the mode at an end (0 or -1) deciding first."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise RankError(
            f"{name}: {shown(a)} and {shown(b)}", "integers in the same places", "give each integer its counterpart"
        )
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


Comparison: TypeAlias = Callable[[Any, Any], Any]


def _comparison(asks: str, example: str, holds: Comparison) -> Comparison:
    """The comparison that CuTe calls by the first word of its example, which is true."""
    name = example.partition("(")[0]
    holds.__name__ = holds.__qualname__ = name
    holds.__doc__ = f"""Whether {asks}: True, False, or None where that is not known.

    >>> from tla import {name}
    >>> {example}
    True

    Raises RankError where an integer meets a tuple. Source: CuTe `{name}`.
    """
    return holds


def _by_order(name: str, end: int, k: int) -> Comparison:
    """The order of tuples, the mode at an end deciding first. k: 0 for before, 1 for not behind."""
    return lambda a, b: _order(name, *_in_one_nesting(a, b), end)[k]


def _in_one_nesting(a: Any, b: Any) -> tuple[Any, Any]:
    """Bring what is compared to one nesting: a basis element, or an integer 0 beside a coordinate, has zeros where only
    the other has modes."""
    coordinates = isinstance(a, (Basis, ArithmeticTuple)) or isinstance(b, (Basis, ArithmeticTuple))
    if coordinates and not (isinstance(a, tuple) and isinstance(b, tuple)):
        return with_zeros(a, b)
    return as_int_tuple(a), as_int_tuple(b)


def _at_most(x: IntLike, y: IntLike) -> bool | None:
    return at_most(x, y) if is_leaf(x) and is_leaf(y) else computed(operator.le, x, y)


elem_leq = _comparison(
    "every integer of a is at most its counterpart in b",
    "elem_leq((1, 3), (4, 3))",
    lambda a, b: _elementwise("elem_leq", _at_most, as_coord(a), as_coord(b)),
)
elem_gtr = _comparison(
    "every integer of a is greater than its counterpart in b", "elem_gtr((2, 4), (1, 3))", lambda a, b: elem_less(b, a)
)
elem_geq = _comparison(
    "every integer of a is at least its counterpart in b", "elem_geq((2, 3), (1, 3))", lambda a, b: elem_leq(b, a)
)

# by the first mode, then the next; a tuple that another one begins with comes before it
lex_less = _comparison(
    "a comes before b, by their first modes", "lex_less((0, 1), (1, 0))", _by_order("lex_less", 0, 0)
)
lex_leq = _comparison(
    "b does not come before a, by their first modes", "lex_leq((1, 2), (1, 2))", _by_order("lex_leq", 0, 1)
)
lex_gtr = _comparison("a comes after b, by their first modes", "lex_gtr((1, 2), (1, 0))", lambda a, b: lex_less(b, a))
lex_geq = _comparison(
    "a does not come before b, by their first modes", "lex_geq((1, 2), (1, 2))", lambda a, b: lex_leq(b, a)
)

# by the last mode, then the one before: the order of the index
colex_less = _comparison(
    "a comes before b, by their last modes", "colex_less((1, 0), (0, 1))", _by_order("colex_less", -1, 0)
)
colex_leq = _comparison(
    "b does not come before a, by their last modes", "colex_leq((1, 2), (1, 2))", _by_order("colex_leq", -1, 1)
)
colex_gtr = _comparison(
    "a comes after b, by their last modes", "colex_gtr((2, 1), (0, 1))", lambda a, b: colex_less(b, a)
)
colex_geq = _comparison(
    "a does not come before b, by their last modes", "colex_geq((2, 1), (2, 1))", lambda a, b: colex_leq(b, a)
)
