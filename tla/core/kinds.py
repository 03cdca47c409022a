"""Kinds of layouts, and operations that are defined kind by kind.

An operation is written where it stands for one kind, most often a Layout: `@by_kind(Layout)`. It knows what it is for
other kinds, a composed layout, a swizzle or a tensor: `@on(kind, operation)` tells it, in the files of that kind, which
are tla/algebra/composed.py with swizzled.py, and tla/tensors/operations.py. Nothing else asks for the kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from .display import Displayed
from .errors import LeafTypeError
from .ints import IntTupleLike, Static
from .value import Value

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
#: What went in, what came out, and the pieces between, as plain data that tla/algebra/checker.py accepts.
Certificate: TypeAlias = dict[str, Any]

# The kinds that operations are defined on; for those whose modules are not yet loaded, these.
_KINDS: set[type] = set()
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


class Operation:
    """An operation that is an object: it is printed, pickled and copied by its name, and knows what it is
    for each kind.

    kinds   kind, and which of the arguments is of it -> what the operation is there
    """

    __name__: str
    kinds: dict[tuple[type, int], Callable[..., Any]]

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__


def on(kind: type, *operations: Any, argument: int = 0) -> Callable[[F], F]:
    """Implement operations for one kind. The function gets the operation's arguments unchanged.

    argument   which argument is of that kind: 1 where it is the tiler
    """

    def define(f: F) -> F:
        _KINDS.add(kind)
        for operation in operations:
            operation.kinds[kind, argument] = f
        return f

    return define


def over(kind: type, *operations: Any) -> None:
    """Implement operations that act on coordinates only, for a kind whose x.over(operation, ...) does them to what
    x is made of."""
    on(kind, *operations)(_OVER)


def defined_in(kind: type, *modules: str) -> None:
    """Name the modules that implement operations for a kind: they are loaded when one of them is first asked for."""
    _KINDS.add(kind)
    _DEFINED_IN[kind] = modules


def own(operation: Any, x: object, argument: int = 0, brackets: tuple[Any, ...] = ()) -> Callable[..., Any] | None:
    """The implementation of an operation, with arguments in brackets perhaps, for the kind of x; None where
    there is none."""
    kind = type(x)
    if kind in _DEFINED_IN:
        for module in _DEFINED_IN.get(kind, ()):
            import_module(module)
        _DEFINED_IN.pop(kind, None)  # another thread may have been here
    found: Callable[..., Any] | None = operation.kinds.get((kind, argument))
    if found and found is _OVER:
        return functools.partial(
            found, operation[brackets[0] if len(brackets) == 1 else brackets] if brackets else operation
        )
    return found(*brackets) if found and brackets else found


def _OVER(operation: Any, x: Any, *more: Any, **options: Any) -> Any:
    return x.over(operation, *more, **options)


def is_operation(f: Any, operation: Any) -> bool:
    """Whether f is an operation, with or without its memory."""
    return getattr(f, "kinds", None) is operation.kinds


def by_kind(written_for: type, argument: int = 0) -> Callable[[F], F]:
    """Make f, which is written for one kind, an operation: what it is for the kind of its argument; LeafTypeError where
    it is nothing."""

    def decorate(f: F) -> F:
        name = f.__code__.co_varnames[argument]

        @functools.wraps(f)
        def operation(*arguments: object, **options: object) -> Any:
            x = arguments[argument] if len(arguments) > argument else options.get(name)
            if type(x) is written_for:  # most often, and at once
                return f(*arguments, **options)
            if implementation := own(operation, x, argument):
                return implementation(*arguments, **options)
            if not isinstance(x, written_for) and (arguments or options):
                refuse_kind(f.__name__, x)
            return f(*arguments, **options)

        operation.kinds = {}  # type: ignore[attr-defined]  # a function has any attribute
        return cast(F, operation)

    return decorate


class Certified(Protocol[P, R]):
    """An operation whose answers have certificates."""

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R: ...

    def certificate(self, *arguments: Any) -> Certificate:
        """The certificate of the answer for these arguments."""
        ...


def certified(operation: Callable[P, R]) -> Certified[P, R]:
    """The operation, with certificates: `operation.certificate(*arguments)` is what
    tla/algebra/certificates.py makes of it."""

    def certificate(*arguments: Any) -> Certificate:
        made: Certificate = import_module("tla.algebra.certificates").certificate(operation.__name__, *arguments)
        return made

    operation.certificate = certificate  # type: ignore[attr-defined]  # a function has any attribute
    return cast("Certified[P, R]", operation)


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
        return (
            "give its .layout, and add its .offset to what comes of it" if hasattr(x, "offset") else "give its .layout"
        )
    if type(x).__module__.startswith("tla.compat."):
        return f"write {type(x).__module__}.exact(x)"
    return "cut or compose it until it is a plain Layout" if type(x) in _KINDS else "make one with MakeLayout"
