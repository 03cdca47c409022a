"""Tensors against loops over coordinates, by the oracle's offsets; nothing is written where anything is refused."""

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tla
from tla import (
    ComposedLayout,
    GetTile,
    Layout,
    MakeLayout,
    MakeTensor,
    Swizzle,
    TileView,
    TlaError,
    _,
    local_partition,
    local_tile,
    padded,
    parse,
    recast,
    transpose,
)

import oracle
from batches import in_batches
from corpus import profiles, small_shapes
from night import amount, some
from tensor_model import Model, R, check, random_tensor


def test_every_small_layout():
    """By day every third one: the extents of a mode go from 1 to 4."""
    for shape in some(small_shapes(), 3):
        shape = shape if isinstance(shape, tuple) else (shape,)
        for strides in (oracle.compact(shape), oracle.compact(shape, last_fastest=True)):
            layout = Layout(shape, strides)
            check(MakeTensor(np.arange(oracle.size(shape)), layout))


@in_batches(range(amount(80, 1000)), 20)
def test_random_tensors_tiles_and_slices(seed):
    rng = random.Random(seed)
    t = random_tensor(rng)
    truth = check(t)
    for _step in range(4):
        start = tuple(rng.randint(0, n + 1) for n in truth.shape)
        tile = tuple(rng.randint(1, max(1, n)) for n in truth.shape)
        part = GetTile(t, start, tile)
        cut = truth[tuple(slice(s, s + n) for s, n in zip(start, tile))]
        assert np.array_equal(check(part), cut)
        again = tuple(rng.randint(0, n) for n in cut.shape)
        inner = GetTile(part, again, tile)
        assert np.array_equal(check(inner), cut[tuple(slice(s, s + n) for s, n in zip(again, tile))])
        counts = tuple(rng.randint(0, 2) for _n in tile)
        view = TileView(t, counts, tile)
        assert np.array_equal(check(view), truth[tuple(slice(c * n, c * n + n) for c, n in zip(counts, tile))])
        for x, dense in ((t, truth), (part, cut)):
            if all(dense.shape) and dense.ndim:
                at = tuple(_ if rng.random() < 0.5 else rng.randrange(n) for n in dense.shape)
                want = dense[tuple(slice(None) if c is _ else c for c in at)]
                got = x[at]
                assert np.array_equal(check(got) if any(c is _ for c in at) else got, want)
            order = rng.sample(range(dense.ndim), dense.ndim)
            assert np.array_equal(check(transpose(x, order)), dense.transpose(order))


