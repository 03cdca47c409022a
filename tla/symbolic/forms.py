"""The form that an expression is shown in: of all that the moves below reach, the one with the least weight (tree.py).

The normal form has one kind of division. A move writes the same polynomial with other atoms, `%` among them; moves are
taken for as long as one makes it cheaper. Then common factors are taken out of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from . import factoring, tree
from .evaluate import sample
from .poly import ONE, ZERO, Atom, Poly, Symbol, atom, exact, leading, number, one_of, split, without
from .proofs import is_positive, least
from .rules import Rule, floor_div
from .tree import Cost, Tree

#: The factors that are tried at each step of the last factoring.
WIDTH = 3
#: So many moves are made that make nothing cheaper, before giving up.
PATIENCE = 2
#: After so many terms in all forms that were tried, the best one of these is taken.
MOST_TERMS = 3000
#: Where one division has more others than this in a sum, none of them is read as what it divides.
MOST_READ = 8
#: A sum with more divisions, or of more nodes, than this is shown as it is, factored.
MAX_DIVISIONS, MAX_SIZE = 24, 500


def best(p: Poly) -> Tree:
    """The cheapest form that is found."""
    if p.tree is None:
        p.tree = factoring.factored(_searched(p)[0], WIDTH, shown)
    return p.tree  # type: ignore[no-any-return]


def steps(p: Poly) -> list[str]:
    """The moves that lead from the normal form to the cheapest, by name."""
    return _searched(p)[1]


def plain(p: Poly) -> Tree:
    """The terms of the normal form, as they stand."""
    return factoring.plain(p, shown)


def normal(p: Poly) -> Tree:
    """The terms of the normal form, as they stand, and those inside of its divisions."""
    return factoring.plain(p, lambda a: tree.operation(a.kind, *map(normal, a.args)) if a.args else shown(a))


def shown(a: Atom) -> Tree:
    """The tree of an atom."""
    if a.tree is None:
        a.tree = tree.name(a.name) if isinstance(a, Symbol) else tree.operation(a.kind, *map(best, a.args))
    return a.tree  # type: ignore[no-any-return]


def _is_searched(p: Poly) -> bool:
    """Whether there are moves from p, and not too many."""
    return 0 < sum([a.kind == "//" for a in p.atoms]) <= MAX_DIVISIONS and p.size <= MAX_SIZE


def _searched(p: Poly) -> tuple[Poly, list[str]]:
    """The cheapest form of p that a search by moves finds, and the moves that lead to it."""
    if not _is_searched(p):
        return p, []
    price = _Prices(p)
    taken: list[str] = []
    cost = price.of(p).cost
    found, seen, level, tried = (p, 0), {p}, 0, 0
    while tried < MOST_TERMS and _is_searched(p):
        new_forms = [(low, move, q) for move, q in _moves(p) if q not in seen and (low := price.at_least(q)) <= cost[0]]
        tried += sum([len(q.terms) for _low, _move, q in new_forms])
        new, k = price.cheapest([(low, q) for low, _move, q in new_forms], cost)
        level = 0 if new < cost else level + 1
        if k is None or level > PATIENCE:
            break
        _low, move, p = new_forms[k]
        seen.add(p)
        taken.append(move)
        if new < cost:
            cost, found = new, (p, len(taken))
    return found[0], taken[: found[1]]


class _Prices:
    """Costs of candidate forms of p. An atom of p has the cost of its cheapest form. An atom that a move makes is
    priced without a search of its own, which would be a search inside of a search."""

    def __init__(self, p: Poly) -> None:
        self.trees: dict[Atom, Tree] = {}
        self.of = factoring.Sums(1, self).of
        todo = [*p.atoms]
        while todo:
            a = todo.pop()
            if a not in self.trees:
                self.trees[a] = shown(a)
                todo += [b for x in a.args for b in x.atoms]

    def __call__(self, a: Atom) -> Tree:
        if a not in self.trees:
            self.trees[a] = tree.operation(a.kind, *map(self.quick, a.args)) if a.args else shown(a)
        return self.trees[a]

    def quick(self, p: Poly) -> Tree:
        """p with each division as a modulo where that is cheaper."""
        found = self.of(p)
        for q in reversed(p.atoms):
            if q.kind == "//":
                form = next(_as_modulo(q, *split(p, q)), None)
                if form is not None and (cheaper := self.of(form)).cost < found.cost:
                    p, found = form, cheaper
        return found

    def cheapest(self, forms: list[tuple[int, Poly]], cost: Cost) -> tuple[Cost, int | None]:
        """The least cost, and the first form that has it; None where all cost more than `cost`. What must cost
        more is passed over.

        forms   each with a weight that it is not below
        """
        found = None
        for low, k in sorted([(low, k) for k, (low, _p) in enumerate(forms)]):
            if low > cost[0]:
                break
            new = self.of(forms[k][1]).cost
            if new < cost or (new == cost and (found is None or k < found)):
                cost, found = new, k
        return cost, found

    def at_least(self, p: Poly) -> int:
        """A weight that no form of p is below: each atom stands in it once, with operations between them."""
        return len(p.atoms) - 1 + sum([self(a).cost[0] for a in p.atoms])


# --------------------------------------------------------------------------------------------------------- moves


def _moves(p: Poly) -> Iterator[tuple[str, Poly]]:
    for q in p.atoms:
        if q.kind == "//":
            a, b = split(p, q)
            if not any(q in m for m in a.terms):
                for move in MOVES:
                    for written in move.apply(q, a, b):
                        yield move.name, written


def _as_modulo(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    for x, d, sign in _readings(q, a, b):
        whole = _quotient(a, d) if len(d.terms) == 1 else ZERO  # a sum divides no term
        if not whole.terms:
            continue
        rest = a - d * whole
        kept = rest * one_of(q) + b
        g = math.gcd(*whole.terms.values())
        for n in dict.fromkeys((1, g)):  # g*(x%d) is g*x%(g*d)
            some, y, e = exact(whole, number(n * sign)), x.scale(n), d.scale(n)
            yield some * (y - one_of(atom("%", y, e))) + kept  # type: ignore[operator]  # n divides it
            back = e - number(n) - y  # y//e is -(back//e)
            if len(back.terms) <= len(y.terms):
                yield some * (one_of(atom("%", back, e)) - back) + kept  # type: ignore[operator]


def _readings(q: Atom, a: Poly, b: Poly) -> Iterator[tuple[Poly, Poly, int]]:
    """x, d and a sign with q == x//d, or -(x//d): its own, and those with x a part of b, as in k*(x - d*q)."""
    yield *q.args, 1
    target = one_of(q)
    divisions = [f for f in b.atoms if f.kind == "//"]
    for k in dict.fromkeys([split(b, f)[0] for f in divisions]) if len(divisions) <= MOST_READ else ():
        d = exact(a, k)
        if d is None or d.const in (1, -1):  # y//1 is a part of b, and q is in none
            continue
        x = _quotient(b, k)
        if not q.scope <= x.scope | d.scope:  # no rule brings in a symbol
            continue
        if (low := least(d)) is None or (low < 1 and not is_positive(d := -d)):
            continue
        for part in (x, *(one_of(f) for f in x.atoms if f.kind == "//")):
            for y in (part, -part):
                if not _may_be(q, y, d):
                    continue
                value = floor_div(y, d)
                if value in (target, -target):
                    yield y, d, 1 if value == target else -1
                    break


