"""CuTe's tutorials sgemm_2, sgemm_sm70 and wgmma_sm90 on numpy: one function, three tiled MMAs. kernels/ has the first two as kernels,
and sgemm_sm80. `indices` is what the kernels compute their addresses by, as code.

What differs is the instruction: a multiply-add of one thread, Volta's of a quad pair, Hopper's of a warpgroup, which reads
shared memory by itself, and only where a matrix descriptor can say: its tiles are canonical. Sizes need not divide.

Source: CUTLASS examples/cute/tutorial.
"""

from dataclasses import dataclass

import numpy as np

from tla import (
    ComposedLayout,
    Int,
    LayoutRight,
    MakeLayout,
    MakeTensor,
    dim,
    dims,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
    tile_to_shape,
)
from tla.codegen import emit, emit_guard
from tla.gpu import (
    GMMA,
    Copy_Atom,
    SM70_8x8x4_F32F16F16F32_TN,
    SM90_64x64x16_F32F16F16_SS,
    TiledCopy,
    TiledMMA,
    UniversalCopy,
    UniversalFMA,
    copy_if,
    float,
    gemm,
    half,
    make_tiled_copy,
    make_tiled_copy_C,
    make_tiled_mma,
    transform,
    values_of,
)


@dataclass(frozen=True)
class Tutorial:
    """One tutorial's types: the tiled MMA, the copy into shared memory, the tile along M, N and K, and how its shared memory lies."""

    mma: TiledMMA
    g2s: TiledCopy
    tile: tuple[int, int, int]
    dtype: type
    canonical: ComposedLayout | None = None

    def shared(self, rows):
        """The layout of a tile of A or B in shared memory: rows, or what a matrix descriptor says."""
        shape = (Int[rows](), Int[self.tile[2]]())
        return tile_to_shape(self.canonical, shape) if self.canonical else make_layout(shape, LayoutRight)

    @property
    def r2g(self):
        """The copy of C from registers to global memory, element by element: a predicate is that of each."""
        return make_tiled_copy_C(Copy_Atom[UniversalCopy[float], float], self.mma)


def copies(element, threads, values=(1, 1)):
    return make_tiled_copy(Copy_Atom[UniversalCopy[element], element], parse(threads), values)


TUTORIALS = {
    "sgemm_2": Tutorial(make_tiled_mma(UniversalFMA[float], (16, 16)), copies(float, "(_32,_8):(_1,_32)"), (32, 32, 8), np.float32),
    "sgemm_sm70": Tutorial(
        make_tiled_mma(SM70_8x8x4_F32F16F16F32_TN, parse("(_2,_2):(_2,_1)")), copies(half, "(_16,_2):(_2,_1)"), (32, 32, 8), np.float16
    ),
    "wgmma_sm90": Tutorial(
        make_tiled_mma(SM90_64x64x16_F32F16F16_SS),
        copies(half, "(_32,_4):(_4,_1)", (1, 8)),
        (64, 64, 32),
        np.float16,
        GMMA.K_SW64[half],
    ),
}


def inside(partition, extents):
    rows, columns = values_of(partition)
    return (rows < extents[0]) & (columns < extents[1])


def staged(kernel, matrix, rows, coord):
    """Shared memory with a tile of a matrix, zeros past its end."""
    g2s, tiler = kernel.g2s, (rows, kernel.tile[2])
    own = g2s[np.arange(g2s.threads)]
    tile, places = (local_tile(x, tiler, coord) for x in (MakeTensor(matrix), make_identity_tensor(matrix.shape)))
    shared = MakeTensor(np.zeros(rows * kernel.tile[2], matrix.dtype), kernel.shared(rows), position="smem")
    copy_if(g2s, inside(own.partition_S(places), matrix.shape), own.partition_S(tile), own.partition_D(shared))
    return shared


def in_registers(kernel, side, shared):
    """A fragment with what its threads read of shared memory; of an instruction that reads it by itself, that memory."""
    own = kernel.mma[np.arange(kernel.mma.threads)]
    fragment = getattr(own, f"partition_fragment_{side}")(shared)
    if fragment.data is not shared.data:
        transform(own.partition(side, shared), fragment, lambda x: x)
    return fragment


def run(name, a, b):
    """C (M,N) of A (M,K) and B (N,K) by a tutorial's kernel."""
    kernel = TUTORIALS[name]
    (bm, bn, bk), (m, k), n = kernel.tile, a.shape, b.shape[0]
    threads, r2g, c = np.arange(kernel.mma.threads), kernel.r2g, np.zeros((m, n), np.float32)
    own, out = kernel.mma[threads], r2g[threads]
    for i in range(-(-m // bm)):
        for j in range(-(-n // bn)):
            total = own.partition_fragment_C(parse(f"(_{bm},_{bn}):(_1,_{bm})"))
            for step in range(-(-k // bk)):
                left = in_registers(kernel, "A", staged(kernel, a, bm, (i, step)))
                right = in_registers(kernel, "B", staged(kernel, b, bn, (j, step)))
                gemm(kernel.mma, total, left, right, total)
            tile, places = (out.partition_D(local_tile(x, (bm, bn), (i, j))) for x in (MakeTensor(c), make_identity_tensor(c.shape)))
            copy_if(r2g, inside(places, c.shape), out.retile_S(total), tile)
    return c


def indices(name, target="cuda"):
    """A tutorial's indices as code: what thread t reads of A and whether it is there, where it writes it, and its part of C."""
    kernel, one = TUTORIALS[name], Int[1]()
    bm, bn, bk = (Int[extent]() for extent in kernel.tile)
    (m, n, k), t = dims("M N K"), dim("t", at_least=0, at_most=kernel.mma.threads - 1)
    bx, by, step = (dim(block, at_least=0) for block in ("bx", "by", "step"))
    a, c = MakeTensor(None, MakeLayout((m, k), (k, one))), MakeTensor(None, MakeLayout((m, n), (n, one)))
    of_a, of_c = (((x, y), at) for x, y, at in ((bm, bk, (bx, step)), (bm, bn, (bx, by))))
    copies, own, v = kernel.g2s[t], kernel.mma[t], "v,i,j"
    return {
        "read_a": emit(copies.partition_S(local_tile(a, *of_a)), target, v, name="read_a"),
        "has_a": emit_guard(copies.partition_S(local_tile(make_identity_tensor((m, k)), *of_a)), target, v, below=(m, k), name="has_a"),
        "shared_a": emit(copies.partition_D(kernel.shared(int(bm))), target, v, name="shared_a"),
        "fragment_a": emit(own.partition_A(kernel.shared(int(bm))), target, v, name="fragment_a"),
        "write_c": emit(own.partition_C(local_tile(c, *of_c)), target, v, name="write_c"),
        "has_c": emit_guard(own.partition_C(local_tile(make_identity_tensor((m, n)), *of_c)), target, v, below=(m, n), name="has_c"),
    }


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for name, kernel in TUTORIALS.items():
        a, b = (rng.integers(-3, 4, shape).astype(kernel.dtype) for shape in ((70, 40), (50, 40)))
        print(indices(name)["has_c"])
        print(name, "differs from numpy by", np.abs(run(name, a, b) - a.astype(np.float32) @ b.astype(np.float32).T).max())
