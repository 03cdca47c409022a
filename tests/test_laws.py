"""The laws of the algebra over random nested layouts: depth up to 4, sizes up to 2**20, strides up to 2**40, static and dynamic.

A domain of more than a thousand coordinates is sampled, its corners included. `pytest --night` runs 100,000 cases of
each.
"""

import itertools
import math
import random

import numpy as np
from hypothesis import given, strategies as st
from laws import plain

import tla
from tla import Int, Layout, TlaError

import oracle
from corpus import count, integers, profiles


@st.composite
def layouts(draw, compact=False):
    """A layout of up to 2**20 coordinates; with strides up to 2**40, or compact in some order of its modes."""
    profile = draw(profiles(4))
    n = count(profile)
    extents, left = [], 2**20
    for _leaf in range(n):
        extent = draw(st.integers(1, max(1, min(left, draw(st.sampled_from((2, 4, 16, 1024)))))))
        left //= extent
        extents.append(extent)
    if compact:
        strides, reached = [0] * n, 1
        for k in draw(st.permutations(range(n))):
            strides[k] = reached
            reached *= extents[k] * draw(st.sampled_from((1, 1, 1, 2, 3)))
    else:
        strides = [draw(st.sampled_from((0, 1, 2, 3, 4, 6, 8, 12, 2**20, 2**40, -1, -8))) for _leaf in range(n)]
    leaf = [draw(integers(x, x)) for x in extents + strides]
    return Layout(oracle.nest(profile, iter(leaf[:n])), oracle.nest(profile, iter(leaf[n:])))


def places(layout):
    """All indices of a layout, or a thousand of them with the ends: as Python's integers, for offsets do not fit 64 bits."""
    n = int(tla.size(layout))
    return np.array([*range(n)] if n <= 1000 else [0, 1, n - 2, n - 1, *random.Random(n).sample(range(n), 1000)], object)


def at(layout, i):
    return oracle.offset(i, *plain(layout))


def or_none(f, *arguments):
    try:
        return f(*arguments)
    except TlaError:
        return None


@given(layouts())
def test_coalesce(a):
    r = tla.coalesce(a)
    assert tla.size(r) == tla.size(a)
    assert tla.depth(r) <= 1
    i = places(a)
    assert np.all(at(r, i) == at(a, i))


@given(layouts(), layouts())
def test_composition(a, b):
    r = or_none(tla.composition, a, b)
    if r is not None:
        assert tla.compatible(b, r) is True
        i = places(b)
        assert np.all(at(r, i) == at(a, at(b, i)))


@given(layouts(compact=True), layouts(compact=True))
def test_composition_of_compact_layouts(a, b):
    test_composition.hypothesis.inner_test(a, b)


@given(layouts(compact=True), st.integers(1, 2**22))
def test_complement(a, n):
    r = or_none(tla.complement, a, Int[n]())
    if r is None:
        return
    both = Layout((a.shape, r.shape), (a.stride, r.stride))
    assert tla.is_injective(both) is not False
    assert tla.is_ordered(r) is True
    modes = sorted((int(d), int(s)) for s, d in zip(oracle.leaves(a.shape), oracle.leaves(a.stride)) if s != 1 and d != 0)
    if all(e % (d * s) == 0 for (d, s), (e, _) in itertools.pairwise(modes)):
        assert tla.is_surjective(both, n) is not False


@given(layouts(compact=True))
def test_inverses(a):
    r = or_none(tla.right_inverse, a)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == i)
    r = or_none(tla.left_inverse, a)
    if r is not None and tla.is_injective(a):
        i = places(a)
        assert np.all(at(r, at(a, i)) == i)


@given(layouts(compact=True), layouts(compact=True))
def test_divide(a, b):
    r = or_none(tla.logical_divide, a, b)
    if r is not None:
        tile = Layout(r.shape[0], r.stride[0])
        i = places(b)
        assert np.all(at(tile, i) == at(a, at(b, i)))


@given(layouts(compact=True), layouts(compact=True))
def test_product(a, b):
    r = or_none(tla.logical_product, a, b)
    if r is not None:
        assert plain(r[0]) == plain(a)
        assert tla.compatible(b, r[1]) is True
        if tla.is_injective(a) and tla.is_injective(b):
            assert tla.is_injective(r) is not False


@given(layouts(), layouts())
def test_common_layouts(a, b):
    r = or_none(tla.max_common_layout, a, b)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == i)
        assert np.all(at(b, at(r, i)) == i)
        assert tla.max_common_vector(a, b) == tla.size(r)


@given(layouts())
def test_nullspace(a):
    r = or_none(tla.nullspace, a)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == 0)


@given(layouts(compact=True), st.sampled_from((1, 2, 3, 4, 8)))
def test_widths(a, n):
    narrow = or_none(tla.downcast[n], a)
    if narrow is not None:
        assert tla.size(narrow) == n * tla.size(a)
        wide = or_none(tla.upcast[n], narrow)
        assert wide is None or plain(wide) == plain(a) or math.prod(oracle.leaves(plain(wide)[0])) == int(tla.size(a))
    wide = or_none(tla.upcast[n], a)
    if wide is not None and int(tla.size(a)) <= 4096:
        assert {x // n for x in oracle.offsets(*plain(a))} == set(oracle.offsets(*plain(wide)))
