"""The valid elements of a view, where these are no box of its modes: what CuTe leaves to predicates, checked.

A tile that does not divide reaches past the end. Its view then knows, of each of its coordinates, which element of the
tensor it was cut from that is: `place`, a layout whose values are coordinates. What it says is what a predicate made of an
identity tensor, cut the same way, says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..algebra.coalesce import coalesce
from ..algebra.flat_modes import flat_modes
from ..algebra.modes import slice_and_offset
from ..core.arithmetic import elem_less
from ..core.basis import ArithmeticTuple, E, ScaledBasis, as_coordinate
from ..core.composed import ComposedLayout
from ..core.coord import CoordLike
from ..core.int_tuple import modes_of, product, size
from ..core.ints import Int, IntTupleLike
from ..core.layout import Layout
from ..core.leaf_arithmetic import add, ceil_div, larger, mul, smaller
from ..core.make_layout import MakeLayout
from ..core.profiles import congruent
from ..core.questions import at_most, equal
from ..core.strides import Shape, Stride, compact_col_major

_0, _1 = Int[0](), Int[1]()


class Guard(NamedTuple):
    """The place of each coordinate of a view in the tensor that it was cut from.

    place   a layout of the view's shape, whose values are coordinates there, one integer per mode
    start   the coordinate of the view's first element
    valid   how much of each mode is valid there [elements]
    room    how much of it is the layout's own, padding included
    """

    place: Any
    start: Any
    valid: tuple[Any, ...]
    room: tuple[Any, ...]

    def admits(self, coord: CoordLike) -> Any:
        """Whether the element at a coordinate is valid: True, False, None where that is not known; of arrays, an array."""
        at = self.at(coord)
        return elem_less((*(Int[-1]() for _c in at), *at), (*at, *self.valid))  # 0 or more, and below what is valid

    def at(self, coord: CoordLike) -> Any:
        """The coordinate in the whole."""
        return as_coordinate(self.start + self.place(coord))


def of_box(shape: IntTupleLike, valid: Any, room: Any) -> Guard:
    """The guard of a whole tensor: its coordinates are its own."""
    modes = modes_of(shape)
    strides = [_along(i, compact_col_major(m)) for i, m in enumerate(modes)]
    place = Layout(Shape(*modes), Stride(*strides)) if isinstance(shape, tuple) else Layout(shape, strides[0])
    return Guard(place, ArithmeticTuple(*(_0 for _m in modes)), tuple(valid), tuple(room))


def _along(i: int, strides: Any) -> Any:
    return Stride(*(_along(i, d) for d in strides)) if isinstance(strides, tuple) else E[i] * strides


def cut(guard: Guard, operation: Callable[[Any], Any], shape: IntTupleLike) -> Guard | None:
    """The guard of what an operation on coordinates makes, a view of a shape; None where all of that is valid."""
    place = operation(guard.place)
    if _holds_all(place, guard.start, guard.valid):
        return None
    return guard._replace(place=_over(place, shape))


def _over(place: Any, shape: Any) -> Any:
    """A layout of the same function of an integer, over a shape of the same size."""
    return place if congruent(place.shape, shape) else ComposedLayout(place, _0, MakeLayout(shape, compact_col_major(shape)))


def sliced(guard: Guard, coord: Any) -> Guard | None:
    """The guard of what a coordinate leaves open; None where all of that is valid."""
    place, offset = slice_and_offset(coord, guard.place)
    start = as_coordinate(guard.start + offset)
    return None if _holds_all(place, start, guard.valid) else guard._replace(place=place, start=start)


def _holds_all(place: object, start: Any, valid: tuple[Any, ...]) -> bool:
    """Whether every value of a layout of coordinates is known to be valid."""
    if not isinstance(place, Layout):
        return False
    return all(
        at_most(_0, add(first, low)) is True and at_most(add(add(first, high), _1), n) is True
        for first, n, (low, high) in zip(start, valid, _reach(place, len(valid)))
    )


def _reach(place: Layout, rank: int) -> list[tuple[Any, Any]]:
    """The least and the largest coordinate in each mode."""
    spans: list[tuple[Any, Any]] = [(_0, _0)] * rank
    for s, d in flat_modes(place):
        if isinstance(d, ScaledBasis):
            (i,) = d.path
            low, high = spans[i]
            step = mul(larger(s - _1, _0), d.value)
            spans[i] = (add(low, smaller(step, _0)), add(high, larger(step, _0)))
    return spans


def box(guard: Guard) -> tuple[list[Any], list[Any]] | None:
    """The part of each top-level mode that is valid, and the layout's own, where that makes a box from 0 on; else None."""
    if not isinstance(guard.place, Layout):
        return None
    steps = [_step_of(m) for m in guard.place]
    axes = [step[0] for step in steps if step]
    if None in steps or len({*axes}) < len(axes):
        return None
    valid, room = (_extents(guard, steps, bounds) for bounds in (guard.valid, guard.room))
    return None if valid is None or room is None else (valid, room)


def _extents(guard: Guard, steps: list[Any], bounds: tuple[Any, ...]) -> list[Any] | None:
    """The number of indices of each mode that stay below bounds; None where it is not known whether any does."""
    moving = {step[0] for step in steps if step}
    inside = [at_most(add(c, _1), n) for i, (c, n) in enumerate(zip(guard.start, bounds)) if i not in moving]
    if None in inside:
        return None
    sizes = [product(m) for m in modes_of(guard.place.shape)]
    if not all(inside):
        return [_0] * len(sizes)
    left = (ceil_div(larger(bounds[step[0]] - guard.start[step[0]], _0), step[1]) if step else n for step, n in zip(steps, sizes))
    return [smaller(n, m) for n, m in zip(sizes, left)]


def _step_of(mode: Layout) -> tuple[Any, ...] | None:
    """The axis along which a mode goes in even steps, and the step; () for a mode of one index, None for any other."""
    flat = coalesce(mode)
    if equal(size(flat), 1) is True:
        return ()
    if not isinstance(flat.stride, ScaledBasis) or at_most(1, flat.stride.value) is not True:
        return None
    return flat.stride.path[0], flat.stride.value
