"""Linear layouts as the text that Triton's tools print: who holds each element, where it lies.

Source: the output of triton-tensor-layout, of Triton 3.8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.errors import RangeError, RankError
from .digits import vector_text

if TYPE_CHECKING:
    from .value import Bases

#: Views of more elements than this are refused.
MAX_SHOWN = 2**20


def distributed(layout: Bases, use_hw_view: bool) -> str:
    """The view of a layout of registers, lanes, warps and blocks."""
    registers, lanes, warps, blocks = _sizes(layout, ("register", "lane", "warp", "block"))
    several = blocks > 1
    names = ("block", "warp", "lane", "register")
    points = itertools.product(range(blocks), range(warps), range(lanes), range(registers))
    at = {p: tuple(layout.apply(_inputs(layout, dict(zip(names, p)))).values()) for p in points}
    if use_hw_view:
        lines = []
        for block in range(blocks):
            lines += [f"Block{block}:"] if several else []
            for warp in range(warps):
                lines.append(f"Warp{warp}:")
                for r in range(registers):
                    lines.append(", ".join(vector_text(at[block, warp, lane, r]) for lane in range(lanes)))
        return "\n".join(lines) + "\n"
    width = len(str(lanes * warps - 1))
    held: dict[tuple[int, ...], list[str]] = {}
    for (block, warp, lane, r), element in at.items():
        name = f"T{warp * lanes + lane}".rjust(width + 1)
        held.setdefault(element, []).append(f"{f'B{block}:' if several else ''}{name}:{r}")
    return _brackets(layout, {element: "|".join(names) for element, names in held.items()}, ", ")


def shared(layout: Bases, use_hw_view: bool) -> str:
    """The view of a layout of offsets and blocks: as many offsets of each block as the elements are shared out to.

    Without use_hw_view it is the memory written in the shape of the tensor: at each place the element that lies there.
    """
    _, blocks = _sizes(layout, ("offset", "block"))
    shape = [*layout.out_dims.values()]
    count = math.prod(shape) // blocks
    places = [(b, o) for b in range(blocks) for o in range(count)]
    there = [tuple(layout.apply(_inputs(layout, {"block": b, "offset": o})).values()) for b, o in places]
    if use_hw_view:
        lines = []
        for (block, offset), element in zip(places, there):
            lines += [f"Block: {block}:"] if offset == 0 else []
            lines.append(f"Offset: {offset} -> {vector_text(element)}")
        return "\n".join(lines) + "\n"
    texts = (f"({':'.join(map(str, element))})" for element in there)
    return _brackets(layout, dict(zip(itertools.product(*map(range, shape)), texts)), ",")


def _sizes(layout: Bases, names: Sequence[str]) -> list[int]:
    for name in layout.get_in_dim_names():
        if name not in names:
            raise RankError(f"a view of the input {name}", f"inputs among {', '.join(names)}", "rename it")
    if layout.get_total_in_dim_size_log2() > 20:
        what = f"a view of 2^{layout.get_total_in_dim_size_log2()} elements"
        raise RangeError(what, f"{MAX_SHOWN} at most", "look at a sublayout")
    return [layout.get_in_dim_size(name) if layout.has_in_dim(name) else 1 for name in names]


def _inputs(layout: Bases, point: dict[str, int]) -> dict[str, int]:
    return {name: point[name] for name in layout.get_in_dim_names()}


def _brackets(layout: Bases, held: dict[tuple[int, ...], str], between: str) -> str:
    """The texts of all elements in nested brackets, the last dimension along a line."""
    shape = [*layout.out_dims.values()]
    text = ""
    for element in itertools.product(*map(range, shape)):
        opens = next((k for k in range(len(shape) - 1, -1, -1) if element[k]), -1) + 1  # the levels that begin here
        closes = next((k for k in range(len(shape) - 1, -1, -1) if element[k] != shape[k] - 1), -1) + 1
        text += "[" * (len(shape) - opens)
        text += (" " if element[:-1] != (0,) * (len(shape) - 1) and opens < len(shape) else "") + held.get(element, "")
        text += "]" * (len(shape) - closes) + ("\n" if closes < len(shape) else between)
    return text
