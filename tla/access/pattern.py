"""The usual accesses of a tile, by the names of the instructions: who takes which vectors of it.

A pattern cuts the rows of a tile into vectors. The lanes of a warp take vectors along the rows first, or down them,
then in the other direction, and their values are the rest of the tile, in the same order. Vectors are contiguous: of a
tile whose columns are that, they are cut from these. So ldmatrix reads, in the PTX manual's words: each lane gives the
address of a row of 16 bytes, 8 lanes those of a matrix. With .trans the addresses are the same, and what they are
handed out as is transposed.

Source: PTX ISA 8.8, ldmatrix, stmatrix, cp.async; the CDNA 3 and 4 ISA manuals, LDS; Ascend C, repeat and
block strides of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algebra.composition import composition
from ..algebra.make import make_layout
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import modes_of, size
from ..core.ints import known, static
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from .memories import (
    AMD_LDS_GFX11_READ,
    AMD_LDS_GFX11_WRITE,
    AMD_LDS_GFX12_READ,
    AMD_LDS_GFX12_WRITE,
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX942_WRITE,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    ASCEND_UB,
    NVIDIA_GLOBAL,
    NVIDIA_SHARED,
    Memory,
)
from .steps import WORD_BITS


class Pattern(NamedTuple):
    """A usual access of a tile.

    name      of the instruction, or of what is taken
    what      in one line
    memory    the row of the table that it is counted by, if no other is asked for
    lanes     how many take part
    bits      of a lane's access; 0 for one element
    down      whether lanes go down the rows first; else along them
    block     down so many rows at most, before lanes go on along them; 0 for all
    element   the one width of an element that it has [bits]; 0 for any
    matrices  how many matrices of 8 rows it hands out to the lanes, of which each has a part of every row; 0 where
              lanes have vectors
    transposed   whether they are transposed then
    fills     whether memory is filled in its own order: one address goes for all lanes, and lane l writes that many
              vectors behind it; lanes choose what they read of global memory

    >>> ldmatrix = pattern("ldmatrix.x4")
    >>> print(ldmatrix.owners((16, 64), 16), ldmatrix.owners((64, 16), 16, columns=True))
    ((_16,_2),(_8,_4,_1)):((_1,_128),(_16,_256,_16)) ((_16,_2),(_8,_4,_1)):((_64,_8),(_1,_16,_1024))
    """

    name: str
    what: str
    memory: Memory
    lanes: int
    bits: int
    down: bool
    block: int = 0
    element: int = 0
    matrices: int = 0
    transposed: bool = False
    fills: bool = False

    def width(self, element_bits: int) -> int:
        """The width of a lane's access [bits]."""
        return self.bits or element_bits

    def owners(self, tile: Sequence[int], element_bits: int, columns: bool = False) -> Layout:
        """The layout of (thread, value) onto the index of a tile.

        tile      rows and columns; one extent is a row, of more than two the first two are taken
        columns   whether the columns are contiguous: then vectors are cut from them, and what is said of rows is
                  so of columns
        Raises    RangeError where the tile has no whole vectors
        """
        extents = (1, *tile) if len(tile) < 2 else tuple(tile[:2])
        steps = 1, extents[0]
        turned = columns and self.bits > 0
        (n, m), (down, along) = (extents[::-1], steps[::-1]) if turned else (extents, steps)
        count = self._vector(n, m, element_bits)
        vectors, step = m // count, along * count
        if self.down:
            a = _part(n, min(self.block or self.lanes, self.lanes))
            b = _part(vectors, self.lanes // a)
            lanes, rest = ((a, b), (down, step)), ((vectors // b, n // a), (b * step, a * down))
        else:
            b = _part(vectors, self.lanes)
            a = _part(n, self.lanes // b)
            lanes, rest = ((b, a), (step, down)), ((vectors // b, n // a), (b * step, a * down))
        shape, stride = (lanes[0], (count, *rest[0])), (lanes[1], (along, *rest[1]))
        return Layout(*(tuple(tuple(map(static, mode)) for mode in part) for part in (shape, stride)))

    def registers(self, tile: Sequence[int], element_bits: int) -> Layout:
        """The layout of (thread, value) onto the index of a tile of what registers hold: of matrices
        their fragments, else vectors.

        Lane l has of each matrix 32 bits of row l // 4; where it is transposed, two elements of column l // 4.

        tile      rows and columns, as of owners()
        Raises    RangeError where the tile has no whole matrices, or elements are wider than a register

        >>> print(pattern("ldmatrix.x2").registers((8, 16), 16), pattern("ldmatrix.x2.trans").registers((8, 16), 16))
        ((_4,_8),(_2,_2,_1)):((_16,_1),(_8,_64,_128)) ((_4,_8),(_2,_2,_1)):((_2,_8),(_1,_64,_128))

        Source: the PTX manual, "ldmatrix", the figures of fragments.
        """
        rows = self.owners(tile, element_bits)
        if not self.matrices:
            return rows
        lanes, together = int(size(rows[0])), WORD_BITS // element_bits
        if lanes != 8 * self.matrices or not together:
            what = f"{self.name} of a tile of {' x '.join(map(str, tile))} elements of {element_bits} bits"
            expected = "whole matrices of 8 rows of 16 bytes, of elements of 32 bits at most"
            raise RangeError(what, expected, "give a larger tile, or use .x1")
        row, number = (composition(rows[0], _mode(n, step)) for n, step in ((8, 1), (self.matrices, 8)))
        column, rest = rows[1][0], rows[1][1]
        first, second = (row, column) if self.transposed else (column, row)
        pair, lane = (composition(first, _mode(n, step)) for n, step in ((together, 1), (4, together)))
        found: Layout = make_layout(make_layout(lane, second), make_layout(pair, number, rest))
        return found

    def _vector(self, rows: int, extent: int, element_bits: int) -> int:
        """The number of elements of a vector."""
        if self.element and element_bits != self.element:
            what = f"{self.name} of elements of {element_bits} bits"
            raise RangeError(what, f"elements of {self.element} bits", f"use {self.name.removesuffix('.trans')}")
        width = self.width(element_bits)
        count = width // element_bits
        if min(rows, extent) < 1:
            raise RangeError(f"{self.name} of a tile of no elements", "1 or more", "give sizes of 1 or more")
        if not count or width % element_bits or extent % count:
            what = f"{self.name} of rows of {extent} elements of {element_bits} bits"
            expected = f"whole vectors of {width} bits"
            raise RangeError(what, expected, "choose an access of one element a lane: 'a row', or 'a column'")
        return count


def _mode(extent: int, stride: int) -> Layout:
    return Layout(static(extent), static(stride))


def _part(extent: int, most: int) -> int:
    """The largest divisor of an extent that is no more than `most`."""
    return max(n for n in range(1, min(extent, most) + 1) if extent % n == 0)


def _matrices(name: str, what: str) -> list[Pattern]:
    """The forms of ldmatrix, or of stmatrix: of 8, 16 or 32 lanes, two matrices below each other before
    the next columns."""
    forms = [(f"{name}.x{n}{trans}", n, trans) for trans in ("", ".trans") for n in (4, 2, 1)]
    return [
        Pattern(
            form,
            f"{what} {n} {'matrices' if n > 1 else 'matrix'} of 8 rows of 16 bytes{', transposed' if trans else ''}",
            NVIDIA_SHARED,
            8 * n,
            128,
            True,
            16 if n == 4 else 8,
            16 if trans else 0,
            n,
            bool(trans),
        )
        for form, n, trans in forms
    ]


def _lds(read: str, write: str, chip: str, family: str, reads: Memory, writes: Memory) -> list[Pattern]:
    """Reads of 16 rows, as MFMA and WMMA read operands, and writes along the rows, of a generation of AMD's GPUs."""
    sizes = ((128, "16 bytes"), (64, "8 bytes"))
    down = [
        Pattern(f"{read}_b{n}{chip}", f"{said} of a row a lane, 16 rows, {family}", reads, reads.lanes, n, True, 16)
        for n, said in sizes
    ]
    along = [
        Pattern(f"{write}_b{n}{chip}", f"{said} a lane along the rows, {family}", writes, writes.lanes, n, False)
        for n, said in sizes
    ]
    return down + along


def _fills(width: str, n: int, chip: str, family: str, writes: Memory) -> Pattern:
    """Loads from global memory straight to LDS, of a generation of AMD's GPUs that has them."""
    what = f"{n // 8} bytes a lane from global memory, lane after lane, {family}"
    return Pattern(f"global_load_lds_{width}{chip}", what, writes, writes.lanes, n, False, fills=True)


_PATTERNS: dict[str, list[Pattern]] = {
    "NVIDIA, matrices": [*_matrices("ldmatrix", "reads"), *_matrices("stmatrix", "writes")],
    "NVIDIA, shared memory": [
        Pattern("cp.async.16", "16 bytes a lane along the rows", NVIDIA_SHARED, 32, 128, False),
        Pattern("16 bytes down the rows", "16 bytes of a row a lane, 32 rows", NVIDIA_SHARED, 32, 128, True),
        Pattern("a row", "an element a lane, along the rows", NVIDIA_SHARED, 32, 0, False),
        Pattern("a column", "an element a lane, down the columns", NVIDIA_SHARED, 32, 0, True),
    ],
    "NVIDIA, global memory": [
        Pattern("global row", "an element a lane, along the rows: sectors", NVIDIA_GLOBAL, 32, 0, False),
        Pattern("global column", "an element a lane, down the columns: sectors", NVIDIA_GLOBAL, 32, 0, True),
    ],
    "AMD, LDS": [
        *_lds("ds_read", "ds_write", "", "MI300", AMD_LDS_GFX942_READ, AMD_LDS_GFX942_WRITE),
        *_lds("ds_read", "ds_write", " gfx950", "MI350", AMD_LDS_GFX950_READ, AMD_LDS_GFX950_WRITE),
        *_lds("ds_load", "ds_store", " gfx1100", "RDNA3", AMD_LDS_GFX11_READ, AMD_LDS_GFX11_WRITE),
        *_lds("ds_load", "ds_store", " gfx1200", "RDNA4", AMD_LDS_GFX12_READ, AMD_LDS_GFX12_WRITE),
        _fills("dword", 32, "", "MI300", AMD_LDS_GFX942_WRITE),
        _fills("dword", 32, " gfx950", "MI350", AMD_LDS_GFX950_WRITE),
        _fills("dwordx4", 128, " gfx950", "MI350", AMD_LDS_GFX950_WRITE),
    ],
    "Ascend, UB": [
        Pattern("UB rows", "a vector instruction: 8 blocks of 32 bytes along the rows", ASCEND_UB, 8, 256, False),
        Pattern("UB column", "a vector instruction: 32 bytes of each of 8 rows", ASCEND_UB, 8, 256, True),
    ],
}
#: name -> the pattern, in the order of lists.
PATTERNS: dict[str, Pattern] = {p.name: p for group in _PATTERNS.values() for p in group}
#: The groups of lists, with the names in each.
GROUPS: dict[str, list[str]] = {group: [p.name for p in found] for group, found in _PATTERNS.items()}
#: Other names of some.
_ALSO = {
    "ldmatrix": "ldmatrix.x4",
    "ldmatrix.trans": "ldmatrix.x4.trans",
    "stmatrix": "stmatrix.x4",
    "stmatrix.trans": "stmatrix.x4.trans",
    "cp.async": "cp.async.16",
    "cp.async 16": "cp.async.16",
    "ld.shared.v4": "16 bytes down the rows",
    "buffer_load_dword lds": "global_load_lds_dword",
    "buffer_load_dword lds gfx950": "global_load_lds_dword gfx950",
    "buffer_load_dwordx4 lds": "global_load_lds_dwordx4 gfx950",
    "global_load_lds_dwordx4": "global_load_lds_dwordx4 gfx950",
    "a row, an element each": "a row",
    "a column, an element each": "a column",
    "down the rows, 16 bytes of each": "16 bytes down the rows",
    "along the columns, 16 bytes of each": "16 bytes down the rows",
}


def patterns() -> tuple[Pattern, ...]:
    """The usual accesses that have names, those of one machine and kind together.

    >>> [p.name for p in patterns() if p.memory.name == "ASCEND_UB"]
    ['UB rows', 'UB column']
    """
    return tuple(PATTERNS.values())


def pattern(name: str | Pattern) -> Pattern | None:
    """The pattern of a name, whatever its case; None for another name.

    >>> pattern("LDMATRIX.X4").lanes, pattern("cp.async 16").name, pattern("ldmatrix.x3")
    (32, 'cp.async.16', None)
    """
    if isinstance(name, Pattern):
        return name
    if not isinstance(name, str):
        return None
    key = " ".join(name.split())
    found = {n.lower(): n for n in (*PATTERNS, *_ALSO)}.get(key.lower())
    return None if found is None else PATTERNS[_ALSO.get(found, found)]


def require_pattern(x: str | Pattern) -> Pattern:
    """The pattern of a name; LeafTypeError for another."""
    found = pattern(x)
    if found is None:
        fix = "write 'ldmatrix.x4', or give a (thread, value) layout"
        raise LeafTypeError(f"an access by {x!s:.60}", f"one of {', '.join(PATTERNS)}", fix)
    return found


def written_by(read: Pattern) -> str:
    """The name of the usual access that writes what this one reads: on AMD's GPUs that of its generation, as
    wide; else cp.async.16.

    >>> written_by(PATTERNS["ds_load_b64 gfx1200"]), written_by(PATTERNS["ldmatrix.x4"])
    ('ds_store_b64 gfx1200', 'cp.async.16')
    """
    row = read.memory.name.removesuffix("_READ") + "_WRITE"
    return next((p.name for p in PATTERNS.values() if (p.memory.name, p.bits) == (row, read.bits)), "cp.async.16")


def has_columns(layout: AnyLayout) -> bool:
    """Whether the columns of a layout of memory are contiguous, and its rows are not."""
    if not isinstance(layout, AnyLayout) or len(modes_of(layout.shape)) < 2:
        return False
    zero = (0,) * len(modes_of(layout.shape))
    below, beside = (known(layout(*zero[:k], 1, *zero[k + 1 :])) for k in (0, 1))
    first = known(layout(*zero))
    if first is None or below is None or abs(below - first) != 1:
        return False
    return beside is None or abs(beside - first) != 1


def instruction_pattern(instruction: str) -> str | None:
    """The name of the pattern of a vendor's instruction, as `ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16`;
    None for others.

    >>> instruction_pattern("stmatrix.sync.aligned.x2.m8n8.shared.b16")
    'stmatrix.x2'
    """
    words = instruction.split(".")
    if words[0] in ("ldmatrix", "stmatrix") and "m8n8" in words:
        count = next((w for w in words if w in ("x1", "x2", "x4")), "x1")
        return f"{words[0]}.{count}{'.trans' if 'trans' in words else ''}"
    return "cp.async.16" if instruction.startswith("cp.async.cg") else None
