"""Swizzles: permutations that xor bits into others, those of an offset, or of one mode of a coordinate
into another mode.

Source: CuTe include/cute/swizzle.hpp; FlyDSL include/flydsl/Dialect/Fly/IR/FlyAttrDefs.td, `CoordSwizzle`.
"""

from __future__ import annotations

import operator
from typing import Any

from .arrays import INT64_MAX, INT64_MIN, computed, require_held
from .basis import ArithmeticTuple, ScaledBasis, as_coordinate
from .coord import CoordLike, Offset, coord_leaf
from .errors import LeafTypeError, RangeError, RankError
from .int_tuple import shown
from .ints import Int, IntTree, Static, _0, is_constant, leaf, static
from .kinds import AnyLayout
from .value import Value, new_value

# ---------------------------------------------------------------------------------------------------- of offsets


class _SwizzleMeta(type):
    def __getitem__(cls, arguments: tuple[int, int, int]) -> type[Swizzle]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != 3:
            raise RankError(f"Swizzle of {len(given)} numbers", "three: bits, base, shift", "write Swizzle[3, 4, 3]")
        bits, base, shift = (int(leaf(n)) for n in given)
        return Static(make_swizzle(bits, base, shift), f"Swizzle[{bits}, {base}, {shift}]")  # type: ignore[return-value]

    def __call__(cls, *arguments: Any) -> Any:
        raise LeafTypeError(
            f"Swizzle{arguments!r}", "the numbers in square brackets", "write Swizzle[3, 4, 3]() for the value"
        )


