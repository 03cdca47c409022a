"""The blocks of a cluster that a word is for, as a mask: known while a kernel runs, of symbols while it is traced.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp, create_tma_multicast_mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import Bracketed, shown
from ...core.ints import Leaf, known, leaf
from ...core.kinds import AnyLayout
from ...core.leaf_arithmetic import add
from ...core.questions import at_most
from ...gpu.descriptors.multicast import multicast_pattern


class Multicast(NamedTuple):
    """A mask of blocks of a cluster. `create_tma_multicast_mask` makes one, `a | b` has the blocks of both.

    parts   pairs of a pattern of bits, and the number of bits that it is shifted by

    >>> from tla.kernels.program.multicast import Multicast
    >>> (Multicast(((0x5, 1),)) | Multicast(((0x1, 0),))).ranks
    [0, 1, 3]

    Source: the PTX manual, "cp.async.bulk.tensor", ctaMask.
    """

    parts: tuple[tuple[int, Leaf], ...]

    def __or__(self, other: object) -> Multicast:
        return Multicast((*self.parts, *other.parts)) if isinstance(other, Multicast) else NotImplemented

    @property
    def ranks(self) -> list[int]:
        """The numbers of the blocks; of a mask that is known."""
        bits = 0
        for pattern, shift in self.parts:
            bits |= pattern << int(shift)
        return [rank for rank in range(bits.bit_length()) if bits >> rank & 1]

    @property
    def shifts(self) -> list[Leaf]:
        """The integers that the mask is of."""
        return [shift for _pattern, shift in self.parts]

    def __str__(self) -> str:
        return self.text(x if known(x) is None else known(x) for x in self.shifts)

    def text(self, shifts: Iterable[object]) -> str:
        """The mask as C, of the texts of its integers."""
        return " | ".join(f"{pattern:#x} << {shift}" for (pattern, _shift), shift in zip(self.parts, shifts))


class _ByModes(Bracketed[Callable[[AnyLayout, Any], Multicast]]):
    """A function of modes in brackets."""


@_ByModes
def create_tma_multicast_mask(*modes: int) -> Callable[[AnyLayout, Any], Multicast]:
    """`create_tma_multicast_mask[2](ctas, coord)`: the mask of the blocks that have a block's coordinate but for modes.

    ctas     (V, M, N, K) -> block in the cluster
    coord    the coordinate of this block, which may be of symbols
    Raises   what tla.gpu.create_tma_multicast_mask raises

    >>> from tla import idx2crd, make_layout, parse, tiled_divide, _1, _4
    >>> from tla.kernels import block_rank_in_cluster, create_tma_multicast_mask, kernel
    >>> @kernel(threads=32, grid=(4, 4), cluster=(4, 4, 1))
    ... def shown():
    ...     ctas = tiled_divide(make_layout((_4, _4, _1)), (_1,))
    ...     if block_rank_in_cluster() == 9:
    ...         coord = idx2crd(block_rank_in_cluster(), (1, 4, 4, 1))
    ...         print(*(create_tma_multicast_mask[mode](ctas, coord).ranks for mode in (2, 1)))
    >>> shown.run()
    [1, 5, 9, 13] [8, 9, 10, 11]

    Source: CuTe `create_tma_multicast_mask<Modes...>`.
    """

    def mask(ctas: AnyLayout, coord: Any) -> Multicast:
        pattern, own = multicast_pattern(modes, ctas, coord)  # type: ignore[arg-type]
        return Multicast(((pattern, leaf(own)),))

    return mask


def require_mask(where: str, mask: object, blocks: int | None) -> None:
    """Require a mask of blocks that there are. Raises LeafTypeError, RangeError.

    blocks   of the cluster; None of a kernel without one
    """
    if not isinstance(mask, Multicast):
        fix = "write create_tma_multicast_mask[2](cluster_layout_vmnk, coord)"
        raise LeafTypeError(f"{where} for the blocks {shown(mask)}", "a mask", fix)
    if blocks is None:
        raise RangeError(f"{where} for several blocks", "a kernel of clusters", "write @kernel(..., cluster=(4, 4, 1))")
    for pattern, shift in mask.parts:
        if at_most(0, shift) is not True or at_most(add(shift, pattern.bit_length()), blocks) is not True:
            raise RangeError(f"{where} for the blocks {mask}", f"{blocks} blocks of the cluster", "count them from 0")
