"""Drawings: golden files of 32 layouts, each number where the definition has it, nothing that overlaps or
is cut off."""

import functools
import importlib
import itertools
import operator
import re
import traceback
import types
import unicodedata
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tla
from tla import (
    GetTile,
    Int,
    Layout,
    MakeIdentityLayout,
    MakeLayout,
    MakeLayoutTile,
    MakeTensor,
    TlaError,
    blocked_product,
    ceil_div,
    composition,
    dim,
    dims,
    group,
    logical_divide,
    parse,
    take,
    xla,
    zipped_divide,
)
from tla.apps import notebook
from tla.ascend import L0C, half, int8, nZ, zN, zZ
from tla.core import ints
from tla.gpu import (
    Copy_Atom,
    SM70_8x8x4_F32F16F16F32_TN,
    SM75_U16x2_LDSM_T,
    SM80_16x8x8_F32F16F16F32_TN,
    SM90_64x8x16_F32F16F16_SS,
    UniversalCopy,
    make_tiled_copy,
    make_tiled_mma,
    uint32,
)
from tla.linear import LinearLayout
from tla.viz import Scene, draw, draw_threads, html, save, svg, text, tikz
from tla.viz.colouring import RULES
from tla.viz.colours import HUES, RAMP, TINTS, colour, ink, ramp, rgb, tint
from tla.viz.drawable import Subject, Tiling, as_subject, levels, steps
from tla.viz.placement import CHARACTER, FAINT, _broken, place
from tla.viz.scene import Axis, Cell, Figure, Grid
from tla.viz.svg import HATCH, STROKES

import oracle
from unknown import M, N, Unknown

SEED = "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"
SMEM = "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)"
ROWS = parse("(_8,_12):(_12,_1)")
MOVE = xla.relayout("f32[8,12]{1,0}", "f32[8,12]{1,0:T(4,4)}")


def by_hand():
    """What no layout has at once: headers wider than cells, names in columns, levels 0 to 3, a table with a gap, a
    legend of many."""
    cells = (
        (Cell("0"), Cell("1", tint(1)), Cell("", None, True)),
        (Cell("T0\nV1\n+3", tint(1)), Cell("3", tint(1)), Cell("", None, True)),
    )
    wide = Grid(
        Axis((("0", "up"), ("1", "down")), (0, 3)),
        Axis((("0",), ("100000",), ("2",)), (0, 1, 2)),
        cells,
        "(_,_,0) of a grid",
    )
    plain_ = Grid(Axis((("",), ("",)), (2, 0)), Axis((("",),) * 3, (3, 0, 1)), cells)
    table = Figure("a table", (), (wide, plain_, wide), 2)
    empty = Figure(
        "no elements, and a title that is longer than all that is below it",
        ("a note",),
        (Grid(Axis((), ()), Axis((), ()), ()),),
    )
    beside = Figure("side by side", ("a note", "and another"), (wide,) * 6)
    legend = tuple((tint(k), f"the tile of number {k}") for k in range(24))
    return Scene((table, empty, beside), legend, "colours: by hand")


SCENES = {
    "seed": lambda: draw(parse(SEED)),
    "seed_by_offset": lambda: draw(parse(SEED), color_by="offset"),
    "seed_beside_its_tile": lambda: draw(parse(SEED), MakeLayoutTile(parse(SEED), (5, 9))),
    "zN": lambda: draw(MakeLayout[half, zN](32, 32)),
    "zN_with_padding": lambda: draw(MakeLayout[half, zN](20, 30)),
    "nZ": lambda: draw(MakeLayout[half, nZ](32, 32)),
    "zZ": lambda: draw(MakeLayout[int8, zZ](32, 64)),
    "L0C": lambda: draw(MakeLayout[half, L0C](16, 48)),
    "xla_bf16": lambda: draw(xla.parse_shape("bf16[16,256]{1,0:T(8,128)(2,1)}"), color_by="packing"),
    "xla_small": lambda: draw(xla.parse_shape("f32[4,8]{1,0:T(2,4)(2,1)}"), color_by="sublane"),
    "xla_by_lane": lambda: draw(xla.parse_shape("f32[3,5]{1,0:T(2,2)}"), color_by="lane"),
    "xla_rank_3": lambda: draw(xla.parse_shape("bf16[2,5,12]{2,1,0:T(4,8)(2,1)}")),
    "xla_composed": lambda: draw(xla.parse_shape("f32[6,10]{1,0:T(3,5)(2,2)}")),
    "xla_relayout": lambda: draw(
        xla.parse_shape("f32[8,12]{1,0}"), xla.parse_shape("f32[8,12]{1,0:T(4,4)}"), tile=(4, 4)
    ),
    "relayout_in_memory": lambda: draw(
        MOVE.source, MakeLayout(take[2, 4](MOVE.layout), take[0, 2](MOVE.layout)), tile=(4, 4)
    ),
    "swizzle": lambda: draw(
        parse("(_8,_8):(_8,_1)"), parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)"), color_by="bank", bits=128
    ),
    "swizzle_128_bytes": lambda: draw(parse(SMEM), color_by="bank", bits=16),
    "divide": lambda: draw(ROWS, logical_divide(ROWS, (4, 3)), tile=(4, 3)),
    "divide_of_blocks": lambda: draw(ROWS, zipped_divide(ROWS, (4, 3)), tile=(4, 3), titles=["rows", "tiles across"]),
    "blocked_product": lambda: draw(blocked_product(parse("(_2,_4):(_4,_1)"), parse("(_3,_2):(_1,_3)"))),
    "mma_sm80_C": lambda: draw_threads(parse("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))"), (16, 8)),
    "mma_sm80_A": lambda: draw_threads(parse("((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))"), (16, 16), "value"),
    "mma_sm70_C_table": lambda: draw(parse("((_2,_2,_2),(_2,_2,_2)):((_1,_16,_4),(_8,_2,_32))"), color_by="thread"),
    "threads_that_share": lambda: draw_threads(parse("((_4,_2),_2):((_2,_0),_1)"), (2, 4)),
    "tiled_mma_sm80": lambda: draw(make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN, (1, 2))),
    "tiled_mma_sm70_thread_17": lambda: draw(make_tiled_mma(SM70_8x8x4_F32F16F16F32_TN), thread=17),
    "atom_wgmma": lambda: draw(SM90_64x8x16_F32F16F16_SS, color_by="value"),
    "tiled_copy": lambda: draw(make_tiled_copy(Copy_Atom[UniversalCopy[uint32], half], (4, 2), (2, 1))),
    "atom_ldmatrix": lambda: draw(SM75_U16x2_LDSM_T),
    "one": lambda: draw(parse("_1:_0")),
    "square": lambda: draw(parse("(_8,_8):(_1,_8)"), color_by=lambda coord, offset: (coord[0] + coord[1]) % 2),
    "wide": lambda: draw(parse("(16,48):(48,1)"), color_by="none"),
    "deep": lambda: draw(parse("((_2,_2,_2,_2),(_2,_2,_2,_2)):((_1,_4,_16,_64),(_2,_8,_32,_128))")),
    "vector": lambda: draw(parse("((_4,_2,_3)):((_2,_1,_8))")),
    "rank_3": lambda: draw(parse("(_3,_4,_2):(_4,_1,_12)")),
    "coordinates": lambda: draw(MakeIdentityLayout((3, 4))),
    "too_large": lambda: draw(parse("(_4096,(_128,_32),_3):(_128,(_1,_524288),_16777216)")),
}


DRAWN = {**SCENES, "by_hand": by_hand}


@pytest.mark.parametrize("name", DRAWN)
def test_golden(golden, name):
    scene = DRAWN[name]()
    golden(f"viz/{name}.txt", text(scene) + "\n")
    golden(f"viz/{name}.svg", svg(scene))


@pytest.mark.parametrize("name", ["seed", "xla_rank_3", "swizzle", "threads_that_share"])
def test_golden_of_the_other_targets(golden, name):
    golden(f"viz/{name}.tex", tikz(SCENES[name]()))
    golden(f"viz/{name}.html", html(SCENES[name]()))
    golden(f"viz/{name}.ansi", text(SCENES[name](), color=True) + "\n")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("256", {"color": 256}),
        ("16", {"color": 16}),
        ("8", {"color": 8}),
        ("ascii", {"ascii": True}),
        ("narrow", {"width": 30, "color": 7}),
    ],
)
def test_golden_of_what_terminals_show(golden, name, form):
    golden(f"viz/by_hand_{name}.ansi", text(by_hand(), **form) + "\n")


