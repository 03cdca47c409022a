"""Compact layouts in an order: each leaf's stride is the product of the extents of all that come before it."""

import itertools
import math

import pytest

import tla
from tla import Int, Layout, RankError, compact_order, parse

import oracle


def test_strides_are_products_of_what_comes_before():
    for extents in ((1, 2, 3), (2, 1, 3), (3, 2, 1), (2, 2, 2), (1, 1, 4)):
        for order in itertools.product((0, 2, -1), repeat=3):
            for kinds in itertools.product((int, lambda n: Int[n]()), repeat=3):
                shape, orders = (tuple(k(n) for k, n in zip(kinds, numbers)) for numbers in (extents, order))
                keys = [(type(o) is not Int, int(o) if type(o) is Int else 0, k) for k, o in enumerate(orders)]
                before = [[i for i in range(3) if keys[i] < key] for key in keys]
                wanted = [math.prod(extents[i] for i in places) for places in before]
                found = compact_order(shape, orders)
                ones = [type(n) is Int and n == 1 for n in shape]
                assert tuple(found) == tuple(0 if one else n for one, n in zip(ones, wanted)), (shape, orders)
                for j, d in enumerate(found):
                    reached = all(type(shape[i]) is Int for i in before[j])
                    assert (type(d) is Int) is (ones[j] or reached)


def test_an_order_of_modes_is_first_mode_fastest_inside():
    assert str(compact_order(parse("(_2,(_3,_4))"), parse("(_1,_0)"))) == "(_12,(_1,_3))"
    assert str(compact_order(parse("(_2,(_3,_4))"), parse("(_2,(_1,_0))"))) == "(_12,(_4,_1))"
    assert str(compact_order(parse("(_2,_3)"), Int[0]())) == "(_1,_2)"
    for shape, order in (((2, 3), (0, 1, 2)), (2, (0,)), ((2, 3), ((0, 1), 2)), ((2, (3, 4)), (0, (1, 2, 3)))):
        with pytest.raises(RankError):
            compact_order(shape, order)


def test_an_order_of_coordinates_is_that_of_their_last_axes():
    """Memory for one value at each coordinate: axis 0 is the fastest; those that are not known come last."""
    for n in range(1, 4):
        for axes in itertools.permutations(range(n)):
            shape, strides = [2, 3, 5][:n], [tla.E[k] for k in axes]
            found = tla.MakeLayoutLike(tla.static(Layout(tuple(shape), tuple(strides))))
            assert [*found.stride] == [math.prod(m for m, k in zip(shape, axes) if k < axis) for axis in axes]
    assert str(tla.MakeLayoutLike(parse("(_4,_3,_2):(_3@0,_1@0,_0)"))) == "(_4,_3,_2):(_3,_1,_0)"
    assert str(compact_order(parse("(_2,_3)"), (tla.E[1] * 4, tla.E[1]))) == "(_3,_1)"
    for order in ((tla.E[0], 1), (1, tla.E[0]), (tla.E[0], tla.E[0, 1])):
        with pytest.raises(RankError, match="same places"):
            compact_order((2, 3), order)


def test_like_another_layout():
    """The order of static strides, broadcasts as they are; dynamic strides last."""
    for strides in itertools.product((0, 1, 4, 9, "5", "2"), repeat=3):
        layout = Layout(
            (Int[2](), Int[3](), Int[4]()), tuple(Int[d]() if isinstance(d, int) else int(d) for d in strides)
        )
        made = tla.MakeLayoutLike(layout)
        assert made.shape == layout.shape
        key = [(isinstance(d, str), 0 if isinstance(d, str) else d, k) for k, d in enumerate(strides)]
        order = [k for _s, _d, k in sorted(key) if strides[k] != 0]
        place = 1
        for k in order:
            assert made.stride[k] == place
            place *= oracle.plain(layout.shape)[k]
        assert all(made.stride[k] == 0 for k in range(3) if strides[k] == 0)
        assert made.is_static
    cropped = Layout((4, 8), (8, 1), (3, 5))
    assert tla.MakeLayoutLike(cropped).origin_shape == (3, 5)
