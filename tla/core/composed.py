"""Layouts composed of several maps: what one shape:stride cannot say.

ComposedLayout(A, p, B) means A(p + B(coord)).

Source: CuTe include/cute/layout_composed.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .arrays import require_held
from .basis import ArithmeticTuple, Basis, ScaledBasis, as_coordinate
from .conversions import offset_range
from .coord import CoordLike, Offset
from .errors import LeafTypeError, RankError
from .int_tuple import leaves, mode, shown, symbols_given
from .ints import IntTree, IntTupleLike, _0, is_constant, is_int, is_leaf, is_static, leaf
from .kinds import AnyLayout
from .layout import Layout, as_layout, origin_given
from .leaf_arithmetic import plus
from .plain_ints import remade
from .profiles import flatten, unflatten
from .questions import equal
from .swizzle import CoordSwizzle, Swizzle
from .value import new_value

#: A layout composed of more parts than this is refused.
MAX_PARTS = 256


class ComposedLayout(AnyLayout):
    """outer(offset + inner(coord)): the layout whose coordinates are inner's and whose offsets are outer's.

    outer    a Swizzle, a CoordSwizzle of coordinates, a Layout, or another ComposedLayout
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

    def __new__(cls, outer: object, offset: Any, inner: object) -> Any:
        if not isinstance(inner, AnyLayout):
            as_layout("the inner part of a ComposedLayout", inner)
        if isinstance(outer, ComposedLayout):
            return cls(outer.outer, outer.offset, cls(outer.inner, offset, inner))
        if not isinstance(outer, (Swizzle, CoordSwizzle, Layout)):
            what = f"a ComposedLayout with a {type(outer).__name__} outside"
            raise LeafTypeError(what, "a Swizzle or a layout", "write Swizzle[3, 4, 3]() for the outer part")
        offset = ArithmeticTuple(*offset) if isinstance(offset, tuple) else leaf(offset)
        coordinates = gives_coordinates(inner)
        if coordinates and is_int(offset) and equal(offset, 0):
            offset = _0  # the zero of coordinates: no integer that could vary
        if isinstance(offset, tuple) and not coordinates:
            what = f"the coordinate {shown(offset)} as offset of {shown(inner)}"
            raise LeafTypeError(what, "an integer", "give the number that is added to inner's offsets")
        parts, last = 3, inner
        while isinstance(last, ComposedLayout):
            parts, last = parts + 2, last.inner
        if parts > MAX_PARTS:
            what = f"a ComposedLayout of {parts} parts"
            raise RankError(what, f"at most {MAX_PARTS}", "put some of them together first: composition(a, b)")
        if isinstance(outer, Swizzle) and (not is_int(offset) or coordinates):
            what = f"{outer} o {shown(offset)} o {shown(inner)}"
            raise LeafTypeError(what, "integers to swizzle", "put a layout that maps coordinates to offsets in between")
        if isinstance(outer, CoordSwizzle) and not coordinates:
            what = f"{outer} o {shown(offset)} o {shown(inner)}"
            raise LeafTypeError(what, "coordinates to swizzle", "write Swizzle[3, 4, 3] for offsets")
        if isinstance(outer, (Swizzle, CoordSwizzle)) and outer.bits == 0 and is_constant(0, offset):
            return inner
        return new_value(cls, outer=outer, offset=offset, inner=inner)

    @property
    def shape(self) -> IntTree:
        """The shape of the inner layout."""
        return self.inner.shape

    @property
    def origin_shape(self) -> IntTree:
        """The origin_shape of the inner layout."""
        return self.inner.origin_shape

    @property
    def is_static(self) -> bool:
        """Whether all parts are known at compile time."""
        return bool(self.outer.is_static and is_static(self.offset) and self.inner.is_static)

    def __call__(self, *coord: object) -> Offset:
        place = self.inner(*coord)
        if not is_leaf(place) and (between := values_between(self.inner, self.offset)):  # a tracer would wrap silently
            require_held(str(self), place, *between)
        return _outer_at(self.outer, plus(self.offset, place))

    def __getitem__(self, i: int) -> Any:
        return ComposedLayout(self.outer, self.offset, mode(self.inner, leaf(i)))

    def __iter__(self) -> Iterator[Any]:
        return (ComposedLayout(self.outer, self.offset, m) for m in self.inner)

    def over(self, f: Callable[..., Any], *more: object, **options: object) -> Any:
        """This layout with f(inner, ...) inside: what f does to the coordinates, done here."""
        return ComposedLayout(self.outer, self.offset, f(self.inner, *more, **options))

    def flatten(self) -> Any:
        """The layout that `flatten(layout)` gives."""
        return self.over(flatten)

    def unflatten(self, profile: IntTupleLike) -> Any:
        """The layout that `unflatten(layout, profile)` gives."""
        return self.over(unflatten, profile)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComposedLayout):
            return NotImplemented
        return bool(self.outer == other.outer and self.offset == other.offset and self.inner == other.inner)

    def __hash__(self) -> int:
        return hash((self.outer, self.offset, self.inner))

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        last = innermost(self)
        origin = origin_given(last)
        return f"parse({str(self)!r}{origin}{symbols_given(*_numbers(self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (ComposedLayout, self.outer, self.offset, self.inner)


