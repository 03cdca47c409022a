"""Layouts and tuples of symbols where these have values.

Source: design of tla, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.basis import ScaledBasis
from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError
from ..core.int_tuple import IntTuple, Underscore, layout_fix
from ..core.ints import as_static, is_leaf, is_static
from ..core.layout import Layout
from ..core.swizzle import Swizzle
from .symint import SymInt


def at(x: Any, values: Mapping[str, Any] = {}, **named: Any) -> Any:
    """A layout, an IntTuple or a size where symbols have values; those that are not named stay.

    values, named   integers, or other sizes, by the names of symbols. What all of its symbols have static values for is static
    Raises          RangeError for a value that breaks a fact; LeafTypeError for what has no sizes

    >>> from tla import MakeLayout, at, dims, _16
    >>> M, N = dims("M N")
    >>> a = MakeLayout((M, (4, N)))
    >>> print(a, at(a, M=100), at(a, M=_16, N=_16))
    (M,(4,N)):(_1,(M,4*M)) (100,(4,N)):(_1,(100,400)) (_16,(4,_16)):(_1,(_16,_64))

    Source: ours.
    """
    given = {**values, **named}
    if isinstance(x, SymInt):
        used = [n for name, n in given.items() if name in map(str, x.symbols)]
        value = x.at(given)
        return as_static(value) if used and is_static(tuple(used)) else value
    if isinstance(x, Layout):
        return Layout(at(x.shape, given), at(x.stride, given), at(x.origin_shape, given))
    if isinstance(x, ComposedLayout):
        return ComposedLayout(at(x.outer, given), at(x.offset, given), at(x.inner, given))
    if isinstance(x, tuple):
        parts = [at(n, given) for n in x]
        return type(x)(*parts) if isinstance(x, IntTuple) else tuple(parts)
    if isinstance(x, ScaledBasis):
        return ScaledBasis(at(x.value, given), x.path)
    if is_leaf(x) or isinstance(x, (Swizzle, Underscore)):
        return x
    raise LeafTypeError(f"at of a {type(x).__name__}", "a layout, an IntTuple or a size", layout_fix(x))
