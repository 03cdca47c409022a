"""Terms of z3 as bit vectors, wide enough for every value on the way: each comes with its range."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.swizzle import Swizzle
from .claim import Claim, Proof
from .reading import ARITHMETIC
from .terms import Values


class BitVectors(Values):
    """Terms of bits, as many as no value on the way leaves: each term comes with its range."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.width = 0  # first ranges alone, to know how many bits; then terms

    def number(self, n: int) -> _Bits:
        return _Bits(self, self.z3.BitVecVal(n, self.width) if self.width else None, n, n)

    def digit(self, name: str, n: Any) -> Any:
        term: Any = self.z3.BitVec(name, self.width) if self.width else None
        if self.width:
            self.solver.add(term >= 0, term < n.term)
        return _Bits(self, term, 0, max(n.high - 1, 0))

    def operation(self, operation: str, x: Any, y: Any) -> Any:
        return _OPERATIONS[operation](x, y)

    def through(self, outer: Swizzle, offset: _Bits) -> _Bits:
        if not isinstance(outer, Swizzle):
            return super().through(outer, offset)
        read = offset & self.number(outer.reads)
        return offset ^ (read >> self.number(outer.shift) if outer.shift >= 0 else read << self.number(-outer.shift))

    def found(self, model: Any, value: _Bits) -> int:
        return int(model.eval(value.term, model_completion=True).as_signed_long())

    def both(self) -> tuple[Any, Any]:
        self.seen.clear()
        definition = self.claim.definition(self, self.coordinates())
        kept = self.seen[:]
        self.seen.clear()
        value = self.returned()
        self.ranges = [definition, value, *kept, *self.seen]
        return definition, value

    def proof(self, text: str) -> Proof:
        self.both()
        most = max(max(abs(x.low), abs(x.high)) for x in (*self.ranges, *self.names.values()))
        self.width = max(most, 2).bit_length() + 2
        definition, value = self.both()
        goals = [(f"in bit vectors of {self.width} bits", definition.term == value.term)]
        if self.claim.bits:
            end = 2 ** (self.claim.bits - 1)
            goals.append((f"in {self.claim.bits} bits", self.z3.And(*[x.within(-end, end) for x in self.seen])))
        return self.outcome(text, goals)


class _Bits(NamedTuple):
    """A term of bits, and the range of its values."""

    home: BitVectors
    term: Any
    low: int
    high: int

    def _with(self, make: Callable[..., Any], other: _Bits, *ends: int) -> _Bits:
        made = _Bits(self.home, make(self.term, other.term) if self.home.width else None, min(ends), max(ends))
        self.home.seen.append(made)
        return made

    def within(self, low: int, high: int) -> Any:
        if low <= self.low and self.high < high:
            return self.home.z3.BoolVal(True)
        return self.home.z3.And(self.term >= low, self.term < high)

    def __add__(self, other: Any) -> _Bits:
        return self._with(operator.add, other, self.low + other.low, self.high + other.high)

    def __sub__(self, other: _Bits) -> _Bits:
        return self._with(operator.sub, other, self.low - other.high, self.high - other.low)

    def __mul__(self, other: Any) -> _Bits:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return self._with(operator.mul, other, *ends)

    def __and__(self, other: _Bits) -> _Bits:
        ends = _around(self, other)
        if self.low >= 0 or other.low >= 0:
            ends = 0, max(self.high, other.high, 0) if self.low < 0 or other.low < 0 else self.high
        return self._with(operator.and_, other, *ends)

    def __xor__(self, other: _Bits) -> _Bits:
        return self._with(operator.xor, other, *_around(self, other))

    def __or__(self, other: Any) -> _Bits:
        return self._with(operator.or_, other, *_around(self, other))

    def __lshift__(self, other: Any) -> _Bits:
        ends = self.low << other.high, self.high << other.high, self.low, self.high
        return self._with(operator.lshift, other, *ends)

    def __rshift__(self, other: _Bits) -> _Bits:
        return self._with(operator.rshift, other, self.low >> other.low, self.high >> other.low)

    def __floordiv__(self, other: _Bits) -> _Bits:
        if self.low < 0 or other.low != other.high or other.low <= 0:
            raise KeyError("a quotient of what may be below 0")
        return self._with(self.home.z3.UDiv, other, self.low // other.low, self.high // other.low)

    def __mod__(self, other: _Bits) -> _Bits:
        if self.low < 0 or other.low != other.high or other.low <= 0:
            raise KeyError("a remainder of what may be below 0")
        return self._with(self.home.z3.URem, other, 0, min(self.high, other.high - 1))


def _around(x: _Bits, y: _Bits) -> tuple[int, int]:
    """The ends of what bits of two values can make."""
    bits = max(n.bit_length() for n in (x.low, x.high, y.low, y.high))
    return (0 if x.low >= 0 and y.low >= 0 else -(1 << bits)), (1 << bits) - 1


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {**ARITHMETIC, "/": operator.floordiv}
