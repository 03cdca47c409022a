"""Index code for kernels: from a layout to the line of C, CUDA, Triton, Pallas or MLIR that a kernel needs.

arguments  what is computed, and its parameters;  bits  shifts and masks;  nodes  what is shared
held       the ends of all that is held on the way;  integers  32 bits or 64, and what that requires
plan       the function as plain data;  target  how languages write it;  c, python, ...  a file for each
emit       the text of offsets;  guard  of what is valid
source     a layout as source of other systems: cute_cpp, cute_dsl, tla_cpp;  sizes  its integers;  reach  which need 64 bits
nests      what a copy goes through;  serial, grid  as loops and as kernels, their integers in terms;  copies  the text
loops      offsets by additions alone
"""

from . import affine, c, jax, latex, mlir, python, triton  # noqa: F401  # they register their targets
from .copies import WRITERS as WRITERS, emit_copy
from .emit import emit
from .guard import emit_guard
from .loops import Step, emit_loops, loop_nest
from .plan import Plan, plan
from .source import SYSTEMS as SYSTEMS, source
from .target import TARGETS as TARGETS, Target, register

__all__ = [
    "Plan",
    "Step",
    "Target",
    "emit",
    "emit_copy",
    "emit_guard",
    "emit_loops",
    "loop_nest",
    "plan",
    "register",
    "source",
]
