"""Coordinates as values of strides: E[0], E[1], ... and their sums.

A layout with strides E[i] maps to coordinates instead of offsets: (4,8):(E[0],E[1]) is the identity. Multiples of one E
are ScaledBasis elements, sums of them ArithmeticTuples: coordinates that add up mode by mode.

Source: CuTe include/cute/numeric/arithmetic_tuple.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from .arrays import dtype_of
from .cache import known_by
from .coord import coord_leaf
from .errors import LeafTypeError, RangeError, RankError
from .int_tuple import MAX_DEPTH, IntTuple, as_int_tuple, as_tuple, like, shown
from .ints import Int, IntLike, IntTupleLike, is_constant, is_int, is_leaf, is_no_integer, leaf, register_leaf, static
from .leaf_arithmetic import plus, times
from .plain_ints import remade
from .value import Value, new_value, put

if TYPE_CHECKING:
    from .ints import IntTree, Leaf

_0, _1, _MINUS = Int[0](), Int[1](), Int[-1]()


class _Sums:
    """The sums and differences of coordinates, mode by mode."""

    __slots__ = ()

    def __add__(self, other: IntTree) -> Any:
        return _sum(self, other)

    def __radd__(self, other: IntTree) -> Any:
        return _sum(other, self)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, _negative(other))

    def __rsub__(self, other: IntTree) -> Any:
        return _sum(other, _negative(self))


class Basis(_Sums, Value):
    """The base of the strides that coordinates have: one basis element times an integer, or a sum of several."""

    __slots__ = ()
    __array_ufunc__ = None  # an array times an element is an element whose value is the array
    if TYPE_CHECKING:  # what a kind has to have

        @property
        def terms(self) -> tuple[ScaledBasis, ...]: ...
        def each(self, f: Callable[[Any], Any]) -> Basis: ...
        def __neg__(self) -> Basis: ...


class ScaledBasis(Basis):
    """An integer times a basis element: the coordinate that is `value` in one mode and 0 in all others.

    value   an integer, or what computes like one
    path    the mode: (1,) is mode 1, (1, 0) is mode 0 of mode 1

    It prints innermost mode first, as CuTe does: `2@0@1` is 2 in mode 0 of mode 1. Made by `E[...]` and integers.

    >>> from tla import E, _3
    >>> print(E[1, 0], 2 * E[0], _3 * E[1] * 2, E[0] + 2 * E[1])
    _1@0@1 2@0 6@1 (_1,2)

    Raises LeafTypeError where it meets what is no integer and no coordinate.

    Source: CuTe `ScaledBasis`.
    """

    __slots__ = ("path", "value")
    _instead = "multiply an E"

    value: Any
    path: tuple[int, ...]

    def __init__(self, value: object, path: tuple[int, ...]) -> None:
        put(self, "value", coord_leaf(value))
        put(self, "path", _path(path))

    def __mul__(self, n: IntLike) -> ScaledBasis:
        return _element(times(_factor(n), self.value), self.path)

    __rmul__ = __mul__

    def __neg__(self) -> ScaledBasis:
        return _element(times(self.value, _MINUS), self.path)

    def __abs__(self) -> ScaledBasis:
        return _element(abs(self.value), self.path)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):  # 5@0 is the coordinate (5)
            return is_leaf(self.value) and bool(as_coordinate(self) == other)
        if not isinstance(other, ScaledBasis):
            return NotImplemented
        one, two = self.value, other.value
        return self.path == other.path and (one is two or (is_leaf(one) and is_leaf(two) and bool(one == two)))

    def __hash__(self) -> int:
        return hash(as_coordinate(self))

    def __str__(self) -> str:
        return "@".join(map(str, (self.value, *reversed(self.path))))

    def __repr__(self) -> str:
        element = f"E[{', '.join(map(str, self.path))}]"
        return element if is_constant(1, self.value) else f"{self.value!r}*{element}"

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (ScaledBasis, self.value, self.path)

    @property
    def is_static(self) -> bool:
        """Whether the value is known at compile time."""
        return type(self.value) is Int

    @property
    def terms(self) -> tuple[ScaledBasis, ...]:
        """The elements that it is the sum of: itself alone."""
        return (self,)

    def each(self, f: Callable[[Any], Any]) -> ScaledBasis:
        """The element with f of its value."""
        return ScaledBasis(f(self.value), self.path)


class BasisSum(Basis):
    """A stride along several modes at once, the sum of basis elements: (1,1) is the step of a diagonal. Only strides
    are of this kind: a layout called gives an ArithmeticTuple.

    >>> from tla import E, make_layout
    >>> a = make_layout(4, E[0] + 2 * E[1])
    >>> print(a, a(3))
    4:_1@0+2@1 (3,6)

    Source: CuTe's whitepaper, arXiv 2603.02298; PyCuTe `ArithTuple` as a stride.
    """

    __slots__ = ("_terms",)
    _instead = "add basis elements"

    _terms: tuple[ScaledBasis, ...]

    @property
    def terms(self) -> tuple[ScaledBasis, ...]:
        """The elements that it is the sum of."""
        return self._terms

    def __mul__(self, n: IntLike) -> BasisSum:
        return self.each(functools.partial(times, _factor(n)))

    __rmul__ = __mul__

    def __neg__(self) -> BasisSum:
        return self * _MINUS

    def __abs__(self) -> BasisSum:
        return self.each(abs)

    def each(self, f: Callable[[Any], Any]) -> BasisSum:
        """The sum with f of the value of each element."""
        return new_value(BasisSum, _terms=tuple(term.each(f) for term in self.terms))

    def __int__(self) -> int:
        what = f"the stride {self}, along several modes,"
        raise LeafTypeError(what, "an integer", "give a layout of offsets, or of one mode for each stride")

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, BasisSum) else bool(as_coordinate(self) == other)

    def __hash__(self) -> int:
        return hash(as_coordinate(self))

    def __str__(self) -> str:
        return "+".join(map(str, self.terms))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (as_stride, as_coordinate(self))

    @property
    def is_static(self) -> bool:
        """Whether all values are known at compile time."""
        return all(term.is_static for term in self.terms)


def as_stride(coord: object) -> Any:
    """A coordinate as a stride: `(1,_0,2)` is 1@0+2@2; one that is 0 in all modes is _0."""
    terms = tuple(_terms(coord, ()))
    return _0 if not terms else terms[0] if len(terms) == 1 else new_value(BasisSum, _terms=terms)


def _terms(x: object, path: tuple[int, ...]) -> Iterator[ScaledBasis]:
    if isinstance(x, tuple):
        for i, mode in enumerate(x):
            yield from _terms(mode, (*path, i))
    elif not is_constant(0, x):
        yield ScaledBasis(x, path)


def _path(path: object) -> tuple[int, ...]:
    modes = tuple(int(leaf(i)) for i in (path if isinstance(path, tuple) else (path,)))
    if not 0 < len(modes) <= MAX_DEPTH:
        raise RankError(
            f"E of {len(modes)} modes", f"1 to {MAX_DEPTH}", "write E[0], or E[1, 0] for mode 0 of mode 1; E<>{} is 1"
        )
    if not all(0 <= i < 2**16 for i in modes):
        raise RangeError(f"E{list(modes)}", "modes from 0 to 65535", "count the modes from 0")
    return modes


def _element(value: object, path: tuple[int, ...]) -> ScaledBasis:
    """The ScaledBasis of parts that are checked."""
    return new_value(ScaledBasis, value=_in_64_bits(value), path=path)


def _in_64_bits(x: object) -> Any:
    """x, unless it is an integer, or an array of Python's, that 64 bits do not hold."""
    return leaf(x) if isinstance(x, int) else coord_leaf(x) if dtype_of(x) == "object" else x


