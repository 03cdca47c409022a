"""im2col as a copy between two layouts: the windows of images, and a matrix of them. Numpy, C, CUDA, Triton and Pallas.

python examples/kernel_im2col.py

The windows are a layout of the images, in which elements stand as often as windows have them; their sizes are not known here.
"""

import _routes
import numpy as np

from tla import Int, Layout, MakeTensor, at, copy, dim, size
from tla.codegen import emit_copy

FILTER, STEP = Int[3](), Int[2]()
B, C = dim("B", at_most=64), dim("C", at_most=64)  # images of H by W, and their channels, which are contiguous
H, W = dim("H", at_least=FILTER, at_most=512), dim("W", at_least=FILTER, at_most=512)
P, Q = (H - FILTER) // STEP + 1, (W - FILTER) // STEP + 1  # windows along each
SHAPE = ((Q, P, B), (C, FILTER, FILTER))  # a window, and an element of it; first mode fastest
LINE = FILTER * FILTER * C
WINDOWS = Layout(SHAPE, ((STEP * C, STEP * W * C, H * W * C), (Int[1](), C, W * C)))
MATRIX = Layout(SHAPE, ((LINE, Q * LINE, P * Q * LINE), (Int[1](), C, FILTER * C)))

TRITON = """
@triton.jit
def im2col(dst, src, C, H, W, P, Q, FILTER: tl.constexpr, SIZE: tl.constexpr):  # a program for each window
    n = tl.program_id(0)
    q, p, b = n % Q, n // Q % P, n // (P * Q)
    k = tl.arange(0, SIZE)
    c, s, r = k % C, k // C % FILTER, k // (C * FILTER)
    valid = r < FILTER
    tl.store(dst + matrix(q, p, b, c, s, r, C, H, W), tl.load(src + windows(q, p, b, c, s, r, C, H, W), valid), valid)
"""


def room(b, h, w, c):
    return np.empty(int(size(at(MATRIX, B=b, H=h, W=w, C=c))), np.float32)


def in_numpy(x, b, h, w, c):
    out = room(b, h, w, c)
    source, target = (at(layout, B=b, H=h, W=w, C=c) for layout in (WINDOWS, MATRIX))
    copy(MakeTensor(x, source), MakeTensor(out, target))
    return out


def in_c(x, b, h, w, c):
    out = room(b, h, w, c)
    _routes.call(_routes.c(emit_copy(WINDOWS, MATRIX, "c", element=32)).copy, out, x, b, c, h, w)  # sizes by name
    return out


def in_triton(x, b, h, w, c):
    out = room(b, h, w, c)
    coords = "(q,p,b),(c,s,r)"
    kernels = _routes.triton(_routes.functions("triton", coords, windows=WINDOWS, matrix=MATRIX) + TRITON)
    p, q, line = at(P, H=h), at(Q, W=w), at(LINE, C=c)
    kernels.im2col[b * p * q,](_routes.tensor(out), _routes.tensor(x), c, h, w, p, q, int(FILTER), 1 << (line - 1).bit_length())
    return out


def in_pallas(x, b, h, w, c):
    jax, pl = _routes.module("jax"), _routes.module("jax.experimental.pallas")
    source, target = (at(layout, B=b, H=h, W=w, C=c) for layout in (WINDOWS, MATRIX))
    out = jax.ShapeDtypeStruct(room(b, h, w, c).shape, x.dtype)

    def kernel(src, dst):  # a program for each element of a window
        i, j = jax.numpy.arange(int(size[0](target))), pl.program_id(0)
        dst[...] = dst[...].at[target(i, j)].set(src[...][source(i, j)])

    return np.asarray(pl.pallas_call(kernel, grid=(at(LINE, C=c),), out_shape=out, interpret=True)(x))


def in_cuda(x, b, h, w, c):
    _routes.cuda(emit_copy(WINDOWS, MATRIX, "cuda", element=32))


def case(b, h, w, c):
    x = np.arange(b * h * w * c, dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x.reshape(b, h, w, c), (FILTER, FILTER), (1, 2))[:, ::STEP, ::STEP]
    return (x, b, h, w, c), windows.transpose(0, 1, 2, 4, 5, 3).ravel()


def main():
    cases = [case(1, 3, 3, 1), case(2, 9, 12, 4), case(1, 14, 7, 3)]
    _routes.compare({"numpy": in_numpy, "C": in_c, "CUDA": in_cuda, "Triton": in_triton, "Pallas": in_pallas}, cases)


if __name__ == "__main__":
    main()
