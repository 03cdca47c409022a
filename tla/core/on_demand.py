"""Modules that are loaded when they are first used: what brings numpy or sympy with it, or what few programs need."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
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
        if name.startswith("__") and name != "__all__":  # doctest and debuggers ask each value what it wraps
            raise AttributeError(f"{self._name!r} is not asked for {name!r}, but for what the module defines")
        return getattr(import_module(self._name), name)


def jax_module(name: str) -> Any:
    """A module of JAX, whose types a checker need not know; ModuleNotFoundError says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}: install it with pip install 'tla-layouts[jax]'", name=error.name) from None


class _Package(ModuleType):
    """A package whose names are in modules that are loaded when they are first asked for."""

    _module_of: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._module_of:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{self.__name__}.{self._module_of[name]}"), name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Importing `tla.xla.lower` sets the module as an attribute: where the package has a name that is so called,
        that stays."""
        if not (name in self._module_of and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*vars(self), *self._module_of]


def load_on_demand(package: str, names: Mapping[str, str]) -> None:
    """Load the modules of a package when the first of their names is asked for.

    package   its full name, in its __init__.py
    names     module -> the names that the package has of it, with spaces between
    """
    module = sys.modules[package]
    vars(module)["_module_of"] = {name: below for below, given in names.items() for name in given.split()}
    module.__class__ = _Package
