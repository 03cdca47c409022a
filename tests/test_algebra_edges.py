"""The conditions of the algebra, each on both sides: what a function does where one of them holds, and where it just does not."""

import itertools
import math
import random
import re
from collections import Counter

import laws
import pytest
from laws import plain

import tla
from tla import DivisibilityError, InjectivityError, Int, Layout, LeafTypeError, RangeError, RankError, TlaError, Unproven, dims, parse
from tla.core.basis import as_coordinate

import oracle
from corpus import injective, made, small, static

M, N = dims("M N")


def read(text):
    return parse(text, symbols=[M, N])


# ------------------------------------------------------------------------------------------------------ complement


@pytest.mark.parametrize(
    ("layout", "cotarget", "result"),
    [
        ("_1:_0", "(8,_5)", "(8,_5):(_1,8)"),
        ("_1:_0", "(_8,5)", "(_8,5):(_1,_8)"),
        ("_1:_0", "((2,_8),_2)", "(2,_16):(_1,2)"),
        ("_1:_0", "(3,4)", "12:_1"),
        ("_1:_0", "1", "1:_1"),
        ("_1:_0", "_1", "_1:_0"),
        ("_4:_1", "(_8,5,_3,2)", "(_2,30):(_4,_8)"),
        ("_4:_1", "(_16,2)", "(_4,2):(_4,_16)"),
        ("_4:_1", "(8,_5)", "10:_4"),
        ("_4:_1", "_4", "_1:_0"),
        ("_4:_1", "_5", "_2:_4"),
        ("_4:_1", "_3", "_1:_0"),
        ("_4:_1", "4", "1:_4"),
        ("_4:_1", "None", "_1:_0"),
        ("_8:_2", "(_8,5)", "(_2,3):(_1,_16)"),
        ("_8:_2", "None", "_2:_1"),
        ("_8:_2", "_1", "_2:_1"),
        ("4:_2", "(_16,2)", "(_2,4):(_1,8)"),
        ("4:_2", "_8", "(_2,1):(_1,8)"),
        ("(_2,_2):(_1,_16)", "_32", "_8:_2"),
        ("(_2,_2):(_1,_16)", "_33", "(_8,_2):(_2,_32)"),
        ("(_1,_4):(_7,_1)", "_8", "_2:_4"),
        ("(_3,_4):(_0,_1)", "_8", "_2:_4"),
        ("(_2,_1,_3):(_4,_4,_8)", "_48", "(_4,_2):(_1,_24)"),
    ],
)
def test_complements_and_what_of_them_is_static(layout, cotarget, result):
    found = tla.complement(parse(layout), None if cotarget == "None" else parse(cotarget))
    assert str(found) == result
    if cotarget != "None":
        every = set(laws.function(plain(tla.MakeLayout(parse(layout), found))))
        assert every >= {*range(int(tla.product(parse(cotarget))))}


@pytest.mark.parametrize(
    ("layout", "cotarget", "error"),
    [
        ("_4:_2", "-1", RangeError),
        ("_4:_2", "_-7", RangeError),
        ("_1:_0", "(-1,3)", RangeError),
        ("_1:_0", "(3,-1)", RangeError),
        ("_4:_1", "(3,4)", DivisibilityError),
        ("(2,2):(1,2)", "_8", Unproven),
        ("(_2,2):(_1,2)", "_8", Unproven),
        ("(_4,_2):(_1,_3)", "_8", InjectivityError),
        ("(_4,2):(_1,_3)", "_8", InjectivityError),
        ("_4:_-1", "_8", RangeError),
        ("(_0,_2):(_3,_1)", "_8", RangeError),
        ("(0):(_3)", "_8", RangeError),
        ("(_2,_2):(1@0,_1)", "_8", LeafTypeError),
    ],
)
def test_complements_that_are_refused(layout, cotarget, error):
    with pytest.raises(error):
        tla.complement(parse(layout), parse(cotarget))


