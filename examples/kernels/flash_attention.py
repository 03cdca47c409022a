"""FlashAttention-2, forward: softmax(Q K^T / sqrt(d)) V for each head, a tile of Q at a time, without the matrix of scores in memory.

A warp has 16 rows of Q, in registers. For each tile of keys: scores by tensor cores; the largest of each row so far, over the four threads
that share it; what was summed is scaled to it; and the exponentials, which lie in registers as the next product takes them, multiply V,
which ldmatrix transposes. While a tile of K is multiplied, V is on its way, and the next K while the softmax is computed. Any lengths.

    python examples/kernels/flash_attention.py                                # run on numpy, checked
    python examples/kernels/flash_attention.py --target cuda --arch sm_80     # its text

Source: Dao, "FlashAttention-2", arXiv 2307.08691; its csrc/flash_attn/src/flash_fwd_kernel.h.
"""

import numpy as np
from _main import main

import tla
import tla.gpu as gpu
import tla.kernels as tk
from tla import Int, Swizzle, _, ceil_div, composition, dim, elem_less, local_tile, make_identity_tensor, make_layout, parse, tile_to_shape

TILE, D = Int[64](), Int[64]()  # rows of Q, and of K and V; elements of a head
SCALE = float(1 / np.sqrt(64))
MMA = gpu.make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, (4, 1), (64, 16, 16))
LOAD = gpu.make_tiled_copy(gpu.Copy_Atom[gpu.SM80_CP_ASYNC_CACHEALWAYS_ZFILL[gpu.uint128], gpu.half], parse("(_16,_8):(_8,_1)"), (1, 8))
FETCH_Q, FETCH_K = (made(gpu.Copy_Atom[gpu.SM75_U32x4_LDSM_N, gpu.half], MMA) for made in (gpu.make_tiled_copy_A, gpu.make_tiled_copy_B))
FETCH_V = gpu.make_tiled_copy_B(gpu.Copy_Atom[gpu.SM75_U16x8_LDSM_T, gpu.half], MMA)
ROWS = tile_to_shape(composition(Swizzle[3, 3, 3](), parse("(_8,_64):(_64,_1)")), (TILE, D))
LEAST = float(np.finfo(np.float32).min)  # less than any score, and no infinity, whose difference from itself is no number


def each(rows):
    """The two rows of a thread, for each element of its accumulators."""
    return composition(rows, parse("((_2,_2),_1,_8):((_0,_1),_0,_0)"))


def over_threads(rows, f):
    """Combine the rows of the four threads that share them."""
    other = tk.registers(np.float32, Int[2]())
    for mask in (1, 2):
        tk.shuffle_xor(rows, other, mask)
        tk.transform(rows, other, rows, f)


@tk.kernel(threads=128, grid=lambda Q, K, V, Out: (ceil_div(Q.shape[0], TILE), Q.shape[2]))
def flash_attention(Q, K, V, Out):
    """Out (length, D, heads) = softmax(Q K^T / sqrt(D)) V for each head."""
    t, tiles, own, product = tk.thread(), ceil_div(K.shape[0], TILE), LOAD[tk.thread()], MMA[tk.thread()]
    Q, K, V, Out = (x[_, _, tk.block(1)] for x in (Q, K, V, Out))
    q, k, v = (tk.shared(np.float16, ROWS) for _operand in range(3))
    turned = composition(v, make_layout((D, TILE), stride=(TILE, Int[1]())))

    def begin(matrix, j, memory):
        """Begin to copy a tile; rows past the end are zeros."""
        tile, places = (own.partition_S(local_tile(x, (TILE, D), (j, 0))) for x in (matrix, make_identity_tensor(matrix.shape)))
        tk.copy_if(LOAD, elem_less(places, matrix.shape), tile, own.partition_D(memory))
        tk.cp_async_fence()

    def fetched(tiled, memory, fragment):
        """An operand in registers."""
        tk.copy(tiled, tiled[t].partition_S(memory), tiled[t].retile_D(fragment))
        return fragment

    of_q, of_k, of_v = product.partition_fragment_A(q), product.partition_fragment_B(k), product.partition_fragment_B(turned)
    scores, masked, result = (product.partition_fragment_C(make_layout((TILE, TILE))) for _accumulator in range(3))
    weights = product.partition_fragment_A(make_layout((TILE, TILE)))
    most, factor, total = (tk.registers(np.float32, Int[2]()) for _row in range(3))
    begin(Q, tk.block(0), q)
    begin(K, 0, k)
    tk.clear(result)
    tk.fill(most, LEAST)
    tk.clear(total)
    tk.cp_async_wait[1]()
    tk.barrier()
    fetched(FETCH_Q, q, of_q)
    for j in tk.loop(tiles):
        tk.cp_async_wait[0]()
        tk.barrier()
        begin(V, j, v)
        tk.clear(scores)
        tk.gemm(MMA, of_q, fetched(FETCH_K, k, of_k), scores)
        tk.cp_async_wait[0]()
        tk.barrier()
        begin(K, tla.min(j + 1, tiles - 1), k)
        columns = product.partition_C(local_tile(make_identity_tensor((TILE, K.shape[0])), (TILE, TILE), (0, j)))
        tk.fill(masked, -np.inf)
        tk.copy_if(elem_less(columns, (TILE, K.shape[0])), scores, masked)
        tk.copy(most, factor)
        tk.reduce(masked, each(most), np.fmax)
        over_threads(most, np.fmax)
        tk.transform(factor, most, factor, lambda before, now: np.exp((before - now) * SCALE))
        tk.transform(total, factor, total, np.multiply)
        tk.transform(result, each(factor), result, np.multiply)
        tk.transform(masked, each(most), masked, lambda score, largest: np.exp((score - largest) * SCALE))
        tk.reduce(masked, each(total), np.add)
        tk.transform(masked, weights, lambda x: x)
        tk.gemm(MMA, weights, fetched(FETCH_V, turned, of_v), result)
    over_threads(total, np.add)
    tk.transform(result, each(total), product.partition_C(local_tile(Out, (TILE, D), (tk.block(0), 0))), np.divide)


length, keys, heads = (dim(name, at_least=1, at_most=2**12) for name in ("length", "keys", "heads"))
QUERIES, KEYS = (tk.tensor(np.float16, make_layout((n, D, heads), stride=(D * heads, Int[1](), D))) for n in (length, keys))
VARIANTS = {"flash_attention": (flash_attention, (QUERIES, KEYS, KEYS, QUERIES), "length keys heads Q K V Out")}


def demonstrate():
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=(n, 3, 64)).astype(np.float16).transpose(0, 2, 1) for n in (70, 150, 150))
    Out = np.zeros((70, 3, 64), np.float16).transpose(0, 2, 1)
    weights = np.exp(np.einsum("qdh,kdh->hqk", Q, K, dtype=np.float32) * SCALE)
    expected = np.einsum("hqk,kdh->qdh", weights / weights.sum(axis=2, keepdims=True), V.astype(np.float32))
    print(flash_attention.check(Q, K, V, Out))
    flash_attention.run(Q, K, V, Out)
    print("largest difference from numpy is below 1e-3:", np.abs(Out - expected).max() < 1e-3)


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
