"""CuTe's tutorial 01_mma_sm100 as a kernel: the product of a tile adds up in Blackwell's tensor memory, by tcgen05.mma.

The threads copy tiles of A and B to shared memory; the first one states the products, which arrive at an mbarrier when they have ended.
Then each thread loads its row of the sums to registers, 32 columns at a time. Sizes need not divide: predicates guard the edges.

    python examples/kernels/mma_sm100.py                                             # run on numpy, checked
    python examples/kernels/mma_sm100.py --target cuda --arch sm_100a                # its text

Source: CUTLASS examples/cute/tutorial/blackwell/01_mma_sm100.cu.
"""

import numpy as np
from _main import main
from _sm100 import PARAMETERS, arguments, demonstrate
from sgemm_1 import tile_of
from sgemm_sm80 import LOAD

from tla import Int, _, ceil_div, elem_less, local_tile, max as most, size, tile_to_shape
from tla.gpu import (
    SM100_MMA_F16BF16_SS,
    UMMA,
    K,
    SM100_TMEM_LOAD_32dp32b32x,
    float,
    half,
    make_fragment_like,
    make_tiled_mma,
    make_tmem_copy,
    partition_fragment_C,
)
from tla.kernels import (
    Allocator1Sm,
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    cp_async_fence,
    cp_async_wait,
    fence_view_async_shared,
    fence_view_async_tmem_load,
    gemm,
    kernel,
    loop,
    mbarriers,
    phase,
    shared,
    thread,
    tmem,
    umma_arrive,
    wait_barrier,
)

BM, BN, BK = Int[128](), Int[256](), Int[64]()
MMA = make_tiled_mma(SM100_MMA_F16BF16_SS[half, half, float, BM, BN, K, K])


def blocks(A, B, *_others):
    return ceil_div(A.shape[0], BM), ceil_div(B.shape[0], BN)


def tiles_in_shared_memory(rows=(BM, BN)):
    """The shared memory of a tile of A and one of B, of so many rows."""
    return [shared(np.float16, tile_to_shape(UMMA.K_SW128[half], (n, BK))) for n in rows]


def multiply(smem, total, k):
    """total += the product of the tiles in shared memory, four products along K; of the first tile, k = 0, total = it."""
    a, b = MMA[0].partition_fragment_A(smem[0]), MMA[0].partition_fragment_B(smem[1])
    for part in range(size[2](a)):
        gemm(MMA.with_(size[2](a) * k + part > 0), a[_, _, part], b[_, _, part], total)


def store(total, C, D, alpha, beta):
    """D = alpha * total + beta * C, of the block's tile: each thread has a row."""
    at, load = (block(0), block(1)), make_tmem_copy(SM100_TMEM_LOAD_32dp32b32x, total, float)
    own, c = load[thread()], tile_of(C, (BM, BN), at)
    sums = own.partition_S(total)
    c, places, d = (own.partition_D(MMA[0].partition_C(x)) for x in (*c, local_tile(D, (BM, BN), at)))
    for part in loop(size[1](sums)):
        product, result = (make_fragment_like(c[_, part, 0, 0]) for _registers in range(2))
        copy(load, sums[_, part, 0, 0], product)
        clear(result)
        copy_if(elem_less(places[_, part, 0, 0], C.shape), c[_, part, 0, 0], result)
        fence_view_async_tmem_load()
        axpby(alpha, product, beta, result)
        copy_if(elem_less(places[_, part, 0, 0], C.shape), result, d[_, part, 0, 0])


@kernel(threads=128, grid=blocks)
def mma_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    own, smem = LOAD[thread()], tiles_in_shared_memory()
    allocator, done = Allocator1Sm(), mbarriers(1)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    barrier()
    total = tmem(np.float32, partition_fragment_C(MMA, (BM, BN)).layout, columns)
    for k in loop(most(1, ceil_div(A.shape[1], BK))):
        for matrix, to, rows, i in (A, smem[0], BM, block(0)), (B, smem[1], BN, block(1)):
            tile, places = (own.partition_S(x) for x in tile_of(matrix, (rows, BK), (i, k)))
            copy_if(LOAD, elem_less(places, matrix.shape), tile, own.partition_D(to))
        cp_async_fence()
        cp_async_wait[0]()
        fence_view_async_shared()
        barrier()
        multiply(smem, total, k)
        umma_arrive(done[0])
        wait_barrier(done[0], phase(k, 1))
    store(total, C, D, alpha, beta)
    barrier()
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_sm100, arguments(), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_sm100))
