"""IntTuples: an integer, or a tuple of IntTuples; and the operations on them that layouts are made of.

Functions with template arguments in C++ take them in square brackets: `get[0, 1](x)`, `rank[0](x)`. First mode fastest
(colexicographic) wherever one integer stands for a coordinate. A layout is no IntTuple: rank, depth, size, shape and
the predicates on profiles are defined on layouts, by their shapes, and take them; everything else that
wants integers refuses one.

Source: CuTe include/cute/int_tuple.hpp and algorithm/tuple_algorithms.hpp; TLA include/tla/int_tuple.hpp.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from .display import Displayed
from .errors import LeafTypeError, RankError
from .ints import Int, IntTree, IntTupleLike, Leaf, Static, is_int, is_leaf, is_static, leaf, static
from .kinds import AnyLayout, Operation, own
from .leaf_arithmetic import mul
from .plain_ints import remade

#: Nesting deeper than this is refused: it is no layout, and recursion on it would not end well.
MAX_DEPTH = 64
#: An error of deeper ones: what was given, what was expected, the fix.
TOO_DEEP = (
    f"tuples nested more than {MAX_DEPTH} deep",
    f"at most {MAX_DEPTH} levels",
    "write its integers in one flat tuple",
)

T = TypeVar("T", bound="IntTuple")
M = TypeVar("M", bound="_TupleMeta")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class _TupleMeta(type):
    def __getitem__(cls: M, modes: object) -> M:
        modes = modes if isinstance(modes, tuple) else (modes,)
        value = cls(*map(_static_mode, modes))
        names = ", ".join(repr(m) if isinstance(m, Static) else text(m) for m in modes)
        return cast(M, Static(value, f"{cls.__name__}[{names}]"))


def _static_mode(x: object) -> IntTree:
    x = x.value if isinstance(x, Static) else x
    if not is_static(x):
        raise LeafTypeError(
            f"{shown(x)} in square brackets", "what is known at compile time", "write _4 or Int[4], or use MakeShape(4)"
        )
    return x


class IntTuple(tuple[Any, ...], Displayed, metaclass=_TupleMeta):
    """A tuple of IntTuples. It prints as tla's notation; Shape, Stride and Coord are its kinds.

    A tuple in every Python sense, and equal to a plain tuple of the same values. `Shape[_4, Int[2]]` is a static one as
    a type, and `Shape[_4, Int[2]]()` that value.

    Raises LeafTypeError where a leaf is no integer, RankError past a nesting of 64.

    >>> from tla import IntTuple, Int, Shape, _4
    >>> t = IntTuple(Int[2](), (4, Int[3]()))
    >>> print(t, t == (2, (4, 3)), t[1], Shape[_4, Int[2]]())
    (_2,(4,_3)) True (4,_3) (_4,_2)
    """

    __slots__ = ()
    checked = True  # its leaves are integers: whoever gets one need not look again

    def __new__(cls: type[T], *modes: IntTupleLike) -> T:
        return as_tuple(cls, modes)

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        if not self.checked and not all(map(is_leaf, leaves(self))):  # arrays and tracers have no notation
            return type(self).__name__ + tuple.__repr__(self)
        return f"parse({str(self)!r}{symbols_given(self)})"

    def __call__(self, *arguments: Any) -> Any:
        what = f"{shown(self)} called: a shape, stride or coordinate is a value"
        raise LeafTypeError(
            what, "a layout or tensor to call", "leave out the (): t.shape, t.stride; t(1, 2) is an element"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), *self)


class Underscore:
    """The type of `_`, the placeholder: all of a mode, in coordinates and tilers. As in C++, write
    `from tla import _`."""

    def __repr__(self) -> str:
        return "_"

    def __reduce__(self) -> str:  # the one object of its name, after pickle and copy too
        return "_"


#: All of a mode, in a coordinate or a tiler.
_ = Underscore()


def opened(coord: object, depth: int = MAX_DEPTH) -> Any:
    """A coordinate or tiler with `_` where a tuple in it has Python's `:`, or None, which stand for it."""
    if not isinstance(coord, tuple):
        return coord
    if depth == 0:
        raise RankError(*TOO_DEEP)
    return tuple(
        [_ if m is None or (isinstance(m, slice) and m == slice(None)) else opened(m, depth - 1) for m in coord]
    )


def as_tuple(cls: type[T], modes: tuple[Any, ...], as_leaf: Callable[[Any], Any] = leaf, depth: int = 0) -> T:
    """The tuple `modes` and every tuple in it as a `cls`, its leaves checked by as_leaf."""
    if depth >= MAX_DEPTH:
        raise RankError(*TOO_DEEP)
    return tuple.__new__(
        cls, [as_tuple(cls, m, as_leaf, depth + 1) if isinstance(m, tuple) else as_leaf(m) for m in modes]
    )


