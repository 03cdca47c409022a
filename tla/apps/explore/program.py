"""The use of memory of an HLO program, whose text is given to the page."""

from __future__ import annotations

import io
from typing import Any

from ... import xla
from ...core.errors import RangeError
from ..hlo_report import as_html
from .question import Question


def report(question: Question) -> dict[str, Any]:
    """The report of a program's first memory space, as `tla hlo FILE -o report.html` writes it; the question's
    text is the program.

    Raises   ParseError for what is no HLO text, RangeError where nothing takes memory

    >>> text = "HloModule m, is_scheduled=true\\nENTRY e {\\n  p = f32[256]{0} parameter(0)\\n  ROOT n = f32[256]{0} negate(p)\\n}"
    >>> report(Question(text))["text"].count("<svg")
    1
    """
    memory = xla.memory(io.BytesIO(question.text.encode()))
    if not memory.peak:
        what, fix = "a program in which nothing takes memory", "take the text after optimizations, with a schedule"
        raise RangeError(what, "one with arrays", fix)
    text = as_html(memory, min(memory.peak), "Memory of a program")
    return {"name": "report.html", "type": "text/html", "text": text}
