"""The algebra of tensor-layouts over the exact one: complements, inverses, composition, divides and products.

Source: tensor-layouts 0.3.2, layouts/algebra.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from ...algebra import common, complement as complements, composition as compositions, divide, inverse, recast
from ...core.each_leaf import static
from ...core.errors import LeafTypeError
from .. import pycute
from ..door import guard
from ..pycute import product
from .expressions import (
    ComposedLayout,
    Layout,
    LayoutExpr,
    Swizzle,
    done,
    is_layout,
    layouts_of,
    of_domain,
    require_layouts,
    split_outer_swizzle,
)
from .modes import coalesce, cosize, mode, modes, rank, shape_of, size, together
from .tuples import IntTree, LayoutError, is_int, is_tuple, unwrap

__all__ = [
    "blocked_product",
    "complement",
    "compose",
    "downcast",
    "flat_divide",
    "flat_product",
    "hier_unzip",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "raked_product",
    "right_inverse",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "zipped_divide",
    "zipped_product",
]

#: What a layout is composed with or cut by: a layout, a size, or one of these for each mode.
Tiler: TypeAlias = LayoutExpr | Swizzle | int | tuple[Any, ...] | None

# --------------------------------------------------------------------------------------- complements and inverses


def complement(layout: LayoutExpr, cosize_bound: IntTree = None) -> Layout:
    """A layout of the offsets that this one leaves out, as far as the bound; without it, between its own.

    >>> complement(Layout(4, 2)), complement(Layout(4, 2), 24)
    (Layout(2, 1), Layout((2, 3), (1, 8)))

    Of a composed layout it is that of the inner one, as in CuTe.
    """
    require_layouts("complement", layout)
    if isinstance(layout, ComposedLayout):
        return complement(layout.inner, cosize(layout.inner) if cosize_bound is None else cosize_bound)
    bound = cosize(layout) if cosize_bound is None else shape_of(cosize_bound)
    if not size(layout) or layout.shape == ():
        return Layout(bound, 1) if product(bound) > 1 else Layout()
    if min(pycute.flatten(layout.stride)) < 0:
        what = f"complement of {layout}: a negative stride"
        raise LayoutError(what, "strides of 0 or more", "take their absolute values")
    found: Layout = done(
        lambda exact: complements.complement(exact, bound if is_tuple(bound) else static(bound)), layout
    )
    return found


def right_inverse(layout: Any) -> Any:
    """The longest layout R with layout(R(i)) == i.

    >>> right_inverse(Layout((8, 4), (4, 1))), right_inverse(ComposedLayout(Swizzle(2, 1, 3), Layout(32)))
    (Layout((4, 8), (8, 1)), ComposedLayout(Swizzle(2, 1, 3), Layout(32, 1), offset=0))
    """
    return _inverse(inverse.right_inverse, layout)


def left_inverse(layout: Any) -> Any:
    """A layout R with R(layout(i)) == i, of a layout that has no offset twice.

    >>> left_inverse(Layout((4, 8), (1, 5)))
    Layout((5, 8), (1, 4))
    """
    return _inverse(inverse.left_inverse, layout)


def _inverse(does: Callable[..., Any], layout: Any) -> Any:
    if layout is None or isinstance(layout, Swizzle):
        return layout
    return done(does, Layout(layout) if is_int(layout) else layout)


def nullspace(layout: Layout) -> Layout:
    """A layout of the indices whose offset is 0."""
    found: Layout = done(common.nullspace, layout)
    return found


def max_common_layout(layout_a: LayoutExpr, layout_b: LayoutExpr) -> LayoutExpr:
    """The longest layout R with a(R(i)) == b(R(i)) == i.

    >>> max_common_layout(Layout(8, 1), Layout((2, 4), (1, 4)))
    Layout(2, 1)
    """
    found: LayoutExpr = coalesce(compose(right_inverse(layout_b), Layout(max_common_vector(layout_a, layout_b), 1)))
    return found


def max_common_vector(layout_a: LayoutExpr, layout_b: LayoutExpr) -> int:
    """The number of elements that can move at once between the layouts: no more than swizzles leave together."""
    require_layouts("max_common_vector", layout_a, layout_b)
    a, b = split_outer_swizzle(layout_a), split_outer_swizzle(layout_b)
    if a and b and a[0] == b[0]:
        return max_common_vector(a[1], b[1])
    if a or b:
        under = max_common_vector(a[1] if a else layout_a, b[1] if b else layout_b)
        return min([under, *(1 << split[0].base for split in (a, b) if split)])
    if isinstance(layout_a, Layout) and isinstance(layout_b, Layout):
        return int(done(common.max_common_vector, layout_a, layout_b))
    inverted = right_inverse(layout_b)
    agree = (layout_a(at) == layout_b(at) == i for i, at in enumerate(map(inverted, range(size(inverted)))))
    return sum(1 for _ in itertools.takewhile(bool, agree))


def upcast(layout: Layout, n: int) -> Layout:
    """The layout in elements n times as wide.

    >>> upcast(Layout((32, (32, 4)), (32, (1, 1024))), 16), downcast(Layout((32, 2), (2, 1)), 16)
    (Layout((32, (2, 4)), (2, (1, 64))), Layout((32, 32), (32, 1)))
    """
    found: Layout = done(recast.upcast[n], layout)
    return found


def downcast(layout: Layout, n: int) -> Layout:
    """The layout in elements of which n are one of its own."""
    found: Layout = done(recast.downcast[n], layout)
    return found


# ------------------------------------------------------------------------------------------- composition and divides


def compose(layout_a: Any, layout_b: Any) -> Any:
    """layout_a of layout_b; by mode for a tuple. A ComposedLayout where no plain one says it.

    >>> compose(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))), compose(Layout((12, (4, 8)), (59, (13, 1))), (3, 8))
    (Layout(((2, 2), 3), ((24, 2), 8)), Layout((3, (4, 2)), (59, (13, 1))))
    >>> compose(Swizzle(2, 0, 2), Layout((4, 4), (4, 1)))
    ComposedLayout(Swizzle(2, 0, 2), Layout((4, 4), (4, 1)), offset=0)
    """
    if isinstance(layout_a, ComposedLayout):
        return ComposedLayout(layout_a.outer, compose(layout_a.inner, layout_b), offset=layout_a.offset)
    if isinstance(layout_a, Swizzle) and is_layout(layout_b):
        return ComposedLayout(layout_a, layout_b) if layout_a.bits else layout_b
    if isinstance(layout_a, Layout) and isinstance(layout_b, Layout):
        return done(compositions.composition, layout_a, layout_b)
    if isinstance(layout_a, Layout) and isinstance(layout_b, ComposedLayout):
        return ComposedLayout(layout_a, layout_b)
    if isinstance(layout_a, Layout) and isinstance(layout_b, Swizzle):
        return _of_swizzle(layout_a, layout_b)
    if isinstance(layout_a, Layout) and is_tuple(layout_b):
        return together(*map(opened_mode, _by_mode(_tiled, layout_a, layout_b)))
    kinds = " and ".join(type(x).__name__ for x in (layout_a, layout_b))
    what = f"compose of {kinds}"
    raise LeafTypeError(what, "layouts, a swizzle first or last, or a tuple last", "write Layout(n) for an extent n")


def _tiled(layout: Layout, tiler: Tiler) -> Layout:
    found: Layout = compose(layout, _as_layout(tiler))
    return found


def opened_mode(layout: Layout) -> Layout:
    return Layout.made(unwrap(layout.shape), unwrap(layout.stride))


def _of_swizzle(layout: Layout, swizzle: Swizzle) -> LayoutExpr:
    """A layout of swizzled indices: the swizzle of other bits after it, where these stay together."""
    try:
        found: LayoutExpr = done(compositions.composition, layout, swizzle)
    except LayoutError:
        found = ComposedLayout(layout, ComposedLayout(swizzle, Layout(layout.shape)))
    return found


def _by_mode(f: Callable[[Layout, Any], Layout], layout: Layout, tiler: tuple[Any, ...]) -> list[Layout]:
    """f of each mode and its tiler; modes past the last tiler stay."""
    if len(tiler) > rank(layout):
        what = f"a tiler with more modes ({len(tiler)}) than {layout}"
        raise LayoutError(what, f"{rank(layout)} at most", "give one for each mode")
    return [*map(f, modes(layout), tiler), *modes(layout)[len(tiler) :]]


@of_domain
def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """The tile and what goes over the tiles; by mode for a tuple, and of the first mode for an integer that divides it.

    >>> logical_divide(Layout(16), 4), logical_divide(Layout((8, 6)), 2)
    (Layout((4, 4), (1, 4)), Layout(((2, 4), 6), ((1, 2), 8)))
    """
    if isinstance(tiler, tuple):
        return layouts_of(map(opened_mode, _by_mode(logical_divide, layout, tiler)))
    by_first = _cuts_first(layout, tiler)
    found: Layout = (
        logical_divide(layout, (tiler,)) if by_first else done(divide.logical_divide, layout, _as_layout(tiler))
    )
    return found


def _as_layout(x: Tiler) -> Tiler:
    return Layout(x) if is_int(x) else x


def _cuts_first(layout: Layout, tiler: Tiler) -> bool:
    return isinstance(tiler, int) and tiler > 0 and rank(layout) > 1 and size(mode(layout, 0)) % tiler == 0


@of_domain
def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """The tiles in one mode, and what goes over them in another.

    >>> zipped_divide(Layout((4, 8)), (2, 4)), flat_divide(Layout((8, 6)), 2)
    (Layout(((2, 4), (2, 2)), ((1, 4), (2, 16))), Layout((2, 4, 6), (1, 2, 8)))
    """
    return hier_unzip(logical_divide, layout, (tiler,) if _cuts_first(layout, tiler) else tiler)


@of_domain
def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    tile, rest = modes(zipped_divide(layout, tiler))
    return together(tile, *modes(rest))


@of_domain
def flat_divide(layout: Layout, tiler: Tiler) -> Layout:
    tile, rest = modes(zipped_divide(layout, tiler))
    return together(*modes(tile), *modes(rest))


def hier_unzip(splitter: Callable[[Any, Any], Any], layout_a: Layout, layout_b: Tiler) -> Layout:
    """The modes of a divide or product by mode, gathered: what is in the tiles, and what goes over them."""
    if layout_b is None:
        return Layout((1, layout_a.shape), (0, layout_a.stride))
    if not isinstance(layout_b, tuple):
        found: Layout = splitter(layout_a, _as_layout(layout_b))
        return found
    if not layout_b:
        raise LayoutError(f"no tilers for {layout_a}", "one at least", "give one for each mode, None for none")
    split = _by_mode(lambda a, b: hier_unzip(splitter, a, b), layout_a, layout_b)
    tiles, rests = zip(*map(modes, split[: len(layout_b)]))
    over = [*rests, *split[len(layout_b) :]]
    return together(layouts_of(tiles), layouts_of(over))


# --------------------------------------------------------------------------------------------------------- products


@of_domain
def logical_product(layout_a: Layout, layout_b: Tiler) -> Layout:
    """The layout, and how often and where it is repeated.

    >>> logical_product(Layout(4, 1), Layout(3, 2)), blocked_product(Layout((2, 2)), Layout((2, 2)))
    (Layout((4, 3), (1, 8)), Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))))
    """
    if layout_b is None:
        return layout_a
    if isinstance(layout_b, tuple):
        return together(*_by_mode(logical_product, layout_a, layout_b))
    found: Layout = done(divide.logical_product, layout_a, _as_layout(layout_b))
    return found


@of_domain
def blocked_product(layout_a: Layout, layout_b: Layout) -> Layout:
    found: Layout = done(divide.blocked_product, layout_a, layout_b)
    return found


@of_domain
def raked_product(block: Layout, tiler: Layout) -> Layout:
    found: Layout = done(divide.raked_product, block, tiler)
    return found


@of_domain
def zipped_product(layout_a: Layout, layout_b: Tiler) -> Layout:
    return hier_unzip(logical_product, layout_a, layout_b)


@of_domain
def tiled_product(layout_a: Layout, layout_b: Tiler) -> Layout:
    tile, rest = modes(zipped_product(layout_a, layout_b))
    return together(tile, *modes(rest))


@of_domain
def flat_product(block: Layout, tiler: Tiler) -> Layout:
    tile, rest = modes(zipped_product(block, tiler))
    return together(*modes(tile), *modes(rest))


guard(globals())
