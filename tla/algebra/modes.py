"""The modes of tuples and layouts, chosen, gathered and put together.

Each function takes an IntTuple or a layout and gives one of the same kind. A mode keeps what of it is valid; where modes are
gathered or cut and that is no box of the new modes, the origin_shape is None.

Source: CuTe include/cute/layout.hpp, algorithm/tuple_algorithms.hpp and underscore.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core.composed import ComposedLayout
from ..core.coord import Coord, CoordLike, as_coord
from ..core.errors import RankError
from ..core.int_tuple import Bracketed, IntTuple, Underscore, as_int_tuple, opened, shown
from ..core.ints import Int, IntLike, is_leaf, leaf
from ..core.kinds import AnyLayout, by_kind, defined
from ..core.layout import Layout, as_layout, join, unchecked_layout, valid_as_one
from ..core.questions import at_most
from ..core.strides import Shape

_0, _1 = Int[0](), Int[1]()
#: More modes than this are refused, rather than made one by one.
MAX_RANK = 2**16


def _modes(x: object) -> list[Any]:
    """The modes of x, in a form that _of puts together again: of a layout, each with its valid extent."""
    if isinstance(x, Layout):
        return [(mode, valid) for mode, valid in zip(x, x.origin_shape or itertools.repeat(None))]
    x = _checked(x)
    return list(x) if isinstance(x, tuple) else [x]


def _checked(x: object) -> Any:
    """A layout or a coordinate, which may have `_`, as it is; anything else as an IntTuple."""
    return x if isinstance(x, (AnyLayout, Coord)) else as_int_tuple(x)


def _of(x: Any, modes: list[Any]) -> Any:
    """Modes put together to what x is."""
    if not isinstance(x, AnyLayout):
        return Coord(*modes) if isinstance(x, Coord) else IntTuple(*modes)
    made = join(layout for layout, _valid in modes)
    valid = [valid for _layout, valid in modes]
    return Layout(made.shape, made.stride, ... if any(n is None for n in valid) else Shape(*valid))


def _one(x: object, mode: object) -> Any:
    """A mode to be put beside those of x."""
    if not isinstance(x, AnyLayout):
        return mode if isinstance(x, Coord) else as_int_tuple(mode)
    layout = as_layout("a mode", mode)
    return layout, valid_as_one(layout)


def _range(name: str, begin: int, end: int, x: object) -> tuple[list[Any], int, int]:
    modes = _modes(x)
    end = len(modes) if end == -1 else end
    if not 0 <= begin <= end <= len(modes):
        raise RankError(f"{name}[{begin}, {end}] of {shown(x)}", f"0 <= begin <= end <= {len(modes)}", "write -1 for the end")
    return modes, int(begin), int(end)


@Bracketed
def group(begin: int, end: int) -> Callable[[Any], Any]:
    """`group[begin, end](x)`: the modes from begin up to end, not included, as one mode; -1 is the end.

    >>> from tla import group, parse
    >>> print(group[0, 2](parse("(_2,_3,_5):(_1,_2,_6)")))
    ((_2,_3),_5):((_1,_2),_6)

    Raises RankError for a range that x does not have. Source: CuTe `group<B, E>`.
    """

    def f(x: object) -> Any:
        modes, b, e = _range("group", begin, end, x)
        inner = _of(x, modes[b:e])
        return _of(x, [*modes[:b], _one(x, inner), *modes[e:]])

    return f


@Bracketed
def take(begin: int, end: int) -> Callable[[Any], Any]:
    """`take[begin, end](x)`: the modes from begin up to end, not included; -1 is the end.

    >>> from tla import parse, take
    >>> print(take[1, 3](parse("(_2,_3,_5):(_1,_2,_6)")))
    (_3,_5):(_2,_6)

    Raises RankError for a range that x does not have, or that is empty. Source: CuTe `take<B, E>`.
    """

    def f(x: object) -> Any:
        modes, b, e = _range("take", begin, end, x)
        if b == e:
            raise RankError(f"take[{begin}, {end}] of {shown(x)}: no mode", "begin below end", f"write take[{b}, {b + 1}] for mode {b}")
        return _of(x, modes[b:e])

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
        modes = _modes(x)
        if not all(0 <= i < len(modes) for i in indices):
            raise RankError(
                f"select{[int(i) for i in indices]} of {shown(x)}", f"0 to {len(modes) - 1}", f"its rank is {len(modes)}: use some of these"
            )
        return _of(x, [modes[i] for i in indices])

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
        modes, i, _end = _range("replace", index, index + 1, x)
        return _of(x, [*modes[:i], _one(x, mode), *modes[i + 1 :]])

    return f


@by_kind(object)
def reverse(x: object) -> Any:
    """The modes in the opposite order; their own stay as they are.

    >>> from tla import parse, reverse
    >>> print(reverse((2, (3, 4), 5)), reverse(parse("(_2,(_3,_5)):(_1,(_2,_6))")))
    (5,(3,4),2) ((_3,_5),_2):((_2,_6),_1)

    Source: CuTe `reverse`.
    """
    x = _checked(x)
    return _of(x, _modes(x)[::-1]) if isinstance(getattr(x, "shape", x), tuple) else x


class _Extend:
    """`append(x, mode)` puts one mode to x; `append[n](x, mode)` as many as make rank n, by default extents of _1."""

    def __init__(self, f: Callable[[list[Any], list[Any]], list[Any]], name: str, doc: str) -> None:
        self._join = f
        self.__name__, self.__doc__, self.__module__ = name, doc, __name__
        self.__wrapped__ = type(self).__call__

    def __call__(self, x: Any, mode: Any) -> Any:
        if own := defined(self.__name__, x):
            return own(x, mode)
        return _of(x, self._join(_modes(x), [_one(x, mode)]))

    def __getitem__(self, n: int) -> Callable[..., Any]:
        def f(x: object, mode: object = None) -> Any:
            if isinstance(x, ComposedLayout):
                return x.over(f, mode)
            modes = _modes(x)
            if leaf(n) > MAX_RANK:
                raise RankError(f"{self.__name__}[{n}] of {shown(x)}", f"at most {MAX_RANK}", "use fewer modes")
            if n < len(modes):
                raise RankError(f"{self.__name__}[{n}] of {shown(x)}", f"{len(modes)} or more", "write take[0, n] for fewer modes")
            filler = _one(x, (Layout(_1, _0) if isinstance(x, AnyLayout) else _1) if mode is None else mode)
            return _of(x, self._join(modes, [filler] * (int(n) - len(modes))))

        return f

    def __reduce__(self) -> str:
        return self.__name__


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
    rest = _of(x, _sliced(coord, x, keep_open=True))
    if isinstance(x, Layout) and x._origin is not None and not _is_valid(coord, x):
        return unchecked_layout(rest.shape, rest.stride, ...)
    return rest


def _is_valid(coord: CoordLike, layout: Layout) -> bool:
    """Whether what a coordinate fixes is known to be inside of what is valid."""
    if not isinstance(coord, tuple):
        return _is_below(coord, valid_as_one(layout))
    valid = layout.origin_shape or itertools.repeat(None)
    return all(_is_valid(c, mode) if isinstance(c, tuple) else _is_below(c, n) for c, mode, n in zip(coord, layout, valid))


def _is_below(c: CoordLike, n: IntLike) -> bool:
    return isinstance(c, Underscore) or (n is not None and is_leaf(c) and at_most(n, c) is False)


@by_kind(object, argument=1)
def dice(coord: object, x: Any) -> Any:
    """The modes of x that a coordinate fixes, those where it has no `_`, side by side.

    >>> from tla import _, dice, parse
    >>> print(dice((2, _), parse("((_3,2),(2,_5)):((4,1),(_2,13))")))
    ((_3,2)):((4,1))

    Raises RankError where the coordinate does not fit. Source: CuTe `dice`.
    """
    x, coord = _checked(x), opened(coord)
    if isinstance(coord, (tuple, Underscore)):
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
        return [_one(x, x)] if _is_open(coord) is keep_open else []
    modes = _modes(x)
    if len(coord) != len(modes) or not isinstance(getattr(x, "shape", x), tuple):
        raise RankError(f"coordinate {shown(coord)} of {shown(x)}", f"{len(modes)} modes", "give one coordinate, or _, for each mode")
    out = []
    for c, mode in zip(coord, modes):
        if not isinstance(c, tuple):
            out += [mode] if _is_open(c) is keep_open else []
        else:
            out += _sliced(c, mode[0] if isinstance(x, AnyLayout) else mode, keep_open)
    return out


def _is_open(c: CoordLike) -> bool:
    """Whether a coordinate is `_`; it is checked if not."""
    if not isinstance(c, Underscore):
        as_coord(c)
    return isinstance(c, Underscore)
