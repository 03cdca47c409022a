"""MLIR: a function of integers, by affine maps where what it computes is affine, else by arith; and an affine map alone.

Affine is a sum of parameters, of these times numbers or sizes, and of divisions by numbers, which round down. Coordinates are
the dimensions of a map, sizes and dynamic leaves its symbols.

Source: mlir.llvm.org, dialects affine, arith, cf and func; affine expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import LeafTypeError
from .nodes import Node, in_order
from .plan import Integer, Plan
from .target import CALL, Syntax, Target, expression, register, remarks, required_names

# ------------------------------------------------------------------------------------------------- affine maps

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


def _maps(plan: Plan) -> list[str]:
    """For each result, what an affine map gives."""
    return [expression(_without_bits(n), _AFFINE, {}) for n in plan.results]


def _why_not_affine(plan: Plan) -> str:
    """What an affine map cannot say of a plan; empty where it says all."""
    dimensions = {p.name for p in plan.parameters[: plan.coordinates]}
    for n in in_order(map(_without_bits, plan.results)):
        varying = [a for a in n.operands if any(m.op == "v" and m.args[0] in dimensions for m in in_order([a]))]
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


def _given(plan: Plan, names: Sequence[str]) -> str:
    """(dimensions)[symbols], by their names."""
    symbols = ", ".join(names[plan.coordinates :])
    return f"({', '.join(names[: plan.coordinates])})" + (f"[{symbols}]" if symbols else "")


def _map(plan: Plan, results: Iterable[str]) -> str:
    return f"affine_map<{_given(plan, [p.name for p in plan.parameters])} -> ({', '.join(results)})>"


def _write_affine(plan: Plan, _check: str) -> str:
    if why := _why_not_affine(plan):
        raise LeafTypeError(f"{why} in an affine map", "sums, products with sizes, divisions by numbers", "use the target mlir")
    return f"{_remark(plan)}#{plan.name} = {_map(plan, _maps(plan))}\n"


# --------------------------------------------------------------------------------------------------- functions

#: op -> its name in arith, for types with a sign, and without where that is another. A condition is compared.
_ARITH = {
    "+": ("addi",),
    "-": ("subi",),
    "*": ("muli",),
    "/": ("divui",),
    "rem": ("remui",),
    "//": ("floordivsi",),
    "%": ("remsi",),
    ">>": ("shrsi", "shrui"),
    "&": ("andi",),
    "^": ("xori",),
    "min": ("minsi", "minui"),
    "max": ("maxsi", "maxui"),
    "==": ("cmpi eq,",),
    "<=": ("cmpi sle,", "cmpi ule,"),
    "<": ("cmpi slt,", "cmpi ult,"),
    "and": ("andi",),
}


class _Body:
    """The lines of a function, and the names of the values that they give: %0, %1, ...; a number n is %c.n.

    integer   the type of its integers
    """

    def __init__(self, integer: Integer) -> None:
        self.integer, self.kind = integer, f"i{integer.bits}"
        self.constants: dict[str, str] = {}
        self.lines: list[str] = []
        self.values: dict[int, str] = {}

    def value(self, n: Node) -> str:
        """The name of a node's value, computed once."""
        if n.op == "v":
            return f"%{n.args[0]}"
        if n.op == "n":
            return self.number(n.args[0])
        if id(n) not in self.values:
            self.values[id(n)] = self._computed(n)
        return self.values[id(n)]

    def number(self, n: int) -> str:
        self.constants[f"%c.{n}"] = f"arith.constant {n} : {self.kind}"
        return f"%c.{n}"

    def line(self, text: str) -> str:
        self.lines.append(f"%{len(self.lines)} = {text}")
        return f"%{len(self.lines) - 1}"

    def apply(self, op: str, a: str, b: str) -> str:
        name = _ARITH[op][0 if self.integer.signed else -1]
        return self.line(f"arith.{name} {a}, {b} : {'i1' if op == 'and' else self.kind}")

    def _computed(self, n: Node) -> str:
        if n.op == "neg":
            return self.apply("-", self.number(0), self.value(n.args[0]))
        if n.op == "true":
            return self.line("arith.constant true")
        first, *others = n.args
        out = self.value(first)
        for a in others:
            minus = n.op == "+" and a.op == "neg"
            out = self.apply("-" if minus else n.op, out, self.value(a.args[0] if minus else a))
        if n.op == "%":  # remsi has the sign of what is divided: the divisor is added where that is negative
            sign = self.apply(">>", out, self.number(self.integer.bits - 1))
            out = self.apply("+", out, self.apply("&", self.value(n.args[1]), sign))
        return out

    def text(self) -> list[str]:
        return [*(f"{name} = {text}" for name, text in self.constants.items()), *self.lines]


def _function(name: str, given: Iterable[str], kind: str, body: Sequence[str], results: Sequence[str], gives: Sequence[str]) -> str:
    parameters = ", ".join(f"%{p}: {kind}" for p in given)
    types = ", ".join(gives)
    lines = "".join(f"  {line}\n" for line in [*body, f"return {', '.join(results)} : {types}"])
    return f"func.func @{name}({parameters}) -> {types if len(gives) == 1 else f'({types})'} {{\n{lines}}}\n"


def _write(plan: Plan, check: str) -> str:
    body = _Body(plan.integer)
    parts = []
    if check and plan.requires:
        parts.append(_requirements(plan))
    if check == "assert" and plan.requires:
        _assert(plan, body)
    results = _by_maps(plan, body) or [body.value(n) for n in plan.results]
    gives = [body.kind if n.poly is not None else "i1" for n in plan.results]
    function = _function(plan.name, (p.name for p in plan.parameters), body.kind, body.text(), results, gives)
    return "\n".join([*parts, _remark(plan) + function])


def _by_maps(plan: Plan, body: _Body) -> list[str]:
    """The results by affine maps, which compute with integers that have a sign; none where they are not affine."""
    if not plan.integer.signed or _why_not_affine(plan):
        return []
    given = [body.line(f"arith.index_cast %{p.name} : {body.kind} to index") for p in plan.parameters]
    applied = [body.line(f"affine.apply {_map(plan, [m])}{_given(plan, given)}") for m in _maps(plan)]
    return [body.line(f"arith.index_cast {a} : index to {body.kind}") for a in applied]


def _requirements(plan: Plan) -> str:
    body = _Body(Integer(64, True))
    met, *others = [body.value(node) for _c, node in plan.requires]
    for other in others:
        met = body.apply("and", met, other)
    return _function(f"{plan.name}_requires", required_names(plan), body.kind, body.text(), [met], ["i1"])


def _assert(plan: Plan, body: _Body) -> None:
    """The call of the requirements, whose sizes are of 64 bits."""
    sizes = [f"%{name}" for name in required_names(plan)]
    if plan.integer.bits < 64:
        wider = "extsi" if plan.integer.signed else "extui"
        sizes = [body.line(f"arith.{wider} {size} : {body.kind} to i64") for size in sizes]
    met = body.line(f"func.call @{plan.name}_requires({', '.join(sizes)}) : ({', '.join(['i64'] * len(sizes))}) -> i1")
    body.lines.append(f'cf.assert {met}, "{plan.name}: a size is not as required"')


def _remark(plan: Plan) -> str:
    return "".join(f"// {line}\n" for line in remarks(plan))


MLIR = register(Target("mlir", {**dict.fromkeys((*_ARITH, "neg", "true"), (CALL, ""))}, _write, frozenset()))
AFFINE = register(Target("affine", _AFFINE, _write_affine, frozenset({"mod", "floordiv", "ceildiv", "symbol"}), bits=False, checks=("",)))
