"""Questions about layouts: do two coordinates meet, is every offset reached, are two layouts one map.

The answer is True, False, or None where it is not known; `is_injective.why_not(layout)` gives the reason for a False.

Source: CuTe's whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from ..core.basis import Basis, Encoding
from ..core.digits import ENUMERABLE
from ..core.errors import LeafTypeError, Predicate, Reason
from ..core.int_tuple import leaves, like, product_each, shown, size
from ..core.ints import IntLike, Leaf, _1, is_int, known, leaf, static
from ..core.kinds import AnyLayout, by_kind
from ..core.layout import Layout
from ..core.leaf_arithmetic import mul
from ..core.questions import at_most, equal
from .codomain import cosize
from .flat_modes import Mode, flat_modes, from_modes, has_symbols, merge, smallest, step_of

#: Offsets are marked one by one, a bit each, where they span no more than this.
SPAN = 2**26


@Predicate
@by_kind(Layout)
def same_map(a: Layout, b: Layout) -> Reason | bool | None:
    """Whether two layouts are the same function of their top-level coordinates, over their whole (padded) shape.

    Their origin_shapes count, their nesting does not. True, False, or None where sizes are not known.

    >>> from tla import parse, same_map
    >>> same_map(parse("((_2,_3),4):((_1,_2),6)"), parse("(6,4):(1,6)")), same_map(parse("(6,4):(1,6)"), parse("(6,4):(4,1)"))
    (True, False)
    >>> print(same_map.why_not(parse("(6,4):(1,6)"), parse("(6,4):(1,8)")).what)
    (6,4):(1,6) and (6,4):(1,8) differ first at (0,1): 6 and 8

    Source: docs/language.md. A mode's coalesced form is determined by its function: the first extent is where the
    function first leaves its first step, and so on.
    """
    if not isinstance(b, Layout):
        return same_map._decide(b, a)
    if a.origin_shape is None or b.origin_shape is None:  # which of its elements are valid is not known
        return None if same_map(Layout(a.shape, a.stride), Layout(b.shape, b.stride)) is not False else False
    if has_symbols(*(part for x in (a, b) for part in (x.shape, x.stride, x.origin_shape))):
        alike = a.origin_shape == b.origin_shape
        return True if alike and all(merge(flat_modes(x)) == merge(flat_modes(y)) for x, y in zip(a, b)) else None
    extents = product_each(a.shape), product_each(b.shape)
    if extents[0] != extents[1]:
        return Reason(f"the extents {extents[0]} and {extents[1]}", "equal extents", "compare layouts of one shape")
    if a.origin_shape != b.origin_shape:
        return Reason(
            f"the valid parts {a.origin_shape} and {b.origin_shape}", "equal origin_shapes", "crop both alike"
        )
    for i, (x, y) in enumerate(zip(a, b)):
        if size(a) and (p := _first_other(_normal(x), _normal(y))) is not None:
            zero = (0,) * len(extents[0])
            return differs(a, b, (*zero[:i], p, *zero[i + 1 :]))
    return True


def differs(a: AnyLayout, b: AnyLayout, coord: tuple[int, ...]) -> Reason:
    """The reason why two layouts differ: the first coordinate, first mode fastest, where their offsets differ."""
    at = coord if isinstance(a.shape, tuple) else coord[0]
    where = str(coord).replace(" ", "").replace(",)", ")")
    what = f"{shown(a)} and {shown(b)} differ first at {where}: {shown(a(at))} and {shown(b(at))}"
    return Reason(what, "equal offsets", "look at both from there on: tla draw puts them beside each other")


def _first_other(x: list[Mode], y: list[Mode]) -> int | None:
    """The first index at which two coalesced modes of one extent differ; None where they are one function.

    Where strides are equal as far as extents are, the shorter one ends first: what follows it goes on otherwise, or
    they were merged.
    """
    place = 1
    for (s, d), (t, e) in zip(x, y):
        if d != e:
            return place
        place *= min(int(s), int(t))
        if s != t:
            return place
    return None


def _normal(mode: Layout) -> list[Mode]:
    """The coalesced modes of a layout of known integers, by value."""
    steps = (d.each(lambda n: static(int(n))) if isinstance(d, Basis) else static(int(d)) for d in leaves(mode.stride))
    return merge([(static(int(s)), d) for s, d in zip(leaves(mode.shape), steps)])


def _known_modes(layout: Layout) -> list[tuple[int, int]] | None:
    """Extents and strides as plain ints, coordinates as integers that are equal where they are; None where one
    is not known."""
    modes = flat_modes(layout)
    if has_symbols(*modes):
        return None
    code = Encoding(d for _s, d in modes)
    return [(int(s), code(d)) for s, d in modes]


@Predicate
@by_kind(Layout)
def is_injective(layout: Layout) -> Reason | bool | None:
    """Whether no two coordinates share an offset. None where that is not known: of symbols, or of three or more strides
    that interleave, over a span of more than 2**26 offsets and 65,536 coordinates.

    >>> from tla import is_injective, parse
    >>> is_injective(parse("(4,2):(1,4)")), is_injective(parse("(4,2):(1,3)")), is_injective(parse("(4,2):(1,0)"))
    (True, False, False)

    Source: CuTe's whitepaper, arXiv 2603.02298; decided by the order of strides, else by going through the domain.
    """
    modes = _known_modes(layout)
    if modes is None:
        return True if _proved_apart(layout) else None
    met = _meeting(modes)
    if met is None or isinstance(met, bool):
        return met
    if isinstance(met, str):
        return Reason(f"{shown(layout)}: {met}", "an offset for each coordinate", "use larger strides")
    one, two = (like(layout.shape, iter(c)) for c in met)
    offset = sum(c * d for c, (_s, d) in zip(met[0], modes))
    place = f" {offset}" if all(step_of(d) is d for _s, d in flat_modes(layout)) else ""
    what = f"{shown(layout)}: the coordinates {shown(one)} and {shown(two)} share the offset{place}"
    return Reason(what, "an offset for each coordinate", "use larger strides, or leave out the mode that repeats")


def _proved_apart(layout: Layout, follows: Callable[[Any, Any], bool | None] = at_most) -> bool:
    """Whether modes are proved to have an order in which the stride of each is at least, or is, where those
    before it end.

    follows(end, stride)   at_most; or equal, so that there is no gap
    """
    rest = [(s, d) for s, d in flat_modes(layout) if known(s) != 1]
    end: Any = _1
    while rest and all(step_of(d) is d for _s, d in rest):
        first = smallest(rest)
        if first is None or not follows(end, first[1]):
            return False
        rest.remove(first)
        end = mul(*first)
    return not rest


Coordinates = tuple[list[int], list[int]]


def _meeting(modes: list[tuple[int, int]]) -> Coordinates | str | bool | None:
    """Two coordinates that share an offset, or why there must be such; True where there are none,
    None where unknown."""
    if any(s == 0 for s, _d in modes):
        return True
    steps = sorted((abs(d), s, k) for k, (s, d) in enumerate(modes) if s != 1)

    def at(places: dict[int, int]) -> list[int]:
        return [places.get(k, 0) for k in range(len(modes))]

    if steps and steps[0][0] == 0:
        return at({}), at({steps[0][2]: 1})
    reach = 0  # of the modes with smaller strides: each stride past it starts on new ground
    for d, s, _k in steps:
        if d <= reach:
            break
        reach += d * (s - 1)
    else:
        return True
    for (d, s, i), (e, n, k) in itertools.combinations(steps, 2):
        common = math.gcd(d, e)  # x * d == y * e first at x == e / common, y == d / common
        if e // common < s and d // common < n:
            x, y = e // common, d // common
            same_sign = (modes[i][1] < 0) == (modes[k][1] < 0)
            return (at({i: x}), at({k: y})) if same_sign else (at({}), at({i: x, k: y}))
    if len(steps) == 2:
        return True
    count, places = math.prod(s for _d, s, _k in steps), 1 + sum(d * (s - 1) for d, s, _k in steps)
    if count > places:
        return f"{count} coordinates have {places} offsets"
    if places <= SPAN:
        return _marked(modes)
    return _searched(modes) if count <= ENUMERABLE else None


def _marked(modes: list[tuple[int, int]]) -> Coordinates | bool:
    """Two coordinates that share an offset, by a mark for each offset: a mode moves the marks of those before it."""
    before = [1]  # bit k is the offset k, counted from the smallest one
    for s, d in modes:
        marks = _moved(before[-1], s, abs(d))
        if marks.bit_count() < before[-1].bit_count() * s:
            return _sharing(modes[: len(before)], before, len(modes))
        before.append(marks)
    return True


def _moved(marks: int, s: int, d: int) -> int:
    """The marks, at 0, d, ..., (s - 1) d: twice as many copies at a time."""
    out, n = marks, 1
    while n < s:
        step = min(n, s - n)
        out |= out << step * d
        n += step
    return out


def _sharing(modes: list[tuple[int, int]], before: list[int], rank: int) -> Coordinates:
    """Two coordinates of one offset, where those of all modes but the last have their own: each is read back
    from the marks."""
    s, d = modes[-1][0], abs(modes[-1][1])
    apart = next(c for c in range(1, s) if before[-1] & before[-1] << c * d)
    shared = before[-1] & before[-1] << apart * d
    offset = shared.bit_length() - 1
    found = []
    for last, place in ((0, offset), (apart, offset - apart * d)):
        coord = [last]
        for (n, step), marks in zip(reversed(modes[:-1]), reversed(before[:-1])):
            c = next(c for c in range(n) if marks >> place - c * abs(step) & 1)  # one of them is marked
            place -= c * abs(step)
            coord.append(c)
        up = [c if e >= 0 else n - 1 - c for c, (n, e) in zip(reversed(coord), modes)]
        found.append(up + [0] * (rank - len(up)))
    return found[0], found[1]


def _searched(modes: list[tuple[int, int]]) -> Coordinates | bool:
    seen: dict[int, tuple[int, ...]] = {}
    for coord in itertools.product(*(range(s) for s, _d in modes)):
        other = seen.setdefault(sum(c * d for c, (_s, d) in zip(coord, modes)), coord)
        if other is not coord:
            return list(other), list(coord)
    return True


def consecutive(modes: list[tuple[int, int]]) -> int | None:
    """The number of offsets that are reached from 0 on, without a gap; None for negative strides that span more than
    2**26 offsets.

    Of modes in the order of their strides, what the first ones reach without a gap; a stride past that leaves one.
    """
    if any(s == 0 for s, _d in modes):
        return 0
    if any(d < 0 and s > 1 for s, d in modes):
        if sum(abs(d) * (s - 1) for s, d in modes) > SPAN:
            return None
        marks = functools.reduce(lambda marks, mode: _moved(marks, mode[0], abs(mode[1])), modes, 1)
        reached = marks >> sum(-d * (s - 1) for s, d in modes if d < 0)  # bit k is the offset k
        return (~reached & reached + 1).bit_length() - 1
    reach = 0
    for d, s in sorted((d, s) for s, d in modes):
        if d > reach + 1:
            break
        reach += d * (s - 1)
    return reach + 1


def number_of_offsets(n: IntLike | None) -> Leaf | None:
    """The number of offsets that a question is about; None for those of the layout. LeafTypeError for a coordinate."""
    found = None if n is None else leaf(n)
    if found is not None and not is_int(found):
        what = f"a question about {shown(found)} offsets"
        raise LeafTypeError(what, "an integer", "give how many offsets there are")
    return found


@Predicate
@by_kind(Layout)
def is_surjective(layout: Layout, n: IntLike | None = None) -> Reason | bool | None:
    """Whether every offset from 0 up to n, not included, is reached; n is cosize(layout) by default.

    >>> from tla import is_surjective, parse
    >>> is_surjective(parse("(4,3):(1,2)")), is_surjective(parse("(4,3):(1,8)")), is_surjective(parse("(4,3):(1,8)"), 4)
    (True, False, True)

    None where that is not known. Source: CuTe's whitepaper, arXiv 2603.02298.
    """
    n = number_of_offsets(n)
    modes = _known_modes(layout)
    if modes is None or (n is not None and known(n) is None):
        within = n is None or at_most(n, size(layout))  # without gaps, cosize is size
        return True if within and _proved_apart(layout, equal) else None
    n = int(cosize(layout) if n is None else n)
    if any(step_of(d) is not d for _s, d in flat_modes(layout)):
        return Reason(f"{shown(layout)} has coordinates for values", "a layout of offsets", "take each mode by itself")
    reached = consecutive(modes)
    if reached is None or reached >= n:
        return None if reached is None else True
    what = f"{shown(layout)}: nothing is at offset {reached}"
    return Reason(what, f"every offset from 0 to {n - 1}", "fill the gap, or pad the buffer")


@Predicate
def is_bijective(layout: Layout, n: IntLike | None = None) -> Reason | bool | None:
    """Whether each offset from 0 up to n, not included, is reached exactly once, and no other; n is
    size(layout) by default.

    >>> from tla import is_bijective, parse
    >>> is_bijective(parse("(4,2):(2,1)")), is_bijective(parse("(4,2):(1,8)")), is_bijective(parse("(4,2):(1,0)"))
    (True, False, False)

    None where that is not known. Source: CuTe's whitepaper, arXiv 2603.02298.
    """
    count, n = size(layout), size(layout) if n is None else number_of_offsets(n)
    apart = is_injective._decide(layout)
    if isinstance(apart, Reason):
        return apart
    if equal(count, n) is False:
        return Reason(f"{shown(layout)}: {count} coordinates for {n} offsets", "as many", "use another range")
    reached = is_surjective._decide(layout, n)
    if isinstance(reached, Reason):
        return reached
    return True if equal(count, n) and reached else None  # as many as are reached: no two are the same


@Predicate
@by_kind(Layout)
def is_compact(layout: Layout) -> Reason | bool | None:
    """Whether the offsets are those from 0 on without a gap, each once, broadcasts aside: bijective without
    strides of 0.

    >>> from tla import is_compact, parse
    >>> is_compact(parse("(4,2):(2,1)")), is_compact(parse("(4,2,8):(1,4,0)")), is_compact(parse("(4,2):(1,8)"))
    (True, True, False)

    Source: CuTe's whitepaper, arXiv 2603.02298.
    """
    return is_bijective._decide(without_broadcasts(layout))


@by_kind(Layout)
def without_broadcasts(layout: Any) -> Any:
    """A layout without its modes of stride 0, static or dynamic."""
    return from_modes((s, d) for s, d in flat_modes(layout) if not (equal(step_of(d), 0) and at_most(1, s)))


@Predicate
@by_kind(Layout)
def is_ordered(layout: Layout) -> Reason | bool | None:
    """Whether the strides do not decrease from left to right; extents of 1 and strides of 0 do not count.

    >>> from tla import is_ordered, parse
    >>> is_ordered(parse("(4,2):(1,4)")), is_ordered(parse("(4,2):(2,1)")), is_ordered(parse("(4,1,2):(1,7,4)"))
    (True, False, True)

    Source: CuTe's whitepaper, arXiv 2603.02298.
    """
    if any(step_of(d) is not d for _s, d in flat_modes(layout)):
        what = f"{shown(layout)} has coordinates for strides"
        return Reason(what, "a layout of offsets", "ask it of each mode by itself: coordinates have no order")
    modes = [(s, d) for s, d in flat_modes(layout) if not equal(s, 1) and not equal(d, 0)]
    answer: bool | None = True
    for (s, a), (n, b) in itertools.pairwise(modes):
        here = at_most(a, b)
        # both count, whatever symbols are
        if here is False and equal(s, 1) is equal(n, 1) is equal(a, 0) is equal(b, 0) is False:
            what = f"{shown(layout)}: the stride {b} comes after {a}"
            return Reason(what, "strides that do not decrease", "select its modes in order")
        answer = (here and answer) or None
    return answer
