"""Inputs: every small shape and layout, and hypothesis strategies for large ones."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

import oracle

EXTENTS = (1, 2, 3, 4)
PROFILES = [0, (0,), (0, 0), ((0, 0),), (0, (0, 0)), ((0, 0), 0), ((0, 0), (0, 0)), (0, 0, 0), (0, (0, (0, 0)))]


def fill(profile, values):
    return tuple(fill(p, values) for p in profile) if isinstance(profile, tuple) else next(values)


def count(profile):
    return sum(map(count, profile)) if isinstance(profile, tuple) else 1


def small_shapes():
    """Every shape of PROFILES with extents of 1 to 4."""
    for profile in PROFILES:
        for extents in itertools.product(EXTENTS, repeat=count(profile)):
            yield fill(profile, iter(extents))


def profiles(depth=3):
    return st.recursive(st.just(0), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=2**depth)


@st.composite
def integers(draw, low, high):
    """A dynamic or a static integer."""
    from tla import Int

    n = draw(st.integers(low, high))
    return Int[n]() if draw(st.booleans()) else n


@st.composite
def shapes(draw, low=1, high=8):
    profile = draw(profiles())
    return fill(profile, iter([draw(integers(low, high)) for _ in range(count(profile))]))


@st.composite
def layouts(draw, high=8, stride=2**40):
    from tla import Layout

    shape = draw(shapes(high=high))
    return Layout(shape, fill(shape, iter([draw(integers(-stride, stride)) for _ in range(count(shape))])))


def static(x):
    from tla import Int

    return tuple(map(static, x)) if isinstance(x, tuple) else Int[x]()


def small(strides=range(5), ranks=(1, 2)):
    """Every layout of rank 1 and 2 with extents 1 to 4 and these strides, as a pair of plain tuples: 420 by default."""
    for rank in ranks:
        for s in itertools.product(EXTENTS, repeat=rank):
            for d in itertools.product(strides, repeat=rank):
                yield (s, d) if rank > 1 else (s[0], d[0])


def made(pair):
    """The static Layout of a pair."""
    from tla import Layout

    return Layout(static(pair[0]), static(pair[1]))


def injective(pair):
    image = oracle.offsets(*pair)
    return len(set(image)) == len(image)
