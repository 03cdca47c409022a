r"""LaTeX: an equation with floors and remainders, what it uses more than once named before it. It needs amsmath.

Source: ours.
"""

from __future__ import annotations

from ...symbolic import text
from ...symbolic.tree import Tree, name
from ..expressions.graph import Node
from ..expressions.plan import Plan
from ..expressions.target import CALL, Syntax, Target, commented, register, required

_COMPARED = {"==": "=", "<=": r"\le", "<": "<"}
_TREES = {"/": "//", "rem": "%", "neg": "-"}
_SYNTAX: Syntax = dict.fromkeys(
    ("neg", "+", "*", "/", "rem", "//", "%", "^", "min", "max", "and", "true", *_COMPARED), (CALL, "")
)


def _tree(n: Node, names: dict[int, str]) -> Tree:
    """A node as a tree, which knows how to be LaTeX."""
    if id(n) in names:
        return name(names[id(n)])
    args = n.args if n.op in ("n", "v") else tuple(_tree(a, names) for a in n.args)
    return Tree(_TREES.get(n.op, n.op), args, (0, 0, 0))


def _shown(n: Node, names: dict[int, str]) -> str:
    if n.op in ("and", "true"):
        return r" \wedge ".join(_shown(a, names) for a in n.args) or r"\top"
    if n.op in _COMPARED:
        return f" {_COMPARED[n.op]} ".join(text.latex(_tree(a, names)) for a in n.args)
    return text.latex(_tree(n, names))


def _write(plan: Plan, _check: str) -> str:
    names: dict[int, str] = {}
    lines = []
    for temporary, n in plan.temporaries:
        lines.append(f"{text.latex(name(temporary))} &= {_shown(n, names)}")
        names[id(n)] = temporary
    results = ", ".join(_shown(n, names) for n in plan.results)
    given = ", ".join(text.latex(name(p.name)) for p in plan.parameters[: plan.coordinates])
    function = text.latex(name(plan.name)) + (f"({given})" if given else "")
    lines.append(f"{function} &= {results if len(plan.results) == 1 else f'({results})'}")
    remark = commented("%", [f"{plan.name}: {plan.what}", *required(c for c, _node in plan.requires)])
    return remark + "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n"


LATEX = register(Target("latex", _SYNTAX, _write, frozenset(), bits=False, checks=("",)))
