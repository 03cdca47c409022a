"""Gluon's parameters: what they become, and what they may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import shown
from ..value import integer, power_of_two

Vector = tuple[int, ...]


class Parameters:
    """The base of every layout of Gluon: checked parameters, the text of Triton's IR, the linear layout of a tensor."""

    __slots__ = ()
    #: The parameter that has an integer for each dimension, where one has.
    _ranked: ClassVar[str]

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(getattr(self, self._ranked))

    def __repr__(self) -> str:
        """The call that makes it, in Gluon too: lists where it has tuples."""
        given = ((f.name, f.metadata.get("gluon", True), f.default, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        parts = [f"{name}={_as_lists(x)!r}" for name, always, default, x in given if always or x != default]
        return f"{self.name}({', '.join(parts)})"

    def _set(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    def _vector(self, name: str, rank: int | None = None) -> Vector:
        found = vector(f"{self.name}: {name}", getattr(self, name), rank)
        self._set(**{name: found})
        return found

    def _vectors(self, name: str, rank: int | None = None) -> tuple[Vector, ...]:
        where, x = f"{self.name}: {name}", getattr(self, name)
        if not isinstance(x, (list, tuple)):
            raise LeafTypeError(f"{where} is {shown(x)}", "a list of bases", "write [[1, 0]]")
        found = tuple(vector(where, v, rank) for v in x)
        self._set(**{name: found})
        return found

    def _powers(self, name: str, rank: int | None = None) -> Vector:
        return tuple(power_of_two(f"{self.name}: {name}", n) for n in self._vector(name, rank))

    def _order(self, name: str, rank: int) -> None:
        order = self._vector(name, rank)
        if sorted(order) != [*range(rank)]:
            what = f"{self.name}: {name} {list(order)}"
            raise RankError(what, f"each of 0 to {rank - 1} once", "name each dimension once, the fastest first")


def _as_lists(x: Any) -> Any:
    return [_as_lists(v) for v in x] if isinstance(x, tuple) else x


def vector(where: str, x: object, rank: int | None = None) -> Vector:
    """A list of integers as a tuple of plain ones."""
    if not isinstance(x, (list, tuple)):
        raise LeafTypeError(f"{where} is {shown(x)}", "a list of integers", "write [4, 1]")
    if rank is not None and len(x) != rank:
        raise RankError(f"{where} {shown(tuple(x))}", f"{rank} integers", "give one for each dimension")
    return tuple(integer(where, n) for n in x)


def flag(where: str, x: object) -> bool:
    if not isinstance(x, bool):
        raise LeafTypeError(f"{where} is {shown(x)}", "True or False", "write True")
    return x


def one_of(where: str, x: object, allowed: Sequence[int]) -> int:
    n = integer(where, x)
    if n not in allowed:
        raise RankError(f"{where} is {n}", f"one of {', '.join(map(str, allowed))}", f"write {allowed[0]}")
    return n
