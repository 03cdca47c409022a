"""HLO text: the time that reading it takes, beside jaxlib's parser where it is installed.

    pip install jaxlib                      # if you want it beside tla
    python tests/bench/hlo.py [FILE...]     # by default the programs of tests/data/hlo and tests/data/xla/programs

Of the build that is imported, pure or compiled. All readers take each program in turn, so that a busy machine slows
them alike; the best of the rounds counts. Each has read the program just before, so the processor's caches are warm for
all. cold: what `tla` remembers is cleared then; warm: it is kept. What is compared:

    read_hlo    every instruction, checked as a whole line, as a value; its shapes with their layouts, what is in its
                attributes as text
    memory      xla.memory: the program followed step by step, each buffer with its range and its bytes, contradictions
                and unknown names
    census      shape_usage: every array shape in the text and how often it stands there; of each its bytes, its waste,
                and its layout, lowered
    jaxlib      hlo_module_from_text: XLA's graph of the module, its shapes with their layouts. It remembers nothing,
                and does not stream
"""

import gzip
import io
import math
import statistics
import sys
import time
from pathlib import Path

ROUNDS = 7
DATA = Path(__file__).parents[1] / "data"


def text_of(path):
    raw = Path(path).read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def readers():
    """name -> whether it begins cold, a function of a text."""
    from tla import xla

    def instructions(text):
        return sum(1 for _ in xla.read_hlo(io.StringIO(text)))

    found = {
        "read_hlo, cold": (True, instructions),
        "read_hlo, warm": (False, instructions),
        "read_hlo, warm, and printed": (
            False,
            lambda text: sum(len(str(x.instruction)) for x in xla.read_hlo(io.StringIO(text))),
        ),
        "memory, cold": (True, lambda text: xla.memory(io.StringIO(text), scheduled=True)),
        "memory, warm": (False, lambda text: xla.memory(io.StringIO(text), scheduled=True)),
        "census, cold": (True, xla.shape_usage),
        "census, warm": (False, xla.shape_usage),
        "texts of shapes alone": (False, lambda text: list(xla.shape_texts(text))),
    }
    try:
        from jaxlib import _hlo
    except ImportError:
        return found
    return {**found, "jaxlib": (False, _hlo.hlo_module_from_text)}


def accepted(read, text):
    """Whether a reader takes a text: jaxlib refuses an async-update that brings operands, which libtpu prints for
    SparseCores."""
    try:
        read(text)
    except RuntimeError:
        return False
    return True


def seconds(cold, read, text):
    import tla

    read(text)
    if cold:
        tla.cache_clear()
    start = time.process_time()
    read(text)
    return time.process_time() - start


def main():
    import tla

    paths = sys.argv[1:] or [*sorted(DATA.glob("hlo/*__*.txt")), *sorted(DATA.glob("xla/programs/*.txt.gz"))]
    texts = [text_of(path) for path in paths]
    runs = readers()
    texts = [text for text in texts if all(accepted(read, text) for _cold, read in runs.values())]
    best = {name: [math.inf] * len(texts) for name in runs}
    for _round in range(ROUNDS):
        for k, text in enumerate(texts):
            for name, (cold, read) in runs.items():
                best[name][k] = min(best[name][k], seconds(cold, read, text))
    size = sum(map(len, texts)) / 1e6
    print(
        f"tla {tla.__version__}, {tla.build_info()}: {size:.1f} MB in {len(texts)} modules, the best of {ROUNDS} rounds"
    )
    print(f"{'':30}{'MB/s':>6}" + ("   of jaxlib's time: all, least, median, most" if "jaxlib" in runs else ""))
    for name, took in best.items():
        ratios = [a / b for a, b in zip(took, best.get("jaxlib", ()))]
        shown = (sum(took) / sum(best["jaxlib"]), min(ratios), statistics.median(ratios), max(ratios)) if ratios else ()
        print(f"{name:30}{size / sum(took):6.1f}   " + "".join(f"{r:8.2f}" for r in shown))


if __name__ == "__main__":
    main()
