"""One product for NVIDIA, AMD and a CPU: D = A * B^T + D with float16 operands and float32 sums, by whatever instruction is given.

The function has no word of any machine in it: the tiled MMA says who holds what, and how operands come from shared memory. With NVIDIA's
mma.sync a block has four warps of 32 threads, with AMD's MFMA four waves of 64; on a CPU the threads are loops, and gemm_cpu.py gives it
the vector registers of one.

    python examples/kernels/gemm_atoms.py                                                      # run on numpy, checked, by each
    python examples/kernels/gemm_atoms.py --target cuda --arch sm_80 --variant mma_sync        # its text
    python examples/kernels/gemm_atoms.py --target hip --arch gfx942 --variant mfma
    python examples/kernels/gemm_atoms.py --target c --variant fma

Source: CUTLASS examples/cute/tutorial/sgemm_2.cu, whose plan this is; the ISA manual of CDNA 3 for the MFMA.
"""

import numpy as np
from _main import main
from sgemm_1 import tile_of

from tla import Int, LayoutRight, Swizzle, ceil_div, composition, dim, elem_less, gpu, local_tile, make_layout, parse, size
from tla.gpu import (
    Copy_Atom,
    SM80_16x8x16_F32F16F16F32_TN,
    UniversalCopy,
    UniversalFMA,
    atom,
    half,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_mma,
)
from tla.kernels import axpby, barrier, block, clear, copy, copy_if, gemm, kernel, loop, shared, tensor, thread

BM, BN = Int[128](), Int[128]()


def product_by(mma, tile, element, memory, loads, fetch=()):
    """The kernel by a tiled MMA.

    tile      the extents of a block's part: of M, N and K
    element   the type of A and B
    memory    the layouts of their tiles in shared memory
    loads     the tiled copies by which they come there
    fetch     those by which operands go on to registers; none for an MMA that reads them where they are
    """
    BM, BN, BK = tile

    @kernel(threads=int(size(mma)), grid=lambda A, B, D: (ceil_div(A.shape[0], BM), ceil_div(B.shape[0], BN)))
    def gemm_atoms(A, B, D):
        """D (M,N) = A (M,K) * B (N,K)^T + D."""
        t, product = thread(), mma[thread()]
        smem = [shared(element, layout) for layout in memory]
        if fetch:
            operands = product.partition_fragment_A(smem[0]), product.partition_fragment_B(smem[1])
        else:
            operands = product.partition_A(smem[0]), product.partition_B(smem[1])
        mine = product.partition_C(local_tile(D, (BM, BN), (block(0), block(1))))
        total = make_fragment_like(mine)
        clear(total)
        for k in loop(ceil_div(A.shape[1], BK)):
            for matrix, to, load, extent, i in (A, smem[0], loads[0], BM, block(0)), (B, smem[1], loads[1], BN, block(1)):
                own = load[t]
                part, places = (own.partition_S(x) for x in tile_of(matrix, (extent, BK), (i, k)))
                held = make_fragment_like(part) if fetch else own.partition_D(to)
                clear(held)
                copy_if(load, elem_less(places, matrix.shape), part, held)
                if fetch:
                    copy(load, held, own.partition_D(to))
            barrier()
            for tiled, source, target in zip(fetch, smem, operands):
                copy(tiled, tiled[t].partition_S(source), tiled[t].retile_D(target))
            gemm(mma, *operands, total)
            barrier()
        axpby(1, total, 1, mine)

    return gemm_atoms


def by_rows(mma, element, vector):
    """The kernel for elements of 8 or 16 bits, whose operands come from shared memory in vectors of a type.

    A row of a tile has 64 bytes: by the swizzle 8 lanes of 16 bytes meet in no bank.
    """
    wide = 128 // element.bits
    memory = composition(Swizzle[2, wide.bit_length() - 1, 3](), make_layout((BM, Int[4 * wide]()), LayoutRight))
    rows = make_layout((Int[int(size(mma)) // 4](), Int[4]()), stride=(Int[4](), Int[1]()))
    load = make_tiled_copy(Copy_Atom[UniversalCopy[gpu.uint128], element], rows, (1, wide))
    fetch = [made(Copy_Atom[UniversalCopy[vector], element], mma) for made in (gpu.make_tiled_copy_A, gpu.make_tiled_copy_B)]
    return product_by(mma, (BM, BN, Int[4 * wide]()), element, (memory, memory), (load, load), fetch)


KERNELS = {
    "mma_sync": by_rows(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16)), half, gpu.uint32),
    "mfma": by_rows(make_tiled_mma(atom("v_mfma_f32_32x32x8_f16", "cdna3"), (2, 2)), half, gpu.uint64),
    "fma": by_rows(make_tiled_mma(UniversalFMA[float, half, half, float], parse("(_16,_16,_1):(_1,_16,_0)")), half, gpu.uint16),
}


def arguments(element):
    """A, B and D of any sizes, but that rows of A and B are vectors of 16 bytes."""
    m, n, k = (dim(name, at_least=0, at_most=2**15, multiple_of=x) for name, x in (("m", 1), ("n", 1), ("k", 128 // element.bits)))
    kinds = (element, m, k), (element, n, k), (np.float32, m, n)
    return tuple(tensor(kind, make_layout((rows, columns), stride=(columns, Int[1]()))) for kind, rows, columns in kinds)


VARIANTS = {name: (made, arguments(half), "m n k A B D") for name, made in KERNELS.items()}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (rows, 40)).astype(np.float16) for rows in (137, 130))
    for name, made in KERNELS.items():
        d = np.ones((137, 130), np.float32)
        print(f"{name}:\n{made.check(a, b, d)}")
        made.run(a, b, d)
        print("largest difference from numpy:", np.abs(d - (a.astype(np.float32) @ b.T.astype(np.float32) + 1)).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
