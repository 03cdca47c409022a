import itertools
import pickle

import pytest
from hypothesis import given

import tla
from tla import Int, IntTuple, LeafTypeError, RangeError, RankError, Shape, Stride, is_static, parse

import oracle
from corpus import PROFILES, shapes, small_shapes

SHAPES = list(small_shapes())


def test_size_product_and_flatten_are_those_of_the_oracle():
    for shape in SHAPES:
        assert tla.size(shape) == tla.product(shape) == oracle.size(shape)
        flat = tla.flatten(shape)
        assert flat == (tuple(oracle.leaves(shape)) if isinstance(shape, tuple) else shape)
        assert tla.unflatten(flat, shape) == shape
        assert tla.product_each(shape) == tuple(map(oracle.size, shape if isinstance(shape, tuple) else (shape,)))


def test_rank_depth_and_get():
    t = (2, (3, (4, 5)), ())
    assert tla.rank(t) == 3
    assert tla.depth(t) == 3
    assert tla.rank[1](t) == tla.rank[1, 1](t) == 2
    assert tla.depth[1, 1](t) == 1
    assert tla.get[1, 1, 0](t) == 4
    assert tla.get[0, 0, 0](t) == 2  # an integer is its own mode 0
    assert tla.rank[2](t) == 0
    assert tla.size[1](t) == 60
    assert all(map(is_static, (tla.rank(t), tla.depth(t))))
    for path in ((3,), (-1,), (0, 1), (1, 2)):
        with pytest.raises(RankError, match="its rank is"):
            tla.get[path](t)
    with pytest.raises(LeafTypeError):
        tla.get["0"]


def coordinates_fit(a, b):
    """compatible by its definition, on profiles: b refines a, and sizes agree where a has an integer."""
    if isinstance(a, int):
        return a == oracle.size(b)
    return isinstance(b, tuple) and len(a) == len(b) and all(map(coordinates_fit, a, b))


def test_predicates_on_all_pairs_of_small_shapes():
    some = [s for s in SHAPES if oracle.size(s) <= 8]
    for a, b in itertools.product(some, some):
        assert tla.compatible(a, b) is coordinates_fit(a, b), (a, b)
    for a, b in itertools.product(PROFILES, PROFILES):
        x, y = (oracle.nest(p, itertools.repeat(1)) for p in (a, b))
        assert tla.congruent(x, y) is (a == b)
        assert tla.weakly_congruent(x, y) is coordinates_fit(x, y)
    assert tla.weakly_compatible(4, (4, 6)) is True
    assert tla.weakly_compatible((4, 4), (4, (2, 3))) is False


@given(shapes())
def test_a_tuple_prints_and_reads_back_with_its_staticness(shape):
    shape = Shape(*shape) if isinstance(shape, tuple) else Shape(shape)
    back = parse(str(shape))
    assert back == shape
    assert str(back) == str(shape)
    assert eval(repr(shape)) == shape
    again = pickle.loads(pickle.dumps(shape))
    assert again == shape
    assert type(again) is Shape
    assert str(again) == str(shape)


def test_a_shape_is_a_tuple():
    s = Shape(4, (2, Int[3]()))
    first, (second, third) = s
    assert (first, second, third) == (4, 2, 3)
    assert s == (4, (2, 3))
    assert (4, (2, 3)) == s
    assert hash(s) == hash((4, (2, 3)))
    assert s[1] == (2, 3)
    assert isinstance(s[1], Shape)
    assert s == Stride(4, (2, 3))


def test_brackets_are_static_types():
    assert Shape[Int[4], Shape[Int[2], Int[3]]]() == (4, (2, 3))
    assert str(Shape[Int[4], Shape[Int[2], Int[3]]]()) == "(_4,(_2,_3))"
    assert repr(Shape[Int[4], Int[2]]) == "Shape[Int[4], Int[2]]"
    with pytest.raises(LeafTypeError, match="write _4 or Int"):
        Shape[4]


def test_static_ness_of_products():
    assert is_static(tla.product((Int[2](), (Int[3](),))))
    assert not is_static(tla.product((1, Int[3]())))  # a dynamic 1 is a variable, whatever it holds
    assert is_static(tla.product((5, Int[0]())))


@pytest.mark.parametrize("wrong", [(4, 2.0), (True,), ("4",), [4, 2], None, (4, None), (Int[4],), 4.0])
def test_what_is_no_int_tuple_is_refused(wrong):
    for f in (tla.size, tla.rank, tla.flatten, tla.product, lambda x: tla.congruent(x, 4), lambda x: Shape(x)):
        with pytest.raises(LeafTypeError):
            f(wrong)


