"""A kernel as HIP, for AMD's GPUs.

Source: AMD's HIP documentation.
"""

from __future__ import annotations

from ..text.source import Parts, Source
from .amd import Builtins
from .grid import Runtime, write_grid


def write(parts: Parts) -> Source:
    """The text of a program as HIP. Source: ours."""
    return write_grid(
        parts, Runtime("hip", "__HIPCC_RTC__", None, "__shfl_xor({}[{}], {})", lambda _fenced: Builtins())
    )
