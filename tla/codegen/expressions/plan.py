"""The plan of a function: its parameters, temporaries, results and integer type. A printer needs nothing else.

Source: ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.composed import values_between
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.kinds import AnyLayout
from ...symbolic import Condition, SymInt
from ...symbolic.facts import symbols_in, whole
from ...symbolic.forms import best
from ...symbolic.poly import Poly, Symbol, number, one_of, symbol
from ...symbolic.symint import of_symbol, poly_of
from ...symbolic.tree import Tree
from .graph import Graph, Node, in_order, names_in, operations, shared
from .integer_types import Integer, chosen_integer, doubt, require_fits, wanted_integer
from .shifts import RULES, UNSIGNED, BitRule
from .signature import Arguments, Parameter, arguments_of
from .value_ranges import ValueRange, value_ranges


class Plan(NamedTuple):
    """A function, for a printer.

    name          of the function
    what          what it computes, in words
    parameters    coordinates first, then sizes by name, then dynamic leaves
    coordinates   how many of them are coordinates
    temporaries   what is used more than once: (name, node), in order
    results       a node each; of conditions a comparison
    integer       the type of all integers in it, and why it is that one, in words
    requires      the facts and conditions that it rests on, and the same as comparisons of plain names

    >>> from tla import parse
    >>> from tla.codegen import plan
    >>> p = plan(parse("((_2,_3),5):((_1,4),_2)"))
    >>> print(p.coordinates, *(q.name for q in p.parameters), p.integer, p.why)
    2 i j stride_0_1 int64 stride_0_1 is not proved to fit in 32 bits

    Source: ours.
    """

    name: str
    what: str
    parameters: tuple[Parameter, ...]
    coordinates: int
    temporaries: tuple[tuple[str, Node], ...]
    results: tuple[Node, ...]
    integer: Integer
    why: str
    requires: tuple[tuple[Condition, Node], ...]

    @property
    def checks(self) -> tuple[Node, ...]:
        """The comparisons of `requires` that are about sizes alone: a caller can check these before there are
        coordinates."""
        coordinates = {p.name for p in self.parameters[: self.coordinates]}
        return tuple(node for _c, node in self.requires if not coordinates & {*names_in([node])})


def plan(
    what: object,
    coords: Any = None,
    *,
    name: str = "offset",
    integer: str | None = None,
    conditions: Sequence[Condition] = (),
    bits: bool = True,
    widths: Sequence[int] = (32, 64),
) -> Plan:
    """The plan of the function that computes a layout's offsets, or expressions.

    what         a layout of any kind, a Tensor, an integer expression, a condition, or a tuple of these
    coords       of a layout: names, nested no deeper than the shape, "i,(j0,j1)" for short; a SymInt or an integer may
                 stand for one. By default i, j, ..., one for each mode. A name is an index inside of the (padded)
                 shape. Of expressions: which of their symbols come first
    integer      "int32", "int64", "uint32" or "uint64"; by default int32 where all values are proved to fit, else int64
    conditions   what assuming() recorded
    bits         whether shifts and masks may stand for divisions by powers of two
    widths       the bits of integers that there are
    Raises       RangeError for values that do not fit the integers; Unproven where that is not known, and they were
                 asked for; RankError, LeafTypeError for other arguments that do not fit

    >>> from tla import dims, MakeLayout
    >>> from tla.ascend import half, zN
    >>> from tla.codegen import plan
    >>> M, N = dims("M N", multiple_of=16)
    >>> p = plan(MakeLayout[half, zN](M, N))
    >>> print(*(q.name for q in p.parameters), p.integer)
    i j M int64
    """
    arguments = arguments_of(what, coords)
    _require_conditions(conditions)
    sizes = {n.name: whole(n) for n in _scope(arguments, conditions)}
    wanted = None if integer is None else wanted_integer(integer, widths)
    signed = wanted is None or wanted.signed
    rules = (RULES if signed else UNSIGNED) if bits else ()
    forms = (_results(Graph(sizes, rules, signed), trees) for trees in dict.fromkeys(_forms(arguments.results)))
    results, ranges = _cheapest(forms, wanted or Integer(min(widths), True))
    chosen, why = (wanted, "as asked") if wanted else chosen_integer(ranges, widths)
    coordinates = [n for p in arguments.coordinates for n in symbols_in(p.symbol.poly)]
    for h in ranges:
        require_fits(h, chosen, coordinates, asked=wanted is not None or chosen.bits == 32)
    _require_offsets(what, Integer(max(widths), signed))
    conditions = tuple(conditions)  # those of the integers among them, if they are the list that assuming() writes to
    parameters = _parameters(arguments, results, conditions)
    taken = {p.name for p in parameters}
    fresh = (t for k in itertools.count() if (t := f"t{k}") not in taken)
    temporaries = tuple((t, n) for n, t in zip(shared(results), fresh))
    count = len(arguments.coordinates)
    requires = requirements((p.symbol for p in parameters[count:]), conditions, RULES if bits else ())
    return Plan(name, arguments.what, parameters, count, temporaries, results, chosen, why, requires)


def _require_offsets(what: object, widest: Integer) -> None:
    """RangeError for a layout whose dynamic numbers, as they are now, give offsets that the widest integers
    do not hold."""
    ends = values_between(what) if isinstance(what, AnyLayout) else None
    if ends and not widest.low <= ends[0] <= ends[1] <= widest.high:
        given = f"offsets from {ends[0]} to {ends[1]} of {shown(what)} in {widest}"
        raise RangeError(given, f"{widest.low} to {widest.high}", "use smaller strides, or a tile")


def _forms(results: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The results in their cheapest form; and as they were written, where intermediate results may be smaller."""
    if not results:
        raise LeafTypeError("an empty tuple to emit", "at least one expression", "give it something to compute")
    yield tuple(x if _asks(x) else x.form if isinstance(x, SymInt) else best(poly_of(x)) for x in results)
    if any(isinstance(x, SymInt) for x in results):
        yield tuple(x if _asks(x) else x.written if isinstance(x, SymInt) else best(poly_of(x)) for x in results)


