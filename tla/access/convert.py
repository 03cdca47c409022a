"""Conversions between two thread-value layouts of a tile: in registers, by shuffles in a warp, or through shared memory."""

from __future__ import annotations

from typing import Any

from ..core.errors import RangeError, RankError
from ..linear import LinearLayout, bits
from ..linear.value import integer
from .counting import access
from .machines import Machine, as_machine
from .memories import NVIDIA_SHARED
from .places import offsets, owned, require_lanes
from .plan import ConversionPlan
from .rounds import BYTE_BITS, WORD_BITS, within_warps
from .steps import Load, Move, Shuffle, Store
from .synthesis import best_swizzle

#: More registers in a thread than this are refused.
MAX_REGISTERS = 4096
_INPUTS = ("register", "lane", "warp")


def convert(src: LinearLayout, dst: LinearLayout, element_bits: int = 32, memory: Any = NVIDIA_SHARED) -> ConversionPlan:
    """A plan that brings values from the owners of `src` to those of `dst`: in registers, else in warps, else through memory.

    src, dst       linear layouts of register, lane and warp onto one tile
    element_bits   of an element [bits]: narrow ones are shuffled as words of 32 bits, where both layouts have them together
    memory         what there is: a machine by its name, as "sm_90" or "gfx942", or a row of the table of memories, or its name;
                   best_swizzle chooses the layout for its reads
    Returns        ConversionPlan
    Raises         RankError for different tiles, RangeError for different warps, or elements that the source does not hold

    >>> a = LinearLayout({"register": [(1,)], "lane": [(2,), (4,)]}, {"dim0": 8})
    >>> b = LinearLayout({"register": [(4,)], "lane": [(1,), (2,)]}, {"dim0": 8})
    >>> plan = convert(a, b)
    >>> plan.kind, plan.shuffles
    ('shuffles', 2)

    Source: Linear Layouts, arXiv 2505.23819, section 5.
    """
    machine, width = as_machine(memory), integer("convert: element_bits", element_bits)
    if not width:
        raise RangeError("convert: elements of 0 bits", "1 or more", "give the width of an element, such as 16")
    for layout in (src, dst):
        require_lanes("convert", layout, machine.read)
    src, dst = _checked(src, dst)
    steps = within_warps(src, dst, width)
    if steps is None:
        return _through_memory(src, dst, width, machine)
    kind = "registers" if isinstance(steps[0], Move) else "shuffles"
    shuffles = sum(isinstance(s, Shuffle) and s.crosses for s in steps) * -(-width // WORD_BITS)
    return ConversionPlan(kind, steps, shuffles, 0, 0, shuffles, width, src, dst)


def _checked(src: LinearLayout, dst: LinearLayout) -> tuple[LinearLayout, LinearLayout]:
    """Both layouts over register, lane and warp, with outputs in one order; refused where no plan converts them."""
    for layout in (src, dst):
        if not isinstance(layout, LinearLayout) or any(d not in (*_INPUTS, "block") for d in layout.get_in_dim_names()):
            raise RankError(f"convert of {type(layout).__name__}", "linear layouts of register, lane, warp", "give layout.linear(shape)")
        if layout.has_in_dim("block") and layout.get_in_dim_size("block") > 1:
            raise RangeError("convert between several blocks", "one block", "give what one block has")
    if {**src.out_dims} != {**dst.out_dims}:
        raise RankError(f"convert of {src.out_dims} to {dst.out_dims}", "layouts of one tile", "give both the same shape")
    dst = dst.transpose_outs(src.get_out_dim_names())
    full = [LinearLayout({d: x.bases.get(d, ()) for d in _INPUTS}, x.out_dims) for x in (src, dst)]
    for d in ("lane", "warp"):
        if full[0].get_in_dim_size(d) != full[1].get_in_dim_size(d):
            sizes = [x.get_in_dim_size(d) for x in full]
            raise RangeError(
                f"convert from {sizes[0]} {d}s to {sizes[1]}",
                "as many",
                f"write resize_in_dim({d!r}, {max(sizes)}) of the smaller: what is added holds the same",
            )
    if max(x.get_in_dim_size("register") for x in full) > MAX_REGISTERS:
        raise RangeError("convert of more registers than threads have", f"{MAX_REGISTERS} at most", "convert a part of the tile")
    reached = bits.Echelon(full[0].columns)
    for v in (v for vectors in full[1].bases.values() for v in vectors):
        if not reached.spans(full[1].pack(v)):
            raise RangeError(
                f"convert: nobody holds element ({', '.join(map(str, v))}) before",
                "a source that holds it",
                "give the source this basis, or convert to the part that it holds",
            )
    return full[0], full[1]


def _through_memory(src: LinearLayout, dst: LinearLayout, element_bits: int, machine: Machine) -> ConversionPlan:
    width = max(BYTE_BITS, element_bits)
    layout = best_swizzle([src], [dst], width, machine.read).layout
    size = (max(offsets(owned(src, machine.read.lanes), layout).of) + 1) * width // 8
    write, read = access(src, layout, width, memory=machine.write), access(dst, layout, width, memory=machine.read)
    steps = Store(layout, write.vector // width), Load(layout, read.vector // width)
    instructions = (write.instructions + read.instructions) // src.get_in_dim_size("warp")
    return ConversionPlan("shared memory", steps, 0, size, write.total + read.total, instructions, element_bits, src, dst)
