"""CuTe's tutorial 03_mma_tma_multicast_sm100 as a kernel: sixteen blocks load once what several of them need.

Blocks of a cluster that have the same rows need the same tile of A: each loads a quarter of it to all four; of B those
do that have the same columns. So a tile may come when the products of all of these have ended, which arrive at the
mbarriers of all of them.

    python examples/kernels/mma_tma_multicast_sm100.py                                # run on numpy, checked
    python examples/kernels/mma_tma_multicast_sm100.py --target cuda --arch sm_100a   # its text

Source: CUTLASS examples/cute/tutorial/blackwell/03_mma_tma_multicast_sm100.cu.
"""

import functools

import numpy as np
from _main import main
from _sm100 import PARAMETERS, arguments, demonstrate
from mma_sm100 import BK, BM, BN, MMA, multiply, store, tiles_in_shared_memory

from tla import Int, ceil_div, idx2crd, local_tile, make_layout, min as least, size, tiled_divide
from tla.gpu import partition_fragment_C, tma_transaction_bytes
from tla.kernels import (
    Allocator1Sm,
    barrier,
    block,
    block_rank_in_cluster,
    cluster_sync,
    copy,
    create_tma_multicast_mask,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    tmem,
    umma_arrive_multicast,
    wait_barrier,
    when,
)

CLUSTER = Int[4](), Int[4](), Int[1]()
#: (V,M,N,K) -> block of the cluster, and how many of them have the same rows, and the same columns.
CTAS = tiled_divide(make_layout(CLUSTER), (MMA.atom.thr_id,))
ALIKE = size(CTAS[2]), size(CTAS[1])
PARTICIPANTS = ALIKE[0] + ALIKE[1] - 1


def blocks(A, B, *_others):
    return CLUSTER[0] * ceil_div(A.shape[0], BM * CLUSTER[0]), CLUSTER[1] * ceil_div(B.shape[0], BN * CLUSTER[1])


def part_of(tile, ctas, own):
    """The part of a tile that a block loads: of its rows the own part of as many as blocks need it."""
    return local_tile(tile, (size[0](tile) // ctas, BK), (own, 0))


def last_inside(i, matrix, rows):
    """The tile that a block loads: one past the end, which works for others, loads the last once more."""
    return least(i, ceil_div(matrix.shape[0], rows) - 1)


def add_up(A, B, smem, columns, full, done):
    """The sums of the block's tile of A * B^T in tensor memory; quarters of tiles come from four blocks each."""
    coord = idx2crd(block_rank_in_cluster(), (1, *CLUSTER))
    masks = [create_tma_multicast_mask[mode](CTAS, coord) for mode in (2, 1)]
    total = tmem(np.float32, partition_fragment_C(MMA, (BM, BN)).layout, columns)
    parts = [functools.partial(part_of, ctas=ctas, own=own) for ctas, own in zip(ALIKE, (coord[2], coord[1]))]
    tma = [make_tma_copy("SM90_TMA_LOAD_MULTICAST", matrix, part(s)) for matrix, part, s in zip((A, B), parts, smem)]
    at = [last_inside(block(mode), matrix, rows) for mode, matrix, rows in ((0, A, BM), (1, B, BN))]
    for k in loop(ceil_div(A.shape[1], BK)):
        set_barrier_transaction_bytes(full[0], tma_transaction_bytes(*smem))
        for x, mask, matrix, part, s, i, rows in zip(tma, masks, (A, B), parts, smem, at, (BM, BN)):
            copy(x.with_(full[0], mask), part(local_tile(matrix, (rows, BK), (i, k))), part(s))
        wait_barrier(full[0], phase(k, 1))
        multiply(smem, total, k)
        umma_arrive_multicast(done[0], masks[0] | masks[1])
        wait_barrier(done[0], phase(k, 1))
        barrier()
    return total


@kernel(threads=128, grid=blocks, cluster=CLUSTER)
def mma_tma_multicast_sm100(A, B, C, D, alpha, beta):
    """D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
    smem, allocator = tiles_in_shared_memory(), Allocator1Sm()
    full, done = mbarriers(1), mbarriers(1, arrivals=PARTICIPANTS)
    columns = allocator.allocate(allocator.Sm100TmemCapacityColumns)
    cluster_sync()
    total = add_up(A, B, smem, columns, full, done)
    for _inside in when(block(0) < ceil_div(A.shape[0], BM)):
        for _inside in when(block(1) < ceil_div(B.shape[0], BN)):
            store(total, C, D, alpha, beta)
    barrier()
    allocator.release_allocation_lock()
    allocator.free(columns)


VARIANTS = {"gemm_tn": (mma_tma_multicast_sm100, arguments(1), PARAMETERS)}

if __name__ == "__main__":
    main(VARIANTS, lambda: demonstrate(mma_tma_multicast_sm100))
