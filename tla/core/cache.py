"""Results that are remembered: the same operation on the same objects, again and again, as in a kernel that is traced.

A memo knows integers and tuples of them by kind and value, so that _4 and 4 differ, what is said to be its parts by
these (layouts), and other arguments by identity: these stay alive while it knows them. What is remembered is immutable;
what is not says so, by a field `is_kept` that is False.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar, cast

from .plain_ints import are_static, as_written

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

#: So many results of one operation are kept; then it begins anew.
LIMIT = 4096
_CLEAR: list[Callable[[], None]] = []
_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}
#: The blocks of assuming() that are open: what is computed there may rest on conditions that hold there only,
#: and is not kept.
ASSUMING: ContextVar[tuple[Any, ...]] = ContextVar("assuming", default=())


def memory() -> dict[Any, Any]:
    """A dict of results that cache_clear() empties."""
    results: dict[Any, Any] = {}
    _CLEAR.append(results.clear)
    return results


def memo(f: F) -> F:
    """f with a memory, for functions of immutable arguments that return immutable results.

    >>> @memo
    ... def first(pair):
    ...     print("worked out")
    ...     return pair[0]
    >>> pair = (4, 2)
    >>> first(pair), first(pair)
    worked out
    (4, 4)
    >>> cache_clear()
    >>> first(pair)
    worked out
    4
    """
    results = memory()

    @functools.wraps(f)
    def remembered(*arguments: object, **named: object) -> Any:
        if named:
            return f(*arguments, **named)
        try:
            key = _key(arguments)
        except RecursionError:  # deeper than any layout: f refuses it
            return f(*arguments)
        if are_static():  # (4,) makes other results there
            key = are_static, key
        found = results.get(key)  # at once: another thread may begin the memory anew
        if found:
            return found[0]
        result = f(*arguments)
        if ASSUMING.get() or not getattr(result, "is_kept", True):
            return result
        if len(results) >= LIMIT:
            results.clear()
        results[key] = result, arguments
        return result

    return cast(F, remembered)


def plain_memo(f: Callable[P, R]) -> Callable[P, R]:
    """f with a memory, for functions of plain integers and the like: of what is equal, one answer is right for all."""
    return known_memo(as_written(f))


def known_memo(f: Callable[P, R]) -> Callable[P, R]:
    """f with a memory, for functions of plain integers that make none of another kind of them."""
    remembered = functools.lru_cache(LIMIT)(f)
    _CLEAR.append(remembered.cache_clear)
    return cast(Callable[P, R], remembered)


#: The regular expression of a text, compiled when it is first used: a module's seven take longer than the rest
#: of its import.
compiled = plain_memo(re.compile)


def known_by(kind: type, parts: Callable[[Any], tuple[Any, ...]]) -> None:
    """Make memos know values of a kind by their parts: two of the same parts are one. Those without parts, (), are
    known by identity."""
    _PARTS[kind] = parts


def _key(x: tuple[Any, ...], depth: int = 128) -> Any:
    if depth == 0:  # the compiled build has no limit of its own
        raise RecursionError
    return tuple(
        [
            (type(m), m)
            if isinstance(m, int)
            else _key(m, depth - 1)
            if isinstance(m, tuple)
            else _key_of(m, depth)
            if type(m) in _PARTS
            else id(m)
            for m in x
        ]
    )


def _key_of(x: object, depth: int) -> Any:
    parts = _PARTS[type(x)](x)
    return (type(x), _key(parts, depth)) if parts else id(x)


def cache_clear() -> None:
    """Forget all results that are remembered.

    >>> from tla import cache_clear
    >>> cache_clear()

    composition, complement, coalesce, logical_divide, logical_product, the inverses, the layouts of tags and tiles, the
    plans of copies, the nodes of symbols and the shapes of HLO text keep up to 4,096 results each, and their arguments,
    which may hold memory; a measurement of cold calls begins with this.
    """
    for clear in _CLEAR:
        clear()
