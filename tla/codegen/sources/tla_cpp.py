"""Layouts as C++ of TLA.

Source: CATLASS include/tla/layout.hpp and int_tuple.hpp; the element types are those of AscendC.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ...ascend.element import CPP_NAMES, as_element
from ...ascend.tags import L0C, ColumnMajor, RowMajor, Weight4BitnZ, nZ, zN, zZ
from ...core.basis import ScaledBasis
from ...core.composed import ComposedLayout
from ...core.coord import Coord
from ...core.element import Element
from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import leaves, product_each, shown
from ...core.ints import Int, IntLike, IntTupleLike, at_most, equal, known
from ...core.layout import Layout, require_origin
from ...core.strides import Shape, Stride
from ...core.swizzle import Swizzle
from .integer_widths import parts, past
from .sizes import INT32_MAX, cpp, cpp_number

_CPP = cpp("tla")
#: TLA's own default for an origin_shape is of this width.
UINT32_MAX = 2**32 - 1
#: The functions that make tuples.
_MAKERS: dict[type, str] = {Shape: "MakeShape", Stride: "MakeStride", Coord: "MakeCoord"}
#: The tags that MakeLayout takes, of rows and columns.
_TAGS = (RowMajor, ColumnMajor, zN, nZ, zZ, L0C, Weight4BitnZ)


def tla_cpp(x: object, dtype: object = None) -> str:
    """A layout, IntTuple or integer as C++ of TLA; by its tag where it has one for elements of `dtype`.

    Its dynamic integers have the types of CATLASS's own layouts (`TagToLayout_t`), so that it can be assigned to one of them:
    uint32_t in shapes and origin_shapes, int64_t in strides.
    """
    if isinstance(x, (ComposedLayout, Swizzle)):
        raise LeafTypeError(f"{shown(x)} as source of TLA", "a plain layout: TLA has no other", "write CuTe, or compose its parts")
    element = None if dtype is None else as_element(dtype)
    if element and element.name not in CPP_NAMES:
        raise LeafTypeError(f"elements of {element.bits} bits as source of TLA", "a type of tla.ascend", "write half for 16")
    if isinstance(x, Layout):
        return (element and _by_tag(x, element)) or _made(x)
    if isinstance(x, Shape):
        return _extents(x)
    (part,) = parts(x)
    return _tuple(x, "int64_t" if isinstance(x, Stride) else "", part.extents)


def _made(layout: Layout) -> str:
    """The layout by its shape and stride, and its origin_shape where TLA's default is another."""
    (part,) = parts(layout)
    # a coordinate in a shape of uint32_t is unsigned: its product with a negative int would wrap
    wide = [w or (type(d) is Int and d < 0) for w, d in zip(part.strides, leaves(layout.stride))]
    written = [_extents(layout.shape), _tuple(layout.stride, "int64_t", wide)]
    origin, whole = require_origin("source", layout), product_each(layout.shape)
    if not all(equal(n, m) and at_most(n, UINT32_MAX) is not False for n, m in zip(origin, whole)):
        written.append(_extents(origin))
    return f"tla::MakeLayout({', '.join(written)})"


def _extents(shape: IntTupleLike) -> str:
    """A shape. TLA multiplies the extents of a mode: where that passes the type of the smaller ones, the larger are of 64 bits."""
    wide: list[bool] = []
    for mode in shape if isinstance(shape, tuple) else (shape,):
        extents = [known(n) or 1 for n in leaves(mode)]
        static, dynamic = (past(extents, operator.mul, 1, limit) for limit in (INT32_MAX, UINT32_MAX))
        wide += [s if type(n) is Int else d for n, s, d in zip(leaves(mode), static, dynamic)]
    return _tuple(shape, "uint32_t", wide)


def _by_tag(layout: Layout, element: Element) -> str | None:
    """The layout by the tag that makes it; None where there is none that says all of it."""
    sizes = require_origin("source", layout)
    for tag in _TAGS if len(sizes) == 2 else ():
        if str(tag.MakeLayout(element, *sizes)) == str(layout):  # static-ness and all
            written = ", ".join(map(_extents, sizes))
            return f"tla::MakeLayout<{CPP_NAMES[element.name]}, Catlass::layout::{tag}>({written})"
    return None


def _tuple(x: object, dtype: str, wide: Iterable[bool]) -> str:
    """An IntTuple; its dynamic integers are cast to `dtype` if given, each that is `wide`, from left to right, is of 64 bits."""
    widths = iter(wide)

    def written(x: Any) -> str:
        if not isinstance(x, tuple):
            return _integer(x, dtype, next(widths))
        if not x:
            raise RankError("() as source of TLA", "at least one mode: its tuples have no empty ones", "leave the mode out")
        return f"tla::{_MAKERS.get(type(x), 'MakeTuple')}({', '.join(map(written, x))})"

    return written(x)


def _integer(n: IntLike, dtype: str, wide: bool) -> str:
    if isinstance(n, ScaledBasis):
        raise LeafTypeError(f"the stride {n} as source of TLA", "integers: TLA has no coordinates as strides", "write CuTe")
    if type(n) is Int:
        return f"tla::C<{cpp_number(int(n), True)}>{{}}" if wide or abs(n) > INT32_MAX else f"tla::Int<{n:d}>{{}}"
    if not dtype:
        return _CPP.dynamic(n, wide)
    return f"{'int64_t' if wide else dtype}({_CPP.dynamic(n)})"
