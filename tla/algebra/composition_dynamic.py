"""The outer layout of a composition: how it cuts the modes of the inner one, and whether what it makes of them is right.

What is static is cut where the step of the outer layout changes, what is dynamic as CuTe does, whatever its integers hold, and
is checked with these; what is not known is cut where that is proved.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.basis import E, Encoding
from ..core.digits import Steps
from ..core.errors import DivisibilityError
from ..core.ints import Int, IntLike, is_constant, is_static, known, settled, static
from ..core.leaf_arithmetic import ceil_div, fold, mul
from ..core.questions import at_most, divides, equal, require
from .composition_static import Cut, Piece
from .flat_modes import Mode, has_symbols, path_of, step_of

_0, _1 = Int[0](), Int[1]()


class Outer(Steps):
    """The outer layout of a composition, with its dynamic integers and coordinates: these are encoded, see Encoding."""

    __slots__ = ("encode", "modes", "static")

    def __init__(self, modes: list[Mode]) -> None:
        self.modes = modes
        self.static = all(type(s) is Int and is_static(d) for s, d in modes)
        self.encode = Encoding(d for _s, d in modes)
        super().__init__([(int(s), self.encode(d)) for s, d in modes])

    def pieces(self, s: IntLike, d: IntLike) -> list[Piece]:
        """The mode s:d of the inner layout, cut where the step of the outer one changes."""
        if is_constant(0, d):
            return [Piece(s, d, _0)]
        if self.static and type(s) is Int and type(d) is Int and s > 1:
            return [Piece(static(n), static(x), self._stride(t)) for n, x, t in self.runs(int(s), int(d))]
        return self._along_modes(s, d)

    def _stride(self, t: int) -> Any:
        """A step in a's offsets as a static stride; None where it goes along two coordinates."""
        value, path = self.encode.decode(t) or (None, ())
        return value if value is None else static(value) if not path else E[path] * static(value)

    def _along_modes(self, s: Any, d: Any) -> list[Piece]:
        """CuTe's way: one piece for each mode that d steps in, whatever its dynamic integers hold."""
        out: list[Piece] = []
        at, step = d, d
        for extent, stride in self.modes[:-1]:
            # a dynamic step of 0 stays in this mode for as long as there is
            steps = s + 0 if equal(step, 0) else ceil_div(extent, abs(step))
            following = _signed(step, ceil_div(abs(step), extent))
            if not is_constant(1, steps) and not is_constant(1, s):
                n = fold("min", min, steps, s)
                out.append(Piece(n, at, mul(step, stride)))
                at, s = mul(at, n), s // n
            step = following
        if not out or not is_constant(1, s):
            out.append(Piece(s, at, mul(step, self.modes[-1][1])))
        return out

    def why_not_parts(self, parts: list[list[Piece]], sizes: list[Any]) -> str | None:
        """The reason why the pieces of each mode do not make the composition; None if they do: they multiply to its size, and add up."""
        if any(t is None for part in parts for _n, _x, t in part):
            return "a step goes along two coordinates at once"
        if not all(INT64_MIN <= step_of(t) <= INT64_MAX for part in parts for _n, _x, t in part):
            return "a stride needs more than 64 bits"
        for part, extent in zip(parts, sizes):
            if math.prod(int(n) for n, _x, _t in part) != extent:
                return f"the mode of extent {extent} cannot be cut in whole steps"
        return self.why_not([(int(n), int(x), self.encode(t)) for part in parts for n, x, t in part])


