"""CuTe's tutorial sgemm_sm80 as a kernel: asynchronous copies through three stages of swizzled shared memory, ldmatrix and mma.sync.

The tile after the next is on its way to shared memory while the threads multiply one, the operands of the next instruction on their way
to registers. Sizes need not divide: what reaches past the end is zero in shared memory.

    python examples/kernels/sgemm_sm80.py                                                    # run on numpy, checked
    python examples/kernels/sgemm_sm80.py --target cuda --arch sm_80                         # its text

Source: CUTLASS examples/cute/tutorial/sgemm_sm80.cu.
"""

import numpy as np
from _main import main
from sgemm_1 import PARAMETERS, arguments, blocks, tile_of

from tla import Int, Swizzle, _, ceil_div, composition, elem_less, local_tile, max as most, min as least, parse, tile_to_shape
from tla.gpu import (
    SM80_CP_ASYNC_CACHEALWAYS_ZFILL,
    Copy_Atom,
    SM75_U32x4_LDSM_N,
    SM80_16x8x16_F16F16F16F16_TN,
    half,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_mma,
    uint128,
)
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

BM, BN, BK, STAGES = Int[128](), Int[128](), Int[64](), 3
MMA = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN, (2, 2), (32, 32, 16))
LOAD = make_tiled_copy(Copy_Atom[SM80_CP_ASYNC_CACHEALWAYS_ZFILL[uint128], half], parse("(_16,_8):(_8,_1)"), (1, 8))
FETCH = [made(Copy_Atom[SM75_U32x4_LDSM_N, half], MMA) for made in (make_tiled_copy_A, make_tiled_copy_B)]
ROWS = composition(Swizzle[3, 3, 3](), parse("(_8,(_8,_8)):(_8,(_1,_64))"))


@kernel(threads=128, grid=blocks, registers=168)
def sgemm_sm80(A, B, C, alpha, beta):
    """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    t, steps = thread(), ceil_div(A.shape[1], BK)
    own, product = LOAD[t], MMA[t]
    smem = [shared(np.float16, tile_to_shape(ROWS, (rows, BK, Int[STAGES]()))) for rows in (BM, BN)]
    mine = product.partition_C(local_tile(C, (BM, BN), (block(0), block(1))))
    registers = product.partition_fragment_A(smem[0][_, _, 0]), product.partition_fragment_B(smem[1][_, _, 0])
    targets = [fetch[t].retile_D(held) for fetch, held in zip(FETCH, registers)]
    waves = registers[0].shape[2]

    def load(k):
        """Begin to copy tile k to its stage; past the last one there is none, but a group."""
        for matrix, to, size, i in (A, smem[0], BM, block(0)), (B, smem[1], BN, block(1)):
            tile, places = (own.partition_S(x) for x in tile_of(matrix, (size, BK), (i, most(0, least(k, steps - 1)))))
            copy_if(LOAD, elem_less(places, matrix.shape), tile, own.partition_D(to)[_, _, _, stage(k, STAGES)])
        cp_async_fence()

    def fetch(k, wave):
        """Load the operands of a wave of instructions of tile k."""
        for tiled, memory, to in zip(FETCH, smem, targets):
            copy(tiled, tiled[t].partition_S(memory)[_, _, wave, stage(k, STAGES)], to[_, _, wave])

    for first in range(STAGES - 1):
        load(first)
    total = make_fragment_like(mine)
    clear(total)
    cp_async_wait[STAGES - 2]()
    barrier()
    fetch(0, 0)
    for k in loop(steps):
        for wave in range(waves):
            if wave == waves - 1:
                cp_async_wait[STAGES - 2]()
                barrier()
            fetch(k + 1 if wave == waves - 1 else k, (wave + 1) % waves)
            if wave == 0:
                load(k + STAGES - 1)
            gemm(MMA, *(x[_, _, wave] for x in registers), total)
    axpby(alpha, total, beta, mine)


VARIANTS = {"gemm_tn": (sgemm_sm80, arguments(1, 8, np.float16), PARAMETERS)}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((137, 200), (130, 200), (137, 130)))
    expected = 2 * a @ b.T - c
    print(sgemm_sm80.check(a, b, c, 2, -1))
    sgemm_sm80.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
