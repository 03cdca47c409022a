"""One product of matrices that lie in three ways: A by rows, B in fractals of Ascend (zN), C in tiles of a TPU. The kernel is sgemm_1's.

A kernel over layouts does not know how its operands lie: this one is not written again.

    python examples/kernels/blocked_gemm.py                                # run on numpy, checked
    python examples/kernels/blocked_gemm.py --target cuda --arch sm_80     # its text

Source: CUTLASS examples/cute/tutorial/sgemm_1.cu; CATLASS `zN`; XLA's "Tiled layout".
"""

import numpy as np
from _main import main
from sgemm_1 import sgemm_1_of

from tla import LayoutRight, MakeLayout, ascend, cosize, make_tensor, offsets, static, xla
from tla.kernels import tensor

M, N, K = 256, 128, 32
LAYOUTS = [
    static(MakeLayout((M, K), LayoutRight)),
    static(MakeLayout[ascend.float, ascend.zN](N, K)),
    xla.lower(f"f32[{M},{N}]{{1,0:T(8,128)}}"),
]
GEMM = sgemm_1_of(LayoutRight)
VARIANTS = {"gemm": (GEMM, (*(tensor(np.float32, x) for x in LAYOUTS), np.float32, np.float32), "A B C alpha beta")}


def laid(matrix, layout):
    """A matrix as a buffer of a layout."""
    out = np.zeros(int(cosize(layout)), np.float32)
    out[offsets(layout).reshape(matrix.shape)] = matrix
    return out


def demonstrate():
    rng = np.random.default_rng(0)
    matrices = [rng.integers(-3, 4, shape).astype(np.float32) for shape in ((M, K), (N, K), (M, N))]
    expected = 2 * matrices[0] @ matrices[1].T - matrices[2]
    buffers = [laid(matrix, layout) for matrix, layout in zip(matrices, LAYOUTS)]
    given = [make_tensor(*pair) for pair in zip(buffers, LAYOUTS)]
    print(GEMM.check(*given, 2, -1))
    GEMM.run(*given, 2, -1)
    print("largest difference from numpy:", np.abs(buffers[2] - laid(expected, LAYOUTS[2])).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
