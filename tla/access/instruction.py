"""The cost of one instruction: where the vectors of its lanes begin, against the banks or the sectors of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .memories import Groups, Memory


class Cost(NamedTuple):
    """The counts of one instruction, as tla.access.Access has them. clash: the bank that is asked for most, with a lane
    for each word."""

    wavefronts: int
    least: int
    degree: int
    clash: tuple[int, list[int]] | None
    used: int
    moved: int
    lines: int

    @property
    def rank(self) -> tuple[float, int]:
        """The order of costs: the worst instruction has the largest."""
        return self.wavefronts / max(1, self.least), self.degree


def cost_of(starts: Sequence[int], width: int, row: Memory, groups: Groups) -> Cost:
    """The cost of an instruction of lanes whose vectors of this width begin at these places [bits], in groups
    of the memory's."""
    return _banked(starts, width, groups, row) if row.phases[width][0] else _sectors(starts, width, row)


def moved(starts: Sequence[int], row: Memory) -> tuple[int, ...]:
    """The places of an instruction's vectors from where it begins, to a line or a word: equal ones cost the same."""
    unit = row.line_bits or row.word_bits
    begin = starts[0] // unit * unit
    return tuple(x - begin for x in starts)


def _banked(starts: Sequence[int], width: int, groups: Groups, row: Memory) -> Cost:
    """The cost of one instruction of a memory with banks."""
    banks, wavefronts, least, degree, used = row.phases[width][0], 0, 0, 0, 0
    clash: tuple[int, list[int]] | None = None
    for group in groups:
        words: dict[int, int] = {}
        for lane in group:
            start = starts[lane]
            for word in range(start // row.word_bits, (start + width - 1) // row.word_bits + 1):
                words.setdefault(word, lane)
        per_bank = Counter(word % banks for word in words)
        bank, most = per_bank.most_common(1)[0]
        if most > degree:
            degree, clash = most, (bank, [lane for word, lane in sorted(words.items()) if word % banks == bank])
        wavefronts, least = wavefronts + most, least + 1
        used += len({starts[lane] for lane in group}) * width // 8
    return Cost(wavefronts, least, degree, clash, used, wavefronts * banks * row.word_bits // 8, 0)


def _sectors(starts: Sequence[int], width: int, row: Memory) -> Cost:
    """The cost of one instruction of a memory that moves whole sectors."""
    sectors: set[int] = set()
    for start in starts:
        sectors.update(range(start // row.word_bits, (start + width - 1) // row.word_bits + 1))
    asked = len({*starts}) * width
    lines = len({s * row.word_bits // row.line_bits for s in sectors}) if row.line_bits else 0
    return Cost(len(sectors), -(-asked // row.word_bits), 1, None, asked // 8, len(sectors) * row.word_bits // 8, lines)
