"""The texts of Mosaic GPU's layouts: attributes of MLIR, what Python prints, and names; and the layout of shared memory under transforms.

    fragment  = "#mosaic_gpu.TiledLayout<" tiles "," "warp_dims" "=" dims "," "lane_dims" "=" dims "," "vector_dim" "=" int ">"
              | "#mosaic_gpu.WGStridedFragLayout<" ints "," int ">"
              | what Python prints of these, of a TMEMLayout, and the name of a layout, such as WGMMA
    transform = "#mosaic_gpu.tile<" ints ">" | "#mosaic_gpu.swizzle<" int [ ":" "i32" ] ">"
              | TileTransform(...) | TilingTransform(...) | SwizzleTransform(...)
    dims      = "[" { int | "#mosaic_gpu.Replicated<times" "=" int ">" } "]"

Source: JAX jax/experimental/mosaic/gpu/fragmented_array.py and launch_context.py (TileTransform); jaxlib/mosaic/dialect/gpu.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...algebra.coalesce import coalesce
from ...core.composed import ComposedLayout
from ...core.errors import DivisibilityError, LoweringError, RangeError, RankError
from ...core.ints import _0
from ...core.layout import Layout
from ...core.reader import R, Reader
from ...core.swizzle import make_swizzle
from .fragments import LANES, WARPS, Dim, Replicated, StridedFragment, TiledFragment, extents_of, layout_of_modes


def parse_fragment_layout(text: str) -> TiledFragment | StridedFragment:
    """The layout in registers that a text stands for: an attribute of MLIR, what Python prints, or a layout's name.

    >>> print(parse_fragment_layout("WGMMA_ROW").layout((64,)))
    ((_4,_8,_4),_2):((_0,_1,_16),_8)
    >>> text = "#mosaic_gpu.TiledLayout<[[128, 2], [32, 2]], warp_dims = [-4], lane_dims = [-2], vector_dim = -1>"
    >>> print(parse_fragment_layout(text).layout((128, 8)))
    (_128,_8):(_1,_128)

    Raises ParseError for another text; LoweringError for a WGSplatFragLayout, whose elements are one value.
    Source: JAX jax/experimental/mosaic/gpu/fragmented_array.py, WGMMA_LAYOUT and its kin.
    """
    reader = _FragmentReader(text)
    return reader.whole(reader.fragment)


_WGMMA = (64, 8), (16, 8), (8, 8)
_TCGEN05 = (128, 8), (32, 8), (8, 8)
_ALL, _COLUMN = (Replicated(WARPS),), (Replicated(8), -2)
#: The layouts that Mosaic GPU has by name, X_LAYOUT there, and Pallas as Layout.X.
NAMED = {
    "WGMMA": TiledFragment((*_WGMMA, (2,)), (-7,), (-3, -2), -1),
    "WGMMA_8BIT": TiledFragment(((64, 16), (16, 16), (8, 16), (4,)), (-7,), (-3, -2), -1),
    "WGMMA_UPCAST_2X": TiledFragment(((64, 16), (16, 16), (8, 16), (8,), (4,)), (-8,), (-4, -2, -3), -1),
    "WGMMA_UPCAST_4X": TiledFragment(((64, 32), (16, 32), (8, 32), (8,)), (-7,), (-3, -2), -1),
    "WGMMA_ACC_32BIT": TiledFragment((*_WGMMA, (2,), (1,)), (-8,), (-4, -3), -1),
    "WGMMA_TRANSPOSED": TiledFragment((*_WGMMA, (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2),
    "WGMMA_ROW": TiledFragment(((64,), (16,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1),
    "WGMMA_COL": TiledFragment(((8,), (2,)), _ALL, _COLUMN, -1),
    "TCGEN05": TiledFragment((*_TCGEN05, (2,)), (-7,), (-3, -2), -1),
    "TCGEN05_TRANSPOSED": TiledFragment((*_TCGEN05, (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2),
    "TCGEN05_ROW": TiledFragment(((128,), (32,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1),
    "TCGEN05_COL": TiledFragment(((8,), (2,)), _ALL, _COLUMN, -1),
    "TCGEN05_TMEM_NATIVE": TiledFragment(((128, 2), (32, 2)), (-4,), (-2,), -1),
    "TMA_INDICES": TiledFragment(((16,), (4,)), (-2,), (Replicated(LANES),), -1),
    "TMA_INDICES_4": TiledFragment(((4,),), _ALL, (Replicated(LANES),), -1),
}
_OTHER_NAMES = {"TMEM_NATIVE": "TCGEN05_TMEM_NATIVE", "WGMMA_LAYOUT_8BIT": "WGMMA_8BIT"}


_TILE, _SWIZZLE = ("tile", "TileTransform", "TilingTransform"), ("swizzle", "SwizzleTransform")


def _name_of(token: str) -> str:
    """The name in NAMED that a name means: WGMMA_LAYOUT, Layout.WGMMA, WGMMA."""
    name = token.removeprefix("Layout.")
    short = name.removesuffix("_LAYOUT").replace("_LAYOUT_", "_")
    return _OTHER_NAMES.get(short, short)


class _FragmentReader(Reader):
    tokens = r"#mosaic_gpu\.[A-Za-z]+|[A-Za-z_][A-Za-z0-9_.]*|-?[0-9]+|[<>()\[\],=:]"
    noun = "a layout of Mosaic GPU"
    example = "write WGMMA, or #mosaic_gpu.WGStridedFragLayout<[64, 64], 4>"
    trailing = True

    def fragment(self) -> TiledFragment | StridedFragment:
        at, word = self.at, self.token
        if _name_of(word) in NAMED:
            self.advance()
            return NAMED[_name_of(word)]
        kind = word.removeprefix("#mosaic_gpu.")
        if kind == "WGSplatFragLayout":
            raise LoweringError(f"{self.text[:60]}", "elements of their own", "a splat is one value in all registers: it has no layout")
        kinds = {"TiledLayout": self.tiled, "TMEMLayout": self.tiled, "WGStridedFragLayout": self.strided}
        if kind not in kinds:
            self.unexpected(f"a layout: {', '.join([*kinds, *NAMED])}", at=at)
        self.advance()
        return self.enclosed("<>" if word.startswith("#") else "()", kinds[kind])

    def tiled(self) -> TiledFragment:
        at = self.at
        tiles = self.named("tiling", self.tiles)
        dims = [self.behind(name, lambda: tuple(self.sequence(self.dim))) for name in ("warp_dims", "lane_dims")]
        vector = self.behind("vector_dim", lambda: self.integer("a dimension"))
        self.take(",")
        try:
            return TiledFragment(tuple(tiles), *dims, vector)
        except (RangeError, RankError, DivisibilityError) as error:
            self.fail(*error.reason, at=at)

    def strided(self) -> StridedFragment:
        shape = self.named("shape", lambda: self.sequence(self.extent))
        vector = self.behind("vec_size", self.extent)
        self.take(",")
        return StridedFragment(tuple(shape), vector)

    def transform(self) -> tuple[str, tuple[int, ...]]:
        """A tile with its extents, or a swizzle with its bytes."""
        word = self.token
        kind = {
            "tile": "tile",
            "TileTransform": "tile",
            "TilingTransform": "tile",
            "swizzle": "swizzle",
            "SwizzleTransform": "swizzle",
        }.get(word.removeprefix("#mosaic_gpu."))
        if kind is None:
            self.unexpected("a transform: #mosaic_gpu.tile<[8, 64]> or #mosaic_gpu.swizzle<128>")
        self.advance()
        name, rule = ("tile", self.tile) if kind in _TILE else ("swizzle", self.swizzle)
        return name, self.enclosed("<>" if word.startswith("#") else "()", rule)

    def tile(self) -> tuple[int, ...]:
        found = tuple(self.named("tiling", lambda: self.sequence(self.extent)))
        if self.take(","):  # what Python prints behind it
            self.behind_word("rounding", "None")
        return found

    def swizzle(self) -> tuple[int, ...]:
        found = self.named("swizzle", self.extent)
        self.typed()
        return (found,)

    def tiles(self) -> list[tuple[int, ...]]:
        """The tiles: a list of lists, or Python's Tiling(tiles=(...))."""
        if self.take("Tiling"):
            return self.enclosed("()", lambda: self.named("tiles", self.tiles))
        return self.sequence(lambda: tuple(self.sequence(self.extent)))

    def dim(self) -> Dim:
        if self.token not in ("#mosaic_gpu.Replicated", "Replicated"):
            found = self.integer("a dimension, or Replicated")
            self.typed()
            return found
        brackets = "<>" if self.next().startswith("#") else "()"
        return Replicated(self.enclosed(brackets, lambda: self.named("times", self.extent)))

    # ------------------------------------------------------------------------------------------------- parts

    def extent(self) -> int:
        found = self.integer("an extent", 1)
        self.typed()
        return found

    def typed(self) -> None:
        """Go past the type of an integer of MLIR: `64 : i64`."""
        if self.take(":"):
            self.word(("i32", "i64"), "the type of an integer")

    def sequence(self, read: Callable[[], R]) -> list[R]:
        return self.listed("[]" if self.token == "[" else "()", read)

    def named(self, name: str, read: Callable[[], R]) -> R:
        """A value with or without its name before it."""
        if self.take(name):
            self.expect("=", f"behind {name}")
        return read()

    def behind(self, name: str, read: Callable[[], R]) -> R:
        self.expect(",", f"and {name}")
        return self.named(name, read)

    def behind_word(self, name: str, value: str) -> None:
        self.expect(name, "behind the tile")
        self.expect("=")
        self.expect(value, "for what rounds is refused")


