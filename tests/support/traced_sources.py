"""Source of other systems: where their headers are, and the CuTe DSL traced."""

import functools
import importlib.util
import re
import shutil
from pathlib import Path

import pytest


@functools.cache
def include_folders():
    """Where CuTe's headers are, and CUDA's; skips where they are not."""
    spec = importlib.util.find_spec("cutlass_library")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs CuTe's headers: pip install --no-deps nvidia-cutlass")
    cuda = [
        p
        for p in Path("/usr/local").glob("cuda*/include*")
        for p in (p, p / "cccl")
        if (p / "cuda/std/utility").exists()
    ]
    if not cuda or not shutil.which("g++"):
        pytest.skip("needs g++ and the headers of CUDA in /usr/local")
    return [Path(spec.submodule_search_locations[0]) / "source/include", cuda[0], cuda[0].parent]


def traced(x):
    """What the type of x is called in a trace: static integers are digits, dynamic ones a question mark."""

    def part(text):
        return text[:1] + text[2:] if text.startswith("Sw") else re.sub(r"(_?)(-?[0-9]+)((?:@[0-9]+)*)", digits, text)

    def digits(found):
        static, n, path = found.groups()
        return (n if static else "?") + path

    return " o ".join(map(part, str(x).split(" o ")))
