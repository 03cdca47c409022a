"""The picture of README's first screen, docs/conflict.svg: a tile of halves under ldmatrix, and the same with the
swizzle that mends it.

A cell is a vector of 16 bytes, its number the vector's place in memory, its colour the four banks that it lies in;
eight lanes read a column at once. It is dark where the reader's screen is. Run it to write it anew.
"""

import re
from pathlib import Path

from tla import parse
from tla.access import access
from tla.viz import Scene, draw, svg
from tla.viz.scene import Axis, Figure

#: A title, and the layout of vectors.
GRIDS = (("rows of 64 halves", "(_8,_8):(_8,_1)"), ("swizzled by Sw<3,3,3>", "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)"))
#: Eight lanes, a vector each, down the first column.
COLUMN = parse("(8,1):(1,0)")
PATH = Path(__file__).parent.parent / "conflict.svg"
_DARK = (
    "<style>@media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } text[font-size] { fill: #e6edf3 } }</style>"
)
_PAPER = '<path fill="#ffffff"'


def degree(text):
    """The ways of the conflict of a column of vectors."""
    return access(COLUMN, parse(text), 128).degree


def picture():
    """The picture as SVG."""
    grids = []
    for title, text in GRIDS:
        grid = draw(parse(text), color_by="bank", bits=128, owners=COLUMN).figures[0].grids[0]
        bare = (Axis((("",),) * 8, axis.borders) for axis in (grid.rows, grid.columns))
        said = "no conflict" if degree(text) == 1 else f"{degree(text)}-way conflict"
        grids.append(grid._replace(title=f"{title}: {said}", **dict(zip(("rows", "columns"), bare))))
    drawn = svg(Scene((Figure("", (), tuple(grids)),)))
    name = 'aria-label="ldmatrix reads a column of vectors: of a plain tile all from the same banks, of a swizzled one each from its own"'
    drawn = re.sub('aria-label=".*?"', name, drawn).replace('font-size="10"', 'font-size="14"')
    return drawn.replace(_PAPER, f'{_DARK}\n<path class="paper" fill="#ffffff"', 1)


if __name__ == "__main__":
    PATH.write_text(picture(), encoding="utf-8")
