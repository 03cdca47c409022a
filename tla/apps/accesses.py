"""The commands `tla access` and `swizzle`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED, element_width
from . import terminal
from .expressions import read_coord
from .terminal import OWNERS, Answer, option

if TYPE_CHECKING:
    from .. import access as accesses
    from ..access import pattern
    from ..core.layout import Layout

_places = OnDemand("tla.access.places")
_accesses, _owners, _patterns = OnDemand("tla.access"), OnDemand("tla.apps.owners"), OnDemand("tla.access.pattern")


def _tile_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "--bits N", "bits of an element, if no text says them; else 32", type=int)
    option(sub, "--tile TILE", "the extents of the tile, such as 64,64: for tla swizzle with names, and for '#ttg...'")
    option(sub, "--memory NAME", "a row of the table of memories; by default that of the access, or NVIDIA_SHARED")


def access_options(access: argparse.ArgumentParser) -> None:
    """The options of `tla access`."""
    _tile_options(access)
    option(access, "--width N", "bits of a lane's access; by default the widest", type=int)


def swizzle_options(swizzle: argparse.ArgumentParser) -> None:
    """The options of `tla swizzle`."""
    _tile_options(swizzle)
    for name in ("write", "read"):
        option(swizzle, f"--{name} OWNERS", f"who {name}s: {OWNERS}", action="append", default=[])


def access(arguments: argparse.Namespace) -> Answer:
    """The cost of an access: wavefronts, the fewest there could be, the lanes that collide; sectors
    of global memory."""
    tile = _extents(arguments.tile)
    who, (place, said) = _owners.owners(arguments.owners, tile), _owners.memory(arguments.memory_layout, tile)
    element = element_width(who.width, said, bits=arguments.bits, default=ASSUMED)
    found = _accesses.access(
        who.held, place, element, who.vector if arguments.width is None else arguments.width, arguments.memory
    )
    value = {
        name: getattr(found, name)
        for name in ("wavefronts", "least", "degree", "vector", "instructions", "total", "used", "moved", "lines")
    }
    value |= {
        "witness": found.witness._asdict() if found.witness else None,
        "memory": found.memory.name,
        "convention": found.memory.convention,
        "element": element._asdict(),
    }
    conflicts = found.degree > 1 and isinstance(who.held, _patterns.Pattern)
    mend = _mend(arguments, who.held, place, found) if conflicts else ""
    return value, lambda _: terminal.wrapped([*str(found).splitlines(), *filter(None, [mend])])


def _mend(arguments: argparse.Namespace, held: pattern.Pattern, place: Layout, found: accesses.Access) -> str:
    """The command that finds a layout without this conflict, written along the rows; "" where its extents have none."""
    tile = _places.extents_of(place)
    if any(n & (n - 1) for n in tile):
        return ""
    written = _patterns.written_by(held) if held.memory == found.memory else "cp.async.16"
    write, read = (f"'{name}'" if " " in name else name for name in (written, arguments.owners))
    has_row = found.memory.name == "NVIDIA_SHARED" or written != "cp.async.16"
    memory = "" if has_row else f" --memory {found.memory.name}"
    tail = f"--tile {','.join(map(str, tile))} --bits {found.element.bits}{memory}"
    return f"a layout without it: tla swizzle --write {write} --read {read} {tail}"


def swizzle(arguments: argparse.Namespace) -> Answer:
    """The layout of shared memory with the fewest wavefronts for who writes and who reads, and why there
    is none better."""
    tile = _extents(arguments.tile)
    writes, reads = ([_owners.owners(text, tile) for text in texts] for texts in (arguments.write, arguments.read))
    element = element_width(*(who.width for who in (*writes, *reads)), bits=arguments.bits, default=ASSUMED)
    found = _accesses.best_swizzle([x.held for x in writes], [x.held for x in reads], element, arguments.memory, tile)
    why = found.certificate
    value = {
        "layout": str(found.layout),
        "text": str(found),
        "wavefronts": found.cost,
        "bound": why.bound,
        "met": why.met,
        "vectors": found.vectors,
        "why": why.text,
        "element": element._asdict(),
    }
    return value, _swizzle_text


def _swizzle_text(value: dict[str, Any]) -> str:
    readable, cost = value["text"].splitlines()
    chain = [] if readable == value["layout"] else [f"XOR strides {readable}"]
    element = "elements of {bits} bits ({said})".format(**value["element"])
    return terminal.wrapped([value["layout"], *chain, cost, element])


def _extents(text: str | None) -> tuple[int, ...] | None:
    coord = None if text is None else read_coord(text)
    return coord if coord is None else tuple(map(int, coord)) if isinstance(coord, tuple) else (int(coord),)
