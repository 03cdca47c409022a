"""Layout algebra beside its peers, in one run: microseconds of process time per call, and ratios to the fastest peer.

    pip install nvidia-cutlass tensor-layouts      # whichever of them you want beside tla
    python tests/bench/algebra.py

Each call gets a layout that was not seen before. Times are for ratios: machines are noisy.
"""

import importlib
import time

ROUNDS, INPUTS = 7, 64


def systems():
    """name -> (make a layout, composition, complement, logical_divide, coalesce), of the systems that are installed."""
    for name, names in (
        ("pycute", "Layout composition complement logical_divide coalesce"),
        ("tensor_layouts", "Layout compose complement logical_divide coalesce"),
    ):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        yield name, [getattr(module, n) for n in names.split()]
    import tla

    def static(x):
        return tuple(map(static, x)) if isinstance(x, tuple) else tla.Int[x]()

    def make(shape, stride):
        return tla.MakeLayout(static(shape), static(stride))

    yield "tla", [make, tla.composition, lambda a, n: tla.complement(a, tla.Int[n]()), tla.logical_divide, tla.coalesce]


def operations(make, composition, complement, logical_divide, coalesce):
    """name -> one function for each of INPUTS inputs of one form and other numbers, the layouts already made."""
    tile = make(4, 2)

    def of(f, *layouts):
        return [lambda arguments=[make(*p(m)) for p in layouts]: f(*arguments) for m in range(1, INPUTS + 1)]

    def fractals(m):
        return ((16, 64), (16, 64)), ((16 * m, 256 * m), (m, 16384 * m))

    return {
        "composition": of(composition, lambda m: ((64, 128), (128 * m, m)), lambda m: (((16, 4), (32, 4)), ((1, 16), (64, 2048)))),
        "complement": of(lambda a: complement(a, 4096 * 64), lambda m: ((4, 8, 2), (m, 16 * m, 512 * m))),
        "logical_divide": of(lambda a: logical_divide(a, tile), lambda m: ((4, 2, 3), (2 * m, m, 8 * m))),
        "coalesce": of(coalesce, lambda m: ((2, (1, 6)), (m, (6, 2 * m)))),
        "offset (i, j)": of(lambda a: a((517, 803)), fractals),
        "offset of an index": of(lambda a: a(777777), fractals),
    }


def measure(calls):
    best = float("inf")
    for _round in range(ROUNDS):
        start = time.process_time()
        for call in calls:
            call()
        best = min(best, time.process_time() - start)
    return best / len(calls) * 1e6


def main():
    table = {name: {op: measure(calls) for op, calls in operations(*functions).items()} for name, functions in systems()}
    print(f"{'microseconds':20s}" + "".join(f"{name:>16s}" for name in table) + "   tla / fastest peer")
    for op in table["tla"]:
        peers = [times[op] for name, times in table.items() if name != "tla"]
        ratio = f"{table['tla'][op] / min(peers):12.2f}" if peers else "   no peer is installed"
        print(f"{op:20s}" + "".join(f"{times[op]:16.2f}" for times in table.values()) + ratio)


if __name__ == "__main__":
    main()
