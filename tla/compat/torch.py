"""torch.distributed._pycute over the exact algebra: pycute's names with the last mode fastest, on
which DeviceMesh rests.

`from tla.compat.torch import composition` stands for `from torch.distributed._pycute import composition`; torch is not
needed. A layout here is one of pycute with its modes, at every depth, in the other order, and so is each operation.
What differs is in docs/compat.md.

>>> from tla.compat.torch import Layout, complement, composition
>>> Layout((2, (3, 4))), Layout((6, 2), (2, 1))(5), complement(Layout(4, 1), 16)
(Layout((2, (3, 4)),(12, (4, 1))), 5, Layout(4,4))
>>> print(composition(Layout((4, 4)), Layout((2, 2), (8, 1))))
(2, 2):(8, 1)

Source: PyTorch torch/distributed/_pycute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra import coalesce as merging, complement as complements, composition as compositions, inverse
from ..core.cache import plain_memo
from ..core.errors import TlaError
from ..core.layout import Layout as Exact
from . import plain_modes, pycute
from .door import guard
from .int_tuples import IntTuple, are_extents, are_modes, nested_alike, plain_tuple
from .pycute import (
    Integer,
    LayoutBase,
    Tiler,
    cosize,
    elem_scale,
    exact,
    flatten,
    has_none,
    hier_unzip,
    inner_product,
    is_int,
    is_layout,
    is_tuple,
    make_layout,
    opened,
    product,
    require_layout,
    shape_div,
    signum,
    size,
    slice_,
    slice_and_offset,
    tuple_max,
)

__all__ = [
    "IntTuple",
    "Integer",
    "Layout",
    "LayoutBase",
    "Refusal",
    "as_tuple",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2crd",
    "crd2idx",
    "elem_scale",
    "exact",
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
    "match_structure",
    "plain",
    "product",
    "right_inverse",
    "shape_div",
    "signum",
    "size",
    "slice_",
    "slice_and_offset",
    "suffix_product",
    "tiled_divide",
    "tiled_product",
    "tuple_max",
    "zipped_divide",
    "zipped_product",
]


def mirrored(x: Any) -> Any:
    """A tuple with its modes in the other order, at every depth."""
    return tuple(map(mirrored, reversed(x))) if is_tuple(x) else x


@plain_memo
def _mirrored(shape: IntTuple, stride: IntTuple) -> tuple[Any, Any]:
    return mirrored(shape), mirrored(stride)


class Layout(pycute.Layout):
    """A function from coordinates to integers, of plain tuples; without strides the last mode is fastest.

    >>> a = Layout((2, (3, 4)))
    >>> a(1, (2, 3)), a(23), a[1], len(a), a.size(), a.cosize()
    (23, 23, Layout((3, 4),(4, 1)), 2, 24, 24)
    """

    _order = -1  # the last mode is fastest

    stride: Any

    def __init__(self, _shape: IntTuple, _stride: IntTuple | None = None) -> None:
        if are_modes(_shape, _stride):
            self.shape, self.stride = _shape, _stride
            return
        self.shape = plain_tuple(_shape)
        self.stride = suffix_product(self.shape) if _stride is None else plain_tuple(_stride)
        if not (are_extents(self.shape) if _stride is None else nested_alike(self.shape, self.stride)):
            exact(pycute.Layout.made(self.shape, self.stride))  # which says why

    def _exact(self) -> Exact:
        return pycute.Layout(*_mirrored(self.shape, self.stride))._exact()

    def _offset(self, crd: Any) -> Any:
        return super()._offset(mirrored(crd) if is_tuple(crd) else crd)


def plain(x: Exact | pycute.Layout) -> Layout:
    """A layout of tla as one of this module; `exact` is the way back."""
    found = x if isinstance(x, pycute.Layout) else pycute.plain(x)
    return Layout.made(*_mirrored(found.shape, found.stride))


# ------------------------------------------------------------------------------------------------------- IntTuples


def as_tuple(x: IntTuple) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def match_structure(a: IntTuple, b: IntTuple) -> bool:
    """True if both are integers, or tuples of as many that match."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(match_structure, a, b))
    return is_int(a) and is_int(b)


@plain_memo
def suffix_product(a: IntTuple, init: IntTuple = 1) -> Any:
    """The strides of a compact layout of this shape, the last mode fastest.

    >>> suffix_product((2, (3, 4)))
    (12, (4, 1))
    """
    return _in_pycute(pycute.prefix_product, "suffix_product of {} from {}", a, init)


