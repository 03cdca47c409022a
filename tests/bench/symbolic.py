"""The 14 index expressions of tests/data/symbolic/cases.json, simplified: operations, and milliseconds of process time.

    python tests/bench/symbolic.py          # with torch installed, its Inductor beside it

Building is in the time: sizes, indices and expression by SymInt's operators, with every memo empty.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from expressions import count

CASES = json.loads((Path(__file__).parent.parent / "data/symbolic/cases.json").read_text())["cases"]
ROUNDS = 7


def compiled(text):
    return compile(text, "case", "eval")


def tla_forms():
    import tla

    codes = [(c, compiled(c["expr"]), {v: compiled(u) for v, u in c["below"].items()}) for c in CASES]

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


def inductor_forms():
    import sympy
    from torch._inductor.sizevars import SizeVarAllocator
    from torch.utils._sympy.functions import FloorDiv, ModularIndexing

    class Index(sympy.Symbol):
        def __floordiv__(self, other):
            return FloorDiv(self, other)

    def run():
        allocator = SizeVarAllocator()
        out = []
        for case in CASES:
            names = {n: sympy.Symbol(n, integer=True, positive=True) * unit for n, unit in case["sizes"].items()}
            ranges = {}
            for v, u in case["below"].items():
                names[v] = sympy.Symbol(v, integer=True, nonnegative=True)
                ranges[names[v]] = eval(u.replace("//", "*1/"), {}, names)
            tree = _sympy(case["expr"], names, FloorDiv, ModularIndexing)
            out.append(allocator.simplify_with_ranges(tree, ranges) if tree is not None else None)
        return out

    return run


def _sympy(text, names, floor_div, modular):
    import ast

    def go(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id]
        a, b = go(node.left), go(node.right)
        match node.op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.FloorDiv():
                return floor_div(a, b)
            case ast.Mod():
                return modular(a, 1, b)
        raise NotImplementedError

    try:
        return go(ast.parse(text, mode="eval").body)
    except NotImplementedError:  # a xor
        return None


def best_time(run):
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1000


def main():
    run = tla_forms()
    forms = run()
    total = [0, 0]
    for case, form in zip(CASES, forms):
        found = count(form)
        total = [a + b for a, b in zip(total, found)]
        print(f"{case['name']:26} {found[0]:3}/{found[1]}  ideal {case['ideal_count'][0]}/{case['ideal_count'][1]}  {form}")
    ours = best_time(run)
    print(f"total {total[0]}/{total[1]} in {ours:.1f} ms")
    try:
        theirs = inductor_forms()
    except ImportError:
        print("torch is not installed: its Inductor took 258 ms where TVM took 2.5 (reference/peers.md)")
        return
    print(f"Inductor {best_time(theirs):.1f} ms, {best_time(theirs) / ours:.1f} times as long")


if __name__ == "__main__":
    main()
