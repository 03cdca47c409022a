"""Accesses that nothing has ordered yet: who touched each element of a buffer, by threads since a barrier, or by blocks
since the launch.

Source: the PTX manual, "Memory Consistency Model", "Data-races".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..block.touched import NOBODY, SEVERAL, count_of, key_of
from .clocks import Clocks
from .race import Race, Unwritten

#: What a thread does to an element -> what another one must not have done: additions are atomic.
_RACES = {"reads": ("writes", "adds"), "writes": ("writes", "reads", "adds"), "adds": ("writes", "reads")}


class Touched:
    """The thread that "writes", "reads" or "adds" to each element of a buffer, and the statement that does.

    by   what is done -> an array of who did it last, and one of the numbers of statements
    """

    def __init__(self, size: int) -> None:
        self.by: dict[str, tuple[Any, Any]] = {}
        self._size = size

    def clash(self, places: Any, who: Any, clocks: Clocks | None, does: str) -> tuple[int, str] | None:
        """The index of the first access that races with what is noted, and what was done before it."""
        import numpy as np

        for did in _RACES[does]:
            if did not in self.by:
                continue
            before, at = self.by[did]
            clash = (before[places] != NOBODY) & (before[places] != who)
            if clocks is not None and clash.any():
                clash[clash] = ~clocks.know(before[places][clash], at[places][clash], who[clash])
            if clash.any():
                return int(np.argmax(clash)), did
        return None

    def note(self, places: Any, who: Any, lines: Any, clocks: Clocks | None, does: str) -> tuple[int, str] | None:
        """Note accesses; what clash finds of them, and of them with each other."""
        import numpy as np

        if (found := self.clash(places, who, clocks, does)) is not None:
            return found
        before, at = self.by.setdefault(does, (np.full(self._size, NOBODY), np.zeros(self._size, int)))
        at[places] = lines
        if does != "writes":
            others = (before[places] != NOBODY) & (before[places] != who)
            before[places] = np.where(others, SEVERAL, who)
            before[places[before[places] != who]] = SEVERAL  # two threads in this statement
            return None
        before[places] = who
        clash = before[places] != who
        return (int(np.argmax(clash)), does) if clash.any() else None


class Level:
    """Accesses by threads since a barrier, or by blocks since the launch."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.touched: dict[int, tuple[Tensor, Touched]] = {}

    def clashes(self, t: Tensor, places: Any, who: Any, does: str) -> bool:
        """Whether accesses race with what is noted; these are not."""
        found = self.touched.get(key_of(t))
        return found is not None and found[1].clash(places, who, None, does) is not None

    def of(self, t: Tensor) -> Touched:
        held = self.touched.setdefault(key_of(t), (t, Touched(count_of(t))))  # the tensor keeps its buffer where it is
        return held[1]


@dataclass
class Findings:
    """The findings of all blocks of a launch.

    races      the first of each pair of lines
    unwritten  of each line the first element that is read and that nobody has written
    barriers   the barriers, and whether each was needed
    blocks     the accesses of global memory by blocks
    lines      of the statements, in the order in which they are executed: their numbers are places in it
    """

    races: list[Race] = field(default_factory=list)
    unwritten: dict[Line, Unwritten] = field(default_factory=dict)
    barriers: dict[Line, bool] = field(default_factory=dict)
    blocks: Level = field(default_factory=lambda: Level("block"))
    lines: list[Line] = field(default_factory=list)