def require_depth(x: tuple[Any, ...], depth: int = MAX_DEPTH) -> None:
    """RankError if tuples are nested deeper than any layout is."""
    for m in x:
        if isinstance(m, tuple):
            if depth == 1:
                raise RankError(*TOO_DEEP)
            require_depth(m, depth - 1)


def as_shape(x: object) -> IntTree:
    """x checked, for what is defined on layouts by their shapes: an integer as a leaf, a tuple as an IntTuple, a layout
    as its shape."""
    return as_int_tuple(shape_of(x))


def as_int_tuple(x: object, cls: type[IntTuple] = IntTuple) -> IntTree:
    """x checked: an integer as a leaf, a tuple as a `cls`. A layout is neither, and refused: its shape alone is not
    what it is."""
    if type(x) is cls or (cls is IntTuple and isinstance(x, IntTuple) and x.checked):
        return x
    return as_tuple(cls, x) if isinstance(x, tuple) else leaf(x)


def text(x: object, depth: int = 2 * MAX_DEPTH) -> str:
    """An IntTuple in tla's notation: `(_2,(4,_3))`; a leaf prints itself."""
    if depth == 0:  # the compiled build has no limit of its own
        raise RecursionError
    return f"({','.join([text(m, depth - 1) for m in x])})" if isinstance(x, tuple) else str(x)


def symbols_given(*trees: object) -> str:
    """The argument that repr adds to parse(text) for the symbols in IntTuples: nothing, or `, symbols=[dim('M')]`."""
    found = dict.fromkeys(s for x in trees for n in leaves(x) for s in getattr(getattr(n, "value", n), "symbols", ()))
    return f", symbols={[*found]}" if found else ""


def shown(x: object, width: int = 80) -> str:
    """The text of x in an error message: its notation, cut at `width` characters."""
    try:
        full = text(x)
        full = repr(x) if "\n" in full else full  # print() of a tiled MMA has a line for each field
    except (RecursionError, ValueError):  # nested too deep, or an integer of thousands of digits
        return "..."
    return full if len(full) <= width else full[: width - 3] + "..."


def quoted(x: object, width: int) -> str:
    """The text of x in an error message as Python writes it, its first `width` characters."""
    try:
        return repr(x)[:width]
    except RecursionError:  # nested too deep
        return f"{type(x).__name__}(...)"


# ------------------------------------------------------------------------------- functions with a path in brackets


class ByPath(Operation, Generic[R]):
    """A function of an IntTuple or layout that takes a path in brackets: `f[0, 1](x)` is f of mode 1 of mode 0 of x."""

    def __init__(self, f: Callable[[Any], R]) -> None:
        self._f, self.kinds = f, {}
        functools.update_wrapper(self, f)

    def __call__(self, x: Any, *path: Any) -> R:
        if path:
            name = self._f.__name__
            raise LeafTypeError(
                f"{name} with {1 + len(path)} arguments", "one, and the mode in brackets", f"write {name}[0](x)"
            )
        return self._of(x, ())

    def __getitem__(self, path: int | tuple[int, ...]) -> Callable[[Any], R]:
        indices = tuple(map(leaf, path)) if isinstance(path, tuple) else (leaf(path),)

        def of_mode(x: object) -> R:
            return self._of(x, indices)

        of_mode.__name__ = self.__name__
        return of_mode

    def _of(self, x: object, path: tuple[int, ...]) -> R:
        """f of the mode of x at a path; what is defined on the kind of x takes the path too."""
        implementation = own(self, x)
        return cast(R, implementation(x, *path)) if implementation else self._f(functools.reduce(mode, path, x))


class Bracketed(Operation, Generic[F]):
    """A function whose first arguments stand in square brackets: `take[0, 2](x)`."""

    def __init__(self, make: Callable[..., F]) -> None:
        code = make.__code__
        self._make, self._count = make, code.co_argcount
        self._form = f"{make.__name__}[{', '.join(code.co_varnames[: code.co_argcount])}]"
        self.__doc__, self.__name__, self.__module__ = make.__doc__, make.__name__, make.__module__
        self.__wrapped__, self.kinds = make, {}

    def __getitem__(self, arguments: int | tuple[int, ...]) -> F:
        given = tuple(map(leaf, arguments if isinstance(arguments, tuple) else (arguments,)))
        if self._count and len(given) != self._count:
            what = f"{self.__name__}{[int(i) for i in given]}"
            raise RankError(what, f"{self._count} integers in brackets", f"write {self._form}(x)")
        bound = self._make(*given)

        def of_any_kind(x: object, *more: object) -> Any:
            return (own(self, x, brackets=given) or bound)(x, *more)

        of_any_kind.__name__ = self.__name__
        return cast(F, of_any_kind)

    def __call__(self, *arguments: Any) -> Any:
        what = f"{self.__name__} without brackets"
        raise LeafTypeError(what, "what C++ has in <> in square brackets", f"write {self.__name__}[...](layout)")


