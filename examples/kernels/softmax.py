"""A softmax of each row, as a kernel: a warp for a row, as many rows at once as a block has warps. Rows of any length.

Each thread goes along its part of the row once for the largest element and the sum of exponentials, which it scales where the largest
grows; threads of the warp exchange theirs; a second time to write. No shared memory.

    python examples/kernels/softmax.py                              # run on numpy, checked
    python examples/kernels/softmax.py --target cuda --arch sm_80   # its text

Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv 1805.02867.
"""

import numpy as np
from _main import main

from tla import Int, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout, parse
from tla.kernels import block, copy, copy_if, fill, kernel, local_partition, loop, reduce, registers, shuffle_xor, tensor, thread, transform

ROWS, COLUMNS = Int[8](), Int[256]()  # of a tile
LANES = parse("(_8,_32):(_32,_1)")  # of threads: a warp along a row
LEAST = float(np.finfo(np.float32).min)  # less than any element, and no infinity, whose difference from itself is no number


@kernel(threads=256, grid=lambda X, Y: (ceil_div(X.shape[0], ROWS),))
def softmax(X, Y):
    """Y (M,N) = exp(X) of each row, over its sum."""
    t, tiles = thread(), ceil_div(X.shape[1], COLUMNS)

    def part(matrix, k):
        return local_partition(local_tile(matrix, (ROWS, COLUMNS), (block(0), k)), LANES, t)

    def load(k):
        copy_if(elem_less(part(make_identity_tensor(X.shape), k), X.shape), part(X, k), row)

    row = registers(np.float32, (1, COLUMNS // 32))
    most, total, other = (registers(np.float32, Int[1]()) for _ in range(3))
    fill(most, LEAST)
    fill(total, 0)
    for k in loop(tiles):
        fill(row, -np.inf)
        load(k)
        copy(most, other)
        reduce(row, most, np.fmax)
        transform(total, other, most, total, lambda x, before, now: x * np.exp(before - now))
        reduce_exponentials(row, most, total)
    for mask in (16, 8, 4, 2, 1):
        combine(most, total, other, mask)
    for k in loop(tiles):
        load(k)
        transform(row, most, total, part(Y, k), lambda x, m, s: np.exp(x - m) / s)


def reduce_exponentials(row, most, total):
    """Add exp(x - most) of each x to the total."""
    transform(row, most, row, lambda x, m: np.exp(x - m))
    reduce(row, total, np.add)


def combine(most, total, other, mask):
    """Give two threads the largest of both, and the sum of both totals for it."""
    shuffle_xor(most, other, mask)
    transform(total, most, other, total, lambda s, mine, theirs: s * np.exp(mine - np.fmax(mine, theirs)))
    transform(most, other, most, np.fmax)
    shuffle_xor(total, other, mask)
    transform(total, other, total, np.add)


m, n = (dim(name, at_least=0, at_most=2**15) for name in "mn")
MATRIX = tensor(np.float32, make_layout((m, n), stride=(n, Int[1]())))
VARIANTS = {"softmax": (softmax, (MATRIX, MATRIX), "m n X Y")}


def demonstrate():
    X = np.random.default_rng(0).normal(size=(13, 300)).astype(np.float32)
    Y, expected = np.zeros_like(X), np.exp(X - X.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    print(softmax.check(X, Y))
    softmax.run(X, Y)
    print("largest difference from numpy is below 1e-6:", np.abs(Y - expected).max() < 1e-6)


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
