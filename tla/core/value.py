"""Values: objects whose fields are set where they are made, and never again.

Layouts, tensors, symbols and the rest are values. What has been checked once stays true, they may be keys of a dict,
and a result that is remembered may be handed out again.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar, TypeVar

T = TypeVar("T", bound="Value")
R = TypeVar("R", bound="Record")


class Value:
    """The base of every value. Setting or deleting a field raises AttributeError, which says what to do instead.

    >>> from tla import parse
    >>> parse("(4,2):(1,4)").shape = 8
    Traceback (most recent call last):
    AttributeError: a Layout is immutable: make another with MakeLayout instead of changing shape
    """

    __slots__ = ()
    _instead: ClassVar[str] = "make another"
    is_kept: ClassVar[bool] = True  # in a memory of results

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable: {self._instead} instead of changing {name}")

    __delattr__ = __setattr__


class Record(Value):
    """A value that is its fields: it is equal, hashed, printed, copied and pickled by them, as a frozen dataclass is.

    A kind of record names its fields in `__match_args__`, in the order of its `__init__`, which checks and puts them.

    What nearly every program loads is a Record, and no dataclass: these come with ten modules of Python (inspect, ast,
    tokenize, ...), and each is compiled when it is imported, which together took a fifth of a short command's time.

    >>> from tla.xla import Split, ArrayLayout
    >>> ArrayLayout((0,), ((128,),)) == ArrayLayout([0], [[128]])
    True
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    _parts: ClassVar[attrgetter[Any]]  # the class of a record and its fields

    @classmethod  # said, for Cython does not take it to be one
    def __init_subclass__(cls) -> None:
        cls._parts = attrgetter("__class__", *cls.__match_args__)

    def __eq__(self, other: object) -> bool:
        return self._parts(self) == self._parts(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts(self))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={x!r}' for name, x in self._fields().items())})"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), tuple(self._fields().values())

    def _replace(self: R, **changes: object) -> R:
        """This record with other values of some fields, as a named tuple has it."""
        return type(self)(**self._fields() | changes)

    __replace__ = _replace  # what copy.replace asks for

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


#: Set a field of a value that is being made: put(new, "shape", shape).
put = object.__setattr__


def new_value(cls: type[T], **fields: object) -> T:
    """A new value of a class with these fields, which are not checked here."""
    new = object.__new__(cls)
    for name, value in fields.items():
        put(new, name, value)
    return new


def open_twin(cls: type) -> type[Any]:
    """A class with the slots of another, whose values are immutable: those of this one are not.

    Of a value of it becomes one of `cls` when its `__class__` is set: a tenth of the time of the `__init__` of a frozen
    dataclass, which asks for each field whether it may be set.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, slots=True)
    ... class Size:
    ...     rows: int
    >>> new = open_twin(Size)()
    >>> new.rows, new.__class__ = 3, Size
    >>> new
    Size(rows=3)
    """
    return type(f"Open{cls.__name__}", cls.__bases__, {"__slots__": cls.__slots__})  # type: ignore[attr-defined]
