"""The rules of the normal form: how floor division, xor, min and max become something simpler, or an atom.

A rule is data: its name is its equation, with its condition; `apply` gives the simpler polynomial, or None where it
does not apply; `check` states the equation on plain integers, and the tests try it on all small ones. Each is used
wherever its condition is proved, and the first that applies wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..core.cache import LIMIT, memory
from .poly import ONE, ZERO, Atom, Mono, Poly, atom, exact, leading, number, one_of, poly, split, without
from .proofs import MAX_SIZE, greatest, is_positive, least

#: So many parts of a divisor are tried, the largest first.
MOST_PARTS = 4


class Rule(NamedTuple):
    """An equation of integers, left == right where `when` holds."""

    name: str
    apply: Callable[..., Any]
    check: tuple[Callable[..., int], Callable[..., int], Callable[..., bool]]


Results = dict[tuple[str, tuple[Poly, ...]], tuple[Poly, str]]
_RESULTS: Results = memory()
_ACTIVE: ContextVar[Results] = ContextVar("results", default=_RESULTS)
_WORKING: ContextVar[frozenset[tuple[str, tuple[Poly, ...]]]] = ContextVar("working", default=frozenset())


def node(kind: str, *args: Poly) -> Poly:
    """The polynomial of a node: what a rule gives, or an atom."""
    results = _ACTIVE.get()
    found = results.get((kind, args))
    if found is None:
        if len(results) >= LIMIT:
            results.clear()
        working = _WORKING.get()
        if (kind, args) in working:  # rules that lead back to where they began say nothing more
            return one_of(atom(kind, *args))
        token = _WORKING.set(working | {(kind, args)})
        try:
            found = _simplified(kind, args)
        finally:
            _WORKING.reset(token)
        results[kind, args] = found
    return found[0]


def _simplified(kind: str, args: tuple[Poly, ...]) -> tuple[Poly, str]:
    """The result of the first rule that applies, and its name; else an atom."""
    for rule in RULES[kind]:
        p = rule.apply(*args)
        if p is not None:
            return p, rule.name
    return one_of(atom(kind, *args)), ""


@contextmanager
def traced() -> Iterator[Results]:
    """A record of the nodes that are simplified inside: each with its polynomial and the name of the rule that gave it,
    "" for an atom."""
    results: Results = {}
    token = _ACTIVE.set(results)
    try:
        yield results
    finally:
        _ACTIVE.reset(token)


def floor_div(x: Poly, d: Poly) -> Poly:
    """x // d, for d > 0."""
    return node("//", x, d)


def modulo(x: Poly, d: Poly) -> Poly:
    """x % d, for d > 0."""
    return x - d * floor_div(x, d)


# ------------------------------------------------------------------------------------------------ floor division


