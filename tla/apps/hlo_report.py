"""A program's use of memory as one page of HTML, its buffers stacked over the schedule; and as a few lines."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import xla
from ..core.errors import printable
from ..xla.shapes.curve import in_units
from . import terminal
from .hlo_moves import moves_of, moves_text

#: So many buffers are drawn each by itself, the largest; the others together. So many rows has the table.
DRAWN, LISTED = 60, 200
_WIDTH, _HEIGHT, _LEFT, _TOP = 1000.0, 420.0, 70.0, 24.0
#: The page loads nothing, and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """:root { color-scheme: light dark } body { font: 15px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 80rem }
svg { width: 100%; height: auto; background: #fff; color: #111 } table { border-collapse: collapse; margin: .6rem 0 }
td, th { border: 1px solid #8888; padding: .15rem .5rem; text-align: left; overflow-wrap: anywhere }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums } code { font-size: .92em }
h1 { overflow-wrap: anywhere } th, td.s { white-space: nowrap }
tr:target { outline: 3px solid #c01c5c } a:hover path, a:focus path { stroke: #c01c5c; stroke-width: 2 } .faint { opacity: .75 }"""


class Band(NamedTuple):
    """The place in the stack of a buffer, or of all that are not drawn by themselves, over the steps of its life.

    buffer   None for the others
    parts    first step, step after the last, the bytes below, the bytes of it
    """

    buffer: xla.Buffer | None
    parts: list[tuple[int, int, int, int]]


def stacked(memory: xla.Memory, space: int, most: int = DRAWN) -> list[Band]:
    """The buffers of a space stacked over the schedule, the largest by themselves; their heights add up to the curve.

    >>> import io
    >>> text = "HloModule m, is_scheduled=true\\nENTRY e {\\n  p = f32[256]{0} parameter(0)\\n  ROOT n = f32[256]{0} negate(p)\\n}"
    >>> [band.parts for band in stacked(xla.memory(io.BytesIO(text.encode())), 0)]
    [[(0, 2, 0, 1024)], [(0, 2, 1024, 1024)]]
    """
    curve = memory.curves.get(space, ())
    held = [b for b in memory.buffers if b.space == space and b.bytes and b.first <= b.last]
    largest = sorted(held, key=lambda b: (-b.bytes * (b.last - b.first + 1), b.first))[:most]
    shown = sorted(largest, key=lambda b: (b.first, -b.bytes))
    cuts = sorted({0, len(curve), *(b.first for b in shown), *(b.last + 1 for b in shown)})
    bands = [Band(b, []) for b in shown]
    rest = Band(None, [])
    for start, end in itertools.pairwise(cuts):
        base = 0
        for band in bands:
            b = band.buffer
            if b is not None and b.first <= start <= b.last:
                _grow(band.parts, (start, end, base, b.bytes))
                base += b.bytes
        for step in range(start, end):
            if curve[step] > base:
                _grow(rest.parts, (step, step + 1, base, curve[step] - base))
    return [*bands, *([rest] if rest.parts else [])]


def _grow(parts: list[tuple[int, int, int, int]], part: tuple[int, int, int, int]) -> None:
    """Add a part, as one with the last where that goes on at the same height."""
    start, end, *heights = part
    if parts and parts[-1][1] == start and [*parts[-1][2:]] == heights:
        parts[-1] = (parts[-1][0], end, parts[-1][2], parts[-1][3])
    else:
        parts.append(part)


def as_html(
    memory: xla.Memory, space: int, title: str, parts: Sequence[tuple[str, Sequence[Sequence[str]]]] = ()
) -> str:
    """The report of a memory space as a page that loads and runs nothing: hover over a buffer for its name.

    title    of the page
    parts    what the page says besides: titles, each with the rows of a table, the first its head
    """
    peak = memory.peak[space]
    bands = stacked(memory, space)
    named = [band.buffer for band in bands if band.buffer is not None]
    numbers = {id(b): n for n, b in enumerate(dict.fromkeys((*peak.buffers[:LISTED], *named)))}
    advice = {name: a for a in reversed(xla.advise(memory, space)) for name in a.names}
    rows = sorted(dict.fromkeys((*peak.buffers[:LISTED], *named)), key=lambda b: -b.bytes)
    origins = memory.module.origins([b.line for b in rows])
    held = {id(b) for b in peak.buffers}
    spaces = "".join(_space_line(p) for p in memory.peak.values())
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<table><tr><th>space<th>peak<th>of the chip<th>padding<th>at</tr>{spaces}</table>",
        *(_part(name, table) for name, table in parts),
        f"<h2>{_text(peak.name)} over the schedule</h2>",
        _picture(memory, space, bands, numbers),
        '<p class="faint">Hatched: padding. Hover over a buffer for its name; click for its row in the table.</p>',
        f"<h2>{len(rows)} buffers, the largest first</h2>",
        "<table><tr><th>bytes<th>padding<th>at the peak<th>buffer<th>kind<th>shape<th>from<th>what it could be</tr>",
        *(_row(b, origin, numbers[id(b)], id(b) in held, advice.get(b.name)) for b, origin in zip(rows, origins)),
        "</table>",
        *(f'<p class="faint">{_text(warning)}</p>' for warning in memory.warnings[:20]),
    ]
    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="viewport" content="width=device-width">'
    page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{head}<title>{_text(title)}</title><style>{_STYLE}</style>'
    return "\n".join([page, *body, "</html>", ""])


def _text(text: object) -> str:
    """A text of the program in HTML: no markup in it, and no control characters."""
    return html.escape("".join(c for c in str(text) if c.isprintable()))


def _part(title: str, rows: Sequence[Sequence[str]]) -> str:
    cells = ["".join(_cell(x) if k else f"<th>{_text(x)}" for x in row) for k, row in enumerate(rows)]
    return f"<h2>{_text(title)}</h2>" + (f"<table>{''.join(f'<tr>{c}</tr>' for c in cells)}</table>" if rows else "")


def _cell(text: str) -> str:
    """A cell of a table: a number, or what is as short as one, stays on its line."""
    kind = ' class="n"' if _NUMBER.fullmatch(text) else ' class="s"' if len(text) <= _SHORT else ""
    return f"<td{kind}>{_text(text)}"


#: Numbers with signs and units; what is no longer than they are.
_NUMBER, _SHORT = re.compile(r"[-+]?[0-9][0-9,.]*(%| [KMGT]?i?B)?"), 14


def _space_line(peak: xla.Peak) -> str:
    of = terminal.part_of(peak.bytes, peak.capacity)
    lost = f"{peak.waste / peak.bytes:.1%}" if peak.bytes else ""
    where = f"step {peak.step}, {peak.at.instruction.name}, line {peak.at.line}"
    cells = (f"{peak.bytes:,} ({in_units(peak.bytes)})", of, lost, where)
    return f"<tr><td>{_text(peak.name)}{''.join(f'<td>{_text(x)}' for x in cells)}</tr>"


def _row(b: xla.Buffer, origin: str, number: int, held: bool, advice: xla.Advice | None) -> str:
    source = " ".join(filter(None, (origin, *(map(str, b.source[:1])))))
    other = None if advice is None else advice.alternative
    could = "" if other is None else f"{other.kind}: {other.what}; {other.shape}"
    texts = ("yes" if held else "", b.name, b.kind, b.shape or "pointers of a tuple", source, could)
    numbers = f'<td class="n">{b.bytes:,}<td class="n">{b.waste:,} ({b.waste / b.bytes if b.bytes else 0:.0%})'
    return f'<tr id="b{number}">{numbers}{"".join(f"<td>{_text(x)}" for x in texts)}</tr>'


def _picture(memory: xla.Memory, space: int, bands: Sequence[Band], numbers: dict[int, int]) -> str:
    """The stack as SVG: steps to the right, bytes upwards; the peak marked, and the chip's size where it is near."""
    steps, peak = len(memory.curves[space]) or 1, memory.peak[space]
    top, limit = peak.bytes or 1, peak.capacity
    if limit is not None and limit < 2 * top:
        top = max(top, limit)
    wide, high = (_WIDTH - _LEFT) / steps, (_HEIGHT - 2 * _TOP) / top
    label = f"{_text(peak.name)} over {steps} steps, {peak.bytes:,} bytes at most"
    lines = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="group" aria-label="{label}">',
        '<pattern id="pad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="2" height="6" fill="#0006"/></pattern>',
    ]

    def box(start: int, end: int, base: float, bytes_: float) -> str:
        x, y, across = _LEFT + start * wide, _HEIGHT - _TOP - (base + bytes_) * high, (end - start) * wide
        return f"M{x:.2f} {y:.2f}h{across:.2f}v{bytes_ * high:.2f}h-{across:.2f}z"

    for k, band in enumerate(bands):
        shape = "".join(box(*part) for part in band.parts)
        if band.buffer is None:
            lines.append(f'<path fill="#ccc" d="{shape}"><title>smaller buffers, together</title></path>')
            continue
        b = band.buffer
        size = f"{b.bytes:,} bytes, {b.waste:,} of them padding"
        said = f"{b.name}: {size}; {b.kind}; {b.shape or 'pointers of a tuple'}; steps {b.first} to {b.last}"
        parts = band.parts if b.waste else []
        lost = "".join(box(start, end, base + b.bytes - b.waste, b.waste) for start, end, base, _bytes in parts)
        fill = f"hsl({k * 47 % 360} 55% {68 + k % 3 * 6}%)"
        over = f'<path fill="url(#pad)" d="{lost}"/>' if lost else ""
        path = f'<path fill="{fill}" stroke="#fff" stroke-width=".4" d="{shape}"/>'
        lines.append(f'<a href="#b{numbers[id(b)]}"><title>{_text(said)}</title>{path}{over}</a>')
    lines += _marks(peak, top, steps)
    return "\n".join([*lines, "</svg>"])


def _marks(peak: xla.Peak, top: int, steps: int) -> Iterator[str]:
    """The peak, the chip's size, and the ends of both axes."""
    x = _LEFT + (peak.step + 0.5) * (_WIDTH - _LEFT) / steps
    bottom, high = _HEIGHT - _TOP, (_HEIGHT - 2 * _TOP) / top
    anchor = "end" if x > _WIDTH / 2 else "start"
    label = f"peak: {in_units(peak.bytes)} at step {peak.step}"
    yield f'<path stroke="#c01c5c" stroke-width="1.5" d="M{x:.2f} {_TOP}V{bottom}"/>'
    yield f'<text x="{x:.2f}" y="{_TOP - 8}" font-size="13" fill="#c01c5c" text-anchor="{anchor}">{label}</text>'
    if (limit := peak.capacity) is not None and limit <= top:
        y = bottom - limit * high
        yield f'<path stroke="#111" stroke-dasharray="6 4" d="M{_LEFT} {y:.2f}H{_WIDTH}"/>'
        yield f'<text x="{_LEFT + 4}" y="{y + 14:.2f}" font-size="12">the chip has {in_units(limit)}</text>'
    yield f'<text x="{_LEFT - 6}" y="{_TOP + 10}" font-size="12" text-anchor="end">{in_units(top)}</text>'
    yield f'<text x="{_LEFT - 6}" y="{bottom}" font-size="12" text-anchor="end">0</text>'
    yield f'<text x="{_LEFT}" y="{_HEIGHT - 6}" font-size="12">step 0</text>'
    yield f'<text x="{_WIDTH}" y="{_HEIGHT - 6}" font-size="12" text-anchor="end">{steps - 1}</text>'


# ------------------------------------------------------------------------------------------------- a few lines


def summary(memory: xla.Memory) -> dict[str, Any]:
    """The needs of a program in a few numbers: each space's peak, the five largest buffers of the first, advice."""
    space = min(memory.peak, default=0)
    spaces = [
        {"space": p.space, "name": p.name, "bytes": p.bytes, "waste_bytes": p.waste, "capacity": p.capacity}
        for p in memory.peak.values()
    ]
    at = memory.peak[space].buffers if memory.peak else ()
    origins = memory.module.origins([b.line for b in at])
    buffers = [
        {"name": b.name, "bytes": b.bytes, "waste_bytes": b.waste, "shape": str(b.shape or "tuple"), "from": origin}
        for b, origin in zip(at, origins)
    ]
    advice = xla.advise(memory, space) if memory.peak else []
    return {
        "steps": len(memory.steps),
        "spaces": spaces,
        "held": len(buffers),
        "buffers": sorted(buffers, key=lambda b: -int(str(b["bytes"])))[:5],
        "advice": [
            {"saved": a.saved, "shape": str(a.shape), "to": str(a.alternative.shape), "what": a.alternative.what}
            for a in advice[:3]
        ],
        "moves": moves_of(memory.module),
    }


def _share(row: dict[str, Any]) -> str:
    """The padding of what a row counts, as a column."""
    return f"{row['waste_bytes'] / row['bytes']:6.1%}" if row["bytes"] else " " * 6


def summary_text(value: dict[str, Any], width: int | None) -> str:
    """The summary as lines, none longer than the terminal: 22 at most."""
    lines = [f"{value['steps']} steps; the peak of each memory space, and its padding:"]
    lines += [] if value["spaces"] else ["  nothing in it takes memory"]
    shown = sorted(sorted(value["spaces"], key=lambda s: -s["bytes"])[:6], key=lambda s: s["space"])
    wide = max((len(s["name"]) for s in shown), default=0)
    digits = max((len(f"{s['bytes']:,}") for s in shown), default=0)
    for s in shown:
        of = terminal.part_of(s["bytes"], s["capacity"])
        lines.append(
            f"  {s['name']:<{wide}}  {s['bytes']:>{digits},} {in_units(s['bytes']):>10} {_share(s)}  {of}".rstrip()
        )
    if value["spaces"]:
        lines += [
            "",
            f"in {value['spaces'][0]['name']} at its peak: {value['held']} buffers, the largest with their padding:",
        ]
    for b in value["buffers"]:
        lines.append(f"  {b['bytes']:>15,} {_share(b)}  {b['shape']}  {b['name']} {b['from']}".rstrip())
    lines += ["", "what could take less, predicted; --advise says what each assumes:"]
    moves = moves_text(value["moves"], 1)
    told = value["advice"][: 4 - max(len(moves), 1)]
    lines += [f"  saves {a['saved']:,}: {a['shape']} -> {a['to']}" for a in told] or ["  nothing that is known"]
    lines += moves
    lines += ["", "more: --by peak, --advise, -o report.html; --by shape adds up what is allocated"]
    room = max(width or 2**31, 20)
    lines = [printable(line) for line in lines]  # names of the file's own may hold what a terminal obeys
    return "\n".join(line if len(line) <= room else f"{line[: room - 3]}..." for line in lines)
