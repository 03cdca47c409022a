"""Layouts as C++ of CuTe. What is static is a type; what is not is made, of parts that are written the same way.

Source: CuTe include/cute/layout.hpp, layout_composed.hpp, swizzle.hpp and numeric/arithmetic_tuple.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...core.basis import ArithmeticTuple, ScaledBasis
from ...core.coord import Coord
from ...core.errors import RangeError
from ...core.ints import Int, IntLike, IntTupleLike, is_constant
from ...core.layout import Layout
from ...core.strides import Shape, Stride
from ...core.swizzle import Swizzle
from .integer_widths import Part, parts
from .sizes import INT32_MAX, cpp, cpp_number

_CPP = cpp("cute")
#: The static integers that have a name in CuTe since its first version; by now it has some more.
_NAMED = {*range(11), *(1 << k for k in range(4, 20))}
#: The type of a tuple, and the function that makes one.
_TUPLES: dict[type, tuple[str, str]] = {
    Shape: ("Shape", "make_shape"),
    Stride: ("Stride", "make_stride"),
    Coord: ("Coord", "make_coord"),
    ArithmeticTuple: ("ArithmeticTuple", "make_arithmetic_tuple"),
}


class _Written(NamedTuple):
    """The kind of text that is written: a type, or an expression."""

    text: str
    is_type: bool

    @property
    def value(self) -> str:
        """The expression; of a type, its value."""
        return f"{self.text}{{}}" if self.is_type else self.text


def cute_cpp(x: object) -> str:
    """A layout, Swizzle, IntTuple or integer as C++ of CuTe."""
    *chain, inner = map(_part, parts(x))
    while chain:
        inner = _made("ComposedLayout", "make_composed_layout", [*chain[-2:], inner])
        del chain[-2:]
    return inner.value


def _part(part: Part) -> _Written:
    x, extents = part.value, iter(part.extents)
    if isinstance(x, Swizzle):
        require_31_bits(x)
        return _Written(f"cute::Swizzle<{x.bits}, {x.base}, {x.shift}>", True)
    if isinstance(x, Layout):
        return _made("Layout", "make_layout", [_tuple(x.shape, extents), _tuple(x.stride, iter(part.strides))])
    return _tuple(x, extents)


def _made(kind: str, maker: str, parts: Iterable[_Written]) -> _Written:
    parts = [*parts]
    if all(p.is_type for p in parts):
        return _Written(f"cute::{kind}<{', '.join(p.text for p in parts)}>", True)
    return _Written(f"cute::{maker}({', '.join(p.value for p in parts)})", False)


def _tuple(x: IntTupleLike, wide: Iterator[bool]) -> _Written:
    """An IntTuple; for each of its integers, from left to right, whether it is of 64 bits."""
    if isinstance(x, tuple):
        return _made(*_TUPLES.get(type(x), ("tuple", "make_tuple")), (_tuple(m, wide) for m in x))
    if isinstance(x, ScaledBasis):
        return _basis(x, next(wide))
    return _integer(x, next(wide))


def _integer(n: IntLike, wide: bool, factor: bool = False) -> _Written:
    if type(n) is not Int:
        return _Written(_CPP.dynamic(n, wide, factor), False)
    if wide or abs(n) > INT32_MAX:
        return _Written(f"cute::C<{cpp_number(int(n), True)}>", True)
    return _Written(f"cute::_{n:d}" if n in _NAMED else f"cute::Int<{n:d}>", True)


def _basis(x: ScaledBasis, wide: bool) -> _Written:
    path = ", ".join(map(str, x.path))
    if is_constant(1, x.value):
        return _Written(f"cute::E<{path}>", True)
    value = _integer(x.value, wide, factor=True)
    if value.is_type:
        return _Written(f"cute::ScaledBasis<{value.text}, {path}>", True)
    return _Written(f"{value.text} * cute::E<{path}>{{}}", False)


def require_31_bits(swizzle: Swizzle) -> None:
    """RangeError for a swizzle of bits that an int does not have: CuTe keeps its masks in one, in C++ and
    in the DSL."""
    if max(swizzle.reads, swizzle.changes) > INT32_MAX:
        raise RangeError(f"{swizzle} as source of CuTe", "at most 31 bits in all", "swizzle lower bits")
