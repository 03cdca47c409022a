"""Digits of mixed radix: input digits with what they add to each output digit, cut, joined, over other radices."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.arrays import computed
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from .value import integer

Vector = tuple[int, ...]


class Digit(NamedTuple):
    """A digit of an input: c < extent goes to c times the step, one integer for each radix of the outputs."""

    extent: int
    step: Vector

    def times(self, n: int, radices: Sequence[int]) -> Vector:
        return tuple(n * x % m for x, m in zip(self.step, radices))


#: The digits of each input, by its name.
Ins = tuple[tuple[str, tuple[Digit, ...]], ...]


def shortest(digits: Iterable[Digit], radices: Sequence[int]) -> tuple[Digit, ...]:
    """The digits without those of extent 1, neighbours joined where one goes on along the other."""
    found: list[Digit] = []
    for d in digits:
        if d.extent == 1:
            continue
        if found and found[-1].times(found[-1].extent, radices) == d.step:
            found[-1] = Digit(found[-1].extent * d.extent, found[-1].step)
        else:
            found.append(d)
    return tuple(found)


def wraps(digits: Iterable[Digit], k: int, radix: int) -> bool:
    """Whether the k-th digit of the outputs can wrap: the largest sum reaches its radix."""
    return sum((d.extent - 1) * d.step[k] for d in digits) >= radix


def cut(
    digit: Digit, radices: Sequence[int], rooms: Mapping[int, int], fine: Callable[[Vector], Vector] = tuple
) -> list[Digit]:
    """A digit cut where its multiples first wrap in one of `rooms`, place in fine(step) -> radix; uncut if uneven."""
    pieces, left = [], digit
    while left.extent > 1:
        step = fine(left.step)
        first = min((-(-m // step[k]) for k, m in rooms.items() if step[k]), default=left.extent)
        if first >= left.extent or left.extent % first:
            break
        pieces.append(Digit(first, left.step))
        left = Digit(left.extent // first, left.times(first, radices))
    return [*pieces, left]


def taken(name: str, size: int, left: list[Digit], radices: Sequence[int]) -> list[Digit]:
    """The lowest digits of `left`, which is in reverse, of this size in all; they are taken out of it."""
    digits: list[Digit] = []
    while size > 1:
        d = left.pop()
        here = math.gcd(d.extent, size)
        if here < min(d.extent, size):
            what = f"reshape_ins: {name} cuts a digit of {d.extent} at {size}"
            raise RangeError(what, "a cut that is even", "give sizes that divide it")
        digits.append(Digit(here, d.step))
        if here < d.extent:
            left.append(Digit(d.extent // here, d.times(here, radices)))
        size //= here
    return digits


def blocks(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Both lists of radices cut wherever both have a border, as the shortest pairs of equal products."""
    blocks: list[tuple[list[int], list[int]]] = []
    rest = [*new[::-1]]
    left: list[int] = []
    mine: list[int] = []
    for m in old:
        mine.append(m)
        while rest and math.prod(left) < math.prod(mine):
            left.append(rest.pop())
        if math.prod(left) == math.prod(mine):
            blocks.append((mine, left))
            mine, left = [], []
    if mine or left:  # borders that do not meet again: of equal products they always do
        blocks.append((mine, left))
    return blocks


def aligned(radices: Sequence[int], digits: Sequence[Digit], outer: Sequence[int]) -> tuple[Vector, list[Digit]]:
    """Radices of an output, and the digits of the input that it becomes, of these extents: as they are where
    one cuts the other.

    A digit of the input is cut wherever the output has a border; of the output it is the other way where borders
    do not fit.
    """
    found: list[int] = []
    cut: list[Digit] = []
    it = iter(digits)
    for mine, theirs in blocks(radices, [d.extent for d in digits]):
        here = [next(it) for _ in theirs]
        if len(here) > 1:
            found, cut = found + theirs, cut + here
            continue
        for m in mine:
            found.append(m)
            cut += [Digit(m, d.step) for d in here]
            here = [Digit(1, d.times(m, outer)) for d in here]
    return tuple(found), cut


def composed(
    ins: Ins, radices: Sequence[int], below: Sequence[Digit], outer: Sequence[int]
) -> list[tuple[str, list[Digit]]] | None:
    """The digits of inputs, each to the sum of the outer digits that it moves; None where a digit wraps that is no turn
    of the outer."""
    rooms = {k: d.extent for k, d in enumerate(below) if any(d.times(d.extent, outer))}
    cut_ins = [(name, [piece for d in digits for piece in cut(d, radices, rooms)]) for name, digits in ins]
    pieces = [d for _, digits in cut_ins for d in digits]
    if any(wraps(pieces, k, m) for k, m in rooms.items()):
        return None

    def image(step: Vector) -> Vector:
        return tuple(sum(x * d.step[j] for x, d in zip(step, below)) % m for j, m in enumerate(outer))

    return [(name, [Digit(d.extent, image(d.step)) for d in digits]) for name, digits in cut_ins]


