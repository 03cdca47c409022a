"""The code of CuTe's documentation (CUTLASS, media/docs/cpp/cute), said here, with what it states; more of it is in
docs/cute.md."""

import numpy as np
import pytest

import tla
from tla import (
    E,
    LayoutLeft,
    LayoutRight,
    _,
    append,
    compatible,
    complement,
    composition,
    copy_if,
    crd2idx,
    elem_less,
    flatten,
    get,
    group,
    idx2crd,
    inner_partition,
    local_partition,
    local_tile,
    logical_divide,
    make_coord,
    make_identity_tensor,
    make_inttuple_iter,
    make_layout,
    make_shape,
    make_stride,
    make_tensor,
    make_tensor_like,
    make_tile,
    outer_partition,
    parse,
    prepend,
    replace,
    select,
    size,
    take,
    zipped_divide,
)

_1, _2, _3, _4, _5, _6, _7, _8, _12, _16 = (tla.Int[n]() for n in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16))


def test_01_constructing_a_layout():
    s2xh4 = make_layout(make_shape(2, make_shape(2, 2)), make_stride(4, make_stride(2, 1)))
    stated = {
        "_8:_1": make_layout(_8),
        "8:_1": make_layout(8),
        "(_2,_4):(_1,_2)": make_layout(make_shape(_2, _4)),
        "(_2,4):(_12,_1)": make_layout(make_shape(_2, 4), make_stride(_12, _1)),
        "(_2,4):(_1,_2)": make_layout(make_shape(_2, 4), LayoutLeft),
        "(_2,4):(4,_1)": make_layout(make_shape(_2, 4), LayoutRight),
        "(2,(2,2)):(4,(2,1))": s2xh4,
        "(2,(2,2)):(_1,(2,4))": make_layout(tla.shape(s2xh4), LayoutLeft),
    }
    assert [str(x) for x in stated.values()] == [*stated]
    assert [[s2xh4(m, n) for n in range(4)] for m in range(2)] == [[0, 2, 1, 3], [4, 6, 5, 7]]
    assert [s2xh4(i) for i in range(8)] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [parse("((4,2)):((2,1))")(i) for i in range(8)] == [0, 2, 4, 6, 1, 3, 5, 7]


def test_01_using_a_layout():
    """print2D and print1D of the page, and its vectors and matrices."""
    two_d = {
        "(_2,_4):(_1,_2)": [[0, 2, 4, 6], [1, 3, 5, 7]],
        "(_2,4):(_12,_1)": [[0, 1, 2, 3], [12, 13, 14, 15]],
        "(2,(2,2)):(_1,(2,4))": [[0, 2, 4, 6], [1, 3, 5, 7]],
        "(2,(2,2)):(4,(2,1))": [[0, 2, 1, 3], [4, 6, 5, 7]],
        "(4,2):(1,4)": [[0, 4], [1, 5], [2, 6], [3, 7]],
        "(4,2):(2,1)": [[0, 1], [2, 3], [4, 5], [6, 7]],
        "((2,2),2):((4,1),2)": [[0, 2], [4, 6], [1, 3], [5, 7]],
        "(3,(2,3)):(3,(12,1))": [[0, 12, 1, 13, 2, 14], [3, 15, 4, 16, 5, 17], [6, 18, 7, 19, 8, 20]],
    }
    for text, rows in two_d.items():
        layout = parse(text)
        assert [[layout(m, n) for n in range(size[1](layout))] for m in range(size[0](layout))] == rows
        assert [layout(i) for i in range(size(layout))] == [x for column in zip(*rows) for x in column]
    one_d = {
        "8:1": [*range(8)],
        "8:2": [*range(0, 16, 2)],
        "((4,2)):((2,1))": [0, 2, 4, 6, 1, 3, 5, 7],
        "((4,2)):((1,4))": [*range(8)],
    }
    assert {text: [parse(text)(i) for i in range(8)] for text in one_d} == one_d


def test_01_print_layout(capsys):
    tla.print_layout(parse("(2,(2,2)):(4,(2,1))"))
    assert capsys.readouterr().out.splitlines() == [
        "(2,(2,2)):(4,(2,1))",
        "      0   1   2   3",
        "    +---+---+---+---+",
        " 0  | 0 | 2 | 1 | 3 |",
        "    +---+---+---+---+",
        " 1  | 4 | 6 | 5 | 7 |",
        "    +---+---+---+---+",
    ]


