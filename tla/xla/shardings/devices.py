"""Device numbers of a sharding, one per position: listed, or an iota, which is a layout from position to device.

Source: XLA xla/hlo/ir/tile_assignment.h for the meaning and the canonical form; the digits are ours.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...algebra.composition import composition
from ...core.arrays import INT64_MAX
from ...core.errors import RangeError, RankError, TlaError
from ...core.int_tuple import leaves, shown
from ...core.ints import static
from ...core.layout import Layout
from ..shapes.arguments import integer, integers, joined

#: More devices than this are not listed one by one: `Iota` and the layouts hold any number.
MAX_LISTED = 2**20

Digits = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Iota:
    """Devices without a list: 0, 1, 2, ... as an array of `extents`, its dimensions taken in `order`, flattened.

    extents   sizes, major to minor
    order     a permutation of the dimensions; left out for one as they are
    Raises    RankError, RangeError where these do not fit each other

    Neighbours that stay together are merged, and extents of 1 dropped, as XLA does it.

    >>> print(Iota((2, 2, 2), (2, 0, 1)))
    [4,2]T(1,0)
    >>> list(Iota((4, 2), (1, 0)))
    [0, 2, 4, 6, 1, 3, 5, 7]

    Source: XLA `IotaTileAssignment`.
    """

    extents: tuple[int, ...]
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        extents, order = integers(self.extents), integers(self.order)
        order = order or tuple(range(len(extents)))
        require_count(extents, "an iota")
        if sorted(order) != list(range(len(extents))):
            what = f"order {shown(order)} of {len(extents)} dimensions"
            raise RankError(what, "each of them once", "number them from 0")
        places = places_of(extents)
        self._put([(extents[d], places[d]) for d in order])

    @classmethod
    def of(cls, digits: Digits) -> Iota:
        """The iota of (extent, stride) pairs, major to minor: what a position's digits are worth in the device number.

        Raises RangeError for strides that do not reach each device once.

        >>> print(Iota.of([(2, 1), (4, 2)]))
        [4,2]T(1,0)
        """
        new = object.__new__(cls)
        new._put(digits)
        return new

    def _put(self, digits: Digits) -> None:
        merged: list[tuple[int, int]] = []
        for n, stride in digits:
            if merged and merged[-1][1] == n * stride:
                merged[-1] = (merged[-1][0] * n, stride)
            elif n != 1:
                merged.append((n, stride))
        merged = merged or [(1, 1)]
        by_stride = sorted(merged, key=lambda digit: -digit[1])
        require_count([n for n, _ in by_stride], "an iota")
        if [d for _, d in by_stride] != places_of([n for n, _ in by_stride]):
            what = f"digits {shown(tuple(merged))}"
            raise RangeError(what, "strides that reach each device once", "write Iota(extents, order)")
        object.__setattr__(self, "extents", tuple(n for n, _ in by_stride))
        object.__setattr__(self, "order", tuple(map(by_stride.index, merged)))

    @property
    def digits(self) -> tuple[tuple[int, int], ...]:
        """(extent, stride) of each digit of a position, major to minor; strides in device numbers."""
        places = places_of(self.extents)
        return tuple((self.extents[d], places[d]) for d in self.order)

    @property
    def layout(self) -> Layout:
        """The layout from a position to its device.

        >>> print(Iota((4, 2), (1, 0)).layout)
        (_4,_2):(_2,_1)
        """
        return layout_of(reversed(self.digits))

    @property
    def inverse(self) -> Layout:
        """The layout from a device to its position.

        >>> print(Iota((4, 2), (1, 0)).inverse)
        (_2,_4):(_4,_1)
        """
        places = places_of([n for n, _ in self.digits])
        by_stride = sorted(zip(self.digits, places), key=lambda digit: digit[0][1])
        return layout_of((n, place) for (n, _), place in by_stride)

    def __len__(self) -> int:
        return math.prod(self.extents)

    def __getitem__(self, position: int) -> int:
        device, position = 0, integer(position)
        if not 0 <= position < len(self):
            raise RangeError(f"position {shown(position)} of {len(self)}", f"0 to {len(self) - 1}", "count from 0")
        for n, stride in reversed(self.digits):
            position, digit = divmod(position, n)
            device += digit * stride
        return device

    def __iter__(self) -> Iterator[int]:
        digits = listed(self).digits
        return map(sum, itertools.product(*(range(0, n * stride, stride) for n, stride in digits)))

    def __str__(self) -> str:
        order = f"T({joined(self.order)})" if len(self.order) > 1 else ""
        return f"[{joined(self.extents)}]{order}"


Devices = Iota | tuple[int, ...]
D = TypeVar("D", bound=Devices)


def require_count(extents: Sequence[int], what: str) -> int:
    """The product of extents that are 1 or more; RangeError for others, or where 64 bits do not hold it."""
    count = 1
    if not extents:
        raise RankError(f"{what} with no dimensions", "one or more", "write [1] for a single one")
    for n in extents:
        if n < 1:
            raise RangeError(f"{what} of {shown(tuple(extents))}", "sizes of 1 or more", "write 1 where it is not cut")
        count *= n
        if count > INT64_MAX:
            raise RangeError(f"{what} of {shown(tuple(extents))}", "a product that 64 bits hold", "use smaller sizes")
    return count


def taken(devices: Devices, where: Iota) -> Devices:
    """The devices at the positions that `where` lists: an iota again where there is one."""
    if len(where.extents) == 1:
        return devices
    if isinstance(devices, Iota):
        found = _composed(devices, where.layout)
        if found:
            return Iota.of([*reversed(_flat(found))])
    return tuple(devices[k] for k in listed(where))


def in_runs(devices: Devices, size: int) -> Devices:
    """The devices, ascending in each run of `size`: their order has no meaning."""
    count = len(devices)
    if isinstance(devices, Iota):
        found = _composed(devices, layout_of([(size, 1), (count // size, size)]))
        if found:
            run = sorted(_flat(found[0]), key=lambda digit: digit[1])
            return Iota.of([*reversed([*run, *_flat(found[1])])])
    numbers = tuple(listed(devices))
    return tuple(d for k in range(0, count, size) for d in sorted(numbers[k : k + size]))


def _composed(devices: Iota, positions: Layout) -> Layout | None:
    try:
        return composition(devices.layout, positions)
    except TlaError:  # extents that do not go into each other
        return None


def listed(devices: D) -> D:
    """The devices, where they are few enough to list them."""
    if len(devices) > MAX_LISTED:
        what = f"{len(devices)} devices, one by one"
        raise RangeError(what, f"{MAX_LISTED} at most", "use tile_layout or devices_of, which need no list")
    return devices


def places_of(extents: Sequence[int]) -> list[int]:
    """The stride of each dimension of a row-major array of these extents."""
    return [*itertools.accumulate(reversed(extents), initial=1, func=operator.mul)][-2::-1]


def layout_of(digits: Iterable[tuple[int, Any]]) -> Layout:
    """The static layout of (extent, stride) modes; a stride is an integer or a multiple of a basis element."""
    modes = [*digits]
    return Layout(tuple(static(n) for n, _ in modes), tuple(static(d) if isinstance(d, int) else d for _, d in modes))


def _flat(layout: Layout) -> list[tuple[int, int]]:
    return [(int(n), int(d)) for n, d in zip(leaves(layout.shape), leaves(layout.stride))]
