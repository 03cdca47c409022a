import itertools
import math
import random
from collections import Counter

import pytest
from hypothesis import given

import tla
from tla import (
    DivisibilityError,
    InjectivityError,
    Layout,
    LeafTypeError,
    RankError,
    TlaError,
    Unproven,
    greatest_common_domain,
    layout_add,
    left_inverse,
    max_common_layout,
    nullspace,
    parse,
    right_inverse,
)

import laws
import oracle
from corpus import injective, layouts, made, small
from laws import plain
from night import amount


def largest(image):
    """The size of the largest layout R with image[R(i)] == i, by every choice of digits: brute force."""
    at = {}
    for place, offset in enumerate(image):
        at.setdefault(offset, []).append(place)
    best = 1

    def grow(places):
        nonlocal best
        n = len(places)
        best = max(best, n)
        for step in at.get(n, ()):
            wider = list(places)
            for c in itertools.count(1):
                more = [x + c * step for x in places]
                if any(y >= len(image) or image[y] != c * n + i for i, y in enumerate(more)):
                    break
                wider += more
                grow(wider)

    if image and image[0] == 0:
        grow([0])
    return best


def test_right_inverse_is_right_and_none_is_larger_over_every_small_layout():
    seen = Counter()
    for a in [*small(range(-2, 6)), *[*small(range(4), ranks=(3,))][::7]]:
        image, found = laws.function(a), laws.function(plain(right_inverse(made(a))))
        assert [image[x] for x in found] == [*range(len(found))], a
        assert len(found) == largest(image), a
        seen["more than one"] += len(found) > 1
        seen["all"] += 1
    assert seen == {"all": 1642, "more than one": 525}


def test_left_inverse_over_every_small_injective_layout():
    seen = Counter()
    for a in [*small(range(9)), *[*small(range(1, 7), ranks=(3,))][::5]]:
        modes = [(n, d) for n, d in zip(oracle.leaves(a[0]), oracle.leaves(a[1])) if d]
        if not injective((tuple(n for n, _d in modes), tuple(d for _n, d in modes))):  # modes of stride 0 are left out
            seen["not injective"] += 1
            with pytest.raises(InjectivityError):
                left_inverse(made(a))
            continue
        if not injective(a):
            continue
        try:
            r = plain(left_inverse(made(a)))
        except DivisibilityError:
            seen["refused"] += 1
            continue
        seen["found"] += 1
        # modes of stride 0, which only an extent of 1 may have in an injective layout, have no place
        for i, offset in enumerate(laws.function(a)):
            assert oracle.offset(offset, *r) == i, (a, r)
    assert seen == {"found": 2121, "refused": 154, "not injective": 1612}


def test_nullspace_is_complete_over_every_small_layout():
    seen = Counter()
    for a in [*small(range(-3, 4)), *[*small(range(-2, 3), ranks=(3,))][::3]]:
        zeros = [i for i, offset in enumerate(laws.function(a)) if offset == 0]
        try:
            assert sorted(laws.function(plain(nullspace(made(a))))) == zeros
            seen["found"] += 1
        except DivisibilityError:
            seen["refused"] += 1
    assert seen == {"found": 3229, "refused": 250}


def test_common_layouts_and_sums_over_pairs_of_small_layouts():
    seen = Counter()
    pairs = [*small(range(4))]
    for a, b in itertools.product(pairs[::3], pairs[::4]):
        if oracle.size(a[0]) != oracle.size(b[0]):
            continue
        images = laws.function(a), laws.function(b)
        found = laws.function(plain(max_common_layout(made(a), made(b))))
        assert [images[1][x] for x in found] == [oracle.offset(x, *a) for x in found] == [*range(len(found))]
        assert len(found) >= largest([x if x == y else -1 for x, y in zip(*images)])
        try:
            r = plain(layout_add(made(a), made(b)))
        except DivisibilityError:
            seen["refused"] += 1
            continue
        assert laws.function(r) == [x + y for x, y in zip(*images)]
        seen["added"] += 1
    assert seen == {"added": 721, "refused": 60}


