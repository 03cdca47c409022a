"""Scenes as SVG, and as a page of HTML. Texts are escaped; nothing has a name, so that a page may have several."""

from __future__ import annotations

from collections.abc import Iterator

from .placement import CELL, Box, Canvas, Line, place
from .scene import Scene, require_scene, seen
from .text import text

# By level: how broad a line is, and its colour.
STROKES = ((0.5, "#444444"), (1.2, "#000000"), (2.2, "#000000"), (3.2, "#000000"), (4.2, "#000000"))
FONT, HATCH = "monospace", "#737373"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark }} body {{ margin: 2em }} svg {{ max-width: 100%; height: auto }}</style>
{svg}
<details><summary>as text</summary><pre>{text}</pre></details>
</html>
"""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def svg(scene: Scene) -> str:
    """A scene as an SVG picture on white, that stands alone or in a page. Padding is hatched.

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> picture = svg(draw(parse("(2,3):(3,1)"), titles=["<b>"]))
    >>> picture[:49], "&lt;b&gt;" in picture, "<b>" in picture
    ('<svg xmlns="http://www.w3.org/2000/svg" role="img', True, False)
    """
    require_scene("svg", scene)
    canvas = place(scene)
    return "\n".join(_elements(canvas, scene)) + "\n"


def html(scene: Scene) -> str:
    """A scene as a page: the picture, and its text. It loads nothing, and says so in a Content-Security-Policy.

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> print(html(draw(parse("(2,3):(3,1)")))[:15])
    <!doctype html>
    """
    require_scene("html", scene)
    title = escape(", ".join(f.title for f in scene.figures))
    return _PAGE.format(title=title, svg=svg(scene), text=escape(text(scene)))


def escape(text: str) -> str:
    """The text as it stands in HTML and XML, between tags and in quotes."""
    return text.translate(_ESCAPES)


def _elements(canvas: Canvas, scene: Scene) -> Iterator[str]:
    """The elements of an SVG that draws a canvas."""
    width, height = _number(canvas.width), _number(canvas.height)
    name = escape(seen(scene))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="{FONT}" font-size="{CELL}">'
    )
    yield f'<path fill="#ffffff" d="M0 0h{width}v{height}h-{width}z"/>'
    for fill, boxes in canvas.fills.items():
        yield f'<path fill="{fill}" d="{"".join(map(_box, boxes))}"/>'
    if canvas.hatched:
        hatch = "".join(_line(x) for b in canvas.hatched for x in hatching(b))
        yield f'<path stroke="{HATCH}" stroke-width="0.8" d="{hatch}"/>'
    for level, lines in sorted(canvas.lines.items()):
        broad, color = STROKES[min(level, len(STROKES) - 1)]
        yield f'<path stroke="{color}" stroke-width="{broad}" stroke-linecap="square" d="{"".join(map(_line, lines))}"/>'
    for label in canvas.labels:
        size = "" if label.size == CELL else f' font-size="{label.size}"'
        color = "" if label.ink == "#000000" else f' fill="{label.ink}"'
        anchor = "" if label.anchor == "start" else f' text-anchor="{label.anchor}"'
        yield f'<text x="{_number(label.x)}" y="{_number(label.y)}"{anchor}{size}{color}>{escape(label.text)}</text>'
    yield "</svg>"


def _box(b: Box) -> str:
    w = _number(b.width)
    return f"M{_number(b.x)} {_number(b.y)}h{w}v{_number(b.height)}h-{w}z"


def _line(x: Line) -> str:
    return f"M{_number(x.x1)} {_number(x.y1)}L{_number(x.x2)} {_number(x.y2)}"


def hatching(b: Box) -> Iterator[Line]:
    """Diagonals of a box, from its bottom and left up to its top and right; those of neighbours meet."""
    step = 6  # between diagonals
    sum_low, sum_high = b.x + b.y, b.x + b.width + b.y + b.height
    s = (sum_low // step + 1) * step
    while s < sum_high:  # the points of one diagonal have one x + y
        left, right = max(b.x, s - b.y - b.height), min(b.x + b.width, s - b.y)
        yield Line(left, s - left, right, s - right)
        s += step


def _number(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")
