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


class Touched:
    """The thread that wrote each element of a buffer, the one that read it, and the statements that did."""

    def __init__(self, size: int) -> None:
        import numpy as np

        self.writer, self.reader = (np.full(size, NOBODY) for _side in range(2))
        self.written_at, self.read_at = (np.zeros(size, int) for _side in range(2))

    def clash(self, places: Any, who: Any, clocks: Clocks | None, *, writes: bool) -> tuple[int, bool] | None:
        """The index of the first access that races with what is noted, and whether a write was before it."""
        import numpy as np

        written, read = (self.writer, self.written_at, True), (self.reader, self.read_at, False)
        for before, at, wrote in (written, read) if writes else (written,):
            clash = (before[places] != NOBODY) & (before[places] != who)
            if clocks is not None and clash.any():
                clash[clash] = ~clocks.know(before[places][clash], at[places][clash], who[clash])
            if clash.any():
                return int(np.argmax(clash)), wrote
        return None

    def note(
        self, places: Any, who: Any, lines: Any, clocks: Clocks | None, *, writes: bool
    ) -> tuple[int, bool] | None:
        """Note accesses; what clash finds of them, and of them with each other."""
        import numpy as np

        if (found := self.clash(places, who, clocks, writes=writes)) is not None:
            return found
        (self.written_at if writes else self.read_at)[places] = lines
        if not writes:
            others = (self.reader[places] != NOBODY) & (self.reader[places] != who)
            self.reader[places] = np.where(others, SEVERAL, who)
            self.reader[places[self.reader[places] != who]] = SEVERAL  # two threads in this statement
            return None
        self.writer[places] = who
        clash = self.writer[places] != who
        return (int(np.argmax(clash)), True) if clash.any() else None


class Level:
    """Accesses by threads since a barrier, or by blocks since the launch."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.touched: dict[int, tuple[Tensor, Touched]] = {}

    def clashes(self, t: Tensor, places: Any, who: Any, *, writes: bool) -> bool:
        """Whether accesses race with what is noted; these are not."""
        found = self.touched.get(key_of(t))
        return found is not None and found[1].clash(places, who, None, writes=writes) is not None

    def of(self, t: Tensor) -> Touched:
        return self.touched.setdefault(key_of(t), (t, Touched(count_of(t))))[
            1
        ]  # the tensor keeps its buffer where it is


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
