"""Programs of one core, checked and executed; blocks of matrix products; what kernels of others have logged."""

from . import statements
from .any_matmul import AnyMatmulBlock
from .check import check
from .convolution import ConvolutionBlocks
from .epilogues import Epilogue, epilogue
from .estimate import Estimate, Rates, Span
from .make_block import block
from .make_convolution import conv_block
from .matmul import MatmulBlock, Work
from .mmad import MmadInstruction, mmad
from .origins import Term
from .planning import Planned, Tried, plan
from .results import Computed, Copied, Finding, Product, Report
from .sparse import densify
from .statements import *  # noqa: F403  # all its names

__all__ = [
    "AnyMatmulBlock",
    "Computed",
    "ConvolutionBlocks",
    "Copied",
    "Epilogue",
    "Estimate",
    "Finding",
    "MatmulBlock",
    "MmadInstruction",
    "Planned",
    "Product",
    "Rates",
    "Report",
    "Span",
    "Term",
    "Tried",
    "Work",
    "block",
    "check",
    "conv_block",
    "densify",
    "epilogue",
    "mmad",
    "plan",
]
__all__ += statements.__all__
