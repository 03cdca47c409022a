"""Arithmetic on leaves: integers of any kind, and basis elements. What is static stays so, whatever a
dynamic integer holds.

Where an operand may be an array or a tracer, that computes as it is. tla/core/arithmetic.py has the same on IntTuples.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

from .arrays import computed
from .errors import DivisibilityError, Unproven
from .ints import KINDS, Int, IntLike, Leaf, is_constant, is_int, is_leaf, is_no_integer, known, leaf, plain, static
from .questions import divides, equal, require, require_positive


def add(a: IntLike, b: IntLike) -> Leaf:
    """a + b, static if both are.

    >>> print(add(Int[4](), Int[2]()), add(0, Int[4]()))
    _6 4

    Where + follows sum() and takes a plain 0 on the left for its beginning, `add` never looks at a dynamic value: the
    library adds leaves with it, so that static-ness does not depend on what a variable happens to hold. A static 0
    costs nothing.

    Source: TLA `tla::add`.
    """
    if type(b) is Int:
        return static(int.__add__(a, b)) if type(a) is Int else _combined(operator.add, b, a) if b != 0 else _operand(a)
    return _combined(operator.add, a, b) if type(a) is not Int or a != 0 else _operand(b)


def mul(a: Leaf, b: Leaf) -> Leaf:
    """a * b, static if both are or one is _0; like `add`, it never looks at a dynamic value. A static 1 costs nothing.

    >>> print(mul(Int[4](), Int[2]()), mul(1, Int[4]()), mul(3, Int[0]()))
    _8 4 _0
    """
    if type(b) is Int:
        return static(int.__mul__(a, b)) if type(a) is Int else _combined(operator.mul, b, a) if b != 1 else _operand(a)
    return _combined(operator.mul, a, b) if type(a) is not Int or a != 1 else _operand(b)


def _combined(operation: Callable[[Any, Any], Any], a: object, b: object) -> Leaf:
    """operation(a, b) of leaves, or of what else computes."""
    if type(a) is not int:
        a = _operand(a)
    if type(b) is not int:
        b = _operand(b)
    return operation(a, b) if is_leaf(a) and is_leaf(b) else computed(operation, a, b)


def _operand(x: object) -> Any:
    """x, unless it is no integer and nothing that computes like one: a text, a tuple, None. A numpy integer
    as an int."""
    if is_leaf(x):
        return x
    return leaf(x) if isinstance(x, (numbers.Number, tuple, list)) or is_no_integer(x) or x is None else x


def times(x: Leaf, d: Leaf) -> Leaf:
    """x * d, where x may be anything that computes: an array, a tracer. A static 0 or 1 costs nothing."""
    if is_constant(0, d):
        return static(0)
    if is_leaf(x) or is_constant(1, d):
        return mul(x, d)
    if is_leaf(d) and not is_int(d):  # a proxy takes all that stands on its right, a basis element too
        return d * x
    return computed(operator.mul, x, plain(d))


def plus(a: IntLike, b: IntLike) -> Leaf:
    """a + b, where both may be anything that computes. A static 0 costs nothing."""
    if is_constant(0, a) or is_constant(0, b):
        return b if is_constant(0, a) else a
    return add(a, b) if is_leaf(a) and is_leaf(b) else computed(operator.add, plain(a), plain(b))


def ceil_div(a: Leaf, b: Leaf) -> Leaf:
    """a / b rounded up, for b > 0; static if both are. A static 1 costs nothing."""
    if type(a) is type(b) is int and b > 0:
        return -(-a // b)
    require_positive("ceil_div", b)
    over = add(a, b - static(1))
    return over if is_constant(1, b) else over // b


def shape_div(a: Leaf, b: Leaf) -> Leaf:
    """a / b where b divides a; 1, with the sign of the quotient, where a divides b. DivisibilityError otherwise."""
    if equal(b, 0):
        raise DivisibilityError(f"shape_div({a}, 0)", "a divisor of 1 or more", "divide by something other than 0")
    if divides(a, b):
        quotient = b // a
        return quotient // abs(quotient)
    if is_constant(1, b) or require("divides", b, a, lambda: f"shape_div({a}, {b})"):
        return a // b
    raise DivisibilityError(
        f"shape_div: {a} and {b}: neither divides the other",
        f"{a} % {b} == 0 or {b} % {a} == 0",
        f"use {math.gcd(int(a), int(b)) or 1} for {b}"
        if known(a) is not None and known(b) is not None
        else f"use round_up({a}, {b}) for {a}",
    )


def fold(name: str, decide: Callable[[int, int], int], a: object, b: object) -> Leaf:
    """decide(a, b) of two known integers, static if both are: what gcd, max and min share."""
    x, y = known(a), known(b)
    if x is None or y is None:
        for kind in map(KINDS.get, (type(a), type(b))):
            if kind and kind.fold and (found := kind.fold(name, a, b)) is not None:
                return found
        raise Unproven(
            f"{name}({a}, {b}) of integers that are not known", "integers with values", "give them values first"
        )
    return static(decide(x, y)) if type(a) is type(b) is Int else decide(x, y)


def smaller(a: IntLike, b: IntLike) -> Leaf:
    """The smaller of two integers, static if both are."""
    return fold("min", min, a, b)


def larger(a: IntLike, b: IntLike) -> Leaf:
    """The larger of two integers, static if both are."""
    return fold("max", max, a, b)
