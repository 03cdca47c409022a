"""Matrix instructions of AMD in a kernel's text: each compiled to itself by clang, its emulation in C beside numpy; one
product by three machines."""

import dataclasses
import functools
import importlib.util

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer, source_of
from tla import Int, LeafTypeError, make_layout
from tla.gpu import (
    MMAAtom,
    atom,
    atoms,
    bf16,
    fp8_e4m3,
    fp8_e4m3fnuz,
    fp8_e5m2,
    fp8_e5m2fnuz,
    make_fragment_like,
    make_tiled_mma,
)
from tla.gpu.instructions.amd import rows
from tla.kernels import copy, gemm, kernel, tensor, thread
from tla.kernels.targets.amd import Builtins
from tla.kernels.targets.ptx import Ptx

import hip
import nvrtc
from night import NIGHT, amount
from sources_of_kernels import c_function

CHIPS = {"cdna1": "gfx908", "cdna2": "gfx90a", "cdna3": "gfx942", "cdna4": "gfx950", "rdna3": "gfx1100"}
CHIPS |= {"rdna4": "gfx1201"}
TYPES = {"half": np.float16, "float": np.float32, "double": np.float64, "int8": np.int8, "int32": np.int32}
if importlib.util.find_spec("ml_dtypes"):
    TYPES |= {str(x): x for x in (bf16, fp8_e4m3, fp8_e5m2, fp8_e4m3fnuz, fp8_e5m2fnuz)}
ROWS = [
    r
    for r in rows()
    if r.blocks == 1 and r.arch in CHIPS and r.a == r.b and {str(r.a), str(r.d)} <= {*TYPES}
    if ("mfma" in r.name or (r.wave == 32 and r.a.bits < 32 and str(r.d) == "float")) and "f8f6f4" not in r.name
]

ATOMS = [*atoms()]


def one_product(r):
    """A kernel of one instruction, and the arguments of its text."""
    mma = make_tiled_mma(atom(r.name, r.arch))

    @kernel(threads=r.wave)
    def product(A, B, C):
        own = mma[thread()]
        parts = own.partition_A(A), own.partition_B(B), own.partition_C(C)
        held = [make_fragment_like(x) for x in parts]
        for x, register in zip(parts, held):
            copy(x, register)
        gemm(mma, *held)
        copy(held[2], parts[2])

    shapes = (r.m, r.k), (r.m, r.k), (r.m, r.m)
    types = [TYPES[str(x)] for x in (r.a, r.a, r.d)]
    layouts = [make_layout(tuple(Int[n]() for n in shape), stride=(Int[shape[1]](), Int[1]())) for shape in shapes]
    return product, [tensor(t, layout) for t, layout in zip(types, layouts)]


def test_a_target_knows_its_instructions_by_their_fields():
    """Not by the vendor's text: AMD's products are AMD's whatever their text says, PTX has others."""
    known = {target: {a for a in ATOMS if target.has(a)} for target in (Ptx(fenced=False), Builtins())}
    for target, found in known.items():
        assert found == {a for a in ATOMS if target.has(dataclasses.replace(a, name="x", instruction="x"))}
    of_ptx, of_amd = known.values()
    assert {a.name for a in of_amd if isinstance(a, MMAAtom) and a.blocks == 1} >= {r.name for r in ROWS}
    assert not of_ptx & of_amd
    assert {a.instruction.split(".")[0] for a in of_ptx if isinstance(a, MMAAtom)} >= {"mma", "wgmma"}


@pytest.mark.parametrize(
    "r", [r for k, r in enumerate(ROWS) if NIGHT or k % 3 == 0], ids=lambda r: f"{r.arch}-{r.name}"
)
def test_an_instruction_compiles_to_itself_and_its_emulation_equals_numpy(r, tmp_path):
    product, given = one_product(r)
    draw = np.random.default_rng(0)
    a, b, c = (draw.integers(-2, 3, tuple(map(int, x.layout.shape))).astype(x.dtype) for x in given)
    expected = (c.astype(np.float64) + a.astype(np.float64) @ b.T.astype(np.float64)).astype(c.dtype)
    c_function(tmp_path, product.source("c", *given))(*map(pointer, (a, b, c)))
    np.testing.assert_array_equal(c, expected)
    text = product.source("hip", *given, arch=CHIPS[r.arch]).text
    counts = hip.opcodes(hip.without_headers(text), CHIPS[r.arch], tmp_path)
    assert sum(n for name, n in counts.items() if name.startswith(("v_mfma", "v_wmma"))) == 1, counts


def test_no_target_has_the_instructions_of_another():
    product, given = one_product(next(r for r in ROWS if r.arch == "cdna3"))
    with pytest.raises(LeafTypeError, match=r"the instruction v_mfma.* in this target's text"):
        product.source("cuda", *given)


# ----------------------------------------------------------------------------------------- one function, three machines


@functools.cache
def gemm_text(variant, target):
    return source_of("gemm_atoms", variant, target)


@pytest.mark.parametrize("variant", ["mma_sync", "mfma", "fma"] if NIGHT else ["mfma"])
def test_one_function_by_three_machines_equals_numpy_in_c(variant, tmp_path):
    rng, call = np.random.default_rng(3), c_function(tmp_path, gemm_text(variant, "c"))
    drawn = rng.integers(1, 200, (amount(1, 50), 3)).tolist()
    for m, n, k in [(1, 1, 0), (0, 5, 8), (128, 128, 32), *((m, n, k // 8 * 8) for m, n, k in drawn)]:
        a, b = (rng.integers(-3, 4, (size, k)).astype(np.float16) for size in (m, n))
        d = rng.integers(-3, 4, (m, n)).astype(np.float32)
        expected = a.astype(np.float32) @ b.T.astype(np.float32) + d
        call(m, n, k, *map(pointer, (a, b, d)))
        assert (d == expected).all(), (m, n, k)


@pytest.mark.parametrize("arch", ["gfx908", "gfx942"] if NIGHT else ["gfx942"])
def test_the_product_compiles_to_mfma(arch, tmp_path):
    counts = hip.opcodes(hip.without_headers(gemm_text("mfma", "hip").text), arch, tmp_path)
    assert sum(n for name, n in counts.items() if name.startswith("v_mfma_f32_32x32x8")) == 2 * 16  # two loops
    assert counts["s_barrier"] == 2 * 2
    assert sum(n for name, n in counts.items() if name.startswith("ds_read") and "b64" in name) > 0
    assert not [name for name in counts if name.startswith("scratch_")]


def test_the_product_compiles_for_cuda():
    nvrtc.compiled(gemm_text("mma_sync", "cuda").text, "sm_80")
