"""Atoms, tiled MMAs and tiled copies as source of CuTe: compiled by g++ and traced by the DSL they have
the same layouts."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

import tla.gpu as gpu
from tla import TlaError, _, parse
from tla.codegen import source
from tla.gpu import (
    Copy_Atom,
    CopyAtom,
    MMAAtom,
    TiledMMA,
    atom,
    atoms,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_C,
    make_tiled_mma,
)

from night import NIGHT
from traced_sources import include_folders, traced

SM80 = gpu.SM80_16x8x16_F32F16F16F32_TN
MMAS = [
    make_tiled_mma(gpu.UniversalFMA[gpu.float], (16, 16), (parse("(_16,_2):(_2,_1)"), 32)),
    make_tiled_mma(gpu.SM70_8x8x4_F32F16F16F32_TN, parse("(_2,_2):(_2,_1)")),
    make_tiled_mma(SM80, (2, 2), (32, 32, 16)),
    make_tiled_mma(SM80, (4, 1), (_, parse("(_8,_2):(_2,_1)"))),
    make_tiled_mma(gpu.SM80_16x8x8_F32TF32TF32F32_TN, (1, 2)),
    make_tiled_mma(gpu.SM90_64x64x16_F32F16F16_SS, (2, 1)),
    make_tiled_mma(gpu.SM90_64x128x16_F32BF16BF16_RS[gpu.K, gpu.MN]),
    make_tiled_mma(gpu.SM90_64x32x32_F32E4M3E5M2_SS_TN),
    make_tiled_mma(atom("SM100_MMA_F16BF16_SS<half_t,half_t,float,128,256,UMMA::Major::K,UMMA::Major::MN>")),
    make_tiled_mma(atom("SM100_MMA_TF32_2x1SM_SS<tfloat32_t,tfloat32_t,float,256,64,UMMA::Major::K,UMMA::Major::K>")),
]
#: What the DSL does not have, or has under other layouts.
CPP_ALONE = [
    make_tiled_mma(gpu.SM90_64x96x32_S32S8S8_SS_TN),
    make_tiled_mma(atom("SM100_MMA_F8F6F4_SS<float_e4m3_t,float_e2m1_t,float,128,64,UMMA::Major::K,UMMA::Major::K>")),
    make_tiled_mma(atom("SM90::GMMA::SPARSE::GMMA_64x32x32_F32F16F16_RS")),
    make_tiled_mma(
        atom("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t,float_e2m1_t,float,float_ue8m0_t,32>"), (2, 2)
    ),
]
COPIES = [
    make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.uint128], gpu.half], (32, 8), (8, 1)),
    make_tiled_copy(Copy_Atom["SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", gpu.float], parse("(_32,_8):(_8,_1)"), (1, 4)),
    make_tiled_copy(Copy_Atom[gpu.SM90_U32x4_STSM_N, gpu.half], (32, 2), (8, 1)),
    make_tiled_copy_A(Copy_Atom[gpu.SM75_U32x4_LDSM_N, gpu.half], MMAS[2]),
    make_tiled_copy_A(Copy_Atom[gpu.SM75_U16x8_LDSM_T, gpu.half], MMAS[2]),
    make_tiled_copy_C(Copy_Atom[gpu.UniversalCopy[gpu.float], gpu.float], MMAS[2]),
]
PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/arch/mma_sm120.hpp>
#include <cute/arch/mma_sm120_sparse.hpp>
template <class... T> void show(T const&... t) { ((cute::print(t), printf(";")), ...); printf("\\n"); }
template <class... T> void all(cute::TiledMMA<T...> const& m) {
  show(m.get_thr_layout_vmnk(), m.get_layoutA_TV(), m.get_layoutB_TV(), m.get_layoutC_TV());
}
template <class... T> void all(cute::TiledCopy<T...> const& c) { show(c.get_layoutS_TV(), c.get_layoutD_TV()); }
template <class T> void all(cute::MMA_Atom<T> const& m) {
  using A = cute::MMA_Atom<T>;
  show(typename A::ThrID{}, typename A::LayoutA_TV{}, typename A::LayoutB_TV{}, typename A::LayoutC_TV{});
}
template <class... T> void all(cute::Copy_Atom<T...> const& c) {
  using A = cute::Copy_Atom<T...>;
  show(typename A::ThrID{}, typename A::ValLayoutSrc{}, typename A::ValLayoutDst{}, typename A::ValLayoutRef{});
}
int main() {
%s
}
"""


def layouts(x):
    """What the programs print of x."""
    if isinstance(x, TiledMMA):
        return [x.thr_layout_vmnk, x.A_TV, x.B_TV, x.C_TV]
    if isinstance(x, MMAAtom):
        return [x.thr_id, x.A, x.B, x.C]
    return [x.thr_id, x.val_src, x.val_dst, x.val_ref] if isinstance(x, CopyAtom) else [x.S_TV, x.D_TV]


