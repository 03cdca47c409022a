"""CuTe's tutorial 04_mma_tma_2sm_sm100 as a kernel: pairs of blocks multiply as one, each with half of all tiles.

The first block of a pair, its leader, waits for the tiles of both and states the products; both load. Blocks of a
cluster that need the same tile each load a part of it to all of these, as in tutorial 03.

    python examples/kernels/mma_tma_2sm_sm100.py                                             # run on numpy, checked
    python examples/kernels/mma_tma_2sm_sm100.py --target cuda --arch sm_100a                # its text

Source: CUTLASS examples/cute/tutorial/blackwell/04_mma_tma_2sm_sm100.cu.
"""

import functools

import numpy as np
from _main import main
from _sm100 import PARAMETERS, arguments, demonstrate
from mma_sm100 import BK, BN, store, tiles_in_shared_memory
from mma_tma_multicast_sm100 import last_inside, part_of

from tla import Int, _, ceil_div, composition, idx2crd, local_tile, make_layout, size, tiled_divide
from tla.gpu import (
    K,
    SM100_MMA_F16BF16_2x1SM_SS,
    float,
    half,
    make_tiled_mma,
    partition_fragment_C,
    partition_shape_A,
    partition_shape_B,
    tma_transaction_bytes,
)
from tla.kernels import (
    Allocator2Sm,
    barrier,
    block,
    block_rank_in_cluster,
    cluster_sync,
    copy,
    create_tma_multicast_mask,
    gemm,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    tmem,
    umma_arrive_multicast_2x1SM,
    wait_barrier,
    when,
)

BM = Int[256]()
MMA = make_tiled_mma(SM100_MMA_F16BF16_2x1SM_SS[half, half, float, BM, BN, K, K])
CLUSTER = Int[4](), Int[4](), Int[1]()
#: (V,M,N,K) -> block of the cluster: V those of a pair; how many have the same rows and columns; the rows of A and B of each.
CTAS = tiled_divide(make_layout(CLUSTER), (MMA.atom.thr_id,))
PAIR, ALIKE = size(CTAS[0]), (size(CTAS[2]), size(CTAS[1]))
PARTICIPANTS = ALIKE[0] + ALIKE[1] - 1
ROWS = BM // PAIR, BN // PAIR


def blocks(A, B, *_others):
    return CLUSTER[0] * ceil_div(A.shape[0], ROWS[0] * CLUSTER[0]), CLUSTER[1] * ceil_div(B.shape[0], BN * CLUSTER[1])


def multiply(v, smem, total, k):
    """total += the product of the tiles in the memory of a pair, four along K; of the first tile, k = 0, total = it."""
    shapes = partition_shape_A(MMA, (BM, BK)), partition_shape_B(MMA, (BN, BK))
    a, b = (composition(s, make_layout(shape)) for s, shape in zip(smem, shapes))
    a, b = MMA[v].make_fragment_A(a), MMA[v].make_fragment_B(b)
    for part in range(size[2](a)):
        gemm(MMA.with_(size[2](a) * k + part > 0), a[_, _, part], b[_, _, part], total)


def add_up(A, B, smem, columns, full, done):
    """The sums of the block's rows of A * B^T in tensor memory."""
    v, m, n, _k = coord = idx2crd(block_rank_in_cluster(), (PAIR, *ALIKE[::-1], 1))
    masks = [create_tma_multicast_mask[mode](CTAS, coord) for mode in (2, 1)]
    told = [create_tma_multicast_mask[0, mode](CTAS, coord) for mode in (1, 2)]
    total = tmem(np.float32, partition_fragment_C(MMA, (BM, BN)).layout, columns)
    parts = [functools.partial(part_of, ctas=ctas, own=own) for ctas, own in zip(ALIKE, (n, m))]
    load = "SM100_TMA_2SM_LOAD_MULTICAST"
    tma = [make_tma_copy(load, matrix, part(s)) for matrix, part, s in zip((A, B), parts, smem)]
    at = [last_inside(i, matrix, rows) for i, matrix, rows in zip((block(0), PAIR * block(1) + v), (A, B), ROWS)]
    for k in loop(ceil_div(A.shape[1], BK)):
        for _leader in when(v < 1):
            set_barrier_transaction_bytes(full[0], PAIR * tma_transaction_bytes(*smem))
        for x, mask, matrix, part, s, i, rows in zip(tma, masks, (A, B), parts, smem, at, ROWS):
            copy(x.with_(full[0], mask), part(local_tile(matrix, (rows, BK), (i, k))), part(s))
        for _leader in when(v < 1):
            wait_barrier(full[0], phase(k, 1))
            multiply(v, smem, total, k)
            umma_arrive_multicast_2x1SM(done[0], told[0] | told[1])
        wait_barrier(done[0], phase(k, 1))
        barrier()
    return total


@kernel(threads=128, grid=blocks, cluster=CLUSTER)
def mma_tma_2sm_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    smem, allocator = tiles_in_shared_memory(ROWS), Allocator2Sm()
    full, done = mbarriers(1), mbarriers(1, arrivals=PARTICIPANTS)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    cluster_sync()
    total = add_up(A, B, smem, columns, full, done)
    for _inside in when(block(0) < ceil_div(A.shape[0], ROWS[0])):
        for _inside in when(block(1) < ceil_div(B.shape[0], BN)):
            store(total, C, D, alpha, beta)
    barrier()
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_tma_2sm_sm100, arguments(1), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_tma_2sm_sm100))