def _factor(n: IntLike) -> Any:
    """n, if coordinates can be multiplied by it."""
    if isinstance(n, (ScaledBasis, tuple)):
        raise LeafTypeError(
            f"coordinates times {shown(n)}", "an integer", "add coordinates, or multiply them by integers"
        )
    return coord_leaf(n)


known_by(ScaledBasis, lambda b: (b.value, b.path))
known_by(BasisSum, lambda b: b.terms)


class _Elements:
    """`E[i, j]`: the basis element of mode j of mode i, the coordinate that is 1 there and 0 elsewhere.

    >>> from tla import E, Layout
    >>> a = Layout((4, 8), (E[1], E[0]))
    >>> print(a, a(2, 3))
    (4,8):(_1@1,_1@0) (3,2)

    Raises RangeError for a negative mode. Source: CuTe `E<I...>`.
    """

    def __getitem__(self, path: int | tuple[int, ...]) -> ScaledBasis:
        return _element(_1, _path(path))

    def __call__(self, *path: Any) -> ScaledBasis:
        raise LeafTypeError(f"E{path!r}", "the modes in square brackets", "write E[0], or E[1, 0] for mode 0 of mode 1")

    def __repr__(self) -> str:
        return "E"

    def __reduce__(self) -> str:
        return "E"


