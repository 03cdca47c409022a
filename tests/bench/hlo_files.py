"""Large HLO files and folders of them: the account of memory by the second and by the byte, beside jaxlib's parser.

    pip install jaxlib                                     # if you want it beside tla
    python tests/bench/hlo_files.py [MEGABYTES] [FILE...]  # by default 50, of the largest of tests/data/xla/programs

A large file is one module whose ENTRY computation has the instructions of a real program many times over, each time
with names of their own, as have the computations that they call. Each reader reads it in a process of its own, in turn:
processor time, and the most memory that the process had (ru_maxrss); "peak" is the command `tla hlo --by peak`, from its
start to its end, all that it prints included. Then a folder of eight files of an eighth of the
size each, by one process and by two: processor time of all of them, and the time that passed. What the machine allows is
said beside it: two processes that share nothing, each with a folder of half of the files.
"""

import gzip
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
ROUNDS = 3
READERS = ("memory", "peak", "census", "jaxlib")


def text_of(path):
    raw = Path(path).read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def grown(texts, size):
    """One module of copies of programs, of so many bytes at least."""
    parts, last, made, parameters = [], [], 0, 0
    for number, text in enumerate(itertools.cycle(texts)):
        body = text[re.search(r"^(ENTRY )?%", text, re.MULTILINE).start() :]
        body = re.sub(r"%([\w.-]+)", rf"%\1.c{number}", body)
        start = body.index("ENTRY ")
        result = re.search(r"-> (.*) \{$", body[start:], re.MULTILINE)[1]
        lines = body[body.index("\n", start) + 1 : body.index("\n}", start)].split("\n")
        lines, parameters = renumbered(lines, parameters)
        parts.append(body[:start])
        last += lines
        made += len(body)
        if made >= size:
            break
    last.append(re.sub(r"^ +%", "  ROOT %", last.pop()))
    return (
        "HloModule grown, is_scheduled=true\n\n"
        + "".join(parts)
        + "\n".join([f"ENTRY %main () -> {result} {{", *last, "}\n"])
    )


def renumbered(lines, first):
    """The lines of an ENTRY computation without a root, parameters numbered from `first` on, and the next number."""
    count = sum(" parameter(" in line for line in lines)
    text = re.sub(r" parameter\((\d+)\)", lambda m: f" parameter({int(m[1]) + first})", "\n".join(lines))
    return text.replace("  ROOT %", "  %").split("\n"), first + count


def one(reader, path):
    """Read a file in this process, or by a command: print processor seconds and the most memory that there was [MB]."""
    if reader == "peak":
        command = [sys.executable, "-m", "tla", "hlo", path, "--by", "peak"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        who = resource.RUSAGE_CHILDREN
        print(json.dumps([processor(who), resource.getrusage(who).ru_maxrss / 1024]))
        return
    text = Path(path).read_text() if reader == "jaxlib" else None
    if reader == "jaxlib":
        from jaxlib import _hlo

        read = lambda: _hlo.hlo_module_from_text(text)  # noqa: E731
    else:
        from tla import xla

        ask = getattr(xla, reader)
        read = lambda: ask(path)  # noqa: E731
    start = time.process_time()
    read()
    took = time.process_time() - start
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def folder(path, workers):
    """Read a folder by so many processes: print the processor seconds of all of them and the seconds that passed."""
    from tla import xla

    start = time.perf_counter(), sum(map(processor, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    found = xla.census(path, int(workers))
    assert not found.refused, found.refused
    used = sum(map(processor, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))) - start[1]
    print(json.dumps([used, time.perf_counter() - start[0]]))


def processor(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def asked(*arguments):
    """What a process of this script prints; None where it fails, as without jaxlib."""
    done = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True)
    return None if done.returncode else json.loads(done.stdout)


def apart(folders):
    """The processor seconds of a process for each folder, all at once, and the time that passed in the slowest."""
    with ThreadPoolExecutor() as pool:
        used, passed = zip(*pool.map(lambda path: asked("--folder", path, 1), folders))
    return [sum(used), max(passed)]


def least(rows):
    rows = [row for row in rows if row is not None]
    return [min(column) for column in zip(*rows)]


def main(megabytes, paths):
    texts = [text_of(path) for path in paths]
    with tempfile.TemporaryDirectory() as place:
        whole, several = Path(place, "whole.txt"), Path(place, "several")
        whole.write_text(grown(texts, int(megabytes * 1e6)))
        size = whole.stat().st_size / 1e6
        rounds = [[asked("--one", reader, whole) for reader in READERS] for _ in range(ROUNDS)]
        best = {reader: least(column) for reader, column in zip(READERS, zip(*rounds))}
        for reader, row in best.items():
            of = f", {row[0] / best['jaxlib'][0]:.2f} of jaxlib's time" if row and best["jaxlib"] else ""
            print(
                f"{reader:8} {size:.1f} MB: {size / row[0]:.1f} MB/s{of}, {row[1]:.0f} MB" if row else f"{reader}: none"
            )
        several.mkdir()
        halves = [Path(place, name) for name in ("one", "two")]
        for k in range(8):
            path = several / f"{k}.txt"
            path.write_text(grown([texts[k % len(texts)]], int(megabytes * 1e6 / 8)))
            half = halves[k % 2]
            half.mkdir(exist_ok=True)
            (half / path.name).hardlink_to(path)
        ways = {
            "one process": lambda: asked("--folder", several, 1),
            "two processes": lambda: asked("--folder", several, 2),
            "two that share nothing": lambda: apart(halves),
        }
        rounds = [[way() for way in ways.values()] for _ in range(ROUNDS)]
        for name, row in zip(ways, map(least, zip(*rounds))):
            print(f"folder of 8 files, {name}: {row[0]:.1f} s of processors, {row[1]:.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    elif sys.argv[1:2] == ["--folder"]:
        folder(*sys.argv[2:])
    else:
        every = sorted(DATA.glob("xla/programs/*.txt.gz"), key=lambda path: -path.stat().st_size)
        main(float(sys.argv[1]) if sys.argv[1:] else 50.0, sys.argv[2:] or every[:3])
