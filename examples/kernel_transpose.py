"""A tiled transpose: the layouts and the tile are written once; the kernel is numpy, C, CUDA, Triton and Pallas.

python examples/kernel_transpose.py

Rows of the source are read side by side into a tile, and columns of the tile are written side by side. The tile is swizzled, so
that neither its rows nor its columns meet in one bank of shared memory.
"""

import _routes
import numpy as np

from tla import LayoutLeft, LayoutRight, MakeLayout, MakeTensor, Swizzle, at, ceil_div, composition, copy, dims, parse
from tla.codegen import emit_copy

M, N = dims("M N", at_most=2**14)
SOURCE = MakeLayout((M, N), LayoutRight)
TARGET = MakeLayout((M, N), LayoutLeft)  # element (i, j) of the source goes here
TILE = composition(Swizzle[5, 0, 5](), parse("(_32,_32):(_32,_1)"))

CUDA = """
extern "C" __global__ void transpose(float *dst, const float *src, int M, int N) {  // blocks of (32, 8) threads
    __shared__ float shared[32 * 32];
    const int x = threadIdx.x, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    for (int y = threadIdx.y; y < 32; y += 8)
        if (i0 + y < M && j0 + x < N) shared[tile(y, x)] = src[source(i0 + y, j0 + x, N)];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        if (i0 + x < M && j0 + y < N) dst[target(i0 + x, j0 + y, M)] = shared[tile(x, y)];
}
"""
TRITON = """
@triton.jit
def transpose(dst, src, M, N):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)[:, None]
    j = tl.program_id(1) * 32 + tl.arange(0, 32)[None, :]
    valid = (i < M) & (j < N)
    tl.store(dst + target(i, j, M), tl.load(src + source(i, j, N), valid), valid)
"""


def in_numpy(x, m, n):
    out = np.empty(m * n, x.dtype)
    copy(MakeTensor(x, at(SOURCE, M=m, N=n)), MakeTensor(out, at(TARGET, M=m, N=n)))
    return out


def in_c(x, m, n):
    out = np.empty(m * n, x.dtype)
    _routes.call(_routes.c(emit_copy(SOURCE, TARGET, "c", element=32)).copy, out, x, m, n)
    return out


def in_triton(x, m, n):
    out = np.empty(m * n, x.dtype)
    kernels = _routes.triton(_routes.functions("triton", source=SOURCE, target=TARGET) + TRITON)
    kernels.transpose[ceil_div(m, 32), ceil_div(n, 32)](_routes.tensor(out), _routes.tensor(x), m, n)
    return out


def in_pallas(x, m, n):
    jax, pl = _routes.module("jax"), _routes.module("jax.experimental.pallas")
    source, target = at(SOURCE, M=m, N=n), at(TARGET, M=m, N=n)

    def kernel(src, dst):
        i, j = (pl.program_id(d) * 32 + jax.lax.broadcasted_iota("int32", (32, 32), d) for d in (0, 1))
        there = jax.numpy.where((i < m) & (j < n), target(i, j), m * n)
        dst[...] = dst[...].at[there].set(src[...][source(i, j)], mode="drop")

    out = jax.ShapeDtypeStruct((m * n,), x.dtype)
    return np.asarray(pl.pallas_call(kernel, grid=(ceil_div(m, 32), ceil_div(n, 32)), out_shape=out, interpret=True)(x))


def in_cuda(x, m, n):
    _routes.cuda(_routes.functions("cuda", source=SOURCE, target=TARGET, tile=TILE) + CUDA)


def main():
    sizes = [(1, 1), (32, 64), (33, 70)]
    arrays = [np.arange(m * n, dtype=np.float32).reshape(m, n) for m, n in sizes]
    cases = [((x.ravel(), *x.shape), x.T.ravel()) for x in arrays]
    _routes.compare({"numpy": in_numpy, "C": in_c, "CUDA": in_cuda, "Triton": in_triton, "Pallas": in_pallas}, cases)


if __name__ == "__main__":
    main()
