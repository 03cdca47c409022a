import copy
import itertools
import pickle
import random
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tla
from tla import (
    Coord,
    Int,
    Layout,
    LayoutRight,
    LeafTypeError,
    MakeCoord,
    MakeLayout,
    MakeLayoutTile,
    MakeShape,
    MakeStride,
    RangeError,
    RankError,
    Shape,
    Stride,
    crd2crd,
    crd2idx,
    crd2offset,
    idx2crd,
    offsets,
    parse,
)
from tla.core.layout import join

import oracle
from corpus import layouts, small_shapes, static
from night import some

SHAPES = list(small_shapes())
DOCUMENTS = "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"  # the layout of TLA's documents


def strides_of(shape, rng):
    return oracle.nest(shape, iter([rng.choice((-3, 0, 1, 2, 5, 7)) for _ in oracle.leaves(shape)]))


# ------------------------------------------------------------------------------------------- the function


def test_offsets_by_the_definition_over_whole_domains():
    rng = random.Random(1)
    for shape in some(SHAPES, 3):
        stride = strides_of(shape, rng)
        layout = Layout(shape, stride)
        truth = oracle.offsets(shape, stride)
        assert [layout(i) for i in range(oracle.size(shape))] == truth
        assert [layout(c) for c in oracle.coordinates(shape)] == truth
        assert [crd2offset(c, shape, stride) for c in oracle.coordinates(shape)] == truth
        table = offsets(layout)
        assert table.ravel(order="F").tolist() == truth
        if isinstance(shape, tuple):
            per_mode = itertools.product(*(range(oracle.size(s)) for s in reversed(shape)))
            assert [layout(c[::-1]) for c in per_mode] == truth
            if len(shape) > 1:  # one argument is a whole coordinate
                assert [layout(*c) for c in oracle.coordinates(shape)] == truth


def test_the_last_mode_goes_on():
    layout = parse("((2,3),4):((1,10),100)")
    for i in range(200):
        assert layout(i) == i % 2 + i // 2 % 3 * 10 + i // 6 * 100
        assert layout(i, 0) == i % 2 + i // 2 * 10
    assert layout(-1) == 1 + 20 - 100


def test_index_and_coordinate_are_each_others_inverse():
    for shape in some(SHAPES, 4):
        for i, c in enumerate(oracle.coordinates(shape)):
            assert idx2crd(i, shape) == c
            assert crd2idx(c, shape) == i
            assert crd2crd(c, shape, oracle.size(shape)) == i
            assert crd2crd(i, oracle.size(shape), shape) == c
            assert idx2crd(c, shape) == c


def test_idx2crd_with_strides():
    for shape in some(SHAPES, 3):
        stride = oracle.compact(shape)
        static = oracle.nest(shape, iter(Int[n]() for n in oracle.leaves(shape)))
        compact = tla.compact_col_major(static)
        for i, c in enumerate(oracle.coordinates(shape)):
            assert idx2crd(i, static, compact) == c
            assert oracle.inner_product(c, stride) == i
    with pytest.raises(RangeError, match="divided by 0"):
        idx2crd(3, (4, 2), (0, 4))


def test_compact_strides():
    for shape in SHAPES:
        static = oracle.nest(shape, iter(Int[n]() for n in oracle.leaves(shape)))
        assert tla.compact_col_major(static) == oracle.compact(shape)
        assert tla.compact_row_major(static) == oracle.compact(shape, last_fastest=True)
        if isinstance(shape, tuple):
            assert offsets(MakeLayout(shape)).ravel(order="F").tolist() == list(range(oracle.size(shape)))
            flat = oracle.offsets(tla.flatten(shape), tla.flatten(tla.compact_row_major(shape)))
            assert sorted(flat) == list(range(oracle.size(shape)))


