"""Layouts composed of several maps: what one shape:stride cannot say.

ComposedLayout(A, p, B) means A(p + B(coord)).

Source: CuTe include/cute/layout_composed.hpp.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import notation
from .algebra import composition
from .basis import ArithmeticTuple, ScaledBasis, as_coordinate
from .errors import DivisibilityError, LeafTypeError, RankError
from .int_tuple import AnyLayout, Underscore, flatten, leaves, mode, shown, size, symbols_given
from .ints import Int, is_constant, is_int, is_static, leaf, plus
from .layout import Layout, MakeLayout, Shape, Stride, as_layout, unchecked_layout
from .swizzle import Swizzle

_0, _1 = Int[0](), Int[1]()


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
        if isinstance(offset, tuple) and isinstance(inner, Layout) and not gives_coordinates(inner):
            raise LeafTypeError(
                f"the coordinate {shown(offset)} as offset of {shown(inner)}", "an integer", "it is added to inner's offsets"
            )
        parts, last = 3, inner
        while isinstance(last, ComposedLayout):
            parts, last = parts + 2, last.inner
        if parts > notation.MAX_PARTS:
            raise RankError(f"a ComposedLayout of {parts} parts", f"at most {notation.MAX_PARTS}", "compose some of them")
        if isinstance(outer, Swizzle) and (not is_int(offset) or (isinstance(inner, Layout) and gives_coordinates(inner))):
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
        np = sys.modules.get("numpy")
        if np and isinstance(place, (np.ndarray, np.generic)) and place.size and isinstance(self.offset, int):  # numpy would wrap silently
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
        last = innermost(self)
        origin = "" if last._origin is None else f", origin_shape={last._origin!r}"
        return f"parse({str(self)!r}{origin}{symbols_given(*_numbers(self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedLayout, (self.outer, self.offset, self.inner)


def gives_coordinates(layout: Layout) -> bool:
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
    """a after b: composition(a, b) where that is a layout, else, of static layouts, the ComposedLayout that it is.

    a, b   a layout or Swizzle, and what composition takes: a layout, an integer, a tuple of tilers. Of dynamic ones what kind
           the result is would depend on what a variable holds: these are refused where composition refuses them, and
           ComposedLayout(a, _0, b) is exact

    >>> from tla import compose, parse
    >>> r = compose(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    >>> print(r, r(1, 1), compose(parse("(_6,_2):(_8,_2)"), parse("_4:_3")))
    (_3,_2):(_5,_1) o _0 o (_2,_2):(_1,_2) 1 (_2,_2):(_24,_2)

    Law: R(c) == a(b(c)) for every coordinate c of b. Raises what composition raises; of static layouts no DivisibilityError.
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


def _numbers(layout: Any) -> list[Any]:
    """The IntTuples of a layout and of all that it is composed of."""
    if isinstance(layout, ComposedLayout):
        return [*_numbers(layout.outer), layout.offset, *_numbers(layout.inner)]
    return [layout.shape, layout.stride] if isinstance(layout, Layout) else []


def innermost(layout: Any) -> Layout:
    while isinstance(layout, ComposedLayout):
        layout = layout.inner
    return as_layout("a part", layout)  # type: ignore[no-any-return]


notation.register_chain("o", ComposedLayout)
