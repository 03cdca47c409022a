"""Layouts as C++ of TLA.

Source: CATLASS include/tla/layout.hpp and int_tuple.hpp; the element types are those of AscendC.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

from ...algebra.tiles import GetTileLayout
from ...ascend.element import CPP_NAMES, as_element
from ...ascend.recognize import Is, recognize
from ...ascend.tags import (
    L0C,
    NC1HWC0,
    ColumnMajor,
    MxScaleColumnMajorA,
    MxScaleColumnMajorB,
    MxScalenN,
    MxScaleRowMajorA,
    MxScaleRowMajorB,
    MxScalezZ,
    RowMajor,
    Weight4BitnZ,
    nZ,
    zN,
    zZ,
)
from ...core.basis import ScaledBasis
from ...core.composed import ComposedLayout
from ...core.coord import Coord
from ...core.element import Element
from ...core.errors import RankError
from ...core.int_tuple import leaves, product_each, shown
from ...core.ints import Int, IntLike, IntTree, IntTupleLike, known
from ...core.layout import Layout, require_origin
from ...core.questions import at_most, equal
from ...core.strides import Shape, Stride
from ...core.swizzle import Swizzle
from .integer_widths import parts, past
from .sizes import INT32_MAX, cpp, cpp_number, not_in

_CPP = cpp("tla")
#: TLA's own default for an origin_shape is of this width.
UINT32_MAX = 2**32 - 1
#: The functions that make tuples.
_MAKERS: dict[type, str] = {Shape: "MakeShape", Stride: "MakeStride", Coord: "MakeCoord"}
#: The tags, and the functions that make their layouts of sizes; scales lie alike for A and B.
_MAKE = {
    **dict.fromkeys(
        (RowMajor, ColumnMajor, zN, nZ, zZ, L0C, Weight4BitnZ), "MakeLayout<{element}, Catlass::layout::{tag}>"
    ),
    MxScaleRowMajorA: "MakeMxScaleLayout<{element}, Catlass::layout::RowMajor, false>",
    MxScaleRowMajorB: "MakeMxScaleLayout<{element}, Catlass::layout::RowMajor, true>",
    MxScaleColumnMajorA: "MakeMxScaleLayout<{element}, Catlass::layout::ColumnMajor, false>",
    MxScaleColumnMajorB: "MakeMxScaleLayout<{element}, Catlass::layout::ColumnMajor, true>",
    MxScalezZ: "MakeMxScaleLayout<{element}, Catlass::layout::zZ, false>",
    MxScalenN: "MakeMxScaleLayout<{element}, Catlass::layout::nN, true>",
    NC1HWC0: "MakeLayoutFmap<{element}>",
}


def tla_cpp(x: object, dtype: object = None) -> str:
    """A layout, IntTuple or integer as C++ of TLA; by its tag where it has one for elements of `dtype`.

    Its dynamic integers have the types of CATLASS's own layouts (`TagToLayout_t`), so that it can be assigned to one of
    them: uint32_t in shapes and origin_shapes, int64_t in strides.
    """
    if isinstance(x, (ComposedLayout, Swizzle)):
        raise not_in("TLA", shown(x), "a plain layout: TLA has no other", 'write source(x, "cute_cpp")')
    element = None if dtype is None else as_element(dtype)
    if element and element.name not in CPP_NAMES:
        raise not_in("TLA", f"elements of {element.bits} bits", "a type of tla.ascend", "write half for 16")
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
    """A shape. TLA multiplies the extents of a mode: where that passes the type of the smaller ones, the larger
    are of 64 bits."""
    wide: list[bool] = []
    for mode in shape if isinstance(shape, tuple) else (shape,):
        extents = [known(n) or 1 for n in leaves(mode)]
        static, dynamic = (past(extents, operator.mul, 1, limit) for limit in (INT32_MAX, UINT32_MAX))
        wide += [s if type(n) is Int else d for n, s, d in zip(leaves(mode), static, dynamic)]
    return _tuple(shape, "uint32_t", wide)


def _by_tag(layout: Layout, element: Element) -> str | None:
    """The layout by the tag that makes it; None where there is none that says all of it."""
    if not isinstance(layout.shape, tuple):
        return None
    sizes = require_origin("source", layout)
    for tag, maker in _MAKE.items():
        if len(tag.step) == len(layout.shape) and tag.takes(element):
            made = sizes[:4] if tag is NC1HWC0 else sizes
            if str(tag.MakeLayout(element, *made)) == str(layout):  # static-ness and all
                return (
                    f"tla::{maker.format(element=CPP_NAMES[element.name], tag=tag)}({', '.join(map(_extents, made))})"
                )
    return _by_leading_dimension(layout, element, sizes)


def _by_leading_dimension(layout: Layout, element: Element, sizes: IntTree) -> str | None:
    """A corner of a larger matrix, by the tag that makes that; None where there is none. CATLASS's integers of
    it are dynamic."""
    if len(sizes) != 2 or any(type(n) is Int for n in sizes):
        return None
    for tag in (RowMajor, ColumnMajor, zN, nZ, zZ):
        found = recognize(layout, element) if Is(tag)[element](layout) else None
        if found is None or found.tag is not tag or type(found.ld) is Int:
            continue
        if tag in (RowMajor, ColumnMajor):
            written = ", ".join((*map(_extents, sizes), _integer(found.ld, "int64_t", False)))
            made, text = tag(*sizes, ld=found.ld).layout, f"tla::MakeLayoutFromTag(Catlass::layout::{tag}({written}))"
        else:
            whole = [found.ld if i == 1 - tag.slow else n for i, n in enumerate(sizes)]
            made = GetTileLayout(tag.MakeLayout(element, *whole), sizes, (0, 0))
            parent = (
                f"tla::MakeLayout<{CPP_NAMES[element.name]}, Catlass::layout::{tag}>({', '.join(map(_extents, whole))})"
            )
            tile = f"tla::MakeShape({', '.join(map(_extents, sizes))})"
            text = f"tla::GetTileLayout({parent}, {tile}, tla::MakeCoord(uint32_t(0), uint32_t(0)))"
        if str(made) == str(layout) and made.origin_shape == layout.origin_shape:
            return text
    return None


def _tuple(x: object, dtype: str, wide: Iterable[bool]) -> str:
    """An IntTuple; its dynamic integers are cast to `dtype` if given, each that is `wide`, from left to right, is
    of 64 bits."""
    widths = iter(wide)

    def written(x: IntTree) -> str:
        if not isinstance(x, tuple):
            return _integer(x, dtype, next(widths))
        if not x:
            raise RankError(
                "() as source of TLA", "at least one mode: its tuples have no empty ones", "leave the mode out"
            )
        return f"tla::{_MAKERS.get(type(x), 'MakeTuple')}({', '.join(map(written, x))})"

    return written(x)


def _integer(n: IntLike, dtype: str, wide: bool) -> str:
    if isinstance(n, ScaledBasis):
        raise not_in(
            "TLA", f"the stride {n}", "integers: TLA has no coordinates as strides", 'write source(x, "cute_cpp")'
        )
    if type(n) is Int:
        return f"tla::C<{cpp_number(int(n), True)}>{{}}" if wide or abs(n) > INT32_MAX else f"tla::Int<{n:d}>{{}}"
    if not dtype:
        return _CPP.dynamic(n, wide)
    return f"{'int64_t' if wide else dtype}({_CPP.dynamic(n)})"
