"""Kernels that store accumulators by stmatrix: their text gives what numpy gives, and machine code has as many
instructions as stated."""

import ctypes
import functools

import numpy as np
import pytest

from tla import RangeError, Swizzle, TlaError, composition, parse
from tla.gpu import (
    Copy_Atom,
    SM80_16x8x16_F16F16F16F16_TN,
    UniversalCopy,
    half,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_copy_C,
    make_tiled_mma,
    uint128,
)
from tla.kernels import barrier, copy, kernel, shared, tensor, thread

import nvrtc
from night import some
from sources_of_kernels import c_function, cuda_function

PLAIN = {"SM90_U32x1_STSM_N": 1, "SM90_U32x2_STSM_N": 2, "SM90_U32x4_STSM_N": 4}
TRANSPOSED = {"SM90_U16x2_STSM_T": 1, "SM90_U16x4_STSM_T": 2, "SM90_U16x8_STSM_T": 4}
MATRICES = PLAIN | TRANSPOSED
#: Shared memory of 32x64 elements, with rows of 16 bytes along the mode that the instruction writes.
MEMORY = {False: parse("(_32,_64):(_64,_1)"), True: parse("(_32,_64):(_1,_32)")}
#: Bits of a swizzle that keeps 16 bytes together; none.
SWIZZLES = {False: [(3, 3, 3), (2, 3, 4), None], True: [(2, 3, 3), (1, 3, 3), None]}
#: The copies out of it: 16 bytes of each thread, by rows and by columns.
OUT = {
    False: make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_8,_8):(_8,_1)"), (1, 8)),
    True: make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_4,_16):(_1,_4)"), (8, 1)),
}
MATRIX = tensor(np.float16, parse("(_32,_64):(_64,_1)")), tensor(np.float16, parse("(_32,_64):(_1,_32)"))


@functools.cache
def through_shared(name, swizzle=(3, 3, 3), waits=True):
    """A kernel: accumulators of two warps to shared memory by stmatrix, from there to global memory 16 bytes
    at a time."""
    mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN, (2, 1), (32, 16, 16))
    tiled, out = make_tiled_copy_C(Copy_Atom[name, half], mma), OUT[name in TRANSPOSED]
    memory = MEMORY[name in TRANSPOSED]
    memory = composition(Swizzle[swizzle](), memory) if swizzle else memory

    @kernel(threads=64)
    def stored(a, b):
        own, row, t = tiled[thread()], out[thread()], mma[thread()]
        held, smem = make_fragment_like(t.partition_C(a)), shared(np.float16, memory)
        copy(t.partition_C(a), held)
        copy(tiled, own.retile_S(held), own.partition_D(smem))
        if waits:
            barrier()
        copy(out, row.partition_S(smem), row.partition_D(b))

    return stored


def source_of(name, target, swizzle=(3, 3, 3)):
    return through_shared(name, swizzle).source(
        target, MATRIX[0], MATRIX[name in TRANSPOSED], arch="sm_90" if target == "cuda" else None
    )


def matrices(name):
    """A matrix by rows, and room for it as the kernel stores it."""
    return np.arange(2048).reshape(32, 64).astype(np.float16), np.zeros(
        (32, 64), np.float16, order="F" if name in TRANSPOSED else "C"
    )


@pytest.mark.parametrize("name", some(MATRICES, 2))
def test_a_kernel_stores_what_it_holds(name, tmp_path):
    for swizzle in SWIZZLES[name in TRANSPOSED]:
        a, b = matrices(name)
        through_shared(name, swizzle).run(a, b)
        assert (a == b).all()
        assert through_shared(name, swizzle).check(a, b, arch="sm_90").holds
    a, b = matrices(name)
    call = c_function(tmp_path, source_of(name, "c", SWIZZLES[name in TRANSPOSED][0]))
    call(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b)))
    assert (a == b).all()


@pytest.mark.parametrize("name", [x for x, n in MATRICES.items() if n == 4])
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(name, tmp_path):
    source = source_of(name, "cuda", SWIZZLES[name in TRANSPOSED][0])
    call = cuda_function(tmp_path, source, ["const __half *a", "__half *b"], lambda *_given: (1, 1))
    a, b = matrices(name)
    call(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b)))
    assert (a == b).all()


@pytest.mark.parametrize("name", MATRICES)
def test_machine_code_has_as_many_stores(name, tmp_path):
    counts = nvrtc.opcodes(
        nvrtc.compiled(source_of(name, "cuda", SWIZZLES[name in TRANSPOSED][0]).text, "sm_90")[1], tmp_path
    )
    executed = sum(n for op, n in counts.items() if op.startswith("STSM"))
    assert executed == 16 // MATRICES[name], "each warp has 16 matrices of 8x8"
    assert not any(op.startswith(("STL", "LDL")) for op in counts)


def test_a_fault_is_refused_at_its_line():
    name = "SM90_U32x4_STSM_N"
    (race,) = through_shared(name, waits=False).check(*matrices(name), arch="sm_90").races[:1]
    assert "no barrier between" in str(race)
    with pytest.raises(RangeError, match="no barrier between"):
        through_shared(name, waits=False).source("cuda", *MATRIX[:1] * 2, arch="sm_90")
    with pytest.raises(TlaError, match="sm_90"):
        through_shared(name).source("cuda", *MATRIX[:1] * 2, arch="sm_80")
    with pytest.raises(TlaError, match=r"16 bytes|8 elements|128 bits"):  # a swizzle that takes rows of 16 bytes apart
        through_shared(name, (2, 2, 3)).run(*matrices(name))
    with pytest.raises(TlaError, match="in this target"):
        through_shared(name).source("hip", *MATRIX[:1] * 2)
