"""The product of sgemm_sm80 a whole tile at a time: all operands of a tile come to registers at once.

Its statements are of tiles alone, so that Gluon can say it too, whose compiler orders loads and products.

    python examples/kernels/sgemm_tiles.py                                                    # run on numpy, checked
    python examples/kernels/sgemm_tiles.py --target cuda --arch sm_80                         # its text
    python examples/kernels/sgemm_tiles.py --target gluon

Source: CUTLASS examples/cute/tutorial/sgemm_sm80.cu; Triton's tutorial on matrix multiplication.
"""

import numpy as np
from _main import main
from sgemm_1 import PARAMETERS, arguments, blocks, tile_of
from sgemm_sm80 import BK, BM, BN, FETCH, LOAD, MMA, ROWS, STAGES

from tla import Int, _, ceil_div, elem_less, local_tile, max as most, min as least, tile_to_shape
from tla.gpu import make_fragment_like
from tla.kernels import (
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    cp_async_fence,
    cp_async_wait,
    gemm,
    kernel,
    loop,
    shared,
    stage,
    thread,
)


@kernel(threads=128, grid=blocks)
def sgemm_tiles(A, B, C, alpha, beta):
    """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    t, steps = thread(), ceil_div(A.shape[1], BK)
    own, product = LOAD[t], MMA[t]
    smem = [shared(np.float16, tile_to_shape(ROWS, (rows, BK, Int[STAGES]()))) for rows in (BM, BN)]
    mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
    operands = product.partition_fragment_A(smem[0][_, _, 0]), product.partition_fragment_B(smem[1][_, _, 0])

    def load(k):
        """Begin to copy tile k to its stage; past the last one there is none, but a group."""
        for matrix, to, size, i in (A, smem[0], BM, block(0)), (B, smem[1], BN, block(1)):
            tile, places = (own.partition_S(x) for x in tile_of(matrix, (size, BK), (i, most(0, least(k, steps - 1)))))
            copy_if(LOAD, elem_less(places, matrix.shape), tile, own.partition_D(to)[_, _, _, stage(k, STAGES)])
        cp_async_fence()

    for first in range(STAGES - 1):
        load(first)
    total = make_fragment_like(mine)
    clear(total)
    for k in loop(steps):
        cp_async_wait[STAGES - 2]()
        barrier()
        load(k + STAGES - 1)
        for tiled, memory, to in zip(FETCH, smem, operands):
            copy(tiled, tiled[t].partition_S(memory)[_, _, _, stage(k, STAGES)], tiled[t].retile_D(to))
        gemm(MMA, *operands, total)
    axpby(alpha, total, beta, mine)


VARIANTS = {"gemm_tn": (sgemm_tiles, arguments(1, 8, np.float16), PARAMETERS)}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((137, 200), (130, 200), (137, 130)))
    expected = 2 * a @ b.T - c
    print(sgemm_tiles.check(a, b, c, 2, -1))
    sgemm_tiles.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
