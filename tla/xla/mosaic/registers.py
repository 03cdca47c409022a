"""Vector registers of a TPU's TensorCore: where Mosaic puts the elements of a vector.

    vpad = bits "," "{" offset "," offset "}" "," "(" int "," int ")" [ "," implicit ] offset = int | "*" implicit
    = -1 | -2

Source: JAX jaxlib/mosaic/dialect/tpu/layout.h and layout.cc, VectorLayout; checked against registers
that libtpu's kernels load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.basis import E
from ...core.composed import ComposedLayout
from ...core.errors import LoweringError, RangeError, RankError
from ...core.ints import is_int, leaf, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div
from ...core.reader import R, Reader
from ..shapes.arguments import as_tuple, integers_of
from ..shapes.array_shape import ArrayLayout, ArrayShape
from ..shapes.lower import lower

#: A vector register: 8 sublanes of 128 lanes of 32 bits.
SUBLANES, LANES, WORD = 8, 128, 32


@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """The places of a vector's elements in vector registers of 8 x 128 x 32 bits: Mosaic's vpad. Its str()
    is vpad's text.

    bits       of an element
    offsets    the sublane and the lane at which element (0, 0) is in its tile; None for `*`: every one holds it
    tiling     rows and columns of a tile [elements]; a register holds as many tiles as fit, side by side
    implicit   -1 or -2: a dimension of 1 that the vector does not have stands there; None for none
    Raises     RangeError for what is no layout of registers

    >>> print(RegisterLayout(16, (0, 0), (8, 128)))
    16,{0,0},(8,128)

    Source: JAX jaxlib/mosaic/dialect/tpu/layout.h, VectorLayout.
    """

    bits: int
    offsets: tuple[int | None, int | None] = (0, 0)
    tiling: tuple[int, int] = (8, 128)
    implicit: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        offsets = as_tuple(self.offsets, "offsets")
        put(self, "bits", int(leaf(self.bits)))
        put(self, "offsets", tuple(None if n is None else int(leaf(n)) for n in offsets))
        put(self, "tiling", integers_of("tiling", self.tiling))
        _check_registers(self)

    def __str__(self) -> str:
        offsets = ",".join("*" if n is None else str(n) for n in self.offsets)
        implicit = "" if self.implicit is None else f",{self.implicit}"
        return f"{self.bits},{{{offsets}}},({self.tiling[0]},{self.tiling[1]}){implicit}"

    @property
    def packing(self) -> int:
        """Elements in a word of 32 bits."""
        return WORD // self.bits

    @property
    def tiles_per_register(self) -> int:
        """The number of tiles in a register, side by side along the columns."""
        return SUBLANES * LANES * self.packing // math.prod(self.tiling)

    @property
    def register(self) -> tuple[int, int]:
        """The rows and columns of the vector that one register holds [elements]."""
        return self.tiling[0], self.tiling[1] * self.tiles_per_register

    def count(self, dims: Sequence[int]) -> int:
        """The number of registers that a vector takes.

        >>> RegisterLayout(16).count((256, 256)), RegisterLayout(32, (0, 0), (1, 128), -2).count((3000,))
        (32, 3)
        """
        *lead, rows, columns = self._explicit(dims)
        counts = [
            1 if at is None else ceil_div(at + n, size)
            for at, n, size in zip(self.offsets, (rows, columns), self.register, strict=True)
        ]
        return math.prod(lead) * math.prod(counts)

    def layout(self, dims: Sequence[int]) -> Layout | ComposedLayout:
        """The layout of a vector's elements over its registers: offset = ((register * 8 + sublane) * 128 + lane) *
        packing + part.

        The registers of a vector are numbered in row-major order. Raises LoweringError for `*`: an element
        has many places then

        >>> print(RegisterLayout(16).layout((16, 256)))
        ((_2,_4,_2),(_128,_2)):((_1,_256,_2048),(_2,_1024))

        Source: layout.h, VectorLayout::tileDataBounds and vregSlice.
        """
        if None in self.offsets:
            what = f"the layout of vpad {self}"
            raise LoweringError(what, "an offset for *", "write 0 for *: every sublane, or lane, holds the same")
        *lead, rows, columns = self._explicit(dims)
        at = tuple(n or 0 for n in self.offsets)
        padded = (*lead, at[0] + rows, at[1] + columns)
        found = lower(ArrayShape("f32", padded, ArrayLayout(tuple(reversed(range(len(padded)))), self._tiles())))
        kept = [d for d in range(len(padded)) if d - len(padded) != self.implicit]
        if any(at):
            steps = tuple(E[k] for k in range(len(padded)))
            inner = Layout(tuple(static(int(n)) for n in dims), tuple(steps[d] for d in kept))
            start = sum((steps[len(lead) + k] * static(n) for k, n in enumerate(at) if n), start=0 * steps[0])
            composed: ComposedLayout = ComposedLayout(found, start, inner)
            return composed
        assert isinstance(found, Layout)  # tiles of powers of two divide each other
        shapes, strides = (tuple(part[d] for d in kept) for part in (found.shape, found.stride))
        return Layout(shapes, strides, tuple(static(int(n)) for n in dims))

    def _tiles(self) -> tuple[tuple[int, ...], ...]:
        rows, columns = self.tiling
        parts = ((self.packing, 1),) if self.packing > 1 else ()
        if rows == 1:
            return ((1, self.register[1]), (1, columns), *(((LANES,), *parts) if parts else ()))
        return (self.register, self.tiling, *parts)

    def _explicit(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The dimensions with the implicit one put in."""
        sizes = integers_of("dims", dims)
        if any(n < 1 for n in sizes) or math.prod(sizes) > 2**43:
            raise RangeError(f"a vector of {sizes}", "extents of 1 or more, at most 2**43 elements", "write its shape")
        at = len(sizes) + 1 + (self.implicit or 0)
        full = sizes if self.implicit is None else (*sizes[:at], 1, *sizes[at:])
        if len(full) < 2:
            what = f"a vector of {len(sizes)} dimensions in vpad {self}"
            raise RankError(what, "two, or one and an implicit one", "write ...,-2")
        return full


