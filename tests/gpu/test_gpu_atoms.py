"""Every atom multiplies: random matrices by its threads' fragments alone, against numpy. Sparse and scaled ones too."""

import collections

import numpy as np
import pytest

from tla import TlaError, is_injective
from tla.gpu import MN, CopyAtom, K, atom, atoms, half
from tla.gpu.instructions.names import names

import oracle
from batches import in_batches
from small_atoms import MATRIX, SMALL


def places(layout, threads):
    """(thread, value) -> index, as an array."""
    count = int(oracle.size(layout.shape)) // threads
    thread, value = np.ogrid[:threads, :count]
    return np.broadcast_to(layout(thread, value), (threads, count))


def held(matrix, where):
    """The fragments of a matrix: what each thread holds of it, by the place of each value, column-major."""
    return matrix.flatten(order="F")[where]


def assembled(fragments, where, shape):
    """The matrix of fragments: every place is held by some thread, and those that share one agree."""
    out = np.full(int(np.prod(shape)), np.nan)
    out[where] = fragments
    assert not np.isnan(out).any()
    assert (out[where] == fragments).all()
    return out.reshape(shape, order="F")


def pruned(matrix, sparsity):
    """A with as many zeros as it has to have: half of each four, of TF32 of each two, of 4 bits in pairs
    of each eight."""
    rng, pair = np.random.default_rng(1), {2: 1, 4: 2}[sparsity[0]]
    group = 2 if sparsity == (2, 4) else 4 * pair
    m, k = matrix.shape
    keep = np.zeros((m, k // group, group // pair), bool)
    for i in range(m):
        for j in range(k // group):
            keep[i, j, rng.choice(group // pair, max(group // pair // 2, 1), replace=False)] = True
    return matrix * np.repeat(keep.reshape(m, -1), pair, axis=1), keep


@in_batches(SMALL, 16)
def test_every_atom_multiplies_by_its_fragments(found):
    m, n, k = map(int, found.shape_mnk)
    rng, blocks = np.random.default_rng(0), (found.blocks,) if found.blocks > 1 else ()
    a, b, c = (rng.integers(-4, 5, (*s, *blocks)).astype(float) for s in ((m, k), (n, k), (m, n)))
    if found.sparsity:
        a, keep = pruned(a, found.sparsity)
        kept_by_threads(found, keep, m, k)
    threads = int(oracle.size(found.thr_id.shape))
    in_a, in_b, in_c = (places(x, threads) for x in (found.A, found.B, found.C))
    left, right = assembled(held(a, in_a), in_a, a.shape), assembled(held(b, in_b), in_b, b.shape)
    if found.sf_vec:
        sa, sb = (rng.integers(1, 5, (r, k // found.sf_vec)).astype(float).repeat(found.sf_vec, axis=1) for r in (m, n))
        if found.SFA is not None:
            sa, sb = (
                assembled(held(s, w), w, s.shape)
                for s, w in ((sa, places(found.SFA, threads)), (sb, places(found.SFB, threads)))
            )
        left, right, a, b = left * sa, right * sb, a * sa, b * sb
    product = np.einsum("mk...,nk...->mn...", left, right)
    assert is_injective(found.C)
    total = held(c, in_c) + held(product, in_c)
    assert (assembled(total, in_c, c.shape) == c + np.einsum("mk...,nk...->mn...", a, b)).all()


def kept_by_threads(found, keep, m, k):
    """The metadata of a sparse A, assembled from what the threads hold of it, is all of it."""
    if found.E is None:
        return
    where = places(found.E, int(oracle.size(found.thr_id.shape)))
    full = np.repeat(keep.reshape(m, -1), k // keep.reshape(m, -1).shape[1], axis=1).astype(float)
    assert (assembled(held(full, where), where, (m, k)) == full).all()


def test_a_and_b_of_registers_are_held_once():
    """But for what RDNA3 and Intel copy to further lanes, and operands in shared memory."""
    copied = collections.Counter()
    for found in MATRIX.values():
        for side in "AB":
            if not is_injective(getattr(found, side)):
                assert getattr(found, f"frg_{side}") or found.arch in ("rdna3", "xe"), found
                copied[found.arch] += 1
    assert {*copied} == {"sm90", "rdna3", "xe"}


COPIES = [a for a in atoms(kind=CopyAtom) if "Auto" not in a.name and a.name != "DefaultCopy"]


def test_what_a_copy_reads_it_writes():
    maps = {(found.thr_id, found.src, found.dst): found for found in COPIES if "UTCCP" not in found.name}
    for found in maps.values():
        if max(map(int, oracle.leaves(found.src.shape))) > 5000:
            continue
        threads = int(oracle.size(found.thr_id.shape))
        reads, writes = (np.bincount(places(x, threads).ravel()) > 0 for x in (found.src, found.dst))
        assert np.array_equal(reads, writes), found


def test_names_are_found_as_the_vendors_write_them():
    assert len([x for x in names() if x.startswith(("SM90_64x", "GMMA_64x"))]) == 2 * 1056
    assert atom("SM90::GMMA::MMA_64x8x16_F16F16F16_SS<GMMA::Major::MN, GMMA::Major::K>").frg_A == "smem_desc<MN>"
    assert atom("SM90_64x64x16_F32F16F16_SS")[MN, K].major_A is MN
    assert atom("cute::UniversalCopy<cute::uint128_t>{}").src == atom("UniversalCopy<uint128_t>").src
    assert atom("SM80_CP_ASYNC_CACHEALWAYS<double>").instruction == "cp.async.ca.shared.global"
    assert {a.arch for a in atoms(a=half)} >= {
        "sm70",
        "sm75",
        "sm80",
        "sm90",
        "sm100",
        "cdna1",
        "cdna3",
        "rdna3",
        "rdna4",
        "xe",
    }
    assert atom("v_mfma_f32_16x16x2bf16", "cdna1").blocks == 4


REFUSED = {
    "SM80_16x8x17_F32F16F16F32_TN": "did you mean SM80_16x8x1",
    "SM80_16x8x99": "did you mean SM80_16x8x",
    "SM90_TMA_LOAD": "make_tma_copy",
    "SM80_16x8x16_F32F16F16F32_TN<4>": "no template arguments|brackets",
    "SM100_MMA_F16BF16_SS<half_t,half_t,float,100,256,UMMA::Major::K,UMMA::Major::K>": "64, 128",
    "SM100_MMA_S8_SS<int8_t,int8_t,int32_t,128,40,UMMA::Major::K,UMMA::Major::K>": "take 32",
    "SM100_MMA_S8_2x1SM_SS<int8_t,int8_t,int32_t,256,48,UMMA::Major::K,UMMA::Major::K>": "32, 64, ..., 256",
    "SM100_MMA_F16BF16_SS<half_t,bfloat16_t,float,128,256,UMMA::Major::K,UMMA::Major::K>": "one type of A and B",
    "SM100_MMA_F16BF16_SS<float,float,float,128,256,UMMA::Major::K,UMMA::Major::K>": "half",
    "SM100_MMA_F16BF16_TS<half_t,half_t,float,128,256,UMMA::Major::MN,UMMA::Major::K>": "MN-major",
    "SM100_MMA_MXF4_SS<float_e2m1_t,float_e2m1_t,float,float_ue4m3_t,128,64,32,UMMA::Major::K,UMMA::Major::K>": "the vector of .* of 32",
    "SM100_MMA_MXF8F6F4_SS<float_e4m3_t,float_e4m3_t,float,float_ue8m0_t,64,64,UMMA::Major::K,UMMA::Major::K>": "M of .* of 64\n  expected  128",
    "SM80_CP_ASYNC_CACHEGLOBAL<float>": "128 bits",
    "SM90_64x64x32_F32E4M3E4M3_SS_TN<GMMA::Major::MN,GMMA::Major::K>": "16-bit",
    "XE_DPAS_TT<3,float,half_t,half_t,float>": "1, 2, 4, 8",
    "__import__('os')": "no name of an instruction",
    "UniversalCopy<half_t,float>": "one width",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_what_there_is_not_is_refused(text, message):
    with pytest.raises(TlaError, match=message):
        atom(text)


#: A template of tcgen05.mma up to N, the major of B -> every N that the static_asserts of
#: CuTe's mma_sm100_umma.hpp take.
COLUMNS = {
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,128", "K"): range(8, 257, 8),
    ("SM100_MMA_F16BF16_TS<half_t,half_t,float,64", "K"): range(8, 257, 8),
    ("SM100_MMA_F16BF16_TS<half_t,half_t,float,128", "K"): range(16, 257, 16),
    ("SM100_MMA_TF32_2x1SM_SS<tfloat32_t,tfloat32_t,float,128", "K"): range(16, 257, 16),
    ("SM100_MMA_TF32_2x1SM_TS<tfloat32_t,tfloat32_t,float,256", "K"): range(32, 257, 32),
    ("SM100_MMA_S8_SS<int8_t,int8_t,int32_t,64", "K"): [8, *range(16, 257, 16)],
    ("SM100_MMA_S8_2x1SM_SS<int8_t,int8_t,int32_t,128", "K"): range(32, 257, 32),
    ("SM100_MMA_F8F6F4_SS<float_e4m3_t,float_e4m3_t,float,64", "K"): range(8, 257, 8),
    ("SM100_MMA_F8F6F4_SS<float_e4m3_t,float_e4m3_t,float,64", "MN"): range(16, 257, 16),
    ("SM100_MMA_F8F6F4_SS_SPARSE<float_e4m3_t,float_e4m3_t,float,128", "K"): range(16, 257, 16),
    ("SM100_MMA_F8F6F4_2x1SM_SS_SPARSE<float_e4m3_t,float_e4m3_t,float,256", "K"): range(32, 257, 32),
    ("SM100_MMA_MXF8F6F4_SS<float_e4m3_t,float_e4m3_t,float,float_ue8m0_t,128", "MN"): range(8, 257, 8),
    ("SM103::SM103_MXF4_ULTRA_SS_VS<float_e2m1_t,float_e2m1_t,float,float_ue8m0_t,128", "K"): range(16, 257, 16),
}


@pytest.mark.parametrize(("template", "major"), COLUMNS)
def test_the_columns_of_tcgen05(template, major):
    vector = ",32" if "MXF4" in template else ""
    for n in range(0, 273, 4):
        text = f"{template},{n}{vector},UMMA::Major::K,UMMA::Major::{major}>"
        if n in COLUMNS[template, major]:
            assert atom(text).shape_mnk[1] == n
        else:
            with pytest.raises(TlaError, match=f"N of .* of {n}\n"):
                atom(text)


def test_an_atom_of_another_architecture_is_refused():
    with pytest.raises(TlaError, match="its own architecture, 'sm80'"):
        atom("SM80_16x8x16_F32F16F16F32_TN", "sm90")
    with pytest.raises(TlaError, match="write 'sm80'"):
        atoms(arch="sm81")
    with pytest.raises(TlaError, match="cdna1/64"):
        atom("v_mfma_f32_16x16x2bf16", "rdna3")
