"""One end of a transfer, in plain integers where these are known.

Source: CATLASS include/tla/tensor.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algebra.codomain import cosize
from ...core.element import Element
from ...core.int_tuple import leaves, modes_of
from ...core.ints import IntLike, Leaf, known
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div, plus
from ...symbolic.symint import SymInt
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor


def plain(n: IntLike) -> Leaf:
    """An integer as a plain one where it is known, as it stands where it is not."""
    value = known(n)
    return n if value is None else value


def tensor_at(position: str, layout: Layout) -> Tensor:
    """A tensor at a position, without a buffer: what transfers and products are planned from."""
    return MakeTensor(None, layout, position=position)


def offsets_in(layout: Layout, sizes: Sequence[int] | None = None, start: Sequence[int] | None = None) -> Any:
    """The offsets of a box of coordinates, in numpy: so many of each mode from a start on; of all that is valid from 0."""
    import numpy as np

    extents = tuple(map(int, require_origin("a layout", layout) if sizes is None else sizes))
    grid = np.ogrid[tuple(slice(s, s + n) for s, n in zip(start or (0,) * len(extents), extents))]
    return np.broadcast_to(layout(*grid), extents)


class Side(NamedTuple):
    """One end of a transfer.

    layout   its layout; start the coordinate that the tile begins at; valid how much of each mode is valid
             from there on
    base     the offset of the layout;  at  that of the first element;  element  the element type
    room     how much of each mode is the tile's own from its start on, padding included
    end      the offset behind the last place of the tensor, or of the whole that it is a tile of, padding included
    """

    layout: Layout
    start: tuple[Any, ...]
    valid: tuple[Any, ...]
    base: Any
    at: Any
    element: Element
    room: tuple[Any, ...]
    end: Any

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the sizes that are not known."""
        parts = (*self.start, *self.valid, self.base, *leaves(self.layout.shape), *leaves(self.layout.stride))
        return frozenset(str(s) for n in parts if isinstance(n, SymInt) for s in n.symbols)

    def inner(self, mode: int) -> Any:
        """The stride inside the blocks of a mode."""
        return plain(next(leaves(modes_of(self.layout.stride)[mode])))

    def outer(self, mode: int) -> Any:
        """The stride between the blocks of a mode."""
        return plain([*leaves(modes_of(self.layout.stride)[mode])][-1])

    @property
    def along(self) -> int:
        """The mode whose elements lie side by side; the last one where none does."""
        modes = range(len(self.valid))
        return next((mode for mode in modes if known(self.inner(mode)) == 1), modes[-1])

    def block(self, mode: int) -> int:
        """The extent of a block of a mode; 1 where it has no blocks."""
        extents = modes_of(self.layout.shape)[mode]
        return int(next(leaves(extents))) if isinstance(extents, tuple) else 1

    def unit(self, mode: int, aligned: int) -> int:
        """The number of elements from one start that may be aligned to the next: a block, or less where each element of
        the mode is aligned to as many elements."""
        if self.inner(mode) % aligned == 0:
            return 1
        return self.block(mode) if self.block(mode) > 1 else aligned if self.inner(mode) == 1 else 1

    def blocks(self, mode: int) -> Any:
        """The number of blocks of a mode that hold what is valid."""
        return ceil_div(self.valid[mode], self.block(mode))

    def offsets(self, sizes: tuple[int, ...]) -> Any:
        """The offsets of a box of coordinates from the start on, in numpy."""
        return plus(self.base, offsets_in(self.layout, sizes, self.start))

    def padded(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """A box of coordinates in whole blocks."""
        return tuple(ceil_div(n, self.block(i)) * self.block(i) for i, n in enumerate(sizes))


def side_of(t: Tensor, element: Element) -> Side:
    """One end of a transfer, of a tensor."""
    whole = t if t._whole is None else t._whole
    start, valid, room = (tuple(map(plain, n)) for n in (t.coord, *t._guard[:2]))
    base = plain(t.offset)
    end = plain(whole.offset) + plain(cosize(whole.layout))
    return Side(t.layout, start, valid, base, base + plain(t.layout(start)), element, room, end)