# ------------------------------------------------------------------------------------------------- right


@pytest.mark.parametrize(
    "layout",
    [
        SEED,
        "(3,4):(4,1)",
        "((2,2),(2,(3,2))):((1,16),(2,(-4,8)))",
        "(2,3,(2,2)):(1,2,(6,12))",
        "7:3",
        "((2,3)):((3,1))",
        "(1,1):(0,0)",
    ],
)
def test_every_cell_is_what_the_definition_says(layout):
    """The offsets in order of the index: down, then across, then from grid to grid."""
    layout = parse(layout)
    (figure,) = draw(layout).figures
    cells = [c.text for g in figure.grids for column in zip(*g.cells) for c in column]
    assert [*map(int, cells)] == oracle.offsets(oracle.plain(layout.shape), oracle.plain(layout.stride))


def test_text_and_svg_say_the_same_as_the_scene():
    for make in SCENES.values():
        scene = make()
        cells = [c for f in scene.figures for g in f.grids for row in g.cells for c in row]
        root = ET.fromstring(svg(scene))
        drawn = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("font-size") is None]
        assert sorted(drawn) == sorted(line for c in cells if not c.padding for line in c.text.split("\n"))
        if any(f.columns for f in scene.figures):  # grids stand beside each other
            assert sorted(re.findall(r"(?<= )[TV]\d\S*", text(scene))) == sorted(
                c.text.replace("\n", "") for c in cells
            )
            continue
        lines = [line for line in text(scene).splitlines() if "│" in line or "┃" in line]
        words = [
            word
            for line in lines
            for word in re.split("[│┃┆]", line, maxsplit=1)[1].translate(str.maketrans("│┃┆", "   ")).split()
        ]
        assert words == ["." if c.padding else c.text.replace("\n", "") for c in cells]


def test_borders_are_where_blocks_begin():
    for shape in ("(4,2)", "(2,3,2)", "(1,4)", "(4,1,2)", "(2,(1,3),2)", "8", "1", "(2,2,2,2)"):
        shape = parse(shape)
        extents = [*oracle.leaves(oracle.plain(shape))]
        blocks = steps(shape)
        found = [*levels(range(oracle.size(oracle.plain(shape))), blocks)]
        for k in range(1, len(found)):
            carries = 0  # how many digits go back to 0 at k, of those that count
            rest = k
            for n in extents[:-1]:
                if rest % n:
                    break
                rest //= n
                carries += n > 1
            assert (found[k] > 0) == (carries > 0), (shape, k)
        assert len(blocks) == len([n for n in extents[:-1] if n > 1])
    assert [*levels(range(6), (2, 3))] == [2, 0, 1, 2, 1, 0]


def test_padding_is_what_is_past_origin_shape():
    (figure,) = draw(MakeLayout((4, 6), (6, 1), origin_shape=(3, 4))).figures
    for i, row in enumerate(figure.grids[0].cells):
        for j, cell in enumerate(row):
            assert cell.padding == (i >= 3 or j >= 4)
            assert not (cell.padding and (cell.fill or cell.text))


def test_modes_that_are_folded():
    a = parse("(2,3,2,2):(1,2,6,12)")
    (figure,) = draw(a).figures
    assert [g.title for g in figure.grids] == ["(_,_,0,0)", "(_,_,0,1)", "(_,_,1,0)", "(_,_,1,1)"]
    assert figure.grids[1].cells[1][2].text == str(a(1, 2, 0, 1))
    (figure,) = draw(a, axes=(3, 1)).figures
    assert [g.title for g in figure.grids] == ["(0,_,0,_)", "(0,_,1,_)", "(1,_,0,_)", "(1,_,1,_)"]
    assert figure.grids[2].cells[1][2].text == str(a(1, 2, 0, 1))
    (figure,) = draw(xla.parse_shape("f32[2,3,4]{2,1,0}")).figures  # an XLA array by its last two
    assert [g.title for g in figure.grids] == ["(0,_,_)", "(1,_,_)"]


def test_tensors_are_drawn_where_they_start():
    """The blocks of a tile are those of the whole, wherever it starts; its numbers are places in the buffer."""
    whole = MakeTensor(None, parse(SEED), offset=1000)
    for tensor in (
        whole,
        GetTile(whole, (4, 8), (4, 4)),
        GetTile(whole, (2, 6), (4, 8)),
        GetTile(whole, (3, 1), (5, 3)),
    ):
        (figure,) = draw(tensor).figures
        (grid,) = figure.grids
        start = oracle.plain(tuple(tensor.coord))
        rows, columns = tensor.origin_shape
        for i, row in enumerate(grid.cells):
            for j, cell in enumerate(row):
                assert cell.padding == (i >= rows or j >= columns)
                assert cell.padding or cell.text == str(tensor[i, j])
        for axis, first in zip((grid.rows, grid.columns), start):
            assert [b > 0 for b in axis.borders] == [(first + k) % 4 == 0 for k in range(len(axis.borders))]
    assert (
        draw(MakeTensor(np.zeros(96, np.int16), parse(SEED)), color_by="bank").caption
        == "colours: banks of 4 bytes, elements of 16 bits (int16), each with its number"
    )
    assert "Tensor(" in whole._repr_html_()


# ------------------------------------------------------------------------------------------------- colours


def fills(figure):
    return {c.text: c.fill for g in figure.grids for row in g.cells for c in row}


def test_tiles_that_come_again_have_their_colours_again():
    """A raked product: after so many tiles of a mode the first comes again; the start moves the first tile."""
    for counts, start, numbers in (
        ((), (), [0, 0, 1, 1, 2, 2, 3, 3]),
        ((0,), (), [0, 0, 1, 1, 2, 2, 3, 3]),
        ((3,), (), [0, 0, 1, 1, 2, 2, 0, 0]),
        ((2,), (), [0, 0, 1, 1, 0, 0, 1, 1]),
        ((9,), (), [0, 0, 1, 1, 2, 2, 3, 3]),
        ((2,), (1,), [0, 1, 1, 0, 0, 1, 1, 0]),
        ((), (3,), [0, 1, 1, 2, 2, 3, 3, 4]),
    ):
        (figure,) = draw(
            Subject(parse("(8):(1)"), "", start=start, tiling=Tiling((2,), counts)), color_by="tile"
        ).figures
        assert [cell.fill for cell in figure.grids[0].cells[0]] == [tint(n) for n in numbers]
    for tiling in (Tiling((8,)), Tiling((1,), (1,))):  # one tile is all of it
        (figure,) = draw(Subject(parse("(8):(1)"), "", tiling=tiling), color_by="tile").figures
        assert {cell.fill for cell in figure.grids[0].cells[0]} == {None}


def test_one_colour_is_one_place_in_memory():
    for second in (logical_divide(ROWS, (4, 3)), zipped_divide(ROWS, (4, 3)), parse("(_8,_12):(_1,_8)")):
        for rule in ("tile", "offset", "bank", "thread"):
            scene = draw(ROWS, second, color_by=rule, tile=(4, 3))
            assert fills(scene.figures[0]) == fills(scene.figures[1])
    swizzled = draw(parse("(8,8):(8,1)"), parse("Sw<3,0,3> o _0 o (8,8):(8,1)"), color_by="bank", bits=128)
    plain_columns, columns = ([{c.fill for c in column} for column in zip(*f.grids[0].cells)] for f in swizzled.figures)
    assert {len(c) for c in plain_columns} == {1}  # all of a column in one bank
    assert {len(c) for c in columns} == {8}


def test_a_layout_beside_its_divide_has_its_tiles():
    divided = logical_divide(ROWS, (4, 3))
    given = draw(ROWS, divided, tile=(4, 3))
    assert draw(ROWS, divided) == given
    assert draw(ROWS, parse("(_8,_12):(_1,_8)"), divided).figures[0] == given.figures[0]
    assert draw(MOVE.source, MOVE.destination) == draw(MOVE.source, MOVE.destination, tile=(4, 4))
    assert draw(divided, ROWS).figures[0] == given.figures[1]
    for beside in (
        zipped_divide(ROWS, (4, 3)),
        parse("(_8,_12):(_1,_8)"),
        MakeIdentityLayout((8, 12)),
    ):  # other extents, or no blocks
        assert draw(ROWS, beside, color_by="tile").figures[0] == draw(ROWS, color_by="tile").figures[0]


