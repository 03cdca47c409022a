"""Index code for kernels: from a layout to the line of C, CUDA, Triton, Pallas or MLIR that a kernel needs.

arguments  what is computed, and its parameters;  bits  shifts and masks;  nodes  what is shared
held       the ends of all that is held on the way;  integers  32 bits or 64, and what that requires
plan       the function as plain data;  target  how languages write it;  c, python, ...  a file for each
emit       the text of offsets;  guard  of what is valid
source     a layout as source of CuTe, in C++ and in its DSL, of TLA, of XLA
nests      what a copy goes through;  serial, grid  as loops and as kernels;  copies  the text;  loops  of offsets in steps
"""

from . import (  # they register their targets
    affine as affine,
    c as c,
    jax as jax,
    latex as latex,
    mlir as mlir,
    python as python,
    triton as triton,
)
from .copies import WRITERS as WRITERS, emit_copy as emit_copy
from .emit import emit as emit
from .guard import emit_guard as emit_guard
from .loops import Step as Step, emit_loops as emit_loops, loop_nest as loop_nest
from .plan import Plan as Plan, plan as plan
from .source import SYSTEMS as SYSTEMS, source as source
from .target import TARGETS as TARGETS, Target as Target, register as register
