"""Layouts that are linear over bits, as Triton has them, and the bridge to layouts of shape and stride."""

from .bridge import affine, layout_of, linear
from .linear_layout import LinearLayout

__all__ = ["LinearLayout", "affine", "layout_of", "linear"]
