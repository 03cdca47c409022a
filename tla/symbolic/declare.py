"""Sizes and indices, declared with what is known of them."""

from __future__ import annotations

from typing import Any

from ..core.errors import LeafTypeError, RangeError
from ..core.ints import IntLike, Leaf, leaf
from .facts import require_name, require_one_meaning
from .poly import ONE, Poly, number, symbol
from .proofs import greatest, least
from .rules import floor_div
from .symint import SymInt, of_symbol, poly_of, wrap


def dim(name: str, *, multiple_of: int = 1, at_least: object = 1, at_most: object = None) -> SymInt:
    """A size that is not known, with what is known of it.

    name          letters, digits and underscores, a letter first
    multiple_of   a positive number that divides it
    at_least      0 or more; 1 by default: a size that may be 0 is declared at_least=0
    at_most       a number or an expression; no limit by default
    Raises        RangeError for facts that contradict each other, LeafTypeError for what is no integer

    >>> from tla import dim
    >>> N = dim("N", multiple_of=16)
    >>> print(N // 16 * 16, N % 8, N // 32)
    N 0 N//32

    Source: docs/symbolic.md.
    """
    unit = _known("multiple_of", multiple_of, 1)
    low = poly_of(at_least)
    if (least(low) or 0) < 0 or least(low) is None:
        what = f"dim({name!r}): at_least={at_least}"
        raise RangeError(what, "0 or more: it is a size", "use index for other integers, or a difference")
    high = None if at_most is None else poly_of(at_most)
    return _declared(name, unit, low, high, f"dim({name!r})")


class _OneSize(tuple[Any, ...]):
    """The size of one name that `dims` gives: a tuple, and refused as the number that `dim` gives."""

    __slots__ = ()

    def _refuse(self, *_operands: object) -> Any:
        name = str(self[0])
        raise LeafTypeError(f"dims({name!r}) as a number: it is a tuple of one size", "a size", f"write dim({name!r})")

    __add__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = (
        __truediv__
    ) = _refuse
    __pow__ = __neg__ = __abs__ = __index__ = __int__ = __lshift__ = __rshift__ = __xor__ = __and__ = __or__ = _refuse

    def __lt__(self, other: object) -> bool:
        return super().__lt__(other) if isinstance(other, tuple) else self._refuse()

    def __le__(self, other: object) -> bool:
        return super().__le__(other) if isinstance(other, tuple) else self._refuse()

    def __gt__(self, other: object) -> bool:
        return super().__gt__(other) if isinstance(other, tuple) else self._refuse()

    def __ge__(self, other: object) -> bool:
        return super().__ge__(other) if isinstance(other, tuple) else self._refuse()

    def __radd__(self, other: object) -> tuple[Leaf, ...]:
        return (*other, *self) if isinstance(other, tuple) else self._refuse()


def dims(names: str, **facts: Any) -> tuple[SymInt, ...]:
    """Sizes of several names, all with the same facts: see dim.

    >>> from tla import dims
    >>> M, N, K = dims("M N K", multiple_of=128)
    >>> print(M // 128 * 128 * N, K % 64)
    M*N 0

    Of one name too it is a tuple, `N, = dims("N")`: to compute with it is a LeafTypeError, for `dim("N")` is the size.
    Source: docs/symbolic.md.
    """
    if not isinstance(names, str):
        raise LeafTypeError(f"dims({names!r})", "names in one text", "write dims('M N K')")
    sizes = tuple(dim(name, **facts) for name in names.replace(",", " ").split())
    return _OneSize(sizes) if len(sizes) == 1 else sizes


def index(name: str, below: object, *, at_least: object = 0, multiple_of: int = 1) -> SymInt:
    """An index that is not known: at_least <= i < below.

    below      a number or an expression: an index of a mode has its extent
    at_least   the smallest value, 0 by default; it may be negative

    Raises RangeError where there is no such integer, LeafTypeError for what is no integer.

    >>> from tla import dims, index
    >>> M, N = dims("M N")
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> print((i*N + j) // N, (i*N + j) % N)
    i j

    Source: docs/symbolic.md.
    """
    unit = _known("multiple_of", multiple_of, 1)
    return _declared(name, unit, poly_of(at_least), poly_of(below) - ONE, f"index({name!r})")


def _known(what: str, n: IntLike, smallest: int) -> int:
    n = leaf(n)
    if not isinstance(n, int) or n < smallest:
        raise RangeError(f"{what}={n}", f"a number of {smallest} or more", "leave it out if nothing is known")
    return int(n)


def _declared(name: str, unit: int, low: Poly, high: Poly | None, what: str) -> SymInt:
    require_name(name)
    lowest = -floor_div(-low, number(unit))
    highest = None if high is None else floor_div(high, number(unit))
    if highest is not None and (room := greatest(highest - lowest)) is not None and room < 0:
        given = f"{wrap(low)} <= {name} <= {wrap(high or low)}" + (f", a multiple of {unit}" if unit > 1 else "")
        expected = "facts that do not contradict each other"
        raise RangeError(f"{what}: no integer has {given}", expected, "lower at_least, or raise at_most")
    n = symbol(name, unit, (lowest,), () if highest is None else (highest,))
    require_one_meaning(n.scope)
    return of_symbol(n)


def unnamed(name: str, low: int | None) -> SymInt:
    """A symbol of another package: an integer with no facts but perhaps a smallest value."""
    require_name(name)
    return of_symbol(symbol(name, 1, () if low is None else (number(low),), ()))


def unknown(name: str, divisor: int, extent: bool) -> SymInt:
    """A size that a print of others does not tell: an extent, 0 or more, or a stride, which may be anything."""
    if extent:
        return dim(name, multiple_of=divisor, at_least=0)
    return index(name, 2**62, at_least=-(2**62), multiple_of=divisor)
