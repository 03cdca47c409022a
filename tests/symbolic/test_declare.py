"""Sizes of several names, and the tuple of one of them."""

import copy
import operator
import pickle

import pytest

from tla import LeafTypeError, dim, dims, make_layout

NUMBERS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lshift,
    operator.and_,
]


@pytest.mark.parametrize("compute", NUMBERS, ids=lambda f: f.__name__)
def test_the_tuple_of_one_size_is_no_number(compute):
    n = dims("N", multiple_of=8)
    for a, b in ((n, 4), (4, n), (n, dim("M")), (dim("M"), n)):
        if compute is operator.mul or compute is operator.add or a is n:
            with pytest.raises(LeafTypeError) as caught:
                compute(a, b)
            assert caught.value.reason.what == "dims('N') as a number: it is a tuple of one size"
            assert caught.value.reason.fix == "write dim('N')"
    assert compute(dim("N", multiple_of=8), 4) is not None  # the fix works


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_it_is_compared_with_no_number(compare):
    for a, b in ((dims("N"), 4), (4, dims("N"))):
        with pytest.raises(LeafTypeError, match=r"write dim\('N'\)"):
            compare(a, b)


def test_in_a_shape_it_is_no_factor():
    with pytest.raises(LeafTypeError, match=r"write dim\('N'\)"):
        make_layout((dims("N") * 4, 8))
    with pytest.raises(LeafTypeError, match=r"write dim\('N'\)"):
        range(dims("N"))


def test_it_is_a_tuple_in_every_other_sense():
    n = dims("N")
    (size,) = n
    assert n == (dim("N"),) == copy.copy(n) == pickle.loads(pickle.dumps(n))
    assert isinstance(n, tuple)
    assert str(make_layout(n)) == "(N):(_1)" == str(make_layout((size,)))
    assert (4, *n) == (4, size) == operator.add((4,), n)
    assert type(dims("M N")) is tuple
