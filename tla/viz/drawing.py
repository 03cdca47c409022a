"""A scene that shows itself."""

from __future__ import annotations

from .scene import Scene
from .svg import svg
from .text import text


class Drawing(Scene):
    """The result of `draw`: a Scene that is a picture in a notebook, and text when it is printed.

    >>> from tla import parse
    >>> from tla.viz import draw
    >>> draw(parse("((2,2),3):((3,6),1)"))
    <Drawing of ((2,2),3):((3,6),1)>
    >>> print(draw(parse("((2,2),3):((3,6),1)")))
    ((2,2),3):((3,6),1)
         0  1  2
      ┌──────────┐
    0 │  0  1  2 │
    1 │  3  4  5 │
      ├──────────┤
    2 │  6  7  8 │
    3 │  9 10 11 │
      └──────────┘
    """

    __slots__ = ()

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"<Drawing of {', '.join(f.title for f in self.figures)}>"

    def _repr_svg_(self) -> str:
        return svg(self)
