"""Programs of Triton's TTGIR, and of CuTe's DSL: read, what each operation costs that moves data, and what
makes it less.

read_program     a program from a file; program_of: from its text
costs            instructions, wavefronts and sectors of each operation, how often it runs, and the totals
dots             its matrix products, and where their operands come from
advise           other layouts by which accesses cost less
faults           what is wrong: memory read by another layout than it was written by, operands that no instruction takes
difference       two compiles of a kernel compared
"""

from .advice import Advice
from .advise import advise
from .costs import Cost, Costs, Part, costs
from .difference import Change, difference
from .dots import Dot, dots
from .faults import Fault, faults
from .program import Argument, Op, Program, Source
from .text import program_of, read_program

__all__ = [
    "Advice",
    "Argument",
    "Change",
    "Cost",
    "Costs",
    "Dot",
    "Fault",
    "Op",
    "Part",
    "Program",
    "Source",
    "advise",
    "costs",
    "difference",
    "dots",
    "faults",
    "program_of",
    "read_program",
]
