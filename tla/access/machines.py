"""Machines as rows of a table: how they write and read shared memory, and what a shuffle takes of the same pipe."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.errors import RangeError
from .memories import (
    AMD_LDS_GFX11_READ,
    AMD_LDS_GFX11_WRITE,
    AMD_LDS_GFX12_READ,
    AMD_LDS_GFX12_WRITE,
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX942_WRITE,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    MEMORIES,
    NVIDIA_SHARED,
    Memory,
    as_memory,
)


class Machine(NamedTuple):
    """A machine as what conversions cost on it, in cycles of the pipe that serves shared memory and shuffles.

    name          the name that it is called by
    write, read   rows of its shared memory; a wavefront is one cycle
    shuffle       cycles of one shuffle of a whole warp
    selects       how many selects of a whole warp there are in a cycle, on another pipe
    source        where that is known from
    lane_moves    the moves from lane to lane that it has on the pipe of selects, one as each:
                  "dpp", "row_xmask", "permlane16"
    ldmatrix, stmatrix   whether a warp loads, or stores, matrices of 8 rows of 16 bytes

    >>> MACHINES["gfx942"].shuffle, MACHINES["sm_90"].selects
    (2, 2)
    """

    name: str
    write: Memory
    read: Memory
    shuffle: int
    selects: int
    source: str
    ldmatrix: bool = False
    stmatrix: bool = False
    lane_moves: tuple[str, ...] = ()


_GUIDE = (
    "CUDA C++ Programming Guide, arithmetic instructions: a multiprocessor has 32 results of warp shuffles a cycle, 64 "
    "of selects"
)
_CROSSBAR = (
    "predicted: ds_bpermute_b32 goes through the crossbar of LDS, 32 lanes a cycle; a compute unit selects in 64 lanes "
    "a cycle"
)
_CDNA, _RDNA = ("dpp",), ("dpp", "row_xmask", "permlane16")
_NVIDIA = Machine("sm_80", NVIDIA_SHARED, NVIDIA_SHARED, 1, 2, _GUIDE)
_ROWS = (
    *(
        _NVIDIA._replace(name=f"sm_{n}", ldmatrix=n >= 75, stmatrix=n >= 90)
        for n in (70, 75, 80, 86, 89, 90, 100, 103, 120)
    ),
    Machine("gfx942", AMD_LDS_GFX942_WRITE, AMD_LDS_GFX942_READ, 2, 1, _CROSSBAR, lane_moves=_CDNA),
    Machine("gfx950", AMD_LDS_GFX950_WRITE, AMD_LDS_GFX950_READ, 2, 1, _CROSSBAR, lane_moves=_CDNA),
    Machine("gfx1100", AMD_LDS_GFX11_WRITE, AMD_LDS_GFX11_READ, 1, 2, _CROSSBAR, lane_moves=_RDNA),
    Machine("gfx1200", AMD_LDS_GFX12_WRITE, AMD_LDS_GFX12_READ, 1, 2, _CROSSBAR, lane_moves=_RDNA),
)
#: name -> the row.
MACHINES = {machine.name: machine for machine in _ROWS}


def as_machine(x: Any) -> Machine:
    """A machine itself or by name; a memory, its name, or a pair for writes and reads, is that of a machine with it."""
    if isinstance(x, Machine):
        return x
    if isinstance(x, str) and x in MACHINES:
        return MACHINES[x]
    if isinstance(x, str) and x not in MEMORIES:
        what = f"the machine {x!r:.40}"
        raise RangeError(what, f"one of {', '.join([*MACHINES, *MEMORIES])}", "use one of these, or make a Machine")
    write, read = map(as_memory, x) if isinstance(x, (tuple, list)) and len(x) == 2 else (as_memory(x),) * 2
    shuffle = read.lanes // read.banks if read.banks else 1
    return Machine(read.name, write, read, max(1, shuffle), 1 if read.lanes > 32 else 2, read.source)
