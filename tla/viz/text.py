"""Scenes as text."""

from __future__ import annotations

import colorsys
import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.cache import plain_memo
from .colours import TINTS, ink, rgb, tint
from .scene import Axis, Cell, Figure, Grid, Scene, require_scene

PADDING = "."
# Dashed, light, heavy: down, and across.
_DOWN, _ACROSS = "┆│┃", "┈─━"
# A border across meets one down, by place: both light, across heavy, down heavy, both heavy.
_JOINTS = {"first": "┌┍┎┏┬┯┰┳┐┑┒┓", "inner": "├┝┠┣┼┿╂╋┤┥┨┫", "last": "└┕┖┗┴┷┸┻┘┙┚┛"}
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_ASCII = str.maketrans(
    dict.fromkeys(_DOWN, "|") | dict.fromkeys(_ACROSS, "-") | dict.fromkeys("".join(_JOINTS.values()), "+")
)


class _Terminal(NamedTuple):
    """Abilities of a terminal: so many colours, 0 for none; characters of ASCII alone."""

    colors: int
    ascii: bool


def text(scene: Scene, *, width: int | None = None, color: bool | int = False, ascii: bool = False) -> str:
    """A scene as text: grids one below the other, with borders where blocks begin; padding is a `.`.

    width    characters of a line; a grid that is wider is cut, and goes on below. None: no limit
    color    whether cells have their colours, as a terminal of 256 colours shows them, or of so many: with 8 and 16 it
             has the nearest of those. Where the scene numbers them, their numbers stand raised behind those
             of the cells
    ascii    whether borders are of - | + alone, and what is raised stands behind a ^

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> print(text(draw(parse("(3,(2,2)):(4,(1,2))", origin_shape=(3, 3))), ascii=True))
    (3,(2,2)):(4,(1,2))
    origin_shape (3,3)
         0  1    2  3
      +-------+-------+
    0 |  0  1 |  2  . |
    1 |  4  5 |  6  . |
    2 |  8  9 | 10  . |
      +-------+-------+
    """
    require_scene("text", scene)
    terminal = _Terminal(256 if color is True else int(color), ascii)
    lines: list[str] = []
    for figure in scene.figures:
        lines += [""] if lines else []
        lines += [figure.title, *figure.notes]
        table = _table(figure, terminal) if figure.columns else []
        if table and (width is None or max(map(_printed, table)) <= width):
            lines += table
            continue
        for k, grid in enumerate(figure.grids):
            lines += [""] if k else []
            lines += [grid.title] if grid.title else []
            lines += _grid(grid, [grid], width, terminal) if grid.cells else ["(no elements)"]
    if terminal.colors and scene.caption:
        lines += ["", *textwrap.wrap(scene.caption, width or 2**31)]
        lines += _folded([(f" {name} ", fill) for fill, name in scene.legend], width, terminal.colors)
    joined = "\n".join(lines)
    return joined.translate(_ASCII) if ascii else joined


def _folded(entries: Sequence[tuple[str, str]], width: int | None, colors: int) -> Iterator[str]:
    """The entries of a legend, as many in a line as its width holds."""
    line, used = list[str](), 0
    for name, fill in entries:
        if line and width is not None and used + len(name) > width:
            yield " ".join(line)
            line, used = [], 0
        line.append(_painted(name, fill, colors))
        used += len(name) + 1
    if line:
        yield " ".join(line)


# ------------------------------------------------------------------------------------------------- one grid


def _table(figure: Figure, terminal: _Terminal) -> list[str]:
    """The lines of grids beside and above each other."""
    lines: list[str] = []
    rows = [[[g.title, *_grid(g, figure.grids, None, terminal)] if g else [] for g in row] for row in figure.table()]
    widths = [max((_printed(line) for block in column for line in block), default=0) for column in zip(*rows)]
    for row in rows:
        lines += [""] if lines else []
        for parts in itertools.zip_longest(*row, fillvalue=""):
            lines.append("  ".join(part + " " * (w - _printed(part)) for part, w in zip(parts, widths)).rstrip())
    return lines


def _printed(line: str) -> int:
    """The number of characters that a terminal shows of a line."""
    return len(re.sub(r"\x1b\[[0-9;]*m", "", line))


def _grid(grid: Grid, alike: Sequence[Grid], width: int | None, terminal: _Terminal) -> Iterator[str]:
    """The lines of a grid, in parts if it is wider than `width`; cells as wide as those of `alike`."""
    highest = max((*grid.rows.borders[1:], *grid.columns.borders[1:]), default=0)
    cell = max(len(_in_line(c, terminal)) for g in alike for row in g.cells for c in row)
    cell = max(cell, *(len(line) for g in alike for label in g.columns.labels for line in label), 1)
    names = _aligned([label for g in alike for label in g.rows.labels])[_first_row(grid, alike) :]
    margin = len(names[0])
    rows = [_weight(b, highest) for b in grid.rows.borders]
    for k, (start, end) in enumerate(_parts(grid.columns, cell, None if width is None else width - margin - 5)):
        columns = [_weight(b, highest) for b in grid.columns.borders[start:end]]
        frame = _weight(highest, highest) or 1
        yield from [""] if k else []
        for line in zip(*grid.columns.labels[start:end]) if any(map(any, grid.columns.labels)) else ():
            yield " " * (margin + 1) + _line([x.rjust(cell) for x in line], columns, " ", " ").rstrip()
        yield " " * (margin + 1) + _border("first", columns, cell, frame, frame)
        for n, (name, row, weight) in enumerate(zip(names, grid.cells, rows)):
            if n and weight is not None:
                yield " " * (margin + 1) + _border("inner", columns, cell, weight, frame)
            cells = [_painted(_in_line(c, terminal).rjust(cell), c.fill, terminal.colors) for c in row[start:end]]
            yield f"{name} {_line(cells, columns, _DOWN[frame])}"
        yield " " * (margin + 1) + _border("last", columns, cell, frame, frame)


