"""What CATLASS's kernels issue on a core, recorded: `tests/data/catlass_logs.json.gz`; data/README.md says how."""

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

with gzip.open(Path(__file__).parent.parent / "data" / "catlass_logs.json.gz", "rt") as f:
    LOGS = json.load(f)


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
