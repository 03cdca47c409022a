"""im2col as a kernel: the windows of images into a matrix, a row for each. Images of any size and number, channels contiguous.

The windows are a layout of the images, in which an element stands as often as windows have it: the kernel is a copy between two layouts,
and knows nothing of windows but their layout's shape. A row of a window lies in one piece, all its channels: it is one mode.
A block has eight windows, a thread elements of each row of one of them. On a CPU a block has one window, and copies its rows whole.

    python examples/kernels/im2col.py                                # run on numpy, checked
    python examples/kernels/im2col.py --target cuda --arch sm_80     # its text
    python examples/kernels/im2col.py --target c --variant whole_rows

Source: Chellapilla, Puri and Simard, "High Performance Convolutional Neural Networks for Document Processing"; CUTLASS `Im2Col`.
"""

import numpy as np
from _main import main

from tla import Int, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout, make_tensor, parse, size
from tla.kernels import block, copy_if, kernel, local_partition, loop, tensor, thread

FILTER, STEP = Int[3](), Int[2]()  # extents of a window, and from window to window


def im2col_by(tile, lanes):
    """The kernel by the extents of a tile, elements of a row and windows, and the layout of threads in it."""
    tile = Int[tile[0]](), FILTER, Int[tile[1]](), Int[1](), Int[1]()

    @kernel(threads=int(size(lanes)), grid=lambda W, M: (ceil_div(W.shape[2], tile[2]), W.shape[3], W.shape[4]))
    def im2col(W, M):
        """M = W, both of shape (elements of a window's row, FILTER, windows of a row, rows, images)."""
        places, at = make_identity_tensor(W.shape), [block(i) for i in range(3)]
        for k in loop(ceil_div(W.shape[0], tile[0])):
            source, target, inside = (local_partition(local_tile(x, tile, (k, 0, *at)), lanes, thread()) for x in (W, M, places))
            copy_if(elem_less(inside, W.shape), source, target)

    return im2col


im2col = im2col_by((96, 8), parse("(_32,_1,_8,_1,_1):(_1,_0,_32,_0,_0)"))
whole_rows = im2col_by((1024, 1), parse("(_1024,_1,_1,_1,_1):(_1,_0,_0,_0,_0)"))


def layouts(b, h, w, c):
    """The layout of the windows of B images of H by W by C, and that of the matrix."""
    p, q, row = (h - FILTER) // STEP + 1, (w - FILTER) // STEP + 1, FILTER * c
    shape = row, FILTER, q, p, b
    windows = make_layout(shape, stride=(Int[1](), w * c, STEP * c, STEP * w * c, h * w * c))
    return windows, make_layout(shape)


def windows_of(images):
    """The matrix by numpy: the windows of images (B,H,W,C), a row for each, channels fastest."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (FILTER, FILTER), (1, 2))[:, ::STEP, ::STEP]
    return windows.transpose(0, 1, 2, 4, 5, 3).ravel()


SIZES = [dim("b", at_least=1, at_most=32), *(dim(n, at_least=3, at_most=256) for n in "hw"), dim("c", at_least=1, at_most=128)]
GIVEN = [tensor(np.float32, layout) for layout in layouts(*SIZES)]
VARIANTS = {name: (made, GIVEN, "b h w c W M") for name, made in (("im2col", im2col), ("whole_rows", whole_rows))}


def demonstrate():
    images = np.random.default_rng(0).random((2, 9, 20, 5), np.float32)
    windows, matrix = layouts(*images.shape)
    out = np.zeros(int(size(matrix)), np.float32)
    given = make_tensor(images.ravel(), windows), make_tensor(out, matrix)
    print(im2col.check(*given))
    im2col.run(*given)
    print("equal to numpy:", bool((out == windows_of(images)).all()))


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