#: The basis elements of coordinates: E[0], E[1], E[1, 0], ...
E = _Elements()


class ArithmeticTuple(_Sums, IntTuple):
    """A coordinate that computes: + and - go mode by mode, * by an integer.

    Where one coordinate has fewer modes than the other, it counts as 0 in the rest.

    >>> from tla import ArithmeticTuple, E
    >>> print(ArithmeticTuple(1, (2, 3)) + ArithmeticTuple(10), 2 * ArithmeticTuple(1, 2), ArithmeticTuple(5, 5) - E[1])
    (11,(2,3)) (2,4) (5,4)

    Raises RankError where an integer other than _0 meets a tuple. Source: CuTe `ArithmeticTuple`.
    """

    __slots__ = ()
    checked = False  # it may hold arrays and tracers

    def __new__(cls, *modes: Any) -> ArithmeticTuple:
        return as_tuple(cls, modes, coord_leaf)

    def __neg__(self) -> ArithmeticTuple:
        return self * _MINUS

    def __mul__(self, n: IntLike) -> ArithmeticTuple:
        n = _factor(n)
        return _coordinate(m * n if isinstance(m, tuple) else times(n, m) for m in self)

    __rmul__ = __mul__


def _negative(x: object) -> IntTree:
    """-x of a coordinate: of an element, a tuple or an integer."""
    if isinstance(x, tuple) and not isinstance(x, ArithmeticTuple):
        x = ArithmeticTuple(*x)
    return -x if isinstance(x, (Basis, ArithmeticTuple)) else times(coord_leaf(x), _MINUS)


def _coordinate(modes: Any) -> ArithmeticTuple:
    """The modes as an ArithmeticTuple, unchecked."""
    return tuple.__new__(ArithmeticTuple, [_coordinate(m) if isinstance(m, tuple) else m for m in modes])


def as_coordinate(x: object) -> Any:
    """A basis element as a coordinate: `8@0@1` is `(_0,(8))`, or a sum of them. A tuple as an ArithmeticTuple; an
    integer stays one."""
    if isinstance(x, BasisSum):
        return functools.reduce(_sum_of_modes, map(as_coordinate, x.terms))
    if isinstance(x, ScaledBasis):
        value = x.value
        for i in reversed(x.path):
            value = tuple.__new__(ArithmeticTuple, [_0] * i + [value])
        return value
    return ArithmeticTuple(*x) if isinstance(x, tuple) else coord_leaf(x)


def in_shape(x: object, shape: IntTupleLike) -> Any:
    """The value of a layout of coordinates as a coordinate of a shape: a basis element, or a sum, is 0 in the modes
    that it does not name.

    >>> print(in_shape(3 * E[1], (4, 5, 6)), in_shape(2 * E[0] + E[1, 1], (4, (5, 2), 6)))
    (_0,3,_0) (2,(_0,_1),_0)

    Any other coordinate is as it was. RankError for modes that the shape does not have.
    """
    if not isinstance(x, (Basis, ArithmeticTuple)):
        return x
    coord = as_coordinate(x)
    if not isinstance(shape, tuple) or len(coord) > len(shape):
        what = f"the coordinate {shown(x)} of the shape {shown(shape)}"
        raise RankError(what, "modes that the shape has", "use basis elements of these")
    return _coordinate(in_shape(c, s) for c, s in zip_longest(coord, shape, fillvalue=_0))


def with_zeros(a: object, b: object) -> tuple[Any, Any]:
    """Two coordinates, each 0 in the modes that only the other one has.

    >>> print(*with_zeros(E[0], 2 * E[1, 1]))
    (_1,(_0,_0)) (_0,(_0,2))
    """
    a, b = as_coordinate(a), as_coordinate(b)
    if isinstance(a, tuple) or isinstance(b, tuple):
        a, b = (() if not isinstance(x, tuple) and is_zero(x) else x for x in (a, b))
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return a, b
    pairs = [with_zeros(*pair) for pair in zip_longest(a, b, fillvalue=_0)]
    return _coordinate(x for x, _ in pairs), _coordinate(y for _, y in pairs)


