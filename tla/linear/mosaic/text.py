"""Mosaic GPU's layouts as text: its MLIR attributes, written and read; what Python prints, and names, read.

    layout = name open [ item { "," item } ] close          open and close are "(" ")" or "<" ">"
    item   = [ word "=" ] value
    value  = integer [ ":" type ] | "None" | layout | "[" values "]" | "(" values ")"

The text is data: it is parsed by this grammar and never evaluated.

Source: JAX 0.12, the printers of jax.experimental.mosaic.gpu and of its dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.reader import Reader
from ..value import integer
from .layouts import NAMED_LAYOUTS, Dim, Replicated, TiledLayout, WGStridedFragLayout


def to_text(layout: TiledLayout | WGStridedFragLayout) -> str:
    """A layout as Mosaic's MLIR attribute.

    >>> print(to_text(NAMED_LAYOUTS["WGMMA_ROW_LAYOUT"]))
    #mosaic_gpu.TiledLayout<[[64], [16], [8], [1]], warp_dims = [-4], lane_dims = [-2, #mosaic_gpu.Replicated<times = 4>], vector_dim = -1>
    """
    if isinstance(layout, WGStridedFragLayout):
        return f"#mosaic_gpu.WGStridedFragLayout<{[*layout.shape]}, {layout.vec_size}>"
    if not isinstance(layout, TiledLayout):
        what = f"to_text of a {type(layout).__name__}"
        raise LeafTypeError(what, "a TiledLayout or WGStridedFragLayout", "tiled_layout(x) gives one")
    tiles = [[*tile] for tile in layout.tiling]
    dims = f"warp_dims = {_dims_text(layout.warp_dims)}, lane_dims = {_dims_text(layout.lane_dims)}"
    return f"#mosaic_gpu.TiledLayout<{tiles}, {dims}, vector_dim = {layout.vector_dim}>"


def _dims_text(dims: Sequence[Dim]) -> str:
    texts = (f"#mosaic_gpu.Replicated<times = {d.times}>" if isinstance(d, Replicated) else str(d) for d in dims)
    return f"[{', '.join(texts)}]"


def from_text(text: str) -> TiledLayout | WGStridedFragLayout:
    """The layout of a text: Mosaic's MLIR attribute, what Python prints, or a name such as WGMMA_LAYOUT.

    >>> text = "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)"
    >>> from_text(text) == from_text("WGMMA_LAYOUT")
    True
    """
    reader = _MosaicReader(text)
    return NAMED_LAYOUTS.get(text.strip()) or reader.whole(reader.layout)


def _read_tiled(
    tiling: Any, warp_dims: Any, lane_dims: Any, vector_dim: int, unreduced_operation: int | None = None
) -> TiledLayout:
    if unreduced_operation is not None:
        what = f"an unreduced layout, by {shown(unreduced_operation)}"
        raise RangeError(what, "one value of each element", "reduce it first")
    return TiledLayout(tiling, warp_dims, lane_dims, vector_dim)


def _read_splat(shape: Any) -> TiledLayout:
    what = "a WGSplatFragLayout: all elements are one value"
    raise RangeError(what, "a layout of elements", "broadcast the value instead")


class Tiled(NamedTuple):
    """The last dimensions in tiles."""

    tiling: tuple[int, ...]


class Transposed(NamedTuple):
    """Dimensions in another order: the k-th is what dimension permutation[k] was."""

    permutation: tuple[int, ...]


def read_transforms(text: str) -> list[Tiled | Transposed | int]:
    """The transforms of an array in shared memory, in a list or one after the other; of a swizzle its bytes.

    >>> read_transforms("[#mosaic_gpu.tile<[8, 64]>, #mosaic_gpu.swizzle<128 : i32>]")
    [Tiled(tiling=(8, 64)), 128]
    """
    reader = _MosaicReader(text)
    return reader.whole(reader.transforms)


def _tiled(tiling: Any, rounding: Any = None) -> Tiled:
    if not isinstance(tiling, list) or rounding is not None:
        what = f"tiles {shown(tiling)}, rounding {shown(rounding)}"
        raise RangeError(what, "extents, not rounded", "write TilingTransform((8, 64))")
    return Tiled(tuple(integer("an extent of a tile", n) for n in tiling))


def _transposed(permutation: Any) -> Transposed:
    if not isinstance(permutation, list):
        what = f"TransposeTransform of {shown(permutation)}"
        raise RangeError(what, "a permutation", "write TransposeTransform((1, 0))")
    return Transposed(tuple(integer("TransposeTransform: a dimension", k) for k in permutation))


class _Call(NamedTuple):
    """A layout, or a part of one, by the names of its parameters; the last `optional` of them may be left out."""

    parameters: tuple[str, ...]
    make: Callable[..., Any]
    optional: int = 0


_CALLS = {
    "TiledLayout": _Call(("tiling", "warp_dims", "lane_dims", "vector_dim", "unreduced_operation"), _read_tiled, 1),
    "Tiling": _Call(("tiles",), lambda tiles: tiles),
    "Replicated": _Call(("times",), lambda times: Replicated(integer("Replicated: times", times))),
    "WGStridedFragLayout": _Call(("shape", "vec_size"), WGStridedFragLayout),
    "WGSplatFragLayout": _Call(("shape",), _read_splat),
    "TilingTransform": _Call(("tiling",), _tiled),
    "TileTransform": _Call(("tiling", "rounding"), _tiled, 1),
    "mosaic_gpu.tile": _Call(("tiling",), _tiled),
    "TransposeTransform": _Call(("permutation",), _transposed),
    "SwizzleTransform": _Call(("swizzle",), lambda swizzle: integer("SwizzleTransform", swizzle)),
    "mosaic_gpu.swizzle": _Call(("swizzle",), lambda swizzle: integer("swizzle", swizzle)),
}
_CLOSE = {"(": "()", "<": "<>", "[": "[]"}


class _MosaicReader(Reader):
    tokens = r"#?[A-Za-z_][A-Za-z0-9_.]*|-?[0-9]{1,18}(?![0-9A-Za-z_.])|[()<>\[\],=:]"
    noun = "a layout of Mosaic"
    example = "write it as Mosaic prints it: #mosaic_gpu.TiledLayout<...>, TiledLayout(...), or its name"
    trailing = True

    def layout(self) -> TiledLayout | WGStridedFragLayout:
        start, found = self.at, self.value()
        if not isinstance(found, (TiledLayout, WGStridedFragLayout)):
            self.fail("no layout of registers", "TiledLayout or WGStridedFragLayout", at=start)
        return found

    def transforms(self) -> list[Tiled | Transposed | int]:
        if self.token in ("[", "("):
            return [*self.listed(_CLOSE[self.token], self.transform)]
        found = [self.transform()]
        while self.take(","):
            found.append(self.transform())
        return found

    def transform(self) -> Tiled | Transposed | int:
        start = self.at
        found = self.call() if self.token.removeprefix("#")[:1].isalpha() else None
        if not isinstance(found, (Tiled, Transposed, int)):
            expected = "TilingTransform, SwizzleTransform, TileTransform or TransposeTransform"
            self.fail("no transform", expected, at=start)
        return found

    def value(self) -> Any:
        """A number, a list, None or a call of Mosaic's, such as Replicated(times=4)."""
        token = self.token
        if token in ("[", "("):
            return self.listed(_CLOSE[token], self.value)
        if self.take("None"):
            return None
        if not token.removeprefix("#")[:1].isalpha():
            value = self.integer("a number, a list, or a layout")
            if self.take(":"):
                self.word(("i32", "i64", "index"), "a type of integers")
            return value
        return self.call()

    def call(self) -> Any:
        start, name = self.at, self.token.removeprefix("#")
        name = name if name in _CALLS else name.rpartition(".")[2]
        if name not in _CALLS:
            self.unexpected(f"one of {', '.join(_CALLS)}, or the name of a layout alone")
        self.advance()
        if self.token not in ("(", "<"):
            self.unexpected("'(' or '<' and parameters")
        given: dict[str, Any] = {}
        call = _CALLS[name]
        self.listed(_CLOSE[self.token], lambda: self.parameter(call.parameters, given))
        for wanted in call.parameters[: len(call.parameters) - call.optional]:
            if wanted not in given:
                self.fail(f"{name} without {wanted}", f"{wanted}=...", "add it", start)
        return call.make(**given)

    def parameter(self, names: Sequence[str], given: dict[str, Any]) -> None:
        """A value by its name, or by its place."""
        if self.token.isidentifier() and self.token not in ("None", *_CALLS):
            name = self.word(names, "a parameter", given)
            self.expect("=", "and its value")
        elif len(given) < len(names) and [*given] == [*names[: len(given)]]:
            name = names[len(given)]
        else:
            self.unexpected(f"{len(names)} parameters at most, those without a name first")
        given[name] = self.value()
