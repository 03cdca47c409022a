"""Vectors: accesses of several elements at once, which lie together, in order, and begin at a multiple of their size.

Copies of one thread, rows of ldmatrix, registers of a matrix instruction: what each of them asks of a layout
is asked here.

Source: the PTX manual, "Addresses as operands", "ld", "cp.async", "ldmatrix"; CuTe include/cute/layout.hpp, upcast, by
which a tensor is recast to an instruction's registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...algebra.flat_modes import Mode, flat_modes
from ...core.element import Element
from ...core.errors import Reason
from ...core.int_tuple import rank, shown
from ...core.ints import known
from ...core.layout import Layout
from ...core.questions import equal, require
from ...symbolic.multiples import require_multiple


class Vectors(NamedTuple):
    """The vectors that a mode of a layout is cut into.

    layout    the layout;  mode  which of its modes;  values  the leaves of this mode;  others  those of the other ones
    bits      of a vector [bits]
    element   the element type
    fix       what to do where it is not made of such vectors

    >>> from tla import parse
    >>> from tla.gpu import half
    >>> vectors_along(1, parse("(_128,_64):(_72,_1)"), 128, half, "pad it").why_not(lambda: "")
    >>> print(vectors_along(1, parse("(_128,_64):(_65,_1)"), 128, half, "pad it").why_not(lambda: "").what)
    (_128,_64):(_65,_1) has no whole units of 16 bytes, 8 elements: the stride _65
    """

    layout: Any
    mode: int
    values: Sequence[Mode]
    others: Sequence[Mode]
    bits: int
    element: Element
    fix: str

    @property
    def elements(self) -> int:
        """The elements of a vector: one where elements are as wide, or wider."""
        return max(self.bits // self.element.bits, 1)

    def why_not(self, where: Callable[[], str]) -> Reason | None:
        """The reason why the mode is not made of such vectors, by the layout alone; None where it is.

        With symbols that is proved, or recorded by assuming(); else Unproven. where: the operation, for the message.
        """
        return self.why_not_together(where) or self.why_not_aligned(where)

    def why_not_together(self, where: Callable[[], str]) -> Reason | None:
        """The reason why the elements of a vector do not lie one after the other; None where they do."""
        cut = first_values(self.values, self.elements)
        if cut is None:
            return self._apart("reach past its end")
        run = 1
        for extent, step in cut[0]:
            if not require("==", step, run, where):
                return self._apart("are not contiguous")
            run *= extent
        return None

    def why_not_aligned(self, where: Callable[[], str]) -> Reason | None:
        """The reason why vectors do not begin at multiples of their size, as the first does; None if they do."""
        cut = first_values(self.values, self.elements)
        for extent, step in [*(cut[1] if cut else ()), *self.others]:
            if known(extent) != 1 and not require("divides", self.elements, step, where):
                return self.no_units(f"the stride {step}")
        return None

    def _apart(self, why: str) -> Reason:
        what = f"{self.bits // 8} bytes along mode {self.mode} of {shown(self.layout)} {why}"
        return Reason(what, self.expected, self.fix)

    def no_units(self, why: str) -> Reason:
        """The reason why vectors begin at no multiple of their size."""
        what = f"{shown(self.layout)} has no whole units of {self.bits // 8} bytes, {self.elements} elements: {why}"
        return Reason(what, self.expected, self.fix)

    @property
    def expected(self) -> str:
        """The vector, in words."""
        return f"{self.elements} contiguous elements at a multiple of {self.bits // 8} bytes"


def vectors_along(mode: int, layout: Layout, bits: int, element: Element, fix: str) -> Vectors:
    """The vectors along one of a layout's modes."""
    others = [leaf for i in range(rank(layout)) if i != mode for leaf in flat_modes(layout[i])]
    return Vectors(layout, mode, flat_modes(layout[mode]), others, bits, element, fix)


def first_values(modes: Sequence[Mode], count: int) -> tuple[list[tuple[int, Any]], list[Mode]] | None:
    """The modes of the first `count` values, and the other ones; None if a mode is cut, or extents are unknown."""
    first: list[tuple[int, Any]] = []
    left, merged = count, in_one_step(modes)
    for i, (extent, step) in enumerate(merged):
        n = known(extent)
        if left == 1:
            return first, merged[i:]
        if not n or (n % left and left % n):
            return None
        if n >= left:
            return [*first, (left, step)], [*([(n // left, step * left)] if n > left else []), *merged[i + 1 :]]
        first, left = [*first, (n, step)], left // n
    return (first, []) if left == 1 else None


def in_one_step(modes: Sequence[Mode]) -> list[Mode]:
    """Modes without those of extent 1, each that goes on in the step of the one before merged with it."""
    out: list[Mode] = []
    for extent, step in modes:
        if out and equal(step, out[-1][1] * out[-1][0]):
            out[-1] = (out[-1][0] * extent, out[-1][1])
        elif known(extent) != 1:
            out.append((extent, step))
    return out


def is_multiple(n: int, start: Any, where: Callable[[], str]) -> bool:
    """Whether a start, or that of each of an array of threads, is a multiple of n; of symbols that is required."""
    return not (start % n).any() if hasattr(start, "dtype") else require_multiple(n, start, where)


def are_of_one_run(a: Sequence[Mode], b: Sequence[Mode]) -> bool:
    """Whether two vectors are runs of elements in one order: moved as they lie, each element comes where it belongs."""
    run = 1
    for extent, step in sorted(((known(n), known(d)) for n, d in a), key=lambda mode: mode[1] or 0):
        if extent is None or step != run:
            return False
        run *= extent
    return in_one_step(a) == in_one_step(b)
