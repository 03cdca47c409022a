"""Loops over threads that end where a predicate does: instead of asking each lane whether it is inside, the loop over
lanes ends behind the last one that is.

A comparison k * lane + rest < n of a positive number k and of a rest and an n that are the same for all lanes holds for
the lanes below ceil((n - rest) / k), and for no others. What does not name the lane is asked once in front of the loop.

Source: ours; compilers call it index-set splitting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ...core.ints import Leaf
from ...core.leaf_arithmetic import add, mul, smaller
from ...core.questions import at_most
from ...symbolic.poly import poly
from ...symbolic.symint import poly_of, wrap
from ..program.digits import Lanes, loop_of
from ..program.offsets import Offsets, names_of
from ..tiles.whole import strictest
from .names import WORD, Names

#: The bytes of a run from which on a loop of its own pays: of shorter ones most are cut at the end.
_LONG = 256
#: The most lanes of which a loop of all is vectors without a loop.
_FEW = 16
_VARIABLE = re.compile(r"const \{int\} (\w+) = ")


class Guarded:
    """The lines of a statement that are each under comparisons (c, n) of c < n.

    names   the names of the text
    left    the comparisons of each line
    places  the offsets that lines name

    `values` has the texts of these. Source: ours.
    """

    def __init__(self, names: Names, left: Sequence[Sequence[tuple[Any, Any]]], places: Sequence[Offsets]) -> None:
        asked, self._left = [x for pairs in left for pair in pairs for x in pair], left
        lanes = names.lanes(asked, *places)
        self._runs = lanes is not None and _are_runs(lanes, places)
        found = [] if lanes is None else [_guard(lanes, pairs) for pairs in left]
        self._guards = [guard for guard in found if guard is not None]
        all_seen = lanes is not None and len(self._guards) == len(left)
        has_loops = all_seen and (self._runs or any(end is not None for _asked, end in self._guards))
        self._lanes = lanes if has_loops else None
        if has_loops:
            asked = [x for pairs, _end in self._guards for pair in pairs for x in pair]
            asked += [end for _asked, end in self._guards if end is not None]
        self.values = names.values(asked, *places)

    def lines(self, lines: Sequence[str]) -> list[str]:
        """The lines under their comparisons, behind those that compute values."""
        values = self.values
        if self._lanes is None:
            return [*values.lines, *(f"{values.condition(pairs)}{line}" for pairs, line in zip(self._left, lines))]
        out, self._own = _parted(values.lines, {str(self._lanes.step), "tid"})
        ends = [self._lanes.steps if end is None else end for _asked, end in self._guards]
        rows = [(values.of(end), asked, line) for end, (asked, _end), line in zip(ends, self._guards, lines)]
        for end, group in groupby(rows, lambda row: row[0]):
            out += self._of_one_end(end, [(asked, line) for _end, asked, line in group])
        return out

    def _of_one_end(self, end: str, found: Sequence[tuple[Any, str]]) -> list[str]:
        """Lines whose lanes end at one place.

        Together where all comparisons hold, as in most blocks: vectors of several lines cost less so, and least where
        a few lanes are all there. Else those of each comparison in a loop of their own.
        """
        assert self._lanes is not None
        condition, steps = self.values.condition, self._lanes.steps
        under = [(of_one, [line for _asked, line in x]) for of_one, x in groupby(found, lambda row: condition(row[0]))]
        apart = [x for of_one, inside in under for x in _under(of_one, self._loops(end, inside))]
        pairs = [*dict.fromkeys(pair for asked, _line in found for pair in asked)]
        whole = [self.values.comparisons(strictest(pairs))] if pairs else []
        together, lines = [], [line for _asked, line in found]
        if steps <= _FEW and end != str(steps):
            together.append((" && ".join([f"{steps - 1} < {end}", *whole]), self._loops(steps, lines)))
        if len(under) > 1 and not self._runs:
            together.append(("".join(whole), self._loops(end, lines)))
        if not together:
            return apart
        least = self.values.comparisons(_least([asked for asked, _line in found]))
        return [*_branches([*together, (least, apart)]), "}"]

    def _loops(self, end: int | str, lines: Sequence[str]) -> list[str]:
        """Lines in one loop over lanes; of runs each in its own, so that what is copied lies one behind the other."""
        assert self._lanes is not None
        begin, bodies = loop_of("{int}", str(self._lanes.step), end), [[x] for x in lines] if self._runs else [[*lines]]
        return [x for body in bodies for x in (begin, *_indented(_with_variables(body, self._own)), "}")]


def _least(asked: Sequence[Sequence[tuple[Any, Any]]]) -> list[tuple[Any, Any]]:
    """Comparisons of the first line that hold where those of any line do."""
    return [
        (c, n) for c, n in asked[0] if all(any(m is n and at_most(c, x) is True for x, m in pairs) for pairs in asked)
    ]


def _under(condition: str, lines: Sequence[str]) -> list[str]:
    """Lines under a condition, if any."""
    return [f"{condition}{{", *_indented(lines), "}"] if condition else [*lines]


def _branches(found: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Branches (condition, lines), of which the first is taken whose condition holds; an empty one always does."""
    before = ""
    for condition, lines in found:
        yield f"{before}if ({condition}) {{" if condition else f"{before}{{"
        yield from _indented(lines)
        before = "} else "


