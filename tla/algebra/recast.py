"""Layouts of the same bits in elements of another width.

Source: CuTe include/cute/layout.hpp, upcast, downcast and recast_layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.basis import Basis
from ..core.errors import DivisibilityError, LeafTypeError, RangeError
from ..core.int_tuple import Bracketed, leaves, like, modes_of, product, shown
from ..core.ints import Int, IntLike, IntTree, Leaf, _1, is_constant, known, leaf, static
from ..core.kinds import AnyLayout
from ..core.layout import Layout, as_layout, unchecked_layout, with_valid
from ..core.leaf_arithmetic import ceil_div, mul
from ..core.questions import at_most, divides, equal, require
from ..core.strides import Shape, Stride
from ..core.valid import UNKNOWN, first, spread
from .flat_modes import Mode, flat_modes
from .plain_integers import naming_static


def _counted(name: str, *numbers: int) -> list[int]:
    for n in numbers:
        if n < 1:
            fix = f"write how many elements, or bits: {name}[{', '.join('8' for _ in numbers)}]"
            raise RangeError(f"{name}{[int(n) for n in numbers]}", "1 or more in brackets", fix)
    return [int(n) for n in numbers]


def _modes_of_offsets(name: str, layout: Layout) -> list[Mode]:
    modes = flat_modes(as_layout(name, layout))
    if any(isinstance(d, Basis) for _s, d in modes):
        what = f"{name} of {shown(layout)}"
        raise LeafTypeError(what, "a layout of offsets", "recast the layout of offsets: coordinates have no width")
    return modes


def _leafwise(name: str, layout: Layout, f: Callable[[Any, Any], Mode]) -> Layout:
    """The layout with f(extent, stride) for each of its leaves."""
    modes = [f(s, d) for s, d in _modes_of_offsets(name, layout)]
    for n in (n for mode in modes for n in mode):
        leaf(n)  # which 64 bits have to hold
    new = unchecked_layout(*(like(layout.shape, (m[k] for m in modes), cls) for k, cls in ((0, Shape), (1, Stride))))
    if not isinstance(layout._valid, Shape):
        return with_valid(new, layout._valid)
    counts = [_scaled(*mode) for mode in zip(modes_of(layout.shape), modes_of(new.shape), layout._valid)]
    return with_valid(new, UNKNOWN if None in counts else Shape(*counts))


def _scaled(old: IntTree, new: IntTree, valid: Leaf) -> Any:
    """The number of coordinates of a mode that are valid when the extents in it are other ones; None where they are no
    beginning of it."""
    pairs = [(n, m) for n, m in zip(leaves(old), leaves(new)) if not is_constant(1, n)]
    if all(n is m or equal(n, m) for n, m in pairs):
        return valid
    if equal(valid, product(old)):
        return product(new)
    if all(n is m or equal(n, m) for n, m in pairs[1:]):  # it is the fastest one that changes
        ((n, m), *_rest) = pairs
        factor = m // n if at_most(n, m) else n // m
        if at_most(n, m):
            return mul(valid, factor) if equal(mul(n, factor), m) else None
        return valid // factor if equal(mul(m, factor), n) and divides(factor, valid) else None
    parts = spread([*leaves(old)], valid)
    counts = [None] if parts is None else [_scaled(*leaf) for leaf in zip(leaves(old), leaves(new), parts)]
    return None if None in counts else first([*leaves(new)], counts)


@Bracketed
def upcast(n: int) -> Callable[[Any], Any]:
    """`upcast[n](layout)`: the layout in elements n times as wide.

    A mode whose stride n divides keeps its extent. Of one whose stride divides n, n / stride steps fall into one wide
    element: its extent is divided, rounded up, and its stride is 1.

    >>> from tla import parse, upcast
    >>> print(upcast[4](parse("(_8,_4):(_1,_8)")), upcast[2](parse("(_4,6):(_1,16)")))
    (_2,_4):(_1,_2) (_2,6):(_1,8)

    Law: R's offsets are those of the wide elements that layout's elements lie in: the same set as offset // n.
    Raises DivisibilityError for a stride that neither divides n nor is divided by it, a dynamic stride that n does not
    divide, or modes that share a wide element between them; LeafTypeError for coordinates. Source: CuTe `upcast<N>`.
    """
    (n,) = _counted("upcast", n)

    def up(layout: Layout) -> Layout:
        inside = 0  # how far the steps within one wide element go, together

        def wider(s: Leaf, d: Leaf) -> Mode:
            nonlocal inside
            if is_constant(0, d) or require("divides", n, d, lambda: f"upcast[{n}] of {shown(layout)}"):
                return s, d // static(n)
            if type(d) is not Int or d < 0 or n % d:
                expected = f"a multiple of {n}" + ("" if type(d) is not Int else f", or a divisor of {n}")
                fix = "pad the mode" if type(d) is Int else "make the stride static, or pad"
                raise DivisibilityError(f"upcast[{n}] of {shown(layout)}: the stride {d}", expected, fix)
            step = static(n // d)
            inside += (min(int(step) if known(s) is None else max(known(s) or 1, 1), int(step)) - 1) * int(d)
            return ceil_div(s, step), _1

        wide = _leafwise("upcast", layout, wider)
        if inside >= n:
            what = f"upcast[{n}] of {shown(layout)}: two modes step inside of one wide element and out of it"
            raise DivisibilityError(
                what, f"steps of less than {n} together", "coalesce it first, or use a narrower element"
            )
        return wide

    up.__name__ = f"upcast[{n}]"
    return naming_static(up)


@Bracketed
def downcast(n: int) -> Callable[[Any], Any]:
    """`downcast[n](layout)`: the layout in elements of which n make one.

    The mode of static stride 1 has n times as many, the others n times the stride.

    >>> from tla import downcast, parse
    >>> print(downcast[4](parse("(_2,_4):(_1,_2)")))
    (_8,_4):(_1,_8)

    Law: R's offsets are n * offset + k for every offset of layout and k < n.
    Raises DivisibilityError where no mode has a static stride of 1; LeafTypeError for coordinates.
    Source: CuTe `downcast<N>`.
    """
    (n,) = _counted("downcast", n)

    def down(layout: Layout) -> Layout:
        steps = [(s, d) for s, d in _modes_of_offsets("downcast", layout) if is_constant(1, d)]
        if not steps:
            raise DivisibilityError(
                f"downcast[{n}] of {shown(layout)}", "a mode of static stride 1", "write its stride as _1"
            )
        contiguous = next((m for m in steps if not is_constant(1, m[0])), steps[0])
        found = False

        def narrower(s: IntLike, d: IntLike) -> Mode:
            nonlocal found
            if not found and is_constant(1, d) and s is contiguous[0]:
                found = True
                return mul(s, static(n)), _1
            return s, mul(d, static(n))

        return _leafwise("downcast", layout, narrower)

    down.__name__ = f"downcast[{n}]"
    return naming_static(down)


@Bracketed
def recast_layout(old: int, new: int) -> Callable[[Any], Any]:
    """`recast_layout[old, new](layout)`: the layout of elements of `old` bits in elements of `new` bits.

    >>> from tla import parse, recast_layout
    >>> print(recast_layout[8, 32](parse("(_32,_4):(_1,_32)")), recast_layout[16, 4](parse("(_8):(_1)")))
    (_8,_4):(_1,_8) (_32):(_1)

    Where neither width divides the other it goes by their greatest common divisor. Valid are as many elements as hold
    the valid ones, where these fill whole elements; else origin_shape is None. Raises what upcast and downcast raise.
    Source: CuTe `recast_layout<OldType, NewType>`, which rounds up before it cuts there.
    """
    old, new = _counted("recast_layout", old, new)
    unit = math.gcd(old, new)

    def recast(layout: AnyLayout) -> AnyLayout:
        narrow = layout if old == unit else downcast[old // unit](layout)
        return narrow if new == unit else upcast[new // unit](narrow)

    recast.__name__ = f"recast_layout[{old}, {new}]"
    return naming_static(recast)