def _check_registers(v: RegisterLayout) -> None:
    if v.bits not in (1, 2, 4, 8, 16, 32):
        what = f"elements of {v.bits} bits in registers"
        raise RangeError(what, "1, 2, 4, 8, 16 or 32", "use elements of 32 bits or less")
    if len(v.offsets) != 2 or len(v.tiling) != 2:
        what = f"offsets {v.offsets} and a tiling {v.tiling}"
        raise RankError(what, "two of each: for rows and columns", "write (0, 0) and (8, 128)")
    capacity = SUBLANES * LANES * v.packing
    rows, columns = v.tiling
    if rows < 1 or columns < 1 or columns % LANES or capacity % (rows * columns):
        what = f"a tiling {v.tiling} of {v.bits} bits"
        raise RangeError(what, f"rows x 128 n that divide {capacity} elements", "write (8, 128)")
    if rows > 1 and columns != LANES:
        raise RangeError(f"a tiling {v.tiling}", "128 columns, or one row", "write (8, 128)")
    if any(n is not None and not 0 <= n < end for n, end in zip(v.offsets, v.register)):
        what = f"offsets {v.offsets}"
        raise RangeError(what, f"below {v.register}, or None for *", "take them modulo what a register holds")
    if v.implicit not in (None, -1, -2) or (v.implicit is not None and not is_int(v.implicit)):
        raise RangeError(f"implicit {v.implicit!r:.40}", "-1, -2 or None", "leave it out for none")


def parse_register_layout(text: str) -> RegisterLayout:
    """The register layout that vpad's text stands for, with or without its attribute around it.

    >>> vpad = parse_register_layout('#mosaic_tc.vpad<"32,{0,0},(1,128),-2">')
    >>> print(vpad, vpad.register)
    32,{0,0},(1,128),-2 (1, 1024)

    Raises ParseError for a text that is not a register layout. Source: layout.cc, VectorLayout::parse.
    """
    reader = _VpadReader(text)
    return reader.whole(reader.vpad)


class _VpadReader(Reader):
    tokens = r"#[a-z_]+\.vpad|-?[0-9]+|[\"<>{}(),*]"
    noun, example = "a register layout", 'write bits,{sublane,lane},(rows,columns), as in "32,{0,0},(8,128)"'

    def vpad(self) -> RegisterLayout:
        if self.token not in ("#tpu.vpad", "#mosaic_tc.vpad"):
            return self.quoted()
        self.advance()
        return self.enclosed("<>", self.quoted, "a register layout")

    def quoted(self) -> RegisterLayout:
        is_quoted = self.take('"')
        found = self.layout()
        if is_quoted:
            self.expect('"', "behind the layout")
        return found

    def layout(self) -> RegisterLayout:
        bits = self.integer("the bits of an element")
        self.expect(",", "and offsets")
        offsets = self.enclosed("{}", lambda: self.pair(self.offset), "offsets")
        self.expect(",", "and a tiling")
        tiling = self.enclosed("()", lambda: self.pair(lambda: self.integer("rows, or columns")), "a tiling")
        implicit = int(self.word(("-1", "-2"), "the implicit dimension")) if self.take(",") else None
        return RegisterLayout(bits, offsets, tiling, implicit)

    def pair(self, read: Callable[[], R]) -> tuple[R, R]:
        first = read()
        self.expect(",", "and another")
        return first, read()

    def offset(self) -> int | None:
        return None if self.take("*") else self.integer("an offset, or *")
