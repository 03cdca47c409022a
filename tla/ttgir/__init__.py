"""Programs of Triton's TTGIR: read, and what each operation costs that moves data.

read_program     a program from a file; program_of: from its text
costs            instructions, wavefronts and sectors of each operation, how often it runs, and the totals
"""

from .costs import Cost, Costs, Part, costs
from .program import Argument, Op, Program, Source
from .text import program_of, read_program

__all__ = ["Argument", "Cost", "Costs", "Op", "Part", "Program", "Source", "costs", "program_of", "read_program"]
