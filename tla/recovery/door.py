"""`tla.layout_of`: the layout of a table, a function, or what else gives an offset for each coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import LeafTypeError, RankError
from ..core.int_tuple import shown
from ..core.ints import is_int
from ..linear import LinearLayout
from ..linear.bridge import layout_of as layout_of_linear
from .functions import table_of_function
from .tables import as_table, layout_of_table

if TYPE_CHECKING:
    from ..core.composed import ComposedLayout
    from ..core.layout import Layout


def layout_of(x: Any, shape: int | tuple[int, ...] | None = None) -> Layout | ComposedLayout:
    """The simplest layout with given offsets: shape and strides, swizzled or not, or what is linear over bits.

    x        a table: an array or a list of offsets with an axis for each coordinate, as numpy or torch make one of an arange
             by reshape, transpose, flip, expand, unfold; or a function of coordinates; or a LinearLayout
    shape    the extents of the coordinates: a function needs them; a table of one axis is cut by them, the first fastest
    Returns  a Layout, coalesced mode by mode; with an offset or swizzles a ComposedLayout. It is compared with every offset
    Raises   RangeError with the smallest coordinates that no layout of shape:stride serves, and no swizzle of one;
             LeafTypeError for what is no table of integers, RankError for another shape

    >>> from tla import layout_of
    >>> print(layout_of([0, 1, 2, 3, 8, 9, 10, 11]))
    (_4,_2):(_1,_8)
    >>> print(layout_of(lambda i, j: i * 64 + (j // 8 ^ i % 8) * 8 + j % 8, shape=(64, 64)))
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    >>> import numpy as np
    >>> print(layout_of(np.arange(64).reshape(4, 2, 8).transpose(0, 2, 1)[::-1]))
    Sw<0,0,0> o _48 o (_4,_8,_2):(_-16,_1,_8)
    >>> layout_of([0, 1, 2, 3, 8, 9])
    Traceback (most recent call last):
    tla.core.errors.RangeError: offsets of no layout of shape:stride: (4) lies at 8: 4 steps of 1 end there, and 4 does not divide 6
      expected  a layout, a swizzle of one, or offsets that are linear over bits
      fix       take a part of it that is one, or cut it at that coordinate

    Law: offsets(layout_of(table)) == table. The extents and strides of a coalesced layout are unique, so they are the simplest.
    """
    extents = None if shape is None else _extents(shape)
    if isinstance(x, LinearLayout):
        if extents is not None:
            raise RankError(f"shape={shown(shape)} of a LinearLayout", "none: it has its own", "leave shape= out")
        return layout_of_linear(x)  # type: ignore[no-any-return]
    if callable(x):
        if extents is None:
            raise RankError("a function without a shape", "the extents of its coordinates", "write layout_of(f, shape=(64, 64))")
        return layout_of_table(table_of_function(x, extents))
    return layout_of_table(as_table(x, extents))


def _extents(shape: Any) -> tuple[int, ...]:
    """The extents of coordinates, as Python's integers."""
    extents = shape if isinstance(shape, tuple) else (shape,)
    if not extents or not all(is_int(n) and isinstance(n, int) and n > 0 for n in extents):
        raise LeafTypeError(f"shape={shown(shape)}", "positive integers, one for each coordinate", "write shape=(64, 64)")
    return tuple(map(int, extents))
