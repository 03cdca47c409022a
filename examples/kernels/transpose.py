"""A transpose as a kernel: tiles of a row-major matrix through swizzled shared memory, without bank conflicts on either side.

Each warp reads rows of a tile of 32 by 32 and writes rows of the result: in shared memory the one goes along rows, the other along columns.
Padded rows do the same. A CPU has no banks, but vectors: for it a thread turns eight elements, one behind the other in memory.

    python examples/kernels/transpose.py                              # run on numpy, checked
    python examples/kernels/transpose.py --target cuda --arch sm_80   # its text
    python examples/kernels/transpose.py --target c --variant vectors

Source: NVIDIA's "An Efficient Matrix Transpose in CUDA C/C++", with a swizzle in place of its padding.
"""

import numpy as np
from _main import main

from tla import Int, LayoutRight, ceil_div, composition, dim, elem_less, local_tile, make_identity_tensor, make_layout, parse, size
from tla.gpu import Copy_Atom, UniversalCopy, float, make_tiled_copy
from tla.kernels import barrier, block, copy_if, kernel, shared, tensor, thread


def transpose_by(tile, threads, rows, layout):
    """The kernel by tiles of a static extent, the threads' layout in one, the rows of each thread, and the layout of shared memory."""
    copy = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], threads, (rows, Int[1]()))

    @kernel(threads=int(size(threads)), grid=lambda S, D: tuple(ceil_div(n, tile) for n in S.shape))
    def transpose(S, D):
        """D (N,M) = S (M,N) transposed."""
        own, memory = copy[thread()], shared(np.float32, layout)
        transposed = composition(memory, make_layout((tile, tile), LayoutRight))

        def parts(x, coord):
            return (own.partition_S(local_tile(y, (tile, tile), coord)) for y in (x, make_identity_tensor(x.shape)))

        source, inside = parts(S, (block(0), block(1)))
        copy_if(elem_less(inside, S.shape), source, own.partition_S(memory))
        barrier()
        target, inside = parts(D, (block(1), block(0)))
        copy_if(elem_less(inside, D.shape), own.partition_S(transposed), target)

    return transpose


transpose = transpose_by(Int[32](), parse("(_8,_32):(_32,_1)"), Int[1](), parse("Sw<5,0,5> o 0 o (_32,_32):(_32,_1)"))  # a warp along a row
padded = transpose_by(Int[64](), parse("(_4,_64):(_64,_1)"), Int[1](), parse("(_64,_64):(_65,_1)"))
vectors = transpose_by(Int[64](), parse("(_8,_64):(_64,_1)"), Int[8](), parse("(_64,(_8,_8)):(_8,(_1,_512))"))
m, n = (dim(name, at_least=0, at_most=2**15) for name in "mn")
MATRICES = tuple(tensor(np.float32, make_layout(shape, stride=(shape[1], Int[1]()))) for shape in ((m, n), (n, m)))
VARIANTS = {name: (made, MATRICES, "m n S D") for name, made in (("transpose", transpose), ("padded", padded), ("vectors", vectors))}


def demonstrate():
    S = np.arange(70 * 45, dtype=np.float32).reshape(70, 45)
    D = np.zeros((45, 70), np.float32)
    transpose.run(S, D)
    print(f"transpose: {'equal' if (S.T == D).all() else 'differs'};", transpose.check(S, D))


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