def test_a_static_one_costs_nothing():
    class Counting:
        """An integer that counts the operations done on it."""

        done = 0

        def __init__(self, n):
            self.n = n

        def __add__(self, other):
            return self._do(lambda a, b: a + b, other)

        def __mul__(self, other):
            return self._do(lambda a, b: a * b, other)

        def __floordiv__(self, other):
            return self._do(lambda a, b: a // b, other)

        def __mod__(self, other):
            return self._do(lambda a, b: a % b, other)

        def _do(self, op, other):
            assert type(other) in (int, Counting)  # plain integers only: a tracer knows no Int
            Counting.done += 1
            return Counting(op(self.n, getattr(other, "n", other)))

        def __bool__(self):
            raise AssertionError("the truth of a coordinate was asked")

        __index__ = __eq__ = __lt__ = __bool__
        __hash__ = None

    def cost(text, *coord):
        Counting.done = 0
        layout = parse(text)
        found = layout(*map(Counting, coord))
        assert found.n == layout(*coord)
        return Counting.done

    assert cost("(_8,_8):(_1,_8)", 5) == 0  # contiguous
    assert cost("(_8,_8):(_8,_1)", 5, 3) == 2  # i*8 + j
    assert cost("(_8,_1,_8):(_8,_0,_1)", 44) == 4  # i%8*8 + i//8
    assert cost("((_2,_4,_160),(_128,_128)):((_1,_256,_131072),(_2,_1024))", 700, 700) == 14
    assert cost("(_4,_5):(_0,_1)", 3, 2) == 0
    assert cost("(4,5):(1,4)", 13) == 5  # what is dynamic is a variable


@given(layouts(), st.data())
def test_numpy_coordinates_are_the_same_function(layout, data):
    n = int(tla.size(layout))
    index = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5)))
    assert layout(index).tolist() == [layout(int(i)) for i in index]
    assert layout(index).dtype == np.int64


def test_numpy_coordinates_broadcast():
    a = parse(DOCUMENTS)
    i, j = np.arange(8)[:, None], np.arange(12, dtype=np.uint8)
    assert np.array_equal(a(i, j), offsets(a))
    assert a(i, 0).shape == (8, 1)
    assert parse("(4,_5):(_0,_0)")(np.arange(4)[:, None], np.arange(5)).shape == (4, 5)
    assert parse("(4,5):(1,4)")(np.zeros((0, 3), int), 2).shape == (0, 3)
    source = np.arange(4)
    assert parse("_4:_1")(source) is not source
    with pytest.raises(RankError, match="broadcast"):
        a(np.arange(3), np.arange(4))


def test_offsets_past_64_bits_raise_when_they_are_evaluated():
    far = parse("(4,4):(4611686018427387904,1)")
    assert far(1, 3) == 2**62 + 3
    assert far(3, 3) == 3 * 2**62 + 3  # Python's integers have no end
    assert far(np.arange(2), 3).tolist() == [3, 2**62 + 3]
    with pytest.raises(RangeError, match="64 bits"):
        far(np.arange(4), 3)
    with pytest.raises(RangeError, match="64 bits"):
        offsets(far)
    assert parse("4:1")(np.array([2**63 - 1], np.uint64)).tolist() == [2**63 - 1]
    with pytest.raises(RangeError):
        parse("4:1")(np.array([2**63], np.uint64))
    assert parse("(2,2):(9223372036854775807,-9223372036854775807)")(np.array([1]), 1).tolist() == [0]


def test_sympy_expressions_pass_through():
    import sympy

    x = sympy.Symbol("x", integer=True)
    assert parse("(4,8):(2,_1)")(x, 3) == 2 * x + 3
    assert parse("_8:_3")(x) == 3 * x


@pytest.mark.parametrize(
    ("coord", "error"),
    [
        ((1, 2, 3), RankError),
        ((1,), RankError),
        (((1, 2), 3), RankError),
        ((), RankError),
        (1.0, LeafTypeError),
        ((1, True), LeafTypeError),
        ("1", LeafTypeError),
        (None, LeafTypeError),
        ([1, 2], LeafTypeError),
        ((1, np.float32(1)), LeafTypeError),
        ((1, np.array([1.0])), LeafTypeError),
        ((1, np.array([True])), LeafTypeError),
    ],
)
def test_coordinates_of_the_wrong_profile_or_kind(coord, error):
    layout = parse("(4,5):(1,4)")
    for f in (
        layout,
        lambda c: crd2offset(c, (4, 5), (1, 4)),
        lambda c: crd2idx(c, (4, 5)),
        lambda c: idx2crd(c, (4, 5)),
    ):
        if coord in ((1, 2, 3), (1,), ((1, 2), 3), ()) or error is LeafTypeError:
            with pytest.raises(error):
                f(coord)


