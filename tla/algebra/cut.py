"""Composition of static layouts, in plain ints: the modes of the inner one are cut where the step of the outer one changes."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..core.digits import Modes, Pieces, Steps, merged
from ..core.int_tuple import like
from ..core.ints import INT64_MAX, INT64_MIN, IntTupleLike, leaf, static
from ..core.layout import Layout, Shape, Stride, plain_layout


class Cut(NamedTuple):
    """The pieces of each mode of b in a o b, over each of which a steps evenly.

    pieces    of each mode: pairs of an extent and a stride in a's domain, with the stride in a's offsets
    why_not   why these do not make the composition; None if they do
    """

    pieces: list[Pieces]
    why_not: str | None


def cut_by(a: Modes, b: Modes) -> Cut:
    """The static composition a o b: each mode of b is cut where the step of a changes."""
    outer = merged(a, unbounded=True)
    if len(outer) == 1:  # linear
        ((_s, step),) = outer
        return Cut([[(s, d, d * step)] for s, d in b], None)
    steps = Steps(outer)
    cut = [steps.runs(s, d) if s > 1 and d else [(s, d, _of_one(steps, d))] for s, d in b]
    return Cut(cut, steps.why_not([piece for pieces in cut for piece in pieces], exact=True))


def _of_one(steps: Steps, d: int) -> int:
    """The stride of a mode of extent 1, which the law leaves open: CuTe's."""
    for s, _d in steps.functions[0][:-1]:
        d = -(-d // s) if d > 0 else d // s  # away from 0
    return d * steps.functions[0][-1][1]


def cut_like(profile: IntTupleLike, cut: list[Pieces]) -> Layout:
    """The static layout in which each integer of the profile is cut into pieces."""
    plain = [(n, t) for pieces in cut for n, _x, t in pieces]
    for _n, t in plain:
        if not INT64_MIN <= t <= INT64_MAX:
            leaf(t)  # refuses it
    return plain_layout(plain, functools.partial(_wrapped_like, profile, cut))


def _wrapped_like(profile: IntTupleLike, cut: list[Pieces]) -> tuple[Any, Any]:
    shapes = (static(p[0][0]) if len(p) == 1 else tuple.__new__(Shape, [static(n) for n, _x, _t in p]) for p in cut)
    strides = (static(p[0][2]) if len(p) == 1 else tuple.__new__(Stride, [static(t) for _n, _x, t in p]) for p in cut)
    return like(profile, shapes, Shape), like(profile, strides, Stride)
