"""The algebra on tensors: what an operation does to the layout, over the same elements, the start kept.

A tile that does not divide, or reaches past what is valid, keeps its full extents, as in CuTe; which of its elements
are valid goes with it. A tensor of coordinates, as make_identity_tensor makes it, has no end: its values past one are
what predicates ask for.

Source: CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ..algebra import coalesce, divide, modes
from ..algebra.codomain import coshape, cosize
from ..algebra.common import max_alignment
from ..algebra.composition import composition
from ..core.int_tuple import depth, get, mode, rank, size
from ..core.ints import Int, IntTree, Leaf, is_static, leaf, static
from ..core.kinds import on, over
from ..core.make_layout import shape, stride
from ..core.questions import divides
from .tensor import Tensor, from_zero


def _of_layout(f: Any, t: Tensor, *path: int) -> IntTree:
    """`size[0](t)` and the like are the layout's."""
    return f[path](t.layout) if path else f(t.layout)


@on(Tensor, max_alignment)
def _alignment(t: Tensor) -> Leaf:
    """A divisor of the start of every run: of the layout's, and of where the tensor begins in its buffer."""
    layout, start = from_zero("max_alignment", t)
    n = max_alignment(layout)
    if divides(n, start) is True:
        return n
    return static(math.gcd(int(n), int(start))) if isinstance(start, int) and is_static(start) else Int[1]()


@on(Tensor, get)
def _get(t: Tensor, *path: int) -> Tensor:
    """The tensor of the mode at a path, from the first element on."""
    for i in path:
        mode(t.layout, leaf(i))
        t = t.over(get[i]) if isinstance(t.shape, tuple) else t
    return t


for _f in (rank, depth, size, shape, stride, coshape, cosize):
    on(Tensor, _f)(functools.partial(_of_layout, _f))
over(Tensor, coalesce.coalesce, coalesce.filter, coalesce.filter_zeros, composition)
over(Tensor, divide.flat_divide, divide.logical_divide, divide.tiled_divide, divide.zipped_divide)
over(Tensor, modes.group, modes.select, modes.take)
