"""Layouts as C++ of TLA.

Source: CATLASS include/tla/layout.hpp and int_tuple.hpp; the element types are those of AscendC.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...ascend.element import CPP_NAMES, as_element
from ...ascend.tags import L0C, ColumnMajor, RowMajor, Weight4BitnZ, nZ, zN, zZ
from ...core.basis import ScaledBasis
from ...core.composed import ComposedLayout
from ...core.coord import Coord
from ...core.element import Element
from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import product_each, shown
from ...core.ints import Int, at_most, equal
from ...core.layout import Layout, Shape, Stride, require_origin
from ...core.swizzle import Swizzle
from .integer_widths import parts
from .sizes import INT32_MAX, cpp, cpp_number

_CPP = cpp("tla")
#: TLA's own default for an origin_shape is of this width.
UINT32_MAX = 2**32 - 1
#: The functions that make tuples.
_MAKERS: dict[type, str] = {Shape: "MakeShape", Stride: "MakeStride", Coord: "MakeCoord"}
#: The tags that MakeLayout takes, of rows and columns.
_TAGS = (RowMajor, ColumnMajor, zN, nZ, zZ, L0C, Weight4BitnZ)


def tla_cpp(x: Any, dtype: Any = None) -> str:
    """A layout, IntTuple or integer as C++ of TLA; by its tag where it has one for elements of `dtype`."""
    if isinstance(x, (ComposedLayout, Swizzle)):
        raise LeafTypeError(f"{shown(x)} as source of TLA", "a plain layout: TLA has no other", "write CuTe, or compose its parts")
    element = None if dtype is None else as_element(dtype)
    if element and element.name not in CPP_NAMES:
        raise LeafTypeError(f"elements of {element.bits} bits as source of TLA", "a type of tla.ascend", "write half for 16")
    if not isinstance(x, Layout):
        (part,) = parts(x)
        return _tuple(x, iter(part.extents))
    return (element and _by_tag(x, element)) or _made(x)


def _made(layout: Layout) -> str:
    """The layout by its shape and stride, and its origin_shape where TLA's default is another."""
    (part,) = parts(layout)
    written = [_tuple(layout.shape, iter(part.extents)), _tuple(layout.stride, iter(part.strides))]
    origin, whole = require_origin("source", layout), product_each(layout.shape)
    if not all(equal(n, m) and at_most(n, UINT32_MAX) is not False for n, m in zip(origin, whole)):
        written.append(_tuple(origin, itertools.repeat(False)))
    return f"tla::MakeLayout({', '.join(written)})"


def _by_tag(layout: Layout, element: Element) -> str | None:
    """The layout by the tag that makes it; None where there is none that says all of it."""
    sizes = require_origin("source", layout)
    for tag in _TAGS if len(sizes) == 2 else ():
        if str(tag.MakeLayout(element, *sizes)) == str(layout):  # static-ness and all
            written = ", ".join(_tuple(n, itertools.repeat(False)) for n in sizes)
            return f"tla::MakeLayout<{CPP_NAMES[element.name]}, Catlass::layout::{tag}>({written})"
    return None


def _tuple(x: Any, wide: Iterator[bool]) -> str:
    """An IntTuple; for each of its integers, from left to right, whether it is of 64 bits."""
    if isinstance(x, tuple):
        if not x:
            raise RankError("() as source of TLA", "at least one mode: its tuples have no empty ones", "leave the mode out")
        return f"tla::{_MAKERS.get(type(x), 'MakeTuple')}({', '.join(_tuple(m, wide) for m in x)})"
    if isinstance(x, ScaledBasis):
        raise LeafTypeError(f"the stride {x} as source of TLA", "integers: TLA has no coordinates as strides", "write CuTe")
    return _integer(x, next(wide))


def _integer(n: Any, wide: bool) -> str:
    if type(n) is not Int:
        return _CPP.dynamic(n, wide)
    return f"tla::C<{cpp_number(int(n), True)}>{{}}" if wide or abs(n) > INT32_MAX else f"tla::Int<{n:d}>{{}}"
