"""`tla explore`: a page on which expressions of layouts are typed and looked at. See docs/explore.md."""

from .answer import answer
from .grammar import read
from .server import Server

__all__ = ["Server", "answer", "read"]
