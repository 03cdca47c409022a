"""What does not fit is refused where it is made: strides past 64 bits, values past their type, parts of
the wrong kind."""

import numpy as np
import pytest

import tla
from tla import (
    E,
    Int,
    LayoutRight,
    LeafTypeError,
    MakeTensor,
    RangeError,
    RankError,
    TlaError,
    copy,
    fill,
    gemm,
    parse,
    reduce,
    xla,
)
from tla.ascend import GemmIdentityBlockSwizzle, fits, half
from tla.viz import draw

B = Int[2**40]()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tla.MakeLayout((B, B, 2)),
        lambda: tla.MakeLayout((2, 2**40, 2**40), LayoutRight),
        lambda: tla.make_layout((B, B, 2)),
        lambda: tla.MakeOrderedLayout((B, B, 2), (0, 1, 2)),
        lambda: tla.MakeOrderedLayout((2, B, B), (Int[2](), Int[1](), Int[0]())),
    ],
)
def test_strides_past_64_bits_are_refused(make):
    with pytest.raises(RangeError, match="an integer of 81 bits"):
        make()


def test_a_size_past_64_bits_is_no_stride():
    for layout in (tla.MakeLayout((B, B)), tla.MakeOrderedLayout((B, B), (1, 0)), tla.MakeLayout((B, B, Int[1]()))):
        assert parse(str(layout)) == layout


def elements(dtype, n=2):
    return MakeTensor(np.zeros(n, dtype), tla.Layout(n, 1))


@pytest.mark.parametrize(
    ("dtype", "value"), [("int4", 9), ("int4", -9), ("uint4", -1), ("uint4", 16), ("int2", 2), ("uint2", 4)]
)
def test_integers_of_few_bits(dtype, value):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = elements(getattr(ml_dtypes, dtype))
    with pytest.raises(RangeError):
        x[0] = value
    with pytest.raises(RangeError):
        fill(x, value)
    with pytest.raises(LeafTypeError):
        copy(np.array([1, value % 100], np.int8), x)
    with pytest.raises(LeafTypeError):
        fill(x, 1.5)
    x[0] = 1
    copy(x, elements(np.int8))
    assert x.data.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_floats_of_few_bits(dtype):
    x = elements(getattr(pytest.importorskip("ml_dtypes"), dtype))
    fill(x, 1.5)
    assert [float(n) for n in x.data] == [1.5, 1.5]


def test_a_finite_number_never_becomes_infinite():
    x = elements(np.float16)
    for value in (70000, 70000.0, -1e6, np.float32(65520)):
        with pytest.raises(RangeError, match="as float16\n  expected  -65504 to 65504, infinities and NaN"):
            fill(x, value)
        with pytest.raises(RangeError):
            x[0] = value
    fill(x, 65504)
    x[1] = float("inf")
    assert x.data.tolist() == [65504, float("inf")]


def test_reduce_keeps_values():
    t = MakeTensor(np.array([7, 2], np.int32), parse("(1,2):(1,1)"))
    with pytest.raises(LeafTypeError):
        reduce(t, np.zeros(1, np.int32), 1, np.true_divide)
    t = MakeTensor(np.array([100, 100], np.int8), parse("(1,2):(1,1)"))
    with pytest.raises(RangeError, match=": 200 as int8"):
        reduce(t, np.zeros(1, np.int8), 1)
    out = np.zeros(1, np.int16)
    reduce(t, out, 1)
    assert out.tolist() == [200]


def test_take_takes_a_mode():
    """A layout of no mode there is none; of a tuple it is (), as in CuTe."""
    with pytest.raises(RankError, match=r"write take\[1, 2\] for mode 1"):
        tla.take[1, 1](parse("(_4,_8):(_1,_4)"))
    assert tla.take[1, 1]((4, 8)) == ()


def test_offsets_of_no_coordinates():
    with pytest.raises(LeafTypeError, match="its values are coordinates"):
        tla.offsets(parse("(_4,0):(1@0,1@1) o _0 o (4,0):(1,4)"))
    assert tla.offsets(parse("Sw<1,0,1> o _0 o (4,0):(1,4)")).shape == (4, 0)


