"""The command `tla ttgir`: what a compiled program of Triton's does with memory."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import LeafTypeError
from ..core.ints import IntLike
from ..core.on_demand import OnDemand
from . import terminal
from .terminal import Answer, option

if TYPE_CHECKING:
    from ..ttgir.advice import Advice
    from ..ttgir.costs import Cost, Costs

_ttgir, _loops = OnDemand("tla.ttgir"), OnDemand("tla.ttgir.loops")
_SIZE = re.compile(r"%?([A-Za-z_][A-Za-z0-9_]*)=([0-9]{1,18})")
#: A table of costs: the unit, its title, and the name of its column.
_TABLES = {
    "wavefronts": ("shared memory: wavefronts of all warps, each time", "waves"),
    "sectors": ("global memory: sectors of 32 bytes of all warps, each time", "sectors"),
    "shuffles": ("shuffles of all warps, each time", "shuffles"),
    "atomics": ("atomics of all warps, each time", "atomics"),
    "bytes": ("copies of whole tiles: bytes, each time", "bytes"),
}


def ttgir_options(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    sub.add_argument("other", metavar="B", nargs="?", help="another compile of the kernel, to compare with")
    option(sub, "--size NAME=N", "values of the kernel's arguments, such as K=4096", nargs="+", default=[])
    option(sub, "--target T", "the machine, such as cuda:90 or hip:gfx942, where the program does not say it")
    option(sub, "--advise", "other layouts that make it cheaper, each with its gain")


def ttgir(arguments: argparse.Namespace) -> Answer:
    """Report what a TTGIR program costs: each load, store and conversion with its instructions,
    wavefronts and sectors."""
    if arguments.advise and arguments.other is not None:
        raise LeafTypeError("--advise of two programs", "one program", f"write tla ttgir {arguments.file} --advise")
    found, *others = read([path for path in (arguments.file, arguments.other) if path is not None], arguments)
    if others:
        return _compared(found, *others), _compared_text
    if arguments.advise:
        return [_advice(a) for a in _ttgir.advise(found)], _advice_text
    return value_of(found), text_of


def read(paths: Sequence[str], arguments: argparse.Namespace) -> list[Any]:
    """The costs of the programs in files. Of two, a size may be of one alone: it is a constant of the other."""
    programs = []
    for path in paths:
        with terminal.opened(path) as file:
            programs.append(_ttgir.read_program(file))
    sizes, has = sizes_of(arguments.size), _loops.has_size
    constants = [{n for n in sizes if not has(p, n) and any(has(q, n) for q in programs)} for p in programs]
    return [
        _ttgir.costs(p, {n: x for n, x in sizes.items() if n not in known}, arguments.target)
        for p, known in zip(programs, constants)
    ]


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


def value_of(found: Costs) -> dict[str, Any]:
    """The costs as plain data."""
    program = found.program
    return {
        "target": found.machine.name,
        "warps": program.warps,
        "lanes": program.lanes,
        "operations": len(program.ops),
        "rows": [_row(row) for row in found.rows],
        "dots": [dot._asdict() | {"op": dot.op.name, **_timed(dot)} for dot in _ttgir.dots(found)],
        "totals": {unit: terminal.plain(n) for unit, n in found.totals().items()},
        "assumed": dict(found.addresses.assumed),
        "faults": [
            {"kind": f.kind, "operation": f.op.name, **_place(f.op), "what": f.what, "fix": f.fix}
            for f in _ttgir.faults(found)
        ],
    }


def _place(op: Any) -> dict[str, Any]:
    return {"line": op.line, "source": op.source}


def _timed(x: Any) -> dict[str, Any]:
    return _place(x.op) | {"times": terminal.plain(x.times)}


def _row(row: Cost) -> dict[str, Any]:
    return {
        "operation": row.op.name,
        **_timed(row),
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
    if value["dots"]:
        lines += ["", "matrix products, m x n x k:"]
        for d in value["dots"]:
            a, b = d["operands"]
            product = f"  {' x '.join(map(str, d['shape']))}, times {d['times']}, {d['source'] or d['op']}"
            lines.append(terminal.wrapped([f"{product}: a in {a}; b in {b}"], width))
    still = [row for row in value["rows"] if not row["parts"] and not row["refused"]]
    if still:
        lines += ["", f"conversions that move nothing between threads: {len(still)}"]
    refused = [row for row in value["rows"] if row["refused"]]
    if refused:
        lines += ["", "not counted, or not legal:"]
        lines += [terminal.wrapped([f"  line {r['line']}, {r['operation']}: {r['refused']}"], width) for r in refused]
    for fault in value["faults"]:
        where = fault["source"] or f"line {fault['line']}"
        what = f"wrong: {where}, {fault['operation']}: {fault['what']}"
        lines += ["", terminal.wrapped([what, f"  fix: {fault['fix']}"], width)]
    lines += ["", "in one instance of the program:"]
    unknown = {part["unit"] for row in value["rows"] for part in row["parts"] if part["cost"] is None}
    lines += [f"  {unit} {n}{', without those of ?' if unit in unknown else ''}" for unit, n in value["totals"].items()]
    if value["assumed"] and "sectors" in value["totals"]:
        taken = ", ".join(f"{name} = {n}" for name, n in value["assumed"].items())
        lines += ["", terminal.wrapped([f"sectors are of an example: {taken}; --size gives others"], width)]
    return "\n".join(lines)


def _table(value: dict[str, Any], unit: str, width: int) -> list[str]:
    """The table of a unit: a line for each kind of instructions, operation and place."""
    title, column = _TABLES[unit]
    rows = [["instr", "bits", column, "least", "instruction", "times", "where"]]
    for row in value["rows"]:
        where = row["source"] or f"line {row['line']}"
        for part in (x for x in row["parts"] if x["unit"] == unit):
            counts = [str(part["instructions"] or ""), str(part["vector"] or "")]
            counts += ["?" if n is None else f"{n:,}" for n in (part["cost"], part["least"])]
            rows.append([*counts, part["instruction"], str(row["times"]), where])
    return ["", f"{title}:", *terminal.table(rows, 3, width)] if len(rows) > 1 else []


# --------------------------------------------------------------------------------------------- advice, and two programs


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "kind": advice.kind,
        "alias": advice.alias,
        "was": advice.was,
        "change": advice.change,
        "unit": advice.unit,
        **_both(advice.before, advice.after),
        "lines": [row.op.line for row in advice.rows],
        "sources": [*dict.fromkeys(row.op.source for row in advice.rows)],
    }


def _advice_text(value: list[dict[str, Any]]) -> str:
    lines = list[str]()
    for v in value:
        where = ", ".join(filter(None, v["sources"])) or f"line {v['lines'][0]}"
        lines += [f"{v['kind']}: {v['unit']} {v['before']} -> {v['after']}, {where}"]
        name = f"#{v['alias']} = " if v["alias"] else ""
        lines += [f"  {name}{v['was']}", f"  => {name}{v['change']}"]
    note = (
        "predicted, not compiled: the cost of these accesses alone; another layout of registers may need a conversion "
        "elsewhere"
    )
    return terminal.wrapped([*lines, "", note] if lines else ["no other layout that was tried makes an access cheaper"])


def _compared(before: Costs, after: Costs) -> dict[str, Any]:
    was, now = before.totals(), after.totals()
    changes = _ttgir.difference(before, after)
    return {
        "totals": [{"unit": unit, **_both(was.get(unit, 0), now.get(unit, 0))} for unit in dict.fromkeys((*was, *now))],
        "changes": [c._asdict() | _both(c.before, c.after) for c in changes if c.differs],
        "same": sum(not c.differs for c in changes),
    }


def _both(before: IntLike, after: IntLike) -> dict[str, Any]:
    return {"before": terminal.plain(before), "after": terminal.plain(after)}


def _compared_text(value: dict[str, Any]) -> str:
    width = terminal.width() or 80
    rows = [["in all", "A", "B"], *([t["unit"], str(t["before"]), str(t["after"])] for t in value["totals"])]
    lines = [*terminal.table(rows, 3, width), ""]
    for c in value["changes"]:
        change = f"{c['source'] or '?'} {c['operation']}: {c['unit']} {c['before']} -> {c['after']}"
        lines.append(terminal.wrapped([change], width))
    count = len(value["changes"])
    return "\n".join([*lines, *[""][:count], f"{count} places differ, {value['same']} are the same"])
