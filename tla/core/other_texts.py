"""Texts that `parse` knows by how they begin, and other packages read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cache import compiled

_READERS: list[tuple[str, Callable[[str], Any]]] = []


def register_text(begins: str, read: Callable[[str], Any]) -> None:
    """Read texts of another package wherever parse is asked to: read(text) is the value of one that begins so, a
    regular expression."""
    _READERS.append((begins, read))


def reader_of(text: str) -> Callable[[str], Any] | None:
    """The function that reads a text of another package; None if there is none."""
    return next((read for begins, read in _READERS if compiled(begins).match(text)), None)
