"""Value ranges of a function's intermediate results, partial sums and products included.

A range comes from the normal form of a value, or from the ranges of its operands, whichever is narrower: for a sum of
remainders that of the operands often is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...symbolic.poly import Poly
from ...symbolic.proofs import MAX_SIZE, Ends, ends_of_product, greatest, least
from .graph import Node, in_order


class ValueRange(NamedTuple):
    """A value with its lower and upper bound; None where a bound is not known."""

    poly: Poly
    low: int | None
    high: int | None


def _range(p: Poly, ends: Ends = (None, None)) -> ValueRange:
    if ends != (None, None) and p.size > MAX_SIZE:  # of a long sum proofs.py says no more than the sum of ends
        return ValueRange(p, *ends)
    lows, highs = ([n for n in pair if n is not None] for pair in zip(ends, (least(p), greatest(p))))
    return ValueRange(p, max(lows, default=None), min(highs, default=None))


def _negated(a: ValueRange) -> ValueRange:
    return ValueRange(-a.poly, None if a.high is None else -a.high, None if a.low is None else -a.low)


def _sum(a: ValueRange, b: ValueRange) -> ValueRange:
    low, high = (None if x is None or y is None else x + y for x, y in zip(a[1:], b[1:]))
    return _range(a.poly + b.poly, (low, high))


def _product(a: ValueRange, b: ValueRange) -> ValueRange:
    return _range(a.poly * b.poly, ends_of_product(a[1:], b[1:]))


def _xor(a: ValueRange, b: ValueRange) -> Ends:
    """It has no more bits than what it is made of."""
    ends = [n for n in (*a[1:], *b[1:]) if n is not None]
    high = (1 << max(max(n, ~n).bit_length() for n in ends)) - 1 if len(ends) == 4 else None
    positive = a.low is not None and b.low is not None and min(a.low, b.low) >= 0
    return (0 if positive else None if high is None else ~high), high


def _mask(a: ValueRange, b: ValueRange) -> Ends:
    return (0, b.high) if b.low is not None and b.low >= 0 else (None, None)


def _shift(a: ValueRange, b: ValueRange) -> Ends:
    low, high = (None if n is None else n >> (b.high or 0) for n in a[1:])
    return low, high


#: The ends of other operations, by those of what they are computed of.
_ENDS: dict[str, Callable[[ValueRange, ValueRange], Ends]] = {"^": _xor, "&": _mask, ">>": _shift}


def value_ranges(roots: Sequence[Node]) -> list[ValueRange]:
    """The ranges of all intermediate results of nodes that are computed from left to right.

    A subtracted term counts without its sign. Masks and shift counts do not count.
    """
    found: dict[int, ValueRange] = {}
    out: list[ValueRange] = []
    for n in in_order(roots):
        args = [found[id(a)] for a in n.operands if a.poly is not None]
        if n.op in ("+", "*"):
            steps = [*itertools.accumulate(args, _sum if n.op == "+" else _product)]
            out += [*steps, *(_negated(h) if n.op == "+" and _is_minus(a) else h for a, h in zip(n.args[1:], args[1:]))]
            found[id(n)] = steps[-1]
        elif n.poly is not None:
            ends = _ENDS[n.op](*args) if n.op in _ENDS else (None, None)
            found[id(n)] = _negated(args[0]) if n.op == "neg" else _range(n.poly, ends)
            out += [] if n.op in ("n", "neg") else [found[id(n)], *args[: 1 if n.op in (">>", "&") else None]]
        else:
            out += args
    return [*dict.fromkeys([*out, *(found[id(n)] for n in roots if n.poly is not None)])]


def _is_minus(n: Node) -> bool:
    """Whether a term is subtracted where it stands in a sum."""
    return n.op == "neg" or (n.op == "n" and n.args[0] < 0)
