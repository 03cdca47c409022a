"""The table of a layout, and that of a tensor, as CuTe prints them.

Source: CuTe include/cute/util/print_tensor.hpp and print.hpp, `print_layout` and `print_tensor`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..algebra.codomain import cosize
from ..core.composed import innermost
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import modes_of, product_each, shown
from ..core.ints import is_int, known
from ..core.kinds import AnyLayout
from ..core.questions import equal
from ..tensors.make_tensor import as_tensor
from ..tensors.packed import bits_of, memory_of
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    import numpy.typing as npt

#: A table of more cells than this is no text to read.
MOST_CELLS = 2**16


def print_layout(layout: AnyLayout) -> None:
    """Print a layout of rank 2 as a table: coordinates on the margins, offsets in the cells.

    >>> from tla import parse, print_layout
    >>> print_layout(parse("(2,(2,2)):(4,(2,1))"))
    (2,(2,2)):(4,(2,1))
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 2 | 1 | 3 |
        +---+---+---+---+
     1  | 4 | 6 | 5 | 7 |
        +---+---+---+---+

    Raises RankError for another rank, RangeError for sizes that are not known, or more than 65,536 cells; tla.viz draws
    any layout. Source: CuTe `print_layout`.
    """
    innermost(layout)
    what = f"print_layout of {shown(layout)}"
    if len(modes_of(layout.shape)) != 2:
        raise RankError(what, "a layout of rank 2", "write print_layout(append[2](layout)), or group modes")
    rows, columns = map(known, product_each(layout.shape))
    if rows is None or columns is None or rows * columns > MOST_CELLS:
        raise RangeError(what, f"known sizes, {MOST_CELLS:,} cells at most", "take a tile of it")
    cells = [[str(layout(i, j)) for j in range(columns)] for i in range(rows)]
    widest = max((len(x) for row in cells for x in row), default=1)
    width = widest if "(" in "".join(cells[0] if cells else []) else max(widest, len(str(int(cosize(layout)))))
    line = "    " + ("+" + "-" * (width + 2)) * columns + "+"
    print(layout)
    print("    " + "".join(f"  {j:>{width}} " for j in range(columns)).rstrip())
    for i, row in enumerate(cells):
        print(line)
        print(f"{i:>2}  " + "".join(f"| {x:>{width}} " for x in row) + "|")
    print(line)


#: How an element is written, by numpy's type or the kind of it: CuTe's pretty_print.
_FORMS = {
    "b": "3d",
    "i": "5d",
    "u": "5d",
    "int4": "5d",
    "uint4": "5d",
    "float16": "8.2f",
    "float32": "10.2e",
    "float64": "11.3e",
    "V": "8.2f",
}


def print_tensor(t: npt.NDArray[Any] | Tensor, print_type: bool = True) -> None:
    """Print a tensor of rank 1 to 4 as CuTe does: pointer and layout, then a row of elements for each index of mode 0.

    t            a tensor, or a numpy array; of no buffer its elements are offsets, or coordinates. One that is not
                 valid is a `.`
    print_type   False leaves out the first line, which has the buffer's address

    >>> from tla import make_identity_tensor, make_shape, make_tensor, print_tensor
    >>> print_tensor(make_tensor(42, make_shape(2, 3)))
    counting_iter(42) o (2,3):(_1,2):
       42   44   46
       43   45   47
    >>> print_tensor(make_identity_tensor((2, 3)), False)
      (0,0)  (0,1)  (0,2)
      (1,0)  (1,1)  (1,2)

    Raises RankError for another rank, LeafTypeError for the tensor of an array of threads, RangeError for sizes that
    are not known, or more than 65,536 elements. parse reads the layout back. Source: CuTe `print_tensor`.
    """
    t = as_tensor("print_tensor", t)
    extents = [known(n) for n in product_each(t.shape)]
    if not 1 <= len(extents) <= 4:
        raise RankError(f"print_tensor of {t!r}", "a tensor of rank 1 to 4", "take a slice, t[_, _, 0], or group modes")
    if any(getattr(x, "shape", ()) != () for x in modes_of(t.offset)):
        raise LeafTypeError(f"print_tensor of {t!r}", "the tensor of one thread", "partition for one, mma[0]")
    counts = [n for n in extents if n is not None]
    if len(counts) < len(extents) or math.prod(counts) > MOST_CELLS:
        raise RangeError(f"print_tensor of {t!r}", f"known sizes, {MOST_CELLS:,} elements at most", "take a tile of it")
    if print_type:
        start = f" from {t.coord}" if any(equal(c, 0) is not True for c in t.coord) else ""
        print(f"{_pointer(t)} o {t.layout}{start}:")
    for row in _rows(t, counts) if 0 not in counts else ():
        print(row)


def _pointer(t: Tensor) -> str:
    """The text that CuTe prints in front of a tensor's layout: where its elements are, or begin."""
    if t.data is None:
        return f"counting_iter({t.offset})" if is_int(t.offset) else f"ArithTuple{t.offset}"
    space = {"gmem": "gmem_", "smem": "smem_", "tmem": "tmem_", "TMEM": "tmem_"}.get(t.position or "", "")
    bits = bits_of(t.data)
    return f"{space}ptr[{bits}b]({memory_of(t.data).ctypes.data + int(t.offset) * bits // 8:#x})"


def _rows(t: Tensor, extents: list[int], behind: tuple[int, ...] = ()) -> Iterator[str]:
    """The lines of a tensor's elements at a coordinate of its last modes, slices apart by a rule."""
    if len(extents) > 2:
        for k in range(extents[-1]):
            if k:
                yield "-="[len(extents) - 3] * 5 * extents[1]
            yield from _rows(t, extents[:-1], (k, *behind))
        return
    for m in range(extents[0]):
        yield "".join(_cell(t, (m, *n, *behind)) for n in itertools.product(*map(range, extents[1:])))


def _cell(t: Tensor, at: tuple[int, ...]) -> str:
    form = "5d" if t.data is None else _FORMS.get(str(t.dtype)) or _FORMS.get(t.dtype.kind, "")
    try:
        value = t[at]
    except RangeError:  # past the end
        return f"{'.':>{form.rstrip('d').partition('.')[0] or 3}}"
    if form[-1:] in ("e", "f"):
        return f"{float(value):{form}}"
    number = int(value) if form and t.data is not None else known(value) if is_int(value) else None
    return f"  {value}" if number is None else f"{number:{form}}"
