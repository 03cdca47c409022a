"""HLO text: megabytes per second of process time, beside jaxlib's parser where it is installed.

    pip install jaxlib                      # if you want it beside tla
    python tests/bench/hlo.py [FILE...]     # by default the programs of tests/data/hlo and tests/data/xla/programs

Each program is read once a round, all readers in turn, so that a busy machine slows them alike. cold: nothing is remembered when the round
begins; warm: the shapes of these programs are. jaxlib remembers nothing; it makes its own graph of the module, and does not stream.
"""

import gzip
import io
import math
import sys
import time
from pathlib import Path

ROUNDS = 7
DATA = Path(__file__).parents[1] / "data"


def text_of(path):
    raw = Path(path).read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def operations(texts):
    """name, whether it begins cold, a function that works through all texts."""
    from tla import xla

    def each(read):
        return lambda: sum(read(text) for text in texts)

    instructions = each(lambda text: sum(1 for _ in xla.read_hlo(io.StringIO(text))))
    yield "tla: instructions, cold", True, instructions
    yield "tla: instructions, warm", False, instructions
    yield "tla: instructions, printed", False, each(lambda text: sum(len(str(x.instruction)) for x in xla.read_hlo(io.StringIO(text))))
    yield "tla: census of shapes", False, each(lambda text: sum(1 for _ in xla.shape_texts(text)))
    yield "tla: census with layouts and sizes", True, each(lambda text: len(xla.shape_usage(text)))
    try:
        from jaxlib import _hlo as hlo
    except ImportError:
        return
    yield "jaxlib: modules", False, each(lambda text: hlo.hlo_module_from_text(text) is not None)


def seconds(cold, run):
    import tla

    if cold:
        tla.cache_clear()
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    paths = sys.argv[1:] or [*sorted(DATA.glob("hlo/*__*.txt")), *sorted(DATA.glob("xla/programs/*.txt.gz"))]
    texts = [text_of(path) for path in paths]
    size = sum(map(len, texts))
    print(f"{size / 1e6:.1f} MB in {len(texts)} modules; the best of {ROUNDS} rounds")
    runs = [*operations(texts)]
    best = [math.inf] * len(runs)
    for _round in range(ROUNDS):
        best = [min(b, seconds(cold, run)) for b, (_name, cold, run) in zip(best, runs)]
    beside = best[-1] if runs[-1][0].startswith("jaxlib") else None
    for (name, _cold, _run), took in zip(runs, best):
        ratio = f"{took / beside:8.2f} times jaxlib's time" if beside else ""
        print(f"{name:40}{size / took / 1e6:8.1f} MB/s{ratio}")


if __name__ == "__main__":
    main()
