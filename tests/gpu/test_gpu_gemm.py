"""gemm by fragments of tiles of several atoms is numpy's product; what does not fit is refused. test_gpu_arithmetic.py
has every atom."""

import importlib.util

import numpy as np
import pytest

from tla import Layout, MakeTensor, TlaError, _, make_layout
from tla.gpu import UniversalFMA, atom, compress, float, gemm, int32, make_tiled_mma, values_of
from tla.gpu.tiled.fragments import numpy_type

from operands import operand

SPARSE = "SM90::GMMA::SPARSE::GMMA_64x32x32_F32F16F16_RS"
SCALED = "SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t,float_e2m1_t,float,float_ue4m3_t,16>"
BOTH = "SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x128_TN_VS<float_e2m1_t,float_e2m1_t,float,float_ue8m0_t,64>"
GROUPS = {(2, 8): (4, 1), (2, 4): (2, 1), (4, 16): (8, 2)}  # elements of a group, and how many are kept together


def pruned(rng, a, found):
    """Half of each group of neighbours along K, in the units that its type has."""
    group, unit = GROUPS[found.sparsity]
    x = a.reshape(len(a), -1, group // unit, unit)
    keep = np.argsort(rng.random(x.shape[:3]), -1) < group // unit // 2
    return (x * keep[..., None]).reshape(a.shape)


def scales(rng, rows, k, vector):
    """Scale factors, and the tensor of them over the coordinates of the elements."""
    found = rng.integers(1, 5, (rows, k // vector)).astype(np.float32)
    return found.repeat(vector, 1), MakeTensor(
        found.ravel(), Layout((rows, (vector, k // vector)), (k // vector, (0, 1)))
    )


def product(found, threads=None, times=(1, 1, 1)):
    """What gemm makes of random operands by fragments, and what numpy does."""
    rng, mma = np.random.default_rng(0), make_tiled_mma(found, threads)
    own = mma[np.arange(1 + max(mma.thr_layout_vmnk(i) for i in range(mma.threads)))]
    m, n, k = (int(s) * t for s, t in zip(mma.tile_size, times))
    blocks = (found.blocks,) if found.blocks > 1 else ()
    kinds = [numpy_type(t) for t in found.types or (found.val_A, found.val_B)]
    a, b = (rng.integers(0 if t[0] == "u" else -4, 5, (*s, *blocks)).astype(t) for s, t in zip(((m, k), (n, k)), kinds))
    c = rng.integers(-4, 5, (m, n, *blocks)).astype(
        "float32" if numpy_type(found.val_C) == "float16" else numpy_type(found.val_C)
    )
    more_a, more_b, scale_a, scale_b = [], [], 1, 1
    if found.sparsity:
        a = pruned(rng, a, found)
        stored, metadata = operand(found, "A", a)
        assert stored.data.size * 2 == a.size
        more_a.append(own.partition_E(metadata))
    if found.val_SF:
        (scale_a, sfa), (scale_b, sfb) = (scales(rng, rows, k, found.sf_vec) for rows in (m, n))
        more_a.append(own.partition_SFA(sfa))
        more_b.append(own.partition_SFB(sfb))
    wanted = c + np.einsum("mk...,nk...->mn...", (a * scale_a).astype(c.dtype), (b * scale_b).astype(c.dtype))
    left, right = (
        own.partition_A(stored if found.sparsity else operand(found, "A", a)),
        own.partition_B(operand(found, "B", b)),
    )
    gemm(
        mma, (left, *more_a) if more_a else left, (right, *more_b) if more_b else right, own.partition_C(MakeTensor(c))
    )
    return c, wanted


@pytest.mark.parametrize("name", [SPARSE, SCALED, BOTH])
def test_tiles_of_several_atoms(name):
    ours, wanted = product(atom(name), (2, 2), (2, 1, 2))
    assert (ours == wanted).all()


def test_compress_is_what_the_manual_says():
    """The examples of "Sparse matrix storage": places in the low bits first; of TF32 0b0100 and 0b1110."""
    stored, metadata = compress(atom(SPARSE), np.array([[0, 0, 3, 4, 5, 0, 0, 8]], np.float16))
    assert (stored.data.tolist(), metadata.data.tolist()) == ([3, 4, 5, 8], [0b1100_1110])
    assert [stored(0, j) for j in range(8)] == [3, 3, 4, 4, 5, 5, 8, 8]
    stored, metadata = compress(
        atom("SM90::GMMA::SPARSE::GMMA_64x32x16_F32TF32TF32_SS_TN"), np.array([[1, 0, 0, 2]], np.float32)
    )
    assert (stored.data.tolist(), metadata.data.tolist()) == ([1, 2], [0b1110_0100])
    stored, metadata = compress(atom(BOTH), np.array([[0, 0, 3, 4, 0, 0, 7, 8, 1, 2, 0, 0, 0, 0, 0, 0]], np.float32))
    assert (stored.data.tolist(), metadata.data.tolist()) == ([3, 4, 7, 8, 1, 2, 0, 0], [0b0100_1101])


DENSE = make_tiled_mma(atom("SM80_16x8x8_F32F16F16F32_TN"))
OWN, A, B, C = (
    DENSE[np.arange(32)],
    np.ones((16, 8), np.float16),
    np.ones((8, 8), np.float16),
    np.zeros((16, 8), np.float32),
)
PARTS = [OWN.partition(x, MakeTensor(t)) for x, t in zip("ABC", (A, B, C))]
SPARSE_MMA = make_tiled_mma(atom(SPARSE))
SPARSE_OWN = SPARSE_MMA[np.arange(128)]
STORED, METADATA = compress(atom(SPARSE), np.zeros((64, 32), np.float16))
REST = [
    SPARSE_OWN.partition_B(operand(atom(SPARSE), "B", np.ones((32, 32), np.float16))),
    SPARSE_OWN.partition_C(MakeTensor(np.zeros((64, 32)))),
]
INT32, HALF, WHOLE = (MakeTensor(np.zeros((16, 8), t)) for t in ("int32", "float16", "int64"))
SLICES = [PARTS[0][:, 0, 0], PARTS[1][:, 0, :]]
BY_TYPE = "float32, for float"
REFUSED = [
    (lambda: gemm(DENSE, *PARTS[:2], OWN.partition_C(INT32)), BY_TYPE),
    (lambda: gemm(DENSE, *PARTS[:2], OWN.partition_C(HALF)), BY_TYPE),
    (lambda: gemm(DENSE, OWN.partition_C(INT32), *PARTS), "D of int32"),
    (lambda: gemm(DENSE, OWN.partition_A(WHOLE), *PARTS[1:]), "float16, for half"),
    (lambda: gemm(DENSE, SLICES[0], PARTS[1], PARTS[2][:, 0, 0]), r"A \(4,\) by B \(2, 1, 1\) to C \(4,\)"),
    (lambda: gemm(DENSE, SLICES[0], SLICES[1], PARTS[2]), r"expected  \(V,M,K\) x \(V,N,K\)"),
    (lambda: gemm(DENSE, PARTS[0], PARTS[1], PARTS[2][:, 0, :]), r"\(V\) x \(V\) => \(V\)"),
    (lambda: gemm(DENSE, SLICES[0], PARTS[1][:, 0, 0], PARTS[2][:, 0, :]), r"A\[_, _, k\] and B\[_, _, k\]"),
    (lambda: gemm(DENSE, (PARTS[0], PARTS[0]), *PARTS[1:]), "A of 2 tensors"),
    (
        lambda: gemm(SPARSE_MMA, SPARSE_OWN.partition_A(STORED), *REST),
        r"write gemm\(mma, D, ..., C\) with \(A, E\) for A",
    ),
    (
        lambda: gemm(
            SPARSE_MMA, (SPARSE_OWN.partition_A(STORED), SPARSE_OWN.partition_E(np.zeros((64, 32), np.uint8))), *REST
        ),
        r"use compress\(atom, a\)",
    ),
    (lambda: OWN.partition_E(METADATA), "one of A, B, C"),
    (lambda: OWN.partition("Q", METADATA), "the operand Q of"),
    (lambda: compress(DENSE.atom, A), "a sparse instruction"),
    (lambda: compress(atom(SPARSE), A), "group 0 of row 0 has 4 elements"),
    (
        lambda: compress(atom(SPARSE), np.array([[1, 1, 0, 0] * 2, [0, 0, 1, 1, 1, 0, 1, 1]])),
        "group 1 of row 1 has 3 elements",
    ),
    (lambda: compress(atom(SPARSE), np.ones((2, 12))), "multiples of 8"),
    (
        lambda: gemm(DENSE, PARTS[0], OWN.partition_B(MakeTensor(np.ones((8, 16), np.float16))), PARTS[2]),
        "partition the tiles of one product",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(TlaError, match=message):
        make()


@pytest.mark.parametrize("own", ["V", "no V"])
def test_the_modes_of_a_product_are_cutes(own):
    """Each form that CuTe's gemm dispatches on, of an atom of one value a thread without its mode too; adds
    to what there is."""
    rng = np.random.default_rng(3)
    mma = make_tiled_mma(UniversalFMA[float])
    a, b, c = (rng.integers(-4, 5, s).astype(np.float32) for s in ((4, 5), (3, 5), (4, 3)))
    parts = (
        [mma[0].partition(x, MakeTensor(t)) for x, t in zip("ABC", (a, b, c))]
        if own == "V"
        else [*map(MakeTensor, (a, b, c))]
    )
    front, wanted = (slice(None),) * (own == "V"), c.copy()
    gemm(mma, *parts)
    wanted += a @ b.T
    assert (c == wanted).all()
    gemm(mma, parts[0][(*front, _, 2)], parts[1][(*front, _, 2)], parts[2])
    wanted += np.outer(a[:, 2], b[:, 2])
    assert (c == wanted).all()
    if own == "V":
        gemm(mma, parts[0][_, 1, 2], parts[1][_, 0, 2], parts[2][_, 1, 0])
        wanted[1, 0] += a[1, 2] * b[0, 2]
        assert (c == wanted).all()


def test_fragments_hold_the_atoms_types():
    """Registers are of the atom's types whatever the tensor's is, as CuTe's partition_fragment has them; accumulators
    may be wider."""
    tensors = {t: MakeTensor(np.zeros((16, 8), t)) for t in ("float16", "float32", "float64", "int8")}
    found = [str(getattr(OWN, f"partition_fragment_{x}")(tensors[t]).dtype) for x in "ABC" for t in tensors]
    assert found == ["float16"] * 8 + ["float32", "float32", "float64", "float32"]
    bf16 = make_tiled_mma(atom("SM80_16x8x8_F32BF16BF16F32_TN"))[0]
    own = "bfloat16" if importlib.util.find_spec("ml_dtypes") else "float32"  # that has its numbers
    of = [str(bf16.partition_fragment_A(tensors[t]).dtype) for t in tensors]
    assert of == ["float16", "float32", "float64", own]


def test_the_fix_of_metadata_works():
    gemm(SPARSE_MMA, (SPARSE_OWN.partition_A(STORED), SPARSE_OWN.partition_E(METADATA)), *REST)
    assert not values_of(REST[1]).any()


#: Extents of A, B and C -> C after CuTe's gemm(A, B, C) of registers, compiled with g++: each holds (7 i + s) % 5 - 2
#: at i, of s 1, 2, 3.
PLAIN = {
    ((4,), (3,), (4, 3)): [1, -2, 0, 2, -3, 3, -6, 0, 3, -2, 3, -2],
    ((4, 2), (3, 2), (4, 3)): [3, -3, 1, 0, -7, 5, -8, 4, 3, -2, 3, -2],
    ((1, 4, 5), (1, 3, 5), (1, 4, 3)): [6, 3, -5, 2, -6, 1, -7, 5, -3, 4, 6, -7],
    ((1, 4), (1, 3), (1, 4, 3)): [1, -2, 0, 2, -3, 3, -6, 0, 3, -2, 3, -2],
    ((1,), (1,), (1,)): [1],
}


@pytest.mark.parametrize("extents", PLAIN)
def test_plain_tensors_are_multiplied_as_cute_does(extents):
    """Each of the five forms without an MMA; by each of several threads its own too."""
    a, b, c = (
        MakeTensor(np.float32((7 * np.arange(np.prod(s)) + i) % 5 - 2), make_layout(s))
        for i, s in enumerate(extents, 1)
    )
    total = MakeTensor(np.zeros(c.data.size, np.float32), c.layout)
    gemm(total, a, b, c)
    gemm(a, b, c)
    assert c.data.tolist() == total.data.tolist() == PLAIN[extents]


def test_plain_parts_of_several_threads_are_multiplied_by_each():
    rng, own = np.random.default_rng(0), make_tiled_mma(UniversalFMA[int32], (4, 2))[np.arange(8)]
    a, b, c = (rng.integers(-3, 4, s).astype(np.int32) for s in ((8, 3), (6, 3), (8, 6)))
    wanted = c + a @ b.T
    gemm(*(own.partition(side, MakeTensor(x)) for side, x in zip("ABC", (a, b, c))))
    assert (c == wanted).all()
    gemm(UniversalFMA[int32], *(own.partition(side, MakeTensor(x)) for side, x in zip("ABC", (a, b, c))))
    assert (c == wanted + a @ b.T).all()


@pytest.mark.parametrize(
    "extents", [((4,), (4,), (4,)), ((2, 4), (2, 3), (2, 4, 3)), ((2, 4, 5), (2, 3, 5), (2, 4, 3))]
)
def test_vectors_by_an_instruction_of_one_value_are_refused(extents):
    """As CuTe does: its static assertion on the registers of UniversalFMA fails."""
    with pytest.raises(
        TlaError, match=r"the 1 of UniversalFMA<float,float,float,float>.*\n  fix +take slices of one value"
    ):
        gemm(*(np.zeros(s, np.float32) for s in extents))
