"""CuTe's tutorials tiled_copy and tiled_copy_if as kernels: a matrix copied tile by tile, in vectors, or under predicates at its edges.

Source: CUTLASS examples/cute/tutorial/tiled_copy.cu and tiled_copy_if.cu.
"""

import numpy as np

from tla import Int, ceil_div, elem_less, local_tile, make_identity_tensor
from tla.gpu import Copy_Atom, UniversalCopy, float, make_fragment_like, make_tiled_copy, uint128
from tla.kernels import block, copy, copy_if, kernel, thread

TILE = Int[32](), Int[64]()
VECTORS = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], float], (8, 16), (1, 4))
ELEMENTS = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (8, 16), (1, 4))


def blocks(source, target):
    return tuple(ceil_div(n, tile) for n, tile in zip(source.shape, TILE))


@kernel(threads=128, grid=blocks)
def tiled_copy(source, target):
    """Copy a row-major matrix whose extents are multiples of the tile's: 16 bytes of a thread at once, through registers."""
    own, at = VECTORS[thread()], (block(0), block(1))
    there = own.partition_S(local_tile(source, TILE, at))
    registers = make_fragment_like(there)
    copy(VECTORS, there, registers)
    copy(VECTORS, registers, own.partition_D(local_tile(target, TILE, at)))


@kernel(threads=128, grid=blocks)
def tiled_copy_if(source, target):
    """Copy a matrix of any extents, element by element: predicates guard what is past the end."""
    own, at = ELEMENTS[thread()], (block(0), block(1))
    inside = elem_less(own.partition_S(local_tile(make_identity_tensor(source.shape), TILE, at)), source.shape)
    there = own.partition_S(local_tile(source, TILE, at))
    registers = make_fragment_like(there)
    copy_if(ELEMENTS, inside, there, registers)
    copy_if(ELEMENTS, inside, registers, own.partition_D(local_tile(target, TILE, at)))


if __name__ == "__main__":
    for kernel_of, shape in ((tiled_copy, (64, 128)), (tiled_copy_if, (45, 70))):
        source = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
        target = np.zeros_like(source)
        kernel_of.run(source, target)
        print(f"{kernel_of.__name__} {shape}: {'equal' if (source == target).all() else 'differs'};", kernel_of.check(source, target))
