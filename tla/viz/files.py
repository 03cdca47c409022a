"""Scenes in files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..core.errors import LeafTypeError, RangeError
from .scene import Scene
from .svg import html, svg
from .text import text
from .tikz import tikz


def png(scene: Scene) -> bytes:
    """A scene as a PNG picture, two pixels for each of its SVG's.

    Raises RangeError without resvg, which the extra `png` installs
    """
    try:
        import resvg_py
    except ImportError:
        fix = "run pip install 'tla-layouts[png]', or write .svg"
        raise RangeError("a drawing as PNG without resvg", "the extra png", fix) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg(scene), zoom=2))


#: What a file is, by how its name ends.
TARGETS: dict[str, Callable[[Scene], str | bytes]] = {
    ".svg": svg,
    ".html": html,
    ".tex": tikz,
    ".txt": lambda scene: text(scene) + "\n",
    ".png": png,
}


def save(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene to a file: SVG, HTML, TikZ, text or PNG, by how its name ends.

    Raises RangeError for an ending that is none of `.svg`, `.html`, `.tex`, `.txt`, `.png`; a PNG needs the extra `png`

    >>> import tempfile
    >>> from tla import parse
    >>> from tla.viz import draw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(draw(parse("(4,2):(2,1)")), folder + "/a.svg")
    """
    written = target(path)(scene)
    Path(path).write_bytes(written if isinstance(written, bytes) else written.encode())


def svg_name(path: str | os.PathLike[str]) -> str:
    """The name of a file with the ending .svg in place of its own.

    >>> svg_name("curve.html"), svg_name("a/layout")
    ('curve.svg', 'a/layout.svg')
    """
    name = os.fspath(path)
    return f"{os.path.splitext(name)[0] or 'layout'}.svg"


def target(path: str | os.PathLike[str]) -> Callable[[Scene], str | bytes]:
    """The function that prints a scene for a file of this name."""
    if not isinstance(path, (str, os.PathLike)):
        raise LeafTypeError(f"a {type(path).__name__} for the name of a file", "a text or a path", 'write "layout.svg"')
    ending = Path(path).suffix.lower()
    if ending not in TARGETS:
        expected = f"a name that ends in {', '.join(TARGETS)}"
        raise RangeError(f"a drawing in {os.fspath(path)!r:.60}", expected, f"write {svg_name(path)}")
    return TARGETS[ending]
