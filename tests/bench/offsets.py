"""All offsets of a swizzled tile against numpy: writing as many, and swizzling them with numpy's operators.

    python tests/bench/offsets.py

The least of many rounds, in turn, in one run. "write" is one numpy.add.outer of int32; "operators" is that, and then &,
>>= and ^= of the whole array, as one writes it by hand. In the padded tile parts of an offset share bits, so that rows
cannot be swizzled before they are added.
"""

import time
from functools import partial

import numpy as np

import tla


def by_operators(rows, columns):
    x = np.add.outer(rows, columns)
    read = x & (7 << 6)
    read >>= 3
    x ^= read
    return x


def least(functions, rounds):
    """The least time of each [s]; in turn, four times each, for the first gets memory that another has given back."""
    found = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, f in enumerate(functions):
            for _ in range(4):
                start = time.perf_counter()
                f()
                found[k] = min(found[k], time.perf_counter() - start)
    return found


def main():
    print(
        "| tile | write [ms] | operators [ms] | swizzled: of write, of operators | padded: of write, of operators "
        "|\n|---|---|---|---|---|"
    )
    for n in (256, 1024, 4096):
        rows, columns = np.arange(n, dtype=np.int32) * n, np.arange(n, dtype=np.int32)
        tiles = [tla.parse(f"Sw<3,3,3> o _0 o (_{n},_{n}):(_{n + pad},_1)") for pad in (0, 8)]
        assert np.array_equal(tla.offsets(tiles[0]), by_operators(rows, columns))
        functions = [partial(np.add.outer, rows, columns), partial(by_operators, rows, columns)]
        write, operators, *ours = least(functions + [partial(tla.offsets, tile) for tile in tiles], 8192 // n + 4)
        ratios = " | ".join(f"{t / write:.2f}, {t / operators:.2f}" for t in ours)
        print(f"| {n} by {n} | {write * 1e3:.3f} | {operators * 1e3:.3f} | {ratios} |")


if __name__ == "__main__":
    main()
