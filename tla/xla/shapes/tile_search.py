"""A tiling for every layout whose digits begin behind all that is below them in memory: tile levels that are a radix
sort of the digits.

The first tile pads every dimension to its digits, the next ones split these off. A level whose entries are 1 or all of
a piece moves the pieces with the whole entries behind the others, and keeps their order: one pass of a radix sort by a
bit of the place. `*` takes up the pieces of 1 that it leaves. A gap in memory is padding: of the piece below it, where
it is whole steps of that; else of all pieces below it, merged, and perhaps cut again.

Source: ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from .array_shape import TileEntry
from .map_chain import Digits, Stage

Tile = tuple[TileEntry, ...]


class _Piece(NamedTuple):
    """An entry of the list that tile levels split and reorder: the slots that it takes, and its place in memory."""

    slots: int
    place: int  # 0 is the most minor; what has no digit is most major


def in_memory(digits: Digits) -> list[tuple[int, int, int, int]]:
    """All digits by stride, the smallest first: stride, extent, dimension, number in it."""
    return sorted((d, s, dim, k) for dim, ds in enumerate(digits) for k, (s, d) in enumerate(ds))


def constructed(stages: Sequence[Stage]) -> tuple[Tile, ...]:
    """The tiles of a row-major array that make these stages, one after the other.

    Behind each stage but the last its pieces are merged into one number, which the next one splits into its own.
    """
    first, *more = stages
    levels, left = _sorted(first.digits)
    for stage in more:
        total = math.prod(stage.sizes)
        levels += [("*",) * (left - 1) + (total,), *_splits(stage.sizes)]
        following, left = _sorted(stage.digits)
        levels += following
    return tuple(levels)


def _splits(sizes: tuple[int, ...]) -> list[Tile]:
    """The levels that split the last number of the list into a row-major index: it ends in one piece for each
    of the sizes.

    Each level takes one off; what it leaves of the others is as many pieces of 1, which the next one merges away.
    """
    return [(sizes[-k], *("*" for _ in range(k - 2)), *sizes[len(sizes) - k + 1 :]) for k in range(1, len(sizes) + 1)]


def _sorted(digits: Digits) -> tuple[list[Tile], int]:
    """The tile levels after which the list, read in row-major order, is memory; and how many pieces hold digits."""
    rank, placed = len(digits), in_memory(digits)
    if not placed:
        return [], 1
    depth = max(map(len, digits))
    levels: list[Tile] = [tuple(math.prod(s for s, _d in ds[:k]) for ds in digits) for k in range(depth, 0, -1)]
    pieces = [_Piece(1, len(placed) + 1)] * rank + _pieces(digits, placed, depth)
    if placed[0][0] > 1:  # nothing is at offset 1: a piece of 1, padded, takes the slots below
        pieces[0] = _Piece(placed[0][0], 0)
    for bit in range((len(placed) + 1).bit_length()):
        tile, pieces = _pass(pieces, bit)
        levels.append(tile)
    gaps, left = _gaps(placed, pieces)
    return levels + gaps, left


def _pieces(digits: Digits, placed: list[tuple[int, int, int, int]], depth: int) -> list[_Piece]:
    """The digits as the splits leave them: the most significant of each dimension first, and 1 where there is none."""
    places = {(dim, k): at + 1 for at, (_d, _s, dim, k) in enumerate(placed)}
    pairs = itertools.pairwise(placed)
    whole = {(dim, k): after // d if after % d == 0 else s for (d, s, dim, k), (after, *_r) in pairs}
    last = len(placed) + 1
    return [
        _Piece(whole.get((dim, k), ds[k][0]), places[dim, k]) if k < len(ds) else _Piece(1, last)
        for k in reversed(range(depth))
        for dim, ds in enumerate(digits)
    ]


def _pass(pieces: list[_Piece], bit: int) -> tuple[Tile, list[_Piece]]:
    """A tile level that moves the pieces whose place has no such bit behind the others; and what it leaves."""
    top = max(p.place for p in pieces)
    tile: list[TileEntry] = []
    counts, inner = [], []
    for at, piece in enumerate(pieces):
        if piece.slots == 1 and piece.place == top and at < len(pieces) - 1:
            tile.append("*")
        elif (top - piece.place) >> bit & 1:
            tile.append(piece.slots)
            counts.append(_Piece(1, top))
            inner.append(piece)
        else:
            tile.append(1)
            counts.append(piece)
            inner.append(_Piece(1, top))
    return tuple(tile), counts + inner


def _gaps(placed: list[tuple[int, int, int, int]], pieces: list[_Piece]) -> tuple[list[Tile], int]:
    """Tile levels that pad what is below a gap that is no whole number of steps: all of it merged, from the
    lowest gap up.

    Where the last step needs less than its whole place, the gap may end inside of that: what is cut off holds nothing,
    and goes in front of all.
    """
    out: list[Tile] = []
    order, unused = pieces, _Piece(1, -1)
    for at, ((d, s, _dim, _k), (following, *_rest)) in enumerate(itertools.pairwise(placed)):
        if following % d:
            # The digit below the gap; what is below it is behind it.
            first = next(k for k, p in enumerate(order) if p.place == at + 1)
            out.append(("*",) * (len(order) - first - 1) + (following,))
            order = [*order[:first], unused, _Piece(following, at + 1)]
            if following < d * s:
                out.append(tuple(p.slots for p in order))
                order = [unused] * len(order) + order
    return out, len(order)
