"""Linear algebra over bits: a matrix is a list of columns, a column an integer whose bits are its rows; xor adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


class Echelon:
    """Columns reduced one by one, each remembered with the columns that it is a sum of.

    >>> e = Echelon([1, 3, 2])
    >>> e.rank, e.free, e.solve(2)
    (2, [2], 3)
    """

    def __init__(self, columns: Iterable[int] = ()) -> None:
        # highest bit -> the reduced column, and the mask of the columns in it
        self._rows: dict[int, tuple[int, int]] = {}
        self.count = 0
        #: Indices of the columns that are sums of those before them.
        self.free: list[int] = []
        for column in columns:
            self.add(column)

    @property
    def rank(self) -> int:
        return len(self._rows)

    def reduce(self, column: int) -> tuple[int, int]:
        """The rest of a column, and the mask of the columns that were added to it; only ones that are not free."""
        mask = 0
        left = column
        for high, (row, used) in self._rows.items():
            if left >> high & 1:
                left, mask = left ^ row, mask ^ used
        return left, mask

    def add(self, column: int) -> bool:
        """Add a column; whether it is independent of those before it."""
        left, mask = self.reduce(column)
        mask ^= 1 << self.count
        self.count += 1
        if not left:
            self.free.append(self.count - 1)
            return False
        # free of the highest bits of the rows before it: one pass reduces, in this order
        self._rows[left.bit_length() - 1] = (left, mask)
        return True

    def solve(self, target: int) -> int | None:
        """The mask of the columns, free ones never among them, whose sum is the target; None if there is none."""
        left, mask = self.reduce(target)
        return None if left else mask

    def spans(self, column: int) -> bool:
        return not self.reduce(column)[0]


def rank(columns: Iterable[int]) -> int:
    """
    >>> rank([1, 3, 2])
    2
    """
    return Echelon(columns).rank


def apply(columns: Sequence[int], x: int) -> int:
    """The sum of the columns whose bit is set in x.

    >>> apply([1, 6, 8], 0b110)
    14
    """
    total = 0
    while x:
        low = x & -x
        total ^= columns[low.bit_length() - 1]
        x ^= low
    return total


def inverse(columns: Sequence[int], rows: int) -> list[int] | None:
    """The columns of the inverse of a matrix with this number of rows; None if it has none.

    >>> inverse([1, 3], 2)
    [1, 3]
    """
    found = Echelon(columns)
    if len(columns) != rows or found.rank != rows:
        return None
    return [found.solve(1 << k) or 0 for k in range(rows)]


def kernel(columns: Sequence[int]) -> list[int]:
    """A basis of the inputs that go to 0, one for each free column.

    >>> kernel([1, 3, 2])
    [7]
    """
    found = Echelon(columns)
    return [(found.solve(columns[k]) or 0) ^ 1 << k for k in found.free]


def intersection(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A basis of the intersection of the spaces that two sets of columns span.

    >>> intersection([1, 2], [3, 4])
    [3]
    """
    mine, theirs = _independent(a), _independent(b)
    return [apply(mine, k & (1 << len(mine)) - 1) for k in kernel([*mine, *theirs])]


def _independent(columns: Sequence[int]) -> list[int]:
    found = Echelon()
    return [c for c in columns if found.add(c)]


def complement(columns: Sequence[int], bits: int) -> list[int]:
    """The unit vectors, lowest first, that together with the columns span the space of `bits` bits.

    >>> complement([3], 2)
    [1]
    """
    found = Echelon(columns)
    return [1 << k for k in range(bits) if found.add(1 << k)]


def reduced(columns: Iterable[int]) -> list[int]:
    """The basis of the space that columns span of which no vector has the highest bit of another: single bits, where
    they are in it.

    >>> reduced([3, 6, 5, 1])
    [1, 2, 4]
    """
    found: list[int] = []
    for column in columns:
        for vector in found:
            column = min(column, column ^ vector)
        if column:
            found = [*(min(v, v ^ column) for v in found), column]
    return sorted(found)


def ones(x: int) -> Iterator[int]:
    """The places of the bits that are set, the lowest first.

    >>> [*ones(0b1010)]
    [1, 3]
    """
    while x:
        low = x & -x
        yield low.bit_length() - 1
        x ^= low


def log2(n: int) -> int:
    """The exponent of a power of two.

    >>> log2(32)
    5
    """
    return n.bit_length() - 1


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0
