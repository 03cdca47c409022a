"""MakeTensor: a tensor over a buffer, which holds all of it, or over none.

Source: TLA include/tla/tensor.hpp; CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

from typing import Any

from ..algebra.flat_modes import has_symbols
from ..algebra.tiles import start_of
from ..core.composed import ComposedLayout, gives_coordinates, innermost
from ..core.errors import LeafTypeError, RangeError, Unproven
from ..core.int_tuple import shown
from ..core.ints import _0, leaf
from ..core.kinds import AnyLayout
from ..core.layout import as_layout, require_origin, whole_of
from ..core.leaf_arithmetic import plus
from ..core.make_layout import MakeLayout
from . import transfer
from .buffers import as_dtype, strided_storage
from .guard import Guard
from .packed import storage_of
from .positions import as_memory
from .tensor import Tensor, require_box, tensor_of


class _MakeTensor:
    """A tensor over a buffer. `MakeTensor[dtype](layout)` is one over a new buffer of zeros.

    buffer     a numpy array, or anything with the buffer protocol, __array_interface__ or DLPack (torch, JAX);
               contiguous, and taken as its flat memory. Packed(bytes) for 4-bit elements. None: a tensor of offsets, or
               of coordinates
    layout     a Layout or ComposedLayout; by default a numpy array's own strides, which need not be contiguous
    coord      where it starts, one integer per top-level mode, or in blocks, nested like the shape; 0 by default
    position   where the buffer lies: "GM", "L1", "L0A" ... of Ascend, "gmem", "smem", "registers", "TMEM" of a GPU,
               "HBM", "VMEM" ... of a TPU; it may stand in the place of coord
    offset     where the layout's offset 0 lies in the buffer [elements]
    alignment  what the address of the buffer's start is a multiple of [bytes], a power of two. By default the buffer
               says it: an array of its own stands for an allocation, which begins where every instruction may; a view
               of one begins where it does there, so that `x[1:]` of halves begins at an odd one
    Raises     RangeError where the padded shape does not lie in the buffer, LeafTypeError for what is no buffer or no
               layout, RankError for a start that does not fit, Unproven for symbolic sizes over a buffer

    >>> import numpy as np
    >>> from tla import MakeTensor, parse
    >>> MakeTensor(np.arange(32, dtype=np.int8), parse("((4,2),4):((1,16),4)"), position="L1")
    Tensor(int8[32], ((4,2),4):((1,16),4), position='L1')
    >>> print(MakeTensor(None, parse("(4,8):(1@1,1@0)"))[3, 5], MakeTensor[np.float32](parse("(4,4):(4,1)")))
    (5,3) Tensor(float32[16], (4,4):(4,1))

    Source: TLA `MakeTensor`; CuTe `make_tensor`.
    """

    __name__ = "MakeTensor"

    def __call__(
        self,
        buffer: Any = ...,
        layout: Any = None,
        coord: Any = None,
        position: Any = None,
        *,
        offset: Any = _0,
        alignment: int | None = None,
    ) -> Tensor:
        if buffer is ...:
            fix = "write MakeTensor(buffer, layout), None for no buffer"
            raise LeafTypeError("MakeTensor of nothing", "a buffer and a layout", fix)
        if isinstance(coord, str):  # as in MakeTensor(data, layout, PositionL1{})
            if position is not None:
                what, fix = f"MakeTensor from {coord!r} on at {position!r}", "MakeTensor(buffer, layout, (0, 0), 'L1')"
                raise LeafTypeError(what, "a coordinate before the position", f"write {fix}")
            coord, position = None, coord
        memory = as_memory(position, alignment)
        if layout is None:
            data, begin, strides = strided_storage(buffer)
            layout, offset = MakeLayout(buffer.shape, strides), plus(leaf(offset), begin) if begin else offset
        else:
            data = None if buffer is None else storage_of(buffer)
            layout = layout if isinstance(layout, ComposedLayout) else as_layout("MakeTensor", layout)
        guard = Guard(require_origin("MakeTensor", layout), whole_of(layout.shape))
        start = (_0,) * len(guard.room) if coord is None else start_of("MakeTensor", innermost(layout), coord)
        offset = offset if data is None and isinstance(offset, tuple) else leaf(offset)
        new = tensor_of(None, data, offset, layout, start, guard, memory)
        if data is not None:
            _require_room(padded(new))
        return new

    def __getitem__(self, dtype: object) -> Any:
        dtype = as_dtype("MakeTensor", dtype)

        def make(layout: AnyLayout, position: object = None, *more: object) -> Tensor:
            if more:
                what = "MakeTensor of an element type, with a buffer and a layout"
                fix = "write MakeTensor(buffer, layout, position), None for no buffer"
                raise LeafTypeError(what, "a layout and a position: the buffer is a new one", fix)
            return self(new_buffer(_span(padded(self(None, layout)))[1], dtype), layout, position=position)

        return make

    def __reduce__(self) -> str:
        return self.__name__


MakeTensor = _MakeTensor()


def as_tensor(where: str, x: object) -> Tensor:
    """x if it is a tensor; a numpy array as the tensor over it."""
    if isinstance(x, Tensor):
        return x
    import numpy as np

    if not isinstance(x, np.ndarray):
        what = f"{where} of a {type(x).__name__}"
        raise LeafTypeError(what, "a tensor, or a numpy array", "write MakeTensor(x, layout)")
    return MakeTensor(x)


def padded(t: Tensor) -> Tensor:
    """The tensor with its padding counted as valid: as much of its shape as is the layout's own.

    Of a tile that reaches past the end that is what lies in the padded shape of the whole.

    >>> import numpy as np
    >>> from tla import GetTile, MakeTensor, padded, parse
    >>> t = MakeTensor(np.zeros(16), parse("(4,4):(4,1)", origin_shape=(3, 3)))
    >>> print(t.origin_shape, padded(t).origin_shape, padded(GetTile(t, (2, 2), (3, 3))).origin_shape)
    (3,3) (4,4) (2,2)

    Source: TLA: the padding is shape minus originShape.
    """
    t = as_tensor("padded", t)
    require_box("padded", t)
    room = t._guard.room
    if room == t.origin_shape:
        return t
    return tensor_of(None, t.data, t.offset, t.layout, t.coord, Guard(room, room), t.memory)


# ------------------------------------------------------------------------------------------- what fits a buffer


def new_buffer(count: int, dtype: Any) -> Any:
    """A new buffer."""
    import numpy as np

    try:
        return np.zeros(count, dtype)
    except (MemoryError, ValueError):
        what = f"a new buffer of {count:,} elements"
        raise RangeError(what, "what memory holds", "take tiles, or None for no buffer") from None


def _require_room(t: Tensor) -> None:
    """RangeError where an element of t would lie outside of its buffer."""
    lo, hi = _span(t)
    if lo < 0 or hi > t.data.size:
        what = f"{t!r}: its offsets go from {lo} to {hi - 1}, padding included"
        fix = f"give a buffer of {hi - min(lo, 0)} elements" + (f", and offset={t.offset - lo}" if lo < 0 else "")
        raise RangeError(what, f"0 to {t.data.size} - 1", fix)


def _span(t: Tensor) -> tuple[int, int]:
    """The lowest offset of the valid elements, and one past the highest; (0, 0) where there are none."""
    inner = innermost(t.layout)
    if t.layout is inner and gives_coordinates(inner):
        what = f"a buffer for {shown(inner)}, whose values are coordinates"
        raise LeafTypeError(what, "a layout of offsets", "give None for no buffer")
    if has_symbols(inner.shape, inner.stride, t.coord, t.offset):
        fix = "give its symbols values first, or None for no buffer"
        raise Unproven(f"a buffer for {shown(t.layout)}", "known sizes", fix)
    if 0 in transfer.counts_of(t):
        return 0, 0
    if (found := transfer.cells_of(t)) is None:
        offsets = transfer.offsets_of(t)
        return int(offsets.min()), int(offsets.max()) + 1
    ends = []
    for begin, modes in found:
        reach = [(n - 1) * d for axes in modes for n, d in axes]
        ends.append((begin + sum(x for x in reach if x < 0), begin + sum(x for x in reach if x > 0)))
    return min(low for low, _high in ends), max(high for _low, high in ends) + 1
