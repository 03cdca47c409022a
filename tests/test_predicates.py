import itertools

import pytest

import tla
from tla import dim, is_bijective, is_compact, is_injective, is_ordered, is_surjective, parse, same_map

import oracle
from corpus import made, small

PAIRS = [*small(range(-2, 5)), *[*small(range(4), ranks=(3,))][::11]]


def test_over_every_small_layout():
    for a in PAIRS:
        layout, image = made(a), oracle.offsets(*a)
        once = len(set(image)) == len(image)
        assert is_injective(layout) is once, a
        for n in (1, 3, len(image)):
            assert is_surjective(layout, n) is (set(image) >= {*range(n)}), (a, n)
        assert is_bijective(layout) is (sorted(image) == [*range(len(image))]), a
        modes = [(s, d) for s, d in zip(oracle.leaves(a[0]), oracle.leaves(a[1])) if d != 0]
        kept = oracle.offsets(tuple(s for s, _ in modes), tuple(d for _, d in modes))
        assert is_compact(layout) is (sorted(kept) == [*range(len(kept))]), a
        strides = [d for s, d in modes if s != 1]
        assert is_ordered(layout) is (strides == sorted(strides)), a


def test_a_reason_for_each_false_answer():
    for a in PAIRS[::5]:
        for predicate in (is_injective, is_surjective, is_bijective, is_compact, is_ordered):
            why = predicate.why_not(made(a))
            assert (why is not None) is (predicate(made(a)) is False)
            assert why is None or (why.what and why.expected and why.fix)


def test_the_coordinates_of_the_reason_meet():
    seen = 0
    for a in PAIRS:
        why = is_injective.why_not(made(a))
        if why and " share the offset " in why.what:
            pair = why.what.split("the coordinates ")[1].split(" share")[0].split(" and ")
            one, two = map(parse, pair)
            assert one != two
            assert made(a)(one) == made(a)(two)
            seen += 1
    assert seen > 500


def test_layouts_of_few_coordinates_that_span_more_than_is_marked():
    """Strides past 2**26: two coordinates are looked for one by one, three modes or more, also where one stride is negative."""
    big, seen = 2**27, 0
    for x, y, sign in itertools.product((1, 2, 3), (-3, -1, 0, 1, 2, 5), (1, -1)):
        a = ((3, 4, 3), (big, sign * (x * big + 1), (x + 1) * big + y))
        image = oracle.offsets(*a)
        layout, why = made(a), is_injective.why_not(made(a))
        assert is_injective(layout) is (len(set(image)) == len(image)), a
        if why and " share the offset " in why.what:
            one, two = map(parse, why.what.split("the coordinates ")[1].split(" share")[0].split(" and "))
            assert one != two
            assert layout(one) == layout(two)
            seen += 1
    assert seen >= 6


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (is_injective.why_not(parse("(4,2):(1,0)")), "the coordinates (0,0) and (0,1) share the offset 0"),
        (is_surjective.why_not(parse("(4,3):(1,8)")), "nothing is at offset 4"),
        (is_bijective.why_not(parse("(4,3):(1,4)"), 13), "12 coordinates for 13 offsets"),
        (is_ordered.why_not(parse("(4,3):(3,1)")), "the stride 1 comes after 3"),
        (same_map.why_not(parse("(4,3):(3,1)"), parse("(4,3):(1,4)")), "mode 0: 4:3 and 4:1"),
        (tla.compatible.why_not((4, 6), (4, (2, 2))), "6 is not the size of (2,2)"),
        (tla.weakly_compatible.why_not(5, (4, 6)), "5 does not divide the size of (4,6)"),
        (tla.congruent.why_not((4, 6), (4, (2, 2))), "not congruent"),
        (tla.evenly_divides.why_not((8, 6), (4, 4)), "8 of 6 in tiles of 4"),
    ],
)
def test_reasons(why, text):
    assert text in why.what


def test_not_known():
    large = parse("(100000,100000,2):(100000,99999,99999999)")
    assert is_injective(large) is None
    assert is_injective.why_not(large) is None
    assert is_surjective(parse("(100000,100000):(-1,1)")) is False  # nothing is at 100,000
    assert is_surjective(parse("(100000000,100000):(-1,1)")) is None


def test_a_dynamic_extent_of_1_does_not_hide_what_is_proved():
    assert is_injective(parse("((_16,M),(_16,1)):((_16,256),(_1,_256))", symbols=[dim("M")])) is True
