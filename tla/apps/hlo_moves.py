"""The moves of a program in a few numbers: what waits, what is prefetched, and which arguments would not be moved if
they lay otherwise."""

from __future__ import annotations

from typing import Any

from .. import xla
from ..core.errors import ParseError
from ..xla.shapes.curve import in_units

#: So many arguments are told.
_MOST = 5


def moves_of(module: xla.Module) -> dict[str, Any]:
    """Bytes that moves read and write in the whole run: those that wait, prefetches, and those of arguments that the
    program brings into another order or type, with the shape in which they need no move and the bytes of it."""
    unread: list[ParseError] = []  # which `memory` has said
    found = [m for m in xla.relayouts(module, on_error=unread.append) if not m.free]
    waited = [m for m in found if not m.overlapped]
    names = {x.instruction.name for _number, x in module.body(module.entry or "").parameters}
    return {
        "waited": sum(m.bytes for m in waited),
        "prefetched": sum(m.bytes for m in found if m.overlapped),
        "arguments": [_argument(module, m) for m in [m for m in waited if _is_argument(m, names)][:_MOST]],
    }


def _is_argument(move: xla.Move, names: set[str]) -> bool:
    """Whether a move is of an argument, one of these names, into another order or type, and each time that the program
    runs."""
    operands = move.line.instruction.operands
    plain = move.line.instruction.opcode in ("copy", "fusion") and move.source.dimensions == move.destination.dimensions
    apart = {"order", "type"} & {*move.changes}
    return bool(move.line.is_entry and plain and apart and operands and operands[0].name in names)


def _argument(module: xla.Module, move: xla.Move) -> dict[str, Any]:
    layout = move.destination.effective_layout
    space = move.source.effective_layout.memory_space
    wanted = move.destination._replace(layout=layout._replace(memory_space=space))
    (origin,) = module.origins([move.line])
    name = move.line.instruction.operands[0].name
    sizes = [xla.byte_size(shape) for shape in (move.source, wanted)]
    what = {"name": name, "from": origin.removeprefix("copy of "), "shape": str(move.source), "to": str(wanted)}
    return {**what, "moved": move.bytes, "bytes": sizes[0], "bytes_then": sizes[1]}


def moves_text(value: dict[str, Any], most: int | None = None) -> list[str]:
    """The moves as lines: what is moved, and each argument that another layout would keep where it is, `most` of them."""
    if not value["waited"] and not value["prefetched"]:
        return []
    prefetched = f", {value['prefetched']:,} by prefetches" if value["prefetched"] else ""
    lines = [f"moves: {value['waited']:,} bytes by those that wait ({in_units(value['waited'])}){prefetched}"]
    for a in value["arguments"][:most]:
        takes = f"which takes {a['bytes_then']:,} bytes, not {a['bytes']:,}"
        lines.append(f"  {a['moved']:,} less: {a['name']} as {a['to']}, {takes}")
    return lines