def test_01_compatibility():
    yes = [
        (24, (4, 6)),
        ((4, 6), ((2, 2), 6)),
        (((2, 2), 6), ((2, 2), (3, 2))),
        (24, ((2, 2), (3, 2))),
        (24, ((2, 3), 4)),
        (24, (24,)),
    ]
    no = [(24, 32), (((2, 3), 4), ((2, 2), (3, 2))), (((2, 2), (3, 2)), ((2, 3), 4)), ((24,), 24), ((24,), (4, 6))]
    assert all(compatible(a, b) is True for a, b in yes)
    assert all(compatible(a, b) is False for a, b in no)


def test_01_coordinates():
    shape, stride = parse("(_3,(_2,_3))"), parse("(_3,(_12,_1))")
    stated = [
        (16, "(1,(1,2))"),
        (_16, "(_1,(_1,_2))"),
        (make_coord(1, 5), "(1,(1,2))"),
        (make_coord(_1, 5), "(_1,(1,2))"),
        (make_coord(1, make_coord(1, 2)), "(1,(1,2))"),
        (make_coord(_1, make_coord(1, _2)), "(_1,(1,_2))"),
    ]
    assert [str(idx2crd(c, shape)) for c, _text in stated] == [text for _c, text in stated]
    for i in range(18):  # the page's table: 1-D, 2-D, natural
        two_d, natural = (i % 3, i // 3), (i % 3, (i // 3 % 2, i // 6))
        assert idx2crd(i, shape) == idx2crd(two_d, shape) == idx2crd(natural, shape) == natural
    indices = [
        16,
        _16,
        make_coord(1, 5),
        make_coord(_1, 5),
        make_coord(_1, _5),
        make_coord(1, make_coord(1, 2)),
        make_coord(_1, make_coord(_1, _2)),
    ]
    assert [str(crd2idx(c, shape, stride)) for c in indices] == ["17", "_17", "17", "17", "_17", "17", "_17"]


def test_01_manipulation():
    a = make_layout(parse("(_4,(_3,_6))"))
    assert [str(get[p](a)) for p in (0, 1, (1, 0), (1, 1))] == ["_4:_1", "(_3,_6):(_4,_12)", "_3:_4", "_6:_12"]
    a = make_layout(parse("(_2,_3,_5,_7)"))
    found = [select[1, 3](a), select[0, 1, 3](a), select[2](a), take[1, 3](a), take[1, 4](a)]
    assert list(map(str, found)) == [
        "(_3,_7):(_2,_30)", "(_2,_3,_7):(_1,_2,_30)", "(_5):(_6)", "(_3,_5):(_2,_6)", "(_3,_5,_7):(_2,_6,_30)",
    ]  # fmt: skip
    b = group[0, 2](a)
    c = group[1, 3](b)
    assert [str(x) for x in (b, c, flatten(b), flatten(c))] == [
        "((_2,_3),_5,_7):((_1,_2),_6,_30)", "((_2,_3),(_5,_7)):((_1,_2),(_6,_30))", str(a), str(a),
    ]  # fmt: skip
    a, b = parse("_3:_1"), parse("_4:_3")
    row, col, aa = make_layout(a, b), make_layout(b, a), make_layout(a)
    ab = append(a, b)
    joined = [
        row,
        col,
        make_layout(row, col),
        aa,
        make_layout(aa),
        make_layout(a, aa, a),
        ab,
        prepend(a, b),
        append(ab, ab),
        replace[2](append(ab, ab), b),
    ]
    assert list(map(str, joined)) == [
        "(_3,_4):(_1,_3)", "(_4,_3):(_3,_1)", "((_3,_4),(_4,_3)):((_1,_3),(_3,_1))", "(_3):(_1)", "((_3)):((_1))", "(_3,(_3),_3):(_1,(_1),_1)",
        "(_3,_4):(_1,_3)", "(_4,_3):(_3,_1)", "(_3,_4,(_3,_4)):(_1,_3,(_1,_3))", "(_3,_4,_4):(_1,_3,_3)",
    ]  # fmt: skip


def test_02_algebra():
    a = make_layout(make_shape(12, make_shape(4, 8)), make_stride(59, make_stride(13, 1)))
    tiler = make_tile(parse("_3:_4"), parse("_8:_2"))
    # C++ prints (_3,(2,4)):(236,(26,1)): dynamic modes stay as they are, the map is the same
    assert tla.same_map(composition(a, tiler), parse("(3,(2,4)):(236,(26,1))")) is True
    assert composition(a, tiler) == make_layout(*(composition(get[i](a), t) for i, t in enumerate(tiler)))
    assert tla.same_map(composition(a, make_shape(_3, _8)), parse("(3,(4,2)):(59,(13,1))")) is True
    a, b = make_layout(make_shape(10, 2), make_stride(16, 4)), make_layout(make_shape(5, 4), make_stride(1, 5))
    assert str(composition(a, b)) == "((5,1),(2,2)):((16,4),(80,4))"
    for layout, n, want in (("_4:_1", 24, "_6:_4"), ("_6:_4", 24, "_4:_1"), ("(_4,_6):(_1,_4)", 24, "_1:_0"), ("_4:_2", 24, "(_2,_3):(_1,_8)"),
                            ("(_2,_4):(_1,_6)", 24, "_3:_2"), ("(_2,_2):(_1,_6)", 24, "(_3,_2):(_2,_12)")):  # fmt: skip
        assert str(complement(parse(layout), tla.Int[n]())) == want


def test_02_composition_step_by_step():
    """The page's worked steps: R = A o B element by element, and (3,6,2,8):(w,x,y,z) o 16:9."""
    a, b = parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)")
    r = composition(a, b)
    assert [r(i) for i in range(12)] == [0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]
    assert (str(r), compatible(b.shape, r.shape)) == ("((_2,_2),_3):((_24,_2),_8)", True)
    strides = tla.dims("w x y z")
    found = composition(make_layout(parse("(_3,_6,_2,_8)"), strides), parse("_16:_9"))
    assert str(found) == "(_2,_2,_4):(3*x,y,z)"  # the page's mode of extent 1 is coalesced


