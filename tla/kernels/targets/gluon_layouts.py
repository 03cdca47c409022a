"""The layouts of Gluon's text: of tiles in registers, and of shared memory, each by the name that says the most.

Source: triton.experimental.gluon.language of Triton 3.9.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

from ...core.errors import LeafTypeError
from ...linear import bits
from ...linear.building import unpack
from ...linear.triton import (
    DistributedLinearLayout,
    NVMMASharedLayout,
    PaddedSharedLayout,
    SharedLinearLayout,
    SwizzledSharedLayout,
)
from ...tensors.tensor import Tensor
from ...tensors.transfer import all_offsets
from ..block.lines import Line
from ..tiles.products import blocked
from ..tiles.tiles import Tile, owners, xors

#: The rank of what is swizzled, or padded, in shared memory.
MATRIX = 2
#: The bytes of the swizzles of what matrix descriptors tell.
DESCRIBED = (128, 64, 32)


def layout_text(made: Any) -> str:
    """A layout as Gluon's call, without what it leaves out."""
    text = repr(made)
    if not isinstance(made, PaddedSharedLayout):
        text = text.replace(", cga_layout=[]", "").replace(", block_bases=[], alignment=16", "")
    text = re.sub(r"\b(\w+Layout)\(", r"gl.\1(", re.sub(r"\b\w+=", "", text))
    return text.replace("gl.AMD", "gl.amd.AMD")


def distributed(tile: Tile) -> Any:
    """The layout of a tile: blocked where that says it, else its bases."""
    nowhere = Line("", 0)
    found = blocked(nowhere, tile)
    if found is not None:
        return found
    bases = owners(nowhere, tile, "the tile").bases
    registers = [v for v in bases["register"] if any(v)]
    return DistributedLinearLayout(registers, bases["lane"], bases["warp"], (), tile.shape)


def shared_layout(number: int, t: Tensor, sizes: Sequence[int], swizzles: Sequence[int]) -> Any:
    """The layout of a tensor in shared memory: a plain one, a swizzle, any linear one, or a padded one.

    swizzles   of what instructions read by descriptors, and TMA fills: the bytes of the NVMMASharedLayout that tells it
    """
    import numpy as np

    offsets = all_offsets(t).ravel(order="F")[: math.prod(sizes)]
    strides = [int(offsets[math.prod(sizes[:d])]) if n > 1 else 0 for d, n in enumerate(sizes)]
    order = sorted(range(len(sizes)), key=lambda d: (strides[d], d))
    count = math.prod(sizes)
    if all(map(bits.is_power_of_two, sizes)):
        columns = [int(offsets[1 << k]) for k in range(bits.log2(count))]
        found = bits.inverse(columns, bits.log2(count))
        if found is not None and (xors(columns) == offsets).all():
            names = tuple((f"dim{d}", n) for d, n in enumerate(sizes))
            made = SharedLinearLayout([unpack(x, names) for x in found])
            return _described(made, sizes, t, swizzles) if swizzles else _named_shared(made, sizes)
        if len(sizes) == MATRIX and (padded := _padded(strides, sizes, order)) is not None:
            grid = np.indices(sizes).reshape(len(sizes), -1, order="F")
            if np.array_equal(np.asarray(strides) @ grid, offsets):
                return padded
    what = f"smem{number} of the layout {t.layout}"
    expected = "a layout that is linear over bits, or whose rows are padded by a power of two"
    raise LeafTypeError(f"{what}, in Gluon", expected, "swizzle it, or use another target")


def _described(made: SharedLinearLayout, sizes: Sequence[int], t: Tensor, swizzles: Sequence[int]) -> Any:
    """A linear layout of shared memory as one of matrix descriptors, where it is one."""
    width = 8 * t.dtype.itemsize
    for swizzle, transposed in itertools.product(swizzles, (False, True)):
        if swizzle > width * sizes[0 if transposed else -1] // 8 or len(sizes) != MATRIX:
            continue
        found = NVMMASharedLayout(swizzle, width, MATRIX, transposed)
        if found.linear(sizes).bases["offset"] == made.linear(sizes).bases["offset"]:
            return found
    return made


def _named_shared(made: SharedLinearLayout, sizes: Sequence[int]) -> Any:
    """A linear layout of shared memory as a swizzle of Triton's, where it is one."""
    wanted = made.linear(sizes).bases
    if len(sizes) == 1:
        plain = SwizzledSharedLayout(1, 1, 1, [0])
        return plain if plain.linear(sizes).bases == wanted else made
    if len(sizes) != MATRIX:
        return made
    for outer, inner in ((0, 1), (1, 0)):
        rows = [(v[outer], v[inner]) for v in made.offset_bases if v[outer]]
        turned = [row for row in rows if row[1]]
        given = (turned[0][1], turned[0][0], 1 << len(turned)) if turned else (1, 1, 1)
        swizzled = SwizzledSharedLayout(given[0], given[1], given[2], [inner, outer])
        if swizzled.linear(sizes).bases == wanted:
            return swizzled
    return made


def _padded(strides: Sequence[int], sizes: Sequence[int], order: Sequence[int]) -> PaddedSharedLayout | None:
    """The padded layout of a matrix, the bytes between whose rows are a power of two; None for another."""
    inner, outer = order
    padding = strides[outer] - sizes[inner]
    if strides[inner] != 1 or not bits.is_power_of_two(padding):
        return None
    return PaddedSharedLayout.with_identity_for([[sizes[inner], padding]], sizes, order)
