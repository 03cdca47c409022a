"""Integers of the loops of a copy as text of C."""

from __future__ import annotations

from ...symbolic import SymInt
from ...symbolic.facts import whole
from ...symbolic.forms import best
from ...symbolic.symint import poly_of
from ..expressions.graph import Graph, Node, ops_in
from ..expressions.shifts import RULES
from ..expressions.target import CALL, expression
from ..indices.c import HELPERS, helper, syntax_of


def node_of(x: object) -> Node:
    """The node that computes an integer."""
    p = poly_of(x)
    graph = Graph({n.name: whole(n) for n in p.scope}, RULES)
    (node,) = graph.of([x.form if isinstance(x, SymInt) else best(p)])
    return node


class Terms:
    """Expressions as text, and the functions that these call.

    name       what the names of the functions begin with
    integer    the type of integers
    function   what stands before the type of a function
    """

    def __init__(self, name: str, integer: str, function: str) -> None:
        self.name, self.integer, self.function = name, integer, function
        self.called: set[str] = set()

    def text(self, x: object, within: int = 0) -> str:
        """An integer as an expression."""
        node = node_of(x)
        self.called |= ops_in([node]) & {*HELPERS}
        return expression(node, syntax_of(self.name), {}, within)

    def compared(self, x: object) -> str:
        """An integer as a side of a comparison."""
        return self.text(x, syntax_of(self.name)["<"][0] + 1)

    def added(self, x: object) -> str:
        """An integer behind a plus."""
        return self.text(x, syntax_of(self.name)["+"][0] + 1)

    def operand(self, x: object) -> str:
        """An integer as an operand of any operator."""
        return self.text(x, CALL)

    def helpers(self) -> list[str]:
        """The functions that were called."""
        return [helper(self.name, op, self.integer, self.function) for op in sorted(self.called)]
