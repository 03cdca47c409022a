"""Layouts as Python of CATLASS's own DSL (`import catlass as tla`), where a number is static and a variable dynamic.

Source: CATLASS branch dsl, python/tla_dsl/catlass/core_api.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ascend import tags
from ...ascend.element import as_element
from ...ascend.recognize import Is
from ...core.basis import ScaledBasis
from ...core.composed import ComposedLayout
from ...core.coord import Coord
from ...core.errors import RankError
from ...core.int_tuple import shown
from ...core.ints import IntTupleLike
from ...core.layout import Layout, require_origin
from ...core.strides import Stride
from ...core.swizzle import Swizzle
from ..indices.python import SYNTAX
from .sizes import Language, not_in

if TYPE_CHECKING:
    from ...core.element import Element

#: The tags of the DSL, `tla.arch.zN` and its siblings; of blocks those first that need the type of the elements.
_TAGS = {
    tags.RowMajor: "RowMajor",
    tags.ColumnMajor: "ColumnMajor",
    tags.zN: "zN",
    tags.nZ: "nZ",
    tags.zZ: "zZ",
    tags.L0C: "L0Clayout",
    tags.zNUnAlign: "zNUnAlign",
}
#: What makes a tuple; by default a shape.
_MAKERS: dict[type, str] = {Stride: "make_stride", Coord: "make_coord"}
_LAYOUT = ("make_shape", "make_stride", "make_shape")
_PYTHON = Language(lambda n, _wide: str(n), str, SYNTAX, frozenset({"//", "%"}), frozenset({"tla"}))


def catlass_dsl(x: Any, dtype: Element | None = None) -> str:
    """A layout, IntTuple or integer as Python of CATLASS's DSL; a layout of blocks by its tag for
    elements of `dtype`."""
    if isinstance(x, (ComposedLayout, Swizzle)):
        raise not_in("CATLASS's DSL", shown(x), "a plain layout: it has no other", 'write source(x, "cute_cpp")')
    return _layout(x, dtype) if isinstance(x, Layout) else _tuple(x, _MAKERS.get(type(x), "make_shape"))


def _layout(x: Layout, dtype: Element | None) -> str:
    found = [name for tag, name in _TAGS.items() if _has(tag, x, dtype)]
    if not found:
        expected = f"a layout of {', '.join(_TAGS.values())}"
        raise not_in(
            "CATLASS's DSL", x, expected, "give the element type: source(..., dtype=half); it has no other layouts"
        )
    shape, stride, origin = (
        _tuple(t, maker) for t, maker in zip((x.shape, x.stride, require_origin("source", x)), _LAYOUT)
    )
    return f"tla.make_layout({shape}, {stride}, origin_shape={origin}, layoutTag=tla.arch.{found[0]})"


def _has(tag: tags.Tag, x: Layout, dtype: Element | None) -> bool:
    """Whether a layout is one of a tag; False too where that is not known; blocks ask for an element type."""
    if dtype is None and any(tag.blocks):
        return False
    return bool((Is(tag) if dtype is None else Is(tag)[as_element(dtype)])(x))


def _tuple(x: IntTupleLike, maker: str) -> str:
    """An IntTuple; a tuple in it is made as it is."""
    if isinstance(x, ScaledBasis):
        fix = 'write source(x, "cute_cpp")'
        raise not_in("CATLASS's DSL", f"the stride {x}", "integers: it has no coordinates as strides", fix)
    if not isinstance(x, tuple):
        return str(int(x)) if isinstance(x, int) else _PYTHON.dynamic(x)
    if not x:
        raise RankError("() as source of CATLASS's DSL", "at least one mode", "leave the mode out")
    return f"tla.{maker}({', '.join(_tuple(m, maker) for m in x)})"
