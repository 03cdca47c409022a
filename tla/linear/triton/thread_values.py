"""CuTe's thread-value layouts as Gluon's layouts, and back: threads are lanes and warps, values are registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import modes_of, shown
from ...core.kinds import AnyLayout, layout_fix
from ..arguments import checked
from ..bridge import layout_of, linear
from ..linear_layout import LinearLayout
from . import tiles
from .distributed import DistributedLinearLayout, require_distributed
from .parameters import Parameters, one_of

if TYPE_CHECKING:
    from ...core.layout import Layout

#: Threads of a warp: NVIDIA's and RDNA's, CDNA's.
WARPS = (32, 64)


@checked
def from_thread_values(layout: Layout, tile: Sequence[int], threads_per_warp: int = 32) -> DistributedLinearLayout:
    """Convert a (thread, value) layout of CuTe to Gluon's layout of the tile.

    layout             from thread and value to the index in the tile, first mode fastest, such as a TiledMMA's C_TV
    tile               the extents of the tile
    threads_per_warp   32, or 64 of CDNA: the low bits of the thread's number are lanes, the others warps
    Raises             RankError for a layout that has no two modes, RangeError for threads that are no whole warps, for
                       a layout that is not linear over bits, or that reaches beyond the tile

    >>> from tla import parse
    >>> rows = parse("((4,32),8):((256,1),32)")      # of 32 rows of 32: 4 threads along each, 8 elements in each thread
    >>> print(from_thread_values(rows, (32, 32)))
    DistributedLinearLayout(reg_bases=[[0, 1], [0, 2], [0, 4]], lane_bases=[[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], \
warp_bases=[[8, 0], [16, 0]], block_bases=[], shape=[32, 32])

    Source: CuTe's TV layouts, cute/atom/mma_atom.hpp; Gluon `DistributedLinearLayout`.
    """
    lanes = one_of("from_thread_values: threads_per_warp", threads_per_warp, WARPS)
    if not isinstance(layout, AnyLayout) or len(modes_of(layout.shape)) != 2:
        what = f"from_thread_values of {shown(layout) if isinstance(layout, AnyLayout) else type(layout).__name__}"
        expected = "a layout of two modes, thread and value"
        raise LeafTypeError(what, expected, layout_fix(layout) or "group its modes first")
    shape = tiles.checked_shape("from_thread_values", tile, len(tile) if isinstance(tile, (list, tuple)) else 1)
    names = tiles.dim_names(len(shape))
    found = linear(layout, ["thread", "register"], dict(zip(names, shape)))
    threads = found.get_in_dim_size("thread")
    if threads % lanes:
        what = f"from_thread_values: {threads} threads in warps of {lanes}"
        raise RangeError(what, "whole warps", f"use a multiple of {lanes} threads")
    cut = tiles.log2(lanes)
    bases = found.bases["thread"]
    return DistributedLinearLayout(found.bases["register"], bases[:cut], bases[cut:], (), shape)


@checked
def to_thread_values(layout: Parameters | LinearLayout, shape: Sequence[int]) -> Any:
    """Convert a layout of registers of Gluon, or a linear one, to the (thread, value) layout of CuTe onto
    the tile's index.

    layout    a layout of Gluon, or a LinearLayout of register, lane and warp, whose warps have 32 or 64 lanes
    shape     the extents of the tile
    Returns   Layout of two modes, ((lane, warp), register): the thread's number is lane + lanes * warp; swizzled where
              no plain one is it
    Raises    RangeError for warps of another size, or for several blocks

    >>> from .distributed import BlockedLayout
    >>> print(to_thread_values(BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0]), [32, 32]))
    ((_4,_32),_8):((_256,_1),_32)
    """
    if not isinstance(layout, LinearLayout):
        require_distributed("to_thread_values: the layout", layout)
    whole = layout if isinstance(layout, LinearLayout) else layout.linear(shape)  # type: ignore[attr-defined]
    names = ("lane", "warp", "register", "block")
    sizes = {name: whole.get_in_dim_size(name) if whole.has_in_dim(name) else 1 for name in names}
    lanes, blocks = sizes["lane"], sizes.pop("block")
    where, fix = "to_thread_values", "reshape_ins splits threads into lanes and warps"
    tiles.require(where, lanes in WARPS, f"warps of {lanes} lanes", "32 or 64", fix)
    fix = "give the layout of what one block has"
    tiles.require(where, blocks == 1, f"a layout of {blocks} blocks", "one block", fix)
    inside = LinearLayout({name: whole.bases.get(name, ()) for name in sizes}, whole.out_dims)
    return layout_of(inside.reshape_ins({"thread": lanes * sizes["warp"], "register": sizes["register"]}))
