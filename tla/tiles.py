"""Tiles of layouts: the part of a layout that a block works on, with its tail.

Source: TLA include/tla/layout.hpp.
"""

from __future__ import annotations

from typing import Any

from .errors import RankError
from .int_tuple import as_tree, congruent, modes_of, product, product_each, shown, size
from .ints import ceil_div, fold, known, require_positive
from .layout import Layout, Shape, as_layout


def MakeLayoutTile(layout: Layout, tile: Any) -> Layout:
    """The layout of a tile of `layout`, starting at its origin: the tile's extents, the layout's strides.

    tile      one integer per top-level mode, 1 or more [elements]
    Returns   a nested mode keeps its inner extents (a fractal stays whole), and counts as many of the last as cover the
              tile; origin_shape is as much of the tile as holds valid data of the layout
    Raises    RankError where the ranks differ, RangeError for an extent below 1

    >>> from tla import MakeLayoutTile, MakeShape, parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> print(MakeLayoutTile(a, MakeShape(4, 4)))
    ((_4,1),(_4,1)):((_4,_16),(_1,_32))
    >>> MakeLayoutTile(a, (5, 9))
    parse('((_4,2),(_4,3)):((_4,_16),(_1,_32))', origin_shape=parse('(5,9)'))

    Source: TLA `MakeLayoutTile` (2025); static tiles give static counts here.
    """
    layout = as_layout("MakeLayoutTile", layout)
    tile, extents = as_tree(tile), product_each(layout.shape) if isinstance(layout.shape, tuple) else size(layout)
    if not congruent(tile, extents):
        raise RankError(
            f"tile {shown(tile)} of {shown(layout)}",
            f"extents like {shown(extents)}: one integer per top-level mode",
            "give the size of the tile in each mode",
        )
    for t in modes_of(tile):
        require_positive("MakeLayoutTile", t)
    tiled = [_tile_mode(s, t) for s, t in zip(modes_of(layout.shape), modes_of(tile))]
    new_shape = Shape(*tiled) if isinstance(layout.shape, tuple) else tiled[0]
    return Layout(new_shape, layout.stride, Shape(*map(_smaller, modes_of(tile), layout.origin_shape)))


def _smaller(tile: Any, valid: Any) -> Any:
    """The valid part of a tile: of sizes that are not known, the tile."""
    return tile if known(tile) is None or known(valid) is None else fold("min", min, tile, valid)


def _tile_mode(s: Any, t: Any) -> Any:
    if not isinstance(s, tuple):
        return t
    if not s:
        raise RankError(f"MakeLayoutTile: a tile of {t} of a mode without extents", "a mode with one", "leave that mode out")
    inner = s[:-1]
    return (*inner, _tile_mode(s[-1], ceil_div(t, product(inner))))
