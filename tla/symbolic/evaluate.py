"""The value of a polynomial where its symbols have values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ..core.ints import Leaf
from .poly import Atom, Poly, Symbol

#: A symbol without an upper bound has its sample within ROOM of its lower bound; STEP sets those of
#: different names apart.
ROOM, STEP = 1000, 619

#: What each kind of node computes.
_NODES: dict[str, Callable[..., Any]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "^": lambda *xs: functools.reduce(operator.xor, xs),
}


def value(p: Poly, values: Mapping[str, int]) -> int:
    """The integer that p is, with a value for each name."""
    return int(folded(p, lambda n: values[n.name] // n.unit, lambda kind, *args: _NODES[kind](*args)))


def array_of(p: Poly, values: Mapping[str, Any]) -> Any:
    """The integers that p is, as a numpy array: the values of names are integers, or arrays of one shape."""
    import numpy as np

    pairs = {"min": np.minimum, "max": np.maximum}

    def node(kind: str, *args: Any) -> Any:
        return functools.reduce(pairs[kind], args) if kind in pairs else _NODES[kind](*args)

    return np.asarray(folded(p, lambda n: values[n.name] // n.unit, node))


def folded(
    p: Poly, of_symbol: Callable[[Symbol], Any], of_node: Callable[..., Any], seen: dict[Atom, Any] | None = None
) -> Leaf:
    """p computed in any arithmetic that has + and *: of_symbol(n) for symbols, of_node(kind, ...) for nodes."""
    seen = {} if seen is None else seen
    total: Any = 0
    for m, c in p:
        term: Any = c
        for a in m:
            if a not in seen:
                given = (folded(x, of_symbol, of_node, seen) for x in a.args)
                seen[a] = of_symbol(a) if isinstance(a, Symbol) else of_node(a.kind, *given)
            term = seen[a] * term
        total = total + term
    return total


def sample(p: Poly) -> int | None:
    """The value of p at one place that meets all facts; None where a range is empty there, or a divisor
    is not positive.

    Polynomials with two values there are not equal, which takes much less time to find than their normal forms.
    """
    total = 0
    for m, c in p.terms.items():
        for a in m:
            if a.sample is ...:
                a.sample = _sample_of_symbol(a) if isinstance(a, Symbol) else _sample_of_node(a)
            if a.sample is None:
                return None
            c *= a.sample
        total += c
    return total


def _sample_of_symbol(n: Symbol) -> int | None:
    lows, highs = _samples(n.lowers), _samples(n.uppers)
    if lows is None or highs is None:
        return None
    low = max(lows, default=0)
    high = min(highs, default=low + ROOM)
    return low + STEP * sum(map(ord, n.name)) % (high - low + 1) if low <= high else None


def _sample_of_node(a: Atom) -> int | None:
    args = _samples(a.args)
    if args is None or (a.kind in ("//", "%") and args[1] <= 0):
        return None
    return int(_NODES[a.kind](*args))


def _samples(ps: tuple[Poly, ...]) -> list[int] | None:
    found = [n for p in ps if (n := sample(p)) is not None]
    return found if len(found) == len(ps) else None