def test_02_divides_and_products():
    a, tiler = (
        make_layout(parse("(_9,(_4,_8))"), parse("(_59,(_13,_1))")),
        make_tile(parse("_3:_3"), parse("(_2,_4):(_1,_8)")),
    )
    zd, ld = zipped_divide(a, tiler), logical_divide(a, tiler)
    assert get[0](zd) == composition(a, tiler) == make_layout(get[0, 0](ld), get[1, 0](ld))
    shapes = [tuple(map(size, get[i](x.shape))) for x in (ld, zd) for i in (0, 1)]
    assert shapes == [(3, 3), (8, 4), (3, 8), (3, 4)]
    assert [zd(0, 3), zd(0, 7)] == [zd(0, make_coord(0, 1)), zd(0, make_coord(1, 2))]
    assert str(logical_divide(parse("(_4,_2,_3):(_2,_1,_8)"), parse("_4:_2"))) == "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))"
    tile = parse("(_2,_2):(_4,_1)")
    assert str(tla.logical_product(tile, parse("_6:_1"))) == "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))"
    eight = tla.logical_product(tile, parse("(_4,_2):(_2,_1)"))
    assert (compatible(tile.shape, get[0](eight).shape), compatible(parse("(_4,_2)"), get[1](eight).shape)) == (
        True,
        True,
    )
    assert sorted(eight(i) for i in range(32)) == [*range(32)]
    block, tiles = parse("(_2,_5):(_5,_1)"), parse("(_3,_4):(_1,_3)")
    blocked, raked = tla.blocked_product(block, tiles), tla.raked_product(block, tiles)
    for i, j, p, q in np.ndindex(2, 5, 3, 4):
        at = block(i, j) + 10 * tiles(p, q)
        assert blocked(i + 2 * p, j + 5 * q) == raked(p + 3 * i, q + 4 * j) == at


def test_03_prints_of_tensors(capsys):
    """The layouts that the page prints of its tensors, and print's own line, which parse reads."""
    data = np.zeros(1024, np.float32)
    stated = {
        "_8:_1": (make_layout(_8),),
        "8:2": (8, 2),
        "8:_1": (8,),
        "(_8,16):(_1,_8)": (make_shape(_8, 16),),
        "(8,_16):(_16,_1)": (make_shape(8, _16), make_stride(_16, _1)),
        "(_4,_8):(_1,_4)": (make_layout(make_shape(_4, _8)),),
        "(_4,_8):(_8,_1)": (make_shape(_4, _8), LayoutRight),
    }
    for text, layout in stated.items():
        t = make_tensor(data, *layout)
        assert str(t.layout) == text
        tla.print_tensor(t)
        first = capsys.readouterr().out.splitlines()[0]
        assert first == f"ptr[32b]({data.ctypes.data:#x}) o {text}:"
        assert str(parse(first)) == text
    padded = make_tensor[np.float32](parse("(_4,_8)"), parse("(_32,_2)"))
    assert [str(x.layout) for x in (padded, make_tensor_like(padded))] == ["(_4,_8):(_32,_2)", "(_4,_8):(_8,_1)"]


