"""Offsets in C, C++, CUDA, HIP and OpenCL: one printer, and what each writes in its own way from the table
of C languages.

Division truncates there: where what is divided may be negative, a function of the text rounds down. Integers are in
two's complement, and >> of a negative one keeps its sign: so C++20 has it, and so every compiler of the others does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from ..c_languages import C_FAMILY, C_PATTERN, C_WORDS, CLanguage
from ..expressions.graph import Node, names_in, ops_in
from ..expressions.integer_types import Integer
from ..expressions.plan import Plan
from ..expressions.target import (
    CALL,
    Syntax,
    Target,
    calls,
    commented,
    expression,
    register,
    remarks,
    required_names,
    statements,
)

#: Operands of shifts, masks and xor stand in parentheses, as compilers ask for.
_SYNTAX: Syntax = {
    "neg": (11, "-{}"),
    "*": (10, "{} * {}"),
    "/": (10, "{} / {}"),
    "rem": (10, "{} % {}"),
    "+": (9, "{} + {}"),
    ">>": (8, "{} >> {}"),
    "<": (7, "{} < {}"),
    "<=": (7, "{} <= {}"),
    "==": (6, "{} == {}"),
    "&": (5, "{} & {}"),
    "^": (4, "{} ^ {}"),
    "and": (3, "{} && {}"),
    "true": (CALL, "true"),
}
HELPERS = {
    "//": ("floor_div", "return a / b - (a % b < 0);"),
    "%": ("floor_mod", "return a % b + (a % b < 0 ? b : 0);"),
    "min": ("min", "return a < b ? a : b;"),
    "max": ("max", "return a < b ? b : a;"),
}


def syntax_of(prefix: str) -> Syntax:
    """The operators, with what calls a function of the text: these begin with the name of the function
    that calls them."""
    return {**_SYNTAX, **calls(prefix, HELPERS)}


def _write(language: CLanguage, plan: Plan, check: str) -> str:
    head = language.head("bool", "int", *(["assert"] if check == "assert" else []))
    sizes, tests = required_names(plan), plan.checks
    parts = ["\n".join(head)] if head else []
    parts += _helpers(language, plan.name, language.integers[str(plan.integer)], plan.results)
    parts += requirement(language, plan.name, sizes, tests) if check and tests else []
    parts.append(_body(plan, language, sizes if check == "assert" and tests else None))
    return "\n\n".join(parts) + "\n"


def requirement(language: CLanguage, name: str, sizes: Iterable[str], tests: Sequence[Node]) -> list[str]:
    """The function `<name>_requires` of sizes, whether they pass all tests; behind those that it calls."""
    name, wide = f"{name}_requires", language.integers[str(Integer(64, True))]
    both = " && ".join(expression(node, syntax_of(name), {}, 1) for node in tests)
    return [*_helpers(language, name, wide, tests), _function(language, "bool", name, sizes, wide, [f"return {both};"])]


def _helpers(language: CLanguage, prefix: str, kind: str, roots: Iterable[Node]) -> list[str]:
    """The functions that stand for operations which the language does not have, of integers of one kind."""
    return [helper(prefix, op, kind, language.function) for op in sorted(ops_in(roots) & {*HELPERS})]


def helper(prefix: str, op: str, integer: str, function: str) -> str:
    """The function that an operator calls. function: what stands before its type."""
    name, body = HELPERS[op]
    return f"{function} {integer} {prefix}_{name}({integer} a, {integer} b) {{\n    {body}\n}}"


def _body(plan: Plan, language: CLanguage, asserted: list[str] | None) -> str:
    kind = language.integers[str(plan.integer)]
    lines = [] if asserted is None else [f"assert({plan.name}_requires({', '.join(asserted)}));"]
    used = names_in(plan.results)
    lines += [f"(void){p.name};" for p in plan.parameters if p.name not in used]
    temporaries, results = statements(plan, syntax_of(plan.name))
    lines += [f"const {kind} {name} = {text};" for name, text in temporaries]
    remark = commented("//", remarks(plan))
    given = [p.name for p in plan.parameters]
    if len(results) == 1:
        gives = kind if plan.results[0].poly is not None else "bool"
        return remark + _function(language, gives, plan.name, given, kind, [*lines, f"return {results[0]};"])
    lines += [f"out[{k}] = {text};" for k, text in enumerate(results)]
    return remark + _function(language, "void", plan.name, given, kind, lines, [f"{kind} *out"])


def _function(
    language: CLanguage,
    gives: str,
    name: str,
    names: Iterable[str],
    kind: str,
    lines: Iterable[str],
    more: Sequence[str] = (),
) -> str:
    parameters = ", ".join([*(f"{kind} {n}" for n in names), *more]) or "void"
    body = "".join(f"    {line}\n" for line in lines)
    return f"{language.function} {gives} {name}({parameters}) {{\n{body}}}"


for _name, _language in C_FAMILY.items():
    register(
        Target(
            name=_name,
            syntax={**_SYNTAX, **dict.fromkeys(HELPERS, (CALL, ""))},
            write=partial(_write, _language),
            words=C_WORDS,
            pattern=C_PATTERN,
            checks=("", "function", "assert") if _language.asserts else ("", "function"),
        )
    )
