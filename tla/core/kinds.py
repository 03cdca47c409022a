"""Kinds of layouts, and operations that are defined kind by kind.

An operation is written where it stands for one kind, most often a Layout: `@by_kind(Layout)`. What it is for another kind, a
composed layout, a swizzle or a tensor, is defined by `@on(kind, operation)` in the files of that kind:
tla/algebra/composed.py with swizzled.py, and tla/tensors/operations.py. Nothing else asks for the kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .display import Displayed
from .errors import LeafTypeError
from .ints import IntTupleLike, Static
from .value import Value

F = TypeVar("F", bound=Callable[..., Any])

# Kind -> operation's name, and which of its arguments is of that kind -> what the operation is there.
_DEFINED: dict[type, dict[tuple[str, int], Callable[..., Any]]] = {}
# Kind -> the modules, not yet loaded, that define operations on it.
_DEFINED_IN: dict[type, tuple[str, ...]] = {}


class AnyLayout(Value, Displayed):
    """The base of every kind of layout: a value with a shape."""

    __slots__ = ("__weakref__",)  # jax.jit(layout) holds its function weakly
    shape: Any

    if TYPE_CHECKING:  # what a kind has to have

        def flatten(self) -> Any: ...
        def unflatten(self, profile: IntTupleLike) -> Any: ...
        def __call__(self, *coord: Any) -> Any: ...
        def __getitem__(self, i: int) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...


def on(kind: type, *operations: Any, argument: int = 0) -> Callable[[F], F]:
    """Define operations on a kind: what is decorated takes the arguments of the operation.

    argument   which argument is of that kind: 1 where it is the tiler
    """

    def define(f: F) -> F:
        _DEFINED.setdefault(kind, {}).update({(operation.__name__, argument): f for operation in operations})
        return f

    return define


def defined_in(kind: type, *modules: str) -> None:
    """Name the modules that define operations on a kind: they are loaded when one of them is first asked for."""
    _DEFINED.setdefault(kind, {})
    _DEFINED_IN[kind] = modules


def defined(name: str, x: object, argument: int = 0) -> Callable[..., Any] | None:
    """An operation as it is defined on the kind of x; None where it is not."""
    kind = type(x)
    if kind in _DEFINED_IN:
        for module in _DEFINED_IN.get(kind, ()):
            import_module(module)
        _DEFINED_IN.pop(kind, None)  # another thread may have been here
    own = _DEFINED.get(kind)
    return own.get((name, argument)) if own else None


def by_kind(written_for: type, argument: int = 0) -> Callable[[F], F]:
    """Make f, which is written for one kind, what is defined for the kind of its argument; LeafTypeError where nothing is."""

    def decorate(f: F) -> F:
        name = f.__name__

        @functools.wraps(f)
        def of_kind(*arguments: object, **options: object) -> Any:
            if len(arguments) > argument:
                x = arguments[argument]
                if isinstance(x, written_for) and type(x) not in _DEFINED:  # most often, and at once
                    return f(*arguments, **options)
            else:
                x = options.get(f.__code__.co_varnames[argument])
            if own := defined(name, x, argument):
                return own(*arguments, **options)
            if not isinstance(x, written_for) and (arguments or options):
                refuse_kind(name, x)
            return f(*arguments, **options)

        return cast(F, of_kind)

    return decorate


def refuse_kind(name: str, x: object) -> Any:
    """LeafTypeError for x where a layout belongs."""
    raise LeafTypeError(f"{name} of a {type(x).__name__}", "a layout", layout_fix(x))


def layout_fix(x: object) -> str:
    """The fix for x where a layout belongs."""
    if isinstance(x, str):
        return f"write parse({x!r:.60})"
    if isinstance(x, Static):
        return f"write {x!r}() for the value"
    if isinstance(x, list):
        return "write a tuple: MakeLayout((4, 8))"
    if isinstance(getattr(x, "layout", None), AnyLayout):  # a tensor, a tag with its sizes
        return "give its .layout, and add its .offset to what comes of it" if hasattr(x, "offset") else "give its .layout"
    return "cut or compose it until it is a plain Layout" if type(x) in _DEFINED else "make one with MakeLayout"
