"""Two sides of a conversion as layouts of one tile, from anything that access() takes as owners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..algebra.codomain import cosize
from ..algebra.image import at_index
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import modes_of, shown
from ..core.ints import is_int, known, static
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from ..linear import LinearLayout, RadixLayout, bits, radix
from ..linear.value import integer
from ..tensors.tensor import Tensor
from .by_bits import linear_owners
from .machines import MACHINES, Machine, as_machine
from .memories import ASCEND_UB, NVIDIA_GLOBAL, NVIDIA_SHARED
from .pattern import Pattern, require_pattern
from .places import HARDWARE, Owned, owned, require_lanes, xors


def machine_of(memory: Any, sides: Sequence[Any]) -> Machine:
    """The machine that is asked for, or that of the usual accesses among the sides; else that of NVIDIA_SHARED."""
    if memory is not None:
        return as_machine(memory)
    rows = {p.memory for p in _patterns(sides)} - {NVIDIA_SHARED, NVIDIA_GLOBAL}
    found = [x for x in MACHINES.values() if rows & {x.read, x.write}]
    if len(found) > 1 or (found and not rows <= {found[0].read, found[0].write}):
        what = f"convert between accesses of {' and '.join(x.name for x in found)}"
        raise RangeError(what, "one machine", f"say which: memory={found[0].name!r}")
    return found[0] if found else as_machine(NVIDIA_SHARED)


def on_one_tile(
    sides: Sequence[Any], machine: Machine, element_bits: int, tile: Any
) -> tuple[LinearLayout, LinearLayout] | tuple[RadixLayout, RadixLayout]:
    """Both sides: as linear layouts of register, lane and warp where both are linear over bits, else over digits.

    sides          what access() takes as owners, two of them
    element_bits   of an element, which names of accesses ask for [bits]
    tile           its extents, first fastest; None where a side says them
    Raises         RankError where nothing says the tile, or both say others; RangeError for owners beyond it
    """
    held = [owned(x, machine.read.lanes) if _has_coordinates(x) else None for x in sides]
    extents = _extents(sides, held, tile)
    found = [_layout(x, of, extents, element_bits, machine) for x, of in zip(sides, held)]
    if any(isinstance(x, RadixLayout) for x in found):
        kinds = {[*x.out_dims] == ["index"] for x in found if not isinstance(x, AnyLayout)}
        first, second = _over_digits(found, _count(found, None) if len(kinds) > 1 else None)
        return first, second
    straight = [linear_owners(x, machine.read.lanes) for x in found]
    size = None if extents is None or isinstance(extents, _Said) else math.prod(extents)
    if straight[0] is None or straight[1] is None or (size is not None and not bits.is_power_of_two(size)):
        first, second = _over_digits(found, _count(found, size))
        return first, second
    src, dst = _onto_one(straight[0], straight[1], size)
    for name in _patterns(sides):
        _require_threads(name, src, dst)
    return src, dst


class _Said(list[int]):
    """The extents that a layout of the other side says: it has these already."""


def _patterns(sides: Sequence[Any]) -> list[Pattern]:
    return [require_pattern(x) for x in sides if isinstance(x, (str, Pattern))]


def _has_coordinates(x: Any) -> bool:
    """Whether owners are a partition, or a (thread, value) layout onto the coordinates of a tile."""
    if isinstance(x, Tensor):
        return True
    if not isinstance(x, AnyLayout):
        return False
    if len(modes_of(x.shape)) != 2:
        raise RankError(f"convert of {shown(x)}", "two modes, thread and value", "group its modes first")
    return not is_int(at_index(x, (0, 0)))


def _extents(sides: Sequence[Any], held: Sequence[Owned | None], tile: Any) -> list[int] | None:
    """The extents of the tile: those given, or of the side that says them; of coordinates how far they reach."""
    said = next((x for x in sides if isinstance(x, (LinearLayout, RadixLayout))), None)
    has = (
        None if said is None else _Said((said.out_dims if isinstance(said, LinearLayout) else said.out_sizes).values())
    )
    if tile is not None:
        extents = tile if isinstance(tile, (tuple, list)) else [tile]
        given = [integer("convert: an extent of the tile", n) for n in extents]
        if not given or not all(given):
            raise RangeError(f"convert of a tile of {shown(tile)}", "extents of 1 or more", "write tile=(16, 16)")
        if has is not None and given != has and (len(has) > 1 or math.prod(given) != has[0]):
            what = f"convert of a tile of {shown(tile)} with owners of one of {tuple(has)}"
            raise RankError(what, "one tile", "leave tile out")
        return given if has is None else _Said(given)
    if has is not None:
        return has
    sizes = [x.sizes for x in held if x is not None]
    if not sizes:
        return None
    if len({len(x) for x in sizes}) > 1:
        fix = "partition make_identity_tensor(...) on both sides"
        raise RankError("convert between owners of coordinates and of offsets", "both of one tensor", fix)
    reached = [max(n) for n in zip(*sizes)]
    if len(reached) == 1:
        layouts = [x for x, of in zip(sides, held) if of is None and isinstance(x, AnyLayout)]
        reached[0] = max(reached + [int(known(cosize(x)) or 0) for x in layouts])
    return reached


# ------------------------------------------------------------------------------------------------- one side


def _layout(
    x: Any, held: Owned | None, extents: Sequence[int] | None, element_bits: int, machine: Machine
) -> LinearLayout | RadixLayout | AnyLayout:
    """One side as a linear layout, a layout over digits, or a (thread, value) layout onto the index of the tile."""
    if held is not None:
        assert extents is not None
        return _fitted(held, extents)
    if isinstance(x, (str, Pattern)):
        return _named(require_pattern(x), extents, element_bits)
    if isinstance(x, (RadixLayout, AnyLayout)):
        return x
    if not isinstance(x, LinearLayout) or {*x.get_in_dim_names()} - {*HARDWARE}:
        fix = "give layout.linear(shape) of Triton's, or the (thread, value) layout, as mma.C_TV"
        what = f"convert of {type(x).__name__}"
        raise RankError(what, "what access() takes: linear layouts of register, lane, warp", fix)
    require_lanes("convert", x, min(machine.write, machine.read, key=lambda row: row.lanes))
    return x


def _named(usual: Pattern, extents: Sequence[int] | None, element_bits: int) -> Layout:
    """The registers of a usual access of a tile."""
    if usual.memory == ASCEND_UB:
        what = f"convert of {usual.name}: it has blocks of one instruction, and no threads"
        raise LeafTypeError(what, "an access by lanes", "count it by access(...)")
    if usual.fills:
        what = f"convert of {usual.name}: what it loads is in no registers"
        raise LeafTypeError(what, "an access of registers", "name the read that comes after it")
    if extents is None or (isinstance(extents, _Said) and len(extents) == 1):
        what = f"convert of {usual.name}: a tile whose rows and columns nothing says"
        raise RankError(what, "its extents", "write tile=(rows, columns)")
    return usual.registers(extents, element_bits)


def _require_threads(usual: Pattern, src: LinearLayout, dst: LinearLayout) -> None:
    """RangeError for a usual access, which is of one warp, beside owners of other threads."""
    sizes = [tuple(x.get_in_dim_size(d) if x.has_in_dim(d) else 1 for d in ("warp", "lane")) for x in (src, dst)]
    if sizes[0] != sizes[1]:
        both = " and ".join(f"{warps} x {lanes}" for warps, lanes in sizes)
        fix = "give what one warp has, or a (thread, value) layout of all threads"
        what = f"convert of {usual.name}, of one warp: warps x lanes are {both}"
        raise RangeError(what, "as many on both sides", fix)


def _fitted(held: Owned, extents: Sequence[int]) -> LinearLayout | Layout:
    """The layout of owners that are known by their coordinates: linear over bits, or else of shapes and strides."""
    if len(held.coordinates) != len(extents):
        identity = "partition make_identity_tensor(...), which has a coordinate for each"
        fix = "write tile=(16, 16)" if len(extents) == 1 else identity
        what = f"convert of {held.text}: {len(held.coordinates)} coordinates, of {len(extents)} extents"
        raise RankError(what, "as many", fix)
    if any(n > m for n, m in zip(held.sizes, extents)):
        what = f"convert of {held.text}, which reaches {tuple(held.sizes)}, in a tile of {tuple(extents)}"
        raise RangeError(what, "owners of the tile", "give the larger tile")
    _warps, lanes, registers = held.shape
    index, size = Owned(held.coordinates, held.shape, extents, held.text).index, math.prod(extents)
    if index[0]:
        what = f"convert of {held.text}: the first value is element {index[0]}"
        expected = "element 0, where a tile begins"
        raise RangeError(what, expected, "partition the tile by itself, or an identity tensor of its shape")
    if all(map(bits.is_power_of_two, (*held.shape, size))):
        columns = [index[1 << k] for k in range(bits.log2(len(index)))]
        if xors(columns) == index:
            r, n = bits.log2(registers), bits.log2(registers * lanes)
            parts = {"register": columns[:r], "lane": columns[r:n], "warp": columns[n:]}
            return LinearLayout({name: [(c,) for c in of] for name, of in parts.items()}, {"index": size})
    modes = _modes(index[::registers]), _modes(index[:registers])
    if [t + v for t in _sums(modes[0]) for v in _sums(modes[1])] != index:
        what = f"convert of {held.text}: no layout of threads and values has these elements"
        expected = "one that is linear over bits, or of shapes and strides"
        raise RangeError(what, expected, "give a LinearLayout, or a (thread, value) layout")
    shape, stride = (tuple(tuple(static(mode[k]) for mode in part) for part in modes) for k in (0, 1))
    return Layout(shape, stride)


def _modes(of: Sequence[int]) -> list[tuple[int, int]]:
    """Extents and steps of integers that begin at 0, as far as there are such: their sums are to be compared."""
    modes, size = [], 1
    while size < len(of):
        left, k = len(of) // size, 1
        while k < left and of[size * k] == k * of[size]:
            k += 1
        extent = max(d for d in range(1, k + 1) if left % d == 0)
        if extent == 1:
            break
        modes.append((extent, of[size]))
        size *= extent
    return modes or [(1, 0)]


def _sums(modes: Sequence[tuple[int, int]]) -> list[int]:
    found = [0]
    for extent, step in modes:
        found = [x + k * step for k in range(extent) for x in found]
    return found


# ------------------------------------------------------------------------------------------------- both sides


def _onto_one(src: LinearLayout, dst: LinearLayout, size: int | None) -> tuple[LinearLayout, LinearLayout]:
    """Both layouts; where one is onto the index of a tile and the other onto its coordinates, both onto the index."""
    if size is None and ("index" in src.out_dims) == ("index" in dst.out_dims):
        return src, dst
    first, second = (_flat(x, size) for x in (src, dst))
    return first, second


def _flat(x: LinearLayout, size: int | None) -> LinearLayout:
    """A layout onto the index of its tile, which may be larger than what it reaches."""
    has = 1 << x.get_total_out_dim_size_log2()
    _require_room(has, size)
    return LinearLayout({d: [(x.pack(v),) for v in of] for d, of in x.bases.items()}, {"index": size or has})


def _require_room(has: int, size: int | None) -> None:
    if size is not None and has > size:
        what = f"convert of owners of {has} elements in a tile of {size}"
        raise RangeError(what, "owners of the tile", "give the larger tile")


def _count(sides: Sequence[Any], size: int | None) -> int:
    """The elements of a tile that no RadixLayout says: those asked for, or as many as both sides reach."""
    reached = [int(known(cosize(x)) or 0) if isinstance(x, AnyLayout) else math.prod(radix(x).radices) for x in sides]
    for has in reached:
        _require_room(has, size)
    return size or max(reached)


def _over_digits(sides: Sequence[Any], count: int | None = None) -> list[RadixLayout]:
    """Both layouts over digits, onto the tile that one has, or an index of so many elements."""
    tile = {"index": (count,)} if count else next(x.out_dims for x in sides if isinstance(x, RadixLayout))
    return [_digits(x, tile, count) for x in sides]


def _digits(x: Any, tile: dict[str, Any], count: int | None) -> RadixLayout:
    if isinstance(x, AnyLayout):
        return _with_bits(x, tile)
    found = radix(x)
    if count:
        flat = found.reshape_outs({"index": found.radices})
        return flat.resize_out("index", count)
    return found


def _with_bits(x: AnyLayout, tile: dict[str, Any]) -> RadixLayout:
    """A (thread, value) layout over digits, onto digits of its own where an output's carry: a swizzle's are bits."""
    try:
        return radix(x, ["thread", "value"], tile)
    except RangeError:
        found = radix(x, ["thread", "value"])
        if len(tile) > 1 or math.prod(found.radices) != math.prod(*tile.values()):
            raise
        return found.reshape_outs(dict.fromkeys(tile, found.radices))
