"""The swizzles of a table of offsets: those that undone leave shape and strides.

A swizzle is its own inverse, so a table is a swizzled layout iff the swizzle of the table is a layout. One swizzle is
searched among all that the table's bits allow; a chain is found by elimination over bits, where the table
is linear over them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.cache import plain_memo
from ..core.swizzle import Swizzle, make_swizzle
from ..linear import bits
from ..linear.bridge import eliminated
from .digits import Digits, digits, largest, least, lines

if TYPE_CHECKING:
    from .digits import Table

#: Offsets of more bits are not searched for one swizzle: there are too many of them.
MAX_ROWS = 26
#: So many sums of two coordinates are tried with all swizzles before one is tried on the whole table.
TRIED = 48


class Candidates(NamedTuple):
    """All swizzles of so many bits, the fewest bits first, then the lowest base; with what they read, and how
    far they shift it."""

    swizzles: tuple[Swizzle, ...]
    reads: Any
    right: Any
    left: Any

    def of(self, values: Any) -> Any:
        """Each swizzle of each value: a row for each swizzle."""
        read = values & self.reads
        return values ^ (read >> self.right << self.left)

    def kept(self, which: Any) -> Candidates:
        return Candidates(
            tuple(s for s, k in zip(self.swizzles, which) if k), self.reads[which], self.right[which], self.left[which]
        )


@plain_memo
def candidates(rows: int) -> Candidates:
    """The swizzles that permute offsets of `rows` bits."""
    import numpy as np

    found = [
        make_swizzle(count, base, s)
        for count in range(1, rows // 2 + 1)
        for base in range(rows - 2 * count + 1)
        for shift in range(count, rows - base - count + 1)
        for s in (shift, -shift)
    ]
    columns = np.array([(s.reads, max(s.shift, 0), max(-s.shift, 0)) for s in found], np.int64).reshape(-1, 3)
    return Candidates(tuple(found), *columns.T[:, :, np.newaxis])


def swizzled_digits(table: Table) -> tuple[tuple[Swizzle, ...], Digits] | None:
    """The digits of a table, and the swizzles around them, the outermost first, of which there may be none; None where
    no swizzles leave digits."""
    plain = digits(table)
    return ((), plain) if isinstance(plain, Digits) else unswizzled(table)


def unswizzled(table: Table) -> tuple[tuple[Swizzle, ...], Digits] | None:
    """Swizzles, the outermost first, and the digits that they are of: one swizzle if there is one, else a chain; None
    if there is none.

    >>> import numpy as np
    >>> i, j = np.ogrid[:8, :64]
    >>> found = unswizzled(i * 64 + (j // 8 ^ i) * 8 + j % 8)
    >>> print(*found[0], found[1].axes)
    Sw<3,3,3> (((8, 64),), ((64, 1),))
    """
    if table.size < 3 or least(table) < 0:
        return None
    rows = largest(table).bit_length()
    if rows <= MAX_ROWS:
        for swizzle in likely(table, rows):
            found = digits(swizzle(table))
            if isinstance(found, Digits):
                return (swizzle,), found
    return chain(table, rows)


def likely(table: Table, rows: int) -> tuple[Swizzle, ...]:
    """The swizzles that make some sums of coordinates come out right."""
    import numpy as np

    left = candidates(rows)
    places = np.array([*itertools.islice(_sums(table.shape), TRIED)], np.int64).reshape(-1, 3)
    flat = table.reshape(-1)
    for some in np.array_split(places, 3):
        if len(some) and len(left.swizzles):
            one, other, both, none = (left.of(flat[p].reshape(1, -1)) for p in (*some.T, np.zeros(1, np.int64)))
            left = left.kept((one + other == both + none).all(axis=1))
    return left.swizzles


def _sums(shape: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Places of two coordinates and of their sum, whose digits do not carry in any layout of this shape."""
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * n)
    units = [
        [(a, d << k) for k in range(max(n - 1, 0).bit_length())] for a, (n, d) in enumerate(zip(shape, strides[::-1]))
    ]
    whole = [n & (n - 1) == 0 for n in shape]
    every = sorted(
        itertools.combinations([u for axis in units for u in reversed(axis)], 2), key=lambda p: p[0][0] == p[1][0]
    )
    yield from ((x, y, x + y) for (a, x), (b, y) in every if a != b or whole[a])


def chain(table: Table, rows: int) -> tuple[tuple[Swizzle, ...], Digits] | None:
    """The swizzles of a table that is linear over bits, by elimination; None where it is not, or where columns depend
    on each other."""
    columns = [c for axis in columns_of(table) for c in axis if c]
    if not is_affine(table) or bits.Echelon(columns).free:
        return None
    swizzles, _ = eliminated(columns, rows)
    left: Any = table
    for swizzle in swizzles:
        left = swizzle(left)
    found = digits(left)
    return (tuple(swizzles), found) if isinstance(found, Digits) else None


def columns_of(table: Table) -> list[list[int]]:
    """The xor that each bit of each coordinate makes."""
    start = int(table.flat[0])
    return [[int(line[1 << k]) ^ start for k in range((len(line) - 1).bit_length())] for line in lines(table)]


def is_affine(table: Table) -> bool:
    """Whether a table is the xor of its columns everywhere."""
    import numpy as np

    total: Any = np.array(int(table.flat[0]))
    for n, columns in zip(table.shape, columns_of(table)):
        axis = np.zeros(1, np.int64)
        for c in columns:
            axis = np.concatenate([axis, axis ^ c])
        total = np.bitwise_xor.outer(total, axis[:n])
    return bool((total == table).all())
