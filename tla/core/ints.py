"""Integers: static (`Int[4]()`), dynamic (`4`), and the kinds that register here (symbols).

A static integer is known at compile time. Its static-ness is part of every result, because generated code and vector
widths depend on it, and it is never part of equality or hash: `_4 == 4`.

Source: CuTe include/cute/numeric/integral_constant.hpp; CATLASS include/tla/numeric/integral_constant.hpp.
"""

from __future__ import annotations

import numbers
import operator
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex, TypeAlias, cast

from .arrays import INT64_MAX, INT64_MIN
from .errors import LeafTypeError, RangeError
from .plain_ints import are_static
from .value import Value

#: An integer of any kind: Int[4](), 4, a SymInt, an integer of numpy. What an operation of two gives is of the kind
#: that these decide.
IntLike: TypeAlias = SupportsIndex
#: An integer, or a tuple of these, nested.
IntTupleLike: TypeAlias = "SupportsIndex | tuple[IntTupleLike, ...]"
#: An integer of a result: Int, int or SymInt, or a basis element. Which of them depends on the values, so checkers let
#: it be used as any.
Leaf: TypeAlias = Any
#: An integer of a result, or an IntTuple of them; which depends on the values.
IntTree: TypeAlias = Any

# ---------------------------------------------------------------------------------------------- static integers


