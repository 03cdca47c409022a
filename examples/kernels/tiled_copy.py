"""CuTe's tutorial tiled_copy as a kernel: a column-major matrix copied tile by tile, 16 bytes of a thread at once, through registers.

    python examples/kernels/tiled_copy.py                              # run on numpy, checked
    python examples/kernels/tiled_copy.py --target cuda --arch sm_80   # its text

Source: CUTLASS examples/cute/tutorial/tiled_copy.cu.
"""

import numpy as np
from _main import main

from tla import Int, ceil_div, dim, local_tile, make_layout
from tla.gpu import Copy_Atom, UniversalCopy, float, make_fragment_like, make_tiled_copy, uint128
from tla.kernels import block, copy, kernel, tensor, thread

TILE = Int[128](), Int[64]()
VECTORS = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (32, 8), (4, 1))


@kernel(threads=256, grid=lambda S, D: tuple(ceil_div(n, tile) for n, tile in zip(S.shape, TILE)))
def tiled_copy(S, D):
    """Copy a matrix whose extents are multiples of the tile's."""
    own, at = VECTORS[thread()], (block(0), block(1))
    source = own.partition_S(local_tile(S, TILE, at))
    registers = make_fragment_like(source)
    copy(VECTORS, source, registers)
    copy(VECTORS, registers, own.partition_D(local_tile(D, TILE, at)))


m, n = dim("m", multiple_of=128, at_most=2**15), dim("n", multiple_of=64, at_most=2**15)
MATRIX = tensor(np.float32, make_layout((m, n), stride=(Int[1](), m)))
VARIANTS = {"tiled_copy": (tiled_copy, (MATRIX, MATRIX), "m n S D")}


def demonstrate():
    S = np.arange(256 * 512, dtype=np.float32).reshape(256, 512, order="F")
    D = np.zeros_like(S)
    tiled_copy.run(S, D)
    print(f"tiled_copy: {'equal' if (S == D).all() else 'differs'};", tiled_copy.check(S, D))


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
