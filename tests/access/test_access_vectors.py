"""The widest vector: by brute force over all vectors of small layouts; open sizes at every value they may have."""

import itertools
import random

import pytest

from tla import ComposedLayout, Int, MakeLayout, Swizzle, TlaError, at, dim
from tla.access import vector_width

import oracle


def widest(src, dst, most):
    """The most elements n, a power of two, so that all coordinates fall in groups that are aligned runs of
    n in both."""
    best = 1
    for n in (2, 4, 8):
        if n > most or len(src) % n:
            break
        groups = {}
        for a, b in zip(src, dst):
            groups.setdefault((a // n, b // n), []).append((a % n, b % n))
        if all(sorted(g) == [(k, k) for k in range(n)] for g in groups.values()):
            best = n
    return best


def test_small_layouts():
    rng = random.Random(31)
    tight = 0
    for _ in range(1500):
        shape = tuple(rng.choice([2, 4, 8]) for _ in range(2))
        strides = [tuple(rng.sample([1, 2, 4, 8, 12, 16, 24, 32, 3, 6, 40], 2)) for _ in range(2)]
        if rng.random() < 0.6:
            k = rng.randrange(2)
            strides = [tuple(1 if i == k else d for i, d in enumerate(s)) for s in strides]
        src, dst = (oracle.offsets(shape, s) for s in strides)
        if len({*src}) < len(src) or len({*dst}) < len(dst):
            continue
        layouts = [MakeLayout(shape, s) for s in strides]
        static = [MakeLayout(*(tuple(Int[n]() for n in x) for x in (shape, s))) for s in strides]
        found = vector_width(*static, 16) // 16
        truth = widest(src, dst, 8)
        assert found <= truth, layouts
        tight += found == truth
    assert tight > 800


def test_open_sizes():
    for multiple, offset in itertools.product((1, 2, 4, 8, 16), (0, 1, 2, 4, 8)):
        n = dim("N", multiple_of=multiple)
        rows = MakeLayout((8, n), (n, 1))
        moved = ComposedLayout(Swizzle[0, 0, 0](), offset, rows) if offset else rows
        found = vector_width(rows, moved, 16)
        for value in range(multiple, 65, multiple):
            src = oracle.offsets((8, value), (value, 1))
            assert widest(src, [x + offset for x in src], 8) >= found // 16
        expected = min(multiple, 8) if not offset else min(multiple, 8, offset)
        assert found == 16 * expected
        assert at(rows, N=multiple) is not None


def test_swizzles_and_base_pointers():
    plain = MakeLayout((8, 64), (64, 1))
    for base in range(5):
        swizzled = ComposedLayout(Swizzle[2, base, 3](), 0, plain)
        assert vector_width(plain, swizzled, 16) == 16 * min(8, 1 << base)
    assert vector_width(plain, plain, 16, dst_alignment=64) == 64
    assert vector_width(plain, plain, 16, most=256, src_alignment=256, dst_alignment=256) == 256
    assert vector_width(plain, MakeLayout((8, 64), (1, 8)), 16) == 16


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda a: vector_width(a, a, 0), "1 or more"),
        (lambda a: vector_width(a, a, 16, src_alignment=48), "a power of two"),
        (lambda a: vector_width(a, 3, 16), "a layout"),
        (lambda a: vector_width(a, MakeLayout((16, 64), (64, 1)), 16), "layouts of one size"),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f(MakeLayout((8, 64), (64, 1)))
