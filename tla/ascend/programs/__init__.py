"""Programs of one core, checked and executed; blocks of matrix products; what kernels of others have logged."""

from .check import Copied, Finding, Product, Report, check
from .matmul import MatmulBlock, Work, block
from .mmad import MmadInstruction, mmad
from .origins import Term
from .statements import Buffer, Move, Multiply, Part, PipeBarrier, Program, SetAtomic, SetFlag, WaitFlag

__all__ = [
    "Buffer",
    "Copied",
    "Finding",
    "MatmulBlock",
    "MmadInstruction",
    "Move",
    "Multiply",
    "Part",
    "PipeBarrier",
    "Product",
    "Program",
    "Report",
    "SetAtomic",
    "SetFlag",
    "Term",
    "WaitFlag",
    "Work",
    "block",
    "check",
    "mmad",
]
