"""Who holds what, and where it lies: the offset of each register of each lane of each warp, as one array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ..core.errors import LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product, product_each, shown
from ..core.ints import is_int, known
from ..core.kinds import AnyLayout, layout_fix
from ..core.leaf_arithmetic import plus
from ..linear import LinearLayout
from ..linear.triton import PaddedSharedLayout
from ..tensors.tensor import Tensor, from_zero
from .memories import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

#: More values than this are not looked at.
MAX_VALUES = 2**22
_HARDWARE = ("block", "warp", "lane", "register")


class Owned:
    """The elements of each owner: coordinates in the tensor, arrays over [warp, lane, register].

    coordinates   one array for each dimension of the tensor
    sizes         of the tensor
    """

    def __init__(self, coordinates: Sequence[npt.NDArray[Any]], sizes: Sequence[int], text: str) -> None:
        self.coordinates, self.sizes, self.text = list(coordinates), list(sizes), text

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of warps, lanes and registers."""
        return self.coordinates[0].shape

    @property
    def index(self) -> npt.NDArray[Any]:
        """The index in the tensor, first dimension fastest."""
        total: Any = 0
        step = 1
        for c, n in zip(self.coordinates, self.sizes):
            total, step = total + c * step, step * n
        return total  # type: ignore[no-any-return]


def owned(owners: Any, lanes: int) -> Owned:
    """The elements of owners: of a LinearLayout of registers, lanes, warps and blocks, or a (thread, value) layout onto the tile.

    lanes    of a warp, for thread-value layouts; a LinearLayout says it itself
    """
    if isinstance(owners, LinearLayout):
        return _of_linear(owners)
    if isinstance(owners, AnyLayout):
        return _of_threads(owners, lanes)
    if isinstance(owners, Tensor):
        return _of_partition(owners, lanes)
    raise LeafTypeError(
        f"owners that are a {type(owners).__name__}",
        "a LinearLayout of lanes and registers, a (thread, value) layout, or a partition by all threads",
        "give layout.linear(shape) of a layout of tla.linear.triton" if hasattr(owners, "linear") else layout_fix(owners),
    )


def require_lanes(where: str, owners: Any, memory: Memory) -> None:
    """RangeError for a linear layout whose warps have more lanes than those of the memory: its higher lane bits are warps."""
    if not isinstance(owners, LinearLayout) or not owners.has_in_dim("lane") or owners.get_in_dim_size("lane") <= memory.lanes:
        return
    names = owners.get_in_dim_names()
    order = sorted(names, key=lambda name: ("lane", "warp").index(name) if name in ("lane", "warp") else 2)
    warps = owners.get_in_dim_size("lane") // memory.lanes * (owners.get_in_dim_size("warp") if "warp" in names else 1)
    split = {"lane": memory.lanes, "warp": warps} | {name: owners.get_in_dim_size(name) for name in names if name not in ("lane", "warp")}
    turned = f".transpose_ins({order})" if order != names else ""
    what = f"{where}: warps of {owners.get_in_dim_size('lane')} lanes in {memory.name}"
    raise RangeError(what, f"at most {memory.lanes}", f"split them into warps: layout{turned}.reshape_ins({split})")


def _of_linear(owners: LinearLayout) -> Owned:
    """The owners of a linear layout: the coordinates of each value of block, warp, lane and register."""
    import numpy as np

    for name in owners.get_in_dim_names():
        if name not in _HARDWARE:
            raise RankError(f"owners with the input {name}", "register, lane, warp, block", "rename it, or invert a layout of memory")
    if not owners.num_out_dims:
        raise RankError("owners of no outputs", "the tensor's dimensions", "give it an output of size 1")
    sizes = [owners.get_in_dim_size(name) if owners.has_in_dim(name) else 1 for name in _HARDWARE]
    _require_few(math.prod(sizes), "owners")
    block, warp, lane, register = np.ogrid[tuple(slice(n) for n in sizes)]
    point = {name: value for name, value in zip(_HARDWARE, (block, warp, lane, register)) if owners.has_in_dim(name)}
    found = owners.apply(point)
    shape = (sizes[0] * sizes[1], sizes[2], sizes[3])
    arrays = [np.broadcast_to(np.asarray(x, np.int64), tuple(sizes)).reshape(shape) for x in found.values()]
    return Owned(arrays, [*owners.out_dims.values()], "the layout of owners")