def mode(x: Any, i: int) -> Any:
    """Mode i of a tuple or layout; an integer is its own mode 0."""
    if not isinstance(x, (tuple, AnyLayout)):
        x = leaf(x)
    if 0 <= i < len(modes_of(x)):
        return x[i] if not is_int(x) else x
    raise RankError(
        f"mode {i} of {shown(x)}", f"0 to {len(modes_of(x)) - 1}", f"its rank is {len(modes_of(x))}: use one of these"
    )


def shape_of(x: object) -> IntTree:
    """The shape of a layout; an IntTuple is its own."""
    return x.shape if isinstance(x, AnyLayout) else x


def modes_of(x: object) -> tuple[Any, ...]:
    """The modes of a shape as a tuple: an integer is one mode."""
    x = shape_of(x)
    return x if isinstance(x, tuple) else (x,)


def leaves(x: object) -> Iterator[Any]:
    """The integers of an IntTuple, from left to right."""
    if not isinstance(x, tuple):
        return iter((x,))
    out: list[Any] = []  # one list, and no generator in a generator: this is on the path of every operation
    _collect(x, out)
    return iter(out)


def _collect(x: tuple[Any, ...], out: list[Any]) -> None:
    for m in x:
        if isinstance(m, tuple):
            _collect(m, out)
        else:
            out.append(m)


@ByPath
def get(x: object) -> Any:
    """The mode of a tuple or layout at a path: `get[0, 1](x)` is mode 1 of mode 0.

    Raises RankError where there is no such mode.

    >>> from tla import get, parse
    >>> print(get[1, 0]((2, (3, 4))), get[1](parse("(_4,(_3,_6)):(_1,(_4,_12))")))
    3 (_3,_6):(_4,_12)

    Source: CuTe and TLA `get<I...>`.
    """
    return x if isinstance(x, (tuple, AnyLayout)) else leaf(x)


@ByPath
def rank(x: object) -> Int:
    """The number of modes: the length of a tuple, 1 for an integer. Static.

    >>> from tla import rank
    >>> print(rank((2, (3, 4))), rank(5), rank[1]((2, (3, 4, 5))))
    _2 _1 _3

    Source: CuTe and TLA `rank<I...>`.
    """
    return static(len(modes_of(as_shape(x))))


@ByPath
def depth(x: object) -> Int:
    """The depth of the nesting: 0 for an integer, 1 for a flat tuple. Static.

    >>> from tla import depth
    >>> print(depth(5), depth((2, (3, 4))), depth[1]((2, (3, 4))))
    _0 _2 _1

    Source: CuTe and TLA `depth<I...>`.
    """
    return static(depth_of(as_shape(x)))


def depth_of(x: object) -> int:
    """The depth of an IntTuple as an int."""
    return 1 + builtins.max(map(depth_of, x), default=0) if isinstance(x, tuple) else 0


@ByPath
def size(x: IntTree) -> Leaf:
    """The number of coordinates: the product of all extents [elements]. For a layout, of its (padded) shape.

    >>> from tla import size, Int
    >>> print(size((2, (3, Int[4]()))), size[1]((2, (Int[3](), Int[4]()))))
    24 _12

    Source: CuTe `size<I...>`.
    """
    return product(shape_of(x))


def product(x: IntTupleLike | AnyLayout) -> Leaf:
    """The product of all integers of an IntTuple; static if all of them are, _1 for ().

    >>> from tla import product, Int
    >>> print(product((Int[2](), (Int[3](), Int[4]()))), product((2, Int[3]())), product(()))
    _24 6 _1

    Source: CuTe `product`; TLA `Product`.
    """
    return functools.reduce(mul, leaves(as_int_tuple(x)), static(1))


def product_each(x: IntTupleLike | AnyLayout) -> IntTuple:
    """The product of each top-level mode: the extents of a layout seen without its nesting.

    >>> from tla import product_each, Int
    >>> print(product_each((2, (Int[3](), Int[4]()))))
    (2,_12)

    Source: CuTe `product_each`.
    """
    x = as_int_tuple(x)
    return IntTuple(*map(product, modes_of(x)))


def like(profile: IntTupleLike, values: Iterator[Any], cls: type[IntTuple] = IntTuple) -> IntTree:
    """The next values of an iterator, in the nesting of `profile`."""
    if not isinstance(profile, tuple):
        return next(values)
    return tuple.__new__(cls, [like(p, values, cls) if isinstance(p, tuple) else next(values) for p in profile])
