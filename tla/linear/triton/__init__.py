"""Triton's layouts: Gluon's classes with Gluon's parameters, each with the linear layout of a tensor."""

from .distributed import BlockedLayout, DistributedLinearLayout, SliceLayout
from .mma import AMDMFMALayout, AMDWMMALayout, DotOperandLayout, NVMMADistributedLayout
from .shared import NVMMASharedLayout, PaddedSharedLayout, SharedLinearLayout, SwizzledSharedLayout
from .tensor_memory import TensorMemoryLayout, TensorMemoryScalesLayout
from .text import from_text, to_text
from .typed import Typed, from_type

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
    "Typed",
    "from_text",
    "from_type",
    "to_text",
]
