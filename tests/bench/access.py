"""Right and wrong beside tensor-layouts, in one run: layouts over bits, their way back, and bank conflicts.

    python tests/bench/access.py

What is right is decided by evaluation: a matrix by the offsets of all coordinates, a conflict by counting
words in banks.
"""

import itertools
import random

import tensor_layouts as peer
from tensor_layouts.analysis import bank_conflicts, from_F2_matrix, to_F2_matrix

from tla import MakeLayout, TlaError
from tla.access import access
from tla.linear import LinearLayout, bits, layout_of, linear


def small():
    for shape in itertools.product([1, 2, 4, 8], repeat=2):
        for stride in itertools.product([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16], repeat=2):
            yield shape, stride


def offsets(shape, stride):
    return [i * stride[0] + j * stride[1] for j in range(shape[1]) for i in range(shape[0])]


def image(columns, count):
    return [bits.apply(columns, x) for x in range(count)]


def matrices():
    counts = {"tla": [0, 0, 0], "tensor-layouts": [0, 0, 0]}
    for shape, stride in small():
        values = offsets(shape, stride)
        try:
            counts["tla"][image(linear(MakeLayout(shape, stride)).columns, len(values)) != values] += 1
        except TlaError:
            counts["tla"][2] += 1
        try:
            rows = to_F2_matrix(peer.Layout(shape, stride))
            columns = [
                sum(int(row[k]) << r for r, row in enumerate(rows)) for k in range(len(rows[0]) if len(rows) else 0)
            ]
            counts["tensor-layouts"][image(columns, len(values)) != values] += 1
        except Exception:
            counts["tensor-layouts"][2] += 1
    return counts


def way_back():
    counts, rng = {"tla": [0, 0, 0], "tensor-layouts": [0, 0, 0]}, random.Random(1)
    done = 0
    while done < 300:
        n = rng.randrange(2, 7)
        columns = [rng.randrange(1 << n) for _ in range(n)]
        if bits.rank(columns) < n:
            continue
        done += 1
        back = layout_of(LinearLayout({"i": [(c,) for c in columns]}, {"o": 1 << n}))
        counts["tla"][[back(x) for x in range(1 << n)] != image(columns, 1 << n)] += 1
        try:
            back = from_F2_matrix([[c >> r & 1 for c in columns] for r in range(n)], (2,) * n)
            counts["tensor-layouts"][[back(x) for x in range(1 << n)] != image(columns, 1 << n)] += 1
        except Exception:
            counts["tensor-layouts"][2] += 1
    return counts


def conflicts():
    """Contiguous and strided vectors of 32 lanes: the most words of a bank in a phase."""
    counts = {"tla": [0, 0, 0], "tensor-layouts": [0, 0, 0]}
    for element, count, step in itertools.product([16, 32], [1, 2, 4, 8], [1, 2, 4, 8, 16]):
        width = element * count
        if not 32 <= width <= 128:
            continue
        together, degree = 1024 // width, 0
        for start in range(0, 32, together):
            words = {
                lane * step * width // 32 + k for lane in range(start, start + together) for k in range(width // 32)
            }
            degree = max(degree, *(sum(w % 32 == b for w in words) for b in range(32)))
        owners = MakeLayout((32, count), (step * count, 1))
        found = access(owners, MakeLayout((32 * step * count,), (1,)), element, width)
        counts["tla"][found.degree != degree] += 1
        try:
            answer = bank_conflicts(peer.Layout((32, count), (step * count, 1)), element_bytes=element // 8)
            counts["tensor-layouts"][answer["max_ways"] != degree] += 1
        except Exception:
            counts["tensor-layouts"][2] += 1
    return counts


if __name__ == "__main__":
    print(f"{'':34}{'right':>8}{'wrong':>8}{'refused':>9}")
    for name, measure in (
        ("layout to matrix", matrices),
        ("matrix to layout, 300 random", way_back),
        ("degree of bank conflict", conflicts),
    ):
        for who, (right, wrong, refused) in measure().items():
            print(f"{name:34}{right:>8}{wrong:>8}{refused:>9}  {who}")
