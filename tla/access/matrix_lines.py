"""Matrix instructions (ldmatrix, stmatrix) of threads whose digits are any extents, in a memory of rotated lines.

The threads and values of a warp that are a row of 16 bytes are found by the places of all of them in memory: their
digits may be any, if warps are whole. What a lane holds of a matrix is in `matrices`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..linear import bits
from .matrices import HALF_BITS, ROW_BITS
from .steps import WORD_BITS, Matrices
from .through_rows import Digits, thread_text, values_of

if TYPE_CHECKING:
    import numpy.typing as npt

_LANES, _ROWS, _TOGETHER = 32, 8, 2


class MatrixMoves(NamedTuple):
    """The matrix instructions of a side.

    form     the values that differ within one, as changes of a value's number
    vectors  the values of each: matrix by matrix, in each by the word, each in a list of its own
    rows     numbers of the elements that begin the rows, [instruction and matrix of any warp, row]
    """

    form: Matrices
    vectors: list[list[list[int]]]
    rows: npt.NDArray[Any]

    @staticmethod
    def of(numbers: Sequence[Sequence[int]], digits: Sequence[tuple[int, int]], width: int) -> Iterator[MatrixMoves]:
        """Find all ways to move elements of `width` bits, whose numbers are given for [thread, value].

        digits   the extents and the places of the digits of a value's number, of which all move something
        """
        import numpy as np

        held = np.array(numbers)
        if width not in (8, 16, 32) or held.shape[0] % _LANES:
            return
        registers = [place for n, place in digits if n == 2]
        for word in itertools.permutations(registers, bits.log2(WORD_BITS // width)):
            together = tuple([place for place in registers if place not in word][:_TOGETHER])
            for transposed in (False, True)[: 1 + (width <= HALF_BITS)]:
                form = Matrices(word, together, transposed)
                if (rows := _rows(held, form, width)) is not None:
                    yield MatrixMoves(form, [_values(form, start) for start in _starts(form, held.shape[1])], rows)

    def words(self, width: int) -> npt.NDArray[Any]:
        """The words of the rows of each matrix, which are asked for at once."""
        import numpy as np

        starts = self.rows[:, :, None] * width // WORD_BITS
        return (starts + np.arange(ROW_BITS // WORD_BITS)).reshape(len(starts), -1)


def _starts(form: Matrices, count: int) -> list[int]:
    """The values from which instructions begin, of which no other one is moved by the same instruction."""
    return [v for v in range(count) if not any(v // place % 2 for place in (*form.word, *form.together))]


def _sums(places: Sequence[int]) -> list[int]:
    """The sums of some of these, the first one changing fastest."""
    return values_of([(2, place) for place in places])


def _values(form: Matrices, start: int) -> list[list[int]]:
    return [[start + x] for x in _sums((*form.word, *form.together))]


def _rows(held: npt.NDArray[Any], form: Matrices, width: int) -> npt.NDArray[Any] | None:
    """The numbers of the elements that begin the rows; None where what lanes have are no rows, whole and aligned."""
    import numpy as np

    size, word = ROW_BITS // width, np.array(_sums(form.word))
    starts = np.array([s + x for s in _starts(form, held.shape[1]) for x in _sums(form.together)])
    lane, value = np.ogrid[:_LANES, : len(word)]
    row, element = lane // 4 + 0 * value, lane % 4 * len(word) + value
    if form.transposed:
        within = len(word) // 2
        row, element = lane % 4 * 2 + value // within, lane // 4 * within + value % within
    table = np.empty((held.shape[0] // _LANES, len(starts), _ROWS, size), held.dtype)
    of_warps = held.reshape(-1, _LANES, held.shape[1])[:, :, starts[:, None] + word]
    table[:, :, row, element] = of_warps.transpose(0, 2, 1, 3)
    first = table[..., 0]
    whole = (table == first[..., None] + np.arange(size)).all() and (first % size == 0).all()
    return first.reshape(-1, _ROWS) if whole else None


def row_head(name: str, form: Matrices, thread: Sequence[Digits], values: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """The coordinates of the row whose address a thread gives, as text: row k % 8 of matrix k / 8 for lane k.

    thread   digits of the thread's number, of each dimension
    values   the coordinates of thread 0's values
    """
    lane = "thread / 2u % 4u" if form.transposed else "thread % 8u * 4u"
    yield f"const unsigned {name}_row = thread / {_LANES}u * {_LANES}u + {lane};"
    moved = {1: form.word[-1]} if form.transposed else {}
    moved |= {_ROWS << k: value for k, value in enumerate(form.together)}
    for d, digits in enumerate(thread):
        steps = {place: values[value][d] - values[0][d] for place, value in moved.items()}
        terms = [f"thread / {place}u % 2u * {step}u" for place, step in steps.items() if step]
        yield f"const unsigned {name}_x{d} = {' + '.join([thread_text(digits, f'{name}_row'), *terms])};"
