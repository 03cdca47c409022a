"""The coordinates of a block by its number, for matrices of any number of blocks.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp, `GetBlockCoord`.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import LeafTypeError
from ...core.leaf_arithmetic import smaller
from ...symbolic.declare import dim
from .orders import lines, zigzag
from .swizzles import BlockSwizzle, in_turn


def coordinates(swizzle: BlockSwizzle, task: Any, blocks: tuple[Any, Any]) -> tuple[list[tuple[Any, Any]], Any, Any]:
    """The coordinates (m, n) of block number `task`, and the names that they are told by: pairs of a symbol
    and its value.

    blocks   how many there are along m and n

    Strips have `offset` lines of blocks, the last those that are left. A strip has width * across numbers, of which
    each gives (number % width, number // width), another block of it: so all blocks are met, each once.

    Proof, for a number below along * across: its strip is (along - 1) // offset at most, so a line is left, width >= 1.
    The numbers of a strip are those below width * across: of the last strip, too, as there are along * across in all.
    So number // width is below across, and offset * strip + number % width below offset * strip + width, which is
    along at most. A tile that begins at a block of these has one row, and one column, at least.

    >>> from tla import dim, dims
    >>> from tla.ascend import GemmIdentityBlockSwizzle
    >>> from tla.ascend.schedules.any_sizes import coordinates
    >>> names, m, n = coordinates(GemmIdentityBlockSwizzle[3, 0], dim("task", at_least=0), dims("blocksM blocksN"))
    >>> for name, value in names: print(name, value)
    strip task//(3*blocksN)
    inside task%(3*blocksN)
    width min(blocksM-3*strip,3)
    >>> print(m, n)
    3*strip+inside%width (1-(strip%2)*2)*(inside//width)+(blocksN-1)*(strip%2)

    Raises LeafTypeError for a swizzle whose blocks have no such form.
    """
    known = isinstance(swizzle, BlockSwizzle) and swizzle.deal is in_turn and swizzle.order_of in (zigzag, lines)
    if not known or swizzle.rank != 3:
        what, expected = f"{swizzle} for sizes that are names", "GemmIdentityBlockSwizzle, or BlockSchedulerIterateK"
        raise LeafTypeError(what, expected, "write swizzle=GemmIdentityBlockSwizzle[3, 0], or give the problem's sizes")
    if swizzle.order_of is lines:
        return [], task // blocks[1], task % blocks[1]
    along, across = blocks if swizzle.direction == 0 else blocks[::-1]
    offset = swizzle.offset
    strip, inside, width = dim("strip", at_least=0), dim("inside", at_least=0), dim("width", at_most=offset)
    names = [(strip, task // (offset * across)), (inside, task % (offset * across))]
    names += [(width, smaller(offset, along - offset * strip))]
    major, line = offset * strip + inside % width, inside // width
    minor = line + strip % 2 * (across - 1 - 2 * line)
    return names, *((major, minor) if swizzle.direction == 0 else (minor, major))
