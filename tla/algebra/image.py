"""All values of a layout in a box of coordinates, without numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..core.composed import ComposedLayout
from ..core.int_tuple import leaves
from ..core.ints import IntLike, IntTree, is_int, known
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from ..core.swizzle import Swizzle


class Image(NamedTuple):
    """The values of a layout in a box.

    first    the value at the origin, whose nesting all have
    leaves   for each leaf of a value its integers, one for each coordinate
    """

    first: Any
    leaves: list[list[int]]


def at_index(layout: AnyLayout, index: tuple[Any, ...]) -> IntTree:
    """The value at an index that has a number for each mode."""
    return layout(*index) if isinstance(layout.shape, tuple) and index else layout(index[0] if index else ())


def outer_sums(parts: Iterable[Sequence[int]]) -> list[int]:
    """A number from each part, added up, for every choice; the last part goes fastest.

    >>> outer_sums([(0, 10), (1, 2, 3)])
    [1, 2, 3, 11, 12, 13]
    """
    found = [0]
    for part in parts:
        found = [n + x for n in found for x in part]
    return found


def image(layout: Any, box: Sequence[int], first_fastest: bool = False) -> Image | None:
    """The values at every coordinate of a box of one number or more for each mode; None where one of them is not known.

    first_fastest   the first mode goes fastest, as an index does; else the last one

    >>> from tla import parse
    >>> image(parse("Sw<1,0,1> o _0 o (2,2):(1,2)"), (2, 2)).leaves, image(parse("(2,2):(1,2)"), (2, 2), True).leaves
    ([[0, 3, 1, 2]], [[0, 1, 2, 3]])
    >>> image(parse("(2,2):(1@0,1@1)"), (2, 2)).leaves
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    found = _added(layout, box, first_fastest)
    if found is None:
        indices: Iterable[tuple[int, ...]] = itertools.product(*map(range, box[::-1] if first_fastest else box))
        values = [at_index(layout, index[::-1] if first_fastest else index) for index in indices]
        rows = [[*leaves(x)] for x in values]
        if not all(_is_number(n) for row in rows for n in row):
            return None
        found = Image(values[0], [[int(n) for n in column] for column in zip(*rows)])
    return found


def _is_number(x: IntLike) -> bool:
    return is_int(x) and known(x) is not None


def _added(layout: Any, box: Sequence[int], first_fastest: bool) -> Image | None:
    """The image of a layout whose modes add up, or of a function of these; None where values have to be asked
    one by one."""
    if isinstance(layout, ComposedLayout) and _is_number(layout.offset):
        inner, outer, offset = _added(layout.inner, box, first_fastest), layout.outer, int(layout.offset)
        if inner is None or not is_int(inner.first) or not _is_number(outer(0)):
            return None
        moved = [offset + x for x in inner.leaves[0]]
        found = outer.each(moved) if isinstance(outer, Swizzle) else [int(outer(x)) for x in moved]
        return Image(found[0], [found])
    if not isinstance(layout, Layout):
        return None
    zero = (0,) * len(box)
    parts = [[at_index(layout, (*zero[:k], i, *zero[k + 1 :])) for i in range(n)] for k, n in enumerate(box)]
    columns = [[[*leaves(x)] for x in part] for part in (parts[::-1] if first_fastest else parts)]
    if not all(_is_number(n) for part in columns for x in part for n in x):
        return None
    first = at_index(layout, zero)
    count = len([*leaves(first)])
    if not math.prod(box):
        return None
    return Image(first, [outer_sums([[int(x[j]) for x in part] for part in columns]) for j in range(count)])