def test_an_integer_into_an_empty_layout_is_refused():
    empty = parse("(0,5):(1,0)")
    with pytest.raises(RangeError, match="divided by 0"):
        empty(3)
    assert offsets(empty).shape == (0, 5)
    assert tla.cosize(empty) == 0


# ---------------------------------------------------------------------------------------------- the value


def test_make_layout():
    assert str(MakeLayout(MakeShape(Int[2](), 4), MakeStride(Int[12](), Int[1]()))) == "(_2,4):(_12,_1)"
    assert str(MakeLayout((Int[2](), (3, Int[4]())))) == "(_2,(3,_4)):(_1,(_2,6))"
    assert str(MakeLayout((Int[2](), (3, Int[4]())), LayoutRight)) == "(_2,(3,_4)):(12,(_4,_1))"
    assert str(MakeLayout(128)) == "(128):(_1)"
    assert str(MakeLayout(Int[128]())) == "(_128):(_1)"
    assert str(MakeLayout(8, 2)) == "8:2"
    made = MakeLayout((4, 8), (8, 1), (3, 5))
    assert made.origin_shape == (3, 5)
    assert MakeLayout((4, 8), origin_shape=(3, 5)).stride == (1, 4)
    assert MakeLayout((4, 8)).origin_shape == (4, 8)
    assert MakeLayout(((4, Int[2]()), Int[8]())).origin_shape == (8, 8)
    assert str(MakeLayout(((Int[4](), Int[2]()), 8)).origin_shape) == "(_8,8)"
    assert MakeLayout(8, 1).origin_shape == (8,)


def test_the_static_layout_as_a_type():
    kind = Layout[Shape[Shape[Int[4], Int[2]], Int[3]], Stride[Stride[Int[1], Int[4]], Int[8]]]
    assert str(kind()) == "((_4,_2),_3):((_1,_4),_8)"
    assert kind() == MakeLayout(((4, 2), 3))
    assert isinstance(kind(), kind)
    assert str(Layout[Shape[Int[4], Int[2]]]()) == "(_4,_2):(_1,_4)"
    assert str(Layout[Int[8], Int[2]]()) == "_8:_2"
    with pytest.raises(LeafTypeError):
        Layout[(4, 2), (1, 4)]


@given(layouts())
def test_the_text_and_the_repr_read_back(layout):
    assert str(parse(str(layout))) == str(layout)
    assert eval(repr(layout)) == layout
    assert repr(layout) == f"parse('{layout}')"
    for again in (pickle.loads(pickle.dumps(layout)), copy.copy(layout), copy.deepcopy(layout)):
        assert again == layout
        assert str(again) == str(layout)
        assert hash(again) == hash(layout)


def test_repr_keeps_an_origin_shape():
    cropped = MakeLayout((4, 8), (8, 1), (3, Int[5]()))
    assert repr(cropped) == "parse('(4,8):(8,1)', origin_shape=parse('(3,_5)'))"
    assert eval(repr(cropped)) == cropped
    assert cropped != MakeLayout((4, 8), (8, 1))


def test_equality_is_of_structure_without_staticness():
    assert parse("(_4,2):(_1,4)") == parse("(4,_2):(1,_4)")
    assert hash(parse("(_4,2):(_1,4)")) == hash(parse("(4,_2):(1,_4)"))
    assert parse("(4,2):(1,4)") != parse("8:1")
    assert parse("(4):(1)") != parse("4:1")
    assert parse("4:1") != "4:1"
    assert parse("4:1") != 4