class OuterOfSymbols:
    """The outer layout of a composition of sizes that are not known, with the same two questions as Outer.

    A mode of the inner layout steps through the outer modes from the first on: it passes over one whose extent divides its
    step, stays in one that holds all of it, and fills one whose extent its step divides, to go on in the next with a step of
    1. So each piece is a number of steps along one outer mode, and pieces add up without a carry if in each mode but the
    last the steps of all of them together stay below its extent. Each of these is proved, or recorded by assuming().
    """

    __slots__ = ("_filled", "modes", "where")

    def __init__(self, modes: list[Mode], where: Callable[[], str]) -> None:
        self.modes, self.where = modes, where
        self._filled: list[list[Mode]] = [[] for _ in modes]  # of each mode: how many steps of each piece, and how long

    def pieces(self, s: Any, d: IntLike) -> list[Piece]:
        """The mode s:d of the inner layout, cut where it goes on in another outer mode."""
        if is_constant(0, d):
            return [Piece(s, d, _0)]
        if len(self.modes) > 1:
            self._require("<=", 1, d, f"the stride {d} is not positive")
        out: list[Piece] = []
        at: Any = d
        step: Any = d
        for i, (extent, stride) in enumerate(self.modes[:-1]):
            if self._holds(mul(s - 1, step) + 1, extent):
                return [*out, self._piece(i, s, at, step, stride)]
            if divides(extent, step):
                step = settled(step // extent, step, extent)
                continue
            self._require("divides", step, extent, f"steps of {step} do not go evenly through {extent}")
            n = settled(extent // step, extent, step)
            self._require("divides", n, s, f"the mode of extent {s} cannot be cut in whole steps")
            out.append(self._piece(i, n, at, step, stride))
            at, s, step = mul(at, n), settled(s // n, s, n), _1
        return [*out, self._piece(len(self.modes) - 1, s, at, step, self.modes[-1][1])]

    def _holds(self, reach: Any, extent: Any) -> bool:
        """Whether the mode's extent covers every offset below `reach`. Where `reach` is a number and the extent is a symbol, no other
        way to cut could be proved either: then it is required."""
        if known(reach) is None or known(extent) is not None:
            return bool(at_most(reach, extent))
        return require("<=", reach, extent, self.where)

    def _piece(self, i: int, n: object, at: object, step: object, stride: Any) -> Piece:
        self._filled[i].append((n, step))
        return Piece(n, at, mul(step, stride))

    def _require(self, question: Any, a: Any, b: Any, why: str) -> None:
        if not require(question, a, b, self.where):
            raise DivisibilityError(f"{self.where()}: {why}", "steps that go evenly through the outer layout", "declare sizes that do")

    def why_not_parts(self, _parts: list[list[Piece]], _sizes: list[Any]) -> str | None:
        """The reason why the pieces do not make the composition; None if they do. One piece alone in its mode stays in it as it was cut."""
        for (extent, _stride), filled in zip(self.modes[:-1], self._filled):
            if len(filled) > 1 and not require("<=", _reach(filled) + 1, extent, self.where):
                return f"its modes carry together past {extent}"
        return None


def _reach(filled: list[Mode]) -> Any:
    """The sum of the steps of some pieces."""
    total: Any = 0
    for n, step in filled:
        total = total + (n - 1) * step
    return total


def outer_of(modes: list[Mode], inner: list[Mode], where: Callable[[], str]) -> Outer | OuterOfSymbols:
    """The outer layout of these modes, for the modes of an inner one."""
    return OuterOfSymbols(modes, where) if has_symbols(*modes, *inner) else Outer(modes)


def cut_along(outers: dict[tuple[int, ...], Outer | OuterOfSymbols], modes: list[Mode]) -> Cut:
    """The modes of an inner layout, each cut by the outer layout of the mode that it goes to; () is all of it, for offsets."""
    parts = [(path_of(d), s, outers[path_of(d)].pieces(s, step_of(d))) for s, d in modes]
    why = None
    for path, outer in outers.items():
        own = [(s, pieces) for p, s, pieces in parts if p == path]
        why = why or outer.why_not_parts([pieces for _s, pieces in own], [s for s, _pieces in own])
    return Cut([pieces for _path, _s, pieces in parts], why)


def _signed(like: Any, n: Any) -> Any:
    return -n if known(like) is not None and like < 0 else n
