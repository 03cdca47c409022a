"""Conditions by which the elements of an argument that is written do not have one place: strides that are no 0.

An input may have a stride of 0, as what is broadcast has; what is nothing but added to, atomically, too.

Source: ours; BLAS, whose matrices have a leading dimension of 1 at least.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ...core.composed import innermost
from ...core.int_tuple import leaves
from ...core.ints import Int, known
from ...core.valid import least
from ...symbolic import Condition, SymInt
from ...symbolic.facts import symbols_in
from ...symbolic.symint import poly_of
from ...tensors.tensor import Tensor
from ..program.statements import Atomic, Program, accesses


def no_strides_of_0(program: Program) -> Iterator[Condition]:
    """The conditions that strides with names, of arguments that are written, are 1 or more.

    A stride of extents of the same tensor needs none: where it is 0 there are no elements. A tensor without elements,
    or with one along the stride, may have any. A stride that may be below 0 has no condition: no comparison leaves out
    0 alone.

    >>> import numpy as np
    >>> from tla import dim, local_tile, make_layout
    >>> from tla.kernels import fill, kernel, tensor, thread
    >>> @kernel(threads=4)
    ... def set_all(a):
    ...     fill(a[thread(), None], 1)
    >>> d = dim("d", at_least=0)
    >>> [str(x) for x in set_all.program(tensor(np.float32, make_layout((4, 2), stride=(d, 1)))).conditions]
    ['1 <= d']

    Source: ours.
    """
    writers = (s for s in program.statements() if not isinstance(s, Atomic))
    written = {program.argument_of(x.tensor) for s in writers for verb, x in accesses(s) if verb == "writes"}
    for name, x in program.arguments.items():
        if name in written and isinstance(x, Tensor):
            yield from _of_layout(x)


def _of_layout(x: Tensor) -> Iterator[Condition]:
    inner = innermost(x.layout)
    extents = [*leaves(inner.shape)]
    symbols = {s for n in extents if known(n) is None for s in symbols_in(poly_of(n))}
    for k, (n, d) in enumerate(zip(extents, leaves(inner.stride))):
        if isinstance(d, SymInt) and known(n) != 1 and not symbols.issuperset(symbols_in(poly_of(d))):
            needed = functools.reduce(least, (n - 1, *extents[:k], *extents[k + 1 :]), Int[1]())
            is_enough, may_be_0 = d >= needed, d >= 0
            if may_be_0.holds is True and is_enough.holds is not True:
                yield is_enough
