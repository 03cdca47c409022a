"""Triton: a function to be called from kernels, of `tl` tensors, scalars and constants.

Division truncates there, as in C, but rounds down where both sides are constants: so every parameter is cast, to the
integers of the plan, and is no constant any more. The cast also keeps 8 and 16 bits and types without a sign from
wrapping; to the type that an argument has it is none.

Source: triton-lang.org, triton.language semantics.
"""

from __future__ import annotations

from ..expressions.graph import ops_in
from ..expressions.plan import Plan
from ..expressions.target import CALL, Syntax, Target, calls, register
from .python import WORDS, definition, function, of_arrays

#: A divisor is positive: ~(~x // d) is x // d rounded down where x is negative, and nothing on the way overflows.
_HELPERS = {
    "//": ("floor_div", ("sign = tl.where(a < 0, -1, 0)", "return ((a ^ sign) // b) ^ sign")),
    "%": ("floor_mod", ("rest = a % b", "return tl.where(rest < 0, rest + b, rest)")),
}
_SYNTAX: Syntax = {**of_arrays("tl"), **dict.fromkeys(_HELPERS, (CALL, ""))}
_DECORATOR = "@triton.jit\n"


def _write(plan: Plan, check: str) -> str:
    parts = ["import triton\nimport triton.language as tl\n"]
    for op in sorted(ops_in(plan.results) & {*_HELPERS}):
        name, lines = _HELPERS[op]
        parts.append(_DECORATOR + definition(f"{plan.name}_{name}", ("a", "b"), lines))
    casts = [f"{p.name} = tl.cast({p.name}, tl.{plan.integer})" for p in plan.parameters]
    return "\n\n".join([*parts, function(plan, {**_SYNTAX, **calls(plan.name, _HELPERS)}, check, casts, _DECORATOR)])


TRITON = register(Target("triton", _SYNTAX, _write, WORDS | {"tl", "triton"}, checks=("", "function")))
