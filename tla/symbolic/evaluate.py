"""The value of a polynomial where its symbols have values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .poly import Atom, Poly, Symbol

#: What each kind of node computes.
_NODES: dict[str, Callable[..., Any]] = {
    "//": operator.floordiv,
    "min": min,
    "max": max,
    "^": lambda *xs: functools.reduce(operator.xor, xs),
}


def value(p: Poly, values: Mapping[str, int]) -> int:
    """The integer that p is, with a value for each name."""
    return int(folded(p, lambda n: values[n.name] // n.unit, lambda kind, *args: _NODES[kind](*args)))


def folded(p: Poly, of_symbol: Callable[[Symbol], Any], of_node: Callable[..., Any], seen: dict[Atom, Any] | None = None) -> Any:
    """p computed in any arithmetic that has + and *: of_symbol(n) for symbols, of_node(kind, ...) for nodes."""
    seen = {} if seen is None else seen
    total: Any = 0
    for m, c in p:
        term: Any = c
        for a in m:
            if a not in seen:
                if isinstance(a, Symbol):
                    seen[a] = of_symbol(a)
                else:
                    seen[a] = of_node(a.kind, *(folded(x, of_symbol, of_node, seen) for x in a.args))
            term = seen[a] * term
        total = total + term
    return total
