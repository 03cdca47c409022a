"""Functions compared on every integer: one by one, and as arrays from 256 on."""

import numpy as np
import pytest

import tla
from tla import Int, Layout, Unproven, dim, parse
from tla.algebra.exhaustive import agree, first_difference, values_of


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 300])
def test_the_first_difference(n):
    same, step = parse("_400:_3"), parse("400:3")
    assert first_difference(same, step, n) is None
    for at in {0, 1, n // 2, n - 1, n} - {-1}:

        def other(x, at=at):
            return same(x) + (x >= at)

        assert first_difference(same, other, n) == first_difference(other, same, n) == (at if at < n else None)


@pytest.mark.parametrize("n", [1, 255, 256, 300])
def test_at_places(n):
    places = [7 * k % 1000 for k in range(n)]
    assert agree(lambda x: x * 3, parse("_1000:_3"), places)
    for at in (0, n // 2, n - 1):
        assert not agree(lambda x: x * 3, lambda x, at=at: x * 3 + (x == places[at]), places)
    assert agree(lambda x: x, lambda x: x, [])


def test_values_of_up_to_65536_coordinates():
    assert values_of(parse("_65536:_3"), "it") == [*range(0, 3 * 65536, 3)]
    assert values_of(parse("(_3,_2):(_1@0,_1@1)"), "it")[4] == (1, 1)
    assert values_of(parse("(300):(1@0)"), "it")[299] == 299 * tla.E[0]
    far = values_of(Layout((300, 2), (2**60, 1)), "it")
    assert far[299] == 299 * 2**60
    assert all(type(x) is int for x in values_of(parse("_300:_1"), "it"))
    M = dim("M")
    for layout, text in (
        (parse("_65537:_3"), "it of _65537 coordinates"),
        (Layout(M, 1), "it of M coordinates"),
        (Layout((2, 200), (1, M)), "not known"),
        (Layout(Int[2](), M), "not known"),
    ):
        with pytest.raises(Unproven, match=text):
            values_of(layout, "it")
    assert np.array_equal(
        values_of(parse("Sw<2,0,3> o _0 o _300:_1"), "it"), [tla.Swizzle[2, 0, 3]()(x) for x in range(300)]
    )
