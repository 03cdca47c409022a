"""CuTe's tutorial wgmma_sm90 as a kernel: asynchronous copies through three stages of swizzled shared memory, which wgmma reads by itself.

A warpgroup's products read shared memory by descriptors, behind the threads' backs: what copies wrote they see after
fence_view_async_shared and a barrier, registers after warpgroup_arrive; and both are theirs until warpgroup_wait. Sizes need not divide.

    python examples/kernels/wgmma_sm90.py                                                    # run on numpy, checked
    python examples/kernels/wgmma_sm90.py --target cuda --arch sm_90a --variant gemm_tn      # its text

Source: CUTLASS examples/cute/tutorial/hopper/wgmma_sm90.cu.
"""

import numpy as np
from _main import main
from sgemm_1 import PARAMETERS, arguments, blocks, tile_of

from tla import Int, _, ceil_div, elem_less, local_tile, max as most, min as least, parse, tile_to_shape
from tla.gpu import (
    GMMA,
    MN,
    SM80_CP_ASYNC_CACHEALWAYS_ZFILL,
    Copy_Atom,
    K,
    SM90_64x64x16_F16F16F16_SS,
    half,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_mma,
    uint128,
)
from tla.kernels import (
    axpby,
    barrier,
    block,
    clear,
    copy_if,
    cp_async_fence,
    cp_async_wait,
    fence_view_async_shared,
    gemm,
    kernel,
    loop,
    shared,
    stage,
    thread,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
)

BM, BN, BK, STAGES = Int[128](), Int[128](), Int[64](), 3
ASYNC = Copy_Atom[SM80_CP_ASYNC_CACHEALWAYS_ZFILL[uint128], half]


def wgmma_of(major, canonical, load):
    """The kernel for A and B of a major mode, M and N or K, with the canonical layout of shared memory and the copy of that."""
    mma = make_tiled_mma(SM90_64x64x16_F16F16F16_SS[major, major])

    @kernel(threads=128, grid=blocks, registers=116)
    def wgmma_sm90(A, B, C, alpha, beta):
        """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
        t, steps = thread(), ceil_div(A.shape[1], BK)
        own, product = load[t], mma[t]
        smem = [shared(np.float16, tile_to_shape(canonical, (rows, BK, Int[STAGES]()))) for rows in (BM, BN)]
        mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
        a, b = product.partition_fragment_A(smem[0]), product.partition_fragment_B(smem[1])

        def begin(k):
            """Begin to copy tile k to its stage; past the last one there is none, but a group."""
            for matrix, to, size, i in (A, smem[0], BM, block(0)), (B, smem[1], BN, block(1)):
                tile, places = (own.partition_S(x) for x in tile_of(matrix, (size, BK), (i, most(0, least(k, steps - 1)))))
                copy_if(load, elem_less(places, matrix.shape), tile, own.partition_D(to)[_, _, _, stage(k, STAGES)])
            cp_async_fence()

        for first in range(STAGES - 1):
            begin(first)
        total = make_fragment_like(mine)
        clear(total)
        for k in loop(steps):
            begin(k + STAGES - 1)
            cp_async_wait[STAGES - 1]()
            fence_view_async_shared()
            barrier()
            warpgroup_arrive()
            gemm(mma, *(x[_, _, _, stage(k, STAGES)] for x in (a, b)), total)
            warpgroup_commit_batch()
            warpgroup_wait[0]()
        axpby(alpha, total, beta, mine)

    return wgmma_sm90


def copies(threads, values):
    return make_tiled_copy(ASYNC, parse(threads), values)


VARIANTS = {
    "gemm_nt": (wgmma_of(MN, GMMA.MN_SW128[half], copies("(_16,_8):(_1,_16)", (8, 1))), arguments(0, 8, np.float16), PARAMETERS),
    "gemm_tn": (wgmma_of(K, GMMA.K_SW128[half], copies("(_16,_8):(_8,_1)", (1, 8))), arguments(1, 8, np.float16), PARAMETERS),
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
