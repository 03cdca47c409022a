"""The questions of tensor-layouts about layouts, and what is done with their modes and coordinates.

Source: tensor-layouts 0.3.2, layouts/algebra.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...algebra import coalesce as merging
from ...algebra.modes import slice_and_offset as exact_slice
from ...core.errors import LeafTypeError
from .. import pycute
from ..door import guard
from ..int_tuples import closed, product
from .expressions import (
    ComposedLayout,
    Layout,
    LayoutExpr,
    Swizzle,
    as_layout_expr,
    done,
    is_layout,
    layouts_of,
    of_domain,
    opened,
    require_layouts,
    slice_modes,
    sliced,
)
from .tuples import (
    Coordinate,
    IntTree,
    LayoutError,
    as_shape,
    as_tuple,
    coords_all_none,
    is_int,
    is_tuple,
    transform_tuple,
)

__all__ = [
    "append",
    "coalesce",
    "concat",
    "cosize",
    "crd2crd",
    "crd2flat",
    "crd2idx",
    "crd2offset",
    "depth",
    "dice_modes",
    "flatten",
    "group",
    "idx2crd",
    "iter_layout",
    "mode",
    "prepend",
    "rank",
    "replace",
    "size",
    "slice_and_offset",
    "sort",
    "unflatten",
]

# ------------------------------------------------------------------------------------------------------- questions


def _known(obj: object) -> Any:
    """A layout, of a tensor its layout, or a tuple."""
    return obj if is_int(obj) or is_tuple(obj) else as_layout_expr(obj)


def shape_of(obj: object) -> IntTree:
    """The shape of a layout or a tensor; a tuple as it is."""
    known = _known(obj)
    return known.shape if is_layout(known) else known


def size(obj: object) -> int:
    return int(product(obj.shape if isinstance(obj, Layout) else shape_of(obj)))


def cosize(obj: object) -> int:
    """One more than the largest offset; of a plain layout, than the widest distance of two offsets.

    >>> cosize(Layout((4, 8), (8, -1))), cosize(ComposedLayout(Swizzle(2, 0, 2), Layout(5, 1)))
    (32, 6)
    """
    layout = as_layout_expr(obj)
    if isinstance(layout, ComposedLayout):
        return int(max(map(layout, range(len(layout))), default=-1)) + 1
    steps = zip(pycute.flatten(layout.shape), pycute.flatten(layout.stride))
    return 1 + int(sum((extent - 1) * abs(stride) for extent, stride in steps))


def rank(obj: object) -> int:
    """The number of modes; 0 for an integer, 1 for a layout of one extent."""
    shape = shape_of(obj)
    return len(shape) if is_tuple(shape) else int(not is_int(obj))


def depth(obj: object) -> int:
    """The number of tuples inside each other.

    >>> depth(8), depth(Layout(((2, 3), 4))), rank(Layout(((2, 3), 4))), size(((2, 3), 4))
    (0, 2, 2, 24)
    """
    shape = shape_of(obj)
    return 1 + max(map(depth, shape)) if is_tuple(shape) and shape else 0


def mode(obj: object, idx: int) -> Any:
    """A mode of a layout or a tuple; what is no tuple is its own mode 0."""
    known = _known(obj)
    if isinstance(known, ComposedLayout):
        return ComposedLayout(known.outer, mode(known.inner, idx), offset=known.offset)
    if not is_tuple(shape_of(known)):
        if idx not in (0, -1):
            raise IndexError(f"mode {idx} of {known}, which has one")
        return known
    if isinstance(known, Layout):
        return Layout.made(known.shape[idx], known.stride[idx])
    return known[idx] if known else ()


def modes(layout: object) -> list[Any]:
    """All modes of a layout."""
    if isinstance(layout, Layout) and is_tuple(layout.shape):
        return [Layout.made(s, d) for s, d in zip(layout.shape, layout.stride)]
    return [mode(layout, i) for i in range(rank(layout))]


def iter_layout(layout: LayoutExpr) -> Iterator[tuple[Any, int]]:
    """The coordinates and offsets of all elements.

    >>> list(iter_layout(Layout((2, 2), (2, 1))))
    [((0, 0), 0), ((1, 0), 2), ((0, 1), 1), ((1, 1), 3)]
    """
    return zip(layout, map(layout, range(len(layout))))


# ----------------------------------------------------------------------------------------------------------- modes


def together(*parts: Layout) -> Layout:
    """The layout of these modes, in a tuple also where it is one."""
    return Layout.made(tuple([a.shape for a in parts]), tuple([a.stride for a in parts]))


@of_domain
def append(a: Layout, b: Layout) -> Layout:
    require_layouts("append", a, b)
    return together(*modes(a), b)


@of_domain
def prepend(a: Layout, b: Layout) -> Layout:
    require_layouts("prepend", a, b)
    return together(b, *modes(a))


@of_domain
def replace(layout: Layout, idx: int, new_layout: Layout) -> Layout:
    found = modes(layout)
    found[idx] = new_layout
    return together(*found)


@of_domain
def group(layout: Layout, start: int, end: int) -> Layout:
    """The modes from start to end, without end, as one.

    >>> group(Layout((2, 3, 4)), 0, 2)
    Layout(((2, 3), 4), ((1, 2), 6))
    """
    found = modes(layout)
    if not 0 <= start < end <= len(found):
        what = f"group from {start} to {end} of {len(found)} modes"
        raise LayoutError(what, f"0 <= start < end <= {len(found)}", "group other modes")
    return together(*found[:start], together(*found[start:end]), *found[end:])


def concat(t1: IntTree, t2: IntTree) -> Any:
    """The modes of both, of two tuples or two layouts."""
    if is_tuple(t1) and is_tuple(t2):
        return t1 + t2
    if isinstance(t1, Layout) and isinstance(t2, Layout):
        return together(*modes(t1), *modes(t2))
    what = f"concat of {type(t1).__name__} and {type(t2).__name__}"
    raise LeafTypeError(what, "two tuples or two layouts", "give two of a kind")


def flatten(obj: Any) -> Any:
    """All extents in order: of a tuple or an integer in a tuple, of a layout as its modes.

    >>> flatten((1, (2, (3,)))), flatten(Layout(((2, 3), 4)))
    ((1, 2, 3), Layout((2, 3, 4), (1, 2, 6)))
    """
    known = _known(obj)
    return _flat(known) if is_layout(known) else pycute.flatten(known)


@of_domain
def _flat(layout: Layout) -> Layout:
    return Layout.made(as_shape(pycute.flatten(layout.shape)), as_shape(pycute.flatten(layout.stride)))


def unflatten(obj: Any, target_profile: IntTree) -> Any:
    """The modes of a flat tuple or layout, nested as those of another.

    >>> unflatten((1, 2, 3), ((0, 0), 0))
    ((1, 2), 3)
    """
    profile = shape_of(target_profile)
    if isinstance(obj, Layout):
        return Layout(unflatten(obj.shape, profile), unflatten(obj.stride, profile))
    if len(obj) != len(pycute.flatten(profile)):
        what = f"unflatten of {obj} to {profile}"
        raise LayoutError(what, f"{len(obj)} integers in the profile", "give another profile")
    left = iter(obj)
    return transform_tuple(profile, lambda _: next(left))


@of_domain
def sort(obj: Layout) -> Layout:
    """All modes, in the order of their strides.

    >>> sort(Layout((2, 4, 8), (64, 1, 4)))
    Layout((4, 8, 2), (1, 4, 64))
    """
    return obj if rank(obj) < 2 else together(*sorted(modes(flatten(obj)), key=lambda a: (a.stride, a.shape)))


@of_domain
def coalesce(obj: Layout, profile: IntTree = None) -> Layout:
    """The layout with as few modes as the same function of an index has; with None for each mode, mode by mode.

    A profile of integers puts modes together until each size is reached, and merges them.

    >>> coalesce(Layout(((2, 4), (2, 4))), (None, None)), coalesce(Layout((2, 4, 2, 2), (1, 2, 8, 16)), (4, 4))
    (Layout((8, 8), (1, 8)), Layout((8, 4), (1, 8)))
    """
    require_layouts("coalesce", obj)
    if obj.shape == ():
        return obj
    if profile is None:
        found: Layout = done(merging.coalesce, obj)
        return found
    sizes = as_tuple(profile)
    if None in sizes:
        return together(*map(coalesce, [*modes(obj), *(Layout(1, 0) for _ in sizes)][: max(len(sizes), rank(obj))]))
    left, parts = modes(flatten(obj)), []
    for n in pycute.flatten(sizes):
        part: list[Layout] = []
        while left and size(together(*part)) < n:
            part.append(left.pop(0))
        parts.append(coalesce(together(*part)) if part else Layout(1, 0))
    if any(size(a) != 1 for a in left):
        what = f"coalesce of {obj} by {profile}"
        raise LayoutError(what, "sizes for all modes", f"give one for {layouts_of(left)} too")
    return together(*parts)


# ------------------------------------------------------------------------------------------------------ coordinates


def slice_and_offset(crd: Coordinate, layout: LayoutExpr) -> tuple[LayoutExpr, int]:
    """The layout of the modes that a coordinate leaves open, and what the others add.

    >>> slice_and_offset((None, 3), Layout((4, 8), (1, 4)))
    (Layout((4,), (1,)), 12)

    A swizzle that moves nothing in what is left is put into strides.
    """
    require_layouts("slice_and_offset", layout)
    if isinstance(layout, Layout):
        rest = Layout.made(slice_modes(crd, layout.shape), slice_modes(crd, layout.stride))
        return opened(rest), layout._offset(closed(crd))
    if coords_all_none(crd):
        return layout, 0
    if isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout):
        found, offset = done(lambda exact: exact_slice(crd, exact), layout)
        return (opened(found) if isinstance(found, Layout) else found), offset
    return sliced(crd, layout), 0


def idx2crd(coord: Coordinate, shape: IntTree) -> Coordinate:
    """An index as a coordinate of a shape; each integer in a coordinate too.

    >>> idx2crd(16, (3, (2, 3))), idx2crd((1, 5), (3, (2, 3)))
    ((1, (1, 2)), (1, (1, 2)))
    """
    extents = shape_of(shape)
    try:
        return _coordinate(coord, extents)
    except ZeroDivisionError as error:
        what = f"the index {coord} in the shape {extents}"
        raise LayoutError(what, "extents of 1 or more", "give one coordinate per mode") from error


def _coordinate(coord: Coordinate, shape: IntTree) -> Coordinate:
    if not is_tuple(shape) and not is_tuple(coord):
        return coord % shape
    if not is_tuple(coord):
        found = []
        for mode in shape:
            extent = product(mode)
            found.append(_coordinate(coord % extent, mode))
            coord //= extent
        return tuple(found)
    if not is_tuple(shape) or len(coord) != len(shape):
        raise LayoutError(f"the coordinate {coord} of {shape}", "the same rank", "give one coordinate per mode")
    return tuple(map(_coordinate, coord, shape))


def crd2flat(coord: Coordinate, shape: IntTree) -> int:
    """The index of a coordinate.

    >>> crd2flat((1, (1, 2)), (3, (2, 3)))
    16
    """
    return int(done(lambda: pycute.crd2idx(coord, shape_of(shape))))


def crd2offset(coord: Coordinate, shape: IntTree, stride: IntTree) -> int:
    """The offset of a coordinate; None in it is 0."""
    return int(done(lambda: pycute.crd2idx(coord, shape, stride)))


def crd2idx(coord: Coordinate, shape: IntTree, stride: IntTree = None) -> int:
    return crd2flat(coord, shape) if stride is None else crd2offset(coord, shape, stride)


def crd2crd(crd: Coordinate, dst_shape: IntTree, src_shape: IntTree = None) -> Coordinate:
    """A coordinate of one shape as that of another; an integer is an index.

    >>> crd2crd(3, (2, 4)), crd2crd(((0, 1), 0), (6, 2), ((2, 3), 2))
    ((1, 1), (2, 0))
    """
    if not is_tuple(crd):
        return idx2crd(crd, dst_shape) if is_tuple(dst_shape) else crd
    if is_tuple(dst_shape):
        sources = src_shape if is_tuple(src_shape) else [src_shape] * len(crd)
        if not len(crd) == len(dst_shape) == len(sources):
            raise LayoutError(f"the coordinate {crd} to {dst_shape}", "the same rank", "give one coordinate per mode")
        return tuple(map(crd2crd, crd, dst_shape, sources))
    if src_shape is None:
        raise LayoutError(f"the coordinate {crd} to {dst_shape}", "its own shape", "give src_shape")
    return crd2flat(crd, src_shape)


def dice_modes(crd: Coordinate, layout: Any) -> Any:
    """The modes at the places of a coordinate that are integers: what slice_modes leaves.

    >>> dice_modes((0, None), Layout((3, 4)))
    Layout(3, 1)
    """
    if isinstance(layout, Layout):
        if not is_tuple(crd):
            return Layout() if crd is None else layout
        return Layout(*(as_shape(dice_modes(crd, x)) for x in (layout.shape, layout.stride)))
    if not is_tuple(crd):
        return () if crd is None else layout
    if not is_tuple(layout) or len(crd) != len(layout):
        raise LayoutError(f"the coordinate {crd} for {layout}", "the same rank", "give one coordinate per mode")
    return tuple(
        itertools.chain(*(dice_modes(c, x) if is_tuple(c) else () if c is None else (x,) for c, x in zip(crd, layout)))
    )


guard(globals())
