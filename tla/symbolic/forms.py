"""The form that an expression is shown in: of all that the moves below reach, the one with the fewest divisions and modulos,
then the fewest operations.

The normal form has one kind of division. A move writes the same polynomial with other atoms, `%` among them; moves are
taken for as long as one makes it cheaper. Then common factors are taken out of the sum, as in Horner's scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from . import tree
from .poly import ONE, ZERO, Atom, Mono, Poly, Symbol, atom, exact, leading, number, one_of, order, split
from .proofs import is_positive, least
from .rules import floor_div
from .tree import Tree

#: The factors that are tried at each step of the factoring; of longer sums, the best alone.
WIDTH, LONG = 3, 8
#: So many moves are made that make nothing cheaper, before giving up.
PATIENCE = 2
#: After so many forms, the best one of these is taken.
MOST_TRIED = 300
#: A sum with more divisions than this is shown as it is, factored.
MAX_DIVISIONS = 24


def best(p: Poly) -> Tree:
    """The cheapest form that is found."""
    if p.tree is None:
        p.tree = _factored(_searched(p)[0], WIDTH)
    return p.tree  # type: ignore[no-any-return]


def steps(p: Poly) -> list[str]:
    """The moves that lead from the normal form to the cheapest, by name."""
    return _searched(p)[1]


def _searched(p: Poly) -> tuple[Poly, list[str]]:
    taken: list[str] = []
    cost = _factored(p, 1).cost
    found, seen, level = (p, 0), {p}, 0
    tried = 0
    while p.const is None and tried < MOST_TRIED and sum(_divides(a) for a in p.atoms()) <= MAX_DIVISIONS:
        options = [(_factored(q, 1).cost, k, move, q) for k, (move, q) in enumerate(_moves(p)) if q not in seen and _at_least(q) <= cost[0]]
        tried += len(options)
        if not options:
            break
        new, _k, move, p = min(options, key=lambda o: o[:2])
        level = 0 if new < cost else level + 1
        if new > cost or level > PATIENCE:
            break
        seen.add(p)
        taken.append(move)
        if new < cost:
            cost, found = new, (p, len(taken))
    return found[0], taken[: found[1]]


def _at_least(p: Poly) -> int:
    """A weight that no form of p is below: each atom stands in it once, with operations between them."""
    atoms = {a for m in p.terms for a in m}
    return len(atoms) - 1 + sum([shown(a).cost[0] for a in atoms])


def plain(p: Poly) -> Tree:
    """The terms as they stand."""
    return _plain(_on_names(p))


def _divides(a: Atom) -> bool:
    return a.kind in ("//", "%")


# --------------------------------------------------------------------------------------------------------- moves


def _moves(p: Poly) -> Iterator[tuple[str, Poly]]:
    for q in p.atoms():
        if q.kind == "//":
            a, b = split(p, q)
            if not any(q in m for m in a.terms):
                for move, find in MOVES.items():
                    for written in find(q, a, b):
                        yield move, written


def _as_modulo(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    for x, d, sign in _readings(q, a, b):
        whole, rest = ZERO, a
        for m, c in a:
            part = exact(Poly({m: c}), d)
            if part is not None:
                whole, rest = whole + part, rest - Poly({m: c})
        if not whole.terms:
            continue
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
    for k in dict.fromkeys([split(b, f)[0] for f in b.atoms() if f.kind == "//"]):
        d, x = exact(a, k), _quotient(b, k)
        if d is None or (low := least(d)) is None or (low < 1 and not is_positive(d := -d)):
            continue
        for part in (x, *(one_of(f) for f in x.atoms() if f.kind == "//")):
            for y in (part, -part):
                value = floor_div(y, d)
                if value in (target, -target):
                    yield y, d, 1 if value == target else -1
                    break


def _flipped(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    x, d = q.args
    back = d - ONE - x
    if len(back.terms) <= len(x.terms):
        yield b - a * one_of(atom("//", back, d))


def _scaled(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    x, d = q.args
    for unit in sorted({n.unit for p in (x, d) for n in p.atoms() if isinstance(n, Symbol) and n.unit > 1}):
        up = number(unit - 1) if x.terms.get((), 0) == (d.const or 0) - 1 else ZERO  # what is rounded up reads x + d - 1
        yield a * one_of(atom("//", x.scale(unit) + up, d.scale(unit))) + b


def _absorbed(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    x, d = q.args
    lead, c = leading(a)
    for m, k in b:
        part = exact(Poly({m: k}), Poly({lead: c}))
        if part is None or k % c:
            continue
        if part.const is None and not any(n in x.terms for n in part.terms):
            continue
        rest = b - a * part
        if len(rest.terms) >= len(b.terms):
            continue
        y = x + d * part
        yield a * one_of(atom("//", y, d)) + rest
        back = d - ONE - y
        if len(back.terms) <= len(y.terms):
            yield rest - a * one_of(atom("//", back, d))


def _digit_absorbed(q: Atom, a: Poly, b: Poly) -> Iterator[Poly]:
    """As _absorbed, for all terms of b that a divides at once."""
    x, d = q.args
    part = _quotient(b, a)
    if len(part.terms) > 1:
        yield a * one_of(atom("//", x + d * part, d)) + b - a * part


def _quotient(b: Poly, a: Poly) -> Poly:
    lead, c = leading(a)
    out = {}
    for m, k in b:
        part = exact(Poly({m: k}), Poly({lead: c}))
        if part is not None:
            out.update(part.terms)
    return Poly(out)


#: Equation -> the forms of a*q + b that it gives, for a division q. x//d, y and k stand for any expressions.
MOVES: dict[str, Callable[[Atom, Poly, Poly], Iterator[Poly]]] = {
    "d*(x//d) -> x - x%d": _as_modulo,
    "k*(x//d) + k*y -> k*((x + d*y)//d)": _absorbed,
    "k*(x//d) + k*(y + z) -> k*((x + d*(y + z))//d)": _digit_absorbed,
    "-(x//d) -> (d - 1 - x)//d": _flipped,
    "x//(n//u) -> (u*x)//n, u divides n": _scaled,
}


# ----------------------------------------------------------------------------------------------------- factoring


def _factored(p: Poly, width: int) -> Tree:
    return _sum(_on_names(p), width, {})


def _on_names(p: Poly) -> dict[Mono, int]:
    """The terms with sizes by their own names: 16*n is N, where n is N//16."""
    if not any(a.kind == "name" and a.unit > 1 for m in p.terms for a in m):  # type: ignore[attr-defined]
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
        n = tuple(atoms)
        out[n] = out.get(n, 0) + c
    return out


