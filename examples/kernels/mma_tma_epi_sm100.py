"""CuTe's tutorial 05_mma_tma_epi_sm100 as a kernel: pairs of blocks multiply as in 04; C and D pass by TMA.

Each thread has its row of the sums in registers and of C in shared memory, 64 columns at a time, and writes that of D
to shared memory, which one thread stores: rows of global memory are moved whole. No copy has a predicate.

    python examples/kernels/mma_tma_epi_sm100.py                                             # run on numpy, checked
    python examples/kernels/mma_tma_epi_sm100.py --target cuda --arch sm_100a                # its text

Source: CUTLASS examples/cute/tutorial/blackwell/05_mma_tma_epi_sm100.cu.
"""

import numpy as np
from _main import main
from _sm100 import PARAMETERS, arguments, demonstrate
from mma_sm100 import BN, tiles_in_shared_memory
from mma_tma_2sm_sm100 import CLUSTER, PARTICIPANTS, ROWS, add_up, blocks

from tla import Int, _, ceil_div, local_tile, make_layout, tile_to_shape
from tla.gpu import (
    UMMA,
    Copy_Atom,
    SM100_TMEM_LOAD_32dp32b64x,
    UniversalCopy,
    float,
    make_fragment_like,
    make_tiled_copy,
    make_tmem_copy,
    tma_transaction_bytes,
    uint128,
)
from tla.kernels import (
    Allocator2Sm,
    axpby,
    barrier,
    block,
    cluster_sync,
    copy,
    fence_view_async_shared,
    fence_view_async_tmem_load,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    shared,
    thread,
    tma_store_arrive,
    tma_store_wait,
    tmem,
    wait_barrier,
    when,
)

BM, EN = ROWS[0], Int[64]()
PARTS = BN // EN
#: Each thread has a row, as it has of tensor memory, in vectors of 16 bytes.
LINES = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (BM, 1), (1, EN))


def store_tiles(columns, C, D, alpha, beta, smem, come):
    """D = alpha * sums + beta * C, of the block's rows: tiles pass through shared memory, `come` waits for C."""
    load, store = make_tma_copy("SM90_TMA_LOAD", C, smem[0]), make_tma_copy("SM90_TMA_STORE", D, smem[1])
    sums = tmem(np.float32, make_layout((BM, EN, PARTS), stride=(Int[1 << 16](), Int[1](), EN)), columns)
    read = make_tmem_copy(SM100_TMEM_LOAD_32dp32b64x, sums[_, _, 0], float)
    own = read[thread()]
    c, d = (LINES[thread()].partition_S(x) for x in smem)
    for part in loop(PARTS):
        at = block(0), PARTS * block(1) + part
        set_barrier_transaction_bytes(come[0], tma_transaction_bytes(smem[0]))
        copy(load.with_(come[0]), local_tile(C, (BM, EN), at), smem[0])
        product, result = make_fragment_like(own.partition_D(smem[0])), make_fragment_like(c)
        copy(read, own.partition_S(sums[_, _, part]), product)
        wait_barrier(come[0], phase(part, 1))
        copy(LINES, c, result)
        fence_view_async_tmem_load()
        axpby(alpha, product, beta, result)
        copy(LINES, result, d)
        fence_view_async_shared()
        barrier()
        copy(store, smem[1], local_tile(D, (BM, EN), at))
        tma_store_arrive()
        tma_store_wait[0]()


@kernel(threads=128, grid=blocks, cluster=CLUSTER)
def mma_tma_epi_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    smem = tiles_in_shared_memory(ROWS)
    of_sums = [shared(np.float32, tile_to_shape(UMMA.K_SW128[float], (BM, EN))) for _matrix in range(2)]
    allocator, full, done, come = Allocator2Sm(), mbarriers(1), mbarriers(1, arrivals=PARTICIPANTS), mbarriers(1)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    cluster_sync()
    add_up(A, B, smem, columns, full, done)
    for _inside in when(block(0) < ceil_div(A.shape[0], BM)):
        for _inside in when(block(1) < ceil_div(B.shape[0], BN)):
            store_tiles(columns, C, D, alpha, beta, of_sums, come)
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_tma_epi_sm100, arguments(1, 4), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_tma_epi_sm100, 132))
