"""Rules for colours, as a table: each gives a colour to every cell of a drawing."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..algebra.image import outer_sums
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..core.ints import IntTree, IntTupleLike, is_int, known
from ..core.swizzle import Swizzle
from .colours import HUES, RAMP, TINTS, colour, ramp, tint
from .drawable import Tiling, View

#: The rules of banks: shared memory of NVIDIA, and the unified buffer of Ascend, have so many banks, of so many bits.
BANKS = {"bank": (32, 32), "ub_bank": (16, 256)}


#: Up to so many colours have numbers, where there are more than hues: more are no help.
MOST_NUMBERS = 2**12


class Numbers(NamedTuple):
    """A number for each cell of a view, and what it is.

    what    what one colour is
    name    of one number, for the legend; None for no legend
    fill    of one number
    """

    of: Sequence[int]
    what: str
    name: Callable[[int], str] | None = None
    fill: Callable[[int], str] = tint


class Paint(NamedTuple):
    """The colour of a cell, None for none, and its number, "" where the colours of a drawing are told apart without."""

    fill: str | None = None
    mark: str = ""


class Painted(NamedTuple):
    """paints: of each cell; by_place: whether the rule gives each offset its colour, whatever the layout."""

    paints: Sequence[Paint]
    legend: tuple[tuple[str, str], ...] = ()
    caption: str = ""
    by_place: bool = False


def paint(view: View, color_by: object, tile: tuple[int, ...] | None) -> Painted:
    """The colours of a view by a rule, or by a function of (coord, offset).

    Raises RangeError for an unknown rule or colour
    """
    if callable(color_by):
        return _chosen(view, color_by)
    if not isinstance(color_by, str) or color_by not in RULES:
        expected = f"auto, one of {', '.join(RULES)}, or a function of (coord, offset)"
        raise RangeError(f"color_by {color_by!r:.60}", expected, "write color_by='tile'")
    rule, by_place = RULES[color_by]
    numbers = rule(view, tile)
    if numbers is None:
        return Painted([Paint()] * len(view.values))
    present = sorted({*numbers.of})
    marked = len(HUES) < len(present) <= MOST_NUMBERS and numbers.fill is not ramp  # a ramp is no set of colours
    table = {n: Paint(numbers.fill(n), str(n) if marked else "") for n in present}
    name = numbers.name if len(table) <= TINTS else None
    legend = tuple((cell.fill or "", name(n)) for n, cell in table.items()) if name else ()
    caption = f"colours: {numbers.what}{', each with its number' if marked else ''}"
    return Painted([table[n] for n in numbers.of], legend, caption, by_place)


def auto(views: Sequence[View]) -> str:
    """The rule that shows most: banks of what is swizzled, tiles if a layout has several, else the order of offsets."""
    swizzled = (v for v in views if isinstance(getattr(v.subject.layout, "outer", None), Swizzle))
    if any(v.has_numbers for v in swizzled):
        return "bank"
    if not views[0].has_numbers or len({*views[0].values}) < 2 or any(_by_tile(v, None) is not None for v in views):
        return "tile"
    return "offset"


def _chosen(view: View, f: Callable[..., Any]) -> Painted:
    """The colours that a function chooses; more of them than there are hues have the numbers that it gave."""
    _require_of_two(f)
    cells = zip(view.coords, view.values, view.padding)
    found = [None if padding else f(coord, value) for coord, value, padding in cells]
    fills = [*map(colour, found)]
    marked = len({*fills} - {None}) > len(HUES) and len({x for x in found if is_int(x)}) <= MOST_NUMBERS
    return Painted([Paint(fill, str(x) if marked and is_int(x) else "") for fill, x in zip(fills, found)])


def _require_of_two(f: Callable[..., Any]) -> None:
    """LeafTypeError for a function that cannot be called with a coordinate and an offset."""
    try:
        inspect.signature(f).bind((), 0)
    except TypeError as why:
        what = f"color_by the function {getattr(f, '__name__', f)!s:.60}: {why}"
        raise LeafTypeError(what, "a function of (coord, offset)", "write color_by=lambda coord, offset: ...") from None
    except ValueError:  # a builtin that has no signature
        return


# ------------------------------------------------------------------------------------------------- rules


def _by_tile(view: View, tile: tuple[int, ...] | None) -> Numbers | None:
    tiling = Tiling(tile) if tile else view.tiling
    ends = [(s // t, (s + max(n, 1) - 1) // t + 1) for s, t, n in zip(view.start, tiling.extents, view.extents)]
    counts = [min(k or high - low, high - low) for (low, high), k in zip(ends, tiling.counts or (0,) * len(ends))]
    if math.prod(counts) <= 1:
        return None  # one tile is all of it
    if math.prod(counts) <= TINTS:  # each has a colour of its own, in order
        weights, colours = [*itertools.accumulate((1, *counts[:-1]), operator.mul)], TINTS
    else:  # 3 apart down, 1 apart across: no two tiles of a grid that touch, at a corner either, have one number
        weights, colours = [{view.axes[0]: 3, view.axes[1]: 1}.get(k, 5) for k in range(len(counts))], len(HUES)
    modes = zip(view.shape, view.start, tiling.extents, ends, counts, weights)
    tiles = [[((c + s) // t - low) % k * weight for c in range(n)] for n, s, t, (low, _), k, weight in modes]
    return Numbers([n % colours for n in outer_sums(tiles)], f"tiles of {tiling}")


def _by_offset(view: View, tile: IntTupleLike) -> Numbers:
    values = _offsets(view)
    low, high = (min(values), max(values)) if values else (0, 0)
    steps = [(n - low) * (RAMP - 1) // max(high - low, 1) for n in values]
    return Numbers(steps, f"offsets from {low}, light, to {high}, dark", None, ramp)


def bank_colour(n: int) -> str:
    """The colour of a bank: four, 16 bytes, have one hue: what one thread of a vector access takes."""
    return tint(n // 4 + 8 * (n % 4))


def _by_bank(name: str) -> Callable[[View, Any], Numbers]:
    count, width = BANKS[name]

    def rule(view: View, tile: IntTupleLike) -> Numbers:
        element = view.subject.element_width
        bits = element.bits
        period = count * width // math.gcd(count * width, bits)  # after so many elements the first bank comes again
        banks = [n * bits // width % count for n in range(period)]
        what = f"banks of {width // 8} bytes, elements of {element}"
        return Numbers([banks[n % period] for n in _offsets(view)], what, str, bank_colour)

    return rule


def _by_thread(view: View, tile: IntTupleLike) -> Numbers:
    threads = [range(n) if k == 0 else [0] * n for k, n in enumerate(view.shape)]
    return Numbers(outer_sums(threads), "threads, the index of mode 0", lambda n: f"T{n}")


def _by_role(role: str) -> Callable[[View, Any], Numbers]:
    def rule(view: View, tile: IntTupleLike) -> Numbers:
        if not any(view.subject.digits):
            what = f"color_by {role!r} of {shown(view.subject.layout)}"
            fix = "draw xla.parse_shape(text) of one, or use color_by='tile'"
            raise LeafTypeError(what, "an XLA shape with tiles", fix)
        numbers, extent = [[0] * n for n in view.shape], 1
        for k, digits in enumerate(view.subject.digits):
            for d in digits:
                if d.role == role:
                    numbers[k] = [n + c // d.place % d.extent * extent for c, n in enumerate(numbers[k])]
                    extent *= d.extent
        return Numbers(outer_sums(numbers), role, lambda n: f"{role} {n}")

    return rule


#: name -> the rule, and whether it gives each offset its colour, whatever the layout.
RULES: dict[str, tuple[Callable[[View, Any], Numbers | None], bool]] = {
    "tile": (_by_tile, False),
    "offset": (_by_offset, False),
    **{name: (_by_bank(name), True) for name in BANKS},
    "thread": (_by_thread, False),
    "lane": (_by_role("lane"), False),
    "sublane": (_by_role("sublane"), False),
    "packing": (_by_role("packing"), False),
    "none": (lambda view, tile: None, False),
}


def _offsets(view: View) -> Sequence[int]:
    if not view.has_numbers:
        what = f"color_by the offsets of {shown(view.subject.layout)}, which are no integers"
        raise LeafTypeError(what, "known offsets", "use color_by='tile'")
    return view.values


def checked_tile(view: View, tile: IntTree | None) -> tuple[int, ...] | None:
    """A tile as one extent for each top-level mode; None for none."""
    if tile is None:
        return None
    extents = tile if isinstance(tile, tuple) else (tile,)
    what = f"tile {shown(tile)} of {shown(view.subject.layout)}"
    fix = "give the size of the tile in each mode, as in tile=(4, 8)"
    if len(extents) != len(view.extents):
        raise RankError(what, f"{len(view.extents)} integers, one per top-level mode", fix)
    if not all(is_int(t) and (known(t) or 0) > 0 for t in extents):
        raise RangeError(what, "integers of 1 or more", fix)
    return tuple(min(int(t), max(n, 1)) for t, n in zip(extents, view.extents))
