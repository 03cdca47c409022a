"""The command `tla hlo`: an HLO program's use of memory."""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import IO, Any, TypeAlias

from .. import xla
from ..core.errors import LeafTypeError, ParseError, RangeError, TlaError
from ..core.on_demand import OnDemand
from ..xla.shapes.curve import as_svg, as_text, in_units
from . import terminal
from .terminal import Answer, option

_module, _program = OnDemand("tla.xla.programs.module"), OnDemand("tla.xla.programs.program")
_vocabulary, _profile = OnDemand("tla.xla.programs.vocabulary"), OnDemand("tla.xla.programs.profile")
_compiles, _dumps = OnDemand("tla.apps.compiles"), OnDemand("tla.xla.programs.dumps")
_targets = OnDemand("tla.xla.programs.targets")
_files, _report = OnDemand("tla.viz.files"), OnDemand("tla.apps.hlo_report")
Opened: TypeAlias = Callable[[], AbstractContextManager[IO[bytes]]]
_WAYS = ("shape", "operation", "computation", "space", "copy", "peak", "relayout")
_SORTS = ("waste", "bytes", "count", "seconds")


def hlo_options(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    others = "more files of the same program, of which the one that has its memory is read"
    option(sub, "others FILE", others, nargs="*")
    ways = "what to add up over the program. peak: what is held when memory is fullest; without: a summary"
    sub.add_argument("--by", choices=_WAYS, help=ways)
    option(sub, "--advise", "what would make the peak smaller: other orders, shapes, element types")
    option(sub, "--interiors", "count what the text has, the inside of fusions and other names included")
    option(sub, "--top N", "list the first N", type=int)
    option(sub, "--min SIZE", "list what takes SIZE at least, such as 4096 or 1.5GiB", default="0")
    sub.add_argument("--sort", choices=_SORTS, help="what to sort by; waste for shapes, else bytes")
    option(sub, "--space S", "only this memory space: its number n in S(n), or its name, such as VMEM")
    option(sub, "--target T", "the generation that it was compiled for, such as v5e, where no file beside it says it")
    option(
        sub, "--against B", "what differs from another compile of the program, B: peaks, buffers, moves, collectives"
    )
    option(
        sub,
        "--fail-if-peak-grows P",
        "with --against: exit with 1 where the peak of HBM, of the host or of --space grows by more than P, such as 2%%",
    )
    option(sub, "--profile TRACE", "with --by relayout: the time of each move in a trace, FILE.xplane.pb or its folder")
    option(sub, "-o FILE", "write the report to FILE.html; with --by peak, the curve to FILE.svg", dest="output")


def hlo(arguments: argparse.Namespace) -> Answer:
    """Report what an HLO program allocates: by shape, operation, computation or memory space; its peak; its copies."""
    errors: list[ParseError] = []
    around: list[str] = []  # lines outside of computations: the header
    least, space = _bytes(arguments.min), _space(arguments.space)
    _check(arguments)
    arguments.file = str(xla.program_file(arguments.file, *arguments.others))
    opened = _reader(arguments.file)
    _say_run_beside(arguments.file, "this")
    if arguments.output is not None and arguments.by is None:
        return _written(opened, arguments, least, space)
    if _is_bare(arguments) and (summary := _summary(opened, arguments)) is not None:
        return summary
    arguments.by = arguments.by or "shape"
    with opened() as file:
        if arguments.against is not None:
            return _compared(_memory(file, arguments), arguments, least, space)[1]
        if arguments.advise:
            return _advice(_memory(file, arguments), arguments, least, space)
        if arguments.by == "peak":
            return _peak(_memory(file, arguments), arguments, least, space)
        if arguments.by == "relayout":
            module = xla.read_module(file, errors.append)
            _module.require_computations(module, errors)
            moves = xla.relayouts(module, arguments.interiors, errors.append)
            _say_unread(errors)
            _say([*xla.unknown_names(module), *xla.contradictions(module)])
            times = None if arguments.profile is None else _times(arguments.profile, module)
            return _moves(moves, times, arguments, least, space)
        lines = [*_program.read_lines(file, errors.append, around.append)]
    _say_unread(errors)
    if not lines:
        fix = "dump the module as text: XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text'"
        raise LeafTypeError(f"{arguments.file}: no instruction of HLO in it", "the text of an HLO module", fix)
    module = _module.module_of(lines, around)
    if module.header and not arguments.interiors:
        _module.entry_name(module)  # which refuses a file that is cut
    warnings: list[str] = []
    if whole := module.entry is not None and not (arguments.interiors and arguments.by != "copy"):
        warnings += [] if module.header else [_module.HEADLESS]
    else:
        warnings += [
            *_vocabulary.unknown_in_header(module.header),
            *xla.unknown_names(lines),
            *xla.contradictions(module),
        ]
    found = xla.totals(module if whole else lines, arguments.by, arguments.interiors, space, warnings.append)
    _say([*dict.fromkeys(warnings)])
    return _totals(found, arguments, least)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together, before a file is read."""
    if arguments.top is not None and arguments.top < 1:
        raise RangeError(f"--top {arguments.top}", "1 or more", "leave it out for all")
    if arguments.target is not None:
        _targets.checked_target(arguments.target)
    if arguments.output is not None and (arguments.advise or arguments.by not in (None, "peak")):
        expected = "it alone, or with --by peak, whose curve it writes"
        raise LeafTypeError(f"-o {arguments.output}", expected, "leave the others out")
    if arguments.fail_if_peak_grows is not None and arguments.against is None:
        what = "--fail-if-peak-grows without --against"
        raise LeafTypeError(what, "another compile to compare with", "add --against OTHER.txt")
    if arguments.profile is not None and arguments.by != "relayout":
        what = f"--profile {arguments.profile} without --by relayout"
        raise LeafTypeError(what, "the times of moves", "add --by relayout")
    if arguments.against is not None:
        _check_comparison(arguments)
    if arguments.interiors and (arguments.advise or arguments.output is not None or arguments.by == "peak"):
        expected = "a sum over the program, or its moves"
        raise LeafTypeError("--interiors of what is held", expected, "leave --interiors out, or ask --by shape")


def _check_comparison(arguments: argparse.Namespace) -> None:
    """Refuse options that a comparison has no use for."""
    judged = arguments.fail_if_peak_grows is not None or arguments.output is not None
    others = {
        "--advise": arguments.advise,
        f"--by {arguments.by}": arguments.by is not None,
        "--interiors": arguments.interiors,
        f"--sort {arguments.sort}": arguments.sort is not None,
        f"--space {arguments.space}": arguments.space is not None and not judged,
    }
    for given, there in others.items():
        if there:
            raise LeafTypeError(f"{given} with --against", "one question at a time", f"leave {given} out")
    if arguments.file == arguments.against == "-":
        raise LeafTypeError("--against - beside -", "two programs: standard input is one", "give the path of one")


def _is_bare(arguments: argparse.Namespace) -> bool:
    """Whether nothing is asked of a program but what it needs."""
    asked = arguments.by, arguments.top, arguments.sort, arguments.space, arguments.against
    return all(x is None for x in asked) and not (arguments.advise or arguments.interiors or arguments.min != "0")


def _reader(path: str) -> Opened:
    """A function that opens a program, as often as it is called: standard input is kept."""
    if path != "-":
        return lambda: terminal.opened(path)
    with terminal.opened(path) as file:
        held = file.read()
    return lambda: contextlib.nullcontext(io.BytesIO(held))


def _summary(opened: Opened, arguments: argparse.Namespace) -> Answer | None:
    """The summary of a program; None for a text without a schedule, or one that is cut, which other reports take."""
    try:
        with opened() as file:
            memory = _memory(file, arguments)
    except TlaError:
        return None
    value: dict[str, Any] = _report.summary(memory)
    return value, lambda v: str(_report.summary_text(v, terminal.width()))


def _written(opened: Opened, arguments: argparse.Namespace, least: int, space: int | None) -> Answer:
    """Write the report of a memory space, by default the first, to a file."""
    name = arguments.output
    if not name.endswith((".html", ".htm")):
        fix = f"write -o {name}.html, or add --by peak" if name.endswith(".svg") else f"write -o {name}.html"
        raise LeafTypeError(f"-o {name}", "a file that ends in .html", fix)
    with opened() as file:
        memory = _memory(file, arguments)
    shown = _shown_space(memory, arguments, space)
    value = {"file": name, "space": shown, "bytes": memory.peak[shown].bytes}
    parts: list[tuple[str, list[list[str]]]] = []
    if arguments.against is not None:
        before, (value["difference"], _say_it) = _compared(memory, arguments, least, space)
        parts = _compiles.tables(value["difference"], least)
        if before.warnings:
            parts.append(
                (f"not read, or not known, in {arguments.against}:", [[text] for text in before.warnings[:20]])
            )
    title = f"Memory of {'the program' if arguments.file == '-' else arguments.file}"
    title += f" against {arguments.against}" if parts else ""
    with open(name, "w", encoding="utf-8") as out:
        out.write(_report.as_html(memory, shown, title, parts))
    return value, lambda v: f"wrote {v['file']}: {_vocabulary.space_name(v['space'])}, {v['bytes']:,} bytes at its peak"


def _shown_space(memory: xla.Memory, arguments: argparse.Namespace, space: int | None) -> int:
    """The memory space that is asked for, or the first that is used."""
    if space is not None and space not in memory.peak:
        what = f"--space {arguments.space}: nothing is there"
        raise RangeError(what, f"one of {', '.join(map(str, memory.peak))}", "leave it out for all")
    if not memory.peak:
        raise RangeError(f"{arguments.file}: nothing in it takes memory", "a program with arrays", "give another file")
    return space if space is not None else min(memory.peak)


def _memory(file: IO[bytes], arguments: argparse.Namespace, path: str | None = None) -> xla.Memory:
    """The memory of a program, its warnings said; with --against, each with the path of its file.

    path   of the file, where it is another one than the command's first
    """
    name = path or arguments.file if arguments.against is not None else ""
    try:
        found = xla.memory(file, target=arguments.target)
    except TlaError:
        if name:
            terminal.complain(f"tla: {name} cannot be compared:")
        raise
    _say(found.warnings, f"{name}: " if name else "", "--json" if name else "--by peak --json")
    return found


def _compared(
    after: xla.Memory, arguments: argparse.Namespace, least: int, space: int | None
) -> tuple[xla.Memory, Answer]:
    """The program that --against names, and what differs from it."""
    path = str(xla.program_file(arguments.against))
    _say_run_beside(path, path)
    with terminal.opened(path) as file:
        before = _memory(file, arguments, path)
    return before, _compiles.against(before, after, arguments, least, space)


def _say_run_beside(path: str, name: str) -> None:
    """Name the file that tells how a program runs, where this one is of another stage."""
    if (program := _dumps.run_beside(path)) is not None:
        terminal.complain(f"tla: {name} is not the program as it runs; that is {program}")


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])i?B?|B)?", text)
    if found is None:
        raise LeafTypeError(f"--min {text}", "a number of bytes", "write --min 4096, or --min 1.5GiB")
    return int(float(found[1]) * 1024 ** ("KMGT".index(found[2]) + 1 if found[2] else 0))


def _space(text: str | None) -> int | None:
    if text is None:
        return None
    names: dict[str, int] = {name.lower(): n for n, name in _vocabulary.SPACES.items()}
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        expected = f"the n of S(n), or one of {', '.join(_vocabulary.SPACES.values())}"
        raise LeafTypeError(f"--space {text}", expected, "write --space 1")
    return int(text)


def _say_unread(errors: list[ParseError]) -> None:
    if errors:
        lines = "1 line" if len(errors) == 1 else f"{len(errors)} lines"
        first, *_, last = [error.reason.what.splitlines()[0] for error in errors] * 2
        terminal.complain(f"tla: {lines} could not be read; the first: {first}")
        if _program.CUT in last:
            terminal.complain(f"tla: what follows is missing from this account: {last}")


def _say(warnings: Sequence[str], before: str = "", all_by: str = "--by peak --json") -> None:
    """Print the first warnings.

    before   what stands before each
    all_by   the options that list them all
    """
    for warning in warnings[:3]:
        terminal.complain(f"tla: {before}{warning}")
    if more := len(warnings[3:]):
        terminal.complain(f"tla: {more} more such lines; {all_by} lists them all")


def _chosen(value: list[dict[str, Any]], arguments: argparse.Namespace, least: int, sort: str) -> list[dict[str, Any]]:
    """The rows that are listed: large enough, sorted, the first of them."""
    key = arguments.sort or sort
    key = "waste_bytes" if key == "waste" else key
    if value and key not in value[0]:
        what = f"--sort {arguments.sort} with --by {arguments.by}"
        raise LeafTypeError(what, "--sort bytes", "leave --sort out: they are sorted by bytes")
    rows = [v for v in value if v["bytes"] >= least]
    return sorted(rows, key=lambda v: -v.get(key, 0))[: arguments.top]


def _totals(found: list[xla.Total], arguments: argparse.Namespace, least: int) -> Answer:
    rows = [{"key": t.key, "count": t.count, "bytes": t.bytes, "waste_bytes": t.waste} for t in found]
    shapes, copies = arguments.by == "shape", arguments.by == "copy"
    value = _chosen(rows, arguments, least, "waste" if shapes else "bytes")
    for v in value if shapes else ():
        v["layout"], v["refused"] = _layout(v["key"])

    def table(value: list[dict[str, Any]]) -> str:
        rows = [["count", "bytes", "waste", "", arguments.by, *(["layout"] if shapes else [])]]
        for v in value:
            layout = [v["layout"] or f"refused: {v['refused']}"] if shapes else []
            waste = [f"{v['waste_bytes']:,}", terminal.percent(v["waste_bytes"], v["bytes"])]
            rows.append([str(v["count"]), f"{v['bytes']:,}", *waste, v["key"], *layout])
        count, total, lost = (sum(v[name] for v in value) for name in ("count", "bytes", "waste_bytes"))
        size = in_units(total)
        sums = f"read and written ({size})" if copies else f"({size}), {terminal.percent(lost, total)} waste"
        over = [] if copies else ["a sum over the program; at once: --by peak"]
        summary = [f"{len(value)} rows, {count} in all", f"{total:,} bytes {sums}", *over]
        return "\n".join([*terminal.table(rows, 2 if shapes else 1, terminal.width()), "", *summary])

    return value, table


def _layout(text: str) -> tuple[str | None, str | None]:
    try:
        return str(xla.lower(text)), None
    except TlaError as error:
        return None, error.reason.what.splitlines()[0].removeprefix(f"{text}: ")


# ------------------------------------------------------------------------------------------------ peak, moves


def _peak(memory: xla.Memory, arguments: argparse.Namespace, least: int, space: int | None) -> Answer:
    shown = _shown_space(memory, arguments, space) if memory.peak or space is not None else 0
    value: dict[str, Any] = {
        "spaces": [_space_row(peak) for peak in memory.peak.values()],
        "space": shown,
        "steps": len(memory.steps),
        "target": memory.target,
        "warnings": [*memory.warnings],
        "buffers": _chosen(_buffer_rows(memory, shown), arguments, least, "bytes") if memory.peak else [],
    }
    if arguments.output is not None:
        if not arguments.output.endswith(".svg"):
            fix = f"write -o {_files.svg_name(arguments.output)}"
            raise LeafTypeError(f"-o {arguments.output}", "a file that ends in .svg", fix)
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(as_svg(memory.curves.get(shown, ()), _vocabulary.space_name(shown)))
    return value, lambda v: _peak_text(v, memory.curves.get(shown, ()))


def _space_row(peak: xla.Peak) -> dict[str, Any]:
    it = peak.at
    where = {"instruction": it.instruction.name, "computation": it.computation, "line": it.line, "step": peak.step}
    return {
        "space": peak.space,
        "name": peak.name,
        "reported_name": peak.reported_name,
        "bytes": peak.bytes,
        "waste_bytes": peak.waste,
        "capacity": peak.capacity,
        "at": where,
    }


def _buffer_rows(memory: xla.Memory, space: int) -> list[dict[str, Any]]:
    at = memory.peak[space].buffers
    kinds = {id(b.shape): b for b in at}  # equal texts are one shape
    shapes = {kind: _shape_of(b) for kind, b in kinds.items()}
    origins = memory.module.origins([b.line for b in at])
    return [_buffer_row(b, *shapes[id(b.shape)], origin) for b, origin in zip(at, origins)]


def _shape_of(b: xla.Buffer) -> tuple[str | None, int | None]:
    """The text of a buffer's shape, and the dimension whose padding costs most."""
    lost: list[int] = [*b.waste_by_dimension]
    worst = max(lost, default=0)
    return None if b.shape is None else str(b.shape), lost.index(worst) if worst else None


def _buffer_row(b: xla.Buffer, shape: str | None, worst: int | None, origin: str) -> dict[str, Any]:
    return {
        "name": b.name,
        "kind": b.kind,
        "bytes": b.bytes,
        "waste_bytes": b.waste,
        "shape": shape,
        "worst_dimension": worst,
        "op_name": b.op_name,
        "from": origin,
        "source": [str(line) for line in b.source],
        "line": b.line.line,
        "steps": [b.first, b.last],
    }


def _peak_text(value: dict[str, Any], curve: tuple[int, ...]) -> str:
    rows = [["bytes", "", "waste", "space", "of", "at"]]
    for v in value["spaces"]:
        at = "{instruction} in {computation}, line {line}, step {step} of ".format(**v["at"]) + str(value["steps"])
        of = terminal.part_of(v["bytes"], v["capacity"])
        numbers = [f"{v['bytes']:,}", in_units(v["bytes"]), terminal.percent(v["waste_bytes"], v["bytes"])]
        rows.append([*numbers, v["name"], of, at])
    name = _vocabulary.space_name(value["space"])
    held = [["bytes", "waste", "buffer", "kind", "shape", "from"]]
    for b in value["buffers"]:
        worst = "" if b["worst_dimension"] is None else f" (dimension {b['worst_dimension']})"
        shape, origin = f"{b['shape'] or 'pointers of a tuple'}{worst}", filter(None, (b["from"], *b["source"][:1]))
        numbers = [f"{b['bytes']:,}", terminal.percent(b["waste_bytes"], b["bytes"])]
        held.append([*numbers, b["name"], b["kind"], shape, " ".join(origin)])
    width = terminal.width()
    schedule = ["", f"{name} over the schedule:", as_text(curve, min(width or 80, 80) - 1), ""]
    tables = terminal.table(rows, 2, width), terminal.table(held, 4, width)
    return "\n".join([*tables[0], *schedule, f"in {name} at its peak:", *tables[1]])


def _advice(memory: xla.Memory, arguments: argparse.Namespace, least: int, space: int | None) -> Answer:
    found = xla.advise(memory, min(memory.peak) if space is None else space) if memory.peak else []
    value: list[dict[str, Any]] = [
        {
            "shape": str(a.shape),
            "count": a.count,
            "bytes": a.saved,
            "waste_bytes": 0,
            "kind": a.alternative.kind,
            "change": a.alternative.what,
            "to": str(a.alternative.shape),
            "buffers": [*a.names],
            "assumes": a.assumes,
        }
        for a in found
    ]

    def table(value: list[dict[str, Any]]) -> str:
        rows = [["saved", "count", "kind", "shape -> what it could be"]]
        for v in value:
            change, shapes = f"{v['kind']}: {v['change']}", f"{v['shape']} -> {v['to']}"
            rows.append([f"{v['bytes']:,}", str(v["count"]), change, shapes])
        note = (
            "predicted, not compiled: each assumes that the caller gives the argument so, and that the program does not "
            "copy it back; of what is computed, that the operations which write and read it work on the narrower type. order "
            "keeps the array; merge, split and type change the program. tla advise script.py:function measures"
        )
        lines = [*terminal.table(rows, 2, terminal.width()), "", *textwrap.wrap(note, terminal.width() or 80)]
        told = (
            textwrap.wrap(x, terminal.width() or 2**31, subsequent_indent="    ") for x in _report.moves_text(moves)
        )
        return "\n".join([*lines, *itertools.chain(*told)])

    moves = _report.moves_of(memory.module)
    return _chosen(value, arguments, least, "bytes"), table


def _moves(
    found: list[xla.Move],
    measured: Mapping[str, xla.Time] | None,
    arguments: argparse.Namespace,
    least: int,
    space: int | None,
) -> Answer:
    if space is not None:
        found = [m for m in found if space in {x.effective_layout.memory_space for x in (m.source, m.destination)}]
    value = [_move_row(m) | ({} if measured is None else _measured(m, measured)) for m in found]
    moving, free = ([v for v in value if v["free"] == kind] for kind in (False, True))
    kept = _chosen(moving, arguments, least, "bytes" if measured is None else "seconds")

    def table(value: list[dict[str, Any]]) -> str:
        rows = [["bytes", "times", "run", *([] if measured is None else ["us each", "GB/s"]), "move", "from -> to"]]
        for v in value:
            times, run = ("?" if v[k] is None else f"{v[k]:,}" for k in ("times", "run"))
            move = f"{v['operation']}: {' '.join(v['changes']) or 'nothing else'}"
            pace = [] if measured is None else _pace(v)
            rows.append([f"{v['bytes']:,}", times, run, *pace, move, f"{v['from']} -> {v['to']}"])
        sums = [sum(v["bytes"] for v in value if v["overlapped"] is kind) for kind in (False, True)]
        summary = [
            f"{len(value)} moves; {len(free)} more are free",
            "read and written:",
            f"{sums[0]:,} bytes by moves that wait ({in_units(sums[0])})",
            f"{sums[1]:,} bytes by prefetches ({in_units(sums[1])})",
        ]
        if measured is not None:
            waited = sum(v["seconds"] for v in value if not v["overlapped"]) * 1e6
            summary += [f"{waited:,.1f} us of the trace by moves that wait"]
        return "\n".join([*terminal.table(rows, 2, terminal.width()), "", *summary])

    return kept, table


def _times(profile: str, module: xla.Module) -> Mapping[str, xla.Time]:
    """The times of a program in a trace; what ran, and is not in the program, is said."""
    times = xla.read_profile(profile).times(module)
    if others := _profile.strangers(times, module):
        first = f"{len(others)} of the trace's {len(times)} instructions are not in this program, such as {others[0]}"
        terminal.complain(f"tla: {first}: it may be of another compile")
    return times


def _measured(m: xla.Move, measured: Mapping[str, xla.Time]) -> dict[str, Any]:
    """The time of a move in a trace: 0 where it did not run, or is not told apart there."""
    return measured.get(m.line.instruction.name, xla.Time(0, 0, 0.0, 0.0))._asdict()


def _pace(v: dict[str, Any]) -> list[str]:
    """Microseconds of a run of a move, of a prefetch from start to end, and the GB/s that it read and wrote."""
    seconds = v["in_flight" if v["overlapped"] else "seconds"]
    if not seconds:
        return ["?", "?"]
    moved = (v["read_bytes"] + v["written_bytes"]) * v["runs"]
    return [f"{seconds / v['runs'] * 1e6:,.1f}", f"{moved / seconds / 1e9:,.1f}"]


def _move_row(m: xla.Move) -> dict[str, Any]:
    return {
        "name": m.line.instruction.name,
        "operation": m.line.instruction.opcode,
        "from": str(m.source),
        "to": str(m.destination),
        "changes": [*m.changes],
        "free": m.free,
        "read_bytes": m.read,
        "written_bytes": m.written,
        "bytes": m.bytes,
        "overlapped": m.overlapped,
        "run": m.run,
        "times": m.times,
        "loops": [loop.name for loop in m.loops],
        "inside": m.inside,
        "op_name": m.line.instruction.metadata.get("op_name", ""),
        "line": m.line.line,
    }
