"""Tensors cut by threads, and the part of one thread, of an array of threads or of a symbol.

Source: CuTe include/cute/atom/mma_atom.hpp, partition_A; copy_atom.hpp, partition_S.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra.codomain import coshape
from ..algebra.modes import slice_and_offset
from ..core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ..core.composed import ComposedLayout, innermost
from ..core.errors import DivisibilityError
from ..core.int_tuple import modes_of, product_each, size
from ..core.ints import Int, equal, plus
from ..core.layout import Layout
from ..tensors.tensor import MakeTensor, Tensor, around, as_tensor, tensor_of
from ..tensors.views import _from_zero

_0 = Int[0]()


def cut(f: Callable[[Layout], Layout], t: Any) -> Any:
    """f of a layout; of a tensor, or of a composed layout, the same elements in f's order."""
    if isinstance(t, Layout):
        return f(t)
    if isinstance(t, ComposedLayout):
        return around(t, f(innermost(t)))[0]
    t = as_tensor("a partition", t)
    layout, offset = _from_zero("a partition", t)
    inner = innermost(layout)
    view = f(Layout(inner.shape, inner.stride))
    whole = all(equal(n, m) is True for n, m in zip(t.origin_shape, product_each(inner.shape)))
    if t.data is not None and not (whole and equal(size(view), size(inner)) is True):
        what = f"a partition of {t!r}, of which {t.origin_shape} are valid"
        raise DivisibilityError(what, "whole tiles", "pad it")
    extents = product_each(view.shape)
    return tensor_of(t, t.data, offset, around(layout, view)[0], [_0] * len(extents), extents)


def part_of(whole: Any, frg: Any, thread: Any, *values: Any) -> Tensor:
    """What a thread's coordinate leaves of frg, which is (thread, value, ...): a tensor whose modes are the values'.

    whole   what frg was made of
    """
    t = frg if isinstance(frg, Tensor) else MakeTensor(None, frg)
    rest, fixed = slice_and_offset((thread, *values), innermost(t.layout))
    layout, offset = around(t.layout, rest, fixed)
    extents = product_each(rest.shape)
    return tensor_of(t, t.data, _all_modes(whole, plus(t.offset, offset)), layout, [_0] * len(extents), extents)


def _all_modes(whole: Any, offset: Any) -> Any:
    """An offset as it is; a coordinate with as many integers as those of the whole have: modes of extent 1 lose theirs."""
    if not isinstance(offset, (ScaledBasis, ArithmeticTuple)):
        return offset
    layout = whole.layout if isinstance(whole, Tensor) else whole
    return as_coordinate(ArithmeticTuple(*(_0 for _n in modes_of(coshape(layout)))) + offset)
