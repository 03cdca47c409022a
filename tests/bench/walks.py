"""What a reader meets who follows five jobs through the code, in the order of its calls.

    python tests/bench/walks.py

Of each job: the files below tla/ that its calls enter, without core and with it, and the ways back up: calls from a
file into one that imports it, directly or through others; what a decorator calls counts as called by who called the
decorated function. Nothing is remembered from before, and what a job loads is loaded before it is followed.
"""

import ast
import functools
import io
import sys
from pathlib import Path

import numpy as np

import tla
from tla import MakeTensor, composition, gpu, parse, xla
from tla.codegen import emit

ROOT = Path(tla.__file__).parent
HLO = """HloModule m, is_scheduled=true
ENTRY %main (a: f32[16,128]) -> f32[16,128] {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  %b = f32[16,128]{0,1:T(8,128)} negate(%a)
  ROOT %c = f32[16,128]{1,0:T(8,128)} copy(%b)
}"""


A, B = parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)")
EMITTED = parse("((_4,_2),_8):((_1,_32),_4)")
THREADS, VALUES, ROWS = parse("(_32,_4):(_4,_1)"), parse("(_1,_8):(_0,_1)"), parse("(_32,_32):(_32,_1)")


def compose():
    composition(A, B)


def lower():
    xla.lower(xla.parse_shape("f32[3,5]{1,0:T(2,2)}"))


def write():
    emit(EMITTED, "c")


def add_up():
    xla.memory(io.StringIO(HLO))


def copy():
    tiled = gpu.make_tiled_copy(
        gpu.Copy_Atom[gpu.UniversalCopy[gpu.uint128], gpu.half], parse("(_32,_4):(_4,_1)"), parse("(_1,_8):(_0,_1)")
    )
    a, b = (MakeTensor(np.zeros(1024, np.float16), ROWS) for _ in range(2))
    threads = tiled[np.arange(128)]
    gpu.copy(tiled, threads.partition_S(a), threads.partition_D(b))


JOBS = {
    "two layouts are composed": compose,
    "an XLA shape is lowered": lower,
    "a layout is emitted": write,
    "a program's memory is added up": add_up,
    "a tile is copied by threads": copy,
}


def followed(job):
    """The files of tla that the calls of a job enter, each pair of caller and called once."""
    entered, pairs = [], set()

    def note(frame, event, _argument):
        if event != "call":
            return
        caller = frame.f_back
        while caller.f_back and "f" in caller.f_code.co_freevars:  # a decorator: who called it called this
            caller = caller.f_back
        name, back = frame.f_code.co_filename, caller.f_code.co_filename
        if name.startswith(str(ROOT)):
            entered.append(name)
            if back.startswith(str(ROOT)) and back != name:
                pairs.add((back, name))

    tla.cache_clear()
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return list(dict.fromkeys(entered)), pairs


@functools.cache
def below(path):
    """The files that a file imports, directly."""
    inside = Path(path).relative_to(ROOT).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            at = ROOT.joinpath(*inside[: len(inside) - node.level + 1], *(node.module or "").split("."))
            for candidate in (at.with_suffix(".py"), *(at / f"{alias.name}.py" for alias in node.names)):
                if candidate.is_file():
                    found.add(str(candidate))
    return found


@functools.cache
def reached(path):
    """All files that a file stands on."""
    found, rest = set(), [path]
    while rest:
        for name in below(rest.pop()) - found:
            found.add(name)
            rest.append(name)
    return frozenset(found)


def main():
    print("| job | files beside core | with core | ways back up |\n|---|---|---|---|")
    for name, job in JOBS.items():
        job()
        files, pairs = followed(job)
        core = [path for path in files if Path(path).relative_to(ROOT).parts[0] == "core"]
        up = [pair for pair in pairs if pair[0] in reached(pair[1]) and pair[1] not in reached(pair[0])]
        print(f"| {name} | {len(files) - len(core)} | {len(files)} | {len(up)} |")
        if "-v" in sys.argv:
            print(
                *(Path(path).relative_to(ROOT) for path in files),
                *(tuple(str(Path(p).relative_to(ROOT)) for p in pair) for pair in up),
                sep="\n",
            )


if __name__ == "__main__":
    main()
