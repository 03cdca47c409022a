"""Integer expressions of sympy as SymInts. Importing this module imports sympy."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]

from ..core.errors import LeafTypeError
from ..core.ints import Leaf
from .declare import unnamed
from .nodes import CeilDiv, FloorDiv, Mod, Size, Xor
from .symint import compute


def from_sympy(e: Any) -> Leaf:
    """An integer expression of sympy as a SymInt, or an int; LeafTypeError for what is no integer.

    Symbols need integer=True and bring no facts but nonnegative and positive; those of x.expr bring theirs.
    """
    if isinstance(e, sympy.Integer):
        return int(e)
    if isinstance(e, Size):
        return e.declared
    if isinstance(e, sympy.Symbol) and e.is_integer:
        return unnamed(e.name, 1 if e.is_positive else 0 if e.is_nonnegative else None)
    if isinstance(e, sympy.Pow) and e.exp.is_Integer and e.exp > 0:
        return from_sympy(e.base) ** int(e.exp)
    if isinstance(e, (sympy.floor, sympy.ceiling)):
        a, b = sympy.fraction(sympy.together(e.args[0]))
        return _FROM[FloorDiv if isinstance(e, sympy.floor) else CeilDiv](from_sympy(a), from_sympy(b))
    if isinstance(e, sympy.Abs):
        return abs(from_sympy(e.args[0]))
    make = next((f for kind, f in _FROM.items() if isinstance(e, kind)), None)
    if make is None or (isinstance(e, sympy.Mul) and not all(a.is_integer for a in e.args)):
        what = f"the sympy expression {e!s:.60}"
        expected = "integers with + - * and floor, ceiling, Mod, Min, Max"
        raise LeafTypeError(what, expected, "declare its symbols integer=True, and divide with FloorDiv")
    return functools.reduce(make, map(from_sympy, e.args))


def _ceil(a: Leaf, b: Any) -> Any:
    return -(-a // b)


#: Kind of sympy node -> its value for two arguments; of more, from the left.
_FROM: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.Add: operator.add,
    sympy.Mul: operator.mul,
    FloorDiv: operator.floordiv,
    Mod: operator.mod,
    sympy.Mod: operator.mod,
    CeilDiv: _ceil,
    Xor: operator.xor,
    sympy.Min: functools.partial(compute, "min"),
    sympy.Max: functools.partial(compute, "max"),
}
