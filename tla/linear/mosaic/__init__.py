"""Mosaic GPU's layouts of registers, with its parameters and texts, as linear layouts and back; and of shared memory."""

from .layouts import NAMED_LAYOUTS, Replicated, SwizzleTransform, TiledLayout, TileTransform, WGStridedFragLayout
from .recognise import tiled_layout
from .shared import shared_layout
from .text import from_text, to_text, transform_of

__all__ = [
    "NAMED_LAYOUTS",
    "Replicated",
    "SwizzleTransform",
    "TileTransform",
    "TiledLayout",
    "WGStridedFragLayout",
    "from_text",
    "shared_layout",
    "tiled_layout",
    "to_text",
    "transform_of",
]
