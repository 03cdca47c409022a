"""Layouts of a tile that kernels have: plain, swizzled, padded, with rotated rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.composed import ComposedLayout
from ..core.ints import Int, static
from ..core.layout import Layout
from ..core.swizzle import make_swizzle
from ..linear import LinearLayout, bits, layout_of

_0 = Int[0]()


class Candidate(NamedTuple):
    """A layout that is linear over bits.

    columns   what each bit of the tile's index adds to the offset
    layout    the layout whose columns these are, but for the swizzle
    swizzle   its bits, base and shift; of no bits it is none
    """

    columns: list[int]
    layout: Any
    swizzle: tuple[int, int, int] = (0, 0, 0)

    def built(self) -> Any:
        """The layout."""
        return ComposedLayout(make_swizzle(*self.swizzle), _0, self.layout) if self.swizzle[0] else self.layout


def orders(rank: int) -> list[tuple[int, ...]]:
    """Orders of the dimensions, fastest first: the last first, as in C, then the first."""
    return [*itertools.permutations(range(rank))][::-1] if rank <= 3 else [tuple(range(rank))[::-1], tuple(range(rank))]


def plain(shape: Sequence[int]) -> list[Candidate]:
    """The plain layouts of a tile."""
    return [Candidate(_columns(shape, order), _compact(shape, order)) for order in orders(len(shape))]


def permuted(shape: Sequence[int], begin: Sequence[int]) -> Iterator[Candidate]:
    """The layouts of a tile in which these bits of its index come first, the others in the order of plain layouts."""
    if all(map(bits.is_power_of_two, begin)):
        for order in orders(len(shape)):
            first = [*begin, *(x for x in _in_order(shape, order) if x not in begin)]
            columns = bits.inverse(first, len(first)) or []
            yield Candidate(columns, as_layout(columns, shape))


def swizzled(candidates: Sequence[Candidate], n: int) -> Iterator[Candidate]:
    """All Sw<B,M,S> of layouts of 2^n elements, those of fewer bits first."""
    for count in range(1, n // 2 + 1):
        for base in range(n - 2 * count, -1, -1):
            for shift in range(count, n - base - count + 1):
                mask = (1 << count) - 1 << base
                for c in candidates:
                    yield Candidate([x ^ (x >> shift & mask) for x in c.columns], c.layout, (count, base, shift))


def as_layout(columns: Sequence[int], shape: Sequence[int]) -> Any:
    """The layout of a tile whose columns these are."""
    names = [(f"dim{k}", bits.log2(extent)) for k, extent in enumerate(shape)]
    return layout_of(LinearLayout._of_columns(names, (("offset", 1 << len(columns)),), columns))


def padded(shape: Sequence[int], most: int) -> Iterator[Layout]:
    """The plain layouts with so many elements of padding at most after each run of the fastest dimension."""
    if len(shape) > 1:
        for pad in range(1, most + 1):
            yield from (_compact(shape, order, pad) for order in orders(len(shape)))


def rotated(shape: Sequence[int], most: int) -> Iterator[Any]:
    """The plain layouts of a tile of two dimensions with row i rotated by i times a power of two, `most` at most."""
    for fast, slow in ((1, 0), (0, 1)) if len(shape) == 2 else ():
        width, rows = static(shape[fast]), static(shape[slow])
        for step in (1 << k for k in range(bits.log2(min(most, shape[fast])) + 1) if 1 << k < shape[fast]):
            turns = 1 + -(-step * shape[slow] // shape[fast])  # no row is rotated further
            outer = Layout(((width, static(turns)), rows), ((Int[1](), _0), width))
            strides = {fast: Int[1](), slow: static(turns * shape[fast] + step)}
            yield ComposedLayout(outer, _0, Layout((static(shape[0]), static(shape[1])), (strides[0], strides[1])))


def _compact(shape: Sequence[int], order: Sequence[int], pad: int = 0) -> Layout:
    """The tile in an order of its dimensions, so many elements of padding after each run of the fastest."""
    strides, step = [0] * len(shape), 1
    for k, d in enumerate(order):
        strides[d] = step
        step = step * shape[d] + (pad if k == 0 else 0)
    if len(shape) == 1:
        return Layout(static(shape[0]), static(strides[0]))
    return Layout(tuple(map(static, shape)), tuple(map(static, strides)))


def _in_order(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """The bits of the index at the offsets 1, 2, 4, ... of a tile in an order of its dimensions."""
    starts = list(itertools.accumulate(map(bits.log2, shape), initial=0))
    return [1 << starts[d] + k for d in order for k in range(bits.log2(shape[d]))]


def _columns(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    first = _in_order(shape, order)
    return bits.inverse(first, len(first)) or []
