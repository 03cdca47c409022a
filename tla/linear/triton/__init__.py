"""Triton's layouts: Gluon's classes with Gluon's parameters, each with the linear layout of a tensor."""

from .distributed import BlockedLayout, DistributedLinearLayout, SliceLayout
from .mma import AMDMFMALayout, AMDWMMALayout, DotOperandLayout, NVMMADistributedLayout
from .shared import NVMMASharedLayout, PaddedSharedLayout, SharedLinearLayout, SwizzledSharedLayout
from .tensor_memory import TensorMemoryLayout, TensorMemoryScalesLayout
from .text import from_text, to_text

__all__ = [
    "AMDMFMALayout",
    "AMDWMMALayout",
    "BlockedLayout",
    "DistributedLinearLayout",
    "DotOperandLayout",
    "NVMMADistributedLayout",
    "NVMMASharedLayout",
    "PaddedSharedLayout",
    "SharedLinearLayout",
    "SliceLayout",
    "SwizzledSharedLayout",
    "TensorMemoryLayout",
    "TensorMemoryScalesLayout",
    "from_text",
    "to_text",
]
