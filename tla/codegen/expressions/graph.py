"""Operations as a graph: what is computed twice is one node, and each node knows what it can be.

A node is found by its value, the normal form of what it computes: two ways to write one value become one node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...core.ints import leaf
from ...symbolic import tree
from ...symbolic.conditions import Condition
from ...symbolic.forms import best
from ...symbolic.operations import OPERATIONS
from ...symbolic.poly import ONE, Poly, number
from ...symbolic.proofs import is_positive
from ...symbolic.rules import floor_div, modulo, node
from ...symbolic.tree import ZERO, Tree, operation
from .shifts import BitRule, with_bits


class Node:
    """An operation on other nodes, or what it begins with.

    op      "n" a number, "v" a name; "+" and "*" of two or more, "neg" (in a sum: what is subtracted), "^", "min",
            "max" of two; "/" and "rem" of what is not negative, "//" and "%" that round down; ">>" and "&", whose right
            side is a number; of conditions "==", "<=", "<", "and" of two or more, and "true"
    args    nodes; the number of "n", the name of "v"
    poly    its value; of a condition None
    """

    __slots__ = ("args", "op", "poly")

    def __init__(self, op: str, args: tuple[Any, ...], poly: Poly | None) -> None:
        self.op, self.args, self.poly = op, args, poly

    @property
    def operands(self) -> tuple[Node, ...]:
        """The nodes that it is computed from."""
        return () if self.op in ("n", "v") else self.args


_VALUES: dict[str, Callable[..., Poly]] = {
    "//": floor_div,
    "%": modulo,
    ">>": lambda x, k: floor_div(x, number(1 << (k.const or 0))),
    "&": OPERATIONS["and"].compute,
    **{op: functools.partial(node, op) for op in ("^", "min", "max")},
}


class Graph:
    """The nodes of some expressions.

    sizes    the value of each name
    rules    those of bits.py that are used
    signed   whether what is divided may be negative: of integers without a sign it never is
    """

    def __init__(self, sizes: Mapping[str, Poly], rules: Sequence[BitRule] = (), signed: bool = True) -> None:
        self.sizes, self.rules, self.signed = sizes, rules, signed
        self.nodes: dict[Poly, Node] = {}
        self.divided: set[tuple[Tree, ...]] = set()

    def of(self, trees: Iterable[Tree]) -> tuple[Node, ...]:
        """The nodes of trees. Where x//d is computed, x%d is x - d*(x//d)."""
        trees = [with_bits(t, self.rules) for t in trees]
        for t in trees:
            self._gather(t)
        return tuple(map(self._node, trees))

    def condition(self, c: Condition) -> Node:
        """The node of a condition: a comparison."""
        a, b = best(c.a), best(c.b)
        if c.question == "divides":
            return Node("==", self.of([operation("%", b, a), ZERO]), None)
        return Node(c.question, self.of([a, b]), None)

    def all_of(self, conditions: Iterable[Condition]) -> Node:
        """The node of several conditions at once."""
        nodes = tuple(map(self.condition, conditions))
        return Node("and", nodes, None) if len(nodes) > 1 else nodes[0] if nodes else Node("true", (), None)

    def _gather(self, t: Tree) -> None:
        if t.op not in "nv":
            if t.op == "//":
                self.divided.add(t.args)
            for a in t.args:
                self._gather(a)

    def _node(self, t: Tree) -> Node:
        """The node of a tree, its operands made first; a remainder of what is divided anyway is a subtraction."""
        if t.op == "n":
            return self._made("n", t.args, number(t.args[0]))
        if t.op == "v":
            return self._made("v", t.args, self.sizes[t.args[0]])
        if t.op in ("^", "min", "max") and len(t.args) > 2:
            t = t._replace(args=(t._replace(args=t.args[:-1]), t.args[-1]))
        args = tuple(map(self._node, t.args))
        polys = [a.poly or number(0) for a in args]
        if t.op in ("//", "%") and is_positive(-polys[1]):
            return self._node(_turned(t))
        if t.op == "+":
            return self._made("+", args, sum(polys[1:], polys[0]))
        if t.op == "*":
            return self._made("*", args, product(polys))
        if t.op == "-":
            return self._made("neg", args, -polys[0])
        if t.op == "%" and t.args in self.divided:
            x, d = args
            back = self._made("*", (self._divided(x, d), d), polys[1] * floor_div(*polys))
            return self._made("+", (x, self._made("neg", (back,), -back.poly)), modulo(*polys))  # type: ignore[operator]
        if t.op == "//":
            return self._divided(*args)
        return self._made(
            "rem" if t.op == "%" and self._is_not_negative(polys[0]) else t.op, args, _VALUES[t.op](*polys)
        )

    def _divided(self, x: Node, d: Node) -> Node:
        a, b = x.poly or number(0), d.poly or number(0)
        return self._made("/" if self._is_not_negative(a) else "//", (x, d), floor_div(a, b))

    def _is_not_negative(self, p: Poly) -> bool:
        return not self.signed or is_positive(p + ONE)

    def _made(self, op: str, args: tuple[Any, ...], value: Poly) -> Node:
        found = self.nodes.get(value)
        if found is None:
            c = value.const
            found = self.nodes[value] = Node(op, args, value) if c is None else Node("n", (c,), value)
            leaf(abs(c or 0))  # it is written with its sign before it
        return found


def product(polys: Iterable[Poly]) -> Poly:
    """The product of polynomials."""
    out = number(1)
    for p in polys:
        out = out * p
    return out


def _turned(t: Tree) -> Tree:
    """x//d as -x//-d, and x%d as -(-x%-d): a target divides by what is positive."""
    turned = operation(t.op, *(tree.product(-1, [a]) for a in t.args))
    return turned if t.op == "//" else tree.product(-1, [turned])


def in_order(roots: Iterable[Node]) -> list[Node]:
    """All nodes that are used, each once, operands first."""
    out: dict[int, Node] = {}

    def visit(n: Node) -> None:
        if id(n) not in out:
            for a in n.operands:
                visit(a)
            out[id(n)] = n

    for root in roots:
        visit(root)
    return [*out.values()]


def ops_in(roots: Iterable[Node]) -> set[str]:
    """The operations that are used, by their signs."""
    return {n.op for n in in_order(roots)}


def names_in(roots: Iterable[Node]) -> set[str]:
    """The names that are used."""
    return {n.args[0] for n in in_order(roots) if n.op == "v"}


def shared(roots: Iterable[Node]) -> list[Node]:
    """The operations that are used more than once, operands first."""
    roots = [*roots]
    order = in_order(roots)
    uses = dict.fromkeys(map(id, order), 0)
    for n in roots:
        uses[id(n)] += 1
    for parent in reversed(order):
        for n in parent.operands:
            uses[id(n)] += uses[id(parent)] if parent.op == "neg" else 1  # a minus is written wherever it is used
    return [n for n in order if uses[id(n)] > 1 and n.op not in ("n", "v", "neg")]


def operations(roots: Iterable[Node]) -> tuple[int, int]:
    """The number of operations, and of divisions among them. A shared one counts once; a shift is no division.

    A minus in a sum is the sum's own operation; any other is one, wherever it is written.
    """
    roots = [*roots]
    count, divisions = sum(n.op == "neg" for n in roots), 0
    for n in in_order(roots):
        count += sum(a.op == "neg" and (n.op != "+" or k == 0) for k, a in enumerate(n.operands))
        if n.op in ("+", "*"):
            count += len(n.args) - 1
        elif n.op not in ("n", "v", "neg"):
            count += 1
            divisions += n.op in ("/", "rem", "//", "%")
    return count, divisions
