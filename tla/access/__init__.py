"""Accesses of memory, counted, with what collides; the best swizzle for them."""

from ..core.element import Width
from ..notation.width import element_width
from .convert import convert
from .counting import Access, Witness, access, bank_conflicts
from .digit_plan import RadixPlan
from .machines import Machine
from .memories import (
    AMD_LDS_GFX11_READ,
    AMD_LDS_GFX11_WRITE,
    AMD_LDS_GFX12_READ,
    AMD_LDS_GFX12_WRITE,
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX942_WRITE,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    ASCEND_UB,
    NVIDIA_GLOBAL,
    NVIDIA_SHARED,
    TPU_VREG,
    Memory,
)
from .pattern import Pattern, patterns
from .plan import ConversionPlan
from .steps import Load, Move, Shuffle, Spread, Store
from .synthesis import Best, Certificate, best_swizzle
from .vectors import vector_width

__all__ = [
    "AMD_LDS_GFX11_READ",
    "AMD_LDS_GFX11_WRITE",
    "AMD_LDS_GFX12_READ",
    "AMD_LDS_GFX12_WRITE",
    "AMD_LDS_GFX942_READ",
    "AMD_LDS_GFX942_WRITE",
    "AMD_LDS_GFX950_READ",
    "AMD_LDS_GFX950_WRITE",
    "ASCEND_UB",
    "NVIDIA_GLOBAL",
    "NVIDIA_SHARED",
    "TPU_VREG",
    "Access",
    "Best",
    "Certificate",
    "ConversionPlan",
    "Load",
    "Machine",
    "Memory",
    "Move",
    "Pattern",
    "RadixPlan",
    "Shuffle",
    "Spread",
    "Store",
    "Width",
    "Witness",
    "access",
    "bank_conflicts",
    "best_swizzle",
    "convert",
    "element_width",
    "patterns",
    "vector_width",
]
