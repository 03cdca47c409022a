"""The same results on both builds: random cases, their text compared between the extension modules and
the Python files.

    TLA_COMPILED=1 pip install -e .
    python tests/bench/builds.py [CASES] [SEED]

Each case is an operation on random layouts: plain, nested, of static, dynamic and symbolic sizes, swizzled, XLA's. The
text is that of the result, its repr and its offsets, or of the error.
"""

import itertools
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent.parent)]


def operations(rng, tla, pick):
    """name -> a thunk of one random case."""
    a, b, tile = pick(), pick(), rng.choice([4, (2, 4), (tla._, 2), pick()])
    n, m = rng.choice([1, 8, 12, 64, 4096]), rng.choice([1, 2, 4])
    coord = rng.choice([rng.randrange(5000), -3, (rng.randrange(40), rng.randrange(40)), (1, (2, 3))])
    width = rng.choice([1, 2, 4])
    return {
        "composition": lambda: tla.composition(a, b),
        "compose": lambda: tla.compose(a, b),
        "complement": lambda: tla.complement(a, tla.Int[n]() if m > 1 else n),
        "coalesce": lambda: tla.coalesce(a),
        "logical_divide": lambda: tla.logical_divide(a, tile),
        "zipped_divide": lambda: tla.zipped_divide(a, tile),
        "logical_product": lambda: tla.logical_product(a, b),
        "blocked_product": lambda: tla.blocked_product(a, b),
        "right_inverse": lambda: tla.right_inverse(a),
        "left_inverse": lambda: tla.left_inverse(a),
        "max_common_layout": lambda: tla.max_common_layout(a, b),
        "questions": lambda: [
            f(a) for f in (tla.is_injective, tla.is_compact, tla.cosize, tla.size, tla.is_static, tla.depth)
        ],
        "same_map": lambda: tla.same_map(a, b),
        "offset": lambda: a(coord),
        "idx2crd": lambda: tla.idx2crd(coord, tla.shape(a)),
        "offsets": lambda: tla.offsets(a).ravel(order="F")[:64].tolist(),
        "slice": lambda: tla.slice_and_offset((tla._, coord), a),
        "tile": lambda: tla.GetTileLayout(a, (4, 4), (1, 0)),
        "recast": lambda: tla.recast_layout[8 * width, 16](a),
        "with_shape": lambda: tla.with_shape(a, (n, m)),
        "flatten": lambda: tla.flatten(a),
        "pickle": lambda: pickle.loads(pickle.dumps(a)),
        "repr": lambda: repr(a),
        "xla": lambda: tla.xla.lower(
            f"f32[{n},{rng.choice((3, 8, 130))}]{{{rng.choice(('1,0', '0,1'))}:T({m},{width})({width},1)}}"
        ),
        "wrong": lambda: tla.MakeLayout(
            *rng.choice([((4, -2), (1, 2)), ((4, 2), (1,)), ("4", 1), (4.0, 1), (2**70, 1)])
        ),
    }


def layouts(rng, tla):
    """A function that gives a random layout of a random kind."""
    import corpus

    small = [*corpus.small(range(5))]

    def leaves(x):
        return tuple(map(leaves, x)) if isinstance(x, tuple) else rng.choice([x, tla.Int[x]()])

    def pick():
        kind = rng.random()
        shape, stride = corpus.kernel_sized(rng, 2, 10) if kind < 0.5 else rng.choice(small)
        if kind > 0.9:
            shape = tuple(tla.dim(name, multiple_of=4) for name in "MN")
            return tla.MakeLayout(shape, rng.choice([tla.LayoutLeft, tla.LayoutRight]))
        layout = corpus.made((shape, stride)) if rng.random() < 0.6 else tla.Layout(leaves(shape), leaves(stride))
        return (
            tla.ComposedLayout(tla.Swizzle[rng.choice([1, 2, 3]), rng.choice([0, 1, 4]), 3](), 0, layout)
            if kind > 0.75
            else layout
        )

    return pick


def told(case):
    """What a case gives, or refuses, as one line."""
    try:
        result = case()
        return f"{result} {result!r} {getattr(result, 'origin_shape', '')}"
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " | ")


def print_cases(count, seed):
    import tla

    print(tla.build_info())
    for k in range(count):
        rng = random.Random(f"{seed} {k}")
        name, case = rng.choice([*operations(rng, tla, layouts(rng, tla)).items()])
        print(k, name, told(case))


def main():
    count, seed = (int(x) for x in (*sys.argv[1:3], *("20000", "1")[len(sys.argv) - 1 :]))
    command = [sys.executable, __file__, "--print", str(count), str(seed)]
    environments = ({k: v for k, v in os.environ.items() if k != "TLA_COMPILED"}, {**os.environ, "TLA_COMPILED": "0"})
    compiled, pure = (
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
        for env in environments
    )
    if not compiled[0].startswith("compiled"):
        raise SystemExit(f"this is {compiled[0]}: nothing to compare; TLA_COMPILED=1 pip install -e . compiles")
    different = [(x, y) for x, y in itertools.zip_longest(compiled[1:], pure[1:]) if x != y]
    refused = sum("Error:" in line or "Unproven:" in line for line in pure)
    print(f"{compiled[0]}: {count:,} cases, {refused:,} of them refused, {len(different):,} differ")
    for pair in different[:10]:
        print(*pair, sep="\n  ")
    raise SystemExit(bool(different))


if __name__ == "__main__":
    print_cases(*map(int, sys.argv[2:])) if sys.argv[1:2] == ["--print"] else main()
