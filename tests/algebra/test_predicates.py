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
    """Strides past 2**26: two coordinates are looked for one by one, three modes or more, also where one
    stride is negative."""
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
        (same_map.why_not(parse("(4,3):(3,1)"), parse("(4,3):(1,4)")), "differ first at (1,0): 3 and 1"),
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


SYMBOLS = [*tla.dims("M N"), dim("A", at_least=2), dim("B", at_least=5), dim("C", at_most=4), dim("Z", at_least=0)]
SOME = [{"M": m, "N": n, "A": m + 1, "B": n + 4, "C": 4 - n % 4, "Z": m - 1} for m in (1, 2, 3) for n in (1, 2, 5)]
T, F, U = True, False, None


@pytest.mark.parametrize(
    ("text", "answers"),  # is_injective, is_surjective, is_bijective, is_compact, is_ordered
    [
        ("(M,N):(1,M)", (T, T, T, T, T)),
        ("(M,N):(1,N)", (U, U, U, U, T)),
        ("(M,N):(N,1)", (T, T, T, T, U)),
        ("(A,N):(N,1)", (T, T, T, T, U)),
        ("(4,A):(1,4)", (T, T, T, T, T)),
        ("(A,4):(4,1)", (T, T, T, T, F)),
        ("(A,B,4):(4*B,4,1)", (T, T, T, T, F)),
        ("(A,M,4):(4*M,4,1)", (T, T, T, T, U)),
        ("(4,M,2):(2,8,1)", (T, T, T, T, U)),
        ("(M,4):(1,M+1)", (T, U, U, U, T)),
        ("(M,4):(M+1,1)", (U, U, U, U, U)),
        ("(A,4):(A+1,1)", (U, U, U, U, F)),
        ("(1,M):(0,1)", (T, T, T, T, T)),
        ("(1):(M)", (T, T, T, T, T)),
        ("M:2", (T, U, U, U, T)),
        ("(M):(0)", (U, U, U, T, T)),
        ("(M,4):(0,1)", (U, U, U, T, T)),
        ("(Z,4):(0,1)", (U, U, U, U, T)),
        ("(Z,4):(0,2)", (U, U, U, U, T)),
        ("(M,0):(1,M)", (T, T, T, T, T)),
        ("(M,4):(1@0,1@1)", (U, U, U, U, F)),
        ("(0,4):(0,2)", (T, T, T, T, T)),
        ("(4,0):(3,0)", (T, T, T, T, T)),
        ("(1,3):(0,1)", (T, T, T, T, T)),
        ("(3):(0)", (F, T, F, T, T)),
    ],
)
def test_of_sizes(text, answers):
    """What is answered holds at every size; what is not either differs between sizes, or has no proof."""
    layout = parse(text, symbols=SYMBOLS)
    for predicate, answer in zip((is_injective, is_surjective, is_bijective, is_compact, is_ordered), answers):
        assert predicate(layout) is answer, predicate
        at_sizes = {predicate(tla.at(layout, sizes)) for sizes in SOME} if answer is not None else {answer}
        assert at_sizes == {answer}, predicate


