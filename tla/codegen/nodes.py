"""Operations as a graph: what is computed twice is one node, and each node knows what it can be.

A node is found by its value, the normal form of what it computes: two ways to write one value become one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..symbolic import tree
from ..symbolic.conditions import Condition
from ..symbolic.forms import best
from ..symbolic.poly import Poly, number
from ..symbolic.proofs import greatest, least
from ..symbolic.rules import floor_div, modulo, node
from ..symbolic.syms import OPERATIONS
from ..symbolic.tree import ZERO, Tree, operation
from .bits import with_bits


class Node:
    """An operation on other nodes, or what it begins with.

    op      "n" a number, "v" a name; "+" and "*" of two or more, "neg" (in a sum: what is subtracted), "^", "min", "max" of
            two; "/" and "rem" of what is not negative, "//" and "%" that round down; ">>" and "&", whose right side is a
            number; of conditions "==", "<=", "<", "and" of two or more, and "true"
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
    "^": lambda *xs: node("^", *xs),
    "min": lambda *xs: node("min", *xs),
    "max": lambda *xs: node("max", *xs),
}


class Graph:
    """The nodes of some expressions.

    sizes   the value of each name
    bits    whether shifts and masks stand for divisions by powers of two
    """

    def __init__(self, sizes: Mapping[str, Poly], bits: bool) -> None:
        self.sizes, self.bits = sizes, bits
        self.nodes: dict[Poly, Node] = {}
        self.divided: set[tuple[Tree, ...]] = set()

    def of(self, trees: Iterable[Tree]) -> tuple[Node, ...]:
        """The nodes of trees. Where x//d is computed, x%d is x - d*(x//d)."""
        trees = [with_bits(t) if self.bits else t for t in trees]
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
        if t.op == "n":
            return self._made("n", t.args, number(t.args[0]))
        if t.op == "v":
            return self._made("v", t.args, self.sizes[t.args[0]])
        if t.op in ("^", "min", "max") and len(t.args) > 2:
            return self._node(operation(t.op, operation(t.op, *t.args[:-1]), t.args[-1]))
        args = tuple(map(self._node, t.args))
        if t.op in ("//", "%") and _is_negative(args[1].poly or number(0)):
            return self._node(_turned(t))
        polys = [a.poly or number(0) for a in args]
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
        return self._made("rem" if t.op == "%" and _is_not_negative(polys[0]) else t.op, args, _VALUES[t.op](*polys))

    def _divided(self, x: Node, d: Node) -> Node:
        a, b = x.poly or number(0), d.poly or number(0)
        return self._made("/" if _is_not_negative(a) else "//", (x, d), floor_div(a, b))

    def _made(self, op: str, args: tuple[Any, ...], value: Poly) -> Node:
        found = self.nodes.get(value)
        if found is None:
            found = self.nodes[value] = Node("n", (value.const,), value) if value.const is not None else Node(op, args, value)
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


def _is_negative(p: Poly) -> bool:
    high = greatest(p)
    return high is not None and high < 0


def _is_not_negative(p: Poly) -> bool:
    low = least(p)
    return low is not None and low >= 0


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


def values_on_the_way(n: Node) -> Iterator[Poly]:
    """What is held while a node is computed from left to right, its result last: a number by what it is a part of."""
    for k, a in enumerate(n.operands):
        subtracted = n.op == "+" and k > 0  # x - 1 holds no -1, and x - y no -y
        if a.poly is not None and (a.op == "n" or (a.op == "neg" and not subtracted)):
            yield -a.poly if subtracted and (a.poly.const or 0) < 0 else a.poly
    if n.poly is None or n.op in ("n", "neg"):
        return
    if n.op in ("+", "*"):
        polys = [a.poly or number(0) for a in n.args]
        for k in range(2, len(polys)):
            yield sum(polys[1:k], polys[0]) if n.op == "+" else product(polys[:k])
    yield n.poly


def operations(roots: Iterable[Node]) -> tuple[int, int]:
    """How many operations, and how many of them divide: a shared one counts once; shifts and masks are no divisions."""
    count = divisions = 0
    for n in in_order(roots):
        if n.op in ("+", "*"):
            count += len(n.args) - 1
        elif n.op not in ("n", "v"):
            count += n.op != "neg"
            divisions += n.op in ("/", "rem", "//", "%")
    return count, divisions
