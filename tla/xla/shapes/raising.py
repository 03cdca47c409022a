"""From a layout back to XLA: the minor_to_major and the tiles that have its map.

Candidates are tried: the compiler's own choice, then tilings of ever more levels, at each those of real programs first.
The first one that lowers to the very layout is taken, padding included; if there is none, the first one with the same
offsets. At the end stands a construction that has a spec for every layout whose digits begin behind all that is below
them in memory.

Source: ours; the families are those of 313 programs compiled for TPU.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any

from ...core.composed import ComposedLayout
from ...core.digits import ENUMERABLE, reached
from ...core.errors import LoweringError, TlaError
from ...core.int_tuple import product_each, shown
from ...core.ints import known
from ...core.layout import Layout, as_layout, require_origin
from .array_shape import COMBINE, ArrayLayout, ArrayShape
from .default import default_layout
from .foreign import type_name
from .lower import lower
from .map_chain import Digits, Stage, offsets_in, stages_of
from .tile_padding import Digit, plan
from .tile_search import Tile, constructed, in_memory

Tiling = tuple[tuple[int, ...], tuple[Tile, ...]]  # minor_to_major and tiles

#: As many tilings of few levels are tried before one is constructed.
TRIED = 2000

#: The tilings of real programs, the most frequent first.
FAMILIES: tuple[tuple[Tile, ...], ...] = (
    *(((8, 128),), ((8, 128), (2, 1)), ((128,),), ((4, 128),), (), ((8, 128), (4, 1)), ((4, 128), (2, 1))),
    *(((1024,),), ((256,),), ((1, 128),), ((1024,), (128,), (4, 1)), ((1024,), (128,), (2, 1)), ((2, 128),)),
    *(((2, 128), (2, 1)), ((512,),), ((8, 128), (8, 1)), ((4, 128), (4, 1)), ((8,),), ((16, 128), (2, 1)), ((16,),)),
    *(((256,), (128,), (2, 1)), ((32,),), ((16, 128), (4, 1)), ((32, 128), (4, 1)), ((32, 128), (8, 1))),
    *(((512,), (128,), (4, 1)), ((512,), (128,), (2, 1)), ((16, 128),), ((32, 128),)),
)


def raise_(layout: Layout | ComposedLayout, element_type: Any = "f32") -> ArrayShape:
    """The XLA shape that lowers to a layout, padding included, if there is one; else one with the same offsets
    in the array.

    layout         its origin_shape is the array's; offsets in elements
    element_type   XLA's name, or a dtype; it has no part in the map, only in the choice
    Returns        of the shapes that do, the compiler's own choice, then the fewest tiles; else a tiling
                   that is constructed
    Raises         LoweringError where none is known: strides of 0 or less and offsets, which no tiling has; swizzles,
                   and places that interleave

    >>> from tla import parse
    >>> print(raise_(parse("((_2,_4,_160),(_128,_128)):((_1,_256,_131072),(_2,_1024))"), "bf16"))
    bf16[1280,16384]{1,0:T(8,128)(2,1)}
    >>> print(raise_(parse("(3,5):(1,3)")), raise_(parse("((2,2),(2,3)):((2,12),(1,4))", origin_shape=(3, 5))))
    f32[3,5]{0,1} f32[3,5]{1,0:T(2,2)}
    >>> print(raise_(lower("f32[6,10]{1,0:T(3,5)(2,2)}")))
    f32[6,10]{1,0:T(3,5)(2,2)}
    >>> print(raise_(parse("_140:_1"), "f64"), raise_(parse("_256:_1", origin_shape=(140,)), "f64"))
    f64[140]{0} f64[140]{0:T(256)}

    Law: lower(raise_(a)) and a are the same function on the valid part of a, and where a shape can have it
    on the padding too.
    Source: XLA docs/tiled_layout.md has the way there; the way back is ours.
    """
    if not isinstance(layout, ComposedLayout):
        as_layout("raise_", layout)
    element_type = type_name(element_type)
    ArrayShape(element_type, ())  # which checks the type
    sizes = tuple(known(n) for n in require_origin("raise_", layout))
    if 0 in sizes and None not in sizes:  # there is nothing that a map could differ in
        return ArrayShape(element_type, sizes, ArrayLayout(tuple(reversed(range(len(sizes))))))
    if None in sizes:
        what = f"raise_ of {shown(layout)}: its sizes are not known"
        raise LoweringError(what, "numbers", "give its symbols values: n.at(M=100)")
    stages = stages_of(layout, sizes)
    for stage in stages:
        _require_clear(layout, stage)
    similar, padded = None, _padded(layout)
    for candidate in _candidates(element_type, stages, padded):
        try:
            found = ArrayShape(element_type, stages[0].sizes, candidate)
            lowered = lower(found)
            if padded is not None and _padded(lowered) == padded:
                if _same_map(lowered, layout, stages):
                    return found
            elif similar is None and _same_map(lowered, layout, stages):
                similar = found
        except TlaError:  # a tile that overflows, for example
            continue
    whole = None if padded is None else _constructed(layout, element_type, stages, padded)
    if whole is not None and _padded(lower(whole)) == padded:
        return whole
    if (other := similar or whole or _constructed(layout, element_type, stages, stages)) is not None:
        return other
    what = f"raise_ of {shown(layout)}"
    raise LoweringError(what, "the map of a tiling of 64-bit sizes", "raise a part of it: a tile, or a mode")


def _padded(layout: Layout | ComposedLayout) -> list[Stage] | None:
    """The stages of a layout over all its extents, padding too; None for a chain whose padding passes the next part."""
    try:
        return stages_of(layout, tuple(map(known, product_each(layout.shape))))
    except LoweringError:
        return None


def _constructed(
    layout: Layout | ComposedLayout, element_type: str, stages: list[Stage], wanted: list[Stage]
) -> ArrayShape | None:
    """The shape that `tile_search` constructs, which has the map by its proof; where that can be checked, it is."""
    sizes = stages[0].sizes
    try:
        found = ArrayShape(element_type, sizes, ArrayLayout(tuple(reversed(range(len(sizes)))), constructed(wanted)))
        if _same_map(lower(found), layout, stages) or (len(stages) > 1 and math.prod(sizes) > ENUMERABLE):
            return found
    except TlaError:  # of numbers past 64 bits, for example
        pass
    return None


def _require_clear(layout: Layout | ComposedLayout, stage: Stage) -> None:
    reach = 1
    for d, s, number, _k in in_memory(stage.digits):
        if d < reach:
            why = f"the stride {d} of {number} is inside of what is below it, which reaches up to {reach}"
            expected = "strides of 1 or more, each past all that the smaller ones reach"
            raise LoweringError(f"raise_ of {shown(layout)}: {why}", expected, f"make that stride {reach} or more")
        reach += d * (s - 1)


def _same_map(found: Layout | ComposedLayout, layout: Layout | ComposedLayout, stages: list[Stage]) -> bool:
    """Whether offsets in the array are proved equal: by stages; of composed layouts, everywhere if that is short."""
    sizes = stages[0].sizes
    if stages_of(found, sizes) == stages:
        return True
    if not isinstance(layout, ComposedLayout) or math.prod(sizes) > ENUMERABLE:
        return False
    return bool((offsets_in(found, sizes) == offsets_in(layout, sizes)).all())


# ------------------------------------------------------------------------------------------------ candidates


def _candidates(element_type: str, stages: list[Stage], padded: list[Stage] | None) -> Iterator[ArrayLayout]:
    sizes, wanted = stages[0]
    if len(stages) == 1:
        yield from _chosen(element_type, sizes, wanted)
        whole = wanted if padded is None else padded[0].digits
        tilings = [*_usual(wanted), *itertools.islice(_cuts(whole), TRIED), *itertools.islice(_cuts(wanted), TRIED)]
        tilings = [*dict.fromkeys(tilings)]
        tilings.sort(key=lambda tiling: len(tiling[1]))  # which keeps the order of those with as many levels
    else:
        tilings = [*itertools.islice(_joined(stages), TRIED)]
    yield from itertools.starmap(ArrayLayout, tilings)


def _orders(wanted: Digits) -> list[tuple[int, ...]]:
    """Orders of dimensions, minor to major, that strides suggest: by the largest, by the smallest, and as they are."""
    rank = len(wanted)
    largest = sorted(range(rank), key=lambda i: (wanted[i][-1][1] if wanted[i] else math.inf, -i))
    smallest = sorted(range(rank), key=lambda i: (wanted[i][0][1] if wanted[i] else math.inf, -i))
    natural = [*reversed(range(rank))]
    swapped = [*largest[1::-1], *largest[2:]]
    return [*dict.fromkeys(map(tuple, (natural, largest, smallest, swapped)))]


def _chosen(element_type: str, sizes: tuple[int, ...], wanted: Digits) -> Iterator[ArrayLayout]:
    """The layout that the compiler would choose, then its tiles for each order of the dimensions."""
    for order in (None, *_orders(wanted)):
        # tiles depend on the second minor dimension alone; of 128 columns it transposes none
        dims = sizes if order is None or len(sizes) < 2 else (sizes[order[1]], 128)
        try:
            layout = default_layout(element_type, dims).layout
        except TlaError:  # a tile that overflows, or a type that was not measured
            continue
        if layout is not None:
            yield layout if order is None else layout._replace(minor_to_major=order)


def _usual(wanted: Digits) -> Iterator[Tiling]:
    for tiles, order in itertools.product(FAMILIES, _orders(wanted)):
        yield order, tiles


def _cuts(wanted: Digits) -> Iterator[Tiling]:
    """One level of tiles, then two, whose sizes are products of digits, or of the slots that these take."""
    slots = _slots(wanted)
    for order in _orders(wanted):
        choices = [_products(wanted[i], slots[i]) for i in reversed(order)]
        for k in range(1, min(len(order), 3) + 1):
            for tile in itertools.product(*choices[len(choices) - k :]):
                yield order, (tile,)
    for order in _orders(wanted)[:2]:
        minor = [_products(wanted[i], slots[i])[:4] for i in reversed(order)][-2:]
        for tile in itertools.product(*minor):
            inner = [[t for t in sizes if t <= n] for sizes, n in zip(minor, tile)]
            for second in itertools.product(*inner):
                yield order, (tile, second)


def _joined(stages: list[Stage]) -> Iterator[Tiling]:
    """Tilings of few levels of each stage by itself, one behind the other."""
    following = [*(stage.sizes for stage in stages[1:]), ()]
    made = (_of_stage(stage, sizes, k == 0) for k, (stage, sizes) in enumerate(zip(stages, following)))
    each = [itertools.islice(tilings, 4) for tilings in made]
    for (order, tiles), *more in itertools.product(*each):
        levels, left = tiles, _left(stages[0], order, tiles)
        for stage, (natural, (head, *rest)) in zip(stages[1:], more):
            levels += (_merging(left, stage.sizes, head), *rest)
            left = _left(stage, natural, (head, *rest))
        yield order, levels


def _of_stage(stage: Stage, following: tuple[int, ...], is_first: bool) -> Iterator[Tiling]:
    """Tilings of few levels that make a stage, from the first one on in row-major order and with a tile that merges."""
    natural = tuple(reversed(range(len(stage.sizes))))
    untiled: list[Tiling] = [(order, ()) for order in _orders(stage.digits)]
    for order, tiles in itertools.islice(itertools.chain(untiled, _cuts(stage.digits)), TRIED // 4):
        if is_first or (tiles and order == natural):
            try:
                pieces = _left(stage, order, tiles)
            except TlaError:
                continue
            if _made(pieces, stage.sizes, following) == stage.digits:
                yield order, tiles


def _left(stage: Stage, order: tuple[int, ...], tiles: tuple[Tile, ...]) -> tuple[Digit, ...]:
    """The digits that tiles leave of a stage, major to minor."""
    return plan(ArrayShape("f32", stage.sizes, ArrayLayout(order, tiles)))


def _made(pieces: tuple[Digit, ...], sizes: tuple[int, ...], following: tuple[int, ...]) -> Digits:
    """The digits of numbers below `sizes` where these pieces lie in memory, or are merged into the next numbers."""
    weights = [1]
    for group, n in zip(_groups(pieces, following or (math.inf,)), (*reversed(following), 1)):
        first = weights.pop()
        weights += itertools.accumulate((p.slots for p in group), operator.mul, initial=first)
        weights[-1] = first * n
    placed = sorted(zip((p.place for p in pieces), pieces, reversed(weights[:-1])), key=lambda x: x[0])
    modes = ([(p.extent, w) for _, p, w in placed if p.dimension == k and p.extent > 1] for k in range(len(sizes)))
    return [*map(reached, modes, sizes)]


def _groups(pieces: tuple[Digit, ...], sizes: tuple[float, ...]) -> list[list[Digit]]:
    """The pieces that make up each number below `sizes`, the minor-most number and piece first; numbers left are 1."""
    left, groups = [*pieces], []
    for at in reversed(range(len(sizes))):
        group = [left.pop()] if left else []
        while left and (at == 0 or (len(left) > at and math.prod(p.slots for p in (*group, left[-1])) <= sizes[at])):
            group.append(left.pop())
        groups.append(group)
    return groups


def _merging(pieces: tuple[Digit, ...], sizes: tuple[int, ...], tile: Tile) -> Tile:
    """The tile of numbers below `sizes` as one of the pieces that make them up: `*` merges a piece with the next."""
    groups = _groups(pieces, sizes)
    merged = [k + 1 for k, group in enumerate(groups) if len(group) > 1]
    whole = (1,) * (max([len(tile), *merged]) - len(tile)) + tile
    pairs = zip(reversed(groups[: len(whole)]), whole)
    return tuple(itertools.chain(*((*(COMBINE,) * (len(group) - 1), t) for group, t in pairs)))


def _slots(wanted: Digits) -> list[list[int]]:
    """The number of steps of memory that each digit takes, up to the next one."""
    placed = in_memory(wanted)
    out = [[s for s, _d in digits] for digits in wanted]
    for (d, _s, dim, k), (following, *_rest) in itertools.pairwise(placed):
        out[dim][k] = following // d
    return out


def _products(digits: list[tuple[int, int]], slots: list[int]) -> list[int]:
    """Tile sizes that end where a digit does, or where its padding does; 1 for a dimension that no tile cuts."""
    out, weight = [1], 1
    for (s, _d), n in zip(digits, slots):
        out += [weight * s, weight * n]
        weight *= s
    return [*dict.fromkeys(out)]
