"""All offsets of a layout at once, in numpy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..algebra.flat_modes import has_symbols
from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.basis import ScaledBasis
from ..core.composed import ComposedLayout, gives_coordinates
from ..core.errors import LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product_each, shown
from ..core.ints import IntTupleLike
from ..core.kinds import AnyLayout, by_kind, on
from ..core.layout import Layout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LIMIT = 2**30
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


def max_axes() -> int:
    """The axes that an array of numpy has at most: 64, before its version 2 half of that."""
    import numpy as np

    return 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


@by_kind(Layout)
def offsets(layout: Layout, *, limit: int = _LIMIT) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """The offset of every coordinate of a layout's (padded) shape, with one axis per top-level mode [elements].

    limit     how many offsets are not too many for memory
    Returns   int32 where every offset fits, else int64; `offsets(a)[i, j] == a(i, j)`
    Raises    RangeError for more offsets than `limit`, or offsets that 64 bits cannot hold; Unproven for symbolic sizes

    >>> from tla import offsets, parse
    >>> offsets(parse("((2,2),3):((3,6),1)"))
    array([[ 0,  1,  2],
           [ 3,  4,  5],
           [ 6,  7,  8],
           [ 9, 10, 11]], dtype=int32)

    It is one broadcast sum of the modes, each of them a small sum of its own.
    """
    import numpy as np

    if any(isinstance(d, ScaledBasis) for d in leaves(layout.stride)):
        raise LeafTypeError(f"offsets of {shown(layout)}: its values are coordinates", "a layout of offsets", "call it: layout(i, j)")
    _require_known(layout, layout.stride)
    extents = _extents(layout, limit)
    if not all(extents):
        return np.empty(extents, np.int32)
    dtype = _narrowest(layout)
    modes = [_mode_offsets(*mode, dtype) for mode in zip(modes_of(layout.shape), modes_of(layout.stride))]
    out = np.zeros(1, dtype)
    for mode in modes:  # a row for each offset so far, but for modes of one coordinate: there is nothing to add to them
        out = np.add.outer(out, mode) if mode.size > 1 else out
    return out.reshape(extents)


def _extents(layout: AnyLayout, limit: int) -> tuple[int, ...]:
    """The extents of the modes, if there are not too many modes or offsets."""
    _require_known(layout, layout.shape)
    extents = tuple(map(int, product_each(layout.shape)))
    count = functools.reduce(int.__mul__, extents, 1)
    if count > limit:
        raise RangeError(
            f"offsets of {shown(layout)}: {shown(count)} of them", f"at most limit={limit}", "take a tile of it, or raise the limit"
        )
    if len(extents) > max_axes():
        raise RankError(f"offsets of {len(extents)} modes", f"at most {max_axes()}, as many axes as numpy has", "group modes first")
    return extents


def _require_known(layout: AnyLayout, numbers: object) -> None:
    if has_symbols(numbers):
        raise Unproven(f"offsets of {shown(layout)}", "a layout of known sizes", "give its symbols values first")


@on(ComposedLayout, offsets)
def _of_composed(layout: ComposedLayout, *, limit: int = _LIMIT) -> npt.NDArray[Any]:
    """One call with an array for each mode."""
    import numpy as np

    extents = _extents(layout, limit)
    if isinstance(layout.outer, Layout) and gives_coordinates(layout.outer):
        raise LeafTypeError(f"offsets of {shown(layout)}: its values are coordinates", "a layout of offsets", "call it: layout(i, j)")
    if not all(extents):
        return np.empty(extents, np.int32)
    grid = np.ogrid[tuple(slice(n) for n in extents)] if isinstance(layout.shape, tuple) else [np.arange(extents[0])]
    values: Any = np.asarray(layout(*grid) if grid else layout(()), np.int64)
    fits = values.min() >= _INT32_MIN and values.max() <= _INT32_MAX
    return np.array(np.broadcast_to(values, extents), np.int32 if fits else np.int64)


def _mode_offsets(shape: IntTupleLike, stride: IntTupleLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The offsets of one mode in the order of its index: the first leaf is fastest, so it is the last axis."""
    import numpy as np

    out = np.zeros(1, dtype)
    for s, d in zip(leaves(shape), leaves(stride)):
        steps = np.zeros(int(s), dtype) if d == 0 or s <= 1 else np.arange(int(s), dtype=dtype) * dtype.type(int(d))
        out = np.add.outer(steps, out).ravel()
    return out


def _narrowest(layout: Layout) -> np.dtype[Any]:
    """int32 if it holds every sum on the way to every offset, int64 if that does; RangeError if neither does."""
    import numpy as np

    reach = [(int(s) - 1) * int(d) for s, d in zip(leaves(layout.shape), leaves(layout.stride))]
    lo, hi = sum(n for n in reach if n < 0), sum(n for n in reach if n > 0)
    if lo >= _INT32_MIN and hi <= _INT32_MAX:
        return np.dtype(np.int32)
    if lo >= INT64_MIN and hi <= INT64_MAX:
        return np.dtype(np.int64)
    raise RangeError(f"offsets from {lo} to {hi} of {shown(layout)}", "offsets that fit in 64 bits", "use smaller strides, or a tile")