def _of_threads(owners: Any, lanes: int) -> Owned:
    import numpy as np

    if len(modes_of(owners.shape)) != 2:
        raise RankError(f"owners {shown(owners)}", "two modes, thread and value", "group its modes first")
    sizes = [known(n) for n in product_each(owners.shape)]
    if None in sizes:
        raise Unproven(f"owners {shown(owners)}", "sizes that are known", "give its symbols values first")
    threads, values = (int(n or 0) for n in sizes)
    _require_few(threads * values, shown(owners))
    t, v = np.ogrid[:threads, :values]
    arrays = [np.broadcast_to(np.asarray(c, np.int64), (threads, values)) for c in _by_dimension(owners(t, v))]
    return _by_warps(arrays, lanes, shown(owners))


def _by_dimension(found: Any) -> list[Any]:
    """Coordinates as one array for each dimension; offsets, or indices, as the only one."""
    return [*leaves(as_coordinate(found) if isinstance(found, (ScaledBasis, ArithmeticTuple)) else (found,))]


def _by_warps(coordinates: Sequence[npt.NDArray[Any]], lanes: int, text: str) -> Owned:
    """Coordinates over [thread, value] as those of warps of so many lanes, of a tensor as large as they reach."""
    threads, values = coordinates[0].shape
    width = min(lanes, threads)
    if threads % width:
        raise RangeError(f"{threads} threads in warps of {lanes}", f"a multiple of {lanes}, or fewer than {lanes}", f"use {lanes} threads")
    if any(c.size and c.min() < 0 for c in coordinates):
        raise RangeError(f"owners {text}", "indices of 0 or more", "use strides of 0 or more")
    arrays = [c.reshape(threads // width, width, values) for c in coordinates]
    return Owned(arrays, [int(c.max(initial=0)) + 1 for c in arrays], text)


def _of_partition(part: Tensor, lanes: int) -> Owned:
    """The elements of the threads of a partition: the offsets of its elements, or of an identity tensor its coordinates."""
    import numpy as np

    count = known(product(part.shape))
    if count is None:
        raise Unproven(f"owners {part!r}", "sizes that are known", "give its symbols values first")
    _require_few(count, "a partition, of each thread")
    layout, offset = from_zero("access", part)
    found = plus(offset, layout(np.arange(count)[:, np.newaxis]))
    arrays = [np.asarray(c) for c in _by_dimension(found)]
    threads = max(a.size // count if a.ndim == 2 else 1 for a in arrays)
    if threads == 1 or any(a.dtype.kind not in "iu" for a in arrays):
        raise RankError(f"owners {part!r}", "a partition by an array of all threads", "write copy[numpy.arange(32)].partition_S(tensor)")
    _require_few(threads * count, "a partition")
    return _by_warps([np.broadcast_to(a, (count, threads)).T.astype(np.int64) for a in arrays], lanes, repr(part))


def _require_few(count: int, what: str) -> None:
    if count < 1:
        raise RangeError(f"{what}: {count} values", "1 or more", "leave out an access of nothing")
    if count > MAX_VALUES:
        raise RangeError(f"{what}: {count} values", f"{MAX_VALUES} at most", "look at one block, or one warp")


def offsets(held: Owned, memory_layout: Any) -> npt.NDArray[Any]:
    """The offset of each value [elements] in a layout of memory, over [warp, lane, register].

    memory_layout   a layout from the tile, by coordinate or index, to offsets; a LinearLayout from offsets to the tensor, as
                    Triton's shared layouts, or from the tensor to offsets; a PaddedSharedLayout; None for owners whose elements
                    are offsets already
    """
    import numpy as np

    if memory_layout is None and len(held.coordinates) == 1:
        return held.index
    if isinstance(memory_layout, PaddedSharedLayout):
        plain = offsets(held, memory_layout.linear(memory_layout.shape))
        return np.asarray(memory_layout.padded(plain), np.int64)
    if isinstance(memory_layout, LinearLayout):
        return _linear_offsets(held, memory_layout)
    if not isinstance(memory_layout, AnyLayout):
        fix = "give layout.linear(shape)" if hasattr(memory_layout, "linear") else layout_fix(memory_layout)
        raise LeafTypeError(f"a {type(memory_layout).__name__} as a layout of memory", "a layout", fix)
    modes = modes_of(memory_layout.shape)
    sizes = [known(n) for n in product_each(memory_layout.shape)]
    if None in sizes:
        raise Unproven(f"the memory layout {shown(memory_layout)}", "sizes that are known", "give its symbols values first")
    by_mode = len(held.coordinates) == len(modes) and len(modes) > 1
    needed = held.sizes if by_mode else [math.prod(held.sizes)]
    has = [int(n or 0) for n in sizes] if by_mode else [math.prod(int(n or 0) for n in sizes)]
    if any(n > m for n, m in zip(needed, has)):
        what = f"a memory of {' x '.join(map(str, has))} elements for a tensor of {' x '.join(map(str, needed))}"
        raise RangeError(what, "a place for each", "give a layout of the whole tile")
    at = held.coordinates if by_mode else [held.index]
    there = memory_layout(*at)
    if isinstance(there, (ScaledBasis, ArithmeticTuple)):
        what = f"the memory {shown(memory_layout)}, of coordinates"
        raise LeafTypeError(what, "a layout to offsets", "give the layout of the memory that these are coordinates of")
    found = np.broadcast_to(np.asarray(there, np.int64), held.shape)
    if found.size and found.min() < 0:
        raise RangeError(f"offsets of {shown(memory_layout)} below 0", "offsets of 0 or more", "count from where memory begins")
    return found


def in_memory(memory_layout: Any) -> tuple[Any, int]:
    """A layout of memory, and where it begins: a tensor's own layout from its start on, and offset; else as it is, at 0."""
    if not isinstance(memory_layout, Tensor):
        return memory_layout, 0
    layout, offset = from_zero("access", memory_layout)
    start = known(offset) if is_int(offset) else None
    if start is None or start < 0:
        raise Unproven(f"the memory {memory_layout!r}", "a tensor at a known offset", "give its symbols values first")
    return layout, start


def _linear_offsets(held: Owned, memory: LinearLayout) -> npt.NDArray[Any]:
    """The offset of each value that is held in a memory that is a linear layout, from its offsets or to them."""
    import numpy as np

    if memory.has_in_dim("offset"):
        there = memory.sublayout(["offset"], memory.get_out_dim_names()).pseudoinvert()
    elif memory.has_out_dim("offset"):
        there = memory.sublayout(memory.get_in_dim_names(), ["offset"])
    else:
        raise RankError("a linear layout of memory without offset", "`offset` as an input, or as an output", "rename it")
    names = there.get_in_dim_names()
    sizes = [there.get_in_dim_size(name) for name in names]
    coordinates = held.coordinates
    if len(names) != len(coordinates):  # a thread-value layout has one index for all dimensions
        if len(coordinates) != 1:
            raise RankError(f"a tensor of {len(coordinates)} dimensions in a memory of {len(names)}", "as many", "reshape one of them")
        index, coordinates = coordinates[0], []
        for n in sizes:
            coordinates.append(index % n)
            index = index // n
        if index.any():
            raise RangeError(
                f"owners reach index {int(held.index.max())}", f"less than {math.prod(sizes)}", "give a layout of the whole tile"
            )
    elif any(int(c.max(initial=0)) >= n for c, n in zip(coordinates, sizes)):
        raise RangeError(f"a memory of {sizes} for a tensor of {held.sizes}", "a place for each element", "give the layout of this shape")
    return np.broadcast_to(np.asarray(there.apply(dict(zip(names, coordinates)))["offset"], np.int64), held.shape)
