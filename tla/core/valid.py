"""The part of a layout that holds valid data: all of it, a box of its top-level modes, or unknown; and what
becomes of it.

Whatever is done to a layout is done to its coordinates. So an operation is asked: on the layout of coordinates it says
which coordinate of the layout each coordinate of the result is, and by that whether it is valid. Here the
result's box is found.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .basis import BasisSum, E, ScaledBasis
from .int_tuple import leaves, like, modes_of, product, product_each
from .ints import IntTree, IntTupleLike, Leaf, _0, _1
from .leaf_arithmetic import add, ceil_div, mul, smaller
from .questions import at_most, equal
from .strides import Shape, Stride

if TYPE_CHECKING:
    from .ints import IntLike


class Mark(Enum):
    """A valid part that needs no numbers: all of the layout, or a part that is no box, or of which nothing is known."""

    ALL = "all"
    UNKNOWN = "unknown"


ALL: Final = Mark.ALL
UNKNOWN: Final = Mark.UNKNOWN
#: The valid part of a layout: all of it, so many of each top-level mode, or unknown.
Valid: TypeAlias = "Mark | Shape"


def coordinates(shape: IntTupleLike) -> IntTree:
    """The strides that map each coordinate of a shape to itself, an integer for each top-level mode."""
    return Stride(*(_along(i, s) for i, s in enumerate(shape))) if isinstance(shape, tuple) else E[0]


def indices(shape: IntTupleLike) -> IntTree:
    """The strides that map each coordinate of a shape to its index, as a coordinate of one mode."""
    return _along(0, shape)


def _along(axis: int, shape: IntTupleLike) -> IntTree:
    """Compact strides along an axis; of an extent of 1 too, for a tile may go past it."""
    places = itertools.accumulate(leaves(shape), mul, initial=_1)
    return like(shape, (E[axis] * place for place in places), Stride)


class _Digit(NamedTuple):
    """A part of a mode that goes along an axis in even steps; axis None: it goes nowhere."""

    extent: Any
    step: Any
    axis: int | None


def box(shape: IntTupleLike, stride: IntTupleLike, limits: Sequence[Any]) -> list[Leaf] | None:
    """The number of valid indices of each top-level mode, where these make a box; None where they make none, or
    it is not known.

    shape, stride   of a layout whose values are coordinates
    limits          the end of what is valid along each axis: a coordinate is valid where each of its integers is below
    """
    if any(isinstance(d, BasisSum) for d in leaves(stride)):
        return None
    modes = [_digits(s, d) for s, d in zip(modes_of(shape), modes_of(stride))]
    counts = {(i, k): digit.extent for i, mode in enumerate(modes) for k, digit in enumerate(mode)}
    empty: dict[int | None, Any] = {}
    for axis, limit in enumerate(limits):
        digits = {(i, k): digit for i, mode in enumerate(modes) for k, digit in enumerate(mode) if digit.axis == axis}
        found = _below(limit, digits)
        if found is None:
            return None
        counts.update(found)
        if not digits and at_most(limit, 0):  # an extent of 1 is no digit
            empty[next((i for i, d in enumerate(modes_of(stride)) if axis in axes(d)), None)] = limit
    out = []
    for i, (s, mode) in enumerate(zip(modes_of(shape), modes)):
        extents, own = [digit.extent for digit in mode], [counts[i, k] for k in range(len(mode))]
        out.append(empty[i] if i in empty else product(s) if own == extents else first(extents, own))
    return None if None in out else out


def axes(stride: IntTupleLike) -> set[int]:
    """The axes that strides go along."""
    return {d.path[0] for d in leaves(stride) if isinstance(d, ScaledBasis)}


def _digits(shape: IntTupleLike, stride: IntTupleLike) -> list[_Digit]:
    """The leaves of a mode, those merged that go on where the one before ends."""
    out: list[_Digit] = []
    for s, d in zip(leaves(shape), leaves(stride)):
        if equal(s, 1):
            continue
        moves = isinstance(d, ScaledBasis) and not equal(d.value, 0) and not equal(s, 0)
        new = _Digit(s, d.value, d.path[0]) if moves else _Digit(s, _0, None)
        last = out[-1] if out else None
        if last and last.axis == new.axis and equal(mul(last.extent, last.step), new.step):
            out[-1] = _Digit(mul(last.extent, s), last.step, last.axis)
        else:
            out.append(new)
    return out


def _below(limit: Leaf, digits: dict[Any, _Digit]) -> dict[Any, Leaf] | None:
    """The number of indices of each digit of an axis whose sum stays below a limit, where these are a box."""
    if not all(at_most(1, digit.extent) and at_most(1, digit.step) for digit in digits.values()):
        return None
    counts = {key: digit.extent for key, digit in digits.items()}
    if not digits or at_most(add(_reach(digits), _1), limit):
        return counts
    last = next(
        (k for k, digit in digits.items() if all(at_most(other.step, digit.step) for other in digits.values())), None
    )
    if last is None:
        return None
    digit, rest = digits[last], {key: other for key, other in digits.items() if key is not last}
    if rest and at_most(limit, digit.step):
        inside = _below(limit, rest)
        return None if inside is None else {last: _1, **inside}
    # the steps of the largest digit that stay below the limit: with the others at 0, and at their ends
    some, every = (least(ceil_div(end, digit.step), digit.extent) for end in (limit, limit - _reach(rest)))
    return {**counts, last: some} if not rest or equal(some, every) else None


def _reach(digits: dict[Any, _Digit]) -> Leaf:
    total: Any = _0
    for digit in digits.values():
        total = add(total, mul(digit.extent - _1, digit.step))
    return total


def least(n: Any, m: Any) -> Leaf:
    """The smaller of two counts: one of them as it stands, where that is known."""
    return n if at_most(n, m) else m if at_most(m, n) else smaller(n, m)


def first(extents: Sequence[Any], counts: Sequence[Any]) -> Leaf | None:
    """The number of coordinates in a box, where these are the first ones, first mode fastest; None where
    they are not."""
    total, whole = _1, True
    for n, count in zip(extents, counts):
        if not whole and not equal(count, 1):
            return None
        total, whole = mul(total, count), whole and bool(equal(count, n))
    return total


def spread(extents: Sequence[Any], count: IntLike) -> list[Leaf] | None:
    """The number of valid indices of each mode where the first `count` coordinates are valid; None where these
    are no box."""
    shape = tuple(extents)
    return box(shape, indices(shape), [count])


def common(a: Valid, b: Valid) -> Valid:
    """The part that is valid by both."""
    if a is ALL or b is ALL:
        return b if a is ALL else a
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    return Shape(*map(least, a, b))


def over(shape: IntTupleLike, counts: Sequence[Any], other: IntTupleLike) -> list[Leaf] | None:
    """A box of a shape's top-level modes in another shape that has the same indices; None where it is no box there."""
    before, after = product_each(shape), product_each(other)
    if len(before) == len(after) and all(n is m or equal(n, m) for n, m in zip(before, after)):
        return [*counts]
    count = first(before, counts)
    return None if count is None else spread(after, count)
