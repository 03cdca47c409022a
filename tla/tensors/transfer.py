"""Moving elements between layouts in numpy: strided copies where a common refinement exists, else by offsets of runs.

What is moved is given as `Elements`: a Tensor is one. Whoever calls has seen to it that the move may be made.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.cache import plain_memo
from ..core.composed import ComposedLayout
from ..core.digits import CommonMode, merged_together
from ..core.errors import RangeError, RankError
from ..core.int_tuple import product_each
from ..core.ints import IntTree
from ..core.swizzle import Swizzle
from ..core.values import held
from .guard import Guard
from .packed import Packed
from .refinement import Cell, Digits, digits, refinement

if TYPE_CHECKING:
    import numpy.typing as npt

#: So many indices of the axis that the target has fastest are moved at a time, where the source has another one
#: fastest: as many lines of the source as any cache holds side by side.
BLOCK = 16
#: Steps of the source from this many elements on leave its line with each.
LINE = 32
#: Copies of fewer items than this are not worth a loop of their own.
WORTH_A_LOOP = 2**10
#: Longer runs than this [elements] stay an axis: numpy copies these as fast.
LONGEST_UNIT = 2**10
#: At most 8 times so many loops are unrolled.
MAX_UNROLLED = 64
#: So many axes any numpy has.
MAX_AXES = 32
#: More offsets one by one than memory should hold.
MOST_OFFSETS = 2**30


class Elements(Protocol):
    """Elements of a flat numpy array: that of the coordinate c is data[offset + layout(coord + c)]."""

    @property
    def data(self) -> Any: ...
    @property
    def offset(self) -> Any: ...
    @property
    def layout(self) -> Any: ...
    @property
    def coord(self) -> Any: ...
    @property
    def shape(self) -> Any: ...
    @property
    def origin_shape(self) -> Any: ...


class Place(NamedTuple):
    """The place of elements by digits: the offset of index 0, each mode's first index, and its digits."""

    begin: int
    starts: tuple[int, ...]
    modes: tuple[Digits, ...]


