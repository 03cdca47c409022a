"""Linear layouts of memory with given vectors whose banks the accesses meet least.

A layout is a basis of the indices of a tile: the vectors, then what tells banks apart, then segments, in which words of
one bank differ. An access asks a bank 2^d times for its words at once, d the dimension of what these words and the
segments have in common. Let the words fill all banks at most. Then two accesses have nothing in common with the
segments: as long as segments are missing, those found and either access do not span all indices, and two such spaces do
not cover them, so that a further segment is outside of both. Of three accesses and more a search says it, complete
where it ends within its budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..linear import bits
from .spaces import Taken, Vectors, along, costs, independent, low_bits, word_bits

#: Sums of more vectors than this are no candidates for a segment: two suffice to be outside of two spaces.
_MOST_SUMMANDS = 4


class Found(NamedTuple):
    """A linear layout: its basis, the elements at offsets 1, 2, 4, ...; its merit; whether none with these vectors has
    a better one."""

    basis: list[int]
    merit: tuple[int, int]
    complete: bool


class Budget:
    """The steps that a search may still take."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        self.left -= steps
        return self.left >= 0


def best_banks(taken: Sequence[Taken], vectors: Vectors, n: int, budget: Budget) -> Found | None:
    """A linear layout of 2^n elements with these vectors whose banks accesses meet least; None if there is none."""
    space = _Space.of(taken, vectors, n)
    if space is None:
        return None
    best = _as_found(taken, vectors, space.completed(space.segments()), n)
    if best is None or best.complete or not space.has_one_number_of_banks:
        return best
    segments, complete = _least_met(space, budget)
    if segments is not None:
        other = _as_found(taken, vectors, space.completed(space.outside_of_all(segments)), n)
        best = min(best, other, key=lambda f: f.merit) if other else best
    return best._replace(complete=complete and space.is_free)


def _as_found(taken: Sequence[Taken], vectors: Vectors, basis: list[int], n: int) -> Found | None:
    columns = bits.inverse(basis, n)
    merit = costs(taken, columns) if columns else None
    return None if merit is None else Found(basis, merit, merit <= vectors.merit)


class _Space(NamedTuple):
    """The givens of a search for segments.

    n            of the space of indices
    vectors      the elements within the longest vector, and those of a word
    word         how many of these are of a word
    room         a basis of where further elements of the basis may be: all, but where accesses in sequence keep it
                 apart from the vectors
    touched      of each access what a group of lanes touches
    banks        of each access the number of bits of a bank
    weights      of each access its wavefronts without any conflict
    is_free      whether nothing but accesses' own vectors was chosen before: then a search of all segments is
                 one of all layouts
    """

    n: int
    vectors: list[int]
    word: int
    room: list[int]
    touched: list[list[int]]
    banks: list[int]
    weights: list[int]
    is_free: bool

    @staticmethod
    def of(taken: Sequence[Taken], vectors: Vectors, n: int) -> _Space | None:
        """None where accesses in sequence cannot have their vectors in any linear layout."""
        lanes = [x.together(step) for x, step in zip(taken, vectors.steps)]
        word = min(n, word_bits(taken[0]))
        units = [1 << k for k in range(n)]
        basis = [*vectors.basis]
        low = low_bits(taken, basis, n)
        if low is None:
            return None
        room = _room(low[0], n)
        is_free = len(basis) >= word and (len(room) == n or low[1])
        if len(basis) < word:  # no access has whole words: they are of what its lanes touch together
            basis = independent([*basis, *itertools.chain.from_iterable(lanes), *units])[:word]
        banks = [x.bank_bits(step) for x, step in zip(taken, vectors.steps)]
        touched = [[*basis[:step], *own] for step, own in zip(vectors.steps, lanes)]
        phases = [x.phase(step) for x, step in zip(taken, vectors.steps)]
        weights = [x.instructions(step) * p.groups for x, step, p in zip(taken, vectors.steps, phases) if p]
        return _Space(n, basis, word, room, touched, banks, weights, is_free)

    @property
    def has_one_number_of_banks(self) -> bool:
        return len({*self.banks}) == 1

    def words(self, access: int) -> list[int]:
        """The word, then what an access touches of it and beyond, independent."""
        return independent([*self.vectors[: self.word], *self.touched[access]])

    def segments(self) -> list[int]:
        """Segments one after the other, each in as few of the accesses' spaces as there can be, and of few bits."""
        spaces = [bits.Echelon(self.words(a)[: self.word + banks]) for a, banks in enumerate(self.banks)]
        return self._outside(spaces, [])

    def outside_of_all(self, segments: list[int]) -> list[int]:
        """Segments, and further ones outside of what all accesses touch together."""
        all_touched = [*itertools.chain.from_iterable(self.touched), *self.vectors, *segments]
        return self._outside([bits.Echelon(all_touched)], segments)

    def _outside(self, spaces: Sequence[bits.Echelon], begin: list[int]) -> list[int]:
        taken = bits.Echelon([*self.vectors, *begin])
        banks = [*self.banks] if len(spaces) == len(self.banks) else [max(self.banks)]
        count = max(0, self.n - max(len(self.vectors), self.word + min(banks)))
        found = [*begin]
        while len(found) < count:
            kept = [s for s, b in zip(spaces, banks) if self.n - self.word - b > len(found)]
            x = _in_fewest(kept, taken, self.room)
            found.append(x)
            for space in (*spaces, taken):
                space.add(x)
        return found

    def completed(self, segments: Sequence[int]) -> list[int]:
        """The basis of all indices: the vectors, what tells banks apart, the segments."""
        found = bits.Echelon([*self.vectors, *segments])
        kept = bits.Echelon(self.room)
        candidates = (*itertools.chain.from_iterable(self.touched), *self.room)
        banks = [x for x in candidates if kept.spans(x) and found.add(x)]
        # of accesses to fewer banks, segments are words of one bank to them alone
        cut = max(0, self.n - self.word - max(self.banks))
        return [*self.vectors, *banks, *segments[cut:], *segments[:cut]]


