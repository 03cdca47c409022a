"""An expression in many cases at once: one for each remainder of its coordinates by a tile.

In each case a value is a polynomial without a number, and a number. The polynomials are few, and operations on them
are done once for each that occur together; the numbers are arrays.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core.errors import RangeError
from ..core.swizzle import Swizzle
from ..symbolic.evaluate import folded
from ..symbolic.poly import ZERO, Atom, Poly, number, one_of
from ..symbolic.rules import floor_div, node

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

#: Numbers past this are refused, so that sums of two fit in 64 bits.
_MOST = 1 << 61


def _require_small(*numbers: int) -> None:
    if any(abs(n) > _MOST for n in numbers):
        raise RangeError("numbers of more than 61 bits", "smaller ones", "give a smaller tile")


def _ends(numbers: Numbers) -> tuple[int, int]:
    """The least and the largest of some numbers."""
    import numpy as np

    return int(np.min(numbers)), int(np.max(numbers))


class Cases:
    """The values of an expression: forms[which[k]] + numbers[k] in case k.

    forms           polynomials without a number
    which, numbers  arrays with an axis for each coordinate, of extent 1 where it does not matter
    """

    __slots__ = ("forms", "numbers", "which")

    def __init__(self, forms: tuple[Poly, ...], which: Numbers, numbers: Numbers) -> None:
        _require_small(*_ends(numbers))
        self.forms, self.which, self.numbers = forms, which, numbers

    def __add__(self, other: Cases | int) -> Cases:
        other = _cases(other)
        return _each(Poly.__add__, self.without_numbers(), other.without_numbers()).plus(self.numbers + other.numbers)

    def __mul__(self, other: Cases | int) -> Cases:
        if isinstance(other, Cases):
            return _each(Poly.__mul__, self, other)
        _require_small(*(other * n for n in _ends(self.numbers)))
        return Cases(tuple(form.scale(other) for form in self.forms), self.which, self.numbers * other)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Cases | int) -> Cases:
        other = _cases(other)
        d = int(other.numbers.item()) if other.forms == (ZERO,) and other.numbers.size == 1 else 0
        if d <= 0:
            return _each(floor_div, self, other)
        # What divides d and all forms divides no remainder: it rounds down to a multiple, for d above 0.
        common = math.gcd(d, self.common)
        rest = self.numbers % d // common * common
        return _each(floor_div, Cases(self.forms, self.which, rest), other).plus(self.numbers // d)

    def __xor__(self, other: Cases) -> Cases:
        """The xor: of the bits below all those of the forms, that of the numbers."""
        common = math.gcd(self.common, other.common, _MOST)
        low, other_low = self.numbers % common, other.numbers % common
        high = _each(functools.partial(node, "^"), self.plus(-low), other.plus(-other_low))
        return high.plus(low ^ other_low)

    def swizzled(self, swizzle: Swizzle) -> Cases:
        """The value of a swizzle of it."""
        low, high = swizzle.base + max(0, swizzle.shift), swizzle.base - min(0, swizzle.shift)
        above = self // (1 << low)
        read = above + above // (1 << swizzle.bits) * -(1 << swizzle.bits)
        return self ^ read * (1 << high)

    def same(self, other: Cases) -> bool:
        """Whether two expressions have one value in each case."""
        pairs = self.which * len(other.forms) + other.which
        found = {divmod(int(pair), len(other.forms)) for pair in {*pairs.ravel().tolist()}}
        return bool((self.numbers == other.numbers).all()) and all(self.forms[k] == other.forms[m] for k, m in found)

    def plus(self, numbers: Numbers) -> Cases:
        """The value with numbers added."""
        return Cases(self.forms, self.which, self.numbers + numbers)

    def without_numbers(self) -> Cases:
        return Cases(self.forms, self.which, self.numbers[(slice(1),) * self.numbers.ndim] * 0)

    @property
    def common(self) -> int:
        """The largest number that divides the forms, whatever their symbols are; 0 where they are 0."""
        return math.gcd(*(c for form in self.forms for c in form.terms.values()))


#: Operations of the normal form that compute with numbers by themselves.
_NODES: dict[str, Callable[[Cases, Cases], Cases]] = {"//": operator.floordiv, "^": operator.xor}


def cases(p: Poly, given: Mapping[Atom, Cases]) -> Cases:
    """The values of an expression, with those of some of its symbols.

    >>> from tla import dims
    >>> from tla.symbolic.symint import poly_of
    >>> i, K = dims("i K")
    >>> found = cases(poly_of(i // 4 * K + i % 4), {poly_of(i).atoms[0]: remainders(poly_of(8 * i), 8, 0, 1)})
    >>> found.forms, found.which, found.numbers
    ((2*K*i, 1*K+2*K*i), array([0, 0, 0, 0, 1, 1, 1, 1]), array([0, 1, 2, 3, 0, 1, 2, 3]))
    """
    return _cases(folded(p, lambda n: _cases(one_of(n)), _node, {**given}))


def remainders(p: Poly, count: int, axis: int, axes: int) -> Cases:
    """The values p, p + 1, ... along an axis, of several."""
    import numpy as np

    numbers = np.arange(count).reshape([-1 if k == axis else 1 for k in range(axes)])
    return Cases((p,), np.zeros_like(numbers), numbers)


def _node(kind: str, *operands: Any) -> Cases:
    """The value of a node of the normal form."""
    operation = _NODES.get(kind) or functools.partial(_each, functools.partial(node, kind))
    return functools.reduce(operation, map(_cases, operands))


def _cases(x: Any) -> Cases:
    """A polynomial or a number in all cases."""
    import numpy as np

    if isinstance(x, Cases):
        return x
    return _gathered([x if isinstance(x, Poly) else number(x)], np.zeros(1, np.int64))


def _each(f: Callable[..., Poly], *operands: Cases) -> Cases:
    """The value of f, computed once for the operands that occur together."""
    import numpy as np

    columns = np.broadcast_arrays(*(column for x in operands for column in (x.which, x.numbers)))
    rows, where = np.unique(np.stack([c.ravel() for c in columns], axis=1), axis=0, return_inverse=True)
    given = [[x.forms[row[2 * k]] + number(row[2 * k + 1]) for k, x in enumerate(operands)] for row in rows.tolist()]
    return _gathered([f(*values) for values in given], where.reshape(columns[0].shape))


def _gathered(values: list[Poly], where: Numbers) -> Cases:
    """Values, each in the cases that say its place."""
    import numpy as np

    forms: dict[Poly, int] = {}
    numbers = [p.terms.get((), 0) for p in values]
    which = [forms.setdefault(p - number(n), len(forms)) for p, n in zip(values, numbers)]
    _require_small(*numbers)
    return Cases((*forms,), np.array(which, np.int64)[where], np.array(numbers, np.int64)[where])
