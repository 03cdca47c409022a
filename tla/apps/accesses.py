"""The commands `tla access` and `swizzle`."""

from __future__ import annotations

import argparse
from typing import Any

from ..core.errors import RankError
from ..core.on_demand import OnDemand
from . import terminal
from .expressions import closed, known_layouts, layout_of, only, read_coord
from .terminal import OWNERS, Answer

_linear, _accesses, _triton = OnDemand("tla.linear"), OnDemand("tla.access"), OnDemand("tla.linear.triton")


def _tile_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--bits", metavar="N", type=int, default=32, help="bits of an element; 32 by default")
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
    owners, place = (_owners(text, arguments.tile) for text in (arguments.owners, arguments.memory_layout))
    found = _accesses.access(owners, place, arguments.bits, arguments.width, arguments.memory)
    value = {
        name: getattr(found, name)
        for name in ("wavefronts", "least", "degree", "vector", "instructions", "total", "used", "moved", "lines")
    }
    value |= {
        "witness": found.witness._asdict() if found.witness else None,
        "memory": found.memory.name,
        "convention": found.memory.convention,
    }
    return value, lambda _: terminal.wrapped(str(found).splitlines())


def swizzle(arguments: argparse.Namespace) -> Answer:
    """The layout of shared memory with the fewest wavefronts for who writes and who reads, and why there is none better."""
    tile = None if arguments.tile is None else _extents(arguments.tile)
    writes, reads = ([_owners(text, arguments.tile) for text in texts] for texts in (arguments.write, arguments.read))
    found = _accesses.best_swizzle(writes, reads, arguments.bits, arguments.memory, tile)
    why = found.certificate
    value = {
        "layout": str(found.layout),
        "wavefronts": found.cost,
        "bound": why.bound,
        "met": why.met,
        "vectors": found.vectors,
        "why": why.text,
    }
    return value, _swizzle_text


def _swizzle_text(value: dict[str, Any]) -> str:
    widths = ", ".join(map(str, value["vectors"]))
    return terminal.wrapped([value["layout"], f"{value['wavefronts']} wavefronts, accesses of {widths} bits: {value['why']}"])


def _owners(text: str, tile: str | None) -> Any:
    """A layout, or the linear layout of one of Triton's, whose tensor is the tile."""
    if not text.lstrip().startswith("#"):
        value = closed(text).value.value
        return value if isinstance(value, _linear.LinearLayout) else layout_of(only(text, known_layouts(text)))
    found = _triton.from_text(text)
    if tile is None:
        raise RankError(f"{text:.60} without a tile", "the shape of the tensor", "add --tile 64,64")
    return found if isinstance(found, _triton.PaddedSharedLayout) else found.linear(_extents(tile))


def _extents(text: str) -> tuple[int, ...]:
    coord = read_coord(text)
    return tuple(map(int, coord)) if isinstance(coord, tuple) else (int(coord),)
