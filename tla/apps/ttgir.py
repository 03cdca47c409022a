"""The command `tla ttgir`: what a compiled program of Triton's does with memory."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from ..core.errors import LeafTypeError
from ..core.on_demand import OnDemand
from . import terminal
from .terminal import Answer

_ttgir = OnDemand("tla.ttgir")
_SIZE = re.compile(r"%?([A-Za-z_][A-Za-z0-9_]*)=([0-9]{1,18})")
#: A table of costs: the unit, its title, and the name of its column.
_TABLES = {
    "wavefronts": ("shared memory: wavefronts of all warps, each time", "waves"),
    "sectors": ("global memory: sectors of 32 bytes of all warps, each time", "sectors"),
    "shuffles": ("shuffles of all warps, each time", "shuffles"),
    "bytes": ("bulk copies: bytes, each time", "bytes"),
}


def ttgir_options(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    sub.add_argument("--size", metavar="NAME=N", nargs="+", default=[], help="values of the kernel's arguments, such as K=4096")


def ttgir(arguments: argparse.Namespace) -> Answer:
    """Report what a TTGIR program costs: each load, store and conversion with its instructions, wavefronts and sectors."""
    found = read(arguments.file, arguments.size)
    return value_of(found), text_of


def read(path: str, sizes: Sequence[str]) -> Any:
    """The costs of the program in a file."""
    with terminal.opened(path) as file:
        program = _ttgir.read_program(file)
    return _ttgir.costs(program, sizes_of(sizes))


def sizes_of(given: Sequence[str]) -> dict[str, int]:
    """The values that --size gives.

    >>> sizes_of(["K=4096"])
    {'K': 4096}
    """
    found = {}
    for text in given:
        match = _SIZE.fullmatch(text)
        if not match:
            raise LeafTypeError(f"--size {text:.40}", "a name and a number", "write --size K=4096")
        found[match[1]] = int(match[2])
    return found


def value_of(found: Any) -> dict[str, Any]:
    """The costs as plain data."""
    program = found.program
    return {
        "target": program.target,
        "warps": program.warps,
        "lanes": program.lanes,
        "operations": len(program.ops),
        "rows": [_row(row) for row in found.rows],
        "totals": {unit: terminal.plain(n) for unit, n in found.totals().items()},
        "assumed": dict(found.addresses.assumed),
    }


def _row(row: Any) -> dict[str, Any]:
    return {
        "operation": row.op.name,
        "line": row.op.line,
        "source": row.op.source,
        "times": terminal.plain(row.times),
        "kind": row.kind,
        "buffer_bytes": row.buffer,
        "shared_layout": None if row.shared is None else str(row.shared.memory),
        "refused": row.refused,
        "parts": [part._asdict() for part in row.parts],
    }


def text_of(value: dict[str, Any]) -> str:
    """The costs as tables."""
    width = terminal.width() or 80
    lines = [f"{value['target']}, {value['warps']} warps of {value['lanes']} lanes, {value['operations']} operations"]
    for unit in _TABLES:
        lines += _table(value, unit, width)
    still = [row for row in value["rows"] if not row["parts"] and not row["refused"]]
    if still:
        lines += ["", f"{len(still)} conversions move nothing between threads"]
    refused = [row for row in value["rows"] if row["refused"]]
    if refused:
        lines += ["", "not counted, or not legal:"]
        lines += [terminal.wrapped([f"  line {r['line']}, {r['operation']}: {r['refused']}"], width) for r in refused]
    lines += ["", "in one instance of the program:"]
    lines += [f"  {unit} {n}" for unit, n in value["totals"].items()]
    if value["assumed"] and "sectors" in value["totals"]:
        taken = ", ".join(f"{name} = {n}" for name, n in value["assumed"].items())
        lines += ["", terminal.wrapped([f"sectors are of an example: {taken}; --size gives others"], width)]
    return "\n".join(lines)


def _table(value: dict[str, Any], unit: str, width: int) -> list[str]:
    """The table of a unit: a line for each kind of instructions, operation and place."""
    title, column = _TABLES[unit]
    rows = [["instr", "bits", column, "least", "instruction", "times", "where"]]
    for row in value["rows"]:
        for part in row["parts"]:
            if part["unit"] == unit:
                rows.append(
                    [
                        str(part["instructions"] or ""),
                        str(part["vector"] or ""),
                        *("?" if n is None else f"{n:,}" for n in (part["cost"], part["least"])),
                        part["instruction"],
                        str(row["times"]),
                        f"{row['source'] or row['operation']}",
                    ]
                )
    return ["", f"{title}:", *terminal.table(rows, 3, width)] if len(rows) > 1 else []
