"""The swizzle from one layout to another: what a reader has to add where a writer swizzles, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..core.errors import RangeError, RankError
from ..core.int_tuple import shown
from ..core.kinds import AnyLayout
from ..core.swizzle import Swizzle, make_swizzle
from ..tensors.offsets import offsets
from .tables import as_table

if TYPE_CHECKING:
    from .digits import Table

#: Swizzles have so many bits in all.
MAX_BITS = 62
#: So many offsets are tried with all swizzles before the rest.
_FEW = 64


def swizzle_between(a: object, b: object) -> Swizzle:
    """The swizzle that takes the offset of every coordinate in `a` to that in `b`; where several do, the one
    of the fewest bits.

    a, b     layouts of the same extents, or tables of offsets
    Returns  Swizzle S with S(a(c)) == b(c) at every coordinate; as it is its own inverse, S(b(c)) == a(c) too
    Raises   RangeError with the first coordinate at which no swizzle serves, RankError for other extents

    >>> from tla import parse, swizzle_between
    >>> print(swizzle_between(parse("(8,64):(64,1)"), parse("Sw<3,3,3> o 0 o (8,64):(64,1)")))
    Sw<3,3,3>

    So a writer in the one layout and a reader in the other agree once either goes through it. `same_map.why_not(a, b)`
    says the first coordinate at which two layouts differ.
    """
    import numpy as np

    one, other = _table(a), _table(b)
    if one.shape != other.shape:
        what = f"swizzle_between of extents {one.shape} and {other.shape}"
        raise RankError(what, "the same extents", "give both the same coordinates")
    if (one == other).all():
        return Swizzle[0, 0, 0]()
    least, most = (int(f(g(one), g(other))) for f, g in ((min, np.min), (max, np.max)))
    if least < 0 or most.bit_length() > MAX_BITS:
        raise RangeError(
            f"offsets from {least} to {most}", f"0 to {2**MAX_BITS - 1}", "take the least offset away from all"
        )
    differ = np.flatnonzero(one != other)
    few = np.concatenate([differ[: _FEW // 2], differ[:: max(len(differ) * 2 // _FEW, 1)]])
    union: Any = np.bitwise_or.reduce  # numpy 2.5 types it for arrays of a known type alone
    for swizzle in _that_change(int(union(one ^ other, axis=None))):
        if (swizzle(one.reshape(-1)[few]) == other.reshape(-1)[few]).all() and (swizzle(one) == other).all():
            return swizzle
    where = tuple(int(c) for c in np.unravel_index(int(differ[0]), one.shape))
    places = f"{shown(where)} lies at {int(one[where])} and at {int(other[where])}"
    what = f"no swizzle takes the one layout to the other: {places}"
    raise RangeError(
        what, "layouts that differ by one swizzle", "write composition(b, right_inverse(static(a))) for the map between"
    )


def _that_change(changed: int) -> Iterator[Swizzle]:
    """The swizzles that change these bits, and those between, and no others; the lowest base first.

    Of a swizzle that changes more, what it reads for the others is always 0: without them it is the same map,
    of fewer bits.
    """
    high, low = changed.bit_length(), (changed & -changed).bit_length() - 1
    bits = high - low
    for shift in (*range(-low, 1 - bits), *range(bits, MAX_BITS - high + 1)):
        yield make_swizzle(bits, low + min(shift, 0), shift)


def _table(x: object) -> Table:
    """A layout's offsets, or a table."""
    layout: Any = x
    given = offsets(layout) if isinstance(x, AnyLayout) else x
    return as_table(given)
