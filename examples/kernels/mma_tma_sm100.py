"""CuTe's tutorial 02_mma_tma_sm100 as a kernel: TMA loads the tiles of A and B, tcgen05.mma multiplies them into tensor memory.

The first thread asks for a tile when the product of the one before has ended, and all have seen that: of an mbarrier at which a phase
ends that a slow thread still waits for, that thread would miss the end. What is past the end of A and B comes as zeros.

    python examples/kernels/mma_tma_sm100.py                                             # run on numpy, checked
    python examples/kernels/mma_tma_sm100.py --target cuda --arch sm_100a                # its text

Source: CUTLASS examples/cute/tutorial/blackwell/02_mma_tma_sm100.cu.
"""

import numpy as np
from _main import main
from _sm100 import PARAMETERS, arguments, demonstrate
from mma_sm100 import BK, BM, BN, MMA, blocks, multiply, store, tiles_in_shared_memory

from tla import ceil_div, local_tile
from tla.gpu import partition_fragment_C, tma_transaction_bytes
from tla.kernels import (
    Allocator1Sm,
    barrier,
    block,
    copy,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    tmem,
    umma_arrive,
    wait_barrier,
)


def add_up(A, B, smem, columns, full, done):
    """The sums of the block's tile of A * B^T in tensor memory: tiles come for the mbarrier `full`, products arrive at `done`."""
    tma = [make_tma_copy("SM90_TMA_LOAD", matrix, s) for matrix, s in zip((A, B), smem)]
    total = tmem(np.float32, partition_fragment_C(MMA, (BM, BN)).layout, columns)
    for k in loop(ceil_div(A.shape[1], BK)):
        set_barrier_transaction_bytes(full[0], tma_transaction_bytes(*smem))
        for x, matrix, s, i in zip(tma, (A, B), smem, (block(0), block(1))):
            copy(x.with_(full[0]), local_tile(matrix, x.tiler_mn, (i, k)), s)
        wait_barrier(full[0], phase(k, 1))
        multiply(smem, total, k)
        umma_arrive(done[0])
        wait_barrier(done[0], phase(k, 1))
        barrier()
    return total


@kernel(threads=128, grid=blocks)
def mma_tma_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    smem, allocator, full, done = tiles_in_shared_memory(), Allocator1Sm(), mbarriers(1), mbarriers(1)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    barrier()
    store(add_up(A, B, smem, columns, full, done), C, D, alpha, beta)
    barrier()
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_tma_sm100, arguments(1), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_tma_sm100))
