"""An array's shape in the form in which XLA prints it, taken apart by one regular expression.

Nearly all shapes have this form. Of any other (blanks, comments, rare properties, errors) the answer is None, and the reader of grammar.py,
which goes token by token, reads it or says what is wrong.

Law: where `array_at` answers, that reader gives the same.
Source: XLA xla/shape_util.cc and xla/layout.cc (their printers).
"""

from __future__ import annotations

import math
import re

from ..core.arrays import INT64_MAX
from ..core.cache import plain_memo
from ..core.value import new_value
from .array_shape import BITS, MAX_TILES, ArrayLayout, ArrayShape, unchecked_layout

_INTS = r"[0-9]{1,18}(?:,[0-9]{1,18})*"
_SHAPE = re.compile(
    rf"([a-z][a-z0-9]*)\[((?:{_INTS})?)\]"
    rf"(?:\{{((?:{_INTS})?)(?::(?=[TES])(?:T((?:\({_INTS}\))+))?(?:E\(([1-9][0-9]?)\))?(?:S\(([1-9][0-9]?)\))?)?(?<!\{{)\}})?(?=[,)]|\Z)"
)


def array_at(text: str, at: int) -> tuple[ArrayShape, int] | None:
    """The array whose shape stands in a text at a position, and where it ends.

    >>> shape, end = array_at("(s32[], f32[8,128]{1,0:T(8,128)S(1)})", 8)
    >>> print(shape, end)
    f32[8,128]{1,0:T(8,128)S(1)} 36
    """
    found = _SHAPE.match(text, at)
    array = found and _array(*found.groups())
    return (array, found.end()) if found and array else None


@plain_memo
def _array(name: str, dims: str, order: str | None, tiles: str | None, bits: str | None, space: str | None) -> ArrayShape | None:
    """The array of these texts; None where it is not plain that they fit each other."""
    sizes, own = _ints(dims), BITS.get(name, 0)
    layout, entries = (None, 1) if order is None else _layout(order, tiles, bits, space)
    if not own or not entries or math.prod(sizes) * entries * max(own, 8) > INT64_MAX:
        return None
    if layout is not None and (len(layout.minor_to_major) != len(sizes) or not _may_have(own, layout.element_size_in_bits)):
        return None
    return new_value(ArrayShape, element_type=name, dimensions=sizes, layout=layout, dynamic=(False,) * len(sizes))


@plain_memo
def _layout(order: str, tiles: str | None, bits: str | None, space: str | None) -> tuple[ArrayLayout, int]:
    """The layout of these texts, and how many times larger its tiles make an array at most; 0 where it may be none.

    Proof: a tile of t makes at most n*t of a dimension of n.
    """
    minor_to_major, levels = _ints(order), tuple(map(_ints, tiles[1:-1].split(")("))) if tiles else ()
    valid = sorted(minor_to_major) == [*range(len(minor_to_major))] and len(levels) <= MAX_TILES
    numbers = {"element_size_in_bits": int(bits or 0), "memory_space": int(space or 0)}
    layout = unchecked_layout(minor_to_major, tiles=levels, **numbers)
    return layout, valid * math.prod(map(math.prod, levels))


def _may_have(own: int, given: int) -> bool:
    """Whether E(given) may stand on a type of `own` bits."""
    return given in (0, own) or (own < 8 and given in (8, 16, 32))


def _ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
