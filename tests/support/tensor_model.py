"""Tensors by their definition, slowly, and random ones."""

import itertools
import random

import numpy as np

import tla
from tla import ComposedLayout, Layout, MakeLayout, MakeTensor, Swizzle, TlaError

import oracle


def swizzled(bits, base, shift, n):
    """The definition of a swizzle: bits [base+shift, base+shift+bits) xored into [base, base+bits); the other
    way for shift < 0."""
    mask = ((1 << bits) - 1) << base
    return n ^ ((n >> shift) & mask if shift >= 0 else (n & mask) << -shift)


class Model:
    """What a tensor is, slowly: a list, an offset, a function from absolute top-level coordinates, a
    start, valid extents."""

    def __init__(self, buffer, function, start, valid):
        self.buffer, self.function, self.start, self.valid = buffer, function, start, valid

    @classmethod
    def of(cls, t):
        layout, swizzle = t.layout, None
        if isinstance(layout, ComposedLayout):
            swizzle, base, layout = layout.outer, int(layout.offset), layout.inner
        shape, stride, offset = oracle.plain(layout.shape), oracle.plain(layout.stride), int(t.offset)

        def function(c):
            place = oracle.offset(c if isinstance(shape, tuple) else c[0], shape, stride)
            if swizzle is not None:
                place = swizzled(int(swizzle.bits), int(swizzle.base), int(swizzle.shift), base + place)
            return place + offset

        return cls(t.data, function, oracle.plain(tuple(t.coord)), oracle.plain(tuple(t.origin_shape)))

    def places(self):
        """The place of every coordinate, as an array."""
        index = (start + x for start, x in zip(self.start, np.indices(self.valid, sparse=True)))
        return np.broadcast_to(self.function(tuple(index)), self.valid)

    def offsets(self):
        return dict(zip(itertools.product(*map(range, self.valid)), self.places().ravel().tolist()))

    def dense(self):
        places = self.places()
        assert (places >= 0).all()
        return self.buffer[places]


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
        assert isinstance(t.layout, ComposedLayout) or any(
            isinstance(s, tuple) for s in tla.core.int_tuple.modes_of(t.shape)
        )
    else:
        assert nested.ndim == len([*tla.core.int_tuple.leaves(t.shape)])
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


R = MakeLayout((4, 8), tla.LayoutRight)
