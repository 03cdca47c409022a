"""Layouts over boxes of coordinates, as the strided arrays that they are: what numpy can move at once.

A mode over a run of indices is a function of one integer. Cut where any of several such functions changes its step, the
run falls into pieces on which all of them are sums of the same digits: the common refinement of their shapes.

It is worked in plain ints and kept: the tiles of one loop ask for the same few refinements.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from ..core.cache import plain_memo
from ..core.digits import CommonMode, merged
from ..core.int_tuple import leaves, modes_of
from ..core.ints import known
from ..core.kinds import AnyLayout
from ..core.layout import Layout

#: A mode as a function of an index: (place, stride) of each digit, fastest first; the last digit has no bound.
Digits = tuple[tuple[int, int], ...]

#: More pieces than this have no common refinement worth the name.
MAX_PIECES = 64
#: More cells than this are not worked out, whatever their size.
MAX_CELLS = 4096


class Cell(NamedTuple):
    """Indices on which every function is a sum of steps along the same axes.

    begins   the value of each function where the cell begins [elements]
    modes    the axes of each mode, slowest first
    """

    begins: tuple[int, ...]
    modes: tuple[tuple[CommonMode, ...], ...]


@plain_memo
def digits(layout: AnyLayout) -> tuple[Digits, ...] | None:
    """The digits of each top-level mode; None for a layout of another kind, or of integers that are not known."""
    if not isinstance(layout, Layout):
        return None
    out = []
    for s, d in zip(modes_of(layout.shape), modes_of(layout.stride)):
        pairs = [(known(n), known(step)) for n, step in zip(leaves(s), leaves(d))]
        if any(None in pair for pair in pairs):
            return None
        numbers = ((n, step) for n, step in pairs if n is not None and step is not None)
        mode = merged(numbers, unbounded=True) or [(1, 0)]
        places = itertools.accumulate((n for n, _step in mode), int.__mul__, initial=1)
        out.append(tuple((place, step) for place, (_n, step) in zip(places, mode)))
    return tuple(out)


@plain_memo
def refinement(
    counts: tuple[int, ...], starts: tuple[tuple[int, ...], ...], functions: tuple[tuple[Digits, ...], ...]
) -> list[Cell] | None:
    """The common refinement of several layouts over a box of coordinates; None if there are too many pieces.

    counts      the number of indices in each mode
    starts      for each layout: the first index in each mode
    functions   for each layout: the Digits of each mode

    >>> from tla.tensors.refinement import digits, refinement
    >>> from tla import parse
    >>> a, b = digits(parse("((4,3)):((1,16))")), digits(parse("(12):(1)"))
    >>> refinement((10,), ((0,), (0,)), (a, b))
    [Cell(begins=(0, 0), modes=(((2, (16, 4)), (4, (1, 1))),)), Cell(begins=(32, 8), modes=(((2, (1, 1)),),))]
    """
    if 0 in counts:
        return []
    pieces = []
    for mode, n in enumerate(counts):
        runs = _pieces(n, tuple(f[mode] for f in functions), tuple(s[mode] for s in starts))
        found = [*itertools.islice(runs, MAX_PIECES + 1)]
        if len(found) > MAX_PIECES:
            return None
        pieces.append(found)
    if math.prod(map(len, pieces)) > max(MAX_PIECES, min(MAX_CELLS, math.prod(counts) // 256)):
        return None
    zeros = (0,) * len(functions)
    return [
        Cell(tuple(map(sum, zip(zeros, *(p[0] for p in parts)))), tuple(p[1] for p in parts))
        for parts in itertools.product(*pieces)
    ]


_Run = tuple[tuple[int, ...], tuple[CommonMode, ...]]  # a cell of one mode


def _pieces(n: int, functions: tuple[Digits, ...], starts: tuple[int, ...]) -> Iterator[_Run]:
    """The pieces of the run of n >= 1 indices that begins at starts[k] of functions[k].

    Past a common multiple of the places of all last digits, every function repeats itself, some steps of its last digit
    on: so what is found of one such period goes for all, with one axis more, and the rest is found by itself.
    """
    tops = [f[-1][0] for f in functions]
    period = math.lcm(*tops)
    whole, rest = divmod(n, period)
    if period == 1:
        steps = tuple(f[0][1] for f in functions)
        yield tuple(s * d for s, d in zip(starts, steps)), ((n, steps),) if n > 1 else ()
        return
    if whole:
        step = tuple(period // top * f[-1][1] for top, f in zip(tops, functions))
        for begins, axes in _within(period, functions, starts):
            yield begins, ((whole, step), *axes) if whole > 1 else axes
    if rest:
        yield from _within(rest, functions, tuple(s + whole * period for s in starts))


def _within(n: int, functions: tuple[Digits, ...], starts: tuple[int, ...]) -> Iterator[_Run]:
    """The same of no more than one period: cut where a last digit steps, which is constant in between and drops out.

    Only those of the largest place have to go, and those that do not divide it: the others go on with the rest.
    """
    tops = [f[-1][0] for f in functions]
    goes = [top == max(tops) or max(tops) % top != 0 for top in tops]
    steps = (range(-s % top or top, n, top) for s, top, out in zip(starts, tops, goes) if out)
    cuts = (at for at, _same in itertools.groupby(heapq.merge((0,), *steps, (n,))))
    for lo, hi in itertools.pairwise(cuts):
        here = [s + lo for s in starts]
        constant = [s // top * f[-1][1] if out else 0 for s, top, f, out in zip(here, tops, functions, goes)]
        inner = tuple(f[:-1] if out else f for f, out in zip(functions, goes))
        left = tuple(s % top if out else s for s, top, out in zip(here, tops, goes))
        for begins, axes in _pieces(hi - lo, inner, left):
            yield tuple(map(int.__add__, begins, constant)), axes
