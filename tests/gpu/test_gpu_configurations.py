"""Tiled MMAs and copies as CuTe prints them, retiled as CuTe retiles them, and refused when they are made, with a fix
that works."""

import random
import re

import numpy as np
import pytest

from tla import MakeTensor, TlaError, _, dim, get, get_flat_coord, gpu, make_fragment_like, make_identity_tensor, parse
from tla.gpu import (
    Copy_Atom,
    MMAAtom,
    SM75_8x8x16_S32S8S8S32_TN,
    SM75_U32x4_LDSM_N,
    SM80_16x8x8_F32TF32TF32F32_TN,
    SM80_16x8x16_F32F16F16F32_TN,
    SM90_64x64x16_F32F16F16_SS,
    SM90_64x256x16_F32F16F16_SS,
    SM90_U32x1_STSM_N,
    SM90_U32x2_STSM_N,
    SM90_U32x4_STSM_N,
    UniversalCopy,
    atom,
    atoms,
    create_tma_multicast_mask,
    half,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_C_atom,
    make_tiled_copy_S,
    make_tiled_mma,
    tma_transaction_bytes,
    uint32,
    uint128,
    values_of,
)

import gpu_truth as truth
from batches import in_batches
from night import amount

CUTE = truth.rows("cute_tiled")
MMA = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
COPY = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (32, 8), (8, 1))
STSM, STSM_2 = (Copy_Atom[x, half] for x in (SM90_U32x4_STSM_N, SM90_U32x2_STSM_N))
WG, WG_256 = make_tiled_mma(SM90_64x64x16_F32F16F16_SS), make_tiled_mma(SM90_64x256x16_F32F16F16_SS, (2, 1, 1))
#: By the names that /tests/data/gpu/cute_tiled.json has for them.
NAMED = {
    "mma": MMA,
    "plain": make_tiled_mma(atom("SM70_8x8x4_F32F16F16F32_NT")),
    "perm": make_tiled_mma(
        SM80_16x8x8_F32TF32TF32F32_TN, parse("(_2,_2,_1):(_2,_1,_4)"), (_, parse("(_8,_2,_2):(_1,_16,_8)"), _)
    ),
    "wgmma": make_tiled_mma(SM90_64x64x16_F32F16F16_SS, (2, 1, 1)),
    "thr": MMA[33],
    "atom": SM75_8x8x16_S32S8S8S32_TN,
    "copy": COPY,
    "ldsm": make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], MMA),
    "thrcopy": COPY[5],
    "copyatom": STSM,
    "r2s": make_tiled_copy_S(STSM, make_tiled_copy_C_atom(STSM, WG)),
    "r2s2": make_tiled_copy_S(STSM, make_tiled_copy_C_atom(STSM, WG_256)),
    "r2s3": make_tiled_copy_S(STSM_2, make_tiled_copy_C_atom(STSM_2, WG_256)),
    "cu": make_tiled_copy_C_atom(Copy_Atom[UniversalCopy[uint32], half], MMA),
    "cA": make_tiled_copy_C_atom(Copy_Atom[SM90_U32x1_STSM_N, half], MMA),
}


@pytest.mark.parametrize("name", CUTE["prints"])
def test_prints_are_cutes(name):
    assert str(NAMED[name]).splitlines() == CUTE["prints"][name]
    assert "\n" not in repr(NAMED[name])


def test_messages_have_one_line_for_a_value():
    with pytest.raises(TlaError, match=r"make_tiled_copy_S of make_tiled_mma\(SM80") as refused:
        make_tiled_copy_S(STSM, MMA)
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize(("name", "layout", "wanted"), CUTE["retiles"])
def test_retiles_are_cutes(name, layout, wanted):
    assert str(NAMED[name].retile(parse(layout))) == wanted


@pytest.mark.parametrize(("copy", "mma"), [("r2s", WG), ("r2s2", WG_256), ("r2s3", WG_256)])
def test_a_retiled_accumulator_is_what_the_copy_stores(copy, mma):
    """Each of its atoms, of all threads, is the tile of a rest coordinate of the copy's own partition; each tile
    is one of them."""
    threads = np.arange(mma.threads)
    places = mma[threads].partition_C(make_identity_tensor(tuple(map(int, mma.tile_size[:2]))))
    own = values_of(NAMED[copy][threads].partition_S(make_identity_tensor(tuple(map(int, mma.tile_size[:2])))))
    tiles = np.stack(own, -1).reshape(mma.threads, own[0].shape[1], -1, 2)
    values = np.stack(values_of(places), -1).reshape(mma.threads, -1, 2)
    retiled = NAMED[copy].retile(parse(f"(_{values.shape[1]},_1,_1):(_1,_0,_0)"))
    atoms_of = [[retiled((v, i), 0, 0) for v in range(tiles.shape[1])] for i in range(int(get[0, 1](retiled.shape)))]
    found = []
    for some in atoms_of:
        same = [i for i in range(tiles.shape[2]) if (tiles[:, :, i] == values[:, some]).all()]
        assert len(same) == 1
        found += same
    assert sorted(found) == [*range(tiles.shape[2])]


