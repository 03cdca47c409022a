"""Inverses of layouts.

An inverse is a search for digits. Where CuTe's order of strides gives the largest one, that is the answer; where
another choice of digits reaches further, it is found and checked by the definition.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from ..core.basis import Basis, paths
from ..core.cache import memo
from ..core.digits import merged
from ..core.errors import DivisibilityError, InjectivityError, LeafTypeError, Unproven
from ..core.int_tuple import leaves, like, shown
from ..core.ints import Int, _0, _1, is_constant, settled, static
from ..core.kinds import by_kind, certified
from ..core.layout import Layout, as_layout
from ..core.leaf_arithmetic import mul
from ..core.questions import at_most, equal, no_elements, require
from .coalesce import coalesce
from .codomain import coprofile
from .flat_modes import Mode, by_stride, flat_modes, from_modes, has_symbols, merge, wrapped
from .inverse_digits import SEARCHABLE, larger_inverse, whole_modes
from .plain_integers import naming_static, noting

#: Spans of offsets up to this are searched for any left inverse.
SEARCHED = 256

# ---------------------------------------------------------------------------------------------- right inverse


@certified
@memo
@noting
@by_kind(Layout)
def right_inverse(layout: Layout) -> Layout:
    """The layout that finds the place of an offset: as many offsets from 0 on as a layout can reach.

    layout    modes of dynamic stride do not count, nor what follows a dynamic extent: their order is not known. Of
              symbols, a mode counts where it is proved that it follows
    Returns   R, coalesced; _1:_0 where nothing but the offset 0 is found. size(R) says how far it goes: of offsets past
              it R says nothing. idx2crd(R(n), layout.shape) is the coordinate at offset n

    >>> from tla import parse, right_inverse
    >>> r = right_inverse(parse("(_4,_8):(_8,_1)"))
    >>> print(r, parse("(_4,_8):(_8,_1)")(r(13)))
    (_8,_4):(_4,_1) 13
    >>> print(right_inverse(parse("(_4,_3):(_1,_2)")))
    (_4,_2):(_1,_8)

    Of a layout of coordinates R takes a coordinate, each axis by whole modes.

    >>> print(right_inverse(parse("((_4,_2),_4):((_1@1,_4@0),_1@0)")))
    ((_4,_2),_4):((_8,_4),_1)

    Law: layout(R(i)) == i on R's whole domain, and of offsets no layout into layout's domain does so for more. Where
    strides are negative, or overlap, and there are more than 1,024 coordinates, digits that carry are not tried, and
    20,000 of the others.
    Source: CuTe `right_inverse`, which takes whole modes only.
    """
    if plain := layout.plain_modes():
        plain = merged(plain)
        return wrapped(merged(larger_inverse(plain, whole_modes(plain))))
    if has_coordinates(layout):
        return _by_axis("right_inverse", _of_whole_modes, layout)
    return _of_whole_modes(layout)


def _of_whole_modes(layout: Layout) -> Layout:
    if nothing := of_nothing("right_inverse", layout):
        return nothing
    if has_symbols(layout.shape, layout.stride):
        return from_modes(merge(_following_modes(placed(layout))))
    return from_modes(merge(whole_modes(merge(flat_modes(layout)), static)))


def of_nothing(name: str, *layouts: Layout) -> Layout | None:
    """The inverse of a layout without coordinates, which has none; None where there are coordinates."""
    extents = [s for x in layouts for s in leaves(as_layout(name, x).shape)]
    if any(is_constant(0, s) for s in extents):
        return from_modes([(_0, _0)])
    if any(equal(s, 0) for s in extents):
        raise no_elements(f"{name} of {shown(layouts[0])}")
    return None


def has_coordinates(layout: Layout) -> bool:
    return any(isinstance(d, Basis) for d in leaves(layout.stride))


def offsets_only(name: str, layout: Layout) -> None:
    if has_coordinates(as_layout(name, layout)):
        raise LeafTypeError(
            f"{name} of {shown(layout)}", "a layout of offsets", "take each mode by itself: coordinates have no order"
        )


def _by_axis(name: str, inverse: Callable[[Layout], Layout], layout: Layout) -> Layout:
    """The inverses of the axes, each of the modes that go along it: what they find are digits of the place apart from
    each other."""
    strides = [*leaves(layout.stride)]
    if any(len(d.terms) > 1 if isinstance(d, Basis) else not is_constant(0, d) for d in strides):
        digits = "write tla.linear.radix(layout).left_inverse(), which takes coordinates"
        fix = digits if name == "left_inverse" else "give each axis a mode of its own"
        raise LeafTypeError(f"{name} of {shown(layout)}", "strides along one axis each", fix)
    terms = [d.terms[0] if isinstance(d, Basis) else None for d in strides]

    def along(path: tuple[int, ...]) -> Layout:
        own = (x.value if x is not None and x.path == path else _0 for x in terms)
        return inverse(Layout(layout.shape, like(layout.shape, own)))

    found = {path: along(path) for path in {x.path for x in terms if x is not None}}
    profile = coprofile(layout)
    axes = [found.get(path, Layout(_1, _0)) for path in paths(profile)]
    return Layout(like(profile, (x.shape for x in axes)), like(profile, (x.stride for x in axes)))


def _following_modes(modes: list[tuple[Any, Any, Any]]) -> list[Mode]:
    """Modes in the order in which each is proved to begin where the last one ends; one of a dynamic extent
    is the last."""
    out: list[Mode] = []
    reached: Any = _1
    rest = [m for m in modes if not is_constant(1, m[0]) and type(m[1]) is not int]
    while found := next((m for m in rest if equal(m[1], reached)), None):
        s, d, place = found
        out.append((s, place))
        if type(s) is int:
            break
        rest.remove(found)
        reached = mul(s, d)
    return out


# ----------------------------------------------------------------------------------------------- left inverse


@certified
@memo
@naming_static
@by_kind(Layout)
def left_inverse(layout: Layout) -> Layout:
    """The layout that gives the place back: R(layout(c)) == c, for an injective layout.

    layout    injective but for its modes of static stride 0, which have place 0 in R; its strides are
              static, or symbols
    Returns   R, coalesced, of size at least cosize(layout) where that is static
    Raises    InjectivityError where two coordinates share an offset; Unproven for dynamic strides; DivisibilityError
              where no layout was found

    >>> from tla import left_inverse, parse
    >>> print(left_inverse(parse("(_4,_8):(_8,_1)")), left_inverse(parse("(_4,_2):(_2,_16)")))
    (_8,_4):(_4,_1) (_2,_8,_2):(_0,_1,_4)
    >>> print(left_inverse(parse("(_2,_2):(_2,_3)")))
    (_2,_4):(_1,_1)

    Of a layout of coordinates R takes a coordinate.

    >>> print(left_inverse(parse("(_4,_5):(_2@0,_1@1)")))
    ((_2,_4),_5):((_0,_1),_4)

    Law: R(layout(i)) == i for every i, of the modes whose stride is not 0. Source: CuTe `left_inverse`; where the
    strides do not divide each other, spans of up to 256 are searched for any layout that does it.
    """
    if has_coordinates(layout):
        return _by_axis("left_inverse", left_inverse, layout)
    if nothing := of_nothing("left_inverse", layout):
        return nothing
    modes = [m for m in placed(layout) if not is_constant(0, m[1]) and not is_constant(1, m[0])]

    def where() -> str:
        return f"left_inverse of {shown(layout)}"

    if any(type(d) is int for _s, d, _place in modes):
        what = f"{where()}: the order of its strides is not static"
        raise Unproven(what, "static strides", "use static strides, as static(layout) has")
    if not modes:
        return coalesce(layout)
    modes = by_stride(modes, where)
    out: list[Mode] = []
    last: Any = _1
    period: Any = _1
    place: Any = _0
    for s, d, at in modes:
        if at_most(d, 0) or not require("divides", period, d, where) or not require("<=", last, d // period, where):
            return _any_left_inverse(layout, modes)
        out.append((settled(d // period, d, period), place))
        period, place, last = d, at, s
    return from_modes(merge([*out, (last, place)]))


def placed(layout: Layout) -> list[tuple[Any, Any, Any]]:
    """The coalesced modes: extent, stride, and the index at which each begins."""
    modes = merge(flat_modes(layout))
    return [
        (s, d, place) for (s, d), place in zip(modes, itertools.accumulate((s for s, _d in modes), mul, initial=_1))
    ]


def _any_left_inverse(layout: Layout, modes: list[tuple[Any, Any, Any]]) -> Layout:
    """A left inverse by search: radices of R that are each a prime times the last, and strides that
    solve R(layout(i)) == i."""
    what = f"left_inverse of {shown(layout)}"
    if not all(type(s) is type(d) is Int for s, d, _p in modes):
        why = "its integers are not static, and its strides do not divide each other"
        raise Unproven(
            f"{what}: {why}", "static integers, or strides that divide", "write them as Int[N](), or static(layout)"
        )
    n = math.prod(int(s) for s, _d, _p in modes)
    expected = "strides each past the reach of the smaller ones"
    if n > SEARCHABLE:
        raise DivisibilityError(f"{what}: its strides do not divide each other", expected, "pad its modes")
    places = {0: 0}
    for s, d, at in modes:
        places = {x + c * int(d): y + c * int(at) for c in range(int(s)) for x, y in places.items()}
    if len(places) < n:
        fix = "use strides that are each past the reach of the smaller ones"
        raise InjectivityError(f"{what}: two coordinates share an offset", "an injective layout", fix)
    if max(places) >= SEARCHED:
        why = f"its strides do not divide each other, and spans past {SEARCHED} are not searched"
        raise DivisibilityError(f"{what}: {why}", expected, "pad its modes")
    if min(places) >= 0:
        for radices in _prime_chains(max(places)):
            extents = [b // a for a, b in itertools.pairwise(radices)]
            if strides := _strides(radices, places):
                extents.append(max(places) // radices[-1] + 1)
                return from_modes(merge([(static(s), static(d)) for s, d in zip(extents, strides)]))
    raise DivisibilityError(f"{what}: no layout was found", expected, "pad its modes")


def _prime_chains(top: int, start: int = 1) -> Iterator[list[int]]:
    """Every chain 1, p, p q, ... of primes up to `top` that no further prime fits: a coarser chain does no more."""
    grown = False
    for p in range(2, top // start + 1):
        if all(p % q for q in range(2, math.isqrt(p) + 1)):
            grown = True
            yield from ([start, *rest] for rest in _prime_chains(top, start * p))
    if not grown:
        yield [start]


def _strides(radices: list[int], places: dict[int, int]) -> list[int] | None:
    """Integers d with sum of digit_k(x) * d_k == places[x] for every x, by elimination; None if there are none."""
    solved: list[tuple[int, list[int]]] = []  # (pivot, row with its right side); no other row has an entry there
    for x, y in places.items():
        row = [*(x // a % (b // a) for a, b in itertools.pairwise(radices)), x // radices[-1], y]
        for pivot, other in solved:
            row = _cleared(row, other, pivot)
        at = next((k for k, a in enumerate(row[:-1]) if a), None)
        if at is not None:
            solved = [(pivot, _cleared(other, row, at)) for pivot, other in solved]
            solved.append((at, row))
        elif row[-1]:
            return None
    if any(row[-1] % row[pivot] for pivot, row in solved):
        return None
    out = {pivot: row[-1] // row[pivot] for pivot, row in solved}  # a stride that nothing decides is 0
    return [out.get(k, 0) for k in range(len(radices))]


def _cleared(row: list[int], other: list[int], at: int) -> list[int]:
    """A multiple of `row` minus one of `other`, with 0 at `at`, in lowest terms."""
    if not row[at]:
        return row
    new = [a * other[at] - row[at] * b for a, b in zip(row, other)]
    common = math.gcd(*new) or 1
    return [a // common for a in new]
