"""Layouts as source: of CuTe, in C++ and in its DSL, of TLA, of XLA."""

from .source import source

__all__ = ["source"]
