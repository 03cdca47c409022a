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
from ...symbolic.poly import number
from ...symbolic.symint import poly_of, wrap
from ..program.offsets import names_of
from ..program.statements import Either, Loop, Statement, statements_of

#: The least that a sum of sizes is, and the most; None where that is not known. Of several sums by their texts.
Bounds = tuple[int | None, int | None]
Sizes = frozenset[tuple[str, Bounds]]


#: The most steps of a loop that are gone one by one, or in which what it counts comes round.
MOST_STEPS = 128
#: The most steps of a loop by which conditions of how many there are tell these apart; of more they may hold or not.
_MOST_COUNTED = 16


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
    body     the statements of the kernel, whose conditions may be of how many steps there are
    most     from how many steps that are left on it does not matter how many: more than there are, or than any
             condition asks for
    """

    def __init__(self, loop: Loop, period: int, body: Sequence[Statement]) -> None:
        self.loop, self._period, borders = loop, period, {True: [1], False: [0]}
        for x in statements_of(body):
            for c, n in x.asked if isinstance(x, Either) else ():
                difference = add(n, mul(c, -1))
                if (found := _beside(difference, loop)) is not None:
                    borders[found.of_left].append(found.border)
                if (found := _multiple(difference, loop.count, of_left=True)) and found.border <= _MOST_COUNTED:
                    borders[True].append(found.border)
        self.most, settled = max(borders[True]), max(borders[False])
        if (count := known(loop.count)) is not None and count <= MOST_STEPS:
            self.most = count + 1
        self._settled = -(-settled // period) * period

    def behind(self, gone: int, left: int) -> set[tuple[int, int]]:
        """The steps that may be gone, and left, in the next one."""
        step = gone + 1 if gone < self._settled else self._settled + (gone + 1 - self._settled) % self._period
        return {(step, n) for n in ((left - 1, left) if left == self.most else (left - 1,))}


class _Beside(NamedTuple):
    """A sum of the steps that are left, or of those that are gone, by its sign, and a number more."""

    of_left: bool
    sign: int
    more: int

    @property
    def border(self) -> int:
        """The number from which on it does not matter how many steps these are: whether it is 1 or more stays."""
        return 1 - self.more if self.sign > 0 else self.more

    def value(self, step: Step) -> int:
        """Its value in a step."""
        return self.more + self.sign * (step.left if self.of_left else step.gone)


def _beside(difference: Any, s: Loop) -> _Beside | None:
    """Take a difference apart by the steps of a loop; None of one of something else."""
    left = _multiple(difference, add(s.count, mul(s.step, -1)), of_left=True)
    return left or _multiple(difference, s.step, of_left=False)


def _multiple(difference: Any, of: Any, *, of_left: bool) -> _Beside | None:
    """Take a difference apart by one sum."""
    for sign in (1, -1):
        if (more := known(add(difference, mul(of, -sign)))) is not None:
            return _Beside(of_left, sign, more)
    return None


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
    if not names_of(s.count).isdisjoint(counted):  # it is another one in each step
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
        if (found := _beside(difference, step.loop)) is not None:
            yield found.value(step) >= 1, sizes
            return
    rest, constant = _taken_apart(difference)
    if rest is None:
        yield constant >= 1, sizes
    elif not names_of(difference).isdisjoint({*loops, *counted}):  # it is another one in each step
        yield from ((True, sizes), (False, sizes))
    else:
        low, high = rest.bounds(sizes)
        least = 1 - constant
        if high is None or high >= least:
            yield True, rest.within((least if low is None else max(low, least), high), sizes)
        if low is None or low < least:
            yield False, rest.within((low, least - 1 if high is None else min(high, least - 1)), sizes)


def _taken_apart(x: Any) -> tuple[_Sum | None, int]:
    """An integer as a sum of sizes and a number; None for no sum."""
    p = poly_of(x)
    constant = p.terms.get((), 0)
    rest = p - number(constant)
    texts = str(wrap(rest)), str(wrap(-rest))
    return _Sum(min(texts), texts[0] > texts[1]) if rest.terms else None, constant