def nested(depth):
    t = 1
    for _ in range(depth):
        t = (t,)
    return t


def test_deep_nesting_is_refused_and_no_crash():
    assert tla.depth(nested(64)) == 64
    for depth in (66, 5000, 100_000):
        deep = nested(depth)
        for f in (tla.depth, tla.size, tla.flatten, lambda x: Shape(x), lambda x: tla.congruent(x, x)):
            with pytest.raises(RankError, match="nested"):
                f(deep)
    grown = Shape(1)
    with pytest.raises(RankError):  # step by step too
        for _ in range(100):
            grown = Shape(grown)


def test_ceil_div_round_up_and_shape_div_on_tuples():
    for shape in SHAPES:
        for n in (1, 2, 3, 5):
            per_leaf = oracle.nest(shape, itertools.repeat(n))
            divided, rounded = tla.ceil_div(shape, per_leaf), tla.round_up(shape, per_leaf)
            for a, q, r in zip(*map(oracle.leaves, (shape, divided, rounded))):
                assert q == -(-a // n)
                assert r == q * n
    assert tla.ceil_div((7, 9), (2,)) == (4, 9)
    assert tla.shape_div((6, 4), 12) == (1, 2)
    for f in (tla.ceil_div, tla.round_up, tla.shape_div):
        with pytest.raises(RankError):
            f((4, 4), (2, 2, 2))
    for f in (tla.ceil_div, tla.round_up):
        with pytest.raises(RangeError, match="not positive"):
            f(4, 0)
    with pytest.raises(RankError):
        tla.round_up((4, 4), 2)


def test_unflatten_wants_as_many_leaves():
    with pytest.raises(RankError):
        tla.unflatten((1, 2, 3), (0, 0))


def test_max_min_gcd_reach_into_tuples():
    assert tla.max(3, (7, (9, 1))) == 9
    assert tla.min((3, 7), 1) == 1
    assert tla.gcd(12, (18, 8)) == 2
    assert is_static(tla.max(Int[3](), Int[4]()))
    assert not is_static(tla.max(Int[3](), 4))
    with pytest.raises(RankError):
        tla.max(())


def test_int_tuple_checks_its_leaves():
    with pytest.raises(LeafTypeError, match=r"Int\[4\]\(\)"):
        IntTuple(Int[4])


@pytest.mark.parametrize("b", [(3,), (3, 4, 5), 3])
def test_factors_of_another_rank_are_refused(b):
    with pytest.raises(RankError, match="elem_scale"):
        tla.elem_scale((1, 2), b)


def test_the_deepest_nesting():
    """64 levels, of a whole layout: not one more."""
    for make in (nested, lambda d: oracle.nest(nested(d), iter([Int[1]()]))):
        for f, deepest in (
            (lambda d, make=make: Shape(*make(d)), 64),
            (lambda d, make=make: tla.flatten(make(d)), 64),
            (lambda d, make=make: tla.Layout(make(d), make(d)), 64),
            (lambda d, make=make: tla.slice_(make(d), make(d)), 64),
            (lambda d, make=make: tla.MakeLayout(tla.Layout(make(d), make(d)), parse("1:1")), 63),
            (lambda d, make=make: tla.MakeCoord(make(d)), 63),
        ):
            f(deepest)
            with pytest.raises(RankError, match="nested"):
                f(deepest + 1)
    assert tla.size(Shape(*nested(64))) == 1


def test_texts_in_errors_have_80_characters_at_most():
    for n, cut in ((36, False), (38, False), (39, True), (50, True)):
        full = f"({'1,' * n}10)"
        assert (len(full) > 80) is cut
        assert tla.core.int_tuple.shown((1,) * n + (10,)) == (full[:77] + "..." if cut else full)


def test_coordinates_and_tilers_of_too_many_levels_are_refused():
    deep = ()
    for _level in range(5000):
        deep = (deep,)
    layout = parse("(4,2):(2,1)")
    for call in (
        lambda: layout(deep),
        lambda: tla.composition(layout, deep),
        lambda: tla.slice_and_offset(deep, layout),
    ):
        with pytest.raises(RankError, match="tuples nested more than 64 deep"):
            call()
    with pytest.raises(LeafTypeError, match=r"mode \.\.\. of a layout"):
        layout[deep]
