"""A sum as a tree with few operations: common factors are taken out, as in Horner's scheme.

Sizes are written by their own names: of a size N that 16 divides, 16*n is N, and n is N//16.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import tree
from .poly import ATOMS, Atom, Mono, Poly, Symbol, by_order, interned, without
from .tree import Tree

#: Of longer sums, only the factor that saves most is tried at each step.
LONG = 8

Price = Callable[[Atom], Tree]


def factored(p: Poly, width: int, price: Price) -> Tree:
    """The cheapest tree of p as it stands that is found, with `width` factors tried at each step; price(a) is
    that of an atom."""
    return Sums(width, price).of(p)


def plain(p: Poly, price: Price) -> Tree:
    """The terms of p, side by side."""
    return Sums(0, price).plain(_on_names(p))


class Sums:
    """Factorings with the same prices: what was found is kept."""

    def __init__(self, width: int, price: Price) -> None:
        self.width, self.price = width, price
        self.seen: dict[frozenset[tuple[Mono, int]], Tree] = {}
        self.terms: dict[tuple[Mono, int], Tree] = {}

    def of(self, p: Poly) -> Tree:
        """The cheapest tree of p as it stands that is found."""
        return self.sum(_on_names(p))

    def sum(self, terms: dict[Mono, int]) -> Tree:
        """The cheapest tree: of the terms, or with a factor taken out of some of them."""
        if len(terms) < 2:
            return self.plain(terms)
        key = frozenset(terms.items())
        if key not in self.seen:
            found = self.plain(terms)
            for f in self.factors(terms)[: self.width if len(terms) <= LONG else 1]:
                other = self.with_factor(terms, *f)
                if other.cost < found.cost:
                    found = other
            self.seen[key] = found
        return self.seen[key]

    def plain(self, terms: dict[Mono, int]) -> Tree:
        if len(terms) == 1:
            return self.term(*terms.items())
        return tree.total([self.term(t) for t in sorted(terms.items(), key=by_order)])

    def term(self, t: tuple[Mono, int]) -> Tree:
        if t not in self.terms:
            m, c = t
            self.terms[t] = tree.product(c, map(self.price, sorted(m, key=lambda a: (-a.level, a.key))))
        return self.terms[t]

    def with_factor(self, terms: dict[Mono, int], a: Atom | None, g: int) -> Tree:
        inside, rest = {}, {}
        for m, c in terms.items():
            left = m if a is None else without(m, (a,))
            if left is None or c % g:
                rest[m] = c
            else:
                inside[left] = c // g
        factor = tree.product(g, [self.sum(inside), *([self.price(a)] if a is not None else [])])
        return tree.total([factor, self.sum(rest)]) if rest else factor

    def factors(self, terms: dict[Mono, int]) -> list[tuple[Atom | None, int]]:
        """The factors, atoms or numbers, that two terms or more share, the one that saves most first."""
        saved: dict[tuple[Atom | None, int], int] = {}
        atoms = [a for m in terms for a in {*m}]
        for a in {*atoms}:
            if (count := atoms.count(a)) > 1:
                saved[a, 1] = (count - 1) * (self.price(a).cost[0] + 1)
        sizes = [abs(c) for m, c in terms.items() if m]  # to take out a number that stands alone saves nothing
        for g in {*sizes}:
            if g > 1 and sum([c % g == 0 for c in terms.values()]) > 1:
                saved[None, g] = sizes.count(g) - 1
        if max(terms.values()) < 0:
            saved[None, -1] = len(terms)
        return sorted(saved, key=lambda f: (-saved[f], f[1], f[0].key if f[0] else ""))


def _on_names(p: Poly) -> dict[Mono, int]:
    """The terms with sizes by their own names."""
    if not [a for a in p.atoms if isinstance(a, Symbol) and a.unit > 1]:
        return p.terms
    out: dict[Mono, int] = {}
    for m, c in p:
        atoms = []
        for a in m:
            if isinstance(a, Symbol) and a.unit > 1:
                g = math.gcd(c, a.unit)
                c //= g
                atoms.append(_part(a, a.unit // g))
            else:
                atoms.append(a)
        out[tuple(atoms)] = c
    return out


def _part(a: Symbol, d: int) -> Atom:
    """A size divided by a part of its unit, as it is shown."""
    given = ("part", a.name, d)
    found = ATOMS.get(given)
    if found is None:
        new = Atom()
        new.kind, new.args, new.level, new.size, new.key = "part", (), 0, 1, f"{a.name}//{d}"
        new.tree = tree.name(a.name) if d == 1 else tree.operation("//", tree.name(a.name), tree.number(d))
        found = interned(given, new)
    return found
