"""The scale of each column of a block (PER_CHANNEL): where it lies, how it comes to Fixpipe, and the numbers of it.

A scale is a word of 64 bits with a float32 in it. Those of a block's columns come to L1. On AtlasA2 and AtlasA3 they
go on to Fixpipe's own buffer, in its pipe, and a barrier stands before the Fixpipe that reads them; on Ascend950
Fixpipe takes them from L1 itself, over that buffer. A `plan` is the Plan of block.py, which stands on this.

Source: CATLASS `QuantTileCopy` (tile_copy.hpp), copy_l1_to_fp.hpp, copy_l0c_to_gm.hpp; AscendC `SetFixPipeConfig`,
`Fixpipe` with cbufWorkspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core import element as types
from ...core.element import Element
from ...core.errors import RangeError
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from ...core.values import held
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..element import dtype_of
from ..tags import VectorLayout
from ..transfers.side import tensor_at
from .statements import Buffer, Part, PipeBarrier, SetFlag, WaitFlag, in_gm
from .values import numbers_of

#: The flags of the buffer of scales in L1: it is filled, and it may be filled again.
FILLED, READ = ("MTE2_FIX", 0), ("FIX_MTE2", 0)


def scale_in_gm(n: Any) -> Buffer:
    """The scales of n columns in global memory, in a buffer of whole 32 bytes, as the last of them are read whole."""
    unit = int(types.uint64.C0)
    return in_gm("scale", types.uint64, Layout((ceil_div(n, unit) * unit,), (1,), (n,)))


def channel_row(name: str, place: str, n: int) -> tuple[str, str, Element, Layout, str]:
    """The row of a buffer of the scales of n columns."""
    return name, place, types.uint64, VectorLayout.MakeLayout(types.uint64, n), ""


def load_channels(plan: Any, start: Any, n: Any) -> Any:
    """The steps that move the scales of n columns from global memory to L1."""
    whole = tensor_at("GM", VectorLayout.MakeLayout(types.uint64, require_origin("C", plan.c.layout)[1]))
    return plan.move(GetTile(whole, (start,), (n,)), plan.memory("l1Scale"), types.uint64)


def load_fb(plan: Any, n: Any) -> Any:
    """The steps that move the scales of n columns from L1 to Fixpipe's buffer."""
    src: Tensor = GetTile(plan.memory("l1Scale"), (0,), (n,))
    return plan.move(src, plan.memory("fb"), types.uint64)


def scaled(plan: Any, to_fb: Part | None, out: Iterable[Any]) -> Iterator[Any]:
    """Statements that move C out, with its scales before, and with their flags.

    to_fb   the move of the scales to Fixpipe's buffer; None where Fixpipe takes them from L1
    """
    if not plan.channels:
        yield from out
        return
    yield WaitFlag(*FILLED)
    if to_fb is not None:
        yield from (to_fb, SetFlag(*READ), PipeBarrier("FIX"))
    yield from out
    yield from [SetFlag(*READ)] if to_fb is None else ()


def channel_numbers(n: int, wanted: bool, given: Any) -> dict[str, Any]:
    """The scales of the columns as global memory has them, float32; none of a block without.

    RangeError for scales without need, none where there have to be, another number of them, and what float32 does not
    hold.
    """
    if wanted is not (given is not None):
        what = "no scale for a block with PER_CHANNEL" if wanted else "a scale for a block without PER_CHANNEL"
        raise RangeError(what, f"scale={f'an array of {n}' if wanted else 'None'}", "make the block so")
    if given is None:
        return {}
    numbers = numbers_of("scale", given)
    if numbers.shape != (n,):
        raise RangeError(f"scale of the shape {numbers.shape}", f"({n},): one for each column", "give all scales")
    return {"scale": held("scale", numbers, dtype_of(types.float))}
