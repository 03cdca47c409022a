"""Colours that the colour-blind tell apart, as `#rrggbb`.

Eight hues, each in four strengths, all so light that black text is read on them; strengths differ in lightness, so they
last in grey print too.

Source: Okabe and Ito, Color Universal Design, 2008; its black is a grey here.
"""

from __future__ import annotations

import operator
import re

from ..core.cache import plain_memo
from ..core.errors import RangeError

#: name -> the hue, and how much of it is in a fill; the rest is white. With these parts no two fills are close to each
#: other in any kind of colour-blindness: tests/viz/test_viz.py has the distances.
HUES = {
    "sky": ("#56b4e9", 0.85),
    "orange": ("#e69f00", 0.55),
    "green": ("#009e73", 0.85),
    "yellow": ("#f0e442", 0.85),
    "purple": ("#cc79a7", 0.75),
    "vermillion": ("#d55e00", 0.55),
    "blue": ("#0072b2", 0.35),
    "grey": ("#999999", 0.3),
}
_NAMES = [*HUES]
_STRENGTHS = (1, 0.7, 0.45, 0.25)
#: So many tints there are.
TINTS = len(HUES) * len(_STRENGTHS)
#: So many steps a ramp has, and its ends.
RAMP = 64
_LIGHT, _DARK = "#fff6cc", "#4a9cc9"
_HEX = re.compile("#[0-9a-f]{6}", re.ASCII)


def tint(n: int) -> str:
    """The n-th colour: 0 to 7 are the hues, 8 to 15 these again, weaker; after 31 it begins anew.

    >>> tint(0), tint(8), tint(32) == tint(0)
    ('#6fbfec', '#9ad2f2', True)
    """
    hue, part = HUES[_NAMES[n % 8]]
    return _mix("#ffffff", hue, part * _STRENGTHS[n // 8 % 4])


def ramp(step: int) -> str:
    """Step 0 to 63 of a scale from light yellow to blue: for what has an order.

    >>> ramp(0), ramp(63)
    ('#fff6cc', '#4a9cc9')
    """
    return _mix(_LIGHT, _DARK, step / (RAMP - 1))


def colour(x: int | str | None) -> str | None:
    """x as a colour: the number of a tint, the name of a hue, or `#rrggbb`; None is no colour.

    >>> colour(1), colour("orange"), colour("#ABCDEF"), colour(None)
    ('#f1ca73', '#f1ca73', '#abcdef', None)

    Raises RangeError for anything else.
    """
    if x is None:
        return None
    if isinstance(x, str):
        if x in HUES:
            return tint(_NAMES.index(x))
        if _HEX.fullmatch(x.lower()):
            return x.lower()
    else:
        try:
            return tint(operator.index(x))
        except TypeError:
            pass
    raise RangeError(f"the colour {x!r:.60}", f"a number, #rrggbb, or one of {', '.join(HUES)}", "write 'orange', or 1")


def rgb(fill: str) -> tuple[int, int, int]:
    """
    >>> rgb("#ff8000")
    (255, 128, 0)
    """
    return int(fill[1:3], 16), int(fill[3:5], 16), int(fill[5:7], 16)


@plain_memo
def ink(fill: str | None) -> str:
    """The colour of text on a fill: black, or white where that is read better.

    >>> ink("#a2d6f3"), ink("#0072b2"), ink(None)
    ('#000000', '#ffffff', '#000000')

    Source: the relative luminance of WCAG 2, with gamma 2.
    """
    if fill is None:
        return "#000000"
    r, g, b = (c * c / 65025 for c in rgb(fill))
    return "#000000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#ffffff"


def _mix(a: str, b: str, part: float) -> str:
    return "#" + "".join(f"{round(x + (y - x) * part):02x}" for x, y in zip(rgb(a), rgb(b)))
