"""Multiples of a number, required of the addresses of threads and blocks: a condition on sizes, whatever
the index is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.ints import IntLike
from ..core.questions import divides, require
from .poly import ZERO, Mono, Poly, one_of
from .proofs import least
from .symint import SymInt, wrap


def require_multiple(n: int, x: IntLike, where: Callable[[], str]) -> bool:
    """Ask that n divides x: True, False, or of symbols what require does, as conditions on what indices
    are multiplied by.

    An index is a symbol, or what is computed of it, that may be 0: a thread's or a block's. n divides x for each of its
    values if it divides what each index is multiplied by. Where it does not, but may divide x, the condition is on x.

    >>> from tla import assuming, dim
    >>> K, t = dim("K"), dim("t", at_least=0, at_most=127)
    >>> with assuming() as conditions:
    ...     require_multiple(8, K * t + 16 * (t // 4), lambda: "a read")
    True
    >>> print(*conditions)
    8 divides K
    """
    parts: list[Any] = [x]
    if isinstance(x, SymInt) and divides(n, x) is None:
        factors = _factors_of_indices(n, x.poly)
        parts = parts if any(divides(n, factor) is False for factor in factors) else factors
    return all(require("divides", n, part, where) for part in parts)


def _factors_of_indices(n: int, p: Poly) -> list[Any]:
    """The integers that the indices of a sum, and products of them, are multiplied by, without their multiples of n."""
    found: dict[Mono, Poly] = {}
    for m, c in (term for term in p if term[1] % n):
        index = tuple(a for a in m if least(one_of(a)) == 0)
        sizes = tuple(a for a in m if a not in index)
        found[index] = found.get(index, ZERO) + Poly({sizes: c})
    return [wrap(factor) for factor in found.values()]
