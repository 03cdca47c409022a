"""Views of values in a notebook: as pictures or LaTeX, which tla.apps.notebook makes, and where there is none
as their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# form -> what makes it of a value; it gives None where there is no such picture.
_FORMS: dict[str, Callable[[Any], str | None]] = {}


def register_display(form: str, make: Callable[[Any], str | None]) -> None:
    """Make make(x) the html, svg or latex of every x that is Displayed."""
    _FORMS[form] = make


class Displayed:
    """A value that a notebook draws or sets. Jupyter asks for these methods, and takes repr() where they give None."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _view("html", self)

    def _repr_svg_(self) -> str | None:
        return _view("svg", self)

    def _repr_latex_(self) -> str | None:
        return _view("latex", self)


def _view(form: str, x: object) -> str | None:
    return _FORMS[form](x) if form in _FORMS else None
