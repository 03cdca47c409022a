"""CuTe's tutorial wgmma_tma_sm90 as a kernel: TMA loads whole tiles into three stages of shared memory, which wgmma reads by itself.

One thread asks for a tile and says how many bytes are to come; an mbarrier of each stage counts them, and all threads wait for its phase.
What is past the end of A and B comes as zeros, so no copy has a predicate. Sizes need not divide.

    python examples/kernels/wgmma_tma_sm90.py                                                    # run on numpy, checked
    python examples/kernels/wgmma_tma_sm90.py --target cuda --arch sm_90a --variant gemm_tn      # its text

Source: CUTLASS examples/cute/tutorial/hopper/wgmma_tma_sm90.cu.
"""

import numpy as np
from _main import main
from sgemm_1 import PARAMETERS, arguments, blocks

from tla import Int, _, ceil_div, local_tile, tile_to_shape
from tla.gpu import GMMA, MN, K, SM90_64x64x16_F16F16F16_SS, half, make_fragment_like, make_tiled_mma, tma_transaction_bytes
from tla.kernels import (
    axpby,
    barrier,
    block,
    clear,
    copy,
    gemm,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    shared,
    stage,
    thread,
    wait_barrier,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
    when,
)

BM, BN, BK, STAGES = Int[128](), Int[128](), Int[64](), 3


def wgmma_of(major, canonical):
    """The kernel for A and B of a major mode, M and N or K, with the canonical layout of shared memory."""
    mma = make_tiled_mma(SM90_64x64x16_F16F16F16_SS[major, major])

    @kernel(threads=128, grid=blocks)
    def wgmma_tma_sm90(A, B, C, alpha, beta):
        """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
        steps, product = ceil_div(A.shape[1], BK), mma[thread()]
        # Tiles along K first: of M and N contiguous, 64 columns of K are then one box of TMA, and not 8.
        smem = [shared(np.float16, tile_to_shape(canonical, (rows, BK, Int[STAGES]()), (2, 1, 3))) for rows in (BM, BN)]
        tma = [make_tma_copy("SM90_TMA_LOAD", matrix, s[_, _, 0]) for matrix, s in zip((A, B), smem)]
        full = mbarriers(STAGES)
        mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
        a, b = product.partition_fragment_A(smem[0]), product.partition_fragment_B(smem[1])

        def begin(k):
            """Begin to load tile k to its stage, where there is one."""
            for _tile in when(k < steps):
                set_barrier_transaction_bytes(full[stage(k, STAGES)], tma_transaction_bytes(*(s[_, _, 0] for s in smem)))
                for x, matrix, s, i in zip(tma, (A, B), smem, (block(0), block(1))):
                    tile = local_tile(matrix, x.tiler_mn, (i, k))
                    copy(x.with_(full[stage(k, STAGES)]), tile, s[_, _, stage(k, STAGES)])

        barrier()
        for first in range(STAGES):
            begin(first)
        total = make_fragment_like(mine)
        clear(total)
        for k in loop(steps):
            wait_barrier(full[stage(k, STAGES)], phase(k, STAGES))
            warpgroup_arrive()
            gemm(mma, *(x[_, _, _, stage(k, STAGES)] for x in (a, b)), total)
            warpgroup_commit_batch()
            warpgroup_wait[0]()
            begin(k + STAGES)
        axpby(alpha, total, beta, mine)

    return wgmma_tma_sm90


VARIANTS = {
    "gemm_nt": (wgmma_of(MN, GMMA.MN_SW128[half]), arguments(0, 8, np.float16), PARAMETERS),
    "gemm_tn": (wgmma_of(K, GMMA.K_SW128[half]), arguments(1, 8, np.float16), PARAMETERS),
}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((137, 200), (130, 200), (137, 130)))
    expected = 2 * a @ b.T - c
    made = VARIANTS["gemm_tn"][0]
    print(made.check(a, b, c, 2, -1, arch="sm_90a"))
    made.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
