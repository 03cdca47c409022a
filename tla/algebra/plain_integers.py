"""Answers that plain integers keep an operation from: named in its error, and in the note that `explain` prints.

A plain integer is a run-time value, as in CuTe: nothing is asked of it, so that an answer may be refused, or smaller
than it could be. Nothing here is believed: the operation is called once more with known integers, and only an
answer is named.

Source: ours.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError, TlaError, Unproven
from ..core.ints import Int
from ..core.kinds import AnyLayout
from ..core.layout import Layout, unchecked_layout
from ..core.on_demand import OnDemand
from ..core.questions import asking_nothing_new

_EACH = OnDemand("tla.core.each_leaf")
F = TypeVar("F", bound=Callable[..., Any])


class Note(NamedTuple):
    """A smaller answer than there is for known integers: what was called, what it gave, and the call that gives more,
    with its answer."""

    called: str
    answer: str
    instead: str
    known: str

    def __str__(self) -> str:
        why = "for plain integers are run-time values"
        return f"Note: {self.called} is {self.answer}, {why}; {self.instead} is {self.known}"


class _Call(NamedTuple):
    """A call of an operation with the plain integers of its arguments made known: these arguments, its text,
    and its answer."""

    arguments: tuple[Any, ...]
    text: str
    answer: Any


def _with_known(f: Callable[..., Any], arguments: tuple[Any, ...]) -> _Call | None:
    """The call of f with known integers; None where none was plain, or it is refused too."""
    try:
        known = tuple(map(_known, arguments))
        changed = [str(x) != str(y) for x, y in zip(arguments, known)]
        if not any(changed):
            return None
        with asking_nothing_new():
            answer = f(*known)
    except (TlaError, RecursionError):  # nested too deep
        return None
    names = _names(f, len(arguments))
    return _Call(known, _text(f, (f"static({n})" if c else n for n, c in zip(names, changed))), answer)


def _known(x: Any) -> Any:
    try:
        return _EACH.static(x)
    except LeafTypeError:  # an operation, an order
        return x


def _names(f: Any, count: int) -> tuple[str, ...]:
    """The names of an operation's arguments, as its documentation has them."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return (*f.__code__.co_varnames[: min(count, f.__code__.co_argcount)],)


def _text(f: Any, arguments: Any) -> str:
    return f"{f.__name__}({', '.join(arguments)})"


def naming_static(f: F) -> F:
    """Make an operation's error name `static` where plain integers are what it is refused for."""

    @functools.wraps(f)
    def operation(*arguments: Any, **named: Any) -> Any:
        try:
            return f(*arguments, **named)
        except TlaError as error:
            refusal = error.unnamed or error
            call = None if named else _with_known(f, arguments)
            if call is None:
                raise refusal from None
            what, expected, fix = refusal.reason
            kept = "" if isinstance(refusal, Unproven) else f"{fix}, or "
            instead = type(refusal)(what, expected, f"{kept}write {call.text}, which answers")
            instead.unnamed = refusal
            raise instead from None

    return cast(F, operation)


#: Answers _1:_0 that came of plain integers, by id while they live: what was called.
_SMALL: dict[int, tuple[weakref.ref[Any], Callable[..., Any], tuple[Any, ...]]] = {}


def noting(f: F) -> F:
    """Make an operation remember the calls whose answer is _1:_0, for as long as that lives: `explain` asks why."""

    @functools.wraps(f)
    def operation(*arguments: Any) -> Any:
        found = f(*arguments)
        if all(map(_is_static, arguments)):  # asked before the answer's shape, which is made when it is
            return found
        shape = getattr(found, "shape", None)
        if type(shape) is not Int or shape != 1:
            return found
        found = _copied(found)  # one of its own
        key = id(found)
        _SMALL[key] = weakref.ref(found, lambda _gone: _SMALL.pop(key, None)), f, arguments
        return found

    return cast(F, operation)


def _is_static(x: Any) -> bool:
    return bool((type(x) is Layout and x.plain_modes()) or getattr(x, "is_static", False))


def _copied(layout: Any) -> Any:
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, layout.inner)
    return unchecked_layout(layout.shape, layout.stride)


def note_of(answer: object) -> Note | None:
    """The note of an answer _1:_0 that came of plain integers; None of anything else."""
    made = _SMALL.get(id(answer)) if isinstance(answer, AnyLayout) else None
    return note(made[1], *made[2]) if made and made[0]() is answer else None


def note(operation: Callable[..., Any], *arguments: Any) -> Note | None:
    """The note of a call: None where its answer is the same with known integers.

    >>> from tla import make_layout, right_inverse
    >>> note(right_inverse, make_layout((16, 8), (1, 16)))
    Note(called='right_inverse(layout)', answer='_1:_0', instead='right_inverse(static(layout))', known='_128:_1')
    """
    answer = operation(*arguments)
    call = _with_known(operation, arguments)
    if call is None or str(_known(answer)) == str(call.answer):
        return None
    return Note(_text(operation, _names(operation, len(arguments))), str(answer), call.text, str(call.answer))
