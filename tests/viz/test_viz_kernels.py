"""Drawings of tiled MMAs, tiled copies and atoms: each cell names a thread that holds that element, as that value."""

import itertools
import re

import numpy as np
import pytest

import tla.gpu as gpu
from tla import RangeError, TlaError, make_identity_tensor, parse, size
from tla.gpu import Copy_Atom, atom, make_tiled_copy, make_tiled_mma, values_of
from tla.linear import LinearLayout
from tla.viz import draw, html, svg, text, tikz
from tla.viz.colours import tint

MMAS = [
    make_tiled_mma(gpu.UniversalFMA[gpu.float], (2, 3), (4, 3)),
    make_tiled_mma(gpu.SM70_8x8x4_F32F16F16F32_TN),
    make_tiled_mma(gpu.SM70_8x8x4_F32F16F16F32_NT, parse("(_2,_2):(_2,_1)")),
    make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, (1, 2), (16, 32, 16)),
    make_tiled_mma(gpu.SM80_16x8x8_F32F16F16F32_TN, (1, 1, 2), (parse("(_8,_2):(_2,_1)"),)),
    make_tiled_mma(gpu.SM90_64x16x16_F32F16F16_RS),
    make_tiled_mma(atom("SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,128,32,UMMA::Major::K,UMMA::Major::K>")),
]


def places(part, count):
    """The coordinates that threads hold: (thread, value) arrays of rows and columns."""
    return [
        np.broadcast_to(x, (count, *x.shape[1:])).reshape(count, -1, order="F")
        for x in np.broadcast_arrays(*values_of(part))
    ]


def cells(grid):
    return {(i, j): c.text.replace("\n", "") for i, row in enumerate(grid.cells) for j, c in enumerate(row)}


@pytest.mark.parametrize("mma", MMAS, ids=repr)
def test_a_cell_names_who_holds_it(mma):
    lanes = sorted({int(mma.thr_layout_vmnk(i)) for i in range(mma.threads)})
    m, n, k = map(int, mma.tile_size)
    (figure,) = draw(mma).figures
    b, a, c = figure.grids
    for grid, side, shape in ((a, "A", (m, k)), (b, "B", (n, k)), (c, "C", (m, n))):
        rows, columns = places(mma[np.array(lanes)].partition(side, make_identity_tensor(shape)), len(lanes))
        holders = {}
        for lane, own in zip(lanes, zip(rows, columns)):
            for v, place in enumerate(zip(*own)):
                holders.setdefault(tuple(map(int, place)), []).append((lane, v))
        found = cells(grid)
        assert len(found) == shape[0] * shape[1] == len(holders)
        for (i, j), who in holders.items():
            cell = found[(j, i) if side == "B" else (i, j)]
            if cell.startswith("V"):
                assert {f"V{v}" for _t, v in who} == {cell}
                assert "shared memory" in grid.title
            else:
                lane, v = min(who)
                assert cell == f"T{lane}V{v}" + (f"+{len(who) - 1}" if len(who) > 1 else "")


@pytest.mark.parametrize(
    "copy",
    [
        make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.uint32], gpu.half], parse("(_4,_2):(_2,_1)"), (2, 2)),
        make_tiled_copy(Copy_Atom[gpu.SM75_U32x4_LDSM_N, gpu.half], (32, 1), (1, 8)),
        make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.half], gpu.half], (8,), (2,)),
    ],
    ids=repr,
)
def test_source_and_destination(copy):
    (figure,) = draw(copy).figures
    shape = tuple(map(int, copy.tiler_mn))
    for grid, parts in zip(
        figure.grids, (copy[np.arange(copy.threads)].partition_S, copy[np.arange(copy.threads)].partition_D)
    ):
        own = places(parts(make_identity_tensor(shape)), copy.threads)
        found = cells(grid)
        for t in range(copy.threads):
            for v, place in enumerate(zip(*(x[t] for x in own))):
                at = tuple(map(int, place)) if len(place) == 2 else (0, int(place[0]))
                assert found[at] == f"T{t}V{v}"


@pytest.mark.parametrize(("name", "lanes"), [("SM100_TMEM_LOAD_16dp64b2x", 16), ("SM100_TMEM_STORE_32dp32b4x", 32)])
def test_tensor_memory_is_drawn_by_its_lanes(name, lanes):
    """A row is a lane, of consecutive 32-bit columns; each cell is held, and memory that all threads address
    names none of them."""
    (figure,) = draw(gpu.atom(name)).figures
    copy = gpu.atom(name)[gpu.uint32]
    for grid, tv in zip(figure.grids, (copy.val_src, copy.val_dst)):
        found = cells(grid)
        assert len(found) == lanes * len(grid.columns.labels)
        ends = {(t, v): divmod(int(tv(t, v)), len(grid.columns.labels)) for t in range(32) for v in range(size(tv[1]))}
        assert set(ends.values()) == set(found)
        shared = ends[0, 0] == ends[1, 0]
        assert all(found[at] == (f"V{v}" if shared else f"T{t}V{v}") for (t, v), at in ends.items())


