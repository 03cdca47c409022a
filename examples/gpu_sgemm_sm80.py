"""CuTe's tutorial sgemm_sm80 on numpy: C = A * B^T, every thread's part of it by the layouts of the instructions alone.

Global memory to swizzled shared memory with predicates, ldmatrix to registers, mma.sync, and predicated stores. Sizes need not
divide: a copy that is not guarded past the end is refused, and does not read another row. `indices` is what a kernel computes its
addresses by, as code.

Source: CUTLASS examples/cute/tutorial/sgemm_sm80.cu.
"""

import numpy as np

from tla import ComposedLayout, Int, MakeLayout, MakeTensor, Swizzle, _, dim, dims, local_tile, make_identity_tensor, parse
from tla.codegen import emit, emit_guard
from tla.gpu import (
    Copy_Atom,
    SM75_U32x4_LDSM_N,
    SM80_16x8x16_F32F16F16F32_TN,
    UniversalCopy,
    copy,
    copy_if,
    float,
    gemm,
    half,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_mma,
    values_of,
)

BM, BN, BK = Int[64](), Int[64](), Int[32]()
MMA = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
G2S = make_tiled_copy(Copy_Atom[UniversalCopy[half], half], parse("(_32,_4):(_4,_1)"), (1, 8))
S2R = {"A": make_tiled_copy_A(Copy_Atom[SM75_U32x4_LDSM_N, half], MMA), "B": make_tiled_copy_B(Copy_Atom[SM75_U32x4_LDSM_N, half], MMA)}
R2G = make_tiled_copy_C(Copy_Atom[UniversalCopy[float], float], MMA)
SHARED = ComposedLayout(Swizzle[2, 3, 3](), 0, parse("(_64,_32):(_32,_1)"))
THREADS = np.arange(MMA.threads)


def tile_of(matrix, tiler, coord):
    """A tile of a matrix, and which coordinates its elements have: for the predicates."""
    return local_tile(MakeTensor(matrix), tiler, coord), local_tile(make_identity_tensor(matrix.shape), tiler, coord)


def inside(partition, extents):
    """The predicate of a partition of coordinates."""
    rows, columns = values_of(partition)
    return (rows < extents[0]) & (columns < extents[1])


def to_shared(matrix, rows, coord):
    """Shared memory with a tile of a matrix, zeros past its end."""
    tile, places = tile_of(matrix, (rows, BK), coord)
    shared, own = MakeTensor(np.zeros(int(rows * BK), matrix.dtype), SHARED), G2S[THREADS]
    copy_if(G2S, inside(own.partition_S(places), matrix.shape), own.partition_S(tile), own.partition_D(shared))
    return shared


def sgemm(a, b):
    """C (M,N) of A (M,K) and B (N,K)."""
    (m, k), n = a.shape, b.shape[0]
    c = np.zeros((m, n), np.float32)
    own = MMA[THREADS]
    for i in range(-(-m // BM)):
        for j in range(-(-n // BN)):
            tile, places = tile_of(c, (BM, BN), (i, j))
            total = own.partition_fragment_C(parse("(_64,_64):(_1,_64)"))
            for step in range(-(-k // BK)):
                shared = {"A": to_shared(a, BM, (i, step)), "B": to_shared(b, BN, (j, step))}
                registers = {x: getattr(own, f"partition_fragment_{x}")(s) for x, s in shared.items()}
                for x, s in shared.items():
                    copy(S2R[x], S2R[x][THREADS].partition_S(s), S2R[x][THREADS].retile_D(registers[x]))
                gemm(MMA, total, registers["A"], registers["B"], total)
            out = R2G[THREADS]
            copy_if(R2G, inside(out.partition_D(places), c.shape), out.retile_S(total), out.partition_D(tile))
    return c


def indices(target="cuda"):
    """The indices as code: what thread t reads of A and whether it is there, where in swizzled memory it goes and is read, its C."""
    (m, n, k), t = dims("M N K"), dim("t", at_least=0, at_most=MMA.threads - 1)
    bx, by, step = (dim(block, at_least=0) for block in ("bx", "by", "step"))
    a, c = MakeTensor(None, MakeLayout((m, k), (k, Int[1]()))), MakeTensor(None, MakeLayout((m, n), (n, Int[1]())))
    tile, places = (local_tile(x, (BM, BK), (bx, step)) for x in (a, make_identity_tensor((m, k))))
    out, inside_c = (local_tile(x, (BM, BN), (bx, by)) for x in (c, make_identity_tensor((m, n))))
    v = "v,i,j"
    return {
        "read_a": emit(G2S[t].partition_S(tile), target, v, name="read_a"),
        "has_a": emit_guard(G2S[t].partition_S(places), target, v, below=(m, k), name="has_a"),
        "shared_a": emit(G2S[t].partition_D(SHARED), target, v, name="shared_a"),
        "ldmatrix_a": emit(S2R["A"][t].partition_S(SHARED), target, v, name="ldmatrix_a"),
        "write_c": emit(R2G[t].partition_D(out), target, v, name="write_c"),
        "has_c": emit_guard(R2G[t].partition_D(inside_c), target, v, below=(m, n), name="has_c"),
    }


if __name__ == "__main__":
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in ((100, 72), (90, 72)))
    difference = np.abs(sgemm(a, b) - a.astype(np.float32) @ b.astype(np.float32).T).max()
    print("thread 33's part of a tile of A:", MMA[33].partition_A(SHARED)[_, 0, 0].layout)
    print(indices()["ldmatrix_a"])
    print("largest difference from numpy:", difference)
