"""An access to memory of an open size, counted for all values that the size may have.

Offsets are swizzles of what is affine in the size N: a * N + b, for each value that an owner has. Let P be a multiple
of all that the memory and the swizzles repeat in: a row of banks, a line, the widest vector, the swizzles' reach. Then
N + P moves each offset by a * P, so that its bank, and its place in a vector, stay. What may change is whether two
owners touch one word. Of two whose a differ the distance changes by a multiple of P with each step, one way, so that
after some steps they never meet again, and nothing changes. So each class of sizes modulo P is counted up to there, one
by one. If all agree, that is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from ..core.composed import ComposedLayout, innermost
from ..core.errors import RangeError, Unproven
from ..core.int_tuple import leaves, modes_of, shown
from ..core.ints import IntLike, Leaf, is_int, known
from ..core.kinds import AnyLayout
from ..core.swizzle import Swizzle
from ..symbolic import SymInt, at
from ..symbolic.facts import symbol_of
from ..symbolic.poly import Symbol
from .places import Placed

#: So many sizes are counted at most, one by one.
MAX_COUNTED = 512

Found = TypeVar("Found")
Place = Callable[[Any], Placed]


class Open(NamedTuple):
    """A layout of memory whose strides have an open size.

    layout        the layout; sizes that only its extents have are at their least
    size          the size
    low, high     its bounds; high is None where there is none
    unit, reach   what divides it, and what its swizzles repeat in [elements]
    others        names and values of the sizes that are at their least
    """

    layout: Any
    size: Symbol
    low: int
    high: int | None
    unit: int
    reach: int
    others: dict[str, int]

    def sizes(self, value: int) -> dict[str, int]:
        """The values of all open sizes."""
        return {**self.others, self.size.name: value}

    def place(self, place: Place, value: int) -> Placed:
        """The offsets of all owners where the size has this value."""
        return _placed(place, at(self.layout, {self.size.name: value}), self.sizes(value))

    def values(self, period: int, place: Place) -> Iterator[int]:
        """The values that stand for all."""
        step = math.lcm(self.unit, self.reach, period)
        if self.high is not None and (self.high - self.low) // self.unit < MAX_COUNTED:
            yield from range(self.low, self.high + 1, self.unit)
            return
        for first in range(self.low, self.low + step, self.unit):
            steps = _meetings(self.place(place, first), self.place(place, first + step), step, period)
            yield from (first + k * step for k in range(steps + 2))


def is_open(layout: Any) -> bool:
    """Whether a layout has sizes that are not known."""
    return isinstance(layout, AnyLayout) and any(isinstance(n, SymInt) for n in _leaves(layout))


def for_all_sizes(
    layout: AnyLayout, by_mode: bool, period: int, place: Place, count: Callable[[Placed], Found]
) -> tuple[Found, dict[str, int]]:
    """The result of `count` at every value of the layout's open sizes, and the sizes that it was found at.

    by_mode  whether owners have a coordinate for each mode: else they have one index for all
    period   what the memory repeats in [elements]
    place    the offsets of all owners in a layout without open sizes
    Raises   Unproven where two values differ, with both, or where the strides are not affine in one size
    """
    there = _opened(layout, by_mode)
    if not isinstance(there, Open):
        return count(_placed(place, *there)), there[1]
    what = f"access of {shown(layout)}: too many sizes to count"
    too_many = Unproven(what, f"{MAX_COUNTED} at most", _declare(there, period, ""))
    found: tuple[Found, dict[str, int]] | None = None
    for counted, value in enumerate(there.values(period, place)):
        if counted > MAX_COUNTED:
            raise too_many
        here = count(there.place(place, value))
        if found is not None and here != found[0]:
            what = f"access of {shown(layout)}: {there.size.name} = {found[1][there.size.name]} and {value} differ"
            raise Unproven(what, "one answer for all sizes", _declare(there, period, " or give it a value"))
        found = found or (here, there.sizes(value))
    assert found is not None
    return found


def _placed(place: Place, layout: Any, sizes: dict[str, int]) -> Placed:
    try:
        return place(layout)
    except RangeError as error:
        where = ", ".join(f"{name} = {n}" for name, n in sizes.items())
        fix = "declare them with at_least, or give a layout of the whole tile"
        raise Unproven(f"{error.reason.what}, where {where}", error.reason.expected, fix) from error


def _declare(there: Open, period: int, more: str) -> str:
    step = math.lcm(there.unit, there.reach, period)
    return f"declare dim({there.size.name!r}, multiple_of={step}){more}"


def _leaves(layout: Any) -> Iterator[Any]:
    while isinstance(layout, ComposedLayout):
        yield layout.offset
        if isinstance(layout.outer, AnyLayout):
            yield from _leaves(layout.outer)
        layout = layout.inner
    yield from leaves(layout.shape)
    yield from leaves(layout.stride)


def _opened(layout: AnyLayout, by_mode: bool) -> Open | tuple[Any, dict[str, int]]:
    """The layout as one of an open size in its strides; where only extents are open, the least's with these extents."""
    inner, reach = innermost(layout), _reach(layout)
    strides = {n for x in leaves(inner.stride) for n in _affine(layout, x)}
    if len(strides) > 1:
        names = ", ".join(sorted(n.name for n in strides))
        what = f"access of {shown(layout)}: strides of {names}"
        raise Unproven(what, "one open size in strides", "give the others values: at(layout, ...)")
    for part in modes_of(inner.shape) if by_mode else [inner.shape]:
        if any(isinstance(x, SymInt) for x in [*leaves(part)][:-1]):
            what = f"access of {shown(layout)}: an open extent that an index is divided by"
            raise Unproven(what, "one at the end, or owners of coordinates", "give it a value: at(layout, ...)")
    only = {n for x in leaves(inner.shape) for n in _whole(layout, x)} - strides
    others = {n.name: _least(n) for n in only}
    layout = at(layout, others)
    if not strides:
        return layout, others
    size = strides.pop()
    most = [bound.const * size.unit for bound in size.uppers if bound.const is not None]
    return Open(layout, size, _least(size), min(most, default=None), size.unit, reach, others)


