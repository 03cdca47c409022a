"""The reading of a tree: the normal form of its operations, as parse() computes them from the text.

The normal form is one of many that are equal in value: rules take (K//N + 79)//16 and (K + 79*N)//(16*N) to two of
these. So a tree is read before it is printed, and str() gives what parse() takes back to the same integer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from .poly import Poly, number
from .proofs import is_positive
from .rules import floor_div, node
from .tree import Tree, value


def reads_as(p: Poly, t: Tree, names: Mapping[str, Poly]) -> bool:
    """Whether the text of t reads as p; names: what the names in it stand for."""
    return bool(read(t, names) == p)


def read(t: Tree, names: Mapping[str, Poly]) -> Poly:
    """The normal form of what the text of t reads as; names: what the names in it stand for."""
    found: Poly = value(t, number, names, _OPERATIONS)
    return found


def _quotient(x: Poly, d: Poly) -> Poly:
    """x // d; a divisor without a known sign was assumed to be positive."""
    return floor_div(-x, -d) if is_positive(-d) else floor_div(x, d)


_OPERATIONS: dict[str, Callable[[Poly, Poly], Poly]] = {
    "+": lambda x, y: x + y,
    "*": lambda x, y: x * y,
    "//": _quotient,
    "%": lambda x, d: x - d * _quotient(x, d),
    "ceil": lambda x, d: -_quotient(-x, d),
    **{op: functools.partial(node, op) for op in ("^", "min", "max")},
}
