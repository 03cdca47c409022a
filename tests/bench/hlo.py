"""HLO text: megabytes per second of process time, beside jaxlib where it is installed.

    pip install jaxlib                      # if you want it beside tla
    python tests/bench/hlo.py [FILE...]     # by default the programs of tests/data/hlo

jaxlib parses whole modules into its own graph, and does not stream: its column is there for the order of magnitude.
"""

import io
import math
import sys
import time
from pathlib import Path

ROUNDS, SIZE = 5, 8_000_000
DATA = Path(__file__).parents[1] / "data" / "hlo"


def operations(modules, text):
    """name -> a function that works through the whole text."""
    from tla import xla

    yield "tla: census of shapes", lambda: sum(1 for _ in xla.shape_texts(text))
    yield "tla: census with layouts and sizes", lambda: len(xla.shape_usage(text))
    yield "tla: instructions", lambda: sum(1 for _ in xla.read_hlo(io.StringIO(text)))
    yield "tla: instructions, printed", lambda: sum(len(str(x.instruction)) for x in xla.read_hlo(io.StringIO(text)))
    try:
        from jaxlib import _hlo as hlo
    except ImportError:
        return
    yield "jaxlib: modules", lambda: sum(hlo.hlo_module_from_text(module) is not None for module in modules)


def megabytes_per_second(run, size):
    best = math.inf
    for _round in range(ROUNDS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return size / best / 1e6


def main():
    paths = [Path(name) for name in sys.argv[1:]] or sorted(DATA.glob("*__*.txt"))
    once = [path.read_text(encoding="utf-8") for path in paths]
    modules = once * max(1, SIZE // sum(map(len, once)))
    text = "\n".join(modules)
    print(f"{len(text) / 1e6:.1f} MB in {len(modules)} modules")
    for name, run in operations(modules, text):
        print(f"{name:40}{megabytes_per_second(run, len(text)):8.1f} MB/s")


if __name__ == "__main__":
    main()
