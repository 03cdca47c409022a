"""Compositions of dynamic integers and of sizes: the law, and a profile that does not depend on what
a variable holds."""

import random
from collections import Counter

import pytest

import tla
from tla import DivisibilityError, Int, Layout, RankError, TlaError, Unproven, assuming, composition, dims, parse

import laws
import oracle
from laws import plain

M, N = dims("M N")


def read(text):
    return parse(text, symbols=[M, N])


def pattern(layout):
    """The nesting and the static integers, with ? for each dynamic one."""

    def of(x):
        return tuple(map(of, x)) if isinstance(x, tuple) else str(x) if isinstance(x, Int) else "?"

    return of(layout.shape), of(layout.stride)


def drawn(rng, extents, strides):
    rank = rng.choice((1, 2, 2, 3))
    kinds = [rng.choice((int, lambda n: Int[n]())) for _leaf in range(2 * rank)]
    return kinds, [rng.choice(extents) for _m in range(rank)], [rng.choice(strides) for _m in range(rank)]


def layout_of(kinds, s, d):
    rank = len(s)
    shape, stride = tuple(k(n) for k, n in zip(kinds, s)), tuple(k(n) for k, n in zip(kinds[rank:], d))
    return Layout(shape, stride) if rank > 1 else Layout(shape[0], stride[0])


def test_the_law_and_the_profile():
    rng, seen = random.Random(8), Counter()
    patterns = {}
    for _k in range(450):
        outer, inner = (
            drawn(rng, (1, 2, 3, 4, 6), (-2, 0, 1, 3, 8)),
            drawn(rng, (1, 2, 3, 4), (-1, 0, 1, 2, 3, 4, 6, 12)),
        )
        a, b = layout_of(*outer), layout_of(*inner)
        try:
            r = composition(a, b)
        except DivisibilityError:
            seen["refused"] += 1
            continue
        laws.composes(plain(a), plain(b), plain(r))
        seen["answered"] += 1
        kinds = tuple(map(pattern, (a, b)))
        assert patterns.setdefault(kinds, pattern(r)) == pattern(r) or 0 in outer[1] + inner[1], (a, b, r)
    assert seen["answered"] > 170, seen
    assert len(patterns) > 150


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("(_4,_8):(_8,_1)", "(2,_2):(_1,_2)", None),
        ("(_4,4):(_1,_4)", "_8:_1", "(_4,_2):(_1,_4)"),
        ("(4,_4):(_1,8)", "_2:_2", "(2,1):(_2,8)"),
        ("(_4,_4):(_1,8)", "_8:_2", "(_2,_4):(_2,8)"),
        ("(_4,_4):(3,_1)", "_2:_1", "_2:3"),
        ("(_4,_4):(_1,8)", "_1:_5", None),
        ("8:3", "(_2,4):(_4,1)", "(_2,4):(12,3)"),
        ("(_4,_8):(3,_1)", "_4:_8", "_4:_2"),
        ("(4,8):(8,1)", "(_0,_4):(_1,_1)", "(_0,_4):(_1,_1)"),
        ("(_4,_8):(_8,_1)", "(2,3):(0,_0)", None),
    ],
)
def test_the_results_of_dynamic_integers(a, b, result):
    a, b = parse(a), parse(b)
    r = composition(a, b)
    if 0 not in oracle.leaves(plain(b)[0]):
        laws.composes(plain(a), plain(b), plain(r))
    assert result is None or str(r) == result


SIZES = [{"M": m, "N": n} for m, n in ((4, 2), (8, 3), (12, 1), (24, 6))]


@pytest.mark.parametrize(
    ("a", "b", "result", "conditions"),
    [
        ("(M,N):(N,_1)", "M:_1", "M:N", []),
        ("(M,N):(_1,M)", "(M,N):(_1,M)", "(M,N):(_1,M)", []),
        ("(M,N):(N,_1)", "(M,N):(_1,M)", "(M,N):(N,_1)", []),
        ("(M,N):(N,_1)", "N:M", "N:_1", []),
        ("(M,N):(N,_1)", "(N,M):(M,_1)", "(N,M):(_1,N)", []),
        ("(M,N):(N,_1)", "_4:_1", "_4:N", ["4 <= M"]),
        ("(4*M,N):(N,_1)", "(_4,M):(_1,_4)", "(_4,M):(N,4*N)", []),
        ("(M,N):(N,_1)", "(M,_1):(_1,_0)", "(M,_1):(N,_0)", []),
        ("M:3", "(N,_4):(_4,_1)", "(N,_4):(12,3)", []),
        ("M:3", "(N,_4):(_4,0)", "(N,_4):(12,0)", []),
        ("(M,N):(_1@0,_1@1)", "(M,N):(_1,M)", "(M,N):(_1@0,_1@1)", []),
        ("(M,N):(N,_1)", "(_4,_2):(_1@0,_1@1)", "(_4,_2):(N,_1)", []),
        ("(M,(N,_2)):(N,(_2,_1))", "(M,_2):(_1@0,_1@1@1)", "(M,_2):(N,_1)", []),
    ],
)
def test_compositions_of_sizes(a, b, result, conditions):
    a, b = read(a), read(b)
    with assuming() as recorded:
        r = composition(a, b)
    assert str(r) == result
    assert [*map(str, recorded)] == conditions
    if conditions:
        with pytest.raises(Unproven, match=conditions[0]):
            composition(a, b)
    for sizes in SIZES:
        x, y, z = (tla.at(layout, sizes) for layout in (a, b, r))
        if not any("@" in str(layout) for layout in (x, y)):
            laws.composes(plain(x), plain(y), plain(z))


@pytest.mark.parametrize(
    ("a", "b", "error", "text"),
    [
        ("(M,N):(N,_1)", "(M,_2):(_1,_1)", TlaError, "composition"),
        ("(6*M,N):(N,_1)", "_8:_4", TlaError, "composition"),
        ("(M,N):(N,_1)", "M:-1", TlaError, "composition"),
        ("(_2,_2):(_1@0,_1@1)", "_2:_3", DivisibilityError, "two coordinates at once"),
        ("(2,2):(4611686018427387904,1)", "2:_4", TlaError, "composition"),
        ("(4,2):(1,4)", "(2,2):(1@0,1@0@1)", RankError, "mode 0@1|goes to mode|an integer and a tuple"),
        ("(4,2):(1,4)", "2:1@2", RankError, "goes to mode 2"),
        ("4:1", "2:1@0", RankError, "goes to mode 0"),
        ("(4,6,8):(1,4,7)", "6:1", DivisibilityError, "cannot be cut in whole steps"),
    ],
)
def test_compositions_that_are_refused(a, b, error, text):
    with pytest.raises(error, match=text):
        composition(read(a), read(b))


def test_places_that_are_both_an_integer_and_a_tuple_count_where_something_steps():
    a = parse("((_4,_2),_3):((_1,_4),_8)")
    for b, ok in (
        ("(_2,_2):(_1@0,_1@0@0)", False),
        ("(_2,_1):(_1@0,_1@0@0)", True),
        ("(_2,_2):(_1@0,_0@0@0)", True),
        ("(_2,_2):(_1@0@0,_1@1@0)", True),
    ):
        try:
            composition(a, parse(b))
        except RankError:
            assert not ok, b
        else:
            assert ok, b