def is_zero(x: object) -> bool:
    """Whether an integer is the zero of every module: a static one, or one that sum() begins with."""
    return is_constant(0, x) or (type(x) is int and x == 0)


def _sum(a: object, b: object) -> IntTree:
    """The sum of two coordinates, mode by mode. A zero that sum() begins with, or a static one, is that
    of every module."""
    for x, other in ((a, b), (b, a)):
        if is_int(x) and not isinstance(other, int) and is_zero(x):
            return other
    return _sum_of_modes(as_coordinate(a), as_coordinate(b))


def _sum_of_modes(a: IntLike, b: IntLike) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple.__new__(ArithmeticTuple, [_sum_of_modes(*pair) for pair in zip_longest(a, b, fillvalue=_0)])
    if is_constant(0, a) or is_constant(0, b):
        return b if is_constant(0, a) else a
    if isinstance(a, tuple) or isinstance(b, tuple) or is_no_integer(a) or is_no_integer(b):
        raise RankError(
            f"the sum of {shown(a)} and {shown(b)}", "coordinates of one nesting", "use basis elements of other modes"
        )
    return _in_64_bits(plus(a, b))


def _ask(question: str, a: IntLike, b: IntLike) -> bool | None:
    if question == "==":
        return bool(a == b)
    raise LeafTypeError(
        f"{shown(a)} and {shown(b)}: coordinates have no order", "integers", "use basis elements as strides only"
    )


register_leaf(ScaledBasis, _ask, integer=False)
register_leaf(BasisSum, _ask, integer=False)


def MakeBasisLike(shape: IntTupleLike) -> IntTree:
    """The basis elements of a shape: E[path] at each integer; the strides of the identity layout.

    >>> from tla import MakeBasisLike
    >>> print(MakeBasisLike((4, (2, 3))))
    (_1@0,(_1@0@1,_1@1@1))

    Source: CuTe `make_basis_like`.
    """
    shape = as_int_tuple(shape)
    return like(shape, (E[path] for path in paths(shape))) if isinstance(shape, tuple) else _1


def paths(shape: IntTupleLike, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The path of each integer of a shape, in their order."""
    if isinstance(shape, tuple):
        for i, mode in enumerate(shape):
            yield from paths(mode, (*path, i))
    else:
        yield path


def steps_of(d: IntLike) -> list[tuple[tuple[int, ...], Any]]:
    """The modes that a stride goes along, and how far in each: of offsets one, ()."""
    return [(term.path, term.value) for term in d.terms] if isinstance(d, Basis) else [((), d)]


class Encoding:
    """Coordinates as integers: e_k becomes W**k, so that equal integers are equal coordinates.

    This holds as long as no coordinate reaches W / 2. Sums on the way through a layout stay far below: 64-bit strides,
    times 64-bit extents, in fewer than 2**100 terms.

    >>> from tla.core.basis import E, Encoding
    >>> f = Encoding([E[0], 3 * E[1], 7])
    >>> f.decode(f(3 * E[1]) * 5)
    (15, (1,))
    """

    BITS = 256

    def __init__(self, strides: Any, sums: bool = False) -> None:
        strides = [*strides]
        self.sums = sums or any(isinstance(d, BasisSum) for d in strides)
        paths = dict.fromkeys(term.path for d in strides if isinstance(d, Basis) for term in d.terms)
        self._shift = {path: (k + 1) * self.BITS for k, path in enumerate(paths)}

    def __call__(self, d: Leaf) -> int:
        return sum(int(t.value) << self._shift[t.path] for t in d.terms) if isinstance(d, Basis) else int(d)

    def stride(self, n: int) -> Leaf | None:
        """The static stride of an encoded number; None for one along several modes where no stride that
        was given is."""
        found = self.decode(n)
        if found:
            value, path = found
            return E[path] * static(value) if path else static(value)
        if not self.sums:
            return None
        half, values = 1 << (self.BITS - 1), []
        for path, shift in self._shift.items():
            value = ((n >> shift) + half) % (2 * half) - half
            values.append(E[path] * static(value))
            n -= value << shift
        return as_stride(functools.reduce(_sum, values)) if n == 0 else None

    def decode(self, n: int) -> tuple[int, tuple[int, ...]] | None:
        """The value and the path, () for an integer; None for a coordinate of more than one mode."""
        for path, shift in (((), 0), *self._shift.items()):
            value = n >> shift
            if value << shift == n and (not self._shift or value.bit_length() < self.BITS // 2):
                return value, path
        return None
