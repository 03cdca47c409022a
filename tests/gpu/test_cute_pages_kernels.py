"""The pages 0t (MMA atoms) and 0x (GEMM tutorial) of CuTe's documentation, said here, with what they state."""

import numpy as np
import pytest

from tla import (
    Int,
    Layout,
    LayoutRight,
    Shape,
    Stride,
    _,
    congruent,
    copy,
    cosize,
    gemm,
    is_static,
    local_partition,
    local_tile,
    make_coord,
    make_fragment_like,
    make_identity_tensor,
    make_layout,
    make_shape,
    make_stride,
    make_tensor,
    make_tensor_like,
    parse,
    select,
    size,
    transpose,
    zipped_divide,
)
from tla.gpu import (
    Copy_Atom,
    MMA_Atom,
    SM70_8x8x4_F16F16F16F16_NT,
    SM70_8x8x4_F32F16F16F32_NT,
    SM70_8x8x4_F32F16F16F32_TN,
    SM90_64x128x16_F16F16F16_SS,
    UniversalCopy,
    UniversalFMA,
    float,
    half,
    make_tiled_copy,
    make_tiled_mma,
    uint128,
    values_of,
)
from tla.viz import draw

_1, _2, _3, _4, _8, _16, _32, _64, _128 = (Int[n]() for n in (1, 2, 3, 4, 8, 16, 32, 64, 128))
NT = SM70_8x8x4_F32F16F16F32_NT


def cells(grid):
    return {c.text.replace("\n", ""): (i, j) for i, row in enumerate(grid.cells) for j, c in enumerate(row)}


# ------------------------------------------------------------------------------------------------ 0t: MMA atoms


def test_0t_traits_of_volta():
    assert (NT.val_D, NT.val_A, NT.val_B, NT.val_C) == (float, half, half, float)
    assert NT.shape_mnk == Shape(_8, _8, _4)
    assert str(NT.thr_id) == str(Layout[Shape[_4, _2], Stride[_1, _16]]())
    assert [NT.thr_id(i) for i in range(8)] == [0, 1, 2, 3, 16, 17, 18, 19]
    assert str(NT.C) == str(
        Layout[Shape[Shape[_2, _2, _2], Shape[_2, _2, _2]], Stride[Stride[_1, _16, _4], Stride[_8, _2, _32]]]()
    )
    assert [NT.C(t, 0) for t in range(8)] == [0, 1, 16, 17, 4, 5, 20, 21]
    assert [NT.C(0, v) for v in range(8)] == [0, 8, 2, 10, 32, 40, 34, 42]
    assert str(SM70_8x8x4_F16F16F16F16_NT.C) == "(_8,_8):(_1,_8)"
    assert str(SM70_8x8x4_F32F16F16F32_TN.A) == str(SM70_8x8x4_F32F16F16F32_TN.B) == "(_8,_4):(_1,_8)"
    assert str(NT.A) == str(NT.B) == str(Layout[Shape[Shape[_4, _2], _4], Stride[Stride[_8, _4], _1]]())


def test_0t_hopper():
    atom = SM90_64x128x16_F16F16F16_SS
    assert str(atom.thr_id) == "_128:_1"
    assert str(atom.C) == "((_4,_8,_4),(_2,_2,_16)):((_128,_1,_16),(_64,_8,_512))"
    assert str(atom.A) == "(_128,(_64,_16)):(_0,(_1,_64))"
    assert {atom.A(t, 0) for t in range(128)} == {0}


def test_0t_one_atom_is_a_tiled_mma():
    mma = make_tiled_mma(NT, Layout[Shape[_1, _1, _1], Stride[_0 := Int[0](), _0, _0]](), (_8, _8, _4))
    assert mma.tile_size == Shape(_8, _8, _4)
    assert MMA_Atom[NT]() is NT
    assert [g.cells for g in draw(mma).figures[0].grids] == [g.cells for g in draw(NT).figures[0].grids]


