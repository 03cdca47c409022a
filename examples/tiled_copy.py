"""One copy, any pair of layouts: row-major to Ascend's zN fractals, and to a TPU's tiles, tails included.

python examples/tiled_copy.py
"""

import numpy as np

from tla import LayoutRight, MakeLayout, MakeTensor, copy, xla
from tla.ascend import float as fp32, zN


def main():
    rows, columns = 100, 300
    matrix = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    row_major = MakeLayout((rows, columns), LayoutRight)
    for layout in (MakeLayout[fp32, zN](rows, columns), xla.lower(f"f32[{rows},{columns}]{{1,0:T(8,128)}}")):
        there, back = MakeTensor[np.float32](layout), MakeTensor[np.float32](row_major)
        copy(matrix, there)
        copy(there, back)
        assert np.array_equal(np.asarray(back), matrix)
        print(f"{row_major} -> {layout}: {there.data.size} elements, {there.data.size - matrix.size} of them padding")


if __name__ == "__main__":
    main()
