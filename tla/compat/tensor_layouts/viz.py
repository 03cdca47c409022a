"""Drawings by the names of tensor-layouts, drawn by tla: a layout, one slice of it, and a layout beside
its swizzled form.

With a filename they are written, as .svg, .html, .tex, .txt, or with the extra `png` as .png; without one they
are the drawing.

Source: tensor-layouts 0.3.2, viz.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...viz import Scene, draw, save
from .expressions import exact
from .layouts import Layout, LayoutExpr, Swizzle, as_layout_expr, compose, crd2flat, is_tuple
from .tuples import Coordinate, IntTree

__all__ = ["draw_layout", "draw_slice", "draw_swizzle"]

Name = str | os.PathLike[str]


def _drawn(
    filename: Name | None, titles: list[str | None], color_by: str | Callable[..., Any], *layouts: LayoutExpr
) -> Scene | None:
    given = [title or str(layout) for title, layout in zip(titles, layouts)]
    scene = draw(*map(exact, layouts), titles=given, color_by=color_by)
    if filename is None:
        return scene
    save(scene, filename)
    return None


def draw_layout(layout: object, filename: Name | None = None, title: str | None = None) -> Scene | None:
    """Draw the offsets of a layout or a tensor's layout: mode 0 down, mode 1 across."""
    return _drawn(filename, [title], "auto", as_layout_expr(layout))


def draw_slice(
    layout: object, slice_spec: Coordinate, filename: Name | None = None, title: str | None = None
) -> Scene | None:
    """Draw a layout, and in colour what a coordinate leaves open."""
    found = as_layout_expr(layout)

    def colour(coordinate: Coordinate, _offset: int) -> str | None:
        return "#ffd35c" if _selected(slice_spec, coordinate, found.shape) else None

    return _drawn(filename, [title], colour, found)


def _selected(spec: Coordinate, coordinate: Coordinate, shape: IntTree) -> bool:
    """True for a coordinate with these integers; None is any."""
    if spec is None:
        return True
    if is_tuple(spec):
        return all(map(_selected, spec, coordinate, shape))
    return bool(crd2flat(coordinate, shape) == crd2flat(spec, shape))


def draw_swizzle(
    base_layout: Layout, swizzle: Swizzle, filename: Name | None = None, title: str | None = None
) -> Scene | None:
    """Draw a layout, and beside it what a swizzle makes of it."""
    return _drawn(filename, [title, None], "auto", base_layout, compose(swizzle, base_layout))
