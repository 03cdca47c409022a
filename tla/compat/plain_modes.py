"""Operations of layouts that are tuples of plain integers, without layouts of tla on the way.

They are those of `tla.algebra` on static layouts, which are worked in plain integers there too. What it takes more than
one look to decide, or to refuse with a reason, is None: then the exact algebra is asked.

order   1 where the first mode is fastest, -1 where the last one is: the flat modes are in the other order then
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..algebra.complement import plain_complement
from ..algebra.cutting import cut_static
from ..algebra.inverse_digits import larger_inverse, whole_modes
from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.cache import known_memo
from ..core.digits import Modes, merged

#: A shape and its strides.
Parts = tuple[Any, Any]


def _collected(shape: Any, stride: Any, out: Modes) -> bool:
    """Whether these are congruent tuples of integers, each extent 1 or more; out gets the flat modes."""
    if type(shape) is tuple:
        if type(stride) is not tuple or len(shape) != len(stride):
            return False
        return all(_collected(s, d, out) for s, d in zip(shape, stride))
    out.append((shape, stride))
    return type(shape) is type(stride) is int and 0 < shape <= INT64_MAX and INT64_MIN <= stride <= INT64_MAX


def modes_of(shape: Any, stride: Any, order: int) -> Modes | None:
    """The flat modes, the fastest first; None where the exact algebra has to read them."""
    out: Modes = []
    return out[::order] if _collected(shape, stride, out) and out else None


@known_memo
def offsets(shape: Any, stride: Any, order: int) -> tuple[Modes, int] | None:
    """The modes but the last one, and the stride of that."""
    modes = modes_of(shape, stride, order)
    return (modes[:-1], modes[-1][1]) if modes else None


def offset(index: int, shape: Any, stride: Any, order: int) -> int | None:
    """The offset of an index; past the last mode it goes on.

    >>> offset(5, (2, 4), (4, 1), 1)
    6
    """
    found = offsets(shape, stride, order)
    if found is None:
        return None
    total = 0
    for s, d in found[0]:
        total += index % s * d
        index //= s
    return total + index * found[1]


def _wrapped(modes: Modes, order: int) -> Parts | None:
    """Flat modes as a shape and strides: none is 1:0, one stands alone. None for what 64 bits do not hold."""
    if not all(s <= INT64_MAX and INT64_MIN <= d <= INT64_MAX for s, d in modes):
        return None
    if len(modes) < 2:
        return modes[0] if modes else (1, 0)
    shape, stride = zip(*modes[::order])
    return shape, stride


def _nested(profile: Any, pieces: Iterator[Sequence[tuple[int, int, int]]], order: int) -> Parts:
    """A profile with the pieces of each integer in its place: their extents, and their strides."""
    if type(profile) is not tuple:
        cut = next(pieces)
        if len(cut) == 1:
            return cut[0][0], cut[0][2]
        return tuple([p[0] for p in cut[::order]]), tuple([p[2] for p in cut[::order]])
    parts = [_nested(p, pieces, order) for p in profile]
    return tuple([p[0] for p in parts]), tuple([p[1] for p in parts])


def _cut(a: Modes, b: Modes) -> Sequence[Sequence[tuple[int, int, int]]] | None:
    """The pieces of each mode of b in a o b; None where they are not right together, or 64 bits do not hold them."""
    found = cut_static(a, b)
    fits = found.why_not is None and all(INT64_MIN <= t <= INT64_MAX for pieces in found.pieces for _n, _x, t in pieces)
    return found.pieces if fits else None


@known_memo
def coalesce(shape: Any, stride: Any, order: int) -> Parts | None:
    """The fewest modes of the same function.

    >>> coalesce((2, (1, 6)), (1, (6, 2)), 1)
    (12, 1)
    """
    modes = modes_of(shape, stride, order)
    return _wrapped(merged(modes), order) if modes else None


@known_memo
def composition(shape: Any, stride: Any, inner_shape: Any, inner_stride: Any, order: int) -> Parts | None:
    """The layout of an inner layout, then this one.

    >>> composition((6, 2), (8, 2), (4, 3), (3, 1), 1)
    (((2, 2), 3), ((24, 2), 8))
    """
    a, b = modes_of(shape, stride, order), modes_of(inner_shape, inner_stride, order)
    pieces = _cut(a, b) if a and b and (order == 1 or not uneven_step(a, b)) else None
    return None if pieces is None else _nested(inner_shape, iter(pieces[::order]), order)


def uneven_step(a: Modes, b: Modes) -> tuple[int, int] | None:
    """The first stride of b, with an extent of a on its way that it neither divides nor is divided by.

    >>> uneven_step([(2, 1), (4, 4)], [(2, 3)]), uneven_step([(6, 1), (4, 6)], [(2, 3)])
    ((3, 2), None)
    """
    passed = [n for n, _d in merged(a)[:-1]]
    for _s, d in b if passed else ():
        for n in passed:
            if d and n % d and d % n:
                return d, n
            d = -(-d // n)
    return None


@known_memo
def complement(shape: Any, stride: Any, n: int, order: int) -> Parts | None:
    """The offsets below n that are left out.

    >>> complement((2, 2), (4, 1), 24, 1)
    ((2, 3), (2, 8))
    """
    modes = modes_of(shape, stride, order)
    free = plain_complement(modes, n)[0] if modes and type(n) is int and n > 0 else None
    return _wrapped(free, order) if free else None


@known_memo
def right_inverse(shape: Any, stride: Any, order: int) -> Parts | None:
    """The place of each offset, for as many from 0 on as have one.

    >>> right_inverse((4, 8), (8, 1), 1)
    ((8, 4), (4, 1))
    """
    modes = modes_of(shape, stride, order)
    if modes is None:
        return None
    modes = merged(modes)
    return _wrapped(merged(larger_inverse(modes, whole_modes(modes))), order)


@known_memo
def left_inverse(shape: Any, stride: Any, order: int) -> Parts | None:
    """The index of each offset that there is, of strides that divide each other.

    >>> left_inverse((4, 2), (2, 16), 1)
    ((2, 8, 2), (0, 1, 4))
    """
    modes = modes_of(shape, stride, order)
    if modes is None:
        return None
    modes = merged(modes)
    places = itertools.accumulate([s for s, _d in modes], lambda a, b: a * b, initial=1)
    stepping = sorted([(d, s, place) for (s, d), place in zip(modes, places) if d])
    if not stepping:
        return _wrapped(modes, order)
    out, last, period, at = [], 1, 1, 0
    for d, s, place in stepping:
        if d < 0 or d % period or last > d // period:
            return None
        out.append((d // period, at))
        period, at, last = d, place, s
    return _wrapped(merged([*out, (last, at)]), order)


@known_memo
def logical_divide(shape: Any, stride: Any, tile_shape: Any, tile_stride: Any, order: int) -> Parts | None:
    """The layout in tiles that leave no gap: (tile, rest).

    >>> logical_divide(16, 3, 4, 1, 1)
    ((4, 4), (3, 12))
    """
    a, b = modes_of(shape, stride, order), modes_of(tile_shape, tile_stride, order)
    if not a or not b:
        return None
    rest, filled = plain_complement(b, math.prod([s for s, _d in a]))
    if not rest or not filled:
        return None
    pieces = _cut(a, [*b, *rest])
    return None if pieces is None else _two(pieces, (tile_shape, len(b)), rest, order)


def _two(pieces: Any, tile: tuple[Any, int], rest: Modes, order: int) -> Parts:
    """The pieces of a tile, nested as it is, and of what goes over the tiles."""
    shape, count = tile
    inside = _nested(shape, iter(pieces[:count][::order]), order)
    over = _nested(0 if len(rest) == 1 else (0,) * len(rest), iter(pieces[count:][::order]), order)
    return (inside[0], over[0]), (inside[1], over[1])


@known_memo
def logical_product(shape: Any, stride: Any, tile_shape: Any, tile_stride: Any, order: int) -> Parts | None:
    """The layout, and its copies in the order of a second one.

    >>> logical_product((2, 2), (4, 1), 6, 1, 1)
    (((2, 2), (2, 3)), ((4, 1), (2, 8)))
    """
    a, b = modes_of(shape, stride, order), modes_of(tile_shape, tile_stride, order)
    if not a or not b or min([d for _s, d in b]) < 0:
        return None
    cosize = 1 + sum([(s - 1) * d for s, d in b])
    free = plain_complement(a, math.prod([s for s, _d in a]) * cosize)[0]
    pieces = _cut(free, b) if free else None
    if pieces is None:
        return None
    copies = _nested(tile_shape, iter(pieces[::order]), order)
    return (shape, copies[0]), (stride, copies[1])


#: An operation of two layouts, by their parts.
OfTwo = Callable[[Any, Any, Any, Any, int], "Parts | None"]
