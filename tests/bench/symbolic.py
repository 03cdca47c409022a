"""The 14 index expressions of tests/data/symbolic/cases.json, simplified: operations, and milliseconds of process time.

    python tests/bench/symbolic.py          # with torch installed, its Inductor beside it, and random
                                            nests through both

Building and printing are in the time: sizes, indices and expressions by the operators of each, with every memo empty.
"""

import ast
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from expressions import OPERATORS, count, random_text, samples, value

CASES = json.loads((Path(__file__).parent.parent / "data/symbolic/cases.json").read_text())["cases"]
SECONDS, NESTS = 1, 300


def tla_forms(cases):
    import tla

    def compiled(text):
        return compile(text, "case", "eval")

    codes = [(c, compiled(c["expr"]), {v: compiled(u) for v, u in c["below"].items()}) for c in cases]

    def run():
        tla.cache_clear()
        out = []
        for case, expr, below in codes:
            names = {n: tla.dim(n, multiple_of=unit) for n, unit in case["sizes"].items()}
            for v, u in below.items():
                names[v] = tla.index(v, below=eval(u, {}, names))
            out.append(tla.to_python(eval(expr, {}, names)))
        return out

    return run


def inductor_forms(cases):
    """Inductor's: sizes are sympy's symbols, a multiple of 16 is 16 times one, ranges are given; None for xor,
    which it has not."""
    import sympy
    from sympy.core.cache import clear_cache
    from torch._inductor.sizevars import SizeVarAllocator
    from torch.utils._sympy.functions import FloorDiv, ModularIndexing
    from torch.utils._sympy.printers import PythonPrinter

    divisions = {ast.FloorDiv: FloorDiv, ast.Mod: lambda a, b: ModularIndexing(a, 1, b)}

    def built(text, names):
        def go(node):
            match node:
                case ast.Constant(n):
                    return sympy.Integer(n)
                case ast.Name(name):
                    return names[name]
                case ast.UnaryOp(ast.USub(), a):
                    return -go(a)
                case ast.BinOp(a, op, b):
                    return {**OPERATORS, **divisions}[type(op)](go(a), go(b))
            raise ValueError(text)

        return go(ast.parse(text, mode="eval").body)

    def form(case):
        if "^" in case["expr"]:
            return None
        names = {n: sympy.Symbol(n, integer=True, positive=True) * unit for n, unit in case["sizes"].items()}
        ranges = {}
        for v, u in case["below"].items():
            names[v] = sympy.Symbol(v, integer=True, nonnegative=True)
            ranges[names[v]] = built(u, names)
        return PythonPrinter().doprint(SizeVarAllocator().simplify_with_ranges(built(case["expr"], names), ranges))

    def run():
        clear_cache()
        return [form(case) for case in cases]

    return run


def best_time(run):
    """The least of as many runs as SECONDS of process time hold, in milliseconds: on a shared machine
    most are disturbed."""
    times = [0.0]
    while sum(times) < SECONDS:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times[1:]) * 1000


def nests():
    """Random expressions over x, y, z; no differences, whose modulo Inductor does not take."""
    r = random.Random(7)
    texts = [t for t in (random_text(r, r.randint(2, 5)) for _ in range(10 * NESTS)) if "-" not in t][:NESTS]
    return [
        {"expr": t, "sizes": {}, "below": {n: str(r.choice((4, 8, 10, 32, 100, 1000))) for n in "xyz"}} for t in texts
    ]


def totals(cases, forms):
    """(operations, divisions), and how many are wrong at one of 50 places."""
    found = [count(form) for form in forms]
    wrong = sum(any(value(f, v) != value(c["expr"], v) for v in samples(c, 50)) for c, f in zip(cases, forms))
    return f"{sum(n for n, _ in found)}/{sum(d for _, d in found)}, {wrong} wrong"


def main():
    run = tla_forms(CASES)
    forms = run()
    for case, form in zip(CASES, forms):
        n, d = count(form)
        print(f"{case['name']:26} {n:3}/{d}  ideal {case['ideal_count'][0]}/{case['ideal_count'][1]}  {form}")
    ours = best_time(run)
    print(f"total {totals(CASES, forms)}, in {ours:.1f} ms")
    try:
        theirs = inductor_forms(CASES)
        theirs()
    except ImportError:
        print("torch is not installed: its Inductor took 258 ms where TVM took 2.5 (reference/peers.md)")
        return
    took = best_time(theirs)
    print(f"Inductor {took:.1f} ms, {took / ours:.1f} times as long")
    cases = nests()
    print(f"{NESTS} random nests: written {totals(cases, [c['expr'] for c in cases])}")
    for name, run in (("tla", tla_forms(cases)), ("Inductor", inductor_forms(cases))):
        print(f"  {name:9} {totals(cases, run())}, in {best_time(run):.0f} ms")


if __name__ == "__main__":
    main()
