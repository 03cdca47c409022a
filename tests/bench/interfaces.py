"""How quick the interfaces of other libraries are beside the originals: microseconds of a call on layouts seen before,
and on new ones.

    pip install -e . nvidia-cutlass torch tensor-layouts    # whichever of them you want beside tla.compat
    python tests/bench/interfaces.py [ROUNDS]

Each operation is done on those of 40 layouts that both have an answer for, by the original and by ours in turn; the
least processor time of the rounds counts, divided by how many. Before a round of new ones tla forgets what it has
worked out (`cache_clear`); the originals remember nothing, so they have one column.
"""

import importlib
import random
import sys
import time

from tla import cache_clear

NAMES = {"pycute": "pycute", "torch.distributed._pycute": "torch", "tensor_layouts": "tensor_layouts"}


def layouts(rng, make):
    """Compact ones in any order of their modes, whose sizes are multiples of 4."""
    shape = rng.choice([(8, 12), (4, (2, 6)), (16, 3, 4), ((4, 4), 8)])
    flat = [n for mode in shape for n in (mode if isinstance(mode, tuple) else (mode,))]
    strides, step = [0] * len(flat), rng.choice((1, 2))
    for i in rng.sample(range(len(flat)), len(flat)):
        strides[i], step = step, step * flat[i]
    left = iter(strides)
    return make(
        shape, tuple(tuple(next(left) for _ in mode) if isinstance(mode, tuple) else next(left) for mode in shape)
    )


def operations(m, a):
    """The operations of a module on a layout: twelve that all three have."""
    composition = getattr(m, "composition", None) or m.compose
    tile, half, shape = m.Layout(4, 1), m.Layout(2, 1), a.shape
    return {
        "make a layout": lambda: m.Layout(shape),
        "offset of an index": lambda: a(37),
        "size": lambda: m.size(a),
        "coalesce": lambda: m.coalesce(a),
        "composition": lambda: composition(a, tile),
        "complement": lambda: m.complement(a, 1536),
        "right_inverse": lambda: m.right_inverse(a),
        "left_inverse": lambda: m.left_inverse(a),
        "logical_divide": lambda: m.logical_divide(a, tile),
        "logical_divide by mode": lambda: m.logical_divide(a, (half, half)),
        "zipped_divide": lambda: m.zipped_divide(a, (half, half)),
        "logical_product": lambda: m.logical_product(a, tile),
    }


def microseconds(ways, rounds):
    """Of a call, the least of the rounds; of several ways, (calls, what is done before a round), all of
    them in turn."""
    least = [float("inf")] * len(ways)
    for _ in range(rounds):
        for k, (calls, before) in enumerate(ways):
            before()
            begin = time.process_time()
            for call in calls:
                call()
            least[k] = min(least[k], time.process_time() - begin)
    return [1e6 * t / len(calls) for t, (calls, _) in zip(least, ways)]


def nothing():
    pass


def answers(call):
    """Whether it is not refused."""
    try:
        call()
    except (AssertionError, ValueError):
        return False
    return True


def main(rounds):
    for original, name in NAMES.items():
        try:
            theirs = importlib.import_module(original)
        except ImportError:
            continue
        ours = importlib.import_module(f"tla.compat.{name}")
        found, wanted = (
            [operations(m, layouts(random.Random(k), m.Layout)) for k in range(40)] for m in (ours, theirs)
        )
        print(f"\n| | {original} | seen before | new |\n|---|---|---|---|")
        for operation in found[0]:
            both = [
                pair
                for pair in ((x[operation], y[operation]) for x, y in zip(found, wanted))
                if all(map(answers, pair))
            ]
            calls, their = zip(*both)
            original, new, seen = microseconds([(their, nothing), (calls, cache_clear), (calls, nothing)], rounds)
            print(f"| {operation} | " + " | ".join(f"{t:.1f}" for t in (original, seen, new)) + " |", flush=True)


main(int(sys.argv[1]) if sys.argv[1:] else 100)