def _transforms(texts: Sequence[str]) -> tuple[tuple[int, ...], int]:
    """The tile and the bytes of the swizzle that transforms say; () and 16 where there is none."""
    found: dict[str, tuple[int, ...]] = {"tile": (), "swizzle": (16,)}
    given: list[str] = []
    for text in texts:
        reader = _FragmentReader(text)
        kind, value = reader.whole(reader.transform)
        if kind in given or given == ["swizzle"]:
            reader.fail(f"a {kind} behind {', '.join(given)}", "a tile, a swizzle, or both, in this order", "write each once", at=0)
        given.append(kind)
        found[kind] = value
    (swizzle,) = found["swizzle"]
    if swizzle not in (16, 32, 64, 128):
        raise RangeError(f"a swizzle of {swizzle} bytes", "16 (none), 32, 64 or 128", "write #mosaic_gpu.swizzle<128>")
    return found["tile"], swizzle


def shared_layout(shape: Sequence[int], bits: int, *transforms: str) -> Layout | ComposedLayout:
    """The layout of a reference in shared memory under Mosaic GPU's transforms: from its coordinate to the element in memory.

    shape        of the reference, before the transforms
    bits         of an element
    transforms   texts: of a tile, of a swizzle [bytes], or of both, in this order
    Raises       ParseError for other texts, DivisibilityError for tiles that do not divide, RangeError for other swizzles

    >>> print(shared_layout((64, 128), 16, "#mosaic_gpu.tile<[8, 64]>", "#mosaic_gpu.swizzle<128>"))
    Sw<3,3,3> o _0 o ((_8,_8),(_64,_2)):((_64,_1024),(_1,_512))

    Source: JAX jax/experimental/mosaic/gpu/launch_context.py, TileTransform; CUTLASS's swizzles of 16 bytes.
    """
    dims = extents_of(shape)
    if bits not in (4, 8, 16, 32, 64):
        raise RangeError(f"elements of {bits} bits", "4, 8, 16, 32 or 64", "give the width of the element type")
    tile, swizzle = _transforms(transforms)
    if len(tile) > len(dims):
        raise RankError(f"a tile {tile} of a reference of {dims}", f"at most {len(dims)} dimensions", "leave out the first ones")
    lead = len(dims) - len(tile)
    inner = [1] * lead + [min(t, n) or 1 for t, n in zip(tile, dims[lead:])]
    if any(n % t for n, t in zip(dims, inner)):
        raise DivisibilityError(f"tiles {tile} of a reference of {dims}", "extents that the tile divides", "pad it, or take another tile")
    outer = [n // t for n, t in zip(dims, inner)]
    slots = [*outer, *inner]  # in memory, the last one fastest
    steps = [math.prod(slots[k + 1 :]) for k in range(len(slots))]
    modes = [coalesce(layout_of_modes([(t, steps[len(dims) + k]), (n, steps[k])])) for k, (t, n) in enumerate(zip(inner, outer))]
    memory = Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))
    made = make_swizzle((swizzle // 16).bit_length() - 1, (128 // bits).bit_length() - 1, 3)
    return memory if swizzle == 16 else ComposedLayout(made, _0, memory)
