"""The swizzle between two layouts: found wherever there is one, by trying all of them; and it takes the one to the other."""

import itertools

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
    for one, other in itertools.product([*all_swizzles(5)], repeat=2):
        a, b = (offsets(ComposedLayout(s, 0, layout)) for s in (one, other))
        some = (a == b).all() or any(([*map(s, map(int, a.flat))] == [*b.flat]) for s in all_swizzles(5))
        try:
            found = swizzle_between(a, b)
        except RangeError:
            assert not some
        else:
            assert some
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
    with pytest.raises(RangeError, match="add an offset"):
        swizzle_between(np.arange(4), -np.arange(4))
