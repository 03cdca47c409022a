"""CuTe's tutorial sgemm_2 as a kernel: as sgemm_1, by a tiled copy and a tiled MMA, with the next tiles on their way in registers.

While the threads multiply the tiles in shared memory, the elements of the next ones are loaded into registers.

    python examples/kernels/sgemm_2.py                                                       # run on numpy, checked
    python examples/kernels/sgemm_2.py --target cuda --arch sm_80 --variant gemm_tn          # its text

Source: CUTLASS examples/cute/tutorial/sgemm_2.cu.
"""

import numpy as np
from _main import main
from sgemm_1 import BK, BM, BN, PARAMETERS, arguments, blocks, tile_of

from tla import Int, LayoutRight, ceil_div, elem_less, local_tile, make_layout, max as most, min as least
from tla.gpu import Copy_Atom, UniversalCopy, UniversalFMA, float, make_fragment_like, make_tiled_copy, make_tiled_mma, uint128
from tla.kernels import axpby, barrier, block, clear, copy, copy_if, gemm, kernel, loop, shared, thread

MMA = make_tiled_mma(UniversalFMA[float], (16, 16))
VECTORS = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (32, 8), (4, 1))
ELEMENTS = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], make_layout((Int[32](), Int[8]()), LayoutRight), (1, 1))


def sgemm_2_of(tiled, pad, registers=None):
    """The kernel for a tiled copy of A and B, so many elements between columns of shared memory, and at most so many registers a thread."""

    @kernel(threads=256, grid=blocks, registers=registers)
    def sgemm_2(A, B, C, alpha, beta):
        """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
        t, steps = thread(), ceil_div(A.shape[1], BK)
        own, product = tiled[t], MMA[t]
        smem_a, smem_b = (shared(np.float32, make_layout((rows, BK), stride=(Int[1](), rows + pad))) for rows in (BM, BN))
        kinds = (A, smem_a, BM, block(0)), (B, smem_b, BN, block(1))
        registers = [make_fragment_like(own.partition_D(smem)) for _matrix, smem, _size, _i in kinds]

        def load(k):
            for (matrix, _smem, size, i), held in zip(kinds, registers):
                tile, places = (own.partition_S(x) for x in tile_of(matrix, (size, BK), (i, k)))
                clear(held)
                copy_if(tiled, elem_less(places, matrix.shape), tile, held)

        mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
        total = make_fragment_like(mine)
        clear(total)
        load(0)
        for k in loop(steps):
            barrier()
            for (_matrix, smem, _size, _i), held in zip(kinds, registers):
                copy(tiled, held, own.partition_D(smem))
            barrier()
            load(most(0, least(k + 1, steps - 1)))
            gemm(MMA, product.partition_A(smem_a), product.partition_B(smem_b), total)
        axpby(alpha, total, beta, mine)

    return sgemm_2


VARIANTS = {
    "gemm_nt": (sgemm_2_of(VECTORS, 0, 114), arguments(0, 4), PARAMETERS),
    "gemm_tn": (sgemm_2_of(ELEMENTS, 1, 96), arguments(1, 1), PARAMETERS),
}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((137, 21), (130, 21), (137, 130)))
    expected = 2 * a @ b.T - c
    sgemm_2 = sgemm_2_of(ELEMENTS, 1)
    print(sgemm_2.check(a, b, c, 2, -1))
    sgemm_2.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