def compiled(tmp_path, values):
    (tmp_path / "a.cpp").write_text(PROGRAM % "\n".join(f"  all({source(x, 'cute_cpp')});" for x in values))
    flags = [
        "-std=c++17",
        "-w",
        "-ftemplate-depth=2000",
        "-DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED",
        *(f"-isystem{f}" for f in include_folders()),
    ]
    made = subprocess.run(
        ["g++", *flags, str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a")], capture_output=True, text=True
    )
    assert made.returncode == 0, re.findall(r".*error.*", made.stderr)[:5]
    return subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True).stdout.splitlines()


def every_atom():
    """One of each name without its numbers, whose rows are not marked wrong in CuTe; AMD and Intel
    are not CUTLASS's."""
    seen = {}
    for found in atoms():
        if found.arch.startswith("sm") and not re.search(r"16x8x32_S32[SU]4", found.name):
            name = re.sub(r"x\d+", "x", found.name.partition("<")[0]) + str(found.name.count(","))
            seen.setdefault(name, found[gpu.uint8] if isinstance(found, CopyAtom) else found)
    return [*seen.values()]


def test_cpp_has_the_same_layouts(tmp_path):
    include_folders()
    values = [*MMAS, *CPP_ALONE, *COPIES, *(x.atom for x in CPP_ALONE), COPIES[0].atom]
    got = compiled(tmp_path, values)
    assert got == ["".join(f"{layout};" for layout in layouts(x)) for x in values]


@pytest.mark.skipif(not NIGHT, reason="some minutes of compiling: HYPOTHESIS_PROFILE=night")
def test_cpp_of_every_atom(tmp_path):
    values = every_atom()
    assert len(values) > 100
    different = []
    for k in range(0, len(values), 40):
        lines = compiled(tmp_path, values[k : k + 40])
        different += [
            x for x, line in zip(values[k : k + 40], lines) if line != "".join(f"{layout};" for layout in layouts(x))
        ]
    assert [x.name for x in different] == []


KERNEL = """
import cutlass, cutlass.cute as cute

@cute.jit
def kernel():
%s

kernel()
"""
NAMES = {True: ["thr_layout_vmnk", "tv_layout_A_tiled", "tv_layout_B_tiled", "tv_layout_C_tiled"],
         False: ["layout_src_tv_tiled", "layout_dst_tv_tiled"]}  # fmt: skip


def test_python_of_the_dsl_has_the_same_layouts(tmp_path):
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("needs the CuTe DSL: pip install nvidia-cutlass-dsl")
    for arch, values in (("sm_80", [*MMAS[:1], *MMAS[2:5], *COPIES]), ("sm_90a", MMAS[5:8]), ("sm_100a", MMAS[8:])):
        body = []
        for x in values:
            body += [f"    x = {source(x, 'cute_dsl')}"]
            body += [f'    print("trace", x.{name}.type)' for name in NAMES[isinstance(x, TiledMMA)]]
        (tmp_path / "kernel.py").write_text(KERNEL % "\n".join(body))
        run = subprocess.run(
            [sys.executable, "kernel.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "CUTE_DSL_ARCH": arch},
        )
        assert run.returncode == 0, run.stderr[-2000:]
        got = [line.split('"')[1] for line in run.stdout.splitlines() if line.startswith("trace")]
        assert got == [traced(layout) for x in values for layout in layouts(x)]


REFUSED = [
    (atom("v_mfma_f32_16x16x16_bf16", "cdna3"), "cute_cpp", "the compiler's own intrinsic"),
    (gpu.SM70_8x8x4_F32F16F16F32_TN, "cute_dsl", "an instruction that the DSL has"),
    (gpu.SM75_U32x4_LDSM_N, "cute_dsl", "without an element type"),
    (MMAS[2], "tla_cpp", "CuTe, without a dtype"),
    (gpu.UniversalFMA[gpu.float, gpu.half], "cute_dsl", "an instruction that the DSL has"),
]


@pytest.mark.parametrize(("x", "system", "message"), REFUSED, ids=[m for _x, _s, m in REFUSED])
def test_what_a_system_does_not_have_is_refused(x, system, message):
    with pytest.raises(TlaError, match=message):
        source(x, system)


def test_each_argument_of_a_template_has_its_namespace():
    fma = gpu.UniversalFMA[gpu.float, gpu.half, gpu.half, gpu.float]
    assert source(fma, "cute_cpp") == "cute::MMA_Atom<cute::UniversalFMA<float, cute::half_t, cute::half_t, float>>{}"
