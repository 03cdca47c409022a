"""A launch that is watched: its races, the cost of its accesses, what it takes of a multiprocessor.

Source: ours.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...access.instruction import Cost, cost_of
from ...access.machines import MACHINES, Machine
from ...access.memories import NVIDIA_GLOBAL, Memory
from ...core.errors import TlaError
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...gpu.instructions.tmem import COLUMNS
from ...gpu.run.sides import memory_of
from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..block.touched import Access, name_of, places_and_chosen
from ..program.resources import limits_of, placed, require_runs, require_tma
from .beside import Beside
from .cluster_races import ClusterRaces
from .levels import Findings
from .live import LiveRegisters
from .report import Counted, Refused, Used


@dataclass
class _Most:
    """The most that a block takes: bytes of shared memory; columns and registers, each with its line."""

    shared: int = 0
    columns: tuple[int, Line | None] = 0, None
    registers: tuple[int, Line | None] = 0, None


class Watch:
    """The findings of a launch, while every block of it runs.

    threads    of a block
    arch       the architecture whose banks and limits are asked; None for NVIDIA's banks and no limits
    counting   whether the cost of accesses is counted

    Source: ours.
    """

    def __init__(self, threads: int, arch: str | None, *, counting: bool) -> None:
        self.findings = Findings()
        self.races = ClusterRaces(threads, self.findings)
        self.refused: dict[tuple[Line, str], Refused] = {}
        self._threads, self._limits, self._counting, self._arch = threads, limits_of(arch, threads), counting, arch
        self._machine: Machine = MACHINES.get(arch or "", MACHINES["sm_80"])
        self._costs: dict[Any, Cost] = {}
        self._counts: dict[tuple[Line, str, bool, int], list[int]] = {}
        self._live = LiveRegisters()
        self._shared: list[int] = []
        self._most = _Most()

    def of_block(self, number: int, beside: Beside | None = None) -> Watch:
        """The watch of a block, with shared memory and races of its own; what it finds is found by this one."""
        own = copy.copy(self)
        own.races = ClusterRaces(self._threads, self.findings, number, beside)
        own._live, own._shared = LiveRegisters(), []
        return own

    # ------------------------------------------------------------------------------------------- what is noted

    def refuse(self, line: Line, error: TlaError) -> None:
        """Note a statement that could not be executed."""
        self.refused.setdefault((line, error.reason.what), Refused(line, error))

    def allocate(self, nbytes: int) -> None:
        """Note shared memory."""
        self._shared.append(nbytes)
        self._most.shared = max(self._most.shared, placed(self._shared)[1])

    def reserve(self, line: Line, columns: int) -> None:
        """Note columns of tensor memory, all that a block has."""
        if columns > self._most.columns[0]:
            self._most.columns = columns, line

    def note(self, line: Line, reads: list[Access], writes: list[Access]) -> None:
        """Note what a statement of all threads reads, then what it writes."""
        self.races.note(line, reads, writes)
        for accesses, written in ((reads, False), (writes, True)):
            for access in accesses:
                if memory_of(access.tensor) == "registers":
                    self._live.touch(access.tensor, line, written=written)
                elif self._counting and access.tensor.data is not None and memory_of(access.tensor) != "TMEM":
                    self._count(line, access, written)

    def ask(self, atom: CopyAtom | MMAAtom) -> None:
        """Require an instruction of the architecture. Raises what require_runs raises."""
        require_runs(atom, self._arch)

    def ask_tma(self) -> None:
        """Require an architecture that has TMA. Raises RangeError."""
        require_tma(self._arch)

    def product(self, line: Line, reads: list[Access], adds: list[Tensor]) -> None:
        """Note an asynchronous product: of tiles of shared memory, with no conflicts to count, and of registers."""
        self.races.product(line, reads, adds)
        held = [x.tensor for x in reads if memory_of(x.tensor) == "registers"]
        for t, written in (*((x, False) for x in (*held, *adds)), *((x, True) for x in adds)):
            self._live.touch(t, line, written=written)

    def end_block(self) -> None:
        """End the block."""
        self.races.end_block()
        self._live.end_block()
        self._most.registers = max(self._most.registers, self._live.most, key=lambda found: found[0])

    # ------------------------------------------------------------------------------------------- what is counted

    def _row(self, t: Tensor, written: bool) -> Memory:
        if memory_of(t) != "smem":
            return NVIDIA_GLOBAL
        return self._machine.write if written else self._machine.read

    def _count(self, line: Line, access: Access, written: bool) -> None:
        """Count the instructions of an access, warp by warp: alike ones once."""
        import numpy as np

        t = access.tensor
        row, each = self._row(t, written), 8 * t.dtype.itemsize
        bits = access.vector * each
        width = max((w for w in row.widths if bits % w == 0), default=None)
        if width is None:
            return
        places, chosen = (x.reshape(len(x), -1, order="F") for x in places_and_chosen(access, self._threads))
        step = min(access.vector, width // each) if width >= each else 1
        starts, taken = places[:, ::step] * each, chosen[:, ::step]
        counted = self._counts.setdefault((line, name_of(t), written, width), [0, 0, 0, 0])
        for begin in range(0, len(starts), row.lanes):
            lanes, mask = (x[begin : begin + row.lanes].T for x in (starts, taken))
            unit = row.line_bits or row.word_bits
            first = np.where(mask, lanes, lanes.max(initial=0)).min(axis=1, keepdims=True) // unit * unit
            for one, times in _alike(np.where(mask, lanes - first, -1)).items():
                cost = self._cost(one, width, row)
                if cost is not None:
                    counted[0] += times
                    counted[1] += times * cost.wavefronts
                    counted[2] += times * cost.least
                    counted[3] = max(counted[3], cost.degree)

    def _cost(self, held: bytes, width: int, row: Memory) -> Cost | None:
        """The cost of an instruction whose starts _alike gives, -1 for a lane without; None if no lane takes part."""
        import numpy as np

        key = held, width, row.name
        if key not in self._costs:
            starts = np.frombuffer(held, np.int64).tolist()
            taking = {lane for lane, x in enumerate(starts) if x >= 0}
            if not taking:
                return None
            groups = row.groups(width, len(starts))[1]
            left = tuple(g for group in groups if (g := tuple(lane for lane in group if lane in taking)))
            first = starts[min(taking)]
            given = [first if x < 0 else x for x in starts]  # a lane that takes no part asks for nothing more
            self._costs[key] = cost_of(given, width, row, left)
        return self._costs[key]

    # ------------------------------------------------------------------------------------------- what is said

    @property
    def counted(self) -> tuple[Counted, ...]:
        """A row for each access, in the order of lines."""
        rows = [Counted(*key, *counts) for key, counts in self._counts.items() if counts[0]]
        return tuple(sorted(rows, key=lambda row: (row.line, row.writes)))

    @property
    def used(self) -> tuple[Used, ...]:
        """The resources that a block takes, beside what the architecture has."""
        (held, line), (columns, reserved), limits = self._most.registers, self._most.columns, self._limits
        shared = Used(None, "bytes of shared memory", self._most.shared, limits.shared)
        own = Used(line, "registers of a thread for its fragments, an estimate", held, limits.registers)
        return shared, own, Used(reserved, "columns of tensor memory", columns, COLUMNS)

    @property
    def idle(self) -> tuple[Line, ...]:
        """The barriers that nobody needs."""
        return tuple(line for line, needed in self.findings.barriers.items() if not needed)


def _alike(rows: Any) -> Counter[bytes]:
    """The rows of an array of integers as bytes, and how often each is there: faster than sorting them."""
    import numpy as np

    rows = np.ascontiguousarray(rows, np.int64)
    found: list[bytes] = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    return Counter(found)
