"""The door of the modules that stand for another library's: what their functions cannot take is one error of ours.

A function of theirs is called with whatever a program has: a text, None, a layout where an integer is meant, an
argument too many. What then goes wrong within tla is told by one error, of the class that Python raises.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..core.errors import LeafTypeError, RangeError, TlaError

#: A longer argument is cut in a message [characters].
SHOWN = 60
#: Functions of one argument that are asked often: they take any value, or what they call has the door.
ASKED_OFTEN = ("is_int", "is_tuple", "size")


class WrongKind(LeafTypeError, AttributeError):
    """An argument of a kind that a function does not take, or one too many or too few."""


class WrongValue(RangeError, IndexError, ZeroDivisionError):
    """An argument of the right kind, and of a value or a length that a function does not take."""


def guard(module: dict[str, Any]) -> None:
    """Put the door before each public function of a module of tla.compat, those that it has from another one too.

    module   globals() at the end of the module

    >>> from tla.compat import pycute
    >>> pycute.signum("x")
    Traceback (most recent call last):
    tla.compat.door.WrongKind: signum('x'): '>' not supported between instances of 'str' and 'int'
      expected  signum(a), of other kinds
      fix       see help(signum)
    """
    for name in module.get("__all__") or [name for name in module if not name.startswith("_")]:
        f = module[name]
        ours = callable(f) and not isinstance(f, type) and f.__module__.startswith("tla.")
        if ours and name not in ASKED_OFTEN and getattr(f, "__globals__", None) is not globals():  # once
            module[name] = _guarded(f)


def _guarded(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return f(*args, **options)
        except (TypeError, AttributeError, ValueError, IndexError, ZeroDivisionError) as error:
            cause = error.__cause__ if isinstance(error, (WrongKind, WrongValue)) else error  # told of what was called
            if cause is None or isinstance(cause, TlaError) or not _is_within(cause):
                raise
            ours = WrongKind if isinstance(cause, (TypeError, AttributeError)) else WrongValue
            raise ours(*_reason(f, args, options, cause)) from cause

    return guarded


def _is_within(error: BaseException) -> bool:
    """Whether a statement of tla raised it, not one of a function that was given."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is None or str(at.tb_frame.f_globals.get("__name__")).startswith("tla.")


def _reason(f: Callable[..., Any], args: Any, options: dict[str, Any], error: BaseException) -> tuple[str, str, str]:
    given = [f"{x!r:.{SHOWN}}" for x in args] + [f"{name}={x!r:.{SHOWN}}" for name, x in options.items()]
    takes = ", ".join(str(p.replace(annotation=p.empty)) for p in inspect.signature(f).parameters.values())
    name = f.__name__
    return f"{name}({', '.join(given)}): {error}", f"{name}({takes}), of other kinds", f"see help({name})"
