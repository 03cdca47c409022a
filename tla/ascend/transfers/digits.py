"""Moves as digits: which places go where, told by strides, so that two moves are compared for all sizes at once.

A digit is a coordinate below its extent, with a stride in the source and one in the destination: a move is a set of
them. Two digits of which the second steps as far as the whole first, on both sides, are one. An axis has a limit where
only some of its places are moved: the last block of a mode that is not full.

Source: ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.errors import Unproven
from ...core.int_tuple import leaves, modes_of
from ...core.ints import Leaf, known
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most, equal
from ...symbolic.conditions import Condition
from ...symbolic.poly import exact
from ...symbolic.symint import poly_of, wrap
from .moved import Moved
from .side import plain


class Digit(NamedTuple):
    """A coordinate of `extent` values that steps by src in the source, and by dst in the destination [elements]."""

    extent: Any
    src: Any
    dst: Any


class Axis(NamedTuple):
    """Digits of one mode, inner first, of which the first `limit` places are moved."""

    digits: tuple[Digit, ...]
    limit: Any


Axes = list[Axis]


class Given:
    """Conditions on sizes that are taken to hold: those of the side of a When that is proved."""

    def __init__(self, conditions: Sequence[Condition] = ()) -> None:
        orders = (c for c in conditions if c.question in ("<", "<="))
        self._rooms = [wrap(c.b - c.a) - (1 if c.question == "<" else 0) for c in orders]
        self._zeros = [c.a - c.b for c in conditions if c.question == "=="]

    def equal(self, a: Leaf, b: Leaf) -> bool:
        """Prove a == b: without what is given, or as a multiple of a difference that is 0."""
        return bool(equal(a, b)) or any(exact(poly_of(a - b), zero) is not None for zero in self._zeros)

    def at_most(self, a: Leaf, b: Leaf) -> bool | None:
        """Answer a <= b: True, False, or None where neither is proved."""
        answer = at_most(a, b)
        given = answer is None and (self.equal(a, b) or any(at_most(0, b - a - room) for room in self._rooms))
        return True if given else answer


def axes_of(src: Layout, dst: Layout, extents: Sequence[Any]) -> Axes:
    """The axes of a move from one layout to another over as many places of each mode.

    Raises Unproven where blocks of the two cut a mode at different places.
    """
    modes = zip(modes_of(src.shape), modes_of(src.stride), modes_of(dst.shape), modes_of(dst.stride), extents)
    return [Axis(tuple(_cut([*zip(leaves(a), leaves(s))], [*zip(leaves(b), leaves(d))])), n) for a, s, b, d, n in modes]


def axes_of_move(moved: Moved) -> Axes:
    """The axes of what an instruction moves."""
    return axes_of(moved.src, moved.dst, tuple(map(plain, require_origin("an instruction", moved.dst))))


def _cut(a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> Iterator[Digit]:
    """The digits of a mode that has these extents and strides on each side; the last goes on without an end."""
    (n, s), (m, d) = (tuple(map(plain, x[0])) for x in (a, b))
    while len(a) > 1 or len(b) > 1:
        if len(b) == 1 or (len(a) > 1 and equal(n, m)):
            step = n
        elif len(a) == 1:
            step = m
        elif known(n) is not None and known(m) is not None and max(n, m) % min(n, m) == 0:
            step = min(n, m)
        else:
            what = f"blocks of {n} on one side and of {m} on the other"
            raise Unproven(what, "blocks that cut each other evenly", "give known sizes")
        yield Digit(step, s, d)
        (a, n, s), (b, m, d) = (_after(x, size, stride, step) for x, size, stride in ((a, n, s), (b, m, d)))
    yield Digit(None, s, d)


def _after(
    digits: list[tuple[Any, Any]], size: Leaf, stride: Leaf, step: Any
) -> tuple[list[tuple[Any, Any]], Any, Any]:
    """The digits of one side that are left behind `step` places: they, the extent and the stride of the first."""
    if len(digits) == 1:
        return digits, size, stride * step
    if equal(size, step):
        return digits[1:], *map(plain, digits[1])
    return digits, size // step, stride * step


# ------------------------------------------------------------------------------------------------------- the same move


def merged(axes: Axes, given: Given) -> tuple[list[Digit], Axes]:
    """Digits that are moved whole, as few as can be, and the axes of which only a part is."""
    whole: list[Digit] = []
    parts: Axes = []
    for axis in axes:
        digits = _joined(axis.digits, given)
        inner = 1
        for d in digits[:-1]:
            inner = inner * d.extent
        if equal(inner, 1) or given.equal(ceil_div(axis.limit, inner) * inner, axis.limit):
            whole += [*digits[:-1], digits[-1]._replace(extent=ceil_div(axis.limit, inner))]
        elif given.at_most(axis.limit, inner):
            short, left = merged([Axis((*digits[:-2], digits[-2]._replace(extent=None)), axis.limit)], given)
            whole, parts = [*whole, *short], [*parts, *left]
        else:
            parts.append(Axis(tuple(digits), axis.limit))
    whole = [d for d in whole if not equal(d.extent, 1)]
    return _merge_all(whole, given), parts


def _joined(digits: Sequence[Digit], given: Given) -> list[Digit]:
    """The digits of one axis, of which neighbours that step evenly are one."""
    found = [digits[0]]
    for d in digits[1:]:
        last = found[-1]
        if given.equal(last.src * last.extent, d.src) and given.equal(last.dst * last.extent, d.dst):
            found[-1] = Digit(None if d.extent is None else last.extent * d.extent, last.src, last.dst)
        else:
            found.append(d)
    return found


def _merge_all(digits: list[Digit], given: Given) -> list[Digit]:
    """Whole digits, of which any two that step evenly are one."""
    for a, b in itertools.permutations(digits, 2):
        if given.equal(a.src * a.extent, b.src) and given.equal(a.dst * a.extent, b.dst):
            rest = [d for d in digits if d is not a and d is not b]
            return _merge_all([*rest, Digit(a.extent * b.extent, a.src, a.dst)], given)
    return digits


def _with_parts(whole: list[Digit], parts: Axes, given: Given) -> tuple[list[Digit], Axes]:
    """Whole digits and axes of which a part is moved: a digit inside of the first one of such an axis is one with it."""
    for n, axis in enumerate(parts):
        first, *others = axis.digits
        for d in whole:
            if given.equal(d.src * d.extent, first.src) and given.equal(d.dst * d.extent, first.dst):
                extent = None if first.extent is None else first.extent * d.extent
                more = Axis((Digit(extent, d.src, d.dst), *others), axis.limit * d.extent)
                return _with_parts([x for x in whole if x is not d], [*parts[:n], more, *parts[n + 1 :]], given)
    return whole, parts


def same_move(a: Axes, b: Axes, given: Given) -> bool:
    """Whether two moves are proved to have the same pairs of places, from their starts on."""
    (whole_a, parts_a), (whole_b, parts_b) = (_with_parts(*merged(x, given), given) for x in (a, b))

    def same_digit(x: Digit, y: Digit) -> bool:
        return all(given.equal(i, j) for i, j in zip(x, y))

    def same_part(x: Axis, y: Axis) -> bool:
        steps = [(d.src, d.dst) for d in x.digits], [(d.src, d.dst) for d in y.digits]
        inner = [d.extent for d in x.digits[:-1]], [d.extent for d in y.digits[:-1]]
        flat = zip((x.limit, *inner[0], *itertools.chain(*steps[0])), (y.limit, *inner[1], *itertools.chain(*steps[1])))
        return len(x.digits) == len(y.digits) and all(given.equal(i, j) for i, j in flat)

    return _matched(whole_a, whole_b, same_digit) and _matched(parts_a, parts_b, same_part)


def _matched(xs: Sequence[Any], ys: Sequence[Any], same: Callable[[Any, Any], bool]) -> bool:
    """Whether each of xs is the same as one of ys, and none is left."""
    left = [*ys]
    for x in xs:
        found = next((y for y in left if same(x, y)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def writes_once(axes: Axes, given: Given) -> list[tuple[Any, Any]] | None:
    """The conditions a <= b under which no place is written twice, those that are proved left out; None where one is
    written twice.

    Digits, from the one that steps least on, each step over all that those before it reach.
    """
    digits = [d for axis in axes for d in _on_side(axis, 2) if not equal(d.extent, 1)]
    if not digits:
        return []
    found: list[list[tuple[Any, Any]]] = []
    for order in itertools.permutations(digits):
        links = [(1, order[0].dst), *((a.dst * a.extent, b.dst) for a, b in itertools.pairwise(order))]
        answers = [given.at_most(a, b) for a, b in links]
        if False not in answers:
            found.append([link for link, answer in zip(links, answers) if not answer])
            if not found[-1]:
                break
    return min(found, key=len, default=None)


def _on_side(axis: Axis, side: int) -> list[Digit]:
    """The digits of an axis on a side (1 the source, 2 the destination), neighbours joined; the last has its extent."""
    found = [axis.digits[0]]
    for d in axis.digits[1:]:
        if equal(found[-1][side] * found[-1].extent, d[side]):
            extent = None if d.extent is None else found[-1].extent * d.extent
            found[-1] = found[-1]._replace(extent=extent)
        else:
            found.append(d)
    inner = 1
    for d in found[:-1]:
        inner = inner * d.extent
    return [*found[:-1], found[-1]._replace(extent=ceil_div(axis.limit, inner))]


def last_place(axes: Axes, side: int) -> Leaf:
    """The offset of the last place that is touched on one side (1 the source, 2 the destination), from the start on.

    Of an axis that ends inside of a block the whole block counts.
    """
    total = 0
    for axis in axes:
        for d in _on_side(axis, side):
            total = total + (d.extent - 1) * d[side]
    return total


def without_overflow(axes: Axes, loop: Axis, given: Given) -> Iterator[tuple[Axes, Any]]:
    """Moves of a loop of which each turn writes a part again that the next turn writes: without that part, and how far
    the last reaches.

    Places side by side of the destination, E of them in steps of t, and a turn that steps by D == c * t with c <= E <=
    2 * c: what is past c lies in the place of the next turn, which writes all of it.
    """
    whole, parts = merged(axes, given)
    turn = loop.digits[0].dst
    for chain in (
        *((d,) for d in whole),
        *((d, e) for d, e in itertools.permutations(whole, 2) if equal(d.dst * d.extent, e.dst)),
    ):
        step, extent = chain[0].dst, chain[0].extent * (chain[1].extent if len(chain) > 1 else 1)
        if not at_most(1, step):
            continue
        cut = turn // step
        if not given.equal(cut * step, turn) or not given.at_most(cut, extent):
            continue
        if any(given.at_most(extent - cut, most) and given.at_most(most, cut) for most in (cut, 16, 1)):
            rest = [Axis((d._replace(extent=None),), d.extent) for d in whole if d not in chain]
            short = Axis((*chain[:-1], chain[-1]._replace(extent=None)), cut)
            yield [*rest, short, *parts, loop], (extent - cut) * step
