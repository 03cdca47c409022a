"""Brackets in texts from outside: where one ends, and what stands between the commas outside of them."""

from __future__ import annotations

import itertools
import re


def closing(text: str, start: int, bracket: str = "()") -> int | None:
    """The position behind the bracket that closes the one at `start`; None if it stays open.

    >>> closing("f(a(b)c)d", 1), closing("(a", 0)
    (8, None)
    """
    depth = 0
    for found in re.compile(f"[{re.escape(bracket)}]").finditer(text, start):
        depth += 1 if found[0] == bracket[0] else -1
        if depth == 0:
            return found.end()
    return None


def split(text: str) -> list[str]:
    """The parts of a text between the commas that no bracket holds, without blanks around them.

    >>> split("A<1, 2>, {3, [4, 5]}, 6")
    ['A<1, 2>', '{3, [4, 5]}', '6']
    """
    depth, commas = 0, [-1]
    for at, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            commas.append(at)
    return [text[low + 1 : high].strip() for low, high in itertools.pairwise([*commas, len(text)])]
