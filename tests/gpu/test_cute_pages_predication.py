"""CuTe's documentation, what reaches past whole tiles: the end of page 0x (padding, GETT), 04, 0y and 0z, said here
with what they state."""

import itertools

import numpy as np
import pytest

import tla
from tla import (
    E,
    Int,
    Shape,
    _,
    ceil_div,
    copy,
    copy_if,
    cosize,
    dim,
    elem_less,
    gemm,
    get,
    local_partition,
    local_tile,
    logical_divide,
    make_coord,
    make_identity_tensor,
    make_layout,
    make_shape,
    make_stride,
    make_tensor,
    parse,
    select,
    size,
    transpose,
    zipped_divide,
)
from tla.codegen import emit_guard
from tla.gpu import (
    Copy_Atom,
    UniversalCopy,
    UniversalFMA,
    axpby as axpby_of_threads,
    clear as clear_of_threads,
    copy as copy_by_atom,
    fill as fill_of_threads,
    float,
    gemm as gemm_by_atom,
    make_tiled_mma,
)

_0, _1, _2, _4, _8, _16, _32, _64, _128 = (Int[n]() for n in (0, 1, 2, 4, 8, 16, 32, 64, 128))
rng = np.random.default_rng(0)


def numbers(n):
    return rng.integers(-3, 4, n).astype(np.float32)


def gemm_device(shape_mnk, cta_tiler, a, s_a, t_a, b, s_b, t_b, c, t_c, alpha, beta):
    """sgemm_1.cu's kernel, of every thread of every block; returns the number of blocks."""
    grid = [size(ceil_div(m, bm)) for m, bm in zip(shape_mnk[:2], cta_tiler[:2])]
    for block in itertools.product(*map(range, grid)):
        where = make_coord(*block, _)
        g_a, g_b, g_c = (
            local_tile(x, cta_tiler, where, s) for x, s in zip((a, b, c), ((_1, _, _1), (_, _1, _1), (_1, _1, _)))
        )
        smem_a, smem_b = (make_tensor(np.zeros(int(cosize(s)), np.float32), s) for s in (s_a, s_b))
        parts = [
            [local_partition(x, layout, t) for x in pair]
            for t in range(size(t_a))
            for pair, layout in (((g_a, smem_a), t_a), ((g_b, smem_b), t_b))
        ]
        of_c = [
            [local_partition(x, t_c, t, p) for x, p in ((smem_a, (_1, _)), (smem_b, (_, _1)), (g_c, (_1, _1)))]
            for t in range(size(t_c))
        ]
        totals = [make_tensor[np.float32](x[2].shape) for x in of_c]
        for k_tile in range(size[2](g_a)):
            for source, target in parts:
                copy(source(_, _, k_tile), target)
            for (rows, columns, _out), total in zip(of_c, totals):
                gemm(rows, transpose(columns), total, accumulate=True)
        for (_rows, _columns, out), total in zip(of_c, totals):
            axpby_of_threads(alpha, total, beta, out)
    return grid


# ------------------------------------------------------------------------------------------ 0x: padding and GETT


def test_0x_padded_shared_memory_of_gemm_tn():
    """Another layout of shared memory, and "no other changes in the kernel are required"; the padding
    is never written."""
    b_m, b_n, b_k, m, n, k = _8, _4, _2, 16, 4, 4
    s_a = make_layout(make_shape(b_m, b_k), make_stride(_1, b_m + _1))
    s_b = make_layout(make_shape(b_n, b_k), make_stride(_1, b_n + _1))
    assert (str(s_a), str(s_b), cosize(s_a)) == ("(_8,_2):(_1,_9)", "(_4,_2):(_1,_5)", 17)
    a, b = numbers(m * k).reshape(m, k), numbers(n * k).reshape(n, k)
    tensors = (
        make_tensor(a.ravel(), make_shape(m, k), make_stride(k, _1)),
        make_tensor(b.ravel(), make_shape(n, k), make_stride(k, _1)),
    )
    c = make_tensor(np.ones(m * n, np.float32), make_shape(m, n), make_stride(_1, m))
    threads = parse("(_2,_2):(_2,_1)"), parse("(_2,_2):(_1,_2)")
    tiler, t_ab, t_c = make_shape(b_m, b_n, b_k), threads[0], threads[1]
    assert gemm_device(make_shape(m, n, k), tiler, tensors[0], s_a, t_ab, tensors[1], s_b, t_ab, c, t_c, 2, 3) == [2, 1]
    assert np.array_equal(c, 2 * a @ b.T + 3)


