import numpy as np
import pytest
from hypothesis import given

import tla
from tla import Int, RangeError, offsets, parse

import oracle
from corpus import layouts


@given(layouts(high=5))
def test_offsets_are_the_layout(layout):
    table = offsets(layout)
    truth = oracle.offsets(oracle.plain(layout.shape), oracle.plain(layout.stride))
    assert table.shape == tuple(map(int, tla.product_each(layout.shape)))
    assert table.ravel(order="F").tolist() == truth
    fits = -(2**31) <= min(truth) and max(truth) < 2**31
    assert table.dtype == (np.int32 if fits else np.int64)


def test_the_width_is_exact_at_its_limit():
    assert offsets(parse("(2,2):(2147483647,0)")).dtype == np.int32
    assert offsets(parse("(2,2):(2147483647,1)")).dtype == np.int64
    assert offsets(parse("(2):(-2147483648)")).dtype == np.int32
    assert offsets(parse("(2):(-2147483649)")).dtype == np.int64
    assert offsets(parse("(1,4):(9223372036854775807,1)")).tolist() == [[0, 1, 2, 3]]
    assert offsets(parse("(2):(9223372036854775807)")).tolist() == [0, 2**63 - 1]
    assert offsets(parse("(2,2):(9223372036854775807,-9223372036854775808)"))[1, 1] == -1
    with pytest.raises(RangeError, match="64 bits"):
        offsets(parse("(2,2):(9223372036854775807,1)"))


@pytest.mark.parametrize(
    ("step", "dtype"), [(2**31 - 1, np.int32), (2**31, np.int64), (-(2**31), np.int32), (-(2**31) - 1, np.int64)]
)
def test_the_width_is_exact_for_composed_layouts(step, dtype):
    for inner, shape in ((tla.Layout(2, 1), (2,)), (tla.Layout((2, 1), (1, 5)), (2, 1)), (tla.Layout((), ()), ())):
        layout = tla.ComposedLayout(tla.Layout(8, step), Int[0](), inner)
        table = offsets(layout)
        assert table.dtype == (dtype if shape else np.int32)
        assert table.shape == shape
        assert table.ravel().tolist() == ([0, step] if shape else [0])
        assert offsets(layout, limit=max(table.size, 1)).shape == shape
    with pytest.raises(RangeError, match="at most limit=1"):
        offsets(tla.ComposedLayout(tla.Layout(8, step), Int[0](), tla.Layout(2, 1)), limit=1)
    assert offsets(tla.ComposedLayout(tla.Layout(8, step), Int[0](), tla.Layout((2, 0), (1, 1)))).shape == (2, 0)


def test_empty_and_single():
    assert offsets(parse("(3,0):(1,9223372036854775807)")).shape == (3, 0)
    assert offsets(parse("():()")).tolist() == 0
    assert offsets(parse("4:2")).tolist() == [0, 2, 4, 6]
    assert offsets(parse("((2,2)):((2,1))")).tolist() == [0, 2, 1, 3]


def test_too_many_offsets_are_refused():
    huge = tla.MakeLayout((Int[2**40](), 2))
    with pytest.raises(RangeError, match="at most"):
        offsets(huge)
    with pytest.raises(RangeError):
        offsets(parse("(4,4):(1,4)"), limit=15)
    assert offsets(parse("(4,4):(1,4)"), limit=16).size == 16


def test_empty_layouts_cost_nothing():
    assert offsets(parse("(0,4):(1,99999999999)")).shape == (0, 4)
    assert offsets(parse("(0,99999999999999):(1,1)")).shape == (0, 99999999999999)


def test_as_many_modes_as_numpy_has_axes():
    from tla.tensors.offsets import max_axes

    assert offsets(tla.MakeLayout((1,) * max_axes())).size == 1
    with pytest.raises(tla.RankError, match="axes"):
        offsets(tla.MakeLayout((1,) * (max_axes() + 1)))
