"""The command `tla read`."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from ..core.element import Width
from ..core.errors import RangeError
from ..core.int_tuple import rank
from ..core.on_demand import OnDemand
from ..notation.width import ASSUMED, element_width
from .expressions import read_coord
from .layouts import as_text
from .terminal import Answer, option, wrapped

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
_recovery, _languages = OnDemand("tla.recovery.door"), OnDemand("tla.recovery.languages")
_sizes, _values = OnDemand("tla.recovery.unknown_sizes"), OnDemand("tla.recovery.values")
_counting = OnDemand("tla.access.counting")


def read_options(read: argparse.ArgumentParser) -> None:
    """The options of `tla read`."""
    option(
        read,
        "--shape EXTENTS",
        "the extents of the coordinates, such as 64,64, or M,N of sizes that are not known; loops say theirs",
    )
    option(read, "--coords NAMES", "the names of the coordinates, such as row,col; by default i,j or as they say")
    option(read, "--language NAME", f"one of {', '.join(_languages.LANGUAGES)}; c by default", default="c")
    option(read, "--integer TYPE", "int32 or int64; by default as the language has it")
    option(read, "--values NAME=N", "the values of other names, such as ld=72", nargs="+", default=[])
    option(read, "--reader EXPRESSION", "say where this one disagrees, and what would mend either")
    option(read, "--access NAME", "count this access alone, by its name, such as ldmatrix")
    option(read, "--bits N", "bits of an element, for the accesses; else 32", type=int)


def read(arguments: argparse.Namespace) -> Answer:
    """The layout of an index expression of C, CUDA, Python, Triton, ...: parsed, computed at all coordinates, drawn,
    and its conflicts."""
    bits = element_width(bits=arguments.bits, default=ASSUMED)
    shape = None if arguments.shape is None else _extents(arguments.shape)
    values = _values.values_of(",".join(arguments.values))
    is_known = not _sizes.has_names(*(shape if isinstance(shape, tuple) else (shape,)), *values.values())
    how = (shape, arguments.coords, arguments.language, arguments.integer, values)
    if arguments.reader is not None:
        return _compared(_disagreement.recover(arguments.expression, arguments.reader, *how))
    layout = _recovery.layout_of(arguments.expression, *how)
    one = arguments.access and _counting.access(arguments.access, layout, bits)
    found = {arguments.access: one} if one else _usual(layout, bits) if is_known else {}
    # origin_shape is what is inside of bounds
    value: dict[str, Any] = {"layout": str(layout), "origin_shape": str(layout.origin_shape)}
    value |= {"wavefronts": one.wavefronts if one else None, "least": one.least if one else None}
    value["accesses"] = [
        {"access": name, "wavefronts": x.wavefronts, "least": x.least, "degree": x.degree} for name, x in found.items()
    ]
    elements = f"{arguments.bits} bits" if arguments.bits else f"{bits}; --bits 16 says others"
    said = str(one).splitlines() if one else _conflicts(found, elements)
    if not is_known:  # there is no grid to draw
        return value, lambda _: str(layout)
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
        fix = "name one by --access, or count a (thread, value) layout with tla access"
        return [f"none of the usual accesses takes it: {fix}"]
    head = f"usual accesses of shared memory, elements of {elements}:"
    width = max(map(len, found))
    return [head, *(f"  {name:{width}}  {str(x).splitlines()[0]}" for name, x in found.items())]


def _extents(text: str) -> Any:
    """The extents that an option says: integers; or names and expressions too, of sizes that are not known."""
    if not any(c.isalpha() for c in text):
        return tuple(found) if isinstance(found := read_coord(text), tuple) else found
    return tuple(n.strip() for n in text.strip().removeprefix("(").removesuffix(")").split(","))
