"""The table of a layout as CuTe prints it.

Source: CuTe include/cute/util/print_tensor.hpp and print.hpp, `print_layout`.
"""

from __future__ import annotations

from ..algebra.codomain import cosize
from ..core.composed import innermost
from ..core.errors import RangeError, RankError
from ..core.int_tuple import modes_of, product_each, shown
from ..core.ints import known
from ..core.kinds import AnyLayout

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

    Raises RankError for another rank, RangeError for sizes that are not known, or more than 65,536 cells; tla.viz draws any
    layout. Source: CuTe `print_layout`.
    """
    innermost(layout)
    if len(modes_of(layout.shape)) != 2:
        raise RankError(f"print_layout of {shown(layout)}", "a layout of rank 2", "write print_layout(append[2](layout)), or group modes")
    rows, columns = map(known, product_each(layout.shape))
    if rows is None or columns is None or rows * columns > MOST_CELLS:
        raise RangeError(f"print_layout of {shown(layout)}", f"known sizes, {MOST_CELLS:,} cells at most", "take a tile of it")
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
