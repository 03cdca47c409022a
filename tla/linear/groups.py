"""Inverses of maps of digits: equations modulo radices, solved by a lattice of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .digits import Digit, Vector, wraps
from .lattice import Lattice


def lattice_of(digits: Sequence[Digit], radices: Sequence[int]) -> Lattice:
    """The steps of all digits, and whole turns of each radix."""
    return Lattice([*(d.step for d in digits), *turns(radices)], len(radices))


def turning(digits: Sequence[Digit], radices: Sequence[int]) -> list[bool]:
    """For each digit whether its extent times its step is 0: if all are, the map is one of groups."""
    return [not any(d.times(d.extent, radices)) for d in digits]


def turns(radices: Sequence[int]) -> list[Vector]:
    """One whole turn of each radix."""
    return [tuple(m if i == k else 0 for i in range(len(radices))) for k, m in enumerate(radices)]


def back_steps(digits: Sequence[Digit], radices: Sequence[int]) -> list[Vector] | None:
    """For each radix of the outputs digits of the inputs that add one to it; None where sums of them would
    wrap that may not.

    A digit that turns, whose extent times its step is 0, may wrap. Of any other whole extents are carried on
    to those that turn.
    """
    lattice, m, turn = lattice_of(digits, radices), radices, turning(digits, radices)
    free = Lattice([*(d.step if t else (0,) * len(m) for d, t in zip(digits, turn)), *turns(m)], len(m))
    carries = {i: free.solve(d.times(d.extent, m)) for i, d in enumerate(digits) if not turn[i]}
    steps = []
    for k in range(len(m)):
        counts = lattice.solve([int(i == k) for i in range(len(m))])
        if counts is None:
            return None
        for i, carry in carries.items():
            whole = counts[i] // digits[i].extent
            if whole and carry is None:
                return None
            counts = [a + whole * b for a, b in zip(counts, carry or counts)] if whole else counts
        steps.append(tuple(c % d.extent for c, d in zip(counts, digits)))
    most = [sum((radix - 1) * step[i] for radix, step in zip(m, steps)) for i in range(len(turn))]
    return steps if all(t or n < d.extent for t, n, d in zip(turn, most, digits)) else None


def left_steps(digits: Sequence[Digit], radices: Sequence[int]) -> list[Vector] | None:
    """For each radix of the outputs what it adds to the inputs' digits, so that each is given back; None if nothing."""
    rows = [_left_row(digits, radices, j) for j in range(len(digits))]
    whole = [row for row in rows if row is not None]
    return [tuple(row[k] for row in whole) for k in range(len(radices))] if len(whole) == len(rows) else None


def _left_row(digits: Sequence[Digit], radices: Sequence[int], j: int) -> list[int] | None:
    """The addends of each radix of the outputs for the j-th digit of the input: 1 for its own step, 0 for the others'.

    Where sums wrap, a turn of radix m has to be 0 modulo n, so that each addend is a multiple of n / gcd(n, m).
    """
    n = digits[j].extent
    units = [n // math.gcd(n, m) if wraps(digits, k, m) else 1 for k, m in enumerate(radices)]
    count = len(digits)
    columns = [tuple(d.step[k] * u for d in digits) for k, u in enumerate(units)]
    solved = Lattice([*columns, *turns((n,) * count)], count).solve([int(i == j) for i in range(count)])
    return None if solved is None else [x * u % n for x, u in zip(solved, units)]
