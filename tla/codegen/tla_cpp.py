"""Layouts as C++ of TLA.

Source: CATLASS include/tla/layout.hpp and int_tuple.hpp; the element types are those of AscendC.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..ascend import recognize
from ..ascend.element import as_element
from ..basis import ScaledBasis
from ..coord import Coord
from ..errors import LeafTypeError, RankError, Unproven
from ..int_tuple import AnyLayout, shown
from ..ints import Int, at_most
from ..layout import Layout, Shape, Stride
from ..swizzle import Swizzle
from .reach import parts
from .sizes import INT32_MAX, cpp, cpp_number

_CPP = cpp("tla")
#: TLA's own default for an origin_shape is of this width.
UINT32_MAX = 2**32 - 1
#: The functions that make tuples.
_MAKERS: dict[type, str] = {Shape: "MakeShape", Stride: "MakeStride", Coord: "MakeCoord"}
#: The tags that MakeLayout takes, of rows and columns; L0C has a function of its own.
_TAGS = {
    "L0C": "tla::MakeLayoutL0C({sizes})",
    **dict.fromkeys(
        ("RowMajor", "ColumnMajor", "zN", "nZ", "zZ", "Weight4BitnZ"), "tla::MakeLayout<{element}, Catlass::layout::{tag}>({sizes})"
    ),
}
#: What CATLASS calls the element types of tla.ascend.
_ELEMENTS = {
    "half": "half",
    "float": "float",
    "bf16": "bfloat16_t",
    **{name: f"{name}_t" for name in ("int8", "uint8", "int16", "int32", "uint32", "int64")},
    "int4b": "AscendC::int4b_t",
    "hif8": "hifloat8_t",
    **{f"fp8_{kind}": f"float8_{kind}_t" for kind in ("e4m3", "e5m2", "e8m0")},
    **{f"fp4_{kind}": f"float4_{kind}x2_t" for kind in ("e2m1", "e1m2")},
}


def tla_cpp(x: Any, dtype: Any = None) -> str:
    """A layout, IntTuple or integer as C++ of TLA; by its tag where it has one for elements of `dtype`."""
    if isinstance(x, Layout):
        return (dtype is not None and _tagged(x, dtype)) or _layout(x)
    if isinstance(x, (AnyLayout, Swizzle)):
        raise LeafTypeError(f"{shown(x)} as source of TLA", "a plain layout: TLA has no other", "write CuTe, or compose its parts")
    return _tuple(x, itertools.repeat(False))


def _layout(layout: Layout) -> str:
    (part,) = parts(layout)
    written = [_tuple(layout.shape, iter(part.extents)), _tuple(layout.stride, iter(part.strides))]
    if layout._origin is not None or any(at_most(n, UINT32_MAX) is False for n in layout.origin_shape):
        written.append(_tuple(layout.origin_shape, itertools.repeat(False)))
    return f"tla::MakeLayout({', '.join(written)})"


def _tagged(layout: Layout, dtype: Any) -> str | None:
    """The layout by the tag that makes it; None where there is none that says all of it."""
    element = as_element(dtype)
    if element.name not in _ELEMENTS:
        raise LeafTypeError(f"elements of {element.bits} bits as source of TLA", "a type of tla.ascend", "write half for 16")
    try:
        found = recognize(layout, element)
    except Unproven:  # a tag that it may have is none to write
        return None
    if found is None or found.tag.name not in _TAGS:
        return None
    made = found.tag.MakeLayout(element, *layout.origin_shape)
    sizes = ", ".join(_tuple(n, itertools.repeat(False)) for n in layout.origin_shape)
    same = str(made) == str(layout) and made == layout
    return _TAGS[found.tag.name].format(element=_ELEMENTS[element.name], tag=found.tag, sizes=sizes) if same else None


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
