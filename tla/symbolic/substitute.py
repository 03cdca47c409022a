"""Layouts and tuples of symbols where these have values.

Source: docs/symbolic.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.basis import Basis
from ..core.composed import ComposedLayout
from ..core.each_leaf import each_leaf
from ..core.ints import IntLike, Leaf, as_static, is_static
from ..core.layout import Layout
from .symint import SymInt, given_values, require_names


def at(x: object, values: Mapping[str, IntLike] = {}, **named: object) -> Any:
    """A layout, an IntTuple or a size where symbols have values; those that are not named stay.

    values   integers, or other sizes, by the names of symbols; there may be more names than x has
    named    the same, each the name of a symbol of x. What all of its symbols have static values for is static
    Raises   RangeError for a value that breaks a fact; LeafTypeError for what has no sizes, and a name that x
             does not have

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
    return each_leaf("at", x, lambda n: _valued(n, given))


def _sizes(x: object) -> Iterator[SymInt]:
    """The sizes that x is made of."""
    if isinstance(x, SymInt):
        yield x
    elif isinstance(x, Basis):
        yield from _sizes(tuple(term.value for term in x.terms))
    elif isinstance(x, Layout):
        yield from _sizes((x.shape, x.stride, x.origin_shape or ()))
    elif isinstance(x, ComposedLayout):
        yield from _sizes((x.outer, x.offset, x.inner))
    elif isinstance(x, tuple):
        for m in x:
            yield from _sizes(m)


def _valued(n: IntLike, given: Mapping[str, Any]) -> Leaf:
    """A leaf with its sizes at these values; what came of static values alone is static."""
    if not isinstance(n, SymInt):
        return n
    used = [value for name, value in given.items() if name in map(str, n.symbols)]
    value = n.at(given)
    return as_static(value) if used and is_static(tuple(used)) else value
