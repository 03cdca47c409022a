"""The algebra on tensors: every element is where numpy, and a walk over coordinates, have it; what is past the
end is refused."""

import itertools
import random

import numpy as np
import pytest

import tla
from tla import GetTile, MakeTensor, TlaError, _, parse
from tla.tensors import guard, tensor

from night import amount
from truth import rows


def cells(shape):
    """Every natural coordinate of a shape, first mode fastest."""
    if isinstance(shape, tuple):
        return [c[::-1] for c in itertools.product(*map(cells, shape[::-1]))]
    return range(int(shape))


def elements(t):
    """What each coordinate of t holds: its element, None for one that is refused."""
    out = []
    for c in cells(t.shape):
        try:
            out.append(t[c if isinstance(c, tuple) else (c,)])
        except tla.RangeError:
            out.append(None)
    return out


def tiles_of(array, tile):
    """The elements of an array cut into tiles, tile by tile, each first mode fastest; None past the end."""
    counts = [-(-n // m) for n, m in zip(array.shape, tile)]
    out = []
    for rest in cells(tuple(counts)):
        for c in cells(tuple(tile)):
            at = tuple(r * m + i for r, m, i in zip(rest, tile, c))
            out.append(array[at] if all(i < n for i, n in zip(at, array.shape)) else None)
    return out


CASES = [((5, 8), (2, 4)), ((5, 7), (2, 3)), ((8, 6), (4, 2)), ((3, 4), (4, 4)), ((7,), (3,)), ((3, 5, 2), (2, 2, 2))]


@pytest.mark.parametrize(("shape", "tile"), CASES)
@pytest.mark.parametrize("offset", [0, 3])
def test_divides_hold_every_element_and_refuse_the_rest(shape, tile, offset):
    array = np.arange(offset + np.prod(shape))[offset:].reshape(shape)
    whole = MakeTensor(np.arange(offset + np.prod(shape)), tla.MakeLayout(shape, tla.LayoutRight), offset=offset)
    for divide in (tla.zipped_divide, tla.tiled_divide, tla.flat_divide):
        assert elements(divide(whole, tile)) == tiles_of(array, tile)
    cut = tla.zipped_divide(whole, tile)
    assert cut.origin_shape is None or all(n % m == 0 for n, m in zip(shape, tile))
    for rest in cells(cut.shape[1]):
        part = cut[(_,) * len(tile), rest]
        lows = [r * m for r, m in zip(rest, tile)]
        dense = array[tuple(slice(lo, lo + m) for lo, m in zip(lows, tile))]
        assert part.origin_shape == dense.shape
        assert np.array_equal(np.asarray(part), dense)
        assert np.array_equal(part, tla.local_tile(whole, tile, rest))
    crd = tla.zipped_divide(MakeTensor(None, tla.MakeIdentityLayout(shape)), tile)
    for c, value in zip(cells(cut.shape), elements(cut)):  # what a predicate says is what is refused
        assert bool(tla.elem_less(crd[c], shape)) == (value is not None)


def test_random_views_of_views():
    rng = random.Random(5)
    for _try in range(amount(60, 600)):
        shape = tuple(rng.randrange(1, 8) for _m in range(2))
        whole = MakeTensor(
            np.arange(100),
            tla.MakeLayout(shape, rng.choice([tla.LayoutLeft, tla.LayoutRight])),
            offset=rng.randrange(9),
        )
        start = tuple(rng.randrange(n) for n in shape)
        t = GetTile(whole, start, tuple(rng.randrange(1, 5) for _m in range(2)))
        array = np.asarray(t)
        if array.size == 0:
            continue
        tile = tuple(rng.randrange(1, 4) for _m in range(2))
        cut = tla.zipped_divide(t, tile)
        want = tiles_of(array, tile)
        got = elements(cut)
        known = [x for x in got if x is not None]
        assert sorted(known) == sorted(x for x in want if x is not None)
        flat = tla.composition(cut, tla.MakeLayout((tla.size[0](cut), tla.size[1](cut))))
        assert elements(flat) == got
        assert elements(tla.group[0, 2](cut)) == got
        n = int(tla.size[0](cut))
        for j in range(int(tla.size[1](cut))):
            assert list(elements(cut[_, j])) == got[j * n : j * n + n]
        for i in range(n):
            assert elements(tla.coalesce(cut[i, _])) == got[i::n]
        assert sorted(x for x in elements(tla.select[1, 0](cut)) if x is not None) == sorted(known)


def test_the_start_is_kept():
    """An error of today's suggested t.layout, which loses it: element 0 for 36."""
    t = MakeTensor(np.arange(40), parse("(5,8):(8,1)"))
    tile = GetTile(t, (4, 4), (1, 4))
    assert tla.composition(tile, parse("2:3"))[1] == 39
    assert tla.get[1](tile)[2] == 38
    assert tla.coalesce(tile)[3] == 39
    assert tla.flat_divide(tile, (1, 2))[0, 1, 0, 1] == 39


def test_of_a_thread_value_layout():
    """CuTe's documentation, 03_tensor.md: 8 threads of 4 values over a row-major 4 x 8."""
    a = MakeTensor(np.arange(32), parse("(_4,_8):(_8,_1)"))
    tv = tla.composition(a, parse("((_2,_4),(_2,_2)):((_8,_1),(_4,_16))"))
    coords = [(t % 2 * 8 + t // 2 + v % 2 * 4 + v // 2 * 16) for t in range(8) for v in range(4)]
    assert [tv(t, v) for t in range(8) for v in range(4)] == [i % 4 * 8 + i // 4 for i in coords]
    assert elements(tv(5, _)) == [tv(5, v) for v in range(4)]


def test_size_and_the_like_are_the_layouts():
    t = MakeTensor(np.arange(40), parse("((_5,_2),_4):((_1,_20),_5)"))
    assert (tla.size(t), tla.size[0](t), tla.rank(t), tla.rank[0](t), tla.depth(t)) == (40, 10, 2, 2, 2)
    assert str(tla.shape[0, 1](t)) == "_2"
    assert str(tla.stride(t)) == "((_1,_20),_5)"
    assert elements(tla.get[1](t)) == [0, 5, 10, 15]
    assert elements(tla.get[0, 1](t)) == [0, 20]
    with pytest.raises(tla.RankError, match="mode 2 of"):
        tla.get[2](t)


def test_one_integer_counts_first_mode_fastest():
    t = MakeTensor(np.arange(12), parse("(3,4):(4,1)"))
    assert [t[i] for i in range(12)] == [t[i % 3, i // 3] for i in range(12)]
    t[5] = 99
    assert t(2, 1) == 99
    assert np.array_equal(t[:], t[_, _])
    assert np.array_equal(t[None, 2], t[_, 2])
    with pytest.raises(tla.RangeError):
        t[12]


def test_predicates_of_stride_0_are_written():
    pred = MakeTensor(np.zeros(4, bool), parse("(4,8):(1,0)"))
    for m in range(4):
        pred[m, 0] = m < 3
    assert np.asarray(pred).sum() == 24
    with pytest.raises(tla.InjectivityError):
        MakeTensor(np.zeros(9), parse("(4,3):(1,2)"))[0, 0] = 1
    with pytest.raises(tla.InjectivityError):
        tla.copy(np.zeros((4, 8), bool), pred)


def test_what_is_no_box_is_refused_with_the_way():
    cut = tla.zipped_divide(MakeTensor(np.arange(40), parse("(5,8):(8,1)")), (2, 4))
    for f in (
        np.asarray,
        tla.padded,
        lambda t: tla.fill(t, 0),
        lambda t: tla.copy(t, np.zeros((8, 6))),
        lambda t: GetTile(t, (0, 0), (1, 1)),
    ):
        with pytest.raises(TlaError, match="no box of its modes") as caught:
            f(cut)
        assert "copy_if" in caught.value.reason.fix


def test_every_view_of_a_guarded_tensor_guards_or_refuses():
    cut = tla.zipped_divide(MakeTensor(np.arange(40), parse("(5,8):(8,1)")), (2, 4))
    refused = (
        lambda: tla.recast[np.int32](cut),
        lambda: tla.MakeTensorLike(cut),
        lambda: tla.im2col(cut, 1),
        lambda: tla.reduce(cut, np.zeros(8, int), 1),
        lambda: cut.numpy(),
        lambda: tla.codegen.emit_copy(cut, cut),
    )
    for f in refused:
        with pytest.raises(TlaError, match=r"no box of its modes|several strides"):
            f()
    for view in (tla.transpose(cut), tla.select[1, 0](cut)):
        with pytest.raises(tla.RangeError, match=r"is \(5,4\) in the whole"):
            view[(2, 1), (1, 0)]
        assert view[(2, 1), (0, 3)] == 39


def test_symbolic_sizes():
    m = tla.dim("M", multiple_of=4, at_least=1)
    cut = tla.zipped_divide(MakeTensor(None, tla.Layout((m, 8), (8, tla.Int[1]()))), (4, 4))
    assert str(cut.layout) == "((4,4),(M//4,2)):((8,_1),(32,4))"
    i = tla.dim("i", at_least=0)
    assert cut[(1, 2), (i, 1)] == 32 * i + 14
    crd = tla.local_tile(MakeTensor(None, tla.MakeIdentityLayout((m, 8))), (4, 4), (i, 1))
    assert crd[3, 2] == (4 * i + 3, 6)
    assert tla.elem_less(crd[3, 2], (m, 8)) is None


@pytest.mark.parametrize(("shape", "tile"), [((41, 55), (4, 8)), ((5, 7), (2, 3)), ((8, 6), (4, 2)), ((1000,), (128,))])
def test_copy_if_with_cutes_predicates(shape, tile):
    """CuTe's documentation, 0y_predication.md: tiles that do not fit, copied under the predicate of
    an identity tensor."""
    array = np.arange(int(np.prod(shape))).reshape(shape)
    data, places = MakeTensor(array), tla.make_identity_tensor(shape)
    tiles, where = tla.zipped_divide(data, tile), tla.zipped_divide(places, tile)
    n = int(tla.size[0](tiles))
    out = np.full((n, int(tla.size[1](tiles))), -1)
    for j in range(out.shape[1]):
        predicate = tla.elem_less(where[_, j], shape)
        tla.copy_if(predicate, tiles[_, j], out[:, j])
    want = [-1 if x is None else x for x in tiles_of(array, tile)]
    assert out.ravel(order="F").tolist() == want
    back = MakeTensor(np.zeros_like(array))
    tla.copy_if(tla.elem_less(where, shape), out, tla.zipped_divide(back, tile))
    assert np.array_equal(back, array)
    if -1 in want:
        with pytest.raises(tla.RangeError, match="past the end"):
            tla.copy_if(np.ones(out.shape, bool), tiles, out)


def test_copy_if_refuses():
    t = MakeTensor(np.arange(6), parse("(2,3):(3,1)"))
    with pytest.raises(tla.RankError, match=r"6 elements of .* and 4 of"):
        tla.copy_if(np.ones(6, bool), t, np.zeros(4, int))
    with pytest.raises(tla.LeafTypeError, match="tensor of coordinates"):
        tla.elem_less(t, (2, 3))
    with pytest.raises(tla.LeafTypeError):
        tla.copy_if(np.ones(6, bool), t, np.zeros(6, np.int8))
    broadcast = MakeTensor(np.array([True, False]), parse("(2,3):(1,0)"))
    out = np.zeros((2, 3), int)
    tla.copy_if(broadcast, t, out)
    assert out.tolist() == [[0, 1, 2], [0, 0, 0]]


def test_lexicographic_orders():
    small = [c for n in range(3) for c in itertools.product(range(3), repeat=n)] + [
        (1, (0, 2)),
        (1, (0, 1)),
        (2, (0, 0)),
    ]
    flat = [c for c in small if not any(isinstance(x, tuple) for x in c)]
    for a, b in itertools.product(flat, flat):
        assert tla.lex_less(a, b) == (a < b)
        assert tla.colex_less(a, b) == (a[::-1] < b[::-1])
        assert tla.lex_leq(a, b) == (a <= b)
        assert tla.colex_leq(a, b) == (a[::-1] <= b[::-1])
        assert (tla.lex_gtr(a, b), tla.lex_geq(a, b)) == (a > b, a >= b)
        assert (tla.colex_gtr(a, b), tla.colex_geq(a, b)) == (a[::-1] > b[::-1], a[::-1] >= b[::-1])
    for row in rows("cute/tensors.json"):
        if row["op"] != "make_fragment_like":
            assert str(getattr(tla, row["op"])(*map(parse, row["args"]))).lower() == row["result"].lstrip("_"), row
    m = tla.dim("M", at_least=4)
    assert (tla.lex_less((3, m), (m, 0)), tla.lex_less((4, 1), (m, 0)), tla.colex_less((9, 3), (0, m))) == (
        True,
        None,
        True,
    )
    with pytest.raises(tla.RankError):
        tla.lex_less(1, (1, 2))


def test_lexicographic_orders_of_sizes_that_are_not_known():
    """True, False or None: what holds for all values, for none, or for some. Each mode has a size of its own."""
    i, j = tla.index("i", 2), tla.index("j", 2)
    pairs = [*itertools.product((0, 1, i, i + 1), (0, 1, j))]
    at = {x: [[int(tla.at(n, {"i": u, "j": v})) for n in x] for u in range(2) for v in range(2)] for x in pairs}
    orders = {
        tla.lex_less: lambda x, y: x < y,
        tla.lex_leq: lambda x, y: x <= y,
        tla.colex_less: lambda x, y: x[::-1] < y[::-1],
        tla.colex_leq: lambda x, y: x[::-1] <= y[::-1],
    }
    for (a, b), (f, holds) in itertools.product(itertools.product(pairs, pairs), orders.items()):
        answers = set(map(holds, at[a], at[b]))
        assert f(a, b) is (answers.pop() if len(answers) == 1 else None), (f.__name__, a, b)


@pytest.mark.parametrize(("view", "apart"), [
    (lambda t: tla.composition(t, parse("4:2")), True),
    (lambda t: tla.composition(t, parse("4:0")), False),
    (lambda t: tla.composition(t, parse("(2,4):(0,1)")), False),
    (lambda t: tla.composition(tla.composition(t, parse("4:0")), parse("1:1")), True),
    (lambda t: tla.zipped_divide(t, 2), True),
    (lambda t: tla.coalesce(t), True),
    (lambda t: tla.zipped_divide(tla.composition(t, parse("8:0")), 2), False),
], ids=range(7))  # fmt: skip
def test_a_view_is_written_where_its_elements_are_apart(view, apart):
    """A composition may have an element several times, which no other view of elements that are apart has."""
    t = view(MakeTensor(np.zeros(8)))
    assert t.numpy().flags.writeable is apart if len(t.coord) == 1 else True
    if apart:
        tla.copy(np.ones([*map(int, t.origin_shape)]), t)
        assert t.data.sum() == tla.size(t)
    else:
        with pytest.raises(tla.InjectivityError):
            tla.copy(np.ones([*map(int, t.origin_shape)]), t)


@pytest.mark.parametrize(
    ("n", "text"), [(1, "[3]"), (8, "[3 4 5 6 7 8 9 10]"), (9, "[3 4 5 ... 11]"), (32, "[3 4 5 ... 34]")]
)
def test_starts_of_threads_are_told_up_to_eight(n, text):
    layout = parse("2:1")
    for start, told in ((np.arange(3, n + 3), text), ((np.arange(3, n + 3), 7), f"({text},7)")):
        t = tensor.tensor_of(None, None, start, layout, (0,), guard.whole(layout.shape))
        assert repr(t) == f"Tensor(None at {told}, 2:1)"


def test_steps_back_past_the_first_element_do_not_wrap():
    """A composition with steps below 0: its elements are those of the whole where there is one, and refused elsewhere,
    on both sides."""
    t, seen = MakeTensor(np.arange(100, 108)), 0
    for shape in itertools.product(range(1, 4), repeat=2):
        for stride in itertools.product((-4, -1, 0, 1, 3), repeat=2):
            b = tla.Layout(shape, stride)
            try:
                tla.composition(parse("8:1"), b)
            except TlaError:
                continue
            view = tla.composition(t, b)
            inside = [0 <= b(c) < 8 for c in np.ndindex(shape)]
            seen += not all(inside)
            assert (view.origin_shape is None or view.origin_shape != view.shape) == (not all(inside))
            for c, valid in zip(np.ndindex(shape), inside):
                if valid:
                    assert view[c] == 100 + b(c)
                else:
                    with pytest.raises(tla.RangeError):
                        view[c]
    assert seen > 50


def test_a_row_that_may_be_padding_has_no_extents():
    """Row 3 of a tensor of which M rows are valid: whether it is one of them decides what is valid of a part of it."""
    for m, extents in (
        (tla.dim("M", at_most=8), None),
        (tla.dim("M", at_least=4, at_most=8), (4,)),
        (3, (0,)),
        (4, (4,)),
    ):
        t = MakeTensor(None, tla.Layout((8, 8), (8, 1), (m, 8)))
        view = tla.zipped_divide(t, (2, 4))[(1, _), (1, 1)]
        assert view.origin_shape == extents
        assert view.shape == (4,)
    tiles = tla.zipped_divide(MakeTensor(None, tla.Layout((2 * tla.dim("K"), 8), (8, 1), (3, 6))), (2, 4))
    assert [tiles[(i, _), (j, 1)].origin_shape for i, j in ((0, 0), (0, 1))] == [
        (2,),
        None,
    ]  # row 2 is valid, but is it the layout's own?


def test_steps_across_the_rows_of_a_tail_are_guarded():
    """Every third element of four rows, of which three are valid: no layout of coordinates has these places."""
    t = MakeTensor(np.arange(16), parse("(_4,_4):(_1,_4)", origin_shape=(3, 4)))
    view = tla.composition(tla.coalesce(t), parse("_5:_3"))
    assert view.origin_shape is None
    assert [view[i] for i in (0, 2, 3, 4)] == [0, 6, 9, 12]
    with pytest.raises(tla.RangeError, match=r"is \(3,0\) in the whole, of which \(3,4\) are valid"):
        view[1]


def test_domain_offset():
    t = MakeTensor(np.arange(48), parse("((2,4),6):((1,12),2)"))
    for start in itertools.product(range(8), range(6)):
        moved = tla.domain_offset(start, t)
        assert np.array_equal(moved, np.asarray(t)[start[0] :, start[1] :])
    assert tla.domain_offset((5, 7), tla.make_identity_tensor((8, 8)))[7, 7] == (12, 14)


def test_reduce_along_a_nested_mode():
    t = MakeTensor(np.arange(24), parse("((2,3),4):((1,8),2)"))
    dense = np.array([[[t[(i, j), k] for k in range(4)] for j in range(3)] for i in range(2)])
    for modes, want in (
        (((0, 0),), dense.sum(0)),
        (((0, 1),), dense.sum(1)),
        (((0, 1), 1), dense.sum((1, 2))),
        (((0, 0), (0, 1)), dense.sum((0, 1))),
    ):
        out = np.zeros(want.shape, int)
        tla.reduce(t, out, modes)
        assert np.array_equal(out, want)
    with pytest.raises(tla.RankError, match="mode j of mode i"):
        tla.reduce(t, np.zeros(4, int), ((1, 0),))
    with pytest.raises(TlaError):
        tla.reduce(GetTile(t, (0, 0), (5, 4)), np.zeros((3, 4), int), ((0, 0),))


def test_what_is_a_property_says_so():
    t = MakeTensor(np.arange(6), parse("(2,3):(3,1)"))
    for call in (lambda: t.shape(), lambda: t.stride(), lambda: t.layout()):
        with pytest.raises(TlaError) as caught:
            call()
        assert "t.layout" in caught.value.reason.fix or "t.shape" in caught.value.reason.fix
    assert t(1, 2) == 5


def test_gemm_says_which_of_the_two_it_is():
    with pytest.raises(tla.RankError, match=r"B as \(n,k\)") as caught:
        tla.gemm(np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((2, 4)))
    assert "transpose(b)" in caught.value.reason.fix
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3), np.ones((2, 4))
    tla.gemm(a, tla.transpose(b), c, accumulate=True)
    assert np.array_equal(c, 1 + a @ b.T)


def test_constants_in_brackets():
    assert tla.is_constant[4](tla.Int[4]())
    assert not tla.is_constant[4](4)


def test_alignment_of_a_tensor_is_of_its_start_too():
    data = np.arange(64)
    whole = MakeTensor(data, parse("(_8,_4):(_1,_16)"))
    assert str(tla.max_alignment(whole)) == "_8"
    for start in range(8):
        tile = tla.domain_offset((tla.Int[start](), tla.Int[0]()), whole)
        n = int(tla.max_alignment(tile))
        assert n == np.gcd(8, start)
    assert str(tla.max_alignment(tla.local_tile(whole, (tla.Int[4](), tla.Int[4]()), (1, 0)))) == "_4"


def test_nested_coordinates_count_from_the_start_of_a_tile():
    whole = MakeTensor(np.arange(64), parse("((4,2),8):((1,4),8)"))
    tile = GetTile(whole, (4, 2), (4, 4))
    for i, j in itertools.product(range(4), range(4)):
        assert tile[(i, 0), j] == whole[4 + i, 2 + j]


@pytest.mark.parametrize(
    "c", [(-1, 0), (-1, 1), (0, -1), (0, 4), (1, 0), (0,), (0, 0, 0), (), ((0, 0), 0), (_, 0), (0, _)]
)
def test_nested_coordinates_of_tiles_are_in_their_modes(c):
    t = MakeTensor(np.arange(64), parse("((2,4),8):((1,2),8)"))
    with pytest.raises(TlaError, match=r"of a mode of \(1,4\)\n +expected  a coordinate in it, nested alike"):
        tla.local_tile(t, (2, 2), (c, 0))
    for place in range(4):
        assert np.array_equal(tla.local_tile(t, (2, 2), ((0, place), 1)), tla.local_tile(t, (2, 2), (place, 1)))
