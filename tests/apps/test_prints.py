"""What other systems print is read: CuTe's C++ and DSL as they were run, Triton's and Gluon's layouts, Mosaic's; each
by who holds what."""

import itertools
import json
import re
from pathlib import Path

import pytest

from tla import parse, size
from tla.apps.explore.answer import answer
from tla.apps.explore.grammar import read
from tla.apps.explore.prints import GLUON
from tla.gpu import from_print
from tla.linear import LinearLayout

from night import some

DATA = Path(__file__).parent.parent / "data"
CUTE = json.loads((DATA / "cute" / "prints.json").read_text())["rows"]


def value(text):
    return read(text).value.value


def held(grid):
    """Thread and value -> cells, as the page has them."""
    found = {}
    for k, cell in enumerate(grid["texts"]):
        if cell.startswith("T"):
            found.setdefault(tuple(int(x[1:]) for x in cell.split("\n")), []).append(
                divmod(k, len(grid["columns"]["labels"]))
            )
    return found


@pytest.mark.parametrize("row", some(CUTE, 2), ids=lambda row: row["code"][:60])
def test_a_print_of_cute_is_drawn(row):
    found = answer(row["text"])
    assert "error" not in found
    assert found["figures"]


def test_what_a_printed_atom_says_is_what_is_drawn():
    """Of each print of an MMA atom alone: the cell of every thread and value, by the strides that are printed."""
    seen = 0
    for row in CUTE:
        lines = dict(line.split(":", 1) for line in row["text"].splitlines() if ":" in line)
        fields = {
            re.sub(r"TV Layout (.)", r"Layout\1_TV", name.strip()).replace(" ", "_"): text.strip()
            for name, text in lines.items()
        }
        if not row["text"].startswith(("MMA_Atom", "MMA Atom")) or "LayoutA_TV" not in fields:
            continue
        m, n, _k = (int(x.strip("_")) for x in fields["Shape_MNK"].strip("()").split(","))
        figures = {f["role"]: f for f in answer(row["text"])["figures"] if f.get("role")}
        for side, rows in {"A": m, "B": n, "C": m}.items():
            tv, cells = parse(fields[f"Layout{side}_TV"]), held(figures[side]["grids"][0])
            for t, v in itertools.product(range(size(tv.shape[0])), range(size(tv.shape[1]))):
                column, row_ = divmod(int(tv(t, v)), rows)  # column-major (M,K), (N,K), (M,N); B is drawn with K down
                assert ((column, row_) if side == "B" else (row_, column)) in cells[t, v]
        seen += 1
    assert seen >= 2


LABELLED = {
    "sA : (_8,_64):(_64,_1)": "(_8,_64):(_64,_1)",
    "sA: (_8,_64):(_64,_1)": "(_8,_64):(_64,_1)",
    "tCrA: ptr[16b](0x7ffd8) o ((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)": "((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)",
    "gA = gmem_ptr[32b](0x7f1) o (_128,_64):(_64,_1)": "(_128,_64):(_64,_1)",
    "tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
}


@pytest.mark.parametrize("text", LABELLED)
def test_labels_are_names(text):
    assert str(value(text)) == LABELLED[text]


def test_gluon_as_python_writes_it():
    blocked = value("BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])")
    assert isinstance(blocked, LinearLayout)
    for register, lane, warp in itertools.product(range(4), range(32), range(4)):
        row, column = lane // 8 + 4 * warp, 4 * (lane % 8) + register
        assert [*blocked.apply({"register": register, "lane": lane, "warp": warp, "block": 0}).values()] == [
            row,
            column,
        ]
    named = "ttgl.BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[4, 8], warps_per_cta=[4, 1], order=[1, 0])"
    assert value(named) == blocked
    assert len(GLUON) == 13


def test_mosaic():
    assert str(value("memref<16x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>>")) == str(
        value("lower(bf16[16,256]{1,0:T(8,128)(2,1)})")
    )
    for row in json.loads((DATA / "linear" / "mosaic.json").read_text())[::7]:
        assert isinstance(value(row["text"]), LinearLayout)


def test_a_shape_alone_is_a_layout_of_stride_1():
    text = next(r["text"] for r in CUTE if r["text"].startswith("MMA_Atom\n  ThrID:      _32:_1"))
    assert from_print(text.replace("_32:_1\n", "_32\n")) == from_print(text)
