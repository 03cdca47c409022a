"""Python: a function of integers, or of numpy arrays."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Sequence

from ..expressions.plan import Plan
from ..expressions.target import (
    CALL,
    Syntax,
    Target,
    commented,
    expression,
    register,
    remarks,
    required_names,
    statements,
)

SYNTAX: Syntax = {
    "neg": (11, "-{}"),
    "*": (10, "{} * {}"),
    "/": (10, "{} // {}"),
    "rem": (10, "{} % {}"),
    "//": (10, "{} // {}"),
    "%": (10, "{} % {}"),
    "+": (9, "{} + {}"),
    ">>": (8, "{} >> {}"),
    "&": (7, "{} & {}"),
    "^": (6, "{} ^ {}"),
    "<": (5, "{} < {}"),
    "<=": (5, "{} <= {}"),
    "==": (5, "{} == {}"),
    "and": (3, "{} and {}"),
    "true": (CALL, "True"),
    "min": (CALL, "min({}, {})"),
    "max": (CALL, "max({}, {})"),
}


def of_arrays(module: str) -> Syntax:
    """The operators of arrays, or tensors, whose minimum and maximum a module has."""
    ends = {op: (CALL, f"{module}.{op}imum({{}}, {{}})") for op in ("min", "max")}
    return {**SYNTAX, "and": (7, "{} & {}"), **ends}


WORDS = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins)))


def function(plan: Plan, syntax: Syntax, check: str, first: Sequence[str] = (), decorator: str = "") -> str:
    """The text of a function, behind that of its requirements. first: the first lines of its body."""
    names = [p.name for p in plan.parameters]
    lines = [*first]
    if check == "assert" and plan.checks:
        lines.append(f"assert {plan.name}_requires({', '.join(required_names(plan))})")
    temporaries, results = statements(plan, syntax)
    lines += [f"{name} = {text}" for name, text in temporaries]
    lines.append(f"return {', '.join(results)}")
    remark = commented("#", remarks(plan))
    return _requirements(plan, check) + remark + decorator + definition(plan.name, names, lines)


def _requirements(plan: Plan, check: str) -> str:
    """The requirements on Python's integers in every target: sizes are known where a kernel is called."""
    if not (check and plan.checks):
        return ""
    tests = [expression(node, SYNTAX, {}, 1) for node in plan.checks]
    return definition(f"{plan.name}_requires", required_names(plan), [f"return {' and '.join(tests)}"]) + "\n\n"


def definition(name: str, names: Sequence[str], lines: Sequence[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}({', '.join(names)}):\n{body}"


def _python(plan: Plan, check: str) -> str:
    return function(plan, SYNTAX, check)


def _numpy(plan: Plan, check: str) -> str:
    casts = [f"{p.name} = np.asarray({p.name}, np.{plan.integer})" for p in plan.parameters]
    return "import numpy as np\n\n\n" + function(plan, of_arrays("np"), check, casts)


PYTHON = register(Target("python", SYNTAX, _python, WORDS))
NUMPY = register(Target("numpy", of_arrays("np"), _numpy, WORDS | {"np"}))
