"""Layouts and tuples of symbols where these have values.

Source: docs/symbolic.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.basis import ScaledBasis
from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError
from ..core.int_tuple import IntTuple, Underscore
from ..core.ints import as_static, is_leaf, is_static
from ..core.kinds import layout_fix
from ..core.layout import Layout
from ..core.swizzle import Swizzle
from .symint import SymInt, given_values, require_names


def at(x: object, values: Mapping[str, Any] = {}, **named: object) -> Any:
    """A layout, an IntTuple or a size where symbols have values; those that are not named stay.

    values   integers, or other sizes, by the names of symbols; there may be more names than x has
    named    the same, each the name of a symbol of x. What all of its symbols have static values for is static
    Raises   RangeError for a value that breaks a fact; LeafTypeError for what has no sizes, and a name that x does not have

    >>> from tla import MakeLayout, at, dims, _16
    >>> M, N = dims("M N")
    >>> a = MakeLayout((M, (4, N)))
    >>> print(a, at(a, M=100), at(a, M=_16, N=_16))
    (M,(4,N)):(_1,(M,4*M)) (100,(4,N)):(_1,(100,400)) (_16,(4,_16)):(_1,(_16,_64))

    Source: ours.
    """
    given = given_values(values, named)
    if named:
        require_names(named, *_sizes(x))
    return _at(x, given)


def _sizes(x: object) -> Iterator[SymInt]:
    """The sizes that x is made of."""
    if isinstance(x, SymInt):
        yield x
    elif isinstance(x, ScaledBasis):
        yield from _sizes(x.value)
    elif isinstance(x, Layout):
        yield from _sizes((x.shape, x.stride, x.origin_shape or ()))
    elif isinstance(x, ComposedLayout):
        yield from _sizes((x.outer, x.offset, x.inner))
    elif isinstance(x, tuple):
        for m in x:
            yield from _sizes(m)


def _at(x: Any, given: Mapping[str, Any]) -> Any:
    """x with its sizes at these values; what came of static values alone is static."""
    if isinstance(x, SymInt):
        used = [n for name, n in given.items() if name in map(str, x.symbols)]
        value = x.at(given)
        return as_static(value) if used and is_static(tuple(used)) else value
    if isinstance(x, Layout):
        origin = ... if x.origin_shape is None else _at(x.origin_shape, given)
        return Layout(_at(x.shape, given), _at(x.stride, given), origin)
    if isinstance(x, ComposedLayout):
        return ComposedLayout(*(_at(part, given) for part in (x.outer, x.offset, x.inner)))
    if isinstance(x, tuple):
        parts = [_at(n, given) for n in x]
        return type(x)(*parts) if isinstance(x, IntTuple) else tuple(parts)
    if isinstance(x, ScaledBasis):
        return ScaledBasis(_at(x.value, given), x.path)
    if is_leaf(x) or isinstance(x, (Swizzle, Underscore)):
        return x
    raise LeafTypeError(f"at of a {type(x).__name__}", "a layout, an IntTuple or a size", layout_fix(x))