def _room(forms: Sequence[int], n: int) -> list[int]:
    """A basis of the indices whose offsets are whole vectors of the accesses in sequence: all their low bits are 0."""
    return bits.kernel([along(forms, 1 << k) for k in range(n)]) if forms else [1 << k for k in range(n)]


def _in_fewest(spaces: Sequence[bits.Echelon], taken: bits.Echelon, room: Sequence[int]) -> int:
    """A vector that is independent of those taken, in as few of the spaces as there can be; of these the sum of the
    fewest of `room`."""
    best, least = 0, len(spaces) + 1
    for x in _by_weight(room):
        if not taken.spans(x):
            inside = sum(space.spans(x) for space in spaces)
            if inside < least:
                best, least = x, inside
            if not least:
                break
    return best


def _by_weight(room: Sequence[int]) -> Iterator[int]:
    for weight in range(1, _MOST_SUMMANDS + 1):
        for some in itertools.combinations(room, weight):
            yield sum(some) if weight == 1 else _xor(some)


def _xor(vectors: Sequence[int]) -> int:
    found = 0
    for v in vectors:
        found ^= v
    return found


# ---------------------------------------------------------------------------------------------- three accesses and more


def _least_met(space: _Space, budget: Budget) -> tuple[list[int] | None, bool]:
    """The segments among what the accesses touch that cost least, and whether all were searched.

    What no access touches may be segments without any cost. Of what they touch, of rank t beyond a word, as many
    segments are needed as are not bits of banks. Each space of these has one basis whose highest bits differ, the
    lowest first, of which no vector has the highest bit of another: those bases are gone through.
    """
    word = space.vectors[: space.word]
    together = independent([*word, *space.vectors, *itertools.chain.from_iterable(space.touched)])
    inside = together[len(word) :] if len(space.room) == space.n else bits.intersection(together, space.room)
    missing = len(together) - len(word) - space.banks[0]
    best: list[int] | None = None
    least = 1 << 62

    def extended(chosen: list[int], spaces: list[list[int]], costs: list[int], pivots: int) -> bool:
        """Add a vector in all ways; whether all was searched that could be better."""
        nonlocal best, least
        if len(chosen) == missing:
            best, least = chosen, sum(costs)
            return True
        for high in range(pivots.bit_length(), len(inside) - (missing - len(chosen)) + 1):
            for low in range(1 << high):
                if low & pivots:
                    continue
                if not budget.spend(1):
                    return False
                x = bits.apply(inside, low | 1 << high)
                left = [_reduced(rows, x) for rows in spaces]
                longer = [cost if rest else 2 * cost for cost, rest in zip(costs, left[1:])]
                if not left[0] or sum(longer) >= least:
                    continue
                larger = [[*rows, rest] if rest else rows for rows, rest in zip(spaces, left)]
                if not extended([*chosen, x], larger, longer, pivots | 1 << high):
                    return False
                if least == sum(space.weights):
                    return True
        return True

    if missing <= 0:
        return None, True
    apart = [space.vectors, *(space.words(a) for a in range(len(space.touched)))]
    complete = extended([], [_rows(vectors) for vectors in apart], space.weights, 0)
    return best, complete


def _rows(vectors: Sequence[int]) -> list[int]:
    """Vectors of which none after another has its highest bit: what one pass reduces by."""
    rows: list[int] = []
    for v in vectors:
        if left := _reduced(rows, v):
            rows.append(left)
    return rows


def _reduced(rows: Sequence[int], x: int) -> int:
    for r in rows:
        x = min(x, x ^ r)
    return x
