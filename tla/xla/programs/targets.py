"""Generations of TPUs: how large their memories are, and in what pieces the compiler gives them away.

Source: libtpu 0.0.51, which names the sizes where it refuses a program: "exceeds available HBM (15.75G)" of arrays that
are too large, "would exceed memory (size=134217728)" of the scratch operand of a Pallas kernel in VMEM and in SMEM;
tables of tuples in its buffer assignments of 200 programs. CMEM of v4: JAX jax/_src/pallas/mosaic/tpu_info.py. Sync
flags and a SparseCore's memories: libtpu 0.0.52, where it refuses kernels (tests/bench/tpu/capacities.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ...core.errors import RangeError
from .text_file import is_text

_GIB, _MIB, _KIB = 2**30, 2**20, 2**10


@dataclass(frozen=True, slots=True)
class Target:
    """A generation of TPUs.

    name       as default_layout has it: v5e
    line       the tables of tuples take a multiple of this [bytes]
    capacity   by memory space, as S(n) numbers it: what one core has for a program [bytes], of a SparseCore its
               sequencer or one of its tiles; what is not known is left out, and the host's memory, which is no part
               of a chip
    """

    name: str
    line: int
    capacity: Mapping[int, int]


def _target(
    name: str, line: int, hbm: float, vmem: int, smem: int, flags: int, more: Mapping[int, int] | None = None
) -> Target:
    """A row of the table: HBM in GiB as libtpu prints it, VMEM in MiB, SMEM in KiB; sync flags and more in bytes."""
    sizes = {0: int(hbm * _GIB), 1: vmem * _MIB, 2: flags, 6: smem * _KIB, **(more or {})}
    return Target(name, line, MappingProxyType(dict(sorted(sizes.items()))))


def _sparse_core(tile: int, tile_flags: int) -> dict[int, int]:
    """The memories of a SparseCore: of a tile its sixteenth of SPMEM [KiB], and its sync flags [bytes].

    Of SMEM it is what a program may take, so many words: libtpu keeps the last ones.
    """
    return {8: 28 * _KIB, 10: tile_flags, 11: 16327 * 4, 12: 2047 * 4, 15: tile * _KIB}


TARGETS = {
    target.name: target
    for target in (
        _target("v2", 1024, 7.48, 16, 16, 1024),
        _target("v3", 1024, 15.48, 16, 16, 1024),
        _target("v4", 512, 15.25, 16, 1024, 2048, {3: 67_000_000}),
        _target("v5e", 512, 15.75, 128, 1024, 2048),
        _target("v5p", 32, 95.73, 64, 1024, 2048, _sparse_core(512, 128)),
        _target("v6e", 32, 31.24, 128, 1024, 2048, _sparse_core(256, 128)),
        _target("tpu7x", 32, 94.74, 64, 1024, 16384, _sparse_core(512, 256)),
    )
}

#: What the file `target_arguments.txt` beside a dump calls a generation, with its variant.
_VERSIONS = {
    ("JELLYFISH", ""): "v2",
    ("DRAGONFISH", ""): "v3",
    ("PUFFERFISH", ""): "v4",
    ("VIPERFISH", "lite"): "v5e",
    ("VIPERFISH", ""): "v5p",
    ("GHOSTLITE", ""): "v6e",
    ("6acc60406", ""): "tpu7x",
}
#: Spaces that only some generations have.
_ONLY_V4, _SPARSE_CORE = 3, frozenset({8, 10, 11, 12, 15})


def tpu(name: str) -> Target:
    """The memories of a generation of TPUs.

    name     v2 v3 v4 v5e v5p v6e tpu7x
    Raises   RangeError for another one

    >>> tpu("v5e").capacity[1]
    134217728
    """
    if name not in TARGETS:
        raise RangeError(f"the target {name!r:.40}", "one of " + " ".join(TARGETS), "use one of these")
    return TARGETS[name]


def checked_target(target: str | None) -> str | None:
    """The name of a generation that is known, or None."""
    if target is not None and target not in TARGETS:
        what = f"the target {target!r:.40}"
        raise RangeError(what, "one of " + " ".join(TARGETS), "leave it out where it is not known")
    return target


def target_beside(path: object) -> str | None:
    """The generation that a file of a dump was compiled for, by the file target_arguments.txt beside it; None where
    there is none.

    path   of a file that --xla_dump_to wrote, or an open file
    """
    if not isinstance(path, os.PathLike):  # a Path's name has no folder
        path = getattr(path, "name", path)
    if not isinstance(path, str | os.PathLike) or is_text(path):  # who reads a text refuses it
        return None
    beside = Path(re.sub(r"\.(?:before|after)_[^.]*(?:\.\w+)*$", "", os.fspath(path)) + ".target_arguments.txt")
    if not beside.is_file() or beside.stat().st_size > _MIB:
        return None
    text = beside.read_text(errors="replace")
    version, variant = re.search(r"\bversion:\s*TPU_VERSION_(\w+)", text), re.search(r'\bvariant:\s*"(\w*)"', text)
    return _VERSIONS.get((version[1] if version else "", variant[1] if variant else ""))


def line_of(target: str | None, spaces: frozenset[int], first_tiles: bool) -> int:
    """The bytes of which the tables of tuples take a multiple.

    spaces        the memory spaces that the program uses
    first_tiles   whether it has tiles of the first generations, 256 elements for a scalar
    """
    if target is not None:
        return TARGETS[target].line
    if first_tiles:
        return TARGETS["v3"].line
    return TARGETS["v6e" if spaces & _SPARSE_CORE else "v5e"].line


def target_in(spaces: frozenset[int]) -> str | None:
    """The generation that a program is for, where the memory spaces that it uses show it."""
    return "v4" if _ONLY_V4 in spaces else None
