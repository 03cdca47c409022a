"""How many answers are wrong: tla and its peers, composition of every pair of small layouts, against A(B(c))
on the whole domain.

    pip install -e '.[test]' nvidia-cutlass tensor-layouts    # whichever of them you want beside tla
    python tests/bench/exact.py

A and B are the 420 layouts of tests/support/corpus.py, with B injective and inside of A. An answer is right if its
offsets, in order, are A(B(c)) for every c of B; no answer is a refusal. Not every A(B(c)) is a layout: how many
are is counted too.
"""

import importlib
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import corpus
import oracle


def systems():
    """name -> (make a layout, composition), of what is installed."""
    for name, composition in (("pycute", "composition"), ("tensor_layouts", "compose"), ("tla", "composition")):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        yield (
            name,
            (corpus.made if name == "tla" else lambda pair, make=module.Layout: make(*pair)),
            getattr(module, composition),
        )


def pairs():
    """(A, B, the offsets of A(B(c)))."""
    layouts = [(pair, oracle.offsets(*pair)) for pair in corpus.small()]
    for a, outer in layouts:
        for b, inner in layouts:
            if corpus.injective(b) and max(inner) < len(outer):
                yield a, b, [outer[k] for k in inner]


def is_layout(b, truth):
    """Whether there are offsets so: each is the sum of steps of its digits, with B's extents in the smallest
    factors, 4 in 2 by 2."""
    digits = [n for extent in oracle.leaves(b[0]) for n in ((2, 2) if extent == 4 else (extent,))]
    steps = [truth[math.prod(digits[:k])] if n > 1 else 0 for k, n in enumerate(digits)]
    return oracle.offsets(tuple(digits), tuple(steps)) == truth


def judged(make, composition, a, b, truth):
    try:
        r = composition(make(a), make(b))
    except Exception:
        return "refused"
    return "right" if oracle.offsets(oracle.plain(r.shape), oracle.plain(r.stride)) == truth else "wrong"


def main():
    cases = [*pairs()]
    print(f"{len(cases):,} pairs".ljust(20) + "".join(word.rjust(10) for word in ("right", "wrong", "refused")))
    for name, make, composition in systems():
        found = Counter(judged(make, composition, *case) for case in cases)
        print(name.ljust(20) + "".join(f"{found[word]:10,}" for word in ("right", "wrong", "refused")))
    print(f"A(B(c)) is a layout in {sum(is_layout(b, truth) for _a, b, truth in cases):,} of them")


if __name__ == "__main__":
    main()
