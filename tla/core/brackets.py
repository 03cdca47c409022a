"""Split a text at the commas that stand in no bracket."""

from __future__ import annotations

import itertools


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