def test_0x_padding_is_for_the_banks():
    """A warp of gemm_tn writes 4 rows of 8 along k: (_128,_8):(_1,_128) has the 8 of a row in one bank, padded
    they are in 8."""
    thread = [divmod(t, 8) for t in range(32)]  # (_32,_8):(_8,_1)
    plain, padded = parse("(_128,_8):(_1,_128)"), parse("(_128,_8):(_1,_129)")
    assert max(np.bincount([plain(m, k) % 32 for m, k in thread])) == 8
    assert len({padded(m, k) % 32 for m, k in thread[:8]}) == 8


def test_0x_gett_with_two_m_modes():
    """The launcher `gett`, with small tiles: nothing but M, dA, dC and bM differs from gemm_nt."""
    m0, m1, n, k, pad = 4, 4, 4, 4, 5
    ld_am1 = m0 + pad
    ld_ak = ld_am1 * m1 + pad
    m = make_shape(m0, m1)
    prob_shape = make_shape(m, n, k)
    d_a, d_b, d_c = (
        make_stride(make_stride(_1, ld_am1), ld_ak),
        make_stride(_1, n),
        make_stride(make_stride(_1, ld_am1), ld_ak),
    )
    b_m, b_n, b_k = Shape(_2, _4), _4, _2
    cta_tiler = make_shape(b_m, b_n, b_k)
    s_a, s_b = make_layout(make_shape(b_m, b_k)), make_layout(make_shape(b_n, b_k))
    assert (str(s_a), str(s_b)) == ("((_2,_4),_2):((_1,_2),_8)", "(_4,_2):(_1,_4)")
    data_a, data_b, data_c = numbers(ld_ak * k), numbers(n * k), numbers(ld_ak * n)
    a, b = make_tensor(data_a, select[0, 2](prob_shape), d_a), make_tensor(data_b, select[1, 2](prob_shape), d_b)
    c = make_tensor(data_c.copy(), select[0, 1](prob_shape), d_c)
    t_ab, t_c = parse("(_4,_1):(_1,_4)"), parse("(_2,_2):(_1,_2)")
    assert gemm_device(prob_shape, cta_tiler, a, s_a, t_ab, b, s_b, t_ab, c, t_c, 2, -1) == [2, 1]
    whole = np.array([[[data_a[i + j * ld_am1 + p * ld_ak] for p in range(k)] for j in range(m1)] for i in range(m0)])
    want = data_c.copy()
    for (i, j), q in itertools.product(np.ndindex(m0, m1), range(n)):
        at = i + j * ld_am1 + q * ld_ak
        want[at] = 2 * (whole[i, j] @ data_b[q::n]) - data_c[at]
    assert np.array_equal(c.data, want)


def test_0x_gett_at_the_tiles_of_the_page():
    m, tiler = make_shape(128, 4), make_shape(Shape(_64, _2), _128, _8)
    assert [size(ceil_div(x, y)) for x, y in zip((m, 256), tiler)] == [4, 2]
    a = make_tensor(np.arange(128 * 4 * 24), make_shape(m, 24), make_stride(make_stride(_1, 128), 512))
    for block, nested in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
        tile = local_tile(a, tiler, make_coord(block, 1, _), (_1, _, _1))
        assert str(tile.shape) == "((_64,_2),_8,3)"
        i, j = 64 * nested[0], 2 * nested[1]
        assert [tile((x, y), z, w) for x, y, z, w in [(0, 0, 0, 0), (63, 1, 7, 2)]] == [
            i + 128 * j,
            i + 63 + 128 * (j + 1) + 512 * 23,
        ]
        again = local_tile(a, tiler, make_coord(nested, 1, _), (_1, _, _1))
        assert (again.offset, again.layout) == (tile.offset, tile.layout)
        places = local_tile(make_identity_tensor((m, 24)), tiler, make_coord(nested, 1, _), (_1, _, _1))
        assert str(places((0, 0), 0, 0)) == f"(({i},{j}),0)"
    for bad in ((2, 0), (0, 0, 0), (-1, 0), (0, (0, 0))):
        with pytest.raises(tla.TlaError, match="local_tile"):
            local_tile(a, tiler, make_coord(bad, 1, _), (_1, _, _1))


# ------------------------------------------------------------------------------------------------- 04: algorithms


