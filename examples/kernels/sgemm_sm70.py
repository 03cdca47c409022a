"""CuTe's tutorial sgemm_sm70 as a kernel: as sgemm_2, with the operands of the next multiplications on their way from shared memory too.

A tile has eight steps of k. While the threads multiply one, they load the next from shared memory into registers; and while they
multiply a tile, they load the next one from global memory.

    python examples/kernels/sgemm_sm70.py                                                    # run on numpy, checked
    python examples/kernels/sgemm_sm70.py --target cuda --arch sm_80 --variant gemm_tn       # its text

Source: CUTLASS examples/cute/tutorial/sgemm_sm70.cu.
"""

import numpy as np
from _main import main
from sgemm_1 import BK, BM, BN, PARAMETERS, arguments, blocks, tile_of
from sgemm_2 import ELEMENTS, MMA, VECTORS

from tla import Int, _, ceil_div, elem_less, local_tile, make_layout, max as most, min as least
from tla.gpu import make_fragment_like
from tla.kernels import axpby, barrier, block, clear, copy, copy_if, gemm, kernel, loop, shared, thread


def sgemm_sm70_of(tiled, pad, registers=None):
    """The kernel for a tiled copy of A and B, so many elements between columns of shared memory, and at most so many registers a thread."""

    @kernel(threads=256, grid=blocks, registers=registers)
    def sgemm_sm70(A, B, C, alpha, beta):
        """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
        t, steps = thread(), ceil_div(A.shape[1], BK)
        own, product = tiled[t], MMA[t]
        smem_a, smem_b = (shared(np.float32, make_layout((rows, BK), stride=(Int[1](), rows + pad))) for rows in (BM, BN))
        kinds = (A, smem_a, BM, block(0)), (B, smem_b, BN, block(1))
        loaded = [make_fragment_like(own.partition_D(smem)) for _matrix, smem, _size, _i in kinds]
        operands = product.partition_A(smem_a), product.partition_B(smem_b)
        registers = [make_fragment_like(x) for x in operands]

        def load(k):
            for (matrix, _smem, size, i), held in zip(kinds, loaded):
                tile, places = (own.partition_S(x) for x in tile_of(matrix, (size, BK), (i, k)))
                clear(held)
                copy_if(tiled, elem_less(places, matrix.shape), tile, held)

        def store():
            for (_matrix, smem, _size, _i), held in zip(kinds, loaded):
                copy(tiled, held, own.partition_D(smem))
            barrier()

        def fetch(step):
            for smem, held in zip(operands, registers):
                copy(smem[_, _, step], held[_, _, step])

        mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
        total = make_fragment_like(mine)
        clear(total)
        load(0)
        store()
        fetch(0)
        for k in loop(steps):
            for step in range(BK):
                if step == BK - 1:
                    barrier()
                    store()
                fetch((step + 1) % BK)
                if step == 0:
                    load(most(0, least(k + 1, steps - 1)))
                gemm(MMA, *(x[_, _, step] for x in registers), total)
        axpby(alpha, total, beta, mine)

    return sgemm_sm70


VARIANTS = {
    "gemm_nt": (sgemm_sm70_of(VECTORS, 0, 100), arguments(0, 4), PARAMETERS),
    "gemm_tn": (sgemm_sm70_of(ELEMENTS, 1, 116), arguments(1, 1), PARAMETERS),
}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((137, 21), (130, 21), (137, 130)))
    expected = 2 * a @ b.T - c
    sgemm_sm70 = sgemm_sm70_of(ELEMENTS, 1)
    print(sgemm_sm70.check(a, b, c, 2, -1))
    sgemm_sm70.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
