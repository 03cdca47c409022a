"""Faults in the examples' own text: each is refused by check, at a line that has to do with it; without one
nothing is refused."""

import functools
import runpy
import sys

import numpy as np
import pytest

from tla import TlaError
from tla.kernels.proofs.race_freedom import why_not_free

from night import NIGHT, some
from places import EXAMPLES

FOLDER = EXAMPLES / "kernels"
#: Of each fault: the example, what stands there, what stands there with the fault, and a part of the line at
#: which it is found.
FAULTS = {
    "epilogue: every block writes one tile": (
        "epilogue",
        "part_of(rows), own",
        "part_of(rows), part_of(rows)",
        "transform(",
    ),
    "sgemm_1: no barrier before the product": (
        "sgemm_1",
        "        barrier()\n        gemm",
        "        gemm",
        "gemm(rows, columns, total)",
    ),
    "sgemm_1: no barrier behind it": ("sgemm_1", "total)\n        barrier()\n", "total)\n", "clear(target)"),
    "sgemm_1: no barrier": ("sgemm_1", "        barrier()\n", "", "gemm(rows, columns, total)"),
    "sgemm_1: no predicate": (
        "sgemm_1",
        "elem_less(inside, matrix.shape), source",
        "elem_less(inside, (1000, 1000)), source",
        "copy_if(",
    ),
    "sgemm_1: a bound of one more": (
        "sgemm_1",
        "matrix.shape), source",
        "(matrix.shape[0], matrix.shape[1] + 1)), source",
        "copy_if",
    ),
    "sgemm_1: every block writes one tile": (
        "sgemm_1",
        "(BM, BN), (block(0), block(1))), TC",
        "(BM, BN), (0, block(1))), TC",
        "axpby(",
    ),
    "sgemm_1: threads that share elements of C": (
        "sgemm_1",
        "block(1))), TC, thread())",
        "block(1))), TC, thread() // 2)",
        "axpby(",
    ),
    "sgemm_1: fewer threads than the layout of them": (
        "sgemm_1",
        "TC = make_layout((Int[16](), Int[16]()))",
        "TC = make_layout((Int[16](), Int[8]()))",
        "product_of(",
    ),
    "sgemm_1: the predicate of the other matrix": (
        "sgemm_1",
        "elem_less(inside, matrix.shape)",
        "elem_less(inside, A.shape)",
        "copy_if(",
    ),
    "sgemm_2: no barrier before shared memory is written": (
        "sgemm_2",
        "in loop(steps):\n            barrier()\n",
        "in loop(steps):\n",
        "copy(tiled, held, own.partition_D(smem))",
    ),
    "sgemm_2: no barrier behind it": (
        "sgemm_2",
        "            barrier()\n            load",
        "            load",
        "gemm(MMA",
    ),
    "sgemm_2: the next tile past the last": (
        "sgemm_2",
        "load(most(0, least(k + 1, steps - 1)))",
        "load(k + 1)",
        "load(k + 1)",
    ),
    "sgemm_2: no predicate": (
        "sgemm_2",
        "copy_if(tiled, elem_less(places, matrix.shape), tile, held)",
        "copy(tiled, tile, held)",
        "copy(tiled, tile, held)",
    ),
    "sgemm_2: vectors where the pitch is odd": ("sgemm_2", "sgemm_2_of(ELEMENTS, 1,", "sgemm_2_of(VECTORS, 1,", "copy"),
    "sgemm_sm70: no barrier before the next tile": (
        "sgemm_sm70",
        "                    barrier()\n                    store()",
        "                    store()",
        "copy(tiled, held",
    ),
    "sgemm_sm70: no barrier behind it": (
        "sgemm_sm70",
        "own.partition_D(smem))\n            barrier()\n",
        "own.partition_D(smem))\n",
        "copy(smem[_, _, step]",
    ),
    "sgemm_sm80: a wait for a group less": (
        "sgemm_sm80",
        "wave == waves - 1:\n                cp_async_wait[STAGES - 2]()",
        "wave == waves - 1:\n                cp_async_wait[STAGES - 1]()",
        "copy(tiled",
    ),
    "sgemm_sm80: no wait": (
        "sgemm_sm80",
        "wave == waves - 1:\n                cp_async_wait[STAGES - 2]()",
        "wave == waves - 1:\n                pass",
        "copy(tiled",
    ),
    "sgemm_sm80: no barrier": (
        "sgemm_sm80",
        "                barrier()\n            fetch",
        "            fetch",
        "copy",
    ),
    "sgemm_sm80: no fence": ("sgemm_sm80", "        cp_async_fence()\n", "", "copy(tiled"),
    "sgemm_sm80: the stage of the next tile": (
        "sgemm_sm80",
        "[_, _, wave, stage(k, STAGES)]",
        "[_, _, wave, stage(k + 1, STAGES)]",
        "copy(tiled",
    ),
    "sgemm_sm80: a tile too early": ("sgemm_sm80", "load(k + STAGES - 1)", "load(k + STAGES)", "copy"),
    "sgemm_sm80: a stage too few": (
        "sgemm_sm80",
        "Int[STAGES]()))) for",
        "Int[STAGES - 1]()))) for",
        "load(k + STAGES - 1)",
    ),
    "sgemm_sm80: no predicate": (
        "sgemm_sm80",
        "copy_if(LOAD, elem_less(places, matrix.shape), tile, ",
        "copy(LOAD, tile, ",
        "copy(LOAD",
    ),
    "sgemm_sm80: vectors across rows of memory": (
        "sgemm_sm80",
        'parse("(_16,_8):(_8,_1)"), (1, 8))',
        'parse("(_16,_8):(_8,_1)"), (8, 1))',
        "copy",
    ),
    "sgemm_sm80: a swizzle inside of vectors": ("sgemm_sm80", "Swizzle[3, 3, 3]", "Swizzle[3, 2, 3]", "copy"),
    "softmax: no predicate": (
        "softmax",
        "copy_if(elem_less(part(make_identity_tensor(X.shape), k), X.shape), part(X, k), row)",
        "copy(part(X, k), row)",
        "copy(part",
    ),
    "softmax: every block the same rows": (
        "softmax",
        "(block(0), k)), LANES",
        "(0, k)), LANES",
        "transform(row, most, total",
    ),
    "tiled_copy: a matrix of another order": (
        "tiled_copy",
        "local_tile(S, TILE, at)",
        "local_tile(S, TILE, (at[1], at[0]))",
        "copy(VECTORS, source",
    ),
    "tiled_copy_if: no predicate for the tail": (
        "tiled_copy_if",
        "copy_if(VECTORS, inside, source, registers)",
        "copy_if(VECTORS, elem_less(make_identity_tensor(source.shape), (99, 99, 99)), source, registers)",
        "copy_if(VECTORS",
    ),
    "transpose: no barrier": ("transpose", "        barrier()\n", "", "copy_if(elem_less(inside, D.shape)"),
    "transpose: no predicate on the way in": (
        "transpose",
        "elem_less(inside, S.shape)",
        "elem_less(inside, (99, 99))",
        "copy_if(",
    ),
    "transpose: no predicate on the way out": (
        "transpose",
        "elem_less(inside, D.shape)",
        "elem_less(inside, (99, 99))",
        "copy_if(",
    ),
    "transpose: the tile of the other coordinate": (
        "transpose",
        "parts(D, (block(1), block(0)))",
        "parts(D, (block(0), block(1)))",
        "parts(D",
    ),
    "wgmma_sm90: no fence between what threads wrote and the product": (
        "wgmma_sm90",
        "            fence_view_async_shared()\n",
        "",
        "gemm(mma",
    ),
    "wgmma_sm90: no barrier": ("wgmma_sm90", "            barrier()\n", "", "gemm(mma"),
    "wgmma_sm90: no wait for copies": ("wgmma_sm90", "            cp_async_wait[STAGES - 1]()\n", "", "gemm(mma"),
    "wgmma_sm90: a wait for a group of copies less": (
        "wgmma_sm90",
        "cp_async_wait[STAGES - 1]",
        "cp_async_wait[STAGES]",
        "gemm(mma",
    ),
    "wgmma_sm90: the accumulators before warpgroup_arrive": (
        "wgmma_sm90",
        "            warpgroup_arrive()\n",
        "",
        "gemm(mma",
    ),
    "wgmma_sm90: no wait for products": ("wgmma_sm90", "            warpgroup_wait[0]()\n", "", "copy_if(load"),
    "wgmma_sm90: a wait for a group of products less": (
        "wgmma_sm90",
        "warpgroup_wait[0]()",
        "warpgroup_wait[1]()",
        "axpby(",
    ),
    "wgmma_sm90: products of no group": ("wgmma_sm90", "            warpgroup_commit_batch()\n", "", "copy_if(load"),
    "wgmma_sm90: the stage of the next tile": (
        "wgmma_sm90",
        "_, _, _, stage(k, STAGES)] for",
        "_, _, _, stage(k + 1, STAGES)] for",
        "gemm(mma",
    ),
    "wgmma_sm90: a stage too few": ("wgmma_sm90", "Int[STAGES]()))) for", "Int[STAGES - 1]()))) for", "begin("),
    "wgmma_sm90: a tile too early": ("wgmma_sm90", "begin(k + STAGES - 1)", "begin(k + STAGES)", "gemm(mma"),
    "wgmma_sm90: shared memory of the other major": (
        "wgmma_sm90",
        "wgmma_of(K, GMMA.K_SW128",
        "wgmma_of(K, GMMA.MN_SW128",
        "partition_fragment_A",
    ),
    "mma_sm100: no wait for products": (
        "mma_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n",
        "",
        "copy_if(LOAD",
    ),
    "mma_sm100: sums before the product has ended": (
        "mma_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n",
        "",
        "copy(load",
    ),
    "mma_sm100: no arrival": ("mma_sm100", "        umma_arrive(done[0])\n", "", "wait_barrier(done[0]"),
    "mma_sm100: a wait for the phase of the next tile": (
        "mma_sm100",
        "phase(k, 1))",
        "phase(k + 1, 1))",
        "wait_barrier(done[0]",
    ),
    "mma_sm100: no fence between what copies wrote and the product": (
        "mma_sm100",
        "        fence_view_async_shared()\n",
        "",
        "gemm(MMA",
    ),
    "mma_sm100: no wait for copies": ("mma_sm100", "        cp_async_wait[0]()\n", "", "gemm(MMA"),
    "mma_sm100: no barrier before the product": (
        "mma_sm100",
        "shared()\n        barrier()\n",
        "shared()\n",
        "gemm(MMA",
    ),
    "mma_sm100: registers that are still being loaded": (
        "mma_sm100",
        "        fence_view_async_tmem_load()\n",
        "",
        "axpby(alpha",
    ),
    "mma_sm100: the address before it is known": (
        "mma_sm100",
        "Columns)\n    barrier()\n",
        "Columns)\n",
        "tmem(np.float32",
    ),
    "mma_sm100: too few columns": (
        "mma_sm100",
        "allocate(allocator.Sm100TmemCapacityColumns)",
        "allocate(128)",
        "tmem(np.float32",
    ),
    "mma_sm100: columns that are not a power of two": (
        "mma_sm100",
        "allocate(allocator.Sm100TmemCapacityColumns)",
        "allocate(384)",
        "allocate(384)",
    ),
    "mma_sm100: columns that are not freed": (
        "mma_sm100",
        "    allocator.free(columns)\n",
        "",
        "columns = allocator.allocate(",
    ),
    "mma_sm100: freed before all have read": (
        "mma_sm100",
        "beta)\n    barrier()\n",
        "beta)\n",
        "allocator.free(columns)",
    ),
    "mma_sm100: freed before the sums are read": (
        "mma_sm100",
        "    store(total, C, D, alpha, beta)\n    barrier()\n    allocator.release_allocation_lock()\n    "
        "allocator.free(columns)\n",
        "    barrier()\n    allocator.free(columns)\n    store(total, C, D, alpha, beta)\n",
        "copy(load",
    ),
    "mma_sm100: the data paths of another warp": ("mma_sm100", "load[thread()]", "load[127 - thread()]", "store(total"),
    "mma_sm100: shared memory of the other major": ("mma_sm100", "UMMA.K_SW128", "UMMA.MN_SW128", "multiply(smem"),
    "mma_sm100: sums of no tensor memory": (
        "mma_sm100",
        "total = tmem(np.float32, partition_fragment_C(MMA, (BM, BN)).layout, columns)",
        "total = partition_fragment_C(MMA, (BM, BN))",
        "gemm(MMA",
    ),
    "mma_sm100: no predicate for the tile of D": (
        "mma_sm100",
        "copy_if(elem_less(places[_, part, 0, 0], C.shape), result, d[_, part, 0, 0])",
        "copy(result, d[_, part, 0, 0])",
        "copy(result",
    ),
    "mma_tma_sm100: a phase that a slow thread may miss": (
        "mma_tma_sm100",
        "phase(k, 1))\n        barrier()\n",
        "phase(k, 1))\n",
        "set_barrier_transaction_bytes",
    ),
    "mma_tma_sm100: no wait for the tiles": (
        "mma_tma_sm100",
        "        wait_barrier(full[0], phase(k, 1))\n",
        "",
        "gemm(MMA",
    ),
    "mma_tma_sm100: the next tile before the product has ended": (
        "mma_tma_sm100",
        "        umma_arrive(done[0])\n        wait_barrier(done[0], phase(k, 1))\n",
        "",
        "copy(x.with_",
    ),
    "mma_tma_sm100: no barrier after the mbarriers": (
        "mma_tma_sm100",
        "Columns)\n    barrier()\n",
        "Columns)\n",
        "wait_barrier(full",
    ),
    "mma_tma_epi_sm100: no wait for the tile of C": (
        "mma_tma_epi_sm100",
        "        wait_barrier(come[0], phase(part, 1))\n",
        "",
        "copy(LINES, c, result)",
    ),
    "mma_tma_epi_sm100: registers that are still being loaded": (
        "mma_tma_epi_sm100",
        "        fence_view_async_tmem_load()\n",
        "",
        "axpby(alpha",
    ),
    "mma_tma_epi_sm100: no fence before the store": (
        "mma_tma_epi_sm100",
        "        fence_view_async_shared()\n",
        "",
        "copy(store",
    ),
    "mma_tma_epi_sm100: no wait for the store": (
        "mma_tma_epi_sm100",
        "        tma_store_wait[0]()\n",
        "",
        "copy(LINES, result, d)",
    ),
    "mma_tma_epi_sm100: no barrier before the store": (
        "mma_tma_epi_sm100",
        "shared()\n        barrier()\n",
        "shared()\n",
        "copy(store",
    ),
    "mma_tma_epi_sm100: columns past those of the tile": (
        "mma_tma_epi_sm100",
        "Int[1](), EN))",
        "Int[1](), Int[256]()))",
        "store_tiles(",
    ),
    "mma_tma_multicast_sm100: blocks that do not wait for each other before they load": (
        "mma_tma_multicast_sm100",
        "    cluster_sync()\n",
        "    barrier()\n",
        "copy(x.with_",
    ),
    "mma_tma_multicast_sm100: the masks of the other modes": (
        "mma_tma_multicast_sm100",
        "for mode in (2, 1)]",
        "for mode in (1, 2)]",
        "copy(x.with_",
    ),
    "mma_tma_multicast_sm100: A to the whole cluster": (
        "mma_tma_multicast_sm100",
        "for mode in (2, 1)]",
        "for mode in (2, 1)]\n    masks[0] = create_tma_multicast_mask[1, 2](CTAS, coord)",
        "copy(x.with_",
    ),
    "mma_tma_multicast_sm100: a load for its own block alone": (
        "mma_tma_multicast_sm100",
        "create_tma_multicast_mask[mode](CTAS, coord)",
        "create_tma_multicast_mask[3](CTAS, coord)",
        "wait_barrier(full",
    ),
    "mma_tma_multicast_sm100: the bytes of its own part alone": (
        "mma_tma_multicast_sm100",
        "tma_transaction_bytes(*smem)",
        "tma_transaction_bytes(*(part(s) for part, s in zip(parts, smem)))",
        "wait_barrier(full",
    ),
    "mma_tma_multicast_sm100: the part of another mode": (
        "mma_tma_multicast_sm100",
        "(coord[2], coord[1])",
        "(coord[1], coord[2])",
        "copy(x.with_",
    ),
    "mma_tma_multicast_sm100: products that arrive at their own block alone": (
        "mma_tma_multicast_sm100",
        "umma_arrive_multicast(done[0], masks[0] | masks[1])",
        "umma_arrive_multicast(done[0], create_tma_multicast_mask[3](CTAS, coord))",
        "wait_barrier(done",
    ),
    "mma_tma_multicast_sm100: products that arrive at the blocks of A alone": (
        "mma_tma_multicast_sm100",
        "masks[0] | masks[1]",
        "masks[0]",
        "wait_barrier(done",
    ),
    "mma_tma_multicast_sm100: products that arrive at all blocks": (
        "mma_tma_multicast_sm100",
        "masks[0] | masks[1]",
        "create_tma_multicast_mask[1, 2](CTAS, coord)",
        "umma_arrive_multicast(",
    ),
    "mma_tma_multicast_sm100: an arrival too many to wait for": (
        "mma_tma_multicast_sm100",
        "ALIKE[0] + ALIKE[1] - 1",
        "ALIKE[0] + ALIKE[1]",
        "wait_barrier(done",
    ),
    "mma_tma_multicast_sm100: no wait for the products of others": (
        "mma_tma_multicast_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n",
        "",
        "copy(x.with_",
    ),
    "mma_tma_multicast_sm100: no wait for the tiles": (
        "mma_tma_multicast_sm100",
        "        wait_barrier(full[0], phase(k, 1))\n",
        "",
        "gemm(MMA",
    ),
    "mma_tma_multicast_sm100: a phase that a slow thread may miss": (
        "mma_tma_multicast_sm100",
        "phase(k, 1))\n        barrier()\n",
        "phase(k, 1))\n",
        "umma_arrive_multicast(",
    ),
    "mma_tma_multicast_sm100: blocks past the end store": (
        "mma_tma_multicast_sm100",
        "when(block(0) < ceil_div(A.shape[0], BM))",
        "when(block(0) < CLUSTER[0])",
        "store(total",
    ),
    "mma_tma_multicast_sm100: a block that leaves before the products of others arrive": (
        "mma_tma_multicast_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n        barrier()\n",
        "        for _more in when(k + 1 < ceil_div(A.shape[1], BK)):\n            wait_barrier(done[0], phase(k, "
        "1))\n            barrier()\n",
        "umma_arrive_multicast(",
    ),
    "mma_tma_2sm_sm100: blocks that do not wait for each other before they load": (
        "mma_tma_2sm_sm100",
        "    cluster_sync()\n",
        "    barrier()\n",
        "copy(x.with_",
    ),
    "mma_tma_2sm_sm100: the follower states the products": (
        "mma_tma_2sm_sm100",
        "        for _leader in when(v < 1):\n            wait_barrier",
        "        for _leader in when(0 < v):\n            wait_barrier",
        "gemm(MMA",
    ),
    "mma_tma_2sm_sm100: both blocks of a pair state the products": (
        "mma_tma_2sm_sm100",
        "        for _leader in when(v < 1):\n            wait_barrier",
        "        for _leader in when(v < 2):\n            wait_barrier",
        "gemm(MMA",
    ),
    "mma_tma_2sm_sm100: the bytes of one block of a pair": (
        "mma_tma_2sm_sm100",
        "PAIR * tma_transaction_bytes(*smem)",
        "tma_transaction_bytes(*smem)",
        "wait_barrier(full",
    ),
    "mma_tma_2sm_sm100: the follower waits for bytes too": (
        "mma_tma_2sm_sm100",
        "        for _leader in when(v < 1):\n            set",
        "        for _leader in when(v < 2):\n            set",
        "set_barrier_transaction_bytes",
    ),
    "mma_tma_2sm_sm100: bytes that each block counts by itself": (
        "mma_tma_2sm_sm100",
        "SM100_TMA_2SM_LOAD_MULTICAST",
        "SM90_TMA_LOAD_MULTICAST",
        "wait_barrier(full",
    ),
    "mma_tma_2sm_sm100: an arrival of products of one SM": (
        "mma_tma_2sm_sm100",
        "umma_arrive_multicast_2x1SM",
        "umma_arrive_multicast",
        "umma_arrive_multicast(",
    ),
    "mma_tma_2sm_sm100: columns of one SM": ("mma_tma_2sm_sm100", "Allocator2Sm", "Allocator1Sm", "gemm(MMA"),
    "mma_tma_2sm_sm100: products that do not arrive at the followers": (
        "mma_tma_2sm_sm100",
        "told[0] | told[1]",
        "masks[0] | masks[1]",
        "wait_barrier(done",
    ),
    "mma_tma_2sm_sm100: a mask of both blocks of a pair": (
        "mma_tma_2sm_sm100",
        "create_tma_multicast_mask[mode](CTAS, coord)",
        "create_tma_multicast_mask[0, mode](CTAS, coord)",
        "copy(x.with_",
    ),
    "mma_tma_2sm_sm100: no wait for the tiles": (
        "mma_tma_2sm_sm100",
        "            wait_barrier(full[0], phase(k, 1))\n",
        "",
        "gemm(MMA",
    ),
    "mma_tma_2sm_sm100: no wait for the products": (
        "mma_tma_2sm_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n",
        "",
        "copy(x.with_",
    ),
    "mma_tma_2sm_sm100: the leaders alone wait for the products": (
        "mma_tma_2sm_sm100",
        "        wait_barrier(done[0], phase(k, 1))\n",
        "        for _leader in when(v < 1):\n            wait_barrier(done[0], phase(k, 1))\n",
        "copy(x.with_",
    ),
    "mma_tma_2sm_sm100: a phase that a slow thread may miss": (
        "mma_tma_2sm_sm100",
        "phase(k, 1))\n        barrier()\n",
        "phase(k, 1))\n",
        "umma_arrive_multicast",
    ),
    "mma_tma_2sm_sm100: clusters without pairs": (
        "mma_tma_2sm_sm100",
        "PAIR, ALIKE = size(CTAS[0])",
        "CLUSTER = (1, 1, 1)\nPAIR, ALIKE = size(CTAS[0])",
        "allocate(",
    ),
    "transpose: threads that share rows": (
        "transpose",
        'parse("(_8,_32):(_32,_1)")',
        'parse("(_8,_32):(_16,_1)")',
        "copy_if(",
    ),
}


