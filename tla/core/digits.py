"""Digits: modes as pairs (extent, stride), first mode fastest; how they coalesce, how far they reach, and
where they carry.

A layout of static leaves is worked in plain ints and wrapped at the end. tla/algebra/flat_modes.py has the same for
leaves of every kind, dynamic and symbolic ones with what is proved of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .arrays import FEW, INT64_MAX, numpy_for
from .ints import Int

Modes = list[tuple[int, int]]
CommonMode = tuple[
    int, tuple[int, ...]
]  # of several functions at once: the number of steps, and how far one goes in each
Pieces = list[tuple[int, int, int]]  # of a mode: how many steps, how far each goes in the domain, and in the values

#: Domains up to this size are decided by going through them, where no shorter proof is known.
ENUMERABLE = 2**16


def merged(modes: Iterable[tuple[int, int]], unbounded: bool = False) -> Modes:
    """The modes coalesced. With `unbounded`, as a function of every integer: then the last one stays,
    whatever its extent."""
    out: Modes = []
    n, step = 1, 0  # the mode that grows
    s = d = 0
    for s, d in modes:
        if s == 1:
            continue
        if d == n * step:
            n *= s
            continue
        if n != 1:
            out.append((n, step))
        n, step = s, d
    if n != 1:
        out.append((n, step))
    if unbounded and s == 1 and (not out or d != n * step):
        out.append((s, d))
    return out


def first_of(modes: Modes, n: int) -> Modes:
    """Modes with the first n coordinates of these, or as many fewer as modes have."""
    out: Modes = []
    for s, d in modes:
        out.append((min(s, n), d))
        n //= s
        if n < 2:
            break
    return out


def reached(modes: Iterable[tuple[int, int]], n: int) -> Modes:
    """The modes coalesced, as far as numbers below n reach."""
    out, weight = [], 1
    for s, d in merged(modes):
        if weight < n:
            out.append((min(s, -(-n // weight)), d))
        weight *= s
    return out


def merged_leaves(modes: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Modes of leaves of any kind, static ones that continue their left neighbour merged into it: x%s*d +
    x//s*(s*d) == x*d.

    Extents of 1 stay: their strides may be coordinates, which count in the sum.
    """
    out: list[tuple[Any, Any]] = []
    for s, d in modes:
        if (
            out
            and out[-1][0] != 0
            and type(s) is type(d) is type(out[-1][0]) is type(out[-1][1]) is Int
            and d == out[-1][0] * out[-1][1]
        ):
            out[-1] = (out[-1][0] * s, out[-1][1])
        else:
            out.append((s, d))
    return out


def merged_together(modes: Iterable[CommonMode]) -> list[CommonMode]:
    """Modes of several functions at once, (extent, strides), slowest first: those merged that continue their right
    neighbour in all."""
    out: list[CommonMode] = []
    for n, steps in reversed([*modes]):
        if out and steps == tuple(out[-1][0] * d for d in out[-1][1]):
            out[-1] = out[-1][0] * n, out[-1][1]
        else:
            out.append((n, steps))
    return out[::-1]


class Steps:
    """A layout as a function of an integer: a(x) == d_0 x + sum over i of (d_i - s_{i-1} d_{i-1}) floor(x / P_i).

    functions   flat and merged modes, the last without bound; of several layouts, a is their sum
    step        d_0
    bounds      P, the product of the extents before a mode, for each but the first, and what floor(x / P) is multiplied
                by: a changes its step at multiples of P
    """

    __slots__ = ("bounds", "step")

    def __init__(self, *functions: Modes) -> None:
        self.step = 0
        self.bounds: list[tuple[int, int]] = []
        for modes in functions:
            p, ended = 0, 0  # where the mode before ends: in the domain, and in the offsets
            for s, d in modes:
                if p:
                    self.bounds.append((p, d - ended))
                else:
                    self.step += d
                p, ended = (p or 1) * s, s * d

    def __call__(self, x: Any) -> Any:
        total = x * self.step
        for p, change in self.bounds:
            total += x // p * change
        return total

    def runs(self, s: int, d: int) -> Pieces:
        """The runs of equal steps in a(0), a(d), ..., a((s - 1) d): each as long as can be, each a mode."""
        out: Pieces = []
        while s > 1:
            n, step = self.run(s, d)
            if n >= s or s % n:  # the second is refused by why_not, which says so
                out.append((s, d, step))
                return out
            out.append((n, d, step))
            s, d = s // n, d * n
        return out

    def run(self, s: int, d: int) -> tuple[int, int]:
        """The number of a(0), a(d), ..., a((s - 1) d) that are equal steps apart, from the first on; and the step."""
        n = s  # the first with a carry: n * d reaches past a multiple of a bound that d itself does not reach past
        for p, _change in self.bounds:
            r = d % p
            if r and n * r > p - r and (first := -(-p // r)) < n:
                n = first
        step = self(d)
        if n < s:
            last = min(s, n + ENUMERABLE)
            while n < last and self(n * d) == n * step:  # carries may cancel
                n += 1
        return n, step

    def carried(self, modes: Modes) -> int | None:
        """The first bound that the steps of modes, extents of 1 or more and steps x_k in the domain, reach past
        together; None if there is none, and a is then linear over them: see why_not."""
        for p, _change in self.bounds:
            reach = 0
            for n, x in modes:
                reach += (n - 1) * (x % p)
            if reach >= p:
                return p
        return None

    def why_not(self, pieces: Pieces, exact: bool = False) -> str | None:
        """The reason why a(sum of c_k x_k) is not the sum of c_k t_k for all c_k < n_k; None if it is. exact:
        a(x_k) == t_k is known.

        If a(x_k) == t_k, and for every bound p the sum of (n_k - 1)(x_k mod p) is below p, then no floor(x / p) sees
        more than the sum of the pieces' own. If that sum is larger, carries may still cancel: that is tried, if
        it is short.
        """
        carried = self.carried([(n, x) for n, x, _t in pieces])
        why = None if carried is None else f"its modes carry together past {carried}"
        if not exact and not all(n <= 1 or self(x) == t for n, x, t in pieces):
            why = "the step changes inside of a mode"
        if why is None:
            return None
        short = math.prod(n for n, _x, _t in pieces) <= ENUMERABLE
        return None if short and self._holds(pieces) else why

    def _holds(self, pieces: Pieces) -> bool:
        """The law, on every coordinate: the first ones one by one, and many more as an array, where 64 bits
        hold all numbers."""
        place, value = (Steps([(piece[0], piece[k]) for piece in pieces]) for k in (1, 2))
        count = math.prod([n for n, _x, _t in pieces])
        if any(self(place(k)) != value(k) for k in range(min(count, FEW))):
            return False
        np = numpy_for(count)
        if np and max(value._most(count), self._most(place._most(count))) <= INT64_MAX:
            k = np.arange(count)
            return bool((self(place(k)) == value(k)).all())
        return all(self(place(k)) == value(k) for k in range(FEW, count))

    def _most(self, n: int) -> int:
        """A number that no value and no number on the way to it exceeds, for places from -n to n."""
        return n * max(abs(self.step), 1) + sum([max(p, (n // p + 1) * abs(change)) for p, change in self.bounds])