def test_a_layout_is_immutable():
    layout = parse("(4,2):(1,4)")
    for name in ("shape", "stride", "origin_shape", "other"):
        with pytest.raises(AttributeError):
            setattr(layout, name, 1)
    with pytest.raises(AttributeError):
        del layout.shape
    assert not hasattr(layout, "__dict__")


def test_modes_are_layouts():
    layout = MakeLayout(((4, 2), 3), ((1, 4), 8), (7, 2))
    assert str(layout[0]) == "(4,2):(1,4)"
    assert layout[0].origin_shape is None  # 7 of (4,2): no box
    assert layout[1].origin_shape == (2,)  # the mode itself
    assert [str(m) for m in layout] == ["(4,2):(1,4)", "3:8"]
    assert str(tla.get[0, 1](layout)) == "2:4"
    assert tla.get[0, 1](layout).origin_shape is None  # of seven, the second four are no box of two
    assert tla.rank(layout) == 2
    assert tla.size[0](layout) == 8
    assert tla.shape[0, 1](layout) == 2
    assert tla.stride[0, 1](layout) == 4
    assert str(tla.flatten(layout)) == "(4,2,3):(1,4,8)"


def test_rank_zero():
    scalar = parse("():()")
    assert scalar() == scalar(()) == 0
    assert tla.size(scalar) == 1
    assert tla.cosize(scalar) == 1
    assert offsets(scalar).shape == ()


def test_cosize_holds_every_offset_and_no_more():
    rng = random.Random(2)
    for shape in SHAPES:
        stride = strides_of(shape, rng)
        truth = oracle.offsets(shape, stride)
        assert tla.cosize(Layout(shape, stride)) == max(truth) - min(truth) + 1
    assert tla.cosize[1](parse("(4,(2,3)):(1,(4,8))")) == 21


# ------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: MakeLayout((4, 2), (1,)), RankError),
        (lambda: MakeLayout((4, (2, 3)), (1, 4)), RankError),
        (lambda: MakeLayout(4, (1,)), RankError),
        (lambda: MakeLayout((-4, 2), (1, 4)), RangeError),
        (lambda: MakeLayout((4, 2.0), (1, 4)), LeafTypeError),
        (lambda: MakeLayout((4, True), (1, 4)), LeafTypeError),
        (lambda: MakeLayout((4, 2), (1, "4")), LeafTypeError),
        (lambda: MakeLayout([4, 2], [1, 4]), LeafTypeError),
        (lambda: MakeLayout(None), LeafTypeError),
        (lambda: MakeLayout((4, 2), None), LeafTypeError),
        (lambda: MakeLayout((4, Int[2])), LeafTypeError),
        (lambda: MakeLayout((2**63, 2), (1, 4)), RangeError),
        (lambda: MakeLayout((4, 2), (1, 2**64)), RangeError),
        (lambda: MakeLayout((4, 2), (1, 4), (5, 2)), RangeError),
        (lambda: MakeLayout((4, 2), (1, 4), (-1, 2)), RangeError),
        (lambda: MakeLayout((4, 2), (1, 4), (4,)), RankError),
        (lambda: MakeLayout(((4, 2), 3), ((1, 4), 8), ((4, 2), 3)), RankError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), (4, 4, 4)), RankError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), 4), RankError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), ((4, 1), 4)), RankError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), (-1, 4)), RangeError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), (4, -4)), RangeError),
        (lambda: MakeLayoutTile(parse(DOCUMENTS), (4, 4.0)), LeafTypeError),
        (lambda: crd2offset((1, 2), (4, 5), (1,)), RankError),
        (lambda: crd2crd((1, 2), (4, 5), (4, 5, 1)), RankError),
        (lambda: idx2crd(3, (4, 5), (1,)), RankError),
    ],
)
def test_refused(make, error):
    with pytest.raises(error) as caught:
        make()
    assert caught.value.reason.expected


# -------------------------------------------------------------------------------------------------- tiles