def _by_one(x: Poly, d: Poly) -> Poly | None:
    if d == ONE or not x.terms:
        return x
    return number(x.const // d.const) if x.const is not None and d.const else None


def _multiples(x: Poly, d: Poly) -> Poly | None:
    """Take whole multiples of d out of x, so that what is left is as small as can be."""
    if len(d.terms) > 1:
        return _long_division(x, d)
    ((n, c),) = d.terms.items()
    digits, others = _digits(x, d)
    whole = ZERO
    for value, k in digits:
        part = exact(value, Poly({n: 1}))
        if part is not None and abs(k) >= c:
            whole = whole + part.scale((2 * k + c - 1) // (2 * c))  # the nearest multiple
    found = []
    for m, k in others.terms.items():
        left = without(m, n)
        if left is not None and (abs(k) >= c or not m):
            # a number stays within 0 and d, so that each sum has one form
            often = (2 * k + c - 1) // (2 * c) if m else k // c
            if often:
                found.append((left, often))
    whole = poly(found, whole.terms)
    if not whole.terms:
        return None
    rest = x - d * whole
    smaller = _norm(rest) < _norm(x) or rest.terms.keys() - {()} == x.terms.keys() - {()}
    return whole + floor_div(rest, d) if smaller else None


def _norm(x: Poly) -> int:
    return sum([abs(c) for m, c in x.terms.items() if m])


def _digits(x: Poly, d: Poly) -> tuple[list[tuple[Poly, int]], Poly]:
    """Digits in x, values y - e*(y//e) but for a number, each with how often it is in x, and the rest of x.

    A digit that d does not cut stays whole: its bounds are known, and it is shown as y%e.
    """
    out, rest = [], x
    for a in reversed(x.atoms):
        for y, e in _divided(a, x) if a.kind == "//" else ():
            if not y.terms:  # 0 has no digits
                continue
            lead, c = leading(y)
            most = int(rest.terms.get(lead, 0) / c) if lead else 0
            times = sorted((0, most, _least_multiple(split(rest, a)[0], e)))[1]
            if not times or exact(e.scale(times), d) is not None:
                continue
            digit = Poly({m: k for m, k in y.terms.items() if m}) - e * one_of(a)
            less = rest - digit.scale(times)
            if _norm(less) < _norm(rest):
                out.append((digit, times))
                rest = less
                break
    return out, rest


def _divided(a: Atom, x: Poly) -> Iterator[tuple[Poly, Poly]]:
    """The pairs (y, e) with a == y//e: its own, and those with y a division in x."""
    num, den = a.args
    yield num, den
    for f in x.atoms:
        if f.kind == "//" and f is not a:
            e, rest = exact(den, f.args[1]), exact(num - f.args[0], f.args[1])
            if e is not None and rest is not None:
                yield one_of(f) + rest, e


def _least_multiple(held: Poly, e: Poly) -> int:
    """The number k that makes held + k*e smallest."""
    if (n := held.const) is not None and (c := e.const):
        return (c - 2 * n) // (2 * c)
    times = exact(-held, e)
    return (times.const if times is not None else None) or 0


def _long_division(x: Poly, d: Poly) -> Poly | None:
    """Polynomial division by a sum, where it leaves less."""
    lead, c = leading(d)
    whole, rest = ZERO, x
    for _ in range(len(x.terms)):
        step = next(((left, k // c) for m, k in rest if (left := without(m, lead)) is not None and k % c == 0), None)
        if step is None:
            break
        whole, rest = whole + Poly(dict([step])), rest - Poly(dict([step])) * d
    return whole + floor_div(rest, d) if whole.terms and len(rest.terms) < len(x.terms) else None


def _between(x: Poly, d: Poly) -> Poly | None:
    """A number, where x stays between two multiples of d."""
    low = least(x)
    if c := d.const:
        high = greatest(x) if low is not None else None
        return None if low is None or high is None or low // c != high // c else number(low // c)
    if low is not None and low >= 0:
        return ZERO if is_positive(d - x) else None
    high = greatest(x)
    return number(-1) if high is not None and high < 0 and (reach := least(x + d)) is not None and reach >= 0 else None


def _common(x: Poly, d: Poly) -> Poly:
    """The largest monomial, with a positive number, that divides every term of both."""
    c = math.gcd(*d.terms.values(), *x.terms.values())
    shared: list[Atom] = []
    for a in next(iter(d.terms)):
        if all(without(m, (*shared, a)) is not None for p in (x, d) for m in p.terms):
            shared.append(a)
    return Poly({tuple(shared): c})


def _cancel(x: Poly, d: Poly) -> Poly | None:
    g = _common(x, d)
    if g == ONE or not is_positive(g):
        return None
    return floor_div(exact(x, g), exact(d, g))  # type: ignore[arg-type]  # g divides both


def _nested(x: Poly, d: Poly) -> Poly | None:
    """One division instead of two inside of each other."""
    for m, c in x:
        if len(m) == 1 and m[0].kind == "//" and abs(c) == 1:
            y, a = m[0].args
            rest = x - Poly({m: c})
            if m[0] in rest.atoms:  # it would come back: _by_parts takes such sums apart
                continue
            return floor_div((y if c > 0 else a - ONE - y) + a * rest, a * d)
    return None


def _by_parts(x: Poly, d: Poly) -> Poly | None:
    """Divide by a part g of d first, where no new division comes of that."""
    size, mine = x.size, {*x.atoms}
    if size > MAX_SIZE:
        return None
    for g in _parts(x, d):
        (n, c) = next(iter(g.terms.items()))
        over = {m: k for m, k in x.terms.items() if without(m, n) is not None and k % c == 0}
        rest = Poly({m: k for m, k in x.terms.items() if m not in over})
        if not over or not rest.terms or not is_positive(g):
            continue
        first = exact(Poly(over), g) + floor_div(rest, g)  # type: ignore[operator]  # g divides it
        if (first.size < size or rest.const is not None) and mine.issuperset(first.atoms):
            return floor_div(first, exact(d, g))  # type: ignore[arg-type]  # g divides d
    return None


def _parts(x: Poly, d: Poly) -> list[Poly]:
    """The common factors of d with each term of x, the largest first."""
    inside = _common(d, d)
    ((n, c),) = inside.terms.items()
    found: dict[tuple[Mono, int], None] = {}
    for m, k in x:
        shared: Mono = ()
        for a in n:
            if without(m, (*shared, a)) is not None:
                shared = (*shared, a)
        found[shared, math.gcd(k, c)] = None
    out = [Poly({m: k}) for m, k in found if m or k > 1]
    return sorted([g for g in out if g != d], key=lambda g: [(-len(m), -k) for m, k in g])[:MOST_PARTS]


def _flipped(x: Poly, d: Poly) -> Poly | None:
    """Divide the one of x and -x whose first term is positive; of two that are negative, always the same one."""
    if _first(x) > 0:
        return None
    back = d - ONE - x
    return -floor_div(back, d) if _first(back) > 0 or back.key < x.key else None


def _first(x: Poly) -> int:
    return next((c for m, c in x if m), 1)


FLOOR = [
    Rule(
        "x//d -> x, d == 1 or x == 0",
        _by_one,
        (lambda x, d: x // d, lambda x, d: x, lambda x, d: d == 1 or (x == 0 and d > 0)),
    ),
    Rule(
        "(k*d + x)//d -> k + x//d, d > 0",
        _multiples,
        (lambda x, d, k: (k * d + x) // d, lambda x, d, k: k + x // d, lambda x, d, k: d > 0),
    ),
    Rule(
        "x//d -> k, k*d <= x < (k+1)*d",
        _between,
        (lambda x, d, k: x // d, lambda x, d, k: k, lambda x, d, k: d > 0 and k * d <= x < (k + 1) * d),
    ),
    Rule(
        "(g*x)//(g*d) -> x//d, g > 0, d > 0",
        _cancel,
        (lambda x, d, g: (g * x) // (g * d), lambda x, d, g: x // d, lambda x, d, g: g > 0 and d > 0),
    ),
    Rule(
        "(x//a + y)//d -> (x + a*y)//(a*d), a > 0, d > 0",
        _nested,
        (
            lambda x, a, y, d: (x // a + y) // d,
            lambda x, a, y, d: (x + a * y) // (a * d),
            lambda x, a, y, d: a > 0 and d > 0,
        ),
    ),
    Rule(
        "(g*x + y)//(g*d) -> (x + y//g)//d, g > 0, d > 0",
        _by_parts,
        (
            lambda x, g, y, d: (g * x + y) // (g * d),
            lambda x, g, y, d: (x + y // g) // d,
            lambda x, g, y, d: g > 0 and d > 0,
        ),
    ),
    Rule(
        "(-x)//d -> -((x + d - 1)//d), d > 0",
        _flipped,
        (lambda x, d: (-x) // d, lambda x, d: -((x + d - 1) // d), lambda x, d: d > 0),
    ),
]


# ------------------------------------------------------------------------------------------------ xor, min, max


def _flat_xor(*args: Poly) -> Poly | None:
    """Each argument once, those that come twice cancelled, the numbers in one."""
    found: dict[Poly, None] = {}
    constant = 0
    for y in _flattened("^", args):
        if y.const is not None:
            constant ^= y.const
        elif y in found:
            del found[y]
        else:
            found[y] = None
    out = _in_order(found) + ([number(constant)] if constant else [])
    if len(out) < 2:
        return out[0] if out else ZERO
    return None if tuple(out) == args else node("^", *out)


def _flattened(kind: str, args: tuple[Poly, ...]) -> list[Poly]:
    out: list[Poly] = []
    for y in args:
        a = y.atoms[0] if len(y.terms) == 1 and y.const is None else None
        out += a.args if a is not None and a.kind == kind and y == one_of(a) else (y,)
    return out


def _in_order(found: Iterable[Poly]) -> list[Poly]:
    return sorted(found, key=lambda y: (y.level, y.key))


def _high_bits(*args: Poly) -> Poly | None:
    """Bits of one argument above all bits of the others are not changed by these."""
    for x in args:
        others = [y for y in args if y is not x]
        highs = [greatest(y) for y in others]
        if any((low := least(y)) is None or low < 0 for y in others) or None in highs:
            continue
        power = number(1 << max(high.bit_length() for high in highs if high is not None))
        above = floor_div(x, power)
        low_bits = x - power * above
        if above.terms and (above.size < x.size or all(y.const is not None for y in (low_bits, *others))):
            return power * above + node("^", low_bits, *others)
    return None


def _low_bits(*args: Poly) -> Poly | None:
    """Bits of one argument below all bits of the others are not changed by these."""
    for x in args:
        others = [y for y in args if y is not x]
        shared = math.gcd(*(c for y in others for c in y.terms.values()))
        power = number(shared & -shared)
        below = x - power * floor_div(x, power)
        if below.size <= x.size and power != ONE:
            parts = [exact(y, power) for y in (x - below, *others)]
            return below + power * node("^", *parts)  # type: ignore[arg-type]  # power divides them
    return None


def _extreme(kind: str) -> Callable[..., Poly | None]:
    """min or max without the arguments that another is never above, or below."""

    def apply(*args: Poly) -> Poly | None:
        kept: list[Poly] = []
        for y in _in_order(dict.fromkeys(_flattened(kind, args))):
            if not any(_decides(kind, z, y) for z in kept):
                kept = [z for z in kept if not _decides(kind, y, z)] + [y]
        if len(kept) == 1:
            return kept[0]
        return None if tuple(kept) == args else node(kind, *kept)

    return apply


def _decides(kind: str, a: Poly, b: Poly) -> bool:
    """Whether a <= b for min, a >= b for max."""
    low = least(b - a if kind == "min" else a - b)
    return low is not None and low >= 0


def _bits(*xs: int) -> bool:
    return all(0 <= x < 8 for x in xs)


XOR = [
    Rule("x ^ y ^ x -> y", _flat_xor, (lambda x, y: x ^ y ^ x, lambda x, y: y, lambda x, y: True)),
    Rule(
        "(2^k*x + y) ^ z -> 2^k*x + (y ^ z), 0 <= y, z < 2^k",
        _high_bits,
        (lambda x, y, z: (8 * x + y) ^ z, lambda x, y, z: 8 * x + (y ^ z), lambda x, y, z: _bits(y, z)),
    ),
    Rule(
        "(2^k*x + y) ^ (2^k*z) -> 2^k*(x ^ z) + y, 0 <= y < 2^k",
        _low_bits,
        (lambda x, y, z: (8 * x + y) ^ (8 * z), lambda x, y, z: 8 * (x ^ z) + y, lambda x, y, z: _bits(y)),
    ),
]
MIN = [Rule("min(x, y) -> x, x <= y", _extreme("min"), (lambda x, y: min(x, y), lambda x, y: x, lambda x, y: x <= y))]
MAX = [Rule("max(x, y) -> x, y <= x", _extreme("max"), (lambda x, y: max(x, y), lambda x, y: x, lambda x, y: y <= x))]

#: The rules of each kind of node. The first that applies is used.
RULES = {"//": FLOOR, "^": XOR, "min": MIN, "max": MAX}
