"""Conversions of layouts that Triton compiled without a GPU, as test data: tests/data/ttgir/conversions.json.gz.

    python tests/bench/triton_programs/conversions.py [COUNT]       # needs Triton 3.9

Random pairs of layouts of matrix products, and of blocks; of each how often the PTX has each memory instruction. Of
three in eight each warp holds before all that it holds after, and other values with it.
"""

import gzip
import json
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

from tla.access.rounds import stays_in_warps
from tla.linear.triton import from_text

DATA = Path(__file__).parents[2] / "data" / "ttgir"
KINDS = ("i8", "f16", "f32", "i64")
_COUNTED = re.compile(r"\b((?:ld|st)\.shared\S*|ldmatrix\S*|stmatrix\S*|shfl\S*)\s")


def powers(choose, total, parts):
    """A product of so many powers of two."""
    found = [1] * parts
    while total > 1:
        found[choose.randrange(parts)] *= 2
        total //= 2
    return found


def blocked(choose, warps, element):
    size = [1, 1]
    size[choose.randrange(2)] = choose.choice([1, 2, 4, 8])
    threads, per_cta, order = powers(choose, 32, 2), powers(choose, warps, 2), choose.choice([[1, 0], [0, 1]])
    return f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {threads}, warpsPerCTA = {per_cta}, order = {order}}}>"


def mma(choose, warps, element):
    return f"#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = {powers(choose, warps, 2)}, instrShape = [16, 8]}}>"


def wgmma(choose, warps, element):
    n = choose.choice([8, 16, 32])
    return f"#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, {warps // 4}], instrShape = [16, {n}, {256 // element}]}}>"


def operand(choose, warps, element):
    width = max(1, 32 // element)
    return f"#ttg.dot_op<{{opIdx = {choose.randrange(2)}, parent = {mma(choose, warps, element)}, kWidth = {width}}}>"


TEXT = """#a = {a}
#b = {b}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:{target}", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<{kind}>, %q: !tt.ptr<{kind}>, %s: i32) {{
{first}
    %v = tt.load %pa : tensor<{m}x{n}x!tt.ptr<{kind}>, #a>
    %w = ttg.convert_layout %v : tensor<{m}x{n}x{kind}, #a> -> tensor<{m}x{n}x{kind}, #b>
{second}
    tt.store %pb, %w : tensor<{m}x{n}x!tt.ptr<{kind}>, #b>
    tt.return
  }}
}}
"""
ADDRESSES = """    %r{l} = tt.make_range {{end = {m} : i32, start = 0 : i32}} : tensor<{m}xi32, #ttg.slice<{{dim = 1, parent = #{l}}}>>
    %c{l} = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32, #ttg.slice<{{dim = 0, parent = #{l}}}>>
    %r1{l} = tt.expand_dims %r{l} {{axis = 1 : i32}} : tensor<{m}xi32, #ttg.slice<{{dim = 1, parent = #{l}}}>> -> tensor<{m}x1xi32, #{l}>
    %c1{l} = tt.expand_dims %c{l} {{axis = 0 : i32}} : tensor<{n}xi32, #ttg.slice<{{dim = 0, parent = #{l}}}>> -> tensor<1x{n}xi32, #{l}>
    %s{l} = tt.splat %s : i32 -> tensor<{m}x1xi32, #{l}>
    %m{l} = arith.muli %r1{l}, %s{l} : tensor<{m}x1xi32, #{l}>
    %t{l} = tt.splat %s : i32 -> tensor<1x{n}xi32, #{l}>
    %n{l} = arith.muli %c1{l}, %t{l} : tensor<1x{n}xi32, #{l}>
    %r2{l} = tt.broadcast %m{l} : tensor<{m}x1xi32, #{l}> -> tensor<{m}x{n}xi32, #{l}>
    %c2{l} = tt.broadcast %n{l} : tensor<1x{n}xi32, #{l}> -> tensor<{m}x{n}xi32, #{l}>
    %o{l} = arith.addi %r2{l}, %c2{l} : tensor<{m}x{n}xi32, #{l}>
    %b{l} = tt.splat {base} : !tt.ptr<{kind}> -> tensor<{m}x{n}x!tt.ptr<{kind}>, #{l}>
    %p{l} = tt.addptr %b{l}, %o{l} : tensor<{m}x{n}x!tt.ptr<{kind}>, #{l}>, tensor<{m}x{n}xi32, #{l}>"""


def drawn(choose):
    """The parameters of a text."""
    target, warps = choose.choice([80, 90]), choose.choice([4, 8])
    kind = choose.choice(KINDS)
    element = int(kind[1:])
    forms = [blocked, blocked, mma, operand, *([wgmma] if target == 90 else [])]
    a, b = (choose.choice(forms)(choose, warps, element) for _ in range(2))
    m, n = choose.choice([16, 32, 64, 128]), choose.choice([16, 32, 64])
    return {"a": a, "b": b, "warps": warps, "target": target, "kind": kind, "m": m, "n": n}


def drawn_within_warps(choose):
    """The parameters of a text of a small tile, of which each warp holds what it needs, in other warps' places."""
    forms = [blocked, blocked, blocked, mma, operand]
    while True:
        warps, kind, m, n = (
            choose.choice([2, 4]),
            choose.choice(KINDS),
            *(choose.choice([2, 4, 8, 16, 32, 64]) for _ in range(2)),
        )
        a, b = (choose.choice(forms)(choose, warps, int(kind[1:])) for _ in range(2))
        src, dst = (from_text(x).linear([m, n]) for x in (a, b))
        registers = max(x.get_in_dim_size("register") for x in (src, dst))
        small = m * n <= 1024 and registers * max(32, int(kind[1:])) <= 64 * 32
        if small and src.bases["warp"] != dst.bases["warp"] and stays_in_warps(src, dst):
            return {"a": a, "b": b, "warps": warps, "target": choose.choice([80, 90]), "kind": kind, "m": m, "n": n}


def compiled(given, folder):
    first, second = (ADDRESSES.format(l=layout, base=base, **given) for layout, base in (("a", "%p"), ("b", "%q")))
    path = Path(folder) / "f.ttgir"
    path.write_text(TEXT.format(first=first, second=second, **given))
    made = triton.compile(str(path), target=GPUTarget("cuda", given["target"], 32))
    return Counter(_COUNTED.findall(made.asm["ptx"]))


def main(count):
    choose, rows = random.Random(33), []
    with tempfile.TemporaryDirectory() as folder:
        while len(rows) < count:
            given = drawn(choose) if 8 * len(rows) < 5 * count else drawn_within_warps(choose)
            try:
                rows.append({**given, "ptx": compiled(given, folder)})
            except Exception as error:  # what Triton refuses
                print("refused", given, str(error)[:100], flush=True)
    (DATA / "conversions.json.gz").write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
