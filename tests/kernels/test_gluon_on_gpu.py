"""Kernels as Gluon's text, launched on a GPU: skipped where there is none."""

import os

import numpy as np
import pytest
from gluon_kernels import module_of

from sources_of_kernels import kernel_examples

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)
if os.environ.get("TRITON_INTERPRET") == "1":  # as tests/codegen/test_targets.py sets it
    pytest.skip("Triton interprets in this process: run this file by itself", allow_module_level=True)

#: Triton before 3.9 multiplies tiles of 16 along K and more.
OLD = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9)
LEAST_16 = pytest.mark.skipif(OLD, reason="this Triton's dot has K of 16 and more")


@pytest.fixture(scope="module")
def examples():
    return kernel_examples()


def launched(examples, example, variant, folder):
    """A function of arrays and numbers that launches an example's text, and writes arrays in place."""
    kernel, arguments, parameters = examples[f"variants of {example}"]["VARIANTS"][variant]
    module = module_of(kernel.source("gluon", *arguments, parameters=parameters), folder)

    def call(*given):
        held = [torch.from_numpy(x).cuda() if isinstance(x, np.ndarray) else x for x in given]
        module.kernel_main_launch(*held)
        torch.cuda.synchronize()
        for x, y in zip(given, held):
            if isinstance(x, np.ndarray):
                x[...] = y.cpu().numpy()

    return call


def drawn(rng, shape, dtype=np.float32, most=4):
    return rng.integers(1 - most, most, shape).astype(dtype)


@pytest.mark.parametrize("sizes", [(128, 64), (256, 192), (4096, 4096)])
def test_tiled_copy(examples, sizes, tmp_path):
    m, n = sizes
    s = drawn(np.random.default_rng(1), (n, m))
    d = np.zeros_like(s)
    launched(examples, "tiled_copy", "tiled_copy", tmp_path)(m, n, s, d)
    assert (s == d).all()


@pytest.mark.parametrize("sizes", [(4, 1), (132, 65), (1028, 777), (0, 3)])
def test_tiled_copy_if(examples, sizes, tmp_path):
    m, n = sizes
    s = drawn(np.random.default_rng(1), (n, m))
    d = np.zeros_like(s)
    launched(examples, "tiled_copy_if", "tiled_copy_if", tmp_path)(m, n, s, d)
    assert (s == d).all()


@pytest.mark.parametrize("variant", ["transpose", "padded"])
@pytest.mark.parametrize("sizes", [(1, 1), (70, 45), (1024, 1000)])
def test_transpose(examples, sizes, variant, tmp_path):
    s = drawn(np.random.default_rng(1), sizes, most=99)
    d = np.zeros(sizes[::-1], np.float32)
    launched(examples, "transpose", variant, tmp_path)(*sizes, s, d)
    assert (s.T == d).all()


@pytest.mark.parametrize("sizes", [(1, 1), (13, 300), (1000, 2049)])
def test_softmax(examples, sizes, tmp_path):
    x = np.random.default_rng(1).normal(size=sizes).astype(np.float32)
    y, expected = np.zeros_like(x), np.exp(x - x.max(axis=1, keepdims=True))
    launched(examples, "softmax", "softmax", tmp_path)(*sizes, x, y)
    assert np.allclose(y, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("sizes", [(1, 1), (33, 150), (500, 1000)])
def test_pack_tiles(examples, sizes, tmp_path):
    x = np.random.default_rng(1).integers(0, 2**15, sizes).astype(np.uint16)
    expected = examples["packed"](x)
    out = np.full(expected.size, 99, np.uint16)
    launched(examples, "pack_tiles", "pack_tiles", tmp_path)(*sizes, x, out)
    assert (out == expected).all()


HOPPER = pytest.mark.skipif(torch.cuda.get_device_capability()[0] != 9, reason="wgmma is Hopper's")
PRODUCTS = [
    pytest.param("sgemm_tiles", "gemm_tn", np.float16),
    *(pytest.param("wgmma_sm90", variant, np.float16, marks=HOPPER) for variant in ("gemm_nt", "gemm_tn")),
    *(
        pytest.param(name, variant, np.float32, marks=LEAST_16)
        for name in ("sgemm_1", "sgemm_2")
        for variant in ("gemm_nt", "gemm_tn")
    ),
]


@pytest.mark.parametrize(("example", "variant", "dtype"), PRODUCTS)
@pytest.mark.parametrize("sizes", [(8, 8, 8), (136, 264, 200), (1024, 512, 256), (8, 16, 0)])
def test_products(examples, example, variant, dtype, sizes, tmp_path):
    rng, (m, n, k) = np.random.default_rng(1), sizes
    outer, inner = ((m, n), (k, k)) if variant == "gemm_tn" else ((k, k), (m, n))
    a, b = (np.full((rows, columns + 8), np.nan, dtype) for rows, columns in zip(outer, inner))
    for x, columns in zip((a, b), inner):
        x[:, :columns] = drawn(rng, (len(x), columns), most=2)
    c = drawn(rng, (n, m), dtype)
    left, right = (x[:, :columns] if variant == "gemm_tn" else x[:, :columns].T for x, columns in zip((a, b), inner))
    expected = (2 * left.astype(np.float32) @ right.T.astype(np.float32) - 3 * c.T).T.astype(dtype)
    launched(examples, example, variant, tmp_path)(m, n, k, 2.0, a, a.shape[1], b, b.shape[1], -3.0, c, m)
    assert (c == expected).all()


@pytest.mark.parametrize("variant", ["mma_sync", "fma"])
@pytest.mark.parametrize("sizes", [(1, 1, 8), (129, 70, 40), (512, 512, 512)])
def test_gemm_atoms(examples, variant, sizes, tmp_path):
    rng, (m, n, k) = np.random.default_rng(1), sizes
    a, b, d = drawn(rng, (m, k), np.float16), drawn(rng, (n, k), np.float16), drawn(rng, (m, n))
    expected = a.astype(np.float32) @ b.T.astype(np.float32) + d
    launched(examples, "gemm_atoms", variant, tmp_path)(m, n, k, a, b, d)
    assert (d == expected).all()


@LEAST_16
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_epilogue(examples, activation, tmp_path):
    rng = np.random.default_rng(1)
    x, w, bias = (drawn(rng, shape) for shape in ((137, 21), (130, 21), (130,)))
    y = np.zeros((137, 130), np.float32)
    launched(examples, "epilogue", activation, tmp_path)(137, 130, 21, x, w, bias, y)
    assert np.allclose(y, examples[activation](x @ w.T + bias), atol=1e-4)