def test_make_layout_tile():
    a = parse(DOCUMENTS)
    tile = MakeLayoutTile(a, MakeShape(4, 4))
    assert str(tile) == "((_4,1),(_4,1)):((_4,_16),(_1,_32))"
    assert str(MakeLayoutTile(a, (Int[8](), Int[12]()))) == DOCUMENTS
    assert MakeLayoutTile(a, (5, 9)).origin_shape == (5, 9)
    assert str(MakeLayoutTile(parse("(16,512):(_1,16)"), (Int[64](), 128))) == "(_64,128):(_1,16)"
    assert str(MakeLayoutTile(parse("1000:_1"), 37)) == "37:_1"
    assert str(MakeLayoutTile(parse("(1000):(_1)"), (37,))) == "(37):(_1)"
    assert str(MakeLayoutTile(parse("((2,3,4),5):((1,2,6),24)"), (13, 2))) == "((2,3,3),2):((1,2,6),24)"
    assert str(MakeLayoutTile(parse("((2,(3,4)),5):((1,(2,6)),24)"), (13, 2))) == "((2,(3,3)),2):((1,(2,6)),24)"


def test_a_tile_is_the_layout_near_its_origin():
    for text in (DOCUMENTS, "((2,3,4),5):((1,2,6),24)", "((2,(3,4)),(5,2)):((1,(2,6)),(24,500))"):
        layout = parse(text)
        rows, columns = map(int, layout.origin_shape)
        for extents in itertools.product(range(1, rows + 1), range(1, columns + 1)):
            tile = MakeLayoutTile(layout, extents)
            assert all(int(n) >= e for n, e in zip(tla.product_each(tile.shape), extents))
            for c in itertools.product(*map(range, extents)):
                assert tile(*c) == layout(*c)


def test_coordinates_print():
    assert str(MakeCoord(1, (Int[2](), 3))) == "(1,(_2,3))"
    assert isinstance(idx2crd(5, (2, (3, 4))), Coord)
    assert isinstance(idx2crd(5, (2, (3, 4)))[1], Coord)


# --------------------------------------------------------------------- what an independent reader broke, kept


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, object])
def test_coordinate_arrays_of_every_width(dtype):
    i, shape = np.arange(100).astype(dtype), (70000, 80000, 90000)
    for f in (
        lambda c: crd2idx(c, shape),
        lambda c: crd2crd(c, shape, 504_000_000_000_000),
        lambda c: MakeLayout(shape)(c),
    ):
        found = f((i, i, i))
        assert found.dtype == np.int64
        assert found.tolist() == [n + n * 70000 + n * 70000 * 80000 for n in range(100)]
    rows, columns = idx2crd(i, (7, 300))
    assert (rows + 7 * columns).tolist() == list(range(100))


def test_a_coordinate_array_past_64_bits_is_refused_and_below_it_exact():
    with pytest.raises(RangeError, match="64 bits"):
        crd2idx((np.array([1]), np.array([2**62])), (4, 4))
    far = parse("(4,4):(1,-1)")
    for n in (2**62, -(2**62), -(2**63), 2**63 - 1):
        assert far(np.array([n]), np.array([n])).tolist() == [0]
    assert parse("((4,9223372036854775807),1):((0,1),0)")(np.array([-1]), 0).tolist() == [-1]


@pytest.mark.parametrize("wrong", [[1.5], [True], ["3"], [None]])
def test_object_arrays_hold_integers(wrong):
    with pytest.raises(LeafTypeError):
        parse("(4,8):(8,1)")(np.array(wrong, object), 1)


def test_empty_coordinate_arrays_are_checked_too():
    e = np.array([], int)
    for coord in ((e, e, e), (e, (e, e))):
        with pytest.raises(RankError):
            parse("(4,8):(8,1)")(coord)


def test_the_orders_survive_copy_and_pickle():
    for order, text in ((tla.LayoutLeft, "(4,8):(_1,4)"), (LayoutRight, "(4,8):(8,_1)")):
        for again in (copy.deepcopy(order), pickle.loads(pickle.dumps(order))):
            assert str(MakeLayout((4, 8), again)) == text
    assert pickle.loads(pickle.dumps(tla.get)) is tla.get