def test_0t_four_quad_pairs():
    mma = make_tiled_mma(NT, Layout[Shape[_2, _2], Stride[_2, _1]]())
    assert (mma.tile_size, mma.threads) == (Shape(_16, _16, _4), 32)
    c = cells(draw(mma).figures[0].grids[2])
    assert [c[f"T{t}V0"] for t in (0, 4, 8, 12)] == [(0, 0), (0, 8), (8, 0), (8, 8)]
    mma = make_tiled_mma(NT, Layout[Shape[_2, _2], Stride[_2, _1]](), (_32, _32, _4))
    assert mma.tile_size == Shape(_32, _32, _4)
    c = cells(draw(mma).figures[0].grids[2])
    assert [c[x] for x in ("T0V8", "T16V8", "T8V8")] == [(16, 0), (20, 0), (24, 0)]
    assert held_by_0(mma) == [(m, 0) for m in (0, 1, 2, 3, 16, 17, 18, 19)]


def held_by_0(mma):
    """The coordinates of A that thread 0 has, by value."""
    rows, columns = np.broadcast_arrays(*values_of(mma[np.array([0])].partition_A(make_identity_tensor((32, 4)))))
    return [(int(i), int(j)) for i, j in zip(rows.ravel(order="F"), columns.ravel(order="F"))]


def test_0t_a_permutation_of_m():
    permutation = Layout[Shape[_4, _4, _2], Stride[_1, _8, _4]]()
    assert [permutation(m) for m in range(32)] == [
        0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31,
    ]  # fmt: skip
    mma = make_tiled_mma(NT, Layout[Shape[_2, _2], Stride[_2, _1]](), (permutation, _32, _4))
    assert held_by_0(mma) == [(m, 0) for m in range(8)]


# -------------------------------------------------------------------------------------------- 0x: the GEMM tutorial

M, N, K = 256, 256, 24
SHAPE_MNK = make_shape(M, N, K)
B_M, B_N, B_K = Int[128](), Int[128](), Int[8]()
TILER = make_shape(B_M, B_N, B_K)
rng = np.random.default_rng(0)
A, B = rng.integers(-3, 4, M * K).astype(np.float32), rng.integers(-3, 4, N * K).astype(np.float32)
NT_STRIDES = make_stride(_1, M), make_stride(_1, N)
TN_STRIDES = make_stride(K, _1), make_stride(K, _1)


def tensors(strides):
    d_a, d_b = strides
    assert congruent(select[0, 2](SHAPE_MNK), d_a) is True
    return make_tensor(A, select[0, 2](SHAPE_MNK), d_a), make_tensor(B, select[1, 2](SHAPE_MNK), d_b)


@pytest.mark.parametrize("strides", [NT_STRIDES, TN_STRIDES], ids=["nt", "tn"])
def test_0x_tiles_of_a_block(strides):
    m_a, m_b = tensors(strides)
    m_c = make_tensor[np.float32](make_shape(M, N))
    where = make_coord(1, 0, _)
    g_a, g_b = local_tile(m_a, TILER, where, (_1, _, _1)), local_tile(m_b, TILER, where, (_, _1, _1))
    g_c = local_tile(m_c, TILER, where, (_1, _1, _))
    assert [str(x.shape) for x in (g_a, g_b, g_c)] == ["(_128,_8,3)", "(_128,_8,3)", "(_128,_128)"]
    assert np.array_equal(g_a, local_tile(m_a, select[0, 2](TILER), select[0, 2](where)))
    g_a_mk = zipped_divide(m_a, select[0, 2](TILER))
    assert str(g_a_mk.shape) == "((_128,_8),(2,3))"
    assert np.array_equal(g_a, g_a_mk(make_coord(_, _), select[0, 2](where)))


