"""One copy routine, any pair of layouts: row-major to Ascend's zN fractals, and to a TPU's tiles, tails included.

python examples/tiled_copy.py
"""

import numpy as np

from tla import LayoutRight, MakeLayout, cosize, offsets, parse, xla


def copy(source, source_layout, target_layout):
    """A buffer that holds, by target_layout, the valid elements that source holds by source_layout."""
    valid = tuple(map(slice, source_layout.origin_shape))
    target = np.zeros(cosize(target_layout), source.dtype)
    target[offsets(target_layout)[valid]] = source[offsets(source_layout)[valid]]
    return target


def main():
    rows, columns = 100, 300
    matrix = np.arange(rows * columns, dtype=np.float32)
    row_major = MakeLayout((rows, columns), LayoutRight)
    fractal = parse("((_16,_7),(_8,_38)):((_8,_128),(_1,_896))", origin_shape=(rows, columns))
    tpu = xla.lower(f"f32[{rows},{columns}]{{1,0:T(8,128)}}")
    for layout in (fractal, tpu):
        there = copy(matrix, row_major, layout)
        back = copy(there, layout, row_major)
        assert np.array_equal(back, matrix)
        print(f"{row_major} -> {layout}: {there.size} elements, {there.size - matrix.size} of them padding")


if __name__ == "__main__":
    main()
