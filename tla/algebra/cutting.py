"""Cutting: the modes of a composition's inner layout, cut where the step of the outer one changes.

A cutter is chosen once, for an outer layout and the modes of the inner one that go to it. Its cut(modes) gives the
pieces of each mode, and the reason that they do not make the composition together, if there is one.

static     cuts wherever the step changes, in plain ints
dynamic    cuts as CuTe does, whatever dynamic integers hold, and checks the result with what they hold
symbolic   cuts where that is proved

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.basis import Encoding, steps_of
from ..core.digits import Modes, Steps, merged
from ..core.errors import DivisibilityError
from ..core.ints import Int, IntLike, IntTupleLike, Leaf, _0, _1, is_constant, is_static, known, leaf, settled, static
from ..core.layout import Layout, plain_layout
from ..core.leaf_arithmetic import ceil_div, mul, smaller
from ..core.questions import at_most, divides, equal, require
from .flat_modes import Mode, has_symbols


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
    """The modes of b, cut for a o b.

    pieces    of each mode of b, in order
    why_not   the reason that they do not make the composition; None if they do
    """

    pieces: Sequence[Sequence[tuple[Any, Any, Any]]]
    why_not: str | None

    def in_profile(self, profile: IntTupleLike) -> Layout:
        """The static layout in which each integer of a profile is cut into the pieces of one mode, of plain ints."""
        plain = [(n, t) for pieces in self.pieces for n, _x, t in pieces]
        for _n, t in plain:
            if not INT64_MIN <= t <= INT64_MAX:
                leaf(t)  # refuses it
        return plain_layout(plain, profile, [len(pieces) for pieces in self.pieces])


def cutter(
    outer: list[Mode], inner: list[Mode], where: Callable[[], str]
) -> StaticCutter | DynamicCutter | SymbolicCutter:
    """The cutter of an outer layout, its modes merged, for these modes of an inner one."""
    if has_symbols(*outer, *inner):
        return SymbolicCutter(outer, where)
    return (StaticCutter if all(type(s) is Int and is_static(d) for s, d in (*outer, *inner)) else DynamicCutter)(outer)


# -------------------------------------------------------------------------------------------------------- static


def cut_static(a: Modes, b: Modes) -> Cut:
    """The modes of b cut for a o b, in plain ints."""
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
    """The stride of a mode of extent 1, for which any is right: CuTe's."""
    for s, _d in outer[:-1]:
        d = -(-d // s) if d > 0 else d // s  # away from 0
    return d * outer[-1][1]


class StaticCutter:
    """A cutter where all is static: coordinates are encoded as integers."""

    def __init__(self, outer: list[Mode]) -> None:
        self.encode = Encoding(d for _s, d in outer)
        self.modes = [(int(s), self.encode(d)) for s, d in outer]

    def cut(self, inner: list[Mode]) -> Cut:
        found, why = cut_static(self.modes, [(int(s), int(d)) for s, d in inner])
        pieces = [[Piece(static(n), static(x), self.encode.stride(t)) for n, x, t in mode] for mode in found]
        return Cut(pieces, _why_no_stride(pieces) or why)


def _why_no_stride(pieces: Sequence[Sequence[Piece]]) -> str | None:
    strides = [piece.stride for mode in pieces for piece in mode]
    if None in strides:
        return "a step goes along two coordinates at once"
    fits = all(INT64_MIN <= step <= INT64_MAX for t in strides for _path, step in steps_of(t))
    return None if fits else "a stride needs more than 64 bits"


def cut_diagonals(outers: dict[tuple[int, ...], list[Mode]], inner: list[Mode]) -> Cut:
    """The modes of an inner layout, cut where one of them steps along several modes of the outer one: all is static.

    outers   of each mode that is gone to its modes, merged

    The modes of the outer layout are put behind one another in one domain, each with more room than any coordinate
    takes; a step along several of them is one number there.
    """
    code = Encoding([d for modes in outers.values() for _s, d in modes], sums=True)
    domain: Modes = []
    places: dict[tuple[int, ...], int] = {}
    at = 1
    for path, modes in outers.items():
        places[path] = at
        domain += [(int(s), code(d)) for s, d in modes[:-1]]
        domain.append((1 << Encoding.BITS, code(modes[-1][1])))
        at *= math.prod(int(s) for s, _d in modes[:-1]) << Encoding.BITS
    steps = [[(places[path], int(step)) for path, step in steps_of(d) if step != 0] for _s, d in inner]
    if any(step < 0 for mode in steps for _place, step in mode):
        return Cut([], "a step along several modes goes back")
    found, why = cut_static(
        domain, [(int(s), sum(place * step for place, step in mode)) for (s, _d), mode in zip(inner, steps)]
    )
    pieces = [[Piece(static(n), _0, code.stride(t)) for n, _x, t in mode] for mode in found]
    return Cut(pieces, _why_no_stride(pieces) or why)


# ------------------------------------------------------------------------------------------------------- dynamic


class DynamicCutter(StaticCutter):
    """A cutter where some integers are dynamic. A static mode in a static outer layout is cut wherever
    the step changes."""

    def __init__(self, outer: list[Mode]) -> None:
        super().__init__(outer)
        self.outer = outer
        self.static = all(type(s) is Int and is_static(d) for s, d in outer)
        self.steps = Steps(self.modes)

    def cut(self, inner: list[Mode]) -> Cut:
        pieces = [self._pieces(s, d) for s, d in inner]
        return Cut(pieces, _why_no_stride(pieces) or self._why_not(pieces, inner))

    def _pieces(self, s: IntLike, d: IntLike) -> list[Piece]:
        if is_constant(0, d):
            return [Piece(s, d, _0)]
        if self.static and type(s) is Int and type(d) is Int and s > 1:
            return [Piece(static(n), static(x), self.encode.stride(t)) for n, x, t in self.steps.runs(int(s), int(d))]
        return self._along_modes(s, d)

    def _along_modes(self, s: Any, d: Leaf) -> list[Piece]:
        """CuTe's way: one piece for each mode that d steps in, whatever its dynamic integers hold."""
        out: list[Piece] = []
        at, step = d, d
        for extent, stride in self.outer[:-1]:
            # a dynamic step of 0 stays in this mode for as long as there is
            steps = s + 0 if equal(step, 0) else ceil_div(extent, abs(step))
            following = ceil_div(abs(step), extent)
            if not is_constant(1, steps) and not is_constant(1, s):
                n = smaller(steps, s)
                out.append(Piece(n, at, mul(step, stride)))
                at, s = mul(at, n), s // n
            step = -following if step < 0 else following
        if not out or not is_constant(1, s):
            out.append(Piece(s, at, mul(step, self.outer[-1][1])))
        return out

    def _why_not(self, pieces: list[list[Piece]], inner: list[Mode]) -> str | None:
        """The reason that the pieces do not multiply to the extents of their modes, or do not add up."""
        for mode, (extent, _d) in zip(pieces, inner):
            if math.prod(int(n) for n, _x, _t in mode) != extent:
                return f"the mode of extent {extent} cannot be cut in whole steps"
        return self.steps.why_not([(int(n), int(x), self.encode(t)) for mode in pieces for n, x, t in mode])


# ------------------------------------------------------------------------------------------------------ symbolic


class SymbolicCutter:
    """A cutter where some sizes are not known.

    A mode of the inner layout steps through the outer modes from the first on: it passes over one whose extent divides
    its step, stays in one that holds all of it, and fills one whose extent its step divides, to go on in the next with
    steps of one. So each piece is a number of steps along one outer mode. Pieces add up without a carry if in each mode
    but the last the steps of all of them together stay below its extent. Each of these is proved, or recorded by
    assuming().
    """

    def __init__(self, outer: list[Mode], where: Callable[[], str]) -> None:
        self.outer, self.where = outer, where
        self.filled: list[list[Mode]] = [[] for _ in outer]  # of each mode: how many steps of each piece, and how long

    def cut(self, inner: list[Mode]) -> Cut:
        pieces = [self._pieces(s, d) for s, d in inner]
        for (extent, _stride), filled in zip(self.outer[:-1], self.filled):
            # one piece alone in its mode stays in it, as it was cut
            if len(filled) > 1 and not require("<=", _reach(filled) + 1, extent, self.where):
                return Cut(pieces, f"its modes carry together past {extent}")
        return Cut(pieces, None)

    def _pieces(self, s: Leaf, d: IntLike) -> list[Piece]:
        if is_constant(0, d):
            return [Piece(s, d, _0)]
        if len(self.outer) > 1:
            self._require("<=", 1, d, f"the stride {d} is not positive")
        out: list[Piece] = []
        at: Any = d
        step: Any = d
        for i, (extent, _stride) in enumerate(self.outer[:-1]):
            if self._holds(mul(s - 1, step) + 1, extent):
                return [*out, self._piece(i, s, at, step)]
            if divides(extent, step):
                step = settled(step // extent, step, extent)
                continue
            self._require("divides", step, extent, f"steps of {step} do not go evenly through {extent}")
            n = settled(extent // step, extent, step)
            self._require("divides", n, s, f"the mode of extent {s} cannot be cut in whole steps")
            out.append(self._piece(i, n, at, step))
            at, s, step = mul(at, n), settled(s // n, s, n), _1
        return [*out, self._piece(-1, s, at, step)]

    def _holds(self, reach: Any, extent: Any) -> bool:
        """Whether the mode's extent covers every offset below `reach`. Where `reach` is a number and the extent is a
        symbol, no other way to cut could be proved either: then it is required."""
        if known(reach) is None or known(extent) is not None:
            return bool(at_most(reach, extent))
        return require("<=", reach, extent, self.where)

    def _piece(self, i: int, n: object, at: object, step: object) -> Piece:
        self.filled[i].append((n, step))
        return Piece(n, at, mul(step, self.outer[i][1]))

    def _require(self, question: Any, a: Leaf, b: Leaf, why: str) -> None:
        if not require(question, a, b, self.where):
            raise DivisibilityError(
                f"{self.where()}: {why}", "steps that go evenly through the outer layout", "declare sizes that do"
            )


def _reach(filled: list[Mode]) -> Leaf:
    """The sum of the steps of some pieces."""
    total: Any = 0
    for n, step in filled:
        total = total + (n - 1) * step
    return total
