"""The resources of a multiprocessor that a block may take, by architecture.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; AMD's ISA manuals,
"LDS" and "VGPRs".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...gpu.descriptors.tma import BOX_BYTES, TMACopy
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...tensors.tensor import Tensor
from .instructions import is_asynchronous, is_of_tensor_memory


class Limits(NamedTuple):
    """The most that a block may take; None where no architecture was named.

    shared      bytes of shared memory
    registers   of a thread, each of 32 bits

    >>> from tla.kernels.program.resources import limits_of
    >>> limits_of("sm_90a", 128), limits_of("sm_80", 1024).registers
    (Limits(shared=232448, registers=255), 64)
    """

    shared: int | None
    registers: int | None


#: NVIDIA's architecture -> KiB of shared memory that a block may ask for.
_SHARED = {75: 64} | dict.fromkeys((70, 72), 96) | dict.fromkeys((86, 88, 89, 120, 121), 99)
_SHARED |= dict.fromkeys((80, 87), 163) | dict.fromkeys((90, 100, 101, 103, 110), 227)
#: AMD's -> KiB of LDS, and registers of a lane: of CDNA both kinds, VGPRs and AGPRs.
_AMD = {"gfx90a": (64, 512), "gfx942": (64, 512), "gfx950": (160, 512)}
#: A target's name -> its architectures' names.
ARCHITECTURES = {"cuda": re.compile(r"sm_\d{2,3}[af]?"), "hip": re.compile(r"gfx[0-9a-f]{3,4}")}
ARCHITECTURES["gluon"] = ARCHITECTURES["cuda"]
#: Those with tcgen05, and those whose tcgen05.mma has kind::i8.
_TENSOR_MEMORY = {f"sm_{x}{ending}" for x in (100, 101, 103, 110) for ending in "af"}
_TENSOR_MEMORY_OF_BYTES = {"sm_100a", "sm_101a", "sm_110a"}
#: Of each thread of NVIDIA's, and of a multiprocessor, which are given out by eights.
_MOST, _REGISTERS, _UNIT = 255, 65536, 8


def limits_of(arch: str | None, threads: int) -> Limits:
    """The limits of an architecture for blocks of so many threads; none of one that the table has not.

    Raises   LeafTypeError for what is no architecture's name
    """
    if arch is None:
        return Limits(None, None)
    if not isinstance(arch, str) or not any(names.fullmatch(arch) for names in ARCHITECTURES.values()):
        what = f"arch={shown(arch)}"
        raise LeafTypeError(what, "an architecture of NVIDIA or AMD", "write arch='sm_80', or 'gfx942'")
    if arch.startswith("gfx"):
        kib, registers = _AMD.get(arch, (64, 256))
        return Limits(kib * 1024, registers)
    kib_of = _SHARED.get(int(arch.removeprefix("sm_").rstrip("af")))
    whole_warps = -(-threads // 32) * 32
    return Limits(None if kib_of is None else kib_of * 1024, min(_MOST, _REGISTERS // whole_warps // _UNIT * _UNIT))


def require_runs(atom: CopyAtom | MMAAtom, arch: str | None) -> None:
    """Require an architecture that has an instruction: wgmma has one alone, others of NVIDIA those behind the first.

    Raises   RangeError for another one, LeafTypeError as limits_of does

    >>> from tla.gpu import SM75_U32x4_LDSM_N as ldmatrix
    >>> require_runs(ldmatrix, "sm_80")
    >>> require_runs(ldmatrix, "sm_70")
    Traceback (most recent call last):
    tla.core.errors.RangeError: SM75_U32x4_LDSM_N on sm_70
      expected  sm_75 or newer
      fix       write arch='sm_75'

    Source: the PTX manual, "Target ISA Notes" of each instruction.
    """
    own = re.fullmatch(r"sm(\d+)", atom.arch)
    given = re.fullmatch(r"sm_(\d+)(a?)f?", arch or "")
    if arch is None or atom.arch == "universal" or (own is None and given is None):
        return
    if is_of_tensor_memory(atom):
        _require_tensor_memory(atom, arch)
        return
    alone = isinstance(atom, MMAAtom) and is_asynchronous(atom)
    first = atom.arch if own is None else f"sm_{own[1]}{'a' * alone}"
    if own is None or given is None or int(given[1]) < int(own[1]) or (alone and arch != first):
        expected = f"{first}{' or newer' * (own is not None and not alone)}"
        what = f"{atom.name} on {arch}"
        raise RangeError(what, expected, f"write arch={first!r}" if own else "take an instruction that it has")


def _require_tensor_memory(atom: CopyAtom | MMAAtom, arch: str) -> None:
    """Require an architecture with tcgen05: sm_100a, sm_100f or a newer one; for some kinds one alone."""
    first, of_bytes = atom.arch.removeprefix("sm"), isinstance(atom, MMAAtom) and atom.kind == "i8"
    those = _TENSOR_MEMORY_OF_BYTES if of_bytes else _TENSOR_MEMORY
    if arch not in ({"sm_103a"} if first == "103" else those):
        expected = f"sm_{first}a{'' if first == '103' or of_bytes else f' or sm_{first}f'}"
        raise RangeError(f"{atom.name} on {arch}", expected, f"write arch='sm_{first}a'")


def require_tma(arch: str | None) -> None:
    """Require an architecture that has TMA. Raises RangeError. Source: the PTX manual, "cp.async.bulk.tensor"."""
    given = re.fullmatch(r"sm_(\d+)a?f?", arch or "")
    if arch is not None and (given is None or int(given[1]) < 90):
        raise RangeError(f"a load by TMA on {arch}", "sm_90 or newer", "write arch='sm_90a', or copy by cp.async")


def alignment(nbytes: int) -> int:
    """The bytes that a tensor in shared memory begins at a multiple of: no fewer than it has, 16 to 1024.

    So every swizzle's pattern begins where its tensor does, and the banks where those of `check` begin.
    """
    return max(16, min(1024, 1 << max(0, nbytes - 1).bit_length()))


def require_box_aligned(tma: TMACopy, target: Tensor) -> None:
    """Require that shared memory begins where TMA may write a box. Raises RangeError. Source: the PTX manual,
    "cp.async.bulk.tensor"."""
    least, has = max(BOX_BYTES, tma.map.mode.pattern), alignment(target.data.nbytes)
    if has < least:
        what = f"a load by TMA to shared memory of {target.data.nbytes} bytes, which begins at a multiple of {has}"
        fix = f"allocate {least} bytes or more, and load to the first of them"
        raise RangeError(what, f"a multiple of {least}", fix)


def placed(sizes: Iterable[int]) -> tuple[list[int], int]:
    """The places where tensors of so many bytes begin in shared memory, one behind the other, and the bytes
    that all take.

    >>> from tla.kernels.program.resources import placed
    >>> placed([20, 4096])
    ([0, 1024], 5120)
    """
    starts, end = [], 0
    for nbytes in sizes:
        starts.append(-(-end // alignment(nbytes)) * alignment(nbytes))
        end = starts[-1] + nbytes
    return starts, -(-end // 16) * 16
