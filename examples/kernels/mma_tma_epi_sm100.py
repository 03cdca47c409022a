"""The epilogue of CuTe's tutorial 05_mma_tma_epi_sm100 as a kernel: C comes by TMA, and D goes by TMA, in tiles of 64 columns.

The main loop is that of tutorial 02, of one SM. Then each thread has its row of the sums in registers and of C in shared memory, and
writes that of D to shared memory, which one thread stores: rows of global memory are moved whole. No copy has a predicate.

    python examples/kernels/mma_tma_epi_sm100.py                                             # run on numpy, checked
    python examples/kernels/mma_tma_epi_sm100.py --target cuda --arch sm_100a                # its text

Source: CUTLASS examples/cute/tutorial/blackwell/05_mma_tma_epi_sm100.cu, which has pairs of SMs and clusters besides.
"""

import numpy as np
from _main import main
from mma_sm100 import BM, BN, PARAMETERS, arguments, blocks, demonstrate, tiles_in_shared_memory
from mma_tma_sm100 import add_up

from tla import Int, _, local_tile, make_layout, tile_to_shape
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
    Allocator1Sm,
    axpby,
    barrier,
    block,
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
)

EN = Int[64]()
PARTS = BN // EN
#: Each thread has a row, as it has of tensor memory, in vectors of 16 bytes.
ROWS = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (BM, 1), (1, EN))


@kernel(threads=128, grid=blocks)
def mma_tma_epi_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    smem = tiles_in_shared_memory()
    smem_c, smem_d = (shared(np.float32, tile_to_shape(UMMA.K_SW128[float], (BM, EN))) for _matrix in range(2))
    load, store = make_tma_copy("SM90_TMA_LOAD", C, smem_c), make_tma_copy("SM90_TMA_STORE", D, smem_d)
    allocator, full, done, come = Allocator1Sm(), mbarriers(1), mbarriers(1), mbarriers(1)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    barrier()
    add_up(A, B, smem, columns, full, done)
    sums = tmem(np.float32, make_layout((BM, EN, PARTS), stride=(Int[1 << 16](), Int[1](), EN)), columns)
    read = make_tmem_copy(SM100_TMEM_LOAD_32dp32b64x, sums[_, _, 0], float)
    own = read[thread()]
    c, d = (ROWS[thread()].partition_S(x) for x in (smem_c, smem_d))
    for part in loop(PARTS):
        at = block(0), PARTS * block(1) + part
        set_barrier_transaction_bytes(come[0], tma_transaction_bytes(smem_c))
        copy(load.with_(come[0]), local_tile(C, (BM, EN), at), smem_c)
        product, result = make_fragment_like(own.partition_D(smem_c)), make_fragment_like(c)
        copy(read, own.partition_S(sums[_, _, part]), product)
        wait_barrier(come[0], phase(part, 1))
        copy(ROWS, c, result)
        fence_view_async_tmem_load()
        axpby(alpha, product, beta, result)
        copy(ROWS, result, d)
        fence_view_async_shared()
        barrier()
        copy(store, smem_d, local_tile(D, (BM, EN), at))
        tma_store_arrive()
        tma_store_wait[0]()
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_tma_epi_sm100, arguments(1, 4), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_tma_epi_sm100, 132))