def _reach(layout: AnyLayout) -> int:
    """The period of the swizzles over a layout."""
    reach = 1
    while isinstance(layout, ComposedLayout):
        if not isinstance(layout.outer, Swizzle) or not is_int(layout.offset) or known(layout.offset) is None:
            what = f"access of {shown(layout)}"
            raise Unproven(what, "swizzles over a layout", "give its sizes values: at(layout, ...)")
        reach = max(reach, layout.outer.period)
        layout = layout.inner
    return reach


def _affine(layout: AnyLayout, x: IntLike) -> list[Symbol]:
    """The symbols of a stride that is a sum of multiples of them."""
    if not isinstance(x, SymInt):
        return []
    if any(len(term) > 1 or not all(isinstance(a, Symbol) for a in term) for term in x.poly.terms):
        what = f"access of {shown(layout)}: the stride {x}"
        raise Unproven(what, "a sum of multiples of one size", "give it a value: at(layout, ...)")
    return [a for a in x.poly.atoms if isinstance(a, Symbol)]


def _whole(layout: Any, x: Leaf) -> list[Symbol]:
    """The symbol of an extent that is one size."""
    if not isinstance(x, SymInt):
        return []
    n = symbol_of(x.poly)
    if n is None:
        what = f"access of {shown(layout)}: the extent {x}"
        raise Unproven(what, "an extent that is one size", "give it a value: at(layout, ...)")
    return [n]


def _least(n: Symbol) -> int:
    found = [bound.const * n.unit for bound in n.lowers if bound.const is not None]
    if not found or max(found) < 0:
        what = f"access to memory of the size {n.name}"
        raise Unproven(what, "a size of 0 or more", f"declare dim({n.name!r}, at_least=1)")
    return max(found)


def _meetings(here: Placed, next_: Placed, step: int, period: int) -> int:
    """After how many steps no two offsets that move apart are within a period of each other any more."""
    ends: dict[int, tuple[int, int]] = {}
    for x, y in zip(here.of, next_.of):
        moved = (y - x) // step
        low, high = ends.get(moved, (x, x))
        ends[moved] = min(low, x), max(high, x)
    return max([0, *((ends[a][1] - ends[b][0] + period) // ((b - a) * step) for a in ends for b in ends if a < b)])
