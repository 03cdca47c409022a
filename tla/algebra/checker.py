"""A checker of certificates: plain data in, True or a reason out. It imports nothing of tla.

It is `check` of tests/proofs/Certificate.v in Python: what that accepts is proved to be true in Coq, and a test
compares the two. A layout is a list of modes (extent, stride), first mode fastest. A piece (n, x, t) is n steps of x in
the domain of a layout, and of t in its values. What each kind claims stands in docs/proofs.md.

    python tla/algebra/checker.py FILE.json      # json.dumps(composition.certificate(a, b))
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Modes = Sequence[Sequence[int]]
Pieces = Sequence[Sequence[int]]
Cut = Sequence[Pieces]


class Refused(Exception):
    """The reason for which a certificate is not accepted."""


def need(truth: bool, why: str) -> None:
    if not truth:
        raise Refused(why)


def size(modes: Modes) -> int:
    """The number of coordinates."""
    out = 1
    for n, _d in modes:
        out *= n
    return out


def at(modes: Modes, x: int) -> int:
    """The offset of an index: the last mode is not reduced."""
    total = 0
    for n, d in modes[:-1]:
        total += x % n * d
        x //= n
    return total + (x * modes[-1][1] if modes else 0)


def offset(modes: Modes, coordinate: Sequence[int]) -> int:
    """The offset of a coordinate, one digit for each mode."""
    return sum(k * d for (_n, d), k in zip(modes, coordinate))


def coalesce(modes: Modes, everywhere: bool = False) -> list[list[int]]:
    """The modes coalesced on the domain; of nothing but extents of 1 the first stays. Coalesced as a function of every
    integer, the last one stays too, where it is not what goes on past the one before."""
    out = [[*m] for m in modes[:1]]
    for k, (n, d) in enumerate(modes[1:], 2):
        if d == out[-1][0] * out[-1][1]:
            out[-1][0] *= n
        elif n == 1 and not (everywhere and k == len(modes)):
            continue
        elif out[-1][0] == 1:
            out[-1] = [n, d]
        else:
            out.append([n, d])
    return out


def bounds(modes: Modes) -> list[int]:
    """The places at whose multiples the step of the layout changes."""
    return [*itertools.accumulate((n for n, _d in modes[:-1]), int.__mul__)]


# --------------------------------------------------------------------------------------------------- rules


def all_positive(modes: Modes) -> None:
    need(all(n > 0 for n, _d in modes), "an extent is not positive")


def cuts(s: int, d: int, pieces: Pieces) -> None:
    """The mode (s, d) is cut into pieces: places follow one another, and extents multiply to s."""
    for n, x, _t in pieces:
        need(n > 0 and x == d and s % n == 0, f"the piece of {n} steps of {x} does not go on in the mode {s}:{d}")
        s, d = s // n, d * n
    need(s == 1, f"{s} steps of {d} are in no piece")


def linear(by_bounds: bool, a: Modes, pieces: Pieces) -> None:
    """A is linear over the pieces: the value of a sum of steps is the sum of their values."""
    all_positive(a)
    if by_bounds:
        for n, x, t in pieces:
            need(n <= 1 or at(a, x) == t, f"a step of {x} goes to {at(a, x)}, and not to {t}")
        for p in bounds(coalesce(a, everywhere=True)):
            reach = sum((n - 1) * (x % p) for n, x, _t in pieces)
            need(reach < p, f"the pieces reach {reach}, past the bound {p}")
        return
    for coordinate in itertools.product(*[range(n) for n, _x, _t in pieces]):
        place = sum(k * x for k, (_n, x, _t) in zip(coordinate, pieces))
        value = sum(k * t for k, (_n, _x, t) in zip(coordinate, pieces))
        need(at(a, place) == value, f"at {coordinate}: {at(a, place)}, and not {value}")


def composed(by_bounds: bool, a: Modes, b: Modes, cut: Cut) -> None:
    """The pieces of each mode of b are the composition of a and b."""
    need(len(b) == len(cut), f"{len(cut)} lists of pieces for {len(b)} modes")
    for (s, d), pieces in zip(b, cut):
        cuts(s, d, pieces)
    linear(by_bounds, a, [piece for pieces in cut for piece in pieces])


def is_layout(f: Callable[[int], int], s: int) -> bool:
    """Whether the values f(0), ..., f(s - 1) are those of a layout: its modes are the runs of equal steps."""
    modes: list[list[int]] = []
    left, d = s, 1
    while left > 1:
        n = next((n for n in range(2, left) if f(n * d) != n * f(d)), left)
        if left % n:
            return False
        modes.append([n, f(d)])
        left, d = left // n, d * n
    return all(at(modes, i) == f(i) for i in range(s))


def contiguous(modes: Modes) -> int:
    """Each mode begins where those before it end; the end of the last."""
    reach = 1
    for n, d in modes:
        need(n > 0 and d == reach, f"the mode {n}:{d} does not begin at {reach}")
        reach = n * d
    return reach


def complementary(a: Modes, r: Modes, woven: Modes, covered: int) -> None:
    """The modes of both, woven in the order of their strides, each begin past the reach of those before."""
    rest = [[*m] for m in (*a, *r) if m[0] != 1]
    for m in woven:
        need([*m] in rest, f"the mode {m[0]}:{m[1]} is of neither layout")
        rest.remove([*m])
    need(not rest, "some modes are not woven")
    reach = 1
    for n, d in woven:
        need(n > 0 and reach <= d, f"the mode {n}:{d} begins below {reach}")
        reach = n * d
    if covered > 0:
        need(contiguous(woven) >= covered, f"offsets up to {covered} are not covered")


def straight(a: Modes, cut: Cut) -> None:
    """The values of each mode's pieces are those of one mode, whose stride is the mode's place in the domain."""
    place = 1
    for (s, _d), pieces in zip(a, cut):
        p = place
        for n, _x, t in pieces:
            need(t == p, f"a step of value {t}, and not {p}")
            p *= n
        place *= s


# -------------------------------------------------------------------------------------------- certificates


def coalesced(a: Modes, r: Modes) -> None:
    all_positive(a)
    if size(a) == 1:
        all_positive(r)
        need(size(r) == 1, "the result has more than the one place")
    else:
        need(coalesce(a) == [[*m] for m in r], "the result is not the layout coalesced")


def composition(by_bounds: bool, a: Modes, b: Modes, cut: Cut) -> None:
    all_positive(b)
    composed(by_bounds, a, b, cut)


def no_composition(a: Modes, b: Modes, coordinate: Sequence[int]) -> None:
    all_positive([*a, *b])
    need(
        len(b) == len(coordinate) and all(0 <= k < n for (n, _d), k in zip(b, coordinate)),
        "the coordinate is not one of b",
    )
    together, apart = at(a, offset(b, coordinate)), sum(at(a, k * d) for (_n, d), k in zip(b, coordinate))
    need(together != apart, f"at {tuple(coordinate)} the modes of b add up, to {together}")


def no_mode(a: Modes, b: Modes, mode: int) -> None:
    all_positive([*a, *b])
    need(0 <= mode < len(b), f"b has no mode {mode}")
    s, d = b[mode]
    need(not is_layout(lambda i: at(a, i * d), s), f"the values along {s}:{d} are those of a layout")


def right_inverse(by_bounds: bool, a: Modes, pieces: Pieces) -> None:
    all_positive(a)
    contiguous([(n, t) for n, _x, t in pieces])
    linear(by_bounds, a, pieces)


def left_inverse(by_bounds: bool, a: Modes, r: Modes, cut: Cut) -> None:
    all_positive(a)
    composed(by_bounds, r, a, cut)
    straight(a, cut)


def logical_divide(by_bounds: bool, a: Modes, b: Modes, r: Modes, woven: Modes, covered: int, cut: Cut) -> None:
    all_positive([*b, *r])
    complementary(b, r, woven, covered)
    composed(by_bounds, a, [*b, *r], cut)


def logical_product(by_bounds: bool, a: Modes, b: Modes, r: Modes, woven: Modes, cut: Cut) -> None:
    all_positive(b)
    complementary(a, r, woven, 0)
    composed(by_bounds, r, b, cut)


#: What each kind of certificate has, and its rule.
KINDS: dict[str, Callable[..., None]] = {
    "coalesce": coalesced,
    "composition": composition,
    "no composition": no_composition,
    "no mode": no_mode,
    "complement": complementary,
    "right_inverse": right_inverse,
    "left_inverse": left_inverse,
    "logical_divide": logical_divide,
    "logical_product": logical_product,
}


def check(certificate: dict[str, Any]) -> str | None:
    """None for a certificate that is accepted, or why it is not.

    certificate   "of", one of KINDS, and the arguments of its rule by name
    """
    given = dict(certificate)
    try:
        KINDS[given.pop("of")](**given)
    except Refused as error:
        return str(error)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        return f"this is not a certificate: {error}"
    return None


if __name__ == "__main__":
    why = check(json.loads(Path(sys.argv[1]).read_text()))
    print(why or "accepted")
    sys.exit(why is not None)
