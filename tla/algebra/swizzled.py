"""A swizzle moved through a layout, and slices of swizzled layouts: where that is exact.

Every step is proved bit by bit, or checked on the whole domain.

Source: CuTe include/cute/swizzle_layout.hpp.
"""

from __future__ import annotations

from typing import Any

from ..core.basis import Basis
from ..core.composed import ComposedLayout
from ..core.digits import ENUMERABLE
from ..core.errors import DivisibilityError, LeafTypeError, Unproven
from ..core.int_tuple import Underscore, leaves, shown, size
from ..core.ints import Int, IntLike, _0, _1, is_constant, is_static, known, static
from ..core.kinds import AnyLayout, on
from ..core.layout import Layout
from ..core.leaf_arithmetic import plus
from ..core.swizzle import CoordSwizzle, Swizzle, between
from .composition import composition
from .exhaustive import first_difference
from .flat_modes import flat_modes
from .modes import dice, slice_and_offset

_ALL_BITS = -1

# ---------------------------------------------------------------------------------------------- composition


@on(Swizzle, composition)
def _after_swizzle(swizzle: Swizzle, b: object) -> Any:
    """composition(swizzle, b)."""
    if isinstance(b, AnyLayout):
        return ComposedLayout(swizzle, _0, b)
    if not isinstance(b, Swizzle):
        what = f"composition: {swizzle} o {shown(b)}"
        raise LeafTypeError(what, "a layout, or a swizzle", "compose it with a layout: a swizzle has no modes to tile")
    # Both are linear over bits, so what they do to single bits is all that they do.
    images = {k: swizzle(b(1 << k)) ^ (1 << k) for k in range(63)}
    reads = sum(1 << k for k, image in images.items() if image)
    found = between(reads, sum(images.values()))
    if found is None or any(found(1 << k) != (1 << k) ^ image for k, image in images.items()):
        raise DivisibilityError(
            f"composition: {swizzle} o {b} is not one swizzle", "swizzles of one shift", "compose each with a layout"
        )
    return b if swizzle.bits == 0 else swizzle if b.bits == 0 else found


@on(CoordSwizzle, composition)
def _after_coord_swizzle(swizzle: CoordSwizzle, b: object) -> Any:
    """composition(swizzle, b): b is of coordinates."""
    if not isinstance(b, AnyLayout):
        what = f"composition: {swizzle} o {shown(b)}"
        raise LeafTypeError(what, "a layout of coordinates", "compose it with make_identity_layout(shape)")
    return ComposedLayout(swizzle, _0, b)


@on(ComposedLayout, composition)
def _after_composed(a: ComposedLayout, b: Any) -> Any:
    """composition(a, b): inside of a. What is composed already stays so: where a static b is composed too, and does not
    move through the layout inside of a, both are kept."""
    try:
        return a.over(composition, b)
    except (DivisibilityError, Unproven):
        if not isinstance(b, ComposedLayout) or not (a.is_static and b.is_static):
            raise
        return ComposedLayout(a, _0, b)


@on(Swizzle, composition, argument=1)
@on(ComposedLayout, composition, argument=1)
def _through(a: Any, b: Any) -> Any:
    """composition(a, b) for a Layout a and a b that begins with a swizzle: the swizzle moved to the front of a."""
    if isinstance(b, Swizzle):
        if b.bits == 0:
            return a
        return _moved(a, b, _0, a, lambda x: b(x))
    if not isinstance(b.outer, Swizzle) or isinstance(b.inner, ComposedLayout):
        return ComposedLayout(a, _0, b)
    return _moved(a, b.outer, b.offset, composition(a, b.inner), b)


def _moved(a: Layout, swizzle: Swizzle, offset: IntLike, inner: Layout, places: Any) -> Any:
    """The layout a(places(c)) as swizzle' o a(offset) o inner, checked on every coordinate."""
    what = f"composition: {shown(a)} after {swizzle}"
    if any(isinstance(d, Basis) for d in leaves(a.stride)):
        raise DivisibilityError(f"{what}: coordinates are not swizzled", "a layout of offsets", "use compose")
    if not is_static(a.stride) or not all(map(is_static, [*leaves(a.shape)][:-1])):
        fix = "write its sizes as Int[N](), or use ComposedLayout"
        raise Unproven(f"{what}: which bits it moves them to is not static", "a static layout", fix)
    reads, changes = a(swizzle.reads), a(swizzle.changes)
    moved = Swizzle[0, swizzle.base, swizzle.shift]() if swizzle.bits == 0 else between(reads, changes)
    if moved is None or moved.bits != swizzle.bits:
        raise DivisibilityError(
            f"{what}: it takes the swizzle's bits apart", "a layout that keeps them side by side", "use compose"
        )
    result = ComposedLayout(moved, a(offset), inner)
    n = known(size(inner))
    if n is None or n > ENUMERABLE:
        expected = f"at most {ENUMERABLE:,}"
        raise Unproven(f"{what}: {shown(size(inner))} coordinates to check", expected, "use compose, or take a tile")
    x = first_difference(result, lambda x: a(places(x)), n)
    if x is not None:
        raise DivisibilityError(f"{what}: at {x} it is not {moved}", "a layout that keeps bits apart", "use compose")
    return result


# --------------------------------------------------------------------------------------------------- slicing


