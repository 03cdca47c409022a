"""Layout algebra beside its peers, in one run: microseconds of process time per call as a markdown table, and ratios.

    pip install nvidia-cutlass tensor-layouts tilelang      # whichever of them you want beside tla
    python tests/bench/algebra.py [ROUNDS] [SYSTEM=PYTHON ...]

Each system has a process of its own, of this Python or of the one that is given, as in tilelang=venv/bin/python; where
tla is compiled, its Python files are one more. A round takes operation after operation, and each of all systems in
turn, so that a busy machine is busy for all of them; of all rounds, the best counts. Times are for ratios:
machines are noisy.

cold: every call gets layouts that were not seen before, and no memo. warm: the same call again and again. A shape that
tla has worked out in plain ints is wrapped when it is first asked for: `tla, wrapped` has that in the time as well.
"""

import importlib
import math
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

INPUTS = 64
NAMES = "Layout composition complement logical_divide coalesce right_inverse"
#: System -> its module, the names of its functions in the order of NAMES, and what is installed.
PEERS = {
    "tilelang": ("tilelang.layout.cute", NAMES.replace("Layout", "make_layout"), "tilelang"),
    "pycute": ("pycute", NAMES, "nvidia-cutlass"),
    "tensor_layouts": ("tensor_layouts", NAMES.replace("composition", "compose"), "tensor-layouts"),
}
#: What a system does not do: pycute keeps what it is given, and checks nothing.
UNLIKE = {("pycute", "make a layout")}
SYSTEMS = ("tla", "tla, pure", "tla, wrapped", *PEERS)
ROOT = Path(__file__).parent.parent.parent


def system(name):
    """What it is called in full, its functions in the order of NAMES, and what empties its memos."""
    if name in PEERS:
        module, names, package = PEERS[name]
        importlib.import_module(module.partition(".")[0])
        found = importlib.import_module(module)
        return f"{name} {version(package)}", [getattr(found, n) for n in names.split()], lambda: None
    sys.path.insert(0, str(ROOT))
    import tla

    def static(x):
        return tla.Int[x]() if isinstance(x, int) else tuple(map(static, x)) if isinstance(x, tuple) else x

    functions = [
        lambda shape, stride: tla.MakeLayout(static(shape), static(stride)),
        tla.composition,
        lambda a, n: tla.complement(a, static(n)),
        lambda a, tile: tla.logical_divide(a, static(tile)),
        tla.coalesce,
        tla.right_inverse,
    ]
    if name == "tla, wrapped":
        functions[1:] = [lambda *x, f=f: f(*x).shape for f in functions[1:]]
    return f"{name}: {tla.build_info()}", functions, tla.cache_clear


def operations(make, composition, complement, logical_divide, coalesce, right_inverse):
    """name -> what makes a call for each of INPUTS inputs of one form and other numbers, the layouts already made."""
    tile = make(4, 2)

    def of(f, *layouts):
        return lambda: [lambda arguments=[make(*p(m)) for p in layouts]: f(*arguments) for m in range(1, INPUTS + 1)]

    def rows(m):
        return (64, 128), (128 * m, m)

    def fractals(m):
        return ((16, 64), (16, 64)), ((16 * m, 256 * m), (m, 16384 * m))

    return {
        "make a layout": lambda: [lambda modes=fractals(m): make(*modes) for m in range(1, INPUTS + 1)],
        "composition": of(composition, rows, lambda m: (((16, 4), (32, 4)), ((1, 16), (64, 2048)))),
        "complement": of(lambda a: complement(a, 4096 * 64), lambda m: ((4, 8, 2), (m, 16 * m, 512 * m))),
        "logical_divide": of(lambda a: logical_divide(a, tile), lambda m: ((4, 2, 3), (2 * m, m, 8 * m))),
        "logical_divide by mode": of(lambda a: logical_divide(a, (16, 32)), rows),
        "coalesce": of(coalesce, lambda m: ((2, (1, 6)), (m, (6, 2 * m)))),
        "right_inverse": of(right_inverse, lambda m: ((7 + m, (4, 16)), (64, (1, 4)))),
        "offset of a coordinate": of(lambda a: a((517, 803)), fractals),
        "offset of an index": of(lambda a: a(777777), fractals),
    }


def microseconds(make_calls, clear, warm):
    calls = make_calls()
    if warm:
        calls = calls[:1] * INPUTS
        calls[0]()
    else:
        clear()
    start = time.process_time()
    for call in calls:
        call()
    return (time.process_time() - start) / INPUTS * 1e6


def serve(name):
    """A system in a process of its own: its full name and its operations, then microseconds for each line
    `cold composition`."""
    full, functions, clear = system(name)
    of = operations(*functions)
    print(full, *of, sep="|", flush=True)
    for line in sys.stdin:
        kind, op = line.rstrip("\n").split(" ", 1)
        try:
            print(microseconds(of[op], clear, kind == "warm"), flush=True)
        except Exception:  # each system has errors of its own
            print("nan", flush=True)


class Worker:
    """The process of a system; `full` is None where that is not installed."""

    def __init__(self, name, python):
        environment = {**os.environ, "TLA_COMPILED": "0"} if name == "tla, pure" else os.environ
        command = [python, __file__, "--serve", name]
        self.process = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.full, *self.operations = (
            self.process.stdout.readline().rstrip("\n").split("|") if self.process.stdout else ("",)
        )

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def workers(pythons):
    found = {name: Worker(name, pythons.get(name, sys.executable)) for name in SYSTEMS}
    if "pure" in found["tla"].full:  # it is the same
        del found["tla, pure"]
    return {name: w for name, w in found.items() if w.full}


def best_times(systems, rounds):
    """(kind, operation) -> system -> the least time of all rounds; nan where it is refused."""
    best = {}
    for _round in range(rounds):
        for kind in ("cold", "warm"):
            for op in systems["tla"].operations:
                row = best.setdefault((kind, op), dict.fromkeys(systems, math.inf))
                for name, worker in systems.items():
                    row[name] = min(worker.ask(f"{kind} {op}"), row[name])
    return best


def print_ratios(best, systems):
    """What each system takes of the time of each peer, in the geometric mean of the operations that both have."""
    for kind in ("cold", "warm"):
        rows = {op: row for (k, op), row in best.items() if k == kind}
        for peer in [name for name in systems if name in PEERS]:
            for name in [name for name in systems if name not in PEERS]:
                ratios = [
                    row[name] / row[peer]
                    for op, row in rows.items()
                    if not math.isnan(row[peer]) and (peer, op) not in UNLIKE
                ]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(
                    f"{kind}: {name} takes {mean:.2f} of {peer} in the geometric mean of {len(ratios)}, "
                    f"{max(ratios):.2f} at most"
                )


def main():
    rounds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 15)
    systems = workers(dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a))
    best = best_times(systems, rounds)
    for kind in ("cold", "warm"):
        print(f"| {kind} [us] |", *(f"{w.full} |" for w in systems.values()))
        print("|---" * (len(systems) + 1) + "|")
        for (k, op), row in best.items():
            if k == kind:
                print(f"| {op} |", *("refused |" if math.isnan(n) else f"{n:.1f} |" for n in row.values()))
        print()
    print_ratios(best, systems)


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main()
