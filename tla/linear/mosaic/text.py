"""Mosaic GPU's layouts as text: its MLIR attributes, written and read; what Python prints, and names, read.

    layout = name open [ item { "," item } ] close          open and close are "(" ")" or "<" ">"
    item   = [ word "=" ] value
    value  = integer | "None" | layout | "[" values "]" | "(" values ")"

The text is data: it is parsed by this grammar and never evaluated.

Source: JAX 0.12, the printers of jax.experimental.mosaic.gpu and of its dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import LeafTypeError, ParseError, RangeError, TlaError
from ...core.int_tuple import shown
from ..cursor import MAX_DEPTH, Cursor
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
        raise LeafTypeError(f"to_text of a {type(layout).__name__}", "a TiledLayout or WGStridedFragLayout", "tiled_layout(x) gives one")
    tiles = [[*tile] for tile in layout.tiling]
    return (
        f"#mosaic_gpu.TiledLayout<{tiles}, warp_dims = {_dims_text(layout.warp_dims)}, "
        f"lane_dims = {_dims_text(layout.lane_dims)}, vector_dim = {layout.vector_dim}>"
    )


def _dims_text(dims: Sequence[Dim]) -> str:
    texts = (f"#mosaic_gpu.Replicated<times = {d.times}>" if isinstance(d, Replicated) else str(d) for d in dims)
    return f"[{', '.join(texts)}]"


_TOKEN = re.compile(r"#?[A-Za-z_][A-Za-z0-9_.]*|-?[0-9]{1,18}(?![0-9])|[()<>\[\],=:]")


def from_text(text: str) -> TiledLayout | WGStridedFragLayout:
    """The layout of a text: Mosaic's MLIR attribute, what Python prints, or a name such as WGMMA_LAYOUT.

    >>> text = "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)"
    >>> from_text(text) == from_text("WGMMA_LAYOUT")
    True
    """
    if not isinstance(text, str):
        raise LeafTypeError(f"from_text of a {type(text).__name__}", "a text such as '#mosaic_gpu.TiledLayout<...>'", "to_text gives one")
    cursor = Cursor(text, _TOKEN, "write it as Mosaic prints it")
    found = NAMED_LAYOUTS.get(text.strip()) or _value(cursor, 0)
    if not isinstance(found, (TiledLayout, WGStridedFragLayout)):
        raise ParseError(text, 0, "no layout of registers", "TiledLayout or WGStridedFragLayout", "write it as Mosaic prints it")
    if found is not NAMED_LAYOUTS.get(text.strip()):
        cursor.end()
    return found


def _read_tiled(tiling: Any, warp_dims: Any, lane_dims: Any, vector_dim: Any, unreduced_operation: Any = None) -> TiledLayout:
    if unreduced_operation is not None:
        raise RangeError(f"an unreduced layout, by {shown(unreduced_operation)}", "one value of each element", "reduce it first")
    return TiledLayout(tiling, warp_dims, lane_dims, vector_dim)


def _read_replicated(times: Any) -> Replicated:
    return Replicated(integer("Replicated: times", times))


def _read_splat(shape: Any) -> TiledLayout:
    raise RangeError("a WGSplatFragLayout: all elements are one value", "a layout of elements", "broadcast the value instead")


_READ: dict[str, Callable[..., Any]] = {
    "TiledLayout": _read_tiled,
    "Tiling": lambda tiles: tiles,
    "Replicated": _read_replicated,
    "WGStridedFragLayout": lambda shape, vec_size: WGStridedFragLayout(shape, vec_size),
    "WGSplatFragLayout": _read_splat,
}
_CLOSE = {"(": ")", "<": ">", "[": "]"}


def _value(cursor: Cursor, depth: int) -> Any:
    """A number, a list, None or a call of Mosaic's, such as Replicated(times=4)."""
    if depth > MAX_DEPTH:
        raise cursor.wrong(f"at most {MAX_DEPTH} levels")
    start, token = cursor.at, cursor.next()
    if token in ("[", "("):
        return _items(cursor, _CLOSE[token], depth)[0]
    if token.lstrip("-").isdecimal():
        if cursor.take(":"):
            cursor.next()  # its type, as i64
        return int(token)
    if token == "None":
        return None
    name = token.removeprefix("#mosaic_gpu.")
    if name not in _READ or cursor.peek() not in ("(", "<"):
        raise ParseError(cursor.text, start, f"unexpected {token!r:.40}", f"one of {', '.join(_READ)}", "write it as Mosaic prints it")
    values, named = _items(cursor, _CLOSE[cursor.next()], depth)
    try:
        return _READ[name](*values, **named)
    except TlaError:
        raise
    except TypeError:
        raise ParseError(
            cursor.text, start, f"{name} of other parameters", "those that Mosaic prints", "write them as Mosaic prints them"
        ) from None


def _items(cursor: Cursor, close: str, depth: int) -> tuple[list[Any], dict[str, Any]]:
    """Values, and named ones, up to a bracket; a comma may stand before it."""
    values: list[Any] = []
    named: dict[str, Any] = {}
    while not cursor.take(close):
        word, at = cursor.peek(), cursor.at
        if word.isidentifier() and word != "None":
            cursor.next()
            if cursor.take("="):
                named[word] = _value(cursor, depth + 1)
            else:
                cursor.at = at
        if cursor.at == at:
            values.append(_value(cursor, depth + 1))
        if cursor.peek() != close:
            cursor.need(",")
    return values, named
