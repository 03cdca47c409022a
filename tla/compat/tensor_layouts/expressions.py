"""The values of tensor-layouts: layouts, swizzles, composed layouts and tiles, and the way from and to
the exact algebra's.

Source: tensor-layouts 0.3.2, layouts/core.py and layouts/expr.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ...core.composed import ComposedLayout as ExactComposed
from ...core.each_leaf import static
from ...core.errors import DivisibilityError, LeafTypeError, RankError, TlaError
from ...core.layout import Layout as Exact
from ...core.swizzle import Swizzle as ExactSwizzle
from .. import pycute
from ..door import guard
from ..int_tuples import IntTuple, closed, has_none, is_int, is_tuple, product
from .tuples import Coordinate, IntTree, LayoutError, as_shape, compute_col_major_strides, normalize

__all__ = [
    "ComposedLayout",
    "Layout",
    "LayoutExpr",
    "Swizzle",
    "Tile",
    "as_affine_layout",
    "as_layout",
    "as_layout_expr",
    "is_affine",
    "is_empty",
    "is_layout",
    "is_pure_shape",
    "make_swizzle",
    "slice_modes",
    "split_outer_swizzle",
]


class _Domain(pycute.LayoutBase):
    """The elements of a layout, counted and gone through by coordinates."""

    shape: IntTree

    def __len__(self) -> int:
        return int(product(self.shape))

    def __iter__(self) -> Iterator[Any]:
        return (pycute.idx2crd(i, self.shape) for i in range(len(self)))


class Layout(_Domain, pycute.Layout):
    """A function from coordinates to integers: of a shape and strides, or of layouts that become its modes.

    >>> a = Layout((8, (4, 3)))
    >>> a, a(1, (2, 0)), Layout(Layout(4, 1), Layout(3, 8)), len(a), [*Layout((2, 2))]
    (Layout((8, (4, 3)), (1, (8, 32))), 17, Layout((4, 3), (1, 8)), 96, [(0, 0), (1, 0), (0, 1), (1, 1)])
    >>> print(a(None, 1), a(None, (1, None)))
    (8) : (1) (8, 3) : (1, 32)
    """

    shape: IntTree
    stride: IntTree

    def __init__(self, *args: object) -> None:
        parts = [a for a in args if isinstance(a, Layout)]
        if len(parts) == len(args):
            self.shape, self.stride = tuple(a.shape for a in parts), tuple(a.stride for a in parts)
            return
        shape, *strides = args
        if len(strides) > 1:
            what = f"Layout of {len(args)} arguments"
            raise LeafTypeError(what, "a shape and strides, or layouts", "give one of these")
        self.shape = _named("shape", shape)
        self.stride = _named("stride", strides[0]) if strides else compute_col_major_strides(self.shape)
        if _has_negative(self.shape):
            raise LayoutError(f"the shape {self.shape}", "nonnegative extents", "give strides below 0, not extents")
        if strides and not _congruent(self.shape, self.stride):
            what = f"shape {self.shape} and stride {self.stride} are not congruent"
            raise LayoutError(what, "one form", "give a stride for each extent")

    @classmethod
    def made(cls, shape: IntTree, stride: IntTree) -> Layout:
        """The layout of a shape and strides that were checked."""
        layout = cls.__new__(cls)
        layout.shape, layout.stride = shape, stride
        return layout

    @property
    def swizzle(self) -> None:
        """None: a swizzled layout is a ComposedLayout."""

    def _place(self) -> object:
        return self.shape, self.stride

    def __call__(self, *args: Any) -> Any:
        crd = args[0] if len(args) == 1 else args
        if crd is None:
            return self
        if has_none(crd):
            return Layout.made(slice_modes(crd, self.shape), slice_modes(crd, self.stride))
        try:
            return self._offset(crd)
        except TlaError as error:
            if not isinstance(crd, (int, tuple)):
                what = f"a coordinate of {type(crd).__name__}"
                raise LeafTypeError(what, "int or tuple of ints", "write a tuple") from error
            other = " of another rank" if isinstance(error, RankError) else ""
            raise LayoutError(f"the layout {self}{other}: {error.reason.what}", *error.reason[1:]) from error

    def squeeze(self) -> Layout:
        """The layout without its extents of 1.

        >>> Layout((64, 1, 32), (1, 7, 64)).squeeze()
        Layout((64, 32), (1, 64))
        """
        return self._with(lambda extent, _: extent != 1)

    def filter(self) -> Layout:
        """The layout without its strides of 0."""
        return self._with(lambda _, stride: stride != 0)

    def _with(self, keeps: Callable[[int, int], bool]) -> Layout:
        kept = _kept(self.shape, self.stride, keeps)
        return Layout((), ()) if kept is None else Layout(*kept)

    def __str__(self) -> str:
        return f"{_text(self.shape)} : {_text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self.shape}, {self.stride})"


def _has_negative(x: IntTree) -> bool:
    return any(map(_has_negative, x)) if type(x) is tuple else x < 0


def _congruent(a: IntTree, b: IntTree) -> bool:
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_congruent, a, b))
    return type(a) is not tuple and type(b) is not tuple


def _named(name: str, x: object) -> IntTuple:
    try:
        return normalize(x)
    except TlaError as error:
        raise LeafTypeError(f"the {name}: {error.reason.what}", *error.reason[1:]) from error


def _text(x: IntTuple) -> str:
    return f"({', '.join(map(_text, x))})" if isinstance(x, tuple) else str(x)


def _kept(shape: IntTree, stride: IntTree, keeps: Callable[[int, int], bool]) -> tuple[IntTuple, IntTuple] | None:
    """The modes that are kept; None if there is none."""
    if not is_tuple(shape):
        return (shape, stride) if keeps(shape, stride) else None
    modes = [kept for s, d in zip(shape, stride) if (kept := _kept(s, d, keeps)) is not None]
    return (as_shape([s for s, _ in modes]), as_shape([d for _, d in modes])) if modes else None


def slice_modes(crd: Coordinate, trg: IntTree) -> tuple[Any, ...]:
    """The modes of a shape or stride at the places of a coordinate that are None, nested as they were.

    >>> slice_modes(((1, None), None), ((2, 3), 4)), slice_modes((0, 1), (3, 4))
    ((3, 4), ())
    """
    if not is_tuple(crd):
        return (trg,) if crd is None else ()
    if not is_tuple(trg) or len(crd) != len(trg):
        raise LayoutError(f"the coordinate {crd} for {trg}", "the same rank", "give one coordinate per mode")
    return tuple(as_shape(kept) for c, t in zip(crd, trg) if (kept := slice_modes(c, t)))


class Swizzle(pycute.Swizzle):
    """A swizzle of offsets.

    >>> Swizzle(3, 0, 3)(9), Swizzle(3, 0, 3)
    (8, Swizzle(3, 0, 3))
    """

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"

    __str__ = __repr__


def make_swizzle(Y: int, Z: int) -> Swizzle | None:
    """The swizzle that XORs the bits of one mask to those of another; None where both are 0.

    >>> make_swizzle(0b111000, 0b111), make_swizzle(0, 0)
    (Swizzle(3, 0, 3), None)
    """
    if not Y and not Z:
        return None
    bits, low = bin(Y).count("1"), [(mask & -mask).bit_length() - 1 for mask in (Y, Z)]
    if tuple(((1 << bits) - 1) << at for at in low) != (Y, Z) or Y & Z:
        raise LayoutError(f"make_swizzle({Y:#b}, {Z:#b})", "two runs of as many bits, apart", "use a composed layout")
    return Swizzle(bits, min(low), low[0] - low[1])


class ComposedLayout(_Domain):
    """outer(offset + inner(coordinate)): what no shape and strides can say.

    >>> a = ComposedLayout(Swizzle(3, 0, 3), Layout((8, 8), (8, 1)))
    >>> a(1, 1), str(a), a
    (8, '(Swizzle(3, 0, 3)) o ((8, 8) : (8, 1))', ComposedLayout(Swizzle(3, 0, 3), Layout((8, 8), (8, 1)), offset=0))

    The offset had the name `preoffset` in version 0.3.1, which is understood.
    """

    def __init__(
        self, outer: Layout | Swizzle | ComposedLayout, inner: LayoutExpr, *, offset: int = 0, preoffset: int = 0
    ) -> None:
        if not callable(outer) or not is_layout(inner) or not is_int(offset) or not is_int(preoffset):
            given = ", ".join(type(x).__name__ for x in (outer, inner, offset))
            what = f"ComposedLayout of {given}"
            raise LeafTypeError(what, "a swizzle or layout, a layout, an integer", "compose layouts")
        self.outer, self.inner, self.offset = outer, inner, offset + preoffset

    @property
    def shape(self) -> IntTree:
        return self.inner.shape

    @property
    def preoffset(self) -> int:
        return self.offset

    @property
    def swizzle(self) -> Swizzle | None:
        return self.outer if isinstance(self.outer, Swizzle) else None

    def _place(self) -> object:
        return self.outer, self.inner, self.offset

    def __call__(self, *args: Any) -> Any:
        crd = args[0] if len(args) == 1 else args
        if crd is None:
            return self
        if has_none(crd):
            return sliced(crd, self)
        return self.outer(self.offset + self.inner(crd))

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.inner!r}, offset={self.offset})"

    def __str__(self) -> str:
        return f"({self.outer}) o {f'{{{self.offset}}} o ' if self.offset else ''}({self.inner})"


#: A layout, plain or composed.
LayoutExpr: TypeAlias = Layout | ComposedLayout


def sliced(crd: Coordinate, layout: ComposedLayout) -> ComposedLayout:
    """The composed layout of the modes that a coordinate leaves open; what the others add is in its offset."""
    inner = layout.inner
    if isinstance(inner, ComposedLayout):
        return ComposedLayout(layout.outer, sliced(crd, inner), offset=layout.offset)
    begin = inner._offset(closed(crd))
    return ComposedLayout(layout.outer, opened(inner(crd)), offset=layout.offset + begin)


def opened(layout: Layout) -> Layout:
    """The modes of a layout's only mode, where it has several; else the layout."""
    if is_tuple(layout.shape) and len(layout.shape) == 1 and is_tuple(layout.shape[0]):
        return Layout.made(layout.shape[0], layout.stride[0])
    return layout


