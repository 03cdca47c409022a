"""Swizzles: permutations of offsets that xor some of their bits into others.

Source: CuTe include/cute/swizzle.hpp.
"""

from __future__ import annotations

import operator
from typing import Any

from .arrays import INT64_MAX, INT64_MIN, computed, require_held
from .basis import ScaledBasis
from .coord import coord_leaf
from .errors import LeafTypeError, RangeError, RankError
from .int_tuple import shown
from .ints import Int, Static, leaf, static
from .kinds import AnyLayout
from .value import Value, new_value


class _SwizzleMeta(type):
    def __getitem__(cls, arguments: tuple[int, int, int]) -> type[Swizzle]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != 3:
            raise RankError(f"Swizzle of {len(given)} numbers", "three: bits, base, shift", "write Swizzle[3, 4, 3]")
        bits, base, shift = (int(leaf(n)) for n in given)
        return Static(make_swizzle(bits, base, shift), f"Swizzle[{bits}, {base}, {shift}]")  # type: ignore[return-value]

    def __call__(cls, *arguments: Any) -> Any:
        raise LeafTypeError(f"Swizzle{arguments!r}", "the numbers in square brackets", "write Swizzle[3, 4, 3]() for the value")


class Swizzle(Value, metaclass=_SwizzleMeta):
    """A permutation of offsets: B bits of an offset are xored into B others, S places below them.

    bits    B, how many
    base    M, how many of the lowest bits stay as they are: 2**M elements stay together
    shift   S, how far the bits that are read lie above those that change; below them if it is negative; at least B

    >>> from tla import Swizzle
    >>> s = Swizzle[2, 0, 3]()
    >>> print(s, s(8), s(9), s(s(13)))
    Sw<2,0,3> 9 8 13

    `Swizzle[B, M, S]` is the type, calling it gives the value. It is its own inverse. It takes integers, arrays and what
    else has & >> << ^. Raises RangeError for negative bits or base, for ranges that overlap, or past 62 bits.

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
            raise LeafTypeError(f"{self} of {shown(x)}", "an integer", "swizzle offsets; composition(swizzle, layout) takes layouts")
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
        return [x ^ (x & reads) >> shift for x in offsets] if shift >= 0 else [x ^ (x & reads) << -shift for x in offsets]

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
        raise RangeError(
            f"{what}: its {bits} bits and those {abs(shift)} places on overlap", f"a shift of {bits} or more", f"use the shift {bits}"
        )
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
            raise RangeError(what, "two masks, each one run of as many bits, that do not overlap", "write Swizzle[bits, base, shift]")
        return Swizzle[found.bits, found.base, found.shift]

    def __call__(self, *masks: Any) -> Any:
        raise LeafTypeError(f"MakeSwizzle{masks!r}", "the masks in square brackets", "write MakeSwizzle[0b11000, 0b11]()")

    def __reduce__(self) -> str:
        return self.__name__


MakeSwizzle = _MakeSwizzle()


def between(reads: int, changes: int) -> Swizzle | None:
    """The swizzle of two masks; None if there is none."""
    if reads <= 0 or changes <= 0:
        return Swizzle[0, 0, 0]() if reads == changes == 0 else None
    low = [(m & -m).bit_length() - 1 for m in (reads, changes)]
    bits = reads.bit_count()
    if any(m >> k != (1 << bits) - 1 for m, k in zip((reads, changes), low)) or abs(low[0] - low[1]) < bits or max(low) + bits > 62:
        return None
    return make_swizzle(bits, min(low), low[0] - low[1])
