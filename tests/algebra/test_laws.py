"""The laws of the algebra over random nested layouts: depth up to 4, sizes up to 2**20, strides up to 2**40,
static and dynamic.

A domain of more than a thousand coordinates is sampled, its corners included. `pytest --night` runs 100,000
cases of each.
"""

import itertools
import math
import random

import numpy as np

import tla
from tla import Int, Layout, TlaError

import oracle
from corpus import nested_layout, random_extents, random_profile
from laws import plain
from night import amount

STRIDES = (0, 1, 2, 3, 4, 6, 8, 12, 2**20, 2**40, -1, -8)


def extents_of(rng, profile):
    def extent(left):
        top = min(left, rng.choice((2, 4, 16, 1024)))
        return 1 << rng.randint(0, top.bit_length() - 1) if rng.random() < 0.5 else rng.randint(1, top)

    return random_extents(rng, profile, extent, 2**20)


def layouts(rng):
    """A layout of up to 2**20 coordinates, with strides up to 2**40."""
    profile = random_profile(rng, 16)
    extents = extents_of(rng, profile)
    return nested_layout(rng, profile, extents, [rng.choice(STRIDES) for _ in extents])


def compact(rng):
    """A layout of up to 2**20 coordinates that is compact in some order of its modes, but for gaps here and there."""
    profile = random_profile(rng, 16)
    extents = extents_of(rng, profile)
    strides, reached = [0] * len(extents), 1
    for k in rng.sample(range(len(extents)), len(extents)):
        strides[k] = reached
        reached *= extents[k] * rng.choice((1, 1, 1, 2, 3))
    return nested_layout(rng, profile, extents, strides)


def for_random(*kinds, answered):
    """Make a law a test: of random arguments of these kinds, `answered` of the cases at least are no refusal, of which
    the law says None."""

    def decorated(law):
        def test():
            rng, cases = random.Random(law.__name__), amount(300, 100_000)
            said = sum(law(*(kind(rng) for kind in kinds)) is not None for _ in range(cases))
            assert said >= answered * cases

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        return test

    return decorated


def places(layout):
    """All indices of a layout, or a thousand of them with the ends: as Python's integers, for offsets do not
    fit 64 bits."""
    n = int(tla.size(layout))
    return np.array(
        [*range(n)] if n <= 1000 else [0, 1, n - 2, n - 1, *random.Random(n).sample(range(n), 1000)], object
    )


def at(layout, i):
    return oracle.offset(i, *plain(layout))


def or_none(f, *arguments):
    try:
        return f(*arguments)
    except TlaError:
        return None


@for_random(layouts, answered=1)
def test_coalesce(a):
    r = tla.coalesce(a)
    assert tla.size(r) == tla.size(a)
    assert tla.depth(r) <= 1
    i = places(a)
    assert np.all(at(r, i) == at(a, i))
    return r


def composes(a, b):
    r = or_none(tla.composition, a, b)
    if r is not None:
        assert tla.compatible(b, r) is True
        i = places(b)
        assert np.all(at(r, i) == at(a, at(b, i)))
    return r


@for_random(layouts, layouts, answered=0.5)
def test_composition(a, b):
    return composes(a, b)


@for_random(compact, compact, answered=0.5)
def test_composition_of_compact_layouts(a, b):
    return composes(a, b)


@for_random(compact, lambda rng: rng.randint(1, 2 ** rng.randint(1, 22)), answered=0.4)
def test_complement(a, n):
    r = or_none(tla.complement, a, Int[n]())
    if r is None:
        return None
    both = Layout((a.shape, r.shape), (a.stride, r.stride))
    assert tla.is_injective(both) is not False
    assert tla.is_ordered(r) is True
    modes = sorted(
        (int(d), int(s)) for s, d in zip(oracle.leaves(a.shape), oracle.leaves(a.stride)) if s != 1 and d != 0
    )
    if all(e % (d * s) == 0 for (d, s), (e, _) in itertools.pairwise(modes)):
        assert tla.is_surjective(both, n) is not False
    return r


@for_random(compact, answered=1)
def test_right_inverse(a):
    r = or_none(tla.right_inverse, a)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == i)
    return r


@for_random(compact, answered=0.2)
def test_left_inverse(a):
    r = or_none(tla.left_inverse, a)
    if r is not None and tla.is_injective(a):
        i = places(a)
        assert np.all(at(r, at(a, i)) == i)
    return r


@for_random(compact, compact, answered=0.25)
def test_divide(a, b):
    r = or_none(tla.logical_divide, a, b)
    if r is not None:
        tile = Layout(r.shape[0], r.stride[0])
        i = places(b)
        assert np.all(at(tile, i) == at(a, at(b, i)))
    return r


@for_random(compact, compact, answered=0.4)
def test_product(a, b):
    r = or_none(tla.logical_product, a, b)
    if r is not None:
        assert plain(r[0]) == plain(a)
        assert tla.compatible(b, r[1]) is True
        if tla.is_injective(a) and tla.is_injective(b):
            assert tla.is_injective(r) is not False
    return r


@for_random(layouts, layouts, answered=1)
def test_common_layouts(a, b):
    r = or_none(tla.max_common_layout, a, b)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == i)
        assert np.all(at(b, at(r, i)) == i)
        assert tla.max_common_vector(a, b) == tla.size(r)
    return r


@for_random(layouts, answered=0.9)
def test_nullspace(a):
    r = or_none(tla.nullspace, a)
    if r is not None:
        i = places(r)
        assert np.all(at(a, at(r, i)) == 0)
    return r


@for_random(compact, lambda rng: rng.choice((1, 2, 3, 4, 8)), answered=0.3)
def test_widths(a, n):
    narrow = or_none(tla.downcast[n], a)
    if narrow is not None:
        assert tla.size(narrow) == n * tla.size(a)
        wide = or_none(tla.upcast[n], narrow)
        assert wide is None or plain(wide) == plain(a) or math.prod(oracle.leaves(plain(wide)[0])) == int(tla.size(a))
    wide = or_none(tla.upcast[n], a)
    if wide is not None and int(tla.size(a)) <= 4096:
        assert {x // n for x in oracle.offsets(*plain(a))} == set(oracle.offsets(*plain(wide)))
    return wide
