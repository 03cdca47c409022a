"""Random reductions, scans, gathers, histograms and atomics that Triton compiled without a GPU, as test data:
tests/data/ttgir/together.json.gz.

    python tests/bench/triton_programs/together.py       # needs Triton 3.9

Of each program there is the TTGIR without its locations, and how often its PTX has each memory instruction,
shuffle and atomic.
"""

import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

PATH = Path(__file__).parents[2] / "data" / "ttgir" / "together.json.gz"
COUNT = 200
_LOC = re.compile(r" loc\((?:[^()]|\([^()]*\))*\)|^#loc.*\n", re.MULTILINE)
_COUNTED = re.compile(r"\b((?:ld|st)\.(?:shared|global)|ldmatrix|stmatrix|shfl|redux|atom|red\.global)\b")
_DECLARED = (".loc", "//", ".file", ".b8", ".shared", ".extern", ".global", ".visible")


@triton.jit
def total(x, y, A: tl.constexpr, B: tl.constexpr, AXIS: tl.constexpr):
    v = tl.load(x + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    tl.store(y + tl.arange(0, A if AXIS == 1 else B), tl.sum(v, AXIS))


@triton.jit
def first(x, y, A: tl.constexpr, B: tl.constexpr, AXIS: tl.constexpr):
    v = tl.load(x + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    tl.store(y + tl.arange(0, A if AXIS == 1 else B), tl.argmax(v, AXIS))


@triton.jit
def running(x, y, A: tl.constexpr, B: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), AXIS))


@triton.jit
def added(x, y, A: tl.constexpr, B: tl.constexpr, USED: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    before = tl.atomic_add(y + at, tl.load(x + at))
    if USED:
        tl.store(x + at, before)


@triton.jit
def counted(x, y, A: tl.constexpr, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.histogram(tl.load(x + tl.arange(0, A)), B))


@triton.jit
def picked(x, i, y, A: tl.constexpr, B: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(i + at), AXIS))


def program(choose):
    """A kernel, the types of its arguments, its constants, the number of warps and the target."""
    function = choose.choice([total, total, first, running, running, added, counted, picked])
    kinds = ["fp32", "fp16", "i32", "fp64", "i8"] if function in (total, running) else ["fp32", "fp16", "i32"]
    kind = choose.choice(kinds)
    a, b = 2 ** choose.randrange(7), 2 ** choose.randrange(2, 11)
    constants = {"A": max(1, min(a, 8192 // b)), "B": b, "AXIS": choose.randrange(2), "USED": choose.randrange(2)}
    types = {
        "x": f"*{kind}",
        "i": "*i32",
        "y": f"*{'i32' if function is first or (kind, function) == ('i8', total) else kind}",
    }
    if function is counted:
        types, constants = (
            {"x": "*i32", "y": "*i32"},
            {"A": 2 ** choose.randrange(5, 13), "B": 2 ** choose.randrange(1, 10)},
        )
    return function, types, constants, choose.choice([1, 2, 4, 8]), choose.choice([80, 90])


def compiled(function, types, constants, warps, version):
    names = function.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    divides = {(k,): [["tt.divisibility", 16]] for k, name in enumerate(names) if name in types}
    source = ASTSource(function, signature, {name: constants[name] for name in names if name in constants}, divides)
    return triton.compile(source, target=GPUTarget("cuda", version, 32), options={"num_warps": warps}).asm


def instructions(ptx):
    """How often PTX has each kind of instruction."""
    lines = (line.strip() for line in ptx.splitlines())
    return Counter(name for line in lines if not line.startswith(_DECLARED) for name in _COUNTED.findall(line))


def main():
    choose, rows = random.Random(33), []
    while len(rows) < COUNT:
        given = program(choose)
        made = compiled(*given)
        rows.append({"name": given[0].__name__, "ttgir": _LOC.sub("", made["ttgir"]), "ptx": instructions(made["ptx"])})
        print(len(rows), rows[-1]["name"], rows[-1]["ptx"], flush=True)
    PATH.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":"), sort_keys=True).encode(), mtime=0))


if __name__ == "__main__":
    main()
