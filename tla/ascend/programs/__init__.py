"""Programs of one core, checked and executed; blocks of matrix products; what kernels of others have logged."""

from .any_matmul import AnyMatmulBlock
from .check import check
from .convolution import ConvolutionBlocks
from .estimate import Estimate, Rates, Span
from .make_block import block
from .make_convolution import conv_block
from .matmul import MatmulBlock, Work
from .mmad import MmadInstruction, mmad
from .origins import Term
from .planning import Planned, Tried, plan
from .results import Computed, Copied, Finding, Product, Report
from .sparse import densify
from .statements import (
    Assign,
    Buffer,
    Compute,
    Fill,
    Move,
    Multiply,
    Part,
    PipeBarrier,
    Program,
    SetAtomic,
    SetFlag,
    WaitFlag,
)

__all__ = [
    "AnyMatmulBlock",
    "Assign",
    "Buffer",
    "Compute",
    "Computed",
    "ConvolutionBlocks",
    "Copied",
    "Estimate",
    "Fill",
    "Finding",
    "MatmulBlock",
    "MmadInstruction",
    "Move",
    "Multiply",
    "Part",
    "PipeBarrier",
    "Planned",
    "Product",
    "Program",
    "Rates",
    "Report",
    "SetAtomic",
    "SetFlag",
    "Span",
    "Term",
    "Tried",
    "WaitFlag",
    "Work",
    "block",
    "check",
    "conv_block",
    "densify",
    "mmad",
    "plan",
]
