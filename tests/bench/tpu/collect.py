"""Programs that harness.py compiled, as test data: tests/data/xla/programs, with XLA's account of each.

    python tests/bench/tpu/collect.py NAME...       # FAMILY:SEED:TOPOLOGY of harness.py

Source lines and what the compiler keeps for itself are left out of the texts: metadata, and of backend_config all but
what says which operands a result may overwrite, and how often a loop runs.
"""

import gzip
import json
import re
import sys
from pathlib import Path

import harness

DATA = Path(__file__).parents[2] / "data" / "xla" / "programs"
KEPT = ("aliasing_operands", "known_trip_count")


def short(text):
    """The text of a module without what no reader of memory looks at."""
    head, _, rest = text.partition("\n\nFileNames")
    body = rest[rest.index("\n\n\n") :] if rest else ""
    text = (head + body if rest else text).replace("\n\n\n", "\n\n")
    return "\n".join(shortened(line) for line in text.splitlines()) + "\n"


def shortened(line):
    line = re.sub(r", metadata=\{[^{}]*\}", "", line)
    at = line.find(", backend_config={")
    if at < 0:
        return line
    config, end = json.JSONDecoder().raw_decode(line, at + len(", backend_config="))
    kept = {k: config[k] for k in KEPT if k in config and config[k] != {"lists": []}}
    return line[:at] + (f", backend_config={json.dumps(kept, separators=(',', ':'))}" if kept else "") + line[end:]


def main(names):
    path = DATA / "memory.json.gz"
    truth = json.loads(gzip.decompress(path.read_bytes()))
    for name in names:
        folder = harness.compiled(name)
        family, _seed, topology = name.split(":", 2)
        short_name = f"{family}__{topology.partition(':')[0]}"
        text = short((folder / "program.txt").read_text())
        (DATA / f"{short_name}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        found = harness.facts(folder)
        truth["programs"][short_name] = {k: found[k] for k in ("topology", "peak", "heap", "values", "ranges")}
    path.write_bytes(gzip.compress(json.dumps(truth, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
