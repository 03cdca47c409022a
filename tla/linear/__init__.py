"""Layouts that are linear over bits, as Triton's, or over digits of any extents; the bridge to shapes and strides."""

from .bridge import affine, layout_of, linear
from .linear_layout import LinearLayout
from .radix import RadixLayout
from .radix_bridge import radix
from .xor_strides import from_xor_strides, to_xor_strides

__all__ = [
    "LinearLayout",
    "RadixLayout",
    "affine",
    "from_xor_strides",
    "layout_of",
    "linear",
    "radix",
    "to_xor_strides",
]
