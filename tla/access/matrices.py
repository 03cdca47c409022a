"""Matrix instructions (ldmatrix, stmatrix) as accesses of rows: which registers they move, and who gives
the addresses of rows.

A matrix has 8 rows of 16 bytes at any addresses of whole rows. Lane l holds word l % 4 of row l / 4: the values of a
word are registers, bits 0 and 1 of the lane are words, bits 2 to 4 rows. Transposed, bits 2 to 4 of the lane are the
16-bit elements of a row, and the halves of a word are rows. Lane k gives the address of row k % 8 of matrix k / 8: so
it is an access of 128 bits by other owners, whose lanes are rows, whose first registers are a row's elements.

Source: the PTX manual, ldmatrix and stmatrix, of shape .m8n8 and type .b16.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import RangeError
from ..core.int_tuple import shown
from ..linear import LinearLayout, bits
from .by_bits import ByBits, by_bits
from .places import xors
from .steps import WORD_BITS, Load, Matrices, Store, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

#: Bits of a row, and of the elements that are transposed.
ROW_BITS, HALF_BITS = 128, 16
#: Exponents of the lanes of a warp, of the rows of a matrix, of the words of a row, and of the matrices of one
#: instruction.
_LANES, _ROWS, _WORDS, _TOGETHER = 5, 3, 2, 2


class Rows(NamedTuple):
    """A way to move what owners hold by matrices.

    form     the registers of an instruction
    owners   who has the rows: the first registers are the elements of a row, in sequence
    """

    form: Matrices
    owners: LinearLayout


def matrices(owners: LinearLayout, width: int) -> Iterator[Rows]:
    """All ways to move elements of `width` bits by matrices, each with other registers in a word; none where lanes or
    registers lack.

    >>> owners = LinearLayout({"register": [(1,)], "lane": [(2,), (4,), (8,), (16,), (32,)]}, {"dim0": 64})
    >>> [rows.form.name for rows in matrices(owners, 16)]
    ['matrix.x1', 'matrix.x1.trans']
    >>> next(matrices(owners, 16)).owners.bases["register"]
    ((1,), (2,), (4,))
    """
    held = ByBits.of(owners)
    if width not in (8, 16, 32) or len(held.lane) != _LANES:
        return
    found = bits.Echelon(held.register)
    registers = [k for k in range(len(held.register)) if k not in found.free]
    for word in itertools.permutations(registers, bits.log2(WORD_BITS // width)):
        rest = [k for k in registers if k not in word]
        for transposed in (False, True)[: 1 + (width <= HALF_BITS)]:
            form = Matrices(_masks(word), _masks(rest[:_TOGETHER]), transposed)
            yield Rows(form, _of_rows(owners, held, form, rest[_TOGETHER:]))


def _masks(registers: Sequence[int]) -> tuple[int, ...]:
    return tuple(1 << k for k in registers)


def _of_rows(owners: LinearLayout, held: ByBits, form: Matrices, further: Sequence[int]) -> LinearLayout:
    row, numbers = _split(form, held)
    together = [bits.apply(held.register, mask) for mask in form.together]
    parts = {"register": [*row, *(held.register[k] for k in further)], "lane": [*numbers, *together], "warp": held.warp}
    counts = [(name, len(of)) for name, of in parts.items()]
    return LinearLayout._of_columns(counts, tuple(owners.out_dims.items()), [c for of in parts.values() for c in of])


def _split(form: Matrices, held: ByBits) -> tuple[list[int], list[int]]:
    """The columns of a row's elements, and those of the rows' numbers, of what a word's registers and lanes have."""
    word, low, high = [bits.apply(held.register, mask) for mask in form.word], held.lane[:_WORDS], held.lane[_WORDS:]
    if not form.transposed:
        return [*word, *low], high
    within = len(form.word) - bits.log2(WORD_BITS // HALF_BITS)  # elements narrower than 16 bits go in such pieces
    return [*word[:within], *high], [*word[within:], *low]


class Instructions(NamedTuple):
    """The matrix instructions of a step.

    form       the registers of one
    addresses  what each bit of a thread's number changes of the place of the row that it gives [elements]
    vectors    where row 0 of matrix 0 is for thread 0, and the registers of each value: matrix by matrix, in
               each by the word
    """

    form: Matrices
    addresses: list[int]
    vectors: list[Vector]

    @staticmethod
    def of(owners: LinearLayout, step: Store | Load) -> Instructions:
        """The instructions of a step that has matrices; RangeError for a layout of memory that is not linear."""
        form, at = step.matrices, by_bits(owners, step.layout, 1 << _LANES)
        assert form is not None
        if at is None:
            what = f"matrices in the memory layout {shown(step.layout)}"
            raise RangeError(what, "swizzles, without padding", "store vectors")
        together = [bits.apply(at.register, mask) for mask in form.together]
        unused = [0] * (_LANES - _ROWS - len(together))  # lanes that give no address
        addresses = [*_split(form, at)[1], *together, *unused, *at.warp]
        word = [bits.apply(at.register, mask) for mask in form.word]
        held: dict[int, list[int]] = {}
        for r in step.registers or range(1 << len(at.register)):
            held.setdefault(bits.apply(at.register, r), []).append(r)
        steps = xors([*word, *together])
        vectors = []
        while held:  # the least place of what is left is that of a whole row
            start = min(held)
            vectors.append(Vector(start, [held.pop(start ^ change) for change in steps]))
        return Instructions(form, addresses, vectors)

    def places(self, warps: int) -> npt.NDArray[Any]:
        """The place in memory of each value of each lane, [warp, lane, value]: the instruction maps rows to lanes."""
        import numpy as np

        lane, value = np.ogrid[: 1 << _LANES, : 1 << len(self.form.word)]
        word, matrix = value.shape[1], np.arange(1 << len(self.form.together))[:, None, None]
        row, element = lane // 4 + 0 * value, lane % 4 * word + value
        if self.form.transposed:
            within = word // 2
            row, element = lane % 4 * 2 + value // within, lane // 4 * within + value % within
        threads = np.array(xors(self.addresses)).reshape(warps, -1)
        first = np.moveaxis(threads[:, 8 * matrix + row] + element, 1, 2).reshape(warps, 1 << _LANES, -1)
        return np.concatenate([first ^ vector.at for vector in self.vectors], axis=-1)
