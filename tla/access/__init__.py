"""What an instruction touches in memory: banks and sectors counted, with what collides."""

from .counting import Access, Witness, access, bank_conflicts
from .memories import (
    AMD_LDS,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    ASCEND_UB,
    MEMORIES,
    NVIDIA_GLOBAL,
    NVIDIA_SHARED,
    TPU_VREG,
    Memory,
)

__all__ = [
    "AMD_LDS",
    "AMD_LDS_GFX950_READ",
    "AMD_LDS_GFX950_WRITE",
    "ASCEND_UB",
    "MEMORIES",
    "NVIDIA_GLOBAL",
    "NVIDIA_SHARED",
    "TPU_VREG",
    "Access",
    "Memory",
    "Witness",
    "access",
    "bank_conflicts",
]
