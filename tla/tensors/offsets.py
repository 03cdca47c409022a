"""All offsets of a layout at once, in numpy."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from ..algebra.flat_modes import has_symbols
from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.basis import Basis
from ..core.cache import plain_memo
from ..core.composed import ComposedLayout, gives_coordinates, values_between
from ..core.errors import LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product_each, shown
from ..core.ints import IntTupleLike
from ..core.kinds import AnyLayout, by_kind, on
from ..core.layout import Layout
from ..core.swizzle import Swizzle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LIMIT = 2**30
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
#: So many offsets are swizzled at once: a cache holds them, and the bits that are read of them.
_PIECE = 1 << 14


@plain_memo
def max_axes() -> int:
    """The most axes that a numpy array may have: 64, or 32 before numpy 2."""
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

    if any(isinstance(d, Basis) for d in leaves(layout.stride)):
        raise _of_coordinates(layout)
    _require_known(layout, layout.stride)
    extents = _extents(layout, limit)
    if not all(extents):
        return np.empty(extents, np.int32)
    dtype = _narrowest(layout)
    return _outer(np.add, np.zeros(1, dtype), _modes(layout, dtype)).reshape(extents)


def _modes(layout: Layout, dtype: np.dtype[Any]) -> list[npt.NDArray[Any]]:
    """The offsets of each mode alone."""
    return [_mode_offsets(*mode, dtype) for mode in zip(modes_of(layout.shape), modes_of(layout.stride))]


def _outer(combine: np.ufunc, start: npt.NDArray[Any], modes: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The start combined with every choice of one offset of each mode: a row for each that there is so far."""
    for mode in modes:
        start = combine.outer(start, mode) if mode.size > 1 else start  # the one offset of a mode of extent 1 is 0
    return start


def _extents(layout: AnyLayout, limit: int) -> tuple[int, ...]:
    """The extents of the modes, if there are not too many modes or offsets."""
    _require_known(layout, layout.shape)
    extents = tuple(map(int, product_each(layout.shape)))
    count = functools.reduce(int.__mul__, extents, 1)
    if count > limit:
        what = f"offsets of {shown(layout)}: {shown(count)} of them"
        raise RangeError(what, f"at most limit={limit}", "take a tile of it, or raise the limit")
    if len(extents) > max_axes():
        expected = f"at most {max_axes()}, as many axes as numpy has"
        raise RankError(f"offsets of {len(extents)} modes", expected, "group modes first")
    return extents


def _of_coordinates(layout: AnyLayout) -> LeafTypeError:
    what = f"offsets of {shown(layout)}: its values are coordinates"
    return LeafTypeError(what, "a layout of offsets", "call it: layout(i, j)")


def _require_known(layout: AnyLayout, numbers: object) -> None:
    if has_symbols(numbers):
        raise Unproven(f"offsets of {shown(layout)}", "a layout of known sizes", "give its symbols values first")


@on(ComposedLayout, offsets)
def _of_composed(layout: ComposedLayout, *, limit: int = _LIMIT) -> npt.NDArray[Any]:
    """A swizzle of a layout in the narrowest proved type; other compositions by one call with an array a mode."""
    import numpy as np

    extents = _extents(layout, limit)
    if gives_coordinates(layout):
        raise _of_coordinates(layout)
    if not all(extents):
        return np.empty(extents, np.int32)
    between = values_between(layout)
    fit = between is not None and INT64_MIN <= between[0] <= between[1] <= INT64_MAX
    if between and fit and isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout):
        values = _swizzled(layout.outer, int(layout.offset), layout.inner, between).reshape(extents)
        if values.dtype == np.int32:
            return values
    else:
        grid = np.ogrid[tuple(map(slice, extents))]
        values = np.broadcast_to(np.asarray(layout(*grid) if grid else layout(()), np.int64), extents)
    fits = values.min() >= _INT32_MIN and values.max() <= _INT32_MAX
    return np.array(values, np.int32 if fits else np.int64)


def _swizzled(swizzle: Swizzle, offset: int, inner: Layout, between: tuple[int, int]) -> npt.NDArray[Any]:
    """swizzle(offset + inner(c)) of every coordinate, as one row.

    between   the ends of the sums and of their images

    A swizzle is linear over bits: s(a ^ b) = s(a) ^ s(b). Where no two parts of a sum share a bit, it is their xor, and
    so the parts are swizzled, which are short, and combined in one pass. Otherwise the sums are swizzled in place, by
    pieces that a cache holds.
    """
    import numpy as np

    narrow = between[0] >= _INT32_MIN and max(between[1], swizzle.reads) <= _INT32_MAX
    start = np.full(1, offset, np.int32 if narrow else np.int64)
    modes = _modes(inner, start.dtype)
    union: Any = np.bitwise_or.reduce  # numpy 2.5 types it for arrays of a known type alone
    if _share_no_bit([int(union(x)) for x in (start, *modes)]):
        for part in (start, *modes):
            _swizzle_in_place(swizzle, part)
        return _outer(np.bitwise_xor, start, modes)
    values = _outer(np.add, start, modes).ravel()
    for first in range(0, values.size, _PIECE):
        _swizzle_in_place(swizzle, values[first : first + _PIECE])
    return values


def _share_no_bit(masks: list[int]) -> bool:
    return not any(mask & earlier for mask, earlier in zip(masks[1:], itertools.accumulate(masks, int.__or__)))


def _swizzle_in_place(swizzle: Swizzle, values: npt.NDArray[Any]) -> None:
    """Swizzle offsets whose type holds the swizzle's masks."""
    read = values & swizzle.reads
    if swizzle.shift >= 0:
        read >>= swizzle.shift
    else:
        read <<= -swizzle.shift
    values ^= read


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
    what = f"offsets from {lo} to {hi} of {shown(layout)}"
    raise RangeError(what, "offsets that fit in 64 bits", "use smaller strides, or a tile")
