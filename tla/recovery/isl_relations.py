"""Relations of isl solved: the value that conditions leave for each coordinate, by floor divisions and remainders.

isl writes a floor division as a name that there is: `exists (e0 : 4e0 <= i <= 3 + 4e0)`, and a remainder as a number
between bounds with `(i + o0) mod 4 = 0`. A name that has one value is found by one of these, where all others in it are
found already:

    c*u + R = 0                          u is -R // c
    L <= u <= U, at no coordinate two u is L; where c*u + R is a multiple of n, and U - L below n, L + (-R/c - L) mod n

Where all names are found, there is one value or none: at every coordinate of the box all conditions are computed, which
shows that there is one. Names whose value is not found so are refused, whatever it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

#: A sum: how often each name is in it, and under "" its constant.
Form = dict[str, int]
#: Conditions are computed at no more coordinates than this, of no more names and conditions; longer values are not
#: looked for.
MAX_POINTS, MAX_NAMES, MAX_VALUE = 2**16, 200, 2**14
_FIX = "write it with floor(.../n) and mod, as isl prints a pw_multi_aff of it"


class Condition(NamedTuple):
    """A sum that is 0 or more, or that is 0."""

    form: Form
    is_zero: bool


class Value(NamedTuple):
    """The value of a name or a sum: in Python's words, and at each coordinate of the box, where there are
    conditions."""

    text: str
    at: tuple[int, ...]


class IslMap(NamedTuple):
    """A map of a box to one number. expression: in Python's words; names: its coordinates; shape: their extents,
    from 0 on; values: at each coordinate, the last fastest, where conditions were solved for them"""

    expression: str
    names: tuple[str, ...]
    shape: tuple[int, ...]
    values: tuple[int, ...] = ()


def added(a: Form, b: Form, times: int = 1) -> Form:
    """A sum and a multiple of another one."""
    found = {name: a.get(name, 0) + times * b.get(name, 0) for name in {**a, **b}}
    return {name: n for name, n in found.items() if n}


class Relation:
    """Names, and what is said of them.

    names        the coordinates
    unknown      names whose values the conditions say
    quotients    names of floor divisions and remainders of sums of what stands before them: (operator, sum, number)
    """

    def __init__(self, names: tuple[str, ...], fail: Callable[[str, str, str], NoReturn]) -> None:
        self.names, self.fail = names, fail
        self.unknown: list[str] = []
        self.quotients: dict[str, tuple[str, Form, int]] = {}
        self.conditions: list[Condition] = []

    def quotient(self, operator: str, form: Form, n: int) -> Form:
        """A floor division or a remainder of a sum, as a name; of a sum with unknown names it is unknown itself."""
        name = f"#{len(self.quotients) + len(self.unknown)}"
        if not any(u in self.unknown for u in form):
            self.quotients[name] = operator, form, n
            return {name: 1}
        times, rest = (name, f"{name}%") if operator == "//" else (f"{name}//", name)
        self.unknown += [times, rest]
        self.conditions += [
            Condition(added(added(form, {times: n}, -1), {rest: 1}, -1), True),
            Condition({rest: 1}, False),
            Condition({rest: -1, "": n - 1}, False),
        ]
        return {name: 1}

    def solved(self, output: Form) -> IslMap:
        """The map that there is."""
        shape, conditions = self._box()
        sizes = [range(n) for n in shape] if conditions else []
        if math.prod(map(len, sizes)) > MAX_POINTS:
            what = f"a relation of {math.prod(shape)} coordinates"
            self.fail(what, f"{MAX_POINTS} at most", "give the value itself: [8i + j]")
        if conditions and (count := len(self.unknown) + len(self.quotients) + len(conditions)) > MAX_NAMES:
            self.fail(
                f"a relation of {count} names and conditions", f"{MAX_NAMES} at most", "give the value itself: [8i + j]"
            )
        points = [*itertools.product(*sizes)] if conditions else []
        values = {name: Value(name, tuple(p[k] for p in points)) for k, name in enumerate(self.names)}
        values[""] = Value("1", (1,) * len(points))
        for name, (operator, form, n) in self.quotients.items():
            values[name] = _divided(operator, total(form, values), n)
        _solve(self.unknown, conditions, values)
        if left := [u for u in self.unknown if u not in values]:
            what = f"the value of {left[0].strip('#%/')!r} is no floor division or remainder that is found"
            self.fail(what, "one that follows", _FIX)
        for form, is_zero in conditions:
            wrong = next((p for p, x in zip(points, total(form, values).at) if x < 0 or (is_zero and x)), None)
            if wrong is not None:
                self.fail(f"there is no value at {wrong}", "one at each coordinate of a box", "give the map of a box")
        found = total(output, values)
        return IslMap(found.text, self.names, shape, found.at)

    def _box(self) -> tuple[tuple[int, ...], list[Condition]]:
        """The extent of each coordinate, and the conditions that are no bounds of one."""
        lows: dict[str, list[int]] = {name: [] for name in self.names}
        highs: dict[str, list[int]] = {name: [] for name in self.names}
        rest = []
        for form, is_zero in self.conditions:
            inside = [name for name in form if name]
            if is_zero or len(inside) != 1 or inside[0] not in lows:
                rest.append(Condition(form, is_zero))
            elif (c := form[inside[0]]) > 0:
                lows[inside[0]].append(-(form.get("", 0) // c))
            else:
                highs[inside[0]].append(form.get("", 0) // -c)
        for name in self.names:
            low, high = max(lows[name], default=None), min(highs[name], default=None)
            if low is not None and high is not None and high < low:
                what = f"{name} from {low} to {high}, an empty range: a layout of no elements"
                self.fail(what, "an extent of 1 at least", f'write 0 <= {name} < 1, or parse("_0:_1")')
            if low != 0 or high is None:
                ends = [end if n is None else str(n) for n, end in ((low, "no beginning"), (high, "no end"))]
                self.fail(
                    f"{name} from {ends[0]} to {ends[1]}",
                    "coordinates from 0 on, with an end",
                    f"write 0 <= {name} < 8",
                )
        return tuple(min(highs[name]) + 1 for name in self.names), rest


# ---------------------------------------------------------------------------------------------------- values


def total(form: Form, values: dict[str, Value]) -> Value:
    """The value of a sum."""
    terms = [(c, values[name]) for name, c in form.items() if c]
    text = " + ".join(str(c) if v.text == "1" else v.text if c == 1 else f"{c}*{v.text}" for c, v in terms)
    at = tuple(map(sum, zip(*([c * x for x in v.at] for c, v in terms))))
    return Value(text or "0", at or (0,) * len(values[""].at))


def _in_brackets(value: Value) -> Value:
    return Value(f"({value.text})", value.at)


def _divided(operator: str, value: Value, n: int) -> Value:
    """A quotient or a remainder, in brackets."""
    if n == 1 and operator == "//":
        return _in_brackets(value)
    at = tuple(x // n if operator == "//" else x % n for x in value.at)
    return Value(f"(({value.text}){operator}{n})", at)


def _summed(*terms: tuple[int, Value]) -> Value:
    """A sum of values that are in brackets, in brackets."""
    names = {str(k): v for k, (_c, v) in enumerate(terms)}
    return _in_brackets(total({str(k): c for k, (c, _v) in enumerate(terms)}, {**names, "": terms[0][1]}))


# --------------------------------------------------------------------------------------------------- solving


def _solve(unknown: list[str], conditions: list[Condition], values: dict[str, Value]) -> None:
    """Add the value of every name that one of the rules finds, until none finds another."""
    found = True
    while found:
        found = False
        for u in unknown:
            if u not in values and (value := _equal(u, conditions, values) or _between(u, conditions, values)):
                if len(value.text) > MAX_VALUE:
                    return
                values[u], found = value, True


def _of(
    u: str, conditions: list[Condition], values: dict[str, Value], others: int = 0
) -> Iterator[tuple[Condition, list[str]]]:
    """The conditions on a name in which all names but so many others are found; and which these are."""
    for condition in conditions:
        left = [name for name in condition.form if name and name not in values and name != u]
        if u in condition.form and len(left) == others:
            yield condition, left


def _without(form: Form, *names: str) -> Form:
    return {name: c for name, c in form.items() if name not in names}


def _equal(u: str, conditions: list[Condition], values: dict[str, Value]) -> Value | None:
    for (form, is_zero), _left in _of(u, conditions, values):
        if is_zero:
            sign = -1 if form[u] > 0 else 1
            rest = total(added({}, _without(form, u), sign), values)
            return _divided("//", rest, abs(form[u]))
    return None


def _between(u: str, conditions: list[Condition], values: dict[str, Value]) -> Value | None:
    lows: list[Value] = []
    highs: list[Value] = []
    for (form, is_zero), _left in _of(u, conditions, values):
        if not is_zero:
            end = _divided("//", total(_without(form, u), values), abs(form[u]))
            (lows if form[u] > 0 else highs).append(_summed((-1 if form[u] > 0 else 1, end)))
    for (n, rest), low, high in itertools.product([*_multiples(u, conditions, values), (1, None)], lows, highs):
        if all(y - x < n for x, y in zip(low.at, high.at)):
            return low if rest is None else _summed((1, low), (1, _divided("%", _summed((1, rest), (-1, low)), n)))
    return None


def _multiples(u: str, conditions: list[Condition], values: dict[str, Value]) -> Iterator[tuple[int, Value]]:
    """Numbers n, and what u is modulo them: of c*u + R = n times some integer, where c has an inverse modulo n."""
    for (form, is_zero), left in _of(u, conditions, values, others=1):
        n = abs(form[left[0]])
        if is_zero and n > 1 and math.gcd(form[u], n) == 1:
            rest = total(_without(form, u, left[0]), values)
            yield n, _summed((-pow(form[u], -1, n), _in_brackets(rest)))
