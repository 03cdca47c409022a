"""Ascend's tags against memory numbered slot by slot, and the way back from a layout to its tag."""

import itertools
import math
import pickle
import random
import re
import types

import numpy as np
import pytest

import tla
from tla import GetTileLayout, Int, Layout, MakeLayout, MakeLayoutFromTag, ascend, is_static, offsets, parse
from tla.ascend import PaddingRowMajor, half, int4b, recognize, zN
from tla.ascend.element import as_element
from tla.ascend.recognize import Is, _fits
from tla.ascend.tags import TAGS

import oracle
import truth
from corpus import small_shapes
from night import some

SIZES = (1, 7, 15, 16, 17, 32, 65)
WIDTHS = (4, 8, 16, 32, 64, 256)

# The blocks of each tag for C0, and its letters: reference of TLA, section 5, and the names of the tags.
LETTERS = {
    "RowMajor": (lambda c0: (1, 1), "zZ"),
    "ColumnMajor": (lambda c0: (1, 1), "zN"),
    "zN": (lambda c0: (16, c0), "zN"),
    "nZ": (lambda c0: (c0, 16), "nZ"),
    "zZ": (lambda c0: (16, c0), "zZ"),
    "nN": (lambda c0: (c0, 16), "nN"),
    "L0C": (lambda c0: (16, 16), "zN"),
    "Weight4BitnZ": (lambda c0: (32, 16), "nZ"),
    "MxScaleRowMajorA": (lambda c0: (1, 2), "zZ"),
    "MxScaleRowMajorB": (lambda c0: (2, 1), "nZ"),
    "MxScaleColumnMajorA": (lambda c0: (1, 2), "zN"),
    "MxScaleColumnMajorB": (lambda c0: (2, 1), "nN"),
    "MxScalezZ": (lambda c0: (16, 2), "zZ"),
    "MxScalenN": (lambda c0: (2, 16), "nN"),
}


def matrices():
    for name in LETTERS:
        for bits in (8,) if TAGS[name].element else WIDTHS:
            yield name, bits


