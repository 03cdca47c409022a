"""The picture of the first page, docs/front.svg: one 8 by 8 matrix as three worlds lay it out.

Grids of one height without edges, and large numbers and titles: on a phone, half as wide, they are still read. Run it
to write it anew.
"""

from pathlib import Path

from tla import parse
from tla.viz import Scene, draw, svg
from tla.viz.scene import Axis, Figure

#: A title, a layout, and what its colours mean: the swizzle's are eight groups of banks, which a column without it
#: would have one of.
GRIDS = (
    ("CuTe: a swizzle", "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)", {"color_by": "bank", "bits": 128}),
    ("Ascend: fractals", "((_4,_2),(_4,_2)):((_4,_16),(_1,_32))", {}),
    ("TPU: packed tiles", "((_2,_2,_2),(_4,_2)):((_1,_8,_32),(_2,_16))", {"tile": (4, 4)}),
)
PATH = Path(__file__).parent.parent / "front.svg"
_CELLS, _TITLES = 'font-size="12"', 'font-size="10"'


def picture():
    """The picture as SVG."""
    grids = []
    for title, text, options in GRIDS:
        grid = draw(parse(text), **options).figures[0].grids[0]
        bare = (Axis((("",),) * 8, axis.borders) for axis in (grid.rows, grid.columns))
        grids.append(grid._replace(title=title, **dict(zip(("rows", "columns"), bare))))
    drawn = svg(Scene((Figure("", (), tuple(grids)),)))
    name = f'aria-label="One 8 by 8 matrix, each cell with its offset. {"; ".join(title for title, _text, _options in GRIDS)}"'
    return drawn.replace('aria-label=""', name).replace(_CELLS, 'font-size="18"').replace(_TITLES, 'font-size="17"')


if __name__ == "__main__":
    PATH.write_text(picture(), encoding="utf-8")
