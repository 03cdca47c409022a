"""Trees: how an expression reads. Each knows what it costs; text.py and sympy print them.

A cost counts every operation: x + y + z is two, a minus costs what a plus does. A division or modulo by a number counts
once more, for it is a shift or a multiplication and a shift; by a size it counts 8 more, for that is a division.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

#: The weight, the divisions and modulos, and all operations (divisions and modulos included).
Cost = tuple[int, int, int]


class Tree(NamedTuple):
    """A node of an expression: a number, a name, or an operation.

    op     "n" (args: its value), "v" (args: its name and whether it is a symbol of facts), "+", "*", "//", "%", "^",
           "min", "max"; "-" is the negative of what is in a sum
    cost   of the whole tree
    """

    op: str
    args: tuple[Any, ...]
    cost: Cost


ZERO = Tree("n", (0,), (0, 0, 0))


def name(text: str) -> Tree:
    return Tree("v", (text,), (0, 0, 0))


def number(n: int) -> Tree:
    return Tree("n", (n,), (0, 0, 0))


def names(t: Tree) -> set[str]:
    """The names in a tree."""
    return {t.args[0]} if t.op == "v" else set() if t.op == "n" else set().union(*map(names, t.args))


def operation(op: str, *args: Tree) -> Tree:
    """A node of an operation that is no sum and no product."""
    if op in ("//", "%"):
        return _node(op, args, 2 if args[1].op == "n" else 9, 1, 1)
    return _node(op, args, len(args) - 1, 0, len(args) - 1)


def _node(op: str, args: tuple[Tree, ...], weight: int, divisions: int, operations: int) -> Tree:
    for a in args:
        more = a.cost
        weight += more[0]
        divisions += more[1]
        operations += more[2]
    return Tree(op, args, (weight, divisions, operations))


def product(c: int, factors: Iterable[Tree]) -> Tree:
    """c times the factors: products in it made flat, a number last."""
    flat: list[Tree] = []
    for f in factors:
        for t in f.args if f.op == "*" else (f,):
            if t.op == "n":
                c *= t.args[0]
            else:
                flat.append(t)
    if c == 0 or not flat:
        return number(c)
    if c < 0:
        return _node("-", (product(-c, flat),), 1, 0, 1)
    if c != 1:
        flat.append(number(c))
    return flat[0] if len(flat) == 1 else _node("*", tuple(flat), len(flat) - 1, 0, len(flat) - 1)


def total(terms: Iterable[Tree]) -> Tree:
    """The sum of terms, without sums inside it: added terms first, then subtracted ones, then a number."""
    plus: list[Tree] = []
    minus: list[Tree] = []
    constant = 0
    for t in terms:
        for part in t.args if t.op == "+" else (t,):
            if part.op == "n":
                constant += part.args[0]
            else:
                (minus if part.op == "-" else plus).append(part)
    last = [number(constant)] if constant else []
    flat = plus + minus + last if plus or constant < 0 else last + minus
    if len(flat) < 2:
        return flat[0] if flat else ZERO
    count = len(flat) - 1 - len(minus) + (flat[0].op == "-")  # a minus in a sum is the sum's own operation
    return _node("+", tuple(flat), count, 0, count)


def value(
    t: Tree,
    number_of: Callable[[int], Any],
    names: Mapping[str, Any],
    operations: Mapping[str, Callable[[Any, Any], Any]],
) -> Any:
    """The value of a tree, from that of a number, the values of names, and the operations; KeyError for
    what has none."""
    if t.op in "nv":
        return number_of(t.args[0]) if t.op == "n" else names[t.args[0]]
    args = [value(a, number_of, names, operations) for a in t.args]
    return -args[0] if t.op == "-" else functools.reduce(operations[t.op], args)
