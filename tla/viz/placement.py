"""A scene with a place for everything, for SVG and TikZ. Lengths are pixels, 96 to the inch; y goes down.

A character of the fonts that are asked for is at most 0.62 as wide as it is high.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .colours import ink
from .scene import Cell, Figure, Grid, Scene

CELL, LABEL, TITLE, MARK = 12, 10, 13, 8  # heights of texts
CHARACTER = 0.62
LEAST = 26  # a cell is at least so wide
GAP = 24
MARGIN = 12
#: Where the next figure begins below, not beside; and where a title is broken, at least.
WIDTH, TITLE_WIDTH = 1200, 360
FAINT = "#666666"


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


class Line(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


class Label(NamedTuple):
    """Text: x is its start, middle or end as the anchor says, y its base line."""

    x: float
    y: float
    text: str
    size: int = CELL
    anchor: str = "middle"
    ink: str = "#000000"


@dataclass
class Canvas:
    """The shapes to paint, in this order.

    fills     colour -> boxes
    hatched   boxes that are padding
    lines     level -> lines; 0 is between cells, the highest of a grid its frame
    labels    texts
    """

    width: float = 0
    height: float = 0
    fills: dict[str, list[Box]] = field(default_factory=dict)
    hatched: list[Box] = field(default_factory=list)
    lines: dict[int, list[Line]] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)


class Block(NamedTuple):
    """A piece of a drawing: its size, what paints it from a corner at (x, y), and how far below its cells begin."""

    width: float
    height: float
    paint: Callable[[Canvas, float, float], None]
    top: float = 0


def place(scene: Scene) -> Canvas:
    """The scene on a canvas: figures beside each other if they fit, their cells at one height; the legend below."""
    grids = [_table(f) if f.columns else _flow([_grid(g, [g]) for g in f.grids], GAP) for f in scene.figures]
    heads = [_head(f, max(TITLE_WIDTH, g.width)) for f, g in zip(scene.figures, grids)]
    lead = max((head.height + g.top for head, g in zip(heads, grids)), default=0)
    parts = [_flow([_stack([head._replace(height=lead - g.top), g], 6) for head, g in zip(heads, grids)], GAP)]
    if scene.caption:
        width = max(TITLE_WIDTH, parts[0].width)
        swatches = [_swatch(fill, name) for fill, name in scene.legend]
        parts += [_texts(_broken(scene.caption, width / LABEL / CHARACTER), LABEL, FAINT), _flow(swatches, 10, width)]
    whole = _stack(parts, GAP / 2)
    canvas = Canvas(whole.width + 2 * MARGIN, whole.height + 2 * MARGIN)
    whole.paint(canvas, MARGIN, MARGIN)
    return canvas


# ------------------------------------------------------------------------------------------------- blocks of blocks


def _flow(blocks: Sequence[Block], gap: float, wide: float = WIDTH) -> Block:
    """Beside each other, in as many rows as it takes."""
    limit = max([wide, *(b.width for b in blocks)])
    spots: list[tuple[Block, float, float]] = []
    x = y = width = height = 0.0
    for b in blocks:
        if x and x + b.width > limit:
            x, y, height = 0.0, y + height + gap, 0.0
        spots.append((b, x, y))
        width, height, x = max(width, x + b.width), max(height, b.height), x + b.width + gap
    return _group(width, y + height, spots)._replace(top=blocks[0].top if blocks else 0)


def _stack(blocks: Sequence[Block], gap: float) -> Block:
    """One below the other; what has no height takes no gap."""
    spots: list[tuple[Block, float, float]] = []
    y = 0.0
    for b in filter(lambda b: b.height, blocks):
        y += gap if spots else 0
        spots.append((b, 0.0, y))
        y += b.height
    return _group(max((b.width for b in blocks), default=0), y, spots)


def _group(width: float, height: float, spots: Sequence[tuple[Block, float, float]]) -> Block:
    def paint(canvas: Canvas, x: float, y: float) -> None:
        for block, dx, dy in spots:
            block.paint(canvas, x + dx, y + dy)

    return Block(width, height, paint)


# ------------------------------------------------------------------------------------------------- pieces


def _texts(lines: Sequence[str], size: int, ink: str) -> Block:
    step = size * 1.3

    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.labels += [Label(x, y + size + k * step, line, size, "start", ink) for k, line in enumerate(lines)]

    return Block(max((_width(line, size) for line in lines), default=0), step * len(lines), paint)


def _swatch(fill: str, name: str) -> Block:
    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.fills.setdefault(fill, []).append(Box(x, y, 14, 14))
        canvas.lines.setdefault(0, []).extend(_edges(Box(x, y, 14, 14)))
        canvas.labels.append(Label(x + 18, y + 11, name, LABEL, "start"))

    return Block(18 + _width(name, LABEL), 14, paint)


def _edges(box: Box) -> list[Line]:
    left, top, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    return [Line(left, y, right, y) for y in (top, bottom)] + [Line(x, top, x, bottom) for x in (left, right)]


def _head(figure: Figure, width: float) -> Block:
    """The title of a figure, and its notes, in lines of at most this width."""
    title, notes = (
        _texts([line for text in texts for line in _broken(text, width / size / CHARACTER)], size, color)
        for texts, size, color in (([figure.title], TITLE, "#000000"), (figure.notes, LABEL, FAINT))
    )
    return _stack([title, notes], 6)


def _table(figure: Figure) -> Block:
    """Grids in rows and columns: what is beside or above each other has rows or columns of one size."""
    rows = [[_grid(g, figure.grids) if g else None for g in row] for row in figure.table()]
    widths = [max(b.width for b in column if b) for column in zip(*rows)]
    spots: list[tuple[Block, float, float]] = []
    y = 0.0
    for row in rows:
        lefts = [sum(widths[:k]) + GAP * k for k in range(len(row))]
        spots += [(b, x, y) for b, x in zip(row, lefts) if b]
        y += max(b.height for b in row if b) + GAP / 2
    return _group(sum(widths) + GAP * (len(widths) - 1), y - GAP / 2, spots)._replace(top=spots[0][0].top)


def _grid(grid: Grid, alike: Sequence[Grid]) -> Block:
    """A grid; `alike` are those whose cells have one size with its own."""
    if not grid.cells:
        return _texts(["(no elements)"], CELL, FAINT)
    cells = [c for g in alike for row in g.cells for c in row]
    lines = [line for c in cells for line in c.text.split("\n")]
    headers = [line for g in alike for label in g.columns.labels for line in label]
    width = max(LEAST, _widest(lines, CELL) + 8, _widest(headers, LABEL) + 6)
    raised = MARK * 0.75 if any(c.mark for c in cells) else 0
    width = max(width, _widest([c.mark for c in cells], MARK) + 6)
    height = max(c.text.count("\n") for c in cells) * CELL * 1.2 + 2 * CELL + raised
    names = [_widest(column, LABEL) + 6 for column in zip(*(label for g in alike for label in g.rows.labels))]
    names = names if any(map(any, grid.rows.labels)) else []
    head = len(grid.columns.labels[0]) * LABEL * 1.3 + 3 if any(map(any, grid.columns.labels)) else 0
    top = (LABEL * 1.6 if grid.title else 0) + head
    size = Box(sum(names), top, len(grid.cells[0]) * width, len(grid.cells) * height)

    def paint(canvas: Canvas, x: float, y: float) -> None:
        if grid.title:
            canvas.labels.append(Label(x, y + LABEL, grid.title, LABEL, "start", FAINT))
        box = Box(x + size.x, y + size.y, size.width, size.height)
        _paint_headers(canvas, grid, box, width, head)
        _paint_names(canvas, grid, x, box.y, height, names)
        for k, row in enumerate(grid.cells):
            _paint_row(canvas, row, Box(box.x, box.y + k * height, width, height), raised)
        _paint_lines(canvas, grid, box)

    return Block(max(sum(names) + size.width, _width(grid.title, LABEL)), top + size.height + 2, paint, top)


def _paint_headers(canvas: Canvas, grid: Grid, box: Box, width: float, head: float) -> None:
    for k, label in enumerate(grid.columns.labels if head else ()):
        for n, line in enumerate(label):
            x, y = box.x + (k + 0.5) * width, box.y - head + (n + 1) * LABEL * 1.3 - 3
            canvas.labels.append(Label(x, y, line, LABEL, "middle", FAINT))


def _paint_names(canvas: Canvas, grid: Grid, x: float, y: float, height: float, widths: Sequence[float]) -> None:
    for k, label in enumerate(grid.rows.labels if widths else ()):
        end = x
        for line, width in zip(label, widths):
            end += width
            canvas.labels.append(Label(end - 5, y + (k + 0.5) * height + LABEL * 0.36, line, LABEL, "end", FAINT))


def _paint_row(canvas: Canvas, row: Sequence[Cell], first: Box, raised: float) -> None:
    """The cells of a row, whose texts leave so much room for marks; neighbours of one colour are one box."""
    x, y, width, height = first
    start = 0
    for k, cell in enumerate(row):
        if cell.padding:
            canvas.hatched.append(Box(x + k * width, y, width, height))
        lines = cell.text.split("\n") if cell.text else []
        for n, line in enumerate(lines):
            base = y + (height + raised) / 2 + CELL * (0.36 + 1.2 * (n - (len(lines) - 1) / 2))
            canvas.labels.append(Label(x + (k + 0.5) * width, base, line, CELL, "middle", ink(cell.fill)))
        if cell.mark:
            canvas.labels.append(Label(x + (k + 1) * width - 3, y + MARK + 0.5, cell.mark, MARK, "end", ink(cell.fill)))
        if k + 1 == len(row) or row[k + 1].fill != cell.fill:
            if cell.fill:
                box = Box(x + start * width, y, (k + 1 - start) * width, height)
                canvas.fills.setdefault(cell.fill, []).append(box)
            start = k + 1


def _paint_lines(canvas: Canvas, grid: Grid, box: Box) -> None:
    """The borders: of each row and column that before it, and the frame, one level above the highest."""
    rows, columns = grid.rows.borders, grid.columns.borders
    frame = max((*rows[1:], *columns[1:]), default=0) + 1
    right, bottom = box.x + box.width, box.y + box.height
    for k, level in enumerate((frame, *rows[1:], frame)):
        y = box.y + k * box.height / len(rows)
        canvas.lines.setdefault(level, []).append(Line(box.x, y, right, y))
    for k, level in enumerate((frame, *columns[1:], frame)):
        x = box.x + k * box.width / len(columns)
        canvas.lines.setdefault(level, []).append(Line(x, box.y, x, bottom))


# ------------------------------------------------------------------------------------------------- texts


#: Where a text is broken: at blanks; where that is too long behind colons, and then behind commas: no number of a
#: layout is cut.
_ENDS = "(?<= )", "(?<=:)", "(?<=,)", "(?<=.)"


def _broken(text: str, characters: float, ends: Sequence[str] = _ENDS) -> list[str]:
    """The lines of a text, of at most so many characters."""
    lines: list[str] = []
    for piece in re.split(ends[0], text):
        if lines and _characters(lines[-1] + piece.rstrip()) <= characters:
            lines[-1] += piece
        elif _characters(piece.rstrip()) <= characters or len(ends) == 1:
            lines.append(piece)
        else:
            lines += _broken(piece, characters, ends[1:])
    return [line.rstrip() for line in lines if line.strip()]


def _characters(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _width(text: str, size: float) -> float:
    return _characters(text) * size * CHARACTER


def _widest(lines: Sequence[str], size: float) -> float:
    return max(_width(line, size) for line in lines)