class Tile(tuple[Layout, ...]):
    """A layout for each mode, to compose or divide by mode.

    >>> Tile(Layout(3, 4), Layout(8, 2))
    Tile(Layout(3, 4), Layout(8, 2))
    """

    def __new__(cls, *layouts: Layout) -> Tile:
        for layout in layouts:
            if not isinstance(layout, Layout):
                what = f"a Tile with a {type(layout).__name__}"
                raise LeafTypeError(what, "layouts", "write Layout(n, 1) for an extent n")
        return super().__new__(cls, layouts)

    def __repr__(self) -> str:
        return f"Tile({', '.join(map(repr, self))})"


# ----------------------------------------------------------------------------------------------------- questions


def is_layout(x: object) -> bool:
    return isinstance(x, (Layout, ComposedLayout))


def require_layouts(name: str, *given: object) -> None:
    """LeafTypeError where one of these is no layout."""
    for x in given:
        if not is_layout(x):
            raise LeafTypeError(f"{name} of a {type(x).__name__}", "a layout", "give a Layout")


def _of(obj: object) -> Any:
    """The layout of a tensor; anything else as it is."""
    return obj if is_layout(obj) else getattr(obj, "layout", obj)


def is_affine(obj: object) -> bool:
    return isinstance(_of(obj), Layout)


