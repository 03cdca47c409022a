"""Tensors cut by threads, and the part of one thread, of an array of threads or of a symbol.

Source: CuTe include/cute/atom/mma_atom.hpp, partition_A; copy_atom.hpp, partition_S.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...algebra.codomain import coshape
from ...algebra.complement import reach_of
from ...algebra.flat_modes import has_symbols
from ...algebra.modes import slice_and_offset
from ...core.arithmetic import round_up
from ...core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ...core.composed import ComposedLayout, around, innermost
from ...core.int_tuple import modes_of, product_each
from ...core.ints import Int, Leaf, is_int
from ...core.kinds import AnyLayout
from ...core.layout import Layout, as_layout, join
from ...core.leaf_arithmetic import plus, times
from ...core.questions import divides, equal
from ...tensors import guard as guards
from ...tensors.guard import Guard
from ...tensors.make_tensor import MakeTensor, as_tensor
from ...tensors.tensor import Tensor, gives_places, guarded_tensor, tensor_of

_0, _1 = Int[0](), Int[1]()


def cut(f: Callable[[Layout], Layout], t: AnyLayout | Tensor, tiles: Sequence[Any] = ()) -> Any:
    """f of a layout; of a tensor or composed layout its elements in f's order, past the end too, as CuTe has it.

    tiles   what f cuts the first modes into: extents or layouts. Of a tensor, modes that may end inside of a
            tile are rounded up
    """
    if isinstance(t, Layout):
        return f(t)

    def operation(layout: AnyLayout) -> Any:
        inner = innermost(layout)
        return around(layout, f(inner if isinstance(t, ComposedLayout) else _in_whole_tiles(inner, tiles)))[0]

    operation.__name__ = "a partition"
    return operation(t) if isinstance(t, ComposedLayout) else as_tensor("a partition", t).over(operation)


def _in_whole_tiles(layout: Layout, tiles: Sequence[Any]) -> Layout:
    """The layout, its modes of unknown extent rounded up to whole tiles: what is valid is known apart."""
    if not has_symbols(layout.shape):
        return layout
    modes = list(layout)
    return join([*map(_in_whole, modes, tiles), *modes[len(tiles) :]])


def _in_whole(mode: Layout, tile: Leaf) -> Layout:
    """A mode whose extent is a multiple of the tile, or is one integer that is rounded up to one."""
    reach = reach_of(as_layout("a tile", Layout(tile, _1) if is_int(tile) else tile))
    if isinstance(mode.shape, tuple) or divides(reach, mode.shape) is not None:
        return mode
    return Layout(round_up(mode.shape, reach), mode.stride)


def with_valid(t: AnyLayout | Tensor) -> Any:
    """The tensor that is to be cut, with its valid part: a layout as the tensor of its offsets."""
    return MakeTensor(None, t) if isinstance(t, (Layout, ComposedLayout)) else t


def part_of(whole: Any, frg: Any, index: Any, thread: Any, *values: Any) -> Tensor:
    """The part of frg, (thread, value, ...), that a thread's coordinate leaves: its modes are the values'.

    whole   what frg was made of
    index   which thread, or an array of them: then there is an offset for each, those that are the same too
    thread  its coordinate in the first mode
    """
    t = as_tensor("a partition", frg)
    coord = (thread, *values)
    rest, fixed = slice_and_offset(coord, innermost(t.layout))
    several = _has_array(index)
    layout, offset = around(t.layout, rest, _for_each(index, fixed) if several else fixed)
    start = _all_modes(whole, plus(t.offset, offset))
    guard = _guard_of(t, coord)
    if not several:
        return guarded_tensor(t, start, layout, guard)
    extents = product_each(rest.shape)  # of one thread it might be a box, of several it is none
    return tensor_of(None, t.data, start, layout, [_0] * len(extents), guard or guards.whole(rest.shape), t.memory)


def _for_each(index: Any, offset: Any) -> Any:
    """An offset for each of an array of threads; a coordinate as it is, its integers are arrays where they differ."""
    return offset if isinstance(offset, (ScaledBasis, ArithmeticTuple)) else plus(offset, times(index, 0))


def _guard_of(t: Tensor, coord: Any) -> Guard | None:
    """The guard of the valid elements of a part; None where all are valid."""
    whole = t._guard.place is None and all(
        equal(n, m) is True for n, m in zip(t.origin_shape, product_each(innermost(t.layout).shape))
    )
    if whole or gives_places(t):
        return None
    guard = t._guard.placed(t.shape)
    if not _has_array(coord):
        return guards.sliced(guard, coord)
    place, offset = around(guard.place, *slice_and_offset(coord, innermost(guard.place)))
    return guard._replace(place=place, start=as_coordinate(guard.start + offset))


def _has_array(x: object) -> bool:
    """Whether a coordinate of threads is of an array of them."""
    return any(map(_has_array, x)) if isinstance(x, tuple) else getattr(x, "shape", ()) != () and hasattr(x, "dtype")


def _all_modes(whole: Tensor, offset: Any) -> Any:
    """An offset as it is; a coordinate with all integers of the whole, as modes of extent 1 lose theirs."""
    if not isinstance(offset, (ScaledBasis, ArithmeticTuple)):
        return offset
    layout = whole.layout if isinstance(whole, Tensor) else whole
    return as_coordinate(ArithmeticTuple(*(_0 for _n in modes_of(coshape(layout)))) + offset)
