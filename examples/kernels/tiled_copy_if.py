"""CuTe's tutorial tiled_copy_if as a kernel: a column-major matrix copied tile by tile, under predicates at its edges.

The column is a multiple of four elements, so that each access of 16 bytes is inside or outside as a whole; the number of columns is any.

    python examples/kernels/tiled_copy_if.py                              # run on numpy, checked
    python examples/kernels/tiled_copy_if.py --target cuda --arch sm_80   # its text

Source: CUTLASS examples/cute/tutorial/tiled_copy_if.cu.
"""

import numpy as np
from _main import main

from tla import Int, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout
from tla.gpu import Copy_Atom, UniversalCopy, float, make_fragment_like, make_tiled_copy, uint128
from tla.kernels import block, copy_if, kernel, tensor, thread

TILE = Int[128](), Int[64]()
VECTORS = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (32, 8), (4, 1))


@kernel(threads=256, grid=lambda S, D: tuple(ceil_div(n, tile) for n, tile in zip(S.shape, TILE)))
def tiled_copy_if(S, D):
    """Copy a matrix: predicates guard what is past the end."""
    own, at = VECTORS[thread()], (block(0), block(1))
    inside = elem_less(own.partition_S(local_tile(make_identity_tensor(S.shape), TILE, at)), S.shape)
    source = own.partition_S(local_tile(S, TILE, at))
    registers = make_fragment_like(source)
    copy_if(VECTORS, inside, source, registers)
    copy_if(VECTORS, inside, registers, own.partition_D(local_tile(D, TILE, at)))


m, n = dim("m", multiple_of=4, at_least=0, at_most=2**15), dim("n", at_least=0, at_most=2**15)
MATRIX = tensor(np.float32, make_layout((m, n), stride=(Int[1](), m)))
VARIANTS = {"tiled_copy_if": (tiled_copy_if, (MATRIX, MATRIX), "m n S D")}


def demonstrate():
    S = np.arange(528 * 600, dtype=np.float32).reshape(528, 600, order="F")
    D = np.zeros_like(S)
    tiled_copy_if.run(S, D)
    print(f"tiled_copy_if: {'equal' if (S == D).all() else 'differs'};", tiled_copy_if.check(S, D))


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
