"""Certificates made by hand, slowly: right ones of each kind, and damaged ones. It imports nothing of tla."""

import copy
import math

import oracle

#: The kinds, in the order of tests/proofs/main.ml, each with what its lines hold.
ORDER = {
    "coalesce": ("a", "r"),
    "composition": ("by_bounds", "a", "b", "cut"),
    "no composition": ("a", "b", "coordinate"),
    "complement": ("a", "r", "woven", "covered"),
    "right_inverse": ("by_bounds", "a", "pieces"),
    "left_inverse": ("by_bounds", "a", "r", "cut"),
    "logical_divide": ("by_bounds", "a", "b", "r", "woven", "covered", "cut"),
    "logical_product": ("by_bounds", "a", "b", "r", "woven", "cut"),
}


def line(certificate):
    """A certificate as the extracted checker reads it: integers, each list with its length in front."""
    kind = certificate["of"]
    words = [[*ORDER].index(kind)]
    for name in ORDER[kind]:
        words += _written(certificate[name], name)
    return " ".join(map(str, words))


def _written(x, name=""):
    if isinstance(x, (bool, int)):
        return [int(x)]
    fixed = isinstance(x, tuple)  # a mode or a piece
    return [*([] if fixed else [len(x)]), *(word for y in x for word in _written(y))]


def at(modes, x):
    total = 0
    for n, d in modes[:-1]:
        total, x = total + x % n * d, x // n
    return total + (x * modes[-1][1] if modes else 0)


def cut(f, s, d):
    """The runs of f(0), f(d), ..., each a piece (n, x, t); None where one does not divide what is left."""
    out = []
    while s > 1:
        n = next((n for n in range(2, s) if f(n * d) != n * f(d)), s)
        if s % n:
            return None
        out.append((n, d, f(d)))
        s, d = s // n, d * n
    return out


def composed(a, b):
    """The pieces of a o b, and a coordinate where they do not add up; None for the one that is not there."""
    pieces = [cut(lambda x: at(a, x), s, d) for s, d in b]
    for c in oracle.coordinates(tuple(s for s, _d in b)):
        if at(a, sum(k * d for k, (_s, d) in zip(c, b))) != sum(at(a, k * d) for k, (_s, d) in zip(c, b)):
            return None, list(c)
    return (None if None in pieces else pieces), None


def by_bounds(a, pieces):
    """Whether the pieces stay below every bound of a: what the checker asks in one pass."""
    from tla.algebra.checker import bounds, merged

    return all(sum((n - 1) * (x % p) for n, x, _t in pieces) < p for p in bounds(merged(a)))
