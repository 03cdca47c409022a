"""The arguments of CuTe's tutorials for Blackwell: D (M,N) = alpha * A (M,K) * B (N,K)^T + beta * C."""

import numpy as np

from tla import Int, dim, make_layout
from tla.kernels import tensor

PARAMETERS = "m n k alpha A ldA B ldB beta C ldC D ldD"


def arguments(least=0, pitch=1):
    """The arguments of the text: matrices of any sizes up to 32768.

    least   the least extent
    pitch   what the rows of C and D are a multiple of; those of A and B are whole vectors of eight
    """
    m, n, k = (dim(x, at_least=least, at_most=2**15, multiple_of=8 if x == "k" else 1) for x in "mnk")
    steps = [dim(f"ld{x}", at_least=0, at_most=2**15, multiple_of=8 if x in "AB" else pitch) for x in "ABCD"]
    layouts = [make_layout(shape, stride=(d, Int[1]())) for shape, d in zip(((m, k), (n, k), (m, n), (m, n)), steps)]
    return *(tensor(np.float16 if i < 2 else np.float32, x) for i, x in enumerate(layouts)), np.float32, np.float32


def demonstrate(made, n=130):
    """Check a kernel, run it, and compare D with numpy; n: the columns."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((137, 72), (n, 72)))
    c, d = (rng.integers(-9, 9, (137, n)).astype(np.float32) for _matrix in range(2))
    print(made.check(a, b, c, d, 2, -1, arch="sm_100a"))
    made.run(a, b, c, d, 2, -1)
    print("largest difference from numpy:", np.abs(d - (2 * a.astype(np.float32) @ b.T.astype(np.float32) - c)).max())
