"""Schedules: which core computes which block of a matrix product, in which order, and what that moves from global memory."""

from .block import Block, Strip, Traffic
from .grouped import grouped
from .schedule import Schedule
from .swizzles import (
    BlockSwizzle,
    ColumnBlockSwizzle,
    GemmIdentityBlockSwizzle,
    GemmIdentityBlockSwizzleL1FullLoad,
    SingleCoreSplitkGemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
    TailSplitkGemmIdentityBlockSwizzle,
)

__all__ = [
    "Block",
    "BlockSwizzle",
    "ColumnBlockSwizzle",
    "GemmIdentityBlockSwizzle",
    "GemmIdentityBlockSwizzleL1FullLoad",
    "Schedule",
    "SingleCoreSplitkGemmIdentityBlockSwizzle",
    "SplitkGemmIdentityBlockSwizzle",
    "StreamkGemmIdentityBlockSwizzle",
    "Strip",
    "TailSplitkGemmIdentityBlockSwizzle",
    "Traffic",
    "grouped",
]
