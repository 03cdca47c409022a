"""Packing a row-major bf16 matrix into the tiles of a TPU, T(8,128)(2,1), padding zeroed. Numpy, C, CUDA, Triton and Pallas.

python examples/kernel_pack_tiles.py
"""

import _routes
import numpy as np

from tla import LayoutRight, MakeLayout, MakeTensor, at, ceil_div, copy, cosize, dims, xla
from tla.codegen import emit_copy

M, N = dims("M N", at_most=2**14)
ROWS = MakeLayout((M, N), LayoutRight)
TILES = xla.lower("bf16[M,N]{1,0:T(8,128)(2,1)}", M=M, N=N)

TRITON = """
@triton.jit
def pack(dst, src, M, N):  # a program for each tile
    i = tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]
    j = tl.program_id(1) * 128 + tl.arange(0, 128)[None, :]
    tl.store(dst + tiles(i, j, N), tl.load(src + rows(i, j, N), (i < M) & (j < N), 0))
"""


def room(m, n):
    """Zeros, in which what is not written is padding: the bits of bf16 are of 16-bit integers here."""
    return np.zeros(int(cosize(at(TILES, M=m, N=n))), np.uint16)


def in_numpy(x, m, n):
    out = room(m, n)
    copy(MakeTensor(x, at(ROWS, M=m, N=n)), MakeTensor(out, at(TILES, M=m, N=n)))
    return out


def in_c(x, m, n):
    out = room(m, n)
    _routes.call(_routes.c(emit_copy(ROWS, TILES, "c", element=16)).copy, out, x, m, n)
    return out


def in_triton(x, m, n):
    out = room(m, n)
    kernels = _routes.triton(_routes.functions("triton", rows=ROWS, tiles=TILES) + TRITON)
    kernels.pack[ceil_div(m, 8), ceil_div(n, 128)](_routes.tensor(out), _routes.tensor(x), m, n)
    return out


def in_pallas(x, m, n):
    jax, pl = _routes.module("jax"), _routes.module("jax.experimental.pallas")
    rows, tiles = (at(layout, M=m, N=n) for layout in (ROWS, TILES))

    def kernel(src, dst):  # a program for each tile; what it reads past the matrix is padding
        i, j = (pl.program_id(d) * extent + jax.lax.broadcasted_iota("int32", (8, 128), d) for d, extent in enumerate((8, 128)))
        values = jax.numpy.where((i < m) & (j < n), src[...][rows(i, j)], 0)
        dst[...] = dst[...].at[tiles(i, j)].set(values)

    out = jax.ShapeDtypeStruct(room(m, n).shape, x.dtype)
    return np.asarray(pl.pallas_call(kernel, grid=(ceil_div(m, 8), ceil_div(n, 128)), out_shape=out, interpret=True)(x))


def in_cuda(x, m, n):
    _routes.cuda(emit_copy(ROWS, TILES, "cuda", element=16))


def case(m, n):
    """The bits of a matrix; and the tiles by numpy's own means: 8 by 128, and in each two rows side by side, element by element."""
    x = np.arange(1, m * n + 1).astype(np.uint16)
    padded = np.pad(x.reshape(m, n), [(0, -m % 8), (0, -n % 128)])
    return (x, m, n), padded.reshape(-(-m // 8), 4, 2, -(-n // 128), 128).transpose(0, 3, 1, 4, 2).ravel()


def main():
    cases = [case(1, 1), case(16, 256), case(33, 150)]
    _routes.compare({"numpy": in_numpy, "C": in_c, "CUDA": in_cuda, "Triton": in_triton, "Pallas": in_pallas}, cases)


if __name__ == "__main__":
    main()
