"""Every atom multiplied, by the fragments of its threads, against what its vendor's name says:
tests/support/instructions.py."""

import functools
import itertools

import instructions
import numpy as np
import pytest

from tla import Layout, MakeTensor, TlaError
from tla.gpu import MMAAtom, atom, atoms, compress, gemm, make_tiled_mma
from tla.gpu.instructions.elements import CODES
from tla.gpu.run.arithmetic import _integers
from tla.gpu.tiled.fragments import numpy_type

import operands
from batches import in_batches
from night import NIGHT

K_K = "UMMA::Major::K,UMMA::Major::K"
SIGNS = [(x, y) for x, y in itertools.product(("ScaleIn::One", "ScaleIn::Neg"), repeat=2) if "Neg" in x + y]
BYTES = [*itertools.product(("int8_t", "uint8_t"), repeat=2)]


def with_arguments():
    """Names with arguments that say what is computed: signs, saturation, a scaled C, types."""
    for found in atoms(arch="sm90", kind=MMAAtom):
        if found.wave == 128 and found.shape_mnk[1] == 8 and found.val_D.name != "int32":
            majors = ["GMMA::Major::K"] * 2 if found.val_A.bits == 16 else []
            yield from (f"{found.name}<{','.join([*majors, *(f'GMMA::{x}' for x in signs)])}>" for signs in SIGNS)
    for (kind, t), form, signs in itertools.product(
        (("F16BF16", "half_t"), ("TF32", "tfloat32_t"), ("F8F6F4", "float_e5m2_t")), ("SS", "TS", "SS_SPARSE"), SIGNS
    ):
        yield f"SM100_MMA_{kind}_{form}<{t},{t},float,128,64,{K_K},{','.join(f'UMMA::{x}' for x in signs)}>"
    for (kind, t), n in itertools.product((("F16BF16", "bfloat16_t"), ("TF32", "float")), (1, 3, 15)):
        yield f"SM100_MMA_{kind}_SS_SCALED<{t},{t},float,64,8,{K_K},{n}>"
    one = ",UMMA::ScaleIn::One,UMMA::ScaleIn::One"
    for (form, signs), (a, b), saturate in itertools.product(
        (("SS", ""), ("TS", one), ("SS_SPARSE", "")), BYTES, ("True", "False")
    ):
        yield f"SM100_MMA_S8_{form}<{a},{b},int32_t,64,16,{K_K}{signs},UMMA::Saturate::{saturate}>"
    for form, d, a, b in itertools.product(
        ("TT", "NN"), ("int32_t", "uint32_t"), ("int8_t", "uint4_t"), ("uint8_t", "int4_t")
    ):
        yield f"XE_DPAS_{form}<4,{d},{a},{b},{d}>"
    yield from (
        f"UniversalFMA<{t}>"
        for t in ("float,half_t,half_t,float", "int32_t,int8_t,uint8_t,int32_t", "double", "half_t")
    )


def with_modifiers():
    shapes = ((16, 8, "rdna3"), (16, 4, "rdna3/64"), (32, 4, "rdna4"))
    for (k, bits, arch), x, y, clamp in itertools.product(shapes, (0, 1), (0, 1), ("", " clamp")):
        yield atom(f"v_wmma_i32_16x16x{k}_iu{bits} neg_lo:[{x},{y},0]{clamp}", arch)


VARIANTS = [*map(atom, with_arguments()), *with_modifiers()]
ATOMS = [*atoms(kind=MMAAtom), *VARIANTS]


def one_of_each_meaning():
    """The smallest tile of each: M and N change nothing of what is computed, and test_gpu_atoms.py has the threads of
    every tile."""
    found = {}
    for x in sorted(ATOMS, key=lambda x: x.shape_mnk[0] * x.shape_mnk[1]):
        said = instructions.meaning(x.name, x.arch)
        found.setdefault((x.arch, x.wave, said._replace(shape=said.shape[2])), x)
    return [*found.values()]


def test_every_name_is_read():
    """And its shape and types are the atom's."""
    ours = {"complex128": "c64", "gauss_complex128": "c64", "complex_tf32": "ctf32", "float": "f32", "uint32": "u32"}
    ours |= {t.name: x.lower().replace("u1", "b1") for x, t in CODES.items() if t.name not in ours}
    ours |= {"fp8_e4m3fnuz": "e4m3fnuz", "fp8_e5m2fnuz": "e5m2fnuz"}
    for found in ATOMS:
        said = instructions.meaning(found.name, found.arch)
        types = [ours[found.element(side).name] for side in "ABCD"]
        types = ["tf32" if found.kind == "tf32" and t == "f32" and i < 2 else t for i, t in enumerate(types)]
        assert (said.shape, [said.a, said.b, said.c, said.d]) == (tuple(found.shape_mnk), types), found
        assert (said.sparse, said.vector) == (found.sparsity is not None, found.sf_vec or 0), found


