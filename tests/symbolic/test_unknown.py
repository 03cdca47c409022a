"""Integers that are not known: no path compares one, indexes with one, or asks for its truth."""

import pytest

import tla
from tla import Int, Layout, LeafTypeError, MakeLayout, MakeLayoutTile, Unproven, ascend, offsets, parse
from tla.ascend.tags import TAGS
from tla.core import ints
from tla.core.conversions import over
from tla.core.leaf_arithmetic import ceil_div
from tla.core.questions import divides

from unknown import M, N, Unknown, value


@pytest.fixture(autouse=True)
def _registered():
    ints.register_leaf(Unknown, _ask, fold=_fold)
    yield
    del ints.KINDS[Unknown]


def _ask(question, a, b):
    """What is known: each is itself, and sizes are 1 or more."""
    return True if question in ("==", "<=") and (a is b or (question == "<=" and a == 1 and b in (M, N))) else None


def _fold(name, a, b):
    decide = {"min": min, "max": max}.get(name)
    return decide and Unknown(f"{name}({a}, {b})", decide(value(a), value(b)))


def known(layout):
    return Layout(value(layout.shape), value(layout.stride))


def known_with_origin(layout):
    return Layout(value(layout.shape), value(layout.stride), value(layout.origin_shape))


def test_layouts_over_unknown_sizes_are_the_same_functions():
    for layout in (
        MakeLayout((M, N)),
        MakeLayout((M, N), tla.LayoutRight),
        MakeLayout(((4, M), (N, Int[2]()))),
        Layout((M, 4), (N, M)),
    ):
        numbers = known(layout)
        for coord in (0, 7, 55, (3, 2)):
            assert value(layout(coord)) == numbers(coord)
        assert value(layout(M, 2)) == numbers(12, 2)
        assert value(tla.size(layout)) == tla.size(numbers)
        assert value(tla.cosize(layout)) == tla.cosize(numbers)
        assert value(layout.origin_shape) == numbers.origin_shape
        assert layout == layout
        assert hash(layout) == hash(layout)
        assert "M" in str(layout)


def test_coordinates_and_tuples():
    assert value(tla.idx2crd(77, (M, N))) == tla.idx2crd(77, (12, 10))
    assert value(tla.crd2idx((M, 3), (24, N))) == tla.crd2idx((12, 3), (24, 10))
    assert value(tla.crd2crd(M, (4, N), (N, 4))) == tla.crd2crd(12, (4, 10), (10, 4))
    assert value(tla.crd2offset((M, N), (24, 20), (N, 1))) == 12 * 10 + 10
    assert value(tla.ceil_div(M, 5)) == 3
    assert value(tla.ceil_div((M, N), (5, Int[4]()))) == (3, 3)
    assert value(tla.round_up(M, 5)) == 15
    assert value(tla.shape_div(M, Int[1]())) == 12
    assert tla.congruent((M, N), (1, 2)) is True
    assert tla.compatible((M, 4), (M, (2, 2))) is True
    assert tla.compatible((M, 4), (N, (2, 2))) is None
    assert tla.compatible((M, 4), (N, (2, 3))) is False
    assert tla.weakly_compatible(4, (M, N)) is None
    assert tla.is_static((M, Int[4]())) is False
    assert tla.product((M, Int[0]())) == 0
    assert tla.is_static(tla.product((M, Int[0]())))
    assert tla.flatten((M, (N, 2))) == (M, N, 2)


def test_tiles_of_unknown_layouts():
    tile = MakeLayoutTile(Layout(((16, M), (16, N)), ((16, 256), (1, M))), (32, N))
    assert value(tile.shape) == ((16, 2), (16, 1))
    assert str(tile.origin_shape[0]) == "min(32, (16 mul M))"
    assert value(tile.origin_shape) == (32, 10)
    whole = Layout(((16, M), (16, N)), ((16, 256), (1, M)), (180, N))
    for start in ((0, 0), (160, 0), (176, 16), (M, N), ((4, M), (0, N))):
        mine, numbers = (
            tla.GetTileLayout(whole, (Int[16](), N), start),
            tla.GetTileLayout(known_with_origin(whole), (16, 10), value(start)),
        )
        assert (value(mine.shape), value(mine.origin_shape)) == (numbers.shape, numbers.origin_shape)
    assert tla.is_on_block(whole, (M, 16)) is None
    assert tla.is_on_block(whole, (M, 3)) is False
    assert tla.is_on_block(Layout((M, N), (1, M)), (N, 3)) is True
    assert value(tla.max(M, N, 4)) == 12
    ints.KINDS[Unknown] = ints.KINDS[Unknown]._replace(fold=None)  # a kind that has no such leaf
    for ask in (lambda: tla.GetTileLayout(whole, (16, 16), (0, M)), lambda: tla.min(M, 4), lambda: tla.max(M, 4)):
        with pytest.raises(Unproven):
            ask()
    ints.KINDS[Unknown] = ints.KINDS[Unknown]._replace(fold=_fold)


