"""Targets: the memories whose accesses are counted, and whether warps have matrix loads and stores."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..access import (
    AMD_LDS_GFX11_READ,
    AMD_LDS_GFX11_WRITE,
    AMD_LDS_GFX12_READ,
    AMD_LDS_GFX12_WRITE,
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX942_WRITE,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    NVIDIA_GLOBAL,
    NVIDIA_SHARED,
    Memory,
)
from ..core.errors import RangeError


class Machine(NamedTuple):
    """A target, as Triton names it.

    read, write   shared memory, in loads and in stores
    ldmatrix      whether a warp loads matrices of 8 rows of 16 bytes; stmatrix: whether it stores them
    narrow        whether ldmatrix transposes elements of 8 bits, too
    nvidia        whether it is one of NVIDIA's
    redux         the operations that a warp reduces 32 bits by in one instruction
    atomics       whether atomics of floating-point vectors are one instruction
    memory        global memory of NVIDIA's
    transposes    whether its loads of shared memory transpose by themselves, which is not counted here

    >>> machine("cuda:80").ldmatrix, machine("cuda:80").stmatrix
    (True, False)
    """

    name: str
    read: Memory
    write: Memory
    ldmatrix: bool = False
    stmatrix: bool = False
    narrow: bool = False
    nvidia: bool = False
    redux: tuple[str, ...] = ()
    atomics: bool = False
    memory: Memory = NVIDIA_GLOBAL

    @property
    def widest(self) -> int:
        """The bits of the widest load and store of global memory by a thread."""
        return max(self.memory.phases)

    transposes: bool = False


_AMD = {
    "gfx942": (AMD_LDS_GFX942_READ, AMD_LDS_GFX942_WRITE),
    "gfx950": (AMD_LDS_GFX950_READ, AMD_LDS_GFX950_WRITE),
    "gfx11": (AMD_LDS_GFX11_READ, AMD_LDS_GFX11_WRITE),
    "gfx12": (AMD_LDS_GFX12_READ, AMD_LDS_GFX12_WRITE),
}
#: Global memory from sm_100 on: PTX has loads and stores of 256 bits there, .v8.b32 and .v4.b64.
_WIDE = replace(NVIDIA_GLOBAL, phases={**NVIDIA_GLOBAL.phases, 256: NVIDIA_GLOBAL.phases[128]})
_REDUX = tuple(f"arith.{name}" for name in ("addi", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"))
_REDUX_OF_FLOATS = tuple(f"arith.{name}" for name in ("maxnumf", "minnumf", "maximumf", "minimumf"))
#: ds_read_b64_tr, ds_load_tr.
_TRANSPOSE = ("gfx950", "gfx12")


def machine(target: str) -> Machine:
    """The machine of a target such as cuda:90 or hip:gfx942.

    Raises     RangeError for one whose shared memory is not in tla.access
    """
    kind, _, version = target.partition(":")
    if kind == "cuda" and version.isdecimal() and len(version) < 5:
        n = int(version)
        redux = (_REDUX if n >= 80 else ()) + (_REDUX_OF_FLOATS if 100 <= n < 120 else ())
        memory = _WIDE if n >= 100 else NVIDIA_GLOBAL
        matrices = n >= 75, n >= 90, n >= 100
        return Machine(target, NVIDIA_SHARED, NVIDIA_SHARED, *matrices, True, redux, n >= 90, memory)
    for prefix, (read, write) in _AMD.items():
        if kind == "hip" and version.startswith(prefix):
            return Machine(target, read, write, transposes=prefix in _TRANSPOSE)
    known = ", ".join(["cuda:80", *(f"hip:{name}" for name in _AMD)])
    what = f"the target {target or 'that the module does not name'!r:.60}"
    raise RangeError(what, f"one like {known}", "compile for one of these, or say target='cuda:80'")