def test_03_thread_value_partition():
    tv_layout = parse("((_2,_4),(_2,_2)):((_8,_1),(_4,_16))")
    a = make_tensor[int](parse("(_4,_8)"), LayoutRight)
    for i in range(32):
        a[i] = i  # its 1-D coordinate
    tv = composition(a, tv_layout)
    assert tuple(map(size, tv.shape)) == (8, 4)
    found = [[tv(t, _)(v) for v in range(4)] for t in range(8)]
    assert found == [[8 * (t % 2) + t // 2 + 4 * (v % 2) + 16 * (v // 2) for v in range(4)] for t in range(8)]
    assert sorted(x for row in found for x in row) == [*range(32)]


def test_03_non_owning_and_owning_tensors():
    a = make_tensor[np.float32](parse("((_4,_5),_13):((_12,_1),_64)"))
    b = make_tensor(np.zeros(260, np.float32), make_shape(13, 20))
    for m0 in range(size[0, 0](a)):
        for m1 in range(size[0, 1](a)):
            for n in range(size[1](a)):
                a[make_coord(make_coord(m0, m1), n)] = n + 2 * m0
    for m in range(size[0](a)):
        for n in range(size[1](a)):
            b[n, m] = a(m, n)
    assert b(3, 6) == 3 + 2 * 2
    for i in range(size(a)):
        a[i] = b[i]
    assert a(7) == b(7)


def test_03_slices():
    t = make_tensor(np.arange(1000), parse("((_3,2),(2,_5,_2)):((4,1),(_2,13,100))"))
    stated = {
        "((2,_5,_2)):((_2,13,100))": t(2, _),
        "((_3,2)):((4,1))": t(_, 5),
        "(_3,2):(4,1)": t(make_coord(_, _), 5),
        "(_3,_5):(4,13)": t(make_coord(_, 1), make_coord(0, _, 1)),
        "(2,2,_2):(1,_2,100)": t(make_coord(2, _), make_coord(_, 3, _)),
    }
    assert [str(x.layout) for x in stated.values()] == [*stated]
    c = stated["(_3,_5):(4,13)"]
    assert all(c(i, j) == t((i, 1), (0, j, 1)) for i in range(3) for j in range(5))


def test_03_inner_and_outer_partitions():
    a = make_tensor(np.arange(192), make_shape(8, 24))
    tiled = zipped_divide(a, make_shape(_4, _8))
    assert str(tiled.shape) == "((_4,_8),(2,3))"
    cta = tiled(make_coord(_, _), make_coord(1, 2))
    assert (str(cta.shape), cta(3, 1)) == ("(_4,_8)", a(7, 17))
    assert np.array_equal(cta, local_tile(a, (_4, _8), (1, 2)))
    thread = tiled(9, make_coord(_, _))
    assert (str(thread.shape), thread(1, 2)) == ("(2,3)", a(5, 18))
    assert np.array_equal(thread, local_partition(a, make_layout((4, 8)), 9))
    assert [inner_partition(a, (_4, _8), (1, 2)).layout, outer_partition(a, (_4, _8), 9).layout] == [
        cta.layout,
        thread.layout,
    ]
    assert np.array_equal(cta, inner_partition(a, (_4, _8), (1, 2)))
    assert np.array_equal(thread, outer_partition(a, (_4, _8), 9))
    assert np.array_equal(thread, outer_partition(a, (_4, _8), (1, 2)))


def test_03_copy_a_subtile():
    gmem = make_tensor(np.arange(384), make_shape(24, 16))
    for tiler in (make_tile(_8, _4), make_tile(parse("_8:_3"), parse("_4:_2"))):
        tiled = zipped_divide(gmem, tiler)
        rmem = make_tensor_like(tiled(_, 0))
        seen = []
        for j in range(size[1](tiled)):
            tla.copy(tiled(_, j), rmem)
            seen += np.asarray(rmem).ravel().tolist()
        assert sorted(seen) == list(range(384))


def test_04_algorithms():
    a, b = make_tensor(np.arange(12), make_shape(3, 4), LayoutRight), make_tensor(np.zeros(12, int), make_shape(3, 4))
    tla.copy(a, b)
    assert all(b(i) == a(i) for i in range(12))
    tla.fill(b, 7)
    assert set(b.data) == {7}


def test_0y_a_vector_in_tiles():
    gmem, smem = make_tensor(np.arange(1000), 1000), make_tensor(np.zeros(128, int), 128)
    gmem_tiled = logical_divide(gmem, size(smem))
    id_layout = make_layout(tla.shape(gmem))
    id_tiled = logical_divide(id_layout, size(smem))
    assert (str(id_tiled), str(gmem_tiled.shape)) == ("(128,8):(_1,128)", "(128,8)")
    pred = make_tensor[bool](tla.shape(id_tiled))
    for i in range(size(pred)):
        pred[i] = id_tiled(i) < size(id_layout)
    for tile in (0, 7):
        tla.fill(smem, -1)
        for value in range(128):
            if pred(value, tile):
                smem[value] = gmem_tiled(value, tile)
        assert smem.data.tolist() == [i if i < 1000 else -1 for i in range(128 * tile, 128 * tile + 128)]
    with pytest.raises(tla.RangeError, match=r"of which \(1000\) are valid"):
        gmem_tiled(127, 7)


@pytest.mark.parametrize("order", [LayoutLeft, LayoutRight])
def test_0y_loads_of_a_gemm(order):
    """m-predicates of A for every thread: stride 0 along k, filled from the coordinates, and used by copy_if."""
    m, k, bm, bk = 41, 24, 16, 8
    data = np.arange(m * k).reshape(m, k)
    a = make_tensor(np.ascontiguousarray(data.T if order is LayoutLeft else data).ravel(), make_shape(m, k), order)
    threads, step = parse("(_8,_4)"), (_1, _, _1)
    threads = make_layout(threads)
    for block in (0, 2):  # a whole one, and the tail
        where = make_coord(block, 0, _)
        tiles, places = (local_tile(t, (bm, 32, bk), where, step) for t in (a, make_identity_tensor((m, k))))
        assert str(places.shape) == str(tiles.shape) == "(16,8,3)"
        smem = make_tensor(np.full(bm * bk, -1), make_shape(bm, bk))
        for k_tile in range(3):
            for thread in range(32):
                mine, coords, out = (local_partition(t, threads, thread) for t in (tiles, places, smem))
                pred = make_tensor[bool](make_shape(size[0](coords), size[1](coords)), make_stride(_1, tla.Int[0]()))
                for i in range(size[0](pred)):
                    pred[i, 0] = elem_less(coords(i, 0, 0)[0], m)
                copy_if(pred, mine(_, _, k_tile), out)
            rows = data[block * bm : block * bm + bm, k_tile * bk : k_tile * bk + bk]
            assert np.array_equal(np.asarray(smem)[: len(rows)], rows)
            assert (np.asarray(smem)[len(rows) :] == -1).all()


def test_0z_print_tensor(capsys):
    """The page's tables, letter by letter; parse reads the layout of each."""
    counting = make_tensor(42, make_shape(4, 5))
    a, b = (
        make_tensor(make_inttuple_iter(0, 0), make_shape(4, 5), make_stride(*s)) for s in ((E[0], E[1]), (E[1], E[0]))
    )
    stated = {
        counting: "counting_iter(42) o (4,5):(_1,4):\n   42   46   50   54   58\n   43   47   51   55   59\n"
        "   44   48   52   56   60\n   45   49   53   57   61\n",
        a: "ArithTuple(0,0) o (4,5):(_1@0,_1@1):\n"
        + "".join("".join(f"  ({i},{j})" for j in range(5)) + "\n" for i in range(4)),
        b: "ArithTuple(0,0) o (4,5):(_1@1,_1@0):\n"
        + "".join("".join(f"  ({j},{i})" for j in range(5)) + "\n" for i in range(4)),
    }
    for t, text in stated.items():
        tla.print_tensor(t)
        assert capsys.readouterr().out == text
        assert [parse(text)(i) for i in range(20)] == [t(i) for i in range(20)]


def test_0z_tma_tensors():
    counting = make_tensor(42, make_shape(4, 5))
    assert [[counting(i, j) for j in range(5)] for i in range(4)] == [
        [42 + i + 4 * j for j in range(5)] for i in range(4)
    ]
    assert str(make_inttuple_iter(42, _2, _7) + tla.ArithmeticTuple(tla.Int[0](), 5, _2)) == "(42,7,_9)"
    names = {
        "_1@0": E[0],
        "_1@1": E[1],
        "_1@0@0": E[0, 0],
        "_1@1@0": E[0, 1],
        "_1@0@1": E[1, 0],
        "_1@1@1": E[1, 1],
        "5@1": 5 * E[1],
    }
    assert [str(e) for e in names.values()] == [*names]
    assert str(2 * (2 * E[0, 1]) + 3 * E[1] + 4 * (5 * E[1]) + 7 * E[0, 0]) == "((7,4),23)"
    a = make_tensor(make_inttuple_iter(0, 0), make_shape(4, 5), make_stride(E[0], E[1]))
    b = make_tensor(make_inttuple_iter(0, 0), make_shape(4, 5), make_stride(E[1], E[0]))
    assert [(a(i, j), b(i, j)) for i in range(4) for j in range(5)] == [
        ((i, j), (j, i)) for i in range(4) for j in range(5)
    ]
