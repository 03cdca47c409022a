"""Kernels whose operands lie in tiles of a TPU or in fractals of Ascend, beside numpy: in C and in CUDA by threads
of a CPU."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer

import nvrtc
from night import amount
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples


@functools.cache
def examples():
    return kernel_examples()


def source_of(name, variant, target):
    return emitted(examples()[f"variants of {name}"]["VARIANTS"][variant], target)


def packs(call, m, n, rng):
    x = rng.integers(1, 2**16, (m, n)).astype(np.uint16)
    expected = examples()["variants of pack_tiles"]["packed"](x)
    out = np.full(expected.size + 8, 7, np.uint16)
    call(ctypes.c_int(m), ctypes.c_int(n), pointer(x), pointer(out))
    return (out[:-8] == expected).all() and (out[-8:] == 7).all()


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_tiles_of_a_tpu_are_packed(target, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 8), -(-n.value // 128)

    source, rng = source_of("pack_tiles", "pack_tiles", target), np.random.default_rng(0)
    names = "int m, int n, const unsigned short *X, unsigned short *T".split(", ")
    call = c_function(tmp_path, source) if target == "c" else cuda_function(tmp_path, source, names, grid)
    drawn = [(*map(int, rng.integers(1, 300, 2)),) for _n in range(amount(3, 50) if target == "c" else 0)]
    for sizes in [(1, 1), (8, 128), (9, 129), *drawn]:
        assert packs(call, *sizes, rng), sizes


def test_one_product_of_three_ways_to_lie(tmp_path):
    example, rng = examples()["variants of blocked_gemm"], np.random.default_rng(1)
    matrices = [rng.integers(-3, 4, shape).astype(np.float32) for shape in ((256, 32), (128, 32), (256, 128))]
    expected = 2 * matrices[0] @ matrices[1].T - matrices[2]
    buffers = [example["laid"](x, layout) for x, layout in zip(matrices, example["LAYOUTS"])]
    call = c_function(tmp_path, source_of("blocked_gemm", "gemm", "c"))
    call(*map(pointer, buffers), ctypes.c_float(2), ctypes.c_float(-1))
    assert (buffers[2] == example["laid"](expected, example["LAYOUTS"][2])).all()


@pytest.mark.parametrize(("name", "variant"), [("pack_tiles", "pack_tiles"), ("blocked_gemm", "gemm")])
def test_cuda_compiles(name, variant):
    nvrtc.compiled(source_of(name, variant, "cuda").text, "sm_80")
