"""Digits in plain ints, against the definition on every place."""

import itertools
import math

import pytest

from tla import Int
from tla.core.digits import Steps, first_of, merged, merged_leaves, merged_together, reached

import oracle


def modes_of(extents=(1, 2, 3), strides=(-1, 0, 1, 2, 3, 6), ranks=(0, 1, 2)):
    for rank in ranks:
        for s in itertools.product(extents, repeat=rank):
            for d in itertools.product(strides, repeat=rank):
                yield [*zip(s, d)]


SMALL = [*modes_of(), *[*modes_of(ranks=(3,))][::19]]


def value(modes, x):
    """The last mode has no bound; without modes it is 0."""
    return oracle.at(x, *zip(*modes)) if modes else 0


def size(modes):
    return math.prod(s for s, _d in modes)


def test_merged():
    for modes in SMALL[::3]:
        out, all_of = merged(iter(modes)), merged(modes, unbounded=True)
        assert [value(out, x) for x in range(size(modes))] == [value(modes, x) for x in range(size(modes))]
        assert all(s != 1 for s, _d in out)
        assert [value(all_of, x) for x in range(-3, 2 * size(modes) + 3)] == [
            value(modes, x) for x in range(-3, 2 * size(modes) + 3)
        ]
        assert all(s != 1 for s, _d in all_of[:-1])
        assert size(out) == size(modes)
        for found in (out, all_of):
            assert not any(s * d == e for (s, d), (_s, e) in itertools.pairwise(found)), (modes, found)


