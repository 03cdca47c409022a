"""Lifting an operation on two layouts to tilers, mode by mode; and operations on one mode, `composition[0](a, b)`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, Protocol, SupportsIndex, TypeAlias, TypeVar, cast

from ..core.cache import memo
from ..core.composed import gives_coordinates
from ..core.errors import LeafTypeError, RankError, Reason, Unproven
from ..core.int_tuple import Underscore, _, mode, modes_of, opened, shown
from ..core.ints import Int, IntTupleLike, Static, _0, _1, is_int, leaf
from ..core.kinds import AnyLayout, Certified, by_kind, own
from ..core.layout import Layout, carried, join, unchecked_layout, with_valid
from ..core.strides import compact_col_major
from ..core.swizzle import Swizzle
from ..core.valid import ALL, UNKNOWN
from .coalesce import top_modes
from .plain_integers import naming_static

F = TypeVar("F", bound=Callable[..., Layout])
P = ParamSpec("P")
R = TypeVar("R", covariant=True)

#: A tiler: a layout, an integer n for n:1, `_` for all of a mode, or a tuple of these, one for each mode.
TilerLike: TypeAlias = "AnyLayout | Swizzle | Underscore | SupportsIndex | tuple[TilerLike, ...]"


class InBrackets(Certified[P, R], Protocol[P, R]):
    """An operation that takes a path in brackets: `f[0, 1](a, b)` is f(mode 1 of mode 0 of a, b), in its place in a."""

    def __getitem__(self, path: int | tuple[int, ...]) -> Callable[P, R]: ...


class _OfMode(functools.partial[Any]):
    """An operation by tilers, on a mode as well: what is called is the function itself, so that the plain
    call costs nothing."""

    __name__: str  # update_wrapper's

    def __getitem__(self, path: int | tuple[int, ...]) -> Callable[[Any, TilerLike], Any]:
        indices = tuple(int(leaf(i)) for i in (path if isinstance(path, tuple) else (path,)))

        def of_mode(a: Any, tiler: TilerLike) -> Any:
            shape = getattr(a, "shape", None)  # what has no modes is refused below
            return self(a, tiler if shape is None else _alone(shape, indices, tiler))

        of_mode.__name__ = self.__name__
        return of_mode

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def __reduce__(self) -> Any:
        return self.__name__


def in_brackets(operation: Certified[P, R]) -> InBrackets[P, R]:
    """The operation, which takes the path of a mode in brackets."""
    return cast("InBrackets[P, R]", functools.update_wrapper(_OfMode(operation), operation))


def _alone(shape: IntTupleLike, path: tuple[int, ...], tiler: TilerLike) -> TilerLike:
    """The tiler of all modes that leaves all but one as they are."""
    if not path:
        return tiler
    inside = _alone(mode(shape, path[0]), path[1:], tiler)
    return tuple(inside if i == path[0] else _ for i in range(len(modes_of(shape))))


def by_mode(
    f: Callable[[Layout, Layout], Layout], keep_rest: bool = False, multiplies: bool = False
) -> Callable[[Layout, TilerLike], Layout]:
    """Lift f(layout, layout) to tilers: _ keeps a mode, an integer n means n:1, a tuple goes mode by mode.

    keep_rest    whether the modes that a tuple does not reach stay (divides) or go (composition)
    multiplies   whether the result has other coordinates than a's
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
        return cast(Layout, _of_kind(operation, tiler)(a, tiler))

    def through_modes(a: Layout, tiler: tuple[Any, ...]) -> Layout:
        modes = top_modes(f.__name__, a, tiler)
        if len(tiler) > len(modes):
            n = len(tiler) - len(modes)
            what = f"{f.__name__}: {len(tiler)} tiles for {shown(a)}"
            raise RankError(what, f"at most {len(modes)}, one per mode", f"drop the last {n}")
        return join([*_each_mode(lifted, modes, tiler), *(modes[len(tiler) :] if keep_rest else ())])

    operation = memo(naming_static(by_kind(Layout)(lifted if multiplies else keeping_valid(lifted))))
    return operation


def _of_kind(operation: Any, tiler: object) -> Callable[..., Any]:
    """An operation by a tiler that is no Layout, integer or tuple."""
    if implementation := own(operation, tiler, argument=1):
        return implementation
    fix = f"write {tiler!r}()" if isinstance(tiler, Static) else "write it as a tuple, such as (4, 8)"
    what = f"{operation.__name__}: a tiler of type {type(tiler).__name__}"
    raise LeafTypeError(what, "a layout, an integer, or a tuple", fix)


def keeping_valid(f: F) -> F:
    """Make an operation that cuts a layout's coordinates by a tiler say what of its result is valid: f goes by shape
    and stride only."""

    @functools.wraps(f)
    def kept(a: Layout, tiler: Any) -> Layout:
        made = f(a if a._valid is ALL else with_valid(a, ALL), tiler)
        if type(made) is not Layout:  # of a tiler of another kind, which sees to it by itself
            return made if a._valid is ALL else f(a, tiler)
        if made._valid is UNKNOWN and _is_whole(tiler):
            made = with_valid(made, ALL)  # a tile reaches past the end: of all tiles it may be known
        elif a._valid is ALL:
            return made
        by_index = is_int(tiler) or (isinstance(tiler, Layout) and not gives_coordinates(tiler))
        return carried(lambda place: f(place, tiler), a, made, by_index)

    return cast(F, kept)


def _is_whole(tiler: object) -> bool:
    """Whether no layout in a tiler has padding."""
    if isinstance(tiler, tuple):
        return all(map(_is_whole, tiler))
    return not isinstance(tiler, Layout) or tiler._valid is ALL


def _each_mode(
    f: Callable[[Layout, Any], Layout], modes: tuple[Layout, ...], tiler: tuple[Any, ...]
) -> Iterator[Layout]:
    """f of each mode with its tiler; what cannot be proved of several is one error."""
    unproven: list[Reason] = []
    for m, t in zip(modes, tiler):
        try:
            yield f(m, t)
        except Unproven as error:
            unproven.append(error.reason)
    if len(unproven) == 1:
        raise Unproven(*unproven[0])
    if unproven:
        raise Unproven(*("; ".join(dict.fromkeys(parts)) for parts in zip(*unproven)))
