"""Accesses as spaces over bits: what a linear layout of memory costs them, by ranks alone, and what no
layout costs less than.

The index of an element in the tile is a vector over bits, and so is its offset. A linear layout of memory is a basis of
the indices: basis[j] is the element at offset 2^j. Registers, lanes and warps are what each bit of their
numbers adds to the index.

* A lane takes vectors of 2^k elements where basis[:k] are among its registers. That holds of any layout, not of linear
  ones alone: to flip bit j of an offset within a vector is to flip one register's bit, the same element's
  for each access.
* So an access has 2^(warps + rank(registers) - k) instructions, each of one wavefront or more for each group of lanes.
* The lanes of a group are a coset of a space, and so are the words that they touch: vectors + lanes, but for what is in
  one word. Of a space of words each bank is asked for 2^(rank of the words - rank of their bits of banks) at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.cache import plain_memo
from ..linear import bits
from .by_bits import are_powers
from .memories import Memory


class Phase(NamedTuple):
    """The groups of lanes that go together in an instruction: cosets of one space.

    groups   how many there are
    space    a basis of the differences of lanes' numbers in a group
    """

    groups: int
    space: tuple[int, ...]


@plain_memo
def phase(row: Memory, width: int, lanes: int) -> Phase | None:
    """The groups of an access of this width by so many lanes; None where they are no cosets of one space.

    >>> from .memories import AMD_LDS_GFX942_READ
    >>> phase(AMD_LDS_GFX942_READ, 128, 64)
    Phase(groups=8, space=(1, 2, 20))
    """
    groups = row.groups(width, lanes)[1]
    differences = {lane ^ groups[0][0] for lane in groups[0]}
    space = independent(sorted(differences))
    alike = all({lane ^ group[0] for lane in group} == differences for group in groups)
    if 1 << len(space) != len(differences) or not alike:
        return None
    return Phase(len(groups), tuple(space))


@dataclass(frozen=True)
class Taken:
    """An access of a tile over bits.

    registers      what each bit of the register's number adds to an element's index
    lanes, warps   so of a lane's number; of a warp's and a block's
    memory         the row that it is counted by
    element_bits   the width of an element [bits]
    asked          the width of a lane's access [bits], its elements those of the first registers in sequence;
                   None for the widest
    filled         whether lanes write one after the other in every layout: then without conflicts
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    memory: Memory
    element_bits: int
    asked: int | None = None
    filled: bool = False

    @functools.cached_property
    def steps(self) -> tuple[int, ...]:
        """The exponents of the numbers of elements that a lane may take at once, the least first."""
        widths = self.memory.widths if self.asked is None else (self.asked,)
        counts = [w // self.element_bits for w in widths if w % self.element_bits == 0]
        return tuple(sorted(bits.log2(n) for n in counts if bits.is_power_of_two(n)))

    @functools.cached_property
    def own(self) -> frozenset[int]:
        """The registers' steps that vectors may have."""
        return frozenset(self.registers) - {0}

    @functools.cached_property
    def rank(self) -> int:
        return bits.rank(self.registers)

    @property
    def sequence(self) -> tuple[int, ...]:
        """The vectors that it has in any layout: those asked for in sequence."""
        return () if self.asked is None else self.registers[: self.steps[0]]

    @property
    def others(self) -> tuple[int, ...]:
        """The registers after its vectors, lanes and warps: accesses in sequence need them whole vectors apart."""
        return (*self.registers[len(self.sequence) :], *self.lanes, *self.warps)

    def phase(self, step: int) -> Phase | None:
        return phase(self.memory, self.element_bits << step, 1 << len(self.lanes))

    def together(self, step: int) -> list[int]:
        """A basis of the differences, over bits, of the indices that the lanes of a group begin at; none where they are
        side by side in memory, whichever these are."""
        found = self.phase(step)
        return [] if found is None or self.filled else [bits.apply(self.lanes, lane) for lane in found.space]

    def bank_bits(self, step: int) -> int:
        """The number of bits of an offset that say the bank of a word, or of an element that is wider."""
        banks = self.memory.phases[self.element_bits << step][0]
        return bits.log2(banks * self.memory.word_bits // self.element_bits) - word_bits(self)

    def instructions(self, step: int) -> int:
        return 1 << len(self.warps) + self.rank - step

    def least(self, vector: Sequence[int], forms: Sequence[int] = ()) -> int:
        """Wavefronts that no layout avoids whose vectors are these: each group one, or as many as its elements
        fill all banks.

        forms   bits of an index that every layout has as the low bits of the offset: elements in which these are equal
                share few banks
        """
        step = len(vector)
        banks, groups = self.memory.groups(self.element_bits << step, 1 << len(self.lanes))
        found, line = self.phase(step), banks * self.memory.word_bits
        if found is None or (not forms and self.element_bits << step + len(found.space) <= line):
            return self.instructions(step) * len(groups)
        held = [*vector, *self.together(step)]
        rank = bits.rank(held)
        alike = rank - len(independent(along(forms, x) for x in held))
        some = (self.element_bits << alike) * (1 << len(forms))  # as many as if all low bits had so many
        return self.instructions(step) * len(groups) * max(1, -(-(self.element_bits << rank) // line), some // line)

    def cost(self, columns: Sequence[int]) -> tuple[int, int] | None:
        """Wavefronts of all instructions, and the width of a lane's access [bits], in a layout; None where it
        has no such vectors.

        columns   what each bit of an index adds to the offset
        """
        step = self._step([bits.apply(columns, x) for x in self.registers], columns)
        found = None if step is None else self.phase(step)
        if step is None or found is None:
            return None
        word, banks = word_bits(self), self.bank_bits(step)
        touched = [
            x >> word for x in (*(1 << j for j in range(step)), *(bits.apply(columns, x) for x in self.together(step)))
        ]
        degree = 1 << len(independent(touched)) - len(independent(x & (1 << banks) - 1 for x in touched))
        return self.instructions(step) * found.groups * degree, self.element_bits << step

    def _step(self, registers: Sequence[int], columns: Sequence[int]) -> int | None:
        """The exponent of the elements that a lane takes at once."""
        if self.asked is None:
            return max((s for s in self.steps if all(1 << j in registers for j in range(s))), default=None)
        step = self.steps[0]
        apart = (*registers[step:], *(bits.apply(columns, x) for x in (*self.lanes, *self.warps)))
        in_order = [*registers[:step]] == [1 << j for j in range(step)]
        is_in_sequence = in_order and not any(x % (1 << step) for x in apart)
        return step if is_in_sequence else None


def word_bits(taken: Taken) -> int:
    """The number of bits of an offset within a word."""
    return max(0, bits.log2(max(1, taken.memory.word_bits // taken.element_bits)))


def is_exact(taken: Sequence[Taken]) -> bool:
    """Whether ranks say what the accesses cost: powers of two, groups that are cosets, words of one size."""
    if len({x.memory.word_bits for x in taken}) > 1 or not all(are_powers(x.memory, x.element_bits) for x in taken):
        return False
    return all(x.phase(step) is not None and x.bank_bits(step) >= 0 for x in taken for step in x.steps)


def costs(taken: Sequence[Taken], columns: Sequence[int]) -> tuple[int, int] | None:
    """The merit of a layout, less is better: wavefronts of all accesses, then minus the sum of their widths [bits]."""
    found = [x.cost(columns) for x in taken]
    return None if None in found else (sum(f[0] for f in found if f), -sum(f[1] for f in found if f))


def along(forms: Sequence[int], x: int) -> int:
    """The values of linear forms at x: bit j is the parity of the bits that x and forms[j] have in common.

    >>> along([0b11, 0b100], 0b101)
    3
    """
    return sum(((form & x).bit_count() & 1) << j for j, form in enumerate(forms))


def independent(vectors: Iterable[int]) -> list[int]:
    """The vectors that are no sums of those before them.

    >>> independent([1, 3, 2, 4])
    [1, 3, 4]
    """
    reduced: list[int] = []
    found = []
    for v in vectors:
        left = v
        for r in reduced:
            left = min(left, left ^ r)
        if left:
            reduced.append(left)
            found.append(v)
    return found


# ------------------------------------------------------------------------------------------------- vectors


class Vectors(NamedTuple):
    """The vectors of all accesses in a layout.

    basis   the elements at the offsets 1, 2, 4, ... within the longest
    steps   how many of these each access has
    least   wavefronts of all accesses that no layout with these vectors avoids
    bits    the sum of their widths [bits]
    """

    basis: tuple[int, ...]
    steps: tuple[int, ...]
    least: int
    bits: int

    @property
    def merit(self) -> tuple[int, int]:
        """As `costs` has it: what a layout of these vectors has at best."""
        return self.least, -self.bits


def low_bits(taken: Sequence[Taken], basis: Sequence[int], n: int) -> tuple[list[int], bool] | None:
    """The low bits of offsets as forms of the index, where accesses go in sequence, and whether any layout
    has just these.

    Bit j is 1 for basis[j], 0 for the rest of the basis and for all that accesses whose vectors have this bit need
    apart. Every layout, linear or not, has it where one of these accesses holds the whole tile. None where
    no layout has it.
    """
    forms, is_forced = [], True
    for j in range(max(len(x.sequence) for x in taken)):
        having = [x for x in taken if len(x.sequence) > j]
        is_forced &= any(bits.rank([*x.sequence, *x.others]) == n for x in having)
        apart = bits.Echelon([*basis[:j], *basis[j + 1 :], *(o for x in having for o in x.others)])
        if apart.spans(basis[j]):
            return None
        apart.add(basis[j])
        place = apart.count - 1
        for k in range(n):
            apart.add(1 << k)
        forms.append(sum(1 << k for k in range(n) if (apart.solve(1 << k) or 0) >> place & 1))
    return forms, is_forced


def vectors(taken: Sequence[Taken], n: int) -> list[Vectors]:
    """All vectors that a layout of 2^n elements can give these accesses, those of the fewest wavefronts first,
    of these the longest.

    Accesses share the vectors' first bits; where one ends the others go on, so that the order matters where
    one ends only.
    """
    begin = max((x.sequence for x in taken), key=len, default=())
    if any(x.sequence != begin[: len(x.sequence)] for x in taken) or len(independent(begin)) < len(begin):
        return []
    low = low_bits(taken, begin, n)
    if low is None:
        return []
    forms, is_forced = low
    found = (_vectors(basis, taken, forms if is_forced else ()) for basis in _bases(begin, taken))
    return sorted((v for v in found if v is not None), key=lambda v: v.merit)


def _vectors(basis: tuple[int, ...], taken: Sequence[Taken], forms: Sequence[int]) -> Vectors | None:
    steps = []
    for x in taken:
        reach = next((j for j, b in enumerate(basis) if b not in x.own), len(basis))
        step = max((s for s in x.steps if s <= reach), default=None)
        if step is None:
            return None
        steps.append(step)
    least = sum(x.least(basis[:step], forms) for x, step in zip(taken, steps))
    return Vectors(basis, tuple(steps), least, sum(x.element_bits << step for x, step in zip(taken, steps)))


def _bases(begin: tuple[int, ...], taken: Sequence[Taken]) -> Iterator[tuple[int, ...]]:
    """The bases of vectors that begin so; of those that the same accesses share one for each set of elements."""

    def going_on(basis: tuple[int, ...]) -> list[Taken]:
        return [x for x in taken if x.steps and len(basis) < x.steps[-1] and x.own.issuperset(basis)]

    def extended(basis: tuple[int, ...], after: int) -> Iterator[tuple[int, ...]]:
        yield basis
        active = going_on(basis)
        choices = [*dict.fromkeys(r for x in active for r in x.registers if r in x.own)]
        for place, r in enumerate(choices):
            longer = (*basis, r)
            same = len(going_on(longer)) == len(active)
            if len(independent(longer)) == len(longer) and not (same and place < after):
                yield from extended(longer, place if same else -1)

    return extended(begin, -1)