def test_04_copy_and_copy_if():
    source = make_tensor(np.arange(12), make_shape(3, 4), tla.LayoutRight)
    target = make_tensor(np.zeros(12, int), make_shape(2, 6))
    for i in range(size(target)):  # "a generic copy", of any logical shapes
        target[i] = source(i)
    assert [target(i) for i in range(12)] == [source(i) for i in range(12)]
    copy_if(
        make_tensor(np.arange(12) % 3, make_shape(3, 4)),
        source,
        target := make_tensor(np.full(12, -1), make_shape(3, 4)),
    )
    assert [target(i) for i in range(12)] == [source(i) if i % 3 else -1 for i in range(12)]  # "is nonzero"


def test_04_copy_by_an_atom():
    source, target = make_tensor(numbers(8), 8), make_tensor(np.zeros(8, np.float32), 8)
    atom = Copy_Atom[UniversalCopy[float], float]
    copy_by_atom(atom, *(zipped_divide(x, 1) for x in (source, target)))
    assert np.array_equal(source, target)


@pytest.mark.parametrize(
    ("v", "m", "n", "k"), [(0, 0, 0, 0), (1, 3, 4, 0), (1, 3, 4, 5), (0, 3, 4, 5)], ids=["1", "4", "5", "3"]
)
def test_04_the_forms_of_gemm(v, m, n, k):
    """C += A * B of `(...) x (...) => (...)`, B as (N,K); the number is the page's. Form 3 is tla.gemm's,
    of transposed B."""
    extents = [[1] * v + [x for x in part if x] or [1] for part in ((m, k), (n, k), (m, n))]
    a, b, c = (numbers(int(np.prod(e))).reshape(e, order="F") for e in extents)
    x, y, z = (make_tensor(t.ravel(order="F").copy(), tuple(t.shape)) for t in (a, b, c))
    if v or not m:
        gemm_by_atom(UniversalFMA[float, float, float], x, y, z)
    else:
        gemm(x, transpose(y), z, accumulate=True)
    left, right = (t.reshape(max(r, 1), max(k, 1), order="F") for t, r in ((a, m), (b, n)))
    assert np.array_equal(
        np.asarray(z).ravel(order="F"), (c.reshape(max(m, 1), max(n, 1), order="F") + left @ right.T).ravel(order="F")
    )


def test_04_the_outer_product():
    """Form 2, (M) x (N) => (M,N), is form 3 with one k."""
    a, b, c = (
        make_tensor(numbers(3), make_shape(3, 1)),
        make_tensor(numbers(4), make_shape(4, 1)),
        make_tensor(numbers(12), (3, 4)),
    )
    want = np.array(c) + np.outer(a.data, b.data)
    gemm(a, transpose(b), c, accumulate=True)
    assert np.array_equal(c, want)


def test_04_axpby_fill_clear():
    x, y = make_tensor(numbers(12), (3, 4)), make_tensor(numbers(12), (3, 4), tla.LayoutRight)
    want = 2 * np.array(x) - 3 * np.array(y)
    axpby_of_threads(2, x, -3, y)
    assert np.array_equal(y, want)
    fill_of_threads(y, 7)
    assert (np.asarray(y) == 7).all()
    clear_of_threads(y)
    assert not np.asarray(y).any()


# ------------------------------------------------------------------------------------------------ 0y: predication


def test_0y_divides_round_up():
    assert str(logical_divide(parse("1000:1"), 128)) == "(128,8):(1,128)"
    rounded = logical_divide(
        parse("1000:1"), parse("128:1")
    )  # (128,(1,8)):(1,(1,128)): of sizes that are not static a mode of 1 stays
    assert [rounded(i, j) for j in range(8) for i in range(128)] == [*range(1024)]
    assert [divmod(41, 4), divmod(55, 8)] == [(10, 1), (6, 7)]
    tiles = zipped_divide(make_identity_tensor((41, 55)), (_4, _8))
    assert str(tiles.shape) == "((_4,_8),(11,7))"
    valid = [elem_less(tiles((3, 7), (i, j)), (41, 55)) for j in range(7) for i in range(11)]
    assert valid == [i < 10 and j < 6 for j in range(7) for i in range(11)]


def test_0y_an_index_of_one_mode():
    """if (idx < N), of idx = blockDim.x * blockIdx.x + threadIdx.x."""
    t, bx, n = dim("t", at_least=0, at_most=127), dim("bx", at_least=0), dim("N", at_most=1 << 20)
    mine = local_partition(local_tile(make_identity_tensor((n,)), (_128,), (bx,)), parse("_128:_1"), t)
    text = emit_guard(mine, "cuda", "i", below=(n,))
    assert "bx * 128 + t < N" in text


