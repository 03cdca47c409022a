"""Linear maps over bits as expressions of C, and the words of 32 bits that a thread's registers are packed into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..linear import bits


def linear_text(columns: Sequence[int], name: str) -> str:
    """The image of the integer `name` as an expression: each diagonal of the matrix is one mask and one shift.

    columns    what each bit of the integer changes; there are no other bits
    Returns    an expression of unsigned integers, in parentheses where it has an operator

    >>> linear_text([2, 4, 1], "x")
    '((x & 3u) << 1 ^ x >> 2)'
    >>> linear_text([1, 2], "x"), linear_text([0, 0], "x")
    ('x', '0u')
    """
    diagonals: dict[int, int] = {}
    for k, column in enumerate(columns):
        for row in bits.ones(column):
            diagonals[row - k] = diagonals.get(row - k, 0) | 1 << k
    terms = [_shifted(name, diagonals[d], d, (1 << len(columns)) - 1) for d in sorted(diagonals, reverse=True)]
    text = " ^ ".join(terms) or "0u"
    return f"({text})" if " " in text else text


def _shifted(name: str, mask: int, by: int, all_bits: int) -> str:
    """The bits of a mask, shifted to the left, or to the right where `by` is below 0."""
    if mask == all_bits >> max(0, -by) << max(0, -by):
        taken = name  # a shift to the right drops the bits below by itself
    elif mask >= 10:
        taken = f"({name} & {mask:#x}u)"
    else:
        taken = f"({name} & {mask}u)"
    return f"{taken} << {by}" if by > 0 else f"{taken} >> {-by}" if by else taken


def parity_text(mask: int, name: str) -> str:
    """The condition that an odd number of the bits in a mask are set.

    >>> parity_text(4, "lane"), parity_text(5, "lane")
    ('lane & 4u', '__popc(lane & 5u) & 1')
    """
    return f"{name} & {mask}u" if bits.is_power_of_two(mask) else f"__popc({name} & {mask}u) & 1"


def outer_products(columns: Sequence[int]) -> list[tuple[int, int]]:
    """A matrix as a sum of as few as there can be: pairs (u, m), of which the image of x is the sum of u where x & m has odd parity.

    >>> outer_products([1, 2, 3, 0])
    [(1, 5), (2, 6)]
    """
    found = bits.Echelon(columns)
    chosen = [k for k, c in enumerate(columns) if c and k not in found.free]
    masks = dict.fromkeys(chosen, 0)
    for k, column in enumerate(columns):
        for j in bits.ones(found.solve(column) or 0):
            masks[j] |= 1 << k
    return [(columns[j], masks[j]) for j in chosen]


class Packing(NamedTuple):
    """The registers of a thread as words: register (word, slot) is the sum of `slots` and `words` whose bits are set.

    slots      what each bit of the slot, the number of the value within a word, changes of the register
    words      what each bit of the word's number changes of the register
    """

    slots: Sequence[int]
    words: Sequence[int]

    @staticmethod
    def of(slots: Sequence[int], registers: int) -> Packing:
        """All registers, 2^registers of them, in words of these slots."""
        return Packing(slots, bits.complement(slots, registers))

    def register(self, word: int, slot: int) -> int:
        return bits.apply(self.words, word) ^ bits.apply(self.slots, slot)

    def split(self, register: int) -> tuple[int, int]:
        """The (word, slot) of a register."""
        mask = bits.Echelon([*self.slots, *self.words]).solve(register) or 0
        return mask >> len(self.slots), mask & (1 << len(self.slots)) - 1

    def word(self, number: int) -> list[int]:
        """The registers of a word, slot by slot."""
        return [self.register(number, slot) for slot in range(1 << len(self.slots))]


def pairs(count: int, by: int) -> Iterator[tuple[int, int]]:
    """The pairs of numbers below `count` that differ by `by`, xored; each once.

    >>> [*pairs(4, 3)]
    [(0, 3), (1, 2)]
    """
    return ((k, k ^ by) for k in range(count) if k < k ^ by)
