"""Memories of tensors' buffers: their names, and what the address of a buffer's start is a multiple of.

Source: CATLASS include/catlass/arch/arch.hpp and AscendC's `TPosition`; CuTe's pointers; XLA's memory spaces of TPUs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown
from ..core.ints import IntLike, is_int, known
from .buffers import ALLOCATION, begin_of
from .packed import memory_of

#: The names of each kind of machine.
POSITIONS = {
    "CATLASS": ("GM", "L1", "L0A", "L0B", "L0C", "L0AMx", "L0BMx", "Bias", "UB", "FixBuf"),
    "AscendC": ("A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "C2PIPE2GM"),
    "GPU": ("gmem", "smem", "rmem", "registers", "tmem", "TMEM"),
    "TPU": ("HBM", "VMEM", "SMEM", "CMEM"),
}


def require_position(x: Any) -> str | None:
    """x if it is a position, or None for none; LeafTypeError for anything else."""
    if x is None or any(isinstance(x, str) and x in names for names in POSITIONS.values()):
        return x  # type: ignore[no-any-return]
    known = "; ".join(f"{', '.join(names)} of {kind}" for kind, names in POSITIONS.items())
    raise LeafTypeError(f"the position {shown(x)}", known, "write MakeTensor(..., position='GM'), or leave it out")


class Memory(NamedTuple):
    """The place of a tensor's buffer: its memory's name, and how its start is aligned [bytes]; None if not said."""

    position: str | None = None
    alignment: int | None = None

    def address(self, data: Any) -> tuple[int, int]:
        """The address of the start of a buffer, as far as it is known: a remainder, and what it is one by [bytes].

        No buffer, and a whole array, stand for an allocation.

        >>> import numpy as np
        >>> from tla import MakeTensor
        >>> x = np.zeros(64, np.float16)
        >>> [t.memory.address(t.data) for t in (MakeTensor(x), MakeTensor(x[3:]), MakeTensor(x[3:], alignment=16))]
        [(0, 1024), (6, 1024), (0, 16)]
        """
        if self.alignment is not None:
            return 0, self.alignment
        return (0 if data is None else begin_of(memory_of(data))), ALLOCATION


NOWHERE = Memory()


def as_memory(position: str | None, alignment: IntLike | None) -> Memory:
    """A checked position and alignment; LeafTypeError for other kinds, RangeError for no power of two."""
    n = known(alignment) if is_int(alignment) else None
    if alignment is not None and n is None:
        what = f"MakeTensor with the alignment {shown(alignment)}"
        raise LeafTypeError(what, "a number of bytes", "write alignment=16")
    if n is not None and (n < 1 or n & (n - 1)):
        raise RangeError(f"MakeTensor with the alignment {n}", "a power of two [bytes]", "write alignment=16")
    return Memory(require_position(position), None if n is None else int(n))
