"""emit: a layout or an expression as the text of a function, in the language of a kernel.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic import Condition
from ..expressions.plan import plan
from ..expressions.target import target_of


def emit(
    what: object,
    target: str = "c",
    coords: object = None,
    *,
    name: str = "offset",
    integer: str | None = None,
    conditions: Sequence[Condition] = (),
    check: str = "",
) -> str:
    """The text of a function that computes the offsets of a layout [elements], or integer expressions.

    what         a layout of any kind, a Tensor (its offset and start included), an integer expression, or a
                 tuple of these
    target       one of TARGETS: c cpp cuda hip opencl python numpy triton jax pallas affine mlir latex, and
                 what is registered
    coords       of a layout: the names of its coordinates, "i,j" or ("i", ("j0", "j1")), as deep as its shape at most;
                 one name for all modes counts first mode fastest. A SymInt, as bx*128 + t, may stand for a name
    name         of the function
    integer      "int32", "int64", "uint32" or "uint64"; by default int32 where all values are proved to fit, else
                 int64: a comment of the text says which and why
    conditions   what assuming() recorded
    check        "function": with a function `<name>_requires` of the sizes, whether these meet their facts and the
                 conditions; "assert": which asserts it too

    Static leaves are numbers in the text; dynamic leaves and symbols are parameters: coordinates first, then sizes by
    name, then dynamic leaves, named by where they stand. Coordinates are taken to be inside of the
    shape, padding included.

    >>> from tla import MakeLayout, dims
    >>> from tla.ascend import half, zN
    >>> from tla.codegen import emit
    >>> M, N = dims("M N", multiple_of=16)
    >>> print(emit(MakeLayout[half, zN](M, N), "c"))
    #include <stdbool.h>
    #include <stdint.h>
    <BLANKLINE>
    // offset: the offset of (i,j) in ((_16,M//16),(_16,N//16)):((_16,_256),(_1,16*M)) [elements]
    // int64: M is not proved to fit in 32 bits
    // requires 16 divides M, 16 <= M
    static inline int64_t offset(int64_t i, int64_t j, int64_t M) {
        return ((M - 1) * (j >> 4) + i) * 16 + j;
    }
    <BLANKLINE>

    Raises   LeafTypeError for names that the target does not take, RankError for coordinates that do not fit the shape,
             RangeError for values that do not fit the integers, Unproven where that is not known and they
             were asked for
    Source: ours.
    """
    found = target_of(target)
    found.require_check(check)
    made = plan(what, coords, name=name, integer=integer, conditions=conditions, bits=found.bits, widths=found.widths)
    found.require_names(made.name, [p.name for p in made.parameters])
    found.require_operations(made, check)
    return found.write(made, check)