def products(element, *sizes):
    m, n, k = sizes
    draw = np.random.default_rng(0)
    return [draw.integers(-1, 2, shape).astype(element) for shape in ((m, k), (n, k), (m, n))]


@functools.cache
def arguments():
    s, sums = np.zeros((70, 45), np.float32), [np.zeros((64, 16), np.float32) for _matrix in range(2)]
    column = np.zeros((140, 70), np.float32, order="F")
    return {
        **{
            name: ("gemm_tn", (*products(np.float32, 137, 130, 21), 2, -1))
            for name in ("sgemm_1", "sgemm_2", "sgemm_sm70")
        },
        **{name: ("gemm_tn", (*products(np.float16, 129, 16, 328), 2, -1)) for name in ("sgemm_sm80", "wgmma_sm90")},
        **{
            name: ("gemm_tn", (*products(np.float16, 64, 16, 72)[:2], *sums, 2, -1))
            for name in (
                "mma_sm100",
                "mma_tma_sm100",
                "mma_tma_multicast_sm100",
                "mma_tma_2sm_sm100",
                "mma_tma_epi_sm100",
            )
        },
        "transpose": ("transpose", (s, s.T.copy())),
        "tiled_copy_if": ("tiled_copy_if", (column, column.copy(order="F"))),
        "tiled_copy": ("tiled_copy", (np.zeros((384, 128), np.float32, order="F"),) * 2),
        "softmax": ("softmax", (s, s.copy())),
        "epilogue": (
            "relu",
            (*products(np.float32, 137, 130, 21)[:2], np.zeros(130, np.float32), np.zeros((137, 130), np.float32)),
        ),
    }


