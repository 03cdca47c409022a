"""The products of a mixture of experts: D (M,N) = A (M,K) * W (N,K)^T of the expert that each tile of rows asks for.

The rows of A are sorted by their expert, and each tile of 64 has one, whose number the kernel reads: so one launch does the products of all
experts, however many rows each has. `read_index` refuses a number that is no expert's, on numpy and in the text, and what is cut by it is
proved to be inside of W.

    python examples/kernels/grouped_gemm.py                                                      # run on numpy, checked, by each
    python examples/kernels/grouped_gemm.py --target cuda --arch sm_80 --variant mma_sync        # its text
    python examples/kernels/grouped_gemm.py --target c --variant fma

Source: CUTLASS examples/24_gemm_grouped, for what it computes; the plan is that of gemm_atoms.py.
"""

import numpy as np
from _main import main
from sgemm_1 import tile_of

from tla import Int, LayoutRight, Swizzle, _, ceil_div, composition, dim, elem_less, local_tile, make_layout, parse
from tla.gpu import (
    Copy_Atom,
    SM80_16x8x16_F32F16F16F32_TN,
    UniversalCopy,
    UniversalFMA,
    half,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_mma,
    uint16,
    uint32,
    uint128,
)
from tla.kernels import axpby, barrier, block, clear, copy, copy_if, gemm, kernel, loop, read_index, shared, tensor, thread

TILE, BK = Int[64](), Int[32]()
MEMORY = composition(Swizzle[2, 3, 3](), make_layout((TILE, BK), LayoutRight))
LOAD = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_32,_4):(_4,_1)"), (1, 8))


def grouped_by(mma, vector):
    """The kernel of 128 threads by a tiled MMA, whose operands come from shared memory in vectors of a type."""
    fetch = [made(Copy_Atom[UniversalCopy[vector], half], mma) for made in (make_tiled_copy_A, make_tiled_copy_B)]

    @kernel(threads=128, grid=lambda experts, A, W, D: (ceil_div(A.shape[0], TILE), ceil_div(W.shape[0], TILE)))
    def grouped_gemm(experts, A, W, D):
        t, product = thread(), mma[thread()]
        W = W[_, _, read_index(experts, block(0), W.shape[2])]
        smem = [shared(np.float16, MEMORY) for _operand in "AB"]
        operands = product.partition_fragment_A(smem[0]), product.partition_fragment_B(smem[1])
        mine = product.partition_C(local_tile(D, (TILE, TILE), (block(0), block(1))))
        total = make_fragment_like(mine)
        clear(total)
        for k in loop(ceil_div(A.shape[1], BK)):
            for matrix, to, i in zip((A, W), smem, (block(0), block(1))):
                part, at = (LOAD[t].partition_S(x) for x in tile_of(matrix, (TILE, BK), (i, k)))
                held = make_fragment_like(part)
                clear(held)
                copy_if(LOAD, elem_less(at, matrix.shape), part, held)
                copy(LOAD, held, LOAD[t].partition_D(to))
            barrier()
            for tiled, source, target in zip(fetch, smem, operands):
                copy(tiled, tiled[t].partition_S(source), tiled[t].retile_D(target))
            gemm(mma, *operands, total)
            barrier()
        axpby(1, total, 0, mine)

    return grouped_gemm


def arguments():
    """The experts of the tiles, A, W of all experts, and D, of any sizes; rows of A and W are vectors of 16 bytes."""
    m, n, e, k = (dim(name, at_most=2**12, multiple_of=8 if name == "k" else 1) for name in "mnek")
    _1 = Int[1]()
    a, d = (tensor(kind, make_layout((m, columns), stride=(columns, _1))) for kind, columns in ((np.float16, k), (np.float32, n)))
    w = tensor(np.float16, make_layout((n, k, e), stride=(k, _1, n * k)))
    return tensor(np.int32, make_layout(ceil_div(m, TILE), stride=_1)), a, w, d


KERNELS = {
    "mma_sync": grouped_by(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16)), uint32),
    "fma": grouped_by(make_tiled_mma(UniversalFMA[float, half, half, float], parse("(_8,_16,_1):(_1,_8,_0)")), uint16),
}
VARIANTS = {name: (made, arguments(), "m n k e experts A W D") for name, made in KERNELS.items()}


def demonstrate():
    rng = np.random.default_rng(0)
    experts = np.array([2, 0, 2], np.int32)
    a, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((150, 40), (3, 70, 40)))
    for name, made in KERNELS.items():
        d = np.ones((150, 70), np.float32)
        by_expert = w.transpose(1, 2, 0)  # (N,K,experts), each expert's matrix by rows
        print(f"{name}:\n{made.check(experts, a, by_expert, d)}")
        made.run(experts, a, by_expert, d)
        wanted = np.concatenate([a[64 * i : 64 * (i + 1)].astype(np.float32) @ w[e].T.astype(np.float32) for i, e in enumerate(experts)])
        print("largest difference from numpy:", np.abs(d - wanted).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
