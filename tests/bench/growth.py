"""How cost grows: with the modes of a layout and not with its elements, with the nodes of an expression, with
the bytes of a text.

    python tests/bench/growth.py

Process time, the best of seven, and what one more mode, node or byte adds; as markdown tables,
which docs/speed.md shows.
"""

import functools
import io
import math
import time
from pathlib import Path

import tla
from tla import Int, MakeLayout, xla

HLO = Path(__file__).parent.parent / "data" / "hlo"
BLOCK = 4


def microseconds(run, rounds=7, calls=20):
    best = math.inf
    for _round in range(rounds):
        tla.cache_clear()
        start = time.process_time()
        for k in range(calls):
            run(k)
        best = min(best, (time.process_time() - start) / calls)
    return best * 1e6


def blocked(modes, extent=BLOCK, step=1):
    """A layout of so many digits, the strides of every other pair exchanged: it does not coalesce."""
    strides = [step * extent**k for k in range(modes)]
    strides[::2], strides[1::2] = (
        strides[1::2][: len(strides[::2])] + strides[-1:] * (modes % 2),
        strides[::2][: len(strides[1::2])],
    )
    return MakeLayout(tuple(Int[extent]() for _ in range(modes)), tuple(Int[d]() for d in strides))


def costs(layouts, whole, tile):
    """Microseconds of each operation."""
    yield microseconds(lambda k: tla.composition(layouts[k], tile))
    yield microseconds(lambda k: tla.logical_divide(layouts[k], Int[BLOCK]()))
    yield microseconds(lambda k: tla.right_inverse(whole[k]))
    yield microseconds(lambda k: layouts[k](k))


def by_modes():
    for modes in (2, 4, 8, 16):
        layouts, whole = [blocked(modes, step=k + 1) for k in range(20)], [blocked(modes) for _ in range(20)]
        rest = Int[BLOCK ** (modes - 1)]()
        yield modes, f"4^{modes}", *costs(layouts, whole, MakeLayout((Int[BLOCK](), rest), (rest, Int[1]())))


def by_elements():
    for bits in (4, 16, 28, 60):
        half = Int[1 << bits // 2]()
        layouts = [MakeLayout((half, half), (half, Int[1]())) for _ in range(20)]
        yield 2, f"2^{bits}", *costs(layouts, layouts, MakeLayout((Int[2](), Int[2]()), (Int[2](), Int[1]())))


def sum_of(i, terms, k):
    """A sum of so many digits of i, each times a number."""
    total = 0
    for n in range(terms):
        total = total + (i // (n + 2 + k)) % 8 * (n + 1)
    return total


def by_nodes():
    i = tla.index("i", 2**20)
    for terms in (4, 16, 64, 256):
        built = functools.partial(sum_of, i, terms)
        yield terms, microseconds(built, 3, 3), microseconds(lambda k, built=built: tla.simplify(built(k)), 3, 3)


def read(program):
    return sum(1 for _ in xla.read_hlo(io.StringIO(program), lambda error: None))


def by_bytes():
    text = next(HLO.glob("fp8_matmul*")).read_text()
    for times in (1, 4, 16, 64):
        program = "\n".join([text] * times)
        used = microseconds(lambda _k, program=program: read(program), 3, 1)
        yield len(program), used / 1e3, len(program) / used


def table(head, rows):
    print("|", " | ".join(head), "|")
    print("|" + "---|" * len(head))
    for row in rows:
        print(
            "|",
            " | ".join(f"{x:.1f}" if isinstance(x, float) else f"{x:,}" if isinstance(x, int) else x for x in row),
            "|",
        )
    print()


if __name__ == "__main__":
    print(tla.build_info(), end="\n\n")
    operations = ("composition [us]", "logical_divide", "right_inverse", "offset of an index")
    table(("modes", "elements", *operations), [*by_modes(), *by_elements()])
    table(("terms of an expression", "built [us]", "built and simplified"), by_nodes())
    table(("bytes of HLO text", "read_hlo [ms]", "MB/s"), by_bytes())
