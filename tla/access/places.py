"""Who holds what, and where it lies: the offset of each register of each lane of each warp."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..algebra.image import at_index, image
from ..core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ..core.errors import LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product, product_each, shown
from ..core.ints import is_int, known
from ..core.kinds import AnyLayout, layout_fix
from ..core.leaf_arithmetic import plus
from ..linear import LinearLayout, bits
from ..linear.triton import PaddedSharedLayout
from ..tensors.tensor import Tensor, from_zero
from .memories import Memory

#: More values than this are not looked at.
MAX_VALUES = 2**22
#: A layout's image is worked out whole where it is at most so many times what owners hold.
_SPARSE = 4
#: The inputs of linear layouts of owners, the slowest first.
HARDWARE = ("block", "warp", "lane", "register")


class Placed(NamedTuple):
    """An integer of each register of each lane of each warp: an offset, or an index in a tensor.

    of                       warp by warp, in these lane by lane, in these register by register
    warps, lanes, registers  how many there are: of lanes in a warp, of registers in a lane
    """

    of: list[int]
    warps: int
    lanes: int
    registers: int

    def warp(self, warp: int) -> list[list[int]]:
        """The integers of a warp: of each lane, register by register."""
        step, start = self.registers, warp * self.lanes * self.registers
        return [self.of[first : first + step] for first in range(start, start + self.lanes * step, step)]

    def at(self, warp: int, lane: int, register: int) -> int:
        return self.of[(warp * self.lanes + lane) * self.registers + register]


class Owned:
    """The elements of each owner: their coordinates in the tensor.

    coordinates   for each dimension of the tensor one integer of each register of each lane of each warp, as
                  Placed has them
    shape         how many warps, lanes and registers there are
    sizes         of the tensor
    text          what the owners are, for messages
    """

    def __init__(
        self, coordinates: Sequence[list[int]], shape: tuple[int, int, int], sizes: Sequence[int], text: str
    ) -> None:
        self.coordinates, self.shape, self.sizes, self.text = list(coordinates), shape, list(sizes), text

    @functools.cached_property
    def index(self) -> list[int]:
        """The index in the tensor, first dimension fastest."""
        *rest, total = self.coordinates
        for c, n in zip(reversed(rest), reversed(self.sizes[:-1])):
            total = [x + n * y for x, y in zip(c, total)]
        return total

    def placed(self, of: list[int]) -> Placed:
        """Integers of these owners."""
        return Placed(of, *self.shape)


def owned(owners: Any, lanes: int) -> Owned:
    """The elements of owners: of a LinearLayout of registers, lanes, warps and blocks, or a (thread, value)
    layout onto the tile.

    lanes    of a warp, for thread-value layouts; a LinearLayout says it itself
    """
    if isinstance(owners, LinearLayout):
        return _of_linear(owners)
    if isinstance(owners, AnyLayout):
        return _of_threads(owners, lanes)
    if isinstance(owners, Tensor):
        return _of_partition(owners, lanes)
    expected = "a LinearLayout of lanes and registers, a (thread, value) layout, or a partition by all threads"
    linear = "give layout.linear(shape) of a layout of tla.linear.triton" if hasattr(owners, "linear") else None
    raise LeafTypeError(f"owners that are a {type(owners).__name__}", expected, linear or layout_fix(owners))


def require_lanes(where: str, owners: object, memory: Memory) -> None:
    """RangeError for a linear layout whose warps have more lanes than the memory's: its higher lane bits are warps."""
    if not isinstance(owners, LinearLayout) or not owners.has_in_dim("lane"):
        return
    if owners.get_in_dim_size("lane") <= memory.lanes:
        return
    names = owners.get_in_dim_names()
    order = sorted(names, key=lambda name: ("lane", "warp").index(name) if name in ("lane", "warp") else 2)
    warps = owners.get_in_dim_size("lane") // memory.lanes * (owners.get_in_dim_size("warp") if "warp" in names else 1)
    others = {name: owners.get_in_dim_size(name) for name in names if name not in ("lane", "warp")}
    split = {"lane": memory.lanes, "warp": warps, **others}
    turned = f".transpose_ins({order})" if order != names else ""
    what = f"{where}: warps of {owners.get_in_dim_size('lane')} lanes in {memory.name}"
    raise RangeError(what, f"at most {memory.lanes}", f"split them into warps: layout{turned}.reshape_ins({split})")