def place_of(x: Elements) -> Place | None:
    """The place of x; None where its layout has no digits. Whole steps of a last digit go into the offset."""
    found = digits(x.layout)
    if found is None:
        return None
    begin = int(x.offset) + sum(int(c) // f[-1][0] * f[-1][1] for c, f in zip(x.coord, found))
    return Place(begin, tuple(int(c) % f[-1][0] for c, f in zip(x.coord, found)), found)


def counts_of(x: Elements) -> tuple[int, ...]:
    """The number of valid indices of each mode."""
    if x.origin_shape is None:
        raise no_box("elements", x)
    return tuple(map(int, x.origin_shape))


def no_box(where: str, x: object) -> RangeError:
    """The refusal of a view whose valid elements are no box of its modes."""
    why = "what of it is valid is no box of its modes, for it reaches past the end of what it was cut from"
    fix = "use copy_if(predicate, source, target) for its elements, or local_tile, which crops"
    return RangeError(f"{where} of {x!r}: {why}", "as much of each mode as is valid", fix)


def grid_of(x: Elements) -> tuple[list[Any], tuple[int, ...]]:
    """Every coordinate of a known shape, valid or not: an array for each top-level mode; the extents."""
    import numpy as np

    extents = _countable(tuple(map(int, product_each(x.shape))))
    return [*np.ogrid[tuple(map(slice, extents))]], extents


def _countable(extents: tuple[int, ...]) -> tuple[int, ...]:
    """The extents of offsets that are taken one by one; RangeError where they are too many, or of too many modes."""
    if math.prod(extents) > MOST_OFFSETS or len(extents) > MAX_AXES:
        what = f"{math.prod(extents):,} offsets of {len(extents)} modes one by one"
        raise RangeError(what, f"at most {MOST_OFFSETS:,}, of {MAX_AXES} modes", "take tiles of it, or group its modes")
    return extents


def all_offsets(x: Elements) -> npt.NDArray[Any]:
    """The offset of every coordinate of a shape from the start of x on, valid or not, with one axis per mode."""
    import numpy as np

    grid, extents = grid_of(x)
    return np.broadcast_to(_values(x, [g + int(c) for g, c in zip(grid, x.coord)]), extents)


def _values(x: Elements, indices: list[Any]) -> Any:
    """The offsets of arrays of indices, one for each mode."""
    return (x.layout(*indices) if indices else x.layout(())) + int(x.offset)


def admitted(x: Elements, guard: Guard) -> npt.NDArray[Any]:
    """Whether the element of every coordinate of a shape is valid, with one axis per mode."""
    import numpy as np

    grid, extents = grid_of(x)
    if guard.place is None:
        inside = [g < int(n) for g, n in zip(grid, x.origin_shape)]
        return np.broadcast_to(functools.reduce(np.logical_and, inside, np.True_), extents)
    return np.broadcast_to(guard.admits(tuple(grid) if isinstance(x.shape, tuple) else grid[0]), extents)


def offsets_of(x: Elements, mode: int = 0, n: int = 1) -> npt.NDArray[Any]:
    """The offset of every valid element in the buffer, with one axis per mode; of a mode, that of every n-th."""
    import numpy as np

    counts = _countable(tuple(count // n if i == mode else count for i, count in enumerate(counts_of(x))))
    steps = (n if i == mode else 1 for i in range(len(counts)))
    indices = [g * step + int(c) for g, step, c in zip(np.ogrid[tuple(map(slice, counts))], steps, x.coord)]
    return np.broadcast_to(_values(x, indices), counts)


StridedCell = tuple[int, tuple[tuple[tuple[int, int], ...], ...]]


def cells_of(x: Elements) -> list[StridedCell] | None:
    """The valid elements as strided arrays: where each begins, and of each mode the axes (count, step), slowest first
    [elements]. None where the layout is not made of such."""
    place = place_of(x)
    if place is None:
        return None
    found = refinement(counts_of(x), (place.starts,), (place.modes,))
    if found is None:
        return None
    strided = ((begin, tuple(tuple((n, d) for n, (d,) in axes) for axes in modes)) for (begin,), modes in found)
    return [(place.begin + begin, modes) for begin, modes in strided]


def gathered(x: Elements) -> Any:
    """The valid elements of x as a numpy array of its own, one axis per mode."""
    import numpy as np

    counts, place = counts_of(x), place_of(x)
    if len(counts) > MAX_AXES:
        raise RankError(f"an array of {len(counts)} axes", f"at most {MAX_AXES}", "group or slice modes first")
    dense = np.empty(counts, x.data.dtype)
    if place is not None and _copied(counts, dense.reshape(-1), _in_order(counts), x.data, place):
        return dense
    n, mode = _runs_of(x)
    if n == 1:
        return x.data[offsets_of(x)]
    runs = _in_runs(x.data, n)[offsets_of(x, mode, n) // n]
    return np.moveaxis(runs[..., None].view(x.data.dtype), -1, mode + 1).reshape(counts)


def scattered(x: Elements, dense: npt.NDArray[Any]) -> None:
    """Move the elements of a numpy array of x's type to the valid elements of x: the way back of `gathered`."""
    import numpy as np

    counts, place = counts_of(x), place_of(x)
    if place is not None and _copied(counts, x.data, place, dense.reshape(-1), _in_order(counts)):
        return
    n, mode = _runs_of(x)
    if n == 1:
        x.data[offsets_of(x)] = dense
        return
    runs = dense.reshape(*counts[:mode], counts[mode] // n, n, *counts[mode + 1 :])
    rows = np.ascontiguousarray(np.moveaxis(runs, mode + 1, -1))
    units = _in_runs(x.data, n)
    units[offsets_of(x, mode, n) // n] = rows.view(units.dtype)[..., 0]


def filled(x: Elements, value: Any) -> None:
    """Write one value to every valid element of x."""
    found = None if isinstance(x.data, Packed) else cells_of(x)
    if found is None:
        x.data[offsets_of(x)] = value
    for begin, modes in found or ():
        array_at(x.data, begin, [axis for axes in modes for axis in axes])[...] = value


def transfer(target: Elements, source: Elements) -> None:
    """Move every valid element of source to its coordinate in target."""
    to, of = place_of(target), place_of(source)
    if to is None or of is None or not _copied(counts_of(target), target.data, to, source.data, of):
        scattered(target, held("copy", gathered(source), target.data.dtype))


def _runs_of(x: Elements) -> tuple[int, int]:
    """The longest runs that a swizzle moves whole, n elements of a mode, and that mode. (1, 0) if there are none.

    A swizzle keeps the lowest bits of an offset. So where n divides 2**base, and every step and start but the step of 1
    of that one digit, the n elements from a multiple of n on lie side by side, from a multiple of n on.
    """
    layout = x.layout
    swizzled = isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle)
    found = digits(layout.inner) if swizzled and not isinstance(x.data, Packed) else None
    runs = [(1, 0)]
    for i, mode in enumerate(found or ()):
        if mode[0][1] == 1:
            ends = (int(x.coord[i]), counts_of(x)[i], *(place for place, _step in mode[1:2]))
            steps = (step for k, other in enumerate(found or ()) for _place, step in (mode[1:] if k == i else other))
            most = min(1 << layout.outer.base, LONGEST_UNIT)
            runs.append((math.gcd(most, int(layout.offset), int(x.offset), *ends, *steps), i))
    return max(runs)


def _in_runs(data: Any, n: int) -> Any:
    """A buffer with n elements as one; what is left at its end is left out."""
    return array_at(data, 0, [(data.size // n, n)], n)


# ------------------------------------------------------------------------------------------- strided copies


def _in_order(counts: tuple[int, ...]) -> Place:
    """The place of a numpy array of its own: last mode fastest."""
    strides = [math.prod(counts[i + 1 :]) for i in range(len(counts))]
    return Place(0, (0,) * len(counts), tuple(((1, d),) for d in strides))


def _copied(
    counts: tuple[int, ...], target: npt.NDArray[Any] | Packed, to: Place, source: npt.NDArray[Any] | Packed, of: Place
) -> bool:
    """Whether the elements have been moved by strided copies: all or none. Those below a byte have no address."""
    if isinstance(target, Packed) or isinstance(source, Packed):
        return False
    plan = _plan(counts, (to.starts, of.starts), (to.modes, of.modes), target.dtype == source.dtype)
    for unit, (begin, other), axes, block in plan or ():
        there = array_at(target, to.begin + begin, [(n, d) for n, (d, _) in axes], unit)
        here = array_at(source, of.begin + other, [(n, d) for n, (_, d) in axes], unit)
        if not block:
            there[...] = here
        for lo in range(0, axes[-1][0], block) if block else ():
            there[..., lo : lo + block] = here[..., lo : lo + block]
    return plan is not None


def array_at(data: Any, begin: int, axes: Any, unit: int = 1) -> Any:
    """The strided array over `data` that begins at an element, axes (count, step) [elements], `unit` elements as one.

    numpy refuses one that would reach past the data, whatever has been proved before.
    """
    import numpy as np

    width, counts = data.itemsize, [n for n, _d in axes]
    dtype = data.dtype if unit == 1 else np.dtype((np.void, unit * width))
    begin = 0 if 0 in counts else begin * width  # what holds nothing may begin anywhere
    return np.ndarray(counts, dtype, data.view(np.uint8), begin, [d * width for _n, d in axes])


class _Copy(NamedTuple):
    """One strided copy. unit: how many elements go as one; the rest in elements, of target and source."""

    unit: int
    begins: tuple[int, ...]
    axes: tuple[CommonMode, ...]
    block: int  # so many indices of the last axis are moved at a time; 0 for all


@plain_memo
def _plan(counts: tuple[int, ...], starts: IntTree, modes: IntTree, packed: bool) -> list[_Copy] | None:
    """The strided copies that move a box of coordinates; None where the two layouts have no common refinement."""
    found = refinement(counts, starts, modes)
    copies = None if found is None else [copy for cell in found for copy in _copies(cell, packed)]
    return copies if copies is not None and all(len(copy.axes) <= MAX_AXES for copy in copies) else None


def _copies(cell: Cell, packed: bool) -> Iterator[_Copy]:
    """The strided copies that move a cell from its second function to its first.

    packed   whether the longest common run goes as one element: both arrays have elements of one kind

    numpy's innermost loop is along the target's smallest step. Where that axis is short, it is unrolled here; where it
    is long, and the source leaves a line with each step of it, BLOCK indices of it are moved at a time.
    """
    each = (axis for mode in cell.modes for axis in mode)
    axes = merged_together(sorted(each, key=lambda axis: abs(axis[1][0]), reverse=True))
    run = axes[-1] if axes and axes[-1][1] == (1, 1) else None
    unit = axes.pop()[0] if packed and run and run[0] <= LONGEST_UNIT else 1
    begins, items = [cell.begins], math.prod(n for n, _steps in axes)
    while len(axes) > 1 and axes[-1] != run and axes[-1][0] < 8:
        if items < 8 * WORTH_A_LOOP or len(begins) > MAX_UNROLLED:
            break
        n, steps = axes.pop()
        items //= n
        begins = [tuple(b + k * d for b, d in zip(begin, steps)) for begin in begins for k in range(n)]
    across = len(axes) > 1 and abs(axes[-1][1][1]) >= LINE and items >= BLOCK * WORTH_A_LOOP
    for begin in begins:
        yield _Copy(unit, begin, tuple(axes), BLOCK if across else 0)
