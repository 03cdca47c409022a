"""A kernel by wgmma: its text gives what numpy gives; what is not ordered with an asynchronous product is refused at its line."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tests.kernels.test_warp_instructions import PARAMETERS, Half, in_a_register

import nvrtc
from night import amount
from sources_of_kernels import c_function, cuda_function, kernel_examples

VARIANTS = ("gemm_nt", "gemm_tn")


@functools.cache
def example():
    return kernel_examples()["variants of wgmma_sm90"]


@functools.cache
def source_of(target, variant):
    made, arguments, parameters = example()["VARIANTS"][variant]
    return made.source(target, *arguments, parameters=parameters)


def product(call, number, variant, sizes, rng):
    """Call the kernel for matrices with NaN behind each row, or column; whether C is numpy's, and no more."""
    m, n, k = sizes
    held = []
    for rows in (m, n):
        outer, inner = (k, rows) if variant == "gemm_nt" else (rows, k)
        x = np.full((outer, inner + 8), np.nan, np.float16)
        x[:, :inner] = rng.integers(-1, 2, (outer, inner))
        held.append(x)
    left, right = (x[:, :-8].astype(np.float32).T if variant == "gemm_nt" else x[:, :-8].astype(np.float32) for x in held)
    c = rng.integers(-3, 4, (n, m + 2)).astype(np.float16)
    expected = c.copy()
    expected[:, :m] = (2 * left @ right.T - 3 * c[:, :m].astype(np.float32).T).T
    numbers, steps = [*map(ctypes.c_int, sizes)], [ctypes.c_int(x.shape[1]) for x in (*held, c)]
    call(*numbers, number(2), pointer(held[0]), steps[0], pointer(held[1]), steps[1], number(-3), pointer(c), steps[2])
    return (c == expected).all()


def sizes_for(variant, drawn):
    """Sizes whose vectors of eight are whole: along M and N, or K."""
    return [(8 * m, 8 * n, k) if variant == "gemm_nt" else (m, n, 8 * k) for m, n, k in drawn]


@pytest.mark.parametrize("variant", VARIANTS)
def test_c_equals_numpy(variant, tmp_path):
    call, rng = c_function(tmp_path, source_of("c", variant)), np.random.default_rng(1)
    drawn = [tuple(map(int, rng.integers(0, 40, 3))) for _n in range(amount(1, 50))]
    for sizes in sizes_for(variant, [(1, 1, 1), (0, 3, 1), (3, 0, 1), (5, 7, 0), (16, 16, 8), (17, 33, 41), *drawn]):
        assert product(call, in_a_register, variant, sizes, rng), sizes


@pytest.mark.parametrize("variant", VARIANTS)
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(variant, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 128)

    call, rng = cuda_function(tmp_path, source_of("cuda", variant), PARAMETERS, grid), np.random.default_rng(2)
    for sizes in sizes_for(variant, [(16, 16, 40), *amount([], [(1, 1, 1), (17, 33, 41), (5, 16, 9)])]):
        assert product(call, lambda x: Half(int(np.float16(x).view(np.uint16))), variant, sizes, rng), sizes


def test_cuda_compiles_to_the_instructions(tmp_path):
    counts = nvrtc.opcodes(nvrtc.compiled(source_of("cuda", "gemm_tn").text, "sm_90a")[1], tmp_path)
    named = {name: sum(n for op, n in counts.items() if op.startswith(name)) for name in ("HGMMA.64x64x16.F16", "LDGSTS", "LDL", "STL")}
    assert named["HGMMA.64x64x16.F16"] == 2 * 16, "a loop for whole tiles, one for the others"
    assert named["LDGSTS"] == 16 * (2 + 2), "and two tiles before them"
    assert named["LDL"] == named["STL"] == 0