def is_pure_shape(t: object) -> bool:
    return all(map(is_pure_shape, t)) if isinstance(t, tuple) else is_int(t)


def is_empty(obj: object) -> bool:
    """True of the layout without modes, and of a tensor of it."""
    return is_layout(_of(obj)) and _of(obj).shape == ()


def as_layout_expr(obj: object) -> Any:
    """The layout of a layout, a tensor, or anything with a shape and strides."""
    found = _of(obj)
    if is_layout(found):
        return found
    if hasattr(found, "shape") and hasattr(found, "stride"):
        return Layout(found.shape, found.stride)
    raise LeafTypeError(f"a {type(obj).__name__}", "a layout, or what has a shape and strides", "give a Layout")


def as_layout(obj: object) -> Layout:
    """The plain layout of a layout, a tensor, or anything with a shape and strides; a composed one is refused."""
    found = as_layout_expr(obj)
    if not isinstance(found, Layout):
        raise LeafTypeError("a ComposedLayout", "an affine Layout, which has strides", "use a Layout")
    return found


as_affine_layout = as_layout


def split_outer_swizzle(layout: object) -> tuple[Swizzle, Any] | None:
    """The swizzle and the layout under it, of a ComposedLayout of these without an offset; else None."""
    if isinstance(layout, ComposedLayout) and layout.offset == 0 and isinstance(layout.outer, Swizzle):
        return layout.outer, layout.inner
    return None


# ------------------------------------------------------------------------------------------------- to and fro


def exact(x: Any) -> Any:
    """A value of this module as one of tla, of known integers; None stays.

    >>> print(exact(ComposedLayout(Swizzle(3, 0, 3), Layout((8, 8)))))
    Sw<3,0,3> o _0 o (_8,_8):(_1,_8)
    """
    if isinstance(x, ComposedLayout):
        return ExactComposed(exact(x.outer), static(x.offset), exact(x.inner))
    return tuple(map(exact, x)) if is_tuple(x) else pycute.exact(x)


def plain(x: Any) -> Any:
    """A value of tla as one of this module, of plain integers.

    >>> from tla import parse
    >>> plain(parse("(_4,_2):(_1,_8)"))
    Layout((4, 2), (1, 8))
    """
    if isinstance(x, ExactComposed):
        return ComposedLayout(plain(x.outer), plain(x.inner), offset=int(x.offset))
    if isinstance(x, ExactSwizzle):
        return Swizzle(x.bits, x.base, x.shift)
    if is_tuple(x):
        return tuple(map(plain, x))
    return Layout.made(*pycute.parts(x)) if isinstance(x, Exact) else pycute.plain(x)


def done(does: Callable[..., Any], *args: Any) -> Any:
    """Do an operation of the exact algebra on values of this module. LayoutError for what it refuses."""
    try:
        return plain(does(*map(exact, args)))
    except TlaError as error:
        what = f"{error.reason.what}: not divisible" if isinstance(error, DivisibilityError) else error.reason.what
        raise LayoutError(what, *error.reason[1:]) from error


def of_domain(does: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on a layout's modes alone: of a composed layout it is done on the inner one."""

    @functools.wraps(does)
    def on(layout: Any, *args: Any, **more: Any) -> Any:
        if isinstance(layout, ComposedLayout):
            return ComposedLayout(layout.outer, on(layout.inner, *args, **more), offset=layout.offset)
        return does(layout, *args, **more)

    return on


def layouts_of(parts: Iterable[Layout]) -> Layout:
    """The layout whose modes are these; of one it is that one."""
    modes = [*parts]
    return modes[0] if len(modes) == 1 else Layout(*modes)


guard(globals())
