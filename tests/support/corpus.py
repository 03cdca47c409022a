"""Inputs: every small shape and layout, and hypothesis strategies for large ones."""

from __future__ import annotations

import functools
import itertools
import math

from hypothesis import strategies as st

from tla import Int, Layout, LayoutLeft, LayoutRight, MakeLayout, product_each

import oracle

EXTENTS = (1, 2, 3, 4)
PROFILES = [0, (0,), (0, 0), ((0, 0),), (0, (0, 0)), ((0, 0), 0), ((0, 0), (0, 0)), (0, 0, 0), (0, (0, (0, 0)))]


def count(profile):
    return sum(map(count, profile)) if isinstance(profile, tuple) else 1


def small_shapes():
    """Every shape of PROFILES with extents of 1 to 4."""
    for profile in PROFILES:
        for extents in itertools.product(EXTENTS, repeat=count(profile)):
            yield oracle.nest(profile, iter(extents))


def profiles(depth=3):
    return st.recursive(
        st.just(0), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=2**depth
    )


@st.composite
def integers(draw, low, high):
    """A dynamic or a static integer."""
    n = draw(st.integers(low, high))
    return Int[n]() if draw(st.booleans()) else n


@st.composite
def shapes(draw, low=1, high=8):
    profile = draw(profiles())
    return oracle.nest(profile, iter([draw(integers(low, high)) for _ in range(count(profile))]))


@st.composite
def layouts(draw, high=8, stride=2**40):
    shape = draw(shapes(high=high))
    return Layout(shape, oracle.nest(shape, iter([draw(integers(-stride, stride)) for _ in range(count(shape))])))


def random_profile(rng, leaves):
    """A nesting of one to three modes a level, of no more than some leaves."""

    def nest(depth):
        return tuple(nest(depth - 1) for _ in range(rng.randint(1, 3))) if depth and rng.random() < 0.7 else 0

    while count(profile := nest(4)) > leaves:
        pass
    return profile


def random_extents(rng, profile, extent, most):
    """An extent for each leaf: extent(left) is no more than is left of `most` elements, and less where they
    are used up."""
    out = []
    for _leaf in range(count(profile)):
        out.append(extent(most))
        most //= out[-1]
    return out


def nested_layout(rng, profile, extents, strides):
    """Extents and strides, each static or dynamic, in a nesting."""
    leaf = [Int[x]() if rng.random() < 0.5 else x for x in (*extents, *strides)]
    return Layout(oracle.nest(profile, iter(leaf[: len(extents)])), oracle.nest(profile, iter(leaf[len(extents) :])))


def static(x):
    return tuple(map(static, x)) if isinstance(x, tuple) else Int[x]()


def small(strides=range(5), ranks=(1, 2)):
    """Every layout of rank 1 and 2 with extents 1 to 4 and these strides, as a pair of plain tuples: 420 by default."""
    for rank in ranks:
        for s in itertools.product(EXTENTS, repeat=rank):
            for d in itertools.product(strides, repeat=rank):
                yield (s, d) if rank > 1 else (s[0], d[0])


@functools.lru_cache(4096)
def made(pair):
    """The static Layout of a pair."""
    return Layout(static(pair[0]), static(pair[1]))


def injective(pair):
    image = oracle.offsets(*pair)
    return len(set(image)) == len(image)


def partly_valid(rng, shapes):
    """A compact static layout of one or two modes of these shapes, of which a random part is valid."""
    shape = static(tuple(rng.choice(shapes) for _mode in range(rng.choice((1, 1, 2)))))
    flat = MakeLayout(shape, rng.choice([LayoutLeft, LayoutRight]))
    return Layout(flat.shape, flat.stride, tuple(rng.randint(1, int(n)) for n in product_each(shape)))


# ------------------------------------------------------------------------------------------ kernel-sized layouts

BLOCKS = (2, 4, 8, 16, 32, 64, 128)
ODD = (3, 5, 6, 7, 9, 12, 20, 24, 28, 40, 48, 56, 96, 112)


def kernel_sized(rng, low=10, high=14, broadcasts=True):
    """A static layout of 2**low to 2**high elements as kernels have them, as a pair: a matrix or a batch of them, plain
    or in blocks, in any order of its modes, with padding, odd extents and broadcasts now and then."""
    while True:
        modes = [_kernel_mode(rng) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        if 2**low <= oracle.size(tuple(modes)) <= 2**high:
            break
    shape = tuple(modes)
    extents = list(oracle.leaves(shape))
    order = list(range(len(extents)))
    if rng.random() < 0.8:
        rng.shuffle(order)
    strides, reached = [0] * len(extents), 1
    for k in order:
        if broadcasts and rng.random() < 0.04:
            continue
        strides[k] = reached
        reached *= extents[k]
        if rng.random() < 0.08:
            reached += rng.choice((1, 4, 8, reached))
    return shape, oracle.nest(shape, iter(strides))


def _kernel_mode(rng):
    """One extent, or the digits of a blocked mode."""
    extents = [rng.choice(BLOCKS if rng.random() < 0.85 else ODD) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    return extents[0] if len(extents) == 1 else tuple(extents)


def rearranged(rng, pair):
    """Another layout of as many elements: the same leaves with modes gathered, cut or in another order of strides."""
    extents = [p for s in oracle.leaves(pair[0]) for p in _cut(rng, s)]
    cuts = sorted(rng.sample(range(1, len(extents)), min(len(extents) - 1, rng.choice((0, 1, 2)))))
    parts = [extents[a:b] for a, b in zip([0, *cuts], [*cuts, len(extents)])]
    shape = tuple(p[0] if len(p) == 1 else math.prod(p) if rng.random() < 0.5 else tuple(p) for p in parts)
    flat = list(oracle.leaves(shape))
    order = list(range(len(flat)))
    if rng.random() < 0.7:
        rng.shuffle(order)
    strides, reached = [0] * len(flat), 1
    for k in order:
        strides[k], reached = reached, reached * flat[k]
    return shape, oracle.nest(shape, iter(strides))


def _cut(rng, extent):
    """An extent, or two that multiply to it."""
    factors = [f for f in (2, 3, 4, 7, 8, 16) if extent % f == 0 and extent > f]
    if not factors or rng.random() < 0.5:
        return [extent]
    f = rng.choice(factors)
    return [f, extent // f]
