"""Divisions by powers of two as shifts and masks, for targets that have bits.

In two's complement a shift to the right rounds down, and a mask takes a remainder that is not negative, as // and % do
here: negative numbers included. A rule is data: its name is its equation; `apply` gives the tree, or None where it does
not apply; the tests try `check` on small integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...symbolic.tree import Tree, number, operation, product, total


class BitRule(NamedTuple):
    """An equation of integers x and powers of two, left == right."""

    name: str
    apply: Callable[[Tree], Tree | None]
    check: tuple[Callable[..., int], Callable[..., int], Callable[..., bool]]


def with_bits(t: Tree, rules: Sequence[BitRule]) -> Tree:
    """The tree with shifts and masks, as far as the rules go: `>>` by a number, `&` with a number."""
    if t.op in "nv" or not rules:
        return t
    t = t._replace(args=tuple(with_bits(a, rules) for a in t.args))
    return next((found for rule in rules if (found := rule.apply(t)) is not None), t)


def power_of_two(t: Tree) -> int | None:
    """k where the tree is the number 2**k, k > 0."""
    n = t.args[0] if t.op == "n" else 0
    return n.bit_length() - 1 if n > 1 and n & (n - 1) == 0 else None


def _shift(x: Tree, k: int) -> Tree:
    if x.op == ">>":
        x, k = x.args[0], k + x.args[1].args[0]
    return operation(">>", x, number(k)) if k else x


def _mask(x: Tree, mask: int) -> Tree:
    return operation("&", x, number(mask))


def _divided(t: Tree) -> Tree | None:
    k = power_of_two(t.args[1]) if t.op == "//" else None
    return None if k is None else _shift(t.args[0], k)


def _rest(t: Tree) -> Tree | None:
    k = power_of_two(t.args[1]) if t.op == "%" else None
    return None if k is None else _mask(t.args[0], (1 << k) - 1)


def _raised(t: Tree) -> Tree | None:
    """A mask of a shift that is multiplied again: no more than one of the two is left."""
    k, low = _factor(t)
    if low is None or low.op != "&" or low.args[0].op != ">>":
        return None
    shifted, m = low.args[0], low.args[1].args[0]
    x, down = shifted.args[0], shifted.args[1].args[0]
    return _mask(_shift(x, down - k), m << k) if down >= k else product(1 << k - down, [_mask(x, m << down)])


def _cleared(t: Tree) -> Tree | None:
    """A shift that is undone."""
    k, x = _factor(t)
    return _mask(x.args[0], -1 << k) if x is not None and x.op == ">>" and x.args[1].args[0] == k else None


def _factor(t: Tree) -> tuple[int, Tree | None]:
    """k and x of x * 2**k; None for x of any other tree."""
    k = power_of_two(t.args[1]) if t.op == "*" and len(t.args) == 2 else None
    return (0, None) if k is None else (k, t.args[0])


def _rounded(t: Tree) -> Tree | None:
    """x - (x & 2**k - 1) in a sum."""
    if t.op != "+":
        return None
    for minus in t.args:
        low = minus.args[0] if minus.op == "-" else None
        if low is None or low.op != "&" or (mask := low.args[1].args[0]) & (mask + 1):
            continue
        rest = [u for u in t.args if u is not minus]
        x = low.args[0]
        for part in x.args if x.op == "+" else (x,):
            if part not in rest:
                break
            rest.remove(part)
        else:
            return total([_mask(x, ~mask), *rest])
    return None


#: Those that need no negative mask, so that integers without a sign have them.
UNSIGNED = (
    BitRule("x//2**k -> x >> k", _divided, (lambda x, k: x // 2**k, lambda x, k: x >> k, lambda x, k: k > 0)),
    BitRule("x%2**k -> x & 2**k - 1", _rest, (lambda x, k: x % 2**k, lambda x, k: x & 2**k - 1, lambda x, k: k > 0)),
    BitRule(
        "((x >> a) & m)*2**k -> (x >> a - k) & m << k, a >= k; (x & m << a)*2**(k - a), a < k",
        _raised,
        (
            lambda x, a, m, k: ((x >> a) & m) * 2**k,
            lambda x, a, m, k: (x >> a - k) & m << k if a >= k else (x & m << a) * 2 ** (k - a),
            lambda x, a, m, k: True,
        ),
    ),
)
RULES = (
    *UNSIGNED,
    BitRule(
        "(x >> k)*2**k -> x & -2**k",
        _cleared,
        (lambda x, k: (x >> k) * 2**k, lambda x, k: x & -(2**k), lambda x, k: k > 0),
    ),
    BitRule(
        "x - (x & 2**k - 1) -> x & -2**k",
        _rounded,
        (lambda x, k: x - (x & 2**k - 1), lambda x, k: x & -(2**k), lambda x, k: k > 0),
    ),
)