def idx2crd(idx: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    return _in_pycute(pycute.idx2crd, "idx2crd of {} in the shape {}", idx, shape, stride)


def crd2idx(crd: IntTuple | None, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    return _in_pycute(pycute.crd2idx, "crd2idx of {} in the shape {}", crd, shape, stride)


def crd2crd(crd: IntTuple, dst_shape: IntTuple, src_shape: IntTuple | None = None) -> Any:
    return _in_pycute(pycute.crd2crd, "crd2crd of {} to {}", crd, dst_shape, src_shape)


def _in_pycute(does: Callable[..., Any], what: str, *tuples: Any) -> Any:
    """Call pycute's function on tuples in its order; a refusal has them in this one."""
    try:
        return mirrored(does(*map(mirrored, tuples)))
    except TlaError as error:
        raise Refusal(what.format(*tuples), *error.reason[1:]) from error


# ------------------------------------------------------------------------------------------------------ operations


class Refusal(TlaError, ValueError, AssertionError):
    """A layout that there is not. Programs over torch's module expect an AssertionError."""


def _asked(does: Callable[..., Any], *args: Any) -> Layout:
    """Ask the exact algebra, in which the first mode is fastest."""
    try:
        return plain(does(*(exact(x) for x in args)))
    except TlaError as error:
        raise Refusal(*error.reason) from error


def _by_mode(f: Callable[..., pycute.Layout], layout: pycute.Layout, tiles: tuple[Any, ...]) -> pycute.Layout:
    """f of each mode and its tile; modes past the last tile stay."""
    if len(tiles) > len(require_layout(f.__name__, layout)):
        what = f"{len(tiles)} tiles for {layout}"
        raise Refusal(what, f"{len(layout)} at most", "give one for each mode, None for none")
    made: pycute.Layout = pycute.by_mode(f, layout, tiles, keep_rest=True)
    return made


def _as_layout(x: Any) -> Any:
    return plain(x) if isinstance(x, Exact) else x if isinstance(x, pycute.Layout) else Layout(x)


def coalesce(layout: pycute.Layout, profile: IntTuple | None = None) -> pycute.Layout:
    """The layout with as few modes as the same function of an index has; by mode where the profile is a tuple."""
    if isinstance(profile, tuple):
        return _by_mode(coalesce, layout, profile)
    require_layout("coalesce", layout)
    found = plain_modes.coalesce(layout.shape, layout.stride, -1)
    return _asked(merging.coalesce, layout) if found is None else Layout.made(*found)


def filter(layout: pycute.Layout, profile: IntTuple | None = None) -> pycute.Layout:
    return _by_mode(filter, layout, profile) if isinstance(profile, tuple) else _asked(merging.filter, layout)


def composition(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    """layoutA of layoutB; by mode for a tuple, None leaves a mode as it is. What does not divide mode by mode is
    refused, as torch does.

    >>> composition(Layout((6, 2), (2, 1)), Layout(3, 2))
    Layout(3,2)
    """
    if layoutB is None:
        return layoutA
    if isinstance(layoutB, tuple):
        return _by_mode(composition, layoutA, layoutB)
    require_layout("composition", layoutA)
    tile = _as_layout(layoutB)
    found = plain_modes.composition(layoutA.shape, layoutA.stride, tile.shape, tile.stride, -1)
    if found is not None:
        return Layout.made(*found)
    answer = _asked(compositions.composition, layoutA, tile)
    a, b = (plain_modes.modes_of(x.shape, x.stride, -1) for x in (layoutA, tile))
    if a and b and (uneven := plain_modes.uneven_step(a, b)):
        what = f"composition: {layoutA} o {tile}: stride {uneven[0]} does not step evenly through extent {uneven[1]}"
        fix = f"write plain(tla.composition(exact(a), exact(b))), which is {answer}"
        raise Refusal(what, "one that divides the other, as in torch.distributed._pycute", fix)
    return answer


def complement(layout: pycute.Layout | int, max_idx: int = 1) -> pycute.Layout:
    a = _as_layout(layout)
    found = plain_modes.complement(a.shape, a.stride, max_idx, -1)
    return _asked(complements.complement, a, max_idx) if found is None else Layout.made(*found)


def right_inverse(layout: pycute.Layout | int | None) -> pycute.Layout | None:
    if layout is None:
        return None
    a = _as_layout(layout)
    found = plain_modes.right_inverse(a.shape, a.stride, -1)
    return _asked(inverse.right_inverse, a) if found is None else Layout.made(*found)


def left_inverse(layout: pycute.Layout | int | None) -> pycute.Layout | None:
    if layout is None:
        return None
    a = _as_layout(layout)
    found = plain_modes.left_inverse(a.shape, a.stride, -1)
    return _asked(inverse.left_inverse, a) if found is None else Layout.made(*found)


def logical_divide(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    """The composition with (B, what B leaves out): the tile is the first mode, what goes over the tiles the second."""
    if layoutB is None:
        return layoutA
    if isinstance(layoutB, tuple):
        return _by_mode(logical_divide, layoutA, layoutB)
    require_layout("logical_divide", layoutA)
    tile = _as_layout(layoutB)
    found = plain_modes.logical_divide(layoutA.shape, layoutA.stride, tile.shape, tile.stride, -1)
    if found is not None:
        return Layout.made(*found)
    return composition(layoutA, make_layout(tile, complement(tile, size(layoutA))))


def logical_product(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    """A, and B over what A leaves out."""
    if layoutB is None:
        return layoutA
    if isinstance(layoutB, tuple):
        return _by_mode(logical_product, layoutA, layoutB)
    require_layout("logical_product", layoutA)
    tile = _as_layout(layoutB)
    found = plain_modes.logical_product(layoutA.shape, layoutA.stride, tile.shape, tile.stride, -1)
    if found is not None:
        return Layout.made(*found)
    return make_layout(layoutA, composition(complement(layoutA, size(layoutA) * cosize(tile)), tile))


def zipped_divide(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    return hier_unzip(logical_divide, layoutA, layoutB)


def tiled_divide(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    return opened(zipped_divide(layoutA, layoutB))


def zipped_product(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    return hier_unzip(logical_product, layoutA, layoutB)


def tiled_product(layoutA: pycute.Layout, layoutB: Tiler) -> pycute.Layout:
    return opened(zipped_product(layoutA, layoutB))


guard(globals())
