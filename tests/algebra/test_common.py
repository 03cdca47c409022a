"""Alignments, common layouts and domains, and sums: each condition on both sides."""

import itertools
import math
import re

import pytest

import tla
from tla import DivisibilityError, Int, LeafTypeError, RankError, Unproven, dims, parse

import laws
import oracle
from corpus import injective, made, small
from laws import plain

M, N = dims("M N")


def read(text):
    return parse(text, symbols=[M, N])


def test_alignments_are_the_largest():
    """n is right if each block of n offsets that one is in is there as a whole."""
    for a in [*small(range(1, 6))][::2] + [*small(range(1, 9), ranks=(3,))][::97]:
        n, image = int(tla.max_alignment(made(a))), {*oracle.offsets(*a)}
        right = [k for k in range(1, max(image) + 2) if all({*range(x - x % k, x - x % k + k)} <= image for x in image)]
        assert n in right
        assert not injective(a) or n == max(right), a


ALIGNED = """(8,_4):(_1,_8) (_8,4):(_1,_24) (_8,4):(_1,24) (_8,_1):(_1,24) (_8,_1):(_1,_3) (_8,1):(_1,_3)
    (_8,_3):(_1,_0) (_8,3):(_1,0)     8:_4 (_2,_4):(_12,_3) (_1,_8):(_1,_1) (_4,2):(_4,_1) (_4,_3,2):(_1,_4,_24)
    (_4,_2,_1):(_1,_4,5) 8:_1 (_2,_3):(_4,_2)""".split()


@pytest.mark.parametrize("text", ALIGNED)
def test_alignments_are_those_at_every_value_of_dynamic_integers(text):
    leaf = iter([0, *re.findall(r"_?\d+", text)])
    numbers = [
        [n] if n.startswith("_") else [f"_{k}" for k in (1, 2, 3, 5, 8)] for n in itertools.islice(leaf, 1, None)
    ]
    images = []
    for values in itertools.product(*numbers):
        each = iter(values)
        images.append({*oracle.offsets(*plain(parse(re.sub(r"_?\d+", lambda _old, each=each: next(each), text))))})
    right = [
        n for n in range(1, 65) if all({*range(x - x % n, x - x % n + n)} <= image for image in images for x in image)
    ]
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
        with pytest.raises(RankError, match="coordinates"):
            tla.layout_add(*pair)
    for text in ("_8:_1", "(_2,_4):(_1,_2)", "(_4,_2):(_1,_4)"):  # a number and a coordinate have no sum
        with pytest.raises(RankError, match="coordinates"):
            tla.layout_add(parse("(_4,_2):(_1@0,_1@1)"), parse(text))


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
    """What is common is a digit of both: each place of it has an integer of one digit in either shape, and no
    more is common."""
    shapes = [s for r in (1, 2, 3) for s in itertools.product((1, 2, 3, 4, 6), repeat=r)][::3]
    for a, b in itertools.product(shapes[::3], shapes[::2]):
        found = tla.greatest_common_domain(*(tuple(Int[n]() for n in s) for s in (a, b)))
        modes = [(n, p) for n, p in zip(*plain(found)) if n > 1]
        assert [p for _n, p in modes] == sorted(p for _n, p in modes)
        for s in (a, b):
            begins = [1, *itertools.accumulate(s, int.__mul__)]
            for n, p in modes:
                assert any(p % low == 0 and high % (p * n) == 0 for low, high in itertools.pairwise(begins)), (
                    a,
                    b,
                    found,
                )
        digits = [[*itertools.pairwise([1, *itertools.accumulate(s, int.__mul__)])] for s in (a, b)]
        for p, n in itertools.product(
            range(1, math.prod(a) + 1), (2, 3)
        ):  # each prime step that fits into a digit of both is there
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


# -------------------------------------------------------------------------------------------------- null spaces


def test_null_spaces_are_complete():
    """Each place of offset 0 once, or it is said that these are no layout."""
    refused = 0
    for a in [*small(range(-3, 4))][::5] + [*small(range(-2, 3), ranks=(3,))][::31]:
        zeros = [i for i, offset in enumerate(laws.function(a)) if offset == 0]
        try:
            assert sorted(laws.function(plain(tla.nullspace(made(a))))) == zeros, a
        except DivisibilityError:
            refused += 1
    assert refused < 80


@pytest.mark.parametrize(
    ("text", "zeros"),
    [
        ("(3,4):(0,1)", "_1:_0"),  # a dynamic stride that happens to be 0 does not count
        ("(_2,4):(_1,_0)", "4:_2"),
        ("(4,_2):(_1,_0)", "_2:4"),
        ("(_2,_4,_6):(_0,_2,_0)", "(_2,_6):(_1,_8)"),
        ("(_2,_1,_6):(_1,_0,_2)", "_1:_0"),
        ("(_1,_2,_2):(_0,_1,_-1)", "_2:_3"),  # a mode of one place is no mode of zeros
        ("(2,_4):(_1,_-3)", None),
        ("(_4,2):(_-1,_-4)", "_1:_0"),
        ("(_1,2):(_-1,_4)", "_1:_0"),
        ("(M,_4):(_1,_0)", "_4:M"),
        ("(_4,M):(_0,N)", "_4:_1"),
        ("(_3,_3):(_1,_-1)", "_3:_4"),
        ("(_3,_2,_3):(_1,_0,_-1)", "(_2,_3):(_3,_7)"),
        ("(_2,_3):(1@0,_0@1)", "_3:_2"),
        ("(_2,_2):(_1@0,_-1@0)", "_2:_3"),
        ("(_2,_2):(_1@0,_-1@1)", "_1:_0"),
    ],
)
def test_null_spaces_of_every_kind(text, zeros):
    if zeros is None:
        with pytest.raises(Unproven, match="strides of both signs"):
            tla.nullspace(read(text))
    else:
        assert str(tla.nullspace(read(text))) == zeros
