"""Symbolic integers as sympy expressions, with nodes of our own: FloorDiv, Mod, CeilDiv and Xor.

sympy.Mod is unsound (Mod(2*Mod(x, 8), 8) becomes 2*Mod(x, 8), sympy#28744). It is never made here, and translated where
a user's expression brings it in (from_sympy.py). Importing this module imports sympy.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import sympy  # type: ignore[import-untyped]

from ..core.errors import LeafTypeError, RangeError
from ..core.ints import Leaf, is_int, leaf
from . import text
from .tree import Tree


def _argument(x: Any) -> Any:
    """An integer, a size or an integer expression as an expression of sympy: anything else sympy would
    evaluate as text."""
    if isinstance(x, sympy.Expr):
        if x.is_integer is False:
            raise LeafTypeError(
                f"the sympy expression {x!s:.60}", "an integer expression", "divide with FloorDiv or CeilDiv"
            )
        return x
    x = leaf(x)
    if not is_int(x):
        raise LeafTypeError(f"{x} in a division", "an integer", "divide each mode of a coordinate by itself")
    return sympy.Integer(int(x)) if isinstance(x, int) else x.expr


class _Integer(sympy.Function):  # type: ignore[misc]  # sympy has no types
    """An integer function of integers. Its value on numbers is exact; anything else is left as it stands."""

    nargs: Any = (2,)
    precedence = 45  # looser than a product, so that 7*(M//32) keeps its parentheses
    is_integer = True
    sign = ""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return super().__new__(cls, *map(_argument, args), **options)

    @classmethod
    def of_ints(cls, *args: int) -> int:
        """Its value."""
        raise NotImplementedError

    divides = True

    @classmethod
    def eval(cls, *args: sympy.Expr) -> Any:
        if cls.divides and args[1] == 0:
            raise RangeError(f"{cls.__name__}({args[0]}, 0)", "a divisor other than 0", "divide by 1 or more")
        if all(a.is_Integer for a in args):
            return cls.of_ints(*map(int, args))
        return None

    def _sympystr(self, printer: Any) -> str:
        a, b = (printer.parenthesize(x, level) for x, level in zip(self.args, (50, 60)))
        return f"{a}{self.sign}{b}"

    _pythoncode = _numpycode = _lambdacode = _sympystr


class FloorDiv(_Integer):
    """a // b rounded down, as a sympy function of integers; b is not 0: RangeError.

    >>> import sympy
    >>> from tla import FloorDiv
    >>> x = sympy.Symbol("x", integer=True)
    >>> FloorDiv(x + 1, 4), FloorDiv(-7, 2), FloorDiv(x, 4).subs(x, 9), FloorDiv(x, 4).rewrite(sympy.floor)
    ((x + 1)//4, -4, 2, floor(x/4))

    Evaluated on numbers only: nothing is simplified, simplify() does that. Source: docs/symbolic.md.
    """

    sign = "//"

    @classmethod
    def of_ints(cls, *args: int) -> int:
        return args[0] // args[1]

    def _eval_rewrite_as_floor(self, a: Any, b: Any, **_: object) -> Any:
        return sympy.floor(a / b)

    def _latex(self, printer: Any, exp: Any = None) -> str:
        a, b = map(printer.doprint, self.args)
        return _power(rf"\left\lfloor \frac{{{a}}}{{{b}}} \right\rfloor", exp)


class Mod(_Integer):
    """a % b, with the sign of b, as a sympy function of integers; b is not 0: RangeError.

    >>> import sympy
    >>> from tla import Mod
    >>> x = sympy.Symbol("x", integer=True)
    >>> Mod(2 * Mod(x, 8), 8), Mod(-7, 4), Mod(x, 8).rewrite(sympy.floor)
    ((2*(x%8))%8, 1, x - 8*floor(x/8))

    Unlike sympy.Mod it is never rewritten. Source: docs/symbolic.md.
    """

    sign = "%"

    @classmethod
    def of_ints(cls, *args: int) -> int:
        return args[0] % args[1]

    def _eval_rewrite_as_floor(self, a: Any, b: Any, **_: object) -> Any:
        return a - b * sympy.floor(a / b)

    def _latex(self, printer: Any, exp: Any = None) -> str:
        a, b = (printer.parenthesize(x, 60) for x in self.args)
        return _power(rf"\left({a} \bmod {b}\right)", exp)


class CeilDiv(_Integer):
    """a / b rounded up, as a sympy function of integers; b is not 0: RangeError.

    >>> import sympy
    >>> from tla import CeilDiv
    >>> x = sympy.Symbol("x", integer=True)
    >>> CeilDiv(x, 4), CeilDiv(9, 4), CeilDiv(x, 4).rewrite(sympy.ceiling)
    (ceil(x/4), 3, ceiling(x/4))

    Source: docs/symbolic.md.
    """

    @classmethod
    def of_ints(cls, *args: int) -> int:
        return -(-args[0] // args[1])

    def _eval_rewrite_as_ceiling(self, a: Any, b: Any, **_: object) -> Any:
        return sympy.ceiling(a / b)

    precedence = 1000  # it prints as a call

    def _sympystr(self, printer: Any) -> str:
        a, b = (printer.parenthesize(x, level) for x, level in zip(self.args, (50, 60)))
        return f"ceil({a}/{b})"

    def _pythoncode(self, printer: Any) -> str:
        a, b = map(printer.doprint, self.args)
        return f"(-(-({a})//({b})))"

    _numpycode = _lambdacode = _pythoncode

    def _latex(self, printer: Any, exp: Any = None) -> str:
        a, b = map(printer.doprint, self.args)
        return _power(rf"\left\lceil \frac{{{a}}}{{{b}}} \right\rceil", exp)


class Xor(_Integer):
    """The bits of two or more integers that an odd number of them have, as a sympy function.

    >>> import sympy
    >>> from tla.symbolic.nodes import Xor
    >>> x = sympy.Symbol("x", integer=True)
    >>> Xor(x, 4), Xor(5, 4)
    (x^4, 1)
    """

    nargs = None
    divides = False
    precedence = 36  # as sympy has it for ^

    @classmethod
    def of_ints(cls, *args: int) -> int:
        return functools.reduce(operator.xor, args)

    def _sympystr(self, printer: Any) -> str:
        return "^".join(printer.parenthesize(x, 40) for x in self.args)

    def _pythoncode(self, printer: Any) -> str:
        return "(" + "^".join(f"({printer.doprint(x)})" for x in self.args) + ")"

    _numpycode = _lambdacode = _pythoncode

    def _latex(self, printer: Any, exp: Any = None) -> str:
        return _power(r"\left(" + r" \oplus ".join(printer.parenthesize(x, 40) for x in self.args) + r"\right)", exp)


def _power(base: str, exp: Any) -> str:
    return base if exp is None else rf"{{{base}}}^{{{exp}}}"


# ----------------------------------------------------------------------------------------------------- to sympy


class Size(sympy.Symbol):  # type: ignore[misc]
    """The sympy symbol of a size or an index. It keeps the SymInt that it was made of, so that the facts
    survive the way back."""

    __slots__ = ("declared",)
    declared: Any

    def __new__(cls, declared: Leaf) -> Size:
        sign = {"positive": True} if (declared > 0).holds else {"nonnegative": True} if (declared >= 0).holds else {}
        new = sympy.Symbol.__xnew__(cls, str(declared), integer=True, **sign)
        new.declared = declared
        return new  # type: ignore[no-any-return]

    def _hashable_content(self) -> Any:
        return (*super()._hashable_content(), self.declared)

    def __getnewargs_ex__(self) -> Any:
        return (self.declared,), {}


def to_sympy(form: Tree, symbols: Iterable[Any]) -> Any:
    """The sympy expression of a tree. symbols: the SymInts of the names in it."""
    return _of_tree(text.with_ceil(form), {str(n): Size(n) for n in symbols})


_TO: dict[str, Callable[..., Any]] = {
    "+": sympy.Add,
    "-": operator.neg,
    "*": sympy.Mul,
    "//": FloorDiv,
    "%": Mod,
    "ceil": CeilDiv,
    "^": Xor,
    "min": sympy.Min,
    "max": sympy.Max,
}


def _of_tree(t: Tree, sizes: dict[str, Size]) -> Any:
    if t.op == "n":
        return sympy.Integer(t.args[0])
    return sizes[t.args[0]] if t.op == "v" else _TO[t.op](*(_of_tree(a, sizes) for a in t.args))
