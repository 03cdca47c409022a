"""The search for the digits of an inverse: of one layout, or of several at the same places.

A right inverse R of the functions f has R(i) = sum of c_k r_k over the digits c_k of i, and f(r_k) is the product p_k
of the extents before. So where one f has each offset in one place only, R is the start of its inverse, and every digit
is known; elsewhere digits are chosen, and a choice is kept if it reaches further.

Source: the definition; CuTe include/cute/layout.hpp, right_inverse and max_common_layout.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from ..core.digits import Modes, Pieces, Steps
from ..core.leaf_arithmetic import mul
from .predicates import consecutive

#: Domains up to this size are searched for every inverse that there is; in larger ones digits that carry are not tried.
SEARCHABLE = 2**10
#: So many steps a search may take.
BUDGET = 20_000


def whole_modes(modes: list[Any], as_leaf: Callable[[int], Any] = int) -> list[Any]:
    """CuTe's right inverse: modes in the order of their fixed strides, while each begins where the last one ends.

    as_leaf   what makes a fixed integer: int where all are plain, `static` where others are dynamic. Such a stride does
              not count; such an extent is the last
    """
    fixed, place = type(as_leaf(1)), as_leaf(1)
    found = []
    for s, d in modes:
        if type(d) is fixed and d > 0:
            found.append((d, type(s) is not fixed, place, s))
        place = mul(place, s)
    out, reached = [], 1
    for d, last, place, s in sorted(found):
        if d == reached and (last or s != 1):
            out.append((s, place))
            if last:
                break
            reached = d * s
    return out


def larger_inverse(modes: Modes, found: Modes) -> Modes:
    """A right inverse of these modes larger than `found`, which is one; `found`, if digits make none."""
    size, known_size = math.prod([s for s, _d in modes]), math.prod([s for s, _r in found])
    if known_size >= size or known_size >= (limit := consecutive(modes) or size):
        return found
    return _Digits(modes, [], size, limit, known_size).best() or found


def common(a: Modes, b: Modes, n: int) -> Modes:
    """The largest R below n places with a(R(i)) == i == b(R(i)), of merged modes, the last without bound."""
    a, b = (_up_to(n, modes) for modes in (a, b))
    for modes, other in ((b, a), (a, b)):
        if _each_once(modes):
            return _start_of_inverse(whole_modes(modes), Steps(other), n)
    limit = min(n, *(consecutive(modes) or n for modes in (a, b)))
    return _Digits(b, [Steps(a)], n, limit, 1).best() or []


def _up_to(n: int, modes: Modes) -> Modes:
    """The modes with a last extent that makes n places, or more."""
    before = math.prod([s for s, _d in modes[:-1]])
    return [*modes[:-1], (max(1, -(-n // before)), modes[-1][1])]


def _each_once(modes: Modes) -> bool:
    """Whether each stride begins past the reach of the smaller ones: then each offset is in one place."""
    reach = 0
    for d, s in sorted((d, s) for s, d in modes if s > 1):
        if d <= reach:
            return False
        reach += d * (s - 1)
    return True


def _start_of_inverse(inverse: Modes, other: Steps, n: int) -> Modes:
    """As much of an inverse as is one of `other` too, and stays below n places."""
    digits: Pieces = []
    p = 1
    for s, r in inverse:
        most = _most(other, digits, n, (s, r, p)) if other(r) == p else 1
        if most > 1:
            digits.append((most, r, p))
        if most < s:
            break
        p *= s
    return [(s, r) for s, r, _p in digits]


def _most(f: Steps, digits: Pieces, n: int, digit: tuple[int, int, int]) -> int:
    """The largest extent of one digit more for which f still adds up below n places; f(r) == p is known."""
    s, r, p = digit
    reach = sum((k - 1) * x for k, x, _t in digits)
    high = min(s, (n - 1 - reach) // r + 1, f.run(s, r)[0])

    def fails(extent: int) -> bool:
        return f.why_not([*digits, (extent, r, p)], exact=True) is not None

    if high < 2 or not fails(high):
        return high
    return 1 + bisect_left(range(2, high), True, key=fails)  # what holds for an extent holds for each smaller one


class _Digits:
    """The largest R with f(R(i)) == i for every f: that of `modes`, and the others.

    A domain of up to SEARCHABLE coordinates is searched whole. In a larger one a digit takes of each mode what the
    digits before have left, so that nothing carries in `modes`; of the others, that they add up is decided as
    in a composition.
    """

    def __init__(self, modes: Modes, others: list[Steps], n: int, limit: int, found: int) -> None:
        self.modes, self.others, self.n, self.limit, self.found = modes, others, n, limit, found
        self.places = list(itertools.accumulate((s for s, _d in modes), int.__mul__, initial=1))
        self.order = sorted(range(len(modes)), key=lambda j: -abs(modes[j][1]))
        self.budget = BUDGET
        self.tried: set[tuple[int, ...]] = set()
        self.at: dict[int, list[int]] | None = None
        if n <= SEARCHABLE:
            self.at = {}
            first = Steps(modes)
            for x in range(n):
                value = first(x)
                if all(f(x) == value for f in others):
                    self.at.setdefault(value, []).append(x)

    def best(self) -> Modes | None:
        """The digits (n, r) of an inverse larger than the one that is known; None if there is none."""
        self.digits: Modes | None = None
        if self.at is not None:
            self._anywhere([0], [])
        else:
            self._along_modes(1, [0] * len(self.modes), [])
        return self.digits

    def _note(self, p: int, digits: Modes) -> bool:
        """Whether to go on from p offsets found."""
        if p > self.found:
            self.found, self.digits = p, list(digits)
        self.budget -= 1
        return self.found < self.limit and self.budget > 0

    def _anywhere(self, image: list[int], digits: Modes) -> None:
        p = len(image)
        if not self._note(p, digits):
            return
        assert self.at is not None
        for r in self.at.get(p, ()):
            n = 1
            while (n + 1) * p <= self.limit and all(
                x + n * r in self.at.get(n * p + i, ()) for i, x in enumerate(image)
            ):
                n += 1
            for k in range(n, 1, -1):
                self._anywhere([x + c * r for c in range(k) for x in image], [*digits, (k, r)])

    def _along_modes(self, p: int, used: list[int], digits: Pieces) -> None:
        """Try every digit that can follow at place p, and after each all that can follow it; `used` counts
        steps in each mode."""
        if (p, *used) in self.tried or not self._note(p, [(n, r) for n, r, _p in digits]):
            return
        if not self.others:  # what can follow depends on the steps taken, and not on the digits that took them
            self.tried.add((p, *used))
        room = [s - 1 - u for (s, _d), u in zip(self.modes, used)]
        for steps in self._steps_to(p, room, 0):
            r = sum(c * self.places[j] for j, c in steps.items())
            self.budget -= 1
            if self.budget <= 0:
                return
            if any(f(r) != p for f in self.others):
                continue
            most = min([room[j] // c for j, c in steps.items()]) + 1
            for f in self.others:
                most = _most(f, digits, self.n, (most, r, p))
            for n in self._counts(p, most):
                rest = [u + (n - 1) * steps.get(j, 0) for j, u in enumerate(used)]
                self._along_modes(p * n, rest, [*digits, (n, r, p)])

    def _steps_to(self, p: int, room: list[int], k: int) -> Iterator[dict[int, int]]:
        """The ways to make the offset p of so many steps along each mode: the largest strides first, as far as they go.

        Along a mode of stride 0 only steps that another function sees are of use.
        """
        if k == len(self.order):
            if p == 0:
                yield {}
            return
        rest = [(room[j], self.modes[j][1]) for j in self.order[k + 1 :]]
        low, high = (sum(c * d for c, d in rest if (d < 0) is negative) for negative in (True, False))
        j = self.order[k]
        for c in _counts_between(p - high, p - low, self.modes[j][1], room[j], bool(self.others)):
            for steps in self._steps_to(p - c * self.modes[j][1], room, k + 1):
                yield {j: c, **steps} if c else steps

    def _counts(self, p: int, most: int) -> Iterator[int]:
        """The numbers of steps that a digit may take: all, or as many as end where another mode can begin."""
        wanted = {most}
        for _s, d in self.modes:
            if d > 0:
                every = d // math.gcd(p, d)
                wanted.update(range(every, min(most, 256 * every) + 1, every))
        return iter(sorted(wanted - {1}, reverse=True))


def _counts_between(low: int, high: int, d: int, room: int, of_zero: bool) -> Iterator[int]:
    """The c of 0 to room with low <= c * d <= high, those of the largest c * d first; of a stride of 0 none but 0
    counts unless `of_zero`."""
    if d == 0:
        return iter(range(room + 1 if of_zero else 1) if low <= 0 <= high else ())
    first, last = (-(-low // d), high // d) if d > 0 else (-(-high // d), low // d)
    counts = range(max(0, first), min(room, last) + 1)
    return iter(reversed(counts) if d > 0 else counts)