def test_up_to_nothing_there_is_nothing_to_cover():
    for layout in ("_4:_1", "_4:_2", "(_4,_2):(_2,_16)", "4:_2"):
        found = [tla.complement(parse(layout), n) for n in (0, Int[0](), (Int[0](),))]
        assert found[0] == found[1] == found[2]
        assert tla.size(found[0]) == 0


# ------------------------------------------------------------------------------- what two layouts have in common


def test_alignments_are_the_largest():
    """n is right if each block of n offsets that one is in is there as a whole."""
    for a in [*small(range(1, 6))][::2] + [*small(range(1, 9), ranks=(3,))][::97]:
        n, image = int(tla.max_alignment(made(a))), {*oracle.offsets(*a)}
        right = [k for k in range(1, max(image) + 2) if all({*range(x - x % k, x - x % k + k)} <= image for x in image)]
        assert n in right
        assert not injective(a) or n == max(right), a


ALIGNED = """(8,_4):(_1,_8) (_8,4):(_1,_24) (_8,4):(_1,24) (_8,_1):(_1,24) (_8,_1):(_1,_3) (_8,1):(_1,_3) (_8,_3):(_1,_0) (_8,3):(_1,0)
    8:_4 (_2,_4):(_12,_3) (_1,_8):(_1,_1) (_4,2):(_4,_1) (_4,_3,2):(_1,_4,_24) (_4,_2,_1):(_1,_4,5) 8:_1 (_2,_3):(_4,_2)""".split()


@pytest.mark.parametrize("text", ALIGNED)
def test_alignments_are_those_at_every_value_of_dynamic_integers(text):
    leaf = iter([0, *re.findall(r"_?\d+", text)])
    numbers = [[n] if n.startswith("_") else [f"_{k}" for k in (1, 2, 3, 5, 8)] for n in itertools.islice(leaf, 1, None)]
    images = []
    for values in itertools.product(*numbers):
        each = iter(values)
        images.append({*oracle.offsets(*plain(parse(re.sub(r"_?\d+", lambda _old, each=each: next(each), text))))})
    right = [n for n in range(1, 65) if all({*range(x - x % n, x - x % n + n)} <= image for image in images for x in image)]
    assert tla.max_alignment(parse(text)) == max(right)
    assert tla.is_static(tla.max_alignment(parse(text)))


BIG = 2**31


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [
        ("(_2,_2):(5,_1)", "(_2,_2):(_4,_-3)", 1),
        ("(_8,_2):(_1,3)", "_16:_1", 8),
        ("(_2,_2,_4,_2):(_1,_2,_4,9)", "_64:_1", 16),
        ("(_4,8,_2):(_1,_4,_32)", "_64:_1", 4),
        ("(8,_2):(_1,_8)", "_16:_1", 1),
        ("_4:1", "_4:1", 1),
        ("(_4,8):(_1,4)", "(_4,8):(_1,4)", 4),
        # numbers that a stride might be taken for
        (f"(_{BIG},_2,_2):(_1,_{BIG},7)", f"_{2**50}:_1", 2 * BIG),
        (f"(_2,_2,_{BIG // 2},_2):(_1,_2,_4,7)", f"_{2**50}:_1", 2 * BIG),
        *((f"(_{2**k},_2):(_1,7)", f"_{2**50}:_1", 2**k) for k in (7, 8, 16, 32, 42, 43)),
    ],
)
def test_what_is_common_whatever_dynamic_integers_hold(a, b, n):
    for x, y in ((a, b), (b, a)):
        assert str(tla.max_common_layout(parse(x), parse(y))) == (f"_{n}:_1" if n > 1 else "_1:_0")


