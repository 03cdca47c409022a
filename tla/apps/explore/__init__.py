"""`tla explore`: a page on which expressions of layouts are typed and looked at. See docs/explore.md."""

from .answer import answer, drawn, subjects
from .grammar import read

__all__ = ["answer", "drawn", "read", "subjects"]
