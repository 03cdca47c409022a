"""Lifting an operation on two layouts to tilers, mode by mode."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, SupportsIndex, TypeAlias, cast

from ..core.cache import memo
from ..core.errors import LeafTypeError, RankError, Reason, Unproven
from ..core.int_tuple import Underscore, opened, shown
from ..core.ints import Int, Static, is_int
from ..core.kinds import AnyLayout, by_kind, defined
from ..core.layout import Layout, join, unchecked_layout, valid_as_one
from ..core.questions import equal
from ..core.strides import Shape, compact_col_major
from ..core.swizzle import Swizzle
from .coalesce import coalesce, top_modes

_0, _1 = Int[0](), Int[1]()
#: A tiler: a layout, an integer n for n:1, `_` for all of a mode, or a tuple of these, one for each mode.
TilerLike: TypeAlias = "AnyLayout | Swizzle | Underscore | SupportsIndex | tuple[TilerLike, ...]"


def by_mode(f: Callable[[Layout, Layout], Layout], keep_rest: bool = False) -> Callable[[Layout, TilerLike], Layout]:
    """Lift f(layout, layout) to tilers: _ keeps a mode, an integer n means n:1, a tuple goes mode by mode.

    keep_rest   whether the modes that a tuple does not reach stay (divides) or go (composition)
    """

    @functools.wraps(f)
    def lifted(a: Layout, tiler: Any) -> Layout:
        if isinstance(tiler, tuple):
            return through_modes(a, opened(tiler))
        if type(tiler) is Int and tiler > 0:
            return f(a, unchecked_layout(tiler, _0 if keep_rest and tiler == 1 else _1))  # the stride of _1 is CuTe's
        if isinstance(tiler, Layout):
            return f(a, tiler)
        if isinstance(tiler, Underscore):
            return a
        if is_int(tiler):
            return f(a, Layout(tiler, compact_col_major(tiler) if keep_rest else _1))
        return cast(Layout, _tiler_of_kind(f.__name__, tiler)(a, tiler))

    def through_modes(a: Layout, tiler: tuple[Any, ...]) -> Layout:
        modes = top_modes(f.__name__, a, tiler)
        if len(tiler) > len(modes):
            n = len(tiler) - len(modes)
            raise RankError(f"{f.__name__}: {len(tiler)} tiles for {shown(a)}", f"at most {len(modes)}, one per mode", f"drop the last {n}")
        made = [*_each_mode(lifted, modes, tiler), *(modes[len(tiler) :] if keep_rest else ())]
        return join(made, _in_order(modes, tiler, made) if keep_rest and any(m._origin is ... for m in made) else None)

    return memo(by_kind(Layout)(lifted))


def _tiler_of_kind(name: str, tiler: object) -> Callable[..., Any]:
    """An operation as it is defined on the kind of a tiler that is no Layout, integer or tuple."""
    if own := defined(name, tiler, argument=1):
        return own
    fix = f"write {tiler!r}()" if isinstance(tiler, Static) else "write it as a tuple, such as (4, 8)"
    raise LeafTypeError(f"{name}: a tiler of type {type(tiler).__name__}", "a layout, an integer, or a tuple", fix)


def _in_order(modes: tuple[Layout, ...], tiler: tuple[Any, ...], made: list[Layout]) -> Any:
    """The valid part of modes that were divided: tiles of stride 1 leave the order of a mode, and so how many of it are valid."""
    kept = [is_int(t) or bool(isinstance(t, Layout) and equal(coalesce(t).stride, 1)) for t in tiler]
    counts = [valid_as_one(old if k else new) for old, k, new in zip_longest(modes, kept, made)]
    return ... if any(n is None for n in counts) else Shape(*counts)


def _each_mode(f: Callable[[Layout, Any], Layout], modes: tuple[Layout, ...], tiler: tuple[Any, ...]) -> Iterator[Layout]:
    """f of each mode with its tiler; what cannot be proved of several is one error."""
    unproven: list[Reason] = []
    for mode, t in zip(modes, tiler):
        try:
            yield f(mode, t)
        except Unproven as error:
            unproven.append(error.reason)
    if len(unproven) == 1:
        raise Unproven(*unproven[0])
    if unproven:
        raise Unproven(*("; ".join(dict.fromkeys(parts)) for parts in zip(*unproven)))