def around(layout: Any, inner: AnyLayout, offset: IntTree = _0) -> tuple[Any, Any]:
    """A layout with another innermost part, and the offset that stays outside: in a ComposedLayout it
    goes where inner's do.

    offset   an integer; or an array of them, one for each of several threads, which only tensors of threads have
    """
    if isinstance(layout, Layout):
        return inner, offset
    rest, fixed = around(layout.inner, inner, offset)
    total = plus(layout.offset, fixed)
    if isinstance(total, tuple) or is_leaf(total):
        return ComposedLayout(layout.outer, total, rest), _0
    return new_value(ComposedLayout, outer=layout.outer, offset=total, inner=rest), _0


def gives_coordinates(layout: object) -> bool:
    """Whether a layout's values are coordinates, those of its outermost part."""
    last = layout.outer if isinstance(layout, ComposedLayout) else layout
    return isinstance(last, CoordSwizzle) or (
        isinstance(last, Layout) and any(isinstance(d, Basis) for d in leaves(last.stride))
    )


def values_between(layout: Any, offset: Any = _0) -> tuple[int, int] | None:
    """The least and the largest of a layout's offsets plus `offset`, and 0; None where they are not known, or
    coordinates."""
    if not isinstance(offset, int):
        return None
    if isinstance(layout, Layout):
        ends = offset_range(layout.shape, layout.stride)
    else:
        ends = values_between(layout.inner, layout.offset)
        if isinstance(layout.outer, Layout):
            ends = offset_range(layout.outer.shape, layout.outer.stride)
        elif isinstance(layout.outer, CoordSwizzle):
            ends = None
        elif ends:
            low, high = (max(n, layout.outer.changes).bit_length() for n in (-ends[0], ends[1]))
            ends = -1 << low if ends[0] < 0 else 0, (1 << high) - 1
    return ends and (min(0, ends[0], ends[0] + offset), max(0, ends[1], ends[1] + offset))


def _outer_at(outer: AnyLayout, place: CoordLike) -> Offset:
    """The outer map at a place: an integer, or a coordinate that may have fewer modes than it."""
    if isinstance(outer, Layout) and isinstance(place, (tuple, ScaledBasis)):
        return outer(_filled(as_coordinate(place), outer.shape))
    return outer(place)


def _filled(coord: CoordLike, shape: IntTupleLike) -> Any:
    """The coordinate with 0 in the modes of the shape that it does not have."""
    if not isinstance(coord, tuple) or not isinstance(shape, tuple):
        return coord
    return tuple(
        _filled(c, s) for c, s in itertools.zip_longest(coord, shape[: max(len(coord), len(shape))], fillvalue=_0)
    )


def _numbers(layout: AnyLayout) -> list[Any]:
    """The IntTuples of a layout and of all that it is composed of."""
    if isinstance(layout, ComposedLayout):
        return [*_numbers(layout.outer), layout.offset, *_numbers(layout.inner)]
    return [layout.shape, layout.stride] if isinstance(layout, Layout) else []


def innermost(layout: AnyLayout) -> Layout:
    while isinstance(layout, ComposedLayout):
        layout = layout.inner
    return as_layout("a part", layout)  # type: ignore[no-any-return]
