"""FlashAttention as a kernel: executed, in C, and in CUDA by threads of a CPU, beside numpy in double precision."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer

import nvrtc
from night import amount
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

PARAMETERS = "int length, int keys, int heads, const __half *Q, const __half *K, const __half *V, __half *Out".split(
    ", "
)


@functools.cache
def example():
    return kernel_examples()["variants of flash_attention"]["VARIANTS"]["flash_attention"]


@functools.cache
def source_of(target):
    return emitted(example(), target)


def given(length, keys, heads, rng):
    """Q, K, V of so many rows, one element more behind the last, and what comes out."""
    q, k, v = (2 * rng.normal(size=(n, heads, 64)).astype(np.float16) for n in (length, keys, keys))
    scores = np.einsum("qhd,khd->hqk", q.astype(float), k.astype(float)) / 8
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = np.einsum("hqk,khd->qhd", weights / weights.sum(axis=2, keepdims=True), v.astype(float))
    return q, k, v, expected


def is_right(out, expected):
    return np.abs(out - expected).max() < 4e-3  # of numbers to 8: weights are of 11 bits, as in FlashAttention


def result(call, sizes, rng):
    """The largest difference from numpy is small, and nothing is written past the end."""
    *operands, expected = given(*sizes, rng)
    out = np.full(expected.size + 8, 99, np.float16)
    call(*map(ctypes.c_int, sizes), *map(pointer, operands), pointer(out))
    return is_right(out[:-8].reshape(expected.shape), expected) and (out[-8:] == 99).all()


@pytest.mark.parametrize("sizes", amount([(65, 66, 1)], [(1, 1, 1), (65, 130, 2)]))
def test_executed(sizes):
    *operands, expected = given(*sizes, np.random.default_rng(0))
    arrays = [x.transpose(0, 2, 1) for x in (*operands, np.zeros(expected.shape, np.float16))]
    report = example()[0].check(*arrays, arch="sm_80")
    assert report.holds, report
    assert not report.idle
    assert not report.unwritten
    assert all(row.degree == 1 for row in report.conflicts if row.memory == "shared memory")
    example()[0].run(*arrays)
    assert is_right(arrays[3].transpose(0, 2, 1), expected)


@pytest.mark.once
def test_c(tmp_path):
    call, rng = c_function(tmp_path, source_of("c")), np.random.default_rng(1)
    drawn = [tuple(int(n) for n in rng.integers(1, (200, 300, 4))) for _n in range(amount(1, 50))]
    for sizes in [(1, 1, 1), (64, 64, 1), (63, 65, 3), (129, 127, 2), *drawn]:
        assert result(call, sizes, rng), sizes


@pytest.mark.once
def test_cuda_executed_by_threads_of_a_cpu(tmp_path):
    def grid(length, _keys, heads, *_rest):
        return -(-length.value // 64), heads.value

    call, rng = cuda_function(tmp_path, source_of("cuda"), PARAMETERS, grid), np.random.default_rng(2)
    for sizes in [(70, 129, 1), *amount([], [(1, 1, 1), (64, 128, 2), (130, 200, 1)])]:
        assert result(call, sizes, rng), sizes


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_cuda_compiles_to_the_instructions(arch, tmp_path):
    cubin = nvrtc.compiled(source_of("cuda").text, arch)[1]
    counts = nvrtc.opcodes(cubin, tmp_path)
    named = {
        name: sum(n for op, n in counts.items() if op.startswith(name))
        for name in ("HMMA.16816.F32", "LDSM.16.MT88.4", "LDL", "STL")
    }
    loops = named["HMMA.16816.F32"] // 64
    assert loops in (1, 2)
    assert named["LDSM.16.MT88.4"] == 16 * loops
    assert named["LDL"] == named["STL"] == 0
