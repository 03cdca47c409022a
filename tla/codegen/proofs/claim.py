"""The claims that are proved of emitted text, from the parts of a layout alone: nothing of the engine that wrote the
text takes part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...core.basis import ScaledBasis, as_coordinate
from ...core.composed import ComposedLayout, innermost
from ...core.int_tuple import leaves, modes_of
from ...core.layout import Layout
from ...symbolic import Condition
from ...symbolic.facts import notation, whole
from ...symbolic.poly import Symbol
from ...symbolic.symint import poly_of
from .reading import Function, Tree, read_expression


class Proof(NamedTuple):
    """The outcome of a proof.

    proved    True; False where a coordinate refutes it; None where it was not decided
    how       the domain of the proof, or the reason why there is none
    witness   coordinates and sizes, by name, that refute the claim; empty if it was not refuted
    text      the emitted function, or the condition

    >>> Proof(False, "refuted: over integers", {"i": 3}, "int offset(int i) { return i; }").witness
    {'i': 3}
    """

    proved: bool | None
    how: str
    witness: dict[str, int]
    text: str


class Claim:
    """The claim that a function is what `definition` says, at every coordinate inside of a shape.

    function   the text that was read
    bits       of the integers that the text computes with; None where they have no end, and quotients are rounded down
    extents    of each mode, those of its leaves
    given      the leaves whose facts hold
    trees      what the definition is made of besides the extents
    has_bits   whether the definition has an exclusive or
    """

    has_bits = False

    def __init__(
        self, function: Function, bits: int | None, shape: Any, given: Iterable[Any], trees: Iterable[Tree] = ()
    ) -> None:
        self.function, self.bits, self.trees = function, bits, [*trees]
        self.extents = [[*map(leaf_tree, leaves(m))] for m in modes_of(shape)]
        symbols = {n for x in given if hasattr(x, "symbols") for n in poly_of(x).scope}
        self.facts = [*function.requires, *facts(symbols)]
        self.symbolic = bool(symbols) or any(True for mode in self.extents for t in mode for _n in _names(t))

    def definition(self, values: Any, digits: list[list[Any]]) -> Any:
        """The value that the function is to return, as a term, by the digits of the coordinates."""
        raise NotImplementedError

    def names(self) -> Iterator[str]:
        """The names in it that are no coordinates: the function may have no need of them."""
        extents = (t for mode in self.extents for t in mode)
        sides = (t for _relation, a, b in self.facts for t in (a, b))
        yield from (n for t in (*extents, *sides, *self.trees) for n in _names(t))


class OffsetClaim(Claim):
    """The claim that a function computes a layout's offset: digits times strides, then what is composed with it."""

    def __init__(self, layout: Any, function: Function, bits: int | None) -> None:
        inner, starts = innermost(layout), [*_starts(layout)]
        self.layout, self.strides = layout, [[*map(leaf_tree, leaves(m))] for m in modes_of(inner.stride)]
        trees = [*(t for mode in self.strides for t in mode), *map(leaf_tree, starts)]
        super().__init__(function, bits, inner.shape, [*leaves((inner.shape, inner.stride)), *starts], trees)
        self.has_bits = layout is not inner

    def definition(self, values: Any, digits: list[list[Any]]) -> Any:
        pairs = [(d, values.value(t)) for mode, strides in zip(digits, self.strides) for d, t in zip(mode, strides)]
        return self._around(self.layout, values, sum((d * t for d, t in pairs), values.number(0)))

    def _around(self, layout: Any, values: Any, offset: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return offset
        inside = self._around(layout.inner, values, offset)
        return values.through(layout.outer, values.value(leaf_tree(layout.offset)) + inside)


class GuardClaim(Claim):
    """The claim that a function says whether an element is valid: each index of it from 0 on, and below a bound.

    place   a layout whose values are the indices, as coordinates; a shape, where they are the coordinates themselves
    start   what is added to them
    least   whether they are asked to be 0 or more too
    """

    def __init__(
        self, place: Any, start: Any, bounds: tuple[Any, ...], least: bool, function: Function, bits: int | None
    ) -> None:
        self.strides = tuple(leaves(place.stride)) if isinstance(place, Layout) else None
        shape = place.shape if isinstance(place, Layout) else place
        start = tuple(as_coordinate(start)) + (0,) * len(bounds)
        steps = [t.value if isinstance(t, ScaledBasis) else t for t in self.strides or ()]
        self.start = [*map(leaf_tree, start)]
        self.bounds = [f"valid_{k}" if type(n) is int else leaf_tree(n) for k, n in enumerate(bounds)]
        moved = [leaf_tree(t.value) for t in self.strides or () if isinstance(t, ScaledBasis)]
        given = [*leaves(shape), *steps, *start, *bounds]
        super().__init__(function, bits, shape, given, [*self.start, *self.bounds, *moved])
        self.least = least

    def definition(self, values: Any, digits: list[list[Any]]) -> Any:
        tests = []
        for k, bound in enumerate(self.bounds):
            place = values.value(self.start[k]) + self._index(k, values, digits)
            tests += [place >= 0] if self.least else []
            tests.append(place < values.value(bound))
        return values.z3.And(*tests)

    def _index(self, k: int, values: Any, digits: list[list[Any]]) -> Any:
        if self.strides is None:
            return values.chained(digits[k], [values.value(n) for n in self.extents[k]])
        total = values.number(0)
        for d, t in zip((d for mode in digits for d in mode), self.strides):
            if isinstance(t, ScaledBasis) and len(t.path) > 1:
                raise KeyError(f"{t}, a coordinate of a coordinate,")
            if isinstance(t, ScaledBasis) and t.path == (k,):
                total = total + d * values.value(leaf_tree(t.value))
        return total


class ConditionClaim(Claim):
    """The claim that a condition holds for all sizes that its facts allow."""

    def __init__(self, condition: Condition, function: Function) -> None:
        super().__init__(function, None, (), ())
        self.facts = [*facts(condition.a.scope | condition.b.scope)]

    def definition(self, values: Any, digits: list[list[Any]]) -> Any:
        return values.z3.BoolVal(True)


def facts(symbols: Iterable[Symbol]) -> Iterator[tuple[str, Tree, Tree]]:
    """The facts of symbols as relations of trees, with <= and "divides"."""
    for n in sorted(symbols, key=lambda n: n.name):
        if n.unit > 1:
            yield "divides", n.unit, n.name
        for sides in [(p.scale(n.unit), whole(n)) for p in n.lowers] + [(whole(n), p.scale(n.unit)) for p in n.uppers]:
            low, high = (read_expression(notation(p)) for p in sides)
            yield "<=", low, high


def leaf_tree(n: Any) -> Tree:
    """A leaf of a layout: a number, or the text of a symbolic integer, read."""
    return read_expression(str(n)) if hasattr(n, "symbols") else int(n)


def _names(t: Tree) -> Iterator[str]:
    if isinstance(t, str):
        yield t
    elif isinstance(t, tuple):
        for x in t[1:]:
            yield from _names(x)


def _starts(layout: Any) -> Iterator[Any]:
    while isinstance(layout, ComposedLayout):
        yield layout.offset
        layout = layout.inner
