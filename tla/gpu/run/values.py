"""The elements of tensors of threads, read and written as arrays: an axis for the threads, and one for each mode.

Source: CuTe include/cute/tensor_impl.hpp: a thread's tensor is a layout and where it starts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ...core.cache import memory
from ...core.composed import ComposedLayout, innermost
from ...core.coord import coord_leaf
from ...core.errors import InjectivityError, RangeError
from ...core.int_tuple import modes_of, product_each, size
from ...core.ints import IntTupleLike, is_int
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus
from ...core.values import converted
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor, gives_places, require_data, require_mutable

if TYPE_CHECKING:
    import numpy.typing as npt

#: Arrays that are remembered, of so many elements together at most: 64 MiB of places; and how many these are now.
_ARRAYS, _TOTAL = memory(), memory()
_MOST_ELEMENTS = 1 << 23
#: What to do about elements past the end.
GUARD = "guard them: copy_if with a predicate of an identity tensor, partitioned the same way"


def _grid(extents: tuple[int, ...]) -> list[Any]:
    import numpy as np

    return [*np.ogrid[tuple(map(slice, extents))]]


def extents_of(t: Tensor) -> tuple[int, ...]:
    """The extent of each mode of a tensor, of which a thread has so many."""
    return _extents(t.layout)


def _extents(layout: Layout | ComposedLayout) -> tuple[int, ...]:
    return tuple(map(int, product_each(innermost(layout).shape)))


def _by_thread(x: Any, rank: int) -> Any:
    """An offset of each thread, as an array with an axis for the threads in front of `rank` others."""
    import numpy as np

    array = coord_leaf(x if hasattr(x, "dtype") else np.array(int(x)))
    return array.reshape(array.size, *(1,) * rank)


def places_of(t: Tensor) -> Any:
    """The offset in the buffer of every coordinate, valid or not: an axis for the threads, and one for each mode."""
    extents, coord = extents_of(t), tuple(map(int, t.coord))
    if is_int(t.offset):
        return _places(t.layout, coord, int(t.offset))
    return plus(_places(t.layout, coord, 0), _by_thread(t.offset, len(extents)))


def _places(layout: Layout | ComposedLayout, coord: tuple[int, ...], start: int) -> Any:
    """The values of a layout from a coordinate on, plus a number."""

    def made() -> Any:
        extents = _extents(layout)
        return plus(_at(layout, [g + c for g, c in zip(_grid(extents), coord)], extents), start)

    return _remembered((layout, coord, start), made)


def _remembered(key: tuple[Any, ...], made: Callable[[], Any]) -> Any:
    """An array that depends on a key alone, which nobody writes to: blocks, and the steps of a loop, ask for those of
    one layout again and again."""
    try:
        found = _ARRAYS.get(key)
    except TypeError:  # a start of each thread inside of a swizzle, which is an array
        return made()
    if found is None:
        found = made()
        found.flags.writeable = False
        total = _TOTAL.get("elements", 0) + found.size
        if total > _MOST_ELEMENTS:
            _ARRAYS.clear()
            total = found.size
        _ARRAYS[key], _TOTAL["elements"] = found, total
    return found


def _at(layout: Layout | ComposedLayout, grid: list[Any], extents: tuple[int, ...]) -> Any:
    """The values of a layout at a grid, an axis for the threads in front: of coordinates a tuple of arrays."""
    import numpy as np

    if isinstance(layout, ComposedLayout):
        return layout.outer(plus(_by_thread(layout.offset, len(extents)), _at(layout.inner, grid, extents)))
    found = layout(*grid) if isinstance(layout.shape, tuple) else layout(grid[0])
    if isinstance(found, (tuple, ScaledBasis)):
        return ArithmeticTuple(*(np.broadcast_to(x, extents)[None] for x in as_coordinate(found)))
    return np.broadcast_to(found, extents)[None]


def valid_of(t: Tensor) -> Any:
    """Whether the element at every coordinate is valid, with the axes of places_of; True where all are."""
    import numpy as np

    extents = extents_of(t)
    if t._guard.place is None and all(int(n) == m for n, m in zip(t.origin_shape, extents)):
        return np.True_
    grid = _grid(extents)
    if t._guard.place is None:
        inside = functools.reduce(np.logical_and, (g < int(n) for g, n in zip(grid, t.origin_shape)))
        return np.broadcast_to(inside, extents)[None]
    guard = t._guard
    start = modes_of(guard.start)
    places = _components(_at(guard.place, grid, extents), len(start))
    inside = [plus(_by_thread(s, len(extents)), p) < int(n) for s, p, n in zip(start, places, guard.valid)]
    return functools.reduce(np.logical_and, inside)


def _components(place: IntTupleLike, count: int) -> list[Any]:
    """The integers of a coordinate, as many as there are: those that are left out are 0."""
    return [*as_coordinate(ArithmeticTuple(*[0] * count) + place)]


def values_of(t: Tensor) -> Any:
    """The elements of a tensor of threads: an array with an axis for the threads, and one for each mode.

    Of a tensor of coordinates, as a partition of make_identity_tensor is, a tuple of such arrays, one for each of their
    integers: compared with extents they are predicates.

    Raises RangeError where an element is not valid, LeafTypeError without a buffer.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import SM80_16x8x8_F32F16F16F32_TN, make_tiled_mma, values_of
    >>> mma = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN)
    >>> values_of(mma[np.arange(32)].partition_A(MakeTensor(np.arange(128, dtype=np.float16).reshape(16, 8))))[1].ravel().tolist()
    [2.0, 3.0, 66.0, 67.0]
    """
    t = as_tensor("values_of", t)
    return _coordinates(t) if holds_coordinates(t) else read("values_of", t, None)


def holds_coordinates(t: Tensor) -> bool:
    """Whether the elements are coordinates; of a part of one element no stride says so, its start does."""
    return gives_places(t) or (t.data is None and isinstance(t.offset, (tuple, ScaledBasis)))


def _coordinates(t: Tensor) -> tuple[Any, ...]:
    """The coordinates that are the elements of a tensor, each integer as an array with the axes of places_of."""
    import numpy as np

    extents = extents_of(t)
    grid = _grid(extents)
    start = modes_of(t.offset)
    place = t.layout(*grid) if isinstance(t.layout.shape, tuple) else t.layout(grid[0])
    place = place if gives_places(t) else ArithmeticTuple()
    return tuple(
        plus(_by_thread(s, len(extents)), np.broadcast_to(p, extents)[None])
        for s, p in zip(start, _components(place, len(start)))
    )


def read(where: str, t: Tensor, mask: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    import numpy as np

    t = as_tensor(where, t)
    require_data(where, t)
    places, valid = places_of(t), valid_of(t)
    wanted = valid if mask is None else (valid | ~mask)
    if not np.all(wanted):
        raise _not_valid(f"{where} of {t!r}", ~np.asarray(wanted), places.shape)
    found = t.data[np.where(valid, places, 0)]
    return np.where(valid, found, np.zeros((), found.dtype)) if valid is not np.True_ else found


def _not_valid(what: str, past: Any, shape: tuple[int, ...]) -> RangeError:
    """The error of elements past the end, with the first: its thread, if there are several, and its coordinate."""
    import numpy as np

    past = np.broadcast_to(past, np.broadcast_shapes(past.shape, shape))
    thread, *at = np.argwhere(past)[0].tolist()
    who = f" of thread {thread}" if len(past) > 1 else ""
    first = f"first ({','.join(map(str, at))}){who}"
    what = f"{what}: {np.count_nonzero(past)} of its elements are not valid, {first}"
    return RangeError(what, "elements of the tensor", GUARD)


def write(where: str, t: Tensor, values: npt.ArrayLike, mask: npt.NDArray[Any] | None = None) -> None:
    import numpy as np

    require_data(where, t)
    places = places_of(t)
    valid, values = (np.broadcast_to(x, places.shape) for x in (valid_of(t), values))
    chosen = np.ones(places.shape, bool) if mask is None else np.broadcast_to(mask, places.shape)
    if not np.all(valid | ~chosen):
        raise _not_valid(f"{where} to {t!r}", chosen & ~valid, places.shape)
    put(where, t, places[chosen], converted(where, values[chosen], t.dtype))


def put(where: str, t: Tensor, places: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
    """Write values to the buffer; InjectivityError, and nothing is written, where two that differ go to one place."""
    require_mutable(where, t)
    before = t.data[places]
    t.data[places] = values
    if not ((found := t.data[places]) == values).all() and ((found != values) & (values == values)).any():
        t.data[places] = before
        what = f"{where} to {t!r}: elements that differ go to one place of the buffer"
        fix = "write to registers first, which each thread has of its own"
        raise InjectivityError(what, "a place for each element", fix)


def thread_values(layout: Layout, lanes: int) -> npt.NDArray[Any]:
    """A thread-value layout as an array of (thread, value)."""
    import numpy as np

    def made() -> Any:
        count = int(size(layout)) // lanes
        thread, value = np.ogrid[:lanes, :count]
        return np.array(np.broadcast_to(layout(thread, value), (lanes, count)))

    found: npt.NDArray[Any] = _remembered((layout, lanes), made)
    return found