def test_one_thread():
    """Its cells alone have a colour and a star, also those that it shares with threads of lower numbers."""
    mma = make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, (2, 2))
    (figure,) = draw(mma, thread=77).figures
    rows, columns = (x.ravel() for x in places(mma[np.array([77])].partition_A(make_identity_tensor((32, 16))), 1))
    starred = {at for at, cell in cells(figure.grids[1]).items() if "*" in cell}
    assert starred == {(int(i), int(j)) for i, j in zip(rows, columns)}
    for grid in figure.grids:
        for row in grid.cells:
            for cell in row:
                assert (cell.fill is not None) is ("*" in cell.text) is (re.match(r"T77\b", cell.text) is not None)
    for printed in (
        text(draw(mma, thread=77)),
        svg(draw(mma, thread=77)),
        html(draw(mma, thread=77)),
        tikz(draw(mma, thread=77)),
    ):
        assert "*" in printed


def test_what_registers_hold_besides():
    found = draw(
        atom("SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x64_TN_VS<float_e2m1_t,float_e2m1_t,float,float_ue8m0_t,64>")
    )
    assert [f.title.split()[0] for f in found.figures[1:]] == ["E", "SFA", "SFB"]
    assert [len(f.grids[0].cells) for f in found.figures[1:]] == [16, 16, 64]


def test_a_tile_that_is_too_large_is_drawn_in_part():
    mma = make_tiled_mma(gpu.SM90_64x256x16_F32F16F16_SS, (2, 1))
    (figure,) = draw(mma, limit=4096).figures
    assert [(len(g.cells), len(g.cells[0])) for g in figure.grids] == [(8, 16), (8, 16), (8, 16)]
    assert "the first 8 rows and 16 columns" in figure.notes[-1]


@pytest.mark.parametrize(("limit", "cut"), [(512, False), (511, True), (1, True)])
def test_up_to_the_limit_all_tiles_are_drawn(limit, cut):
    """16 x 16 of A, 16 x 8 of B and C: 512 cells."""
    (figure,) = draw(gpu.SM80_16x8x16_F32F16F16F32_TN, limit=limit).figures
    whole = [(16, 8), (16, 16), (16, 8)]
    assert [(len(g.cells), len(g.cells[0])) for g in figure.grids] == [
        (min(r, 8), min(c, 16)) if cut else (r, c) for r, c in whole
    ]
    assert (figure.notes[-1] == "of each the first 8 rows and 16 columns at most") is cut


def test_what_is_said_of_kernels_and_their_colours():
    for rule, k in (("thread", 0), ("value", 1)):
        drawing = draw(gpu.SM80_16x8x16_F32F16F16F32_TN, color_by=rule)
        assert drawing.caption == f"colours: {rule}s"
        for grid in drawing.figures[0].grids:
            for cell in itertools.chain(*grid.cells):
                assert cell.fill == tint(int(re.fullmatch(r"T(\d+)\nV(\d+)", cell.text)[k + 1]))
    assert draw(MMAS[0], thread=5).caption == "colours, and a star: thread 5"
    assert draw(gpu.SM80_16x8x16_F32F16F16F32_TN, titles="mine").figures[0].title == "mine"
    for kernel, note in (
        (MMAS[0], "6 threads, M x N x K of 4 x 3 x 1"),
        (gpu.UniversalFMA[gpu.float], "1 thread, M x N x K of 1 x 1 x 1"),
        (MMAS[6], "2 SMs, M x N x K of 128 x 32 x 16"),
        (make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.half], gpu.half], (8,), (2,)), "8 threads, a tile of 16"),
        (
            make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.half], gpu.half], (4, 2), (2, 3)),
            "8 threads, a tile of 8 x 6",
        ),
        (gpu.SM75_U32x4_LDSM_N, "32 threads, 128 units of 32 bits, row after row"),
        (gpu.atom("SM100_TMEM_LOAD_16dp64b2x")[gpu.uint32], "32 threads, 64 elements of uint32, a row is a lane"),
        (gpu.atom("SM100_UTCCP_4x32dp128bit_1cta")[gpu.uint32], "1 thread, 512 elements of uint32, row after row"),
    ):
        assert draw(kernel).figures[0].notes[0] == note, draw(kernel).figures[0].notes


