"""Layouts that are linear over bits, as Triton has them."""

from .linear_layout import LinearLayout

__all__ = ["LinearLayout"]
