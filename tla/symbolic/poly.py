"""The normal form: polynomials with integer coefficients over atoms. An atom is a symbol, or a node on polynomials.

There is one kind of division: x % d is x - d*(x//d), so that what is split and merged again cancels by itself. How an
expression reads best is decided when it is shown (forms.py). Atoms are interned: equal ones are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from ..core.cache import plain_memo
from ..core.errors import RangeError

R = TypeVar("R")

#: An expression of more terms, or of more nodes, than this is refused.
MAX_TERMS, MAX_NODES = 1000, 10_000
#: Divisions inside of each other, deeper than this, are refused.
MAX_LEVEL = 60

Mono = tuple["Atom", ...]


class Atom:
    """A symbol or a division, of which polynomials are made: interned, in an order that does not depend on when
    it was made.

    kind    "name", "//", "min", "max", "^"; in forms also "%" and "part"
    args    polynomials, of all kinds but "name"
    level   how many atoms lie inside of each other, bounds of symbols included
    place   the level and the key: the order of atoms
    size    how many nodes its tree has
    scope   the symbols in it, and in the bounds of these
    """

    __slots__ = ("__weakref__", "args", "ends", "key", "kind", "level", "place", "sample", "scope", "size", "tree")

    kind: str
    args: tuple[Any, ...]
    key: str
    level: int
    place: tuple[int, str]
    size: int
    scope: frozenset[Symbol]
    tree: Any

    def __init__(self) -> None:
        self.tree = None  # what forms.shown makes, once it has
        self.ends: Any = None  # what proofs.ends finds, once it has
        self.sample: Any = ...  # what evaluate.sample finds, once it has

    def __repr__(self) -> str:
        return self.key

    def __reduce__(self) -> tuple[Any, ...]:
        return atom, (self.kind, *self.args)


#: The order of atoms, as the key that sorts them.
BY_PLACE = attrgetter("place")


class Symbol(Atom):
    """The symbol n of a size N that is `unit` times n: that `unit` divides N needs no proof.

    lowers, uppers   polynomials that n never falls below, and never exceeds
    """

    __slots__ = ("lowers", "name", "unit", "uppers")

    name: str
    unit: int
    lowers: tuple[Poly, ...]
    uppers: tuple[Poly, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return symbol, (self.name, self.unit, self.lowers, self.uppers)


#: All atoms that are in use, by what they are made of.
ATOMS: WeakValueDictionary[Any, Atom] = WeakValueDictionary()
_LOCK = RLock()


def interned(given: object, new: Atom) -> Atom:
    """The one atom that is made of these: `new`, unless another thread has just made it."""
    with _LOCK:
        found = ATOMS.get(given)
        if found is None:
            ATOMS[given] = found = new
        return found


def symbol(name: str, unit: int, lowers: tuple[Poly, ...], uppers: tuple[Poly, ...]) -> Symbol:
    """The symbol of a name and its facts."""
    given = (name, unit, lowers, uppers)
    found = ATOMS.get(given)
    if isinstance(found, Symbol):
        return found
    new = Symbol()
    new.kind, new.args, new.size = "name", (), 1
    new.name, new.unit, new.lowers, new.uppers = given
    new.key = name
    new.level = max((p.level + 1 for p in (*lowers, *uppers) if p.const is None), default=0)
    new.place = new.level, new.key
    new.scope = frozenset((new,)).union(*(p.scope for p in (*lowers, *uppers)))
    return interned(given, new)  # type: ignore[return-value]  # of four parts, a symbol


def atom(kind: str, *args: Poly) -> Atom:
    """The node of a kind on polynomials, as it stands: rules.py makes those that can become something simpler."""
    given = (kind, args)
    found = ATOMS.get(given)
    if found is not None:
        return found
    new = Atom()
    new.kind, new.args = kind, args
    new.key = f"{kind}({','.join(p.key for p in args)})"
    new.level = 1 + max([p.level for p in args])
    new.place = new.level, new.key
    new.size = 1 + sum([p.size for p in args])
    if new.size > MAX_NODES or new.level > MAX_LEVEL:
        raise too_large(new.size, new.level)
    new.scope = args[0].scope.union(*[p.scope for p in args[1:]])
    return interned(given, new)


def too_large(size: int, level: int = 0) -> RangeError:
    """The error for an expression that is past the limits."""
    what = f"divisions {level} deep" if level > MAX_LEVEL else f"an expression of {size} nodes"
    return RangeError(
        what, f"{MAX_NODES} nodes, {MAX_TERMS} terms and {MAX_LEVEL} levels at most", "name a part of it: dim('T')"
    )


def order(m: Mono) -> tuple[Any, ...]:
    """Monomials in the order of their levels, then of names; the constant is last."""
    if len(m) == 1:  # as most are
        return (False, m[0].level, [m[0].key])
    return (not m, max([a.level for a in m]) if m else 0, [a.key for a in m])


def by_order(term: tuple[Mono, int]) -> tuple[Any, ...]:
    """The order of terms, as the key that sorts them."""
    return order(term[0])


class once(Generic[R]):
    """A property that is worked out when it is first asked for: functools.cached_property without its lock, which takes
    longer than most of what is worked out here."""

    def __init__(self, f: Callable[[Any], R]) -> None:
        self.f, self.name, self.__doc__ = f, f.__name__, f.__doc__

    def __get__(self, p: Poly, _cls: object = None) -> R:
        value = self.f(p)
        setattr(p, self.name, value)
        return value


class Poly:
    """A polynomial: its terms are monomials (atoms in order, each as often as its power) and their
    coefficients, none 0."""

    terms: dict[Mono, int]
    least: Any = ...  # what proofs.least and greatest find, once they have
    greatest: Any = ...
    tree: Any = None  # what forms.best finds, once it has

    def __init__(self, terms: dict[Mono, int]) -> None:
        if len(terms) > MAX_TERMS:
            raise too_large(len(terms))
        self.terms = terms

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poly) and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    @once
    def _hash(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Poly, (self.terms,)

    def __repr__(self) -> str:
        return self.key

    @once
    def ordered(self) -> list[tuple[Mono, int]]:
        """The terms in an order that does not depend on how they came about."""
        return sorted(self.terms.items(), key=by_order) if len(self.terms) > 1 else [*self.terms.items()]

    @once
    def key(self) -> str:
        """A text that is another for every other polynomial of the same symbols."""
        return "+".join([f"{c}*{'*'.join([a.key for a in m])}" for m, c in self.ordered])

    @property
    def const(self) -> int | None:
        """Its value, if it is a number."""
        if len(self.terms) > 1:
            return None
        return self.terms.get(()) if self.terms else 0

    @once
    def atoms(self) -> tuple[Atom, ...]:
        """Its atoms, each once, in order."""
        found = {a for m in self.terms for a in m}
        return tuple(sorted(found, key=BY_PLACE)) if len(found) > 1 else tuple(found)

    @property
    def level(self) -> int:
        return self.atoms[-1].level if self.atoms else 0

    @once
    def is_unrelated(self) -> bool:
        """Whether it is a sum of atoms that share no symbol, each a number of times, with no symbol
        bounded by another."""
        bounded = [a for a in self.atoms if a.kind == "name" and len(a.scope) > 1]
        if bounded or max(map(len, self.terms), default=0) > 1:
            return False
        scopes = [a.scope for a in self.atoms]
        return len(scopes) < 2 or sum(map(len, scopes)) == len(frozenset().union(*scopes))

    @once
    def size(self) -> int:
        return len(self.terms) + sum([a.size for m in self.terms for a in m])

    @once
    def scope(self) -> frozenset[Symbol]:
        scopes = {a.scope for m in self.terms for a in m}
        return scopes.pop() if len(scopes) == 1 else frozenset().union(*scopes)

    def __iter__(self) -> Iterator[tuple[Mono, int]]:
        return iter(self.ordered)

    def __add__(self, other: Poly) -> Poly:
        if not other.terms or not self.terms:
            return self if self.terms else other
        return poly(other.terms.items(), self.terms)

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        out = dict(self.terms)
        for m, c in other.terms.items():
            if total := out.get(m, 0) - c:
                out[m] = total
            else:
                del out[m]
        return Poly(out)

    def __mul__(self, other: Poly) -> Poly:
        if len(other.terms) == 1:
            self, other = other, self
        if len(self.terms) == 1:
            ((m, c),) = self.terms.items()
            if not m:
                return other.scale(c)
            return Poly({times(m, n): c * d for n, d in other.terms.items()})
        if len(self.terms) * len(other.terms) > 10 * MAX_TERMS:
            raise too_large(len(self.terms) * len(other.terms))
        return poly((times(m, n), c * d) for m, c in self.terms.items() for n, d in other.terms.items())

    def scale(self, c: int) -> Poly:
        """It, c times."""
        return self if c == 1 else Poly({m: c * d for m, d in self.terms.items()} if c else {})


def poly(terms: Iterable[tuple[Mono, int]], start: Mapping[Mono, int] = {}) -> Poly:
    """The sum of terms, the same monomial more than once perhaps."""
    out = dict(start)
    for m, c in terms:
        if total := out.get(m, 0) + c:
            out[m] = total
        else:
            del out[m]
    return Poly(out)


@plain_memo
def number(n: int) -> Poly:
    """The polynomial that is n."""
    return Poly({(): int(n)} if n else {})


def one_of(a: Atom) -> Poly:
    """The polynomial that is an atom."""
    return Poly({(a,): 1})


ZERO, ONE = number(0), number(1)


def times(m: Mono, n: Mono) -> Mono:
    """The product of two monomials."""
    if not m or not n:
        return m or n
    return tuple(sorted((*m, *n), key=BY_PLACE))


def without(m: Mono, n: Mono) -> Mono | None:
    """The monomial m / n; None if n does not divide it."""
    if not n:
        return m
    left = [*m]
    for a in n:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)


def split(p: Poly, a: Atom) -> tuple[Poly, Poly]:
    """(A, B) with p == A*a + B and no a in B."""
    with_a, rest = {}, {}
    for m, c in p.terms.items():
        if a in m:
            k = m.index(a)
            with_a[m[:k] + m[k + 1 :]] = c
        else:
            rest[m] = c
    return Poly(with_a), Poly(rest)


def leading(p: Poly) -> tuple[Mono, int]:
    """The term that division goes by: of the most factors, then the first, an order that products keep."""
    if len(p.terms) == 1:
        (term,) = p.terms.items()
        return term
    return min(p.terms.items(), key=lambda t: (-len(t[0]), [a.place for a in t[0]]))


def exact(p: Poly, d: Poly) -> Poly | None:
    """The polynomial p / d; None if d does not divide p, or if the quotient has at least two terms more than p."""
    if len(d.terms) == 1:
        ((n, c),) = d.terms.items()
        if c == 1 and not n:
            return p
        out = {}
        for m, k in p.terms.items():
            left = without(m, n)
            if left is None or k % c:
                return None
            out[left] = k // c
        return Poly(out)
    found, rest = ZERO, p
    lead, c = leading(d)
    while rest.terms:
        m, k = leading(rest)
        left = without(m, lead)
        if left is None or k % c or len(found.terms) > len(p.terms):
            return None
        step = Poly({left: k // c})
        found, rest = found + step, rest - step * d
    return found
