"""Mosaic GPU: its register layouts, with its parameters and texts, as linear layouts and back; its shared arrays."""

from .layouts import NAMED_LAYOUTS, Replicated, TiledLayout, WGStridedFragLayout
from .recognise import tiled_layout
from .shared import shared_layout
from .text import from_text, to_text

__all__ = [
    "NAMED_LAYOUTS",
    "Replicated",
    "TiledLayout",
    "WGStridedFragLayout",
    "from_text",
    "shared_layout",
    "tiled_layout",
    "to_text",
]
