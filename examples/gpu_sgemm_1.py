"""CuTe's tutorial sgemm_1 on numpy: C = A * B^T without a tiled MMA, every thread's part by local_partition alone.

Each thread copies its part of a tile into shared memory and multiplies its rows of A with its rows of B. Sizes need not divide: a
part past the end has nothing valid in it, and copies guard themselves by predicates. The same partitions with symbols for thread
and block are the kernel's indices in CUDA.

Source: CUTLASS examples/cute/tutorial/sgemm_1.cu.
"""

import numpy as np

from tla import (
    Int,
    MakeLayout,
    MakeTensor,
    _,
    copy_if,
    dim,
    dims,
    elem_less,
    gemm,
    local_partition,
    local_tile,
    make_identity_tensor,
    parse,
    transpose,
)
from tla.codegen import emit, emit_guard

BM, BN, BK = Int[8](), Int[8](), Int[4]()
TA, TB, TC = parse("(_4,_2):(_1,_4)"), parse("(_8,_1):(_1,_8)"), parse("(_4,_2):(_1,_4)")
THREADS = 8


def staged(matrix, tiler, coord, threads):
    """Shared memory with a tile of a matrix, written thread by thread, zeros past its end."""
    tile, places = (local_tile(x, tiler, coord) for x in (MakeTensor(matrix), make_identity_tensor(matrix.shape)))
    shared = MakeTensor(np.zeros(tuple(map(int, tiler)), matrix.dtype))
    for t in range(THREADS):
        source, at, target = (local_partition(x, threads, t) for x in (tile, places, shared))
        copy_if(elem_less(at, matrix.shape), source, target)
    return shared


def sgemm(a, b):
    """C (M,N) of A (M,K) and B (N,K)."""
    (m, k), n = a.shape, b.shape[0]
    c = np.zeros((m, n), np.float32)
    for i in range(-(-m // BM)):
        for j in range(-(-n // BN)):
            total = [MakeTensor(np.zeros((2, 4), np.float32)) for t in range(THREADS)]  # each thread's registers
            for step in range(-(-k // BK)):
                left, right = staged(a, (BM, BK), (i, step), TA), staged(b, (BN, BK), (j, step), TB)
                for t in range(THREADS):  # of A the rows of TC's rows, of B those of its columns
                    rows, columns = local_partition(left, TC, t, proj=(1, _)), local_partition(right, TC, t, proj=(_, 1))
                    gemm(rows, transpose(columns), total[t], accumulate=True)
            for t in range(THREADS):
                tile, places = (local_tile(x, (BM, BN), (i, j)) for x in (MakeTensor(c), make_identity_tensor(c.shape)))
                target, at = (local_partition(x, TC, t) for x in (tile, places))
                copy_if(elem_less(at, c.shape), total[t], target)
    return c


def indices(target="cuda"):
    """The kernel's indices as code: what thread t reads of A, whether it is there, where it writes it, and its part of C."""
    (m, n, k), t = dims("M N K"), dim("t", at_least=0, at_most=THREADS - 1)
    bx, by, step = (dim(name, at_least=0) for name in ("bx", "by", "step"))
    a, c = MakeTensor(None, MakeLayout((m, k), (k, Int[1]()))), MakeTensor(None, MakeLayout((m, n), (n, Int[1]())))
    read, places = (local_partition(local_tile(x, (BM, BK), (bx, step)), TA, t) for x in (a, make_identity_tensor((m, k))))
    shared = MakeTensor(None, parse("(_8,_4):(_1,_8)"))
    write, out = (local_partition(local_tile(x, (BM, BN), (bx, by)), TC, t) for x in (c, make_identity_tensor((m, n))))
    return {
        "read_a": emit(read, target, "i,j", name="read_a"),
        "has_a": emit_guard(places, target, "i,j", below=(m, k), name="has_a"),
        "shared_a": emit(local_partition(shared, TA, t), target, "i,j", name="shared_a"),
        "write_c": emit(write, target, "i,j", name="write_c"),
        "has_c": emit_guard(out, target, "i,j", below=(m, n), name="has_c"),
    }


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((9, 5), (10, 5)))
    print("largest difference from numpy:", np.abs(sgemm(a, b) - a @ b.T).max())
    print(*indices().values(), sep="\n")
