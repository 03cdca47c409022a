"""Functions of elements, in numpy's words, called with names to see what they make of them.

Source: numpy's ufuncs; the C standard, "Mathematics <math.h>".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from ...core.errors import LeafTypeError
from ...core.int_tuple import shown

#: Functions whose answer is a truth value -> their operator.
TRUTHS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", **TRUTHS}
_OF_MATH_H = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tanh", "floor", "rint")
#: numpy's function -> its text in C, operators without brackets: {f} is f for a float, nothing for a double.
FUNCTIONS = {
    **{name: f"{{0}} {sign} {{1}}" for name, sign in _OPERATORS.items()},
    "negative": "-{0}",
    "where": "{0} ? {1} : {2}",
    "maximum": "{0} >= {1} || {0} != {0} ? {0} : {1}",  # a NaN stays, as of numpy's
    "minimum": "{0} <= {1} || {0} != {0} ? {0} : {1}",
    "fmax": "fmax{f}({0}, {1})",
    "fmin": "fmin{f}({0}, {1})",
    "absolute": "fabs{f}({0})",
    **{name: f"{name}{{f}}({{0}})" for name in _OF_MATH_H},
}
_FIX = f"write it with + - * / and comparisons, numpy.where, or numpy's {', '.join(list(FUNCTIONS)[12:])}"


def _unknown(scalar: Scalar, *others: Any) -> Any:
    """Refuse what needs a scalar's value. An operation with elements is theirs."""
    if any(isinstance(x, Value) for x in others):
        return NotImplemented
    what = f"the value of the scalar {scalar}, in a kernel that is traced"
    fix = "compute with it before the call, and give the result as an argument; numpy.where has conditions"
    raise LeafTypeError(what, "the scalar alone, or beside an element in transform: x * alpha", fix)


@dataclass(frozen=True)
class Scalar:
    """A number among a kernel's arguments, of which only its name and numpy's type are known.

    What asks for its value is refused: `if alpha:`, 1 / alpha, alpha < 3, numpy.sqrt(alpha).

    >>> import numpy as np
    >>> from tla.kernels import Scalar
    >>> print(Scalar("alpha", np.dtype("float32")))
    alpha

    Source: ours.
    """

    name: str
    dtype: Any

    def __str__(self) -> str:
        return self.name

    __bool__ = __float__ = __int__ = __index__ = __neg__ = __abs__ = __array_ufunc__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _unknown
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _unknown
    __pow__ = __rpow__ = _unknown


def _binary(name: str) -> Any:
    """An operator of two operands, and the one that Python calls with them the other way around."""
    return lambda self, other: operation(name, self, other), lambda self, other: operation(name, other, self)


