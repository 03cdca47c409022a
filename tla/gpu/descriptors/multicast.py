"""TMA in clusters: which CTAs get what is loaded once, and how many bytes a barrier waits for.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp, create_tma_multicast_mask; CUTLASS
examples/cute/tutorial/blackwell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...algebra.modes import replace, slice_and_offset
from ...core.coord import CoordLike
from ...core.errors import DivisibilityError, LeafTypeError, RangeError
from ...core.int_tuple import Bracketed, _, shown, size
from ...core.kinds import AnyLayout
from ...core.layout import Layout, as_layout
from ...tensors.make_tensor import MakeTensor, as_tensor
from ..instructions.elements import element_of, require_number

if TYPE_CHECKING:
    from ...core.element import Element

#: The CTAs of the largest cluster, each a bit of the mask.
MOST_CTAS = 16


class _ByModes(Bracketed[Callable[[Layout, Any], int]]):
    """A function of modes in brackets, or of a coordinate in which `_` says them."""

    def __call__(self, layout: Layout, coord: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self[()](layout, coord)


@_ByModes
def create_tma_multicast_mask(*modes: int) -> Callable[[Layout, Any], int]:
    """`create_tma_multicast_mask[2](ctas, coord)`: the CTAs that share a CTA's coordinate but for modes, a bit each.

    ctas     (V, M, N, K) -> CTA in the cluster, or any layout of at most 16 CTAs
    coord    the coordinate of this CTA, known integers; without brackets the modes that CTAs differ in are `_`
    Returns  the ctaMask of a multicast TMA load
    Raises   RankError for a mode that there is not, RangeError for more CTAs than 16, LeafTypeError for
             an unknown coordinate

    >>> from tla import _, tiled_divide, make_layout, _1, _2, _4
    >>> from tla.gpu import create_tma_multicast_mask
    >>> ctas = tiled_divide(make_layout((_4, _4, _1)), (_2,))
    >>> print(ctas, hex(create_tma_multicast_mask[2](ctas, (0, 1, 3, 0))), hex(create_tma_multicast_mask(ctas, (0, _, 0, 0))))
    ((_2),_2,_4,_1):((_1),_2,_4,_0) 0x4444 0x5

    Source: CuTe `create_tma_multicast_mask<Modes...>`.
    """

    def mask(layout: Layout, coord: Any) -> int:
        where = f"create_tma_multicast_mask of {layout} at {shown(coord)}"
        pattern, own = multicast_pattern(modes, layout, coord)
        found = pattern << require_number(where, own)
        if found >= 1 << MOST_CTAS:
            raise _too_many(where, found.bit_length() - 1)
        return found

    return mask


def multicast_pattern(modes: tuple[int, ...], layout: Layout, coord: CoordLike) -> tuple[int, Any]:
    """The CTAs that have a CTA's coordinate but for modes, a bit each, from the first of them on; and that first one.

    >>> from tla import parse
    >>> multicast_pattern((2,), parse("(_2,_2,_4,_1):(_1,_2,_4,_0)"), (0, 1, 3, 0))
    (4369, 2)

    Raises what create_tma_multicast_mask raises, but for an unknown coordinate.
    Source: CuTe `create_tma_multicast_mask`.
    """
    ctas = as_layout("create_tma_multicast_mask", layout)
    for i in modes:
        coord = replace[i](coord, _)
    others, own = slice_and_offset(coord, ctas)
    where = f"create_tma_multicast_mask of {ctas}"
    found = {require_number(where, others(i)) for i in range(require_number(where, size(others)))}
    if not all(0 <= cta < MOST_CTAS for cta in found):
        raise _too_many(where, max(found))
    return sum(1 << cta for cta in found), own


def _too_many(where: str, cta: int) -> RangeError:
    """The error of a CTA that no cluster has."""
    return RangeError(f"{where}: CTA {cta}", f"at most {MOST_CTAS} CTAs in a cluster", "take a smaller cluster")


def tma_transaction_bytes(*tiles: object, element: Element | None = None, ctas: int = 1) -> int:
    """The bytes that a barrier waits for: those of tiles in shared memory that TMA fills, of one stage.

    tiles    tensors or layouts of shared memory
    element  the element type, where tensors do not say it
    ctas     how many CTAs' tiles arrive at one barrier: 2 of tcgen05.mma of two SMs
    Raises   LeafTypeError without an element type or a known size, DivisibilityError for no whole bytes

    >>> from tla import parse
    >>> from tla.gpu import half, tma_transaction_bytes
    >>> tma_transaction_bytes(parse("(_128,_64):(_64,_1)"), parse("(_256,_64):(_64,_1)"), element=half)
    49152

    Source: CUTLASS's tutorials, `sizeof(make_tensor_like(tAsA)) + sizeof(make_tensor_like(tBsB))`.
    """
    if not tiles:
        fix = "write tma_transaction_bytes(tAsA, tBsB)"
        raise LeafTypeError("tma_transaction_bytes of nothing", "tiles of shared memory", fix)
    bits = 0
    for x in tiles:
        tile = MakeTensor(None, x) if isinstance(x, AnyLayout) else as_tensor("tma_transaction_bytes", x)
        count = require_number("tma_transaction_bytes: a size", size(tile.layout))
        bits += count * element_of("tma_transaction_bytes(tAsA, element=half)", tile, element).bits
    if bits % 8:
        raise DivisibilityError(f"tma_transaction_bytes: {bits} bits", "whole bytes", "give whole tiles")
    return bits // 8 * require_number("tma_transaction_bytes: ctas", ctas)
