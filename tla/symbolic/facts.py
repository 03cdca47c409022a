"""The facts of symbols, as they are declared and shown."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable

from ..core.errors import LeafTypeError, RangeError
from . import text
from .forms import best, normal
from .poly import ONE, Poly, Symbol, number, one_of
from .reading import reads_as
from .tree import Tree

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: Words of tla's notation.
RESERVED = frozenset(("ceil", "min", "max", "o"))


def require_name(name: object) -> None:
    """LeafTypeError for what is no name of a symbol."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or keyword.iskeyword(name) or name in RESERVED:
        fix = "use no words of Python, nor ceil, min, max, o"
        raise LeafTypeError(f"the name {name!r:.40}", "letters, digits and underscores, a letter first", fix)


def require_one_meaning(scope: Iterable[Symbol]) -> None:
    """RangeError if one name has two sets of facts."""
    names: dict[str, Symbol] = {}
    for n in scope:
        other = names.setdefault(n.name, n)
        if other is not n:
            both = " and ".join(sorted(map(declaration, (n, other))))
            what = f"two sets of facts for {n.name}: {both}"
            raise RangeError(what, "one declaration for each name", "declare it once, or rename one")


def whole(n: Symbol) -> Poly:
    """The size that a symbol is a part of: unit times the symbol."""
    return one_of(n).scale(n.unit)


def symbol_of(p: Poly) -> Symbol | None:
    """The symbol of a polynomial that is one size, whole."""
    atoms = p.atoms
    n = atoms[0] if len(atoms) == 1 else None
    return n if isinstance(n, Symbol) and p == whole(n) else None


def symbols_in(p: Poly) -> list[Symbol]:
    """The symbols that stand in p, by name: those in bounds of these do not count."""
    found: set[Symbol] = set()
    todo = [*p.atoms]
    while todo:
        a = todo.pop()
        if isinstance(a, Symbol):
            found.add(a)
        else:
            todo += [b for x in a.args for b in x.atoms]
    return sorted(found, key=lambda n: n.name)


def notation(p: Poly, *forms: Tree) -> str:
    """The text of the first of these forms of p, of its best one and its normal form that reads as p,
    else the first."""
    names = {n.name: whole(n) for n in symbols_in(p)}
    forms = *forms, best(p)
    candidates = itertools.chain(forms, map(normal, (p,)))  # made only where it is needed
    return text.notation(next((t for t in candidates if reads_as(p, text.with_ceil(t), names)), forms[0]))


def representation(p: Poly) -> str:
    """A Python expression that makes p: a number, a declaration, or a parse() with declarations."""
    n = symbol_of(p)
    if n is not None or p.const is not None:
        return str(p.const) if n is None else declaration(n)
    return f"parse({notation(p)!r}, symbols=[{', '.join(map(declaration, symbols_in(p)))}])"


def declaration(n: Symbol) -> str:
    """The call that declares a symbol."""
    low, high = (bounds[0].scale(n.unit) if bounds else None for bounds in (n.lowers, n.uppers))
    smallest = None if low is None else low.const
    unit = [f"multiple_of={n.unit}"] if n.unit > 1 else []
    if high is None or (smallest and smallest > 0 and high.const is not None):
        least = [f"at_least={representation(low)}"] if low is not None and low != number(n.unit) else []
        most = [f"at_most={representation(high)}"] if high is not None else []
        return f"dim({', '.join([repr(n.name), *unit, *least, *most])})"
    start = [f"at_least={representation(low)}"] if low is not None and smallest != 0 else []
    return f"index({', '.join([repr(n.name), f'below={representation(high + ONE)}', *start, *unit])})"
