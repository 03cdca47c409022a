"""One end of a transfer in plain integers.

Source: CATLASS include/tla/tensor.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...algebra.codomain import cosize
from ...core.element import Element
from ...core.errors import Unproven
from ...core.int_tuple import leaves, modes_of
from ...core.ints import known
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus
from ...tensors.tensor import Tensor


class Side(NamedTuple):
    """One end of a transfer.

    layout   its layout;  start  the coordinate that the tile begins at;  valid  how much of each mode is valid from there on
    base     the offset of the layout;  at  that of the first element;  element  the element type
    room     how much of each mode is the tile's own from its start on, padding included
    end      the offset behind the last place of the tensor, or of the whole that it is a tile of, padding included
    """

    layout: Layout
    start: tuple[int, ...]
    valid: tuple[int, ...]
    base: int
    at: int
    element: Element
    room: tuple[int, ...]
    end: int

    def inner(self, mode: int) -> int:
        """The stride inside the blocks of a mode."""
        return int(next(leaves(modes_of(self.layout.stride)[mode])))

    def outer(self, mode: int) -> int:
        """The stride between the blocks of a mode."""
        return int([*leaves(modes_of(self.layout.stride)[mode])][-1])

    def block(self, mode: int) -> int:
        """The extent of a block of a mode; 1 where it has no blocks."""
        extents = modes_of(self.layout.shape)[mode]
        return int(next(leaves(extents))) if isinstance(extents, tuple) else 1

    def unit(self, mode: int, aligned: int) -> int:
        """The number of elements from one start that may be aligned to the next: a block, or less where each element of the mode is
        aligned to as many elements."""
        if self.inner(mode) % aligned == 0:
            return 1
        return self.block(mode) if self.block(mode) > 1 else aligned if self.inner(mode) == 1 else 1

    def blocks(self, mode: int) -> int:
        """The number of blocks of a mode that hold what is valid."""
        return -(-self.valid[mode] // self.block(mode))

    def offsets(self, sizes: tuple[int, ...]) -> Any:
        """The offsets of a box of coordinates from the start on, in numpy."""
        import numpy as np

        grid = np.ogrid[tuple(slice(s, s + n) for s, n in zip(self.start, sizes))]
        return plus(self.base, np.broadcast_to(self.layout(*grid), sizes))

    def padded(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """A box of coordinates in whole blocks."""
        return tuple(-(-n // self.block(i)) * self.block(i) for i, n in enumerate(sizes))


def side_of(t: Tensor, element: Element) -> Side:
    """One end of a transfer, of a tensor; Unproven where a size is not known."""
    whole = t if t._whole is None else t._whole
    numbers = (known(n) for n in (*t.coord, *t.origin_shape, *(x for y in (t, whole) for x in (y.offset, *_leaves_of(y.layout)))))
    if None in numbers:
        raise Unproven(f"a transfer of {t!r}", "sizes that are known", "give its symbols values: at(x, M=128)")
    start, valid, room = (tuple(map(int, n)) for n in (t.coord, *t._guard[:2]))
    base = int(t.offset)
    end = int(whole.offset) + int(cosize(whole.layout))
    return Side(t.layout, start, valid, base, base + int(t.layout(start)), element, room, end)


def _leaves_of(layout: Layout) -> Iterator[Any]:
    """The integers of a layout's shape and stride."""
    return itertools.chain(leaves(layout.shape), leaves(layout.stride))
