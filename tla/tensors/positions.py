"""Positions of tensors' buffers: the names that one may have.

Source: CATLASS include/catlass/arch/arch.hpp and AscendC's `TPosition`; CuTe's pointers; XLA's memory spaces of TPUs.
"""

from __future__ import annotations

from typing import Any

from ..core.errors import LeafTypeError
from ..core.int_tuple import shown

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