def _first_row(grid: Grid, alike: Sequence[Grid]) -> int:
    """The number of rows of the grids before one."""
    return sum(len(g.rows.labels) for g in itertools.takewhile(lambda g: g is not grid, alike))


def _weight(level: int, highest: int) -> int | None:
    """0 to 2, dashed to heavy: the highest level of three is heavy, that of one light; None for no border."""
    return max(0, 2 - max(highest, 2) + level) if level else None


def _parts(columns: Axis, cell: int, width: int | None) -> Iterator[tuple[int, int]]:
    """From where to where the columns go that fit in a line: up to a border if there is one."""
    start, count = 0, len(columns.labels)
    if width is None:
        yield 0, count
        return
    while start < count:
        end, used = start, 0
        while end < count and (end == start or used + cell <= width):
            used += cell + (3 if end + 1 < count and columns.borders[end + 1] else 1)
            end += 1
        if end < count:
            best = max(columns.borders[start + 1 : end + 1], default=0)
            end = max((k for k in range(start + 1, end + 1) if best and columns.borders[k] == best), default=end)
        yield start, end
        start = end


def _aligned(labels: Sequence[tuple[str, ...]]) -> list[str]:
    """The labels of the rows, their lines side by side in columns."""
    widths = [max(map(len, line)) for line in zip(*labels)]
    return [" ".join(x.rjust(w) for x, w in zip(label, widths)) for label in labels]


def _line(cells: Sequence[str], columns: Sequence[int | None], frame: str, inner: str | None = None) -> str:
    out = [frame]
    for k, (c, weight) in enumerate(zip(cells, columns)):
        out += [inner or _DOWN[weight], " "] if k and weight is not None else [" "] if not k else []
        out += [c, " "]
    return "".join([*out, frame])


def _border(place: str, columns: Sequence[int | None], cell: int, weight: int, frame: int) -> str:
    """A line between two rows, or above the first, or below the last."""
    heavy = weight == 2
    joints = _JOINTS[place]
    out = [joints[2 * (frame == 2) + heavy]]
    for k, down in enumerate(columns):
        out += [joints[4 + 2 * (down == 2) + heavy]] if k and down is not None else []
        out += _ACROSS[weight] * (cell + (2 if not k or down is not None else 1))
    return "".join([*out, joints[8 + 2 * (frame == 2) + heavy]])


def _in_line(cell: Cell, terminal: _Terminal) -> str:
    """The text of a cell, its lines one behind the other, and where there are colours the number of its own."""
    mark = f"^{cell.mark}" if terminal.ascii else cell.mark.translate(_RAISED)
    shown = terminal.colors and cell.mark
    return PADDING if cell.padding else cell.text.replace("\n", "") + (mark if shown else "")


def _painted(text: str, fill: str | None, colors: int) -> str:
    """The text on its colour: of 256 in xterm's cube of 6 x 6 x 6 colours, of fewer the nearest of its first ones."""
    if fill is None or colors < 8:
        return text
    if colors < 256:
        place = _nearest(fill, min(colors, 16))
        return f"\x1b[30;{40 + place if place < 8 else 92 + place}m{text}\x1b[0m"
    r, g, b = (round(c / 51) for c in rgb(fill))
    return f"\x1b[{30 if ink(fill) == '#000000' else 97};48;5;{16 + 36 * r + 6 * g + b}m{text}\x1b[0m"


#: The first 16 colours of xterm, black and the dark grey left out: black text is read on these.
_FIRST = "- cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 - ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff".split()  # noqa: SIM905


#: Of 16 colours one for each hue, in the order of these: no two are the same, and black text is read on all.
_HUES = 14, 3, 2, 11, 13, 9, 6, 7


@plain_memo
def _tints() -> dict[str, int]:
    return {tint(n): _HUES[n % len(_HUES)] for n in range(TINTS)}


@plain_memo
def _nearest(fill: str, count: int) -> int:
    """The number of the first `count` colours that is nearest to a fill, by hue: terminals have stronger ones."""
    hues = {k: _hsv("#" + text) for k, text in enumerate(_FIRST[:count]) if text != "-"}
    hue, saturation, _value = _hsv(fill)
    if count == 16 and fill in _tints():
        return _tints()[fill]
    if saturation < 0.15:
        return 7
    # black text is not read on dark blue
    away = {k: abs(h - hue) for k, (h, s, _v) in hues.items() if s > 0.15 and k != 4}
    return min(away, key=lambda k: (round(min(away[k], 1 - away[k]), 3), (k < 8) == (saturation < 0.5)))


def _hsv(fill: str) -> tuple[float, float, float]:
    return colorsys.rgb_to_hsv(*(c / 255 for c in rgb(fill)))
