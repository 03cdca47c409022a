"""Scenes as TikZ, for LaTeX."""

from __future__ import annotations

from collections.abc import Iterator

from .placement import Canvas, Label, place
from .scene import Scene, require_scene
from .svg import STROKES, hatching

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "-": "{-}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    **{c: f"\\{c}" for c in "{}$&#_%"},
}
_ANCHORS = {"start": "base, left", "middle": "base", "end": "base, right"}
_INKS = {"#000000": "", "#ffffff": r"\color{white}"}
SCALE = 0.75  # 96 pixels are 72 big points


def tikz(scene: Scene) -> str:
    r"""A scene as a LaTeX document of one picture, whose tikzpicture may be copied. What is not in Latin-1 is a `?`.

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> print(*tikz(draw(parse("2:1"), titles=["50 % of $x_1$"])).splitlines()[:2], sep="\n")
    \documentclass[tikz]{standalone}
    \usepackage[T1]{fontenc}\usepackage{textcomp}
    >>> r"{50 \% of \$x\_1\$}" in tikz(draw(parse("2:1"), titles=["50 % of $x_1$"]))
    True
    """
    require_scene("tikz", scene)
    return "\n".join(_lines(place(scene))) + "\n"


def _lines(canvas: Canvas) -> Iterator[str]:
    """The lines of a LaTeX document that draws a canvas."""
    yield r"\documentclass[tikz]{standalone}"
    yield r"\usepackage[T1]{fontenc}\usepackage{textcomp}"
    yield r"\begin{document}\frenchspacing"
    yield rf"\begin{{tikzpicture}}[x={SCALE}bp, y=-{SCALE}bp]"
    yield rf"\path[use as bounding box] (0,0) rectangle ({canvas.width:.1f},{canvas.height:.1f});"
    for fill, boxes in canvas.fills.items():
        yield rf"\definecolor{{cell}}{{HTML}}{{{fill[1:].upper()}}}"
        yield from (rf"\fill[cell] ({b.x:.1f},{b.y:.1f}) rectangle +({b.width:.1f},{b.height:.1f});" for b in boxes)
    for line in (line for b in canvas.hatched for line in hatching(b)):
        yield rf"\draw[black!55, line width=0.6bp] ({line.x1:.1f},{line.y1:.1f}) -- ({line.x2:.1f},{line.y2:.1f});"
    for level, lines in sorted(canvas.lines.items()):
        broad, _color = STROKES[min(level, len(STROKES) - 1)]
        style = f"{'black' if level else 'black!74'}, line width={broad * SCALE:.3f}bp, line cap=rect"
        yield from (rf"\draw[{style}] ({x.x1:.1f},{x.y1:.1f}) -- ({x.x2:.1f},{x.y2:.1f});" for x in lines)
    yield from map(_text, canvas.labels)
    yield r"\end{tikzpicture}"
    yield r"\end{document}"


def _text(x: Label) -> str:
    r"""\pgftext, which takes half as long as \node; its units are its own."""
    size, ink = x.size * SCALE, _INKS.get(x.ink, r"\color{black!60}")
    text = "".join(_SPECIAL.get(c, c) if c < "\u0100" else "?" for c in x.text)  # pdflatex stops at others
    at = f"x={x.x * SCALE:.2f}bp, y={-x.y * SCALE:.2f}bp"
    return rf"\pgftext[{_ANCHORS[x.anchor]}, {at}]{{\fontsize{{{size:g}}}{{{size:g}}}\ttfamily{ink}{{{text}}}}}"