def _asks(x: object) -> bool:
    """Whether a result is a truth value."""
    return isinstance(x, Condition) or (isinstance(x, tuple) and not isinstance(x, Tree))


def _cheapest(forms: Iterable[tuple[Node, ...]], t: Integer) -> tuple[tuple[Node, ...], list[ValueRange]]:
    """The form of the fewest operations, among those that fit with the least doubt; and its value ranges."""
    found = [(form, value_ranges(form)) for form in forms]
    return min(found, key=lambda f: (max((doubt(h, t) for h in f[1]), default=0), _weight(f[0])))


def _weight(form: tuple[Node, ...]) -> int:
    """Operations, a division as 8 more; and as 4 more still where it has to round down what may be negative."""
    count, divisions = operations(form)
    return count + 8 * divisions + 4 * sum(n.op in ("//", "%") for n in in_order(form))


def _results(graph: Graph, results: tuple[Any, ...]) -> tuple[Node, ...]:
    integers = iter(graph.of([t for t in results if not _asks(t)]))
    return tuple(graph.all_of((x,) if isinstance(x, Condition) else x) if _asks(x) else next(integers) for x in results)


def _require_conditions(conditions: object) -> None:
    if not isinstance(conditions, (list, tuple)) or not all(isinstance(c, Condition) for c in conditions):
        what = f"conditions={shown(conditions)}"
        raise LeafTypeError(what, "a list of conditions", "give what `with assuming() as conditions:` gives")


def _polys_of(x: object) -> tuple[Poly, ...]:
    if isinstance(x, tuple):
        return tuple(p for c in x for p in _polys_of(c))
    return (x.a, x.b) if isinstance(x, Condition) else (poly_of(x),)


def _scope(arguments: Arguments, conditions: Sequence[Condition]) -> list[Symbol]:
    """All symbols in it, one declaration for each name."""
    given = [p.symbol for p in (*arguments.coordinates, *arguments.dynamic)]
    polys = (p for x in (*arguments.results, *conditions, *given) for p in _polys_of(x))
    names: dict[str, Symbol] = {}
    for n in (n for p in polys for n in sorted(p.scope, key=str)):
        if names.setdefault(n.name, n) is not n:
            what = f"two parameters of the name {n.name}"
            raise RangeError(what, "a name for each", "give the coordinates other names: coords=...")
    return [*names.values()]


def _parameters(
    arguments: Arguments, results: Iterable[Node], conditions: Iterable[Condition]
) -> tuple[Parameter, ...]:
    """The coordinates, all of them; of the sizes and dynamic leaves those that are needed."""
    used = names_in(results) | {n.name for c in conditions for p in (c.a, c.b) for n in symbols_in(p)}
    first = {p.name for p in arguments.coordinates}
    dynamic = tuple(p for p in arguments.dynamic if p.name in used)
    others = used - first - {p.name for p in dynamic}
    symbols = {n.name: n for x in (*arguments.results, *conditions) for p in _polys_of(x) for n in p.scope}
    return (*arguments.coordinates, *(Parameter(n, of_symbol(symbols[n])) for n in sorted(others)), *dynamic)


# ------------------------------------------------------------------------------------------------- what it needs


def facts_of(n: Symbol) -> list[Condition]:
    """The declared facts of a symbol, as conditions."""
    size = whole(n)
    unit = [Condition("divides", number(n.unit), size)] if n.unit > 1 else []
    lows = [Condition("<=", p.scale(n.unit), size) for p in n.lowers]
    return [*unit, *lows, *(Condition("<=", size, p.scale(n.unit)) for p in n.uppers)]


def facts_among(sizes: Iterable[SymInt]) -> list[Condition]:
    """The declared facts of sizes that are about these sizes alone."""
    symbols = [n for s in sizes for n in symbols_in(s.poly)]
    names = {n.name for n in symbols}
    return [c for n in symbols for c in facts_of(n) if all(m.name in names for p in (c.a, c.b) for m in symbols_in(p))]


def requirements(
    sizes: Iterable[SymInt], conditions: Sequence[Condition], rules: Sequence[BitRule]
) -> tuple[tuple[Condition, Node], ...]:
    """The conditions that sizes have to meet, facts first; as comparisons of names of which nothing is known."""
    wanted = dict.fromkeys([*facts_among(sizes), *conditions])
    scope = {n.name for c in wanted for p in (c.a, c.b) for n in p.scope}
    graph = Graph({name: one_of(symbol(name, 1, (), ())) for name in scope}, rules)
    return tuple((c, graph.condition(c)) for c in wanted)
