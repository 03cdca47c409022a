"""The reading of plain integers: as run-time values, which is CuTe's rule, or as known, inside `with static():`.

Source: ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Block:
    """A `with` block and its reading; one is not another of the same reading."""

    def __init__(self, static: bool):
        self.static = static


_READING: ContextVar[bool] = ContextVar("plain_ints_are_static", default=False)
#: The blocks that are open, the last one entered last.
_OPEN: ContextVar[tuple[_Block, ...]] = ContextVar("open_blocks", default=())
#: Whether plain integers are static here: in this thread, in this task of asyncio.
are_static: Callable[[], bool] = _READING.get


@contextmanager
def plain_ints(static: bool) -> Iterator[None]:
    """Read plain integers as static ones, or as dynamic ones, inside of a `with` block; the blocks nest.

    Blocks of generators may end in any order, or in another thread: each takes itself away, and nothing else.
    """
    block = _Block(static)
    _read_as((*_OPEN.get(), block))
    try:
        yield
    finally:
        _read_as(tuple(x for x in _OPEN.get() if x is not block))


def _read_as(blocks: tuple[_Block, ...]) -> None:
    _OPEN.set(blocks)
    _READING.set(blocks[-1].static if blocks else False)


def as_written(f: Callable[P, R]) -> Callable[P, R]:
    """f, for which plain integers are dynamic wherever it is called: what it makes tells them from static ones itself,
    or is kept for callers who read them otherwise."""

    @functools.wraps(f)
    def outside(*arguments: P.args, **named: P.kwargs) -> R:
        if not are_static():
            return f(*arguments, **named)
        with plain_ints(False):
            return f(*arguments, **named)

    return outside


@as_written
def remade(make: Callable[..., R], *parts: Any) -> R:
    """A value of a pickle, of its parts: its integers keep their kinds, `with static():` or not."""
    return make(*parts)