#: The examples of clusters: here with four blocks instead of sixteen.
CLUSTERS = "mma_tma_multicast_sm100", "mma_tma_2sm_sm100", "mma_tma_epi_sm100"


def checked(example, text, folder):
    """The report of an example's kernel whose text is given."""
    texts = {name: (FOLDER / f"{name}.py").read_text() for name in CLUSTERS} | {example: text}
    for name, each in texts.items():
        (folder / f"{name}.py").write_text(each.replace("CLUSTER = Int[4](), Int[4]()", "CLUSTER = Int[2](), Int[2]()"))
    before = {name: sys.modules.pop(name) for name in CLUSTERS if name in sys.modules}
    sys.path[:0] = str(folder), str(FOLDER)
    try:
        variants = runpy.run_path(str(folder / f"{example}.py"))["VARIANTS"]
    finally:
        del sys.path[:2]
        for name in CLUSTERS:
            sys.modules.pop(name, None)
        sys.modules.update(before)
    variant, given = arguments()[example]
    return variants[variant][0].check(*given), variants[variant]


def is_proved(kernel, given, _parameters):
    """Whether a kernel is proved to have no race, whatever the sizes are; one whose text is refused is not."""
    try:
        return why_not_free(kernel.program(*given)) is None
    except TlaError:
        return False