@given(layouts(high=6, stride=64))
def test_inverses_of_nested_layouts_static_and_dynamic(a):
    """Whatever the values of dynamic integers are, what is returned is an inverse."""
    image = laws.function(plain(a))
    if tla.size(a) <= 2**12:
        r = laws.function(plain(right_inverse(a)))
        assert [image[x] for x in r] == [*range(len(r))]
    try:
        r = plain(left_inverse(a))
    except TlaError:
        return
    strides = [d for s, d in zip(oracle.leaves(plain(a)[0]), oracle.leaves(plain(a)[1])) if s != 1]
    if 0 not in strides:
        assert [oracle.offset(x, *r) for x in image] == [*range(len(image))]


def test_large_layouts_are_inverted_along_their_modes():
    assert str(right_inverse(parse("(_4096,_2048):(_2048,_1)"))) == "(_2048,_4096):(_4096,_1)"
    assert (
        str(right_inverse(parse("(_4096,_3):(_1,_2048)"))) == "(_2048,_4):(_1,_2048)"
        or tla.size(right_inverse(parse("(_4096,_3):(_1,_2048)"))) == 8192
    )
    a = parse("(_1024,_1024,_64):(_64,_65536,_1)")
    r = right_inverse(a)
    assert tla.size(r) == 2**26
    assert all(a(r(i)) == i for i in range(0, 2**26, 999_983))
    assert str(left_inverse(a)) == "(_64,_1048576):(_1048576,_1)"


def test_static_knowledge():
    assert str(right_inverse(parse("(_4,4,_3):(_1,_4,16)"))) == "(_4,4):(_1,_4)"
    assert str(right_inverse(parse("(4,2):(1,4)"))) == "_1:_0"
    assert str(nullspace(parse("(3,4):(0,1)"))) == "_1:_0"
    assert str(nullspace(parse("(_2,_2,_3):(_1,_-1,_0)"))) == "(_3,_2):(_4,_3)"


def test_greatest_common_domain_of_the_reference():
    """The examples of NVIDIA's reference implementation."""
    for a, b, r in [
        ("(_10)", "(_10)", "(_10):(_1)"),
        ("(_16,_3)", "(_16,_3)", "(_16,_3):(_1,_16)"),
        ("(_5,_3,_4)", "(_10,_6)", "(_5,_2):(_1,_30)"),
        ("(_6,_35)", "(_15,_14)", "(_3,_7):(_1,_30)"),
        ("(_5,_3)", "(_3,_5)", "(_1):(_0)"),
        ("(_8)", "(_4)", "(_4):(_1)"),  # these are of two sizes
        ("(_2,_3)", "(_2)", "(_2):(_1)"),
        ("(_3,_2)", "(_2)", "(_1):(_0)"),
        ("(_2,_2,_2)", "(_4)", "(_2,_2):(_1,_2)"),
        ("(_4,_6)", "(_8,_5)", "(_4,_2):(_1,_4)"),
        ("(_7)", "(_1)", "(_1):(_0)"),
    ]:
        for x, y in ((a, b), (b, a)):
            found = greatest_common_domain(parse(x), parse(y))
            assert str(found) == r
            for shape in (x, y):
                tla.composition(tla.MakeLayout(parse(shape)), found)
    assert str(layout_add(parse("(_5,_3,_4):(_1,_5,_15)"), parse("(_10,_6):(_1,_10)"))) == "_60:_2"
    assert str(layout_add(parse("_5:_0"), parse("_5:_1"))) == "_5:_1"


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda: left_inverse(parse("(4,2):(1,4)")), Unproven, "static strides"),
        (lambda: left_inverse(parse("(_2,_2):(_1,_1)")), InjectivityError, "share an offset"),
        (lambda: left_inverse(parse("(_8,_32):(_7,_3)")), TlaError, "expected"),
        (lambda: left_inverse(parse("_4:_-1")), DivisibilityError, "no layout was found"),
        (lambda: right_inverse(parse("_4:_1@0+_1@1")), LeafTypeError, "strides along one axis"),
        (lambda: left_inverse(parse("(_4,_2):(_1@0,_3)")), TlaError, "expected"),
        (lambda: left_inverse(parse("(_4,_2):(_1@0,_1@0)")), InjectivityError, "share an offset"),
        (lambda: right_inverse((4, 2)), LeafTypeError, "a layout"),
        (lambda: layout_add(parse("4:1"), parse("5:1")), RankError, "one size"),
        (lambda: layout_add(parse("(4,3):(1,4)"), parse("(3,4):(1,3)")), Unproven, "static"),
        (
            lambda: layout_add(parse("(_4,_3):(_1,_5)"), parse("(_3,_4):(_1,_5)")),
            DivisibilityError,
            "greatest_common_domain",
        ),
        (lambda: tla.domain_distribute((4, 2), 4), Unproven, "static"),
        (lambda: greatest_common_domain((4, 2), (4, 2)), Unproven, "static"),
        (lambda: nullspace(parse("(_2,_2,_2):(_-2,_-2,_2)")), DivisibilityError, "zeros"),
        (lambda: nullspace(parse("(_300,_300,_2):(_1,_300,_-1)")), Unproven, "strides of one sign"),
    ],
)
def test_refused(f, error, text):
    with pytest.raises(error) as caught:
        f()
    assert text in str(caught.value)
    assert caught.value.reason.fix


