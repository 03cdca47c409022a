"""Conversions of owners over digits through shared memory in the order of one side, whose lines are rotated.

In the order in which the threads of one side hold vectors, each wavefront of that side takes a line of all banks,
whatever the odd digits are; it still does where each line is rotated. By how far is a sum of multiples of the line's
number, which are searched: the term that leaves the fewest wavefronts, or where none does, the fewest pairs of words in
one bank, and so on, until there are no conflicts, or no term helps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..linear import RadixLayout, bits
from .device_text import matrix_mover, vector_mover
from .dialects import Dialect
from .machines import Machine
from .matrices import HALF_BITS, ROW_BITS
from .matrix_lines import MatrixMoves, row_head
from .memories import Memory
from .steps import WORD_BITS, Matrices, Vector
from .through_rows import Digits, Rows, common_digits, plain_sums, thread_text, values_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[Any]  # of int64: of a known type numpy 2.5 types fewer methods
    import numpy as np

    #: Of the source and the destination, whether each [thread, value] goes through memory.
    Leaves = Sequence[npt.NDArray[np.bool_]]

#: Digits of threads or values: the extent, and what one more moves in each dimension.
Steps = list[tuple[int, tuple[int, ...]]]
#: The digits of a dimension: (place, extent, stride), of which coordinate // place % extent * stride is a part
#: of a number.
Parts = tuple[tuple[int, int, int], ...]
MAX_TERMS = 4


class Lines(NamedTuple):
    """The place of an element: its number in the order of one side, rotated within its line.

    digits   of each dimension: what its coordinate adds to the number
    line     elements of a line
    unit     elements that stay together
    terms    (lines, factor): line // lines * factor is a part of the rotation [units]

    >>> Lines((((1, 6, 1),), ((1, 16, 6),)), 8, 1, ((3, 1),)).place((5, 4))          # number 29, in line 3
    30
    """

    digits: tuple[Parts, ...]
    line: int
    unit: int
    terms: tuple[tuple[int, int], ...] = ()

    def number(self, coordinate: Iterable[int]) -> int:
        return sum(x // place % n * stride for x, of in zip(coordinate, self.digits) for place, n, stride in of)

    def place(self, coordinate: Iterable[int]) -> int:
        number = self.number(coordinate)
        start = number - number % self.line
        turn = sum(number // (lines * self.line) * factor for lines, factor in self.terms) * self.unit
        return start + (number + turn) % self.line

    def text(self) -> Iterator[str]:
        """The function `place` of coordinates."""
        parts = [part_text(f"x{k}", *part, part is of[-1]) for k, of in enumerate(self.digits) for part in of]
        number = " + ".join(parts) or "0u"
        turns = [_times(f"at / {lines * self.line}u", factor * self.unit) for lines, factor in self.terms]
        yield f"const auto place = []({', '.join(f'unsigned x{k}' for k in range(len(self.digits)))}) {{"
        if turns:
            yield f"  const unsigned at = {number};"
            number = f"at / {self.line}u * {self.line}u + ({' + '.join(['at', *turns])}) % {self.line}u"
        yield f"  return {number};"
        yield "};"


def place_text(name: str, value: Sequence[int]) -> str:
    """The coordinates of a thread's value, of those that thread 0's has, as text."""
    return ", ".join(f"{name}_x{k} + {x}u" if x else f"{name}_x{k}" for k, x in enumerate(value))


def part_text(name: str, place: int, extent: int, stride: int, last: bool) -> str:
    divided = name if place == 1 else f"{name} / {place}u"
    return _times(divided if last else f"{divided} % {extent}u", stride)


def _times(text: str, factor: int) -> str:
    return text if factor == 1 else f"{text} * {factor}u"


class LinesSide(NamedTuple):
    """A thread's values and where they lie: of each dimension digits of the thread's number, the coordinates
    of the values.

    vectors   the values of each access, in the order in which they lie, equal ones together
    form      of matrix instructions; None for vectors of each thread's own
    """

    thread: list[Digits]
    values: list[tuple[int, ...]]
    vectors: list[list[list[int]]]
    memory: Lines
    form: Matrices | None = None

    def head(self, name: str) -> Iterator[str]:
        if self.form:
            yield from row_head(name, self.form, self.thread, self.values)
            return
        for k, digits in enumerate(self.thread):
            yield f"const unsigned {name}_x{k} = {thread_text(digits)};"

    def mover(self, dialect: Dialect, name: str, width: int) -> Iterator[str]:
        """The function that moves an access; none for single values."""
        size, store = len(self.vectors[0]), name == "src"
        if self.form:
            yield from matrix_mover(dialect, store, self.form, width)
        elif size > 1:
            yield from vector_mover(dialect, store, size, width)

    def accesses(self, name: str) -> Iterator[tuple[str, Vector]]:
        """The place of each access, as text, and its values."""
        for of in self.vectors:
            yield f"place({place_text(name, self.values[of[0][0]])})", Vector(0, of)

    def offsets(self) -> list[list[int]]:
        starts = zip(*map(values_of, self.thread))
        return [[self.memory.place(map(sum, zip(start, v))) for v in self.values] for start in starts]


def through_lines(
    src: RadixLayout,
    dst: RadixLayout,
    width: int,
    machine: Machine,
    leaves: Leaves | None = None,
) -> Iterator[Rows]:
    """The cheapest memory in the order of one side, for (thread, value) layouts; none if neither is its digits.

    leaves   of both sides whether each [thread, value] goes through it; None where all do
    """
    sides = [Held.of(x) for x in (src, dst)]
    sizes = [*src.out_sizes.values()]
    best: _Found | None = None
    ways = [
        way
        for first, second in (sides, sides[::-1])
        for vector, memory in (
            *_orders(first, second, sizes, width, machine),
            *_orders_by_rows(sides, first, sizes, width, machine),
        )
        for way in _Found.all_of(memory, sides, vector, width, machine, leaves)
    ]
    for way in sorted(ways, key=lambda x: (x.least, *x.rank)):
        best = _searched(way, best) or best
    if best is not None:
        yield _rows(best, sides, sizes)


# ------------------------------------------------------------------------------------------------- owners


class Held(NamedTuple):
    """Who holds what: the digits of threads and of values; the coordinates of thread 0's values, and of all values of
    each thread."""

    thread: Steps
    value: Steps
    values: list[tuple[int, ...]]
    coordinates: list[list[tuple[int, ...]]]

    @staticmethod
    def of(layout: RadixLayout) -> Held:
        sums = {name: plain_sums(layout, name) for name in layout.out_sizes}
        thread, value = (_steps(*common_digits(sums, name)) for name in ("thread", "value"))
        starts, values = (_points(steps, len(sums)) for steps in (thread, value))
        return Held(thread, value, values, [[tuple(map(sum, zip(start, v))) for v in values] for start in starts])


def _steps(extents: Sequence[int], strides: dict[str, list[int]]) -> Steps:
    return [(n, tuple(of[k] for of in strides.values())) for k, n in enumerate(extents)]


def _points(steps: Steps, rank: int) -> list[tuple[int, ...]]:
    """The coordinates that digits give, the first digit fastest."""
    return [*zip(*(values_of(_in_dimension(steps, d)) for d in range(rank)))]


def _in_dimension(steps: Steps, d: int) -> Digits:
    return [(n, step[d]) for n, step in steps]


def _orders(
    first: Held, second: Held, sizes: Sequence[int], width: int, machine: Machine
) -> Iterator[tuple[int, Lines]]:
    """Vectors of so many elements, the widest first, in the first side's order; values of both sides are together."""
    rows = machine.write, machine.read
    words = max(row.banks for row in rows)
    theirs = _primes(second.value)
    mine = sorted(_primes(first.value), key=lambda x: x not in theirs)
    for size in sorted({*rows[0].widths} & {*rows[1].widths}, reverse=True):
        vector = size // width
        if vector and size % width == 0 and words and (cut := _cut(mine, vector)) is not None:
            digits = digits_of([*mine[:cut], *first.thread, *mine[cut:]], sizes)
            if digits is not None:
                yield vector, Lines(digits, words * WORD_BITS // width, max(vector, WORD_BITS // width))


def _orders_by_rows(
    sides: Sequence[Held], first: Held, sizes: Sequence[int], width: int, machine: Machine
) -> Iterator[tuple[int, Lines]]:
    """The order of the first side behind the rows of transposed matrices, whose elements are those of neighbouring
    lanes of either side."""
    if width not in (8, HALF_BITS):
        return
    vector, low = ROW_BITS // width, HALF_BITS // width
    for held, has in zip(sides, (machine.stmatrix, machine.ldmatrix)):
        lanes = _primes(held.thread)[: bits.log2(machine.read.lanes)]
        if not has or any(n != 2 for n, _ in lanes):
            continue
        registers = [digit for digit in _primes(held.value) if digit[0] == 2]
        for word in itertools.permutations(registers, bits.log2(low)):
            row = [*word, *lanes[2:]]
            rest = [*_primes(first.value), *_primes(first.thread)]
            digits = digits_of([*row, *(digit for digit in rest if digit not in row)], sizes)
            if digits is not None:
                yield vector, Lines(digits, machine.read.banks * WORD_BITS // width, vector)


class Digit(NamedTuple):
    """A digit of a prime extent: its place in the number, and what one more of it moves in each dimension."""

    extent: int
    place: int
    step: tuple[int, ...]


def prime_digits(steps: Steps) -> list[Digit]:
    """The same digits, each of a prime extent."""
    found, start = [], 1
    for n, step in steps:
        place = 1
        while place < n:
            prime = next(p for p in range(2, n // place + 1) if n // place % p == 0)
            found.append(Digit(prime, start * place, tuple(x * place for x in step)))
            place *= prime
        start *= n
    return found


def _primes(steps: Steps) -> Steps:
    """The same digits, each of a prime extent, without those that move nothing."""
    return [(digit.extent, digit.step) for digit in prime_digits(steps) if any(digit.step)]


def _cut(steps: Steps, vector: int) -> int | None:
    """The number of the first digits that are a vector; None where none end there."""
    sizes = [*itertools.accumulate((n for n, _ in steps), lambda a, b: a * b, initial=1)]
    return sizes.index(vector) if vector in sizes else None


def digits_of(order: Steps, sizes: Sequence[int], free: int = 0) -> tuple[Parts, ...] | None:
    """The parts that each coordinate adds to an element's number in this order; None where the steps are not the digits
    of the tile. So many of the first digits add nothing."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in sizes]
    stride = 1
    for k, (n, step) in enumerate(order):
        moved = [d for d, x in enumerate(step) if x]
        if len(moved) > 1:
            return None
        if moved:  # what moves nothing holds the same elements
            found[moved[0]].append((step[moved[0]], n, stride if k >= free else 0))
            stride *= n if k >= free else 1
    for of, size in zip(found, sizes):
        of.sort()
        ends = [*itertools.accumulate((n for _, n, _ in of), lambda a, b: a * b, initial=1)]
        if [place for place, _, _ in of] != ends[:-1] or ends[-1] != size:
            return None
    return tuple(map(_joined, found))


def _joined(parts: Sequence[tuple[int, int, int]]) -> Parts:
    """Digits of which each ends where the next begins, in the number too, as one."""
    found: list[tuple[int, int, int]] = []
    for place, n, stride in parts:
        if found and found[-1][1] * found[-1][2] == stride:
            before = found.pop()
            found.append((before[0], before[1] * n, before[2]))
        else:
            found.append((place, n, stride))
    return tuple(found)


# ------------------------------------------------------------------------------------------------- search


class _Accesses(NamedTuple):
    """The accesses of a side to all its values, and the words that it asks for.

    vectors   the values of each access
    words     line and word of it for each of the words that are asked for at once, -1 for none; the number of banks
    form      of matrix instructions; None for vectors of each thread's own
    """

    vectors: list[list[list[int]]]
    words: tuple[Integers, Integers, int]
    form: Matrices | None = None


class _Found(NamedTuple):
    """A memory, the accesses of both sides, the words that are a unit of rotation, and what they cost."""

    memory: Lines
    sides: tuple[_Accesses, ...]
    unit: int
    cost: tuple[int, int]

    @staticmethod
    def all_of(
        memory: Lines, sides: Sequence[Held], vector: int, width: int, machine: Machine, leaves: Leaves | None
    ) -> Iterator[_Found]:
        """The memory with vectors, and with the matrix instructions that either side may have where all goes by it."""
        rows = machine.write, machine.read
        if leaves:
            choices = [[*_some(*of, memory, vector, width)] for of in zip(sides, rows, leaves, (False, True))]
        else:
            asked = zip(sides, rows, (machine.stmatrix, machine.ldmatrix))
            choices = [[*_ways(held, memory, vector, width, row, matrices)] for held, row, matrices in asked]
        for chosen in itertools.product(*choices):
            yield _Found(memory, chosen, memory.unit * width // WORD_BITS, (0, 0)).costed(memory)

    @property
    def rank(self) -> tuple[int, int]:
        return self.cost[0], sum(len(side.vectors) for side in self.sides)

    @property
    def least(self) -> int:
        """Wavefronts that no rotation avoids."""
        return sum(int((-(-(lines >= 0).sum(1) // banks)).sum()) for lines, _, banks in self._words)

    @property
    def lines(self) -> int:
        return 1 + max(int(lines.max()) for lines, _, _ in self._words)

    @property
    def _words(self) -> list[tuple[Integers, Integers, int]]:
        return [side.words for side in self.sides]

    def costed(self, memory: Lines) -> _Found:
        """This with the terms of a memory: wavefronts, and pairs of words in one bank."""
        wavefronts = pairs = 0
        for lines, words, banks in self._words:
            turn = sum(lines // n * factor for n, factor in memory.terms) * self.unit
            count = _in_banks((words + turn) % banks, lines >= 0, banks)
            wavefronts, pairs = wavefronts + int(count.max(1).sum()), pairs + int((count * count).sum())
        return self._replace(memory=memory, cost=(wavefronts, pairs))


def _in_banks(banks_of: Integers, there: npt.NDArray[np.bool_], banks: int) -> Integers:
    """Count the words of each row in each bank."""
    import numpy as np

    rows = len(banks_of)
    at = np.where(there, banks_of, banks) + (banks + 1) * np.arange(rows)[:, None]
    return np.bincount(at.ravel(), minlength=rows * (banks + 1)).reshape(rows, -1)[:, :banks]


def _searched(found: _Found, best: _Found | None) -> _Found | None:
    """The memory with the terms of the fewest wavefronts; None where it is not better than the best so far."""
    least = found.least
    if best is not None and (least, found.rank[1]) >= best.rank:
        return None
    now = found
    while found.cost[0] > least and len(now.memory.terms) < MAX_TERMS:
        others = [now, *_with_term(now)]
        better = min(others, key=lambda x: x.cost)
        if better.cost[0] == now.cost[0]:  # no term alone: the one after which another may
            better = min(others, key=lambda x: x.cost[::-1])
        if better is now:
            break
        now = better
        found = min(found, now, key=lambda x: x.cost)
    return found if best is None or found.rank < best.rank else None


def _with_term(found: _Found) -> Iterator[_Found]:
    """The memories with one term more."""
    counts = [n for n in range(1, found.lines) if found.lines % n == 0]
    for n, factor in itertools.product(counts, range(1, found.memory.line // found.memory.unit)):
        yield found.costed(found.memory._replace(terms=(*found.memory.terms, (n, factor))))


def _ways(held: Held, memory: Lines, vector: int, width: int, row: Memory, matrices: bool) -> Iterator[_Accesses]:
    """Vectors of each thread's own, and matrices where a machine has them and units are whole rows."""
    numbers = [[memory.number(at) for at in of] for of in held.coordinates]
    vectors, words = _vectors(numbers, vector, width, row), memory.line * width // WORD_BITS
    yield _Accesses(vectors, _in_lines(*_asked(numbers, vectors, width, row), words))
    digits = _places(held.value)
    if matrices and digits is not None and memory.unit * width % ROW_BITS == 0:
        for moves in MatrixMoves.of(numbers, digits, width):
            yield _Accesses(moves.vectors, _in_lines(moves.words(width), row.phases[ROW_BITS][0], words), moves.form)


def _some(
    held: Held, row: Memory, leaves: npt.NDArray[np.bool_], whole: bool, memory: Lines, vector: int, width: int
) -> Iterator[_Accesses]:
    """Vectors of each thread's own, by the threads of which a value leaves: of loads, none or all of a vector's."""
    numbers = [[memory.number(at) for at in of] for of in held.coordinates]
    moved = [(of, leaves[:, [*itertools.chain(*of)]]) for of in _vectors(numbers, vector, width, row)]
    moved = [(of, leave) for of, leave in moved if leave.any()]
    if not whole or all((leave.any(1) == leave.all(1)).all() for _, leave in moved):
        vectors = [of for of, _ in moved]
        asked = _asked(numbers, vectors, width, row, [[any(some) for some in leave.tolist()] for _, leave in moved])
        yield _Accesses(vectors, _in_lines(*asked, memory.line * width // WORD_BITS))


def _places(steps: Steps) -> list[tuple[int, int]] | None:
    """The prime extents and the places of the digits of a number; None where one of them moves nothing."""
    digits = prime_digits(steps)
    return [(digit.extent, digit.place) for digit in digits] if all(any(digit.step) for digit in digits) else None


def _vectors(numbers: Sequence[Sequence[int]], most: int, width: int, row: Memory) -> list[list[list[int]]]:
    """The values of each access in the widest vectors, of so many elements at most, the same values in every thread."""
    sizes = (most >> k for k in range(most.bit_length()))
    return next(of for size in sizes if size * width in row.phases and (of := _alike(numbers, size)) is not None)


def _alike(numbers: Sequence[Sequence[int]], vector: int) -> list[list[list[int]]] | None:
    found: dict[int, list[list[int]]] = {}
    for v, number in enumerate(numbers[0]):
        found.setdefault(number // vector, [[] for _ in range(vector)])[number % vector].append(v)
    if not all(all(of) for of in found.values()):
        return None
    for row in numbers:
        for of in found.values():
            start = row[of[0][0]]
            if start % vector or any(row[v] != start + k for k, same in enumerate(of) for v in same):
                return None
    return [*found.values()]


def _asked(
    numbers: Sequence[Sequence[int]],
    vectors: list[list[list[int]]],
    width: int,
    row: Memory,
    active: Sequence[Sequence[bool]] | None = None,
) -> tuple[Integers, int]:
    """The words of each access by the lanes that go together, -1 for none; and the number of banks.

    active   of each access the threads that do it; None for all
    """
    import numpy as np

    size = len(vectors[0]) * width
    banks, groups = row.groups(size, len(numbers))
    parts = range(max(1, size // WORD_BITS))
    both = itertools.product(enumerate(vectors), groups)
    asked = [
        sorted(
            {
                numbers[t][of[0][0]] * width // WORD_BITS + k
                for t in group
                for k in parts
                if active is None or active[n][t]
            }
        )
        for (n, of), group in both
    ]
    table = np.full((len(asked), max(map(len, asked))), -1)
    for k, of in enumerate(asked):
        table[k, : len(of)] = of
    return table, banks


def _in_lines(asked: Integers, banks: int, line: int) -> tuple[Integers, Integers, int]:
    """The line and the word in it of each word, for lines of so many words; and the number of banks."""
    return asked // line, asked % line, banks


def _rows(best: _Found, sides: Sequence[Held], sizes: Sequence[int]) -> Rows:
    """The way through the memory that was found."""
    store, load = (
        LinesSide(
            [_in_dimension(held.thread, d) for d in range(len(sizes))], held.values, by.vectors, best.memory, by.form
        )
        for held, by in zip(sides, best.sides)
    )
    places = map(best.memory.place, itertools.product(*map(range, sizes)))
    wavefronts, instructions = best.rank
    return Rows(store, load, 1 + max(places), wavefronts, instructions, tuple(best.memory.text()))
