"""What is valid of a composition."""

import itertools
import random
from collections import Counter

import tla
from tla import Layout, TlaError, parse
from tla.core.basis import as_coordinate

import oracle
from corpus import partly_valid


def test_what_is_valid_of_a_composition():
    """Valid are the coordinates that are valid in b and go to valid ones of a, where these are a box."""
    rng, seen = random.Random(6), Counter()
    for _k in range(200):
        a = partly_valid(rng, [4, 6, (2, 3), (2, 2)])
        if tla.rank(a) == 2 and rng.random() < 0.7:  # into its coordinates
            first, second = map(int, tla.product_each(a.shape))
            b = parse(
                f"(_{rng.randint(1, first)},_{rng.randint(1, second)},_{rng.choice((1, 1, 2))}):(_1@0,_1@1,_{rng.choice((1, 2))}@{rng.choice((0, 1))})"
            )
        else:
            b = partly_valid(rng, [1, 2, 3, (2, 2)])
        b = (
            b
            if rng.random() < 0.5
            else Layout(b.shape, b.stride, tuple(rng.randint(1, int(n)) for n in tla.product_each(b.shape)))
        )
        try:
            r = tla.composition(a, b)
        except TlaError:
            continue
        seen["all"] += 1
        if r.origin_shape is None:
            continue
        seen["known"] += 1
        extents = [int(n) for n in tla.product_each(b.shape)]
        for c in itertools.product(*map(range, extents)):
            place = as_coordinate(b(c))
            inside = _is_inside(place, a) if isinstance(place, tuple) else _is_inside(oracle_coordinate(place, a), a)
            assert all(x < n for x, n in zip(c, r.origin_shape)) is (
                inside and all(x < n for x, n in zip(c, b.origin_shape))
            ), (
                a,
                a.origin_shape,
                b,
                b.origin_shape,
                r.origin_shape,
            )
    assert seen["known"] > 0.6 * seen["all"] > 50, seen


def oracle_coordinate(place, a):
    """One integer for each mode, first mode fastest; the last has no bound."""
    out = []
    extents = [oracle.size(oracle.plain(s)) for s in a.shape]
    for n in extents[:-1]:
        out.append(place % n)
        place //= n
    return (*out, place)


def _is_inside(coord, a):
    return all(x < n for x, n in zip(coord, a.origin_shape))
