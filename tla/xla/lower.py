"""XLA's tiled layouts as hierarchical ones: shape:stride, one mode per logical dimension.

Parse, plan, apply. The plan is the digits of every dimension after all tile levels, major to minor: a digit of extent n
at place p is (coordinate // p) % n. Strides are running products of the slots that the digits take.

Source: XLA docs/tiled_layout.md for the meaning; the digits are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import LoweringError
from ..int_tuple import IntTuple
from ..ints import static
from ..layout import Layout
from .grammar import as_shape
from .index import logical_dimensions, physical_dimensions, refuse_pieces
from .shapes import Shape
from .spec import COMBINE, ArrayShape, TileEntry


@dataclass(frozen=True, slots=True)
class Digit:
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


def lower(shape: Shape | str) -> Layout:
    """The layout of an XLA array: one mode per logical dimension, in logical order; offsets in elements.

    Returns   extents padded to whole tiles, numbers static, origin_shape = the dimensions. A mode is coalesced; digits of
              extent 1 are dropped, and a mode with no digit left is _1:_0. Slots that no coordinate reaches (the rows that
              the tile of a scalar pads) count in padded_element_count, not here.
    Raises    ParseError for a text that is no shape; LoweringError for an array that has no such layout, or none that can
              be found yet: a tile that does not divide what it splits, `*` in a tile, SC, a dimension without a bound

    >>> print(lower("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}"))
    (_8,_1,(_2,_4,_160),(_128,_128)):(_20971520,_0,(_1,_256,_131072),(_2,_1024))
    >>> lower("f32[3,5]{1,0:T(2,2)}")
    parse('((_2,_2),(_2,_3)):((_2,_12),(_1,_4))', origin_shape=parse('(_3,_5)'))

    Law: lower(shape)(*index) == linear_index(shape, index) for every index of the array.
    Source: XLA docs/tiled_layout.md; design of tla, section 6.
    """
    shape = as_shape(shape)
    dims = [_merged(ds) for ds in digits(shape)]
    return Layout(
        tuple(_mode([d.extent for d in ds], 1) for ds in dims),
        tuple(_mode([d.stride for d in ds], 0) for ds in dims),
        tuple(static(n) for n in logical_dimensions(shape)),
    )


def digits(shape: Shape | str) -> tuple[tuple[Digit, ...], ...]:
    """The digits of each logical dimension with their strides, the least significant first; those of extent 1 left out.

    >>> [(d.role, d.extent, d.stride) for d in digits("bf16[16,256]{1,0:T(8,128)(2,1)}")[0]]
    [('packing', 2, 1), ('sublane', 4, 256), ('tile', 2, 2048)]
    """
    shape = as_shape(shape)
    placed, stride = [], 1
    for digit in reversed(plan(shape)):
        placed.append(replace(digit, stride=stride))
        stride *= digit.slots
    return tuple(_of_dimension(placed, d, n) for d, n in enumerate(logical_dimensions(shape)))


def plan(shape: Shape | str) -> tuple[Digit, ...]:
    """The digits of all dimensions in the order of memory, major to minor, after every tile level.

    >>> [(d.dimension, d.extent, d.place) for d in plan("f32[3,5]{1,0:T(2,2)}")]
    [(0, 2, 2), (1, 3, 2), (0, 2, 1), (1, 2, 1)]
    """
    shape = as_shape(shape)
    refuse_pieces(shape)
    layout = shape.effective_layout
    out = [Digit(d, n, 1, n, "untiled") for d, n in zip(reversed(layout.minor_to_major), physical_dimensions(shape))]
    for level, tile in enumerate(layout.tiles):
        out = _tiled(out, tile, level, shape)
    return tuple(out)


def _tiled(digits: list[Digit], tile: tuple[TileEntry, ...], level: int, shape: ArrayShape) -> list[Digit]:
    """The digits after one more tile level: those it leaves, the tile counts, the in-tile digits."""
    if COMBINE in tile:
        raise LoweringError(
            f"{shape}: tile {level} combines dimensions (*), which lower does not take yet", "sizes", "linear_index and multi_index take it"
        )
    digits = [Digit(None, 1, 1, 1, "")] * (len(tile) - len(digits)) + digits
    left = len(digits) - len(tile)
    counts, inner = [], []
    for k, (digit, t) in enumerate(zip(digits[left:], tile)):
        assert isinstance(t, int)
        count, part = _split(digit, t, _is_top(digit, digits), level, shape)
        roles = _roles(digit.role, level, t, len(tile) - 1 - k, len(tile))
        counts.append(replace(count, role=roles[0]))
        inner.append(replace(part, role=roles[1]))
    return digits[:left] + counts + inner


def _is_top(digit: Digit, digits: list[Digit]) -> bool:
    """Whether the digit is the most significant of its dimension: then coordinates end inside it, and padding it is free."""
    others = (d for d in digits if d.dimension == digit.dimension and d is not digit)
    return not any(d.place >= digit.place and d.extent != 1 for d in others)


def _split(digit: Digit, t: int, top: bool, level: int, shape: ArrayShape) -> tuple[Digit, Digit]:
    """A digit u as u // t and u % t, where these are digits again."""
    n, place = digit.extent, digit.place
    count = replace(digit, extent=-(-n // t), place=place * t, slots=-(-digit.slots // t))
    if digit.dimension is None:
        return replace(count, extent=1), replace(digit, extent=1, slots=t)
    if n % t == 0 or top:
        return count, replace(digit, extent=t, slots=t)
    if n < t:  # u // t is 0 for every coordinate
        return replace(count, dimension=None), replace(digit, slots=t)
    raise LoweringError(
        f"{shape}: the {t} of tile {level} does not divide the {n} that tile {level - 1} leaves of dimension {digit.dimension}",
        "a tile that divides the tile before it: lower takes no other yet",
        "linear_index and multi_index take it",
    )


def _roles(role: str, level: int, t: int, from_minor: int, rank: int) -> tuple[str, str]:
    """What the count and the in-tile part of a digit are on the chip."""
    if level == 0:
        return "tile", ("lane", "sublane")[from_minor] if from_minor < 2 else "in-tile"
    if rank == 1 and role == "lane":  # T(1024)(128): a one-dimensional tile is folded into rows of 128 lanes
        return "sublane", "lane"
    return role, "packing" if t > 1 else role


def _of_dimension(placed: list[Digit], dimension: int, n: int) -> tuple[Digit, ...]:
    """The digits of a dimension, the least significant first, as far as they count on from one to the next."""
    out: list[Digit] = []
    weight = 1
    for digit in sorted((d for d in placed if d.dimension == dimension and d.extent != 1), key=lambda d: d.place):
        if digit.place != weight:
            # Padding left a gap below it, and padding does so at the top only: no coordinate reaches this digit.
            assert digit.place >= n
            break
        out.append(digit)
        weight *= digit.extent
    return tuple(out)


def _merged(digits: tuple[Digit, ...]) -> list[Digit]:
    """Digits of one dimension, neighbours merged where the second goes on in memory where the first ends."""
    out: list[Digit] = []
    for digit in digits:
        if out and digit.stride == out[-1].extent * out[-1].stride:
            out[-1] = replace(out[-1], extent=out[-1].extent * digit.extent)
        else:
            out.append(digit)
    return out


def _mode(numbers: list[int], empty: int) -> object:
    """The shape or stride of a mode: one static integer, or a tuple of them."""
    leaves = [static(n) for n in numbers or [empty]]
    return leaves[0] if len(leaves) == 1 else IntTuple(*leaves)