def _of_linear(owners: LinearLayout) -> Owned:
    """The owners of a linear layout: the coordinates of each value of block, warp, lane and register."""
    for name in owners.get_in_dim_names():
        if name not in HARDWARE:
            what = f"owners with the input {name}"
            raise RankError(what, "register, lane, warp, block", "rename it, or invert a layout of memory")
    if not owners.num_out_dims:
        raise RankError("owners of no outputs", "the tensor's dimensions", "give it an output of size 1")
    sizes = [owners.get_in_dim_size(name) if owners.has_in_dim(name) else 1 for name in HARDWARE]
    _require_few(math.prod(sizes), "owners")
    columns = [v for name in reversed(HARDWARE) for v in owners.bases.get(name, ())]  # registers are the fastest
    coordinates = [xors([v[d] for v in columns]) for d in range(owners.num_out_dims)]
    shape = (sizes[0] * sizes[1], sizes[2], sizes[3])
    return Owned(coordinates, shape, [*owners.out_dims.values()], "the layout of owners")


def xors(columns: Iterable[int]) -> list[int]:
    """The xor of the columns of each number's bits.

    >>> xors([1, 6])
    [0, 1, 6, 7]
    """
    found = [0]
    for column in columns:
        found += [n ^ column for n in found]
    return found


def _of_threads(owners: AnyLayout, lanes: int) -> Owned:
    if len(modes_of(owners.shape)) != 2:
        raise RankError(f"owners {shown(owners)}", "two modes, thread and value", "group its modes first")
    sizes = [known(n) for n in product_each(owners.shape)]
    if None in sizes:
        raise Unproven(f"owners {shown(owners)}", "sizes that are known", "give its symbols values first")
    threads, values = (int(n or 0) for n in sizes)
    _require_few(threads * values, shown(owners))
    found = image(owners, (threads, values))
    if found is None:
        raise Unproven(f"owners {shown(owners)}", "strides that are known", "give its symbols values first")
    return _by_warps(found.leaves, threads, values, lanes, shown(owners))


