"""The tables of instructions: names of CUTLASS today, template arguments by name, modifiers of AMD's, CDNA 4."""

import builtins
import itertools
import pickle

import pytest

from tla import TlaError, gpu
from tla.gpu import (
    MN,
    Family,
    K,
    ScaleIn,
    atom,
    atoms,
    bf16,
    float,
    fp4_e2m1,
    fp8_e4m3,
    half,
    int4b,
    int8,
    uint4,
    uint8,
)
from tla.gpu.instructions.arithmetic import PARTS
from tla.gpu.instructions.names import entry

import gpu_truth as truth
from places import DOCS

HEAD = truth.rows("cutlass_head")


def test_every_struct_of_cutlass_is_known():
    """All but those of TMA and bulk copies, which make_tma_copy makes; every N of wgmma is in test_gpu_atoms.py."""
    assert len(HEAD["structs"]) == 332
    assert [name for name in HEAD["structs"] if entry(name) is None] == []


@pytest.mark.parametrize("row", HEAD["rows"], ids=lambda row: row["op"])
def test_the_structs_that_cutlass_added_are_its_headers(row):
    found, names = atom(row["op"]), {"a": "A", "b": "B", "c": "C"}
    for field, theirs in row.items():
        assert field == "op" or str(getattr(found, names.get(field, field))) == theirs


#: The arguments of a template behind its majors -> combine, saturate, negate A, negate B, the shift of C.
ARITHMETIC = {
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::MN,GMMA::Major::K>": ("mul", False, False, False, 0),
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K,GMMA::ScaleIn::One,GMMA::ScaleIn::Neg>": (
        "mul",
        False,
        False,
        True,
        0,
    ),
    "SM90_64x8x8_F32TF32TF32_RS_TN<GMMA::ScaleIn::Neg>": ("mul", False, True, False, 0),
    "SM90_64x32x32_S32U8S8_SS_TN_SATURATE": ("mul", True, False, False, 0),
    "SM90::GMMA::SPARSE::GMMA_64x32x32_F32F16F16_RS<GMMA::Major::K,GMMA::Major::K,GMMA::ScaleIn::Neg,GMMA::ScaleIn::One,"
    "GMMA::SparseSel::One>": ("mul", False, True, False, 0),
    "SM100_MMA_F16BF16_SS<half_t,half_t,float,128,64,UMMA::Major::K,UMMA::Major::K,UMMA::ScaleIn::Neg>": (
        "mul",
        False,
        True,
        False,
        0,
    ),
    "SM100_MMA_S8_TS<int8_t,int8_t,int32_t,128,64,UMMA::Major::K,UMMA::Major::K,UMMA::ScaleIn::One,UMMA::ScaleIn::One,"
    "UMMA::Saturate::True>": ("mul", True, False, False, 0),
    "SM100_MMA_F16BF16_SS_SCALED<half_t,half_t,float,128,64,UMMA::Major::K,UMMA::Major::K,7>": (
        "mul",
        False,
        False,
        False,
        7,
    ),
    "SM100_MMA_TF32_TS_INTERLEAVED_CF32CTF32CTF32CF32_TN<64,8,UMMA::Major::K,UMMA::Major::K>": (
        "parts",
        False,
        False,
        False,
        0,
    ),
    "SM80_16x8x256_S32U1U1S32_TN_XORPOPC": ("xor", False, False, False, 0),
    "SM80_8x8x128_S32U1U1S32_TN_ANDPOPC": ("and", False, False, False, 0),
    "v_wmma_i32_16x16x16_iu8 neg_lo:[0,1,0] clamp": ("mul", True, False, False, 0),
}


@pytest.mark.parametrize(("text", "arithmetic"), ARITHMETIC.items(), ids=ARITHMETIC)
def test_what_a_name_says_is_fields(text, arithmetic):
    found = atom(text)
    assert tuple(found.arithmetic) == arithmetic
    assert pickle.loads(pickle.dumps(found)) == found == atom(found.name, found.arch)


