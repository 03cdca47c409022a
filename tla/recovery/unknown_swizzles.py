"""The swizzled layout of an index expression whose sizes are names: swizzles are found at some sizes, and
proved at all.

At two choices of numbers for the names the offsets are tables, and a swizzle of the layout is one of both. Undone, it
leaves a sum of one function for each coordinate: the stride of a mode is the undone offset at its place, less that of
the first coordinate. Places are the divisors that the expression has, and the powers of two up to them, for a swizzle
cuts modes at these. Nothing rests on the tables: what is found has the normal form of the expression.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.arrays import as_int64
from ..core.errors import RangeError
from ..core.ints import Leaf
from ..core.swizzle import Swizzle
from ..symbolic import SymInt, index
from ..symbolic.conditions import proved_divides
from ..symbolic.evaluate import array_of, folded
from ..symbolic.poly import Atom, Poly, Symbol, number, one_of
from ..symbolic.rules import floor_div
from ..symbolic.symint import of_node, poly_of, wrap
from .digits import Digits, digits, largest, least
from .swizzles import MAX_ROWS, chain, likely
from .unknown_cases import Cases, cases, remainders

if TYPE_CHECKING:
    from ..core.composed import ComposedLayout
    from ..core.layout import Layout
    from .digits import Table

#: Numbers for the names of extents, and for other names: the first are powers of two, so that a chain is
#: linear over bits.
_NUMBERS = ((4, 512), (3, 72), (2, 256))
#: Tables of more offsets are not made.
_MOST = 1 << 18
#: So many swizzles are tried on the normal form.
_TRIED = 24
#: So many remainders of coordinates are told apart in a proof.
_CASES = 1 << 9


Swizzles = tuple[Swizzle, ...]


def swizzled_layout(
    offset: Leaf, indices: tuple[Leaf, ...], extents: tuple[Leaf, ...]
) -> Layout | ComposedLayout | None:
    """The swizzled layout that has the normal form of an offset; None where none is found.

    >>> from tla import dims, index
    >>> M, N = dims("M N", multiple_of=8)
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> print(swizzled_layout((i // 8 * N + j // 8 * 8 + i % 8) * 8 + ((j % 8) ^ (i % 8)), (i, j), (M, N)))
    Sw<3,0,3> o _0 o ((_8,M//8),(_8,N//8)):((_8,8*N),(_1,_64))
    """
    p = poly_of(offset)
    undone = _Undone(p, tuple(map(poly_of, indices)), tuple(map(poly_of, extents)))
    for swizzles in itertools.islice(_candidates(p, indices, extents), _TRIED):
        with contextlib.suppress(RangeError):  # for an expression that grows too large
            found = undone.digits(swizzles)
            layout: Any = found and found.layout(swizzles)
            if found and undone.equal(layout, swizzles, found.layout()):
                return layout  # type: ignore[no-any-return]
    return None


# ---------------------------------------------------------------------------------------------- swizzles at some sizes


def _candidates(p: Poly, indices: tuple[Leaf, ...], extents: tuple[Leaf, ...]) -> Iterator[Swizzles]:
    """The swizzles that undone leave a sum of modes at several sizes, the fewest bits first; then a chain."""
    tables = [t for numbers in _NUMBERS if (t := _table(p, indices, extents, numbers)) is not None]
    if not tables or any(least(t) < 0 or largest(t).bit_length() > MAX_ROWS for t in tables):
        return
    rows = max(largest(t).bit_length() for t in tables)
    if all(isinstance(digits(t), Digits) for t in tables):
        yield ()
    for swizzle in likely(tables[0], rows):
        if all(isinstance(digits(swizzle(t)), Digits) for t in tables):
            yield (swizzle,)
    one = _table(p, indices, extents, (1, 512))  # of a tile, to which an offset does not carry
    for table in (tables[0], *([one] if one is not None else [])):
        if (found := chain(table, rows)) and len(found[0]) > 1:
            yield found[0]


def _table(p: Poly, indices: tuple[Leaf, ...], extents: tuple[Leaf, ...], numbers: tuple[int, int]) -> Table | None:
    """The offsets at some sizes that meet their facts; None where there are too many."""
    import numpy as np

    own = symbols_of(indices)
    within = frozenset().union(*(poly_of(n).scope for n in extents)) - own
    values: dict[str, Any] = {}
    for symbol in sorted(within | p.scope - own, key=lambda n: n.place):
        given = lambda n: values[n.name] // n.unit  # noqa: E731
        least_, most = ([int(folded(b, given, of_node)) for b in bounds] for bounds in (symbol.lowers, symbol.uppers))
        value = max([numbers[symbol not in within], *least_])
        values[symbol.name] = symbol.unit * min([value, *most])
    shape = tuple(int(array_of(poly_of(n), values)) for n in extents)
    if math.prod(shape) > _MOST:
        return None
    axes = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij", sparse=True)
    values |= {_symbols(poly_of(i))[0].name: axis for i, axis in zip(indices, axes) if isinstance(i, SymInt)}
    return as_int64(np.broadcast_to(array_of(p, values), shape))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- modes at all sizes


class _Undone(NamedTuple):
    """An offset, its coordinates and their extents: what it is where swizzles are undone."""

    offset: Poly
    indices: tuple[Poly, ...]
    extents: tuple[Poly, ...]

    def digits(self, swizzles: Swizzles) -> Digits | None:
        """The modes whose swizzled sum the offset may be; None where a value does not come undone."""
        start = self.at({}, swizzles)
        axes = [self.axis(k, swizzles, start) for k in range(len(self.indices))] if start is not None else [None]
        return Digits(wrap(start), tuple(axis for axis in axes if axis)) if start is not None and all(axes) else None

    def axis(self, k: int, swizzles: Swizzles, start: Poly) -> tuple[tuple[Leaf, Leaf], ...] | None:
        """The modes of a coordinate, coalesced."""
        extent = self.extents[k]
        if self.indices[k].const is not None:
            return ((wrap(extent), 0),)
        (own,) = _symbols(self.indices[k])
        modes: list[tuple[Poly, Poly]] = []
        for place in self.places(k):
            value = self.at({own: place}, swizzles)
            if value is None:
                return None
            stride = value - start
            if modes and not (proved_divides(modes[-1][0], place) and proved_divides(place, extent)):
                continue
            if not modes or stride != floor_div(place, modes[-1][0]) * modes[-1][1]:
                modes.append((place, stride))
        ends = [*(place for place, _stride in modes[1:]), extent]
        return tuple((wrap(floor_div(end, place)), wrap(stride)) for (place, stride), end in zip(modes, ends))

    def places(self, k: int) -> list[Poly]:
        """The places at which modes of a coordinate may begin, each a multiple of that before it where
        this is known."""
        own = symbols_of(self.indices)
        divisions = [a.args for a in _atoms(self.offset) if a.kind == "//" and not own & a.args[1].scope]
        found = {d for x, d in divisions if x == self.indices[k]}
        largest_ = max((int(d.const) for _x, d in divisions if d.const is not None), default=1)
        found |= {number(1 << bit) for bit in range(largest_.bit_length())}
        return sorted(found, key=lambda d: (d.const is None, d.const or 0, sum(map(len, d.terms)), d.key))

    def equal(self, layout: Any, swizzles: Swizzles, inner: Any) -> bool:
        """Whether a layout's offset is proved equal: as a normal form, or as one of i = unit*a + r for each r
        below the unit. The normal form of a chain takes long: there it comes last."""
        if len(swizzles) < 2 and self.equal_as_one(layout):
            return True
        by_cases = any(self.equal_by_cases(swizzles, inner, units) for units in self.units())
        return by_cases or (len(swizzles) >= 2 and self.equal_as_one(layout))

    def equal_as_one(self, layout: Any) -> bool:
        """Whether a layout's offset has the normal form."""
        with contextlib.suppress(RangeError):  # for an expression that grows too large
            return poly_of(layout(*map(wrap, self.indices))) == self.offset
        return False

    def units(self) -> Iterator[list[int]]:
        """For each coordinate a power of two that divides its extent: at most the largest divisor, then the largest
        that is tried."""
        largest_ = [max(int(d.const) for d in self.places(k) if d.const is not None) for k in range(len(self.indices))]
        for most in (largest_, [_CASES] * len(largest_)):
            units = [
                max(
                    1 << bit
                    for bit in range(n.bit_length())
                    if not bit or (i.const is None and proved_divides(number(1 << bit), extent))
                )
                for n, i, extent in zip(most, self.indices, self.extents)
            ]
            if math.prod(units) <= _CASES:
                yield units

    def equal_by_cases(self, swizzles: Swizzles, inner: Any, units: list[int]) -> bool:
        """Whether a swizzled layout has the offset for each remainder of coordinates by these units."""
        taken, given = {n.name for n in self.offset.scope}, dict[Atom, Cases]()
        for axis, (i, unit, extent) in enumerate(zip(self.indices, units, self.extents)):
            name = next(name for n in itertools.count() if (name := f"a{n}") not in taken)
            taken.add(name)
            whole = unit * index(name, below=wrap(floor_div(extent, number(unit))))
            if i.const is None:
                given[_symbols(i)[0]] = remainders(poly_of(whole), unit, axis, len(units))
        found = cases(poly_of(inner(*map(wrap, self.indices))), given)
        for swizzle in reversed(swizzles):
            found = found.swizzled(swizzle)
        return found.same(cases(self.offset, given))

    def at(self, where: Mapping[Symbol, Poly], swizzles: Swizzles) -> Poly | None:
        """The undone offset at a coordinate, 0 where nothing is said: a value that the swizzles take to
        the offset there."""
        given = {n: wrap(where.get(n, number(0))) for n in symbols_of(self.indices)}
        value = _computed(self.offset, given)
        undone = _through(swizzles, value)
        if not any(a.kind == "^" for a in _atoms(poly_of(undone))):
            return poly_of(undone)
        for other in _without_xor(poly_of(value)):
            if poly_of(_through(swizzles[::-1], wrap(other))) == poly_of(value):
                return other
        return None


def _through(swizzles: Swizzles, value: Leaf) -> Leaf:
    for swizzle in swizzles:
        value = swizzle(value)
    return value


def _without_xor(p: Poly) -> Iterator[Poly]:
    """A size with one operand of each xor in place of it."""
    found = [a for a in p.atoms if a.kind == "^"]
    for chosen in itertools.islice(itertools.product(*(a.args for a in found)), 16):
        yield poly_of(_computed(p, dict(zip(found, map(wrap, chosen)))))


def _computed(p: Poly, given: Mapping[Any, Leaf]) -> Leaf:
    """A polynomial with values for some of its atoms."""
    seen: dict[Atom, Any] = {**given}
    return folded(p, lambda n: wrap(one_of(n)), of_node, seen)


def symbols_of(indices: tuple[Any, ...]) -> frozenset[Symbol]:
    """The symbols of coordinates, not those of their bounds."""
    return frozenset(n for i in indices for n in _symbols(i if isinstance(i, Poly) else poly_of(i)))


def _symbols(p: Poly) -> list[Symbol]:
    return [a for a in p.atoms if isinstance(a, Symbol)]


def _atoms(p: Poly) -> set[Atom]:
    """The atoms of a polynomial, and of what is inside of them."""
    found: set[Atom] = set()
    todo = [*p.atoms]
    while todo:
        a = todo.pop()
        if a not in found:
            found.add(a)
            todo += [b for x in a.args for b in x.atoms]
    return found
