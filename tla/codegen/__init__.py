"""Index code for kernels: from a layout to the line of C, CUDA, Triton, Pallas or MLIR that a kernel needs.

arguments  what is computed, and its parameters;  bits  shifts and masks;  nodes  what is shared
held       the ends of all that is held on the way;  integers  32 bits or 64, and what that requires
plan       the function as plain data;  target  how languages write it;  c, python, ...  a file for each
emit       the text of offsets;  guard  of what is valid
source     a layout as source of other systems: cute_cpp, cute_dsl, tla_cpp;  sizes  its integers;  reach  which need 64 bits
nests      what a copy goes through;  serial, grid  as loops and as kernels, their integers in terms;  copies  the text
loops      offsets by additions alone
"""

from .copies.emit_copy import WRITERS as WRITERS, emit_copy
from .copies.strength_reduction import Step, emit_loops, loop_nest
from .expressions.plan import Plan, plan
from .expressions.target import TARGETS as TARGETS, Target, register
from .indices import affine, c, jax, latex, mlir, python, triton  # noqa: F401  # they register their targets
from .indices.emit import emit
from .indices.guard import emit_guard
from .sources.source import SYSTEMS as SYSTEMS, source

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