def test_a_layout_needs_a_stride():
    with pytest.raises(LeafTypeError, match="write MakeLayout"):
        tla.Layout((4, 8))


def test_a_tensor_in_the_algebra_keeps_its_offset_in_mind():
    with pytest.raises(LeafTypeError, match=r"give its .layout, and add its .offset"):
        tla.complement(MakeTensor(np.zeros(80), parse("8:1"), offset=36))


@pytest.mark.parametrize(
    "call",
    [
        lambda: GemmIdentityBlockSwizzle("a", 2),
        lambda: GemmIdentityBlockSwizzle((1, 2), (1, 2, 3)),
        lambda: GemmIdentityBlockSwizzle[1.5],
        lambda: GemmIdentityBlockSwizzle((1, 2, 3), (1, 2, 3), cores=None),
        lambda: fits("x"),
        lambda: fits({"L1": 3}),
        lambda: fits({"L1": [half]}),
        lambda: fits({"L1": ((4, 4), half)}, stages="x"),
        lambda: fits({3: ((4, 4), half)}),
        lambda: fits({"L1": ("x", half)}),
        lambda: fits({"L1": (E[0], half)}),
    ],
)
def test_plans_of_the_wrong_kind(call):
    with pytest.raises(TlaError):
        call()


HALF = MakeTensor(np.zeros(4, np.float16), parse("4:1"))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: xla.ArrayLayout((1, 0), ((-2, 3),)), RangeError, r"tile \(-2,3\) has the entry -2"),
        (lambda: xla.ArrayLayout((1, 0), ((),)), RangeError, "a tile with no entries"),
        (lambda: xla.ArrayLayout((1, 1)), RangeError, "names dimension 1 twice"),
        (lambda: xla.ArrayLayout((0,), memory_space=-1), RangeError, "memory_space -1"),
        (lambda: MakeTensor(None, parse("4:1"), position="XYZ"), LeafTypeError, "the position XYZ"),
        (lambda: MakeTensor(None, parse("4:1"), position=3), LeafTypeError, "the position 3"),
        (lambda: MakeTensor[np.float32](parse("4:1"), position="XYZ"), LeafTypeError, "the position XYZ"),
        (lambda: MakeTensor(), LeafTypeError, r"write MakeTensor\(buffer, layout\)"),
        (lambda: draw(parse("(4,8):(1,4)"), color_by=lambda x: 3), LeafTypeError, r"a function of \(coord, offset\)"),
        (lambda: copy(np.array([1, 65520, 3, 4], np.float32), HALF), RangeError, "65520.0 as float16"),
        (
            lambda: copy(np.array([1e300, 0, 0, 0]), MakeTensor(np.zeros(4, np.complex64), parse("4:1"))),
            RangeError,
            "complex64",
        ),
        (lambda: fill(HALF, 1e9), RangeError, "1000000000.0 as float16"),
        (
            lambda: gemm(np.full((2, 2), 300, "f4"), np.full((2, 2), 300, "f4"), np.zeros((2, 2), "f2")),
            RangeError,
            "180000.0 as float16",
        ),
    ],
)
def test_what_is_refused_where_it_is_given(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_floats_are_rounded_and_infinities_stay():
    copy(np.array([1, 65519, -np.inf, np.nan], np.float32), HALF)
    np.testing.assert_array_equal(HALF.data, np.array([1, 65504, -np.inf, np.nan], np.float16))
    swizzled = MakeTensor(np.zeros(64, np.float16), parse("Sw<2,0,3> o _0 o (8,8):(8,1)"))
    values = np.arange(64, dtype=np.float64).reshape(8, 8) / 3
    copy(values, swizzled)
    np.testing.assert_array_equal(np.asarray(swizzled), values.astype(np.float16))
    for place in ("GM", "A1", "L0AMx", "registers", "TMEM", "smem", "VMEM", None):
        assert MakeTensor(None, parse("4:1"), position=place).position == place
