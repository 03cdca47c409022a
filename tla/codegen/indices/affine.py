"""MLIR's affine maps: coordinates are the dimensions of a map, sizes and dynamic leaves its symbols.

Affine is a sum of parameters, of these times numbers or sizes, and of divisions by numbers, which round down.

Source: mlir.llvm.org, affine expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.errors import LeafTypeError
from ..expressions.graph import Node, in_order, names_in
from ..expressions.plan import Plan
from ..expressions.target import Syntax, Target, commented, expression, register, remarks

#: `*` binds as tightly as the divisions do, from left to right; these stand in parentheses all the same, for readers.
_AFFINE: Syntax = {
    "neg": (4, "-{}"),
    "*": (3, "{} * {}"),
    "/": (2, "{} floordiv {}"),
    "//": (2, "{} floordiv {}"),
    "rem": (2, "{} mod {}"),
    "%": (2, "{} mod {}"),
    "+": (1, "{} + {}"),
}


def maps(plan: Plan) -> list[str]:
    """For each result, what an affine map gives."""
    return [expression(_without_bits(n), _AFFINE, {}) for n in plan.results]


def why_not_affine(plan: Plan) -> str:
    """The operation of a plan that no affine map has; empty where there is none."""
    dimensions = {p.name for p in plan.parameters[: plan.coordinates]}
    for n in in_order(map(_without_bits, plan.results)):
        varying = [a for a in n.operands if names_in([a]) & dimensions]
        if n.op not in ("n", "v", *_AFFINE):
            return f"the operation {n.op}"
        if n.op == "*" and len(varying) > 1:
            return f"a product of {len(varying)} coordinates"
        if n.op in ("/", "//", "rem", "%") and n.args[1].op != "n":
            return "a division by what is no number"
    return ""


def _without_bits(n: Node) -> Node:
    """A shift as the division that it is, a mask as what it keeps of one."""
    if n.op in ("n", "v"):
        return n
    args = tuple(map(_without_bits, n.args))
    if n.op not in (">>", "&"):
        return Node(n.op, args, n.poly)
    x, bits = args[0], n.args[1].args[0]
    if n.op == ">>":
        return _by("//", x, 1 << bits)
    lowest = bits & -bits
    kept = x if lowest == 1 else _by("//", x, lowest)
    kept = kept if bits < 0 else _by("%", kept, bits // lowest + 1)
    return kept if lowest == 1 else _by("*", kept, lowest)


def _by(op: str, x: Node, n: int) -> Node:
    return Node(op, (x, Node("n", (n,), None)), None)


def split(plan: Plan, given: Sequence[str]) -> str:
    """(dimensions)[symbols], of the names of the parameters, or of their values."""
    symbols = ", ".join(given[plan.coordinates :])
    return f"({', '.join(given[: plan.coordinates])})" + (f"[{symbols}]" if symbols else "")


def affine_map(plan: Plan, results: Iterable[str]) -> str:
    """The map to some of what maps() gives."""
    return f"affine_map<{split(plan, [p.name for p in plan.parameters])} -> ({', '.join(results)})>"


def _write(plan: Plan, _check: str) -> str:
    if why := why_not_affine(plan):
        raise LeafTypeError(
            f"{why} in an affine map", "sums, products with sizes, divisions by numbers", "use the target mlir"
        )
    return f"{remark(plan)}#{plan.name} = {affine_map(plan, maps(plan))}\n"


def remark(plan: Plan) -> str:
    """The comment on a plan."""
    return commented("//", remarks(plan))


#: Of what affine maps are made of.
WORDS = frozenset({"mod", "floordiv", "ceildiv", "symbol"})
AFFINE = register(Target("affine", _AFFINE, _write, WORDS, bits=False, checks=("",)))
