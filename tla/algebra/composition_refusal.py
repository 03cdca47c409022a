"""The reason of a composition's refusal: the mode, the stride and the extent that do not fit, and numbers that do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..core.digits import Modes, merged
from ..core.errors import Reason
from ..core.int_tuple import shown
from ..core.ints import known
from ..core.layout import Layout
from .cutting import cut_static
from .flat_modes import flat_modes, wrapped

_EXPECTED = "steps that go evenly through the outer layout"
#: Strides that differ by more than this are not offered.
NEAR = 4096
_FIX = "use compose(a, b): it is exact, and keeps both layouts"


class Uneven(NamedTuple):
    """A mode of the inner layout that crosses an outer mode in uneven steps.

    inner    which mode of the inner layout
    outer    which mode of the outer one, merged
    place    how many elements lie in the outer modes before it
    stride   the stride of the inner mode, counted in steps of the outer mode
    extent   of the outer mode
    """

    inner: int
    outer: int
    place: int
    stride: int
    extent: int


def refusal(a: Layout, b: Layout, why: str) -> Reason:
    """The reason for which a o b is refused. why: the text for a refusal that no single stride and extent causes."""
    plain_a, plain_b = _plain(a), _plain(b)
    outer = merged(plain_a, unbounded=True)
    found = next(_uneven(outer, plain_b), None) if outer else None
    if found is None:
        return Reason(f"composition: {shown(a)} o {shown(b)}: {why}", _EXPECTED, _FIX)
    d, extent = found.stride, found.extent
    where = shown(a if outer == plain_a else wrapped(outer))
    what = f"stride {d * found.place} does not step evenly through extent {extent} (mode {found.outer} of {where})"
    strides, extents = _strides_that_do(outer, plain_b, found), _extents_that_do(outer, plain_b, found)
    fixes = [f"use stride {' or '.join(map(str, strides))}"] if strides else []
    fixes += [f"pad that mode to {extents[0]}"] if extents else []
    expected = f"{extent} % {d} == 0 or {d} % {extent} == 0"
    return Reason(f"composition: {shown(a)} o {shown(b)}: {what}", expected, ", or ".join(fixes) or _FIX)


def _plain(layout: Layout) -> Modes:
    """The leaves as pairs of plain ints; none where one is not known, or is a coordinate."""
    modes = flat_modes(layout)
    if any(known(n) is None for mode in modes for n in mode):
        return []
    return [(int(s), int(d)) for s, d in modes]


def _uneven(outer: Modes, inner: Modes) -> Iterator[Uneven]:
    """The modes that leave an outer mode whose extent and their stride do not divide each other."""
    for k, (s, d) in enumerate(inner):
        if cut_static(outer, [(s, d)]).why_not is None:  # it fits alone
            continue
        place = 1
        for i, (extent, _step) in enumerate(outer[:-1]):
            if extent == 0:
                break
            if d % extent:
                if (s - 1) * d < extent:  # of negative strides too
                    break
                if extent % d or s % (extent // d):
                    if extent % d:
                        yield Uneven(k, i, place, d, extent)
                    break
                s, d = s // (extent // d), extent
            d //= extent
            place *= extent


def _strides_that_do(outer: Modes, inner: Modes, at: Uneven) -> list[int]:
    """The nearest smaller and larger stride of the inner mode with which there is a composition."""
    s, _d = inner[at.inner]
    below, above = range(at.stride - 1, max(at.stride - NEAR, 0), -1), range(at.stride + 1, at.stride + NEAR)
    nearest = (next((n for n in side if at.extent % n == 0 or n % at.extent == 0), None) for side in (below, above))
    strides = [n * at.place for n in nearest if n is not None]
    others = inner[: at.inner], inner[at.inner + 1 :]
    return [n for n in strides if cut_static(outer, [*others[0], (s, n), *others[1]]).why_not is None]


def _extents_that_do(outer: Modes, inner: Modes, at: Uneven) -> list[int]:
    """The next larger extent of the outer mode with which there is a composition."""
    _s, d = outer[at.outer]
    extent = -(-at.extent // at.stride) * at.stride
    wider = [*outer[: at.outer], (extent, d), *outer[at.outer + 1 :]]
    return [extent] if cut_static(wider, inner).why_not is None else []
