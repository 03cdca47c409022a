"""Composition that always answers: a Layout where there is one, else the exact ComposedLayout.

Source: CuTe include/cute/layout_composed.hpp.
"""

from __future__ import annotations

from typing import Any

from ..core.basis import BasisSum, ScaledBasis, as_coordinate, as_stride
from ..core.composed import ComposedLayout
from ..core.errors import DivisibilityError, LeafTypeError
from ..core.int_tuple import Underscore, shown, size
from ..core.ints import IntTupleLike, _0, _1, is_int, is_static
from ..core.kinds import AnyLayout
from ..core.layout import Layout, unchecked_layout
from ..core.make_layout import MakeLayout
from ..core.strides import Shape, Stride
from ..core.swizzle import Swizzle
from .by_mode import TilerLike
from .composition import composition
from .plain_integers import naming_static


@naming_static
def compose(a: Any, b: TilerLike) -> Any:
    """a after b: composition(a, b) where that is a layout, else, of static layouts, the ComposedLayout that it is.

    a, b   a layout or Swizzle, and what composition takes: a layout, an integer, a tuple of tilers. Of dynamic ones
           what kind the result is would depend on what a variable holds: these are refused where composition refuses
           them, and ComposedLayout(a, _0, b) is exact

    >>> from tla import compose, parse
    >>> r = compose(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    >>> print(r, r(1, 1), compose(parse("(_6,_2):(_8,_2)"), parse("_4:_3")))
    (_3,_2):(_5,_1) o _0 o (_2,_2):(_1,_2) 1 (_2,_2):(_24,_2)

    Law: R(c) == a(b(c)) for every coordinate c of b. Raises what composition raises; of static layouts no
    DivisibilityError.
    Source: CuTe `composition` of a ComposedLayout.
    """
    try:
        return composition(a, b)
    except DivisibilityError as why:
        if not (a.is_static and _is_static(b)):  # whether it is a layout must not depend on what a variable holds
            raise DivisibilityError(
                *why.reason[:2], "write ComposedLayout(a, _0, b), which is exact whatever the integers hold"
            ) from None
        if isinstance(a, ComposedLayout):
            return ComposedLayout(a.outer, a.offset, compose(a.inner, b))
        return ComposedLayout(a, _0, _tiles(a, b))


def _is_static(tiler: object) -> bool:
    return (
        all(map(_is_static, tiler)) if isinstance(tiler, tuple) else isinstance(tiler, Underscore) or is_static(tiler)
    )


def _tiles(a: Layout, tiler: TilerLike) -> Any:
    """A tiler as a layout: of a tuple, into coordinates, its tiles side by side."""
    if isinstance(tiler, AnyLayout):
        return tiler
    if isinstance(tiler, Swizzle):
        return MakeLayout(tiler)
    if is_int(tiler) or isinstance(tiler, Underscore):
        return Layout(tiler if is_int(tiler) else size(a), _1)
    if not isinstance(tiler, tuple):
        raise LeafTypeError(
            f"compose: a tiler of type {type(tiler).__name__}", "a layout, an integer, or a tuple", "write (4, 8)"
        )
    tiles = [_tiles(m, t) for m, t in zip(a, tiler)]
    if not all(isinstance(t, Layout) for t in tiles):
        raise LeafTypeError(
            f"compose with the tiler {shown(tiler)}", "plain layouts and integers in a tuple", "compose mode by mode"
        )
    strides = [_into_mode(i, t.stride) for i, t in enumerate(tiles)]
    return unchecked_layout(Shape(*(t.shape for t in tiles)), Stride(*strides))


def _into_mode(i: int, stride: IntTupleLike) -> Any:
    if isinstance(stride, tuple):
        return Stride(*(_into_mode(i, d) for d in stride))
    if isinstance(stride, BasisSum):
        return as_stride((*[_0] * i, as_coordinate(stride)))
    return (
        ScaledBasis(stride.value, (i, *stride.path)) if isinstance(stride, ScaledBasis) else ScaledBasis(stride, (i,))
    )
