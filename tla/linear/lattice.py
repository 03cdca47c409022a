"""Linear equations over the integers: a matrix is a list of columns, reduced by Euclid's steps on whole columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

Vector = list[int]


class _Column(NamedTuple):
    """A sum of given columns, and how many of each are in it."""

    rows: Vector
    made_of: Vector

    def less(self, times: int, other: _Column) -> _Column:
        return _Column(*([a - times * b for a, b in zip(x, y)] for x, y in zip(self, other)))


class Lattice:
    """The sums of columns of integers, reduced once; then each equation is one pass.

    index    how many cosets it has among all vectors: 1 if every vector is a sum, 0 if there are infinitely many

    >>> lattice = Lattice([[5], [12]], 1)
    >>> lattice.index, lattice.solve([1])
    (1, [5, -2])
    >>> Lattice([[4], [6]], 1).index, Lattice([[4], [6]], 1).solve([3])
    (2, None)
    """

    def __init__(self, columns: Sequence[Sequence[int]], rows: int) -> None:
        left = [_Column([*c], [int(i == k) for i in range(len(columns))]) for k, c in enumerate(columns)]
        self._count = len(left)
        self._pivots: list[tuple[int, _Column]] = []
        for row in range(rows):
            pivot, left = _reduced(left, row)
            if pivot is not None:
                self._pivots.append((row, pivot))
        self.index = math.prod(abs(c.rows[row]) for row, c in self._pivots) if len(self._pivots) == rows else 0

    def solve(self, target: Sequence[int]) -> Vector | None:
        """The number of each column in a sum that is the target; None if it is no sum of them."""
        left = _Column([*target], [0] * self._count)
        for row, pivot in self._pivots:
            times, rest = divmod(left.rows[row], pivot.rows[row])
            if rest:
                return None
            left = left.less(times, pivot)
        return None if any(left.rows) else [-n for n in left.made_of]


def _reduced(columns: list[_Column], row: int) -> tuple[_Column | None, list[_Column]]:
    """One column that alone is not 0 in a row, and the others, of which the same sums can be made."""
    zero = [c for c in columns if not c.rows[row]]
    left = [c for c in columns if c.rows[row]]
    while len(left) > 1:
        least = min(left, key=lambda c: abs(c.rows[row]))
        others = [c.less(c.rows[row] // least.rows[row], least) for c in left if c is not least]
        zero += [c for c in others if not c.rows[row]]
        left = [least, *(c for c in others if c.rows[row])]
    return (left[0] if left else None), zero
