"""The layout of an index expression whose sizes are names: its modes are read from the normal form, and proved
to be it.

A mode (e,d) at place p of a coordinate c adds d * (c // p % e) to the offset. Of the places 1 = p0, p1, ... of a
coordinate, each of which divides the next, the sum is a polynomial in c // p0, c // p1, ...: the coefficient of c // pk
is dk - d(k-1) * p(k)/p(k-1). So the places are the divisors that the normal form has, and the strides follow from the
coefficients, the fastest first.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..codegen.proofs.reading import ARITHMETIC
from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError, RangeError, Unproven
from ..core.int_tuple import shown
from ..core.ints import Leaf, is_int
from ..core.layout import Layout
from ..core.leaf_arithmetic import larger, smaller
from ..symbolic import SymInt, dim, index, prove
from ..symbolic.conditions import Condition, proved_divides, require_condition
from ..symbolic.parse_expression import read as read_size
from ..symbolic.poly import ONE, Poly, one_of, split
from ..symbolic.rules import floor_div
from ..symbolic.symint import poly_of, wrap
from .digits import Digits
from .evaluate import TESTS, Evaluator
from .reading import Call, Code, Op
from .unknown_bounds import Choice, NoValue, Open, Test, bounded, choice
from .unknown_swizzles import swizzled_layout, symbols_of

_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    "quot": operator.floordiv,
    "rem": operator.mod,
    "min": smaller,
    "max": larger,
    "ceildiv": lambda a, b: -(-a // b),
    "ceil_div": lambda a, b: -(-a // b),
}
_TESTS: dict[str, Callable[[Any, Any], Condition | bool]] = {
    **TESTS,
    **dict.fromkeys(("==", "!="), lambda a, b: _equal(a, b)),
}
#: Operations that are C's on values of 0 or more only, where they round down.
_OF_NO_NEGATIVES = frozenset(("quot", "rem", "ceil_div"))

#: Operations on a xor that, with a number (of quotients a power of two), may be done to each of its operands.
_BIT_BY_BIT = frozenset(("&", ">>", "//", "%", "quot", "rem"))


def has_names(*sizes: object) -> bool:
    """Whether a size among these is not known: a name, an expression, or a SymInt."""
    return any(isinstance(n, (str, SymInt)) for n in sizes)


def sizes_of(shape: tuple[object, ...], values: Mapping[str, object]) -> tuple[tuple[Leaf, ...], dict[str, Leaf]]:
    """The extents, and the values of names: those of sizes too, each with the facts that it is declared with.

    >>> extents, values = sizes_of(("M", "8*K"), {"ld": dim("K", multiple_of=4) + 8})
    >>> print(*extents, values["ld"], values["K"] % 4)
    M 8*K K+8 0
    """
    known = {str(n): n for x in (*shape, *values.values()) if isinstance(x, SymInt) for n in x.symbols}
    for text in (x for x in (*shape, *values.values()) if isinstance(x, str)):
        for name in re.findall(r"[A-Za-z]\w*", text[:1000]):
            if name not in ("min", "max", "ceil"):
                known.setdefault(name, dim(name))
    given = {name: _size(x, known) for name, x in values.items()}
    return tuple(_size(x, {**known, **given}) for x in shape), {**known, **given}


def _size(x: Any, known: Mapping[str, Leaf]) -> Leaf:
    if isinstance(x, str):
        found, end = read_size(x, 0, known)
        if x[end:].strip():
            raise LeafTypeError(
                f"the size {x!r:.60}", "a name, or an expression such as 8*K", "write it with + - * // % and names"
            )
        return found
    if not is_int(x):
        raise LeafTypeError(f"{shown(x)} for a size", "an integer, a name, or a SymInt", 'write shape=("M", 64)')
    return x if isinstance(x, SymInt) else int(x)


def coordinates(names: tuple[str, ...], extents: tuple[Leaf, ...], values: Mapping[str, Leaf]) -> tuple[Leaf, ...]:
    """An index below each extent, of a name that no size has. An extent of 1 has the index 0."""
    taken, found = {n for x in values.values() if isinstance(x, SymInt) for n in map(str, x.symbols)}, []
    for given, extent in zip(names, extents):
        name = re.sub(r"\W", "_", given).lstrip("_0123456789") or "i"
        while name in taken or name in ("o", "min", "max", "ceil"):
            name += "_"
        taken.add(name)
        found.append(index(name, below=extent) if not isinstance(extent, int) or extent > 1 else 0)
    return tuple(found)


class SymbolicEvaluator(Evaluator):
    """The value of a tree at coordinates that are symbols. Integers are those that hold every value: no size
    says which do.

    extents  of the coordinates, by their names
    """

    extents: Mapping[str, Leaf] = {}

    def offset(self, value: Any) -> tuple[Leaf, tuple[Test, ...]]:
        """The offset, and the comparisons that hold where there is one."""
        if isinstance(value, tuple) and str(value[0]) == "results":
            what, fix = "an index map of sizes that are names", "write the offset that the coordinates lie at"
            self.fail(value[0], what, "one offset", fix)
        offset, tests = bounded(self.of(value)[0])
        return self.decided(offset), tests

    def decided(self, x: Any) -> Any:
        """A value that is no choice of coordinates."""
        if isinstance(x, NoValue):
            self.undecided(x.op, "a function that may end without a value")
        if isinstance(x, Choice) and any(isinstance(side, NoValue) for side in (x.first, x.second)):
            self.decided(x.second if isinstance(x.second, NoValue) else x.first)
        if isinstance(x, (Open, Choice)):
            asked = x if isinstance(x, Open) else x.condition
            self.undecided(asked.op, str(asked.tests[0]))
        return x

    def kind_of_value(self, values: Any) -> str:
        return self.integer if self.c else ""

    def of(self, tree: Any) -> tuple[Any, str]:
        if isinstance(tree, int):
            return tree, self.integer if self.c else ""
        if isinstance(tree, tuple) and not isinstance(tree, Call) and str(tree[0]) == "missing":
            return NoValue(tree[0]), "int32"
        return super().of(tree)

    def extent(self, op: Op, name: str, count: Any) -> tuple[Any, str]:
        passes, given = self.decided(self.of(count)[0]), self.extents[name]
        condition = _equal(passes, given)
        if not (condition if isinstance(condition, bool) else condition.holds is True):
            what = f"{passes} values of {name:.40} for an extent of {given}"
            self.fail(op, what, "its extent, proved", f"give {passes} in shape=")
        return self.values[name]

    def branched(self, op: Op, condition: Any, *branches: Any) -> tuple[Any, str]:
        """The branch that is proved to be taken; && and || are such choices of 0 and 1."""
        holds = self.truth(op, condition)
        if isinstance(holds, Open):
            return self.chosen(op, holds, *(self.of(x)[0] for x in branches)), "int32"
        if op == "both":
            return (self.truth(op, branches[0]) if holds else 0), "int32"
        if op == "either":
            return (1 if holds else self.truth(op, branches[0])), "int32"
        return self.of(branches[0] if holds else branches[1])

    def truth(self, op: Op, tree: Any) -> Any:
        """Whether a value is not 0: 1 or 0, or Open where coordinates decide."""
        value = self.of(tree)[0]
        return value if isinstance(value, Open) else self.tested(op, "!=", self.decided(value), 0)

    def chosen(self, op: Op, holds: Open, first: Any, second: Any = None) -> Any:
        """The choice of a condition of coordinates, or what && and || make of it."""
        if isinstance(second, Open) and first == 1:
            op, first, second = Op("either", op.at), second, None
        elif isinstance(first, Open) and second == 0:
            op = Op("both", op.at)
        if op == "select":
            return choice(holds, first, second)
        if isinstance(first, Open):
            found = holds.joined(first, op == "both")
            return self.decided(holds) if found is None else found
        is_true = self.tested(op, "!=", self.decided(first), 0)
        return holds if is_true == (op == "both") else is_true

    def tested(self, op: Op, test: str, first: Any, second: Any) -> Any:
        """1 or 0, whichever the answer of a comparison is proved to be; Open where coordinates decide."""
        condition = _TESTS[test](first, second)
        holds = condition.holds if isinstance(condition, Condition) else condition
        if holds is None or (
            holds is False and isinstance(condition, Condition) and not self.never(test, first, second)
        ):
            if test in ("==", "!="):
                self.undecided(op, f"{first} {test} {second}")
            return Open(op, (Test(test, first, second),))
        return int(bool(holds) != (test == "!="))

    def never(self, test: str, first: Any, second: Any) -> bool:
        """Whether a comparison that does not always hold never does."""
        if test in ("==", "!="):
            return prove(first < second) is True or prove(first > second) is True
        return {"<": first >= second, "<=": first > second, ">": first <= second, ">=": first < second}[
            test
        ].holds is True

    def undecided(self, op: Op, what: str) -> NoReturn:
        fix = "give shape= the extents inside, or facts such as dim('M', multiple_of=8) that decide it"
        self.fail(op, f"{what}: it depends on the coordinate", "one expression for all coordinates", fix)

    def computed(self, op: Op, kind: str, *operands: Any) -> Any:
        first, second = operands[0], operands[-1]
        if op == "not" and isinstance(first, Open):
            return first.opposite()
        if op in ("and", "or", "&", "|") and isinstance(first, Open):
            return self.chosen(Op("both" if op in ("and", "&") else "either", op.at), first, second)
        first, second = self.decided(first), self.decided(second)
        if op in ("neg", "~"):
            return -first - int(op == "~")
        if op == "not":
            return self.tested(op, "==", first, 0)
        if op in _TESTS:
            return self.tested(op, op, first, second)
        if op in ("mul24", "umul24"):
            self.require_24_bits(op, kind, first, second)
            return first * second
        if op not in _COMPUTED:
            what = f"{op} of sizes that are names"
            self.fail(op, what, "+ - * / % << >> & | ^", "give the sizes numbers, in values= and shape=")
        if op in _OF_NO_NEGATIVES and not (_at_least(first, 0) and _at_least(second, 1)):
            self.fail(
                op, f"{first} divided by {second}", "0 or more by 1 or more, proved", "declare the facts that prove it"
            )
        if op in ("<<", ">>") and not _at_least(second, 0):
            self.fail(op, f"a shift by {second}", "0 bits or more", "declare it at_least=0")
        by_bit = (
            op in _BIT_BY_BIT and isinstance(second, int) and (op in ("&", ">>") or second & (second - 1) == 0 < second)
        )
        if by_bit and (parts := _xored(first)):
            return functools.reduce(operator.xor, (_COMPUTED[op](x, second) for x in parts))
        return _COMPUTED[op](first, second)

    def require_24_bits(self, op: Op, kind: str, *factors: Any) -> None:
        low, high = (0, (1 << 24) - 1) if kind == "uint32" else (-(1 << 23), (1 << 23) - 1)
        for x in factors:
            if not (_at_least(x, low) and _at_least(high, x)):
                fix = f"declare its sizes at_most={high}, or write * for all bits"
                self.fail(op, f"{x} as a factor of 24 bits", "one that they hold, proved", fix)

    def converted(self, op: Op, values: Any, kind: str, given: str) -> Any:
        low = 0 if kind.startswith("u") else None
        if kind in ("", given) or (low is None and kind in ("int32", "int64")):
            return values
        if kind == "bool" and isinstance(values, Open):
            return values
        self.decided(values)
        bits = int(kind.strip("uint")) if kind != "bool" else 1
        least, most = (0, 2**bits - 1) if low == 0 or kind == "bool" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        fits = _at_least(values, least) and (bits >= 32 or _at_least(most, values))
        if not fits:
            self.fail(
                op, f"a cast of {values} to {kind}", "values that it holds, proved", "cast to a wider type, with a sign"
            )
        return values

    def held(self, op: Op, values: Any, kind: str) -> Any:
        if kind.startswith("u") and not _at_least(values, 0):
            what = f"{values} in {kind}"
            self.fail(op, what, "0 or more, proved: integers without a sign wrap", "compute in integers with a sign")
        return values


def _xored(x: Any) -> list[Leaf]:
    """The operands of a xor; none of anything else."""
    a = x.poly.atoms[0] if isinstance(x, SymInt) and len(x.poly.terms) == 1 and x.poly.atoms else None
    return [*map(wrap, a.args)] if a is not None and a.kind == "^" and x.poly == one_of(a) else []


def _at_least(x: Any, least: Any) -> bool:
    condition = x >= least
    return condition if isinstance(condition, bool) else condition.holds is True


def _equal(a: Any, b: Any) -> Condition | bool:
    return a.equals(b) if isinstance(a, SymInt) else b.equals(a) if isinstance(b, SymInt) else bool(a == b)


def offset_of_text(
    code: Code, indices: Mapping[str, Leaf], extents: tuple[Leaf, ...], values: Mapping[str, Leaf], integer: str
) -> tuple[Leaf, tuple[Test, ...]]:
    """The offset of a text at coordinates that are symbols, and the bounds outside of which it is -1."""
    given = {**dict.fromkeys(code.bases, 0), **values, **indices}
    evaluator = SymbolicEvaluator(code, given, integer)
    evaluator.extents = dict(zip(indices, extents))
    return evaluator.result()  # type: ignore[no-any-return]


def layout_of_offset(offset: Leaf, indices: tuple[Leaf, ...], extents: tuple[Leaf, ...]) -> Layout | ComposedLayout:
    """The layout whose offset, at these indices, this is. The two are one normal form: equal for all sizes.

    Raises  RangeError for what is no sum of modes; Unproven where that rests on a division that is not known

    >>> M, N = dim("M", multiple_of=8), dim("N")
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> print(layout_of_offset(i // 8 * 8 * N + j * 8 + i % 8, (i, j), (M, N)))
    ((_8,M//8),N):((_1,8*N),_8)
    """
    try:
        return _plain_layout(offset, indices, extents)
    except RangeError:
        if (swizzled := swizzled_layout(offset, indices, extents)) is None:
            raise
        return swizzled


def _plain_layout(offset: Leaf, indices: tuple[Leaf, ...], extents: tuple[Leaf, ...]) -> Layout | ComposedLayout:
    """The layout of an offset that is a sum of modes as it stands."""
    rest, axes = poly_of(offset), []
    for at, extent in zip(indices, extents):
        axis, rest = _axis(rest, at, extent, indices)
        axes.append(axis)
    _require_independent(rest, None, indices)
    found = Digits(wrap(rest), tuple(axes)).layout()
    again = found(*indices)
    if poly_of(again) != poly_of(offset):  # the proof of what was read
        raise Unproven(f"it is not known whether {again} of {found} is {offset}", f"{again} == {offset}", _FIX)
    return found


_FIX = "declare facts of its sizes that simplify it, or give them numbers, in values= and shape="


def _require_independent(p: Poly, of: Leaf | None, indices: tuple[Leaf, ...]) -> None:
    """Require that a stride, or what is left of an offset, has no coordinate in it."""
    if left := [a for a in p.atoms if a.scope & symbols_of(indices)]:
        what = wrap(Poly({m: c for m, c in p.terms.items() if left[0] in m}))
        times = f"{of} times " if of is not None else ""
        raise RangeError(f"no layout is known of {times}{what}", "a sum of c//p*d, of each coordinate c alone", _FIX)


def _axis(p: Poly, at: Leaf, extent: Leaf, indices: tuple[Leaf, ...]) -> tuple[tuple[tuple[Any, Any], ...], Poly]:
    """The modes of a coordinate, and what else an offset has."""
    if not isinstance(at, SymInt):
        return ((extent, 0),), p
    own = symbols_of(indices)
    divisions = [a for a in p.atoms if a.kind == "//" and a.args[0] == at.poly and not own & a.args[1].scope]
    places = {ONE: at.poly.atoms[0], **{a.args[1]: a for a in divisions}}
    order = _ordered(list(places), at)
    modes, stride, last = [], Poly({}), ONE
    for place, following in zip(order, [*order[1:], None]):
        coefficient, p = split(p, places[place])
        _require_independent(coefficient, at, indices)
        stride = coefficient + stride * floor_div(place, last)
        size = poly_of(extent) if following is None else following
        if not require_condition(Condition("divides", place, size), f"the modes of {at}"):
            what = f"{wrap(place)} does not divide {wrap(size)}, the extent of {at}"
            raise RangeError(what, "a divisor of the extent", f"give an extent that {wrap(place)} divides")
        modes.append((wrap(floor_div(size, place)), wrap(stride)))
        last = place
    return tuple(modes), p


def _ordered(places: list[Poly], at: Leaf) -> list[Poly]:
    """Places in the order in which each divides the next."""
    order: list[Poly] = []
    while places:
        first = next((p for p in places if all(q is p or proved_divides(p, q) for q in places)), None)
        if first is None:
            what = f"{at} divided by {' and '.join(str(wrap(p)) for p in places)[:200]}"
            raise RangeError(f"no layout is known of {what}", "divisors of which one divides the other, proved", _FIX)
        order.append(first)
        places = [p for p in places if p is not first]
    return order
