"""CuTe's tutorial sgemm_1 as a kernel: C = alpha * A * B^T + beta * C, every thread's part by local_partition.

The threads of a block copy tiles of A and B into shared memory, wait, and multiply their rows of A by their rows of B. Sizes need
not divide: predicates guard what reaches past the end, and it is zero in shared memory.

    python examples/kernels/sgemm_1.py                                                       # run on numpy, checked
    python examples/kernels/sgemm_1.py --target cuda --arch sm_80 --variant gemm_tn          # its text

Source: CUTLASS examples/cute/tutorial/sgemm_1.cu.
"""

import numpy as np
from _main import main

from tla import Int, LayoutLeft, LayoutRight, _, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout, size
from tla.gpu import make_fragment_like
from tla.kernels import axpby, barrier, block, clear, copy_if, gemm, kernel, local_partition, loop, shared, tensor, thread

BM, BN, BK = Int[128](), Int[128](), Int[8]()
TC = make_layout((Int[16](), Int[16]()))


def tile_of(t, tiler, coord):
    """A tile, and the coordinates of its elements."""
    return local_tile(t, tiler, coord), local_tile(make_identity_tensor(t.shape), tiler, coord)


def product_of(A, B, C, order):
    """The sums of A (M,K) * B (N,K)^T for each thread's part of C, and that part.

    order   LayoutLeft or LayoutRight: whether the mode M and N, or K, is contiguous
    """
    t, load = thread(), make_layout((Int[32](), Int[8]()), order)
    smem_a, smem_b = (shared(np.float32, make_layout((rows, BK), order)) for rows in (BM, BN))
    rows, columns = local_partition(smem_a, TC, t, proj=(1, _)), local_partition(smem_b, TC, t, proj=(_, 1))
    own = part_of(C)
    total = make_fragment_like(own)
    clear(total)
    for k in loop(ceil_div(A.shape[1], BK)):
        for matrix, smem, extent, i in ((A, smem_a, BM, block(0)), (B, smem_b, BN, block(1))):  # Python's loop: unrolled
            tile, places = tile_of(matrix, (extent, BK), (i, k))
            source, inside, target = (local_partition(x, load, t) for x in (tile, places, smem))
            clear(target)
            copy_if(elem_less(inside, matrix.shape), source, target)
        barrier()
        gemm(rows, columns, total)
        barrier()
    return total, own


def part_of(C):
    """The part of each thread of the block's tile of a matrix like C."""
    return local_partition(local_tile(C, (BM, BN), (block(0), block(1))), TC, thread())


def blocks(A, B, *_others):
    return ceil_div(size[0](A), BM), ceil_div(size[0](B), BN)


def sgemm_1_of(order, registers=None):
    """The kernel for A and B whose mode M and N, or K, is contiguous: LayoutLeft or LayoutRight. registers: the most of a thread."""

    @kernel(threads=256, grid=blocks, registers=registers)
    def sgemm_1(A, B, C, alpha, beta):
        """C (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""
        total, own = product_of(A, B, C, order)
        axpby(alpha, total, beta, own)  # of the elements that are valid

    return sgemm_1


def arguments(contiguous, multiple, element=np.float32):
    """The arguments of the text: matrices of any sizes up to 32768, whose offsets fit 32 bits.

    contiguous   the mode of A and B that has stride 1; its extent and the other's stride are of this multiple, of which vectors are
    """
    m, n = (dim(name, at_least=0, at_most=2**15, multiple_of=multiple if contiguous == 0 else 1) for name in "mn")
    k = dim("k", at_least=0, at_most=2**15, multiple_of=multiple if contiguous == 1 else 1)
    strides = [dim(name, at_least=0, at_most=2**15, multiple_of=multiple) for name in ("ldA", "ldB")]
    a, b = (make_layout((rows, k), stride=(Int[1](), d) if contiguous == 0 else (d, Int[1]())) for rows, d in zip((m, n), strides))
    c = make_layout((m, n), stride=(Int[1](), dim("ldC", at_least=0, at_most=2**15)))
    return *(tensor(element, layout) for layout in (a, b, c)), element, element


PARAMETERS = "m n k alpha A ldA B ldB beta C ldC"
VARIANTS = {
    "gemm_nt": (sgemm_1_of(LayoutLeft, 98), arguments(0, 1), PARAMETERS),
    "gemm_tn": (sgemm_1_of(LayoutRight, 192), arguments(1, 1), PARAMETERS),
}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((137, 21), (130, 21), (137, 130)))
    expected = 2 * a @ b.T - c
    sgemm_1 = sgemm_1_of(LayoutRight)
    print(sgemm_1.check(a, b, c, 2, -1))
    sgemm_1.run(a, b, c, 2, -1)
    print("largest difference from numpy:", np.abs(c - expected).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
