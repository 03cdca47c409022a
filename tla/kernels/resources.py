"""The resources of a multiprocessor that a block may take, by architecture.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; AMD's ISA manuals, "LDS" and "VGPRs".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..core.errors import LeafTypeError
from ..core.int_tuple import shown


class Limits(NamedTuple):
    """The most that a block may take; None where no architecture was named.

    shared      bytes of shared memory
    registers   of a thread, each of 32 bits

    >>> from tla.kernels.resources import limits_of
    >>> limits_of("sm_90a", 128), limits_of("sm_80", 1024).registers
    (Limits(shared=232448, registers=255), 64)
    """

    shared: int | None
    registers: int | None


#: NVIDIA's architecture -> KiB of shared memory that a block may ask for.
_SHARED = {
    70: 96,
    72: 96,
    75: 64,
    80: 163,
    86: 99,
    87: 163,
    88: 99,
    89: 99,
    90: 227,
    100: 227,
    101: 227,
    103: 227,
    110: 227,
    120: 99,
    121: 99,
}
#: AMD's -> KiB of LDS, and registers of a lane: of CDNA both kinds, VGPRs and AGPRs.
_AMD = {"gfx90a": (64, 512), "gfx942": (64, 512), "gfx950": (160, 512)}
#: A target's name -> its architectures' names.
ARCHITECTURES = {"cuda": re.compile(r"sm_\d{2,3}[af]?"), "hip": re.compile(r"gfx[0-9a-f]{3,4}")}
#: Of each thread of NVIDIA's, and of a multiprocessor, which are given out by eights.
_MOST, _REGISTERS, _UNIT = 255, 65536, 8


def limits_of(arch: str | None, threads: int) -> Limits:
    """The limits of an architecture for blocks of so many threads; none of one that the table has not.

    Raises   LeafTypeError for what is no architecture's name
    """
    if arch is None:
        return Limits(None, None)
    if not isinstance(arch, str) or not any(names.fullmatch(arch) for names in ARCHITECTURES.values()):
        raise LeafTypeError(f"arch={shown(arch)}", "an architecture of NVIDIA or AMD", "write arch='sm_80', or 'gfx942'")
    if arch.startswith("gfx"):
        kib, registers = _AMD.get(arch, (64, 256))
        return Limits(kib * 1024, registers)
    kib_of = _SHARED.get(int(arch.removeprefix("sm_").rstrip("af")))
    whole_warps = -(-threads // 32) * 32
    return Limits(None if kib_of is None else kib_of * 1024, min(_MOST, _REGISTERS // whole_warps // _UNIT * _UNIT))


def padded(nbytes: int) -> int:
    """The bytes of shared memory that a tensor takes: the next begins at a multiple of 16."""
    return -(-nbytes // 16) * 16