def test_a_dynamic_extent_at_the_end_has_places_past_it_in_the_outer_one_only():
    """R goes into the domain of the second layout, where nothing is known of how many places there are."""
    for text, n in (("8:_1", 1), ("(_4,8):(_1,_4)", 4)):
        assert tla.size(tla.max_common_layout(parse(text), parse("_16:_1"))) == 16
        assert tla.size(tla.max_common_layout(parse("_16:_1"), parse(text))) == n


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("(M,_8):(8,_1)", "(M,_8):(8,_1)", "_8:M"),
        ("(_8,M):(_1,8)", "(_8,M):(_1,N)", "_8:_1"),
        ("(_8,M):(_1,_8)", "(_8,M):(_2,_1)", "_1:_0"),
        ("(M,_8):(_1,M)", "(M,_8):(_1,M)", "_1:_0"),
        ("(_8,M):(_2,_16)", "(_8,M):(_1,_8)", "_1:_0"),
        ("(_4,_2,M):(_1,_8,_16)", "(_8,M):(_1,_8)", "_4:_1"),
        ("(_6,M):(_1,_6)", "(_4,M):(_1,_4)", "_1:_0"),
    ],
)
def test_what_is_common_to_layouts_of_sizes(a, b, result):
    assert str(tla.max_common_layout(read(a), read(b))) == result


def test_only_offsets_have_something_in_common():
    for pair in itertools.permutations((parse("(_4,_2):(_1@0,_1@1)"), parse("_4:_1"))):
        with pytest.raises(LeafTypeError, match="layout of offsets"):
            tla.max_common_layout(*pair)
        with pytest.raises(LeafTypeError, match="layout of offsets"):
            tla.layout_add(*pair)


# -------------------------------------------------------------------------------------------- domains and sums


def test_domains_are_spread_by_greatest_common_divisors():
    for shape in itertools.product((1, 2, 3, 4, 6), repeat=3):
        for n in (1, 2, 5, 6, 8, 12, 24, 100):
            rest, modes, place = n, [], 1
            for s in shape:
                part = math.gcd(s, rest)
                rest //= part
                modes.append((part, place))
                place *= s
            wanted = oracle.offsets(tuple(s for s, _p in modes), tuple(p for _s, p in modes))
            assert laws.function(plain(tla.domain_distribute(tuple(Int[s]() for s in shape), Int[n]()))) == wanted


def test_common_domains_over_pairs_of_shapes():
    """What is common is a digit of both: each place of it has an integer of one digit in either shape, and no more is common."""
    shapes = [s for r in (1, 2, 3) for s in itertools.product((1, 2, 3, 4, 6), repeat=r)][::3]
    for a, b in itertools.product(shapes[::3], shapes[::2]):
        found = tla.greatest_common_domain(*(tuple(Int[n]() for n in s) for s in (a, b)))
        modes = [(n, p) for n, p in zip(*plain(found)) if n > 1]
        assert [p for _n, p in modes] == sorted(p for _n, p in modes)
        for s in (a, b):
            begins = [1, *itertools.accumulate(s, int.__mul__)]
            for n, p in modes:
                assert any(p % low == 0 and high % (p * n) == 0 for low, high in itertools.pairwise(begins)), (a, b, found)
        digits = [[*itertools.pairwise([1, *itertools.accumulate(s, int.__mul__)])] for s in (a, b)]
        for p, n in itertools.product(range(1, math.prod(a) + 1), (2, 3)):  # each prime step that fits into a digit of both is there
            fits = all(any(p % low == 0 and high % (p * n) == 0 for low, high in d) for d in digits)
            assert fits == any(p % q == 0 and q * m % (p * n) == 0 for m, q in modes), (a, b, p, n, found)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("(4,_3):(_1,4)", "(4,_3):(2,_1)", "(4,_3):(3,5)"),
        ("(M,_3):(_1,M)", "(M,_3):(_1,M)", "3*M:_2"),
        ("(_4,_0):(_1,_4)", "(_2,_0):(_1,_2)", "_0:_0"),
        ("(_4,_3):(_1,_4)", "_12:_1", "_12:_2"),
    ],
)
def test_sums(a, b, result):
    assert str(tla.layout_add(read(a), read(b))) == result


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        ("4:1", "5:1", RankError),
        ("(4,3):(1,4)", "(3,4):(1,3)", Unproven),
        ("(_4,_3):(_1,_4)", "(3,4):(1,3)", Unproven),
        ("(3,4):(1,3)", "(_4,_3):(_1,_4)", Unproven),
        ("(4,_3):(_1,_4)", "(_4,3):(_1,_4)", Unproven),  # one shape, but not the same of it is static
        ("(_4,_3):(_1,_5)", "(_3,_4):(_1,_5)", DivisibilityError),
    ],
)
def test_sums_that_are_refused(a, b, error):
    with pytest.raises(error):
        tla.layout_add(parse(a), parse(b))


