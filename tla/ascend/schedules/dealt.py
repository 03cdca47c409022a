"""Blocks that cores take in turn, by their sizes alone: what Schedule has one by one, without a Block for each.

Source: ours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ..element import as_element
from .block import Traffic
from .schedule import Schedule


@dataclass(frozen=True)
class Dealt:
    """The blocks of a schedule whose cores take whole blocks in turn. Their kinds are 0 of whole tiles, 1 of the last
    columns, 2 of the last rows, 3 of both.

    schedule   by GemmIdentityBlockSwizzle, without slices of k

    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> from tla.ascend.schedules.dealt import Dealt
    >>> dealt = Dealt(GemmIdentityBlockSwizzle[2, 0]((96, 80, 128), (32, 32, 64), cores=4))
    >>> dealt.sizes[1], [[*kinds] for kinds in dealt.lists]
    ((32, 16, 128), [[0, 1, 0], [0, 1], [0, 1], [0, 0]])
    """

    schedule: Schedule

    @property
    def sizes(self) -> tuple[tuple[int, int, int], ...]:
        """The sizes of blocks by kind."""
        m, n, k = self.schedule.problem
        (whole_m, last_m), (whole_n, last_n) = (
            (tile, size - (count - 1) * tile)
            for size, tile, count in zip((m, n), self.schedule.tile, self.schedule.blocks)
        )
        return (whole_m, whole_n, k), (whole_m, last_n, k), (last_m, whole_n, k), (last_m, last_n, k)

    @functools.cached_property
    def lists(self) -> tuple[bytes, ...]:
        """The kinds of the blocks of each core, in order; the last block of a size that is whole is like the others."""
        import numpy as np

        cores, kinds = self.schedule.cores, np.zeros(len(self.schedule.coordinates[0]), np.uint8)
        for at, size, tile, count, kind in self._modes():
            if size % tile:
                kinds[at == count - 1] += kind
        return tuple(kinds[core::cores].tobytes() for core in range(cores))

    def traffic(self, element: object) -> Traffic:
        """The bytes of A and B that cores read, from global memory and from L2: those of Schedule.traffic.

        In a wave each row and each column of blocks is read from global memory once: these are counted for all waves.
        """
        import numpy as np

        k, bits, once, total = self.schedule.problem[2], as_element(element).bits, 0, 0
        for at, size, tile, count, _ in self._modes():
            waves = np.arange(len(at)) // self.schedule.cores
            met = np.unique(waves * count + at) % count
            once += (len(met) * tile - int((met == count - 1).sum()) * (count * tile - size)) * k
            total += size * (len(at) // count) * k
        return Traffic(once * bits // 8, total * bits // 8 - once * bits // 8)

    def _modes(self) -> Any:
        """The modes m and n: where each block begins [blocks], the size, its tile, the number of blocks, and a kind."""
        s = self.schedule
        return zip(s.coordinates, s.problem, s.tile, s.blocks, (2, 1))
