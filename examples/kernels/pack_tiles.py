"""Packing a row-major matrix of bf16 into the tiles of a TPU, T(8,128)(2,1), as a kernel: padding is zeroed, sizes are not known.

The tiles are XLA's layout, read from its text: two rows side by side, element by element, in tiles of 8 by 128.

    python examples/kernels/pack_tiles.py                                # run on numpy, checked
    python examples/kernels/pack_tiles.py --target cuda --arch sm_80     # its text

Source: XLA's "Tiled layout".
"""

import numpy as np
from _main import main

from tla import Int, ceil_div, cosize, dim, elem_less, local_tile, make_identity_tensor, make_layout, make_tensor, parse, xla
from tla.kernels import block, copy_if, fill, kernel, local_partition, tensor, thread

TILE = Int[8](), Int[128]()
LANES = parse("(_2,_128):(_1,_2)")  # of threads: two rows, as they lie in a tile


@kernel(threads=256, grid=lambda X, T: tuple(ceil_div(n, tile) for n, tile in zip(X.shape, TILE)))
def pack(X, T):
    """T = X, as bits of 16: where the matrix has ended, 0."""
    at = block(0), block(1)
    source, target, places = (local_partition(local_tile(x, TILE, at), LANES, thread()) for x in (X, T, make_identity_tensor(X.shape)))
    fill(target, 0)
    copy_if(elem_less(places, X.shape), source, target)


def layouts(m, n):
    """The layout of a matrix by rows, and of its tiles: all of them, padding too, which xla.lower knows as no elements."""
    tiles = xla.lower("bf16[M,N]{1,0:T(8,128)(2,1)}", M=m, N=n)
    return make_layout((m, n), stride=(n, Int[1]())), make_layout(tiles.shape, stride=tiles.stride)


def packed(x):
    """The tiles by numpy's own means."""
    m, n = x.shape
    padded = np.pad(x, [(0, -m % 8), (0, -n % 128)])
    return padded.reshape(-(-m // 8), 4, 2, -(-n // 128), 128).transpose(0, 3, 1, 4, 2).ravel()


SIZES = (dim("m", at_least=1, at_most=2**14), dim("n", at_least=1, at_most=2**14))
VARIANTS = {"pack_tiles": (pack, [tensor(np.uint16, layout) for layout in layouts(*SIZES)], "m n X T")}


def demonstrate():
    x = np.arange(1, 33 * 150 + 1, dtype=np.uint16).reshape(33, 150)
    rows, tiles = layouts(*x.shape)
    out = np.full(int(cosize(tiles)), 99, np.uint16)
    given = make_tensor(x.ravel(), rows), make_tensor(out, tiles)
    print(pack.check(*given))
    pack.run(*given)
    print("equal to numpy:", bool((out == packed(x)).all()))


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
