"""Proofs: how small and how large a polynomial can be, from the facts of its symbols.

least(p) gets rid of one atom after the other, the one with the most inside of it first. In p == A*x + B with A >= 0, x may
be replaced by what it never falls below, with A <= 0 by what it never exceeds; these bounds are polynomials themselves
(j <= N - 1), so that what relates two sizes is not lost. Each atom has its bounds from what it means:

    q = x//d, d > 0      d*q <= x,  d*q >= x - d + 1
    min(a, b)            one of them, and at most each;   max alike
    a ^ b, a, b >= 0     0 <= a ^ b <= a + b, and it has no more bits than they

What is found is a bound; where the facts say more than this can see, it is None or not the best one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .poly import ONE, Atom, Poly, Symbol, exact, number, one_of, split

#: Of more atoms than this, only the bounds of each term are looked at: proofs may take 2**atoms steps.
MAX_ATOMS = 12

Interval = tuple[int | None, int | None]


def least(p: Poly) -> int | None:
    """An integer that p never falls below, the largest that is found."""
    if p.least is ...:
        p.least = _least(p)
    return p.least  # type: ignore[no-any-return]


def greatest(p: Poly) -> int | None:
    """An integer that p never exceeds, the smallest that is found."""
    low = least(-p)
    return None if low is None else -low


def is_positive(p: Poly) -> bool:
    """Whether p >= 1 is proved."""
    low = least(p)
    return low is not None and low >= 1


def _least(p: Poly) -> int | None:
    if p.const is not None:
        return p.const
    atoms = p.atoms()
    x = atoms[-1]
    a, b = split(p, x)
    sign = _sign(a) if len(atoms) <= MAX_ATOMS else 0
    if not sign:
        return _by_terms(p)
    return max((low for low in _bounds(x, a, b, sign) if low is not None), default=None)


def _sign(p: Poly) -> int:
    """1 for p >= 0, -1 for p <= 0, 0 where neither is proved."""
    low = least(p)
    if low is not None and low >= 0:
        return 1
    high = greatest(p)
    return -1 if high is not None and high <= 0 else 0


def _bounds(x: Atom, a: Poly, b: Poly, sign: int) -> Iterator[int | None]:
    """Bounds of a*x + b from below, with a of that sign."""
    if isinstance(x, Symbol):
        yield from (least(a * bound + b) for bound in (x.lowers if sign > 0 else x.uppers))
    elif x.kind == "//":
        yield from _of_floor(x, a, b, sign)
    elif x.kind == "^":
        low, high = _of_xor(x)
        yield from (least(a * bound + b) for bound in (low if sign > 0 else high))
    else:
        each = [least(a * y + b) for y in x.args]
        if (x.kind == "max") == (sign > 0):  # at least, or at most, each of them
            yield from each
        else:  # it is one of them
            yield None if None in each else min(low for low in each if low is not None)


def _of_floor(x: Atom, a: Poly, b: Poly, sign: int) -> Iterator[int | None]:
    num, den = x.args
    near = num - den + ONE if sign > 0 else num  # den * x is at least, or at most, this
    d = den.const
    if d is not None:
        scale = d // math.gcd(d, *a.terms.values())
        low = least(exact(a.scale(scale), den) * near + b.scale(scale))
        yield None if low is None else -(-low // scale)
    elif (times := exact(a, den)) is not None:
        yield least(times * near + b)
    else:  # den * p > -den is p > -1
        low = least(a * near + b * den + den - ONE)
        yield 0 if low is not None and low >= 0 else None
    bound = least(num) if sign > 0 else greatest(num)
    if bound is not None:
        if d is None and (bound >= 0) == (sign > 0):  # the divisor may be as large as it likes
            end = 0 if sign > 0 else -1
        else:
            end = bound // (d or max(least(den) or 1, 1))
        yield least(a.scale(end) + b)


def _of_xor(x: Atom) -> tuple[list[Poly], list[Poly]]:
    lows, highs = [least(y) for y in x.args], [greatest(y) for y in x.args]
    if any(low is None or low < 0 for low in lows):
        return [], []
    total = x.args[0]
    for y in x.args[1:]:
        total = total + y
    if None in highs:
        return [number(0)], [total]
    bits = max(high.bit_length() for high in highs if high is not None)
    return [number(0)], [number(2**bits - 1), total]


def _by_terms(p: Poly) -> int | None:
    """The sum of the smallest that each term can be."""
    total = 0
    for m, c in p:
        ends: Interval = (1, 1)
        for x in m:
            ends = _product(ends, (least(one_of(x)), greatest(one_of(x))))
        end = ends[c < 0]
        if end is None:
            return None
        total += c * end
    return total


def _product(a: Interval, b: Interval) -> Interval:
    """The interval of products; None is an end that is not known, or infinite."""
    if None not in (*a, *b):
        ends = [x * y for x in a for y in b if x is not None and y is not None]
        return min(ends), max(ends)
    if a[0] is not None and b[0] is not None and min(a[0], b[0]) >= 0:
        return a[0] * b[0], None
    return None, None