@pytest.mark.parametrize(
    "f", [tla.product, tla.size, tla.flatten, tla.rank, MakeLayout, tla.shape, lambda x: tla.congruent(x, 1)]
)
def test_an_array_is_no_layout(f):
    with pytest.raises(LeafTypeError):
        f(np.zeros((2, 3)))


@pytest.mark.parametrize("wrong", [5, (4, 8), "(4,8):(8,1)", None])
def test_what_wants_a_layout_says_so(wrong):
    for f in (tla.cosize, tla.stride, offsets, lambda x: MakeLayoutTile(x, (2, 2))):
        with pytest.raises(LeafTypeError, match="of a"):
            f(wrong)


@pytest.mark.parametrize("wrong", [object(), frozenset(), int, bytearray(b"1"), iter([1]), parse("4:1"), range(3)])
def test_what_cannot_be_a_coordinate(wrong):
    with pytest.raises(LeafTypeError):
        parse("(4,8):(8,1)")(wrong)


def test_modes_out_of_range():
    layout = parse("(4,8):(8,1)")
    for i in (2, -1):
        with pytest.raises(RankError):
            layout[i]
    for i in ("0", slice(0, 1)):
        with pytest.raises(LeafTypeError):
            layout[i]
    assert Layout(4, 1)[0] == Layout(4, 1)
    with pytest.raises(RankError):
        Layout(4, 1)[1]


def test_a_last_mode_without_digits_takes_the_rest():
    layout = parse("(4,()):(1,())")
    for i in range(12):
        assert layout(i) == layout(idx2crd(i, layout.shape)) == i % 4
        assert layout(np.array([i])).tolist() == [i % 4]


def test_a_tile_knows_how_much_of_it_is_valid():
    layout = parse("((_2,_3),4):((_1,_2),6)", origin_shape=(5, 4))
    assert MakeLayoutTile(layout, (6, 4)).origin_shape == (5, 4)
    assert MakeLayoutTile(layout, (3, 2)).origin_shape == (3, 2)
    assert MakeLayoutTile(parse("(4,8):(8,1)"), (100, 100)).origin_shape == (4, 8)


def test_the_default_origin_given_is_the_default():
    assert repr(MakeLayout((4, 8), (8, 1), (4, 8))) == "parse('(4,8):(8,1)')"
    assert repr(MakeLayout((4, 8), (8, 1), (Int[4](), 8))) == "parse('(4,8):(8,1)', origin_shape=parse('(_4,8)'))"


def test_layouts_side_by_side():
    assert str(MakeLayout(parse("(_2,3):(3,_1)"), parse("_4:_8"))) == "((_2,3),_4):((3,_1),_8)"
    assert str(MakeLayout(parse("4:1"))) == "(4):(1)"
    with pytest.raises(LeafTypeError, match="layouts only"):
        MakeLayout(parse("4:1"), (1, 2))


def test_results_side_by_side():
    """Results of static operations, whose shapes nobody has asked for yet, joined: as the layouts that they are."""
    results = [
        lambda: tla.coalesce(parse("(_4,_2):(_1,_4)")),
        lambda: tla.coalesce(parse("(_1,_1):(_1,_4)")),
        lambda: tla.coalesce(parse("(_4,_2):(_2,_1)")),
        lambda: tla.composition(parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)")),
        lambda: tla.logical_divide(parse("_16:_3"), tla.Int[4]()),
        lambda: join([]),
    ]
    for made in itertools.product(results, repeat=2):
        tla.cache_clear()
        joined, modes = join([make() for make in made]), [make() for make in made]
        whole = parse(f"({','.join(str(m.shape) for m in modes)}):({','.join(str(m.stride) for m in modes)})")
        assert (joined.plain_modes(), str(joined), joined.is_static) == (whole.plain_modes(), str(whole), True)
        if joined.plain_modes():
            assert [joined(i) for i in range(99)] == [whole(i) for i in range(99)]


@pytest.mark.parametrize(("layout", "levels"), [("(_4,_2):(_1,_4)", 64), ("(_4,_2):(_2,_1)", 63)])
def test_results_are_nested_as_deep_as_any_layout(layout, levels):
    found = tla.coalesce(parse(layout))
    for _level in range(levels):
        found = join([found])
    assert tla.depth(found) == 64
    with pytest.raises(RankError, match="nested more than 64 deep"):
        join([found])


