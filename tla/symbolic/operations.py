"""The operators of SymInts, as a table: each on polynomials, and as it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..core.errors import RangeError
from . import tree
from .conditions import Condition, require_condition
from .facts import notation
from .poly import ONE, Poly, number
from .proofs import is_positive
from .rules import floor_div, node
from .tree import Tree


class Operation(NamedTuple):
    """An operator of SymInts: on polynomials, and as it is written. absorbs: static right sides that
    decide the result."""

    compute: Callable[[Poly, Poly], Poly]
    written: Callable[[Tree, Tree], Tree]
    absorbs: Mapping[int, int] = {}


def _divisor(what: str, x: Poly, d: Poly) -> tuple[Poly, Poly]:
    """x and d, or -x and -d, so that d > 0; an error, or a condition, where d may be 0."""
    if is_positive(d):
        return x, d
    if is_positive(-d):
        return -x, -d
    if not require_condition(Condition("<=", ONE, d), f"({notation(x)}) {what} ({notation(d)})"):
        expected = "a divisor of 1 or more"
        fix = "leave out what is empty"
        raise RangeError(f"({notation(x)}) {what} ({notation(d)}): a divisor that is 0 or may be", expected, fix)
    return x, d


def _quotient(x: Poly, d: Poly) -> Poly:
    return floor_div(*_divisor("//", x, d))


def _remainder(x: Poly, d: Poly) -> Poly:
    _divisor("%", x, d)
    return x - d * _quotient(x, d)


def _and(x: Poly, y: Poly) -> Poly:
    """x & y: of a number, each run of its bits is a modulo; else x + y == (x ^ y) + 2*(x & y)."""
    if x.const is not None:
        x, y = y, x
    mask = y.const
    if mask is None:
        return _quotient(x + y - node("^", x, y), number(2))
    if mask < 0:
        return x - _and(x, number(~mask))
    out = number(0)
    while mask:
        low = mask & -mask  # a run of bits is run // low, all ones
        run = mask & ~(mask + low)
        out = out + _remainder(_quotient(x, number(low)), number(run // low + 1)).scale(low)
        mask -= run
    return out


def _power_of_two(what: str, y: Poly) -> Poly:
    n = y.const
    if n is None or not 0 <= n < 63:  # 2^62 is the last power of two that a signed 64-bit integer holds
        raise RangeError(f"{what} by {notation(y)}", "a number from 0 to 62", "multiply, or divide by a power of two")
    return number(1 << n)


def _sum(a: Tree, b: Tree) -> Tree:
    return tree.total([a, b])


def _difference(a: Tree, b: Tree) -> Tree:
    return tree.total([a, tree.product(-1, [b])])


def _product(a: Tree, b: Tree) -> Tree:
    return tree.product(1, [a, b])


def _node_of(op: str) -> Callable[..., Tree]:
    return lambda *args: tree.operation(op, *args)


#: The tree of what is not written with the operations that trees have: it is never the cheapest.
UNWRITTEN = Tree("?", (), (1 << 30, 0, 0))


def _unwritten(a: Tree, b: Tree) -> Tree:
    return UNWRITTEN


def _masked(a: Tree, b: Tree) -> Tree:
    """x & y of a number y that is one run of bits: a digit, in its place."""
    mask = b.args[0] if b.op == "n" else 0
    low = mask & -mask
    if mask <= 0 or mask & (mask + low):
        return UNWRITTEN
    shifted = tree.operation("//", a, tree.number(low)) if low > 1 else a
    return tree.product(low, [tree.operation("%", shifted, tree.number(mask // low + 1))])


def _raised(a: Tree, b: Tree) -> Tree:
    return tree.product(1 << b.args[0], [a])


def _lowered(a: Tree, b: Tree) -> Tree:
    return tree.operation("//", a, tree.number(1 << b.args[0]))


OPERATIONS = {
    "add": Operation(lambda x, y: x + y, _sum),
    "sub": Operation(lambda x, y: x - y, _difference),
    "mul": Operation(lambda x, y: x * y, _product, {0: 0}),
    "floordiv": Operation(_quotient, _node_of("//")),
    "mod": Operation(_remainder, _node_of("%"), {1: 0, -1: 0}),
    "xor": Operation(lambda x, y: node("^", x, y), _node_of("^")),
    "min": Operation(lambda x, y: node("min", x, y), _node_of("min")),
    "max": Operation(lambda x, y: node("max", x, y), _node_of("max")),
    "and": Operation(_and, _masked, {0: 0}),
    "or": Operation(lambda x, y: x + y - _and(x, y), _unwritten, {-1: -1}),
    "lshift": Operation(lambda x, y: x * _power_of_two("<<", y), _raised),
    "rshift": Operation(lambda x, y: _quotient(x, _power_of_two(">>", y)), _lowered),
}
