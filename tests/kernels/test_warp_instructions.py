"""Kernels by ldmatrix, mma.sync and cp.async: their text gives what numpy gives; a wait, a barrier or a stage too few
is refused."""

import ctypes
import functools

import numpy as np
import pytest

import tla
from tla import (
    Int,
    LeafTypeError,
    Swizzle,
    TlaError,
    _,
    ceil_div,
    composition,
    dim,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
    tile_to_shape,
)
from tla.gpu import SM80_CP_ASYNC_CACHEALWAYS_ZFILL, Copy_Atom, UniversalCopy, half, make_tiled_copy, uint128
from tla.kernels import barrier, copy, copy_if, cp_async_fence, cp_async_wait, kernel, loop, shared, tensor, thread
from tla.kernels.program.offsets import Offsets

import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

_1 = Int[1]()
PARAMETERS = "int m, int n, int k, __half alpha, const __half *A, int ldA, const __half *B, int ldB, __half beta, __half *C, int ldC".split(
    ", "
)


@functools.cache
def source_of(target):
    return emitted(kernel_examples()["variants of sgemm_sm80"]["VARIANTS"]["gemm_tn"], target)


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def product(call, number, m, n, k, rng):
    """Call the kernel for matrices with NaN behind each row; whether C is numpy's, and no more."""
    a, b = (np.full((rows, k + 8), np.nan, np.float16) for rows in (m, n))
    for x in (a, b):
        x[:, :k] = rng.integers(-1, 2, (len(x), k))
    c = rng.integers(-3, 4, (n, m + 2)).astype(np.float16)
    left, right = (x[:, :k].astype(np.float32) for x in (a, b))
    expected = c.copy()
    expected[:, :m] = (2 * left @ right.T - 3 * c[:, :m].astype(np.float32).T).T
    m, n, k, ld, ldc = map(ctypes.c_int, (m, n, k, k + 8, m + 2))
    call(m, n, k, number(2), pointer(a), ld, pointer(b), ld, number(-3), pointer(c), ldc)
    return (c == expected).all()


def in_a_register(x):
    """A number of 16 bits as C passes it: in the low bits of one of 32."""
    return ctypes.c_float(np.array([x, 0], np.float16).view(np.float32)[0])


class Half(ctypes.Structure):
    """A number of 16 bits as the class of the tests' header is passed."""

    _fields_ = [("bits", ctypes.c_uint16)]


@pytest.mark.once
def test_c_equals_numpy(tmp_path):
    call, rng = c_function(tmp_path, source_of("c")), np.random.default_rng(1)
    drawn = [tuple(int(x) for x in (*rng.integers(0, 300, 2), 8 * rng.integers(0, 50))) for _n in range(amount(1, 50))]
    for sizes in [(1, 1, 8), (0, 3, 8), (3, 0, 8), (5, 7, 0), (128, 128, 64), (130, 257, 328), *drawn]:
        assert product(call, in_a_register, *sizes, rng), sizes


@pytest.mark.once
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 128)

    call, rng = cuda_function(tmp_path, source_of("cuda"), PARAMETERS, grid), np.random.default_rng(2)
    for sizes in [(128, 128, 320), (40, 129, 72), *amount([], [(1, 1, 8), (130, 257, 392), (256, 128, 64)])]:
        assert product(call, lambda x: Half(int(np.float16(x).view(np.uint16))), *sizes, rng), sizes


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_cuda_compiles_to_the_instructions(arch, tmp_path):
    counts = nvrtc.opcodes(nvrtc.compiled(source_of("cuda").text, arch)[1], tmp_path)
    named = {
        name: sum(n for op, n in counts.items() if op.startswith(name))
        for name in ("HMMA.16816.F16", "LDSM.16.M88.4", "LDGSTS", "LDL", "STL")
    }
    loops = named["HMMA.16816.F16"] // 128
    assert loops in (2, 3), "a loop for whole tiles, one for the others, each perhaps with a step of its own"
    assert named["LDSM.16.M88.4"] >= 32 * loops
    assert named["LDGSTS"] >= 16 * (loops + 2)
    assert named["LDL"] == named["STL"] == 0


def test_what_a_target_has_not_is_refused():
    with pytest.raises(LeafTypeError, match="in this target"):
        source_of("hip")


# ------------------------------------------------------------------------------------------------- seeded faults

