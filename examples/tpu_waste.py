"""Where does the memory of a TPU program go? The array shapes of an HLO text that lose the most to padding.

python examples/tpu_waste.py [FILE]
"""

import sys
from pathlib import Path

from tla import xla

SAMPLE = Path(__file__).parent.parent / "tests" / "data" / "hlo" / "fp8_matmul__tpu7x.txt"


def main(path):
    with open(path, encoding="utf-8", errors="replace") as lines:
        usage = xla.shape_usage(lines)
    for use in usage[:5]:
        if use.layout is None:
            print(f"{use.text}: {use.refused}")
            continue
        print(f"{use.text}: {use.waste:,} of {use.bytes:,} bytes hold no element")
        for extent, mode in zip(use.layout.origin_shape, use.layout):
            print(f"    {extent:6d} of {mode}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
