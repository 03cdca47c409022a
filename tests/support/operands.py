"""Operands of matrix instructions in memory: plain where threads read them, canonical where a descriptor
says where they are."""

import numpy as np

from tla import (
    ComposedLayout,
    Int,
    Layout,
    LayoutRight,
    MakeTensor,
    composition,
    make_layout,
    offsets,
    size,
    tile_to_shape,
)
from tla.gpu import GMMA, compress, uint8
from tla.gpu.instructions.elements import as_element
from tla.gpu.tiled.sparse import group_of


def canonical(found, side, rows, columns, mode="INTER"):
    """Shared memory of rows by columns as the instruction reads it, in a swizzle mode."""
    element = uint8 if found.kind.endswith("f8f6f4") else found.element(side)
    return tile_to_shape(
        getattr(GMMA, f"{getattr(found, f'major_{side}')}_{mode}")[as_element(element)], (Int[rows](), Int[columns]())
    )


def over_the_whole(found, stored):
    """The layout of what is stored of a sparse A, over the coordinates of the whole: two units of a group are
    one in memory."""
    if isinstance(stored, ComposedLayout):
        return ComposedLayout(stored.outer, stored.offset, over_the_whole(found, stored.inner))
    unit = max(group_of(found) // 4, 1)
    columns = int(size(stored[1]))
    along = composition(stored[1], Layout((Int[unit](), Int[columns // unit]()), (Int[1](), Int[unit]())))
    k = Layout((along.shape[0], Int[2](), along.shape[1]), (along.stride[0], Int[0](), along.stride[1]))
    return Layout((stored[0].shape, k.shape), (stored[0].stride, k.stride))


def places(found, side, shape, mode="INTER"):
    """Where the stored elements (row, column ...) of an operand lie in its buffer: row after row, or canonical."""
    if found.memory(side) != "smem":
        return np.arange(np.prod(shape)).reshape(shape)
    return offsets(canonical(found, side, *shape, mode))


def operand(found, side, values, mode="INTER"):
    """A tensor of an operand's values, (row, column ...), where the instruction has it; of a sparse A what is stored,
    and its metadata."""
    sparse = bool(found.sparsity) and side == "A"
    stored, metadata = compress(found, values) if sparse else (None, None)
    flat = stored.data.reshape(len(values), -1) if sparse else values
    data = np.zeros(flat.size, flat.dtype)
    data[places(found, side, flat.shape, mode)] = flat
    plain = found.memory(side) != "smem"
    layout = (
        (stored.layout if sparse else make_layout(flat.shape, LayoutRight))
        if plain
        else canonical(found, side, *flat.shape, mode)
    )
    made = MakeTensor(data, over_the_whole(found, layout) if sparse and not plain else layout)
    return (made, metadata) if sparse else made