def test_what_cannot_be_retiled_is_refused():
    with pytest.raises(TlaError, match="a first mode of _12 values") as refused:
        NAMED["r2s"].retile(parse("(_12,_1,_1):(_1,_0,_0)"))
    assert "use a copy whose threads have _12 values" in str(refused.value)


TF8 = atom("SM89_16x8x32_F16E4M3E4M3F16_TN")
LATE = [
    (TF8, parse("(_3,_2,_1):(_1,_3,_6)"), (parse("(_3,_8,_4):(_4,_12,_1)"), _, _)),
    (atom("SM90_64x192x32_F16E4M3E4M3_RS_TN"), None, (_, parse("(_4,_3,_2,_8):(_8,_64,_32,_1)"), _)),
    (TF8, parse("(_3,_3,_1):(_1,_3,_0)"), (parse("(_3,_16):(_1,_3)"), parse("(_3,_8):(_8,_1)"), 32)),
    (atom("SM70_8x8x4_F32F16F16F32_TN"), parse("(_2,_3,_1):(_3,_1,_0)"), None),
    (atom("SM70_8x8x4_F32F16F16F32_TN"), parse("(_5,_3,_1):(_3,_1,_0)"), None),
]


@pytest.mark.parametrize(("found", "threads", "permutations"), LATE, ids=range(len(LATE)))
def test_a_tiled_mma_that_has_no_layouts_is_refused_when_it_is_made(found, threads, permutations):
    with pytest.raises(TlaError) as refused:
        make_tiled_mma(found, threads, permutations)
    kind, fix = re.search(r"fix +(take|write) (\(.*?\))(?:, which|$)", str(refused.value), re.MULTILINE).groups()
    works = (
        make_tiled_mma(found, fixed(fix), permutations)
        if kind == "take"
        else make_tiled_mma(found, threads, truth.tile(fix))
    )
    assert all((works.A_TV, works.B_TV, works.C_TV))


def fixed(text):
    return tuple(int(n) for n in text.strip("()").split(","))


def test_a_tiled_copy_that_has_no_layouts_is_refused_when_it_is_made():
    threads, values = parse("(_32,_3):(_3,_1)"), parse("(_8,_1):(_1,_0)")
    with pytest.raises(TlaError, match="of which an atom takes _32"):
        make_tiled_copy(Copy_Atom[SM75_U32x4_LDSM_N, half], threads, values)
    assert make_tiled_copy(Copy_Atom[SM75_U32x4_LDSM_N, half], parse("(_32,_3):(_1,_32)"), values).S_TV
    with pytest.raises(TlaError, match="an atom of 1 values"):
        make_tiled_copy(Copy_Atom[UniversalCopy[uint32], half], (8, 3), parse("(_3,_8):(_1,_3)"))
    assert make_tiled_copy(Copy_Atom[UniversalCopy[half], half], (8, 3), parse("(_3,_8):(_1,_3)")).S_TV
    assert make_tiled_copy(Copy_Atom[UniversalCopy[uint32], half], (8, 3), parse("(_3,_8):(_8,_1)")).S_TV


def some_layout(rng, extents):
    """A compact layout of these extents in any order."""
    order, strides, step = rng.sample(range(len(extents)), len(extents)), [0] * len(extents), 1
    for i in order:
        strides[i], step = step, step * extents[i]
    return parse(
        "({},):({},)".format(",".join(f"_{n}" for n in extents), ",".join(f"_{d}" for d in strides)).replace(",)", ")")
    )


def factors(rng, n):
    while n > 1:
        f = rng.choice([d for d in range(2, n + 1) if n % d == 0])
        yield f
        n //= f