def test_brackets_are_what_angle_brackets_are():
    wgmma, family = atom("SM90_64x64x16_F32F16F16_SS"), entry("SM100_MMA_F16BF16_SS")
    assert wgmma[MN, K, ScaleIn.Neg] == atom(
        "SM90_64x64x16_F32F16F16_SS<GMMA::Major::MN,GMMA::Major::K,GMMA::ScaleIn::Neg>"
    )
    assert wgmma[MN, K][K, K].major_A is K
    text = "SM100_MMA_F16BF16_SS<half_t,half_t,float,128,64,UMMA::Major::K,UMMA::Major::MN>"
    assert isinstance(family, Family)
    assert family[half, half, float, 128, 64, K, MN] == atom(text)
    assert atom("UniversalFMA<half_t>") != (fma := atom("UniversalFMA<half_t,half_t,half_t,half_t>"))
    assert (fma.val_A, fma.val_B, fma.val_C, fma.val_D) == (half,) * 4
    mixed = atom("UniversalFMA<float,half_t>")
    assert (mixed.val_A, mixed.val_B, mixed.val_C, mixed.val_D) == (half, half, float, float)
    assert atom("XE_DPAS_TT<8,float,half_t>").val_C is float
    assert atom("SM90_64x8x8_F32TF32TF32_SS_TN")[K, K].name == "SM90_64x8x8_F32TF32TF32_SS_TN"