LOAD = make_tiled_copy(Copy_Atom[SM80_CP_ASYNC_CACHEALWAYS_ZFILL[uint128], half], parse("(_8,_4):(_4,_1)"), (1, 8))
STORE = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_8,_4):(_1,_8)"), (1, 8))


def stages_with(fault):
    """Rows of 32 through stages of shared memory, each read by other threads than wrote it, with a fault."""
    stages = 2 if fault == "stage" else 3
    rows = composition(Swizzle[2, 3, 3](), parse("(_8,_32):(_32,_1)"))

    @kernel(threads=32)
    def through_stages(a, b):
        t = thread()
        memory, own, other = (
            shared(np.float16, tile_to_shape(rows, (Int[8](), Int[32](), Int[stages]()))),
            LOAD[t],
            STORE[t],
        )
        steps = ceil_div(a.shape[1], 32)

        def load(k):
            tile, places = (
                own.partition_S(local_tile(x, (8, 32), (0, tla.max(0, tla.min(k, steps - 1)))))
                for x in (a, make_identity_tensor(a.shape))
            )
            target = own.partition_D(memory[_, _, k % stages])
            if fault == "predicate":
                copy(LOAD, tile, target)
            else:
                copy_if(LOAD, elem_less(places, a.shape), tile, target)
            if fault != "fence":
                cp_async_fence()

        for k in range(2):
            load(k)
        for k in loop(steps):
            if fault != "wait":
                cp_async_wait[2 if fault == "wait of one more" else 1]()
            if fault != "barrier":
                barrier()
            if fault != "late":
                load(k + 2)
            tile, places = (
                other.partition_S(local_tile(x, (8, 32), (0, k))) for x in (b, make_identity_tensor(b.shape))
            )
            source = other.partition_S(memory[_, _, (k + 1 if fault == "next" else k) % stages])
            copy_if(STORE, elem_less(places, b.shape), source, tile)
            if fault == "late":
                load(k + 2)

    return through_stages


FAULTS = {
    "none": (None, None),
    "no wait": ("wait", "asynchronous copy of thread .* no cp_async_wait"),
    "a wait for a group less": ("wait of one more", "asynchronous copy of thread .* no cp_async_wait"),
    "no fence": ("fence", "asynchronous copy of thread .* no cp_async_wait"),
    "no barrier": ("barrier", "no barrier between"),
    "a stage too few": ("stage", "asynchronous copy of thread .* no cp_async_wait"),
    "the stage of the next tile": ("next", "no cp_async_wait"),
    "no predicate": ("predicate", "is not proved to be inside"),
}


@pytest.mark.parametrize("name", some(FAULTS, 2))
def test_a_pipeline_with_a_fault_is_refused(name):
    fault, told = FAULTS[name]
    k = dim("k", at_least=0, at_most=2**15, multiple_of=8)
    arguments = [
        tensor(
            np.float16,
            make_layout((dim("m", at_least=0, at_most=8), k), stride=(dim("ld", multiple_of=8, at_most=2**15), _1)),
        )
        for _side in range(2)
    ]
    made = stages_with(fault)
    if told is None:
        assert "cp.async.wait_group 1" in made.source("cuda", *arguments).text
        return
    with pytest.raises(TlaError, match=told):
        made.source("cuda", *arguments)


# ------------------------------------------------------------------------------------------------- offsets


def swizzled(x, bits, base, shift):
    return x ^ ((x & ((1 << bits) - 1) << (base + shift)) >> shift)


def test_offsets_taken_apart_are_the_offsets():
    """Of swizzled tiles at starts of symbols, against the swizzle by its definition."""
    t, k = dim("t", at_least=0, at_most=31), dim("k", at_least=0, at_most=5)
    for form in ((3, 3, 3), (2, 3, 3), (1, 4, 3), (3, 4, 3), (2, 0, 5)):
        plain = parse("(_8,_64,_6):(_64,_1,_512)")
        whole = tla.MakeTensor(None, tla.ComposedLayout(Swizzle[form](), 0, plain))
        part = tla.local_tile(whole, (4, 16, 1), (t % 2, t // 8, k))
        found = Offsets(part).parts
        for at_t in amount((0, 1, 13, 30, 31), range(32)):
            for at_k in (0, 3, 5):
                expected = [
                    swizzled((at_t % 2 * 4 + i) * 64 + at_t // 8 * 16 + j + at_k * 512, *form)
                    for j in range(16)
                    for i in range(4)
                ]
                values = [sum(int(tla.at(x, {"t": at_t, "k": at_k})) for x in terms) + n for terms, n in found]
                assert values == expected
