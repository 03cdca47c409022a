"""Tensors against loops over coordinates, by the oracle's offsets; nothing is written where anything is refused."""

import array
import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tla
from tla import (
    ComposedLayout,
    GetTile,
    Layout,
    MakeLayout,
    MakeTensor,
    Swizzle,
    TileView,
    TlaError,
    _,
    local_partition,
    local_tile,
    padded,
    parse,
    recast,
    transpose,
)

import oracle
from corpus import fill, profiles, small_shapes


def plain(x):
    return tuple(map(plain, x)) if isinstance(x, tuple) else int(x)


def swizzled(bits, base, shift, n):
    """The definition of a swizzle: bits [base+shift, base+shift+bits) xored into [base, base+bits), for shift >= 0."""
    return n ^ ((n >> shift) & (((1 << bits) - 1) << base))


class Model:
    """What a tensor is, slowly: a list, an offset, a function from absolute top-level coordinates, a start, valid extents."""

    def __init__(self, buffer, function, start, valid):
        self.buffer, self.function, self.start, self.valid = buffer, function, start, valid

    @classmethod
    def of(cls, t):
        layout, swizzle = t.layout, None
        if isinstance(layout, ComposedLayout):
            swizzle, base, layout = layout.outer, int(layout.offset), layout.inner
        shape, stride, offset = plain(layout.shape), plain(layout.stride), int(t.offset)

        def function(c):
            place = oracle.offset(c if isinstance(shape, tuple) else c[0], shape, stride)
            if swizzle is not None:
                place = swizzled(int(swizzle.bits), int(swizzle.base), int(swizzle.shift), base + place)
            return place + offset

        return cls(t.data, function, plain(tuple(t.coord)), plain(tuple(t.origin_shape)))

    def offsets(self):
        return {c: self.function(tuple(s + x for s, x in zip(self.start, c))) for c in itertools.product(*map(range, self.valid))}

    def dense(self):
        out = np.empty(self.valid, self.buffer.dtype)
        for c, place in self.offsets().items():
            assert place >= 0
            out[c] = self.buffer[place]
        return out


def check(t):
    """np.asarray(t), t[...], and t.numpy() where it has one are the model's."""
    truth = Model.of(t).dense()
    got = np.asarray(t)
    assert got.shape == truth.shape
    assert np.array_equal(got, truth), t
    for c in random.Random(0).sample([*np.ndindex(truth.shape)], min(5, truth.size)):
        assert t[c] == truth[c]
    try:
        view = t.numpy()
    except TlaError:
        view = None
    if view is not None:
        assert np.array_equal(view, truth)
        assert truth.size == 0 or np.shares_memory(view, t.data)
    try:
        nested = t.numpy(nested=True)
    except TlaError:
        assert view is None
    else:
        assert np.array_equal(nested.reshape(truth.shape), truth)
    return truth


def random_layout(rng, ranks=(1, 2, 3), injective=True):
    """A nested layout: digits of every mode in a random order of memory, with gaps."""
    shape = tuple(
        tuple(rng.choice((1, 2, 3, 4, 5)) for _ in range(k)) if (k := rng.choice((0, 1, 2, 3))) else rng.randint(1, 12)
        for _ in range(rng.choice(ranks))
    )
    leaves = [*oracle.leaves(shape)]
    order = rng.sample(range(len(leaves)), len(leaves))
    strides, step = [0] * len(leaves), 1
    for k in order:
        strides[k] = step if injective or rng.random() < 0.7 else 0
        step *= leaves[k] + (rng.random() < 0.2)
    valid = tuple(rng.randint(0, oracle.size(s)) if rng.random() < 0.5 else oracle.size(s) for s in shape)
    return Layout(shape, oracle.nest(shape, iter(strides)), valid)


