"""The ways that a kernel may go, whatever its sizes are: how often its loops, and where its conditions hold.

A condition of a step k of a loop of n steps, k + 2 < n, is one of how many steps are left: these are counted, from some
number on as "so many or more". Of another one is known what was asked before: "of this sum of sizes, at least 3".

Source: ours; interval analysis, Cousot and Cousot, "Abstract Interpretation", 1977.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.ints import known
from ...core.leaf_arithmetic import add, mul
from ...core.questions import at_most
from ...symbolic import SymInt
from ...symbolic.poly import number
from ...symbolic.symint import poly_of, wrap
from ..program.statements import Either, Loop, statements_of

#: The least that a sum of sizes is, and the most; None where that is not known. Of several sums by their texts.
Bounds = tuple[int | None, int | None]
Sizes = frozenset[tuple[str, Bounds]]


#: The most steps of a loop that are gone one by one, or in which what it counts comes round.
MOST_STEPS = 128


class Step(NamedTuple):
    """A step of a loop.

    gone   the steps before it; from some number on those that make no other step of it, see `Steps`
    left   the steps that are left, this one included; from some number on so many or more
    """

    loop: Loop
    gone: int
    left: int


class Steps:
    """The steps of a loop that are told apart: by how many are gone, and how many are left.

    period   after how many steps what it counts comes round
    most     from how many steps that are left on it does not matter how many: more than there are, or than any
             condition in the loop asks for
    """

    def __init__(self, loop: Loop, period: int) -> None:
        self.loop, self.most, self._period, settled = loop, 1, period, 0
        for x in statements_of(loop.body):
            for c, n in x.asked if isinstance(x, Either) else ():
                left, gone, still = _beside(add(n, mul(c, -1)), loop)
                self.most = max(self.most, 1 - (left or 0))
                settled = max(settled, 1 - gone if gone is not None else 0, still or 0)
        if (count := known(loop.count)) is not None and count <= MOST_STEPS:
            self.most = count + 1
        self._settled = -(-settled // period) * period

    def behind(self, gone: int, left: int) -> set[tuple[int, int]]:
        """The steps that may be gone, and left, in the next one."""
        step = gone + 1 if gone < self._settled else self._settled + (gone + 1 - self._settled) % self._period
        return {(step, n) for n in ((left - 1, left) if left == self.most else (left - 1,))}


def _beside(difference: Any, s: Loop) -> tuple[int | None, int | None, int | None]:
    """Subtract from a difference the steps that are left, those that are gone, and the negative of these: three numbers,
    each None where it is none."""
    of = add(s.count, mul(s.step, -1)), s.step, mul(s.step, -1)
    left, gone, still = (known(add(difference, mul(x, -1))) for x in of)
    return left, gone, still


def _value(difference: Any, step: Step) -> int | None:
    """The value of a difference in a step; None of one of something else."""
    left, gone, still = _beside(difference, step.loop)
    if left is not None:
        return left + step.left
    if gone is not None:
        return gone + step.gone
    return None if still is None else still - step.gone


class _Sum(NamedTuple):
    """A sum of sizes by its text, or by that of what it is the negative of."""

    text: str
    negative: bool

    def bounds(self, sizes: Sizes) -> Bounds:
        """Its bounds, as far as they are known."""
        return self._turned(dict(sizes).get(self.text, (None, None)))

    def within(self, bounds: Bounds, sizes: Sizes) -> Sizes:
        """Add that it is within bounds to what is known of sizes."""
        return frozenset({**dict(sizes), self.text: self._turned(bounds)}.items())

    def _turned(self, bounds: Bounds) -> Bounds:
        low, high = bounds
        return (high and -high, low and -low) if self.negative else bounds


def starts(s: Loop, sizes: Sizes, most: int, counted: Collection[str]) -> Iterator[tuple[int, Sizes]]:
    """The numbers of steps that a loop may have, up to `most`, which is so many or more; each with what is then known
    of sizes.

    counted   the names of what loops count, their steps among them
    """
    rest, constant = _taken_apart(s.count)
    if rest is None:
        yield min(constant, most), sizes
        return
    if not _names(s.count).isdisjoint(counted):  # it is another one in each step
        yield from ((n, sizes) for n in range(most + 1))
        return
    least, last = rest.bounds(sizes)
    first = max(0 if least is None else least + constant, int(at_most(1, s.count) is True))
    end = most if last is None else max(0, min(most, last + constant))
    for n in range(min(first, most), end + 1):
        bounds = (n - constant if n else least, n - constant if n < most else last)  # below 0 there are none, too
        yield n, rest.within(bounds, sizes)


def ways(
    asked: Sequence[tuple[Any, Any]], sizes: Sizes, loops: Mapping[str, Step], counted: Collection[str]
) -> Iterator[tuple[bool, Sizes]]:
    """Whether comparisons c < n may all hold, and may not, each with what is then known of sizes.

    loops     the steps that it is in, by their names
    counted   the names of what loops count
    """
    if not asked:
        yield True, sizes
        return
    (c, n), *others = asked
    for holds, known_then in _ways_of(add(n, mul(c, -1)), sizes, loops, counted):
        if holds:
            yield from ways(others, known_then, loops, counted)
        else:
            yield False, known_then


def _ways_of(
    difference: Any, sizes: Sizes, loops: Mapping[str, Step], counted: Collection[str]
) -> Iterator[tuple[bool, Sizes]]:
    """Whether a difference is 1 or more, or not."""
    for step in loops.values():
        if (n := _value(difference, step)) is not None:
            yield n >= 1, sizes
            return
    rest, constant = _taken_apart(difference)
    if rest is None:
        yield constant >= 1, sizes
    elif not _names(difference).isdisjoint({*loops, *counted}):  # it is another one in each step
        yield from ((True, sizes), (False, sizes))
    else:
        low, high = rest.bounds(sizes)
        least = 1 - constant
        if high is None or high >= least:
            yield True, rest.within((least if low is None else max(low, least), high), sizes)
        if low is None or low < least:
            yield False, rest.within((low, least - 1 if high is None else min(high, least - 1)), sizes)


def _names(x: Any) -> set[str]:
    return {str(n) for n in x.symbols} if isinstance(x, SymInt) else set()


def _taken_apart(x: Any) -> tuple[_Sum | None, int]:
    """An integer as a sum of sizes and a number; None for no sum."""
    p = poly_of(x)
    constant = p.terms.get((), 0)
    rest = p - number(constant)
    texts = str(wrap(rest)), str(wrap(-rest))
    return _Sum(min(texts), texts[0] > texts[1]) if rest.terms else None, constant