def operand(rng, kind, shape):
    """Numbers of a type: of integers any, of floats those whose sums have few bits."""
    if kind in instructions.INTEGERS:
        low, high = instructions.INTEGERS[kind]
        return rng.integers(low, high + 1, shape)
    if kind in ("c64", "ctf32"):
        return rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)
    few = np.arange(-8, 9) / 4
    return rng.choice(few if kind == "f64" or kind == "f32" else few[np.isin(few, instructions.numbers(kind))], shape)


def accumulators(rng, said, shape):
    """C: of integers also at the ends, so that sums pass them."""
    if said.d in instructions.INTEGERS:
        low, high = instructions.INTEGERS[said.d]
        near = rng.integers(0, 40 * said.shape[2], shape)
        return rng.choice([low, 0, high - 40 * said.shape[2]], shape).astype(np.int64) + near
    return operand(rng, said.d if said.d == "c64" else "f64", shape) * 2**said.shift_c


def over(rows, k, vector):
    """Scale factors over the coordinates of the elements: one for each `vector` of a row."""
    return MakeTensor(
        np.zeros(rows * k // vector, np.float32), Layout((rows, (vector, k // vector)), (k // vector, (0, 1)))
    )


@functools.cache
def buffers(found, steps):
    """Tensors of the operands, and their parts; atoms of one map and of the same types of numpy share them."""
    mma, (m, n, k), blocks = (
        make_tiled_mma(found),
        map(int, found.shape_mnk),
        (found.blocks,) if found.blocks > 1 else (),
    )
    own, k = mma[np.arange(1 + max(mma.thr_layout_vmnk(i) for i in range(mma.threads)))], k * steps
    a, b, c = ((*x, *blocks) for x in ((m, k), (n, k), (m, n)))
    a, b, c = (np.zeros(shape, numpy_type(found.element(side))) for shape, side in zip((a, b, c), "ABC"))
    whole = {"A": operands.operand(found, "A", a), "B": operands.operand(found, "B", b), "C": MakeTensor(c)}
    if found.sparsity:
        whole["A"], whole["E"] = whole["A"]
    if found.val_SF:
        whole |= {"SFA": over(m, k, found.sf_vec), "SFB": over(n, k, found.sf_vec)}
    return whole, {name: own.partition(name, t) for name, t in whole.items()}


@functools.cache
def like(*_map_and_types):
    """The first atom that was asked for with this map."""
    return []


def of_one_map(found):
    key = (
        found.shape_mnk,
        found.A,
        found.B,
        found.C,
        found.E,
        found.SFA,
        found.SFB,
        found.sf_vec,
        found.sparsity,
        found.blocks,
    )
    key += (
        found.major_A,
        found.major_B,
        found.memory("A"),
        found.element("A").bits,
        found.element("B").bits,
        found.kind,
    )
    shared = like(str(key), *(numpy_type(found.element(side)) for side in "ABC"))
    shared.append(found)
    return shared[0]


def checked(found, seed=0, steps=1):
    """Multiply by fragments, `steps` instructions along K, and by the name; each element has to be the same."""
    said, rng = instructions.meaning(found.name, found.arch), np.random.default_rng(seed)
    (whole, parts), (m, n, k) = buffers(of_one_map(found), steps), said.shape
    blocks = (found.blocks,) if found.blocks > 1 else ()
    a, b = (operand(rng, kind, (rows, k * steps, *blocks)) for kind, rows in ((said.a, m), (said.b, n)))
    c, factors = accumulators(rng, said, (m, n, *blocks)), [1, 1]
    if said.sparse:
        a = instructions.pruned(said, a, rng)
        stored = compress(found, a.astype(whole["A"].dtype))
        assert (instructions.expanded(said, *(t.data.reshape(m, -1) for t in stored)) == a).all()
    for i, side in enumerate(("SFA", "SFB") if said.vector else ()):
        known = instructions.numbers("ue4m3" if found.val_SF.name == "fp8_ue4m3" else "ue8m0")
        chosen = rng.choice(known[(known >= 0.25) & (known <= 2)], ((m, n)[i], k * steps // said.vector))
        whole[side].data[:], factors[i] = chosen.ravel(), chosen.repeat(said.vector, 1)
    if said.sparse:
        whole["E"].data[:] = stored[1].data
    for name, x in zip("ABC", (stored[0].data.reshape(m, -1) if said.sparse else a, b, c)):
        whole[name].data[
            operands.places(found, name, x.shape) if name in "AB" else np.arange(x.size).reshape(x.shape)
        ] = x
    wanted, left, right = c, a * factors[0], b * factors[1]
    for i in range(0, k * steps, k):
        wanted = instructions.multiplied(said, left[:, i : i + k], right[:, i : i + k], wanted)
    given = [[parts[name] for name in names if name in parts] for names in (("A", "E", "SFA"), ("B", "SFB"))]
    gemm(make_tiled_mma(found), *(x[0] if len(x) == 1 else x for x in given), parts["C"])
    assert (whole["C"].data.reshape(c.shape) == wanted).all(), found.name


@in_batches(ATOMS if NIGHT else one_of_each_meaning()[::6], 40)
def test_every_atom_computes_what_its_name_says(found):
    """By night each with every width; by day one of each sixth meaning."""
    checked(found)


def by(name, a, b, c):
    """C after gemm by an atom of one warp, of arrays as they are."""
    mma = make_tiled_mma(atom(name))
    own = mma[np.arange(mma.threads)]
    gemm(mma, *(own.partition(side, MakeTensor(x)) for side, x in zip("ABC", (a, b, c))))
    return c


SATURATED = [a for a in ATOMS if a.arithmetic.saturate and a.shape_mnk[1] <= 16]


@in_batches(SATURATED, 40)
def test_sums_stop_at_the_ends_at_each_instruction(found):
    """Three along K, one after the other: what is clamped by the first comes back from there by the second."""
    checked(found, seed=1, steps=1 if found.sparsity else 3)


def test_a_sum_that_was_clamped_comes_back_from_the_end():
    a, b = np.ones((16, 64), np.int8), np.full((8, 64), 127, np.int8)
    b[:, 32:] = -1
    c = np.full((16, 8), 2**31 - 5, np.int32)
    assert (by("SM80_16x8x32_S32S8S8S32_TN_SATURATE", a, b, c.copy()) == 2**31 - 1 - 32).all()
    assert (by("SM80_16x8x32_S32S8S8S32_TN", a, b, c) == 2**31 - 5 + 32 * 127 - 32 - 2**32).all()


@pytest.mark.parametrize(("dtype", "total"), [("int64", 2**40), ("int64", 2**63 - 1 - 16 * 32)])
def test_wider_accumulators_hold_the_sum(dtype, total):
    a, b = np.full((16, 32), 4, np.int8), np.full((8, 32), 4, np.int8)
    assert (by("SM80_16x8x32_S32S8S8S32_TN", a, b, np.full((16, 8), total, dtype)) == total + 16 * 32).all()


def test_accumulators_that_do_not_hold_the_sum_are_refused():
    a, b = np.full((16, 32), 4, np.int8), np.full((8, 32), 4, np.int8)
    c = np.full((16, 8), 2**63 - 16 * 32, np.int64)
    with pytest.raises(TlaError, match=r"sums from 9223372036854775808 to .* in int64"):
        by("SM80_16x8x32_S32S8S8S32_TN", a, b, c)
    assert (c == 2**63 - 16 * 32).all()
    with pytest.raises(TlaError, match="D of int64\n  expected  int32, at whose ends its sums stop"):
        by("SM80_16x8x32_S32S8S8S32_TN_SATURATE", a, b, np.zeros((16, 8), np.int64))


def test_floats_are_rounded_to_d_at_each_instruction():
    """2048 + 1 is 2048 in float16, and so it is again at the next; at once it would be 2050. Past the largest
    number is infinity."""
    a, b, c = np.zeros((16, 32), np.float16), np.ones((8, 32), np.float16), np.full((16, 8), 2048, np.float16)
    a[:, ::16] = 1
    assert (by("SM80_16x8x16_F16F16F16F16_TN", a, b, c) == 2048).all()
    assert (by("SM80_16x8x16_F16F16F16F16_TN", a, b, c.astype(np.float32)) == 2050).all()
    assert np.isinf(by("SM80_16x8x16_F16F16F16F16_TN", a + np.float16(1), b, np.full((16, 8), 65504, np.float16))).all()


NARROW = {"E4M3": "e4m3", "E5M2": "e5m2"}


@pytest.mark.parametrize(("x", "y"), [*itertools.product(NARROW, repeat=2)])
def test_every_pair_of_numbers_of_eight_bits(x, y):
    """Each product alone: a row of A and a column of B have one number."""
    left, right = (np.zeros((256, 32), np.float32) for _ in range(2))
    for array, kind in ((left, x), (right, y)):
        found = instructions.numbers(NARROW[kind])
        array[: found.size, 0] = found
    c = by(f"SM89_16x8x32_F32{x}{y}F32_TN", left, right, np.zeros((256, 256), np.float32))
    assert (c == np.outer(left[:, 0], right[:, 0])).all()


def test_scale_factors_past_what_an_element_type_holds():
    """Products are made in a wider type: 448 * 2**127 is past float32, times 2**-127 it is 448 again."""
    mma = make_tiled_mma(
        atom("SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t,float_e4m3_t,float,float_ue8m0_t,32>")
    )
    own, c = mma[np.arange(32)], np.zeros((16, 8), np.float32)
    a, b = np.zeros((16, 32), np.float32), np.zeros((8, 32), np.float32)
    a[:, 3], b[:, 3] = 448, 1
    sfa, sfb = (
        MakeTensor(np.full(rows, 2.0**n, np.float32), Layout((rows, 32), (1, 0))) for rows, n in ((16, 127), (8, -127))
    )
    parts = [
        (own.partition(x, MakeTensor(t)), own.partition(f"SF{x}", s)) for x, t, s in (("A", a, sfa), ("B", b, sfb))
    ]
    gemm(mma, *parts, own.partition_C(MakeTensor(c)))
    assert (c == 448).all()


def test_types_of_ml_dtypes():
    """bfloat16 and float8 themselves, scales of float8_e8m0fnu, an accumulator of bfloat16."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng, m = np.random.default_rng(0), ml_dtypes
    a, b = (rng.integers(-2, 3, (rows, 16)).astype(m.bfloat16) for rows in (16, 8))
    wanted = a.astype(int) @ b.astype(int).T
    assert (by("SM80_16x8x16_F32BF16BF16F32_TN", a, b, np.zeros((16, 8), np.float32)) == wanted).all()
    total = MakeTensor(np.zeros((16, 16), m.bfloat16))
    wmma = make_tiled_mma(atom("v_wmma_bf16_16x16x16_bf16", "rdna4"))
    own = wmma[np.arange(32)]
    gemm(
        wmma,
        own.partition_A(MakeTensor(a)),
        own.partition_B(MakeTensor(np.concatenate([b, b]))),
        own.partition_C(total),
    )
    assert (np.asarray(total).astype(int) == np.tile(wanted, 2)).all()
    mma = make_tiled_mma(
        atom("SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t,float_e4m3_t,float,float_ue8m0_t,32>")
    )
    own, c = mma[np.arange(32)], np.zeros((16, 8), np.float32)
    a, b = (rng.integers(-2, 3, (rows, 32)).astype(m.float8_e4m3fn) for rows in (16, 8))
    sfa, sfb = (MakeTensor(np.full(rows, 4, m.float8_e8m0fnu), Layout((rows, 32), (1, 0))) for rows in (16, 8))
    parts = [
        (own.partition(x, MakeTensor(t)), own.partition(f"SF{x}", s)) for x, t, s in (("A", a, sfa), ("B", b, sfb))
    ]
    gemm(mma, *parts, own.partition_C(MakeTensor(c)))
    assert (c == 16 * (a.astype(int) @ b.astype(int).T)).all()


@pytest.mark.parametrize(("sum_", "fits"), [(-128, True), (127, True), (-129, False), (128, False)])
def test_sums_up_to_the_ends_of_an_accumulator_of_another_type(sum_, fits):
    """Of an accumulator that is not the atom's own: its ends are held, what is past them is refused."""
    found = atom("SM80_16x8x32_S32S8S8S32_TN")
    one, total = np.ones((1, 1), np.int64), np.zeros((1, 1), np.int64)
    if fits:
        assert _integers(found, one * sum_, one, total, np.dtype(np.int8)) == sum_
    else:
        with pytest.raises(TlaError, match=f"{sum_} in int8"):
            _integers(found, one * sum_, one, total, np.dtype(np.int8))
