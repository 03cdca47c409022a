"""The commands `tla access` and `swizzle`."""

from __future__ import annotations

import argparse
from typing import Any

from ..core.element import Width
from ..core.errors import RankError
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED, element_width
from . import terminal
from .expressions import closed, known_layouts, layout_of, only, read_coord
from .terminal import OWNERS, Answer

_linear, _accesses, _triton = OnDemand("tla.linear"), OnDemand("tla.access"), OnDemand("tla.linear.triton")


def _tile_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--bits", metavar="N", type=int, help="bits of an element, if no text says them; else 32")
    sub.add_argument("--tile", metavar="TILE", help="the extents of the tile, such as 64,64; '#ttg...' need it")
    sub.add_argument("--memory", metavar="NAME", default="NVIDIA_SHARED", help="a row of the table of memories; NVIDIA_SHARED by default")


def access_options(access: argparse.ArgumentParser) -> None:
    """The options of `tla access`."""
    _tile_options(access)
    access.add_argument("--width", metavar="N", type=int, help="bits of a lane's access; by default the widest")


def swizzle_options(swizzle: argparse.ArgumentParser) -> None:
    """The options of `tla swizzle`."""
    _tile_options(swizzle)
    for name in ("write", "read"):
        swizzle.add_argument(f"--{name}", metavar="OWNERS", action="append", default=[], help=f"who {name}s: {OWNERS}")


def access(arguments: argparse.Namespace) -> Answer:
    """The cost of an access: wavefronts, the fewest there could be, the lanes that collide; sectors of global memory."""
    (owners, *said), (place, *more) = (_owners(text, arguments.tile) for text in (arguments.owners, arguments.memory_layout))
    element = element_width(*said, *more, bits=arguments.bits, default=ASSUMED)
    found = _accesses.access(owners, place, element, arguments.width, arguments.memory)
    value = {
        name: getattr(found, name)
        for name in ("wavefronts", "least", "degree", "vector", "instructions", "total", "used", "moved", "lines")
    }
    value |= {
        "witness": found.witness._asdict() if found.witness else None,
        "memory": found.memory.name,
        "convention": found.memory.convention,
        "element": {"bits": element.bits, "said": element.said},
    }
    return value, lambda _: terminal.wrapped(str(found).splitlines())


def swizzle(arguments: argparse.Namespace) -> Answer:
    """The layout of shared memory with the fewest wavefronts for who writes and who reads, and why there is none better."""
    tile = None if arguments.tile is None else _extents(arguments.tile)
    writes, reads = ([_owners(text, arguments.tile) for text in texts] for texts in (arguments.write, arguments.read))
    element = element_width(*(said for _held, said in (*writes, *reads)), bits=arguments.bits, default=ASSUMED)
    found = _accesses.best_swizzle([x for x, _said in writes], [x for x, _said in reads], element, arguments.memory, tile)
    why = found.certificate
    value = {
        "layout": str(found.layout),
        "wavefronts": found.cost,
        "bound": why.bound,
        "met": why.met,
        "vectors": found.vectors,
        "why": why.text,
        "element": {"bits": element.bits, "said": element.said},
    }
    return value, _swizzle_text


def _swizzle_text(value: dict[str, Any]) -> str:
    widths = ", ".join(map(str, value["vectors"]))
    element = "elements of {bits} bits ({said})".format(**value["element"])
    return terminal.wrapped([value["layout"], f"{value['wavefronts']} wavefronts, accesses of {widths} bits: {value['why']}", element])


def _owners(text: str, tile: str | None) -> tuple[Any, Width | None]:
    """A layout, or the linear layout of one of Triton's, whose tensor is the tile; and the width of an element, where the text says it."""
    if not text.lstrip().startswith("#"):
        term = closed(text).value
        held = term.value if isinstance(term.value, _linear.LinearLayout) else layout_of(only(text, known_layouts(text)))
        return held, term.element_width
    if tile is None:
        raise RankError(f"{text:.60} without a tile", "the shape of the tensor", "add --tile 64,64")
    found = _triton.from_type(text)
    held = found.layout if isinstance(found.layout, _triton.PaddedSharedLayout) else found.layout.linear(_extents(tile))
    return held, found.element_width


def _extents(text: str) -> tuple[int, ...]:
    coord = read_coord(text)
    return tuple(map(int, coord)) if isinstance(coord, tuple) else (int(coord),)
