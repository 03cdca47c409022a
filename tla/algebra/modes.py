"""The modes of tuples and layouts, chosen, gathered and put together.

Each function takes an IntTuple or a layout and gives one of the same kind. A mode keeps what of it is valid; where
modes are gathered or cut and that is no box of the new modes, the origin_shape is None.

Source: CuTe include/cute/layout.hpp, algorithm/tuple_algorithms.hpp and underscore.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core.coord import Coord, CoordLike, as_coord
from ..core.errors import RankError
from ..core.int_tuple import Bracketed, IntTuple, Underscore, as_int_tuple, like, opened, shown
from ..core.ints import _0, _1, leaf
from ..core.kinds import AnyLayout, Operation, by_kind, own
from ..core.layout import Layout, as_layout, carried, join, with_valid
from ..core.valid import ALL

#: More modes than this are refused, rather than made one by one.
MAX_RANK = 2**16


def _checked(x: object, *more: object) -> Any:
    """A layout or a coordinate as it is; a tuple with `_` in it, or beside it, as a coordinate; anything else
    as an IntTuple."""
    if isinstance(x, (AnyLayout, Coord)):
        return x
    return Coord(*x) if isinstance(x, tuple) and any(map(_has_open, (x, *more))) else as_int_tuple(x)


def _has_open(x: object) -> bool:
    """Whether `_` stands in a coordinate."""
    return isinstance(x, Underscore) or (isinstance(x, tuple) and any(map(_has_open, x)))


def _modes(x: Any) -> list[Any]:
    """The modes of x, in a form that _of puts together again."""
    return [*x] if isinstance(x, (tuple, AnyLayout)) else [x]


def _of(x: object, modes: list[Any]) -> Any:
    """Modes put together to what x is."""
    return join(modes) if isinstance(x, AnyLayout) else (Coord if isinstance(x, Coord) else IntTuple)(*modes)


def _chosen(x: object, choose: Callable[..., list[Any]], *more: object) -> Any:
    """A value of x's kind with the modes that choose(modes of x, *more) gives, and what of it is valid.

    more   modes that are put beside those of x
    """
    x = _checked(x, *more)
    new: list[Any] = [
        as_layout("a mode", m) if isinstance(x, AnyLayout) else m if isinstance(x, Coord) else as_int_tuple(m)
        for m in more
    ]
    if not isinstance(x, Layout) or x._valid is ALL:
        return _of(x, choose(_modes(x), *new))
    blank = [Layout(m.shape, like(m.shape, itertools.repeat(_0))) for m in new]  # which go along no mode of x
    made = _of(x, choose(_modes(with_valid(x, ALL)), *new))
    return carried(lambda place: _of(place, choose(_modes(place), *blank)), x, made)


def _range(name: str, begin: int, end: int, x: object) -> slice:
    """The modes from begin up to end, -1 being the end; RankError for a range that x does not have."""
    n = len(_modes(_checked(x)))
    end = n if end == -1 else end
    if not 0 <= begin <= end <= n:
        raise RankError(f"{name}[{begin}, {end}] of {shown(x)}", f"0 <= begin <= end <= {n}", "write -1 for the end")
    return slice(int(begin), int(end))


@Bracketed
def group(begin: int, end: int) -> Callable[[Any], Any]:
    """`group[begin, end](x)`: the modes from begin up to end, not included, as one mode; -1 is the end.

    >>> from tla import group, parse
    >>> print(group[0, 2](parse("(_2,_3,_5):(_1,_2,_6)")))
    ((_2,_3),_5):((_1,_2),_6)

    Raises RankError for a range that x does not have. Source: CuTe `group<B, E>`.
    """

    def f(x: object) -> Any:
        part = _range("group", begin, end, x)
        kind = _checked(x)
        return _chosen(kind, lambda modes: [*modes[: part.start], _of(kind, modes[part]), *modes[part.stop :]])

    return f


@Bracketed
def take(begin: int, end: int) -> Callable[[Any], Any]:
    """`take[begin, end](x)`: the modes from begin up to end, not included; -1 is the end.

    >>> from tla import parse, take
    >>> print(take[1, 3](parse("(_2,_3,_5):(_1,_2,_6)")))
    (_3,_5):(_2,_6)

    Raises RankError for a range that x does not have, or for one of no mode of a layout; of a tuple that is ().
    Source: CuTe `take<B, E>`.
    """

    def f(x: object) -> Any:
        part = _range("take", begin, end, x)
        if isinstance(x, AnyLayout) and (b := part.start) == part.stop:
            what = f"take[{begin}, {end}] of {shown(x)}: no mode"
            raise RankError(what, "begin below end", f"write take[{b}, {b + 1}] for mode {b}")
        return _chosen(x, lambda modes: modes[part])

    return f


@Bracketed
def select(*indices: int) -> Callable[[Any], Any]:
    """`select[i, j](x)`: the modes i, j and so on, in this order: a permutation or a choice.

    >>> from tla import parse, select
    >>> print(select[2, 0](parse("(_2,_3,_5):(_1,_2,_6)")))
    (_5,_2):(_6,_1)

    Raises RankError for a mode that x does not have. Source: CuTe `select<I...>`.
    """

    def f(x: object) -> Any:
        n = len(_modes(_checked(x)))
        if not all(0 <= i < n for i in indices):
            what = f"select{[int(i) for i in indices]} of {shown(x)}"
            raise RankError(what, f"0 to {n - 1}", f"its rank is {n}: use some of these")
        return _chosen(x, lambda modes: [modes[i] for i in indices])

    return f


@Bracketed
def replace(index: int) -> Callable[[Any, Any], Any]:
    """`replace[i](x, mode)`: x with another mode i.

    >>> from tla import parse, replace
    >>> print(replace[1](parse("(_2,_3):(_1,_2)"), parse("_7:_9")))
    (_2,_7):(_1,_9)

    Raises RankError for a mode that x does not have. Source: CuTe `replace<I>`.
    """

    def f(x: object, mode: object) -> Any:
        part = _range("replace", index, index + 1, x)
        return _chosen(x, lambda modes, new: [*modes[: part.start], new, *modes[part.stop :]], mode)

    return f


@by_kind(object)
def reverse(x: object) -> Any:
    """The modes in the opposite order; their own stay as they are.

    >>> from tla import parse, reverse
    >>> print(reverse((2, (3, 4), 5)), reverse(parse("(_2,(_3,_5)):(_1,(_2,_6))")))
    (5,(3,4),2) ((_3,_5),_2):((_2,_6),_1)

    Source: CuTe `reverse`.
    """
    return _chosen(x, lambda modes: modes[::-1]) if isinstance(getattr(x, "shape", x), tuple) else _checked(x)


class _Extend(Operation):
    """`append(x, mode)` puts one mode to x; `append[n](x, mode)` as many as make rank n, by default extents of _1."""

    def __init__(self, f: Callable[[list[Any], list[Any]], list[Any]], name: str, doc: str) -> None:
        self._join, self.kinds = f, {}
        self.__name__, self.__doc__, self.__module__ = name, doc, __name__
        self.__wrapped__ = type(self).__call__

    def __call__(self, x: Any, mode: Any) -> Any:
        if implementation := own(self, x):
            return implementation(x, mode)
        return _chosen(x, lambda modes, new: self._join(modes, [new]), mode)

    def __getitem__(self, n: int) -> Callable[..., Any]:
        def f(x: object, mode: object = None) -> Any:
            if implementation := own(self, x, brackets=(n,)):
                return implementation(x, mode)
            rank = len(_modes(_checked(x)))
            if leaf(n) > MAX_RANK:
                raise RankError(f"{self.__name__}[{n}] of {shown(x)}", f"at most {MAX_RANK}", "use fewer modes")
            if n < rank:
                raise RankError(
                    f"{self.__name__}[{n}] of {shown(x)}", f"{rank} or more", "write take[0, n] for fewer modes"
                )
            filler = (Layout(_1, _0) if isinstance(x, AnyLayout) else _1) if mode is None else mode
            return _chosen(x, lambda modes, new: self._join(modes, [new] * (int(n) - rank)), filler)

        return f


append = _Extend(
    lambda modes, more: modes + more,
    "append",
    """`append(x, mode)`: x with one mode more behind; `append[n](x)`, `append[n](x, mode)`: with as many as make rank n.

    >>> from tla import append, parse, _2
    >>> print(append(parse("(_2,_3):(_1,_2)"), parse("_7:_9")), append[3](parse("(_2,_3):(_1,_2)")), append[3]((_2, 3)))
    (_2,_3,_7):(_1,_2,_9) (_2,_3,_1):(_1,_2,_0) (_2,3,_1)

    Raises RankError where n is less than the rank of x. Source: CuTe `append<N>`.
    """,
)
prepend = _Extend(
    lambda modes, more: more + modes,
    "prepend",
    """`prepend(x, mode)`: x with one mode more in front; `prepend[n](x)`, `prepend[n](x, mode)`: with as many as make rank n.

    >>> from tla import parse, prepend
    >>> print(prepend(parse("(_2,_3):(_1,_2)"), parse("_7:_9")), prepend[3](parse("(_2,_3):(_1,_2)")))
    (_7,_2,_3):(_9,_1,_2) (_1,_2,_3):(_0,_1,_2)

    Raises RankError where n is less than the rank of x. Source: CuTe `prepend<N>`.
    """,
)


# ---------------------------------------------------------------------------------------------------- slices


@by_kind(object, argument=1)
def slice_(coord: CoordLike, x: object) -> Any:
    """The modes of x that a coordinate leaves open, those where it has `_`, side by side.

    >>> from tla import _, parse, slice_
    >>> print(slice_((2, _), parse("((_3,2),(2,_5)):((4,1),(_2,13))")))
    ((2,_5)):((_2,13))

    Raises RankError where the coordinate does not fit. Source: CuTe `slice`.
    """
    x, coord = _checked(x), opened(coord)
    if isinstance(coord, Underscore):
        return x
    if isinstance(x, Layout) and x._valid is not ALL:
        return carried(lambda place: slice_and_offset(coord, place), x, slice_(coord, with_valid(x, ALL)))
    return _of(x, _sliced(coord, x, keep_open=True))


@by_kind(object, argument=1)
def dice(coord: CoordLike, x: object) -> Any:
    """The modes of x that a coordinate fixes, those where it has no `_`, side by side.

    >>> from tla import _, dice, parse
    >>> print(dice((2, _), parse("((_3,2),(2,_5)):((4,1),(_2,13))")))
    ((_3,2)):((4,1))

    Raises RankError where the coordinate does not fit. Source: CuTe `dice`.
    """
    x, coord = _checked(x), opened(coord)
    if isinstance(coord, (tuple, Underscore)):
        if isinstance(x, Layout) and x._valid is not ALL:
            return carried(lambda place: dice(coord, place), x)
        return _of(x, _sliced(coord, x, keep_open=False))
    as_coord(coord)
    return x


@by_kind(Layout, argument=1)
def slice_and_offset(coord: CoordLike, layout: AnyLayout) -> tuple[Layout, Any]:
    """The slice that a coordinate leaves open, and the offset of what it fixes [elements].

    >>> from tla import _, parse, slice_and_offset
    >>> rest, offset = slice_and_offset((3, _), parse("(_8,_4):(_8,_1)"))
    >>> print(rest, offset)
    (_4):(_1) 24

    Raises RankError where the coordinate does not fit. Source: CuTe and TLA `slice_and_offset`.
    """
    coord = opened(coord)
    return slice_(coord, layout), layout(_closed(coord))


def _closed(coord: CoordLike) -> Any:
    """The coordinate with 0 where it is open."""
    return tuple(map(_closed, coord)) if isinstance(coord, tuple) else _0 if isinstance(coord, Underscore) else coord


def _sliced(coord: CoordLike, x: object, keep_open: bool) -> list[Any]:
    if not isinstance(coord, tuple):
        return [x] if _is_open(coord) is keep_open else []
    modes = _modes(x)
    if len(coord) != len(modes) or not isinstance(getattr(x, "shape", x), tuple):
        what = f"coordinate {shown(coord)} of {shown(x)}"
        raise RankError(what, f"{len(modes)} modes", "give one coordinate, or _, for each mode")
    return [kept for c, mode in zip(coord, modes) for kept in _sliced(c, mode, keep_open)]


def _is_open(c: CoordLike) -> bool:
    """Whether a coordinate is `_`; it is checked if not."""
    if not isinstance(c, Underscore):
        as_coord(c)
    return isinstance(c, Underscore)
