"""Tilers of every kind: what stands for what, what stays of a layout, and errors of several modes at once."""

import pickle

import pytest

import tla
from tla import (
    Int,
    LeafTypeError,
    RangeError,
    RankError,
    Unproven,
    _,
    composition,
    dims,
    logical_divide,
    logical_product,
    parse,
)

M, N = dims("M N")


@pytest.mark.parametrize(
    ("f", "tiler", "result"),
    [
        (composition, Int[1](), "_1:_3"),
        (logical_divide, Int[1](), "(_1,_8):(_0,_3)"),
        (logical_product, Int[1](), "(_8,_1):(_3,_0)"),
        (composition, Int[2](), "_2:_3"),
        (composition, 2, "2:_3"),
        (logical_divide, Int[2](), "(_2,_4):(_3,_6)"),
        (logical_divide, 2, "(2,4):(_3,6)"),
        (composition, _, "_8:_3"),
        (logical_divide, (Int[2](),), "((_2,_4)):((_3,_6))"),
        (composition, (Int[2](),), "(_2):(_3)"),
        (composition, (_,), "(_8):(_3)"),
        (composition, (None,), "(_8):(_3)"),
        (composition, (slice(None),), "(_8):(_3)"),
        (composition, parse("_2:_4"), "_2:_12"),
    ],
)
def test_what_a_tiler_stands_for(f, tiler, result):
    assert str(f(parse("_8:_3"), tiler)) == result


def test_the_rest_stays_in_a_divide_and_goes_in_a_composition():
    a = parse("(_8,_4,_2):(_8,_2,_1)")
    assert str(composition(a, (Int[2](),))) == "(_2):(_8)"
    assert str(composition(a, (_, Int[2]()))) == "(_8,_2):(_8,_2)"
    assert str(logical_divide(a, (Int[2](),))) == "((_2,_4),_4,_2):((_8,_16),_2,_1)"
    assert str(logical_divide(a, (_, Int[2]()))) == "(_8,(_2,_2),_2):(_8,(_2,_4),_1)"
    assert str(logical_divide(a, (_, _, _))) == str(a)


@pytest.mark.parametrize(
    ("tiler", "error", "text"),
    [
        ((2, 2, 2), RankError, "3 tiles for .*\n.*at most 2, one per mode\n.*drop the last 1"),
        ((2, 2, 2, 2, 2), RankError, "drop the last 3"),
        (-1, RangeError, "extent -1"),
        (Int[-1](), RangeError, "extent -1|extent _-1"),
        (Int[2], LeafTypeError, r"write Int\[2\]\(\)"),
        ("4", LeafTypeError, "a tiler of type str"),
        ([4, 2], LeafTypeError, "write it as a tuple"),
        (2.0, LeafTypeError, "a tiler of type float"),
    ],
)
def test_no_tilers(tiler, error, text):
    for f in (composition, logical_divide, logical_product):
        with pytest.raises(error, match=text):
            f(parse("(_8,_4):(_4,_1)"), tiler)


def test_what_is_not_proved_of_several_modes_is_one_error():
    a = tla.MakeLayout((M, N))
    with pytest.raises(Unproven) as caught:
        logical_divide(a, (Int[4](), Int[2]()))
    assert "4 divides M" in caught.value.reason.expected
    assert "2 divides N" in caught.value.reason.expected
    assert "; " in caught.value.reason.expected
    with pytest.raises(Unproven) as caught:
        logical_divide(a, (Int[4](), Int[1]()))
    assert "N" not in caught.value.reason.expected
    assert "; " not in caught.value.reason.expected
    with pytest.raises(Unproven) as caught:
        logical_divide(tla.MakeLayout((M, M)), (Int[4](), Int[4]()))
    assert caught.value.reason.expected.count("4 divides M") == 1  # what is the same is said once


def test_what_is_valid_of_a_composition_by_mode():
    """The tiles of a mode that keep its order have so much of it; those that do not have a part that is no box."""
    a = tla.Layout((8, 8), (8, 1), (3, 5))
    assert composition(a, (parse("(_4,_2):(_1,_4)"), Int[8]())).origin_shape == (3, 5)
    assert composition(a, (parse("(_2,_4):(_4,_1)"), Int[8]())).origin_shape is None


@pytest.mark.parametrize("f", [composition, logical_divide, logical_product])
def test_one_mode_by_brackets(f):
    """As PyCuTe's test_composition_mode: the mode alone is worked on, and every other one stays."""
    a, b = parse("((_6,_2),_5):((_8,_2),_1)"), parse("_3:_2")
    assert f[0](a, parse("_2:_6")) == tla.make_layout(f(a[0], parse("_2:_6")), a[1])
    assert f[0, 0](a, b) == tla.make_layout(tla.make_layout(f(a[0][0], b), a[0][1]), a[1])
    assert f[1](a, parse("_5:_1")) == tla.make_layout(a[0], f(a[1], parse("_5:_1")))
    if f is not logical_product:  # which tensors do not have
        assert str(f[1](tla.MakeTensor(None, a), parse("_5:_1")).layout) == str(f[1](a, parse("_5:_1")))
    swizzled = parse(f"Sw<1,0,3> o _0 o {a}")
    assert f[1](swizzled, parse("_5:_1")).inner == f[1](a, parse("_5:_1"))
    assert repr(f) == f"<function {f.__name__}>"
    assert pickle.loads(pickle.dumps(f)) is f
    for path, x, error in (
        (2, a, "mode 2"),
        (-1, a, "mode -1"),
        ((0, 3), a, "mode 3"),
        ("x", a, "of type str"),
        (0, 4, "of a int"),
    ):
        with pytest.raises(tla.TlaError, match=error):
            f[path](x, b)
