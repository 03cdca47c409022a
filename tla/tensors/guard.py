"""The valid elements of a view, where these are no box of its modes: what CuTe leaves to predicates, checked.

A tile that does not divide reaches past the end. Its view then knows, of each of its coordinates, which element of the
tensor it was cut from that is: `place`, a layout whose values are coordinates. What it says is what a predicate made of
an identity tensor, cut the same way, says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..algebra.flat_modes import flat_modes
from ..algebra.modes import slice_and_offset
from ..core.arithmetic import elem_less
from ..core.basis import ArithmeticTuple, Basis, as_coordinate
from ..core.composed import ComposedLayout
from ..core.coord import CoordLike
from ..core.int_tuple import modes_of
from ..core.ints import Int, IntTree, IntTupleLike, _0, _1
from ..core.layout import Layout, unchecked_layout, whole_of
from ..core.leaf_arithmetic import add, larger, mul, smaller
from ..core.make_layout import MakeLayout
from ..core.profiles import congruent
from ..core.questions import at_most, equal
from ..core.strides import compact_col_major
from ..core.valid import axes, box, coordinates


class Guard(NamedTuple):
    """The valid elements of a view, and those that are its layout's own.

    valid   how many indices of each mode are valid, from 0 on [elements]
    room    how many of them are the layout's own, padding included
    place   where the valid elements are no box: a layout of the view's shape whose values are the coordinates of its
            elements in the tensor that it was cut from; valid and room are of the modes of that one. None
            where they are a box
    start   with a place, the coordinate there that the view begins at
    """

    valid: tuple[Any, ...]
    room: tuple[Any, ...]
    place: Any = None
    start: Any = None

    def admits(self, coord: CoordLike) -> Any:
        """Whether the element at a coordinate is valid: True, False, None if unknown; of arrays, an array."""
        at = self.at(coord)
        return elem_less((*(Int[-1]() for _c in at), *at), (*at, *self.valid))  # 0 or more, and below what is valid

    def at(self, coord: CoordLike) -> Any:
        """The coordinate in the whole."""
        return as_coordinate(self.start + self.place(coord))

    def placed(self, shape: IntTupleLike) -> Guard:
        """The same by places, of a view of a shape: those of a box are its own coordinates."""
        if self.place is not None:
            return self
        start = ArithmeticTuple(*(_0 for _m in modes_of(shape)))
        return Guard(self.valid, self.room, unchecked_layout(shape, coordinates(shape)), start)


def whole(shape: IntTupleLike) -> Guard:
    """The guard of a view of a shape that is all valid."""
    return Guard(extents := whole_of(shape), extents)


def cut(guard: Guard, operation: Callable[[Any], Any], shape: IntTupleLike) -> Guard:
    """The guard of the view, of this shape, that an operation on coordinates makes."""
    place = operation(guard.place)
    if _holds_all(place, guard.start, guard.valid):
        return whole(shape)
    if not congruent(place.shape, shape):  # the same function of an integer, over the view's shape
        place = ComposedLayout(place, _0, MakeLayout(shape, compact_col_major(shape)))
    return guard._replace(place=place)


def sliced(guard: Guard, coord: Any) -> Guard:
    """The guard of the slice that a coordinate leaves open."""
    place, offset = slice_and_offset(coord, guard.place)
    start = as_coordinate(guard.start + offset)
    return whole(place.shape) if _holds_all(place, start, guard.valid) else guard._replace(place=place, start=start)


def _holds_all(place: Layout, start: IntTree, valid: tuple[Any, ...]) -> bool:
    """Whether every value of a layout of coordinates is known to be valid.

    An extent that is 0 leaves no value, so each is taken for 1 at least: of a positive step the last value is the
    largest.
    """
    if not isinstance(place, Layout):
        return False
    spans: list[tuple[Any, Any]] = [(_0, _0)] * len(valid)
    for s, d in flat_modes(place):
        for term in d.terms if isinstance(d, Basis) else ():
            low, high = spans[term.path[0]]
            if at_most(_0, term.value) is True:
                spans[term.path[0]] = (low, add(high, mul(s - _1, term.value)))
                continue
            step = mul(larger(s - _1, _0), term.value)
            spans[term.path[0]] = (add(low, smaller(step, _0)), add(high, larger(step, _0)))
    return all(
        at_most(_0, add(first, low)) is True and at_most(add(add(first, high), _1), n) is True
        for first, n, (low, high) in zip(start, valid, spans)
    )


def boxed(guard: Guard, shape: IntTupleLike) -> Guard:
    """The guard as a box of a view's shape, from 0 on, where it is known to be one; else as it is."""
    valid = _below(guard, guard.valid)
    if valid is None:
        return guard
    if all(equal(n, m) for n, m in zip(valid, whole_of(shape))):
        return whole(shape)
    room = _below(guard, guard.room)
    return guard if room is None else Guard(tuple(valid), tuple(room))


def _below(guard: Guard, bounds: tuple[Any, ...]) -> list[Any] | None:
    """The number of indices of each mode whose place is below bounds; None if these are no box that is known."""
    place = guard.place
    if not isinstance(place, Layout) or not all(at_most(0, c) for c in guard.start):
        return None
    moving = axes(place.stride)
    inside = [at_most(add(c, _1), n) for i, (c, n) in enumerate(zip(guard.start, bounds)) if i not in moving]
    if None in inside:
        return None
    if not all(inside):
        return [_0 for _m in modes_of(place.shape)]
    return box(place.shape, place.stride, [larger(n - c, _0) for n, c in zip(bounds, guard.start)])
