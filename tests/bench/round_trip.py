"""Random layouts written by every text target of `emit`, and read back by `layout_of`: how many are the same map, and how long each takes.

    python tests/bench/round_trip.py --count 10000
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import read_back
from tla import ComposedLayout, Layout, Swizzle, TlaError, at, dims, layout_of, offsets, static
from tla.codegen import TARGETS, emit

#: Languages of targets whose name is none.
LANGUAGES = {"affine": "mlir"}
import numpy as np


def layout_of_made(made, names):
    """The layout of plain data."""

    def size(x):
        if isinstance(x, tuple):
            return tuple(map(size, x))
        if not isinstance(x, str):
            return x
        value = 1
        for part in x.split("*"):
            value = value * (names[part] if part in names else int(part))
        return value

    layout = Layout(size(made.shape), size(made.stride))
    for bits, base, shift, offset in reversed(made.swizzles):
        layout = ComposedLayout(Swizzle[bits, base, shift](), size(offset), layout)
    return layout


def shape_of(made, names):
    shape = []
    for mode in made.shape:
        extent = 1
        for n in read_back.leaves(mode):
            extent = extent * (names[n] if n in names else n)
        shape.append(extent)
    return tuple(shape)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=33)
    options.add_argument("--verbose", action="store_true")
    options = options.parse_args()
    rng = random.Random(options.seed)
    names = dict(zip(("K", "N", "M", "ld"), dims("K N M ld")))
    count, times, reasons = Counter(), [], Counter()
    slow = []
    for _ in range(options.count):
        made = read_back.made(rng)
        layout = layout_of_made(made, names)
        known = made.kind != "names"
        layout = static(layout)
        shape = read_back.extents(made, {}) if known else shape_of(made, names)
        truth = read_back.table(made) if known else None
        kind = made.kind + (" swizzled" if made.kind == "names" and made.swizzles else "")
        for target in TARGETS:
            try:
                text = emit(layout, target)
            except TlaError as e:
                count[kind, "not written"] += 1
                reasons[kind, target, "emit", str(e)[:100]] += 1
                continue
            start = time.perf_counter()
            try:
                values = {} if known else {n: names[n] for n in names}
                found = layout_of(text, shape=shape, language=LANGUAGES.get(target, target), values=values)
            except Exception as e:
                found = None
                count[kind, "refused" if isinstance(e, TlaError) else "crash"] += 1
                reasons[kind, target, type(e).__name__, str(e).splitlines()[0][:160]] += 1
                if options.verbose:
                    print(kind, target, layout, e)
            took = time.perf_counter() - start
            times.append(took)
            slow.append((took, kind, target, str(layout)))
            slow = sorted(slow)[-5:]
            if found is None:
                continue
            if known:
                same = (offsets(found).reshape(truth.shape, order="F") == truth).all()
            else:
                same = True
                for sizes in (dict(made.sizes), {n: v % 3 + 1 for n, v in made.sizes}):
                    truth_ = read_back.table(made, sizes)
                    f = at(found, sizes)
                    same &= bool((offsets(f).reshape(truth_.shape, order="F") == truth_).all())
            count[kind, "same" if same else "WRONG"] += 1
            if not same:
                print("WRONG", kind, target, layout, found)
    for k in sorted(count):
        print(*k, count[k])
    times.sort()
    print(f"median {1000*times[len(times)//2]:.2f} ms, 99% {1000*times[len(times)*99//100]:.1f}, max {times[-1]:.3f} s")
    for s in slow:
        print(s)
    for k, n in reasons.most_common(40):
        print(n, *k)


main()