def test_only_layouts_are_joined():
    a = parse("(4,2):(1,4)")
    for b in ((4, 2), 4, tla.Swizzle[1, 0, 1](), parse("Sw<1,0,1> o _0 o 4:1"), None):
        with pytest.raises(LeafTypeError):
            join([a, b])
    assert str(join([a, a])) == "((4,2),(4,2)):((1,4),(1,4))"


def test_coordinates_of_any_kind_need_no_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    x = type(
        "Traced", (), {f"__{o}__": lambda self, _: self for o in ("add", "radd", "mul", "rmul", "floordiv", "mod")}
    )()
    assert parse("(4,2):(3,5)")(x, x) is x


@pytest.mark.parametrize("text", ["(_0,_4):(_1,_8)", "(_4,_0,3):(_1,_8,_4)", "(0,4):(1,8)"])
def test_what_has_no_elements_reaches_nothing(text):
    assert tla.coshape(parse(text)) == tla.cosize(parse(text)) == 0
    assert tla.is_static(tla.cosize(parse(text))) is ("_0" in text.split(":")[0])  # whatever the other extents are


def test_static_layouts_are_checked_like_others():
    """Static integers past 64 bits come of arithmetic; an extent of static 0 has no digits."""
    big = Int[2**62]() * Int[4]()
    for shape, stride in (
        ((big, Int[2]()), (Int[1](), Int[1]())),
        ((Int[2](),), (big,)),
        ((Int[2](),), (-big,)),
        (((Int[2](), big), Int[2]()), ((Int[1](), Int[1]()), Int[1]())),
    ):
        with pytest.raises(RangeError, match="bits"):
            Layout(shape, stride)
    with pytest.raises(RangeError, match="extent"):
        Layout((Int[-1](), Int[2]()), (Int[1](), Int[1]()))
    for limit in (2**63 - 1, -(2**63)):
        assert Layout((Int[1](), Int[2]()), (Int[limit](), Int[1]())).stride == (limit, 1)
    for shape in ((Int[0](), Int[2]()), (Int[2](), Int[0]()), ((Int[2](), Int[0]()), Int[3]())):
        assert Layout(shape, oracle.nest(shape, itertools.repeat(Int[1]()))).plain_modes() == []
    for shape, stride in (
        ((Int[2](), Int[3]()), (Int[1](),)),
        ((Int[2](),), (Int[1](), Int[2]())),
        ((Int[2](), (Int[3](),)), (Int[1](), Int[2]())),
        ((Int[2](), Int[3]()), Int[1]()),
    ):
        with pytest.raises(RankError):
            Layout(shape, stride)


def test_one_integer_for_each_mode():
    """Each runs through its mode, first digit fastest; the last one has no end."""
    for shape in [*small_shapes()][5::41]:
        if not isinstance(shape, tuple):
            continue
        stride = oracle.nest(shape, itertools.cycle([3, -1, 7, 0, 2]))
        for a in (Layout(shape, stride), Layout(static(shape), static(stride))):
            sizes = [oracle.size(m) for m in shape]
            for c in itertools.islice(itertools.product(*(range(n + 2) for n in sizes)), 0, None, 3):
                assert a(*c) == a(c) == sum(oracle.offset(x, m, d) for x, m, d in zip(c, shape, stride)), (a, c)
            for k in range(-2, oracle.size(shape) + 5):
                assert a(k) == oracle.offset(k, shape, stride), (a, k)


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (4.0, "4.0 is of type float"),
        (True, "write 1"),
        (None, "of type NoneType"),
        (range(3), "write a tuple"),
        ({}, "dict"),
    ],
)
def test_what_is_no_shape_is_said_of_it(shape, says):
    """And not that a layout is missing, which MakeLayout is to make."""
    with pytest.raises(LeafTypeError, match=says) as caught:
        tla.make_layout(shape)
    assert "MakeLayout" not in str(caught.value)
