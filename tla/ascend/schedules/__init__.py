"""Schedules: which core computes which block of a matrix product, in which order, and what that moves
from global memory."""

from .at_run_time import (
    DynamicBlockSwizzle,
    DynamicGemmIdentityBlockSwizzle,
    DynamicSingleCoreSplitkGemmIdentityBlockSwizzle,
    DynamicSplitkGemmIdentityBlockSwizzle,
    DynamicStreamkGemmIdentityBlockSwizzle,
)
from .block import Block, Strip, Traffic
from .convolutions import Conv2dIdentityBlockSwizzle, Conv3dIdentityBlockSwizzle, ConvolutionBlock, ConvolutionSwizzle
from .grouped import grouped
from .pieces import BlockSchedulerAswt, GemmGroupedAswtTailSplitSwizzle
from .schedule import Schedule
from .swizzles import (
    BlockSchedulerIterateK,
    BlockSwizzle,
    ColumnBlockSwizzle,
    EpilogueHorizontalTileSwizzle,
    EpilogueIdentityTileSwizzle,
    GemmIdentityBlockSwizzle,
    GemmIdentityBlockSwizzleL1FullLoad,
    SingleCoreSplitkGemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
    TailSplitkGemmIdentityBlockSwizzle,
)

__all__ = [
    "Block",
    "BlockSchedulerAswt",
    "BlockSchedulerIterateK",
    "BlockSwizzle",
    "ColumnBlockSwizzle",
    "Conv2dIdentityBlockSwizzle",
    "Conv3dIdentityBlockSwizzle",
    "ConvolutionBlock",
    "ConvolutionSwizzle",
    "DynamicBlockSwizzle",
    "DynamicGemmIdentityBlockSwizzle",
    "DynamicSingleCoreSplitkGemmIdentityBlockSwizzle",
    "DynamicSplitkGemmIdentityBlockSwizzle",
    "DynamicStreamkGemmIdentityBlockSwizzle",
    "EpilogueHorizontalTileSwizzle",
    "EpilogueIdentityTileSwizzle",
    "GemmGroupedAswtTailSplitSwizzle",
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