def _part(a: Symbol, d: int) -> Atom:
    """A size divided by a part of its unit, as it is shown."""
    found = _PARTS.get((a.name, d))
    if found is None:
        found = _PARTS[a.name, d] = Atom()
        found.kind, found.args, found.level, found.size, found.key = "part", (), a.level, 1, f"{a.name}//{d}"
        found.tree = tree.name(a.name) if d == 1 else tree.operation("//", tree.name(a.name), tree.number(d))
    return found


_PARTS: dict[tuple[str, int], Atom] = {}


def shown(a: Atom) -> Tree:
    """The tree of an atom."""
    if a.tree is None:
        a.tree = tree.name(a.name) if isinstance(a, Symbol) else tree.operation(a.kind, *map(best, a.args))
    return a.tree  # type: ignore[no-any-return]


def _sum(terms: dict[Mono, int], width: int, seen: dict[frozenset[tuple[Mono, int]], Tree]) -> Tree:
    """The cheapest tree of a sum: of its terms, or with a factor taken out of some of them."""
    if len(terms) < 2:
        return _plain(terms)
    key = frozenset(terms.items())
    found = seen.get(key)
    if found is None:
        factors = _factors(terms)[: width if len(terms) <= LONG else 1]
        found = min([_plain(terms), *(_with_factor(terms, *f, width, seen) for f in factors)], key=lambda t: t.cost)
        seen[key] = found
    return found


def _plain(terms: dict[Mono, int]) -> Tree:
    in_order = sorted(terms.items(), key=lambda t: order(t[0]))
    return tree.total([tree.product(c, [shown(a) for a in sorted(m, key=lambda a: (-a.level, a.key))]) for m, c in in_order])


def _with_factor(terms: dict[Mono, int], a: Atom | None, g: int, width: int, seen: dict[frozenset[tuple[Mono, int]], Tree]) -> Tree:
    inside, rest = {}, {}
    for m, c in terms.items():
        if a is None and c % g == 0:
            inside[m] = c // g
        elif a is not None and a in m:
            left = [*m]
            left.remove(a)
            inside[tuple(left)] = c
        else:
            rest[m] = c
    factor = tree.product(g, [_sum(inside, width, seen), *([shown(a)] if a is not None else [])])
    return tree.total([factor, _sum(rest, width, seen)]) if rest else factor


def _factors(terms: dict[Mono, int]) -> list[tuple[Atom | None, int]]:
    """What can be taken out of two terms or more, what saves most first: an atom, or a number."""
    saved: dict[tuple[Atom | None, int], int] = {}
    for a in {a for m in terms for a in m}:
        count = sum(a in m for m in terms)
        if count > 1:
            saved[a, 1] = (count - 1) * (shown(a).cost[0] + 1)
    sizes = {abs(c) for c in terms.values() if abs(c) > 1}
    for g in {math.gcd(c, d) for c in sizes for d in sizes}:
        if g > 1:
            whole = sum(bool(m) and abs(c) == g for m, c in terms.items())
            if sum(c % g == 0 for c in terms.values()) > 1 and whole:
                saved[None, g] = whole - 1
    if all(c < 0 for c in terms.values()):
        saved[None, -1] = len(terms)
    return sorted(saved, key=lambda f: (-saved[f], f[1], f[0].key if f[0] else ""))