def _indented(lines: Iterable[str]) -> Iterator[str]:
    """Lines one level further in."""
    return (f"    {line}" for line in lines)


def _by_lane(lanes: Lanes, x: Any) -> tuple[int, Leaf]:
    """The factor of the lane in an integer, and the rest of the sum."""
    terms, name = [*poly_of(lanes.by_step(x))], str(lanes.step)
    rest = poly((m, k) for m, k in terms if [*map(str, m)] != [name])
    return sum(k for m, k in terms if [*map(str, m)] == [name]), wrap(rest)


def _are_runs(lanes: Lanes, places: Sequence[Offsets]) -> bool:
    """Whether the lanes of each line touch elements one behind the other, and many of them."""

    def is_run(terms: Iterable[Leaf]) -> bool:
        found = [_by_lane(lanes, x) for x in terms]
        return sum(n for n, _rest in found) == 1 and str(lanes.step) not in names_of(*(rest for _n, rest in found))

    wide = all(lanes.steps * x.tensor.dtype.itemsize >= _LONG for x in places)
    return wide and all(is_run(terms) for x in places for terms, _number in x.parts)


def _guard(lanes: Lanes, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[tuple[Any, Any]], Leaf | None] | None:
    """The comparisons that are of all lanes, and the end of the lanes for which the others hold; None for the last.

    None where these are not seen to be the first lanes.
    """
    asked, end = [], None
    for c, n in pairs:
        (factor, rest), most = _by_lane(lanes, c), lanes.by_step(n)
        if factor < 0 or str(lanes.step) in names_of(rest, most):
            return None
        if factor == 0:
            asked.append((c, n))
        else:
            last = add(most, add(mul(rest, -1), factor - 1)) // factor
            end = smaller(lanes.steps if end is None else end, last)
    return asked, end


def _parted(lines: Iterable[str], of_lanes: set[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines of variables that are the same for all lanes; and the others, each with its variable."""
    same, own = [], []
    for line in lines:
        variable = _VARIABLE.match(line)
        if variable is not None and of_lanes.intersection(WORD.findall(line)):
            of_lanes.add(variable[1])
            own.append((variable[1], line))
        else:
            same.append(line)
    return same, own


def _with_variables(lines: list[str], variables: Sequence[tuple[str, str]]) -> list[str]:
    """Lines behind those of the variables that they name."""
    words = {*WORD.findall("\n".join(lines))}
    for name, line in reversed(variables):
        if name in words:
            lines.insert(0, line)
            words.update(WORD.findall(line))
    return lines
