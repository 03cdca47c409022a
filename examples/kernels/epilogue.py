"""A linear layer as a kernel: Y = gelu(X * W^T + bias), the product of sgemm_1 with what comes behind it, in registers.

The bias of a column is a vector seen as a matrix whose rows have stride 0: a layout, and no other code.

    python examples/kernels/epilogue.py                                                  # run on numpy, checked
    python examples/kernels/epilogue.py --target cuda --arch sm_80 --variant relu        # its text

Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415, the form by tanh.
"""

import numpy as np
from _main import main
from sgemm_1 import blocks, part_of, product_of

from tla import Int, LayoutRight, composition, dim, make_layout
from tla.kernels import kernel, tensor, transform


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def relu(x):
    return np.maximum(x, 0)


def linear_of(activation):
    """The kernel with an activation: a function of one element, in numpy's words."""

    @kernel(threads=256, grid=blocks)
    def linear(X, W, bias, Y):
        """Y (M,N) = activation(X (M,K) * W (N,K)^T + bias (N))."""
        total, own = product_of(X, W, Y, LayoutRight)
        rows = composition(bias, make_layout(Y.shape, stride=(Int[0](), Int[1]())))
        transform(total, part_of(rows), own, lambda x, b: activation(x + b))

    return linear


m, n, k = (dim(name, at_least=0, at_most=2**15) for name in "mnk")
X, W, Y = (tensor(np.float32, make_layout((rows, columns), stride=(columns, Int[1]()))) for rows, columns in ((m, k), (n, k), (m, n)))
ARGUMENTS = X, W, tensor(np.float32, make_layout((n,), stride=(Int[1](),))), Y
VARIANTS = {f.__name__: (linear_of(f), ARGUMENTS, "m n k X W bias Y") for f in (gelu, relu)}


def demonstrate():
    rng = np.random.default_rng(0)
    x, w, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((137, 21), (130, 21), (130,)))
    y, linear = np.zeros((137, 130), np.float32), linear_of(gelu)
    print(linear.check(x, w, bias, y))
    linear.run(x, w, bias, y)
    print("largest difference from numpy is below 1e-4:", np.abs(y - gelu(x @ w.T + bias)).max() < 1e-4)


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
