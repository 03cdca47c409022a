"""Conditions of coordinates, in index expressions whose sizes are names: those that are bounds say the box in which a
layout has elements.

A text that is -1 where a bound does not hold has the layout that it has inside, and the box as its origin_shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.composed import ComposedLayout
from ..core.errors import RangeError
from ..core.int_tuple import shown
from ..core.ints import IntLike, Leaf, as_static
from ..core.layout import Layout
from ..core.leaf_arithmetic import add, smaller
from ..symbolic import SymInt
from ..symbolic.symint import poly_of

if TYPE_CHECKING:
    from .reading import Op

#: A comparison -> the one that holds where it does not.
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Test(NamedTuple):
    """A comparison of a coordinate that some coordinates meet: first < second, or first <= second."""

    test: str
    first: Leaf
    second: Leaf

    def __str__(self) -> str:
        return f"{self.first} {self.test} {self.second}"

    def opposite(self) -> Test:
        return self._replace(test=_OPPOSITE[self.test])


class Open(NamedTuple):
    """A truth value that coordinates decide: whether all of these hold, or any.

    op      the operation, and its place in the text
    tests   the comparisons;  every  whether all are meant
    """

    op: Op
    tests: tuple[Test, ...]
    every: bool = True

    def opposite(self) -> Open:
        return Open(self.op, tuple(x.opposite() for x in self.tests), not self.every)

    @property
    def known(self) -> tuple[Test, ...]:
        """The comparisons that hold where this does, each by itself."""
        return self.tests if self.every or len(self.tests) == 1 else ()

    def where(self, held: tuple[Open, ...]) -> Open | bool:
        """The part of this that is left where others hold: True, False, or the comparisons that they do not decide."""
        for other in held:
            for x, same in (other, True), (other.opposite(), False):
                if self.tests == x.tests and (self.every == x.every or len(x.tests) == 1):
                    return same
        true = {x for other in held for x in other.known}
        decides = {x.opposite() for x in true} if self.every else true
        if decides & {*self.tests}:
            return not self.every
        left = tuple(x for x in self.tests if (x if self.every else x.opposite()) not in true)
        return self._replace(tests=left) if left else self.every

    def joined(self, other: Open, every: bool) -> Open | int | None:
        """Both, or one of both: 0 or 1 where it is known; None where it is neither all nor any of the comparisons."""
        left = other.where((self if every else self.opposite(),))
        if isinstance(left, bool):
            return self if left == every else int(left)
        fit = all(x.every == every or len(x.tests) == 1 for x in (self, left))
        return Open(self.op, (*self.tests, *left.tests), every) if fit else None


class NoValue(NamedTuple):
    """The end of a function that has returned nothing."""

    op: Op


class Choice(NamedTuple):
    """One value where a condition holds, and another elsewhere."""

    condition: Open
    first: Any
    second: Any


def choice(condition: Open, first: Any, second: Any, held: tuple[Open, ...] = ()) -> Any:
    """The choice between two values, each of which is asked for only where it is taken; held: what
    holds there already."""
    asked = condition.where(held)
    if isinstance(asked, bool):
        return _assumed(first if asked else second, held)
    first, second = _assumed(first, (*held, asked)), _assumed(second, (*held, asked.opposite()))
    if isinstance(first, int) and isinstance(second, int) and {first, second} <= {0, 1}:  # a truth value
        return first if first == second else asked if first else asked.opposite()
    return Choice(asked, first, second)


def _assumed(x: Any, held: tuple[Open, ...]) -> Any:
    """A value where conditions hold."""
    return choice(*x, held) if isinstance(x, Choice) else x


def bounded(x: Any) -> tuple[Any, tuple[Test, ...]]:
    """The value of choices that are -1 elsewhere, and the comparisons that hold where it is taken.
    Other choices stay."""
    tests: list[Test] = []
    while isinstance(x, Choice):
        at = x.condition
        for asked, value, other in (at, x.first, x.second), (at.opposite(), x.second, x.first):
            if isinstance(other, int) and other == -1 and asked.known:
                tests += asked.known
                x = value
                break
        else:
            break
    return x, tuple(tests)


def box_of(tests: tuple[Test, ...], indices: tuple[Leaf, ...], extents: tuple[Leaf, ...]) -> tuple[IntLike, ...]:
    """The box from 0 on in which comparisons hold. Raises RangeError for one that is no bound of a coordinate alone.

    >>> from tla import dims, index
    >>> M, N = dims("M N")
    >>> print(*box_of((Test("<", index("i", below=N), M),), (index("i", below=N),), (N,)))
    min(M,N)
    """
    box: list[Any] = [*extents]
    coordinates = {poly_of(at): k for k, at in enumerate(indices) if isinstance(at, SymInt)}
    names = {str(n) for at in indices if isinstance(at, SymInt) for n in at.poly.atoms}
    for x in tests:
        low, high = (x.first, x.second) if x.test in ("<", "<=") else (x.second, x.first)
        bound = add(high, int(x.test in ("<=", ">=")))
        k = coordinates.get(poly_of(low))
        if k is None or (isinstance(bound, SymInt) and names & {str(n) for n in bound.symbols}):
            fix = "compare each coordinate alone, such as i < M && j < N, or give shape= the extents inside"
            raise RangeError(f"the condition {x}", "a bound from above of one coordinate", fix)
        at_least = bound >= 0
        if not (at_least if isinstance(at_least, bool) else at_least.holds):
            what = f"the bound {shown(bound)}, which may be negative"
            raise RangeError(what, "0 or more, proved", "declare it: dim('M', at_least=0)")
        box[k] = smaller(box[k], bound)
    return tuple(as_static(n) if isinstance(n, int) else n for n in box)


def within(layout: Any, box: tuple[IntLike, ...]) -> Any:
    """The layout with a box as its origin_shape, a mode for each coordinate."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, within(layout.inner, box))
    shape, stride = (layout.shape, layout.stride) if len(box) > 1 else ((layout.shape,), (layout.stride,))
    return Layout(shape, stride, box)