@pytest.mark.parametrize(("name", "bits"), [*matrices()])
def test_matrices(name, bits):
    """By day every fifth pair of sizes: each of them beside others of both kinds."""
    tag, (block, letters) = TAGS[name], LETTERS[name]
    for rows, cols in some(itertools.product(SIZES, SIZES), 5):
        made = MakeLayout[bits, tag](rows, cols)
        slots = oracle.fractal_offsets(rows, cols, block(256 // bits), letters)
        assert made.origin_shape == (rows, cols)
        np.testing.assert_array_equal(offsets(made), slots)
        static = MakeLayout[bits, tag](Int[rows](), Int[cols]())
        assert static == made
        assert is_static(static)
        assert is_static(static.origin_shape)
        tagged = tag[bits](rows, cols)
        assert tagged.capacity == slots.size == tla.cosize(made)
        assert tuple(tagged.block) == block(256 // bits)
        fast = tagged.contiguous
        if tagged.block[fast] > 1 or (tag.blocks[fast] is None and made.origin_shape[fast] > 1):
            assert slots[(1, 0) if fast == 0 else (0, 1)] == 1
        fixed(tag, bits, made)


def fixed(tag, bits, made):
    """The way back: the tag is one that fits, and the tag that is found has the same function."""
    assert Is(tag)[bits](made) is True
    found = recognize(made, bits)
    np.testing.assert_array_equal(offsets(MakeLayoutFromTag(found)), offsets(made))


@pytest.mark.parametrize("bits", WIDTHS)
def test_blocks_that_are_given(bits):
    for rows, cols, b_rows, b_cols in some(itertools.product((1, 7, 16, 17), (1, 5, 32), (1, 3, 16), (1, 4, 5)), 5):
        for tag, letters in ((ascend.PaddingRowMajor, "zZ"), (ascend.PaddingColumnMajor, "nN")):
            made = MakeLayout[bits, tag](rows, cols, b_rows, b_cols)
            np.testing.assert_array_equal(offsets(made), oracle.fractal_offsets(rows, cols, (b_rows, b_cols), letters))
            fixed(tag, bits, made)
    for rows, cols in some(itertools.product(SIZES, SIZES), 2):
        made = MakeLayout[bits, ascend.zNUnAlign](rows, cols)
        np.testing.assert_array_equal(offsets(made), oracle.fractal_offsets(rows, cols, (rows, 256 // bits), "zN"))
        fixed(ascend.zNUnAlign, bits, made)


def test_vectors_and_convolutions():
    assert str(MakeLayout[half, ascend.VectorLayout](Int[7]())) == "(_7):(_1)"
    assert MakeLayout[half, ascend.VectorLayout](3, 7) == MakeLayout(7)
    for name, rank in (("NDC1HWC0", 6), ("NC1HWC0", 5), ("CI1KHKWCOCI0", 5), ("KDC1KHKWN1N0C0", 4)):
        for bits in (8, 16, 32):
            sizes = (2, 3, 1, 5, 4)[: rank - 1]
            made = MakeLayout[bits, TAGS[name]](*sizes)
            shape = (*sizes, 256 // bits)
            assert made.shape == made.origin_shape == shape
            assert made == MakeLayout[bits, TAGS[name]](*shape)
            np.testing.assert_array_equal(offsets(made), np.arange(np.prod(shape)).reshape(shape))
            fixed(TAGS[name], bits, made)


@pytest.mark.parametrize("name", [*LETTERS])
def test_a_leading_dimension_is_that_of_a_larger_matrix(name):
    """A matrix in the corner of a larger one, of whole blocks: of RowMajor the larger has more columns, of
    zN more rows."""
    tag, (block, _letters), bits = TAGS[name], LETTERS[name], 8
    for rows, cols in itertools.product((1, 15, 16, 33), (1, 7, 32, 65)):
        least = tag[bits](rows, cols).ld
        for more in (0, 1, 3):
            ld = least + more * block(32)[1 - tag.slow]
            made = MakeLayout[bits, tag](rows, cols, ld=ld)
            larger = MakeLayout[bits, tag](*((rows, ld) if tag.slow == 0 else (ld, cols)))
            mine = offsets(made)
            np.testing.assert_array_equal(mine, offsets(larger)[: mine.shape[0], : mine.shape[1]])
            assert made.shape == tag[bits](rows, cols).layout.shape
            assert recognize(made, 8).ld == ld or 1 in np.array(mine.shape) // block(32)
            assert tag[bits](rows, cols, ld=ld).capacity >= tla.cosize(made)


@pytest.mark.parametrize("name", [*TAGS])
def test_a_tag_has_a_block_a_size_and_a_place_for_each_mode(name):
    tag = TAGS[name]
    given = [word for word in tag.sizes.split() if not word.startswith("block")]
    assert len(tag.blocks) == len(tag.step) == len(given)
    assert len(tag.sizes.split()) - len(given) == tag.blocks.count("GIVEN")
    assert sorted(oracle.leaves(tag.step)) == [*range(len([*oracle.leaves(tag.step)]))]


@pytest.mark.parametrize("name", [*LETTERS])
def test_batches_of_each_tag_lie_behind_whole_matrices(name):
    for sizes, outer in (((33, 17), (3,)), ((7, 64), (2, 3))):
        one, batch = MakeLayout[8, TAGS[name]](*sizes), MakeLayout[8, TAGS[name]](sizes, *outer)
        whole = TAGS[name][8](*sizes).capacity
        assert batch.shape[2:] == outer
        assert batch.shape[:2] == one.shape
        assert batch.stride == (*one.stride, *(whole * math.prod(outer[:k]) for k in range(len(outer))))
        assert TAGS[name][8](sizes, *outer).capacity == whole * math.prod(outer)


def test_fp4_rows_are_whole_pairs():
    for element, ld in ((ascend.fp4_e2m1, 34), (ascend.fp4_e1m2, 34), (int4b, 33), (4, 33)):
        assert MakeLayout[element, ascend.RowMajor](5, 33).stride == (ld, 1)
        assert MakeLayout[element, ascend.ColumnMajor](33, 5).stride == (1, ld)
        assert ascend.isRowMajor[element](MakeLayout[element, ascend.RowMajor](5, 33)) is True
    assert ascend.isRowMajor[ascend.fp4_e2m1](MakeLayout[int4b, ascend.RowMajor](5, 33)) is False
    assert zN[ascend.fp4_e2m1](5, 33, ld=17).ld == 17  # its rows are inside of blocks, which are whole pairs


def test_batches_lie_behind_the_matrix_and_in_front_of_it():
    for inner, outer in itertools.product(((33, 17), (1, 64)), (2, (3, 4))):
        one, batch = MakeLayout[half, zN](inner), MakeLayout[half, zN](inner, outer)
        numbers, size = offsets(one), tla.size(one)
        table = offsets(batch)
        for k, at in enumerate(np.ndindex(table.shape[:1:-1])):
            np.testing.assert_array_equal(table[(..., *at[::-1])], numbers + k * size)
        front = tla.MakeBatchedLayout(one, 5, size)
        np.testing.assert_array_equal(offsets(front), numbers + size * np.arange(5)[:, None, None])
        assert front.origin_shape == (5, *inner)
        assert recognize(tla.select[1, 2](front), half).layout.stride == one.stride


# ------------------------------------------------------------------------------------------------ recognition


def small_layouts(seed=5):
    """Every small shape with the strides of an order, some of them changed."""
    choose = random.Random(seed)
    for shape in small_shapes():
        extents = [*oracle.leaves(shape)]
        order = choose.sample(range(len(extents)), len(extents))
        strides = [
            int(np.prod([extents[j] for j in range(len(extents)) if order[j] < order[i]])) for i in range(len(extents))
        ]
        if choose.random() < 0.5:
            strides[choose.randrange(len(extents))] = choose.randrange(-2, 9)
        yield Layout(shape, oracle.nest(shape, iter(strides)))


def test_what_is_recognised_is_the_same_function():
    found = 0
    for layout in small_layouts():
        for element in (None, half, 128):
            tagged = recognize(layout, element)
            if tagged is not None:
                found += 1
                assert oracle.offsets(tagged.shape, tagged.stride) == oracle.offsets(layout.shape, layout.stride), (
                    layout,
                    tagged,
                )
    assert found > 200


def test_all_layouts_of_one_tag_are_told_from_those_of_another():
    """Two tags share a layout only where their blocks are equal: L0C and zN of 16 bits, Weight4BitnZ and nZ of 8."""
    for bits in (8, 16, 32):
        layouts = {
            name: MakeLayout[bits, TAGS[name]](100, 150) for name in LETTERS if TAGS[name].takes(as_element(bits))
        }
        for (name, layout), other in itertools.product(layouts.items(), layouts):
            same = name == other or {name, other} == {16: {"zN", "L0C"}, 8: {"nZ", "Weight4BitnZ"}}.get(bits)
            assert Is(TAGS[other])[bits](layout) is same, (bits, name, other)
        assert recognize(layouts["L0C"], bits).tag is (zN if bits == 16 else ascend.L0C)


def test_tiles_keep_their_tag():
    for name in LETTERS:
        tag = TAGS[name]
        whole = MakeLayout[8, tag](100, 150)
        for tile, start in itertools.product(
            ((16, 32), (64, 96), (33, 7), (128, 192)), ((0, 0), (64, 96), (96, 128), (500, 0))
        ):
            part = GetTileLayout(whole, tile, start)
            assert Is(tag)[8](part) is True, (name, part)
            found = recognize(part, 8)
            assert oracle.offsets(found.shape, found.stride) == oracle.offsets(part.shape, part.stride)


def test_a_tag_that_sizes_decide_is_not_known():
    """Three answers: with D below N the rows of (M,N):(D,1) overlap; it is ColumnMajor where M and N are 1. The first
    tag is named."""
    M, N, D = tla.dims("M N D")
    for layout, unknown, first in (
        (MakeLayout((M, N), (D, 1)), {"RowMajor", "ColumnMajor"}, "RowMajor"),
        (MakeLayout((M, N), (1, D)), {"RowMajor", "ColumnMajor"}, "RowMajor"),
        (MakeLayout(((16, 4), (16, 4)), ((16, 256), (1, D))), {"zN", "L0C"}, "zN"),
        (
            MakeLayout(((16, M), (16, N)), ((16, 256), (1, D))),
            {"zN", "zZ", "L0C", "zNUnAlign", "PaddingRowMajor"},
            "zN",
        ),
    ):
        answers = {name: _fits(tag, layout, half) for name, tag in TAGS.items()}
        assert {name for name, answer in answers.items() if answer is None} == unknown
        assert True not in answers.values()
        with pytest.raises(tla.Unproven, match=f"to know whether it is {first}\n"):
            recognize(layout, half)
    assert recognize(MakeLayout((4, D), (D, 1))).tag is ascend.RowMajor  # whatever else it may be


@pytest.mark.parametrize(("text", "element", "tag", "ld"), [
    ("(1,8):(4,1)", half, ascend.RowMajor, 8),  # 8 do not fit in 4
    ("(1,8):(9,1)", half, ascend.RowMajor, 9),
    ("(1,7):(9,1)", ascend.fp4_e2m1, ascend.RowMajor, 8),  # rows of whole pairs
    ("((_16,2),(_16,1)):((_16,_256),(_1,100))", half, zN, 32),  # no multiple of a block of columns
    ("((_16,2),(_16,1)):((_16,_256),(_1,1024))", half, zN, 64),
])  # fmt: skip
def test_a_stride_of_one_slice_counts_only_where_it_is_that_of_a_leading_dimension(text, element, tag, ld):
    found = recognize(parse(text), element)
    assert (found.tag, found.ld) == (tag, ld)


def test_images_are_recognised_without_an_element_type():
    image = MakeLayout[half, ascend.NC1HWC0](2, 3, 4, 5)
    assert str(recognize(image)) == "NC1HWC0(2, 3, 4, 5, _16)"
    assert recognize(image, 8) is None  # blocks of 32 channels then


def test_no_tag():
    for text in (
        "(4,6):(0,1)",
        "(4,6):(-6,1)",
        "(4,6):(2,3)",
        "((4,2),(4,3)):((4,16),(1,33))",
        "(4,6):(1@0,1@1)",
        "4:2",
        "(2,2,2):(1,2,4)",
    ):
        assert recognize(parse(text), half) is None
    assert recognize(tla.compose(parse("Sw<1,0,2>"), parse("(_8,_8):(_8,_1)")), half) is None
    assert str(ascend.isRowMajor.why_not(parse("(4,6):(0,1)"))) == (
        "(4,6):(0,1) is not RowMajor: 6 elements do not fit in a leading dimension of 0\n"
        "  expected  what MakeLayout[..., RowMajor] makes\n  fix       make it with the tag"
    )
    assert ascend.isRowMajor(parse("(_1,_8):(_0,_1)")) is True  # of an extent 1 the stride does not count
    assert ascend.isVector(parse("8:1")) is True
    assert ascend.isMxScaleForRowMajorA[half](MakeLayout[8, ascend.MxScaleRowMajorA](4, 4)) is False


# ------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: MakeLayout[half, zN](100), "zN of the sizes (100)\n  expected  (rows, cols), each an integer\n  fix       for a batch write ((rows, cols), batch); a leading dimension is ld=..."),
        (lambda: MakeLayout[half, zN](1, 2, 3), "zN of the sizes (1,2,3)"),
        (lambda: ascend.NC1HWC0(2, 3, 4, 5), "NC1HWC0 of the sizes (2,3,4,5)\n  expected  (n, c1, h, w, c0), each an integer"),
        (lambda: MakeLayout[half, zN](-1, 2), "zN of the sizes (-1,2)\n  expected  sizes of 0 or more"),
        (lambda: MakeLayout[half, zN](1.5, 2), "1.5 is of type float"),
        (lambda: MakeLayout[half, zN]((1, (2, 3))), "zN of the sizes ((1,(2,3)))"),
        (lambda: MakeLayout[half, zN](100, 60, ld=100), "zN[half](100, 60): a leading dimension of 100\n  expected  112 or more"),
        (lambda: MakeLayout[ascend.fp4_e2m1, ascend.RowMajor](4, 6, ld=7), "RowMajor[fp4_e2m1](4, 6): a leading dimension of 7\n  expected  a multiple of 2"),
        (lambda: MakeLayout[half, zN](2**62, 2**62), "an integer of 67 bits"),
        (lambda: MakeLayout[half, ascend.VectorLayout](4, ld=7), "VectorLayout with ld=7"),
        (lambda: MakeLayout[zN, half](4, 6), "MakeLayout[(zN,half)]\n  expected  an element type and a tag"),
        (lambda: MakeLayout[half](4, 6), "MakeLayout[half]\n  expected  an element type and a tag"),
        (lambda: MakeLayout["half", zN](4, 6), "half for an element type\n  expected  a type of tla.ascend, or a width in bits"),
        (lambda: MakeLayout[24, zN](4, 6), "elements of 24 bits\n  expected  a width that divides the 256 bits of a block"),
        (lambda: MakeLayout[True, zN](4, 6), "True for an element type"),
        (lambda: zN(4, 6), "zN without an element type\n  expected  one: it has blocks of 32 bytes\n  fix       write zN[half](...)"),
        (lambda: ascend.iszN(MakeLayout((4, 6))), "zN without an element type"),
        (lambda: ascend.iszN[half]((4, 6)), "iszN of a tuple\n  expected  a layout"),
        (lambda: recognize("(4,6):(6,1)"), "recognize of a str"),
        (lambda: MakeLayout[half, ascend.PaddingRowMajor](4, 6, 0, 2), "PaddingRowMajor of the sizes (4,6,0,2)\n  expected  sizes of 0 or more, blocks of 1 or more"),
        (lambda: tla.MakeLayoutFromTag(zN), "MakeLayoutFromTag of zN\n  expected  a tag with its sizes"),
        (lambda: tla.MakeLayoutFilter[half, "UB"](1, 2, 3, 4), 'MakeLayoutFilter at UB\n  expected  "GM" or "L1"'),
        (lambda: tla.MakeMxScaleLayout[ascend.fp8_e8m0, "zZ", False](4, 6), "MakeMxScaleLayout of zZ\n  expected  the tag RowMajor"),
        (lambda: tla.MakeLayoutFmap[half, 3], "MakeLayoutFmap[(half,3)]\n  expected  1 in brackets"),
    ],
)  # fmt: skip
def test_refused(ask, says):
    with pytest.raises(tla.TlaError) as caught:
        ask()
    assert str(caught.value).startswith(says), str(caught.value)


def test_the_fixes_work():
    assert str(MakeLayout[half, zN]((100, 60), 2).shape) == "((_16,7),(_16,4),2)"
    assert MakeLayout[half, zN](100, 60, ld=112) == MakeLayout[half, zN](100, 60)
    assert MakeLayout[ascend.fp4_e2m1, ascend.RowMajor](4, 6, ld=8).stride == (8, 1)
    assert MakeLayout[half, zN](4, 6) == MakeLayout[16, zN](4, 6) == MakeLayoutFromTag(zN[half](4, 6))
    assert ascend.isRowMajor(MakeLayout[half, ascend.RowMajor](4, 6)) is True


def test_values():
    assert pickle.loads(pickle.dumps(zN)) is zN
    assert pickle.loads(pickle.dumps(half)) == half
    assert pickle.loads(pickle.dumps(MakeLayout)) is MakeLayout
    tagged = zN[half](100, 60)
    assert pickle.loads(pickle.dumps(tagged)) == tagged
    assert hash(tagged) == hash(zN[half](100, 60))
    assert repr(zN[half]((100, 60), 2, 3)) == "zN[half]((100, 60), 2, 3, ld=112)"
    assert MakeLayout[half, zN](0, 60).shape == ((16, 0), (16, 4))
    assert isinstance(MakeLayout[half, zN](1, 1), Layout)


def test_layouts_are_remembered_by_kind_and_value():
    """Equal integers of another kind make another layout; the same ones make the same object."""
    for sizes in ((100, 60), (Int[100](), Int[60]()), (100, Int[60]())):
        a = MakeLayout[half, zN](*sizes)
        assert a is MakeLayout[half, zN](*sizes) is MakeLayout[half, zN](*sizes, ld=None)
        assert [*map(is_static, a.origin_shape)] == [*map(is_static, sizes)]
        tile = GetTileLayout(a, (32, 32), (0, 0))
        assert tile is GetTileLayout(a, (32, 32), (32, 0))
        assert not is_static(tile.shape)
        assert is_static(GetTileLayout(a, (Int[32](), Int[32]()), (0, 0)).shape)


def test_what_the_types_dispatch_to_is_what_the_headers_said():
    seen = 0
    for case in truth.rows("tla/accepted.json"):
        if case["op"] == "predicates":
            element = getattr(ascend, case["element"], case["bits"])
            wanted = tuple(name for name, holds in case["result"].items() if holds)
            assert ascend.dispatches(parse(case["args"]["layout"]), element) == wanted, case
            seen += 1
    assert seen == 60


@pytest.mark.parametrize(
    ("layout", "element", "names"),
    [
        ("(_4):(_1)", half, "isVector"),
        ("(_4):(_2)", half, ""),
        ("(_4):(1)", half, ""),
        ("(4,6):(6,_1)", half, "isRowMajor"),
        ("(4,6):(_1,4)", half, "isColumnMajor"),
        ("(4,6):(_1,_1)", half, "isRowMajor isColumnMajor"),
        ("(4,6):(_2,_2)", half, ""),
        ("((_16,7),(_16,4)):((_16,_256),(_1,1792))", half, "iszN"),
        ("((_15,7),(_16,4)):((_16,_256),(_1,1792))", half, ""),
        ("((_16,7),(_8,4)):((_16,_256),(_1,1792))", half, ""),
        ("((_16,7),(_16,4)):((_16,_256),(_2,1792))", half, ""),
        ("((_16,7),(_16,4)):((_16,_128),(_1,1792))", half, ""),
        ("((_16,7),(_16,4)):((_16,1024),(_1,_256))", half, "iszZ"),
        ("((_17,7),(_16,4)):((_16,1024),(_1,_256))", half, ""),
        ("((_16,7),(_32,4)):((_16,1024),(_1,_256))", half, ""),
        ("((_16,7),(_16,4)):((_16,1024),(_0,_256))", half, ""),
        ("((_16,7),(_16,4)):((_16,1024),(_1,_512))", half, ""),
        ("((_16,7),(_16,4)):((_1,1024),(_16,_256))", half, "isnZ"),
        ("((_8,7),(_16,4)):((_1,1024),(_16,_256))", half, ""),
        ("((_8,7),(_16,4)):((_1,1024),(_8,_128))", 32, "isnZ"),
        ("((_16,7),(_15,4)):((_1,1024),(_16,_256))", half, ""),
        ("((_16,7),(_16,4)):((_2,1024),(_16,_256))", half, ""),
        ("((_16,7),(_16,4)):((_1,1024),(_16,_255))", half, ""),
        ("((33,_1),(_16,4)):((_16,5),(_1,528))", half, "iszNUnAlign"),
        ("((33,_2),(_16,4)):((_16,5),(_1,528))", half, ""),
        ("((33,_1),(_8,4)):((_16,5),(_1,528))", half, ""),
        ("((33,_1),(_16,4)):((_8,5),(_1,528))", half, ""),
        ("((33,_1),(_16,4)):((_16,5),(_2,528))", half, ""),
        ("(100,(_2,35)):(70,(_1,_2))", ascend.fp8_e8m0, "isMxScaleForRowMajorA"),
        ("(100,(_2,35)):(_1,(_1,_2))", ascend.fp8_e8m0, "isMxScaleForRowMajorA"),
        ("(100,(_2,35)):(_3,(_1,_2))", ascend.fp8_e8m0, "isMxScaleForRowMajorA"),
        ("(100,(_2,35)):(_2,(_1,200))", ascend.fp8_e8m0, "isMxScaleForColumnMajorA"),
        ("((_2,50),70):((_1,140),_2)", ascend.fp8_e8m0, "isMxScaleForRowMajorB"),
        ("((_2,50),70):((_1,_1),_2)", ascend.fp8_e8m0, "isMxScaleForRowMajorB"),
        ("((_2,50),70):((_1,_3),_2)", ascend.fp8_e8m0, "isMxScaleForRowMajorB"),
        ("((_2,50),70):((_1,_2),100)", ascend.fp8_e8m0, "isMxScaleForColumnMajorB"),
        ("((_16,7),(_2,35)):((_2,70),(_1,_32))", ascend.fp8_e8m0, "isMxScaleForzZ isMxScaleFornN"),
        ("((_16,7),(_2,35)):((_2,70),(_1,_32))", 8, ""),
        ("(100,(_2,35)):(70,(_1,_2))", 8, ""),
        ("(100,(_2,35)):(_2,(_1,200))", 8, ""),
        ("((_2,50),70):((_1,140),_2)", 8, ""),
        ("((_2,50),70):((_1,_2),100)", 8, ""),
    ],
)
def test_each_condition_of_dispatch_counts(layout, element, names):
    """The predicates of `tla::detail`: of each a layout that meets it, and one that misses each of its conditions."""
    assert ascend.dispatches(parse(layout), element) == tuple(names.split())


def test_the_small_functions_of_tla():
    for case in truth.rows("tla/accepted.json"):
        if case["op"] in ("RoundUp", "RoundDown") and "quirk" not in case:
            a, b = (parse(str(case["args"][name])) for name in ("a", "b"))
            made = getattr(tla, case["op"])(a, b)
            assert made == parse(str(case["result"]["value"])), case
    assert (tla.RoundUp[16](100), tla.RoundDown[16](100)) == (112, 96)
    assert is_static(tla.RoundUp[16](Int[100]()))
    assert tla.MakeTuple(4, (2, 3)) == (4, (2, 3))
    assert tla.tuple_size((4, (2, 3))) == 2
    for bad in (
        lambda: tla.RoundUp(4, 0),
        lambda: tla.RoundDown(4, -1),
        lambda: tla.tuple_size(4),
        lambda: tla.MakeTuple("a"),
    ):
        with pytest.raises(tla.TlaError):
            bad()


def test_tensors_of_element_types():
    layout = MakeLayout[half, zN](20, 30)
    assert tla.MakeTensor[half](layout).dtype == np.float16
    assert tla.MakeTensor(None, layout, "L1").position == "L1"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    names = {
        "bf16": "bfloat16",
        "fp8_e4m3": "float8_e4m3fn",
        "fp8_e5m2": "float8_e5m2",
        "fp8_e8m0": "float8_e8m0fnu",
        "int4b": "int4",
    }
    for name, theirs in {**names, "fp4_e2m1": "float4_e2m1fn"}.items():
        t = tla.MakeTensor[getattr(ascend, name)](layout)
        assert t.dtype == getattr(ml_dtypes, theirs)
        source = np.ones((20, 30), t.dtype)
        tla.copy(source, t)
        assert (np.asarray(t) == source).all()


@pytest.mark.parametrize(
    "layout",
    [
        MakeLayout[4, zN](20, 70),
        MakeLayout[4, ascend.RowMajor](7, 10),
        MakeLayout[4, ascend.nZ](70, 33),
        tla.parse("Sw<1,1,2> o _0 o (8,9):(9,1)"),
    ],
    ids=str,
)
def test_two_elements_of_four_bits_share_a_byte(layout):
    """What is done to packed elements is what is done to elements of a byte each, put together."""
    rng = np.random.default_rng(4)
    apart = rng.integers(0, 16, 2 * -(-int(tla.cosize(layout)) // 2) + 6).astype(np.uint8)
    memory = apart[0::2] | apart[1::2] << 4
    packed, plain = tla.MakeTensor(tla.Packed(memory), layout), tla.MakeTensor(apart, layout)

    def require_same():
        assert (memory == (apart[0::2] | apart[1::2] << 4)).all()
        assert (np.asarray(packed) == np.asarray(plain)).all()
        assert packed[5, 7] == plain[5, 7]

    new, whole = (rng.integers(0, 16, np.asarray(x).shape).astype(np.uint8) for x in (plain, tla.padded(plain)))
    for change in (
        lambda t: tla.copy(new, t),
        lambda t: tla.copy(tla.GetTile(t, (0, 0), (3, 4)), tla.GetTile(t, (1, 3), (3, 4))),  # each overlaps the other
        lambda t: tla.fill(tla.GetTile(t, (3, 1), (2, 5)), 9),
        lambda t: tla.fill_padding(t, 3),
        lambda t: tla.copy_if(whole % 3 == 0, whole, tla.padded(t)),
        lambda t: t.__setitem__((5, 7), 0),
    ):
        change(packed)
        change(plain)
        require_same()
    copied = pickle.loads(pickle.dumps(packed))
    assert (np.asarray(copied) == np.asarray(plain)).all()
    before = memory.copy()
    for refused in (
        lambda: packed.numpy(),
        lambda: tla.recast[np.int8](packed),
        lambda: tla.copy(np.full(new.shape, 16, np.uint8), packed),
        lambda: tla.fill(packed, 16),
        lambda: tla.MakeTensor(tla.Packed(memory[:2]), layout),
        lambda: tla.Packed(np.zeros(3)),
        lambda: tla.Packed(memory, half),
        lambda: tla.Packed(memory, 4),
        lambda: tla.Packed(None),
    ):
        with pytest.raises(tla.TlaError):
            refused()
    assert (memory == before).all()


def test_packed_elements_are_numbers():
    pytest.importorskip("ml_dtypes")
    memory = np.zeros(40, np.uint8)
    t = tla.MakeTensor(tla.Packed(memory, ascend.fp4_e2m1), MakeLayout[ascend.fp4_e2m1, ascend.RowMajor](5, 16), "GM")
    values = np.array([0, 0.5, 1, -1.5, 2, 3, -4, 6] * 10, np.float32).reshape(5, 16)
    tla.copy(values, t)
    assert (np.asarray(t, np.float32) == values).all()
    assert memory[:4].tolist() == [0x10, 0xB2, 0x54, 0x7E]  # 1 is 0.5, 2 is 1, 11 is -1.5, ...
    t = tla.MakeTensor(tla.Packed(memory, ascend.int4b), MakeLayout[ascend.int4b, ascend.RowMajor](5, 16), "GM")
    t[0, 1] = -3
    assert (t[0, 1], memory[0]) == (-3, 0xD0)
    with pytest.raises(tla.RangeError, match="-8 to 7"):
        t[0, 1] = 8
    like = tla.MakeTensorLike[zN](tla.Packed(np.zeros(5000, np.uint8)), t, "L1")
    assert str(ascend.transfer(t, like)[0]).startswith("Nd2Nz(dst=0, src=0, ndNum=1, nValue=5, dValue=8,")  # bytes
    assert ascend.element.element_of(tla.Packed(memory)) == ascend.element.as_element(4)


def test_the_element_type_of_a_buffer_is_that_of_its_dtype():
    known = {
        "float16": half,
        "float32": ascend.float,
        **{name: getattr(ascend, name) for name in ("int8", "uint8", "int16", "int32", "uint32", "int64")},
    }
    for name in (
        "float16",
        "float32",
        "float64",
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    ):
        data = np.zeros(2, name)
        assert ascend.element.element_of(data) == known.get(name, as_element(8 * data.itemsize)), name
    ml_dtypes = pytest.importorskip("ml_dtypes")
    theirs = {
        "bfloat16": ascend.bf16,
        "float8_e4m3fn": ascend.fp8_e4m3,
        "float8_e5m2": ascend.fp8_e5m2,
        "float8_e8m0fnu": ascend.fp8_e8m0,
    }
    for name, element in {**theirs, "float4_e2m1fn": ascend.fp4_e2m1, "int4": int4b}.items():
        assert ascend.element.element_of(np.zeros(2, getattr(ml_dtypes, name))) == element


def test_a_copy_fills_the_corner_of_a_larger_tile():
    small, large = (
        np.arange(600, dtype=np.float16).reshape(20, 30),
        tla.MakeTensor[np.float16](MakeLayout[half, zN](32, 48)),
    )
    tla.copy(small, large, corner=True)
    wanted = np.zeros((32, 48), np.float16)
    wanted[:20, :30] = small
    assert (np.asarray(large) == wanted).all()
    for target in (
        tla.MakeTensor[np.float16](MakeLayout[half, zN](16, 48)),
        tla.MakeTensor[np.float16](MakeLayout(2000)),
    ):
        with pytest.raises(tla.RankError):
            tla.copy(small, target, corner=True)
    square = tla.MakeTensor(np.zeros(64), tla.Layout((8, 8), (8, 1)))
    for extents in ((9, 2), (4,), (0, 4)):  # it is no larger in each mode, or there is nothing to write
        with pytest.raises(tla.RankError, match="valid elements"):
            tla.copy(np.ones(extents), square, corner=True)
    tla.copy(np.ones((8, 8)), square, corner=True)
    assert square.data.sum() == 64


def test_what_scales_are_asked_by_name():
    with pytest.raises(tla.LeafTypeError, match=r"isMxScaleForzZ\[fp8_e8m0\]\(layout\)"):
        ascend.isMxScaleForzZ(MakeLayout[half, zN](20, 30))
    for x in (MakeLayout[half, zN](20, 30), tla.MakeTensor(None, MakeLayout[half, zN](20, 30))):
        with pytest.raises(AttributeError, match="write origin_shape"):
            x.originShape()


def test_calls_of_cpp_say_what_to_write_instead():
    """hasattr needs the AttributeError; what is called though it is no function is a LeafTypeError."""
    layout, tag = MakeLayout[half, zN](20, 30), zN[half](20, 30)
    t = tla.MakeTensor(None, layout, "GM")
    for name, instead in ascend.tags.INSTEAD.items():
        assert not hasattr(tag, name)
        with pytest.raises(AttributeError, match=re.escape(f"{name!r}; write {instead}")):
            getattr(tag, name)(0)
    for call in (layout.shape, layout.stride, layout.origin_shape, t.shape, t.coord, tag.shape, tag.stride):
        with pytest.raises(tla.LeafTypeError, match=r"leave out the \(\): t.shape"):
            call()
    with pytest.raises(tla.LeafTypeError, match=r"write t.layout, without \(\)"):
        t.layout()
    with pytest.raises(AttributeError, match=r"it is the layout; leave out .layout"):
        layout.layout()
    assert not hasattr(layout, "layout")
    assert not hasattr(layout, "originShape")


#: Records that functions hand out: a caller makes none.
RECORDS = {
    "Architecture",
    "Block",
    "Bursts",
    "Edge",
    "Element",
    "Fit",
    "Moved",
    "Tag",
    "Tagged",
    "Transfer",
    "TransferInstruction",
}
WRONG = (None, "text", -1, 0, 2**70, (), (1, 2, 3, 4, 5, 6, 7), 1.5, True, [1], {}, np.zeros(3))


@pytest.mark.parametrize(
    "name", [name for name in ascend.__all__ if name not in RECORDS and callable(getattr(ascend, name))]
)
def test_every_public_name_refuses_what_it_cannot_take(name):
    """Only TlaErrors, but for a number of arguments that no function of this name has."""
    f, layout = getattr(ascend, name), MakeLayout[half, zN](20, 30)
    for x in WRONG:
        for args in ((x,), (x, x), (x, x, x), (), (layout, x), (x, layout), (layout, layout, x)):
            _require_tla_error(name, f, args)
            if hasattr(type(f), "__getitem__"):
                _require_tla_error(name, lambda *given, x=x: f[x](*given), args)


def _require_tla_error(name, call, args):
    try:
        made = call(*args)
        if isinstance(made, types.GeneratorType):
            list(made)
    except tla.TlaError:
        pass
    except TypeError as error:
        assert re.search(r"positional argument|required|takes", str(error)), (name, args, error)


def test_padded_blocks_hold_something():
    assert "the blocks of mode 0 are empty" in str(_fits(PaddingRowMajor, parse("((0,4),(32,2)):((32,0),(1,0))"), half))
    assert "the blocks of mode 1 are empty" in str(_fits(PaddingRowMajor, parse("((16,4),(0,2)):((1,0),(1,0))"), half))
    assert str(recognize(MakeLayout[half, PaddingRowMajor](8, 8, 1, 4), half)).startswith(
        "PaddingRowMajor[half](8, 8, 1, 4"
    )
