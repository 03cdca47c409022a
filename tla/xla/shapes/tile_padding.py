"""Tiles of XLA split the digits of each dimension, and pad them: the plan of a lowering, as plain data.

A digit of extent n at place p is (coordinate // p) % n. A tile of t leaves u // t, the count of tiles, and u % t, the
place in one, which takes t slots of memory whatever n is: that is the padding. The count is rounded up.

Source: XLA docs/tiled_layout.md for the meaning; the digits are ours.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import LoweringError
from ...core.leaf_arithmetic import ceil_div
from .array_shape import COMBINE, ArrayShape, TileEntry
from .grammar import as_shape
from .index import physical_dimensions, refuse_pieces
from .values import Shape


class Digit(NamedTuple):
    """A piece of a dimension's coordinate, and the memory it takes.

    dimension   logical dimension; None for slots that no coordinate reaches
    extent      how many values it takes: it is (coordinate // place) % extent
    place       what one step of it is in the coordinate [elements]
    slots       how many steps of memory it takes; more than extent where a tile pads it
    stride      what one step of it is in memory [elements]; 0 in a plan, set when the plan is applied
    role        what it is on the chip: lane, sublane, packing, tile; untiled
    """

    dimension: int | None
    extent: int
    place: int
    slots: int
    role: str
    stride: int = 0


#: What no element reaches: in front of the digits that a longer tile asks for.
UNREACHED = Digit(None, 1, 1, 1, "")


def plan(shape: Shape | str) -> tuple[Digit, ...]:
    """The digits of all dimensions in the order of memory, major to minor, after every tile level.

    Raises LoweringError where a tile cuts what is no digit: then `lower` has more plans than one.

    >>> [(d.dimension, d.extent, d.place) for d in plan("f32[3,5]{1,0:T(2,2)}")]
    [(0, 2, 2), (1, 3, 2), (0, 2, 1), (1, 2, 1)]
    """
    shape = as_shape(shape)
    out = untiled(shape)
    for level, tile in enumerate(shape.effective_layout.tiles):
        out = tiled(out, tile, level, shape)
    return tuple(out)


def untiled(shape: ArrayShape) -> list[Digit]:
    """The digits before any tile: each dimension is one, in the order of memory."""
    refuse_pieces(shape)
    order = reversed(shape.effective_layout.minor_to_major)
    return [Digit(d, n, 1, n, "untiled") for d, n in zip(order, physical_dimensions(shape))]


def tiled(digits: list[Digit], tile: tuple[TileEntry, ...], level: int, shape: ArrayShape) -> list[Digit]:
    """The digits after one more tile level: those it leaves, the tile counts, the in-tile digits."""
    if COMBINE in tile:
        what = f"{shape}: tile {level} combines dimensions (*): one plan does not do"
        raise LoweringError(what, "tiles of sizes", "use xla.lower, which composes several plans")
    digits = [UNREACHED] * (len(tile) - len(digits)) + digits
    left = len(digits) - len(tile)
    tops = _tops(digits) if level else {}  # before the first tile each digit is all of its dimension
    counts, inner = [], []
    for k, (digit, t) in enumerate(zip(digits[left:], tile)):
        assert isinstance(t, int)
        top = digit.dimension not in tops or digit.place >= tops[digit.dimension] + (digit.extent == 1)
        count, part = _split(digit, t, top, _roles(digit.role, level, t, len(tile) - 1 - k, len(tile)), level, shape)
        counts.append(count)
        inner.append(part)
    return digits[:left] + counts + inner


def _tops(digits: list[Digit]) -> dict[int | None, int]:
    """The place of the most significant digit of each dimension: coordinates end inside of it, and padding it is free.

    A digit of extent 1 counts only where there is no other.
    """
    tops: dict[int | None, int] = {}
    for digit in digits:
        if digit.extent != 1:
            tops[digit.dimension] = max(tops.get(digit.dimension, digit.place), digit.place)
    return tops


def _split(
    digit: Digit, t: int, top: bool, roles: tuple[str, str], level: int, shape: ArrayShape
) -> tuple[Digit, Digit]:
    """A digit u as u // t and u % t, where these are digits again, with their roles."""
    dimension, n, place, slots, _role, _stride = digit
    counts, pieces = ceil_div(n, t), ceil_div(slots, t)
    if dimension is None:
        return UNREACHED._replace(slots=pieces, role=roles[0]), UNREACHED._replace(slots=t, role=roles[1])
    if top or n % t == 0:
        return Digit(dimension, counts, place * t, pieces, roles[0]), Digit(dimension, t, place, t, roles[1])
    if n < t:  # u // t is 0 for every coordinate
        return UNREACHED._replace(slots=pieces, role=roles[0]), Digit(dimension, n, place, t, roles[1])
    left = f"the {n} that tile {level - 1} leaves of dimension {digit.dimension}"
    what = f"{shape}: the {t} of tile {level} does not divide {left}"
    expected = "a tile that divides the tile before it, for one plan"
    raise LoweringError(what, expected, "use xla.lower, which composes several plans")


def _roles(role: str, level: int, t: int, from_minor: int, rank: int) -> tuple[str, str]:
    """The roles on the chip of a digit's count and of its part in the tile."""
    if level == 0:
        return "tile", ("lane", "sublane")[from_minor] if from_minor < 2 else "in-tile"
    if rank == 1 and role == "lane":  # T(1024)(128): a one-dimensional tile is folded into rows of 128 lanes
        return "sublane", "lane"
    return role, "packing" if t > 1 else role
