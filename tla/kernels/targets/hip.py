"""A kernel as HIP, for AMD's GPUs.

Source: AMD's HIP documentation.
"""

from __future__ import annotations

from ..text.source import Parts, Source
from .amd import Builtins
from .grid import Runtime, write_grid


def write(parts: Parts) -> Source:
    """The text of a program as HIP. Source: ours."""
    exchanged, adds = (
        "__shfl_xor({}, {})",
        "__hip_atomic_fetch_add(&{}, {}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);",
    )
    runtime = Runtime("hip", "__HIPCC_RTC__", None, exchanged, adds, lambda _fenced: Builtins())
    return write_grid(parts, runtime)
