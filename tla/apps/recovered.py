"""The command `tla read`."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from ..core.arrays import int64_of
from ..core.element import Width
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import rank
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED
from .expressions import read_coord
from .layouts import as_text
from .terminal import Answer, wrapped

if TYPE_CHECKING:
    from .. import viz
    from ..access.counting import Access
    from ..core.kinds import AnyLayout
    from ..recovery.disagreement import Disagreement
else:
    viz = OnDemand("tla.viz")

#: Accesses that are counted where none is named; that of one coordinate first.
_USUAL = ("a row", "a column", "cp.async.16", "ldmatrix.x4")
_disagreement = OnDemand("tla.recovery.disagreement")
_recovery, _languages, _counting = (
    OnDemand("tla.recovery.door"),
    OnDemand("tla.recovery.languages"),
    OnDemand("tla.access.counting"),
)


def read_options(read: argparse.ArgumentParser) -> None:
    """The options of `tla read`."""
    read.add_argument("--shape", metavar="EXTENTS", required=True, help="the extents of the coordinates, such as 64,64")
    read.add_argument(
        "--coords", metavar="NAMES", help="the names of the coordinates, such as row,col; by default i,j or as they say"
    )
    read.add_argument(
        "--language", metavar="NAME", default="c", help=f"one of {', '.join(_languages.LANGUAGES)}; c by default"
    )
    read.add_argument("--integer", metavar="TYPE", help="int32 or int64; by default as the language has it")
    read.add_argument(
        "--values", metavar="NAME=N", nargs="+", default=[], help="the values of other names, such as ld=72"
    )
    read.add_argument("--reader", metavar="EXPRESSION", help="say where this one disagrees, and what would mend either")
    read.add_argument("--access", metavar="NAME", help="count this access alone, by its name, such as ldmatrix")
    read.add_argument("--bits", metavar="N", type=int, help="bits of an element, for the accesses; else 32")


def read(arguments: argparse.Namespace) -> Answer:
    """The layout of an index expression of C, CUDA, Python, Triton, ...: parsed, computed at all coordinates, drawn,
    and its conflicts."""
    extents = read_coord(arguments.shape)
    shape = tuple(extents) if isinstance(extents, tuple) else extents
    how = (shape, arguments.coords, arguments.language, arguments.integer, dict(map(_value, arguments.values)))
    if arguments.reader is not None:
        return _compared(_disagreement.recover(arguments.expression, arguments.reader, *how))
    layout = _recovery.layout_of(arguments.expression, *how)
    bits = arguments.bits or ASSUMED
    one = arguments.access and _counting.access(arguments.access, layout, bits)
    found = {arguments.access: one} if one else _usual(layout, bits)
    value: dict[str, Any] = {
        "layout": str(layout),
        "origin_shape": str(layout.origin_shape),
    }  # what is inside of bounds
    value |= {"wavefronts": one.wavefronts if one else None, "least": one.least if one else None}
    value["accesses"] = [
        {"access": name, "wavefronts": x.wavefronts, "least": x.least, "degree": x.degree} for name, x in found.items()
    ]
    said = (
        str(one).splitlines()
        if one
        else _conflicts(found, f"{bits} bits" if arguments.bits else f"{bits}; --bits 16 says others")
    )
    return value, lambda _: as_text(viz.draw(layout), arguments.all, [*said, ""])


def _compared(found: Disagreement) -> Answer:
    """Say where a writer and a reader disagree."""
    value = {"different": found.different, "of": found.of, "first": [x._asdict() for x in found.first]}
    mends = [{"kind": x.kind, "writer": x.writer, "reader": x.reader} for x in found.mends]
    return {**value, "mends": mends}, lambda _: wrapped(str(found).splitlines())


def _usual(layout: AnyLayout, bits: int | Width) -> dict[str, Access]:
    """The usual accesses that take a layout of one coordinate or two."""
    found = {}
    for name in _USUAL if rank(layout) == 2 else _USUAL[:1] if rank(layout) == 1 else ():
        with contextlib.suppress(RangeError):  # rows that are too short for it, or not contiguous
            found[name] = _counting.access(name, layout, bits)
    return found


def _conflicts(found: dict[str, Access], elements: str) -> list[str]:
    """The conflicts of usual accesses, a line each."""
    if not found:
        return [
            "none of the usual accesses takes it: name one by --access, or count a (thread, value) layout with tla "
            "access"
        ]
    head = f"usual accesses of shared memory, elements of {elements}:"
    width = max(map(len, found))
    return [head, *(f"  {name:{width}}  {str(x).splitlines()[0]}" for name, x in found.items())]


def _value(text: str) -> tuple[str, int]:
    """The name and the integer of NAME=N."""
    name, _, n = text.partition("=")
    if not (name and n.isascii() and n.isdecimal() and (value := int64_of(n)) is not None):
        raise LeafTypeError(f"--values {text}", "NAME=N, an integer of 64 bits", "write --values ld=72")
    return name, value