def test_0y_a_predicated_epilogue():
    """tCgC(i) = alpha * tCrC(i) + beta * tCgC(i) where elem_less(tCcC(i), shape(mC)): of all blocks and threads, each
    element once."""
    alpha, beta, shape = 2, -1, (7, 5)
    mma = make_tiled_mma(UniversalFMA[float, float, float], (_2, _2, _1))
    data, product = numbers(35).reshape(shape), numbers(64).reshape(8, 8)
    m_c, whole = make_tensor(data.ravel().copy(), shape, (5, 1)), make_tensor(product.ravel(), (8, 8), (8, 1))
    cta_tiler, c_c = make_shape(_4, _4, _4), make_identity_tensor(m_c.shape)
    for block in itertools.product(range(2), range(2)):
        g_c, cta_c_c, products = (
            local_tile(x, cta_tiler, make_coord(*block, _), (_1, _1, _)) for x in (m_c, c_c, whole)
        )
        for t in range(4):
            thr_mma = mma.get_slice(t)
            t_cg_c, t_cc_c, t_cr_c = (thr_mma.partition_C(x) for x in (g_c, cta_c_c, products))
            assert str(t_cc_c.shape) == str(t_cr_c.shape) == "(_1,_2,_2)"
            for i in range(size(t_cc_c)):
                if elem_less(t_cc_c(i), m_c.shape):
                    t_cg_c[i] = alpha * t_cr_c(i) + beta * t_cg_c(i)
    assert np.array_equal(m_c, alpha * product[:7, :5] + beta * data)


def test_0y_loads_of_b():
    """The n-predicates of B, stride 0 along k; test_cute_pages.py has those of A."""
    n, k, b_n = 11, 8, _8
    data = np.arange(n * k).reshape(n, k)
    m_b, t_b = make_tensor(data.ravel(), (n, k), (k, 1)), parse("(_4,_2):(_1,_4)")
    for block in range(2):
        g_b, cta_c_b = (
            local_tile(x, (_32, b_n, _4), make_coord(0, block, _), (_, _1, _1))
            for x in (m_b, make_identity_tensor((n, k)))
        )
        s_b = make_tensor(np.full(32, -1), (b_n, _4))
        for k_tile in range(2):
            for thread in range(8):
                t_bg_b, t_bs_b, t_bc_b = (local_partition(x, t_b, thread) for x in (g_b, s_b, cta_c_b))
                t_bp_b = make_tensor[bool](make_shape(size[0](t_bc_b), size[1](t_bc_b)), make_stride(_1, _0))
                for i in range(size[0](t_bp_b)):
                    t_bp_b[i, 0] = elem_less(get[0](t_bc_b(i, 0, 0)), tla.shape[0](m_b))
                copy_if(t_bp_b, t_bg_b(_, _, k_tile), t_bs_b)
            rows = data[8 * block : 8 * block + 8, 4 * k_tile : 4 * k_tile + 4]
            assert np.array_equal(np.asarray(s_b)[: len(rows)], rows)
            assert (np.asarray(s_b)[len(rows) :] == -1).all()


# ----------------------------------------------------------------------------------------------- 0z: TMA tensors


def test_0z_the_tensor_that_is_printed():
    layout = parse("ArithTuple(0,_0,_0,_0) o ((_128,_64),2,3,1):((_1@0,_1@1),_64@1,_1@2,_1@3)")
    assert str(layout) == "((_128,_64),2,3,1):((_1@0,_1@1),_64@1,_1@2,_1@3)"
    assert tuple(layout((5, 7), 1, 2, 0)) == (5, 71, 2, 0)


def test_0z_inner_products():
    for text, f in (("(4,5):(_1@0,_1@1)", lambda i, j: (i, j)), ("(4,5):(_1@1,_1@0)", lambda i, j: (j, i))):
        layout = parse(text)
        assert all(tuple(layout(i, j)) == f(i, j) for i in range(4) for j in range(5))
    assert parse("(4,5):(1,100)")(3, 2) == 203
    assert (str(5 * E[0, 1]), str(3 * E[0] + 4 * E[1])) == ("5@1@0", "(3,4)")
    with pytest.raises(tla.RankError, match="E<>"):
        E[()]
