"""Memory references of Mosaic, the language that Pallas kernels are compiled through on TPU.

    memref  = "memref<" { dim "x" } type [ "," layout ] [ "," "#tpu.memory_space<" space [ "," core ] ">" ] ">"
    layout  = "#tpu.tiled<" { "(" int { "," int } ")" } "," "[" int { "," int } "]" ">" | "strided<[" ints "]" [ ","
            "offset:" int ] ">"

The numbers in brackets are the strides of the tiles, in tiles: what XLA's text cannot say.

Source: JAX jaxlib/mosaic/dialect/tpu (tpu.td, layout.h) and the passes that libtpu dumps with --xla_mosaic_dump_to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...algebra.coalesce import coalesce
from ...core.arrays import INT64_MAX, int64_of
from ...core.element import Width
from ...core.errors import LeafTypeError, LoweringError, RangeError, RankError
from ...core.int_tuple import leaves
from ...core.ints import as_static, leaf, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div
from ...core.reader import Reader
from ..shapes.arguments import as_tuple, integers_of
from ..shapes.array_shape import ArrayLayout, ArrayShape
from ..shapes.grammar import as_shape
from ..shapes.lower import lower
from ..shapes.values import Shape

#: MLIR's element types by XLA's names. i8 has no sign in MLIR: it is s8 here.
MLIR_TYPES = {
    "i1": "pred", "i2": "s2", "i4": "s4", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64",
    "si2": "s2", "si4": "s4", "si8": "s8", "si16": "s16", "si32": "s32", "si64": "s64",
    "ui2": "u2", "ui4": "u4", "ui8": "u8", "ui16": "u16", "ui32": "u32", "ui64": "u64",
    "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64",
    "f4E2M1FN": "f4e2m1fn", "f8E3M4": "f8e3m4", "f8E4M3": "f8e4m3", "f8E4M3FN": "f8e4m3fn", "f8E4M3FNUZ": "f8e4m3fnuz",
    "f8E4M3B11FNUZ": "f8e4m3b11fnuz", "f8E5M2": "f8e5m2", "f8E5M2FNUZ": "f8e5m2fnuz", "f8E8M0FNU": "f8e8m0fnu",
}  # fmt: skip
#: Memory spaces of Mosaic, by the number n of S(n) that XLA has for them.
SPACES = {"hbm": 0, "vmem": 1, "smem": 6}
#: All memory spaces and kinds of core that a text may name.
MEMORY_SPACES = ("any", "hbm", "vmem", "vmem_shared", "smem", "cmem", "semaphore_mem", "host")
CORES = ("tc", "sc_scalar_subcore", "sc_vector_subcore")


@dataclass(frozen=True, slots=True)
class MemRef:
    """A memory reference of Mosaic. Its str() is MLIR's text.

    element_type   MLIR's name of it: bf16, i8, f8E4M3FN
    dimensions     extents [elements]; None for one that is not known
    tiles          one tuple a level, major to minor; none for strides between elements
    strides        of each dimension: between tiles of the first level [tiles], 1 along the minor ones; without tiles
                   between elements
    memory_space   "vmem", "smem", "hbm", "any" ...; empty where it is not said
    core           "tc" where it is said
    offset         of the first element [elements], without tiles
    Raises         RankError, RangeError, LeafTypeError where these do not fit each other

    >>> print(MemRef("bf16", (256, 256), ((8, 128), (2, 1)), (2, 1), "vmem"))
    memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>

    Source: MLIR MemRefType; JAX jaxlib/mosaic/dialect/tpu, TiledLayoutAttr.
    """

    element_type: str
    dimensions: tuple[int | None, ...]
    tiles: tuple[tuple[int, ...], ...] = ()
    strides: tuple[int, ...] | None = None
    memory_space: str = ""
    core: str = ""
    offset: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.element_type, str) or self.element_type not in MLIR_TYPES:
            what = f"element type {self.element_type!r:.40}"
            raise RangeError(what, "one of " + " ".join(MLIR_TYPES), "write MLIR's name")
        dims = tuple(None if n is None else int(leaf(n)) for n in as_tuple(self.dimensions, "dimensions"))
        tiles = tuple(integers_of("a tile", t) for t in as_tuple(self.tiles, "tiles"))
        strides = _row_major(dims, tiles) if self.strides is None else integers_of("strides", self.strides)
        put(self, "dimensions", dims)
        put(self, "tiles", tiles)
        put(self, "strides", strides)
        put(self, "offset", int(leaf(self.offset)))
        _check(self)

    def __str__(self) -> str:
        parts = ["x".join([*("?" if n is None else str(n) for n in self.dimensions), self.element_type])]
        strides = ",".join(map(str, self.strides or ()))
        if self.tiles:
            tiles = "".join("({})".format(",".join(map(str, t))) for t in self.tiles)
            parts.append(f"#tpu.tiled<{tiles},[{strides}]>")
        elif self.offset or self.strides != _row_major(self.dimensions, ()):
            parts.append(f"strided<[{strides.replace(',', ', ')}]{f', offset: {self.offset}' if self.offset else ''}>")
        if self.memory_space:
            parts.append(f"#tpu.memory_space<{', '.join(filter(None, (self.memory_space, self.core)))}>")
        return f"memref<{', '.join(parts)}>"

    @property
    def bits(self) -> int:
        """Bits of an element in memory: i1 takes as many as its name says, where a kernel packs it."""
        found = re.search(r"\d+", self.element_type)
        assert found is not None  # each of MLIR_TYPES has a number
        return int(found[0])

    @property
    def element_width(self) -> Width:
        """The width of an element, and its type, which says it."""
        return Width(self.bits, self.element_type)

    def lower(self) -> Layout:
        """The layout, one mode a dimension, offsets in elements from the memory reference's start: strides between
        tiles included.

        >>> print(parse_memref("memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>>").lower())
        ((_2,_4,_32),(_128,_2)):((_1,_256,_2048),(_2,_1024))

        Raises LoweringError for a dimension that is not known, or an offset. Source: TiledLayoutAttr, as
        its strides count tiles.
        """
        dims = tuple(n for n in self.dimensions if n is not None)
        if len(dims) < len(self.dimensions) or self.offset:
            what = f"{self}: a dimension that is not known, or an offset"
            raise LoweringError(what, "known sizes, from 0 on", "write a number for each ?, and no offset")
        if not self.tiles:
            return Layout(tuple(map(as_static, dims)), tuple(map(as_static, self.strides or ())))
        first = self.tiles[0]
        left = len(dims) - len(first)
        inside = lower(ArrayShape("f32", first, ArrayLayout(tuple(reversed(range(len(first)))), self.tiles[1:])))
        if not isinstance(inside, Layout):
            what = f"{self}: its tiles do not divide each other"
            raise LoweringError(what, "tiles that do", "write lower(memref.shape()), which composes several maps")
        shapes: list[Any] = [static(n) for n in dims[:left]]
        steps: list[Any] = [static(s * math.prod(first)) for s in (self.strides or ())]
        strides: list[Any] = steps[:left]
        for k, (n, t) in enumerate(zip(dims[left:], first)):
            shapes.append((*leaves(inside.shape[k]), static(ceil_div(n, t))))
            strides.append((*leaves(inside.stride[k]), steps[left + k]))
        valid = tuple(map(static, dims))
        whole = coalesce(Layout(tuple(shapes), tuple(strides)), valid)  # mode by mode
        return Layout(whole.shape, whole.stride, valid)

    def shape(self) -> ArrayShape:
        """XLA's shape of the same memory: tiles in row-major order, one after the other.

        >>> print(parse_memref("memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>").shape())
        bf16[256,256]{1,0:T(8,128)(2,1)S(1)}

        Raises LoweringError where the tiles lie in another order, or gaps between them, which XLA's text cannot say.
        """
        natural = _row_major(self.dimensions, self.tiles)
        if self.strides != natural or self.offset:
            expected = f"the strides [{','.join(map(str, natural))}]"
            raise LoweringError(f"{self} as a shape of XLA", expected, "write memref.lower() for its layout")
        order = tuple(reversed(range(len(self.dimensions))))
        layout = ArrayLayout(order, self.tiles, memory_space=SPACES.get(self.memory_space, 0))
        return ArrayShape(MLIR_TYPES[self.element_type], self.dimensions, layout)


def _row_major(dims: tuple[int | None, ...], tiles: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The strides of tiles one after the other, of elements where there are none; 0 beyond an unknown dimension."""
    tile = (1,) * (len(dims) - len(tiles[0])) + tiles[0] if tiles else (1,) * len(dims)
    counts = [0 if n is None else ceil_div(n, t) for n, t in zip(dims, tile) if t]
    out, step = [], 1
    for n in reversed(counts):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def _check(m: MemRef) -> None:
    if any(n is not None and n < 0 for n in m.dimensions) or any(t < 1 for tile in m.tiles for t in tile):
        what = f"a memref of {m.dimensions} with tiles {m.tiles}"
        raise RangeError(what, "sizes of 0 or more, tiles of 1 or more", "write the extents")
    if m.tiles and (not m.tiles[0] or len(m.tiles[0]) > len(m.dimensions)):
        what = f"a tile of {len(m.tiles[0])} for {len(m.dimensions)} dimensions"
        raise RankError(what, "at most as many", "drop the major ones")
    if len(m.strides or ()) != len(m.dimensions):
        what = f"{len(m.strides or ())} strides for {len(m.dimensions)} dimensions"
        raise RankError(what, "one for each", "give one for each dimension: strides count tiles")
    if any(s < 0 for s in m.strides or ()) or m.offset < 0 or (m.tiles and m.offset):
        what = f"strides {m.strides} and offset {m.offset}"
        raise RangeError(what, "0 or more, and no offset with tiles", "count from the start")
    if not isinstance(m.memory_space, str) or not isinstance(m.core, str):
        what = f"the memory space {m.memory_space!r:.40}"
        raise LeafTypeError(what, "a name such as 'vmem'", "leave it empty where it is not said")
    tile = math.prod(m.tiles[0]) if m.tiles else 1
    if math.prod(n or 1 for n in m.dimensions) * max([*(m.strides or ()), 1]) * tile > INT64_MAX:
        what = f"a memref of {m.dimensions}: its size overflows"
        raise RangeError(what, "offsets that 64 bits hold", "use smaller dimensions")


