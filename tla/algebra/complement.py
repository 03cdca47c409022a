"""Complement: the offsets that a layout leaves out, as a layout.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from ..core.arithmetic import ceil_div as divide_up
from ..core.basis import Basis, E, ScaledBasis
from ..core.cache import memo
from ..core.digits import Modes
from ..core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError
from ..core.int_tuple import as_int_tuple, leaves, product, shown, size
from ..core.ints import Int, IntTree, IntTupleLike, Leaf, _1, is_constant, known, settled
from ..core.kinds import certified
from ..core.layout import Layout, as_layout
from ..core.leaf_arithmetic import ceil_div, mul
from ..core.questions import at_most, require, require_positive
from ..core.strides import Shape, Stride
from .coalesce import filter
from .codomain import cosize
from .flat_modes import Mode, by_stride, flat_modes, from_modes, merge, wrapped
from .plain_integers import naming_static


@certified
@memo
@naming_static
def complement(layout: Layout, cotarget: IntTupleLike | None = None) -> Layout:
    """The offsets that `layout` leaves out, as a layout: the other half of a tiling.

    layout     injective; its modes of static stride 0 do not count. Of offsets; or of coordinates, whose modes each
               have a complement
    cotarget   an integer or a shape; the result reaches offsets up to its size [elements]. By default as far as
               `layout`. Of coordinates the shape that they are of; or an integer, which the last mode alone goes up to
    Returns    R, ordered by stride, with (layout, R) injective. Of coordinates a mode for each of theirs: the
               gaps, and the rest
    Raises     InjectivityError where two coordinates of `layout` share an offset, or its modes interleave in a way that
               is not known to be injective; Unproven where the order of its strides is not known; DivisibilityError for
               a cotarget with dynamic modes that do not divide

    >>> from tla import Int, complement, parse
    >>> print(complement(parse("(_2,_2):(_4,_1)"), Int[24]()))
    (_2,_3):(_2,_8)
    >>> print(complement(parse("(_2,_4):(_4@1,_1@0)"), (Int[16](), Int[24]())))
    (_4,(_4,_3)):(_4@0,(_1@1,_8@1))

    Law: no two coordinates of (layout, R) share an offset. Where each stride is a multiple of where the mode before it
    ends, extent * stride, they cover [0, size(cotarget)); so they do not of (_7,_3):(_1,_16), where 14 and 15 stay
    free. Then R has no more modes than that takes, and for a cotarget that is static or one integer no more elements;
    another one rounds up in the mode where the layout ends, as CuTe does, so that its static extents stay static.
    Source: CuTe `complement`; static cotargets that do not divide are covered here.
    """
    as_layout("complement", layout)
    plain = layout.plain_modes()
    if plain and type(cotarget) is Int and cotarget > 0 and (free := plain_complement(plain, int(cotarget))[0]):
        return wrapped(free)
    if any(isinstance(d, Basis) for d in leaves(layout.stride)):
        return _of_coordinates(layout, cotarget)
    modes = _counted(layout)
    target = cosize(filter(layout)) if cotarget is None else as_int_tuple(cotarget)
    if any(at_most(n, -1) for n in leaves(target)):
        what = f"complement of {shown(layout)}: the cotarget {shown(target)}"
        raise RangeError(what, "0 or more", "give how many offsets to reach")
    gaps, period = _gaps(layout, modes)
    return from_modes(merge([*gaps, *_covering(target, period)]))


def reach_of(layout: Layout) -> Leaf:
    """The end of the modes of a layout with the gaps between them filled: what complement counts from."""
    return _gaps(layout, _counted(layout))[1]


def _counted(layout: Layout) -> list[Mode]:
    """The modes that a complement goes by: those that step."""
    modes = [(s, d) for s, d in flat_modes(layout) if not is_constant(0, d) and not is_constant(1, s)]
    if any(isinstance(d, Basis) for _s, d in modes):
        what = f"the offsets of {shown(layout)}"
        raise LeafTypeError(what, "a layout of offsets", "take each mode by itself: coordinates have no order")
    return modes


def _of_coordinates(layout: Layout, cotarget: IntTupleLike | None) -> Layout:
    """The coordinates that a layout leaves out: in each of their modes the complement of what steps along it."""
    where, along = f"complement of {shown(layout)}", modes_along(layout)
    target = None if cotarget is None else as_int_tuple(cotarget)
    if any(at_most(n, -1) for n in leaves(target)):
        raise RangeError(f"{where}: the cotarget {shown(target)}", "0 or more", "give the shape of the coordinates")
    last = max(along, default=())
    reach = None if isinstance(target, tuple) else target  # of the last mode alone

    def part(path: tuple[int, ...], shape: Any) -> tuple[Any, Any]:
        """The shape and the strides of what is left out along a mode."""
        below = {p[len(path)] for p in along if p[: len(path)] == path and len(p) > len(path)}
        if below or isinstance(shape, tuple):
            given = None if shape is None else len(shape) if isinstance(shape, tuple) else 0
            if path in along or (given is not None and given <= max(below, default=-1)):
                expected = "the shape that its coordinates are of"
                raise RankError(
                    f"{where} up to {shown(target)}", expected, "give as many modes as the coordinates have"
                )
            count = max(below) + 1 if shape is None else len(shape)
            parts = [part((*path, i), None if shape is None else shape[i]) for i in range(count)]
            shapes, strides = zip(*parts) if parts else ((), ())
            return Shape(*shapes), Stride(*strides)
        gaps, period = _gaps(layout, along.get(path, []))
        if shape is not None:
            rest = ceil_div(shape, period)
        elif reach is not None and path == last:
            rest = ceil_div(reach, mul(size(layout), product(tuple(n for n, _d in free))))
        else:
            rest = _1
        gaps = [(n, d) for n, d in gaps if not is_constant(1, n)]
        found = gaps if gaps and shape is not None and is_constant(1, rest) else [*gaps, (rest, period)]
        free.extend(found)
        shapes, strides = tuple(n for n, _d in found), tuple(E[path] * d for _n, d in found)
        return (Shape(*shapes), Stride(*strides)) if len(found) > 1 else (*shapes, *strides)

    free: list[Mode] = []
    shape, stride = part((), target if isinstance(target, tuple) else None)
    return Layout(shape, stride)


def modes_along(layout: Layout) -> dict[tuple[int, ...], list[Mode]]:
    """Extents and steps of a layout of coordinates, by the mode that they step along. Raises LeafTypeError for steps
    along several."""
    found: dict[tuple[int, ...], list[Mode]] = {}
    for n, d in flat_modes(layout):
        if is_constant(0, d):
            continue
        if not isinstance(d, ScaledBasis):
            what = f"complement of {shown(layout)}: the stride {d}"
            raise LeafTypeError(what, "strides along one mode each", "take a layout whose coordinates go mode by mode")
        found.setdefault(d.path, []).extend([] if is_constant(1, n) else [(n, d.value)])
    return found


def plain_complement(modes: Modes, n: int) -> tuple[Modes, bool]:
    """The complement of static modes in range(n), and whether each stride is a multiple of where the modes before it
    end, so that copies fill every gap: most tiles. No modes where it is refused, with a reason, below."""
    out: Modes = []
    period, filled = 1, True
    for d, s in sorted([(d, s) for s, d in modes if d and s > 1]):
        gap = d // period
        if gap < 1:
            return [], False
        filled = filled and d % period == 0
        if gap > 1:  # no two of these merge: each reaches up to d, and the next begins at d * s
            out.append((gap, period))
        period = d * s
    if n > period:
        out.append((-(-n // period), period))
    return out, filled


def ends_and_strides(layout: Layout) -> list[tuple[Any, Any]]:
    """For each mode that steps, in the order of the strides, where those before it end, and its stride: where the first
    does not divide the second, some of what lies between is in no copy of them."""
    modes = by_stride(_counted(layout), lambda: f"the order of {shown(layout)}")
    return [*zip([_1, *(mul(s, d) for s, d in modes)], (d for _s, d in modes))]


def _gaps(layout: Layout, modes: list[Mode]) -> tuple[list[Mode], Any]:
    """The gaps that modes leave below them, in the order of their strides, and the offset where the last mode ends."""
    out: list[Mode] = []
    period: Any = _1

    def where() -> str:
        return f"complement of {shown(layout)}"

    for s, d in by_stride(modes, where):
        require_positive("complement: an extent or stride", s)
        require_positive("complement: an extent or stride", d)
        if not require("<=", period, d, where):
            what = f"{where()}: the mode {s}:{d} starts inside of what is below it, which reaches up to {period}"
            expected = "each stride past the reach of the smaller ones"
            raise InjectivityError(what, expected, f"use a stride of {period:d} or more")
        out.append((settled(d // period, d, period), period))
        period = mul(d, s)
    return out, period


def _covering(target: IntTree, period: Leaf) -> list[Mode]:
    """Compact modes from `period` on that reach the size of target: one for each run of static or dynamic
    modes in it."""
    size = product(target)
    if type(size) is Int or known(size) is None:
        return [(settled(ceil_div(size, period), size, period), period)]
    out, start = [], period
    parts = target if is_constant(1, period) else divide_up(target, period)
    for _static, run in itertools.groupby(leaves(parts), key=type):
        n = functools.reduce(mul, run)
        out.append((n, start))
        start = mul(start, n)
    if at_most(size, start) is False:
        what = f"complement: the cotarget {shown(target)} does not divide by {period} mode by mode"
        raise DivisibilityError(
            what, f"modes that {period} divides, or that divide it", f"give the cotarget as one integer, {size}"
        )
    return out
