"""Schedules: which core computes which block of a product, in which order, and what that moves from global memory."""

from . import at_run_time, swizzles
from .at_run_time import *  # noqa: F403  # all its names
from .block import Block, Strip, Traffic
from .convolutions import Conv2dIdentityBlockSwizzle, Conv3dIdentityBlockSwizzle, ConvolutionBlock, ConvolutionSwizzle
from .grouped import grouped
from .pieces import BlockSchedulerAswt, GemmGroupedAswtTailSplitSwizzle
from .schedule import Schedule
from .swizzles import *  # noqa: F403  # all its names

__all__ = [
    "Block",
    "BlockSchedulerAswt",
    "Conv2dIdentityBlockSwizzle",
    "Conv3dIdentityBlockSwizzle",
    "ConvolutionBlock",
    "ConvolutionSwizzle",
    "GemmGroupedAswtTailSplitSwizzle",
    "Schedule",
    "Strip",
    "Traffic",
    "grouped",
]
__all__ += swizzles.__all__
__all__ += at_run_time.__all__
