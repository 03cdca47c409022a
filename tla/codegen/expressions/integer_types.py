"""The integer type of a function: 32 bits where every intermediate result is proved to fit, else 64.

Ranges are taken over all coordinates. Coordinates are bounded by sizes, so that the conditions that remain
are about sizes only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...symbolic import Condition
from ...symbolic.conditions import require_condition, shown
from ...symbolic.facts import symbols_in
from ...symbolic.poly import Atom, Poly, Symbol, number, one_of, split
from ...symbolic.proofs import ends, greatest, least
from ...symbolic.rules import floor_div
from .value_ranges import ValueRange

#: Of a value of more corners than this, only the ends of the whole are looked at.
MAX_CORNERS = 16


class Integer(NamedTuple):
    """An integer type: how many bits, and whether it has a sign."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - self.signed) - 1

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"


INTEGERS = {str(t): t for t in (Integer(32, True), Integer(64, True), Integer(32, False), Integer(64, False))}


def wanted_integer(name: object, widths: Sequence[int]) -> Integer:
    """The type of a name; LeafTypeError if it is not offered."""
    offered = {t: INTEGERS[t] for t in INTEGERS if INTEGERS[t].bits in widths}
    if not isinstance(name, str) or name not in offered:
        fix = "leave it out, and one that fits is taken"
        raise LeafTypeError(f"the integer type {name!r:.40}", f"one of {', '.join(offered)}", fix)
    return offered[name]


def chosen_integer(ranges: Sequence[ValueRange], widths: Sequence[int]) -> tuple[Integer, str]:
    """The narrowest type that every value is proved to fit in, else the widest; and why."""
    narrow = Integer(min(widths), True)
    doubtful = next((h.poly for h in ranges if doubt(h, narrow)), None)
    if doubtful is None:
        return narrow, "every value is proved to fit"
    if max(widths) == narrow.bits:
        return narrow, "every value fits where what is required holds"
    return Integer(max(widths), True), f"{shown(doubtful)} is not proved to fit in {narrow.bits} bits"


def doubt(h: ValueRange, t: Integer) -> int:
    """0 where it is proved that all values fit, 2 where an end is known that does not, else 1."""
    if any(end is not None and not t.low <= end <= t.high for end in h[1:]):
        return 2
    return int(None in h[1:])


def require_fits(h: ValueRange, t: Integer, coordinates: Collection[Symbol], asked: bool) -> None:
    """Unproven, or a condition for assuming(), where a value may not fit; RangeError where it does not.

    That what has no bound fits in 64 bits is taken.
    """
    for up, limit in ((False, t.low), (True, t.high)):
        end = h.high if up else h.low
        taken = not asked or (t.bits == 64 and (up or t.signed))
        if taken if end is None else end <= limit if up else limit <= end:
            continue
        for bound in _corners(h.poly, coordinates, up):
            condition = Condition("<=", bound, number(limit)) if up else Condition("<=", number(limit), bound)
            if condition.holds is False:
                raise _does_not_fit(h, t)
            require_condition(condition, f"{shown(h.poly)} in {t}")


def _does_not_fit(h: ValueRange, t: Integer) -> RangeError:
    known = f"{'-' if h.low is None else h.low} to {'any size' if h.high is None else h.high}"
    unsigned = not t.signed and (h.low is None or h.low < 0)
    fix = "use a signed type" if unsigned else "use a wider type, a tile, or declare smaller sizes"
    return RangeError(f"{shown(h.poly)}, {known}, in {t}", f"{t.low} to {t.high}", fix)


# ------------------------------------------------------------------------------------------------------ corners


def _corners(p: Poly, coordinates: Collection[Symbol], up: bool) -> list[Poly]:
    """Polynomials of sizes, one of which p never exceeds (up) or falls below: those at the ends of all coordinates.

    One part of p after the other is replaced by its ends, by the one that counts where the sign of what it is
    multiplied with is known. p is linear in each, so that its own ends are among what is left.
    """
    todo, done = [p], []
    while todo:
        q = todo.pop()
        x = next((x for x in reversed(q.atoms) if _depends(one_of(x), coordinates)), None)
        if x is None:
            done.append(q)
            continue
        a, b = split(q, x)
        bounds = [_end(x, coordinates, side) for side in _sides(a, up)]
        if None in bounds or x in a.atoms or len(todo) + len(done) > MAX_CORNERS:
            end = greatest(p) if up else least(p)
            return [p if end is None else number(end)]
        todo += [a * bound + b for bound in bounds if bound is not None]
    return [*dict.fromkeys(done)]


def _sides(a: Poly, up: bool) -> list[bool]:
    """At which of its ends a part counts that is multiplied with a: True is the upper one."""
    low, high = least(a), greatest(a)
    return [up] if low is not None and low >= 0 else [not up] if high is not None and high <= 0 else [False, True]


def _depends(p: Poly, coordinates: Collection[Symbol]) -> bool:
    """Whether coordinates stand in an expression."""
    return any(n in coordinates for n in symbols_in(p))


def _end(x: Atom, coordinates: Collection[Symbol], up: bool) -> Poly | None:
    """An upper bound of an atom, or a lower one."""
    if isinstance(x, Symbol):
        return next(iter(x.uppers if up else x.lowers), None)
    if x.kind == "//" and not _depends(x.args[1], coordinates):
        corner, *others = _corners(x.args[0], coordinates, up)
        return None if others or _depends(corner, coordinates) else floor_div(corner, x.args[1])
    end = ends(x)[up]
    return None if end is None else number(end)
