"""CuTe's tutorial sgemm_1 as a kernel: C = alpha * A * B^T + beta * C, every thread's part by local_partition.

The threads of a block copy tiles of A and B into shared memory, wait, and multiply their rows of A by their rows of B. Sizes need
not divide: predicates guard what reaches past the end, and it is zero in shared memory.

Source: CUTLASS examples/cute/tutorial/sgemm_1.cu.
"""

import numpy as np

from tla import Int, LayoutRight, _, ceil_div, elem_less, local_tile, make_identity_tensor, make_layout, parse
from tla.gpu import make_fragment_like
from tla.kernels import axpby, barrier, block, clear, copy_if, gemm, kernel, local_partition, loop, shared, thread

BM, BN, BK = Int[16](), Int[16](), Int[8]()
LOAD, TC = parse("(_8,_4):(_1,_8)"), parse("(_8,_4):(_1,_8)")


def tile_of(tensor, tiler, coord):
    """A tile, and the coordinates of its elements."""
    return local_tile(tensor, tiler, coord), local_tile(make_identity_tensor(tensor.shape), tiler, coord)


@kernel(threads=32, grid=lambda a, b, c, alpha, beta: (ceil_div(a.shape[0], BM), ceil_div(b.shape[0], BN)))
def sgemm_1(a, b, c, alpha, beta):
    """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    t = thread()
    smem_a, smem_b = (shared(np.float32, make_layout((rows, BK), LayoutRight)) for rows in (BM, BN))
    rows, columns = local_partition(smem_a, TC, t, proj=(1, _)), local_partition(smem_b, TC, t, proj=(_, 1))
    tile, places = tile_of(c, (BM, BN), (block(0), block(1)))
    own, at = local_partition(tile, TC, t), local_partition(places, TC, t)
    total, before = make_fragment_like(own), make_fragment_like(own)
    clear(total)
    for k in loop(ceil_div(a.shape[1], BK)):
        for matrix, smem, size, i in ((a, smem_a, BM, block(0)), (b, smem_b, BN, block(1))):  # Python's loop: unrolled
            tile, places = tile_of(matrix, (size, BK), (i, k))
            source, inside, target = (local_partition(x, LOAD, t) for x in (tile, places, smem))
            clear(target)
            copy_if(elem_less(inside, matrix.shape), source, target)
        barrier()
        gemm(rows, columns, total)
        barrier()
    clear(before)
    copy_if(elem_less(at, c.shape), own, before)
    axpby(alpha, total, beta, before)
    copy_if(elem_less(at, c.shape), before, own)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((37, 21), (30, 21), (37, 30)))
    expected = 2 * a @ b.T - c
    print(sgemm_1.check(a, b, c, 2, -1))
    sgemm_1.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())