class Static(Value):
    """A static value as a type: what C++ writes between angle brackets. Calling it gives the value.

    >>> Int[4], Int[4]()
    (Int[4], Int[4]())
    >>> isinstance(Int[4](), Int[4]), isinstance(4, Int[4])
    (True, False)
    """

    __slots__ = ("_text", "value")

    _text: str
    value: Any

    def __init__(self, value: object, text: str = "") -> None:
        _set_value(self, value)
        _set_text(self, text)

    def __call__(self, *arguments: Any) -> Any:
        if arguments:
            raise LeafTypeError(
                f"{self!r}{arguments!r}", "no arguments: it is a type", f"write {self!r}() for the value"
            )
        return self.value

    def __instancecheck__(self, x: object) -> bool:
        return type(x) is type(self.value) and is_static(x) and bool(x == self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if isinstance(other, Static) else NotImplemented

    def __hash__(self) -> int:
        return hash((Static, self.value))

    def __repr__(self) -> str:
        return self._text or f"Int[{self.value:d}]"


_set_value, _set_text = (Static.__dict__[name].__set__ for name in ("value", "_text"))


def _lift(name: str, absorbs: Mapping[int, int] = {}, start: int | None = None) -> Any:
    """Int's operator `name`: static with a static operand, dynamic with a dynamic one.

    absorbs   static operand -> the answer, where that does not depend on the dynamic side: x * _0 is _0
    start     the plain int on the left where sum() or math.prod() begins: that result is the static operand
    """
    method = getattr(int, name)

    def operate(self: Int, other: object) -> Any:
        if type(other) is Int:
            return static(method(self, other))
        if type(other) is not int and (is_no_integer(other) or isinstance(other, Static)):
            raise _meets(name, self, other)
        result = method(self, other)  # NotImplemented for arrays, tracers and symbols: they have the reflected operator
        if self in absorbs and is_int(other):
            return static(absorbs[self])
        return self if start is not None and type(other) is int and other == start else result

    operate.__name__ = name
    return operate


def _meets(name: str, a: Int, b: object) -> LeafTypeError:
    fix = f"write {b!r}() for the value" if isinstance(b, Static) else "convert it with int() if that is meant"
    return LeafTypeError(f"{name.strip('_')}: the static integer {a:d} meets {b!r}", "an integer", fix)


def _no_true_division(self: Int, other: object) -> Any:
    what = f"{int(self)} and {other!r}: no true division of layout integers"
    raise LeafTypeError(what, "an integer division", "use // for the quotient rounded down")


class _IntMeta(type):
    def __getitem__(cls, n: int) -> type[Int]:
        return _TYPES[n if type(n) is int else int(leaf(n))]  # type: ignore[return-value]  # it stands for one

    if not TYPE_CHECKING:  # a checker would take its result type for that of Int[4]()

        def __call__(cls, *args):
            raise LeafTypeError(
                f"Int{args!r}", "a size in square brackets", "write Int[4]() for the value, Int[4] for its type"
            )


class Int(int, metaclass=_IntMeta):
    """A static integer: `Int[4]` is the type, `Int[4]()` its value, `_4` the same value as a literal.

    It is the integer N wherever Python or numpy takes one, and keeps static-ness under every integer operator.
    static op static is static; static op dynamic is dynamic, except where the answer does not depend on the dynamic
    side (`x * _0`, `_0 // x`, `x % _1`). `//` and `%` round down, as in Python. A plain 0 on the left of + and a plain
    1 on the left of * leave the static integer as it is, for that is how sum() and math.prod() begin.

    Raises LeafTypeError for `/` and for an operand that is a bool, a float or a text.

    >>> from tla import _2, _4
    >>> print(_4 + _2, _4 + 2, 3 * Int[0](), sum([_4, _2]), -_4)
    _6 6 _0 _6 _-4
    >>> _4 == 4, [10, 20, 30][_2], repr(_4)
    (True, 30, 'Int[4]()')

    Source: CuTe `Int<N>` and `C<v>`; TLA `Int<N>`.
    """

    __slots__ = ()

    __add__ = _lift("__add__")
    __radd__ = _lift("__radd__", start=0)
    __sub__ = _lift("__sub__")
    __rsub__ = _lift("__rsub__")
    __mul__ = _lift("__mul__", {0: 0})
    __rmul__ = _lift("__rmul__", {0: 0}, start=1)
    __floordiv__ = _lift("__floordiv__", {0: 0})
    __rfloordiv__ = _lift("__rfloordiv__")
    __mod__ = _lift("__mod__", {0: 0})
    __rmod__ = _lift("__rmod__", {1: 0, -1: 0})
    __lshift__ = _lift("__lshift__", {0: 0})
    __rlshift__ = _lift("__rlshift__")
    __rshift__ = _lift("__rshift__", {0: 0, -1: -1})
    __rrshift__ = _lift("__rrshift__")
    __and__ = _lift("__and__", {0: 0})
    __rand__ = _lift("__rand__", {0: 0})
    __or__ = _lift("__or__", {-1: -1})
    __ror__ = _lift("__ror__", {-1: -1})
    __xor__ = _lift("__xor__")
    __rxor__ = _lift("__rxor__")
    __truediv__ = __rtruediv__ = _no_true_division

    def __divmod__(self, other: Any) -> tuple[Leaf, ...]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Leaf, ...]:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Leaf | None = None) -> Any:
        if is_no_integer(other):
            raise _meets("pow", self, other)
        if modulus is None and is_int(other) and known(other) is not None and other < 0:
            raise RangeError(
                f"{int(self)} ** {int(other)} is no integer", "an exponent of 0 or more", "divide by the power instead"
            )
        result = int.__pow__(self, other, modulus)
        if result is NotImplemented:  # of a symbol
            return result
        static_modulus = modulus is None or type(modulus) is Int
        return static(result) if static_modulus and (type(other) is Int or (self == 1 and is_int(other))) else result

    __rpow__ = _lift("__rpow__", {0: 1})

    def __round__(self, digits: Any = None) -> Int:
        return static(round(int(self), digits) if digits is not None else int(self))

    def __trunc__(self) -> Int:
        return self

    __floor__ = __ceil__ = __trunc__

    def __neg__(self) -> Int:
        return static(-int(self))

    def __pos__(self) -> Int:
        return self

    def __abs__(self) -> Int:
        return static(abs(int(self)))

    def __invert__(self) -> Int:
        return static(~int(self))

    def __str__(self) -> str:
        return f"_{int(self)}"

    def __repr__(self) -> str:
        return f"Int[{int(self)}]()"

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **options: object) -> Any:
        """To numpy it is a plain int, which takes the dtype of the array that it meets."""
        return getattr(ufunc, method)(*(int(x) if type(x) is Int else x for x in inputs), **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _static, (int(self),)


class _Statics(dict[int, Int]):
    """The static integers that layouts are full of, made once: looking one up takes a fifth of making it."""

    def __missing__(self, n: int) -> Int:
        return int.__new__(Int, n)


_STATICS = _Statics((n, int.__new__(Int, n)) for n in (*range(-64, 1025), *(1 << k for k in range(11, 32))))
#: The static integer n: `Int[n]()` for the library, which has checked n.
static: Callable[[int], Int] = _STATICS.__getitem__


class _Types(dict[int, Static]):
    """The types of static integers: of those that are made once, when it is first asked for."""

    def __missing__(self, n: int) -> Static:
        if n in _STATICS:
            self[n] = made = Static(static(n))
            return made
        if not INT64_MIN <= n <= INT64_MAX:
            leaf(n)  # refuses it
        return Static(int.__new__(Int, n))


_TYPES = _Types()
_0, _1 = Int[0](), Int[1]()


def _static(n: int) -> Int:
    """static(n), where a pickle finds it."""
    return static(n)


def static_literal(name: str) -> Int | None:
    """The static integer that the name `_4`, `_128`, ... stands for; None for any other name."""
    digits = name[1:]
    is_number = name[:1] == "_" and digits.isdecimal() and digits.isascii() and len(digits) < 20
    plain = is_number and (digits == "0" or digits[0] != "0")
    return static(int(digits)) if plain and int(digits) <= INT64_MAX else None


# ------------------------------------------------------------------------------------------------ kinds of leaves

Question: TypeAlias = Literal["==", "<=", "divides"]


class LeafKind(NamedTuple):
    """A kind of leaf that is no int: what register_leaf was told of it."""

    ask: Callable[[Question, Any, Any], bool | None]
    integer: bool
    undecided: Callable[[Question, Any, Any, str], bool] | None
    fold: Callable[[str, Any, Any], Any] | None


KINDS: dict[type, LeafKind] = {}
# What another package has for integers: whether x is one, and what makes it a leaf, or refuses it.
_FOREIGN: list[tuple[Callable[[object], bool], Callable[[Any], Any]]] = []


def register_leaf(
    kind: type,
    ask: Callable[[Question, Any, Any], bool | None],
    integer: bool = True,
    undecided: Callable[[Question, Any, Any, str], bool] | None = None,
    fold: Callable[[str, Any, Any], Any] | None = None,
) -> None:
    """Make `kind` a leaf of IntTuples. It needs + - * // % with integers on both sides, and `==` and hash by structure.

    ask(question, a, b)                True, False, or None when that is not known; question is "==", "<=" or "divides"
    integer                            whether it is an integer; a basis element is none, and has + - and
                                       * with integers only
    undecided(question, a, b, where)   what `require` gives where that is not known: True if it is recorded,
                                       or it raises
    fold(name, a, b)                   "min", "max", "gcd" or "lcm" of a and b; None where that is not known
    """
    KINDS[kind] = LeafKind(ask, integer, undecided, fold)


def register_foreign(is_one: Callable[[object], bool], convert: Callable[[Any], Any]) -> None:
    """Take values of another package wherever a leaf is: convert(x) is the leaf that stands for x."""
    _FOREIGN.append((is_one, convert))


def foreign(x: object) -> Callable[[Any], Any] | None:
    """The function that converts a value of another package to a leaf; None if there is none."""
    return next((convert for is_one, convert in _FOREIGN if is_one(x)), None)


def is_sympy(x: object) -> bool:
    """Whether x is an expression of sympy. Until somebody has imported sympy, nothing is."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(x, sympy.Expr)


def is_leaf(x: object) -> bool:
    """Whether x is a leaf as it stands: Int, int or a registered kind."""
    kind = type(x)
    return kind is int or kind is Int or kind in KINDS


def is_int(x: object) -> bool:
    """Whether x is an integer of any kind: Int[N](), int, a numpy integer, a symbol. Not a bool.

    >>> is_int(4), is_int(Int[4]()), is_int(True), is_int(4.0), is_int((4,))
    (True, True, False, False, False)
    """
    if is_leaf(x):
        return isinstance(x, int) or KINDS[type(x)].integer
    indexes = hasattr(type(x), "__index__") and not hasattr(type(x), "__len__")
    return not is_no_integer(x) and (indexes or foreign(x) is not None)


def is_no_integer(x: object) -> bool:
    """Whether x is a bool, a text, or a number of another kind, numpy's included."""
    if isinstance(x, numbers.Number):
        return isinstance(x, bool) or not isinstance(x, numbers.Integral)
    return isinstance(x, (str, bytes)) or _is_bool(x)


def _is_bool(x: object) -> bool:
    """Whether x is numpy's bool: it is no number, and some versions of numpy give it an __index__."""
    return type(x).__module__ == "numpy" and type(x).__name__ in ("bool", "bool_")


def leaf(x: object) -> Leaf:
    """x as a leaf: Int, int or a registered kind; a numpy integer becomes an int. Every integer of a user comes in here
    or by `taken`.

    LeafTypeError for anything else, RangeError for what 64 bits cannot hold.
    """
    if isinstance(x, int) and not INT64_MIN <= x <= INT64_MAX:
        raise RangeError(
            f"an integer of {x.bit_length()} bits", "what a signed 64-bit integer holds", "use a smaller one"
        )
    if is_leaf(x):
        return taken(x)
    if isinstance(x, Static):
        raise LeafTypeError(f"{x!r} is a type", "its value", f"write {x!r}()")
    if isinstance(x, bool) or _is_bool(x):
        raise LeafTypeError(f"{x!r} is a bool", "an integer", f"write {int(cast(Any, x))}")
    if convert := foreign(x):
        return convert(x)
    if is_int(x):
        return leaf(operator.index(cast(Any, x)))
    if hasattr(type(x), "origin_shape"):
        raise LeafTypeError(
            f"a {type(x).__name__} where integers belong", "an integer, or a tuple of integers", "give its .shape"
        )
    if isinstance(x, (list, range, set)):
        raise LeafTypeError(f"a {type(x).__name__}", "a tuple, or an integer", "write a tuple: (4, 8)")
    if shape := getattr(x, "shape", ()) if hasattr(x, "__array_interface__") else ():
        raise _of_array(x, shape)
    shown = f"{x!r:.60}" if is_no_integer(x) or x is None else "a value"
    expected = "an integer: int, Int[N](), a numpy integer"
    raise LeafTypeError(f"{shown} is of type {type(x).__name__}", expected, "convert it with int() if that is meant")


def _of_array(x: Any, shape: tuple[int, ...]) -> LeafTypeError:
    """The error of an array where one integer belongs: the threads of a kernel, as a rule."""
    what = f"an array of shape {shape} where one integer belongs: {' '.join(str(x).split()):.60}"
    fix = "give one of its elements; all threads of a kernel have parts by local_partition(t, layout, thread())"
    return LeafTypeError(what, "an integer: int, Int[N](), a numpy integer", fix)


def taken(x: Leaf) -> Leaf:
    """A leaf as it is read here: inside `with static():` a plain int is a static one."""
    return static(x) if type(x) is int and are_static() else x


def is_static(x: object) -> bool:
    """Whether x is known at compile time: an Int, or a tuple or layout all of whose leaves are.

    >>> from tla import _2, _4, MakeLayout
    >>> is_static(_4), is_static(4), is_static((_4, (_2,))), is_static((_4, 2)), is_static(MakeLayout((_4, _2)))
    (True, False, True, False, True)

    Source: TLA and CuTe `is_static`.
    """
    todo = [x]  # no recursion: x may be nested deeper than any layout
    while todo:
        y = todo.pop()
        if isinstance(y, tuple):
            todo += y
        elif type(y) is not Int and not getattr(y, "is_static", False):
            return False
    return True


def is_constant(n: int, x: object) -> bool:
    """Whether x is the static integer n.

    >>> is_constant(1, Int[1]()), is_constant(1, 1), is_constant(1, Int[2]())
    (True, False, False)

    Source: TLA and CuTe `is_constant<n, T>`.
    """
    return type(x) is Int and int(x) == n


class _IsConstant:
    """Whether x is the static integer n: `is_constant[n](x)`, or `is_constant(n, x)`.

    >>> from tla import Int, is_constant
    >>> is_constant[1](Int[1]()), is_constant[1](1), is_constant(1, Int[2]())
    (True, False, False)

    Source: TLA and CuTe `is_constant<n, T>`.
    """

    __name__ = "is_constant"

    def __call__(self, n: int, x: object) -> bool:
        return is_constant(n, x)

    def __getitem__(self, n: int) -> Callable[[object], bool]:
        n = leaf(n)
        return lambda x: is_constant(n, x)

    def __reduce__(self) -> str:
        return "is_constant_of"


#: What tla.is_constant is: is_constant, and its C++ form in brackets.
is_constant_of = _IsConstant()


def known(x: object) -> int | None:
    """The value of x as a plain int, static or dynamic; None for a symbol."""
    return int(x) if isinstance(x, int) else None


def value_of(x: object) -> int | None:
    """The value of an integer of any kind, numpy's included, as a plain int; None for a symbol, and for what is no
    integer.

    >>> value_of(Int[4]()), value_of(True), value_of("4")
    (4, None, None)
    """
    if not is_int(x) or not (is_leaf(x) or isinstance(x, numbers.Integral)):  # other objects may have an __index__
        return None
    return known(x if isinstance(x, int) else leaf(x))


def as_static(n: IntLike) -> Leaf:
    """An integer of the library's own as the static integer that it is; a symbol as it stands."""
    return static(n) if isinstance(n, int) else n


def settled(n: IntLike, *of: object) -> Leaf:
    """n, made of these: as a static integer where it is a number whatever dynamic integers hold, as M // M is.

    >>> from tla import dim
    >>> M = dim("M")
    >>> print(settled(M // M, M), settled(4 // 4, 4), settled(M * 2, M))
    _1 1 2*M
    """
    return static(n) if type(n) is int and int not in map(type, of) else n


def plain(n: object) -> Any:
    """n as what arrays, tracers and expressions take: an integer of ours as a plain int."""
    return int(n) if isinstance(n, int) else n