class Value:
    """The value that a function makes of elements: an operation of values. An operand is "x" and its number, or
    "n" and a number.

    >>> import numpy as np
    >>> from tla.kernels.program.elements import Value
    >>> x = Value("x", 0)
    >>> print(np.where(x < 0, 0, 2 * np.exp(x)))
    where(less(x0, 0), 0, multiply(2, exp(x0)))

    Source: ours.
    """

    __slots__ = ("args", "op")
    __hash__ = object.__hash__

    def __init__(self, op: str, *args: Any) -> None:
        self.op, self.args = op, args

    def __str__(self) -> str:
        if self.op in "xn":
            return f"{self.op}{self.args[0]}" if self.op == "x" else str(self.args[0])
        return f"{self.op}({', '.join(map(str, self.args))})"

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **named: Any) -> Value:
        if method != "__call__" or named:
            raise LeafTypeError(f"numpy.{function.__name__}.{method} of elements", "a function of elements alone", _FIX)
        name = str(function.__name__)
        return operation("divide" if name == "true_divide" else name, *given)

    def __array_function__(self, function: Any, _types: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Value:
        return operation(function.__name__, *given, *named.values())

    def __bool__(self) -> NoReturn:
        fix = "write numpy.where(x < 0, 0, x)"
        raise LeafTypeError(f"the truth of {self}", "a function of elements without conditions of Python", fix)

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __lt__, __le__, __gt__, __ge__, __eq__, __ne__ = (_binary(name)[0] for name in TRUTHS)

    def __neg__(self) -> Value:
        return operation("negative", self)

    def __abs__(self) -> Value:
        return operation("absolute", self)


def operation(name: str, *given: Any) -> Value:
    """An operation of values and numbers. Raises LeafTypeError for one that a text does not have."""
    form = FUNCTIONS.get(name)
    if form is None or f"{{{len(given)}}}" in form or f"{{{len(given) - 1}}}" not in form:
        what = f"numpy.{name} of {len(given)} operands, of elements"
        raise LeafTypeError(what, "a function that a kernel's text has", _FIX)
    args = [_value(x) for x in given]
    for k, x in enumerate(args):
        if (x.op in TRUTHS) is not (name == "where" and k == 0):
            fix = "write numpy.where(x < 0, 0, x)"
            raise LeafTypeError(f"{name} of {x}", "a comparison as where's condition, and nowhere else", fix)
    return Value(name, *args)


def _value(x: Any) -> Value:
    if isinstance(x, Value):
        return x
    found = number_of(x)
    if found is not None:
        return Value("n", found)
    raise LeafTypeError(f"{shown(x)} in a function of elements", "an element, a number, or a scalar argument", _FIX)


def number_of(x: object) -> int | float | Scalar | None:
    """A scalar argument, or a number as Python's, which may be one of numpy or ml_dtypes; None for what is neither.

    >>> import numpy as np
    >>> number_of(np.float32(0.5)), number_of(True)
    (0.5, None)
    """
    import numpy as np

    found = x.item() if isinstance(x, np.generic) else x
    return found if isinstance(found, (int, float, Scalar)) and not isinstance(found, bool) else None


def numbers_of(value: Value) -> list[int | float]:
    """The numbers in a function."""
    if value.op in "xn":
        return [value.args[0]] if value.op == "n" and not isinstance(value.args[0], Scalar) else []
    return [n for x in value.args for n in numbers_of(x)]


def value_of(where: str, f: Any, count: int) -> Value:
    """The value that a function makes of `count` elements. Raises LeafTypeError for what is no function of elements."""
    if not callable(f):
        raise LeafTypeError(f"{where} by {shown(f)}", "a function of elements", "write numpy.exp, or lambda x: 2 * x")
    made = _value(f(*(Value("x", k) for k in range(count))))
    if made.op in TRUTHS:
        raise LeafTypeError(f"{where} by a function that answers {made}", "a number", "write numpy.where(x < 0, 1, 0)")
    return made


def is_operator(value: Value) -> bool:
    """Whether a value's text is an operator's, which needs brackets inside of another."""
    return value.op not in "xn" and "{f}" not in FUNCTIONS[value.op]


def calls_functions(value: Value) -> bool:
    """Whether a value's text calls functions of <math.h>."""
    return value.op not in "xn" and ("{f}" in FUNCTIONS[value.op] or any(map(calls_functions, value.args)))


def written(value: Value, kind: str, operands: list[str], number: Callable[[Any, str], str]) -> tuple[list[str], str]:
    """The text of a value: the lines before it, which compute what it has several times, and the expression.

    kind      "float" or "double", in which it is computed
    operands  the texts of the elements
    number    the text of a number in a type
    """
    uses: dict[int, int] = {}
    names: dict[int, str] = {}
    lines: list[str] = []

    def count(v: Value) -> None:
        uses[id(v)] = uses.get(id(v), 0) + 1
        if uses[id(v)] == 1 and v.op not in "xn":
            for x in v.args:
                count(x)

    def text(v: Value, *, once: bool) -> str:
        if v.op == "n":
            return number(v.args[0], kind)
        if id(v) not in names:
            made = operands[v.args[0]] if v.op == "x" else applied(v)
            if once and uses[id(v)] == 1:
                return made
            names[id(v)] = f"v{len(lines)}"
            lines.append(f"const {'int' if v.op in TRUTHS else kind} {names[id(v)]} = {made};")
        return names[id(v)]

    def applied(v: Value) -> str:
        form = FUNCTIONS[v.op]
        args = [text(x, once=form.count(f"{{{k}}}") == 1) for k, x in enumerate(v.args)]
        if "{f}" not in form:  # an operator
            args = [f"({a})" if id(x) not in names and is_operator(x) else a for x, a in zip(v.args, args)]
        return form.format(*args, f="f" if kind == "float" else "")

    count(value)
    return lines, text(value, once=True)
