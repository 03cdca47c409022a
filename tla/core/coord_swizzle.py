"""Swizzles between coordinates: bits of one mode of a coordinate xored into another mode, before a layout makes an offset of it.

Source: FlyDSL, include/flydsl/Dialect/Fly/IR/FlyAttrDefs.td, `CoordSwizzle`.
"""

from __future__ import annotations

import operator
from typing import Any

from .arrays import computed
from .basis import ArithmeticTuple, as_coordinate
from .coord import CoordLike, Offset
from .errors import LeafTypeError, RangeError, RankError
from .int_tuple import shown
from .ints import Int, IntTree, Static, is_constant, leaf, static
from .value import Value, new_value

_0 = Int[0]()


class _CoordSwizzleMeta(type):
    def __getitem__(cls, arguments: tuple[Any, ...]) -> type[CoordSwizzle]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != 5:
            fix = "write CoordSwizzle[3, 0, 1, 0, 2]"
            raise RankError(f"CoordSwizzle of {len(given)} parts", "five: bits, base and mode of the row, base and mode of the column", fix)
        bits, row_base, row, col_base, col = given
        value = make_coord_swizzle(int(leaf(bits)), int(leaf(row_base)), _path(row), int(leaf(col_base)), _path(col))
        return Static(value, repr(value)[:-2])  # type: ignore[return-value]

    def __call__(cls, *arguments: Any) -> Any:
        raise LeafTypeError(
            f"CoordSwizzle{arguments!r}", "the numbers in square brackets", "write CoordSwizzle[3, 0, 1, 0, 2]() for the value"
        )


def _path(modes: object) -> tuple[int, ...]:
    return tuple(int(leaf(i)) for i in (modes if isinstance(modes, (tuple, list)) else (modes,)))


class CoordSwizzle(Value, metaclass=_CoordSwizzleMeta):
    """A permutation of coordinates: some bits of one mode, the row, are xored into another mode, the column.

    bits       how many
    row_base   the lowest bit that is read of the row
    row        its mode: (1,) is mode 1, (1, 0) is mode 0 of mode 1
    col_base   the lowest bit that may change of the column
    col        its mode

    >>> from tla import CoordSwizzle
    >>> s = CoordSwizzle[3, 0, 0, 0, 1]()
    >>> print(s, s((5, 1)), s(s((5, 1))))
    CS<3,0,[0],0,[1]> (5,4) (5,1)

    Where it stands in front of a layout of coordinates, it is a ComposedLayout of coordinates, and a layout of offsets may follow:

    >>> from tla import ComposedLayout, composition, parse
    >>> places = composition(s, parse("(_8,_8):(_1@0,_1@1)"))
    >>> print(ComposedLayout(parse("(_8,_8):(_8,_1)"), 0, places)(5, 1) == parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")(5, 1))
    True

    `CoordSwizzle[bits, row_base, row, col_base, col]` is the type, calling it gives the value. It is its own inverse. Modes that a
    coordinate does not have are 0. Raises RangeError for negative numbers, for a column that is the row or a part of it, or past 62 bits;
    RankError for a coordinate whose row or column is no integer.

    Source: FlyDSL `CoordSwizzle`, `CS<mask, baseRow, [modeRow], baseCol, [modeCol]>`.
    """

    __slots__ = ("__weakref__", "bits", "col", "col_base", "row", "row_base")
    _instead = "write CoordSwizzle[...]"

    bits: int
    row_base: int
    row: tuple[int, ...]
    col_base: int
    col: tuple[int, ...]
    is_static = True

    def __call__(self, *coord: CoordLike) -> Offset:
        place = as_coordinate(coord[0] if len(coord) == 1 else coord)
        if not isinstance(place, tuple):
            fix = "give a coordinate: (0, 2)"
            raise LeafTypeError(f"{self} of {shown(place)}", "a coordinate", fix)
        if not self.bits:
            return place
        read = computed(operator.and_, computed(operator.rshift, self._leaf(place, self.row), self.row_base), static((1 << self.bits) - 1))
        changed = computed(operator.xor, self._leaf(place, self.col), computed(operator.lshift, read, self.col_base))
        return _with(place, self.col, changed)

    def _leaf(self, place: Any, path: tuple[int, ...]) -> Any:
        """The integer of a coordinate at a path; 0 where it has no such mode."""
        found = place
        for i in path:
            if not isinstance(found, tuple):
                if not is_constant(0, found):
                    raise RankError(
                        f"{self} of {shown(place)}: mode {list(path)}", "an integer there", "nest the coordinate as its modes say"
                    )
                return _0
            found = found[i] if i < len(found) else _0
        if isinstance(found, tuple):
            raise RankError(f"{self} of {shown(place)}: mode {list(path)} is a tuple", "an integer there", "name a mode inside of it")
        return found

    def __eq__(self, other: object) -> bool:
        return self._numbers() == other._numbers() if isinstance(other, CoordSwizzle) else NotImplemented

    def __hash__(self) -> int:
        return hash((CoordSwizzle, *self._numbers()))

    def _numbers(self) -> tuple[Any, ...]:
        return self.bits, self.row_base, self.row, self.col_base, self.col

    def __str__(self) -> str:
        return "CS<" + ",".join(f"[{','.join(map(str, x))}]" if isinstance(x, tuple) else str(x) for x in self._numbers()) + ">"

    def __repr__(self) -> str:
        return f"CoordSwizzle[{', '.join(map(repr, self._numbers()))}]()"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_coord_swizzle, self._numbers()


def make_coord_swizzle(bits: int, row_base: int, row: tuple[int, ...], col_base: int, col: tuple[int, ...]) -> CoordSwizzle:
    """The swizzle of checked numbers."""
    what = f"CoordSwizzle[{bits}, {row_base}, {row}, {col_base}, {col}]"
    if min(bits, row_base, col_base, *row, *col) < 0:
        raise RangeError(what, "numbers of 0 or more", "count bits and modes from 0")
    if bits + max(row_base, col_base) > 62 or max(*row, *col, 0, 0) >= 2**16 or max(len(row), len(col)) > 64:
        raise RangeError(what, "at most 62 bits, and modes from 0 to 65535", "use smaller numbers")
    if bits and row[: len(col)] == col[: len(row)]:
        raise RangeError(
            f"{what}: it reads what it changes", "a row and a column that are two modes", "write Swizzle[bits, base, shift] for one mode"
        )
    return new_value(CoordSwizzle, bits=bits, row_base=row_base, row=row, col_base=col_base, col=col)


def _with(place: IntTree, path: tuple[int, ...], value: object) -> Any:
    """A coordinate with another integer at a path."""
    if not path:
        return value
    modes = list(place) if isinstance(place, tuple) else []
    modes += [_0] * (path[0] + 1 - len(modes))
    modes[path[0]] = _with(modes[path[0]], path[1:], value)
    return tuple.__new__(ArithmeticTuple, modes)
