"""Arguments from outside as plain values: tuples, integers and sequences of them; and numbers as XLA's
texts join them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...core.errors import LeafTypeError
from ...core.ints import leaf


def as_tuple(x: Any, what: str = "a value") -> tuple[Any, ...]:
    """The elements of anything that has some, as a tuple; LeafTypeError for what has none."""
    try:
        return tuple(x)
    except TypeError:
        raise LeafTypeError(f"{what} of type {type(x).__name__}", "a tuple", "write (x,) for one") from None


def integer(x: object) -> int:
    """An integer of any kind as a plain one."""
    return int(leaf(x))


def integers(x: object, keep: str | None = None) -> tuple[Any, ...]:
    """x as a tuple of plain ints, where the text `keep` stays as it is."""
    return tuple(n if isinstance(n, str) and n == keep else integer(n) for n in as_tuple(x))


def integers_of(what: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """A tuple or list of integers as a tuple of plain ones; LeafTypeError for a text, an array, a generator."""
    if not isinstance(numbers, (tuple, list)):
        fix = "write (3, 5), or (3,) for one"
        raise LeafTypeError(f"{what} of type {type(numbers).__name__}", "a tuple of integers", fix)
    return integers(numbers)


def joined(numbers: Iterable[Any]) -> str:
    """Numbers between commas.

    >>> joined((8, 128))
    '8,128'
    """
    return ",".join(map(str, numbers))