def test_max_alignment():
    for a in small(range(6)):
        n = int(tla.max_alignment(made(a)))
        image = set(laws.function(a))
        assert all(set(range(x - x % n, x - x % n + n)) <= image for x in image), (a, n)
    assert str(tla.max_alignment(Layout(8, 1))) == "_1"


# --------------------------------------------------------------------- what an independent reader broke, kept


@pytest.mark.parametrize(
    "f",
    [
        lambda: nullspace(parse("(2,2):(_1,_-1)")),
        lambda: right_inverse(parse("(_4,0):(_1,_4)")),
        lambda: left_inverse(parse("(0,_3):(_2,_3)")),
        lambda: greatest_common_domain((tla.Int[0](), tla.Int[4]()), tla.Int[4]()),
        lambda: tla.domain_distribute(parse("(_4,_4)"), tla.Int[0]()),
        lambda: tla.domain_distribute(parse("(_4,_4)"), tla.Int[-4]()),
        lambda: tla.downcast[2**62](parse("_4:_1")),
        lambda: tla.downcast[2**40](parse("(_4,_2):(_1,_16777216)")),
        lambda: Layout(4, tla.E[0] * 2**70),
        lambda: tla.lcm(tla.Int[2**62](), tla.Int[3**39]()),
        lambda: tla.cosize(parse("(0):(_0)")),
        lambda: tla.cosize(parse("(0,_4):(_0,_1)")),
        lambda: tla.get_hier_coord(parse("(4,4):(1@0,1@1)"), 5),
        lambda: tla.compact_order((4, 4), (tla.E[0], 1)),
        lambda: tla.ArithmeticTuple(1, 2) * [2],
        lambda: tla.E[0] * {},
        lambda: tla.E[0] - "a",
        lambda: tla.E[0] - None,
        lambda: 3 - tla.E[0],
        lambda: tla.ScaledBasis(None, (0,)),
        lambda: tla.ScaledBasis(1, -5),
        lambda: tla.ArithmeticTuple(1, 2) - (1, "a"),
    ],
)
def test_refused_too(f):
    with pytest.raises(TlaError) as caught:
        f()
    assert caught.value.reason.fix


def test_nothing_has_an_inverse_of_nothing():
    for text in ("(_4,_0,_4):(_1,_5,_4)", "(_0,_3):(_2,_3)", "(_0,_2,_2):(_1,_1,_-1)"):
        for f in (right_inverse, left_inverse, nullspace):
            assert str(f(parse(text))) == "_0:_0"
    assert str(max_common_layout(parse("(_4,_0):(_1,_4)"), parse("_8:_1"))) == "_0:_0"
    assert str(max_common_layout(parse("():()"), parse("(_3):(_1)"))) == "_1:_0"
    assert tla.cosize(parse("(4,0):(1,4)")) == 0


def test_long_searches_end():
    assert tla.size(right_inverse(parse("(_75,_72):(_1,_4)"))) >= 336
    assert tla.max_common_vector(parse("(_1):(_12)"), parse("(_6,(_4,_5),_8):(_0,(_-1,_2),_0)")) == 1