def test_no_buffer_gives_offsets_and_coordinates():
    t = MakeTensor(None, parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"))
    assert t[1, 5] == 37
    assert GetTile(t, (4, 8), (4, 4))[3, 1] == t[7, 9]
    assert t[_, 5][1] == 37
    crd = MakeTensor(None, tla.MakeIdentityLayout((5, 7)))
    tile = local_tile(crd, (2, 3), (1, 2))
    assert tile[1, 0] == (3, 6)
    assert tile.origin_shape == (2, 3)
    assert tile[1, 2] == (3, 8)
    assert crd[4, _][2] == (4, 2)
    assert GetTile(crd, (4, 5), (3, 3))[0, 1] == (4, 6)
    assert np.array_equal(
        [[local_partition(crd, parse("(2,2):(1,2)"), 3)[i, j] for j in range(3)] for i in range(2)],
        [[(2 * i + 1, 2 * j + 1) for j in range(3)] for i in range(2)],
    )
    assert MakeTensor(None, parse("4:2"))[3] == 6
    assert MakeTensor(None, parse("():()"))[()] == 0


def test_starts():
    data = np.arange(100)
    t = MakeTensor(data, parse("(4,5):(10,1)"), (2, 3))
    assert np.array_equal(np.asarray(t), data.reshape(10, 10)[2:6, 3:8])
    blocks = MakeTensor(np.arange(112), parse("((4,2),(4,1)):((4,16),(1,32))"), ((0, 1), (0, 2)))
    assert blocks.coord == (4, 8)
    check(blocks)
    assert GetTile(blocks, ((0, 1), 0), (4, 4)).coord == (8, 8)
    assert check(MakeTensor(data, parse("(10):(-1)"), offset=9)).tolist() == [*range(9, -1, -1)]
    vector = MakeTensor(data, parse("4:2"), 3)
    assert check(vector).tolist() == [6, 8, 10, 12]
    assert check(GetTile(vector, 1, 2)).tolist() == [8, 10]
    assert check(TileView(vector, 1, 3)).tolist() == [12]


def test_a_nested_coordinate_is_an_element_and_a_slice_inside_of_a_mode():
    t = MakeTensor(np.arange(96), parse("((4,2),(4,3)):((4,16),(1,32))"))
    assert t[(1, 1), (2, 2)] == t[5, 10]
    assert t[(1, 1), 10] == t[5, 10]
    part = t[(1, _), 10]
    assert [part[k] for k in range(2)] == [t[1, 10], t[5, 10]]
    assert np.array_equal(check(t[(_, 1), (_, _)]), np.asarray(t)[4:8].reshape(4, 3, 4).transpose(0, 2, 1))


@st.composite
def tensors(draw):
    shape = draw(profiles())
    leaves = [draw(st.integers(1, 5)) for _n in oracle.leaves(shape)]
    shape = oracle.nest(shape, iter(leaves))
    strides = oracle.nest(shape, iter([draw(st.integers(-9, 9)) for _n in leaves]))
    layout = Layout(shape, strides)
    lo = min(oracle.offsets(shape, strides))
    hi = max(oracle.offsets(shape, strides))
    return MakeTensor(np.arange(hi - lo + 1), layout, offset=-lo)


@given(tensors(), st.data())
def test_any_strides_read_right_and_are_written_only_where_injective(t, data):
    truth = check(t)
    start = tuple(data.draw(st.integers(0, n)) for n in truth.shape)
    tile = tuple(data.draw(st.integers(1, n)) for n in truth.shape)
    one = len(start) == 1 and not isinstance(t.shape, tuple)
    part = GetTile(t, start[0] if one else start, tile[0] if one else tile)
    cut = check(part)
    assert np.array_equal(cut, truth[tuple(slice(s, s + n) for s, n in zip(start, tile))])
    places = [*Model.of(part).offsets().values()]
    before = t.data.copy()
    if len({*places}) == len(places):
        tla.fill(part, -1)
        assert sorted(np.flatnonzero(t.data == -1)) == sorted(places)
    else:
        with pytest.raises(TlaError, match="are one in the buffer"):
            tla.fill(part, -1)
        assert np.array_equal(t.data, before)


def whole():
    return MakeTensor(np.arange(32, dtype=np.int32), R)


REFUSED = {
    "short buffer": (
        lambda: MakeTensor(np.zeros(31), R),
        "its offsets go from 0 to 31, padding included\n  expected  0 to 31 - 1\n  fix       give a buffer of 32 "
        "elements",
    ),
    "before the buffer": (
        lambda: MakeTensor(np.zeros(9), parse("(4):(-2)")),
        "give a buffer of 7 elements, and offset=6",
    ),
    "start past the end": (lambda: MakeTensor(np.zeros(32), R, (1, 0)), "its offsets go from 8 to 39"),
    "negative start": (lambda: MakeTensor(np.zeros(32), R, (-1, 0)), "is before the layout"),
    "negative tile start": (lambda: GetTile(whole(), (0, -8), (4, 4)), "is before the layout"),
    "rank of a start": (lambda: GetTile(whole(), (0,), (4, 4)), "2 integers, or a coordinate nested like the shape"),
    "rank of a tile": (lambda: GetTile(whole(), (0, 0), (4,)), "one integer per top-level mode"),
    "rank of a view": (lambda: TileView(whole(), (0, 0), 4), "give both the rank of the tensor"),
    "a tile of -1": (lambda: GetTile(whole(), (0, 0), (4, -1)), "GetTile: a tile of -1"),
    "rank of an index": (lambda: whole()[3, 1, 0], "3 indices for the 2 modes of (4,8):(8,_1)"),
    "an index past all": (lambda: whole()[32], "index 8 of mode 1"),
    "an index past": (lambda: whole()[4, 0], "index 4 of mode 0"),
    "a negative index": (lambda: whole()[0, -1], "index -1 of mode 1"),
    "a padding index": (
        lambda: MakeTensor(np.zeros(32), MakeLayout((4, 8), tla.LayoutRight, (3, 8)))[3, 0],
        "where 3 are valid",
    ),
    "a tail index": (lambda: GetTile(whole(), (2, 0), (4, 4))[2, 0], "index 2 of mode 0"),
    "past the end": (lambda: GetTile(whole(), (9, 0), (4, 4))[0, 0], "where 0 are valid"),
    "a digit past its extent": (
        lambda: MakeTensor(None, parse("((4,2),2):((1,4),8)"))[(4, 0), 0],
        "4 of 4 in a coordinate",
    ),
    "a float index": (lambda: whole()[1.0, 0], "1.0 is of type float"),
    "a slice of python": (
        lambda: whole()[0:2, 0],
        "write _ for the whole of a mode, GetTile(t, start, extents) for a part",
    ),
    "no layout": (lambda: MakeTensor(np.zeros(4), (4, 1)), "MakeTensor of a tuple"),
    "no buffer": (lambda: MakeTensor([1, 2, 3], R), "write numpy.array(x), or None for no buffer"),
    "not contiguous": (lambda: MakeTensor(np.zeros((4, 8))[:, ::2], R), "not contiguous"),
    "objects": (lambda: MakeTensor(np.array([None]), R), "elements of plain bytes"),
    "a buffer alone": (lambda: MakeTensor(bytearray(4)), "write MakeTensor(buffer, layout)"),
    "coordinates": (lambda: MakeTensor(np.zeros(16), tla.MakeIdentityLayout((4, 4))), "give None for no buffer"),
    "the class": (lambda: tla.Tensor(np.zeros(4)), "write MakeTensor(buffer, layout)"),
    "a swizzle as strides": (
        lambda: MakeTensor(np.zeros(64), ComposedLayout(Swizzle[3, 0, 3](), tla.Int[0](), MakeLayout((8, 8)))).numpy(),
        "its layout is composed",
    ),
    "several strides": (
        lambda: MakeTensor(np.zeros(8), parse("((2,2),2):((1,4),2)")).numpy(),
        "a mode has several strides",
    ),
    "a tail in digits": (
        lambda: MakeTensor(np.zeros(8), parse("((2,2),2):((1,4),2)", origin_shape=(3, 2))).numpy(nested=True),
        "inside of a block",
    ),
    "numpy without a buffer": (lambda: MakeTensor(None, R).numpy(), "which has no buffer"),
    "an array without a buffer": (lambda: np.asarray(MakeTensor(None, R)), "which has no buffer"),
    "a copy of another type": (lambda: whole().__array__(np.int8, copy=False), "leave out copy=False"),
    "tiles of a start in a block": (
        lambda: local_tile(MakeTensor(np.zeros(8), parse("((2,2),2):((1,4),2)"), (1, 0), offset=0), (2, 2), (0, 0)),
        "offsets go from",
    ),
    "local_tile of a start in a block": (
        lambda: local_tile(
            GetTile(MakeTensor(np.zeros(8), parse("((2,2),2):((1,4),2)")), (1, 0), (2, 2)), (2, 2), (0, 0)
        ),
        "starts inside of a block",
    ),
    "an open tail": (lambda: local_tile(whole(), (3, 4), (_, 0))[2, 0, 1], "of which (4,8) are valid"),
    "too many tiles": (lambda: local_tile(whole(), (3, 4, 2), (0, 0, 0)), "at most 2"),
    "too many coordinates": (lambda: local_tile(whole(), (2, 4), (0, 0, 0)), "at most 2 integers"),
    "a negative tile": (lambda: local_tile(whole(), (2, 4), (0, -1)), "0 or more"),
    "a thread that is not": (lambda: local_partition(whole(), parse("(2,2):(1,2)"), 4), "thread 4 of (2,2):(1,2)"),
    "proj": (lambda: local_tile(whole(), (2, 4), (0, 0), proj=(1, _, 1)), "write _ for what is left out"),
    "transpose": (lambda: transpose(whole(), (0, 0)), "name each mode once"),
    "recast": (lambda: recast(whole()), "write recast[numpy.int8](t)"),
    "recast of nothing": (lambda: recast[np.int8](MakeTensor(None, R)), "which has no buffer"),
    "no element type": (
        lambda: MakeTensor[tla.ascend.hif8](R),
        "MakeTensor[hif8]\n  expected  an element type that numpy",
    ),
    "recast to no element type": (lambda: recast[tla.ascend.hif8](whole()), "recast[hif8]"),
    "more than memory": (
        lambda: MakeTensor[np.int8](MakeLayout(2**62)),
        "a new buffer of 4,611,686,018,427,387,904 elements",
    ),
    "more than an array": (lambda: MakeTensor[np.int8](Layout((2**40, 2**40), (2**40, 1))), "what memory holds"),
    "a position for a start": (lambda: MakeTensor(np.zeros(32), R, "L1", "GM"), "a coordinate before the position"),
    "a tensor for a layout": (lambda: MakeTensor(np.zeros(32), whole()), "give its .layout"),
    "a tag object for a layout": (lambda: MakeTensor(np.zeros(32), tla.ascend.RowMajor(4, 8)), "give its .layout"),
    "a predicate of a tensor": (lambda: tla.ascend.isRowMajor(whole()), "give its .layout"),
    "a slice of a tensor": (lambda: tla.slice_and_offset((1, _), whole()), "give its .layout"),
    "a tile of a layout": (lambda: GetTile(R, (0, 0), (2, 2)), "GetTile of a Layout"),
    "a partition of a list": (lambda: local_tile([1], (1,), (0,)), "local_tile of a list"),
    "a layout and no buffer": (lambda: tla.make_tensor(R), "make_tensor of a layout alone"),
    "a layout for a buffer": (lambda: tla.make_tensor(R, (4,)), "make_tensor of a layout alone"),
    "an integer and no layout": (lambda: tla.make_tensor(5), "make_tensor of a layout alone"),
    "a coordinate and no layout": (lambda: tla.make_tensor((2, 3)), "make_tensor of a layout alone"),
    "like of no type": (
        lambda: tla.MakeTensorLike[tla.ascend.zN](None, MakeTensor(None, R)),
        "write MakeTensorLike[zN, half](...)",
    ),
}


@pytest.mark.parametrize("coord", [(), (0,), (0, 0, 0), ((0, 0), 0), (0, (0,)), ((0,), 0, 0)])
def test_a_coordinate_of_a_mode_has_its_profile(coord):
    whole = MakeTensor(np.arange(32), parse("((_4,_4),_2):((_1,_4),_16)"))
    for t in (whole, GetTile(whole, (8, 0), (8, 2))):
        assert t[(1, 1), 0] == t[5, 0]
        with pytest.raises(tla.RankError):
            t[coord, 0]


def test_an_element_is_static_where_all_that_makes_it_is():
    """A start of 0 that is dynamic makes a dynamic offset, as any other does; numpy's integers are ints."""
    for start, kinds in ((None, (tla.Int, int, int)), ((0,), (int, int, int)), ((tla._0,), (tla.Int, int, int))):
        t = MakeTensor(None, parse("(_8):(_1)"), start)
        assert tuple(type(t[i]) for i in (tla._3, 3, np.int64(3))) == kinds


def test_a_layout_of_a_layout_is_read_and_written():
    """Two layouts that are no one, and no swizzle: the offset of each element is what the outer one makes of
    the inner one's."""
    layout = tla.ComposedLayout(tla.Layout((8, 5), (1, 10)), tla.Int[3](), tla.Layout((6, 4), (1, 6)))
    truth = np.array([[(3 + i + 6 * j) % 8 + (3 + i + 6 * j) // 8 * 10 for j in range(4)] for i in range(6)])
    t = MakeTensor(np.arange(60), layout)
    assert np.array_equal(np.asarray(t), truth)
    tla.copy(-truth, t)
    assert np.array_equal(t.data[truth], -truth)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name):
    f, text = REFUSED[name]
    with pytest.raises(TlaError) as caught:
        f()
    assert text in str(caught.value), str(caught.value)


WRITES = {
    "an index past": (lambda t: t.__setitem__((4, 0), 1), "index 4 of mode 0"),
    "a slice": (lambda t: t.__setitem__((_, 0), 1), "write copy(x, t[_, 1]), or fill(t[_, 1], x)"),
    "a float": (lambda t: t.__setitem__((0, 0), 1.5), "elements of float64 into int32"),
    "too large": (lambda t: t.__setitem__((0, 0), 2**31), "-2147483648 to 2147483647"),
    "an array": (lambda t: t.__setitem__((0, 0), np.zeros(2, np.int32)), "one value"),
    "fill of a float": (lambda t: tla.fill(t, 1.5), "elements of float64 into int32"),
    "fill too large": (lambda t: tla.fill_padding(t, -(2**40)), "use a wider element type"),
    "copy of wider integers": (lambda t: tla.copy(np.zeros((4, 8), np.int64), t), "x.astype('int32')"),
    "copy of floats": (lambda t: tla.copy(np.zeros((4, 8)), t), "elements of float64 into int32"),
    "copy of other extents": (lambda t: tla.copy(np.zeros((8, 4), np.int32), t), "(8,4) valid elements"),
    "copy of other ranks": (lambda t: tla.copy(np.zeros(32, np.int32), t), "equal extents"),
    "copy of a list": (lambda t: tla.copy([1], t), "a tensor, or a numpy array"),
    "reduce": (lambda t: tla.reduce(np.zeros((4, 8, 3), np.int32), t, 3), "modes 0 to 2, each once"),
    "reduce to others": (lambda t: tla.reduce(np.zeros((4, 8, 3), np.int32), t, 0), "equal extents"),
    "the largest of nothing": (
        lambda t: tla.reduce(np.zeros((4, 8, 0), np.int32), t, 2, np.maximum),
        "elements to reduce",
    ),
    "gemm": (
        lambda t: tla.gemm(np.zeros((4, 3), np.int32), np.zeros((4, 8), np.int32), t),
        "(m,k) by (k,n) into (m,n)",
    ),
    "gemm of wider": (lambda t: tla.gemm(np.zeros((4, 3)), np.zeros((3, 8)), t), "elements of float64 into int32"),
    "gemm of a tile of two": (
        lambda t: tla.gemm(np.zeros((4, 3), np.int32), np.zeros((3, 8), np.int32), t, (4, 4)),
        "give m, n and k",
    ),
    "reduce by a function": (
        lambda t: tla.reduce(np.zeros((4, 8, 3), np.int32), t, 2, max),
        "a numpy ufunc of two arguments",
    ),
    "gemm of no tile": (
        lambda t: tla.gemm(np.zeros((4, 3), np.int32), np.zeros((3, 8), np.int32), t, (4, 0, 4)),
        "0 is not positive",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_refused_write_writes_nothing(name):
    f, text = WRITES[name]
    t = whole()
    with pytest.raises(TlaError) as caught:
        f(t)
    assert text in str(caught.value), str(caught.value)
    assert np.array_equal(t.data, np.arange(32))


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.__setitem__((0, 0), 1),
        lambda t: tla.fill(t, 1),
        lambda t: tla.fill_padding(t),
        lambda t: tla.copy(np.zeros((4, 8), np.int32), t),
    ],
)
def test_what_may_not_be_written_to(write):
    read_only = np.arange(32, dtype=np.int32)
    read_only.flags.writeable = False
    for t, text in (
        (MakeTensor(read_only, R), "its buffer is read-only"),
        (
            MakeTensor(np.arange(32, dtype=np.int32), parse("(4,(4,2)):(1,(0,3))")),
            "two of its elements are one in the buffer",
        ),
        (MakeTensor(np.arange(32, dtype=np.int32), parse("(4,8):(2,3)")), "two of its elements are one in the buffer"),
        (MakeTensor(None, R), "which has no buffer"),
    ):
        with pytest.raises(TlaError, match=text):
            write(t)
        assert t.data is None or np.array_equal(t.data, np.arange(32))


def test_the_fixes_work():
    assert MakeTensor(np.arange(7), parse("(4):(-2)"), offset=6)[3] == 0
    assert padded(MakeTensor(np.zeros(32), MakeLayout((4, 8), tla.LayoutRight, (3, 8))))[3, 0] == 0
    t = MakeTensor(np.arange(8), parse("((2,2),2):((1,4),2)", origin_shape=(3, 2)))
    assert np.asarray(t).tolist() == [[0, 2], [1, 3], [4, 6]]
    assert padded(t).numpy(nested=True).shape == (2, 2, 2)
    w = whole()
    tla.copy(np.zeros((4, 8)).astype("int32"), w)
    tla.fill(w[_, 1], 5)
    assert w.data.sum() == 20
    tla.reduce(np.zeros((4, 8, 0), np.int32), w, 2)
    assert tla.MakeTensorLike[tla.ascend.zN, tla.ascend.half](None, MakeTensor(None, R)).origin_shape == (4, 8)


def test_a_tensor_is_immutable_but_for_its_elements():
    t = whole()
    with pytest.raises(AttributeError):
        t.offset = 4
    with pytest.raises(AttributeError):
        del t.layout
    with pytest.raises(TypeError):
        iter(t)


def test_symbols_over_a_buffer_are_refused_and_without_one_stay(monkeypatch):
    from unknown import M, Unknown, value

    tla.core.ints.register_leaf(Unknown, lambda question, a, b: True if question == "==" and a is b else None)
    try:
        layout = Layout((M, 4), (4, 1))
        with pytest.raises(tla.Unproven):
            MakeTensor(np.zeros(48), layout)
        t = MakeTensor(None, layout)
        assert value(t[M, 2]) == 12 * 4 + 2
        assert value(t[M, _][3]) == 12 * 4 + 3
        buffer = MakeTensor(np.arange(8), parse("(4,2):(2,1)"))
        for at in ((M, 0), (M, _)):
            with pytest.raises(tla.Unproven, match="known"):
                buffer[at]
        with pytest.raises(tla.Unproven):
            buffer[M, 0] = 1
    finally:
        del tla.core.ints.KINDS[Unknown]


def test_extremes():
    assert np.asarray(MakeTensor(np.zeros(0), parse("(0,4):(4,1)"))).shape == (0, 4)
    empty = MakeTensor(np.zeros(4), parse("(4,4):(0,1)", origin_shape=(0, 4)))
    tla.fill(empty, 1)
    assert empty.data.sum() == 0
    assert empty.numpy().shape == (0, 4)
    with pytest.raises(TlaError, match="its offsets go from 0 to"):
        MakeTensor(np.zeros(4), MakeLayout((2**40, 2**20)))
    with pytest.raises(TlaError, match="take tiles of it"):
        MakeTensor(np.zeros(4), ComposedLayout(Swizzle[1, 0, 1](), tla.Int[0](), MakeLayout((2**40,))))
    wide = MakeTensor(np.arange(1), MakeLayout((1,) * 70))
    with pytest.raises(TlaError, match="group or slice modes"):
        np.asarray(wide)
    assert wide[(0,) * 70] == 0
    many = MakeTensor(
        np.arange(2**16),
        Layout(
            ((2,) * 8, (2,) * 8), (tuple(2 ** (2 * k) for k in range(8)), tuple(2 ** (2 * k + 1) for k in range(8)))
        ),
    )
    check(many)


def test_views_that_alias_are_read_only():
    for layout, writable in ((R, True), (parse("(4,8):(0,1)"), False), (parse("(4,8):(2,3)"), False)):
        view = MakeTensor(np.arange(32, dtype=np.int32), layout).numpy()
        assert view.flags.writeable is writable


def test_a_tensor_survives_pickle_and_copy():
    import copy
    import pickle

    t = GetTile(MakeTensor(np.arange(32), R, position="L1"), (1, 2), (9, 9))
    for other in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t), copy.copy(t)):
        assert repr(other) == repr(t)
        assert np.array_equal(np.asarray(other), np.asarray(t))
        assert padded(other).origin_shape == padded(t).origin_shape
    assert pickle.loads(pickle.dumps(MakeTensor)) is MakeTensor
    assert pickle.loads(pickle.dumps(recast)) is recast


def test_xla_layouts_that_are_composed():
    """A tile that does not divide the tile before it: a ComposedLayout over coordinates."""
    layout = tla.xla.lower("f32[6,10]{1,0:T(3,5)(2,2)}")
    assert isinstance(layout, ComposedLayout)
    truth = oracle.xla_offsets((6, 10), (1, 0), ((3, 5), (2, 2)))
    t = MakeTensor(np.arange(256), layout)
    assert np.array_equal(np.asarray(t), truth)
    assert np.array_equal(np.asarray(t[3, _]), truth[3])
    assert np.array_equal(np.asarray(t[_, 7]), truth[:, 7])
    assert np.array_equal(np.asarray(GetTile(t, (1, 3), (4, 9))), truth[1:5, 3:])
    assert np.array_equal(np.asarray(transpose(t)), truth.T)
    tla.fill(GetTile(t, (1, 3), (4, 9)), -1)
    assert np.array_equal(np.asarray(t) == -1, np.isin(truth, truth[1:5, 3:]))


def test_nested_axes_are_the_integers_of_the_shape():
    t = MakeTensor(np.arange(7 * 16 * 4 * 16), tla.MakeLayout[16, tla.ascend.zN](100, 60))
    assert padded(t).numpy(nested=True).shape == (7, 16, 4, 16)
    assert GetTile(t, (32, 16), (32, 32)).numpy(nested=True).shape == (2, 16, 2, 16)
    assert np.array_equal(
        GetTile(t, (32, 16), (32, 32)).numpy(nested=True).reshape(32, 32), np.asarray(t)[32:64, 16:48]
    )
    zero = MakeTensor(np.zeros(0), parse("((0,2),2):((1,1),1)"))
    assert zero.numpy(nested=True).shape == (0, 0, 2)


def test_a_slice_past_the_end_of_a_threads_part_is_empty():
    """sgemm_1 over a tail: the last tile along K has nothing for some threads, and their copy under a
    predicate passes it by."""
    m, k = 37, 13
    a, seen = np.arange(1.0, m * k + 1).reshape(k, m), np.zeros((k, m))
    source, target, places = (
        tla.local_tile(t, (32, 8), (1, tla._))
        for t in (
            tla.make_tensor(a, (m, k), (1, m)),
            tla.make_tensor(seen, (m, k), (1, m)),
            tla.make_identity_tensor((m, k)),
        )
    )
    for thread, tile in np.ndindex(64, 2):
        here, there, coords = (
            tla.local_partition(t, tla.make_layout((8, 8)), int(thread))[tla._, tla._, int(tile)]
            for t in (source, target, places)
        )
        tla.copy_if(tla.elem_less(coords, (m, k)), here, there)
    assert np.array_equal(seen[:, 32:], a[:, 32:])
    assert not seen[:, :32].any()
    padded = MakeTensor(np.zeros(32), MakeLayout((4, 8), tla.LayoutRight, (3, 8)))
    assert np.asarray(padded[3, tla._]).size == 0
    for read in (lambda: padded[3, tla._][0], lambda: padded[4, tla._], lambda: padded[-1, tla._]):
        with pytest.raises(tla.RangeError):
            read()


@pytest.mark.parametrize(("name", "instead"), [("originShape", "origin_shape"), ("tensor", "t.data"), ("dat", "")])
def test_names_of_others_are_told(name, instead):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{instead}"):
        getattr(MakeTensor(None, parse("4:1")), name)
