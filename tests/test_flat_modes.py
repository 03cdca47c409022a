"""Modes in an order that is not known."""

import contextlib

import pytest

import tla
from tla import TlaError, Unproven, dims, parse

M, N = dims("M N")


def read(text):
    return parse(text, symbols=[M, N])


@pytest.mark.parametrize(
    ("strides", "conditions"),
    [("M,N", ["M <= N"]), ("4*M,N,M", ["N <= 4*M", "N <= M"]), ("N,M,2*N", ["N <= M", "M <= 2*N"]), ("M,4*M", [])],
)
def test_an_order_of_strides_that_is_not_known_is_asked_for(strides, conditions):
    """One that none is known to be smaller than comes first."""
    a = read(f"({','.join(['_2'] * (strides.count(',') + 1))}):({strides})")
    if conditions:
        with pytest.raises(Unproven):
            tla.complement(a, 64)
    with tla.assuming() as recorded, contextlib.suppress(TlaError):
        tla.complement(a, 64)
    assert [str(c) for c in recorded][: len(conditions)] == conditions
