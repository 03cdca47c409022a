"""Arguments of small sizes for a kernel whose sizes are symbols: for these it can run.

Source: ours.
"""

from __future__ import annotations

from typing import Any

from ..algebra.codomain import cosize
from ..core.int_tuple import leaves
from ..core.ints import known
from ..symbolic import at
from ..symbolic.facts import symbols_in
from ..symbolic.poly import Symbol
from ..symbolic.symint import poly_of
from ..tensors.make_tensor import MakeTensor
from ..tensors.tensor import Tensor
from .program import Program, Scalar
from .trace import sizes_of

#: What extents are near to: no multiple of a tile.
_NEAR = 19


def small_sizes(program: Program) -> dict[str, int]:
    """A value for each size that its facts allow: of extents near to 19; of strides the largest extent, so that rows do not overlap."""
    tensors = [x.layout for x in program.arguments.values() if isinstance(x, Tensor)]
    extents = {s.name for layout in tensors for n in leaves(layout.shape) if known(n) is None for s in symbols_in(poly_of(n))}
    symbols = [s for n in sizes_of(program) for s in symbols_in(poly_of(n))]
    found = {s.name: _near(_NEAR, s) for s in symbols if s.name in extents}
    largest = max([*found.values(), *(int(n) for layout in tensors for n in leaves(layout.shape) if known(n) is not None)], default=_NEAR)
    return {s.name: found.get(s.name) or _near(largest, s) for s in symbols}


def _near(wanted: int, n: Symbol) -> int:
    """The multiple of a symbol's unit that is wanted or a little more, within the bounds that are numbers."""
    least, most = ([c for p in bounds if (c := p.const) is not None] for bounds in (n.lowers, n.uppers))
    return n.unit * min([max([-(-wanted // n.unit), *least]), *most])


def of_sizes(x: Any, values: dict[str, int]) -> Any:
    """An argument at sizes: a tensor over a buffer of zeros, a number."""
    import numpy as np

    if isinstance(x, Scalar):
        return x.dtype.type(1)
    if isinstance(x, Tensor):
        layout = at(x.layout, values)
        return MakeTensor(np.zeros(max(1, int(cosize(layout))), x.dtype), layout)
    return x if known(x) is not None else int(at(x, values))
