"""NVIDIA's pycute over the exact algebra: the same names and the same plain tuples, with answers that are
right or refused.

`from tla.compat import pycute` stands for `import pycute`. Plain integers are known. What differs from pycute 4.2 is in
docs/compat.md.

>>> from tla.compat.pycute import Layout, complement, logical_divide
>>> complement(Layout((2, 4), (1, 16)), 64)
Layout(8,2)
>>> print(logical_divide(Layout((8, 12), (12, 1)), (4, Layout(3, 4))))
((4, 2), (3, 4)):((12, 48), (4, 1))

Source: CUTLASS python/pycute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..algebra import (
    coalesce as merging,
    codomain,
    complement as complements,
    composition as compositions,
    divide,
    inverse,
)
from ..core import arithmetic, conversions
from ..core.cache import known_memo, memo, plain_memo
from ..core.composed import ComposedLayout as ExactComposed
from ..core.each_leaf import static
from ..core.errors import RankError
from ..core.ints import as_static
from ..core.kinds import refuse_kind
from ..core.layout import Layout as Exact
from ..core.swizzle import Swizzle as ExactSwizzle
from . import plain_modes
from .door import guard
from .int_tuples import (
    Integer,
    IntTuple,
    are_extents,
    are_modes,
    as_many,
    closed,
    flatten,
    has_none,
    is_int,
    is_tuple,
    nested_alike,
    plain_tuple,
    prefix_product,
    product,
    signum,
    slice_,
    tuple_max,
)

__all__ = [
    "ComposedLayout",
    "Integer",
    "Layout",
    "LayoutBase",
    "Swizzle",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2crd",
    "crd2idx",
    "elem_scale",
    "filter",
    "flatten",
    "has_none",
    "hier_unzip",
    "idx2crd",
    "inner_product",
    "is_int",
    "is_layout",
    "is_tuple",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "prefix_product",
    "product",
    "right_inverse",
    "shape_div",
    "signum",
    "size",
    "slice_",
    "slice_and_offset",
    "tiled_divide",
    "tiled_product",
    "tuple_max",
    "zipped_divide",
    "zipped_product",
]


# ------------------------------------------------------------------------------------------------------- IntTuples


def inner_product(a: Any, b: Any) -> Any:
    return plain(arithmetic.inner_product(static(a), static(b)))


def elem_scale(a: Any, b: Any) -> Any:
    return plain(arithmetic.elem_scale(static(a), static(b)))


def shape_div(a: Any, b: Any) -> Any:
    return plain(arithmetic.shape_div(static(a), static(b)))


def idx2crd(idx: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    """The coordinate of an index, which begins again past the end: by strides, or in a compact shape.

    >>> idx2crd(5, (2, 4)), idx2crd(13, (2, 4)), idx2crd(5, (2, 4), (4, 1))
    ((1, 2), (1, 2), (1, 1))
    """
    if stride is None and not is_tuple(idx):
        stride = prefix_product(shape)
    return plain(conversions.idx2crd(idx, static(shape), None if stride is None else static(stride)))


def crd2idx(crd: IntTuple | None, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    """The index of a coordinate; None in it is 0.

    >>> crd2idx((1, None), (2, 4)), crd2idx(5, (2, 4), (4, 1))
    (1, 6)
    """
    stride = prefix_product(shape) if stride is None else stride
    return plain(conversions.crd2offset(closed(crd), static(shape), static(stride)))


def crd2crd(crd: IntTuple, dst_shape: IntTuple, src_shape: IntTuple | None = None) -> Any:
    """A coordinate of one shape as that of another; an integer is an index."""
    if isinstance(crd, tuple) and isinstance(dst_shape, tuple):
        return tuple(map(crd2crd, as_many("crd2crd", crd, dst_shape), dst_shape))
    if is_tuple(crd):
        if src_shape is None:
            raise RankError(f"crd2crd of {crd} to {dst_shape}", "its own shape", "give src_shape")
        return crd2idx(crd, src_shape)
    return idx2crd(crd, dst_shape)


# --------------------------------------------------------------------------------------------------------- layouts


_compact = known_memo(prefix_product)
L = TypeVar("L", bound="Layout")


class LayoutBase:
    """A layout, plain or composed: equal to those of the same parts."""

    def _place(self) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LayoutBase) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())


def is_layout(x: object) -> bool:
    return isinstance(x, LayoutBase)


class Layout(LayoutBase):
    """A function from coordinates to integers, of plain tuples: `Layout((8, 4), (4, 1))`; without strides the first
    mode is fastest.

    >>> a = Layout((2, (3, 4)))
    >>> a(1, (2, 3)), a(23), a[1], len(a), a.size(), a.cosize()
    (23, 23, Layout((3, 4),(2, 6)), 2, 24, 24)
    >>> print(a(None, 1))
    (2,):(1,)
    """

    _order = 1  # the first mode is fastest

    def __init__(self, _shape: Any, _stride: Any = None) -> None:
        if are_modes(_shape, _stride):
            self.shape, self.stride = _shape, _stride
            return
        self.shape = plain_tuple(_shape)
        self.stride = _compact(self.shape) if _stride is None else plain_tuple(_stride)
        if not (are_extents(self.shape) if _stride is None else nested_alike(self.shape, self.stride)):
            self._exact()  # which says why

    @classmethod
    def made(cls: type[L], shape: Any, stride: Any) -> L:
        """The layout of a shape and strides that are known to be plain integers."""
        layout = cls.__new__(cls)
        vars(layout).update(shape=shape, stride=stride)  # of a class that is frozen too, as torch's is
        return layout

    def _place(self) -> Any:
        return type(self), self.shape, self.stride

    def _exact(self) -> Exact:
        return _exact(self.shape, self.stride)

    def _offset(self, crd: Any) -> Any:
        found = self._exact()(crd)
        return int(found) if isinstance(found, int) else found  # of arrays an array

    def __len__(self) -> int:
        return len(self.shape) if is_tuple(self.shape) else 1

    def __call__(self, *args: Any) -> Any:
        crd = args[0] if len(args) == 1 else args
        if type(crd) is int and (found := plain_modes.offset(crd, self.shape, self.stride, self._order)) is not None:
            return found
        if has_none(crd):
            return type(self)(slice_(crd, self.shape), slice_(crd, self.stride))
        return self._offset(crd)

    def __getitem__(self, i: Any) -> Layout:
        if is_tuple(self.shape):
            return self.made(self.shape[i], self.stride[i])
        if i not in (0, -1):
            raise IndexError(f"mode {i} of {self}, which has one")
        return self

    def size(self) -> Any:
        return product(self.shape)

    def cosize(self) -> Any:
        """One more than the widest distance of two offsets: pycute takes the offset of the last coordinate, which is
        less where a stride is below 0."""
        return _cosize(self.shape, self.stride)

    def __str__(self) -> str:
        return f"{self.shape}:{self.stride}"

    def __repr__(self) -> str:
        return f"Layout({self.shape},{self.stride})"


#: What a layout is composed with or cut by: a layout, a size, or one of these for each mode; None leaves a mode
#: as it is.
Tiler = Layout | int | tuple[Any, ...] | None


class Swizzle:
    """A swizzle of offsets: `Swizzle(bits, base, shift)`.

    >>> Swizzle(3, 0, 3)(9), Swizzle(3, 0, 3)
    (8, Swizzle(3,0,3))
    """

    def __init__(self, bits: int, base: int, shift: int) -> None:
        self.exact = ExactSwizzle[bits, base, shift]()
        self.bits, self.base, self.shift = bits, base, shift
        mask = (1 << bits) - 1
        self.yyy_msk, self.zzz_msk = mask << (base + max(0, shift)), mask << (base - min(0, shift))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Swizzle) and self.exact == other.exact

    def __hash__(self) -> int:
        return hash(self.exact)

    def __call__(self, offset: Any) -> Any:
        return plain(self.exact(offset))

    def size(self) -> int:
        return 1 << (self.bits + self.base + abs(self.shift))

    cosize = size

    def __str__(self) -> str:
        return f"SW_{self.bits}_{self.base}_{self.shift}"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits},{self.base},{self.shift})"


class ComposedLayout(LayoutBase):
    """layoutB of (offset + layoutA): `ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8)))`."""

    def __init__(self, layoutB: Any, offset: Any, layoutA: Any) -> None:
        self.layoutB, self.offset, self.layoutA = layoutB, offset, layoutA

    def _place(self) -> object:
        return self.layoutB, self.offset, self.layoutA

    def __len__(self) -> int:
        return len(self.layoutA)

    def __call__(self, *args: Any) -> Any:
        return self.layoutB(self.offset + self.layoutA(*args))

    def __getitem__(self, i: Any) -> ComposedLayout:
        return ComposedLayout(self.layoutB, self.offset, self.layoutA[i])

    def size(self) -> Any:
        return size(self.layoutA)

    def cosize(self) -> Any:
        return cosize(self.layoutB)

    def __str__(self) -> str:
        return f"{self.layoutB} o {self.offset} o {self.layoutA}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.layoutB!r},{self.offset!r},{self.layoutA!r})"


# ------------------------------------------------------------------------------------------------- to and fro


def exact(x: Any) -> Any:
    """A value of this module as one of tla, of known integers; None stays."""
    if isinstance(x, Layout):
        return x._exact()
    if isinstance(x, ComposedLayout):
        return ExactComposed(exact(x.layoutB), static(x.offset), exact(x.layoutA))
    if isinstance(x, Swizzle):
        return x.exact
    if is_tuple(x):
        return tuple(map(exact, x))
    return x if x is None else static(x)


@plain_memo
def _exact(shape: Any, stride: Any) -> Exact:
    return Exact(_known(shape), _known(stride))


def _known(x: Any) -> Any:
    """A tuple of static integers; anything else is left for the layout to refuse."""
    if type(x) is tuple:
        return tuple([_known(n) for n in x])
    return as_static(x) if type(x) is int else static(x) if hasattr(type(x), "__index__") else x


@plain_memo
def _cosize(shape: Any, stride: Any) -> int:
    return int(codomain.cosize(_exact(shape, stride)))


@memo
def parts(layout: Exact) -> tuple[Any, Any]:
    """The shape and the strides of a layout of tla, of plain integers."""
    return plain(layout.shape), plain(layout.stride)


def plain(x: Any) -> Any:
    """A value of tla as one of this module, of plain integers."""
    if isinstance(x, Exact):
        return Layout.made(*parts(x))
    if isinstance(x, ExactComposed):
        return ComposedLayout(plain(x.outer), plain(x.offset), plain(x.inner))
    if isinstance(x, ExactSwizzle):
        return Swizzle(x.bits, x.base, x.shift)
    if is_tuple(x):
        return tuple(map(plain, x))
    return int(x)


# ------------------------------------------------------------------------------------------------------ operations


def make_layout(*layouts: Any) -> Layout:
    """A layout of which each of the given ones is a mode; they may come in one iterable."""
    one = len(layouts) == 1 and isinstance(layouts[0], Iterable)
    given = [require_layout("make_layout", a) for a in (layouts[0] if one else layouts)]
    if not given:
        raise RankError("make_layout of no layouts", "one at least", "write Layout((), ()) for that of no modes")
    shape, stride = zip(*((a.shape, a.stride) for a in given))
    return type(given[0])(shape, stride)


def require_layout(name: str, x: Any) -> Layout:
    """A plain layout; LeafTypeError for anything else."""
    return x if isinstance(x, Layout) else refuse_kind(name, x)


def size(layout: Any) -> Any:
    return layout.size() if is_layout(layout) else product(layout)


def cosize(layout: Any) -> Any:
    return layout.cosize() if is_layout(layout) else refuse_kind("cosize", layout)


def _of_parts(found: plain_modes.Parts | None) -> Layout | None:
    return None if found is None else Layout.made(*found)


def coalesce(layout: Any, profile: Any = None) -> Any:
    """The layout with as few modes as the same function of an index has; by mode where the profile is a tuple."""
    is_whole = type(profile) is not tuple and isinstance(layout, Layout)
    found = plain_modes.coalesce(layout.shape, layout.stride, 1) if is_whole else None
    return _of_parts(found) or plain(merging.coalesce(exact(layout), _profile(profile)))


def filter(layout: Any, profile: Any = None) -> Any:
    return plain(merging.filter(exact(layout), _profile(profile)))


def _profile(profile: Any) -> Any:
    return tuple(1 if p is None or not is_tuple(p) else _profile(p) for p in profile) if is_tuple(profile) else None


def _tiler(x: Any) -> Any:
    """A tiler: of an integer the layout of so many, in a tuple too."""
    return tuple(map(_tiler, x)) if is_tuple(x) else exact(_as_layout(x))


def _as_layout(x: Any) -> Any:
    return Layout(x) if is_int(x) else x


def by_mode(does: Callable[[Any, Any], Any], layout: Any, tiles: tuple[Any, ...], keep_rest: bool) -> Any:
    """An operation on each mode and its tile; modes past the last tile stay, or go."""
    done = [does(layout[i], tile) for i, tile in enumerate(tiles)]
    return make_layout([*done, *(layout[i] for i in range(len(tiles), len(layout) if keep_rest else 0))])


def _tiled(
    name: str, plainly: plain_modes.OfTwo, does: Callable[[Any, Any], Any], keep_rest: bool = True
) -> Callable[[Any, Any], Any]:
    """An operation of a layout by a tiler: in plain integers, else by the exact algebra."""

    def tiled(layoutA: Any, layoutB: Any) -> Any:
        if layoutB is None:
            return layoutA
        if isinstance(layoutA, Layout):
            if type(layoutB) is tuple and 0 < len(layoutB) <= len(layoutA):
                return by_mode(tiled, layoutA, layoutB, keep_rest)
            tile = _as_layout(layoutB)
            if isinstance(tile, Layout):
                found = plainly(layoutA.shape, layoutA.stride, tile.shape, tile.stride, 1)
                if found is not None:
                    return Layout.made(*found)
        return plain(does(exact(layoutA), _tiler(layoutB)))

    tiled.__name__ = tiled.__qualname__ = name
    tiled.__doc__ = f"tla.{name} of plain layouts: by mode for a tuple, None leaves a mode as it is."
    return tiled


composition = _tiled("composition", plain_modes.composition, compositions.composition, keep_rest=False)
logical_divide = _tiled("logical_divide", plain_modes.logical_divide, divide.logical_divide)
logical_product = _tiled("logical_product", plain_modes.logical_product, divide.logical_product)


def complement(layout: Any, max_idx: Any = 1) -> Layout:
    a = _as_layout(layout)
    found = plain_modes.complement(a.shape, a.stride, max_idx, 1) if isinstance(a, Layout) else None
    made: Layout = _of_parts(found) or plain(complements.complement(exact(a), static(max_idx)))
    return made


def _inverse(
    plainly: Callable[[Any, Any, int], plain_modes.Parts | None], does: Callable[[Any], Any], layout: Any
) -> Any:
    if layout is None:
        return None
    a = _as_layout(layout)
    return (_of_parts(plainly(a.shape, a.stride, 1)) if isinstance(a, Layout) else None) or plain(does(exact(a)))


def right_inverse(layout: Any) -> Any:
    return _inverse(plain_modes.right_inverse, inverse.right_inverse, layout)


def left_inverse(layout: Any) -> Any:
    return _inverse(plain_modes.left_inverse, inverse.left_inverse, layout)


def hier_unzip(splitter: Callable[..., Any], layoutA: Layout, layoutB: Tiler) -> Layout:
    """The modes of a divide or product by mode, gathered: what is in the tiles, and what goes over them."""
    require_layout(splitter.__name__, layoutA)
    if layoutB is None:
        return make_layout(type(layoutA)(1, 0), layoutA)
    if not isinstance(layoutB, tuple):
        found: Layout = splitter(layoutA, layoutB)
        return found
    if not 0 < len(layoutB) <= len(layoutA):
        expected = f"{len(layoutA)} at most, and one at least"
        raise RankError(f"{len(layoutB)} tilers for {layoutA}", expected, "give one for each mode, None for none")
    split = [hier_unzip(splitter, layoutA[i], b) for i, b in enumerate(layoutB)]
    over = [*(s[1] for s in split), *(layoutA[i] for i in range(len(layoutB), len(layoutA)))]
    return make_layout(make_layout(s[0] for s in split), make_layout(over))


def zipped_divide(layoutA: Layout, layoutB: Tiler) -> Layout:
    return hier_unzip(logical_divide, layoutA, layoutB)


def tiled_divide(layoutA: Layout, layoutB: Tiler) -> Layout:
    return opened(zipped_divide(layoutA, layoutB))


def zipped_product(layoutA: Layout, layoutB: Tiler) -> Layout:
    return hier_unzip(logical_product, layoutA, layoutB)


def tiled_product(layoutA: Layout, layoutB: Tiler) -> Layout:
    return opened(zipped_product(layoutA, layoutB))


def opened(zipped: Layout) -> Layout:
    """The modes over the tiles beside the tile, not in one mode."""
    return make_layout([zipped[0], *(zipped[1][i] for i in range(len(zipped[1])))])


def slice_and_offset(crd: tuple[Any, ...], layout: Layout) -> tuple[Layout, Any]:
    """The layout of the modes that a coordinate leaves open, and where it begins.

    >>> slice_and_offset((1, None), Layout((2, 4)))
    (Layout((4,),(2,)), 1)
    """
    require_layout("slice_and_offset", layout)
    return type(layout)(slice_(crd, layout.shape), slice_(crd, layout.stride)), layout._offset(closed(crd))


guard(globals())