@on(ComposedLayout, slice_and_offset, argument=1)
def _slice_and_offset(coord: Any, layout: ComposedLayout) -> tuple[Any, Any]:
    """slice_and_offset(coord, layout): a plain Layout where the swizzle is one there.

    With b the offset of what is fixed, Sw(b + x) - Sw(b) is a sum over the bits of x, as long as no bit of x is added
    to one of b, and x has not both a bit that is read and the one that it changes.
    """
    rest, fixed = slice_and_offset(coord, layout.inner)
    if isinstance(rest, ComposedLayout):
        return ComposedLayout(
            layout.outer, layout.offset, ComposedLayout(rest.outer, plus(rest.offset, fixed), rest.inner)
        ), _0
    here = plus(layout.offset, fixed)
    swizzle = layout.outer
    nested = isinstance(layout.inner, ComposedLayout)  # then `fixed` is no sum over coordinates
    if _all_open(coord) or not isinstance(swizzle, Swizzle) or (nested and type(here) is not Int):
        return ComposedLayout(swizzle, here, rest), _0
    if swizzle.bits == 0:
        return rest, here
    bits, whole = _bits_of(rest), swizzle.period
    own, constant = (0, int(fixed)) if nested else _moving_bits(coord, layout.inner)
    carries = type(layout.offset) is not Int or own & layout.offset
    moving = _ALL_BITS if carries else own  # of `here`
    pairs = _has_pairs(swizzle, bits)
    # What is tried, and whether another form stands in for it, depends on static knowledge only.
    apart = _ALL_BITS not in (bits, own) and not (own | constant) & bits  # nothing of x is added to a bit that is fixed
    if not (bits != _ALL_BITS and pairs) and (apart or type(here) is Int or not rest.is_static):
        try:
            return _unswizzled(swizzle, here, moving, rest), swizzle(here)
        except DivisibilityError:
            if type(here) is not Int or not rest.is_static:
                raise
    if own != _ALL_BITS and not own & (whole - 1) and fixed % whole == 0:  # so it is for every dynamic coordinate
        return ComposedLayout(swizzle, layout.offset, rest), fixed
    return ComposedLayout(swizzle, here, rest), _0


def _has_pairs(swizzle: Swizzle, bits: int) -> bool:
    """Whether a bit of the mask that is read changes another bit of it."""
    return bool(swizzle(bits & swizzle.reads) & bits & swizzle.changes)


def _all_open(coord: object) -> bool:
    return all(map(_all_open, coord)) if isinstance(coord, tuple) else isinstance(coord, Underscore)


def _bits_of(layout: Layout) -> int:
    """The bits that the offsets of a layout may have, as a mask; _ALL_BITS where that is not static, or they add up."""
    mask = 0
    for s, d in flat_modes(layout):
        if is_constant(1, s) or is_constant(0, d):
            continue
        if type(s) is not Int or type(d) is not Int or d < 0 or s & (s - 1) or d & (d - 1) or mask & ((s - 1) * d):
            return _ALL_BITS
        mask |= int((s - 1) * d)
    return mask


def _moving_bits(coord: Any, layout: Layout) -> tuple[int, int]:
    """The bits of the offset of what is fixed that are not static knowledge, those of the dynamic coordinates; and the
    rest of it."""
    mask, constant = 0, 0
    for part, c in zip(dice(coord, layout), (c for c in leaves(coord) if not isinstance(c, Underscore))):
        if type(c) is Int and type(part(c)) is Int:
            constant += int(part(c))
        elif (bits := _bits_of(part)) == _ALL_BITS or mask & bits:
            return _ALL_BITS, constant
        else:
            mask |= bits
    return _ALL_BITS if mask & constant else mask, constant


def _unswizzled(swizzle: Swizzle, here: object, moving: int, rest: Layout) -> Layout:
    """The layout x -> swizzle(here + rest(x)) - swizzle(here), with a static stride for each bit that is known
    statically."""
    low, gap = swizzle.base, abs(swizzle.shift) - swizzle.bits
    value = known(here)
    if value is None:
        raise Unproven(f"a slice of {swizzle} at {here}", "a known offset", "give its symbols values first")

    def step(k: int) -> Any:
        """The bits that bit k adds: itself, and what it changes or how it is changed, by the partner's
        bit in `here`."""
        bit = 1 << k
        partner = (bit >> swizzle.shift if swizzle.shift >= 0 else bit << -swizzle.shift) if bit & swizzle.reads else 0
        if partner:
            n = bit - partner if value & partner else bit + partner
        else:
            partner = bit << swizzle.shift if swizzle.shift >= 0 else bit >> -swizzle.shift
            n = -bit if value & partner else bit
        return n if moving & partner else static(n)

    modes: list[tuple[Any, Any]] = [(static(1 << low), _1)]
    modes += [(static(2), step(low + k)) for k in range(swizzle.bits)]
    modes.append((static(1 << gap), static(1 << (low + swizzle.bits))))
    modes += [(static(2), step(low + swizzle.bits + gap + k)) for k in range(swizzle.bits)]
    modes.append((_1, static(1 << (low + 2 * swizzle.bits + gap))))
    result = composition(Layout(*map(tuple, zip(*modes))), rest)
    n = known(size(rest))
    if n is None or n > ENUMERABLE:
        bits = _bits_of(rest)
        if bits == _ALL_BITS or bits & value or _has_pairs(swizzle, bits):
            what = f"a slice of {swizzle} over {shown(rest)}"
            raise DivisibilityError(what, "a slice whose bits are its own", "leave fewer modes open in the slice")
        return result
    if first_difference(result, lambda x: swizzle(value + rest(x)) - swizzle(value), n) is not None:
        what = f"a slice of {swizzle} at {value}: {shown(rest)} is not linear there"
        raise DivisibilityError(
            what, "a slice along bits that are read, or along bits that change", "keep both open, or fix both"
        )
    return result
