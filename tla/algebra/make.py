"""CuTe's constructors under CuTe's names, with CuTe's meaning: `make_layout(_8)` is `_8:_1`.

TLA's MakeLayout of an integer is a vector, `(_8):(_1)`. Where the two sources agree the two spellings are one function.

Source: CuTe include/cute/layout.hpp, layout_composed.hpp and swizzle_layout.hpp.
"""

from __future__ import annotations

from typing import Any

from ..core.basis import ArithmeticTuple, MakeBasisLike
from ..core.composed import ComposedLayout, gives_coordinates, innermost
from ..core.coord import CoordLike, MakeCoord
from ..core.errors import LeafTypeError
from ..core.int_tuple import Underscore, as_int_tuple, opened, rank, shown
from ..core.ints import IntTupleLike, is_int, is_static
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from ..core.make_layout import MakeLayout
from ..core.strides import LayoutLeft, MakeShape, MakeStride, compact_col_major
from ..core.swizzle import Swizzle
from .coalesce import filter_zeros
from .codomain import MakeIdentityLayout
from .divide import tiled_product
from .modes import take
from .ordered import MakeLayoutLike, MakeOrderedLayout

make_shape = MakeShape
make_stride = MakeStride
make_coord = MakeCoord
make_basis_like = MakeBasisLike
make_identity_layout = MakeIdentityLayout
make_ordered_layout = MakeOrderedLayout
make_layout_like = MakeLayoutLike
make_composed_layout = ComposedLayout


def make_layout(shape: IntTupleLike | AnyLayout, stride: Any = LayoutLeft, *more: Layout) -> Any:
    """A layout of a shape: with the strides given, or compact. Of layouts: these as the modes of one.

    shape     an IntTuple of extents; an integer stays one. Or a layout, with more of them behind
    stride    congruent to shape; or LayoutLeft, compact with the first mode fastest, the default; or LayoutRight

    >>> from tla import make_layout, make_shape, make_stride, LayoutRight, parse, _2, _8
    >>> print(make_layout(_8), make_layout(make_shape(_2, 4), LayoutRight), make_layout(make_shape(_2, 4), make_stride(12, 1)))
    _8:_1 (_2,4):(4,_1) (_2,4):(12,1)
    >>> print(make_layout(parse("_3:_1"), parse("(_4,_2):(_3,_12)")))
    (_3,(_4,_2)):(_1,(_3,_12))

    Raises what MakeLayout raises. Source: CuTe `make_layout`.
    """
    if stride is LayoutLeft and not more and not isinstance(shape, (AnyLayout, Swizzle, tuple)) and is_int(shape):
        return Layout(shape, compact_col_major(shape))
    if isinstance(shape, AnyLayout):
        return MakeLayout(shape, stride, *more)
    if more:
        what = f"make_layout with {2 + len(more)} arguments"
        raise LeafTypeError(what, "a shape and its stride, or layouts", "put the shape in a tuple")
    return MakeLayout(shape, stride) if isinstance(shape, tuple) or stride is LayoutLeft else Layout(shape, stride)


def make_tile(*tilers: object) -> tuple[Any, ...]:
    """A tuple of tilers, one for each mode: a layout, an integer or `_`, or a tuple of these.

    >>> from tla import composition, make_tile, parse, _, _4
    >>> print(composition(parse("(_8,_16):(_16,_1)"), make_tile(_4, parse("_2:_8"))))
    (_4,_2):(_16,_8)

    Raises LeafTypeError for anything else. Source: CuTe `make_tile`.
    """
    for t in opened(tilers):
        if isinstance(t, tuple):
            make_tile(*t)
        elif not (isinstance(t, (AnyLayout, Underscore)) or is_int(t)):
            raise LeafTypeError(
                f"make_tile of {shown(t)}", "layouts, integers and _", "write make_tile(_4, parse('_2:_8'))"
            )
    return tuple(opened(tilers))


def make_inttuple_iter(*coord: CoordLike) -> ArithmeticTuple:
    """A coordinate that a tensor of coordinates begins at: `make_tensor(make_inttuple_iter(0, 0), layout)`.

    >>> from tla import make_inttuple_iter
    >>> print(make_inttuple_iter(4, (8, 0)))
    (4,(8,0))

    Raises LeafTypeError for what is no coordinate. Source: CuTe `make_inttuple_iter`.
    """
    return ArithmeticTuple(*(coord[0] if len(coord) == 1 and isinstance(coord[0], tuple) else coord))


def fragment_layout(layout: object) -> Layout:
    """The layout of make_fragment_like: of a fragment in registers, compact, for a tensor of a layout."""
    if not isinstance(layout, AnyLayout):
        return make_layout(as_int_tuple(layout))  # type: ignore[no-any-return]
    inner = innermost(layout)
    n = int(rank(inner))
    if n < 2 or not is_static(inner.shape) or gives_coordinates(inner):  # coordinates have no order
        return Layout(inner.shape, compact_col_major(inner.shape))
    first = Layout(inner[0].shape, compact_col_major(filter_zeros(inner[0]).shape))
    rest = take[1, n](Layout(inner.shape, inner.stride))
    result: Layout = tiled_product(first, MakeOrderedLayout(rest.shape, rest.stride))
    return result
