"""Where two layouts differ first: same_map's reason against every coordinate, first mode fastest."""

import itertools
import math
import random
import re

from tla import ComposedLayout, Layout, Swizzle, parse, same_map

from night import amount


def first(a, b, extents):
    for coord in itertools.product(*(range(n) for n in reversed(extents))):
        c = coord[::-1]
        if a(*c) != b(*c):
            return c, a(*c), b(*c)
    return None


def nested(rng, n):
    """A shape of n elements."""
    for d in (2, 3, 4):
        if n % d == 0 and n > d and rng.random() < 0.6:
            return (d, nested(rng, n // d)) if rng.random() < 0.5 else (nested(rng, n // d), d)
    return n


def like(shape, f):
    return tuple(like(s, f) for s in shape) if isinstance(shape, tuple) else f()


def flatten(shape):
    if isinstance(shape, tuple):
        for s in shape:
            yield from flatten(s)
    else:
        yield shape


def in_order(shape, step):
    """The strides of a mode whose steps are all `step`, whatever its nesting."""
    places = iter([step * math.prod([*flatten(shape)][:k]) for k in range(len([*flatten(shape)]))])
    return like(shape, lambda: next(places))


def test_the_first_coordinate_that_differs():
    rng, differing = random.Random(37), 0
    for _ in range(amount(1500, 30_000)):
        extents = [rng.choice([1, 2, 4, 6, 8, 12]) for _ in range(rng.randrange(1, 4))]
        found = []
        base = [rng.choice([0, 1, 2, 4, 8, 24]) for _ in extents]
        for _side in "ab":
            shape = tuple(nested(rng, n) for n in extents)
            if rng.random() < 0.6:  # n:d of each mode, in some nesting
                stride = tuple(in_order(s, d) for s, d in zip(shape, base))
            else:
                stride = tuple(like(s, lambda: rng.choice([0, 1, 2, 3, 4, 6, 12])) for s in shape)
            found.append(Layout(shape, stride))
        a, b = found
        if rng.random() < 0.2:
            a = ComposedLayout(Swizzle[1, 0, rng.choice([1, 2])](), 0, a)
        expected, why = first(a, b, extents), same_map.why_not(a, b)
        assert same_map(a, b) is (expected is None), (a, b)
        if expected:
            differing += 1
            coord, x, y = expected
            text = ",".join(map(str, coord))
            assert why.what.endswith(f"differ first at ({text}): {x} and {y}"), (a, b, why, expected)
    assert differing > amount(500, 10_000)


def test_reasons_of_other_kinds():
    for a, b, what in (
        ("(4,2):(1,4)", "(2,4):(1,2)", "the extents"),
        ("(4,2):(1,4)", "(4,2):(1@0,1@1)", r"\(1,0\): 1 and"),
        ("4:1", "4:2", r"first at \(1\): 1 and 2"),
        ("Sw<1,0,1> o 0 o 4:1", "4:1", r"first at \(2\): 3 and 2"),
    ):
        assert re.search(what, same_map.why_not(parse(a), parse(b)).what)
