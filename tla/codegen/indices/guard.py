"""emit_guard: whether a coordinate holds valid data, as the text of a function.

Source: TLA's origin_shape; XLA calls what is past it padding.
"""

from __future__ import annotations

from typing import Any

from ...core.composed import innermost
from ...core.coord import CoordLike, crd2idx, idx2crd
from ...core.errors import LeafTypeError
from ...core.int_tuple import AnyLayout, modes_of, product_each, shown
from ...core.ints import IntTupleLike
from ...core.layout import require_origin
from ...symbolic import Condition
from ...symbolic.symint import poly_of
from ...tensors.tensor import Tensor
from ..expressions.signature import Arguments, Parameter, coordinates_of, open_leaf, with_parameters
from .emit import emit


def emit_guard(what: Any, target: str = "c", coords: Any = None, *, name: str = "is_valid", integer: str | None = None) -> str:
    """The text of a function of a coordinate: whether it is below origin_shape, which is where valid data end.

    what       a layout of any kind, or a Tensor
    coords, target, name, integer   as emit() has them. Modes without padding are not asked about

    >>> from tla import MakeLayout, dim, _100
    >>> from tla.ascend import half, zN
    >>> from tla.codegen import emit_guard
    >>> print(emit_guard(MakeLayout[half, zN](_100, dim("N", multiple_of=16)), "python"))
    # is_valid: whether (i,j) holds valid data of (_100,N) in ((_16,_7),(_16,N//16)):((_16,_256),(_1,_1792))
    # int32: every value is proved to fit
    def is_valid(i, j):
        return i < 100
    <BLANKLINE>

    Raises what emit() raises. Source: TLA `origin_shape`.
    """
    layout = what.layout if isinstance(what, Tensor) else what
    if not isinstance(layout, AnyLayout):
        raise LeafTypeError(f"a guard of a {type(what).__name__}", "a layout or a Tensor", "parse the text of one, or lower an XLA shape")
    dynamic: dict[str, Parameter] = {}
    opened = with_parameters(layout, dynamic)
    given, coord, names = coordinates_of(layout, opened, coords)
    whole = what is layout and innermost(layout)._origin is None  # by what it is, not by what its dynamic integers hold
    valid = [open_leaf(n, dynamic, f"valid_{k}") for k, n in enumerate(() if whole else require_origin("emit_guard", what))]
    tests = [Condition("<", *map(poly_of, pair)) for pair in zip(_indices(coord, opened.shape), valid)]
    text = f"whether {shown(given)} holds valid data of {shown(what.origin_shape)} in {shown(layout, 200)}"
    padded = tuple(test for test in tests if not test.holds)
    return emit(Arguments(text, (padded,), names, tuple(dynamic.values())), target, name=name, integer=integer)


def _indices(coord: CoordLike, shape: IntTupleLike) -> tuple[Any, ...]:
    """The index in each top-level mode."""
    extents = product_each(shape)
    if isinstance(shape, tuple) and not isinstance(coord, tuple):
        coord = idx2crd(coord, extents)
    return tuple(crd2idx(c, s) if isinstance(c, tuple) else c for c, s in zip(modes_of(coord), modes_of(shape)))