# ------------------------------------------------------------------------------------------- what of it is valid


def valid_offsets(layout):
    """The offsets of the valid coordinates, by the definition."""
    coords = itertools.product(*map(range, map(int, layout.origin_shape)))
    return {layout(c if isinstance(layout.shape, tuple) else c[0]) for c in coords}


def partly_valid(rng, shapes):
    shape = static(tuple(rng.choice(shapes) for _mode in range(rng.choice((1, 1, 2)))))
    flat = tla.MakeLayout(shape, rng.choice([tla.LayoutLeft, tla.LayoutRight]))
    return Layout(flat.shape, flat.stride, tuple(rng.randint(1, int(n)) for n in tla.product_each(shape)))


def test_what_is_valid_of_elements_of_another_width():
    """Wide elements are valid where they are so as a whole; it is None exactly where one is not."""
    rng, seen = random.Random(5), Counter()
    for _k in range(300):
        a, n = partly_valid(rng, [4, 8, (2, 4), (2, 2), (2, 2, 3), (2, 2, 2)]), rng.choice((2, 4))
        old = valid_offsets(a)
        narrow, wide = {n * x + k for x in old for k in range(n)}, {x // n for x in old}
        down = tla.downcast[n](a)
        assert down.origin_shape is None or valid_offsets(down) == narrow, (a, a.origin_shape)
        try:
            up = tla.upcast[n](a)
        except DivisibilityError:
            continue
        whole = old == {n * x + k for x in wide for k in range(n)}
        assert (up.origin_shape is not None) is whole, (a, a.origin_shape, up)
        assert not whole or valid_offsets(up) == wide, (a, a.origin_shape, up)
        seen[down.origin_shape is not None, whole] += 1
    assert min(seen[True, True], seen[True, False], seen[False, False]) > 20, seen


def test_what_is_valid_of_a_composition():
    """Valid are the coordinates that are valid in b and go to valid ones of a, where these are a box."""
    rng, seen = random.Random(6), Counter()
    for _k in range(400):
        a = partly_valid(rng, [4, 6, (2, 3), (2, 2)])
        if tla.rank(a) == 2 and rng.random() < 0.7:  # into its coordinates
            first, second = map(int, tla.product_each(a.shape))
            b = parse(
                f"(_{rng.randint(1, first)},_{rng.randint(1, second)},_{rng.choice((1, 1, 2))}):(_1@0,_1@1,_{rng.choice((1, 2))}@{rng.choice((0, 1))})"
            )
        else:
            b = partly_valid(rng, [1, 2, 3, (2, 2)])
        b = b if rng.random() < 0.5 else Layout(b.shape, b.stride, tuple(rng.randint(1, int(n)) for n in tla.product_each(b.shape)))
        try:
            r = tla.composition(a, b)
        except TlaError:
            continue
        seen["all"] += 1
        if r.origin_shape is None:
            continue
        seen["known"] += 1
        extents = [int(n) for n in tla.product_each(b.shape)]
        for c in itertools.product(*map(range, extents)):
            place = as_coordinate(b(c))
            inside = _is_inside(place, a) if isinstance(place, tuple) else _is_inside(oracle_coordinate(place, a), a)
            assert all(x < n for x, n in zip(c, r.origin_shape)) is (inside and all(x < n for x, n in zip(c, b.origin_shape))), (
                a,
                a.origin_shape,
                b,
                b.origin_shape,
                r.origin_shape,
            )
    assert seen["known"] > 0.6 * seen["all"] > 100, seen


def oracle_coordinate(place, a):
    """One integer for each mode, first mode fastest; the last has no bound."""
    out = []
    extents = [oracle.size(oracle.plain(s)) for s in a.shape]
    for n in extents[:-1]:
        out.append(place % n)
        place //= n
    return (*out, place)


def _is_inside(coord, a):
    return all(x < n for x, n in zip(coord, a.origin_shape))
