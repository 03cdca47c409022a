"""The integers of a layout that have to be of 64 bits where they are written as code.

There a product of two int is an int. The smaller ones stay int as long as all of them together stay below 2**31; the
others are written as 64 bits, and then so is every sum and product that they are part of.

Sizes that are not known have the type of their variables, and so has what is computed from them: they are not counted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.basis import BasisSum, ScaledBasis
from ...core.composed import ComposedLayout, gives_coordinates
from ...core.errors import LeafTypeError
from ...core.int_tuple import leaves, shown
from ...core.ints import IntLike, known
from ...core.layout import Layout
from ...core.swizzle import CoordSwizzle, Swizzle
from .sizes import INT32_MAX


class Part(NamedTuple):
    """A part of a layout: a plain layout, a Swizzle or an offset; and for each of its integers whether it is
    of 64 bits.

    extents   from left to right, the integers of a shape, or of an offset
    strides   from left to right
    """

    value: Any
    extents: list[bool]
    strides: list[bool]


def parts(x: object) -> list[Part]:
    """The parts of a composed layout: outer, offset, ..., innermost layout; of any other value, the value."""
    chain = []
    while isinstance(x, ComposedLayout):
        chain += [x.outer, x.offset]
        x = x.inner
    found, reach, coordinates = [], 0, False
    for value in (x, *reversed(chain)):
        if isinstance(value, CoordSwizzle) or any(
            isinstance(d, BasisSum) for d in leaves(getattr(value, "stride", ()))
        ):
            what = f"{shown(value)} as source of CuTe or TLA"
            raise LeafTypeError(what, "swizzles of offsets, and strides along one mode", 'write source(x, "isl")')
        if isinstance(value, Layout):
            part, reach = _of_layout(value, reach, coordinates)
            coordinates = gives_coordinates(value)
        elif isinstance(value, Swizzle):
            part, reach = Part(value, [], []), (1 << max(reach.bit_length(), value.changes.bit_length())) - 1
        else:  # what it is added to is of 64 bits already, if it is past 32
            part = Part(value, [reach <= INT32_MAX < reach + _size(n) for n in leaves(value)], [])
            reach += sum(map(_size, leaves(value)))
        found.append(part)
    return found[::-1]


def _of_layout(layout: Layout, argument: int, coordinates: bool) -> tuple[Part, int]:
    """A layout as a part, and the largest offset that it gives, of an argument of this size. An integer goes past the
    last extent only, a coordinate past each one."""
    extents = [known(n) or 1 for n in leaves(layout.shape)]
    steps = [max(n - 1, argument if coordinates else 0) for n in extents]
    if steps:
        steps[-1] = max(steps[-1], argument // math.prod(extents[:-1]))
    reaches = [c * _size(d) for c, d in zip(steps, leaves(layout.stride))]
    return Part(layout, past(extents, operator.mul, 1), past(reaches, operator.add, 0)), sum(reaches)


def past(values: list[int], join: Callable[[int, int], int], total: int, limit: int = INT32_MAX) -> list[bool]:
    """For each value whether it, joined with all smaller ones, is past the limit."""
    out = [False] * len(values)
    for k in sorted(range(len(values)), key=values.__getitem__):
        total = join(total, values[k])
        out[k] = total > limit
    return out


def _size(d: IntLike) -> int:
    """The size of a stride or an offset; 0 where that is not known."""
    return abs(known(d.value if isinstance(d, ScaledBasis) else d) or 0)
