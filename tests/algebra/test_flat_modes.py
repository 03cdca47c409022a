"""Flat modes: how they merge, and an order of strides that is not known."""

import contextlib
import itertools

import pytest

import tla
from tla import Int, TlaError, Unproven, dims, parse
from tla.algebra.flat_modes import merge
from tla.core import digits

import oracle

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


def of_kinds(kinds, numbers):
    return [k(n) for k, n in zip(kinds, numbers)]


def test_merged_where_that_is_static_knowledge():
    """The same function whatever dynamic integers hold, in as many modes whatever they hold; of static ones
    in the fewest."""
    kinds = (int, lambda n: Int[n]())
    for numbers in itertools.product((1, 2), (0, 1, 2), (1, 3), (0, 1, 2, 4)):
        modes = [numbers[:2], numbers[2:]]
        plain = digits.merged(modes)
        for k in itertools.product(kinds, repeat=4):
            leaves = of_kinds(k, numbers)
            given = [tuple(leaves[:2]), tuple(leaves[2:])]
            for unbounded in (False, True):
                out = merge(given, unbounded)
                places = range(2 * numbers[0] * numbers[2] if unbounded else numbers[0] * numbers[2])
                assert [value(out, x) for x in places] == [value(modes, x) for x in places], (given, unbounded, out)
                if all(type(n) is Int for n in leaves):
                    assert out == (digits.merged(modes, unbounded=True) if unbounded else plain), (given, out)
                    assert all(type(n) is Int for mode in out for n in mode)
                else:
                    other = of_kinds(k, [n if type(x) is Int else 7 * n + 5 for n, x in zip(numbers, leaves)])
                    assert len(merge([tuple(other[:2]), tuple(other[2:])], unbounded)) == len(out), (given, out)


def value(modes, x):
    return oracle.at(x, *zip(*[(int(s), int(d)) for s, d in modes])) if modes else 0


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("(M,N):(_1,M)", "M*N:_1"),
        ("(M,N):(_1,N)", "(M,N):(_1,N)"),
        ("(_4,M):(_1,_4)", "4*M:_1"),
        ("(_4,M):(_1,4)", "(_4,M):(_1,4)"),
        ("(4,M):(_1,_4)", "(4,M):(_1,_4)"),
        ("(M,_4):(M,M*M)", "4*M:M"),
        ("(M,_1):(_1,N)", "M:_1"),
        ("(_1,M):(N,_1)", "M:_1"),
        ("(M,N):(_1@0,M@0)", "M*N:_1@0"),
        ("(M,N):(_1@0,M@1)", "(M,N):(_1@0,M@1)"),
        ("(_2,_2):(_1@0,_2@0)", "_4:_1@0"),
    ],
)
def test_merged_where_it_is_proved(text, merged):
    assert str(tla.coalesce(read(text))) == merged