@pytest.mark.parametrize(
    ("text", "n", "surjective", "bijective"),
    [
        ("(M,N):(1,M)", "M", T, U),
        ("(M,N):(1,M)", "M*N", T, T),
        ("(M,N):(1,M)", "M*N+1", U, F),
        ("(M,N):(1,M)", "1", T, U),
        ("(M,N):(1,M)", "2", U, U),
        ("(M,N):(1,N)", "M*N", U, U),
        ("(4,3):(1,4)", "M", U, U),
        ("(4,3):(1,4)", "C", T, F),
        ("(4,3):(1,8)", "C", U, F),
        ("B:1", "5", T, U),
        ("B:1", "4", T, F),
        ("B:1", "6", U, U),
        ("(4,3):(1,4)", "12", T, T),
        ("(4,3):(1,4)", "11", T, F),
        ("(4,3):(1,4)", "13", F, F),
    ],
)
def test_up_to_a_number_that_is_given(text, n, surjective, bijective):
    layout, n = parse(text, symbols=SYMBOLS), parse(n, symbols=SYMBOLS)
    assert (is_surjective(layout, n), is_bijective(layout, n)) == (surjective, bijective)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("(M,4):(1,M)", "(M,4):(1,M)", T),
        ("((M,_2),4):((_1,M),2*M)", "(2*M,4):(_1,2*M)", T),
        ("(M,4):(1,M)", "(M,4):(4,1)", U),
        ("(M,4):(1,M)", "(M,4,1):(1,M,0)", U),
        ("(4,1):(1,0)", "(4,1):(1,7)", T),
        ("(4,2):(1,4)", "(4,2):(1,5)", F),
        ("(4,2):(1@0,1@1)", "(4,2):(1@1,1@0)", F),
        ("(0,2):(1,4)", "(0,2):(1,5)", T),
        ("(4,2):(1,4)", "(2,4):(1,4)", F),
    ],
)
def test_the_same_map(a, b, answer):
    a, b = (parse(x, symbols=SYMBOLS) for x in (a, b))
    assert same_map(a, b) is same_map(b, a) is answer
    unknown = tla.Layout(b.shape, b.stride, ...)
    assert same_map(a, unknown) is same_map(unknown, a) is (F if answer is F else U)


def test_what_is_valid_is_part_of_the_map():
    M = SYMBOLS[0]
    for shape in ((4, 2), (M, 2)):
        whole, part, less = (tla.Layout(shape, (2, 1), (shape[0], n)) for n in (2, 1, 0))
        answer = F if shape[0] == 4 else U
        assert same_map(whole, part) is same_map(part, less) is same_map(part, whole) is answer
        assert same_map(part, part) is T


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        # one by one up to 65,536 coordinates, by a mark for each offset up to a span of 2**26: none is shared here
        (lambda: is_injective(parse("(_256,_128,_2):(_3302833,_10598232,_15266154)")), T),
        (lambda: is_injective(parse("(_3,_10923,_2):(_14508350,_13862587,_2107332)")), U),
        (lambda: is_injective(parse("(_256,_256,_2):(_91683,_94666,_19589868)")), T),
        (lambda: is_injective(parse("(_256,_256,_2):(_118173,_82524,_15931129)")), U),
        (lambda: is_surjective(parse(f"(_2,_{2**26}):(_-1,_1)"), 2**26), T),
        (lambda: is_surjective(parse(f"(_3,_{2**26}):(_-1,_1)"), 1), U),
        (lambda: is_surjective(parse(f"(_1,_{2**28}):(_-1,_1)"), 1), T),
        (lambda: is_surjective(parse(f"(_1,_{2**28}):(_-1,_2)"), 2), F),
    ],
)
def test_up_to_which_size_it_is_decided(ask, answer):
    assert ask() is answer


def test_the_offset_that_is_shared():
    for text, offset in (
        ("(4,4):(2,3)", " 6"),
        ("(4,4):(-2,3)", " 0"),
        ("(4,3):(1,2)", " 2"),
        ("(2,2):(1@0,1@0)", ""),
        ("(2,2,2):(1@0,1,1)", ""),
    ):  # of coordinates none
        assert is_injective.why_not(parse(text)).what.endswith(f" share the offset{offset}"), text


def test_the_coordinates_that_share_an_offset_have_zeros_behind():
    assert (
        "the coordinates (1,1,0,0) and (0,0,1,0) share the offset 12"
        in tla.is_injective.why_not(parse("(2,2,2,1):(5,7,12,0)")).what
    )


@pytest.mark.parametrize("predicate", [is_surjective, is_bijective])
@pytest.mark.parametrize("text", ["(_2,_2):(_1,_1)", "_8:_1", "Sw<2,0,3> o _0 o (_8):(_1)", "(4,8):(_1@0,_1@1)"])
def test_a_coordinate_is_no_number_of_offsets(predicate, text):
    with pytest.raises(tla.LeafTypeError, match=r"_1@0 offsets(?s:.*)give how many offsets"):
        predicate(parse(text), tla.E[0])
