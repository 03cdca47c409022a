"""The affine layouts of Meta's tensor-layouts over the exact algebra: its names and plain tuples, with answers that are right or refused.

`from tla.compat import tensor_layouts` stands for `import tensor_layouts` in a program of plain layouts. Swizzles, composed layouts, tiles,
tensors and atoms of that library are not here.

>>> from tla.compat.tensor_layouts import Layout, compose, logical_divide
>>> compose(Layout((4, 8), (8, 1)), Layout(4, 4)), logical_divide(Layout((8, 8)), (2, 4))
(Layout(4, 1), Layout(((2, 4), (4, 2)), ((1, 2), (8, 32))))

Source: tensor-layouts 0.3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import pycute
from .pycute import IntTuple, Tiler, cosize, is_int, is_layout, is_tuple, size

__all__ = [
    "Layout",
    "append",
    "coalesce",
    "complement",
    "compose",
    "cosize",
    "flat_divide",
    "group",
    "is_int",
    "is_layout",
    "is_tuple",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "mode",
    "prepend",
    "rank",
    "replace",
    "right_inverse",
    "size",
    "tiled_divide",
    "zipped_divide",
]


class Layout(pycute.Layout):
    """A function from coordinates to integers, of plain tuples: of a shape and strides, or of layouts that become its modes.

    >>> a = Layout((8, (4, 3)))
    >>> a, a(1, (2, 0)), Layout(Layout(4, 1), Layout(3, 8)), [*Layout((2, 2))]
    (Layout((8, (4, 3)), (1, (8, 32))), 17, Layout((4, 3), (1, 8)), [(0, 0), (1, 0), (0, 1), (1, 1)])
    """

    def __init__(self, *args: Any) -> None:
        if args and all(map(is_layout, args)):
            super().__init__(tuple(a.shape for a in args), tuple(a.stride for a in args))
        else:
            super().__init__(*args or ((), ()))

    def __iter__(self) -> Iterator[Any]:
        return (pycute.idx2crd(i, self.shape) for i in range(self.size()))

    def __str__(self) -> str:
        return f"{_text(self.shape)} : {_text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self.shape}, {self.stride})"


def _text(x: IntTuple) -> str:
    return f"({', '.join(map(_text, x))})" if isinstance(x, tuple) else str(x)


def _done(does: Callable[..., Any], *args: Any) -> Layout:
    """Do an operation of pycute's."""
    found = does(*args)
    return Layout(found.shape, found.stride)


def coalesce(obj: pycute.Layout, profile: IntTuple | None = None) -> Layout:
    return _done(pycute.coalesce, obj, profile)


def compose(layout_a: pycute.Layout, layout_b: Tiler) -> Layout:
    """layout_a of layout_b; by mode for a tuple."""
    return _done(pycute.composition, layout_a, layout_b)


def complement(layout: pycute.Layout, cosize_bound: int | None = None) -> Layout:
    """A layout of the offsets that this one leaves out, as far as the bound; without it, between its own.

    >>> complement(Layout(4, 2)), complement(Layout(4, 2), 24)
    (Layout(2, 1), Layout((2, 3), (1, 8)))
    """
    return _done(pycute.complement, layout, 1 if cosize_bound is None else cosize_bound)


def right_inverse(layout: pycute.Layout) -> Layout:
    return _done(pycute.right_inverse, layout)


def left_inverse(layout: pycute.Layout) -> Layout:
    return _done(pycute.left_inverse, layout)


def logical_divide(layout: pycute.Layout, tiler: Tiler) -> Layout:
    return _done(pycute.logical_divide, layout, tiler)


def zipped_divide(layout: pycute.Layout, tiler: Tiler) -> Layout:
    return _done(pycute.zipped_divide, layout, tiler)


def tiled_divide(layout: pycute.Layout, tiler: Tiler) -> Layout:
    return _done(pycute.tiled_divide, layout, tiler)


def flat_divide(layout: pycute.Layout, tiler: Tiler) -> Layout:
    """The modes of the tile, and after them those over the tiles."""
    return Layout(*(half for part in _modes(zipped_divide(layout, tiler)) for half in _modes(part)))


def logical_product(layout_a: pycute.Layout, layout_b: Tiler) -> Layout:
    return _done(pycute.logical_product, layout_a, layout_b)


# ---------------------------------------------------------------------------------------------------------- modes


def _modes(layout: pycute.Layout) -> list[pycute.Layout]:
    return [layout[i] for i in range(len(layout))]


def rank(obj: pycute.Layout) -> int:
    return len(obj)


def mode(obj: pycute.Layout, idx: int) -> Layout:
    return _done(obj.__getitem__, idx)


def append(a: pycute.Layout, b: pycute.Layout) -> Layout:
    return Layout(*_modes(a), b)


def prepend(a: pycute.Layout, b: pycute.Layout) -> Layout:
    return Layout(b, *_modes(a))


def replace(layout: pycute.Layout, idx: int, new_layout: pycute.Layout) -> Layout:
    modes = _modes(layout)
    modes[idx] = new_layout
    return Layout(*modes)


def group(layout: pycute.Layout, start: int, end: int) -> Layout:
    """The modes from start to end, without end, as one.

    >>> group(Layout((2, 3, 4)), 0, 2)
    Layout(((2, 3), 4), ((1, 2), 6))
    """
    modes = _modes(layout)
    return Layout(*modes[:start], Layout(*modes[start:end]), *modes[end:])
