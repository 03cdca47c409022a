"""A drawing as plain data: grids of cells with labels and borders. draw.py makes it, each target prints it.

Scene     figures beside each other, and what the colours mean
Figure    one layout: its title, and a grid for each index of the modes that are not down or across
Grid      rows of cells, with a label for each row and column and the borders between them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import LeafTypeError


class Cell(NamedTuple):
    """One coordinate.

    text      what stands in it; lines end with a newline
    fill      its colour, `#rrggbb`; None for none
    padding   whether it is past origin_shape: hatched, or a dot
    mark      the number of its colour, written small, where there are more colours than are told apart
    """

    text: str
    fill: str | None = None
    padding: bool = False
    mark: str = ""


class Axis(NamedTuple):
    """The rows of a grid, or its columns.

    labels    of each of them, the lines of its label; all of one length
    borders   before each of them: 0 within the innermost level, higher where a block of a higher level begins
    """

    labels: tuple[tuple[str, ...], ...]
    borders: tuple[int, ...]


class Grid(NamedTuple):
    """A grid of cells.

    cells   rows of cells, as the axes say
    title   which index of the other modes it is for; "" where there are none
    """

    rows: Axis
    columns: Axis
    cells: tuple[tuple[Cell, ...], ...]
    title: str = ""


class Figure(NamedTuple):
    """One layout drawn.

    notes     lines of text, such as how much of the layout is drawn if not all of it
    columns   columns of the table of grids, whose cells have one size; 0: one grid after the other
    """

    title: str
    notes: tuple[str, ...]
    grids: tuple[Grid, ...]
    columns: int = 0

    def table(self) -> tuple[tuple[Grid | None, ...], ...]:
        """The rows of the table; the first has as many grids as are left, to the right, None in the other places."""
        gap = (None,) * (-len(self.grids) % self.columns)
        places = (*gap, *self.grids)
        return tuple(places[k : k + self.columns] for k in range(0, len(places), self.columns))


class Scene(NamedTuple):
    """Layouts drawn beside each other, as plain data.

    figures   one for each layout
    legend    colours, each with what it means, if there are not too many
    caption   what colours mean; "" where there are none

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> scene = draw(parse("((2,2),3):((3,6),1)"))
    >>> scene.figures[0].grids[0].rows.borders, scene.figures[0].grids[0].cells[1][2].text, scene.caption
    ((1, 0, 1, 0), '5', 'colours: tiles of 2 x 3')
    """

    figures: tuple[Figure, ...]
    legend: tuple[tuple[str, str], ...] = ()
    caption: str = ""


def seen(scene: Scene) -> str:
    """Words for a scene, for those who do not see it: each figure's size and first cells, and what colours mean.

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> seen(draw(parse("((2,2),3):((3,6),1)")))
    '((2,2),3):((3,6),1): 4 by 3 cells; first row 0, 1, 2; first column 0, 3, 6, ...; colours: tiles of 2 x 3'
    """
    return "; ".join(filter(None, [*map(_seen, scene.figures), scene.caption]))


def _seen(figure: Figure) -> str:
    grid = figure.grids[0]
    if not grid.cells:
        return f"{figure.title}: no elements"
    count = f" in each of {len(figure.grids)} grids" if len(figure.grids) > 1 else ""
    size = f"{len(grid.cells)} by {len(grid.cells[0])} cells{count}"
    row, column = _begin(grid.cells[0]), _begin([row[0] for row in grid.cells])
    return f"{figure.title}: {size}; first row {row}; first column {column}"


def _begin(cells: Sequence[Cell]) -> str:
    """The texts of the first three cells."""
    texts = ["padding" if c.padding else c.text.replace("\n", "") or "empty" for c in cells[:3]]
    return ", ".join([*texts, "..."] if len(cells) > 3 else texts)


def require_scene(where: str, x: object) -> None:
    """LeafTypeError for what is no scene."""
    if not isinstance(x, Scene):
        raise LeafTypeError(f"{where} of a {type(x).__name__}", "a Scene", f"write {where}(draw(layout))")
