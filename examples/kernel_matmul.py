"""A tiled matrix product: the layouts are written once; the kernel is numpy, C, CUDA, Triton and Pallas.

python examples/kernel_matmul.py

Of the operands one is row-major, the other in Ascend's fractals, the result in the tiles of a TPU: another line at the top, and
the kernels below stay as they are. Sizes are static, and numbers in the kernels, as in a kernel that is compiled for its shape.
"""

import functools

import _routes
import numpy as np

from tla import Int, LayoutRight, MakeLayout, MakeTensor, Swizzle, ceil_div, composition, copy, cosize, parse, xla
from tla.ascend import float as fp32, zN

TILE_A = TILE_B = composition(Swizzle[4, 0, 4](), parse("(_16,_16):(_16,_1)"))


@functools.cache
def layouts(m, n, k):
    """Where the operands and the result lie."""
    return {
        "a_at": MakeLayout((Int[m](), Int[k]()), LayoutRight),
        "b_at": MakeLayout[fp32, zN](Int[k](), Int[n]()),
        "c_at": xla.lower(f"f32[{m},{n}]{{1,0:T(8,128)}}"),
    }


C = """
void matmul(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int p = 0; p < k; ++p) sum += a[a_at(i, p)] * b[b_at(p, j)];
            c[c_at(i, j)] = sum;
        }
}
"""
CUDA = """
extern "C" __global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {  // blocks of (16, 16) threads
    __shared__ float left[256], right[256];
    const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int p = 0; p < k; p += 16) {
        left[tile_a(y, x)] = i < m && p + x < k ? a[a_at(i, p + x)] : 0;
        right[tile_b(y, x)] = p + y < k && j < n ? b[b_at(p + y, j)] : 0;
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += left[tile_a(y, q)] * right[tile_b(q, x)];
        __syncthreads();
    }
    if (i < m && j < n) c[c_at(i, j)] = sum;
}
"""
TRITON = """
@triton.jit
def matmul(c, a, b, m, n, k):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]
    j = tl.program_id(1) * 16 + tl.arange(0, 16)[None, :]
    total = tl.zeros((16, 16), tl.float32)
    for start in range(0, k, 16):
        p, q = start + tl.arange(0, 16)[None, :], start + tl.arange(0, 16)[:, None]
        left = tl.load(a + a_at(i, p), (i < m) & (p < k), 0.0)
        right = tl.load(b + b_at(q, j), (q < k) & (j < n), 0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + c_at(i, j), total, (i < m) & (j < n))
"""


def room(m, n, k):
    return np.zeros(int(cosize(layouts(m, n, k)["c_at"])), np.float32)


def in_numpy(a, b, *sizes):
    out = room(*sizes)
    left, right, result = map(MakeTensor, (a, b, out), layouts(*sizes).values())
    copy(np.asarray(left) @ np.asarray(right), result)
    return out


def in_c(a, b, *sizes):
    out = room(*sizes)
    _routes.call(_routes.c(_routes.functions("c", **layouts(*sizes)) + C).matmul, out, a, b, *sizes)
    return out


def in_triton(a, b, m, n, k):
    out = room(m, n, k)
    kernels = _routes.triton(_routes.functions("triton", **layouts(m, n, k)) + TRITON)
    kernels.matmul[ceil_div(m, 16), ceil_div(n, 16)](*map(_routes.tensor, (out, a, b)), m, n, k)
    return out


def in_pallas(a, b, m, n, k):
    jax, pl = _routes.module("jax"), _routes.module("jax.experimental.pallas")
    a_at, b_at, c_at = layouts(m, n, k).values()
    out = jax.ShapeDtypeStruct(room(m, n, k).shape, a.dtype)

    def kernel(a, b, c):
        i, j = (pl.program_id(d) * 16 + jax.lax.broadcasted_iota("int32", (16, 16), d) for d in (0, 1))
        p = jax.numpy.arange(k)
        tile = jax.numpy.dot(a[...][a_at(i[:, :1], p[None])], b[...][b_at(p[:, None], j[:1])], precision="highest")
        there = jax.numpy.where((i < m) & (j < n), c_at(i, j), out.size)
        c[...] = jax.numpy.where((pl.program_id(0) == 0) & (pl.program_id(1) == 0), 0, c[...]).at[there].set(tile, mode="drop")

    return np.asarray(pl.pallas_call(kernel, grid=(ceil_div(m, 16), ceil_div(n, 16)), out_shape=out, interpret=True)(a, b))


def in_cuda(a, b, *sizes):
    _routes.cuda(_routes.functions("cuda", **layouts(*sizes), tile_a=TILE_A, tile_b=TILE_B) + CUDA)


def case(m, n, k):
    """Operands of small whole numbers, whose products are exact, as they lie; and the result as it has to lie."""
    rng = np.random.default_rng(0)
    values = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (k, n))
    values = [*values, values[0] @ values[1]]
    arrays = []
    for layout, value in zip(layouts(m, n, k).values(), values):
        arrays.append(np.zeros(int(cosize(layout)), np.float32))
        copy(value, MakeTensor(arrays[-1], layout))
    a, b, c = arrays
    return (a, b, m, n, k), c


def main():
    cases = [case(5, 3, 7), case(33, 150, 20)]
    _routes.compare({"numpy": in_numpy, "C": in_c, "CUDA": in_cuda, "Triton": in_triton, "Pallas": in_pallas}, cases)


if __name__ == "__main__":
    main()
