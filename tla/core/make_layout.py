"""MakeLayout: a layout of a shape, of other layouts, or of a tag; and the shape and stride that it has.

Source: TLA include/tla/layout.hpp, MakeLayout; CuTe include/cute/layout.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, cast

from .errors import LeafTypeError
from .int_tuple import ByPath, as_shape, shown
from .ints import IntTree, _1, is_int, leaf
from .kinds import AnyLayout, Operation, own, refuse_kind
from .layout import Layout, as_layout, join
from .strides import LayoutLeft, LayoutRight, _Order, compact_col_major, compact_row_major

P = ParamSpec("P")


class _Make(Operation, Generic[P]):
    """MakeLayout: called with a shape, or with types in brackets, the element's and a tag, which makes its layout."""

    def __init__(self, make: Callable[P, Layout]) -> None:
        self._make, self.kinds = make, {}
        functools.update_wrapper(self, make)

    def __call__(self, *args: P.args, **options: P.kwargs) -> Layout:
        return self._make(*args, **options)

    def __getitem__(self, types: tuple[Any, Any]) -> Callable[..., Layout]:
        make = getattr(types[1], "MakeLayout", None) if isinstance(types, tuple) and len(types) == 2 else None
        if make is None:
            raise LeafTypeError(
                f"MakeLayout[{shown(types)}]", "an element type and a tag", "write MakeLayout[half, zN](rows, cols)"
            )
        return functools.partial(make, types[0])


@_Make
def MakeLayout(shape: Any, stride: Any = LayoutLeft, origin_shape: Any = None, *more: Layout) -> Layout:
    """A layout of a shape: with the strides given, or compact. Of layouts: these as the modes of one.

    shape          an IntTuple of extents [elements]; an integer alone is the length of a vector, `(n):(_1)`
    stride         congruent to shape [elements]; or LayoutLeft, compact with the first mode fastest, which is the
                   default; or LayoutRight, compact with the last mode fastest
    origin_shape   one integer per top-level mode: how much holds valid data [elements]; all of it by default
    Raises         RankError, RangeError, LeafTypeError as Layout does

    With an element type and a tag in brackets it is the layout of that tag (tla.ascend):
    `MakeLayout[half, zN](rows, cols)`, with a leading dimension `ld=...` [elements] where it is not the least,
    `((rows, cols), batch)` for a batch of them. A width in bits may stand for the element type. origin_shape is the
    sizes, and static sizes give static strides.

    >>> from tla import MakeLayout, MakeShape, MakeStride, LayoutRight, Int
    >>> print(MakeLayout(MakeShape(Int[2](), 4), MakeStride(Int[12](), Int[1]())))
    (_2,4):(_12,_1)
    >>> print(MakeLayout((Int[2](), 4)), MakeLayout((Int[2](), 4), LayoutRight), MakeLayout(128), MakeLayout(8, 1))
    (_2,4):(_1,_2) (_2,4):(4,_1) (128):(_1) 8:1
    >>> MakeLayout((4, 8), (8, 1), origin_shape=(3, 5)).origin_shape
    parse('(3,5)')
    >>> from tla.ascend import RowMajor, half, zN
    >>> print(MakeLayout[half, zN](Int[100](), 60), MakeLayout[16, RowMajor](4, 6, ld=13), MakeLayout[8, zN]((64, 32), 2))
    ((_16,_7),(_16,4)):((_16,_256),(_1,_1792)) (4,6):(13,_1) ((_16,4),(_32,1),2):((_32,_512),(_1,2048),2048)

    Source: TLA `MakeLayout`; the compact default is CuTe's `make_layout`.
    """
    if isinstance(shape, AnyLayout):
        return _concatenated(
            [shape, *(x for x in (stride, origin_shape) if x is not LayoutLeft and x is not None), *more]
        )
    if not isinstance(shape, tuple) and not is_int(shape):
        if type(shape).__module__ in ("builtins", "numpy") and not isinstance(shape, str):
            leaf(shape)  # which says what a shape is of
        if stride is not LayoutLeft or origin_shape is not None or more:
            what = f"MakeLayout of a {type(shape).__name__} and more"
            raise LeafTypeError(what, "it alone, or a shape", "use compose to put them together")
        whole = own(MakeLayout, shape) or functools.partial(refuse_kind, "MakeLayout")
        return cast(Layout, whole(shape))
    if isinstance(stride, _Order):
        if not isinstance(shape, tuple):
            shape, stride = (shape,), (_1,)
        else:
            stride = compact_row_major(shape) if stride is LayoutRight else compact_col_major(shape)
    return Layout(shape, stride, origin_shape)


def _concatenated(modes: list[Any]) -> Layout:
    if found := next(
        (implementation for m in modes if isinstance(m, AnyLayout) and (implementation := own(MakeLayout, m))), None
    ):
        return cast(Layout, found(*modes))
    for m in modes:
        if not isinstance(m, Layout):
            what = f"MakeLayout of layouts and of {shown(m)}"
            raise LeafTypeError(what, "layouts only, or a shape with its stride", "make a layout of it first")
    return join(modes)


@ByPath
def shape(layout: AnyLayout | IntTree) -> IntTree:
    """The shape of a layout, or of one of its modes: `shape[0, 1](layout)` [elements].

    >>> from tla import parse, shape
    >>> print(shape(parse("((_4,2),3):((1,4),8)")), shape[0, 1](parse("((_4,2),3):((1,4),8)")))
    ((_4,2),3) 2

    Source: CuTe and TLA `shape<I...>`.
    """
    return as_shape(layout)


@ByPath
def stride(layout: Layout) -> IntTree:
    """The stride of a layout, or of one of its modes: `stride[0, 1](layout)` [elements].

    >>> from tla import parse, stride
    >>> print(stride(parse("((_4,2),3):((1,4),8)")), stride[0, 1](parse("((_4,2),3):((1,4),8)")))
    ((1,4),8) 4

    Source: CuTe and TLA `stride<I...>`.
    """
    return as_layout("stride", layout).stride