def _by_warps(coordinates: Sequence[list[int]], threads: int, values: int, lanes: int, text: str) -> Owned:
    """Coordinates of each thread's values as those of warps of so many lanes, of a tensor as large as they reach."""
    width = min(lanes, threads)
    if threads % width:
        what = f"{threads} threads in warps of {lanes}"
        raise RangeError(what, f"a multiple of {lanes}, or fewer than {lanes}", f"use {lanes} threads")
    if any(min(c) < 0 for c in coordinates):
        raise RangeError(f"owners {text}", "indices of 0 or more", "use strides of 0 or more")
    return Owned(coordinates, (threads // width, width, values), [max(c) + 1 for c in coordinates], text)


def _of_partition(part: Tensor, lanes: int) -> Owned:
    """The elements of a partition's threads: the offsets of its elements, or the coordinates of an identity tensor."""
    import numpy as np

    count = known(product(part.shape))
    if count is None:
        raise Unproven(f"owners {part!r}", "sizes that are known", "give its symbols values first")
    _require_few(count, "a partition, of each thread")
    layout, offset = from_zero("access", part)
    found = plus(offset, layout(np.arange(count)[:, np.newaxis]))
    found = as_coordinate(found) if isinstance(found, (ScaledBasis, ArithmeticTuple)) else (found,)
    arrays = [np.asarray(c) for c in leaves(found)]
    threads = max(a.size // count if a.ndim == 2 else 1 for a in arrays)
    if threads == 1 or any(a.dtype.kind not in "iu" for a in arrays):
        expected = "a partition by an array of all threads"
        raise RankError(f"owners {part!r}", expected, "write copy[numpy.arange(32)].partition_S(tensor)")
    _require_few(threads * count, "a partition")
    by_thread = [np.broadcast_to(a, (count, threads)).T.ravel().tolist() for a in arrays]
    return _by_warps(by_thread, threads, count, lanes, repr(part))


def _require_few(count: int, what: str) -> None:
    if count < 1:
        raise RangeError(f"{what}: {count} values", "1 or more", "leave out an access of nothing")
    if count > MAX_VALUES:
        raise RangeError(f"{what}: {count} values", f"{MAX_VALUES} at most", "look at one block, or one warp")


def offsets(held: Owned, memory_layout: Any) -> Placed:
    """The offset of each value [elements] in a layout of memory.

    memory_layout   a layout from the tile, by coordinate or index, to offsets; a LinearLayout from offsets to the
                    tensor, as Triton's shared layouts, or from the tensor to offsets; a PaddedSharedLayout; an array of
                    the offset of each element of the tile; None for owners whose elements are offsets already
    """
    if memory_layout is None and len(held.coordinates) == 1:
        return held.placed(held.index)
    if is_table(memory_layout):
        return _by_table(held, memory_layout)
    if isinstance(memory_layout, PaddedSharedLayout):
        plain = offsets(held, memory_layout.linear(memory_layout.shape)).of
        padded = {x: memory_layout.padded(x) for x in {*plain}}
        return held.placed([*map(padded.__getitem__, plain)])
    if isinstance(memory_layout, LinearLayout):
        return _linear_offsets(held, memory_layout)
    if not isinstance(memory_layout, AnyLayout):
        fix = "give layout.linear(shape)" if hasattr(memory_layout, "linear") else layout_fix(memory_layout)
        raise LeafTypeError(f"a {type(memory_layout).__name__} as a layout of memory", "a layout", fix)
    found = _by_layout(held, memory_layout)
    if min(found) < 0:
        what = f"offsets of {shown(memory_layout)} below 0"
        raise RangeError(what, "offsets of 0 or more", "count from where memory begins")
    return held.placed(found)


def is_table(memory_layout: object) -> bool:
    """Whether a layout of memory is an array of integers: the offset of each element of the tile."""
    return getattr(getattr(memory_layout, "dtype", None), "kind", "") in ("i", "u") and hasattr(memory_layout, "ravel")


def _by_table(held: Owned, table: Any) -> Placed:
    """The offset of each value in an array of the tile's shape."""
    shape = [*table.shape]
    if shape != held.sizes:
        what = f"an array of offsets of shape {tuple(shape)} for a tile of {tuple(held.sizes)}"
        raise RangeError(what, "an offset for each element", "give the array the shape of the tile")
    found: list[int] = table.ravel(order="F").tolist()
    if min(found) < 0:
        what = f"an array of offsets with {min(found)}"
        raise RangeError(what, "offsets of 0 or more", "count from where memory begins")
    return held.placed([*map(found.__getitem__, held.index)])


def is_by_mode(held: Owned, memory_layout: AnyLayout) -> bool:
    """Whether owners have a coordinate for each mode of a layout: else they have one index for all."""
    return len(held.coordinates) == len(modes_of(memory_layout.shape)) > 1


def extents_of(memory_layout: AnyLayout) -> list[int]:
    """The extents of the modes of a layout of memory, of a linear one its tensor's; Unproven where not known."""
    if isinstance(memory_layout, LinearLayout):
        there = to_offsets(memory_layout)
        return [there.get_in_dim_size(name) for name in there.get_in_dim_names()]
    if isinstance(memory_layout, PaddedSharedLayout):
        return [*memory_layout.shape]
    if not isinstance(memory_layout, AnyLayout):
        what = f"a {type(memory_layout).__name__} as a layout of memory"
        raise LeafTypeError(what, "a layout", layout_fix(memory_layout))
    sizes = [known(n) for n in product_each(memory_layout.shape)]
    if None in sizes:
        what = f"the memory layout {shown(memory_layout)}"
        raise Unproven(what, "sizes that are known", "give its symbols values first")
    return [int(n or 0) for n in sizes]


def require_place(held: Owned, memory_layout: AnyLayout) -> list[int]:
    """The extents of a layout of memory, which has a place for each element of the tensor."""
    extents = extents_of(memory_layout)
    by_mode = is_by_mode(held, memory_layout)
    needed, has = (held.sizes, extents) if by_mode else ([math.prod(held.sizes)], [math.prod(extents)])
    if any(n > m for n, m in zip(needed, has)):
        what = f"a memory of {' x '.join(map(str, has))} elements for a tensor of {' x '.join(map(str, needed))}"
        raise RangeError(what, "a place for each", "give a layout of the whole tile")
    return extents


def _by_layout(held: Owned, layout: AnyLayout) -> list[int]:
    """The offset of each value in a layout from the tile: from its image, or asked singly where that is much larger."""
    extents = require_place(held, layout)
    if not is_int(at_index(layout, (0,) * len(extents))):
        fix = "give the layout of the memory that these are coordinates of"
        raise LeafTypeError(f"the memory {shown(layout)}, of coordinates", "a layout to offsets", fix)
    by_mode = is_by_mode(held, layout)
    box = held.sizes if by_mode else _box(extents, max(held.index) + 1)
    at = _index_in(held.coordinates, box) if by_mode else held.index
    if math.prod(box) <= _SPARSE * len(at) and (found := image(layout, box, first_fastest=True)) is not None:
        return [*map(found.leaves[0].__getitem__, at)]
    if by_mode:
        asked = {i: int(layout(*c)) for i, c in zip(at, zip(*held.coordinates))}
    else:
        asked = {i: int(layout(i)) for i in {*at}}
    return [*map(asked.__getitem__, at)]


def _index_in(coordinates: Sequence[list[int]], box: Sequence[int]) -> list[int]:
    return Owned(coordinates, (0, 0, 0), box, "").index


def _box(extents: Sequence[int], count: int) -> list[int]:
    """The box of coordinates, first mode fastest, that holds so many indices."""
    box = []
    for n in extents:
        box.append(min(n, count))
        count = -(-count // n)
    return box


def in_memory(memory_layout: Any) -> tuple[Any, int]:
    """A layout of memory, and where it begins: a tensor's own from its start on, and offset; else as it is, at 0."""
    if not isinstance(memory_layout, Tensor):
        return memory_layout, 0
    layout, offset = from_zero("access", memory_layout)
    start = known(offset) if is_int(offset) else None
    if start is None or start < 0:
        raise Unproven(f"the memory {memory_layout!r}", "a tensor at a known offset", "give its symbols values first")
    return layout, start


def _linear_offsets(held: Owned, memory: LinearLayout) -> Placed:
    """The offset of each value that is held in a memory that is a linear layout, from its offsets or to them."""
    there = to_offsets(memory)
    names = there.get_in_dim_names()
    sizes = [there.get_in_dim_size(name) for name in names]
    if len(held.coordinates) not in (1, len(names)):  # a thread-value layout has one index for all dimensions
        what = f"a tensor of {len(held.coordinates)} dimensions in a memory of {len(names)}"
        raise RankError(what, "as many", "reshape one of them")
    if len(held.coordinates) == len(names):
        if any(max(c) >= n for c, n in zip(held.coordinates, sizes)):
            what = f"a memory of {sizes} for a tensor of {held.sizes}"
            raise RangeError(what, "a place for each element", "give the layout of this shape")
        at = _index_in(held.coordinates, sizes)
    else:
        at = held.index
        if max(at) >= math.prod(sizes):
            what = f"owners reach index {max(at)}"
            raise RangeError(what, f"less than {math.prod(sizes)}", "give a layout of the whole tile")
    columns = there.columns
    if 1 << len(columns) <= _SPARSE * len(at):
        return held.placed([*map(xors(columns).__getitem__, at)])
    found = {i: bits.apply(columns, i) for i in {*at}}
    return held.placed([*map(found.__getitem__, at)])


def to_offsets(memory: LinearLayout) -> LinearLayout:
    """A linear layout of memory from the tensor's coordinates to the offset."""
    if memory.has_in_dim("partition"):
        count = memory.get_in_dim_size("partition")
        what = f"a memory of {count} allocations"
        raise RankError(what, "offsets in one", "give the partition_layout, of the owners of a piece")
    if memory.has_in_dim("offset"):
        return memory.sublayout(["offset"], memory.get_out_dim_names()).pseudoinvert()
    if memory.has_out_dim("offset"):
        return memory.sublayout(memory.get_in_dim_names(), ["offset"])
    raise RankError("a linear layout of memory without offset", "`offset` as an input, or as an output", "rename it")