@pytest.mark.parametrize("example", some(arguments(), 3))
def test_an_example_without_a_fault_is_not_refused(example, tmp_path):
    report, of_symbols = checked(example, (FOLDER / f"{example}.py").read_text(), tmp_path)
    assert report.holds, str(report)
    assert is_proved(*of_symbols)
    assert not report.idle
    assert not report.unwritten


@pytest.mark.parametrize(
    ("example", "right", "wrong", "at"),
    [
        ("sgemm_1", "            clear(target)\n", "", "gemm("),
        ("mma_sm100", "MMA.with_(size[2](a) * k + part > 0)", "MMA", "gemm("),
        ("sgemm_sm80", "        load(first)\n", "        pass\n", "copy(tiled"),
    ],
)
def test_shared_memory_that_nobody_has_written_is_named(example, right, wrong, at, tmp_path):
    text = (FOLDER / f"{example}.py").read_text()
    assert right in text
    text = text.replace(right, wrong)
    report, _of_symbols = checked(example, text, tmp_path)
    lines = [text.splitlines()[x.line.number - 1] for x in report.unwritten if x.line.file == f"{example}.py"]
    assert any(at in line for line in lines), lines
    assert str(report.unwritten[0]) in str(report)


def is_for_now(number, name):
    """Whether a fault is looked for by day: every fourth, of slow examples every eighth, of clusters every 24th."""
    every = 24 if name.startswith(CLUSTERS) else 8 if name.startswith(("sgemm_sm", "wgmma", "mma_")) else 4
    return NIGHT or number % every == every - 1


@pytest.mark.parametrize("name", [name for k, name in enumerate(FAULTS) if is_for_now(k, name)])
def test_a_fault_is_refused_at_its_line(name, tmp_path):
    example, right, wrong, at = FAULTS[name]
    text = (FOLDER / f"{example}.py").read_text()
    assert right in text
    text = text.replace(right, wrong)
    report, of_symbols = checked(example, text, tmp_path)
    assert not report.holds
    assert not (report.races and is_proved(*of_symbols))
    lines = [race.at for race in report.races] + [refused.line for refused in report.bounds]
    sources = {line: (tmp_path if line.file == f"{example}.py" else FOLDER) / line.file for line in lines}
    found = [path.read_text().splitlines()[line.number - 1] for line, path in sources.items()]
    assert any(at in line for line in found), found
