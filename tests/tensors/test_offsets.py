"""All offsets at once of swizzled layouts, against the definition of a swizzle at each coordinate."""

import itertools
import random

import numpy as np
import pytest

import tla
from tla import ComposedLayout, Layout, Swizzle

import oracle


def swizzled(bits, base, shift, x):
    """CuTe's Swizzle<bits, base, shift> of an integer."""
    read = x & ((1 << bits) - 1) << base + max(0, shift)
    return x ^ (read >> shift if shift >= 0 else read << -shift)


def offsets(swizzle, start, shape, stride):
    """swizzle(start + layout) of every coordinate, the last mode fastest."""
    modes = [oracle.offsets(*mode) for mode in zip(shape, stride)]
    return [swizzled(*swizzle, start + sum(parts)) for parts in itertools.product(*modes)]


def fits(values):
    return -(2**31) <= min(values) and max(values) < 2**31


def agree(swizzle, start, shape, stride):
    truth = offsets(swizzle, start, shape, stride)
    found = tla.offsets(ComposedLayout(Swizzle[swizzle](), start, Layout(shape, stride)))
    assert found.ravel().tolist() == truth, (swizzle, start, shape, stride)
    assert found.dtype == (np.int32 if fits(truth) else np.int64)
    assert found.flags.writeable
    assert found.flags.c_contiguous


def test_swizzled_layouts_at_random():
    """Parts that share bits and such that do not, negative strides, starts, extents of 1, masks and sums
    past 32 bits."""
    rng = random.Random(28)
    steps = [0, 1, 2, 3, 8, 12, 64, 72, -1, -8, 1 << 29, 1 << 31, -(1 << 31), 1 << 40]
    for _ in range(1500):
        bits, base = rng.randint(0, 3), rng.choice([0, 1, 3, 4, 28, 33])
        shift = rng.choice([-1, 1]) * rng.randint(bits, bits + 2)
        rank = rng.randint(1, 4)
        shape = tuple(rng.choice([1, 2, 4, 5, 8]) for _ in range(rank))
        stride = tuple(rng.choice(steps) for _ in range(rank))
        agree((bits, base, shift), rng.choice([0, 0, 1, 64, -8, 100, 2**31 - 1, 2**31]), shape, stride)


@pytest.mark.parametrize("stride", [(256, 1), (264, 1), (1, 256), (1, -256), (3, 7)])
def test_swizzled_tiles_larger_than_a_piece(stride):
    agree((3, 3, 3), 0, (256, 200), stride)
    agree((2, 4, -3), 128, (130, 256), stride)


def test_parts_whose_bits_cancel_are_sums():
    """-8 | -8 | 8 is -8, their sum too: that the sum is the or of all does not say that no two share a bit."""
    agree((2, 0, 3), -8, (2, 2), (-8, 8))
    agree((3, 3, 3), 0, (2, 2, 2), (-8, -8, 8))
    agree((1, 0, 1), 0, (), ())
