"""What CATLASS's kernels issue on a core, and on all of several, recorded: `tests/data/catlass_logs.json.gz` and
`catlass_cores.json.gz`; data/README.md says how."""

import gzip
import json
from pathlib import Path

from tla import MakeLayout, ascend

ELEMENTS = {
    "half": ascend.half,
    "float": ascend.float32,
    "int8": ascend.int8,
    "int32": ascend.int32,
    "uint8": ascend.uint8,
}


def _recorded(name):
    with gzip.open(Path(__file__).parent.parent / "data" / name, "rt") as f:
        return json.load(f)


LOGS, CORES = _recorded("catlass_logs.json.gz"), _recorded("catlass_cores.json.gz")


def tensors_of(log):
    """The tensors of a recorded log: address, element type and layout of each."""
    found = {}
    for name, (address, element, tag, sizes) in log["tensors"].items():
        kind = ELEMENTS[element]
        if tag == "VectorLayout":
            layout = MakeLayout(*sizes)
        elif tag == "index":  # of a sparse matrix: bytes in blocks of 8 by 16
            layout = MakeLayout[ascend.int32, ascend.nZ](*sizes)
        else:
            layout = MakeLayout[kind, getattr(ascend, tag)](*sizes)
        found[name] = address, kind, layout
    return found
