"""The answer of a check: rows, each with the line that it is of, printed as a table.

Source: ours.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import TlaError
from ..block.lines import Line
from .race import Race, Unwritten


class Refused(NamedTuple):
    """An access that cannot be made: past the end, or none that the instruction makes.

    line    of the access
    error   what run raises for it: what was found, with the coordinate; what was expected; how to mend it

    >>> from tla import RangeError
    >>> from tla.kernels import Refused
    >>> from tla.kernels.block.lines import Line
    >>> print(Refused(Line("k.py", 7), RangeError("reads a at (8)", "an element", "guard it")))
    k.py:7: reads a at (8)

    Source: ours.
    """

    line: Line
    error: TlaError

    @property
    def at_its_line(self) -> TlaError:
        """The error with the line in front of what it says."""
        reason = self.error.reason
        return type(self.error)(str(self), reason.expected, reason.fix)

    def __str__(self) -> str:
        return f"{self.line}: {self.error.reason.what}"


class Counted(NamedTuple):
    """An access of shared or global memory, all of its instructions in all blocks together.

    line           of the access
    memory         "shared memory" or "global memory"
    writes         whether it writes
    bits           of each thread's access
    instructions   of all warps
    wavefronts     how often shared memory is asked; of global memory the sectors of 32 bytes that are moved
    least          the fewest that accesses of so many bytes need
    degree         the most words of one bank that an instruction asks for at once: 1 is free of conflicts

    >>> from tla.kernels.block.lines import Line
    >>> from tla.kernels import Counted
    >>> print(Counted(Line("k.py", 7), "shared memory", False, 32, 4, 8, 4, 2))
    k.py:7  reads shared memory  4 of 32 bits  8 wavefronts, 4 at least  2-way conflict

    Source: tla.access, and its table of memories.
    """

    line: Line
    memory: str
    writes: bool
    bits: int
    instructions: int
    wavefronts: int
    least: int
    degree: int

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        unit = "wavefronts" if self.memory == "shared memory" else "sectors"
        conflict = (f"{self.degree}-way conflict",) if self.degree > 1 else ()
        what = f"{'writes' if self.writes else 'reads'} {self.memory}"
        counted = f"{self.wavefronts:,} {unit}, {self.least:,} at least"
        return str(self.line), what, f"{self.instructions:,} of {self.bits} bits", counted, *conflict

    def __str__(self) -> str:
        return "  ".join(self.cells)


class Used(NamedTuple):
    """Something that a block takes of a multiprocessor.

    line   where it is taken, at its most; None of what no line takes
    what   its name
    used   how much
    most   how much an architecture has for it; None where none was named

    >>> from tla.kernels import Used
    >>> print(Used(None, "bytes of shared memory", 4096, 101376))
    4,096 bytes of shared memory, of 101,376

    Source: the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    """

    line: Line | None
    what: str
    used: int
    most: int | None

    @property
    def holds(self) -> bool:
        """Whether it is there."""
        return self.most is None or self.used <= self.most

    def __str__(self) -> str:
        most = "" if self.most is None else f", of {self.most:,}"
        return f"{self.used:,} {self.what}{most}{'' if self.holds else ': TOO MANY'}"


class Report(NamedTuple):
    """The answer of a check, for the sizes it was given.

    races       the first race of each pair of lines
    bounds      accesses that cannot be made: past the end, or none that their instruction makes
    conflicts   every access of shared and global memory, counted; a row with wavefronts above `least` has conflicts
    resources   shared memory and registers of a block
    idle        barriers without which nothing would race
    unwritten   shared memory that is read before any thread of the block has written it; what is behind the
                edges may be so
    blocks      the number of blocks
    threads     of a block; 0 on Ascend, where the pipes of a core are what runs at once
    sizes       the sizes that were chosen for it, of a kernel whose sizes are symbols
    unproved    of such a kernel why it is not proved that no threads race, whatever the sizes are; None where
                that is proved
    notes       what is proved besides, and what is taken for granted, in words

    >>> from tla.kernels import Report
    >>> print(Report((), (), (), (), (), (), 4, 32))
    no race among 4 blocks of 32 threads, for these sizes

    Source: ours.
    """

    races: tuple[Race, ...]
    bounds: tuple[Refused, ...]
    conflicts: tuple[Counted, ...]
    resources: tuple[Used, ...]
    idle: tuple[Line, ...]
    unwritten: tuple[Unwritten, ...]
    blocks: int
    threads: int
    sizes: tuple[tuple[str, int], ...] = ()
    unproved: str | None = "sizes that are given"
    notes: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it is proved that no threads race, whatever the sizes are."""
        return self.unproved is None

    @property
    def holds(self) -> bool:
        """Whether there is no race, every access can be made, and a block has what it takes."""
        return not self.races and not self.bounds and all(x.holds for x in self.resources)

    @property
    def at(self) -> str:
        """The sizes that it is of, in words."""
        return ", ".join(f"{name} = {n}" for name, n in self.sizes) or "these sizes"

    def __str__(self) -> str:
        rows = [row.cells for row in self.conflicts]
        widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(max(map(len, rows), default=0))]
        blocks = f"{self.blocks} blocks"
        among = f"{blocks} of {self.threads} threads" if self.threads else f"the pipes of {blocks}"
        for_all = self.proved and not self.sizes and not self.threads
        silent = self.races or (not self.threads and not self.blocks)  # on Ascend none, of a block of any size
        none: tuple[str, ...] = () if silent else (f"no race among {among}, for {self.at}",)
        if self.sizes or for_all:
            unproved = f"not proved for other sizes: {self.unproved}"
            none += ("no race for any sizes, by proof" if self.proved else unproved,)
        table = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
        used = (x for x in self.resources if x.used)
        idle = (f"{line}: nobody needs this barrier" for line in self.idle)
        found = (*table, *used, *idle, *self.unwritten, *self.bounds, *self.races, *none, *self.notes)
        return "\n".join(map(str, found))
