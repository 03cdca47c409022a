"""Index code for kernels: from a layout to the line of C, CUDA, Triton, Pallas or MLIR that a kernel needs.

arguments  what is computed, and its parameters;  bits  shifts and masks;  nodes  what is shared
held       the ends of all that is held on the way;  integers  32 bits or 64, and what that requires
plan       the function as plain data;  target  how languages write it;  c, python, ...  a file for each
emit       the text
"""

from . import c as c, python as python  # they register their targets
from .emit import emit as emit
from .plan import Plan as Plan, plan as plan
from .target import TARGETS as TARGETS, Target as Target, register as register
