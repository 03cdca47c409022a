"""Layout algebra beside its peers, in one run: microseconds of process time per call, and ratios to pycute.

    pip install nvidia-cutlass tensor-layouts      # whichever of them you want beside tla
    python tests/bench/algebra.py

cold: every call gets layouts that were not seen before, and no memo. warm: the same call again and again. Times are for
ratios: machines are noisy. A shape that tla has worked out in plain ints is wrapped when it is first asked for; `wrapped`
has that in the time as well.
"""

import importlib
import math
import sys
import time

ROUNDS, INPUTS = 7, 64
NAMES = "Layout composition complement logical_divide coalesce right_inverse"


def static(x):
    import tla

    return x if isinstance(x, tla.Layout) else tuple(map(static, x)) if isinstance(x, tuple) else tla.Int[x]()


def systems():
    """name -> (make a layout, composition, complement, logical_divide, coalesce, right_inverse), of what is installed."""
    for name, names in (("pycute", NAMES), ("tensor_layouts", NAMES.replace("composition", "compose"))):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        yield name, [getattr(module, n) for n in names.split()]
    import tla

    operations = [
        lambda shape, stride: tla.MakeLayout(static(shape), static(stride)),
        tla.composition,
        lambda a, n: tla.complement(a, static(n)),
        lambda a, tile: tla.logical_divide(a, static(tile)),
        tla.coalesce,
        tla.right_inverse,
    ]
    yield "tla", operations
    yield "tla, wrapped", [operations[0], *(lambda *x, f=f: f(*x).shape for f in operations[1:])]


def operations(make, composition, complement, logical_divide, coalesce, right_inverse):
    """name -> one function for each of INPUTS inputs of one form and other numbers, the layouts already made."""
    tile = make(4, 2)

    def of(f, *layouts):
        return [lambda arguments=[make(*p(m)) for p in layouts]: f(*arguments) for m in range(1, INPUTS + 1)]

    def rows(m):
        return (64, 128), (128 * m, m)

    def fractals(m):
        return ((16, 64), (16, 64)), ((16 * m, 256 * m), (m, 16384 * m))

    return {
        "composition": of(composition, rows, lambda m: (((16, 4), (32, 4)), ((1, 16), (64, 2048)))),
        "complement": of(lambda a: complement(a, 4096 * 64), lambda m: ((4, 8, 2), (m, 16 * m, 512 * m))),
        "logical_divide": of(lambda a: logical_divide(a, tile), lambda m: ((4, 2, 3), (2 * m, m, 8 * m))),
        "logical_divide by mode": of(lambda a: logical_divide(a, (16, 32)), rows),
        "coalesce": of(coalesce, lambda m: ((2, (1, 6)), (m, (6, 2 * m)))),
        "right_inverse": of(right_inverse, lambda m: ((7 + m, (4, 16)), (64, (1, 4)))),
        "offset (i, j)": of(lambda a: a((517, 803)), fractals),
        "offset of an index": of(lambda a: a(777777), fractals),
    }


def measure(make_calls, clear, warm):
    best = math.inf
    calls = make_calls()
    for _round in range(ROUNDS):
        if not warm:
            calls = make_calls()
            clear()
        start = time.process_time()
        for call in calls if not warm else calls[:1] * INPUTS:
            call()
        best = min(best, (time.process_time() - start) / INPUTS)
    return best * 1e6


def images():
    """name -> milliseconds for all offsets of a zN matrix of 1024 by 1024: one by one, and tla.offsets."""
    import tla

    def milliseconds(run, rounds):
        best = math.inf
        for _round in range(rounds):
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
        return best * 1e3

    for name, (make, *_) in systems():
        zN = make(((16, 64), (16, 64)), ((16, 256), (1, 16384)))
        if name == "tla":
            yield name, milliseconds(lambda a=zN: tla.offsets(a), ROUNDS)
        elif not name.startswith("tla"):
            yield name, milliseconds(lambda a=zN: [a(i) for i in range(2**20)], 1)


def main():
    results = {}
    for name, functions in systems():
        clear = sys.modules["tla"].cache_clear if name.startswith("tla") else lambda: None
        for kind in ("cold", "warm"):
            for op in operations(*functions):
                microseconds = measure(lambda op=op, functions=functions: operations(*functions)[op], clear, kind == "warm")
                results.setdefault((kind, op), {})[name] = microseconds
    names = [*next(iter(results.values()))]
    print("microseconds".ljust(30) + "".join(n.rjust(18) for n in names))
    for (kind, op), row in results.items():
        print(f"{kind} {op:25}" + "".join(f"{row[n]:18.2f}" for n in names))
    if "pycute" in names:
        for kind in ("cold", "warm"):
            for name in names[1:]:
                ratios = [row[name] / row["pycute"] for (k, _op), row in results.items() if k == kind and name in row]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(f"{kind}: {name} takes {mean:.2f} of pycute in the geometric mean, {max(ratios):.2f} at most")
    for name, milliseconds in images():
        print(f"all offsets of 1024 by 1024: {name} takes {milliseconds:.1f} ms")


if __name__ == "__main__":
    main()
