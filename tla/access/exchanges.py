"""The rounds of a conversion as maps over bits: words permuted by lane, read from other lanes, and permuted again.

Where a lane's number says which register is meant, it is xored to it by a linear map. A map of rank k is k exchanges of
pairs of words, each on the parity of some bits of the number; after them each register is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..linear import bits
from .steps import Shuffle


def outer_products(columns: Sequence[int]) -> list[tuple[int, int]]:
    """A matrix as a sum of as few as there can be: pairs (u, m), of which the image of x is the sum of u where x & m
    has odd parity.

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


class Exchanges(NamedTuple):
    """All rounds of a conversion.

    src, dst        registers as words
    before, after   exchanges (u, mask) of the source's words, and of those that were read: words that differ by u where
                    the parity of lane & mask is odd
    source          what each bit of a lane's number changes of the lane that it reads
    slots           what it changes of the slot that a value is kept in
    sent            the words of the source that some lane sends; others, as those that hold what these do,
                    are not exchanged
    kept            for each round the (word, slot) that lane 0 keeps
    """

    src: Packing
    dst: Packing
    before: list[tuple[int, int]]
    after: list[tuple[int, int]]
    source: list[int]
    slots: list[int]
    sent: list[int]
    kept: list[tuple[int, int]]

    @staticmethod
    def of(rounds: Sequence[Shuffle], sources: int, targets: int) -> Exchanges:
        """The rounds from 2^sources registers to 2^targets, and those past these that are dropped."""
        first = rounds[0]
        targets = max(targets, *(r.bit_length() for step in rounds for r in (*step.into, *step.keeps)))
        src, dst = Packing.of(_slots(first.sends), sources), Packing.of(_slots(first.keeps), targets)
        changes = [dst.split(c) for c in _changes(first.into)]
        before = outer_products([src.split(c)[0] for c in _changes(first.send)])
        after = outer_products([word for word, _ in changes])
        sent = sorted({src.split(register)[0] for step in rounds for register in step.send})
        kept = [dst.split(step.into[0]) for step in rounds]
        return Exchanges(src, dst, before, after, _changes(first.source), [slot for _, slot in changes], sent, kept)

    @property
    def selects(self) -> int:
        """The selects of words of 32 bits or less."""
        return len(self.before) * len(self.sent) + len(self.after) * len(self.kept)


def _slots(table: Sequence[int]) -> list[int]:
    return [table[1 << k] for k in range(bits.log2(len(table)))]


def _changes(table: Sequence[int]) -> list[int]:
    """For each bit of a lane's number, what it changes in a table by lane: a constant, xored with a linear map."""
    return [table[0] ^ table[1 << k] for k in range(bits.log2(len(table)))]
