"""The commands `tla lower`, `show`, `draw` and `offset`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import xla
from ..core.errors import LoweringError, RangeError, RankError
from ..core.int_tuple import product, product_each, size
from ..core.ints import IntTupleLike
from ..core.layout import require_origin
from ..core.on_demand import OnDemand
from ..xla.shapes.grammar import named_shape
from . import terminal
from .terminal import LAYOUT, Answer, option, plain

if TYPE_CHECKING:
    from .. import viz
    from . import expressions
    from .explore.operations import Program
else:
    viz, expressions = OnDemand("tla.viz"), OnDemand("tla.apps.expressions")

_colouring, _kernels = OnDemand("tla.viz.colouring"), OnDemand("tla.viz.kernels")
_operations, _tilings = OnDemand("tla.apps.explore.operations"), OnDemand("tla.apps.explore.tilings")
_offsets = OnDemand("tla.tensors.offsets")

#: More offsets than this are not listed as JSON.
MAX_LISTED = 2**20


def draw_options(draw: argparse.ArgumentParser) -> None:
    """The options of `tla draw`."""
    option(draw, "layouts LAYOUT", LAYOUT, nargs="+")
    option(draw, "-o FILE", "write it to FILE, which ends in .svg, .html, .tex, .txt or .png", dest="output")
    rules = ", ".join(_colouring.RULES)
    option(draw, "--color-by RULE", f"what colours mean: auto, {rules}; with --threads thread or value")
    option(draw, "--tile TILE", "the extents of a tile of the first layout, such as 4,8")
    option(
        draw, "--bits N", "bits of an element, for --color-by bank, if the layout does not say them; else 32", type=int
    )
    option(draw, "--thread N", "of an atom, a tiled MMA or a tiled copy: show what this thread holds", type=int)
    option(draw, "--threads", "LAYOUT is (thread, value) -> element of --tile: draw who holds each")


def lower(arguments: argparse.Namespace) -> Answer:
    """The layout of an XLA array, the meaning of each mode, and the memory that it takes."""
    shape = named_shape(arguments.shape, {})
    layout = xla.lower(shape)
    dimensions = [
        {
            "extent": plain(extent),
            "padded": plain(padded),
            "digits": [{"extent": plain(d.extent), "stride": plain(d.stride), "role": d.role} for d in digits],
        }
        for extent, padded, digits in zip(require_origin("lower", layout), product_each(layout.shape), _digits(shape))
    ]
    value = {
        "shape": str(shape),
        "layout": str(layout),
        "origin_shape": str(layout.origin_shape),
        "dimensions": dimensions,
        "elements": plain(xla.element_count(shape)),
        "padded_elements": plain(xla.padded_element_count(shape)),
        "bits": shape.bits,
        "bytes": plain(xla.byte_size(shape)),
        "waste_bytes": plain(xla.waste(shape)),
    }
    return value, _lowered


def _digits(shape: xla.ArrayShape) -> tuple[tuple[xla.Digit, ...], ...]:
    """The digits of each dimension; none where a tile cuts what is no digit."""
    try:
        return xla.digits(shape)
    except LoweringError:
        return ((),) * len(shape.dimensions)


def _lowered(value: dict[str, Any]) -> str:
    rows = [["dim", "extent", "padded", "extent:stride, fastest first"]]
    for k, d in enumerate(value["dimensions"]):
        digits = ", ".join(f"{x['extent']}:{x['stride']} {x['role']}" for x in d["digits"])
        digits = digits or ("1:0" if d["padded"] == 1 else "see the layout")
        rows.append([str(k), str(d["extent"]), str(d["padded"]), digits])
    names = "elements", "padded_elements", "bytes", "waste_bytes"
    elements, padded, size, waste = (terminal.grouped(value[name]) for name in names)
    table = "\n".join(terminal.table(rows, 1, terminal.width()))
    return (
        f"{value['layout']}\n\n{table}\n\n"
        f"elements  {elements}, {padded} with padding, {value['bits']} bits each\n"
        f"bytes     {size}{terminal.binary(value['bytes'])}\n"
        f"waste     {waste} bytes{_share(value['waste_bytes'], value['bytes'])}"
    )


def show(arguments: argparse.Namespace) -> Answer:
    """The grid of offsets of a layout; padding is a dot. Of a layout that is too large, its corner."""
    program = expressions.closed(arguments.layout)
    if not arguments.json:
        scene = viz.draw(*_drawables(arguments.layout, program))
        return None, lambda _: as_text(scene, arguments.all)
    layout = expressions.layout_of(expressions.only(arguments.layout, program))
    if size(layout) > MAX_LISTED:
        raise RangeError(
            f"{size(layout)} offsets of {layout}", f"{MAX_LISTED} at most", "leave --json out: then it is the corner"
        )
    said = {"layout": str(layout), "origin_shape": str(layout.origin_shape)}
    return {**said, "offsets": _offsets.offsets(layout).tolist()}, str


def draw(arguments: argparse.Namespace) -> Answer:
    """Layouts drawn beside each other, as a picture in a file, or as text."""
    programs = [(text, expressions.closed(text)) for text in arguments.layouts]
    drawables = [x for text, program in programs for x in _drawables(text, program)]
    tile = None if arguments.tile is None else expressions.read_coord(arguments.tile)
    if arguments.threads:
        if len(drawables) > 1:
            raise RankError(f"{len(drawables)} layouts with --threads", "one", "draw them one by one")
        scene = viz.draw_threads(drawables[0], tile, arguments.color_by or "thread")
    else:
        rule = arguments.color_by or "auto"
        scene = viz.draw(*drawables, color_by=rule, tile=tile, bits=arguments.bits, thread=arguments.thread)
    if arguments.output is None:
        return _data(scene), lambda _: as_text(scene, arguments.all)
    viz.save(scene, arguments.output)
    return {"file": arguments.output}, lambda value: f"wrote {value['file']}"


def _drawables(text: str, program: Program) -> tuple[Any, ...]:
    """The subjects of a drawing: the layouts of an expression, or an atom, a tiled MMA or a tiled copy."""
    value = program.value.value
    if not _operations.drawn(value) and isinstance(value, _kernels.KINDS):
        return (value,)
    expressions.layouts_in(text, program)  # which refuses what has none
    subjects: tuple[viz.Subject, ...] = _tilings.subjects(program)
    return subjects


def offset(arguments: argparse.Namespace) -> Answer:
    """The offset of a coordinate [elements]; a warning if it is outside. An XLA index has to be inside the array."""
    coord = expressions.read_coord(arguments.coord)
    subject = expressions.only(arguments.layout, expressions.closed(arguments.layout))
    outside = False
    if isinstance(subject, xla.ArrayShape):
        found = xla.linear_index(subject, coord if isinstance(coord, tuple) else (coord,))
    else:
        found = subject(coord)
        if outside := _is_outside(coord, subject.shape):
            where = f"{arguments.coord} is outside of the shape {subject.shape}"
            terminal.complain(f"tla: {where}: the layout goes on as it is written")
    value = {"layout": arguments.layout, "coord": str(coord), "offset": plain(found), "outside": outside}
    return value, lambda value: str(value["offset"])


def _is_outside(coord: IntTupleLike, shape: IntTupleLike) -> bool:
    """Whether a part of a coordinate is past the extent of its mode, or before it."""
    if isinstance(coord, tuple):
        return any(_is_outside(c, s) for c, s in zip(coord, shape if isinstance(shape, tuple) else (shape,)))
    return not 0 <= int(coord) < int(product(shape))


def as_text(scene: viz.Scene, whole: bool, before: Sequence[str] = ()) -> str:
    """A scene as text, cut to the screen's lines unless all are asked for. before: the number of lines above it."""
    text = viz.text(scene, width=terminal.width(), color=terminal.colours(), ascii=not terminal.holds("│"))
    text = f"{terminal.wrapped(before)}\n{text}" if before else text
    return text if whole else terminal.within_screen(text, "--all shows them, tla draw -o layout.svg draws them")


def _data(x: Any) -> Any:
    """A scene for JSON: its parts by name."""
    if hasattr(x, "_asdict"):
        return {name: _data(part) for name, part in x._asdict().items()}
    return [*map(_data, x)] if isinstance(x, tuple) else x


def _share(part: int | str, whole: int | str) -> str:
    return f", {terminal.percent(part, whole)}" if isinstance(part, int) and isinstance(whole, int) else ""
