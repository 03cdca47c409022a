"""The command `tla read`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..core.arrays import int64_of
from ..core.errors import LeafTypeError
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED
from .expressions import read_coord
from .layouts import as_text
from .terminal import Answer

if TYPE_CHECKING:
    from .. import viz
else:
    viz = OnDemand("tla.viz")

_recovery, _languages, _counting = OnDemand("tla.recovery.door"), OnDemand("tla.recovery.languages"), OnDemand("tla.access.counting")


def read_options(read: argparse.ArgumentParser) -> None:
    """The options of `tla read`."""
    read.add_argument("--shape", metavar="EXTENTS", required=True, help="the extents of the coordinates, such as 64,64")
    read.add_argument("--coords", metavar="NAMES", help="the names of the coordinates, such as row,col; by default i,j or as they say")
    read.add_argument("--language", metavar="NAME", default="c", help=f"one of {', '.join(_languages.LANGUAGES)}; c by default")
    read.add_argument("--integer", metavar="TYPE", help="int32 or int64; by default as the language has it")
    read.add_argument("--values", metavar="NAME=N", nargs="+", default=[], help="the values of other names, such as ld=72")
    read.add_argument("--access", metavar="NAME", help="what it costs to access it so: the name of an access, such as ldmatrix")
    read.add_argument("--bits", metavar="N", type=int, help="bits of an element, for --access; else 32")


def read(arguments: argparse.Namespace) -> Answer:
    """The layout of an index expression of C, CUDA, Python, Triton, ...: parsed, computed at all coordinates, and drawn."""
    extents = read_coord(arguments.shape)
    shape = tuple(extents) if isinstance(extents, tuple) else extents
    values = dict(map(_value, arguments.values))
    layout = _recovery.layout_of(arguments.expression, shape, arguments.coords, arguments.language, arguments.integer, values)
    found = arguments.access and _counting.access(arguments.access, layout, arguments.bits or ASSUMED)
    value = {"layout": str(layout), "wavefronts": found.wavefronts if found else None, "least": found.least if found else None}
    return value, lambda _: as_text(viz.draw(layout), arguments.all, [*str(found or "").splitlines(), ""] if found else [])


def _value(text: str) -> tuple[str, int]:
    """The name and the integer of NAME=N."""
    name, _, n = text.partition("=")
    if not (name and n.isascii() and n.isdecimal() and (value := int64_of(n)) is not None):
        raise LeafTypeError(f"--values {text}", "NAME=N, an integer of 64 bits", "write --values ld=72")
    return name, value
