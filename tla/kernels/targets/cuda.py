"""A kernel as CUDA: no headers but CUDA's own.

Source: the CUDA C++ Programming Guide.
"""

from __future__ import annotations

from ..text.source import Parts, Source
from .grid import Runtime, write_grid
from .ptx import Ptx


def write(parts: Parts) -> Source:
    """The text of a program as CUDA. Source: ours."""
    exchanged, adds = "__shfl_xor_sync(0xffffffffu, {}, {})", "atomicAdd(&{}, {});"
    runtime = Runtime("cuda", "__CUDACC_RTC__", "__maxnreg__({})", exchanged, adds, lambda fenced: Ptx(fenced=fenced))
    return write_grid(parts, runtime)
