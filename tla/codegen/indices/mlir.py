"""MLIR: a function of integers, by affine maps where what it computes is affine, else by arith.

Source: mlir.llvm.org, dialects affine, arith, cf and func.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..expressions.graph import Node
from ..expressions.integer_types import Integer
from ..expressions.plan import Plan
from ..expressions.target import CALL, Target, register, required_names
from .affine import WORDS, affine_map, maps, remark, split, why_not_affine

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


def _function(
    name: str, given: Iterable[str], kind: str, body: Sequence[str], results: Sequence[str], gives: Sequence[str]
) -> str:
    parameters = ", ".join(f"%{p}: {kind}" for p in given)
    types = ", ".join(gives)
    lines = "".join(f"  {line}\n" for line in [*body, f"return {', '.join(results)} : {types}"])
    return f"func.func @{name}({parameters}) -> {types if len(gives) == 1 else f'({types})'} {{\n{lines}}}\n"


def _write(plan: Plan, check: str) -> str:
    body = _Body(plan.integer)
    parts = []
    if check and plan.checks:
        parts.append(_requirements(plan))
    if check == "assert" and plan.checks:
        _assert(plan, body)
    results = _by_maps(plan, body) or [body.value(n) for n in plan.results]
    gives = [body.kind if n.poly is not None else "i1" for n in plan.results]
    function = _function(plan.name, (p.name for p in plan.parameters), body.kind, body.text(), results, gives)
    return "\n".join([*parts, remark(plan) + function])


def _by_maps(plan: Plan, body: _Body) -> list[str]:
    """The results by affine maps, which compute with integers that have a sign; none where they are not affine."""
    if not plan.integer.signed or why_not_affine(plan):
        return []
    given = [body.line(f"arith.index_cast %{p.name} : {body.kind} to index") for p in plan.parameters]
    applied = [body.line(f"affine.apply {affine_map(plan, [m])}{split(plan, given)}") for m in maps(plan)]
    return [body.line(f"arith.index_cast {a} : index to {body.kind}") for a in applied]


def _requirements(plan: Plan) -> str:
    body = _Body(Integer(64, True))
    met, *others = [body.value(node) for node in plan.checks]
    for other in others:
        met = body.apply("and", met, other)
    return _function(f"{plan.name}_requires", required_names(plan), body.kind, body.text(), [met], ["i1"])


def _assert(plan: Plan, body: _Body) -> None:
    """The call of the requirements, whose sizes are of 64 bits."""
    sizes = [f"%{name}" for name in required_names(plan)]
    if plan.integer.bits == 32:
        wider = "extsi" if plan.integer.signed else "extui"
        sizes = [body.line(f"arith.{wider} {size} : {body.kind} to i64") for size in sizes]
    met = body.line(f"func.call @{plan.name}_requires({', '.join(sizes)}) : ({', '.join(['i64'] * len(sizes))}) -> i1")
    body.lines.append(f'cf.assert {met}, "{plan.name}: a size is not as required"')


MLIR = register(Target("mlir", {**dict.fromkeys((*_ARITH, "neg", "true"), (CALL, ""))}, _write, WORDS))
