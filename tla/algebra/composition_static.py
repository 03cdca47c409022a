"""Composition of static layouts, in plain ints: the modes of the inner one are cut where the step of the outer one changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.digits import Modes, Steps, merged
from ..core.ints import IntTupleLike, leaf
from ..core.layout import Layout, plain_layout


class Piece(NamedTuple):
    """A part of a mode of b in a o b, over which a steps evenly. Of static layouts it is a plain triple of these.

    extent   the number of its steps
    place    the length of a step in a's domain
    stride   the length of a step in a's offsets; None where it goes along two coordinates
    """

    extent: Any
    place: Any
    stride: Any


class Cut(NamedTuple):
    """The result of a composition's search: the modes of b cut where the step of a changes, and whether they make a o b.

    pieces    of each mode of b, in order
    why_not   the reason that they do not make the composition; None if they do
    """

    pieces: Sequence[Sequence[tuple[Any, Any, Any]]]
    why_not: str | None


def cut_by(a: Modes, b: Modes) -> Cut:
    """The static composition a o b: each mode of b is cut where the step of a changes."""
    outer = merged(a, unbounded=True)
    if len(outer) == 1:  # linear
        ((_s, step),) = outer
        return Cut([[(s, d, d * step)] for s, d in b], None)
    steps = Steps(outer)
    if steps.carried(b) is None:
        return Cut([[(s, d, steps(d) if s > 1 else _of_one(outer, d))] for s, d in b], None)
    cut = [steps.runs(s, d) if s > 1 and d else [(s, d, _of_one(outer, d))] for s, d in b]
    return Cut(cut, steps.why_not([piece for pieces in cut for piece in pieces], exact=True))


def _of_one(outer: Modes, d: int) -> int:
    """The stride of a mode of extent 1, which the law leaves open: CuTe's."""
    for s, _d in outer[:-1]:
        d = -(-d // s) if d > 0 else d // s  # away from 0
    return d * outer[-1][1]


def cut_like(profile: IntTupleLike, cut: Sequence[Sequence[tuple[Any, Any, Any]]]) -> Layout:
    """The static layout in which each integer of the profile is cut into pieces."""
    plain = [(n, t) for pieces in cut for n, _x, t in pieces]
    for _n, t in plain:
        if not INT64_MIN <= t <= INT64_MAX:
            leaf(t)  # refuses it
    return plain_layout(plain, profile, [len(pieces) for pieces in cut])
