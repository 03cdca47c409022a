"""The signature of emitted code: its expressions and its parameters.

The static leaves of a layout are numbers in the code, its dynamic leaves and its symbols are parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.basis import Basis, ScaledBasis, as_coordinate
from ...core.composed import ComposedLayout
from ...core.coord import CoordLike
from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import leaves, modes_of, product, require_depth, shown
from ...core.ints import IntTree, IntTupleLike, Leaf, leaf
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.leaf_arithmetic import add, larger, plus
from ...core.swizzle import CoordSwizzle, Swizzle
from ...notation.text import parse
from ...symbolic import Condition, SymInt, dim, index
from ...symbolic.declare import unnamed
from ...symbolic.facts import require_name
from ...symbolic.symint import wrap
from ...tensors.tensor import Tensor

#: The names of coordinates that are given none.
NAMES = "ijklmn"


class Parameter(NamedTuple):
    """An integer that the code is given.

    name     its name
    symbol   it, with its facts
    value    of a dynamic leaf, what it is now; else None
    """

    name: str
    symbol: SymInt
    value: int | None = None


class Arguments(NamedTuple):
    """The expressions that code computes, with its parameters.

    what          in words, for a comment
    results       integers, conditions, or tuples of conditions that are all to hold
    coordinates   the parameters that come first
    dynamic       those that stand for dynamic leaves of a layout
    """

    what: str
    results: tuple[Any, ...]
    coordinates: tuple[Parameter, ...]
    dynamic: tuple[Parameter, ...] = ()


def arguments_of(what: object, coords: CoordLike) -> Arguments:
    """The signature of the code for a layout or Tensor at coordinates, an integer expression, a condition, or
    a tuple of these."""
    if isinstance(what, Arguments):
        return what
    for given in (what, coords):
        if isinstance(given, tuple):
            require_depth(given)
    if isinstance(what, (AnyLayout, Tensor)):
        return _of_layout(what, coords)
    results = tuple(map(_result, leaves(what)))
    given = () if coords is None else tuple(_symbols(coords, {str(n): n for x in results for n in symbols_of(x)}))
    return Arguments(shown(what), results, tuple(Parameter(str(n), n) for n in given))


def _result(x: object) -> Condition | SymInt:
    if isinstance(x, str):
        raise LeafTypeError(
            f"the text {x!r:.40}", "a layout, a Tensor, an integer or a condition", "parse it, or lower an XLA shape"
        )
    if isinstance(x, Swizzle):
        fix = f"write what it makes of an offset: {x!r}(index('x', below=4096))"
        raise LeafTypeError(f"emit of {x}, which has no shape", "a layout, a Tensor, an integer or a condition", fix)
    return x if isinstance(x, Condition) else leaf(x)


def symbols_of(x: object) -> tuple[SymInt, ...]:
    """The symbols in an integer or a condition, by name."""
    if isinstance(x, Condition):
        return tuple({n: None for side in (x.a, x.b) for n in symbols_of(wrap(side))})
    return x.symbols if isinstance(x, SymInt) else ()


def _symbols(coords: CoordLike, known: dict[str, SymInt]) -> Iterator[SymInt]:
    """The symbols that are named, in order."""
    for c in leaves(_spelled(coords)):
        if isinstance(c, str) and c not in known:
            raise LeafTypeError(
                f"the coordinate {c}", f"a name in the expression: {', '.join(known) or 'it has none'}", "leave it out"
            )
        yield from symbols_of(known[c] if isinstance(c, str) else c)


# ------------------------------------------------------------------------------------------------------ layouts


def coordinates_of(
    layout: AnyLayout, open_layout: AnyLayout, coords: CoordLike
) -> tuple[Any, Any, tuple[Parameter, ...]]:
    """Coordinates as they are spelled, as indices inside of the shape, and the parameters in them."""
    given = _default_names(layout) if coords is None else _spelled(coords)
    coord = _bounded(given, open_layout.shape)
    return given, coord, tuple({str(n): Parameter(str(n), n) for c in leaves(coord) for n in symbols_of(c)}.values())


def _of_layout(what: Any, coords: Any) -> Arguments:
    layout = what.layout if isinstance(what, Tensor) else what
    dynamic: dict[str, Parameter] = {}
    open_layout = with_parameters(layout, dynamic)
    given, coord, names = coordinates_of(layout, open_layout, coords)
    place = _settled(coord if isinstance(coord, tuple) else (coord,))
    if isinstance(what, Tensor):
        place = tuple(map(add, _open(what.coord, dynamic, "coord", _any), _per_mode(place, open_layout.shape)))
    offset = open_layout(*place)
    if isinstance(what, Tensor):
        offset = plus(_open(what.offset, dynamic, "base", _any), offset)
    results = tuple(leaves(as_coordinate(offset))) if isinstance(offset, (tuple, ScaledBasis)) else (offset,)
    start = f" from {shown(what.coord)} at {what.offset}" if isinstance(what, Tensor) else ""
    said = ("offset", " [elements]") if len(results) == 1 else ("coordinate", "")
    text = f"the {said[0]} of {shown(given)} in {shown(layout, 200)}{start}{said[1]}"
    return Arguments(text, results, names, tuple(dynamic.values()))


def _per_mode(place: tuple[Any, ...], shape: IntTupleLike) -> tuple[Any, ...]:
    if len(place) != len(modes_of(shape)) or any(isinstance(c, tuple) for c in place):
        what = f"coordinate {shown(place)} in a tensor"
        raise RankError(what, f"{len(modes_of(shape))} integers", "give one for each top-level mode")
    return place


def _default_names(layout: AnyLayout) -> Any:
    rank = len(modes_of(layout.shape))
    names = tuple(NAMES[:rank] if rank <= len(NAMES) else (f"c{k}" for k in range(rank)))
    return names if isinstance(layout.shape, tuple) else names[0]


def _spelled(coords: CoordLike) -> Any:
    """Coordinates as a tree of names, integers and SymInts; from a text such as "i,(j0,j1)"."""
    if isinstance(coords, tuple):
        return tuple(map(_spelled, coords))
    if not isinstance(coords, str):
        return leaf(coords)
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", coords))
    for name in names:
        require_name(name)
    read = parse(f"({coords})", symbols=[dim(name) for name in names])
    tree = _unread(read)
    return tree[0] if len(tree) == 1 else tree


def _unread(x: object) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_unread, x))
    if isinstance(x, SymInt) and str(x) != str(x.symbols[0]):
        raise LeafTypeError(
            f"the coordinate {x}", "a name or an integer", "give an expression as a SymInt: coords=(bx*128 + t, j)"
        )
    return str(x) if isinstance(x, SymInt) else x


def _bounded(coord: CoordLike, shape: IntTupleLike) -> IntTree:
    """Names as indices below the extents that they run through; what is no name as it is."""
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            what = f"coordinate {shown(coord)} in the shape {shown(shape)}"
            raise RankError(what, "one name per mode, or one for all", "nest it no deeper than the shape")
        return tuple(map(_bounded, coord, shape))
    return index(coord, below=larger(product(shape), 1)) if isinstance(coord, str) else coord


def _settled(coord: CoordLike) -> IntTree:
    """The coordinate with 0 for an index of one value: nothing is computed of it."""
    if isinstance(coord, tuple):
        return tuple(map(_settled, coord))
    return 0 if isinstance(coord, SymInt) and coord.equals(0).holds else coord


def with_parameters(x: object, found: dict[str, Parameter], name: str = "") -> Any:
    """A layout with a symbol for each dynamic leaf: these go into `found`, by names that say where they stand."""
    if isinstance(x, ComposedLayout):
        parts = (("outer", x.outer), ("start", x.offset), ("inner", x.inner))
        return ComposedLayout(*(with_parameters(part, found, f"{name}{which}_") for which, part in parts))
    if isinstance(x, (Swizzle, CoordSwizzle)):
        return x
    if isinstance(x, Layout):
        shape = _open(x.shape, found, f"{name}shape", dim)
        return Layout(shape, _open(x.stride, found, f"{name}stride", _any))
    return _open(x, found, name.rstrip("_"), _any)


def _any(name: str) -> SymInt:
    return unnamed(name, None)


def _open(x: object, found: dict[str, Parameter], name: str, declare: object) -> Any:
    if isinstance(x, tuple):
        return type(x)(*(_open(y, found, f"{name}_{k}", declare) for k, y in enumerate(x)))
    if isinstance(x, Basis):
        return x.each(lambda n: _open(n, found, name, declare))
    return open_leaf(x, found, name, declare)


def open_leaf(x: Leaf, found: dict[str, Parameter], name: str, declare: Any = _any) -> Any:
    """A symbol for a dynamic integer, which goes into `found`; what is none as it is."""
    if type(x) is not int:
        return x
    found[name] = Parameter(name, declare(name), x)
    return found[name].symbol
