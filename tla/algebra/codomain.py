"""The codomain of a layout: its coshape and cosize, the identity layout, and the coordinates of an offset.

Source: CuTe include/cute/layout.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..core.basis import MakeBasisLike, as_coordinate
from ..core.coord import Computes
from ..core.int_tuple import ByPath, IntTuple, as_int_tuple, leaves, product, shown
from ..core.ints import IntTree, IntTupleLike, Leaf, _0, _1, is_constant, is_static, known
from ..core.kinds import by_kind
from ..core.layout import Layout, as_layout
from ..core.leaf_arithmetic import add, mul, plus
from ..core.questions import at_most, equal, no_elements, require
from ..core.strides import Shape
from .plain_integers import naming_static


@ByPath
@by_kind(Layout)
def coshape(layout: Layout) -> IntTree:
    """The shape that holds every value of a layout: of offsets their span, of coordinates the span in each mode.

    For strides of one sign it is the largest value plus 1. A layout without elements needs none; of sizes that may be
    0, Unproven where it cannot be said in one expression.

    >>> from tla import coshape, parse
    >>> print(coshape(parse("(_4,_3):(_1,_8)")), coshape(parse("(4,6):(1@1,2@0)")), coshape(parse("(4,0):(1,4)")))
    _20 (11,4) 0

    Source: CuTe `coshape<I...>`.
    """
    extents = tuple(leaves(layout.shape))
    if any(is_constant(0, n) for n in extents):
        return _each(lambda _n: _0, _total(leaves(layout.stride)))
    spans = _each(lambda n: add(n, _1), _total(mul(n - _1, abs(d)) for n, d in zip(extents, leaves(layout.stride))))
    if not any(equal(n, 0) for n in extents):
        _require_elements(layout, spans)
        return spans
    if is_static(spans):  # which a 0 must not change
        raise no_elements(f"coshape of {shown(layout)}")
    return _each(lambda _n: 0, spans)


def _require_elements(layout: Layout, spans: IntTupleLike) -> None:
    """Require that extents which may be 0 are not, or that the spans have no place for anything where they are."""
    unknown = [n for n in leaves(layout.shape) if known(n) is None and not at_most(1, n)]
    if unknown and not (at_most(0, product(spans)) and at_most(product(spans), product(layout.shape))):
        for n in unknown:
            require("<=", 1, n, lambda: f"coshape of {shown(layout)}")


def coprofile(layout: Layout) -> IntTree:
    """The nesting of a layout's values, with _0 for each integer: _0 of offsets, that of the coordinates otherwise.

    >>> from tla import coprofile, parse
    >>> print(coprofile(parse("(4,3):(1,4)")), coprofile(parse("(4,(6,2)):(1@0,(1@0@1,1@1@1))")))
    _0 (_0,(_0,_0))

    Source: CuTe `coprofile`.
    """
    return _each(lambda _n: _0, coshape(layout))


def _total(values: Iterable[Any]) -> IntTree:
    return functools.reduce(plus, values, _0)


def _each(f: Callable[[Any], Any], x: object) -> Any:
    """f of every integer of a coordinate."""
    x = as_coordinate(x)
    return IntTuple(*(_each(f, m) for m in x)) if isinstance(x, tuple) else f(x)


@ByPath
def cosize(layout: Layout) -> Leaf:
    """The number of elements that a buffer needs to hold every offset of a layout: size(coshape(layout)) [elements].

    >>> from tla import cosize, parse
    >>> print(cosize(parse("(_4,_3):(_1,_8)")), cosize(parse("(4,3):(_1,_8)")), cosize(parse("(4,6):(1@1,2@0)")))
    _20 20 44

    Source: CuTe `cosize<I...>`.
    """
    return product(coshape(layout))


def MakeIdentityLayout(shape: IntTupleLike) -> Layout:
    """The layout that maps each coordinate of a shape to itself.

    >>> from tla import MakeIdentityLayout
    >>> a = MakeIdentityLayout((4, (2, 3)))
    >>> print(a, a(9), a(1, 5))
    (4,(2,3)):(_1@0,(_1@0@1,_1@1@1)) (1,(0,1)) (1,(1,2))

    Source: CuTe `make_identity_layout`.
    """
    shape = as_int_tuple(shape, Shape)
    return Layout(shape, MakeBasisLike(shape))


@naming_static
def get_hier_coord(layout: Layout, offset: Computes) -> IntTree:
    """The coordinate at an offset of a compact layout, nested like its shape.

    >>> from tla import get_hier_coord, parse
    >>> print(get_hier_coord(parse("(_4,(_2,_3)):(_6,(_3,_1))"), 17))
    (2,(1,2))

    Each integer is offset // stride % extent: right where the strides are those of a compact layout. Raises RangeError
    for a stride of 0 under an extent that is not a static 1. Source: CuTe `Layout::get_hier_coord`.
    """
    return as_layout("get_hier_coord", layout).get_hier_coord(offset)


@naming_static
def get_flat_coord(layout: Layout, offset: Computes) -> IntTree:
    """The coordinate at an offset of a compact layout, one integer per top-level mode, of rank 1 that integer; see
    get_hier_coord.

    >>> from tla import get_flat_coord, parse
    >>> print(get_flat_coord(parse("(_4,(_2,_3)):(_6,(_3,_1))"), 17))
    (2,5)

    Source: CuTe `Layout::get_flat_coord`.
    """
    return as_layout("get_flat_coord", layout).get_flat_coord(offset)


@naming_static
def get_1d_coord(layout: Layout, offset: Computes) -> Leaf:
    """The coordinate at an offset of a compact layout, as one integer, first mode fastest; see get_hier_coord.

    >>> from tla import get_1d_coord, parse
    >>> print(get_1d_coord(parse("(_4,(_2,_3)):(_6,(_3,_1))"), 17))
    22

    Source: CuTe `Layout::get_1d_coord`.
    """
    return as_layout("get_1d_coord", layout).get_1d_coord(offset)
