"""The product of gemm_atoms.py by the vector registers of a CPU: D = A * B^T + D of float32, of any sizes.

A thread is the part of D that fits the registers: with AVX2 six rows by two vectors of eight. It multiplies along tiles of A and B in
shared memory, which is the cache: there B lies in panels as wide as that part, so that its vectors come one behind the other.

    python examples/kernels/gemm_cpu.py                                  # run on numpy, checked
    python examples/kernels/gemm_cpu.py --target c --variant avx2_nn     # its text, for gcc -O3 -march=native -fopenmp

The letters of a variant are of A (M,K) and of B^T (K,N): n where rows are contiguous, as numpy has them, t where columns are.
A product computes whole tiles: avx2_nn_small has tiles of 24 by 64 by 32, for sides below two hundred.
Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"; Van Zee and van de Geijn, "BLIS", for the panels.
"""

import itertools

import numpy as np
from _main import main
from gemm_atoms import product_by

from tla import Int, dim, make_layout, parse
from tla.gpu import Copy_Atom, UniversalCopy, atom, float, make_tiled_copy, make_tiled_mma
from tla.kernels import tensor

#: Tiles: threads along M, and as many along N, and the extent of K.
TILES = {"": (16, 128), "_small": (4, 32)}
#: Instructions -> the multiply-add, the elements of a vector, the rows and the vectors of a thread: what the registers hold.
MACHINES = {"avx2": ("VFMADD231PS", 8, 6, 2), "avx512": ("VFMADD231PS", 16, 12, 2), "neon": ("FMLA_4S", 4, 6, 4)}


def copy_along(rows, columns, threads, contiguous, along_k):
    """The copy of a tile of rows and columns by threads: of each so many elements one behind the other, along K or along the rows."""
    if along_k:
        groups, values = columns // contiguous, (1, contiguous)
        threads = parse(f"(_{threads // groups},_{groups}):(_{groups},_1)")
    else:
        groups, values = rows // contiguous, (contiguous, 1)
        threads = parse(f"(_{groups},_{threads // groups}):(_1,_{groups})")
    return make_tiled_copy(Copy_Atom[UniversalCopy[float], float], threads, values)


def product_of(machine, a_rows, b_rows, tile=""):
    """The kernel for a machine; a_rows, b_rows: whether the rows of A (M,K), and those of B^T (K,N), are contiguous."""
    side, bk = TILES[tile]
    name, width, rows, vectors = MACHINES[machine]
    columns = width * vectors
    in_order = parse(f"(_{side},_{rows}):(_{rows},_1)"), parse(f"(_{width},_{side},_{vectors}):(_1,_{columns},_{width})")
    mma = make_tiled_mma(atom(name, machine), (side, side), in_order)
    tile = Int[rows * side](), Int[columns * side](), Int[bk]()
    panels = parse(f"((_{columns},_{side}),_{bk}):((_1,_{columns * bk}),_{columns})")
    loads = (
        copy_along(rows * side, bk, side * side, 16 if a_rows else rows, a_rows),
        copy_along(columns * side, bk, side * side, 16, not b_rows),
    )
    return product_by(mma, tile, np.float32, (parse(f"(_{rows * side},_{bk}):(_{bk},_1)"), panels), loads)


def arguments(a_rows, b_rows):
    """The arguments of the text: compact matrices of any sizes up to 32768."""
    m, n, k = (dim(name, at_least=0, at_most=2**15) for name in "mnk")
    one = Int[1]()
    strides = (k, one) if a_rows else (one, m), (one, n) if b_rows else (k, one), (n, one)
    return [tensor(np.float32, make_layout(shape, stride=d)) for shape, d in zip(((m, k), (n, k), (m, n)), strides)]


ORDERS = [*itertools.product((True, False), repeat=2)]
VARIANTS = {
    f"{machine}_{''.join('n' if rows else 't' for rows in order)}{tile}": (
        product_of(machine, *order, tile),
        arguments(*order),
        "m n k A B D",
    )
    for machine in MACHINES
    for order in ORDERS
    for tile in TILES
}


def demonstrate():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((137, 40), (40, 130)))
    d = np.ones((137, 130), np.float32)
    made = product_of("avx2", True, True)
    print(made.check(a, b.T, d))
    made.run(a, b.T, d)
    print("largest difference from numpy:", np.abs(d - (a @ b + 1)).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
