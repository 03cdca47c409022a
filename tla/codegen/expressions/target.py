"""Targets: languages that a plan is printed in. A target is a table of its operators and the text around them.

A new target is one file that makes a Target and registers it: docs/extending.md says how.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError
from ...symbolic import Condition
from .graph import Node, in_order, names_in
from .plan import Plan

#: op -> how tightly it binds, and its text. Operands bind at least as tightly, those on the right more; of a
#: call they are free.
Syntax = Mapping[str, tuple[int, str]]
CALL = 99
#: Operands of these stand in parentheses, as readers and compilers want them.
_SET_OFF = (">>", "&", "^")
#: Inside of a product these do too: it reads without the rule that products and divisions go from left to right.
_DIVISIONS = ("/", "rem", "//", "%")


class Target(NamedTuple):
    """A language that a plan is printed in: its operators, and the text around them.

    name       what emit() takes
    syntax     its operators
    write      the text of a plan, and whether its requirements are to be checked: "", "function" or "assert"
    words      names that a function and its parameters cannot have, and a pattern of more of them
    widths     the bits of integers that it has
    bits       whether shifts and masks stand for divisions by powers of two
    checks     the checks that it can write

    >>> from tla.codegen import TARGETS
    >>> print(*TARGETS)
    c cpp cuda hip opencl affine python numpy jax pallas latex mlir triton

    Source: ours; docs/extending.md has one that is written in twenty lines.
    """

    name: str
    syntax: Syntax
    write: Callable[[Plan, str], str]
    words: frozenset[str]
    pattern: str = r"(?!)"
    widths: tuple[int, ...] = (32, 64)
    bits: bool = True
    checks: tuple[str, ...] = ("", "function", "assert")

    def require_names(self, name: str, parameters: Sequence[str]) -> None:
        """LeafTypeError for names of a function and its parameters that the target does not take."""
        for word in (name, *parameters):
            self.require_name(word)
        for word in parameters:
            if word == name or word.startswith(f"{name}_"):  # what else the text defines begins so
                raise LeafTypeError(
                    f"a function {name} with a parameter {word}", "another name", 'give it one: name="f"'
                )

    def require_name(self, name: object) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise LeafTypeError(
                f"the name {name!r:.40}", "letters, digits and underscores, a letter first", "use another name"
            )
        if name in self.words or re.fullmatch(self.pattern, name):
            raise LeafTypeError(
                f"the name {name} in {self.name}", "no word of the language, nor of emitted code", "use another name"
            )

    def require_check(self, check: object) -> None:
        """LeafTypeError for a check that the target cannot write."""
        if check not in self.checks:
            offered = ", ".join(map(repr, self.checks))
            fix = "leave it out, or check the sizes where you call it"
            raise LeafTypeError(f"check={check!r:.40} for {self.name}", f"one of {offered}", fix)

    def require_operations(self, plan: Plan, check: str) -> None:
        """LeafTypeError for an operation that the target does not have, in what it writes."""
        for n in in_order((*plan.results, *(plan.checks if check else ()))):
            if n.op not in ("n", "v") and n.op not in self.syntax:
                raise LeafTypeError(
                    f"the operation {n.op} in {self.name}", f"one of {' '.join(self.syntax)}", "use another target"
                )


TARGETS: dict[str, Target] = {}


def register(target: Target) -> Target:
    """Make a target known to emit(); one of the same name is replaced.

    >>> from tla import parse
    >>> from tla.codegen import TARGETS, Target, emit, register
    >>> names = Target("names", {}, lambda plan, check: " ".join(p.name for p in plan.parameters), frozenset(), checks=("",))
    >>> emit(parse("(_4,_8):(_0,_0)"), register(names).name)
    'i j'
    >>> _ = TARGETS.pop("names")

    Source: ours.
    """
    if not isinstance(target, Target):
        raise LeafTypeError(f"register of a {type(target).__name__}", "a Target", "write register(Target(...))")
    TARGETS[target.name] = target
    return target


def target_of(name: str) -> Target:
    """The target of a name; LeafTypeError if there is none."""
    if not isinstance(name, str) or name not in TARGETS:
        fix = "use one of these, or make it known with register(Target(...))"
        raise LeafTypeError(f"the target {name!r:.40}", f"one of {', '.join(sorted(TARGETS))}", fix)
    return TARGETS[name]


# ------------------------------------------------------------------------------------------------- expressions


def expression(n: Node, syntax: Syntax, names: Mapping[int, str], outside: int = 0) -> str:
    """A node as an infix expression. names: what stands for a node, by its id()."""
    if id(n) in names:
        return names[id(n)]
    if n.op in ("n", "v"):
        text = str(n.args[0])
        return f"({text})" if text.startswith("-") and outside else text
    binds, template = syntax[n.op]
    if n.op == "+":
        text = "".join(_in_chain(k, a, syntax, names) for k, a in enumerate(n.args))
    elif n.op in ("*", "and"):
        sign = template.replace("{}", "")
        text = sign.join(
            expression(a, syntax, names, CALL if a.op in _DIVISIONS else binds + (k > 0)) for k, a in enumerate(n.args)
        )
    else:
        within = 0 if binds == CALL else CALL if n.op in _SET_OFF else binds
        operands = (expression(a, syntax, names, within + (k if within else 0)) for k, a in enumerate(n.args))
        text = template.format(*operands)
    return f"({text})" if binds < outside else text


def _in_chain(k: int, a: Node, syntax: Syntax, names: Mapping[int, str]) -> str:
    """A term of a sum, with its sign."""
    binds = syntax["+"][0]
    minus = a.op == "neg" and id(a) not in names
    if a.op == "n" and a.args[0] < 0 and k:
        return f" - {-a.args[0]}"
    if minus and k:
        return f" - {expression(a.args[0], syntax, names, binds + 1)}"
    return f"{' + ' if k else ''}{expression(a, syntax, names, binds + (k > 0))}"


def statements(plan: Plan, syntax: Syntax) -> tuple[list[tuple[str, str]], list[str]]:
    """The temporaries of a plan as (name, expression), and the expressions of its results."""
    names: dict[int, str] = {}
    lines = []
    for name, n in plan.temporaries:
        lines.append((name, expression(n, syntax, names)))
        names[id(n)] = name
    return lines, [expression(n, syntax, names) for n in plan.results]


def calls(prefix: str, helpers: Mapping[str, tuple[str, Any]]) -> Syntax:
    """The operators that call a function of the text, whose name begins with a prefix. helpers: op -> the rest of its
    name, its body."""
    return {op: (CALL, f"{prefix}_{name}({{}}, {{}})") for op, (name, _body) in helpers.items()}


def commented(mark: str, lines: Iterable[str]) -> str:
    """Lines as comments, each behind the mark."""
    return "".join(f"{mark} {line}\n" for line in lines)


def required_names(plan: Plan) -> list[str]:
    """The parameters that the checks of the requirements are about."""
    about = names_in(plan.checks)
    return [p.name for p in plan.parameters if p.name in about]


def remarks(plan: Plan) -> Iterator[str]:
    """The comment on a plan, in lines."""
    yield f"{plan.name}: {plan.what}"
    yield f"{plan.integer}: {plan.why}"
    yield from required(c for c, _node in plan.requires)


def required(conditions: Iterable[Condition]) -> list[str]:
    """The comment on the conditions that a text rests on: a line, or none."""
    found = ", ".join(map(str, conditions))
    return [f"requires {found}"] if found else []
