"""Facts of the values of a tensor along each dimension: runs that count up, powers of two that divide, runs
that are equal.

The rules by which Triton chooses the width of a global access: one at most as wide as the run of addresses that it can
prove, aligned by what it can prove to divide them, as many elements as a thread has in a row, and within runs
of equal masks.

Source: Triton 3.9, the analysis of axis information and its use for loads and stores.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from ..core.cache import compiled
from ..linear import LinearLayout
from .loops import KEPT, constant
from .program import Op, Program

#: What divides 0.
_ALL = 1 << 62
MAX_STEPS = 64  # times around a loop until nothing changes
_POINTEE = r"!tt\.ptr<[^0-9<>]*([0-9]+)"
Vector = tuple[int, ...]


class Runs(NamedTuple):
    """The facts of a tensor, or of a scalar, which has one dimension here.

    counts    along each dimension the elements after one another that each are one more than the one before
    divides   a power of two that divides the first of each such run
    equal     along each dimension the elements after one another that are equal
    value     of all elements, where it is known
    """

    counts: Vector
    divides: Vector
    equal: Vector
    value: int | None = None


def _power(n: int) -> int:
    """The largest power of two that divides an integer."""
    return n & -n if n else _ALL


def _gcds(a: Vector, b: Vector) -> Vector:
    return tuple(map(math.gcd, a, b))


def _computed(f: Callable[[int, int], int], a: Runs, b: Runs) -> int | None:
    """The value of an operation, where both values are known."""
    return None if a.value is None or b.value is None else f(a.value, b.value)


def _within(a: Runs, b: Runs) -> Vector:
    """The lengths of runs that count up, none of them past a multiple of b, which is equal there."""
    found = zip(a.counts, a.divides, b.divides, b.equal)
    return tuple(math.gcd(n, math.gcd(x, y)) if e > 1 else 1 for n, x, y, e in found)


class Alignment:
    """The facts of a program's values.

    divisors   powers of two that divide arguments, where the program does not say it: name -> power;
               ones: arguments that are 1

    >>> from tla.ttgir.text import program_of
    >>> text = "%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>"
    >>> Alignment(program_of(text)).of("%r").counts
    (64,)
    """

    def __init__(self, program: Program, divisors: Mapping[str, int] | None = None, ones: Collection[str] = ()) -> None:
        self.program = program
        self._known: dict[str, Runs] = {}
        for argument in program.arguments:
            divisor = _power((divisors or {}).get(argument.name, argument.divisibility))
            self._known[argument.name] = Runs((1,), (divisor,), (1,), 1 if argument.name in ones else None)
        for _ in range(MAX_STEPS):  # a value of a loop is what it begins with, and what the loop makes of it
            before = dict(self._known)
            self._pass()
            if before == self._known:
                break

    def of(self, name: str) -> Runs:
        """The facts of a value; none of one that is not in the program."""
        return self._known.get(name) or self._nothing(name)

    def _nothing(self, name: str) -> Runs:
        one = (1,) * max(1, len(self._shape(name)))
        return Runs(one, one, one)

    def _shape(self, name: str) -> Vector:
        return extents(self.program.types.get(name, ""))

    def _pass(self) -> None:
        for op in self.program.ops:
            for argument, begin in op.begins.items():
                self._known[argument] = self._met(self._known.get(argument), self.of(begin))
            if op.name == "scf.for" and len(op.operands) > 2 and op.begins:
                low, step = self.of(op.operands[0]), self.of(op.operands[2])
                self._known[[*op.begins][-1]] = Runs((1,), _gcds(low.divides, step.divides), (1,))
            if op.name == "scf.yield" and op.parent is not None:
                self._yielded(op, self.program.ops[op.parent])
            elif op.results and op.name != "scf.for":
                found = self._worked_out(op)
                for name in op.results:
                    self._known[name] = found if len(op.results) == 1 else self._nothing(name)

    def _yielded(self, op: Op, around: Op) -> None:
        for name, argument, result in zip(op.operands, [*around.begins] or around.results, around.results):
            value = self.of(name)
            for target in (argument, result):
                self._known[target] = self._met(self._known.get(target), value)

    def _met(self, a: Runs | None, b: Runs) -> Runs:
        """The facts of a value that is one or the other."""
        if a is None or len(a.counts) != len(b.counts):
            return b
        counts, divides, equal = map(_gcds, a[:3], b[:3])
        return Runs(counts, divides, equal, a.value if a.value == b.value else None)

    def _worked_out(self, op: Op) -> Runs:
        name, short = op.results[0], op.name.partition(".")[2]
        rule = getattr(self, f"_{short}", None) if op.name.startswith(("arith.", "tt.")) else None
        if op.name in KEPT and op.operands:
            return self._fitted(self.of(op.operands[0]), name)
        if rule is None:
            return self._nothing(name)
        try:
            return self._fitted(rule(op, [self.of(x) for x in op.operands]), name)
        except (IndexError, ValueError):  # fewer operands than the operation has: a text that is no program
            return self._nothing(name)

    def _fitted(self, found: Runs, name: str) -> Runs:
        return found if len(found.counts) == max(1, len(self._shape(name))) else self._nothing(name)

    # ------------------------------------------------------------------------------------------------- rules

    def _constant(self, op: Op, given: list[Runs]) -> Runs:
        value, shape = constant(op), self._shape(op.results[0]) or (1,)
        if value is None:
            return self._nothing(op.results[0])
        return Runs((1,) * len(shape), (_power(value),) * len(shape), shape, value)

    def _make_range(self, op: Op, given: list[Runs]) -> Runs:
        start, end = op.integer("start") or 0, op.integer("end") or 1
        return Runs((max(1, end - start),), (_power(start),), (1,))

    def _splat(self, op: Op, given: list[Runs]) -> Runs:
        shape, one = self._shape(op.results[0]), given[0]
        return Runs((1,) * len(shape), (one.divides[0],) * len(shape), shape, one.value)

    def _expand_dims(self, op: Op, given: list[Runs]) -> Runs:
        at, one = op.integer("axis") or 0, given[0]
        divides = _ALL
        for count, d in zip(one.counts, one.divides):
            divides = math.gcd(divides, 1 if count > 1 else d)
        divides = _power(one.value) if one.value is not None else divides
        rows = ((one.counts, 1), (one.divides, divides), (one.equal, 1))
        counts, firsts, equal = ((*x[:at], n, *x[at:]) for x, n in rows)
        return Runs(counts, firsts, equal, one.value)

    def _broadcast(self, op: Op, given: list[Runs]) -> Runs:
        one, before, after = given[0], self._shape(op.operands[0]), self._shape(op.results[0])
        wider = [b == 1 and a > 1 for b, a in zip(before, after)]
        counts = tuple(1 if w else n for w, n in zip(wider, one.counts))
        return Runs(counts, one.divides, tuple(a if w else n for w, a, n in zip(wider, after, one.equal)), one.value)

    def _trans(self, op: Op, given: list[Runs]) -> Runs:
        order, one = op.integers("order"), given[0]
        if sorted(order) != [*range(len(one.counts))]:
            return self._nothing(op.results[0])
        counts, divides, equal = (tuple(x[k] for k in order) for x in one[:3])
        return Runs(counts, divides, equal, one.value)

    def _addi(self, op: Op, given: list[Runs], scale: int = 1) -> Runs:
        a, b = given
        counts = [max(math.gcd(x, y), math.gcd(z, w)) for x, y, z, w in zip(a.counts, b.equal, a.equal, b.counts)]
        divides = tuple(math.gcd(x, y * scale) for x, y in zip(a.divides, b.divides))
        return Runs(tuple(counts), divides, _gcds(a.equal, b.equal), _computed(lambda x, y: x + scale * y, a, b))

    def _addptr(self, op: Op, given: list[Runs]) -> Runs:
        pointee = compiled(_POINTEE).search(self.program.types.get(op.operands[0], "") or "".join(op.operand_types[:1]))
        return self._addi(op, given, max(1, int(pointee[1]) // 8) if pointee else 1)

    def _subi(self, op: Op, given: list[Runs]) -> Runs:
        a, b = given
        of_parts = _gcds(a.counts, b.equal), _gcds(a.divides, b.divides), _gcds(a.equal, b.equal)
        return Runs(*of_parts, _computed(operator.sub, a, b))

    def _muli(self, op: Op, given: list[Runs]) -> Runs:
        a, b = given
        counts = tuple(x if b.value == 1 else y if a.value == 1 else 1 for x, y in zip(a.counts, b.counts))
        firsts = [
            tuple(1 if n > 1 and other.value != 1 else d for n, d in zip(own.counts, own.divides))
            for own, other in ((a, b), (b, a))
        ]
        divides = tuple(min(x * y, _ALL) for x, y in zip(*firsts))
        return Runs(counts, divides, _gcds(a.equal, b.equal), _computed(operator.mul, a, b))

    def _divsi(self, op: Op, given: list[Runs]) -> Runs:
        a, b = given
        if b.value == 1:
            return a
        one = (1,) * len(a.counts)
        return Runs(one, one, tuple(map(max, _gcds(a.equal, b.equal), _within(a, b))))

    _divui = _divsi

    def _remsi(self, op: Op, given: list[Runs]) -> Runs:
        a, b = given
        return Runs(_within(a, b), _gcds(a.divides, b.divides), _gcds(a.equal, b.equal))

    _remui = _remsi

    def _cmpi(self, op: Op, given: list[Runs]) -> Runs:
        a, b = given
        low, high = (a, b) if op.body.split(",")[0] in ("slt", "ult", "sge", "uge") else (b, a)
        one = (1,) * len(a.counts)
        return Runs(one, one, tuple(map(max, _gcds(a.equal, b.equal), _within(low, high))))

    def _andi(self, op: Op, given: list[Runs]) -> Runs:
        one = (1,) * len(given[0].counts)
        return Runs(one, one, _gcds(given[0].equal, given[1].equal))

    _ori = _andi

    def _select(self, op: Op, given: list[Runs]) -> Runs:
        found = self._met(given[1], given[2])
        if len(given[0].equal) != len(found.equal):  # a condition of one bit for all
            return found
        return found._replace(counts=_gcds(given[0].equal, found.counts))


def extents(text: str) -> Vector:
    """The extents of a type: none of a scalar.

    >>> extents("tensor<64x32xf16, #blocked>"), extents("i32")
    ((64, 32), ())
    """
    found = compiled(r"tensor<((?:[0-9]{1,9}x)+)").match(text)
    return tuple(int(n) for n in found[1].split("x")[:-1]) if found else ()


def vector_of(
    known: Alignment, pointer: str, owners: LinearLayout, element_bits: int, mask: str | None, widest: int = 128
) -> int:
    """The number of elements that one global access of a thread has, by Triton's rules.

    pointer, mask   names of values; owners: the layout of the registers that hold the pointers
    """
    fastest = _fastest(owners)
    in_row = 1
    for v in (v for v in owners.bases["register"] if any(v)):
        if v[fastest] != in_row or sum(map(bool, v)) != 1:
            break
        in_row *= 2
    return min(in_row, provable(known, pointer, fastest, element_bits, mask, widest))


def provable(known: Alignment, pointer: str, axis: int, element_bits: int, mask: str | None, widest: int = 128) -> int:
    """The number of elements along a dimension that one access may have, whatever the layout: at most `widest` bits."""
    runs = known.of(pointer)
    aligned = min(max(1, runs.divides[axis] // max(1, element_bits // 8)), runs.counts[axis])
    found = min(aligned, max(1, widest // element_bits))
    if mask is not None and (masks := known.of(mask).equal) and len(masks) > axis:
        found = min(found, masks[axis])
    return 1 << found.bit_length() - 1


def _fastest(owners: LinearLayout) -> int:
    """The dimension that a layout's registers, then lanes, go along first."""
    for v in (*owners.bases["register"], *owners.bases.get("lane", ())):
        if any(v):
            return next(k for k, n in enumerate(v) if n)
    return 0
