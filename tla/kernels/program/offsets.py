"""The offsets of a tensor's elements, taken apart: what has symbols, and is computed once, and a number
for each element.

Of swizzled memory what is added in whole periods of the swizzle passes it unchanged, and so does what is less than a
power of two, of its base at most, that the rest is a multiple of: only the rest goes through it. Two elements are so at
one start and two numbers, and nobody swizzles twice.

Source: CuTe include/cute/swizzle.hpp; the period is that of `Swizzle.period`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ...core.composed import ComposedLayout
from ...core.int_tuple import leaves, size
from ...core.ints import Leaf, is_int, known
from ...core.layout import Layout
from ...core.leaf_arithmetic import add, mul
from ...core.questions import divides
from ...core.swizzle import Swizzle
from ...symbolic import SymInt
from ...symbolic.facts import symbols_in
from ...symbolic.poly import poly
from ...symbolic.symint import poly_of, wrap
from ...tensors.tensor import Tensor


class Offsets:
    """The offsets of a tensor's elements in the order of their index: `parts`, of each (terms with symbols,
    a number), a sum.

    >>> from tla import _, MakeTensor, parse
    >>> from tla.kernels.program.offsets import Offsets
    >>> from tla.symbolic import index
    >>> t = index("t", 8)
    >>> Offsets(MakeTensor(None, parse("(_8,(_2,_2)):(_1,(_8,_64))"))[t, _]).parts[-1]
    ((index('t', below=8),), 72)
    """

    def __init__(self, t: Tensor) -> None:
        self.tensor = t
        layout, count = t.layout, int(size(t.shape))
        number, start = _parted(t.offset)
        if isinstance(layout, Layout):
            self.parts = [((*start, *terms), number + n) for terms, n in _of_layout(layout, count)]
        elif isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout) and is_int(layout.offset):
            self.parts = [((*start, *terms), number + n) for terms, n in _swizzled(layout, count)]
        else:
            self.parts = [((add(t.offset, layout(i)),), 0) for i in range(count)]

    def counted_apart(self, counters: Collection[str]) -> dict[str, int]:
        """Take out what counters of loops add to all of each thread's offsets: each with its factor.

        None is taken out where the rest is the same for all threads.
        """
        apart = [[_counted(x, counters) for x in terms] for terms, _number in self.parts]
        sums = [_sum(added for _left, added in found) for found in apart]
        symbols = {str(n) for found in apart for left, _added in found for n in symbols_in(poly_of(left))}
        if not sums[0] or "tid" not in symbols or any(found != sums[0] for found in sums):
            return {}
        for i, (found, (_terms, number)) in enumerate(zip(apart, self.parts)):
            parted = [_parted(left) for left, _added in found]
            symbolic = tuple(x for _n, terms in parted for x in terms)
            self.parts[i] = symbolic, number + sum(n for n, _terms in parted)
        return sums[0]

    @property
    def wanted(self) -> list[Leaf]:
        """The terms with symbols."""
        return [x for terms, _number in self.parts for x in terms]


def names_of(*integers: Any) -> set[str]:
    """The names of the symbols in integers."""
    return {str(n) for x in integers if isinstance(x, SymInt) for n in x.symbols}


#: Terms with symbols, and a number: a sum.
_Part = tuple[tuple[Leaf, ...], int]


def _parted(x: Any) -> tuple[int, tuple[Leaf, ...]]:
    value = known(x)
    return (0, (x,)) if value is None else (value, ())


def _counted(x: Leaf, counters: Collection[str]) -> tuple[Leaf, dict[str, int]]:
    """A term without counters times numbers, and these."""
    terms = [*poly_of(x)]
    added = {str(m[0]): c for m, c in terms if len(m) == 1 and str(m[0]) in counters}
    kept = poly((m, c) for m, c in terms if len(m) != 1 or str(m[0]) not in added)
    return (wrap(kept) if added else x), added


def _sum(added: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for found in added:
        for name, factor in found.items():
            total[name] = total.get(name, 0) + factor
    return total


def _of_layout(layout: Layout, count: int) -> list[_Part]:
    modes = [*zip(leaves(layout.shape), leaves(layout.stride))]
    parts: list[_Part] = []
    for i in range(count):
        number, terms, rest = 0, [], i
        for n, d in modes:
            digit, rest = rest % int(n), rest // int(n)
            if known(d) is not None:
                number += digit * int(d)
            elif digit:
                terms.append(mul(d, digit))
        parts.append((tuple(terms), number))
    return parts


def _swizzled(layout: ComposedLayout, count: int) -> list[_Part]:
    swizzle, base = layout.outer, 1 << layout.outer.base
    high, low, constant = _by_period(layout.offset, swizzle.period)
    unit = next(n for k in range(layout.outer.base + 1) if divides(n := base >> k, low) is True)
    through: dict[int, Leaf] = {}
    parts: list[_Part] = []
    for terms, n in _of_layout(layout.inner, count):
        if terms:  # strides with symbols: all of it
            whole = add(layout.offset, n)
            for x in terms:
                whole = add(whole, x)
            parts.append(((swizzle(whole),), 0))
            continue
        beside = (constant + n) % unit
        inside = (constant + n - beside) % swizzle.period
        if inside not in through:
            through[inside] = swizzle(add(low, inside))
        number, start = _parted(through[inside])
        parts.append(((*start, *_parted(high)[1]), number + constant + n - inside))
    return parts


def _by_period(x: Any, period: int) -> tuple[Leaf, Leaf, int]:
    """An integer as the sum of whole periods, terms with factors from 0 to less than a period, and a number."""
    terms = [*poly_of(x)]
    constant = sum(c for m, c in terms if not m)
    high = poly((m, c - c % period) for m, c in terms if m and c - c % period)
    low = poly((m, c % period) for m, c in terms if m and c % period)
    return wrap(high), wrap(low), constant
