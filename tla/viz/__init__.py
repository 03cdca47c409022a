"""Layouts drawn: `draw` makes a scene, which is plain data, and each target prints it."""

from . import xla_and_tensors as xla_and_tensors  # XLA arrays and tensors are drawn
from .draw import draw
from .drawable import Subject, Tiling, register_subject
from .drawing import Drawing
from .files import save
from .scene import Scene
from .svg import html, svg
from .text import text
from .threads import draw_threads
from .tikz import tikz

__all__ = [
    "Drawing",
    "Scene",
    "Subject",
    "Tiling",
    "draw",
    "draw_threads",
    "html",
    "register_subject",
    "save",
    "svg",
    "text",
    "tikz",
]
