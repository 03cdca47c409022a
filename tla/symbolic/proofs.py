"""Proofs: how small and how large a polynomial can be, from the facts of its symbols.

least(p) gets rid of one atom after the other, the one with the most inside of it first. In p == A*x + B with A >= 0, x
may be replaced by what it never falls below, with A <= 0 by what it never exceeds; these bounds are polynomials
themselves (j <= N - 1), so that what relates two sizes is not lost. Each atom has its bounds from what it means:

    q = x//d, d > 0      d*q <= x,  d*q >= x - d + 1;  x//(k*d) = q//k
    min(a, b)            one of them, and at most each;   max alike
    a ^ b, a, b >= 0     0 <= a ^ b <= a + b, and it has no more bits than they

Atoms that no symbol relates to each other, each a number of times, are as small or as large as they can be at once:
there the ends of each are all that there is to say.

What is found is a bound; where the facts say more than this can see, it is None or not the best one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .poly import ONE, Atom, Poly, Symbol, exact, split

#: Past so many nodes, or divisions in one sum, only the ends of each term are looked at: a proof may
#: take 2**divisions steps.
MAX_SIZE, MAX_DIVISIONS = 200, 8

Ends = tuple[int | None, int | None]


def least(p: Poly) -> int | None:
    """An integer that p never falls below, the largest that is found."""
    if p.least is ...:
        const = p.const
        p.least = const if const is not None else _summed(p, 0) if p.is_unrelated else _least(p)
    return p.least  # type: ignore[no-any-return]


def greatest(p: Poly) -> int | None:
    """An integer that p never exceeds, the smallest that is found."""
    if p.greatest is ...:
        const = p.const
        p.greatest = const if const is not None else _summed(p, 1) if p.is_unrelated else _negative(least(-p))
    return p.greatest  # type: ignore[no-any-return]


def _negative(n: int | None) -> int | None:
    return None if n is None else -n


def _summed(p: Poly, side: int) -> int | None:
    """The least value, or for side 1 the greatest, of a sum of atoms that nothing relates to each other."""
    total = 0
    for m, c in p.terms.items():
        end = ends(m[0])[side ^ (c < 0)] if m else 1
        if end is None:
            return None
        total += c * end
    return total


def is_positive(p: Poly) -> bool:
    """Whether p >= 1 is proved."""
    low = least(p)
    return low is not None and low >= 1


def _least(p: Poly) -> int | None:
    atoms = p.atoms
    x = atoms[-1]
    if p.size > MAX_SIZE or sum([bool(y.args) for y in atoms]) > MAX_DIVISIONS:
        return _by_terms(p)
    a, b = split(p, x)
    sign = _sign(a)
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
    """Bounds of a*x + b from below, with a of that sign: by the end of x on its side, and by what relates x
    to the rest."""
    end = ends(x)[sign < 0]
    if end is not None:
        yield least(a.scale(end) + b)
    if isinstance(x, Symbol):
        bounds = x.lowers if sign > 0 else x.uppers
        yield from (least(a * bound + b) for bound in bounds if bound.const is None)
    elif x.scope.isdisjoint(a.scope) and x.scope.isdisjoint(b.scope):
        return
    elif x.kind == "//":
        num, den = x.args
        yield _by_quotient(num, den, a, b, sign)
        yield from _by_other_quotients(x, a, b, sign)
    elif x.kind == "^":
        if sign < 0 and ends(x)[0] == 0:
            yield least(a * _sum(x.args) + b)
    else:
        each = [least(a * y + b) for y in x.args]
        if (x.kind == "max") == (sign > 0):  # at least, or at most, each of them
            yield from each
        else:  # it is one of them
            yield None if None in each else min(low for low in each if low is not None)


def _by_quotient(num: Poly, den: Poly, a: Poly, b: Poly, sign: int) -> int | None:
    """A bound of a*x + b from below for x = num//den, by den*x <= num and den*x >= num - den + 1."""
    near = num - den + ONE if sign > 0 else num
    times = exact(a, den)
    if times is not None:
        return least(times * near + b)
    if den.const:
        scale = den.const // math.gcd(den.const, *a.terms.values())
        low = least(Poly({m: c * scale // den.const for m, c in a.terms.items()}) * near + b.scale(scale))
        return None if low is None else -(-low // scale)
    low = least(a * near + b * den + den - ONE)  # den * p > -den is p > -1
    return 0 if low is not None and low >= 0 else None


def _by_other_quotients(x: Atom, a: Poly, b: Poly, sign: int) -> Iterator[int | None]:
    """Bounds of a*x + b from below by quotients of the same number in b: x is the quotient of the next finer one, and
    the next coarser one is that of x. So t//32 - 2*(t//64) is 0 or 1, where t alone says -31/32 or more."""
    num, den = x.args[0], x.args[1].const
    others = {y.args[1].const: y for y in b.atoms if not isinstance(y, Symbol) and y.kind == "//" and y.args[0] == num}
    finer = [d for d in others if den and d and d < den and den % d == 0]
    coarser = [d for d in others if den and d and d > den and d % den == 0]
    if den and finer:
        d = max(finer)
        yield _by_quotient(Poly({(others[d],): 1}), ONE.scale(den // d), a, b, sign)
    if den and coarser:
        k = min(coarser) // den
        begin = Poly({(others[k * den],): k})
        yield least(a * (begin if sign > 0 else begin + ONE.scale(k - 1)) + b)


# ---------------------------------------------------------------------------------------------------------- ends


def ends(x: Atom) -> Ends:
    """The ends of an atom, each None where none is found."""
    if x.ends is None:
        x.ends = _ends(x)
    return x.ends  # type: ignore[no-any-return]


def _ends(x: Atom) -> Ends:
    """The least and the greatest value of an atom, from those of its parts; None where there is none."""
    if isinstance(x, Symbol):
        lows, highs = [*map(least, x.lowers)], [*map(greatest, x.uppers)]
        return max(_known(lows), default=None), min(_known(highs), default=None)
    lows, highs = [*map(least, x.args)], [*map(greatest, x.args)]
    if x.kind == "//":
        # a divisor is 1 or more; where its own ends say 0, assumed conditions contradict each other
        smallest, largest = max(lows[1] or 1, 1), None if highs[1] is None else max(highs[1], 1)
        return _over(lows[0], smallest, largest, 0), _over(highs[0], largest, smallest, -1)
    if x.kind == "min":
        return None if None in lows else min(_known(lows)), min(_known(highs), default=None)
    if x.kind == "max":
        return max(_known(lows), default=None), None if None in highs else max(_known(highs))
    if None in lows or min(_known(lows)) < 0:
        return None, None
    return 0, None if None in highs else (1 << max(_known(highs)).bit_length()) - 1


def _known(ns: list[int | None]) -> list[int]:
    return [n for n in ns if n is not None]


def _over(n: int | None, if_negative: int | None, if_not: int | None, endless: int) -> int | None:
    """The end n of a numerator divided by the end of a denominator, which its sign decides; `endless` where
    that has none."""
    if n is None:
        return None
    by = if_negative if n < 0 else if_not
    return endless if by is None else n // by


def _by_terms(p: Poly) -> int | None:
    """The sum of the smallest that each term can be."""
    total = 0
    for m, c in p:
        both: Ends = (1, 1)
        for x in m:
            both = ends_of_product(both, ends(x))
        end = both[c < 0]
        if end is None:
            return None
        total += c * end
    return total


def ends_of_product(a: Ends, b: Ends) -> Ends:
    """The bounds of a product of two values with these bounds."""
    if None not in (*a, *b):
        products = [x * y for x in a for y in b if x is not None and y is not None]
        return min(products), max(products)
    if a[0] is not None and b[0] is not None and min(a[0], b[0]) >= 0:
        return a[0] * b[0], None
    return None, None


def _sum(ps: tuple[Poly, ...]) -> Poly:
    total = ps[0]
    for p in ps[1:]:
        total = total + p
    return total
