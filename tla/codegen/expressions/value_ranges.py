"""What is held while a function computes: each value on the way, partial sums and products too, and its ends.

The ends of a value are those of its normal form, or of what it is computed of, whichever are nearer: of a sum of remainders
these say more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...symbolic.poly import Poly
from ...symbolic.proofs import MAX_SIZE, Ends, ends_of_product, greatest, least
from .graph import Node, in_order


class Held(NamedTuple):
    """A value, what it never falls below and what it never exceeds; None where that is not known."""

    poly: Poly
    low: int | None
    high: int | None


def _held(p: Poly, ends: Ends = (None, None)) -> Held:
    if ends != (None, None) and p.size > MAX_SIZE:  # of a long sum proofs.py says no more than the sum of ends
        return Held(p, *ends)
    lows, highs = ([n for n in pair if n is not None] for pair in zip(ends, (least(p), greatest(p))))
    return Held(p, max(lows, default=None), min(highs, default=None))


def _negated(a: Held) -> Held:
    return Held(-a.poly, None if a.high is None else -a.high, None if a.low is None else -a.low)


def _sum(a: Held, b: Held) -> Held:
    low, high = (None if x is None or y is None else x + y for x, y in zip(a[1:], b[1:]))
    return _held(a.poly + b.poly, (low, high))


def _product(a: Held, b: Held) -> Held:
    return _held(a.poly * b.poly, ends_of_product(a[1:], b[1:]))


def _xor(a: Held, b: Held) -> Ends:
    """It has no more bits than what it is made of."""
    ends = [n for n in (*a[1:], *b[1:]) if n is not None]
    high = (1 << max(max(n, ~n).bit_length() for n in ends)) - 1 if len(ends) == 4 else None
    positive = a.low is not None and b.low is not None and min(a.low, b.low) >= 0
    return (0 if positive else None if high is None else ~high), high


def _mask(a: Held, b: Held) -> Ends:
    return (0, b.high) if b.low is not None and b.low >= 0 else (None, None)


def _shift(a: Held, b: Held) -> Ends:
    low, high = (None if n is None else n >> (b.high or 0) for n in a[1:])
    return low, high


#: The ends of other operations, by those of what they are computed of.
_ENDS: dict[str, Callable[[Held, Held], Ends]] = {"^": _xor, "&": _mask, ">>": _shift}


def values_held(roots: Sequence[Node]) -> list[Held]:
    """All that is held while nodes are computed from left to right.

    What is subtracted in a sum is held without its sign, and masks and counts of shifts are no values.
    """
    found: dict[int, Held] = {}
    out: list[Held] = []
    for n in in_order(roots):
        args = [found[id(a)] for a in n.operands if a.poly is not None]
        if n.op in ("+", "*"):
            steps = [*itertools.accumulate(args, _sum if n.op == "+" else _product)]
            out += [*steps, *(_negated(h) if n.op == "+" and _is_minus(a) else h for a, h in zip(n.args[1:], args[1:]))]
            found[id(n)] = steps[-1]
        elif n.poly is not None:
            found[id(n)] = _negated(args[0]) if n.op == "neg" else _held(n.poly, _ENDS[n.op](*args) if n.op in _ENDS else (None, None))
            out += [] if n.op in ("n", "neg") else [found[id(n)], *args[: 1 if n.op in (">>", "&") else None]]
        else:
            out += args
    return [*dict.fromkeys([*out, *(found[id(n)] for n in roots if n.poly is not None)])]


def _is_minus(n: Node) -> bool:
    """Whether it is subtracted where it stands in a sum."""
    return n.op == "neg" or (n.op == "n" and n.args[0] < 0)
