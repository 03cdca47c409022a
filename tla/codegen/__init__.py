"""Index code for kernels: from a layout to the line of C, CUDA, Triton, Pallas or MLIR that a kernel needs.

expressions  what every target shares: the graph of operations, value ranges, integer types, the signature, the plan
indices      the text of offsets, a file for each language
copies       copies between two layouts, as loops and as kernels; offsets along a loop nest by additions alone
sources      a layout as source of the system that it comes from
proofs       emitted offsets against the layout's definition, by z3
"""

from .copies.emit_copy import WRITERS as WRITERS, emit_copy
from .copies.strength_reduction import Step, emit_loops, loop_nest
from .expressions.plan import Plan, plan
from .expressions.target import TARGETS as TARGETS, Target, register
from .indices import affine, c, jax, latex, mlir, python, triton  # noqa: F401  # they register their targets
from .indices.emit import emit
from .indices.guard import emit_guard
from .proofs.claim import Proof
from .proofs.prover import READ as READ, prove, prove_condition, prove_guard
from .sources.contracts import emit_descriptor, emit_tma
from .sources.source import SYSTEMS as SYSTEMS, source

__all__ = [
    "Plan",
    "Proof",
    "Step",
    "Target",
    "emit",
    "emit_copy",
    "emit_descriptor",
    "emit_guard",
    "emit_loops",
    "emit_tma",
    "loop_nest",
    "plan",
    "prove",
    "prove_condition",
    "prove_guard",
    "register",
    "source",
]
