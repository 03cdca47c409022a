"""Swizzles, and layouts composed of several maps: what one shape:stride cannot say.

ComposedLayout(A, p, B) means A(p + B(coord)). What changes the coordinates only acts on B; a swizzle is moved through a
layout where that is exact, and every such step is proved bit by bit or checked on the whole domain.

Source: CuTe include/cute/swizzle.hpp, swizzle_layout.hpp and layout_composed.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from . import algebra, layout as layouts, modes, notation, tilers
from .algebra import composition, flat_modes, step_of
from .basis import ArithmeticTuple, ScaledBasis, as_coordinate
from .coord import coord_leaf
from .errors import DivisibilityError, LeafTypeError, RangeError, RankError, Reason, Unproven
from .int_tuple import AnyLayout, Underscore, flatten, leaves, like, mode, product_each, register_kind, register_tiler, shown, size
from .ints import Int, Static, equal, is_constant, is_int, is_static, known, leaf, mul, plus, static
from .inverse import left_inverse, max_common_layout, right_inverse
from .layout import Layout, MakeLayout, Shape, Stride, as_layout, coshape, cosize, unchecked_layout
from .modes import dice, slice_and_offset
from .predicates import is_bijective, is_compact, is_injective, is_surjective, same_map
from .recast import downcast, upcast
from .steps import ENUMERABLE

_0, _1 = Int[0](), Int[1]()
_ALL_BITS = -1

# --------------------------------------------------------------------------------------------------- Swizzle


class _SwizzleMeta(type):
    def __getitem__(cls, arguments: tuple[int, int, int]) -> type[Swizzle]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != 3:
            raise RankError(f"Swizzle of {len(given)} numbers", "three: bits, base, shift", "write Swizzle[3, 4, 3]")
        bits, base, shift = (int(leaf(n)) for n in given)
        return Static(_swizzle(bits, base, shift), f"Swizzle[{bits}, {base}, {shift}]")  # type: ignore[return-value]

    def __call__(cls, *arguments: Any) -> Any:
        raise LeafTypeError(f"Swizzle{arguments!r}", "the numbers in square brackets", "write Swizzle[3, 4, 3]() for the value")


class Swizzle(metaclass=_SwizzleMeta):
    """A permutation of offsets: B bits of an offset are xored into B others, S places below them.

    bits    B, how many
    base    M, how many of the lowest bits stay as they are: 2**M elements stay together
    shift   S, how far the bits that are read lie above those that change; below them if it is negative; at least B

    >>> from tla import Swizzle
    >>> s = Swizzle[2, 0, 3]()
    >>> print(s, s(8), s(9), s(s(13)))
    Sw<2,0,3> 9 8 13

    `Swizzle[B, M, S]` is the type, calling it gives the value. It is its own inverse. It takes integers, arrays and what
    else has & >> << ^. Raises RangeError for negative bits or base, for ranges that overlap, or past 62 bits.

    Source: CuTe `Swizzle<B, M, S>`.
    """

    __slots__ = ("base", "bits", "shift")

    bits: int
    base: int
    shift: int

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a Swizzle is immutable: write Swizzle[...] instead of changing {name}")

    __delattr__ = __setattr__

    @property
    def reads(self) -> int:
        """The bits that are read, as a mask."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def changes(self) -> int:
        """The bits that may change, as a mask."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    def __call__(self, x: Any) -> Any:
        if type(x) is Int:
            return static(self(int(x)))
        if isinstance(x, (tuple, ScaledBasis, AnyLayout)):
            raise LeafTypeError(f"{self} of {shown(x)}", "an integer", "swizzle offsets; composition(swizzle, layout) takes layouts")
        x = coord_leaf(x)
        read = x & self.reads
        return x ^ (read >> self.shift if self.shift >= 0 else read << -self.shift) if self.bits else x

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Swizzle):
            return NotImplemented
        return (self.bits, self.base, self.shift) == (other.bits, other.base, other.shift)

    def __hash__(self) -> int:
        return hash((Swizzle, self.bits, self.base, self.shift))

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle[{self.bits}, {self.base}, {self.shift}]()"

    def __reduce__(self) -> tuple[Any, ...]:
        return _swizzle, (self.bits, self.base, self.shift)

    is_static = True


def _swizzle(bits: int, base: int, shift: int) -> Swizzle:
    what = f"Swizzle[{bits}, {base}, {shift}]"
    if bits < 0 or base < 0:
        raise RangeError(what, "bits and base of 0 or more", "only the shift may be negative")
    if abs(shift) < bits:
        raise RangeError(f"{what}: its {bits} bits and those {abs(shift)} places on overlap", f"a shift of {bits} or more", f"use {bits}")
    if bits + base + abs(shift) > 62:
        raise RangeError(what, "at most 62 bits in all", "use smaller numbers")
    new = object.__new__(Swizzle)
    for name, value in (("bits", bits), ("base", base), ("shift", shift)):
        object.__setattr__(new, name, value)
    return new


class _MakeSwizzle:
    """`MakeSwizzle[Y, Z]()`: the swizzle that xors the bits of the mask Y into those of the mask Z.

    >>> from tla import MakeSwizzle
    >>> print(MakeSwizzle[0b110000, 0b110]())
    Sw<2,1,3>

    Raises RangeError for masks of other than one run of bits each, of one length, that do not overlap.
    Source: CuTe `make_swizzle<Y, Z>`.
    """

    __name__ = "MakeSwizzle"

    def __getitem__(self, masks: tuple[int, int]) -> type[Swizzle]:
        if not isinstance(masks, tuple) or len(masks) != 2:
            raise RankError(f"MakeSwizzle[{shown(masks)}]", "two masks", "write MakeSwizzle[0b11000, 0b11]")
        reads, changes = (int(leaf(n)) for n in masks)
        found = _between(reads, changes)
        if found is None:
            what = f"MakeSwizzle[{reads:#b}, {changes:#b}]"
            raise RangeError(what, "two masks, each one run of as many bits, that do not overlap", "write Swizzle[bits, base, shift]")
        return Swizzle[found.bits, found.base, found.shift]

    def __reduce__(self) -> str:
        return self.__name__


MakeSwizzle = _MakeSwizzle()


def _between(reads: int, changes: int) -> Swizzle | None:
    """The swizzle of two masks; None if there is none."""
    if reads <= 0 or changes <= 0:
        return Swizzle[0, 0, 0]() if reads == changes == 0 else None
    low = [(m & -m).bit_length() - 1 for m in (reads, changes)]
    bits = reads.bit_count()
    if any(m >> k != (1 << bits) - 1 for m, k in zip((reads, changes), low)) or abs(low[0] - low[1]) < bits or max(low) + bits > 62:
        return None
    return _swizzle(bits, min(low), low[0] - low[1])


# ---------------------------------------------------------------------------------------------- ComposedLayout


class ComposedLayout(AnyLayout):
    """outer(offset + inner(coord)): the layout whose coordinates are inner's and whose offsets are outer's.

    outer    a Swizzle, a Layout, or another ComposedLayout
    offset   an integer [of outer's domain]; a coordinate where inner gives coordinates
    inner    a Layout or ComposedLayout; its shape is the shape, its origin_shape the origin_shape

    >>> from tla import ComposedLayout, Swizzle, parse, _0
    >>> a = ComposedLayout(Swizzle[3, 0, 3](), _0, parse("(_8,_8):(_8,_1)"))
    >>> print(a, a(1, 0), a.shape, a[0])
    Sw<3,0,3> o _0 o (_8,_8):(_8,_1) 9 (_8,_8) Sw<3,0,3> o _0 o _8:_8

    Chains lean to the right: A o p o (B o q o C). A swizzle of no bits at the static offset 0 is left out: then this is
    inner. Raises LeafTypeError where a part is of the wrong kind.

    Source: CuTe `ComposedLayout`.
    """

    __slots__ = ("inner", "offset", "outer")

    outer: Any
    offset: Any
    inner: Any

    def __new__(cls, outer: Any, offset: Any, inner: Any) -> Any:
        if not isinstance(inner, AnyLayout):
            as_layout("the inner part of a ComposedLayout", inner)
        if isinstance(outer, ComposedLayout):
            return cls(outer.outer, outer.offset, cls(outer.inner, offset, inner))
        if not isinstance(outer, (Swizzle, Layout)):
            raise LeafTypeError(f"a ComposedLayout with a {type(outer).__name__} outside", "a Swizzle or a layout", "write Swizzle[...]()")
        offset = ArithmeticTuple(*offset) if isinstance(offset, tuple) else leaf(offset)
        if isinstance(offset, tuple) and isinstance(inner, Layout) and not _gives_coordinates(inner):
            raise LeafTypeError(
                f"the coordinate {shown(offset)} as offset of {shown(inner)}", "an integer", "it is added to inner's offsets"
            )
        parts, last = 3, inner
        while isinstance(last, ComposedLayout):
            parts, last = parts + 2, last.inner
        if parts > notation.MAX_PARTS:
            raise RankError(f"a ComposedLayout of {parts} parts", f"at most {notation.MAX_PARTS}", "compose some of them")
        if isinstance(outer, Swizzle) and (not is_int(offset) or (isinstance(inner, Layout) and _gives_coordinates(inner))):
            raise LeafTypeError(f"{outer} o {shown(offset)} o {shown(inner)}", "offsets to swizzle", "put a layout in between")
        if isinstance(outer, Swizzle) and outer.bits == 0 and is_constant(0, offset):
            return inner
        new = object.__new__(cls)
        for name, value in (("outer", outer), ("offset", offset), ("inner", inner)):
            object.__setattr__(new, name, value)
        return new

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a ComposedLayout is immutable: make another instead of changing {name}")

    __delattr__ = __setattr__

    @property
    def shape(self) -> Any:
        """The shape of the inner layout."""
        return self.inner.shape

    @property
    def origin_shape(self) -> Any:
        """The origin_shape of the inner layout."""
        return self.inner.origin_shape

    @property
    def is_static(self) -> bool:
        """Whether all parts are known at compile time."""
        return bool(self.outer.is_static and is_static(self.offset) and self.inner.is_static)

    def __call__(self, *coord: Any) -> Any:
        place = self.inner(*coord)
        if hasattr(place, "dtype") and place.size and isinstance(self.offset, int):  # numpy would wrap silently
            for end in (place.min(), place.max()):
                leaf(int(end) + int(self.offset))
        return _outer_at(self.outer, plus(self.offset, place))

    def __getitem__(self, i: int) -> Any:
        return ComposedLayout(self.outer, self.offset, mode(self.inner, leaf(i)))

    def __iter__(self) -> Iterator[Any]:
        return (ComposedLayout(self.outer, self.offset, m) for m in self.inner)

    def over(self, f: Callable[..., Any], *more: Any) -> Any:
        """This layout with f(inner, ...) inside: what f does to the coordinates, done here."""
        return ComposedLayout(self.outer, self.offset, f(self.inner, *more))

    def flatten(self) -> Any:
        """What `flatten(layout)` gives."""
        return self.over(flatten)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComposedLayout):
            return NotImplemented
        return bool(self.outer == other.outer and self.offset == other.offset and self.inner == other.inner)

    def __hash__(self) -> int:
        return hash((self.outer, self.offset, self.inner))

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        last = _innermost(self)
        return f"parse({str(self)!r}{'' if last._origin is None else f', origin_shape={last._origin!r}'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedLayout, (self.outer, self.offset, self.inner)


def _gives_coordinates(layout: Layout) -> bool:
    return any(isinstance(d, ScaledBasis) for d in leaves(layout.stride))


def _outer_at(outer: Any, place: Any) -> Any:
    """The outer map at a place: an integer, or a coordinate that may have fewer modes than it."""
    if isinstance(outer, Layout) and isinstance(place, (tuple, ScaledBasis)):
        return outer(_filled(as_coordinate(place), outer.shape))
    return outer(place)


def _filled(coord: Any, shape: Any) -> Any:
    """The coordinate with 0 in the modes of the shape that it does not have."""
    if not isinstance(coord, tuple) or not isinstance(shape, tuple):
        return coord
    return tuple(_filled(c, s) for c, s in itertools.zip_longest(coord, shape[: max(len(coord), len(shape))], fillvalue=_0))


def compose(a: Any, b: Any) -> Any:
    """a after b, always: composition(a, b) where that is a layout, else the ComposedLayout that it is.

    a, b   a layout or Swizzle, and what composition takes: a layout, an integer, a tuple of tilers

    >>> from tla import compose, parse
    >>> r = compose(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    >>> print(r, r(1, 1), compose(parse("(_6,_2):(_8,_2)"), parse("_4:_3")))
    (_3,_2):(_5,_1) o _0 o (_2,_2):(_1,_2) 1 (_2,_2):(_24,_2)

    Law: R(c) == a(b(c)) for every coordinate c of b. Raises what composition raises but for DivisibilityError.
    Source: CuTe `composition` of a ComposedLayout.
    """
    try:
        return composition(a, b)
    except DivisibilityError as why:
        if not (a.is_static and _is_static(b)):  # whether it is a layout must not depend on what a variable holds
            raise DivisibilityError(*why.reason[:2], "write ComposedLayout(a, _0, b), which is exact whatever the integers hold") from None
        if isinstance(a, ComposedLayout):
            return ComposedLayout(a.outer, a.offset, compose(a.inner, b))
        return ComposedLayout(a, _0, _tiles(a, b))


def _is_static(tiler: Any) -> bool:
    return all(map(_is_static, tiler)) if isinstance(tiler, tuple) else isinstance(tiler, Underscore) or is_static(tiler)


def _tiles(a: Layout, tiler: Any) -> Any:
    """A tiler as a layout: of a tuple, into coordinates, its tiles side by side."""
    if isinstance(tiler, AnyLayout):
        return tiler
    if isinstance(tiler, Swizzle):
        return MakeLayout(tiler)
    if is_int(tiler) or isinstance(tiler, Underscore):
        return Layout(tiler if is_int(tiler) else size(a), _1)
    if not isinstance(tiler, tuple):
        raise LeafTypeError(f"compose: a tiler of type {type(tiler).__name__}", "a layout, an integer, or a tuple", "write (4, 8)")
    tiles = [_tiles(m, t) for m, t in zip(a, tiler)]
    if not all(isinstance(t, Layout) for t in tiles):
        raise LeafTypeError(f"compose with the tiler {shown(tiler)}", "plain layouts and integers in a tuple", "compose mode by mode")
    strides = [_into_mode(i, t.stride) for i, t in enumerate(tiles)]
    return unchecked_layout(Shape(*(t.shape for t in tiles)), Stride(*strides))


def _into_mode(i: int, stride: Any) -> Any:
    if isinstance(stride, tuple):
        return Stride(*(_into_mode(i, d) for d in stride))
    return ScaledBasis(stride.value, (i, *stride.path)) if isinstance(stride, ScaledBasis) else ScaledBasis(stride, (i,))


# ----------------------------------------------------------------------------------------- moving a swizzle


def _values(layout: Any, what: str) -> list[Any]:
    """Every value of a layout of known sizes, in the order of the index."""
    n = known(size(layout))
    if n is None or n > ENUMERABLE:
        raise Unproven(f"{what} of {shown(n)} coordinates", f"at most {ENUMERABLE:,}, to go through them", "take a smaller tile")
    return [layout(i) for i in range(n)]


def _after_swizzle(_operation: Any, swizzle: Swizzle, b: Any) -> Any:
    """composition(swizzle, b)."""
    if isinstance(b, AnyLayout):
        return ComposedLayout(swizzle, _0, b)
    if not isinstance(b, Swizzle):
        raise LeafTypeError(f"composition: {swizzle} o {shown(b)}", "a layout, or a swizzle", "a swizzle has no modes to tile")
    # Both are linear over bits, so what they do to single bits is all that they do.
    images = {k: swizzle(b(1 << k)) ^ (1 << k) for k in range(63)}
    reads = sum(1 << k for k, image in images.items() if image)
    found = _between(reads, sum(images.values()))
    if found is None or any(found(1 << k) != (1 << k) ^ image for k, image in images.items()):
        raise DivisibilityError(f"composition: {swizzle} o {b} is not one swizzle", "swizzles of one shift", "compose each with a layout")
    return b if swizzle.bits == 0 else swizzle if b.bits == 0 else found


def _through(operation: Any, a: Any, b: Any) -> Any:
    """operation(a, b) for a Layout a and a b that begins with a swizzle: the swizzle moved to the front of a."""
    if isinstance(b, Swizzle):
        if b.bits == 0:
            return a
        return _moved(a, b, _0, a, lambda x: b(x))
    if not isinstance(b.outer, Swizzle) or isinstance(b.inner, ComposedLayout):
        return ComposedLayout(a, _0, b)
    return _moved(a, b.outer, b.offset, composition(a, b.inner), b)


def _moved(a: Layout, swizzle: Swizzle, offset: Any, inner: Layout, places: Any) -> Any:
    """The layout a(places(c)) as swizzle' o a(offset) o inner, checked on every coordinate."""
    what = f"composition: {shown(a)} after {swizzle}"
    if any(isinstance(d, ScaledBasis) for d in leaves(a.stride)):
        raise DivisibilityError(f"{what}: coordinates are not swizzled", "a layout of offsets", "use compose")
    if not is_static(a.stride) or not all(map(is_static, [*leaves(a.shape)][:-1])):
        raise Unproven(
            f"{what}: which bits it moves them to is not static", "a static layout", "write its sizes as Int[N](), or use ComposedLayout"
        )
    reads, changes = a(swizzle.reads), a(swizzle.changes)
    moved = Swizzle[0, swizzle.base, swizzle.shift]() if swizzle.bits == 0 else _between(reads, changes)
    if moved is None or moved.bits != swizzle.bits:
        raise DivisibilityError(f"{what}: it takes the swizzle's bits apart", "a layout that keeps them side by side", "use compose")
    result = ComposedLayout(moved, a(offset), inner)
    n = known(size(inner))
    if n is None or n > ENUMERABLE:
        raise Unproven(f"{what}: {shown(n)} coordinates to check", f"at most {ENUMERABLE:,}", "use compose, or take a tile")
    for x in range(n):
        if result(x) != a(places(x)):
            raise DivisibilityError(f"{what}: at {x} it is not {moved}", "a layout that keeps bits apart", "use compose")
    return result


# --------------------------------------------------------------------------------------------------- slicing


def _slice_and_offset(_operation: Any, layout: ComposedLayout, coord: Any) -> tuple[Any, Any]:
    """slice_and_offset(coord, layout): a plain Layout where the swizzle is one there.

    With b the offset of what is fixed, Sw(b + x) - Sw(b) is a sum over the bits of x, as long as no bit of x is added to
    one of b, and x has not both a bit that is read and the one that it changes.
    """
    rest, fixed = slice_and_offset(coord, layout.inner)
    if isinstance(rest, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, ComposedLayout(rest.outer, plus(rest.offset, fixed), rest.inner)), _0
    here = plus(layout.offset, fixed)
    swizzle = layout.outer
    if _all_open(coord) or not isinstance(swizzle, Swizzle):
        return ComposedLayout(swizzle, here, rest), _0
    if swizzle.bits == 0:
        return rest, here
    bits, whole = _bits_of(rest), 1 << (swizzle.base + swizzle.bits + abs(swizzle.shift))
    own = _moving_bits(coord, layout.inner)
    carries = type(layout.offset) is not Int or own & layout.offset
    moving = _ALL_BITS if carries else own  # of `here`
    pairs = bits & swizzle.reads and swizzle(bits & swizzle.reads) & bits & swizzle.changes
    # What is tried, and whether another form stands in for it, depends on static knowledge only.
    if not pairs if bits != _ALL_BITS else type(here) is Int or not rest.is_static:
        try:
            return _unswizzled(swizzle, here, moving, rest), swizzle(here)
        except DivisibilityError:
            if type(here) is not Int or not rest.is_static:
                raise
    if own != _ALL_BITS and not own & (whole - 1) and fixed % whole == 0:  # so it is for every dynamic coordinate
        return ComposedLayout(swizzle, layout.offset, rest), fixed
    return ComposedLayout(swizzle, here, rest), _0


def _all_open(coord: Any) -> bool:
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


def _moving_bits(coord: Any, layout: Layout) -> int:
    """The bits of the offset of what is fixed that are not static knowledge: those of the dynamic coordinates."""
    mask, constant = 0, 0
    for part, c in zip(dice(coord, layout), (c for c in leaves(coord) if not isinstance(c, Underscore))):
        if type(c) is Int and type(part(c)) is Int:
            constant += int(part(c))
        elif (bits := _bits_of(part)) == _ALL_BITS or mask & bits:
            return _ALL_BITS
        else:
            mask |= bits
    return _ALL_BITS if mask & constant else mask


def _unswizzled(swizzle: Swizzle, here: Any, moving: int, rest: Layout) -> Layout:
    """The layout x -> swizzle(here + rest(x)) - swizzle(here), with a static stride for each bit that is known statically."""
    low, gap = swizzle.base, abs(swizzle.shift) - swizzle.bits
    value = known(here)
    if value is None:
        raise Unproven(f"a slice of {swizzle} at {here}", "a known offset", "give its symbols values first")

    def step(k: int) -> Any:
        """What bit k adds: itself, and what it changes or how it is changed, by the partner's bit in `here`."""
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
        if bits == _ALL_BITS or bits & value or (bits & swizzle.reads and swizzle(bits & swizzle.reads) & bits & swizzle.changes):
            raise DivisibilityError(f"a slice of {swizzle} over {shown(rest)}", "a slice whose bits are its own", "slice it smaller")
        return result
    for x in range(n):
        if result(x) != swizzle(value + rest(x)) - swizzle(value):
            what = f"a slice of {swizzle} at {value}: {shown(rest)} is not linear there"
            raise DivisibilityError(what, "a slice along bits that are read, or along bits that change", "keep both open, or fix both")
    return result


# -------------------------------------------------------------------------------------------------- inverses


def _right_inverse(_operation: Any, layout: ComposedLayout) -> Any:
    swizzle = _swizzle_of("right_inverse", layout)
    what = f"right_inverse of {shown(layout)}"
    if not is_constant(0, layout.offset):
        raise DivisibilityError(f"{what}: nothing is at offset 0", "an offset of 0", "invert it without the offset")
    found = right_inverse(layout.inner)
    n = known(size(found))
    if n is None or n > ENUMERABLE:
        raise Unproven(f"{what}: {shown(n)} offsets", f"at most {ENUMERABLE:,}, to check them", "take a smaller tile")
    fits = next((x for x in range(n) if swizzle(x) >= n), n)  # past it an offset comes from outside
    whole = static(fits) if type(size(found)) is Int else fits
    try:
        return composition(composition(found, swizzle), Layout(whole, _1))
    except (DivisibilityError, Unproven):
        return ComposedLayout(found, _0, ComposedLayout(swizzle, _0, Layout(whole, _1)))


def _left_inverse(_operation: Any, layout: ComposedLayout) -> Any:
    swizzle = _swizzle_of("left_inverse", layout)
    found = left_inverse(layout.inner)
    values = _values(layout, f"left_inverse of {shown(layout)}")
    span = 1 << max(values, default=0).bit_length()
    if is_constant(0, layout.offset):
        try:
            moved = composition(found, swizzle)
            if all(moved(y) == found(swizzle(y)) for y in values):
                return moved
        except (DivisibilityError, Unproven):
            pass
    whole = Layout(static(span) if layout.is_static else span, _1)
    return ComposedLayout(found, -layout.offset, ComposedLayout(swizzle, _0, whole))


def _swizzle_of(name: str, layout: ComposedLayout) -> Swizzle:
    if not isinstance(layout.outer, Swizzle) or not isinstance(layout.inner, Layout):
        what = f"{name} of {shown(layout)}"
        raise DivisibilityError(what, "a swizzle of a layout", "invert its parts: the inverse of A o B is that of B after that of A")
    return layout.outer


def _max_common_layout(_operation: Any, a: ComposedLayout, b: Any) -> Layout:
    """Of a swizzled layout: what of the inner one stays together, from wherever the offset puts it."""
    swizzle = _swizzle_of("max_common_layout", a)
    found = max_common_layout(a.inner, b)
    most = int(size(found)) if type(size(found)) is Int else 1
    limit = most if swizzle.bits == 0 else min(most, 1 << swizzle.base)
    places = [found(x) for x in range(min(limit, ENUMERABLE))]
    run = next((x for x, place in enumerate(places) if a(place) != a(0) + x), limit)
    if run < limit:
        if not a.is_static:
            raise DivisibilityError(f"max_common_layout of {shown(a)}: its offset parts a run of {limit}", "an aligned offset", "pad it")
        limit = run
    while limit > 1 and most % limit:
        limit -= 1
    return composition(found, Layout(static(limit), _1)) if limit < most else found


# ---------------------------------------------------------------------------------------------------- widths


def _recast_swizzle(operation: Any, swizzle: Swizzle) -> Swizzle:
    n = operation.arguments[0]
    k = n.bit_length() - 1
    if n != 1 << k:
        raise DivisibilityError(f"{operation.__name__}[{n}] of {swizzle}", "a power of 2", "recast the layout without its swizzle")
    if operation.operation is downcast:
        return _swizzle(swizzle.bits, swizzle.base + k, swizzle.shift)
    if swizzle.base >= k:
        return _swizzle(swizzle.bits, swizzle.base - k, swizzle.shift)
    if swizzle.bits and swizzle.shift < 0:
        what = f"upcast[{n}] of {swizzle}: bits inside of a wide element move others"
        raise DivisibilityError(what, f"a base of {k} or more", "use a narrower element")
    return _swizzle(max(swizzle.bits + swizzle.base - k, 0), 0, swizzle.shift)


def _recast(operation: Any, layout: ComposedLayout) -> Any:
    n = operation.arguments[0]
    if operation.operation is upcast and (known(layout.offset) is None or layout.offset % n):
        raise DivisibilityError(f"upcast[{n}] of {shown(layout)}", f"an offset that {n} divides", "move it into the pointer")
    offset = mul(layout.offset, static(n)) if operation.operation is downcast else layout.offset // static(n)
    result = ComposedLayout(operation(layout.outer), offset, operation(layout.inner))
    wide, narrow = (result, layout) if operation.operation is upcast else (layout, result)
    if isinstance(layout.outer, Layout) and not _same_elements(wide, narrow, n):  # a swizzle has whole elements
        raise DivisibilityError(f"{operation.__name__}[{n}] of {shown(layout)}", "parts that keep wide elements whole", "recast each apart")
    return result


def _same_elements(wide: Any, narrow: Any, n: int) -> bool:
    """Whether each narrow element lies in the wide one of its coordinate: n of them, or as many as there are."""
    _values(narrow, "recast")  # which refuses what is too large to go through
    steps = [1 if d % n == 0 else n // int(d) for _s, d in flat_modes(_innermost(narrow))]
    shape = flatten(narrow.shape)
    for coord in itertools.product(*(range(int(s)) for s in leaves(shape))):
        place = [x // step for x, step in zip(coord, steps)]
        one, other = (like(shape, iter(c)) for c in (coord, place))
        if flatten(narrow)(one) // n != flatten(wide)(other):
            return False
    return True


def _innermost(layout: Any) -> Layout:
    while isinstance(layout, ComposedLayout):
        layout = layout.inner
    return as_layout("a part", layout)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- questions


def _coshape(_operation: Any, layout: ComposedLayout) -> Any:
    values = _values(layout, f"cosize of {shown(layout)}")
    span = max(values) - min(values) + 1 if values else 0
    return static(int(span)) if layout.is_static else int(span)


def _is_injective(_operation: Any, layout: ComposedLayout) -> Reason | bool | None:
    if isinstance(layout.outer, Swizzle):  # which is a permutation
        return is_injective._decide(layout.inner)
    return _on_values(layout, lambda values: len(set(values)) == len(values), "two coordinates share an offset")


def _is_surjective(_operation: Any, layout: ComposedLayout, n: Any = None) -> Reason | bool | None:
    def reached(values: list[int]) -> bool:
        wanted = int(cosize(layout) if n is None else n)
        return wanted <= len(values) and set(values) >= set(range(wanted))

    return _on_values(layout, reached, "there are gaps")


def _on_values(layout: ComposedLayout, holds: Callable[[list[int]], bool], otherwise: str) -> Reason | bool | None:
    try:
        values = _values(layout, "a question")
    except Unproven:
        return None
    return True if holds(values) else Reason(f"{shown(layout)}: {otherwise}", "another layout", "see offsets(layout)")


def _is_compact(_operation: Any, layout: ComposedLayout) -> Reason | bool | None:
    return is_bijective._decide(_without_broadcasts(layout))


def _without_broadcasts(layout: Any) -> Any:
    if isinstance(layout, ComposedLayout):
        return layout.over(_without_broadcasts)
    kept = [(s, d) for s, d in flat_modes(layout) if not equal(step_of(d), 0)]
    return Layout(*map(tuple, zip(*kept))) if kept else Layout(1, 0)


def _same_map(_operation: Any, a: ComposedLayout, b: Any) -> Reason | bool | None:
    if a.origin_shape != b.origin_shape or product_each(a.shape) != product_each(b.shape):
        return Reason(f"{shown(a)} and {shown(b)} have other extents", "equal ones", "compare layouts of one shape")
    if a == b:
        return True
    try:
        equal = _values(a, "same_map") == _values(b, "same_map")
    except Unproven:
        return None
    return True if equal else Reason(f"{shown(a)} and {shown(b)} are other functions", "equal offsets", "see offsets(layout)")


# --------------------------------------------------------------------------------------------------- registry


def _product_of_tile(operation: Any, a: Layout, b: ComposedLayout) -> Any:
    """logical_product(a, b): the swizzle of the copies in front of both, where it leaves the block as it is."""
    if not known(size(a)) or not known(size(b)) or size(a) * size(b) > ENUMERABLE:
        raise Unproven(f"logical_product: {shown(a)} by {shown(b)}", f"at most {ENUMERABLE:,} elements, to check them", "use smaller tiles")
    rest = algebra.complement(a, mul(size(a), cosize(b)))
    copies = composition(rest, b)
    if isinstance(copies, Layout):
        return layouts.join([a, copies])
    result = ComposedLayout(copies.outer, copies.offset, layouts.join([a, copies.inner]))
    for i, j in itertools.product(range(int(size(a))), range(int(size(b)))):
        if result(i, j) != a(i) + copies(j):
            what = f"logical_product: {shown(a)} by {shown(b)}: the swizzle moves elements of the block"
            raise DivisibilityError(what, "a swizzle of whole blocks", "use a base of more bits")
    return result


def _whole(_operation: Any, swizzle: Swizzle, *_more: Any) -> Any:
    """MakeLayout(swizzle): over all the bits that it knows."""
    return ComposedLayout(swizzle, _0, Layout(static(1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))), _1))


def _over(operation: Any, layout: ComposedLayout, *more: Any) -> Any:
    return layout.over(operation, *more)


_DOMAIN = [
    *(algebra.coalesce, algebra.composition, algebra.filter, algebra.filter_zeros, modes.append),
    *(modes.group, modes.prepend, modes.replace, modes.select, modes.take, tilers.blocked_product, tilers.flat_divide),
    *(tilers.flat_product, tilers.logical_divide, tilers.logical_product, tilers.raked_product, tilers.tile_to_shape),
    *(tilers.tiled_divide, tilers.tiled_product, tilers.zipped_divide, tilers.zipped_product),
]
register_kind(
    ComposedLayout,
    {
        **dict.fromkeys(_DOMAIN, _over),
        dice: lambda _operation, layout, coord: layout.over(lambda inner: dice(coord, inner)),
        slice_and_offset: _slice_and_offset,
        right_inverse: _right_inverse,
        left_inverse: _left_inverse,
        max_common_layout: _max_common_layout,
        upcast: _recast,
        downcast: _recast,
        coshape: _coshape,
        is_injective: _is_injective,
        is_surjective: _is_surjective,
        is_compact: _is_compact,
        same_map: _same_map,
    },
)
register_kind(Swizzle, {composition: _after_swizzle, upcast: _recast_swizzle, downcast: _recast_swizzle, MakeLayout: _whole})
for _kind in (Swizzle, ComposedLayout):
    register_tiler(_kind, {composition: _through, tilers.logical_product: _product_of_tile})
notation.register_word("Sw", 3, _swizzle)
notation.register_chain("o", ComposedLayout)
