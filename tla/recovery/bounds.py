"""The layout of an index expression that is -1 where a coordinate is out of bounds: what is inside has to be a
box from 0 on.

Nothing is said of the elements outside. The layout has the modes that it has inside, the last of each coordinate as far
as the extent goes, and the box as its origin_shape: what emit_guard writes the condition of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..core.composed import ComposedLayout
from ..core.errors import RangeError
from ..core.ints import as_static
from ..core.layout import Layout
from ..tensors.offsets import offsets
from .digits import Digits, first_where, least, lines
from .swizzles import swizzled_digits

if TYPE_CHECKING:
    from .digits import Table

#: A box may end inside of a mode. It is then cut to a multiple of these, and the answer is compared with the whole box.
_CUTS = (1, *(1 << k for k in range(1, 12)), *(3 << k for k in range(8)), *(5 << k for k in range(8)))


def has_bounds(table: Table) -> bool:
    """Whether some coordinates, and not the first, have the offset -1, and none a lesser one."""
    return least(table) == -1 != int(table.flat[0])


def layout_in_bounds(table: Table) -> Layout | ComposedLayout:
    """The layout of a table that has -1 outside of a box; it is compared with the whole box.

    Raises  RangeError where what is inside is no box, or has no layout of shape:stride, swizzled or not

    >>> import numpy as np
    >>> found = layout_in_bounds(np.array([[0, 1, 2, -1], [8, 9, 10, -1]]))
    >>> print(found, found.origin_shape)
    (_2,_4):(_8,_1) (_2,_3)
    """
    box = _box(table)
    inside = table[tuple(map(slice, box))]
    for unit in _CUTS:
        cut = tuple(n - n % unit or n for n in box)
        part = inside[tuple(map(slice, cut))]
        found = swizzled_digits(part)
        layout: Any = found and _extended(*found, table.shape, box)
        if layout and (offsets(layout).reshape(table.shape, order="F")[tuple(map(slice, box))] == inside).all():
            return layout  # type: ignore[no-any-return]
    what = f"offsets of no layout of shape:stride, inside of the box {_shown(box)} that has any"
    raise RangeError(
        what, "a layout inside of the bounds, or a swizzle of one", f"give the extents inside: shape={_shown(box)}"
    )


def _extended(swizzles: Any, found: Digits, extents: tuple[int, ...], box: tuple[int, ...]) -> Any:
    """The layout with the last mode of each coordinate as far as its extent goes; None where that ends inside of the
    mode before it."""
    axes = []
    for axis, extent in zip(found.axes, extents):
        place = math.prod(int(n) for n, _d in axis[:-1])
        if extent % place:
            return None
        axes.append((*axis[:-1], (extent // place, axis[-1][1])))
    plain: Any = Digits(0, tuple(axes)).layout()
    shape, stride = (
        (plain.shape, plain.stride) if len(axes) > 1 else ((plain.shape,), (plain.stride,))
    )  # a mode for each coordinate
    layout: Any = Layout(shape, stride, tuple(map(as_static, box)))
    return found._replace(axes=tuple(axes)).wrapped(layout, swizzles)


def _box(table: Table) -> tuple[int, ...]:
    """The extents of what is inside, from 0 on."""
    inside = table != -1
    box = tuple(len(line) if (line != -1).all() else int((line != -1).argmin()) for line in lines(table))
    wrong = inside.copy()
    wrong[tuple(map(slice, box))] ^= True
    if wrong.any():
        where = first_where(wrong)
        there = f"{_shown(where)} {'has an offset' if inside[where] else 'has none'}"
        what = f"a condition that is no box: the axes from 0 are inside up to {_shown(box)}, but {there}"
        raise RangeError(what, "bounds of each coordinate alone, from 0 on", "take a part of it that is a box")
    return box


def _shown(coordinate: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinate))}{',' if len(coordinate) == 1 else ''})"