def test_banks_by_their_definition():
    for bits, (rule, width, count) in itertools.product(
        (4, 8, 16, 24, 128, 2000, 2**70 + 8), (("bank", 32, 32), ("ub_bank", 256, 16))
    ):
        for layout in (parse("(64,64):(1,64)"), parse("(2,3):(-70000000000,4611686018427387)")):
            (figure,) = draw(layout, color_by=rule, bits=bits).figures
            for i, row in enumerate(figure.grids[0].cells):
                for j, cell in enumerate(row):
                    bank = int(layout(i, j)) * bits // width % count
                    assert cell.fill == tint(bank // 4 + 8 * (bank % 4))


def test_offsets_from_light_to_dark():
    for layout in ("(2,3):(-9223372036854775807,4611686018427387903)", "(3,4):(4,1)", "1:0"):
        (figure,) = draw(parse(layout), color_by="offset").figures
        cells = sorted((int(c.text), rgb(c.fill)) for row in figure.grids[0].cells for c in row)
        assert [c for _, c in cells] == sorted((c for _, c in cells), reverse=True)
        assert cells[0][1] == rgb(ramp(0))


def test_tiles_that_touch_differ_in_colour():
    for tile in ((4, 3), (1, 1), (2, 5), (3, 3)):
        (figure,) = draw(parse("(24,30):(30,1)"), tile=tile).figures
        cells = figure.grids[0].cells
        for i, j in itertools.product(range(24), range(30)):
            for di, dj in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if i + di < 24 and 0 <= j + dj < 30:
                    same = (i // tile[0], j // tile[1]) == ((i + di) // tile[0], (j + dj) // tile[1])
                    assert (cells[i][j].fill == cells[i + di][j + dj].fill) == same


TILED = {  # XLA shape -> its first tile over its dimensions
    "f32[4,8]{1,0:T(2,4)(2,1)}": (2, 4),  # figure 2 of XLA's document
    "f32[4,8]{0,1:T(2,4)(2,1)}": (4, 2),
    "f32[6,10]{1,0:T(3,5)(2,2)}": (3, 5),
    "f32[3,4,6]{2,1,0:T(2,3)}": (1, 2, 3),
    "f32[3,4,6]{1,2,0:T(4)}": (1, 4, 1),
    "bf16[16,256]{1,0:T(8,128)(2,1)}": (8, 128),
}


@pytest.mark.parametrize("text", TILED)
def test_an_array_is_drawn_by_its_own_tiles(text):
    """Its layout may coalesce them: each tile has one colour, no two the same, and a border around it."""
    tile, (figure,) = TILED[text], draw(xla.parse_shape(text)).figures
    colours = {}
    for grid in figure.grids:
        before = tuple(int(n) for n in grid.title.strip("()").split(",") if n.isdecimal())
        for (i, row), start in zip(enumerate(grid.cells), grid.rows.borders):
            assert (start > 0) >= (i % tile[-2] == 0 and 1 < tile[-2] < len(grid.cells))
            for j, cell in enumerate(row):
                if not cell.padding:
                    at = (*before, i, j)
                    colours.setdefault(tuple(c // t for c, t in zip(at, tile)), set()).add(cell.fill)
        assert all(
            (b > 0) >= (j % tile[-1] == 0 and 1 < tile[-1] < len(row)) for j, b in enumerate(grid.columns.borders)
        )
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == min(len(colours), TINTS)


def test_up_to_32_tiles_have_colours_of_their_own():
    for rows, columns, count in ((8, 4, 8), (16, 8, 32), (4, 4, 4)):
        (figure,) = draw(parse(f"({rows},{columns}):({columns},1)"), tile=(2, 2)).figures
        assert len(set(fills(figure).values())) == count
    (figure,) = draw(parse("(8,4):(4,1)"), tile=(2, 2)).figures
    assert [row[0].fill for row in figure.grids[0].cells[::2]] == [*map(tint, range(4))]


def test_coordinates_are_drawn_as_they_are_printed():
    for text_ in (
        "(4,3):(1@0,1@1)",
        "(4,3):(1@0,0)",
        "(4,(2,3)):(2@1@0,(1@0@0,3@1))",
        "(4,3):(1@0,1@0)",
        "(4,3):(-1@0,1@1) o 0 o (4,3):(1,4)",
    ):
        layout = parse(text_)
        (figure,) = draw(layout).figures
        for i, row in enumerate(figure.grids[0].cells):
            assert [cell.text for cell in row] == [str(layout(i, j)) for j in range(len(row))]


def marks(figure):
    return [[c.mark for c in row] for row in figure.grids[0].cells]


def test_more_than_eight_colours_have_numbers():
    """Of what the number is of: the tile in order, the bank, the lane; what has eight colours, or is a
    scale, has none."""
    tiles = draw(parse("(16,12):(12,1)"), logical_divide(parse("(16,12):(12,1)"), (4, 4)), tile=(4, 4))
    assert (
        marks(tiles.figures[0])
        == marks(tiles.figures[1])
        == [[str(i // 4 + 4 * (j // 4)) for j in range(12)] for i in range(16)]
    )
    assert tiles.caption == "colours: tiles of 4 x 4, each with its number"
    banks = draw(parse(SMEM), color_by="bank", bits=16)
    assert marks(banks.figures[0]) == [
        [str(int(c.text) // 2 % 32) for c in row] for row in banks.figures[0].grids[0].cells
    ]
    assert [name for _fill, name in banks.legend] == [*map(str, range(32))]
    lanes = draw(xla.parse_shape("f32[8,256]{1,0:T(8,128)}"), color_by="lane")
    assert marks(lanes.figures[0]) == [[str(j % 128) for j in range(256)]] * 8
    chosen = draw(parse("(3,4):(4,1)"), color_by=lambda _c, offset: offset)
    assert marks(chosen.figures[0]) == [[str(4 * i + j) for j in range(4)] for i in range(3)]
    for few in (
        draw(parse("(16,8):(8,1)"), tile=(4, 4)),
        draw(parse("(16,16):(16,1)"), color_by="offset"),
        draw(parse("(99,99):(99,1)"), tile=(4, 4)),
    ):
        assert {*itertools.chain(*marks(few.figures[0]))} == {""}
        assert "number" not in few.caption
    for rule in ("thread", lambda coord, _offset: coord[0]):
        assert {row[0] for row in marks(draw(parse("(4097,1):(1,0)"), color_by=rule).figures[0])} == {""}
        assert len({row[0] for row in marks(draw(parse("(4096,1):(1,0)"), color_by=rule).figures[0])}) == 4096
    drawn = ET.fromstring(svg(banks)).iter("{http://www.w3.org/2000/svg}text")
    assert sorted(x.text for x in drawn if x.get("font-size") == "8") == sorted(
        itertools.chain(*marks(banks.figures[0]))
    )
    plain_text, raised = text(banks), text(banks, color=16)
    assert "72⁴" in raised
    assert "72^4" in text(banks, color=16, ascii=True)
    assert "⁴" not in plain_text


def luminance(fill):
    parts = [c / 255 for c in rgb(fill)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    low, high = sorted(map(luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_texts_and_lines():
    """WCAG 2: 4.5 for text, 3 for what else has to be seen; on every colour there is."""
    paper = [*map(tint, range(TINTS)), *map(ramp, range(RAMP)), "#ffffff"]
    assert min(contrast(ink(fill), fill) for fill in paper) >= 4.5
    assert contrast(FAINT, "#ffffff") >= 4.5
    assert min(contrast(colour, fill) for _broad, colour in STROKES for fill in paper) >= 3
    assert contrast(HATCH, "#ffffff") >= 3


def test_cells_beside_each_other_begin_at_one_height():
    for name in ("xla_relayout", "seed_beside_its_tile", "relayout_in_memory"):
        canvas = place(SCENES[name]())
        boxes = [b for found in canvas.fills.values() for b in found]
        left, right = (min(b.y for b in boxes if (b.x > 350) == side) for side in (False, True))
        assert left == right, name


def test_roles_of_an_xla_array():
    shape = "bf16[16,256]{1,0:T(8,128)(2,1)}"
    for role, at in (
        ("packing", lambda i, j: i % 2),
        ("sublane", lambda i, j: i // 2 % 4),
        ("lane", lambda i, j: j % 128),
    ):
        (figure,) = draw(xla.parse_shape(shape), color_by=role).figures
        for i, row in enumerate(figure.grids[0].cells):
            assert [c.fill for c in row] == [tint(at(i, j)) for j in range(256)]
    grid = figure.grids[0]
    assert grid.rows.labels[13] == ("13", "t1", "s2", "p1")
    assert grid.columns.labels[130] == ("130", "t1", "l2")


def test_functions_choose_colours():
    (figure,) = draw(
        parse("(2,3):(3,1)"), color_by=lambda c, o: [None, 1, "sky", "#00fF00"][o % 4] if c[0] == 0 else o
    ).figures
    assert [c.fill for c in figure.grids[0].cells[0]] == [None, tint(1), tint(0)]
    assert [c.fill for c in figure.grids[0].cells[1]] == [tint(3), tint(4), tint(5)]
    seen = []
    draw(MakeLayout((4, 6), (6, 1), origin_shape=(3, 4)), color_by=lambda c, o: seen.append((c, o)))
    assert seen == [((i, j), 6 * i + j) for i in range(3) for j in range(4)]
    for bad in ("taste", "#12345", "#12345g", "", 1.5, object(), "#112233\n", '"/><script>'):
        with pytest.raises(TlaError, match="the colour"):
            draw(parse("(2,3):(3,1)"), color_by=lambda c, o, bad=bad: bad)


# How the colour-blind see linear RGB. Source: Machado, Oliveira and Fernandes, 2009, severity 1.
SIGHT = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(fill):
    return np.array([c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb(fill)])


def lab(light):
    """CIELAB of linear sRGB."""
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ light
        / (0.9505, 1, 1.089)
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_the_hues_are_told_apart(sight):
    seen = [lab(np.clip(np.array(SIGHT[sight]) @ linear(tint(n)), 0, 1)) for n in range(8)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12  # 2.3 is just noticed


def test_the_colours_are_these(golden):
    """Okabe and Ito's hues in their strengths, and the ramp: a change of one is to be seen beside the others."""
    lines = [f"{k:>2} {tint(k)} {ink(tint(k))}" for k in range(TINTS)] + [
        f"ramp {k:>2} {ramp(k)} {ink(ramp(k))}" for k in range(RAMP)
    ]
    golden("viz/colours.txt", "\n".join([*lines, *(f"{name} {colour(name)}" for name in HUES)]) + "\n")
    assert [tint(k) for k in (32, 63)] == [tint(0), tint(31)]
    assert [colour(x) for x in (None, "#ABCDEF", 33)] == [None, "#abcdef", tint(1)]
    for bad in ("#abcde", "#abcdefa", "#ghijkl", "red", 1.5, "x#abcdef"):
        with pytest.raises(TlaError, match="the colour"):
            colour(bad)


def test_ink_is_black_or_white_whichever_is_read_better():
    """WCAG 2: the contrast of two colours is (lighter + 0.05) / (darker + 0.05), of relative luminances; of
    gamma 2 here."""
    for fill in [(k, k, k) for k in range(256)] + [(k, 255 - k, 7 * k % 256) for k in range(256)]:
        own = sum(weight * (level / 255) ** 2 for weight, level in zip((0.2126, 0.7152, 0.0722), fill))
        black, white = (own + 0.05) / 0.05, 1.05 / (own + 0.05)
        if abs(black - white) > 0.05:
            assert ink("#" + "".join(f"{level:02x}" for level in fill)) == ("#000000" if black > white else "#ffffff")


def test_text_is_read_on_every_colour():
    """A contrast of 4.5, as WCAG asks for."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    for fill in [*map(tint, range(TINTS)), *map(ramp, range(RAMP)), "#0072b2", "#d55e00", "#333333"]:
        low, high = sorted((weights @ linear(fill), weights @ linear(ink(fill))))
        assert (high + 0.05) / (low + 0.05) > 4.5, fill
    assert len({tint(n) for n in range(TINTS)}) == TINTS


# --------------------------------------------------------------------------------- nothing overlaps, nothing is cut off


def box_of(label):
    width = len(label.text) * label.size * CHARACTER
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - 0.76 * label.size, left + width, label.y + 0.24 * label.size


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_meets_another_or_leaves_the_picture(name):
    canvas = place(DRAWN[name]())
    boxes = sorted((box_of(x), x.text) for x in canvas.labels if x.text)
    for k, ((left, top, right, bottom), words) in enumerate(boxes):
        assert left >= 0, words
        assert top >= 0, words
        assert right <= canvas.width, words
        assert bottom <= canvas.height, words
        for (_left, top2, _right, bottom2), words2 in itertools.takewhile(
            lambda b, right=right: b[0][0] < right - 0.01, boxes[k + 1 :]
        ):
            assert top2 >= bottom - 0.01 or bottom2 <= top + 0.01, (words, words2)
    for line in itertools.chain(*canvas.lines.values()):
        assert 2 <= min(line) <= max(line.x1, line.x2) <= canvas.width - 2
        assert max(line.y1, line.y2) <= canvas.height - 2
        for (left, top, right, bottom), words in boxes:  # a border goes through no text
            assert not (line.x1 == line.x2 and left < line.x1 < right and line.y1 < bottom and top < line.y2), words


def test_hatching_stays_in_its_cell():
    from tla.viz.placement import Box
    from tla.viz.svg import hatching

    for b in (Box(0, 0, 26, 24), Box(3.5, 100.25, 40, 24), Box(10, 10, 1, 1)):
        lines = [*hatching(b)]
        assert lines or b.width == 1
        for x1, y1, x2, y2 in lines:
            assert b.x <= x1 <= x2 <= b.x + b.width
            assert b.y - 1e-9 <= y2 <= y1 <= b.y + b.height + 1e-9


# ------------------------------------------------------------------------------------------------- what is no use

MARKUP = "</text><script>alert('x')</script>&\"\x1b[31m\0\n%{}\\input{/etc/passwd}\u202e"


def test_markup_is_text_everywhere():
    scene = draw(parse("(2,3):(3,1)"), titles=[MARKUP])
    for picture in (svg(scene), html(scene)):
        assert "<script" not in picture
        assert "\x1b" not in picture
        assert "\0" not in picture
    title = ET.fromstring(svg(scene)).get("aria-label").partition(": 2 by 3 cells")[0]
    assert title == "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in MARKUP)
    assert "\x1b" not in text(scene)
    assert "\\input{" not in tikz(scene)
    assert r"\textbackslash{}input\{/etc/passwd\}" in tikz(scene).replace("{-}", "-")
    assert "default-src 'none'" in html(scene)
    for reference in ("http://", "https://", "url(", "href", "src="):
        assert reference not in html(scene).replace('xmlns="http://www.w3.org/2000/svg"', "").replace("-src ", "")


def test_latex_gets_what_pdflatex_reads():
    """Latin-1 as it is, anything past it a `?`, and what LaTeX gives a meaning as text."""
    printed = tikz(draw(parse("2:1"), titles=["\u00ff\u0100\u2190 a~b^c<d>e-f`g'h{}$&#_%\\"]))
    assert "{\u00ff?? a" in printed
    meant = [
        r"\textasciitilde{}",
        r"\textasciicircum{}",
        r"\textless{}",
        r"\textgreater{}",
        "{-}",
        r"\textasciigrave{}",
        r"\textquotesingle{}",
    ]
    assert "a" + "".join(x + y for x, y in zip(meant, "bcdefgh")) + r"\{\}\$\&\#\_\%\textbackslash{}" in printed


def test_titles_are_broken_between_numbers():
    canvas = place(SCENES["deep"]())
    assert [x.text for x in canvas.labels if x.size == 13] == [
        "((_2,_2,_2,_2),(_2,_2,_2,_2)):",
        "((_1,_4,_16,_64),(_2,_8,_32,_128))",
    ]


@pytest.mark.parametrize(
    ("text_", "characters", "lines"),
    [
        ("ab cd ef", 8, ["ab cd ef"]),
        ("ab cd ef", 7, ["ab cd", "ef"]),
        ("ab cd ef", 5, ["ab cd", "ef"]),
        ("ab cd ef", 4, ["ab", "cd", "ef"]),
        ("abcd ", 4, ["abcd"]),
        ("ab:cd", 5, ["ab:cd"]),
        ("ab:cd", 4, ["ab:", "cd"]),
        ("ab,cd", 3, ["ab,", "cd"]),
        ("(1,2):(3,4)", 10, ["(1,2):", "(3,4)"]),
        ("(1,2):(3,4)", 5, ["(1,", "2):", "(3,4)"]),
        ("abcd", 3, ["abc", "d"]),
        ("  ", 1, []),
    ],
)
def test_a_line_is_as_long_as_it_may_be(text_, characters, lines):
    """At blanks; what is too long by itself behind colons, then behind commas, then anywhere."""
    assert _broken(text_, characters) == lines


def test_titles_that_are_long_or_wide_are_broken():
    for title in ("x" * 500, "\N{CJK UNIFIED IDEOGRAPH-5C42}" * 100, "a b " * 100):
        canvas = place(draw(parse("(2,3):(3,1)"), titles=[title]))
        assert "".join(x.text for x in canvas.labels if x.size == 13).replace(" ", "") == title.replace(" ", "")
        for x in canvas.labels:
            wide = sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in x.text)
            assert x.x + wide * x.size * CHARACTER * (x.anchor == "start") <= canvas.width


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: draw(), "draw of 0 layouts"),
        (lambda: draw(*[ROWS] * 257), "draw of 257 layouts\n  expected  1 to 256"),
        (lambda: draw(ROWS, limit=0), "draw with the limit 0"),
        (lambda: draw(ROWS, limit=N), "draw with the limit N"),
        (lambda: draw(ROWS, axes=(-1, 0)), "the axes (-1,0) of"),
        (lambda: draw(ROWS, axes=(0, True)), "the axes (0,True) of"),
        (lambda: draw(ROWS, tile=(0, 4)), "tile (0,4) of"),
        (lambda: draw(ROWS, tile=(4,)), "tile (4) of (_8,_12):(_12,_1)\n  expected  2 integers"),
        (
            lambda: draw(parse("(2,3):(3,1)"), color_by="lane"),
            "color_by 'lane' of (2,3):(3,1)\n  expected  an XLA shape with tiles",
        ),
        (
            lambda: draw_threads(parse("(2,2):(1,2)"), (2, 1)),
            "value 1 of thread 0 of (2,2):(1,2) is 2\n  expected  an element of the tile (2,1): 0 to 1",
        ),
        (lambda: draw(MakeLayout((1,) * 33)), "draw of 33 modes"),
        (lambda: draw(ROWS, tile=(N, 4)), "tile (N,4) of"),
        (lambda: draw(ROWS, bits=N), "elements of N bits"),
        (
            lambda: draw("(2,3):(3,1)"),
            "draw of a str\n  expected  a layout, or an XLA shape\n  fix       write parse('(2,3):(3,1)')",
        ),
        (lambda: draw((2, 3)), "draw of a tuple"),
        (lambda: draw(ROWS, titles=[]), "0 titles for 1 layouts"),
        (lambda: draw(ROWS, axes=(0, 0)), "the axes (0,0) of"),
        (lambda: draw(ROWS, axes=(0, 2)), "the axes (0,2) of"),
        (lambda: draw(ROWS, axes=(0,)), "the axes (0) of"),
        (lambda: draw(ROWS, axes=1), "the axes (1) of"),
        (lambda: draw(ROWS, bits=0), "elements of 0 bits"),
        (lambda: draw(ROWS, color_by=3), "color_by 3"),
        (lambda: draw(ROWS, tile=((2, 2), 3)), "tile ((2,2),3) of"),
        (
            lambda: draw(MakeIdentityLayout((3, 4)), color_by="bank"),
            "color_by the offsets of (3,4):(_1@0,_1@1), which are no integers",
        ),
        (
            lambda: draw_threads(parse("(2,2,2):(1,2,4)"), (2, 4)),
            "draw_threads of (2,2,2):(1,2,4)\n  expected  two modes",
        ),
        (lambda: draw_threads(ROWS, 96), "draw_threads of a tile 96"),
        (lambda: draw_threads(ROWS, (0, 96)), "draw_threads of a tile (0,96)"),
        (lambda: draw_threads(ROWS, (8, 12), "taste"), "color_by 'taste' of threads"),
        (lambda: draw_threads(parse("(2,2):(-1,2)"), (2, 2)), "value 0 of thread 1 of (2,2):(-1,2) is -1"),
        (lambda: draw_threads(parse("(65536,65536):(1,65536)"), (4, 4)), "draw_threads of (65536,65536):(1,65536)"),
        (
            lambda: draw_threads(ROWS, (2**40, 2**40)),
            "draw_threads of a tile (1099511627776,1099511627776)\n  expected  65536 elements at most",
        ),
        (lambda: draw(xla.parse_shape("(f32[3], f32[4])")), "draw of a TupleShape"),
        (lambda: save(draw(ROWS), "a"), "a drawing in 'a'"),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises(TlaError) as caught:
        f()
    assert str(caught.value).startswith(message)


def test_fixes():
    assert isinstance(draw(group[2, 33](MakeLayout((1,) * 33))), Scene)
    assert isinstance(draw(parse("(2,3):(3,1)")), Scene)
    assert "thread" in RULES
    assert all(isinstance(draw(ROWS, color_by=lambda c, o, hue=hue: hue), Scene) for hue in HUES)


@pytest.mark.parametrize(
    "layout",
    [
        "(65536,65536):(1,65536)",
        "1073741824:1",
        "(2,2,1073741824):(1,2,4)",
        "(1,1,1000):(0,0,1)",
        "Sw<3,4,3> o _0 o (32768,32768):(32768,1)",
        "(3037000500,3037000499):(3037000499,1)",
    ],
)
def test_what_is_too_large_is_summed_up(layout):
    (figure,) = draw(parse(layout)).figures
    assert "of these" in figure.notes[-1]
    (grid,) = figure.grids
    assert len(grid.cells) * len(grid.cells[0]) <= 128
    for i, row in enumerate(grid.cells):
        for j, cell in enumerate(row):
            at = (i, j, 0)[: len(parse(layout).shape)] if isinstance(parse(layout).shape, tuple) else j
            assert cell.text == str(int(parse(layout)(at)))


@pytest.mark.parametrize(
    ("layout", "limit", "shape"),
    [
        (parse("(256,256):(1,256)"), None, (256, 256)),  # 65,536 coordinates are drawn
        (parse("(256,257):(1,256)"), None, (8, 16)),
        (parse("(1,2,256):(0,1,2)"), None, (1, 2, 256)),  # 256 grids
        (parse("(1,2,257):(0,1,2)"), None, (1, 2, 1)),
        (parse("(1,2,16,17):(0,1,2,32)"), None, (1, 2, 1, 1)),
        (parse("(4,3):(3,1)"), 12, (4, 3)),
        (parse("(4,3):(3,1)"), 11, (4, 3)),  # its corner is all of it
        (parse("(4,300):(300,1)"), 1200, (4, 300)),
        (parse("(4,300):(300,1)"), 1199, (4, 16)),
        (parse("(300):(1)"), 299, (16,)),
        (Layout((2, 256), (1, dim("S"))), None, (2, 256)),  # of offsets that are not known 512
        (Layout((2, 257), (1, dim("S"))), None, (2, 16)),
        (Layout((0, 2000, 2000), (1, 1, 1)), None, (0, 16, 1)),
    ],
    ids=str,
)
def test_how_much_is_drawn(layout, limit, shape):
    """Up to the limits of docs/viz.md all of a layout; then the corner of 8 rows and 16 columns of its first grid."""
    (figure,) = draw(layout, color_by="none", **({} if limit is None else {"limit": limit})).figures
    rows, columns, *others = (1, *shape) if len(shape) == 1 else shape
    assert len(figure.grids) == (1 if 0 in shape else int(np.prod(others)))
    assert {(len(g.cells), len(g.cells[0]) if g.cells else 0) for g in figure.grids} == {
        (rows, columns) if 0 not in shape else (0, 0)
    }
    whole = tuple(map(int, tla.product_each(layout.shape))) if isinstance(layout.shape, tuple) else (int(layout.shape),)
    said = f"{int(np.prod(whole)):,} coordinates, {' x '.join(map(str, whole))}: of these {' x '.join(map(str, shape))}"
    assert figure.notes == (() if shape == whole else (said,))


def test_the_limit_is_of_all_layouts_together():
    wide = parse("(4,300):(300,1)")
    for count, limit, columns in (
        (1, 1200, 300),
        (2, 2400, 300),
        (2, 2399, 16),
        (3, 3600, 300),
        (3, 3599, 16),
        (2, 1, 16),
    ):
        drawn = draw(*[wide] * count, color_by="none", limit=limit)
        assert [len(f.grids[0].cells[0]) for f in drawn.figures] == [columns] * count


def test_elements_are_of_one_bit_or_more():
    for bits, banks in ((1, 1), (16, 8), (32, 16)):  # 16 of them
        (figure,) = draw(parse("(16):(1)"), color_by="bank", bits=bits).figures
        assert len({c.fill for c in figure.grids[0].cells[0]}) == banks


def test_as_many_layouts_as_there_are_grids_are_drawn_and_as_many_modes():
    assert len(draw(*[parse("1:0")] * 256).figures) == 256
    assert len(draw(MakeLayout((1,) * 32)).figures) == 1


@pytest.mark.parametrize(("width", "columns"), [(1, [1, 1, 1]), (16, [1, 1, 1]), (17, [2, 1]), (22, [2, 1]), (23, [3])])
def test_a_line_has_one_column_at_least(width, columns):
    lines = text(draw(parse("(2,3):(30000,11111)"), color_by="none"), width=width).splitlines()[1:]
    assert [line.split() for line in lines if not set(line) & set("│┌└")] == [
        x
        for k, n in enumerate(columns)
        for x in ([[]] if k else []) + [[str(c) for c in range(sum(columns[:k]), sum(columns[: k + 1]))]]
    ]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        *(
            (8, [1] * 16),
            (10, [1] * 16),
            (11, [2] * 8),
            (16, [2] * 8),
            (18, [2] * 8),
            (19, [4] * 4),
            (27, [4] * 4),
            (34, [4] * 4),
        ),
        *((35, [8, 8]), (50, [8, 8]), (51, [12, 4]), (66, [12, 4]), (67, [16])),
    ],
)
def test_a_grid_that_is_too_wide_is_cut_at_its_highest_border(width, columns):
    """Of 16 columns in blocks of 4 and of 2, cells of two characters, three where a border follows: as many as a line
    holds, of these up to the last border of a block of 4, if there is one, else of 2, else all."""
    lines = text(draw(parse("(1,(2,2,4)):(0,(1,2,4))"), color_by="none"), width=width).splitlines()[1:]
    assert max(map(len, lines)) <= width
    assert [len(line.split()) for line in lines if line.strip() and not set(line) & set("│┃┌┏└┗")] == columns


def test_what_is_padding_where_that_is_not_known_is_drawn_as_all_else():
    part = tla.zipped_divide(parse("(4,6):(6,1)", origin_shape=(3, 4)), (2, 3))
    assert part.origin_shape is None
    (figure,) = draw(part).figures
    assert figure.notes == ("part of it is padding",)
    assert [[c.text for c in row] for row in figure.grids[0].cells] == [
        [str(part(i, j)) for j in range(4)] for i in range(6)
    ]
    assert not any(c.padding for row in figure.grids[0].cells for c in row)


def test_tensors_of_one_mode_and_of_no_buffer():
    (figure,) = draw(MakeTensor(None, parse("8:2"), offset=5)).figures
    assert [[c.text for c in row] for row in figure.grids[0].cells] == [[str(5 + 2 * k) for k in range(8)]]
    for data, bits in ((None, 32), (np.zeros(8, np.int8), 8), (np.zeros(8), 64)):
        caption = draw(MakeTensor(data, parse("(4,2):(2,1)")), color_by="bank").caption
        assert caption.startswith(f"colours: banks of 4 bytes, elements of {bits} bits")


@pytest.mark.parametrize(
    ("shape", "extents"),
    [
        ("f32[4,6]{1,0:T(2,3)}", (2, 3)),
        ("f32[4,6]{0,1:T(2,3)}", (3, 2)),
        ("f32[2,8,16]{2,1,0:T(4,8)}", (1, 4, 8)),
        ("f32[8,2,16]{0,2,1:T(4,8)}", (8, 1, 4)),
        ("bf16[16,256]{1,0:T(8,128)(2,1)}", (8, 128)),
        ("f32[10]{0:T(4)}", (4,)),
        ("f32[4,6]{1,0}", None),
        ("f32[6]{0:T(2,3)}", None),  # of more dimensions than the array has
        ("f32[4,6]{1,0:T(*,6)}", None),
    ],
)
def test_the_first_tile_of_an_array_is_of_its_minor_dimensions(shape, extents):
    tiling = as_subject(xla.parse_shape(shape)).tiling
    assert (tiling and tiling.extents) == extents


@pytest.mark.parametrize(
    ("rule", "other"), [("lane", "T(8,4)(4,1)"), ("sublane", "T(8,8)(2,1)"), ("packing", "T(8,4)(4,1)")]
)
def test_roles_are_those_of_the_first_array_in_what_is_beside_it(rule, other):
    shapes = [xla.parse_shape(f"bf16[8,16]{{1,0:{tiles}}}") for tiles in ("T(4,8)(2,1)", other)]
    first, second = draw(*shapes, color_by=rule).figures
    assert len({*fills(first).values()}) > 1
    assert fills(first) == fills(second) != fills(draw(shapes[1], color_by=rule).figures[0])


def test_linear_layouts_by_their_bases():
    """Who holds a cell: the xor of the coordinates of the bases of a thread's bits, and of a register's."""
    bases = {"register": [(0, 1), (1, 0)], "lane": [(0, 2), (2, 0)], "warp": [(0, 4)]}
    for outs in ({"a": 4, "b": 8}, {"a": 2, "b": 2, "c": 8}):
        given = {
            k: [v if len(outs) == 2 else (v[0] >> 1, v[0] & 1, v[1]) for v in vectors] for k, vectors in bases.items()
        }
        (figure,) = draw(LinearLayout(given, outs)).figures
        assert figure.notes == ("4 registers, 4 lanes, 2 warps",)
        cells = figure.grids[0].cells
        assert (len(cells), len(cells[0])) == (4, 8)
        for thread, value in itertools.product(range(8), range(4)):
            held = [v for k, v in enumerate(bases["lane"] + bases["warp"]) if thread >> k & 1]
            held += [v for k, v in enumerate(bases["register"]) if value >> k & 1]
            i, j = (functools.reduce(operator.xor, (v[axis] for v in held), 0) for axis in (0, 1))
            assert cells[i][j].text == f"T{thread}\nV{value}"


def test_tables_of_tensors_have_rules_between_their_slices(capsys):
    """As CuTe prints them: a line of - as long as a row between matrices, of = between these again; nothing
    of no elements."""
    tla.print_tensor(tla.make_tensor(0, (2, 3, 2)), False)
    slices = ["    0    2    4\n    1    3    5\n", "    6    8   10\n    7    9   11\n"]
    assert capsys.readouterr().out == f"{slices[0]}{'-' * 15}\n{slices[1]}"
    tla.print_tensor(tla.make_tensor(0, (1, 2, 2, 2)), False)
    rows = [f"{2 * k:5d}{2 * k + 1:5d}\n" for k in range(4)]
    dashes, double = "-" * 10 + "\n", "=" * 10 + "\n"
    assert capsys.readouterr().out == rows[0] + dashes + rows[1] + double + rows[2] + dashes + rows[3]
    tla.print_tensor(tla.make_tensor(7, 3), False)
    assert capsys.readouterr().out == "    7\n    8\n    9\n"
    for shape in ((0,), (2, 0), (0, 2), (2, 3, 0), (0, 3, 2), (2, 0, 2), (1, 1, 2, 0)):
        tla.print_tensor(tla.make_tensor(0, shape), False)
        assert not capsys.readouterr().out.strip(), shape
    for given in (tla.make_tensor(0, (1, 1, 1, 1, 1)), tla.make_tensor(0, ())):
        with pytest.raises(TlaError, match="a tensor of rank 1 to 4"):
            tla.print_tensor(given)


def test_elements_are_printed_by_their_type(capsys):
    for data, printed in (
        (np.array([1, -2], np.int16), "    1\n   -2\n"),
        (np.array([1, 200], np.uint8), "    1\n  200\n"),
        (np.array([True, False]), "  1\n  0\n"),
        (np.array([1.5, -2], np.float16), "    1.50\n   -2.00\n"),
        (np.array([1.5, -2], np.float32), "  1.50e+00\n -2.00e+00\n"),
        (np.array([1.5, -2]), "  1.500e+00\n -2.000e+00\n"),
    ):
        tla.print_tensor(tla.make_tensor(data, 2), False)
        assert capsys.readouterr().out == printed
    tensor = tla.make_tensor(np.arange(8, dtype=np.int32), (4, 2))
    tla.print_tensor(tensor)
    assert (
        capsys.readouterr().out.splitlines()[0] == f"ptr[32b]({np.asarray(tensor.data).ctypes.data:#x}) o (4,2):(_1,4):"
    )


@pytest.mark.parametrize(
    ("layout", "table"),
    [
        (
            "(2,3):(3,1)",
            "(2,3):(3,1)\n      0   1   2\n    +---+---+---+\n 0  | 0 | 1 | 2 |\n    +---+---+---+\n 1  | 3 | 4 | 5 "
            "|\n    +---+---+---+\n",
        ),
        ("(1,2):(0,8)", "(1,2):(0,8)\n      0   1\n    +---+---+\n 0  | 0 | 8 |\n    +---+---+\n"),
        ("(1,2):(0,9)", "(1,2):(0,9)\n       0    1\n    +----+----+\n 0  |  0 |  9 |\n    +----+----+\n"),
        (
            "(1,2):(1@0,1@1)",
            "(1,2):(1@0,1@1)\n          0       1\n    +-------+-------+\n 0  | (0,0) | (0,1) |\n    "
            "+-------+-------+\n",
        ),
    ],
)
def test_tables_of_layouts(layout, table, capsys):
    """Cells as wide as the cosize: an offset of 9 has a cosize of 10."""
    tla.print_layout(parse(layout))
    assert capsys.readouterr().out == table


def test_tables_are_limited(monkeypatch):
    with pytest.raises(TlaError, match="known sizes, 65,536 cells at most"):
        tla.print_layout(parse("(256,257):(1,256)"))
    with pytest.raises(TlaError, match="known sizes, 65,536 elements at most"):
        tla.print_tensor(tla.make_tensor(0, (256, 257)))
    with pytest.raises(TlaError, match="known sizes"):
        tla.print_layout(MakeLayout((dim("M"), 4)))
    with pytest.raises(TlaError, match="known sizes"):
        tla.print_layout(MakeLayout((4, dim("M"))))
    for shape in ("8:1", "(2,2,2):(1,2,4)"):
        with pytest.raises(TlaError, match="a layout of rank 2"):
            tla.print_layout(parse(shape))
    module = importlib.import_module("tla.viz.print_layout")
    monkeypatch.setattr(module, "MOST_CELLS", 6)
    tla.print_layout(parse("(2,3):(3,1)"))
    tla.print_tensor(tla.make_tensor(0, (2, 3)))
    for shape in ((7, 1), (2, 4)):
        with pytest.raises(TlaError, match="6 cells at most"):
            tla.print_layout(MakeLayout(shape))
        with pytest.raises(TlaError, match="6 elements at most"):
            tla.print_tensor(tla.make_tensor(0, shape))


def shown_in(fill, colours):
    """The number of the colour in which a terminal of 8 or 16 shows a cell."""
    (found,) = re.findall(
        r"\x1b\[30;(\d+)m", text(draw(parse("1:0"), color_by=lambda coord, offset: fill), color=colours)
    )
    return int(found) - 40 if int(found) < 50 else int(found) - 92


@pytest.mark.parametrize(
    ("width", "lines"), [(4, [1, 1, 1]), (8, [1, 1, 1]), (9, [2, 1]), (13, [2, 1]), (14, [3]), (None, [3])]
)
def test_as_many_entries_of_a_legend_are_in_a_line_as_fit(width, lines):
    """Of four characters each, a blank between two."""
    scene = draw(parse("(3,1):(1,0)"), color_by="thread")
    shown = re.sub(r"\x1b\[[\d;]*m", "", text(scene, color=256, width=width)).splitlines()
    assert [len(line.split()) for line in shown if re.match(" T", line)] == lines
    assert width is None or max(map(len, shown[1:])) <= max(width, 12)  # the caption's longest word has seven


def test_grids_in_columns_stay_beside_each_other_where_they_fit():
    scene = draw(SM80_16x8x8_F32F16F16F32_TN)
    beside = text(scene)
    width = max(map(len, beside.splitlines()))
    assert text(scene, width=width) == text(scene, width=width + 1) == beside
    assert max(map(len, text(scene, width=width - 1).splitlines())) < width


def test_cells_without_a_number_have_none():
    assert "^" not in text(draw(parse("(2,3):(3,1)"), color_by="thread"), color=256, ascii=True)


def test_numbers_of_colours_stand_raised_where_there_are_colours():
    scene = draw(parse("(4,5):(5,1)"), color_by=lambda coord, offset: offset - 6)
    words = {form: re.sub(r"\x1b\[[\d;]*m", "", text(scene, color=256, ascii=form)).split() for form in (False, True)}
    raised = dict(zip("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    for n in range(20):
        assert f"{n}{''.join(raised[c] for c in str(n - 6))}" in words[False]
        assert f"{n}^{n - 6}" in words[True]
    assert {str(n) for n in range(20)} <= {*text(scene).split()}


def test_terminals_of_few_colours_show_each_hue_as_another():
    hues = [shown_in(n, 16) for n in range(8)]
    assert len({*hues}) == 8
    assert [shown_in(n, 16) for n in range(8, 32)] == hues * 3
    assert not {0, 4, 8} & {*hues}  # black text is not read on these


@pytest.mark.parametrize(
    ("fill", "of_8", "of_16"),
    [
        *(
            ("#ff0000", 1, 1),
            ("#00ff00", 2, 2),
            ("#ffff00", 3, 3),
            ("#ff00ff", 5, 5),
            ("#00ffff", 6, 6),
            ("#ff0010", 1, 1),
            ("#ff1000", 1, 1),
        ),
        *(
            ("#ffaaaa", 1, 9),
            ("#aaffaa", 2, 10),
            ("#aaffff", 6, 14),
            ("#ff8080", 1, 9),
            ("#ff7f7f", 1, 1),
        ),  # pale ones are the brighter ones
        *(("#0000ff", 5, 12), ("#2000ff", 5, 12), ("#0020ff", 6, 12)),  # no dark blue
        *(("#cccccc", 7, 7), ("#000000", 7, 7), ("#d9ffff", 7, 7), ("#d8ffff", 6, 14)),
    ],
)
def test_terminals_of_few_colours_show_the_nearest_hue(fill, of_8, of_16):
    assert (shown_in(fill, 8), shown_in(fill, 16)) == (of_8, of_16)


def test_threads_that_are_drawn_are_limited(monkeypatch):
    with pytest.raises(TlaError, match="more than 65536 pairs\n  expected  65536 at most"):
        draw_threads(parse("(257,256):(0,0)"), (1, 1))
    monkeypatch.setattr("tla.viz.threads.LIMIT", 8)
    assert draw_threads(parse("(2,4):(1,2)"), (2, 4)).figures[0].grids[0].cells[1][3].text == "T1\nV3"
    assert draw_threads(parse("(2,1):(1,0)"), (4, 2)).figures[0].grids[0].cells[3][1] == Cell("")
    with pytest.raises(TlaError, match="8 elements at most"):
        draw_threads(parse("(2,4):(1,2)"), (3, 3))


def test_colours_of_threads_and_of_values():
    for rule, k in (("thread", 0), ("value", 1)):
        drawing = draw_threads(parse("((2,2),3):((1,2),4)"), (4, 3), rule)
        assert drawing.caption == f"colours: {rule}s"
        for i, row in enumerate(drawing.figures[0].grids[0].cells):
            assert [c.fill for c in row] == [tint((i, j)[k]) for j in range(3)]
            assert [c.text for c in row] == [f"T{i}\nV{j}" for j in range(3)]
    (cell,) = draw_threads(parse("(2,2):(0,0)"), (1, 1)).figures[0].grids[0].cells[0]
    assert (cell.text, cell.fill) == ("T0\nV0\n+3", tint(0))


def test_a_scene_without_a_caption_ends_with_its_grid():
    scene = draw(parse("(2,3):(3,1)"), color_by="none")
    assert (scene.caption, scene.legend) == ("", ())
    assert text(scene, color=True) == text(scene)
    assert text(draw(parse("(2,3):(3,1)"), color_by="thread"), color=8).splitlines()[-2:] == [
        "colours: threads, the index of mode 0",
        " ".join(f"\x1b[30;{number}m T{k} \x1b[0m" for k, number in enumerate((46, 43))),
    ]


def test_layouts_of_no_elements_and_of_one():
    for layout in ("(0,2):(1,1)", "0:1", "(2,0,3):(1,1,1)", "(2,3,0):(1,1,1)"):
        assert text(draw(parse(layout))) == f"{layout}\n(no elements)"
        assert "(no elements)" in svg(draw(parse(layout)))
    for layout in ("1:0", "():()", "(1):(5)", "(1,1,1):(0,0,0)"):
        (figure,) = draw(parse(layout)).figures
        assert figure.grids[0].cells == ((("0", None, False, ""),),)


@pytest.fixture
def _unknown():
    ints.register_leaf(Unknown, lambda question, a, b: True if question in ("==", "<=") and a is b else None)
    yield
    del ints.KINDS[Unknown]


@pytest.mark.usefixtures("_unknown")
def test_sizes_that_are_not_known():
    a = Layout((M, N), (N, 1))
    with pytest.raises(TlaError, match="draw of \\(M,N\\):\\(N,1\\)"):
        draw(a)
    assert a._repr_svg_() is None
    assert a._repr_html_() == "<code>(M,N):(N,1)</code>"
    for padded in (Layout((4, 8), (8, 1), (M, N)),):
        with pytest.raises(TlaError, match="origin_shape of"):
            draw(padded)
        assert padded._repr_html_() == "<code>(4,8):(8,1)</code>"


@pytest.mark.usefixtures("_unknown")
def test_strides_that_are_not_known_are_drawn_as_text():
    (figure,) = draw(Layout((2, 3), (N, 1))).figures
    assert figure.grids[0].cells[1][2].text == str(Layout((2, 3), (N, 1))(1, 2))
    with pytest.raises(TlaError, match="no integers"):
        draw(Layout((2, 3), (N, 1)), color_by="offset")


# ------------------------------------------------------------------------------------------------- notebooks


def test_notebooks_show_layouts():
    for x in (ROWS, parse(SMEM), xla.parse_shape("f32[3,5]{1,0:T(2,2)}"), composition(ROWS, (Int[4](), Int[4]()))):
        assert ET.fromstring(x._repr_svg_()).tag.endswith("svg")
        assert x._repr_svg_() in x._repr_html_()
    assert "of these 8 x 16" in parse("(65,64):(64,1)")._repr_svg_()
    assert draw(ROWS)._repr_svg_() == svg(draw(ROWS))
    assert repr(draw(ROWS)) == "<Drawing of (_8,_12):(_12,_1)>"
    broken = xla.parse_shape("f32[?]")
    assert broken._repr_svg_() is None
    assert broken._repr_html_() == "<code>f32[?]</code>"
    assert (
        '"' not in xla.parse_shape("f32[<=3]")._repr_html_().replace("&lt;", "").split("aria-label=")[1].split('"')[1]
    )


def test_notebooks_set_what_is_symbolic():
    """Where no picture can be drawn there is LaTeX, and where that says no more than text, text."""
    m, n = dims("M N")
    tiled = parse("((4,M//4),N):((1,4),4)", symbols=[m, n])
    leaf = r"\mathtt{4}"
    rows = rf"\left(\left({leaf},\left\lfloor \frac{{M}}{{4}} \right\rfloor\right),N\right)"
    assert tiled._repr_latex_() == rf"${rows}:\left(\left(\mathtt{{1}},{leaf}\right),{leaf}\right)$"
    assert tiled.shape._repr_latex_() == f"${rows}$"
    for x in (tiled, tiled.shape):
        assert (x._repr_html_(), x._repr_svg_()) == (None, None)
    known = parse("((4,2),3):((1,4),8)")
    assert (known._repr_latex_(), known.shape._repr_latex_(), known.shape._repr_html_()) == (
        None,
        None,
        "<code>((4,2),3)</code>",
    )
    assert parse("(2,2):(1,N)", symbols=[n])._repr_svg_() is not None
    assert m._repr_latex_() == "$M$"


def test_notebooks_set_exact_quotients_as_fractions():
    m, n = dim("M", multiple_of=32), dim("N")
    floor, ceil = r"\left\lfloor \frac{N}{16} \right\rfloor", r"\left\lceil \frac{N}{16} \right\rceil"
    for x, wanted in (
        (m // 32, r"\frac{M}{32}"),
        (ceil_div(m, 16), r"\frac{M}{16}"),
        (n // 16, floor),
        (ceil_div(n, 16), ceil),
        ((m * n) // 8, r"\frac{M}{8} \, N"),
        (m // 64, r"\left\lfloor \frac{M}{64} \right\rfloor"),
    ):
        assert x.latex() == wanted, x
    assert r"\frac{M}{32}" in MakeLayout((m // 32, 4))._repr_latex_()


def test_notebooks_show_kernels_and_conditions():
    for x in (SM75_U16x2_LDSM_T, make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN), SM70_8x8x4_F32F16F16F32_TN):
        assert ET.fromstring(x._repr_svg_()).tag.endswith("svg")
    m, n = dims("M N")
    conditions = {
        m < n: "M < N",
        m <= 2 * n: r"M \le 2 \, N",
        m.equals(n): "M = N",
        n.is_multiple_of(8): r"\mathtt{8} \mid N",
    }
    for condition, formula in conditions.items():
        assert condition._repr_latex_() == f"${formula}$"
        assert condition._repr_html_() is None


def test_notebooks_show_relayouts_and_lists():
    move = xla.relayout("f32[8,12]{1,0}", "f32[8,12]{1,0:T(4,4)}")
    assert all(str(shape) in move._repr_svg_() for shape in (move.source, move.destination))
    assert notebook.listed([ROWS, move]).count("<svg") == 2
    assert notebook.listed((ROWS, 4)) is None
    assert notebook.listed(parse("((4,2),3):((1,4),8)").shape) == "<code>((4,2),3)</code>"


def test_notebooks_show_errors_without_what_is_inside():
    class Shell:
        """What IPython has of this."""

        def __init__(self):
            self.display_formatter = types.SimpleNamespace(formatters={"text/html": self})
            self.kinds, self.shown = {}, None

        def for_type(self, kind, make):
            self.kinds[kind] = make

        def register_magic_function(self, function, kind, name):
            self.magic = {(kind, name): function}

        def set_custom_exc(self, kinds, handler):
            self.kinds |= dict.fromkeys(kinds, handler)

        def showtraceback(self, error, tb_offset=None):
            self.shown = traceback.format_exception(*error)

    shell = Shell()
    tla.load_ipython_extension(shell)
    assert {list, tuple, TlaError} == {*shell.kinds}
    assert (
        shell.magic["line_cell", "tla"]("A = (8,6):(1,8)", "zipped_divide(A, (4,2))")._repr_html_().count("<svg") == 1
    )
    try:
        composition(ROWS, parse("(6,2):(1,7)"))
    except TlaError as error:
        shell.kinds[TlaError](shell, type(error), error, error.__traceback__)
    frames = [line for line in shell.shown if line.startswith("  File")]
    assert len(frames) == 1
    assert "test_viz.py" in frames[0]
    assert "fix" in shell.shown[-1]


def test_a_huge_mode_beside_an_empty_one_is_not_gone_through():
    """Its coordinates, 32 GiB of them, were made though there is no element."""
    assert draw(parse("(0,4294967296):(1,1)")).figures[0].notes == ("0 coordinates, 0 x 4294967296: of these 0 x 16",)


def test_the_conflicts_of_an_access_are_marked():
    columns = parse("(8,2):(1,8)")
    scene = draw(parse("(8,4):(32,1)"), color_by="bank", bits=32, owners=parse("(8,1):(1,0)"))
    assert scene.figures[0].title == "(8,4):(32,1): 8-way conflict"
    assert [row[0].text for row in scene.figures[0].grids[0].cells] == [f"{32 * i}*" for i in range(8)]
    assert scene.figures[0].grids[0].cells[0][1].text == "1"
    tensor = MakeTensor(None, parse("(8,4):(32,1)"), offset=5)
    moved = draw(tensor, color_by="bank", bits=32, owners=parse("(8,1):(1,0)")).figures[0]
    assert [row[0].text for row in moved.grids[0].cells] == [f"{32 * i + 5}*" for i in range(8)]
    free = draw(parse("Sw<2,0,5> o 0 o (4,4):(32,1)"), color_by="bank", owners=parse("(4,1):(1,0)"))
    assert free.figures[0].title.endswith(": no conflict")
    for step, title in (
        (128, "8-way conflict"),
        (136, "no conflict"),
    ):  # 8 blocks of 32 bytes, 512 bytes apart, and 544
        layout = parse(f"(8,8):({step},1)")
        in_ub = draw(layout, color_by="ub_bank", bits=32, owners=parse("(8,8):(1,8)"))
        assert in_ub.figures[0].title == f"{layout}: {title}"
    with pytest.raises(TlaError, match="color_by='bank'"):
        draw(parse("(8,4):(32,1)"), owners=columns)


def test_more_than_32_tiles_are_3_colours_apart_down_and_1_across():
    """Of eight: no two tiles that touch, at a corner either, have one colour."""
    grid = draw(parse("(6,7):(7,1)"), tile=(1, 1)).figures[0].grids[0]
    assert [[cell.fill for cell in row] for row in grid.cells] == [
        [tint((3 * i + j) % 8) for j in range(7)] for i in range(6)
    ]
