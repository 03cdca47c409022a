"""Layouts that are linear over bits, as Triton has them, and the bridge to layouts of shape and stride."""

from .bridge import affine, layout_of, linear
from .linear_layout import LinearLayout
from .xor_strides import from_xor_strides, to_xor_strides

__all__ = ["LinearLayout", "affine", "from_xor_strides", "layout_of", "linear", "to_xor_strides"]
