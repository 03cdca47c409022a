"""Relayouts beside numpy, in one run: milliseconds of the best of several rounds, and ratios to numpy's best.

    python tests/bench/relayout.py

`by hand` is what a numpy user writes for that one pair of layouts, as a reshape and a transpose in one assignment; the
best of those given counts. `tla.copy` is one line for all of them. Times are for ratios: machines are noisy.
"""

import math
import time

import numpy as np

ROUNDS = 9
N = 4096


def views(flat):
    """Row-major, zN of 16-bit elements, nZ, T(8,128)(2,1): each as the axes (row digits, column
    digits), slowest first."""
    b = N // 16
    return {
        "row-major": flat.reshape(N, N),
        "column-major": flat.reshape(N, N).T,
        "zN": flat.reshape(b, b, 16, 16).transpose(1, 2, 0, 3),
        "nZ": flat.reshape(b, b, 16, 16).transpose(0, 3, 1, 2),
        "T(8,128)(2,1)": flat.reshape(N // 8, N // 128, 4, 128, 2).transpose(0, 2, 4, 1, 3),
    }


def by_hand(target, source):
    """The assignments that move source to target: whole, and with a short last axis of the target unrolled."""
    if target.ndim < source.ndim:
        target = target.reshape(source.shape)
    elif source.ndim < target.ndim:
        source = source.reshape(target.shape)
    yield "one assignment", lambda: target.__setitem__(..., source)
    if source.ndim == 5:

        def unrolled():
            for k in range(2):
                target[:, :, k] = source[:, :, k]

        yield "unrolled", unrolled


def layouts():
    from tla import LayoutLeft, LayoutRight, MakeLayout, ascend, xla

    return {
        "row-major": MakeLayout((N, N), LayoutRight),
        "column-major": MakeLayout((N, N), LayoutLeft),
        "zN": MakeLayout[ascend.half, ascend.zN](N, N),
        "nZ": MakeLayout[ascend.half, ascend.nZ](N, N),
        "T(8,128)(2,1)": xla.lower(f"bf16[{N},{N}]{{1,0:T(8,128)(2,1)}}"),
    }


def best(*calls):
    """The milliseconds of each call, in turns, so that all of them meet the same noise."""
    times = [math.inf] * len(calls)
    for _round in range(ROUNDS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[k] = min(times[k], time.perf_counter() - start)
    return [1e3 * t for t in times]


def relayouts():
    """(name, milliseconds of tla, of numpy's best) for each pair."""
    from tla import MakeTensor, copy

    a, b, made = np.arange(N * N).astype(np.uint16).view(np.float16), np.zeros(N * N, np.float16), layouts()
    for kind in made:
        if kind == "row-major":
            continue
        for one, other in (("row-major", kind), (kind, "row-major")):
            source, target = MakeTensor(a, made[one]), MakeTensor(b, made[other])
            hands = [f for _name, f in by_hand(views(b)[other], views(a)[one])]
            hands[0]()
            truth = b.copy()
            b[:] = 0
            ours, *theirs = best(lambda source=source, target=target: copy(source, target), *hands)
            assert np.array_equal(b.view(np.uint16), truth.view(np.uint16))
            yield f"{one} -> {other}", ours, min(theirs)


def small():
    """Microseconds of one copy of a 16 by 16 tile, and of making its view."""
    from tla import MakeTensor, TileView, copy

    made = layouts()
    source, target = (MakeTensor(np.zeros(N * N, np.float16), made[kind]) for kind in ("row-major", "zN"))
    tiles = [(TileView(source, (i, i), (16, 16)), TileView(target, (i, i), (16, 16))) for i in range(200)]
    views_, copies = best(
        lambda: [TileView(source, (i, i), (16, 16)) for i in range(200)],
        lambda: [copy(one, other) for one, other in tiles],
    )
    return views_ * 5, copies * 5


def main():
    print(f"{N} by {N} half".ljust(32) + "tla ms".rjust(10) + "by hand".rjust(10) + "ratio".rjust(8))
    ratios = []
    for name, ours, theirs in relayouts():
        ratios.append(ours / theirs)
        print(f"{name:32}{ours:10.2f}{theirs:10.2f}{ours / theirs:8.2f}")
    print(
        f"tla takes {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} of numpy's best in the geometric mean, "
        f"{max(ratios):.2f} at most"
    )
    print("a tile of 16 by 16: {:.1f} us for its view, {:.1f} us to copy it".format(*small()))


if __name__ == "__main__":
    main()
