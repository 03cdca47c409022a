"""The command `tla hlo A --against B`: two compiles of a program compared."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import xla
from ..core.errors import LeafTypeError
from ..xla.programs.difference import LIMITING
from ..xla.programs.program import CUT
from ..xla.shapes.curve import in_units
from . import terminal
from .terminal import Answer

_NUMBER = re.compile(r"\.[0-9]+\Z")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")


def against(
    before: xla.Memory, after: xla.Memory, arguments: argparse.Namespace, least: int, space: int | None
) -> Answer:
    """Compare a program with the one that --against names, and judge the growth of its peaks."""
    found = xla.difference(before, after)
    names = [_NUMBER.sub("", m.module.name or "") for m in (before, after)]
    if names[0] != names[1] or 0 < len(after.buffers) == sum(c.kind == "new" for c in found.buffers):
        what = "nothing in them is alike" if names[0] == names[1] else f"modules {names[1]} and {names[0]}"
        terminal.complain(f"tla: {arguments.file} and {arguments.against} may be two programs: {what}")
    value = dataclasses.asdict(found)
    for row, peak in zip(value["peaks"], found.peaks):
        row["name"] = peak.name
    value["warnings"] = {arguments.against: [*before.warnings], arguments.file: [*after.warnings]}
    for part in ("buffers", "moves", "collectives"):
        rows = [row for row in value[part] if max(row["before"], row["after"]) >= least]
        value[part] = rows[: arguments.top]
    if (limit := _part(arguments.fail_if_peak_grows)) is not None:
        grown = found.grown(limit, LIMITING if space is None else (space,))
        missing = {arguments.against: before.missing, arguments.file: after.missing}
        arguments.verdict = _verdict(missing, grown, arguments.fail_if_peak_grows)
    return value, lambda value: _text(value, least)


def _verdict(missing: Mapping[str, Sequence[str]], grown: Sequence[xla.PeakChange], most: str) -> str:
    """The reason for which the check fails: of a program that is not read whole no peak is known, and a missing end is
    told before missing lines. Empty where it passes."""
    told = [f"{path}: {warning}" for path, said in missing.items() for warning in said]
    if told:
        return f"no verdict on the peak: {next((text for text in told if CUT in text), told[0])}"
    rows = [f"{p.name} from {p.before:,} to {p.after:,} bytes ({_growth(p.before, p.after)})" for p in grown]
    return f"the peak grows by more than {most}: {'; '.join(rows)}" if rows else ""


def _part(text: str | None) -> float | None:
    """The part that a percentage is: 0.02 of 2%."""
    if text is None:
        return None
    found = _PERCENT.fullmatch(text)
    if found is None:
        raise LeafTypeError(f"--fail-if-peak-grows {text}", "a percentage", "write --fail-if-peak-grows 2%")
    return float(found[1]) / 100


def _growth(before: int, after: int) -> str:
    return f"{(after - before) / before:+.1%}" if before else "new" if after else "+0.0%"


def _text(value: dict[str, Any], least: int) -> str:
    lines: list[str] = []
    for k, (title, rows) in enumerate(tables(value, least)):
        lines += ["", title] if k else [title]
        lines += terminal.table(rows, 4 if k else 1, terminal.width()) if rows else []
    return "\n".join(lines)


def tables(value: dict[str, Any], least: int = 0) -> list[tuple[str, list[list[str]]]]:
    """The parts of a comparison: the title of each, and its rows, of which the first is their head.

    least   what is listed takes so many bytes
    """
    rows = [["space", "before", "after", "", "", "of"]]
    peaks = ((p["name"], (p["before"], p["after"]), p["capacity"]) for p in value["peaks"])
    for name, (one, two), there in (*peaks, ("XLA's peak", value["reported"], None), ("moved", value["moved"], None)):
        part = terminal.part_of(two, there)
        rows.append([name, f"{one:,}", f"{two:,}", f"{two - one:+,}", _growth(one, two), part])
    found = [("peaks, and bytes read and written by moves that wait:", rows)]
    for part, title in (
        ("buffers", "buffers that differ (* at a peak):"),
        ("moves", "moves that differ:"),
        ("collectives", "collectives:"),
    ):
        if value[part]:
            named = ["opcode", "count"] if part == "collectives" else ["name", "shape"]
            found.append((title, [["change", "of", "what", *named, "from"], *map(_row, value[part])]))
    size = f" of {in_units(least)} or more" if least else ""
    return found if len(found) > 1 else [*found, (f"no buffer, move or collective{size} differs", [])]


def _row(c: dict[str, Any]) -> list[str]:
    shape = c["was"] if c["was"] == c["now"] else f"{c['was'] or 'nothing'} => {c['now'] or 'nothing'}"
    size = in_units(max(c["before"], c["after"]))
    where = " ".join(filter(None, (c["op_name"], c["source"])))
    return [f"{c['after'] - c['before']:+,}", size, c["kind"], c["name"] + "*" * c["at_peak"], shape, where]