def random_tensor(rng, **options):
    layout = random_layout(rng, **options)
    data = np.array(rng.sample(range(1 << 20), int(tla.cosize(layout)) + rng.randint(0, 3)), np.int64)
    if rng.random() < 0.3:
        layout = ComposedLayout(Swizzle[2, 1, 3](), tla.Int[0](), layout)
        data = np.arange(1 << max(7, len(data).bit_length() + 1), dtype=np.int64)
    return MakeTensor(data, layout)


def test_every_small_layout():
    for shape in small_shapes():
        shape = shape if isinstance(shape, tuple) else (shape,)
        for strides in (oracle.compact(shape), oracle.compact(shape, last_fastest=True)):
            layout = Layout(shape, strides)
            check(MakeTensor(np.arange(oracle.size(shape)), layout))


@pytest.mark.parametrize("seed", range(300))
def test_random_tensors_tiles_and_slices(seed):
    rng = random.Random(seed)
    t = random_tensor(rng)
    truth = check(t)
    for _step in range(4):
        start = tuple(rng.randint(0, n + 1) for n in truth.shape)
        tile = tuple(rng.randint(1, max(1, n)) for n in truth.shape)
        part = GetTile(t, start, tile)
        cut = truth[tuple(slice(s, s + n) for s, n in zip(start, tile))]
        assert np.array_equal(check(part), cut)
        again = tuple(rng.randint(0, n) for n in cut.shape)
        inner = GetTile(part, again, tile)
        assert np.array_equal(check(inner), cut[tuple(slice(s, s + n) for s, n in zip(again, tile))])
        counts = tuple(rng.randint(0, 2) for _n in tile)
        view = TileView(t, counts, tile)
        assert np.array_equal(check(view), truth[tuple(slice(c * n, c * n + n) for c, n in zip(counts, tile))])
        for x, dense in ((t, truth), (part, cut)):
            if all(dense.shape) and dense.ndim:
                at = tuple(_ if rng.random() < 0.5 else rng.randrange(n) for n in dense.shape)
                want = dense[tuple(slice(None) if c is _ else c for c in at)]
                got = x[at]
                assert np.array_equal(check(got) if any(c is _ for c in at) else got, want)
            order = rng.sample(range(dense.ndim), dense.ndim)
            assert np.array_equal(check(transpose(x, order)), dense.transpose(order))


@pytest.mark.parametrize("seed", range(200))
def test_local_tile_and_partition(seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 9) for _ in range(rng.choice((1, 2, 3))))
    layout = MakeLayout(shape, rng.choice((tla.LayoutLeft, tla.LayoutRight)), tuple(rng.randint(0, n) for n in shape))
    layout = ComposedLayout(Swizzle[2, 0, 3](), tla.Int[0](), layout) if rng.random() < 0.3 else layout
    t = MakeTensor(np.arange(1024), layout)
    truth = np.asarray(t)
    tiler = tuple(rng.choice((rng.randint(1, 4), _)) for _n in shape[: rng.randint(1, len(shape))])
    sizes = [n if tile is _ else tile for n, tile in zip(shape, tiler)]
    coord = tuple(rng.randrange(math.ceil(n / size)) for n, size in zip(shape, sizes))
    rest = tuple(rng.choice((_, rng.randrange(n))) if n else _ for n in truth.shape[len(tiler) :])
    got = local_tile(t, tiler, (*coord, *rest))
    cut = truth[(*(slice(c * n, c * n + n) for c, n in zip(coord, sizes)), *(slice(None) if c is _ else c for c in rest))]
    assert np.array_equal(check(got), cut)

    threads = MakeLayout(tuple(rng.randint(1, 4) for _n in shape), rng.choice((tla.LayoutLeft, tla.LayoutRight)))
    seen = []
    for index in range(int(tla.size(threads))):
        at = next(c for c in np.ndindex(*plain(threads.shape)) if threads(*c) == index)
        part = check(local_partition(t, threads, index))
        assert np.array_equal(part, truth[tuple(slice(c, None, n) for c, n in zip(at, plain(threads.shape)))])
        seen += part.ravel().tolist()
    assert sorted(seen) == sorted(truth.ravel().tolist())
