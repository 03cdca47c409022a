"""Loops over threads that end where a predicate does: instead of asking each lane whether it is inside, the loop over
lanes ends behind the last one that is.

A comparison k * lane + rest < n of a positive number k and of a rest and an n that are the same for all lanes holds for
the lanes below ceil((n - rest) / k), and for no others. What does not name the lane is asked once in front of the loop.

Source: ours; compilers call it index-set splitting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from ...core.ints import Leaf
from ...core.leaf_arithmetic import add, mul, smaller
from ...symbolic.poly import poly
from ...symbolic.symint import poly_of, wrap
from ..program.digits import Lanes, loop_of
from ..program.offsets import Offsets, names_of
from .names import WORD, Names

_VARIABLE = re.compile(r"const \{int\} (\w+) = ")


class Guarded:
    """The lines of a statement that are each under comparisons (c, n) of c < n.

    names   the names of the text
    left    the comparisons of each line
    places  the offsets that lines name

    `values` has the texts of these. Source: ours.
    """

    def __init__(self, names: Names, left: Sequence[Sequence[tuple[Any, Any]]], places: Sequence[Offsets]) -> None:
        asked = [x for pairs in left for pair in pairs for x in pair]
        self._lanes, self._left = names.lanes(asked, *places) if asked else None, left
        guards = [] if self._lanes is None else [_guard(self._lanes, pairs) for pairs in left]
        self._guards = [guard for guard in guards if guard is not None]
        if self._lanes is None or len(self._guards) < len(left) or all(end is None for _asked, end in self._guards):
            self._lanes = None
        else:
            asked = [x for pairs, _end in self._guards for pair in pairs for x in pair]
            asked += [end for _asked, end in self._guards if end is not None]
        self.values = names.values(asked, *places)

    def lines(self, lines: Sequence[str]) -> list[str]:
        """The lines under their comparisons, behind those that compute values."""
        values = self.values
        if self._lanes is None:
            return [*values.lines, *(f"{values.condition(pairs)}{line}" for pairs, line in zip(self._left, lines))]
        step, ends = str(self._lanes.step), [self._lanes.steps if x is None else x for _asked, x in self._guards]
        guards = [(values.condition(asked), values.of(end)) for (asked, _end), end in zip(self._guards, ends)]
        first, own = _parted(values.lines, {step, "tid"})
        for (condition, end), found in groupby(zip(guards, lines), lambda row: row[0]):
            inside = _with_variables([line for _guard, line in found], own)
            loop = [loop_of("{int}", step, end), *(f"    {line}" for line in inside), "}"]
            first += [f"{condition}{{", *(f"    {line}" for line in loop), "}"] if condition else loop
        return first


def _guard(lanes: Lanes, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[tuple[Any, Any]], Leaf | None] | None:
    """The comparisons that are of all lanes, and the end of the lanes for which the others hold; None for the last.

    None where these are not seen to be the first lanes.
    """
    asked, end, name = [], None, str(lanes.step)
    for c, n in pairs:
        by_lane, most = lanes.by_step(c), lanes.by_step(n)
        terms = [*poly_of(by_lane)]
        factor = sum(k for m, k in terms if [*map(str, m)] == [name])
        rest = wrap(poly((m, k) for m, k in terms if [*map(str, m)] != [name]))
        if factor < 0 or name in names_of(rest, most):
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
