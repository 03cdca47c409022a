"""Values: objects whose fields are set where they are made, and never again.

Layouts, tensors, symbols and the rest are values. What has been checked once stays true, they may be keys of a dict, and
a result that is remembered may be handed out again.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

T = TypeVar("T", bound="Value")


class Value:
    """The base of every value: to set or delete a field of one is an AttributeError, which says what to do instead.

    >>> from tla import parse
    >>> parse("(4,2):(1,4)").shape = 8
    Traceback (most recent call last):
    AttributeError: a Layout is immutable: make another with MakeLayout instead of changing shape
    """

    __slots__ = ()
    _instead: ClassVar[str] = "make another"

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable: {self._instead} instead of changing {name}")

    __delattr__ = __setattr__


#: Set a field of a value that is being made: put(new, "shape", shape).
put = object.__setattr__


def new_value(cls: type[T], **fields: object) -> T:
    """A new value of a class with these fields, which are not checked here."""
    new = object.__new__(cls)
    for name, value in fields.items():
        put(new, name, value)
    return new
