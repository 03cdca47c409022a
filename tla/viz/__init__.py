"""Layouts drawn: `draw` makes a scene, which is plain data, and each target prints it."""

from . import kinds as kinds
from .draw import draw
from .drawing import Drawing
from .files import save
from .scene import Scene
from .subject import Subject, register_subject
from .svg import html, svg
from .text import text
from .threads import draw_threads
from .tikz import tikz

__all__ = ["Drawing", "Scene", "Subject", "draw", "draw_threads", "html", "register_subject", "save", "svg", "text", "tikz"]
