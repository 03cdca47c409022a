"""Questions about integers of any kind, which have three answers: True, False, or None where it is not known.

No path of the library asks an unknown size for its truth value: it asks here, and takes None for what it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .errors import RangeError, Reason, Unproven
from .ints import KINDS, IntLike, Question, is_constant

A = TypeVar("A")


def _question(name: Question, decide: Callable[[int, int], bool]) -> Callable[[Any, Any], bool | None]:
    def ask(a: IntLike, b: IntLike) -> bool | None:
        if isinstance(a, int) and isinstance(b, int):
            return decide(int(a), int(b))
        kinds = [kind for kind in (KINDS.get(type(a)), KINDS.get(type(b))) if kind]
        if not kinds:
            return None
        kind = min(kinds, key=lambda x: x.integer)  # a coordinate beside a symbol: coordinates answer
        if kind.integer and name == "divides" and is_constant(1, a):
            return True
        return kind.ask(name, a, b)

    return ask


#: Whether a == b; a <= b; a divides b: True, False, or None when it is not known.
equal = _question("==", operator.eq)
at_most = _question("<=", operator.le)
divides = _question("divides", lambda a, b: a != 0 and b % a == 0)
_ASK = {"==": equal, "<=": at_most, "divides": divides}
_TEXT = {"==": "{} == {}", "<=": "{} <= {}", "divides": "{} divides {}"}


def every(answers: Iterable[A]) -> A | bool | None:
    """Whether all answers are True: the first that is False or a Reason, else None if one is not known, else True.

    >>> every([True, None]), every([None, False]), every([])
    (None, False, True)
    """
    found = [*answers]
    return next((x for x in found if x is False or isinstance(x, Reason)), None if None in found else True)


def require(question: Question, a: object, b: object, where: Callable[[], str]) -> bool:
    """Ask for a condition that an operation needs: True where it holds, False where it does not.

    Where it is not known, the answer is True under assuming(), which records the condition; else Unproven, which names
    it. where: the operation for the message, which takes its time to write.

    >>> require("divides", 16, 64, lambda: "a divide"), require("<=", 5, 4, lambda: "a tile")
    (True, False)
    """
    answer = _ASK[question](a, b)
    if answer is not None:
        return answer
    for kind in map(KINDS.get, (type(a), type(b))):
        if kind and kind.undecided:
            return kind.undecided(question, a, b, where())
    condition = _TEXT[question].format(a, b)
    raise Unproven(f"{where()}: it is not known whether {condition}", condition, "use known sizes")


#: Whether a condition that is not known is refused, whatever assuming() would record.
NOTHING_NEW: ContextVar[bool] = ContextVar("nothing new", default=False)


@contextmanager
def asking_nothing_new() -> Iterator[None]:
    """Refuse inside, with Unproven, each condition that is not known, but for those that assuming()
    has recorded before."""
    token = NOTHING_NEW.set(True)
    try:
        yield
    finally:
        NOTHING_NEW.reset(token)


def no_elements(where: str) -> RangeError:
    """The refusal of a layout with a dynamic extent of 0."""
    what = f"{where}: a dynamic extent of 0"
    return RangeError(what, "extents of 1 or more, or a static 0", "leave out what is empty")


def require_positive(where: str, n: IntLike) -> None:
    """RangeError if n is known to be 0 or less."""
    if at_most(n, 0):
        raise RangeError(f"{where}: {n} is not positive", "1 or more", "leave out what is empty")
