"""JAX and Pallas: a function of traced integers.

JAX's own // and % put right what the machine rounds towards 0, in a dozen operations: here that is done only where what
is divided may be negative, in few. The integers are cast to those of the plan, as int8 would wrap, and int64
is none without x64.

Source: jax.lax.div, jax.lax.rem.
"""

from __future__ import annotations

from ..expressions.graph import ops_in
from ..expressions.plan import Plan
from ..expressions.target import CALL, Syntax, Target, calls, register
from .python import WORDS, definition, function, of_arrays

_BOTH = "a, b = jnp.broadcast_arrays(jnp.asarray(a, jnp.{0}), jnp.asarray(b, jnp.{0}))"
#: A divisor is positive: ~(~x // d) is x // d rounded down where x is negative, and nothing on the way overflows.
_HELPERS = {
    "/": ("div", ("return lax.div(a, b)",)),
    "rem": ("rem", ("return lax.rem(a, b)",)),
    "//": ("floor_div", ("sign = a >> {1}", "return lax.div(a ^ sign, b) ^ sign")),
    "%": ("floor_mod", ("rest = lax.rem(a, b)", "return rest + (b & rest >> {1})")),
}
_SYNTAX: Syntax = {**of_arrays("jnp"), **dict.fromkeys(_HELPERS, (CALL, ""))}
_NEEDS_X64 = (
    "if not jax.config.jax_enable_x64:",
    "    raise TypeError(\"{0} computes in {1}: jax.config.update('jax_enable_x64', True) turns that on\")",
)


def _write(plan: Plan, check: str) -> str:
    helpers = sorted(ops_in(plan.results) & {*_HELPERS})
    wide = plan.integer.bits == 64
    parts = ["import jax\n" * wide + "import jax.numpy as jnp\n" + "from jax import lax\n" * bool(helpers)]
    for op in helpers:
        name, lines = _HELPERS[op]
        body = [line.format(plan.integer, plan.integer.bits - 1) for line in (_BOTH, *lines)]
        parts.append(definition(f"{plan.name}_{name}", ("a", "b"), body))
    first = [line.format(plan.name, plan.integer) for line in _NEEDS_X64] if wide else []
    first += [f"{p.name} = jnp.asarray({p.name}, jnp.{plan.integer})" for p in plan.parameters]
    return "\n\n".join([*parts, function(plan, {**_SYNTAX, **calls(plan.name, _HELPERS)}, check, first)])


for _name, _widths in (("jax", (32, 64)), ("pallas", (32,))):
    register(Target(_name, _SYNTAX, _write, WORDS | {"jax", "jnp", "lax"}, widths=_widths, checks=("", "function")))
