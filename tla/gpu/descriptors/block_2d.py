"""Intel's 2D block loads, stores and prefetches: their shapes, their memory, and which lane has which element.

Source: cl_intel_subgroup_2d_block_io 1.1 and SPV_INTEL_2d_block_io: valid dimensions, restrictions, and who gets what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...core.element import Element
from ...core.errors import DivisibilityError, RangeError, RankError
from ...core.int_tuple import rank, shown
from ...core.ints import is_int, known
from ...core.layout import Layout
from ...core.questions import require
from ...tensors.tensor import Tensor
from ..instructions.atom import tv, tv_of
from ..instructions.elements import element_of, require_number, require_one_of

LANES = 16
#: Multiples of bytes: of the base, of a row's pitch; the least width and the most of width and height.
BASE_BYTES, PITCH_BYTES, LEAST_WIDTH, MOST = 64, 16, 64, 1 << 24


class _Shapes(NamedTuple):
    """One row of the table: bits of an element, block width [elements], heights, blocks beside each other."""

    bits: int
    width: int
    heights: tuple[int, ...]
    counts: tuple[int, ...]


_UP_TO_32, _UP_TO_8 = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
_LOADS: tuple[_Shapes, ...] = (
    _Shapes(8, 32, _UP_TO_32, (1, 2)),
    _Shapes(8, 16, (8, 16, 32), (4,)),
    _Shapes(16, 16, _UP_TO_32, (1, 2)),
    _Shapes(32, 8, _UP_TO_32, (1, 2)),
    _Shapes(32, 16, _UP_TO_32, (1,)),
)
#: operation -> its shapes, in memory's order of rows and columns
SHAPES: dict[str, tuple[_Shapes, ...]] = {
    "read": _LOADS,
    "read_transform": (_Shapes(8, 16, (32,), (1, 2, 4)), _Shapes(16, 16, (16, 32), (1, 2))),
    "read_transpose": (_Shapes(32, 8, (16, 32), (1,)),),
    "write": tuple(_Shapes(bits, width, _UP_TO_8, (1,)) for bits, width in ((8, 16), (8, 32), (16, 16), (32, 16))),
    "prefetch": (*_LOADS, _Shapes(8, 16, (32,), (1, 2))),
}


@dataclass(frozen=True)
class Block2D:
    """A 2D block operation of a subgroup of 16 lanes.

    operation      "read", "read_transform", "read_transpose", "write" or "prefetch"
    element        the element type;  rows, columns, count   of a block [elements], and blocks side by side
    memory         width [bytes], height [rows] and pitch [bytes] of the matrix, as the function takes them;
                   numbers or symbols
    column_step    what the first component of a coordinate is a multiple of [elements]

    >>> from tla import parse
    >>> from tla.gpu import block_2d, half
    >>> block = block_2d("read_transform", parse("(512,1024):(1024,_1)"), 16, 16, 2, element=half)
    >>> block.name, block.memory, block.column_step
    ('intel_sub_group_2d_block_read_transform_16b_16r16x2c', (2048, 512, 2048), 2)
    >>> print(block.TV)
    (_16,(_16,_2)):(_16,(_1,_256))

    Source: cl_intel_subgroup_2d_block_io.
    """

    operation: str
    element: Element
    rows: int
    columns: int
    count: int
    memory: tuple[Any, Any, Any]

    @property
    def name(self) -> str:
        """The function of OpenCL."""
        block = f"{self.element.bits}b_{self.rows}r{self.columns}x{self.count}c"
        return f"intel_sub_group_2d_block_{self.operation}_{block}"

    @property
    def column_step(self) -> int:
        """The step of a coordinate's column [elements]: 32 bits, or an element."""
        return max(1, 32 // self.element.bits)

    @property
    def TV(self) -> Layout:
        """(lane, value) -> index in the tile (rows, columns * count), rows first; values in the destination's order.

        RangeError for a prefetch, which has no destination, and where the extension leaves the order, or
        some lanes, undefined.
        """
        blocks, what = (self.count, self.rows * self.columns), f"who holds what of {self.name}"
        if self.operation == "prefetch":
            raise RangeError(what, "a read or a write", "ask the read of the same shape")
        if self.operation == "read_transpose":
            if self.rows > LANES:
                raise RangeError(what, "16 rows: the order of two is not specified", "read 16 rows")
            return tv((LANES, self.columns), (1, self.rows))
        if self.columns == 8:
            if self.rows == 1:
                raise RangeError(what, "2 rows or more: lanes 8 to 15 are undefined", "read 2 rows")
            return tv_of([(8, self.rows), (2, 1)], [(self.rows // 2, 2), blocks])
        each = self.columns // LANES
        return tv_of([(LANES, each * self.rows)], [(each, self.rows), (self.rows, 1), blocks])


def block_2d(
    operation: str, gmem: object, rows: int, columns: int, count: int = 1, *, element: object = None
) -> Block2D:
    """The 2D block operation of Intel's Xe on blocks of a row-major matrix in global memory.

    operation       "read"; "read_transform" (packed for DPAS: VNNI); "read_transpose"; "write"; "prefetch"
    gmem            the matrix (rows, columns), a tensor or its layout, contiguous along its columns; sizes
                    may be symbols
    rows, columns   of a block, as it lies in memory [elements];  count   blocks side by side
    element         the element type, where the tensor has no buffer
    Returns         Block2D
    Raises          RangeError for a shape that there is not, with those that there are; DivisibilityError and
                    RangeError for memory that the operation does not reach: the width, the pitch, where it begins;
                    RankError, LeafTypeError; Unproven for symbols whose facts do not show a
                    condition, outside assuming()

    >>> from tla import parse
    >>> from tla.gpu import block_2d, half
    >>> print(block_2d("read", parse("(512,1024):(1024,_1)"), 8, 16, element=half).TV)
    (_16,_8):(_8,_1)
    >>> block_2d("read", parse("(512,1000):(1001,_1)"), 8, 16, element=half)
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: block_2d: a pitch of 2002 bytes
      expected  a multiple of 16
      fix       pad the rows to 2016 bytes

    Source: cl_intel_subgroup_2d_block_io, "Restrictions" and "valid 2D block load and store dimensions".
    """
    element = element_of("block_2d(..., element=half)", gmem, element)
    require_one_of("the block operation", operation, SHAPES, "write 'read'")
    rows, columns, count = (require_number("a block's extent", n) for n in (rows, columns, count))
    _require_shape(operation, element, rows, columns, count)
    layout = gmem.layout if isinstance(gmem, Tensor) else gmem
    if not isinstance(layout, Layout) or rank(layout) != 2 or any(isinstance(m, tuple) for m in layout.shape):
        fix = "give the matrix that the blocks lie in"
        raise RankError(f"block_2d of {shown(layout)}", "a matrix (rows, columns), each one mode", fix)
    if known(layout.stride[1]) != 1:
        what = f"block_2d of {layout}: columns are {layout.stride[1]} apart"
        raise DivisibilityError(what, "1: row-major", "give the matrix transposed, and use read_transpose")
    memory = _memory(layout, element)
    offset: Any = gmem.offset if isinstance(gmem, Tensor) else 0
    first = "block_2d: the first bit of the matrix"
    if not is_int(offset) or not require("divides", BASE_BYTES * 8, offset * element.bits, lambda: first):
        what = f"block_2d of a matrix at element {shown(offset)}"
        raise RangeError(what, f"a multiple of {BASE_BYTES} bytes", "block from its start")
    return Block2D(operation, element, rows, columns, count, memory)


def _require_shape(operation: str, element: Element, rows: int, columns: int, count: int) -> None:
    found = [s for s in SHAPES[operation] if s.bits == element.bits]
    if any(columns == s.width and rows in s.heights and count in s.counts for s in found):
        return
    what = f"a block {operation} of {rows} rows, {columns} columns, {count} times, of {element}"
    if not found:
        bits = ", ".join(sorted({str(s.bits) for s in SHAPES[operation]}))
        raise RangeError(what, f"elements of {bits} bits", "see it as elements of another width: recast[uint32]")
    said = "; ".join(f"{s.width} columns, {_listed(s.heights)} rows, {_listed(s.counts)} times" for s in found)
    raise RangeError(what, said, f"use {found[0].heights[-1]} rows of {found[0].width} columns")


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _memory(layout: Layout, element: Element) -> tuple[Any, Any, Any]:
    """Width [bytes], height and pitch [bytes], lawful."""
    size = element.bits // 8
    height, columns = (n if known(n) is None else int(n) for n in layout.shape)
    pitch = layout.stride[0] if known(layout.stride[0]) is None else int(layout.stride[0])
    width, pitch, unit = columns * size, pitch * size, max(4, size)
    multiple, part = f"a multiple of {PITCH_BYTES}", "block a part of the matrix"
    padded = -(-pitch // PITCH_BYTES) * PITCH_BYTES if known(pitch) is not None else multiple
    wide, high, far = f"a width of {width} bytes", f"a height of {height} rows", f"a pitch of {pitch} bytes"
    _holds("<=", LEAST_WIDTH, width, wide, f"{LEAST_WIDTH} or more", "take a wider matrix, or scattered loads")
    _holds("<=", width, MOST, wide, "at most 2**24", part)
    _holds("divides", unit, width, wide, f"a multiple of {unit}", "pad the columns")
    _holds("<=", 1, height, high, "1 or more", "leave out an empty matrix")
    _holds("<=", height, MOST, high, "at most 2**24", part)
    _holds("<=", width, pitch, far, f"at least the width, {width}", "give rows that do not overlap")
    _holds("divides", PITCH_BYTES, pitch, far, multiple, f"pad the rows to {padded} bytes")
    return width, height, pitch


def _holds(question: Literal["<=", "divides"], a: Any, b: Any, what: str, expected: str, fix: str) -> None:
    if not require(question, a, b, lambda: f"block_2d: {what}"):
        raise (DivisibilityError if question == "divides" else RangeError)(f"block_2d: {what}", expected, fix)