REFUSED = {
    "UniversalFMA<float,float,float,float,float>": "1 to 4: D, A, B, C",
    "SM100_MMA_F16BF16_SS<half_t>": "7 to 9: a_type, b_type, c_type, M, N, a_major, b_major, a_neg, b_neg",
    "SM100_MMA_S8_SS<int8_t,int8_t,int32_t,128,64,UMMA::Major::K,UMMA::Major::K,UMMA::ScaleIn::Neg>": "8",
    "SM100_MMA_S8_TS<int8_t,int8_t,int32_t,128,64,UMMA::Major::K,UMMA::Major::K,UMMA::ScaleIn::Neg>": "SM100_MMA_S8_TS that negates",
    "SM100_MMA_F16BF16_TS<half_t,half_t,float,128,64,UMMA::Major::K,UMMA::Major::K,UMMA::ScaleIn::One,UMMA::ScaleIn::One,"
    "UMMA::Saturate::True>": "that saturates",
    "SM100_MMA_TF32_TS_INTERLEAVED_CF32CTF32CTF32CF32_TN<64,8,UMMA::Major::K,UMMA::Major::MN>": "B is MN-major",
    "SM90_64x64x32_S32S8S8_SS_TN<GMMA::ScaleIn::Neg>": "with the argument ScaleIn.Neg",
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K,GMMA::ScaleIn::Twice>": "with the argument 'GMMA::ScaleIn::Twice'",
    "SM90::GMMA::SPARSE::GMMA_64x32x32_F32F16F16_RS<GMMA::SparseSel::Two>": "GMMA::SparseSel::Zero or GMMA::SparseSel::One",
    "SM90_64x64x16_F32F16F16_RS<GMMA::Major::MN,GMMA::Major::K>": "it is in registers",
    "v_wmma_i32_16x16x16_iu8 neg_hi:[1,1,0]": "neg_lo:[1,1,0]",
    "v_mfma_f32_16x16x128_f8f6f4 cbsz:5": "cbsz:4 blgp:4",
    "v_mfma_f32_16x16x4f32 clamp": "it has no template arguments",
    "v_mfma_f32_16x16x17_f16": "did you mean",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_arguments_that_a_template_does_not_take_are_refused(text, message):
    with pytest.raises(TlaError) as refused:
        atom(text)
    assert message in str(refused.value)


def test_waves_are_part_of_the_architecture():
    assert [atom("v_wmma_f32_16x16x16_f16", f"rdna3{wave}").wave for wave in ("", "/32", "/64")] == [32, 32, 64]
    assert {a.wave for a in atoms(arch="rdna4/64")} == {64}
    assert len(atoms(arch="rdna4")) == len(atoms(arch="rdna4/32")) + len(atoms(arch="rdna4/64"))
    with pytest.raises(TlaError, match="'rdna3/32' or 'rdna3/64'"):
        atom("v_wmma_bf16_16x16x16_bf16", "cdna3")
    with pytest.raises(TlaError, match="'rdna3/32' or 'rdna3/64' or 'rdna4/32'"):
        atom("v_wmma_bf16_16x16x16_bf16", "rdna3/16")
    plain = {"v_wmma_i32_16x16x16_iu8": (uint8, int8), "v_wmma_i32_16x16x16_iu4": (uint4, int4b)}
    for (name, types), signs in itertools.product(plain.items(), itertools.product((0, 1), repeat=2)):
        found = atom(f"{name} neg_lo:[{signs[0]},{signs[1]},0]")
        assert (found.val_A, found.val_B) == (types[signs[0]], types[signs[1]])
    assert (atom(name).val_A, atom(name).val_B) == (uint4, uint4)


#: M = N and K of CDNA 4's own instructions -> how many neighbours along K a lane holds at once: Triton's MfmaGroup.cpp,
#: kBase of version 4.
RUNS = {
    "32x32x16_f16": 8,
    "16x16x32_f16": 8,
    "32x32x16_bf16": 8,
    "16x16x32_bf16": 8,
    "32x32x32_i8": 16,
    "16x16x64_i8": 16,
}


@pytest.mark.parametrize("name", RUNS)
def test_operands_of_cdna4(name):
    kind = "i32" if name.endswith("i8") else "f32"
    found = atom(f"v_mfma_{kind}_{name}", "cdna4")
    m, run = int(found.shape_mnk[0]), RUNS[name]
    for lane, v in itertools.product(range(64), range(run)):
        assert found.A(lane, v) == found.B(lane, v) == lane % m + m * (run * (lane // m) + v)
        assert found.A(lane, v) < m * found.shape_mnk[2]


@pytest.mark.parametrize(("m", "k"), [(16, 128), (32, 64)])
def test_operands_of_f8f6f4(m, k):
    """composable_kernel test/mx_mfma_op: 8-bit types in two chunks of 16, 64 * 16 / m apart; narrower ones in one of
    32; a scale each 32."""
    plain, scaled = (atom(f"v_mfma_{s}f32_{m}x{m}x{k}_f8f6f4 blgp:4") for s in ("", "scale_"))
    assert (plain.val_A, plain.val_B, plain.SFA, scaled.sf_vec) == (fp8_e4m3, fp4_e2m1, None, 32)
    for lane, v in itertools.product(range(64), range(32)):
        row, part = lane % m, lane // m
        chunk, i = divmod(v, 16)
        assert plain.A(lane, v) == scaled.A(lane, v) == row + m * (16 * part + i + chunk * 16 * 64 // m)
        assert plain.B(lane, v) == row + m * (32 * part + v) == scaled.SFA(lane, v)


def test_types_of_cdna4():
    """OCP's floats where CDNA 3 has its own, no xf32."""
    assert {a.val_A.name for a in atoms(arch="cdna3")} - {a.val_A.name for a in atoms(arch="cdna4")} == {
        "fp8_e4m3fnuz",
        "fp8_e5m2fnuz",
        "tf32",
    }
    assert atom("v_mfma_f32_16x16x32_fp8_bf8", "cdna4").val_B.name == "fp8_e5m2"
    assert atom("v_mfma_f32_16x16x16_bf16", "cdna4").val_A is bf16
    assert len({a.name for a in atoms(arch="cdna4")}) == len(atoms(arch="cdna4")) == 136


def test_the_table_of_the_page_has_the_parts_of_names():
    page = (DOCS / "gpu.md").read_text(encoding="utf-8")
    for part, (_arithmetic, text) in PARTS.items():
        assert not part or (f"`_{part}`" in page and f"`{text}`" in page)


def test_a_star_import_gives_atoms_types_and_operations():
    """And takes nothing from Python: float and int stay, and stand for C++'s."""
    given = {}
    exec("from tla.gpu import *", given)
    for name in (
        "SM80_16x8x16_F32F16F16F32_TN",
        "SM90_64x128x16_F32F16F16_SS",
        "UniversalCopy",
        "SM75_U32x4_LDSM_N",
        "half",
        "half_t",
        "uint128",
        "float_e4m3_t",
        "SM100_MMA_F16BF16_SS",
        "v_mfma_f32_32x32x8_f16",
        "XE_DPAS_TT",
        "TDPBSSD",
        "make_tiled_mma",
        "K",
    ):
        assert given[name] is getattr(gpu, name), name
    assert not {*given} & {*vars(builtins)} - {"__builtins__"}
    assert given["UniversalFMA"][builtins.float].val_A is float
    assert given["UniversalFMA"][builtins.int].val_A is gpu.int32
    assert {*gpu.__all__} <= {*dir(gpu)}
