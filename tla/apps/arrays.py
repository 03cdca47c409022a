"""The commands `tla explain`, `tla relayout`, `tla default` and `tla sharding`: XLA arrays and their layouts."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

from .. import xla
from ..core.errors import LeafTypeError
from ..core.on_demand import OnDemand
from ..xla.shapes.curve import in_units
from ..xla.shapes.grammar import named_shape
from . import terminal
from .terminal import Answer, option, plain

_compare, _default = OnDemand("tla.xla.shapes.compare"), OnDemand("tla.xla.shapes.default")


def relayout_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "--permutation DIMS", "transpose the source first, as HLO does: 1,0")


def relayout(arguments: argparse.Namespace) -> Answer:
    """Report what a copy from the layout of one XLA array to that of another moves."""
    a, b = (_array(text) for text in (arguments.source, arguments.destination))
    source = str(a)
    if arguments.permutation is not None:
        a = _compare.transposed(a, _numbers("--permutation", arguments.permutation))
    free = xla.is_bitcast(a, b)
    value: dict[str, Any] = {
        "source": source,
        "destination": str(b),
        "bitcast": free,
        "read_bytes": xla.byte_size(a),
        "written_bytes": xla.byte_size(b),
        "run": None,
        "layout": None,
    }
    if (a.element_type, a.dimensions) == (b.element_type, b.dimensions):
        found = xla.relayout(a, b)
        value["run"], value["layout"] = found.run, None if found.layout is None else str(found.layout)
    return value, _relayout_text


def _relayout_text(value: dict[str, Any]) -> str:
    if value["bitcast"]:
        return terminal.wrapped([f"nothing moves: {value['source']} is {value['destination']} as it stands"])
    lines = [f"reads   {_bytes(value['read_bytes'])}", f"writes  {_bytes(value['written_bytes'])}"]
    if value["run"] is not None:
        lines.append(f"run     {_elements(value['run'])} each other in both, from the first one on")
    if value["layout"] is not None:
        lines.append(f"layout  {value['layout']}, from an offset of the destination to that of the source")
    return terminal.wrapped(lines)


def _elements(n: int) -> str:
    return "no two elements follow" if n == 1 else f"{n:,} elements follow"


def explain_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "index INDEX", "numbers between commas, such as 2,3; by default the dimensions' letters", nargs="?")
    option(sub, "--strip", "show what each slot of memory holds, too")


def explain(arguments: argparse.Namespace) -> Answer:
    """Each step from the index of an element of an XLA array to its offset; without an index, as a formula of the
    dimensions' letters."""
    shape = named_shape(arguments.shape, {})
    index = None if arguments.index is None else _numbers("INDEX", arguments.index)
    found = xla.explain(shape, index)
    value: dict[str, Any] = {
        "shape": str(shape),
        "steps": [
            {"name": s.name, "dimensions": [*map(plain, s.dimensions)], "index": [*map(plain, s.coord)]}
            for s in found.steps
        ],
        "offset": plain(found.offset),
    }
    if arguments.strip:
        value["strip"] = [None if at is None else [*at] for at in xla.strip(shape)]
    return value, lambda v: terminal.wrapped([*str(found).splitlines(), *_strip_lines(v.get("strip", []))])


def _strip_lines(strip: list[Any]) -> Iterator[str]:
    """The slots of memory in rows, padding as a dot, each row with the offset of its first slot."""
    texts = ["." if at is None else f"({','.join(map(str, at))})" for at in strip]
    wide = max(map(len, texts), default=1)
    count = max(1, ((terminal.width() or 80) - 10) // (wide + 1))
    for k in range(0, len(texts), count):
        yield f"{k:>8}  " + " ".join(t.ljust(wide) for t in texts[k : k + count]).rstrip()


def default_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "--target T", f"one of {', '.join(_default.TARGETS)}; all by default")


def default(arguments: argparse.Namespace) -> Answer:
    """The layout that the TPU compiler gives an argument, and what it takes."""
    shape = _array(arguments.array)
    dims = tuple(n for n in shape.dimensions if isinstance(n, int))
    targets = _default.TARGETS if arguments.target is None else (arguments.target,)
    found = {target: xla.default_layout(shape.element_type, dims, target) for target in targets}
    value = [
        {"target": target, "shape": str(x), "bytes": xla.byte_size(x), "waste_bytes": xla.waste(x)}
        for target, x in found.items()
    ]
    return value, _default_text


def _default_text(value: list[dict[str, Any]]) -> str:
    rows = [["target", "bytes", "waste", "shape"]]
    for v in value:
        rows.append([v["target"], f"{v['bytes']:,}", terminal.percent(v["waste_bytes"], v["bytes"]), v["shape"]])
    return "\n".join(terminal.table(rows, 1, terminal.width()))


def sharding_options(sub: argparse.ArgumentParser) -> None:
    option(sub, "--devices N", "how many devices; as many as it needs by default", type=int)


def sharding(arguments: argparse.Namespace) -> Answer:
    """The slice of an XLA array that each device holds, and its bytes on one device."""
    read = xla.parse_shardy if arguments.sharding.lstrip().startswith("#sdy") else xla.parse_sharding
    found, shape = read(arguments.sharding), _array(arguments.array)
    if isinstance(found, xla.TupleSharding):
        raise LeafTypeError(
            f"{arguments.sharding} is the sharding of a tuple", "that of one array", "give one of its elements"
        )
    dims = tuple(n for n in shape.dimensions if isinstance(n, int))
    count = found.tiled(len(dims)).least_devices if arguments.devices is None else arguments.devices
    slices = found.slices(dims, count)
    largest = max(slices.values(), key=lambda s: math.prod(hi - lo for lo, hi in s), default=())
    local = tuple(hi - lo for lo, hi in largest)
    one = xla.ArrayShape(shape.element_type, local, shape.layout)
    one = xla.default_layout(shape.element_type, local) if shape.layout is None else one
    value = {
        "sharding": str(found),
        "devices": {str(d): [list(pair) for pair in s] for d, s in slices.items()},
        "shape": str(one),
        "bytes": xla.byte_size(one),
    }
    return value, _sharding_text


def _sharding_text(value: dict[str, Any]) -> str:
    rows = [["device", "slice"]]
    rows += [[d, ", ".join(f"{lo}:{hi}" for lo, hi in s)] for d, s in value["devices"].items()]
    last = f"{value['shape']} on the device that holds most: {_bytes(value['bytes'])}"
    table = "\n".join(terminal.table(rows, 1, terminal.width()))
    return "\n\n".join([terminal.wrapped([value["sharding"]]), table, terminal.wrapped([last])])


def _array(text: str) -> xla.ArrayShape:
    shape = xla.parse_shape(text)
    if not isinstance(shape, xla.ArrayShape) or not all(isinstance(n, int) for n in shape.dimensions):
        raise LeafTypeError(
            f"{text} is no array of known sizes", "an element type and dimensions", "write it as in 'bf16[8,300]'"
        )
    return shape


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(p.strip().isdecimal() and p.isascii() for p in parts):
        raise LeafTypeError(f"{option} {text}", "numbers between commas", f"write {option} 1,0")
    return tuple(int(p) for p in parts)


def _bytes(n: int) -> str:
    return f"{n:,} bytes" + (f" ({in_units(n)})" if n >= 1024 else "")