def parse_memref(text: str) -> MemRef:
    """The memory reference that a text of MLIR stands for: tiled, strided, or row-major. str() of it is that text.

    >>> m = parse_memref("memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>")
    >>> m.dimensions, m.tiles, m.strides, m.memory_space
    ((256, 256), ((8, 128), (2, 1)), (2, 1), 'vmem')
    >>> parse_memref("memref<8x128xf32, affine_map<(d0, d1) -> (d1, d0)>>")
    Traceback (most recent call last):
    tla.core.errors.ParseError: unexpected 'affine_map', at position 18
        memref<8x128xf32, affine_map<(d0, d1) -> (d1, d0...
                          ^
      expected  a layout or a memory space: #tpu.tiled, #tpu.memory_space, strided
      fix       a memref reads memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>

    Source: MLIR MemRefType; JAX jaxlib/mosaic/dialect/tpu.
    """
    reader = _MemRefReader(text)
    return reader.whole(reader.memref)


class _MemRefReader(Reader):
    tokens = r"(?:[0-9]+|\?)[ \t\n]*x|[0-9]+|#tpu\.[a-z_]+|[A-Za-z_]\w*|[][<>(),:]"
    noun = "a memref"
    example = "a memref reads memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>"

    def memref(self) -> MemRef:
        self.expect("memref", "and '<'")
        return self.enclosed("<>", self.parts, "dimensions and an element type", "',' or ")

    def parts(self) -> MemRef:
        dims = tuple(self.dimensions())
        element_type = self.word(MLIR_TYPES, "an element type")
        given: dict[str, Any] = {}
        while self.take(","):
            at, (kind, fields) = self.at, self.attribute()
            if kind in given:
                self.fail(f"{kind} is given twice", "one layout, then one memory space", "leave one of the two out", at)
            if kind == "a layout" and given:
                what = "a layout behind the memory space"
                self.fail(what, "the layout first", "write it before the memory space", at)
            given[kind] = fields
        return MemRef(element_type, dims, **given.get("a layout", {}), **given.get("a memory space", {}))

    def dimensions(self) -> Iterator[int | None]:
        while self.token[-1:] == "x" and self.token[:1] in "?0123456789":
            number = self.token[:-1].rstrip()
            value = None if number == "?" else int64_of(number)
            if value is None and number != "?":
                self.fail(f"{number:.24} does not fit in 64 bits", f"up to {INT64_MAX}", "use a smaller one")
            yield value
            self.advance()

    def attribute(self) -> tuple[str, dict[str, Any]]:
        """A layout or a memory space: which of them, and its fields."""
        name = self.word(("#tpu.tiled", "#tpu.memory_space", "strided"), "a layout or a memory space")
        read = {"#tpu.tiled": self.tiled, "#tpu.memory_space": self.space, "strided": self.strided}[name]
        return "a memory space" if name == "#tpu.memory_space" else "a layout", self.enclosed("<>", read, "its parts")

    def integers(self, brackets: str, what: str) -> tuple[int, ...]:
        return tuple(self.listed(brackets, lambda: self.integer("an integer"), what))

    def tiled(self) -> dict[str, Any]:
        tiles = []
        while self.token == "(":
            tiles.append(self.integers("()", "a tile"))
        self.expect(",", "and the strides of the tiles")
        return {"tiles": tuple(tiles), "strides": self.integers("[]", "the strides of the tiles")}

    def strided(self) -> dict[str, Any]:
        found: dict[str, Any] = {"strides": self.integers("[]", "strides")}
        if self.take(","):
            self.word(("offset",), "an attribute")
            self.expect(":", "and the offset")
            found["offset"] = self.integer("the offset")
        return found

    def space(self) -> dict[str, Any]:
        found = {"memory_space": self.word(MEMORY_SPACES, "a memory space")}
        return found | ({"core": self.word(CORES, "a kind of core")} if self.take(",") else {})


