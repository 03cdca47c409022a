"""Layouts drawn."""

from .text import grid

__all__ = ["grid"]
