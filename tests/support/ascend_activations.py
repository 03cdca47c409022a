"""Blocks with an activation: random ones with their numbers, formulas in numpy, and what a kernel's text logs."""

import subprocess

from ascend_blocks import FORMULAS, agrees
from catlass_examples import built_side, places_of

from tla import dims
from tla.ascend import (
    Ascend950,
    AtlasA2,
    AtlasA3,
    BlockSchedulerAswt,
    BlockSchedulerIterateK,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    RowMajor,
    bf16,
    block,
    float32,
    half,
    int8,
)

from night import amount

TILES = (32, 64, 64), (32, 64, 32)


def activated(problem, activation="gelu", arch=AtlasA2, tiles=TILES, **more):
    return block(problem, *tiles, arch, **{"c": float32, "activation": activation, **more})


def random_block(rng, named=False):
    """A block of any kind, with its numbers, and what C is: sums of halves, so that half holds them.

    named   whether its sizes are names
    """
    arch = (AtlasA2, Ascend950, AtlasA3)[rng.integers(3)]
    wide = arch is Ascend950
    split = rng.choice([None, "SPLIT_M", "SPLIT_N", "NO_SPLIT"]) if wide else None
    name = rng.choice([*FORMULAS])
    problem = m, n, k = tuple(int(x) for x in rng.integers(1, amount(80, 130), 3))
    c = float32 if split in ("SPLIT_M", "SPLIT_N") or rng.integers(2) else half
    more = {"c": c, "d": rng.choice([None, half, float32, bf16]) if c is float32 else None, "split": split}
    more |= {"unit_flag": bool(split != "SPLIT_N" and rng.integers(2)), "cores": int(rng.integers(1, 4))}
    tiles = [None, (8, 64), (5, 32), (32, 16)]
    if named and split is not None:  # all of a tile is computed, so it ends where a vector core's share does
        tiles = [None, (8, 32), (2, 16), (16, 32)]
    more["ub"] = tiles[rng.integers(4)]
    swizzles = [
        GemmIdentityBlockSwizzle[3, 0],
        GemmIdentityBlockSwizzle[2, 1],
        BlockSchedulerIterateK if named else BlockSchedulerAswt,
    ]
    more["swizzle"] = swizzles[rng.integers(3)]
    if split is not None:
        more["stages"] = {"UB": int(rng.integers(1, 3))}
    scaled = split is None and c is half and bool(rng.integers(2))
    if scaled:
        more |= {"a": int8, "b": (int8, ColumnMajor), "quant": "PER_TENSOR", "scale": 0.125}
    else:
        more |= {
            "b": (half, (RowMajor, ColumnMajor)[rng.integers(2)]),
            "bias": bool(rng.integers(2)) and more["swizzle"] is not BlockSchedulerAswt,
        }
    x, y = rng.integers(-3, 4, (m, k)), rng.integers(-2, 3, (k, n))
    x, z = (x, 0) if scaled else (x / 8, rng.integers(-9, 10, n) / 4 if more["bias"] else 0)
    sizes = dims("M N K", at_most=2**29) if named else problem
    return activated(sizes, str(name), arch, **more), x, y, z, (x @ y + z) * (0.125 if scaled else 1)


def require_formula(made, x, y, z, c):
    """What a block makes of these numbers is the formula of c, but for what its types round."""
    found = made.execute(x, y, z if made.plan.bias else None)
    assert agrees(found, FORMULAS[made.plan.activation.name](c), made.plan)


def logged(text, made, folder, side, sub):
    """What one side of a kernel logs on its first core."""
    sizes = [*map(str, made.problem)] if "uint32_t m" in text else []
    call = f"kernel_main({', '.join([*sizes, *places_of(made.tensors.values())])});"
    program = built_side(text, made.plan.arch.name, folder, side, call, sub)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
