"""im2col as a kernel, beside numpy's sliding windows: executed, in C, and in CUDA by threads of a CPU."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import make_tensor

import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

SIZES = [(1, 3, 3, 1), (2, 9, 20, 5), (3, 5, 40, 33), (1, 4, 4, 64)]


@functools.cache
def example():
    return kernel_examples()["variants of im2col"]


@functools.cache
def source_of(target, variant="im2col"):
    return emitted(example()["VARIANTS"][variant], target)


def result(call, sizes, rng):
    """The matrix is numpy's, and nothing is written past its end."""
    images = rng.random(sizes, np.float32)
    expected = example()["windows_of"](images)
    out = np.full(expected.size + 8, np.nan, np.float32)
    call(*map(ctypes.c_int, sizes), pointer(images), pointer(out))
    return (out[:-8] == expected).all() and np.isnan(out[-8:]).all()


@pytest.mark.parametrize("sizes", some(SIZES, 2))
def test_executed(sizes):
    images = np.random.default_rng(0).random(sizes, np.float32)
    windows, matrix = example()["layouts"](*sizes)
    out = np.zeros(example()["windows_of"](images).size, np.float32)
    given = make_tensor(images.ravel(), windows), make_tensor(out, matrix)
    assert example()["im2col"].check(*given, arch="sm_80").holds
    example()["im2col"].run(*given)
    assert (out == example()["windows_of"](images)).all()


def drawn(rng):
    return [(*map(int, rng.integers((1, 3, 3, 1), (5, 30, 60, 65))),) for _n in range(amount(4, 50))]


@pytest.mark.parametrize("variant", ["im2col", "whole_rows"])
def test_c(variant, tmp_path):
    call, rng = c_function(tmp_path, source_of("c", variant), "-O3", "-march=native"), np.random.default_rng(1)
    for sizes in [*SIZES, *drawn(rng)]:
        assert result(call, sizes, rng), sizes


@pytest.mark.once
def test_cuda_executed_by_threads_of_a_cpu(tmp_path):
    def grid(_b, _h, w, _c, *_rest):
        return -(-((w.value - 1) // 2) // 8), 1

    rng = np.random.default_rng(2)
    call = cuda_function(
        tmp_path, source_of("cuda"), "int b, int h, int w, int c, const float *W, float *M".split(", "), grid
    )
    for sizes in [(1, 3, 3, 1), (1, 4, 40, 33)]:  # of one row of windows, and one image
        assert result(call, sizes, rng), sizes


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_cuda_compiles(arch):
    text = source_of("cuda").text
    assert "const long long" not in text.split("kernel_main(")[-1], "offsets fit 32 bits"
    nvrtc.compiled(text, arch)