_FROM_XLA = {name: mlir for mlir, name in reversed(MLIR_TYPES.items()) if not mlir.startswith("si")}


def to_memref(shape: Shape | str, memory_space: str | None = None) -> MemRef:
    """The memory reference of an XLA array in row-major order of its dimensions: tiles one after the other.

    memory_space   a name; by default that of S(n): vmem, smem, hbm
    Raises         LoweringError for another order of the dimensions, a tile that merges some, or more layout
                   than order and tiles

    >>> print(to_memref("bf16[256,256]{1,0:T(8,128)(2,1)S(1)}"))
    memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>

    Law: to_memref(shape).shape() == shape. Source: JAX jaxlib/mosaic/dialect/tpu, TiledLayoutAttr.
    """
    shape = as_shape(shape)
    layout = shape.effective_layout
    plain = ArrayLayout(tuple(reversed(range(len(shape.dimensions)))), layout.tiles, memory_space=layout.memory_space)
    if layout != plain or shape.element_type not in _FROM_XLA or any(shape.dynamic):
        fix = "transpose the array first: its dimensions in the order of memory"
        raise LoweringError(f"{shape} as a memref", "row-major order, tiles and S(n) only", fix)
    tiles = [tuple(t for t in tile if isinstance(t, int)) for tile in layout.tiles]
    if [*map(len, tiles)] != [*map(len, layout.tiles)] or (tiles and len(tiles[0]) > len(shape.dimensions)):
        what = f"{shape} as a memref"
        raise LoweringError(what, "a first tile over dimensions that the array has, without *", "reshape it first")
    names = {n: name for name, n in SPACES.items()}
    space = names.get(layout.memory_space, "any") if memory_space is None else memory_space
    return MemRef(_FROM_XLA[shape.element_type], tuple(shape.dimensions), tuple(tiles), None, space)