def test_borders_are_those_of_the_instructions():
    """16 x 8 x 16 each, of 32 x 32 x 48: B has K down. A mode that a layout permutes has none, nor one that
    is as long."""
    for tile, blocks in (
        ((32, 32, 48), ((16, 8), (16, 16), (16, 8))),
        ((32, parse("(_8,_4):(_4,_1)"), 16), ((0, 0), (16, 0), (16, 0))),
    ):
        mma = make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, (1, 1), tile)
        for grid, pair in zip(draw(mma).figures[0].grids, blocks):
            for axis, block in zip((grid.rows, grid.columns), pair):
                assert [*axis.borders] == [int(block > 0 and k % block == 0) for k in range(len(axis.labels))]


def test_cells_of_shared_memory_have_colours_by_value_alone():
    for rule in ("thread", "value"):
        memory = [
            cell
            for grid in draw(gpu.SM90_64x8x16_F32F16F16_SS, color_by=rule).figures[0].grids[:2]
            for cell in itertools.chain(*grid.cells)
        ]
        assert {(c.text[0], c.fill) for c in memory} == {
            ("V", tint(int(c.text[1:])) if rule == "value" else None) for c in memory
        }


def test_linear_layouts_are_limited(monkeypatch):
    bits = [(1 << k,) for k in range(19)]
    with pytest.raises(TlaError, match=r"of 2\*\*19 registers in all\n  expected  2\*\*18 at most"):
        draw(LinearLayout({"register": bits}, {"x": 1 << 19}))
    with pytest.raises(TlaError, match="inputs register, lane, warp, block"):
        draw(LinearLayout({"register": bits[:2], "offset": [(4,)]}, {"x": 8}))
    monkeypatch.setattr("tla.viz.kernels.MAX_BITS", 4)
    (figure,) = draw(LinearLayout({"register": bits[:2], "lane": bits[2:4]}, {"x": 16})).figures
    assert [c.text for c in figure.grids[0].cells[0]] == [f"T{k // 4}\nV{k % 4}" for k in range(16)]
    with pytest.raises(TlaError, match=r"2\*\*5 registers"):
        draw(LinearLayout({"register": bits[:5]}, {"x": 32}))


def test_text_that_does_not_fit_goes_below():
    lines = text(draw(MMAS[1]), width=60).splitlines()
    assert max(len(line) for line in lines if "│" in line) <= 60
    assert [line for line in lines if line[:1] in [*"ABC"]] == ["B (N,K), K down", "A (M,K)", "C (M,N)"]


@pytest.mark.parametrize(
    ("bases", "cell", "note"),
    [({}, "T0\nV0", ""), ({"register": [()]}, "T0\nV0\n+1", "2 registers"), ({"lane": []}, "T0\nV0", "1 lane")],
)
def test_a_linear_layout_without_outputs_is_one_cell(bases, cell, note):
    (figure,) = draw(LinearLayout(bases, {})).figures
    assert [[c.text for c in row] for row in figure.grids[0].cells] == [[cell]]
    assert figure.notes == (note,)


REFUSED = [
    (lambda: draw(MMAS[0], parse("4:1")), "draw each by itself"),
    (lambda: draw(MMAS[0], tile=(2, 2)), "leave tile out"),
    (lambda: draw(MMAS[0], bits=16), "leave bits out"),
    (lambda: draw(MMAS[0], thread=6), "one of its 6 threads"),
    (lambda: draw(MMAS[1], thread=4), "one of its 8 threads"),
    (lambda: draw(MMAS[0], thread="x"), "one of its 6 threads"),
    (lambda: draw(MMAS[0], color_by="bank"), "thread or value"),
    (lambda: draw(parse("4:1"), thread=0), "leave thread out"),
    (lambda: draw(gpu.UniversalFMA), "a layout, or an XLA shape"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m for _f, m in REFUSED])
def test_what_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(TlaError, match=message):
        make()


def test_a_tile_that_takes_seconds_to_draw_is_refused_at_once():
    for atoms in ((99, 99, 1), (10**4, 10**4, 1)):
        mma = make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, atoms)
        with pytest.raises(
            RangeError, match=r"262144 elements at most\n.*draw its atom, SM80_16x8x16_F32F16F16F32_TN"
        ) as found:
            draw(mma)
        atom = re.search(r"draw its atom, (\w+)", found.value.reason.fix)[1]
        assert draw(gpu.atom(atom)).figures  # the fix works
    copy = make_tiled_copy(
        Copy_Atom[gpu.UniversalCopy[gpu.uint128], gpu.half], parse("(_1024,_1024):(_1024,_1)"), parse("(_1,_8):(_0,_1)")
    )
    with pytest.raises(RangeError, match="262144 elements at most"):
        draw(copy)
