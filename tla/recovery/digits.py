"""The shape and strides of a table of offsets, if there are any, and the smallest counterexample if there are none.

A layout of shape:stride is a sum of one function for each axis. Of a coalesced mode (e,d) that is not the last, the
mode behind it has another stride than e*d: so the first run of equal steps has exactly e values, e divides the extent,
and what is left is the table of every e-th value. By induction the coalesced modes of an axis are unique.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..core.composed import ComposedLayout
from ..core.ints import Leaf, as_static
from ..core.layout import Layout
from ..core.swizzle import Swizzle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Table: TypeAlias = "npt.NDArray[np.int64]"


def least(table: Any) -> int:
    return int(table.min())


def largest(table: npt.NDArray[Any]) -> int:
    return int(table.max())


def lines(table: Table) -> list[Table]:
    """The offsets along each axis, from the first coordinate on."""
    return [table[(0,) * a + (slice(None),) + (0,) * (table.ndim - a - 1)] for a in range(table.ndim)]


def first_where(holds: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The first coordinate at which something holds, those of the first axes fastest."""
    where, rest = [], int(holds.T.argmax())
    for n in holds.shape:
        rest, c = divmod(rest, n)
        where.append(c)
    return tuple(where)


class Digits(NamedTuple):
    """An offset, and the extents and strides of each axis, those that are fastest first."""

    offset: Leaf
    axes: tuple[tuple[tuple[Leaf, Leaf], ...], ...]

    def layout(self, swizzles: tuple[Swizzle, ...] = ()) -> Layout | ComposedLayout:
        """The layout, swizzled: the swizzles outermost first."""
        modes = [[*zip(*((as_static(n), as_static(d)) for n, d in axis))] for axis in self.axes]
        shape, stride = ([m[k] if len(m[k]) > 1 else m[k][0] for m in modes] for k in (0, 1))
        return self.wrapped(
            Layout(tuple(shape), tuple(stride)) if len(modes) > 1 else Layout(shape[0], stride[0]), swizzles
        )

    def wrapped(self, found: Any, swizzles: tuple[Swizzle, ...]) -> Layout | ComposedLayout:
        """A layout behind the offset and the swizzles."""
        if not swizzles and self.offset == 0:
            return found  # type: ignore[no-any-return]
        for swizzle, offset in zip(
            (*swizzles[::-1], Swizzle[0, 0, 0]()), (as_static(self.offset), *[as_static(0)] * len(swizzles))
        ):
            found = ComposedLayout(swizzle, offset, found)
        return found  # type: ignore[no-any-return]


class Counterexample(NamedTuple):
    """Coordinates whose offsets no layout of shape:stride has, and why."""

    why: str


def digits(table: Table) -> Digits | Counterexample:
    """The digits of each axis, or the smallest counterexample.

    >>> import numpy as np
    >>> digits(np.array([[5, 6, 13, 14], [7, 8, 15, 16]]))
    Digits(offset=5, axes=(((2, 2),), ((2, 1), (2, 8))))
    >>> print(digits(np.array([0, 1, 2, 9])).why)
    (3) lies at 9: 3 steps of 1 end there, and 3 does not divide 4
    """
    start = int(table.flat[0])
    alone = [line - start for line in lines(table)]
    if (apart := _not_a_sum(table, alone, start)) is not None:
        return apart
    axes = []
    for a, values in enumerate(alone):
        found = _modes(values)
        if isinstance(found, _Break):
            return (_broken if found.uneven else _carried)(table, a, *found[:2])
        axes.append(found)
    return Digits(start, tuple(axes))


class _Break(NamedTuple):
    """The place where an axis is no layout: a run of steps that ends unevenly (its place and length), or two places
    that do not add up."""

    first: int
    second: int
    uneven: bool


def _modes(values: Table) -> tuple[tuple[int, int], ...] | _Break:
    """Extents and strides of one axis that begins at 0, or where there are none."""
    modes: list[tuple[int, int]] = []
    place = 1
    while len(values) > 1:
        step = int(values[1])
        steps = values[1:] - values[:-1] == step
        run = len(values) if steps.all() else int(steps.argmin()) + 1
        if len(values) % run:
            return _Break(place, run, True)
        rows = values.reshape(-1, run)
        wrong = rows != rows[:, :1] + values[:run]
        if wrong.any():
            row, column = divmod(int(wrong.argmax()), run)
            return _Break(place * run * row, place * column, False)
        modes.append((run, step))
        values, place = rows[:, 0], place * run
    return tuple(modes) or ((1, 0),)


def _broken(table: Table, axis: int, place: int, run: int) -> Counterexample:
    """The refusal of a run of steps whose length does not divide what is left of the extent."""
    where, second = _coordinate(table, axis, place * run), _coordinate(table, axis, place)
    step = int(table[second]) - int(table.flat[0])
    return Counterexample(
        f"{_shown(where)} lies at {int(table[where])}: {run} steps of {step} end there,"
        f" and {run} does not divide {table.shape[axis] // place}"
    )


def _carried(table: Table, axis: int, high: int, low: int) -> Counterexample:
    return _sum_that_fails(table, *(_coordinate(table, axis, place) for place in (high, low, high + low)))


def _not_a_sum(table: Table, alone: list[Table], start: int) -> Counterexample | None:
    """The first coordinate, those of the first axes fastest, whose offset is not the sum of those of its axes."""
    if table.ndim < 2:
        return None
    total = start
    for a, values in enumerate(alone):
        total = total + values.reshape((1,) * a + (-1,) + (1,) * (table.ndim - a - 1))  # type: ignore[assignment]
    wrong = table != total
    if not wrong.any():
        return None
    where = first_where(wrong)
    last = max(a for a, c in enumerate(where) if c)
    other = _coordinate(table, last, where[last])
    return _sum_that_fails(table, tuple(c - x for c, x in zip(where, other)), other, where)


def _sum_that_fails(
    table: Table, one: tuple[int, ...], other: tuple[int, ...], both: tuple[int, ...]
) -> Counterexample:
    start = int(table.flat[0])
    less = f", less the {start} of {_shown((0,) * table.ndim)}" if start else ""
    total = int(table[one]) + int(table[other]) - start
    return Counterexample(
        f"{_shown(one)} lies at {int(table[one])} and {_shown(other)} at {int(table[other])}, but {_shown(both)} at "
        f"{int(table[both])}: not at the sum {total}{less}"
    )


def _coordinate(table: Table, axis: int, place: int) -> tuple[int, ...]:
    return tuple(place if a == axis else 0 for a in range(table.ndim))


def _shown(coordinate: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinate))})"
