"""Index expressions with bounds: the box is the origin_shape, the offsets inside are those of the expression."""

import itertools
import random

import pytest
from test_tables import random_layout

from tla import RangeError, layout_of, offsets
from tla.codegen import emit_guard

from night import amount


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(i < 60 && j < 50) ? i*64 + j : -1", "c"),
        ("i >= 60 || j >= 50 ? -1 : i*64 + j", "cuda"),
        ("if (i >= 60) return -1; if (j >= 50) return -1; return i*64 + j;", "c"),
        ("int f(int i, int j) { if (i > 59) { return -1; } return j < 50 ? i*64 + j : -1; }", "c"),
        ("tl.where((i < 60) & (j < 50), i*64 + j, -1)", "triton"),
        ("np.where((i < 60) & (j < 50), i*64 + j, -1)", "numpy"),
        ("i*64 + j if i < 60 and j < 50 else -1", "python"),
        ("mask = (i < 60) & (j < 50)\noffset = i*64 + j\ntl.where(mask, offset, -1)", "triton"),
    ],
)
def test_conditions_are_bounds(text, language):
    found = layout_of(text, shape=(64, 64), coords="i,j", language=language)
    assert (str(found), str(found.origin_shape)) == ("(_64,_64):(_64,_1)", "(_60,_50)")
    assert "i < 60 && j < 50" in emit_guard(found, "c")


def test_functions_with_bounds():
    def address(i, j):
        if i >= 20:
            return -1
        return i * 32 + (j // 8 ^ i % 4) * 8 + j % 8

    found = layout_of(address, shape=(32, 32))
    assert (str(found), str(found.origin_shape)) == ("Sw<2,3,2> o _0 o (_32,_32):(_32,_1)", "(_20,_32)")
    one = layout_of("i < 50 ? i % 8 * 16 + i / 8 : -1", shape=64)
    assert (str(one), str(one.origin_shape)) == ("((_8,_8)):((_16,_1))", "(_50)")


def test_random_layouts_with_random_bounds():
    import numpy as np

    rng = random.Random(33)
    for _ in range(amount(40, 5_000)):
        layout = random_layout(rng, most=1 << 9)
        table = offsets(layout)
        table = table.reshape(table.shape if table.ndim else (1,), order="F")
        if int(table.min()) < 0:
            continue
        box = tuple(rng.randint(1, n) for n in table.shape)
        inside = np.ones(table.shape, bool)
        inside[tuple(map(slice, box))] = False
        table = np.where(inside, -1, table)
        try:
            found = layout_of(lambda *c, table=table: table[c], shape=table.shape)
        except RangeError as error:
            assert "no layout" in str(error)  # a box that ends inside of a mode may show no layout
            continue
        again = offsets(found)
        origin = found.origin_shape
        for c in itertools.product(*map(range, box)):
            assert int(again.reshape(table.shape, order="F")[c]) == int(table[c])
        assert (again.reshape(table.shape, order="F") == table).all() or tuple(map(int, origin)) == box


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i + j < 8 ? i*8 + j : -1", r"no box: .* up to \(8,8\), but \(7,1\) has none"),
        ("i < 4 || j < 4 ? i*8 + j : -1", r"no box: .* up to \(8,8\), but \(4,4\) has none"),
        ("i < 5 && j < 5 ? i*j : -1", r"no layout of shape:stride, inside of the box \(5,5\)"),
        ("i > 4 ? i*8 + j : -1", r"offsets of no layout"),
    ],
)
def test_what_is_no_box_is_refused(text, message):
    with pytest.raises(RangeError, match=message):
        layout_of(text, shape=(8, 8))


def test_offsets_below_minus_one_are_no_bounds():
    with pytest.raises(RangeError, match="offsets of no layout"):
        layout_of("(i - 3) % 4", shape=8)


def test_a_table_has_no_bounds():
    with pytest.raises(RangeError, match="offsets of no layout"):
        layout_of([0, 1, 2, -1])
