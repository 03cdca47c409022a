"""Modules that are loaded when they are first used: what brings numpy or sympy with it, or what few programs need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class OnDemand:
    """A module by its full name: it is imported when the first attribute of it is asked for.

    >>> json = OnDemand("json")
    >>> json.dumps([1])
    '[1]'

    It stands where imports stand, at the top of a file, and the order of packages holds for it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
