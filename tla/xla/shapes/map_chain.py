"""A layout as the maps that it is composed of, in plain ints: what `raise_` compares and constructs tilings from.

Source: ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.basis import BasisSum, ScaledBasis
from ...core.composed import ComposedLayout, gives_coordinates
from ...core.digits import reached
from ...core.errors import LoweringError
from ...core.int_tuple import leaves, modes_of, shown
from ...core.ints import IntTupleLike, known
from ...core.layout import Layout
from ...core.questions import equal

if TYPE_CHECKING:
    import numpy.typing as npt

Digits = list[list[tuple[int, int]]]  # of each number: extents and strides, the least significant first


class Stage(NamedTuple):
    """A map of several numbers into one: an index into memory, or into the index of the next stage, in row-major order.

    sizes    how far each number goes
    digits   of each number, as far as it goes, merged: equal where the maps are
    """

    sizes: tuple[int, ...]
    digits: Digits


class _Unfit(Exception):
    """The reason that a layout has no stages."""


def stages_of(layout: Layout | ComposedLayout, sizes: tuple[int | None, ...]) -> list[Stage]:
    """The maps of a layout, the first from the indices below `sizes`, the last into memory.

    Raises LoweringError for a swizzle, an offset, a symbol, or values that the next part is not made for.
    """
    try:
        parts = _parts(layout)
        inputs = [[*zip(modes_of(parts[0].shape), modes_of(parts[0].stride))], *map(_inputs, parts, parts[1:])]
        inner = (tuple(math.prod(_numbers(s)) for s, _d in modes) for modes in inputs[1:])
        reach = [tuple(map(_number, sizes)), *inner]
        return [*map(_stage, inputs, reach, [*reach[1:], ()])]
    except _Unfit as why:
        what = f"raise_ of {shown(layout)}: {why}"
        fix = "raise the layout without its offset or swizzle: a tiling begins at 0"
        raise LoweringError(what, "one shape:stride, or a chain of them, of known sizes", fix) from None


def _parts(layout: Any) -> list[Layout]:
    """The layouts of a chain, the innermost first."""
    if not isinstance(layout, ComposedLayout):
        return [layout]
    if not isinstance(layout.outer, Layout):
        raise _Unfit(f"{layout.outer} is no layout")
    if not all(equal(n, 0) for n in leaves(layout.offset)):
        raise _Unfit(f"it begins at {shown(layout.offset)}")
    return [*_parts(layout.inner), layout.outer]


def _inputs(before: Layout, part: Layout) -> list[tuple[Any, Any]]:
    """Shape and stride of each number that a part takes from the one before it: its modes, or one for all of them."""
    if gives_coordinates(before):
        return [*zip(modes_of(part.shape), modes_of(part.stride))]
    return [(part.shape, part.stride)]


def _number(n: object) -> int:
    value = known(n)
    if value is None:
        raise _Unfit(f"{n} is not known")
    return value


def _numbers(shape: IntTupleLike) -> list[int]:
    return [_number(n) for n in leaves(shape)]


def _stage(modes: list[tuple[Any, Any]], sizes: tuple[int, ...], following: tuple[int, ...]) -> Stage:
    """The stage of modes whose values go into numbers below `following`; without any, into memory."""
    digits, reach = [], [1] * len(following)
    for (shape, stride), n in zip(modes, sizes):
        pairs, weight = [], 1
        for s, d in zip(_numbers(shape), leaves(stride)):
            value, at = _placed(d, following)
            if following:
                reach[at] += (min(s, -(-n // weight)) - 1) * abs(value)
            weight *= s
            pairs.append((s, value * math.prod(following[at + 1 :])))
        digits.append(reached(pairs, n))
    for k, (used, n) in enumerate(zip(reach, following)):
        if used > n:
            raise _Unfit(f"its values reach {used} where mode {k} of the next part has {n}")
    return Stage(sizes, digits)


def _placed(d: object, following: tuple[int, ...]) -> tuple[int, int]:
    """A stride as an integer, and which number of the next stage it steps."""
    if isinstance(d, BasisSum):
        raise _Unfit(f"the stride {d} goes along several modes")
    if not isinstance(d, ScaledBasis):
        return _number(d), 0
    if len(d.path) != 1 or d.path[0] >= len(following):
        raise _Unfit(f"the stride {d} goes into no mode of the next part")
    return _number(d.value), d.path[0]


def offsets_in(layout: Layout | ComposedLayout, dims: tuple[int, ...]) -> npt.NDArray[Any]:
    """The offset of every index of an array, in row-major order."""
    import numpy as np

    at = np.ogrid[tuple(map(slice, dims))]
    return np.broadcast_to(np.asarray(layout(tuple(at)), np.int64), dims).ravel()
