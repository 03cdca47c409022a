"""The lines of a text of Python: where a statement ends."""

from __future__ import annotations

import re

#: What a line's end may stand in: comments, texts and brackets.
_MARKS = re.compile(r"#[^\n]*|\\\n|\"\"\"(?:[^\"]|\"(?!\"\"))*\"\"\"|\"[^\"\n]*\"|'[^'\n]*'|[()\[\]{}\n]")


def by_lines(text: str) -> str:
    """A text of Python whose statements end with a semicolon instead of a line's end; all stands where it stood."""
    depth, parts, place = 0, [], 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "\n" and depth <= 0:
            mark = ";"
        elif mark[0] in "#\\" or mark.startswith('"""'):
            mark = " " * len(mark)
        parts += [text[place : found.start()], mark]
        place = found.end()
    return "".join(parts) + text[place:]