@pytest.mark.parametrize(
    ("strides", "order", "threads"),
    [(NT_STRIDES, None, "(_32,_8):(_1,_32)"), (TN_STRIDES, LayoutRight, "(_32,_8):(_8,_1)")],
    ids=["nt", "tn"],
)
def test_0x_copies_and_products_of_threads(strides, order, threads):
    s_layout = make_layout(make_shape(B_M, B_K)) if order is None else make_layout(make_shape(B_M, B_K), order)
    assert is_static(s_layout)
    assert (size[0](s_layout), size[1](s_layout)) == (B_M, B_K)
    t_a = make_layout(make_shape(_32, _8)) if order is None else make_layout(make_shape(_32, _8), order)
    t_c = make_layout(make_shape(_16, _16))
    assert str(t_a) == threads
    assert size(t_a) == size(t_c) == 256
    g_a, g_b = (local_tile(x, (B_M, B_K), make_coord(1, _)) for x in tensors(strides))
    smem_a, smem_b = (make_tensor(np.zeros(int(cosize(s_layout)), np.float32), s_layout) for _x in "ab")
    for i in range(size(smem_b)):  # "a trivial way": a single thread
        smem_b[i] = g_b(_, _, 0)(i)
    for t in range(256):
        t_ag, t_as = local_partition(g_a, t_a, t), local_partition(smem_a, t_a, t)
        assert (str(t_ag.shape), str(t_as.shape)) == ("(_4,_1,3)", "(_4,_1)")
        copy(t_ag(_, _, 0), t_as)
    assert np.array_equal(smem_a, g_a(_, _, 0))
    whole_c = make_tensor[np.float32](make_shape(B_M, B_N))
    for t in (0, 37, 255):
        t_cs_a, t_cs_b = local_partition(smem_a, t_c, t, (_1, _)), local_partition(smem_b, t_c, t, (_, _1))
        t_cg = local_partition(whole_c, t_c, t, (_1, _1))
        t_cr = make_tensor_like(t_cg)
        assert [str(x.shape) for x in (t_cs_a, t_cs_b, t_cg, t_cr)] == ["(_8,_8)", "(_8,_8)", "(_8,_8)", "(_8,_8)"]
        gemm(t_cs_a, transpose(t_cs_b), t_cr, accumulate=True)  # gemm(tCsA, tCsB, tCrC): here B is (K,N)
        assert np.array_equal(np.asarray(t_cr), np.asarray(t_cs_a) @ np.asarray(t_cs_b).T)


def test_0x_tiled_copy_and_tiled_mma_of_sgemm_2():
    copy_a = make_tiled_copy(
        Copy_Atom[UniversalCopy[uint128], float], Layout[Shape[_32, _8], Stride[_1, _32]](), make_layout((_4, _1))
    )
    g_a = local_tile(tensors(NT_STRIDES)[0], (B_M, B_K), make_coord(1, _))
    s_a = make_tensor(np.zeros(1024, np.float32), make_layout((B_M, B_K)))
    thr_copy = copy_a.get_slice(33)
    t_ag, t_as = thr_copy.partition_S(g_a), thr_copy.partition_D(s_a)
    assert [str(x.shape) for x in (t_ag, t_as)] == ["((_4,_1),_1,_1,3)", "((_4,_1),_1,_1)"]
    assert str(make_fragment_like(t_as).shape) == "((_4,_1),_1,_1)"
    source, target = draw(copy_a).figures[0].grids
    assert source.cells == target.cells
    assert [cells(source)[x] for x in ("T0V0", "T0V3", "T31V3", "T32V0")] == [(0, 0), (3, 0), (127, 0), (0, 1)]
    mma = make_tiled_mma(UniversalFMA[float, float, float], (_16, _16, _1))
    assert (mma.tile_size, mma.threads) == (Shape(_16, _16, _1), 256)
    thr_mma, g_c = mma.get_slice(33), make_tensor[np.float32](make_shape(B_M, B_N))
    parts = thr_mma.partition_A(s_a), thr_mma.partition_B(s_a), thr_mma.partition_C(g_c)
    assert [str(x.shape) for x in parts] == ["(_1,_8,_8)", "(_1,_8,_8)", "(_1,_8,_8)"]
    assert str(thr_mma.make_fragment_C(parts[2]).shape) == "(_1,_8,_8)"


def test_0x_tiled_copy_of_gemm_tn():
    copy_a = make_tiled_copy(
        Copy_Atom[UniversalCopy[float], float], make_layout((_32, _8), LayoutRight), make_layout((_1, _1))
    )
    assert (str(copy_a.TV), str(copy_a.tiler_mn)) == ("((_8,_32),_1):((_32,_1),_0)", "(_32,_8)")
    assert parse("(_32,_8):(_8,_1)") == make_layout((_32, _8), LayoutRight)