def cut_places(radix: int, moved: Sequence[tuple[int, int]]) -> list[int]:
    """A radix cut at the strides of the digits that move it, and their ends; whole where these places do
    not divide each other.

    >>> cut_places(24, [(4, 6), (3, 1)]), cut_places(12, [(12, 5)])
    ([3, 2, 4], [12])
    """
    places = sorted({1, radix} | {p for n, step in moved for p in (step, n * step) if p < radix})
    if any(b % a for a, b in itertools.pairwise(places)):
        return [radix]
    return [b // a for a, b in itertools.pairwise(places)]


def ins_of_values(
    values: Sequence[Vector], sizes: Mapping[str, int], radices: Sequence[int]
) -> list[tuple[str, list[Digit]]] | None:
    """The digits of inputs of these sizes whose sums, each radix by itself, are these values, the first input
    fastest; None where there are none."""
    ins, place, sums = [], 1, [(0,) * len(radices)]
    for name, size in sizes.items():
        own = values[: place * size : place]
        if (digits := digits_of_values(own, radices)) is None:
            return None
        ins.append((name, digits))
        sums = [tuple((a + b) % m for a, b, m in zip(low, high, radices)) for high in own for low in sums]
        place *= size
    return ins if sums == [*values] else None


def digits_of_values(values: Sequence[Vector], radices: Sequence[int]) -> list[Digit] | None:
    """Digits whose sums, each radix by itself, are these values, the lowest first; None where there are none.

    >>> digits_of_values([(0, 0), (1, 1), (0, 2), (1, 0)], (2, 3)), digits_of_values([(0,), (1,), (1,), (2,)], (4,))
    ([Digit(extent=4, step=(1, 1))], [Digit(extent=2, step=(1,)), Digit(extent=2, step=(1,))])
    """
    size = len(values)
    if size == 1:
        return [] if not any(values[0]) else None
    for count in range(size, 1, -1):
        low = Digit(count, values[1])
        if size % count or any(values[c] != low.times(c, radices) for c in range(count)):
            continue
        parts = ((values[k - k % count], values[k % count]) for k in range(size))
        sums = (tuple((a + b) % m for a, b, m in zip(*both, radices)) for both in parts)
        rest = digits_of_values(values[::count], radices) if all(x == v for x, v in zip(sums, values)) else None
        if rest is not None:
            return [low, *rest]
    return None


def split(x: int, radices: Sequence[int]) -> Vector:
    """The digits of a number, the lowest first."""
    found = []
    for m in radices:
        x, digit = divmod(x, m)
        found.append(digit)
    return tuple(found)


def number(digits: Sequence[Any], radices: Sequence[int]) -> Any:
    """The number of digits."""
    total: Any = 0
    for digit, m in zip(reversed(digits), reversed(radices)):
        total = computed(operator.add, computed(operator.mul, total, m), digit)
    return total


def radix_text(radices: Sequence[int]) -> str:
    """Radices as text, equal ones as a power: `(2^4,3)`."""
    runs = [(m, len([*of])) for m, of in itertools.groupby(radices)]
    return listed([f"{m}^{n}" if n > 1 else str(m) for m, n in runs] or ["1"])


def listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({','.join(texts)})"


def vector_text(v: Iterable[int]) -> str:
    return f"({','.join(map(str, v))})"


def radices_of(name: str, x: object) -> Vector:
    given = x if isinstance(x, (list, tuple)) else [x]
    found = tuple(integer(f"RadixLayout: a radix of {name}", m) for m in given)
    if not all(found):
        raise RangeError(f"RadixLayout: {name} has a radix of 0", "1 or more", "leave the output out, or use 1")
    return tuple(m for m in found if m > 1)


def digits_of(name: str, given: object, outs: Sequence[tuple[str, Vector]]) -> list[Digit]:
    if not isinstance(given, (list, tuple)):
        what = f"RadixLayout: the digits of {name} are {shown(given)[:60]}"
        raise LeafTypeError(what, "pairs of extent and basis", "write [(4, 1)]")
    return [_digit(name, pair, outs) for pair in given]


def _digit(name: str, pair: object, outs: Sequence[tuple[str, Vector]]) -> Digit:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        what = f"RadixLayout: a digit of {name} is {shown(pair)[:60]}"
        raise LeafTypeError(what, "a pair of extent and basis", "write (4, 1)")
    extent = integer(f"RadixLayout: an extent of {name}", pair[0])
    vector = pair[1] if isinstance(pair[1], (list, tuple)) else [pair[1]]
    if len(vector) != len(outs):
        what = f"RadixLayout: the basis {shown(pair[1])[:60]} of {name}"
        expected = f"{len(outs)} integers, one for each of {', '.join(d for d, _ in outs)}"
        raise RankError(what, expected, "give one for each output")
    step: list[int] = []
    for x, (out, radices) in zip(vector, outs):
        value, size = integer(f"RadixLayout: a basis of {name}", x), math.prod(radices)
        if extent < 1 or value >= size:
            goes = f"goes to {value} of {out}, which has size {size}"
            what = f"RadixLayout: a digit of {name} has extent {extent} and {goes}"
            expected = f"an extent of 1 or more, and 0 to {size - 1}"
            raise RangeError(what, expected, "take the basis modulo the size, or a larger one")
        step += split(value, radices)
    return Digit(extent, tuple(step))
