"""What a notebook shows of layouts, XLA shapes and the like: a picture. It is made only when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .display import register_display
from .errors import TlaError

if TYPE_CHECKING:
    from .viz import Scene

#: Of a layout with more coordinates than this a notebook shows the corner.
LIMIT = 2**12


def svg(x: Any) -> str | None:
    """The picture of x; None where it cannot be drawn, as its sizes are not known.

    >>> from tla import parse
    >>> svg(parse("(4,2):(1,4)"))[:4]
    '<svg'
    """
    from . import viz

    scene = _scene(x)
    return None if scene is None else viz.svg(scene)


def html(x: Any) -> str | None:
    """The picture of x in HTML; where it cannot be drawn its text, escaped.

    >>> from tla import parse
    >>> html(parse("(4,2):(1,4)"))[:42]
    '<div style="overflow-x: auto">\\n<svg xmlns='
    """
    from .viz.svg import escape

    picture = svg(x)
    return f"<code>{escape(str(x))}</code>" if picture is None else f'<div style="overflow-x: auto">\n{picture}</div>'


def _scene(x: Any) -> Scene | None:
    from . import viz  # with numpy, which a notebook that shows no picture does without

    try:
        return viz.draw(x, limit=LIMIT)
    except TlaError:
        return None


register_display("html", html)
register_display("svg", svg)
