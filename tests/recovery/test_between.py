"""The swizzle between two layouts: found wherever there is one, by trying all of them; and it takes the one
to the other."""

import itertools
import random

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    RangeError,
    RankError,
    Swizzle,
    composition,
    offsets,
    parse,
    right_inverse,
    same_map,
    static,
    swizzle_between,
)

from night import amount, some


def all_swizzles(rows):
    for bits, base, shift in itertools.product(range(1, rows), range(rows), range(-rows, rows)):
        if abs(shift) >= bits and bits + base + abs(shift) <= rows:
            yield Swizzle[bits, base, shift]()


@pytest.mark.parametrize("text", ["(8,8):(8,1)", "((2,4),8):((1,16),2)", "(6,8):(8,1)"])
def test_every_swizzle_of_64_offsets_is_found(text):
    layout = parse(text)
    for swizzle in all_swizzles(6):
        swizzled = ComposedLayout(swizzle, 0, layout)
        found = swizzle_between(layout, swizzled)
        assert [found(int(x)) for x in offsets(layout).flat] == [*offsets(swizzled).flat]
        back = swizzle_between(offsets(swizzled), layout)
        assert [back(int(x)) for x in offsets(swizzled).flat] == [*offsets(layout).flat]


def test_two_swizzles_have_one_between_them_or_none_of_all_has():
    layout = parse("(4,8):(8,1)")
    for one, other in some(itertools.product([*all_swizzles(5)], repeat=2), 3):
        a, b = (offsets(ComposedLayout(s, 0, layout)) for s in (one, other))
        any_is = (a == b).all() or any(([*map(s, map(int, a.flat))] == [*b.flat]) for s in all_swizzles(5))
        try:
            found = swizzle_between(a, b)
        except RangeError:
            assert not any_is
        else:
            assert any_is
            assert [*map(found, map(int, a.flat))] == [*b.flat]


def test_a_writer_and_a_reader_are_mended():
    writer, reader = parse("Sw<3,3,3> o 0 o (64,64):(64,1)"), parse("Sw<2,3,3> o 0 o (64,64):(64,1)")
    assert "(4,0)" in same_map.why_not(writer, reader).what
    mended = ComposedLayout(swizzle_between(writer, reader), 0, writer)
    assert (offsets(mended) == offsets(reader)).all()


def test_what_is_refused():
    a, b = parse("(8,4):(4,1)"), parse("(8,4):(1,8)")
    with pytest.raises(RangeError, match=r"\(0,1\) lies at 1 and at 8") as info:
        swizzle_between(a, b)
    assert "composition(b, right_inverse(static(a)))" in str(info.value)
    between = composition(b, right_inverse(static(a)))  # the fix
    assert all(between(a(i, j)) == b(i, j) for i in range(8) for j in range(4))
    with pytest.raises(RankError, match="the same extents"):
        swizzle_between(a, np.arange(8))
    with pytest.raises(RangeError, match="take the least offset away"):
        swizzle_between(np.arange(4), -np.arange(4))


def by_definition(values, bits, base, shift):
    read = values & ((1 << bits) - 1 << base + max(shift, 0))
    return values ^ (read >> shift if shift > 0 else read << -shift)


@pytest.mark.parametrize("seed", range(4))
def test_random_tables_against_all_swizzles(seed):
    """Of sums and of any integers, of odd sizes, swizzled or not, at times with one value that is wrong: the fewest
    bits, or refused."""
    rng = random.Random(seed)
    for _ in range(amount(150, 20_000)):
        shape = tuple(rng.choice((1, 2, 3, 5, 8, 24)) for _ in range(rng.randint(1, 3)))
        a = np.array([rng.randrange(1 << rng.choice((2, 6, 9))) for _ in range(np.prod(shape))]).reshape(shape)
        if rng.random() < 0.5:
            a = sum(
                np.arange(n).reshape((-1,) + (1,) * k) * rng.choice((1, 3, 8, 40)) for k, n in enumerate(shape[::-1])
            )
        rows = max(int(a.max()).bit_length(), 2) + rng.choice((0, 1))
        every = [(s.bits, s.base, s.shift) for s in all_swizzles(rows)]
        b = by_definition(a, *rng.choice(every))
        if rng.random() < 0.3:
            b.reshape(-1)[rng.randrange(b.size)] ^= rng.choice((1, 2, 4))
        some = [bits for bits, *rest in every if (by_definition(a, bits, *rest) == b).all()]
        try:
            found = swizzle_between(a, b)
        except RangeError:
            assert not some
            assert (a != b).any()
        else:
            assert (by_definition(a, found.bits, found.base, found.shift) == b).all()
            assert found.bits == (min(some) if (a != b).any() else 0)


def test_offsets_of_memory_of_any_size():
    """Offsets past 2^26, as of tensors of gigabytes."""
    a = np.arange(64).reshape(8, 8) * 8 + 2**40
    for swizzle in ((3, 3, 3), (2, 4, 36), (1, 40, -6), (3, 58, -3)):
        b = by_definition(a, *swizzle)
        found = swizzle_between(a, b)
        assert (by_definition(a, found.bits, found.base, found.shift) == b).all()
    with pytest.raises(RangeError, match="lies at"):
        swizzle_between(a, a + 24)