def _may_be(q: Atom, x: Poly, d: Poly) -> bool:
    """Whether x//d may be q or -q: at a sample place it is, or it has no value there."""
    value, num, den = sample(one_of(q)), sample(x), sample(d)
    return value is None or num is None or not den or num // den in (value, -value)


def _flipped(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    """a*q + b with the quotient counted from the other end: x//d == -((d - 1 - x)//d)."""
    x, d = q.args
    back = d - ONE - x
    if len(back.terms) <= len(x.terms):
        yield b - a * one_of(atom("//", back, d))


def _scaled(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    """a*q + b with numerator and divisor times a size's unit: x//d == (x*u + c)//(d*u) for any 0 <= c < u."""
    x, d = q.args
    for unit in sorted({n.unit for p in (x, d) for n in p.atoms if isinstance(n, Symbol) and n.unit > 1}):
        # what is rounded up reads x + d - 1
        up = number(unit - 1) if x.terms.get((), 0) == (d.const or 0) - 1 else ZERO
        yield a * one_of(atom("//", x.scale(unit) + up, d.scale(unit))) + b


def _absorbed(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    """A term of b taken into the numerator of the quotient q of a*q + b, where a divides it."""
    x, d = q.args
    lead, c = leading(a)
    for m, k in b:
        left = without(m, lead)
        if left is None or k % c or (left and left not in x.terms):
            continue
        part = Poly({left: k // c})
        rest = b - a * part
        if len(rest.terms) >= len(b.terms):
            continue
        y = x + d * part
        yield a * one_of(atom("//", y, d)) + rest
        back = d - ONE - y
        if len(back.terms) <= len(y.terms):
            yield rest - a * one_of(atom("//", back, d))


def _all_absorbed(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    """As _absorbed, for all terms of b that a divides at once."""
    x, d = q.args
    part = _quotient(b, a)
    if len(part.terms) > 1:
        yield a * one_of(atom("//", x + d * part, d)) + b - a * part


def _quotient(b: Poly, a: Poly) -> Poly:
    """The terms of b that the leading term of a divides, divided by it."""
    lead, c = leading(a)
    return Poly({left: k // c for m, k in b.terms.items() if k % c == 0 and (left := without(m, lead)) is not None})


#: What writes a*q + b in other ways, for a division q: apply(q, a, b) gives them.
MOVES = [
    Rule(
        "d*(x//d) -> x - x%d, d > 0",
        _as_modulo,
        (lambda x, d: d * (x // d), lambda x, d: x - x % d, lambda x, d: d > 0),
    ),
    Rule(
        "k*(x//d) + k*y -> k*((x + d*y)//d), d > 0",
        _absorbed,
        (lambda x, d, k, y: k * (x // d) + k * y, lambda x, d, k, y: k * ((x + d * y) // d), lambda x, d, k, y: d > 0),
    ),
    Rule(
        "k*(x//d) + k*(y + z) -> k*((x + d*(y + z))//d), d > 0",
        _all_absorbed,
        (lambda x, d, y, z: x // d + (y + z), lambda x, d, y, z: (x + d * (y + z)) // d, lambda x, d, y, z: d > 0),
    ),
    Rule(
        "-(x//d) -> (d - 1 - x)//d, d > 0",
        _flipped,
        (lambda x, d: -(x // d), lambda x, d: (d - 1 - x) // d, lambda x, d: d > 0),
    ),
    Rule(
        "x//n -> (u*x + y)//(u*n), 0 <= y < u, n > 0",
        _scaled,
        (lambda x, n, u, y: x // n, lambda x, n, u, y: (u * x + y) // (u * n), lambda x, n, u, y: 0 <= y < u and n > 0),
    ),
]