def test_tags_of_unknown_sizes():
    for tag in TAGS.values():
        if len(tag.step) == 2:
            blocks = (M, 5) if tag.blocks.count("GIVEN") else ()
            for sizes in ((M, N, *blocks), (M, 32, *blocks), (Int[16](), N, *blocks)):
                made, numbers = MakeLayout[8, tag](*sizes), MakeLayout[8, tag](*value(sizes))
                assert (value(made.shape), value(made.stride), value(made.origin_shape)) == (
                    numbers.shape,
                    numbers.stride,
                    numbers.origin_shape,
                )
                assert value(tag[8](*sizes).capacity) == tag[8](*value(sizes)).capacity
    assert value(MakeLayout[8, ascend.zN]((M, N), (N, 3)).stride) == MakeLayout[8, ascend.zN]((12, 10), (10, 3)).stride
    assert value(MakeLayout[8, ascend.zN](M, N, ld=M * 16).stride) == ((32, 512), (1, 192 * 32))
    assert value(tla.MakeLayoutFilter[16, "L1"](M, 3, 3, N).shape) == (12, 3, 3, 16, 16)


def test_a_static_one_divides_each_integer_and_leaves_no_trace():
    assert divides(Int[1](), M) is True
    assert divides(Int[2](), M) is None
    assert divides(M, Int[1]()) is None
    assert ceil_div(M, Int[1]()) is M
    assert over(M, Int[1]()) is M
    with pytest.raises(LeafTypeError, match="coordinates have no order"):
        divides(Int[1](), tla.E[0])


def test_recognition_has_three_answers():
    rows, fractal = MakeLayout[16, ascend.RowMajor](M, N), MakeLayout[16, ascend.zN](Int[32](), N)
    assert ascend.isRowMajor(rows) is True
    assert ascend.isRowMajor(Layout((M, N), (32, 1))) is None  # are N at most 32?
    assert ascend.iszN[16](fractal) is True
    assert ascend.iszN[32](fractal) is False
    assert ascend.isnZ[16](fractal) is False
    assert (
        ascend.iszN[16](MakeLayout[16, ascend.zN](M, N)) is None
    )  # does 16 divide what this kind of unknown makes of M?
    found = ascend.recognize(fractal, 16)
    assert (found.tag, value(found.sizes), found.ld) == (ascend.zN, (32, 10), 32)  # what is valid of each mode
    assert ascend.recognize(rows, 16).ld is N
    with pytest.raises(Unproven, match="to know whether it is RowMajor"):
        ascend.recognize(Layout((M, N), (32, 1)), 16)


def test_padding_of_unknown_sizes():
    made = MakeLayout[16, ascend.zN](M, N)
    assert [value(box.layout.origin_shape) for box in tla.padding(made)] == [(4, 16), (12, 6)]
    assert [value(box.coord) for box in tla.padding(made)] == [(12, 0), (0, 10)]


def test_what_needs_a_value_raises_unproven():
    for ask in (
        lambda: tla.gcd(M, N),
        lambda: tla.shape_div(M, 4),
        lambda: offsets(MakeLayout((M, N))),
    ):
        with pytest.raises(Unproven):
            ask()


def test_a_kind_that_is_not_registered_is_no_leaf():
    with pytest.raises(tla.LeafTypeError):
        MakeLayout((object(), 4))
    assert parse("(4,2):(1,4)") == MakeLayout((4, 2))


def test_the_span_of_what_may_be_empty():
    """Of (M,2):(1,1) it is M + 1, but for M = 0, where there is nothing."""
    with pytest.raises(tla.Unproven, match="whether 1 <= M"):
        tla.cosize(tla.Layout((tla.dim("M", at_least=0), 2), (1, 1)))
    assert str(tla.cosize(tla.Layout((tla.dim("M"), 2), (1, 1)))) in ("1+M", "M+1")
