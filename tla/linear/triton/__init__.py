"""Triton's layouts: Gluon's classes with Gluon's parameters, each with the linear layout of a tensor."""

from .distributed import BlockedLayout, DistributedLinearLayout, SliceLayout
from .mma import AMDMFMALayout, AMDWMMALayout, DotOperandLayout, NVMMADistributedLayout
from .shared import (
    AMDRotatingSharedLayout,
    NVMMASharedLayout,
    PaddedSharedLayout,
    PartitionedSharedLayout,
    SharedLinearLayout,
    SwizzledSharedLayout,
)
from .tensor_memory import TensorMemoryLayout, TensorMemoryScalesLayout
from .text import from_text, to_text
from .thread_values import from_thread_values, to_thread_values
from .typed import Typed, from_type

__all__ = [
    "AMDMFMALayout",
    "AMDRotatingSharedLayout",
    "AMDWMMALayout",
    "BlockedLayout",
    "DistributedLinearLayout",
    "DotOperandLayout",
    "NVMMADistributedLayout",
    "NVMMASharedLayout",
    "PaddedSharedLayout",
    "PartitionedSharedLayout",
    "SharedLinearLayout",
    "SliceLayout",
    "SwizzledSharedLayout",
    "TensorMemoryLayout",
    "TensorMemoryScalesLayout",
    "Typed",
    "from_text",
    "from_thread_values",
    "from_type",
    "to_text",
    "to_thread_values",
]
