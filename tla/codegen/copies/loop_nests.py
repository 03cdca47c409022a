"""Loop nests of a copy between two layouts, as plain data.

Over static layouts: the common refinement of both (strided.py), one nest for each piece. Over symbolic ones: the digits
of both, where the places of each divide those of the other; else the coordinates themselves, and offsets of them.

Source: ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.composed import innermost
from ...core.digits import merged_together
from ...core.int_tuple import leaves, modes_of
from ...core.ints import IntLike, Leaf, is_constant, known
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, smaller
from ...core.questions import divides, equal
from ...symbolic import SymInt, index, prove
from ...symbolic.evaluate import value
from ...symbolic.facts import symbols_in
from ...symbolic.symint import poly_of
from ...tensors.refinement import refinement
from ...tensors.tensor import Tensor
from ...tensors.transfer import counts_of, place_of
from ..expressions.target import commented

#: Where target and source are contiguous in other loops, blocks of so many steps of both are moved at a time. By one
#: thread: large ones whose pages are at hand, and in these as many lines as any cache holds side by side, at whatever
#: distance they lie. By the threads of a grid: the lines that 32 neighbours read.
SERIAL_BLOCKS, GRID_BLOCKS = (128, 8), (32,)
#: Shorter runs than this leave a line of the source that the next run is on [elements].
LONG_RUN = 64
#: A shorter loop than this, of a target that is contiguous in it alone, is written out.
SHORT = 8
#: The runs that are looked for in layouts that have no digits, the longest first [elements].
RUNS = (64, 32, 16, 8, 4, 2)
#: What a size is taken to be when loops are ordered: nothing but speed depends on it.
TYPICAL = 4096


class Loop(NamedTuple):
    """A loop.

    counter   its index, from 0 on
    count     how many steps it has
    steps     how far each goes, in the target and in the source [elements]
    bound     at a tail, how many steps there are at most: by the indices of loops further out; None where all
              steps are made
    """

    counter: SymInt
    count: Any
    steps: tuple[Any, Any]
    bound: Any = None

    @property
    def extent(self) -> Any:
        """The number of steps."""
        return self.count if self.bound is None else smaller(self.count, self.bound)


class Nest(NamedTuple):
    """Loops inside of each other, and what is moved in the last: a run of elements that both layouts have side by side.

    begins     where it begins, in the target and in the source [elements]
    loops      the slowest first
    run        the run, as a loop of steps 1; None for single elements
    written    a short loop that is written out inside of the last, at a tail as far as its bound; None for none
    offsets    where layouts have no steps, the offsets of both by the indices; else None
    """

    begins: tuple[Any, Any]
    loops: tuple[Loop, ...]
    run: Loop | None = None
    written: Loop | None = None
    offsets: tuple[Any, Any] | None = None


class Copy(NamedTuple):
    """A copy, for a writer.

    name       of the function
    nests      what it goes through
    bits       of an element
    sizes      the names of its parameters behind the pointers
    remarks    what a comment says, in lines
    checks     text that checks the requirements on sizes; empty if not asked for
    first      what the function begins with, in lines
    """

    name: str
    nests: list[Nest]
    bits: int
    sizes: list[str]
    remarks: list[str]
    checks: list[str]
    first: list[str]

    @property
    def remark(self) -> str:
        """The comment."""
        return commented("//", self.remarks)

    def parameters(self, kind: str, restrict: str, integer: str) -> str:
        """The parameters of the function: pointers to elements of a kind, and sizes."""
        pointers = f"{kind} *{restrict} dst", f"const {kind} *{restrict} src"
        return ", ".join([*pointers, *(f"{integer} {n}" for n in self.sizes)])


def nests(target: Tensor, source: Tensor, blocks: Sequence[int]) -> list[Nest]:
    """The nests that move every valid element of source to its coordinate in target, which have one origin_shape."""
    names = (f"k{n}" for n in itertools.count())
    if all(known(n) is not None for t in (target, source) for n in _integers(t)):
        found = _of_cells(target, source, blocks, names)
        if found is not None:
            return found
    from_zero = all(is_constant(0, c) for t in (target, source) for c in t.coord)
    loops = _of_digits(target, source, names) if from_zero else None
    if loops is None:
        return [_by_coordinates(target, source, names)]
    return [_arranged((target.offset, source.offset), loops, blocks, names)]


def _of_cells(target: Tensor, source: Tensor, blocks: Sequence[int], names: Iterator[str]) -> list[Nest] | None:
    """The nests over the common refinement of two layouts of known numbers; None where there is none."""
    to, of = place_of(target), place_of(source)
    if to is None or of is None:
        return None
    cells = refinement(counts_of(target), (to.starts, of.starts), (to.modes, of.modes))
    if cells is None:
        return None
    return [_arranged((to.begin + d, of.begin + s), [*_loops(modes, names)], blocks, names) for (d, s), modes in cells]


def _integers(t: Tensor) -> Iterator[Any]:
    yield t.offset
    yield from t.coord
    yield from t.origin_shape
    if isinstance(t.layout, Layout):
        yield from leaves(t.layout.shape)
        yield from leaves(t.layout.stride)


def _loops(modes: Iterable[Any], names: Iterator[str]) -> Iterator[Loop]:
    axes = sorted((axis for mode in modes for axis in mode), key=lambda axis: abs(axis[1][0]), reverse=True)
    for n, (d, s) in merged_together(axes):
        yield Loop(index(next(names), below=n), n, (d, s))


# ------------------------------------------------------------------------------------------------ symbolic digits


class _Digit(NamedTuple):
    count: Any
    place: Any
    steps: tuple[Any, Any]


def _of_digits(target: Tensor, source: Tensor, names: Iterator[str]) -> list[Loop] | None:
    """The loops over the common digits of two layouts with symbols, slowest first; None where there are none."""
    if not isinstance(target.layout, Layout) or not isinstance(source.layout, Layout):
        return None
    loops: list[Loop] = []
    for mode, n in enumerate(target.origin_shape):
        digits = _common_digits(n, *(_places_and_strides(t.layout, mode) for t in (target, source)))
        if digits is None:
            return None
        loops += _bounded(n, digits, names)
    return _outermost_first(loops)


def _places_and_strides(layout: Layout, mode: int) -> list[tuple[Any, Any]]:
    """(place, stride) of each digit of a mode, the fastest first."""
    out, place = [], 1
    for s, d in zip(leaves(modes_of(layout.shape)[mode]), leaves(modes_of(layout.stride)[mode])):
        out.append((place, d))
        place = place * s
    return [pair for k, pair in enumerate(out) if k == len(out) - 1 or not equal(out[k + 1][0], pair[0])]


def _common_digits(n: IntLike, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> list[_Digit] | None:
    """The digits at the places of both; None where it is not known that one divides the next."""
    places: list[Any] = []
    for place, _stride in (*a, *b):
        if not any(equal(place, p) for p in places):
            places.append(place)
    places.sort(key=_typical)
    if not all(divides(p, q) for p, q in itertools.pairwise(places)):
        return None
    counts = [*(q // p for p, q in itertools.pairwise(places)), *(ceil_div(n, p) for p in places[-1:])]
    return [_Digit(count, p, (_step(a, p), _step(b, p))) for p, count in zip(places, counts)]


def _step(digits: list[tuple[Any, Any]], place: IntLike) -> Leaf:
    """The length of one step at a place: the digit below it is the last that divides it."""
    at, stride = [(p, d) for p, d in digits if _typical(p) <= _typical(place)][-1]
    return place // at * stride


def _bounded(n: IntLike, digits: list[_Digit], names: Iterator[str]) -> Iterator[Loop]:
    """The loops of a mode, the slowest first: a digit ends where the valid extent does."""
    rest = n
    for k, digit in reversed([*enumerate(digits)]):
        i = index(next(names), below=digit.count)
        whole = k == len(digits) - 1 or divides(digits[k + 1].place, n)
        yield Loop(i, digit.count, digit.steps, None if whole else ceil_div(rest, digit.place))
        rest = rest - i * digit.place


def _typical(x: object) -> int:
    """x where every size is typical."""
    p = poly_of(x)
    return abs(value(p, {n.name: -(-TYPICAL // n.unit) * n.unit for n in p.scope}))


def _outermost_first(loops: list[Loop]) -> list[Loop]:
    """Loops by the steps of the target, the longest first; each behind those that its bound needs."""
    left = sorted(loops, key=lambda loop: _typical(loop.steps[0]), reverse=True)
    out: list[Loop] = []
    while left:
        names = {str(loop.counter) for loop in left}
        out.append(next(loop for loop in left if not names & _depends(loop)))
        left.remove(out[-1])
    return out


def _depends(loop: Loop) -> set[str]:
    """The names in the bound of a loop."""
    return {n.name for n in symbols_in(poly_of(loop.bound))} if loop.bound is not None else set()


# ------------------------------------------------------------------------------------------------- arrangement


def _arranged(begins: tuple[Any, Any], loops: list[Loop], blocks: Sequence[int], names: Iterator[str]) -> Nest:
    """The nest of loops that are ordered by the target: with a run, or a short loop written out, or blocks
    of two loops."""
    if not loops:
        return Nest(begins, ())
    *outer, last = loops
    if last.steps == (1, 1):
        return Nest(begins, tuple(_beside(outer, last, blocks[-1], names)), last)
    near = _nearest(loops)
    if near == len(loops) - 1 or _is_needed(loops[near], loops):
        return Nest(begins, tuple(loops))
    other = outer.pop(near)
    count = known(last.count)
    if count is not None and count <= SHORT:
        return Nest(begins, (*outer, other), None, last)
    parts = [_blocks(loop, blocks, names) for loop in (other, last)]
    levels = itertools.zip_longest(*(reversed(p) for p in parts))  # the finest of both are last
    return Nest(begins, (*outer, *(loop for pair in reversed([*levels]) for loop in pair if loop is not None)))


def _beside(loops: list[Loop], run: Loop, block: int, names: Iterator[str]) -> list[Loop]:
    """The loops around a run: where the next run of the source is on the same line, it comes soon."""
    count, near = known(run.count), _nearest(loops)
    if count is None or count >= LONG_RUN or near == len(loops) - 1 or _is_needed(loops[near], loops):
        return loops
    other, last = loops[near], loops[-1]
    is_long = known(last.count) is None or last.count > 4 * block
    inner = _blocks(last, (block,), names) if is_long and not _is_needed(last, [run]) else [last]
    return [*(loop for loop in loops[:-1] if loop is not other), *inner[:-1], other, inner[-1]]


def _nearest(loops: list[Loop]) -> int:
    """The loop whose step is the smallest in the source; the last one of none."""
    steps = [_typical(loop.steps[1]) or math.inf for loop in loops]
    return max((k for k, step in enumerate(steps) if step == min(steps)), default=-1)


def _is_needed(loop: Loop, loops: list[Loop]) -> bool:
    """Whether the bound of another loop depends on a loop."""
    return any(str(loop.counter) in _depends(other) for other in loops)


def _blocks(loop: Loop, sizes: Sequence[int], names: Iterator[str]) -> list[Loop]:
    """The loops over blocks of these sizes, and the one inside of them; one where it is no longer than a block.

    The index of the loop begins anew in each block: no bound of another loop may depend on it.
    """
    if not sizes:
        return [loop]
    size, *smaller_sizes = sizes
    n = known(loop.count)
    if n is not None and n <= size:
        return _blocks(loop, smaller_sizes, names)
    count = ceil_div(loop.count, size)
    steps = loop.steps[0] * size, loop.steps[1] * size
    bound = None if loop.bound is None else ceil_div(loop.bound, size)
    over = Loop(index(next(names), below=count), count, steps, bound)
    whole = divides(size, loop.extent)
    inside = Loop(loop.counter, size, loop.steps, None if whole else loop.extent - over.counter * size)
    return [over, *_blocks(inside, smaller_sizes, names)]


# ---------------------------------------------------------------------------------------------- by coordinates


def _by_coordinates(target: Tensor, source: Tensor, names: Iterator[str]) -> Nest:
    """One loop for each mode, and the offsets of both by the indices; with runs where these are proved."""
    counts = target.origin_shape
    coord = [index(next(names), below=n) for n in counts]
    order = sorted(range(len(counts)), key=lambda k: _reach(target, coord, k), reverse=True)
    found = [
        (k, r)
        for k in reversed(order)
        for r in RUNS
        if divides(r, counts[k]) and _is_run((target, source), coord, k, r)
    ]
    if not found:
        loops = [Loop(coord[k], counts[k], (0, 0)) for k in order]
        return Nest((0, 0), tuple(loops), None, None, (_offset(target, coord), _offset(source, coord)))
    mode, r = found[0]
    place = [c * r if k == mode else c for k, c in enumerate(coord)]
    loops = [Loop(coord[k], counts[k] // r if k == mode else counts[k], (0, 0)) for k in order]
    run = Loop(index(next(names), below=r), r, (1, 1))
    return Nest((0, 0), tuple(loops), run, None, (_offset(target, place), _offset(source, place)))


def _offset(t: Tensor, place: Sequence[Any]) -> Leaf:
    at = tuple(c + p for c, p in zip(t.coord, place))
    return t.offset + t.layout(at if isinstance(t.layout.shape, tuple) else at[0])


def _reach(t: Tensor, coord: list[SymInt], mode: int) -> int:
    """About how far a step of a mode goes in a layout."""
    inner = innermost(t.layout)
    step = inner(*(int(k == mode) for k in range(len(coord)))) if isinstance(inner.shape, tuple) else inner(1)
    return _typical(step) if isinstance(step, (int, SymInt)) else 0


def _is_run(tensors: tuple[Tensor, Tensor], coord: list[SymInt], mode: int, r: int) -> bool:
    """Whether r indices of a mode, from a multiple of r on, lie side by side in both."""
    t = index("t0", below=r)  # no size has that name
    starts = [c * r if k == mode else c for k, c in enumerate(coord)]
    inside = [c + t if k == mode else c for k, c in enumerate(starts)]
    return all(prove(_equal(_offset(x, inside), _offset(x, starts) + t)) is True for x in tensors)


def _equal(a: IntLike, b: IntLike) -> Any:
    return a.equals(b) if isinstance(a, SymInt) else a == b
