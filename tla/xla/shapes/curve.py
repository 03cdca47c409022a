"""The bytes that a program holds over its schedule, as lines of text and as a picture (SVG).

Source: ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_WIDTH, _HEIGHT, _EDGE = 800, 240, 40


def in_units(n: int) -> str:
    """Bytes for people to read.

    >>> in_units(5726068224), in_units(1536), in_units(12)
    ('5.333 GiB', '1.5 KiB', '12 B')
    """
    for size, unit in _UNITS:
        if n >= size:
            return f"{n / size:.4g} {unit}"
    return f"{n} B"


def columns(curve: Sequence[int], count: int) -> list[int]:
    """The curve in at most `count` parts, each the largest of its steps.

    >>> columns([1, 5, 2, 3], 2), columns([1, 2], 9)
    ([5, 3], [1, 2])
    """
    count = min(count, len(curve))
    cuts = [len(curve) * k // count for k in range(count + 1)] if count else []
    return [max(curve[a:b]) for a, b in itertools.pairwise(cuts)]


def as_text(curve: Sequence[int], width: int = 72, height: int = 8) -> str:
    """The curve as lines of characters, from 0 to its peak.

    >>> print(as_text([0, 4, 8, 2], height=4))
      #
      #
     ##
     ###
    """
    tops = columns(curve, width)
    peak = max(tops, default=0)
    levels = (peak * level for level in reversed(range(height)))
    rows = ("".join("#" if top and top * height > level else " " for top in tops) for level in levels)
    return "\n".join(row.rstrip() for row in rows)


def as_svg(curve: Sequence[int], title: str = "") -> str:
    """The curve as a picture: steps from left to right, bytes upwards from 0 to the peak.

    >>> as_svg([1, 2]).startswith("<svg ")
    True
    """
    tops = columns(curve, _WIDTH - 2 * _EDGE)
    peak, wide = max(tops, default=0) or 1, (_WIDTH - 2 * _EDGE) / max(1, len(tops))
    low, high = _HEIGHT - _EDGE, _HEIGHT - 2 * _EDGE
    points = [f"{_EDGE},{low}"]
    for k, top in enumerate(tops):
        y = low - high * top / peak
        points += [f"{_EDGE + k * wide:.2f},{y:.2f}", f"{_EDGE + (k + 1) * wide:.2f},{y:.2f}"]
    points.append(f"{_WIDTH - _EDGE},{low}")
    name = title.replace("&", "&amp;").replace("<", "&lt;")
    label = f"{name + ': ' if name else ''}{in_units(max(curve, default=0))} at the peak, {len(curve)} steps"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="14">'
        f'<text x="{_EDGE}" y="{_EDGE - 12}">{label}</text>'
        f'<polygon points="{" ".join(points)}" fill="#4c78a8"/>'
        f'<path d="M{_EDGE} {low}H{_WIDTH - _EDGE}" stroke="#333"/></svg>\n'
    )