def test_differences_of_coordinates():
    assert (1, 2) - tla.E[0] == (0, 2)
    assert tla.E[0] - (1, 2) == (0, -2)
    assert 0 - tla.E[1] == -tla.E[1]
    assert (3, 4) - tla.ArithmeticTuple(1, 1) == (2, 3)
    assert tla.is_injective(parse("(_2,_1,_2):(_1@0@0,_1@0,_1@0@0)")) is False


def test_the_null_space_of_coordinates():
    for text, zeros in [
        ("_16:_0@0", "_16:_1"),
        ("(_2,_4):(_0@1,_1@0)", "_2:_1"),
        ("(_2,_4):(_1@1,_0@0)", "_4:_2"),
        ("(2,_4):(0@1,_1)", "_1:_0"),
    ]:
        assert str(nullspace(parse(text))) == zeros


def test_sums_of_layouts_with_empty_modes():
    assert str(layout_add(parse("(_2,()):(_1,())"), parse("_2:_1"))) == "_2:_2"
    assert str(layout_add(parse("((),_6):((),_1)"), parse("(_2,_3,()):(_3,_1,())"))) == "(_2,_3):(_4,_3)"
    assert str(layout_add(parse("():()"), parse("_1:_0"))) == "_1:_0"


@pytest.mark.parametrize("n", [256, 512, 768, 1024])
def test_a_dynamic_stride_is_no_number(n):
    """Whatever it holds: what is common ends before its mode, and an inverse before a mode of one integer."""
    a, b = parse(f"(_{n},_2):(_1,3)"), parse(f"_{2 * n}:_1")
    assert str(max_common_layout(a, b)) == str(max_common_layout(b, a)) == f"_{n}:_1"
    assert str(right_inverse(parse("_8:1"))) == "_1:_0"


@pytest.mark.parametrize(("step", "found"), [(255, True), (256, False)])
def test_left_inverses_of_spans_of_up_to_256(step, found):
    """Strides that do not divide each other: offsets of 0 to 255 are searched."""
    a = parse(f"(_2,_2):(_{step - 101},_101)")
    try:
        r = tla.left_inverse(a)
    except DivisibilityError as error:
        assert not found
        assert "spans past 256 are not searched" in str(error)
    else:
        assert found
        assert [r(a(i)) for i in range(4)] == [0, 1, 2, 3]


def test_inverses_of_coordinates_by_definition():
    """Coordinates are written out here: an index goes through the flat modes, and each moves along its axis."""
    rng = random.Random(30)
    whole = found = 0
    for _ in range(amount(300, 20000)):
        shape = [rng.choice((1, 2, 2, 3, 4, 5)) for _ in range(rng.randint(1, 5))]
        axes = [rng.randrange(3) for _ in shape]
        reached, strides = [1, 1, 1], []
        for k in rng.sample(range(len(shape)), len(shape)):  # axes that are filled, but for some gaps
            step = reached[axes[k]] * rng.choice((1, 1, 1, 2))
            reached[axes[k]] = step * shape[k]
            strides.append((k, step))
        steps = dict(strides)
        n, rank = math.prod(shape), max(axes) + 1

        def at(index, shape=shape, axes=axes, steps=steps, rank=rank):
            out = [0] * rank
            for k, extent in enumerate(shape):
                out[axes[k]] += index % extent * steps[k]
                index //= extent
            return tuple(out)

        text = f"({','.join(f'_{x}' for x in shape)}):({','.join(f'_{steps[k]}@{axes[k]}' for k in range(len(shape)))})"
        layout = parse(text)
        right, left = right_inverse(layout), left_inverse(layout)
        extents = [
            math.prod(map(int, leaves))
            for leaves in (tla.flatten(x) if isinstance(x, tuple) else (x,) for x in right.shape)
        ]
        for crd in itertools.product(*map(range, extents)):
            assert at(int(right(*crd))) == crd, text
        for i in range(n):
            assert int(left(*at(i))) == i, text
        whole += math.prod(extents) == n
        found += math.prod(extents) > 1
    assert whole > 40
    assert found > 150