def test_first_of_and_reached():
    for modes in map(merged, SMALL[::9]):
        image = [value(modes, x) for x in range(size(modes))]
        for n in range(2, 14):
            first = first_of(modes, n)
            count, whole = 1, 1
            for s, _d in modes:  # whole modes, and of the next as much as fits
                count, whole = count * min(s, max(n // whole, 1)), whole * s
            assert size(first) == count
            assert [value(first, x) for x in range(count)] == image[:count]
            assert all(s > 1 for s, _d in first)
        for n in range(1, 14):
            found = reached(modes, n)
            assert [value(found, x) for x in range(min(n, len(image)))] == image[:n]
            assert all(s > 1 for s, _d in found)
            if found:
                before = size(found[:-1])
                assert (found[-1][0] - 1) * before < n <= max(n, size(found))
                assert [s for s, _d in found[:-1]] == [s for s, _d in modes[: len(found) - 1]]


def test_merged_leaves_are_the_same_terms():
    """Static modes merge that go on where the one before ends; dynamic ones, and extents of 0, stay."""
    for modes in modes_of(extents=(0, 1, 2, 3), strides=(0, 1, 2, 4), ranks=(2,)):
        for kinds in itertools.product((int, lambda n: Int[n]()), repeat=4):
            (s, d), (n, e) = given = [(kinds[2 * k](a), kinds[2 * k + 1](b)) for k, (a, b) in enumerate(modes)]
            one = all(type(x) is Int for x in (s, d, n, e)) and s != 0 and s * d == e
            assert merged_leaves(given) == ([(s * n, d)] if one else given)
            assert [type(x) for m in merged_leaves(given) for x in m] == [
                type(x) for m in (given[:1] if one else given) for x in m
            ]


def test_modes_of_several_functions_at_once():
    strides = [*itertools.product((0, 1, 2, 3, 6), repeat=2)]
    for s, n, (a, b), (c, e) in itertools.product((1, 2, 3), (1, 2, 3), strides, strides):
        together = n * c == a and n * e == b  # slowest first
        assert merged_together([(s, (a, b)), (n, (c, e))]) == (
            [(s * n, (c, e))] if together else [(s, (a, b)), (n, (c, e))]
        )
    assert merged_together([(2, (12,)), (3, (4,)), (4, (1,))]) == [(24, (1,))]


OUTER = [
    [(2, 1), (3, 5), (1, 7)],
    [(3, 2), (2, -1), (4, 3)],
    [(2, -3), (2, 6), (1, 0)],
    [(4, 1), (1, 9)],
    [(2, 3), (3, 1), (2, 4)],
    [(2, 1), (3, 10), (64, 22)],
]


@pytest.mark.parametrize("outer", OUTER, ids=str)
def test_steps(outer):
    """The longest runs of equal steps; and the pieces of a mode make it, or it is said that they do not."""
    f = Steps(outer)
    assert [f(x) for x in range(-5, 40)] == [value(outer, x) for x in range(-5, 40)]
    twice = Steps(outer, [(2, 1), (1, 3)])
    assert [twice(x) for x in range(-5, 40)] == [value(outer, x) + value([(2, 1), (1, 3)], x) for x in range(-5, 40)]
    for s, d in itertools.product((1, 2, 3, 4, 6, 8, 12), (-3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 12)):
        image = [value(outer, c * d) for c in range(s)]
        n, step = f.run(s, d)
        assert (n, step) == (next((k for k in range(1, s) if image[k] != k * value(outer, d)), s), value(outer, d)), (
            s,
            d,
        )
        pieces, left, at = f.runs(s, d), s, d
        # each as long as can be; the last takes what is left, where that is no whole number of runs
        for n, x, t in pieces:
            assert (x, t) == (at, value(outer, at))
            run = next((k for k in range(1, left) if value(outer, k * at) != k * t), left)
            assert n == (run if left % run == 0 else left)
            left, at = left // n, at * n
        assert left == 1
        holds = size([p[:2] for p in pieces]) == s and image == [
            value([(k, t) for k, _x, t in pieces], c) if pieces else 0 for c in range(s)
        ]
        assert bool(pieces) is (s > 1)
        assert (f.why_not(pieces) is None) is holds or not pieces, (s, d, pieces)


def test_why_not_is_the_law_on_every_coordinate():
    """Of two pieces, right and wrong ones; small, and of more than 256 coordinates, which go through numpy."""
    for outer, counts in ((OUTER[2], (2, 3)), (OUTER[0], (2, 3)), ([(16, 1), (2, 5), (1, 9)], (16, 17, 40))):
        f = Steps(outer)
        for (n, m), (x, y) in itertools.product(
            itertools.product(counts, repeat=2), itertools.product((1, 2, 4, 16, 32), repeat=2)
        ):
            for wrong in (0, 1):
                pieces = [(n, x, f(x)), (m, y, f(y) + wrong)]
                holds = all(f(a * x + b * y) == a * f(x) + b * (f(y) + wrong) for a in range(n) for b in range(m))
                assert (f.why_not(pieces) is None) is holds, (outer, pieces)
                assert wrong or (f.why_not(pieces, exact=True) is None) is holds


def test_a_law_that_holds_up_to_what_64_bits_lose():
    """a(512 k) is 2**64 away from the sum of 256 steps of 2**56."""
    assert Steps([(256, 2**56), (2, 0)]).why_not([(512, 1, 2**56)]) is not None
    assert Steps([(256, 2**56), (2, 2**64)]).why_not([(512, 1, 2**56)]) is None
    for n in (255, 256, 257):
        assert Steps([(n, 1), (2, 0)]).why_not([(n + 1, 1, 1)]) is not None
        assert Steps([(n, 1), (2, n)]).why_not([(2 * n, 1, 1)]) is None


def test_carries_that_may_cancel_are_tried_on_65536_coordinates():
    f = Steps([(2, -3), (2, 6), (1, 0)])  # goes on as 0
    exact, wide = Steps([(2**17, 1), (2, 5)]), 2**17  # more of them, where nothing carries
    assert exact.why_not([(wide, 1, 1)]) is None
    assert exact.why_not([(wide + 1, 1, 1)]) is not None
    assert exact.why_not([(wide // 2, 2, 2), (2, 1, 1)]) is None
    assert f.why_not([(2, 4, 0), (65536 // 4, 8, 0), (2, 1, -3)]) is None
    for count, why in ((65536 // 2, type(None)), (65536 // 2 + 1, str)):
        g = Steps([(2, 0), (1, 0)])
        assert type(g.why_not([(2, 1, 0), (count, 1, 0)])) is why
