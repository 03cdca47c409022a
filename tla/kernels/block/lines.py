"""The line of a kernel's source that a statement stands at.

Source: ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = str(Path(__file__).parent.parent)


class Line(NamedTuple):
    """A line of a kernel's source.

    >>> from tla.kernels.block.lines import Line
    >>> print(Line("sgemm_1.py", 41))
    sgemm_1.py:41
    """

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


def line() -> Line:
    """The line that called a statement: the first frame outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Line(Path(frame.f_code.co_filename).name, frame.f_lineno)


def line_of(function: Callable[..., Any], error: BaseException) -> Line:
    """The last line of the function's own that an error went through."""
    code, trace, number = function.__code__, error.__traceback__, function.__code__.co_firstlineno
    while trace is not None:
        number = trace.tb_lineno if trace.tb_frame.f_code is code else number
        trace = trace.tb_next
    return Line(Path(code.co_filename).name, number)
