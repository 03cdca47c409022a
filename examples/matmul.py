"""A matrix multiply as a CATLASS kernel writes it: tiles with tails, each level with its own layout, any layouts of the operands.

python examples/matmul.py

The kernel names no layout and no tail: sizes come from origin_shape, offsets from layouts. `tla.gemm` is the short form.
"""

import numpy as np

from tla import (
    ComposedLayout,
    GetTile,
    Int,
    LayoutRight,
    MakeLayout,
    MakeTensor,
    MakeTensorLike,
    Swizzle,
    TileView,
    ceil_div,
    copy,
    gemm,
    xla,
)
from tla.ascend import L0C, ColumnMajor, PaddingRowMajor, RowMajor, half, nZ, zN

TILE_M, TILE_N, TILE_K = 64, 48, 32


def matmul(a, b, c):
    """c = a @ b, block by block: operands go to zN and nZ tiles of a local buffer, sums are kept in blocks of 16 by 16."""
    (m, k), n = a.origin_shape, b.origin_shape[1]
    for i in range(ceil_div(m, TILE_M)):
        for j in range(ceil_div(n, TILE_N)):
            out = TileView(c, (i, j), (TILE_M, TILE_N))
            sums = MakeTensor[np.int32](MakeLayout[half, L0C](*out.origin_shape), position="L0C")
            for p in range(ceil_div(k, TILE_K)):
                left = local(TileView(a, (i, p), (TILE_M, TILE_K)), zN)
                right = local(TileView(b, (p, j), (TILE_K, TILE_N)), nZ)
                gemm(left, right, sums, accumulate=True)
            copy(sums, out)


def local(tile, tag):
    """A copy of a tile in a local buffer, laid out by a tag for the largest tile there is."""
    layout = MakeLayout[half, tag](TILE_M, TILE_M)
    buffer = MakeTensorLike[tag](np.zeros(64 * 64, np.int32), tile, position="L1", layout=layout)
    copy(tile, buffer)
    return buffer


def holding(values, layout):
    """A tensor of `values` by a layout."""
    tensor = MakeTensor(np.zeros(2**17, np.int32), layout)
    copy(values, tensor)
    return tensor


def main():
    m, n, k = 150, 100, 70
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (m, k), dtype=np.int32), rng.integers(-9, 9, (k, n), dtype=np.int32)
    layouts = {
        "row-major": lambda r, c: MakeLayout[half, RowMajor](r, c),
        "column-major": lambda r, c: MakeLayout[half, ColumnMajor](r, c),
        "zN": lambda r, c: MakeLayout[half, zN](r, c),
        "nZ": lambda r, c: MakeLayout[half, nZ](r, c),
        "padded blocks": lambda r, c: MakeLayout[half, PaddingRowMajor](r, c, 32, 32),
        "TPU tiles": lambda r, c: xla.lower(f"f32[{r},{c}]{{1,0:T(8,128)}}"),
        "swizzled": lambda r, c: ComposedLayout(Swizzle[3, 3, 3](), Int[0](), MakeLayout((r, 128), LayoutRight, (r, c))),
    }
    kinds = [*layouts]
    for one, other, result in zip(kinds, kinds[1:] + kinds[:1], kinds[2:] + kinds[:2]):
        a, b = holding(x, layouts[one](m, k)), holding(y, layouts[other](k, n))
        c = holding(np.zeros((m, n), np.int32), layouts[result](m, n))
        matmul(a, b, c)
        assert np.array_equal(np.asarray(c), x @ y)
        last = GetTile(c, (TILE_M * 2, TILE_N * 2), (TILE_M, TILE_N))
        print(f"{one} by {other} into {result}: exact; the last tile holds {last.origin_shape} of ({TILE_M},{TILE_N})")


if __name__ == "__main__":
    main()