class Swizzle(Value, metaclass=_SwizzleMeta):
    """A permutation of offsets: B bits of an offset are xored into B others, S places below them.

    bits    B, how many
    base    M, how many of the lowest bits stay as they are: 2**M elements stay together
    shift   S, how far the bits that are read lie above those that change; below them if it is negative; at least B

    >>> from tla import Swizzle
    >>> s = Swizzle[2, 0, 3]()
    >>> print(s, s(8), s(9), s(s(13)))
    Sw<2,0,3> 9 8 13

    `Swizzle[B, M, S]` is the type, calling it gives the value. It is its own inverse. It takes integers, arrays and
    what else has & >> << ^. Raises RangeError for negative bits or base, for ranges that overlap, or past 62 bits.

    Source: CuTe `Swizzle<B, M, S>`.
    """

    __slots__ = ("__weakref__", "base", "bits", "shift")  # jax.jit(swizzle) holds it weakly
    _instead = "write Swizzle[...]"

    bits: int
    base: int
    shift: int

    @property
    def reads(self) -> int:
        """The bits that are read, as a mask."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def changes(self) -> int:
        """The bits that may change, as a mask."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    @property
    def period(self) -> int:
        """The number after which it repeats: what is added in whole periods passes unchanged."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def __call__(self, x: Any) -> Any:
        if type(x) is int and INT64_MIN <= x <= INT64_MAX:
            return self._of(x)
        if type(x) is Int:
            return static(self._of(int(x)))
        if isinstance(x, (tuple, ScaledBasis, AnyLayout)):
            raise LeafTypeError(
                f"{self} of {shown(x)}", "an integer", "swizzle offsets; composition(swizzle, layout) takes layouts"
            )
        x = coord_leaf(x)
        require_held(str(self), x, 0, self.reads | self.changes)
        if not self.bits:
            return x
        read = computed(operator.and_, x, self.reads)
        shift = operator.rshift if self.shift >= 0 else operator.lshift
        return computed(operator.xor, x, computed(shift, read, abs(self.shift)))

    def each(self, offsets: list[int]) -> list[int]:
        """The places of many offsets, faster than one by one.

        >>> Swizzle[2, 0, 2]().each([0, 4, 5, 15])
        [0, 5, 4, 12]
        """
        reads, shift = self.reads, self.shift
        return (
            [x ^ (x & reads) >> shift for x in offsets] if shift >= 0 else [x ^ (x & reads) << -shift for x in offsets]
        )

    def _of(self, x: int) -> int:
        read = x & self.reads
        return x ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Swizzle):
            return NotImplemented
        return (self.bits, self.base, self.shift) == (other.bits, other.base, other.shift)

    def __hash__(self) -> int:
        return hash((Swizzle, self.bits, self.base, self.shift))

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle[{self.bits}, {self.base}, {self.shift}]()"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_swizzle, (self.bits, self.base, self.shift)

    is_static = True


def make_swizzle(bits: int, base: int, shift: int) -> Swizzle:
    what = f"Swizzle[{bits}, {base}, {shift}]"
    if bits < 0 or base < 0:
        raise RangeError(what, "bits and base of 0 or more", "use 0 or more for these; only the shift may be negative")
    if abs(shift) < bits:
        expected = f"a shift of {bits} or more"
        fix = f"use the shift {bits}"
        raise RangeError(f"{what}: its {bits} bits and those {abs(shift)} places on overlap", expected, fix)
    if bits + base + abs(shift) > 62:
        raise RangeError(what, "at most 62 bits in all", "use smaller numbers")
    return new_value(Swizzle, bits=bits, base=base, shift=shift)


class _MakeSwizzle:
    """`MakeSwizzle[Y, Z]()`: the swizzle that xors the bits of the mask Y into those of the mask Z.

    >>> from tla import MakeSwizzle
    >>> print(MakeSwizzle[0b110000, 0b110]())
    Sw<2,1,3>

    Raises RangeError for masks of other than one run of bits each, of one length, that do not overlap.
    Source: CuTe `make_swizzle<Y, Z>`.
    """

    __name__ = "MakeSwizzle"

    def __getitem__(self, masks: tuple[int, int]) -> type[Swizzle]:
        if not isinstance(masks, tuple) or len(masks) != 2:
            raise RankError(f"MakeSwizzle[{shown(masks)}]", "two masks", "write MakeSwizzle[0b11000, 0b11]")
        reads, changes = (int(leaf(n)) for n in masks)
        found = between(reads, changes)
        if found is None:
            what = f"MakeSwizzle[{reads:#b}, {changes:#b}]"
            raise RangeError(
                what, "two masks, each one run of as many bits, that do not overlap", "write Swizzle[bits, base, shift]"
            )
        return Swizzle[found.bits, found.base, found.shift]

    def __call__(self, *masks: Any) -> Any:
        raise LeafTypeError(
            f"MakeSwizzle{masks!r}", "the masks in square brackets", "write MakeSwizzle[0b11000, 0b11]()"
        )

    def __reduce__(self) -> str:
        return self.__name__


MakeSwizzle = _MakeSwizzle()


def between(reads: int, changes: int) -> Swizzle | None:
    """The swizzle of two masks; None if there is none."""
    if reads <= 0 or changes <= 0:
        return Swizzle[0, 0, 0]() if reads == changes == 0 else None
    low = [(m & -m).bit_length() - 1 for m in (reads, changes)]
    bits = reads.bit_count()
    if (
        any(m >> k != (1 << bits) - 1 for m, k in zip((reads, changes), low))
        or abs(low[0] - low[1]) < bits
        or max(low) + bits > 62
    ):
        return None
    return make_swizzle(bits, min(low), low[0] - low[1])


# ------------------------------------------------------------------------------------------------ of coordinates


class _CoordSwizzleMeta(type):
    def __getitem__(cls, arguments: tuple[Any, ...]) -> type[CoordSwizzle]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != 5:
            fix = "write CoordSwizzle[3, 0, 1, 0, 2]"
            what = f"CoordSwizzle of {len(given)} parts"
            raise RankError(what, "five: bits, base and mode of the row, base and mode of the column", fix)
        bits, row_base, row, col_base, col = given
        value = make_coord_swizzle(int(leaf(bits)), int(leaf(row_base)), _path(row), int(leaf(col_base)), _path(col))
        return Static(value, repr(value)[:-2])  # type: ignore[return-value]

    def __call__(cls, *arguments: Any) -> Any:
        what = f"CoordSwizzle{arguments!r}"
        raise LeafTypeError(what, "the numbers in square brackets", "write CoordSwizzle[3, 0, 1, 0, 2]() for the value")


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

    Where it stands in front of a layout of coordinates, it is a ComposedLayout of coordinates, and a layout
    of offsets may follow:

    >>> from tla import ComposedLayout, composition, parse
    >>> places = composition(s, parse("(_8,_8):(_1@0,_1@1)"))
    >>> print(ComposedLayout(parse("(_8,_8):(_8,_1)"), 0, places)(5, 1) == parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")(5, 1))
    True

    `CoordSwizzle[bits, row_base, row, col_base, col]` is the type, calling it gives the value. It is its own inverse.
    Modes that a coordinate does not have are 0. Raises RangeError for negative numbers, for a column that is the row or
    a part of it, or past 62 bits; RankError for a coordinate whose row or column is no integer.

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
        read = computed(
            operator.and_,
            computed(operator.rshift, self._leaf(place, self.row), self.row_base),
            static((1 << self.bits) - 1),
        )
        changed = computed(operator.xor, self._leaf(place, self.col), computed(operator.lshift, read, self.col_base))
        return _with(place, self.col, changed)

    def _leaf(self, place: Any, path: tuple[int, ...]) -> Any:
        """The integer of a coordinate at a path; 0 where it has no such mode."""
        found = place
        for i in path:
            if not isinstance(found, tuple):
                if not is_constant(0, found):
                    what = f"{self} of {shown(place)}: mode {list(path)}"
                    raise RankError(what, "an integer there", "nest the coordinate as its modes say")
                return _0
            found = found[i] if i < len(found) else _0
        if isinstance(found, tuple):
            what = f"{self} of {shown(place)}: mode {list(path)} is a tuple"
            raise RankError(what, "an integer there", "name a mode inside of it")
        return found

    def __eq__(self, other: object) -> bool:
        return self._numbers() == other._numbers() if isinstance(other, CoordSwizzle) else NotImplemented

    def __hash__(self) -> int:
        return hash((CoordSwizzle, *self._numbers()))

    def _numbers(self) -> tuple[Any, ...]:
        return self.bits, self.row_base, self.row, self.col_base, self.col

    def __str__(self) -> str:
        return (
            "CS<"
            + ",".join(f"[{','.join(map(str, x))}]" if isinstance(x, tuple) else str(x) for x in self._numbers())
            + ">"
        )

    def __repr__(self) -> str:
        return f"CoordSwizzle[{', '.join(map(repr, self._numbers()))}]()"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_coord_swizzle, self._numbers()


def make_coord_swizzle(
    bits: int, row_base: int, row: tuple[int, ...], col_base: int, col: tuple[int, ...]
) -> CoordSwizzle:
    """The swizzle of checked numbers."""
    what = f"CoordSwizzle[{bits}, {row_base}, {row}, {col_base}, {col}]"
    if min(bits, row_base, col_base, *row, *col) < 0:
        raise RangeError(what, "numbers of 0 or more", "count bits and modes from 0")
    if bits + max(row_base, col_base) > 62 or max(*row, *col, 0, 0) >= 2**16 or max(len(row), len(col)) > 64:
        raise RangeError(what, "at most 62 bits, and modes from 0 to 65535", "use smaller numbers")
    if bits and row[: len(col)] == col[: len(row)]:
        expected = "a row and a column that are two modes"
        raise RangeError(f"{what}: it reads what it changes", expected, "write Swizzle[bits, base, shift] for one mode")
    return new_value(CoordSwizzle, bits=bits, row_base=row_base, row=row, col_base=col_base, col=col)


def _with(place: IntTree, path: tuple[int, ...], value: object) -> Any:
    """A coordinate with another integer at a path."""
    if not path:
        return value
    modes = list(place) if isinstance(place, tuple) else []
    modes += [_0] * (path[0] + 1 - len(modes))
    modes[path[0]] = _with(modes[path[0]], path[1:], value)
    return tuple.__new__(ArithmeticTuple, modes)