def test_what_is_made_has_its_layouts():
    """Random configurations, threes among them: refused when they are made, or with every layout."""
    rng, known = (
        random.Random(7),
        [a for a in atoms(kind=MMAAtom) if a.wave != 128 and a.arch in ("sm61", "sm70", "sm75", "sm80", "cdna3")],
    )
    made = refused = 0
    count = amount(60, 400)
    for _i in range(count):
        found, threads = rng.choice(known), some_layout(rng, [rng.choice((1, 1, 2, 3)) for _mode in range(3)])
        covered = [int(s) * int(n) * rng.choice((1, 2)) for s, n in zip(found.shape_mnk, threads.shape)]
        tiles = [rng.choice((_, n, some_layout(rng, [*factors(rng, n)] or [1]))) for n in covered]
        try:
            mma = make_tiled_mma(found, threads, tuple(tiles))
        except TlaError as error:
            assert "make_tiled_mma" in str(error)
            refused += 1
            continue
        made += 1
        for name, (i, j) in {"A": (0, 2), "B": (1, 2), "C": (0, 1)}.items():
            tile = make_identity_tensor(
                (mma.tile_size[i], mma.tile_size[j], *([found.blocks] if found.blocks > 1 else []))
            )
            assert mma[0].partition(name, tile).shape
            assert getattr(mma, f"{name}_TV")
    assert (made > 0.75 * count, refused > 0.02 * count) == (True, True)


@pytest.mark.parametrize(("threads", "tensor", "wanted"), CUTE["rank1"])
def test_parts_of_tensors_of_one_mode_keep_its_level(threads, tensor, wanted):
    tiled = make_tiled_copy(Copy_Atom[UniversalCopy[gpu.float], gpu.float], parse(threads.join(("(", "):(_1)"))))
    assert str(tiled[5].partition_D(parse(tensor)).layout) == wanted


MODES = ((1,), (2,), (0, 1), (0, 2), (3,), (0, 1, 2))


@in_batches(CUTE["multicast"])
def test_multicast_masks_are_cutes(row):
    """Of every CTA of six clusters, along M, N, K and pairs of them; and by `_` in the coordinate."""
    layout, index, *masks = row
    ctas = parse(layout)
    own = ctas.get_flat_coord(int(index))
    assert own == get_flat_coord(ctas, int(index))
    for modes, mask in zip(MODES, masks):
        assert create_tma_multicast_mask[modes](ctas, own) == mask
        assert create_tma_multicast_mask(ctas, tuple(_ if i in modes else c for i, c in enumerate(own))) == mask


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: create_tma_multicast_mask[1](parse("(_4,_8):(_1,_4)"), (0, 0)), "at most 16 CTAs"),
        (lambda: create_tma_multicast_mask[2](parse("(_4,_2):(_1,_4)"), (0, 0)), "replace[2, 3] of (0,0)"),
        (lambda: create_tma_multicast_mask[0](parse("(_4,_2):(_1,_4)"), (0, dim("n", at_most=1))), "write a number"),
        (lambda: tma_transaction_bytes(), "tma_transaction_bytes(tAsA, tBsB)"),
        (lambda: tma_transaction_bytes(parse("(_4,_8):(_8,_1)")), "element=half"),
        (lambda: tma_transaction_bytes(parse("(_3,_5):(_5,_1)"), element=gpu.int4b), "whole bytes"),
        (lambda: tma_transaction_bytes(parse("(M,_8):(_8,_1)", symbols=[dim("M")]), element=half), "a known integer"),
    ],
)
def test_clusters_that_there_are_not_are_refused(make, message):
    with pytest.raises(TlaError) as refused:
        make()
    assert message in str(refused.value)


def test_transaction_bytes():
    a, b = parse("Sw<3,4,3> o _0 o (_128,_64):(_64,_1)"), MakeTensor(np.zeros((256, 64), np.float16))
    assert tma_transaction_bytes(a, b, element=half, ctas=2) == 2 * 2 * 64 * (128 + 256)
    assert tma_transaction_bytes(b) == 2 * 64 * 256


def test_fragments_like_a_part_of_all_threads():
    """Registers for each of them, with predicates too; of one thread its own."""
    threads = np.arange(256)
    part = COPY[threads].partition_S(MakeTensor(np.arange(256 * 16, dtype=np.float16).reshape(16, 256).T))
    registers = make_fragment_like(part)
    assert (registers.shape, registers.data.size) == (part.shape, 256 * 16)
    gpu.copy(COPY, part, registers)
    assert (values_of(registers) == values_of(part)).all()
    predicates = make_fragment_like[bool](COPY[threads].partition_S(make_identity_tensor((256, 16))))
    assert values_of(predicates).shape == values_of(part).shape
    swizzled = COPY[threads].partition_S(
        MakeTensor(np.zeros(4096, np.float16), parse("Sw<3,3,3> o _0 o (_256,_16):(_16,_1)"))
    )
    assert make_fragment_like(swizzled).data.size == 256 * 16
    assert make_fragment_like(COPY[3].partition_S(MakeTensor(np.zeros((256, 16))))).data.size == 16
