"""Certificates of the algebra: plain data from which a checker that knows nothing of tla sees that an answer is right.

A certificate holds what went in, what came out, and the pieces between, as lists of integers. tla/algebra/checker.py
reads it, and its rules are proved in tests/proofs. What is made here has passed that checker.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.conversions import ends_empty
from ..core.errors import DivisibilityError, LeafTypeError, TlaError
from ..core.int_tuple import as_int_tuple, leaves, product, shown, size
from ..core.ints import IntTree, IntTupleLike, is_int, known
from ..core.kinds import Certificate
from ..core.layout import Layout, as_layout
from ..core.leaf_arithmetic import mul
from . import checker
from .coalesce import coalesce, filter_zeros
from .codomain import cosize
from .complement import complement
from .composition import composition
from .divide import logical_divide, logical_product
from .flat_modes import flat_modes
from .inverse import left_inverse, right_inverse

Modes = list[tuple[int, int]]
Pieces = list[tuple[int, int, int]]
#: The coordinates that are looked through for one at which modes do not add up.
SEARCHED = 1 << 16


def certificate(operation: str, *arguments: Any) -> Certificate:
    """The certificate of an operation's answer, and of a composition that is
    refused: `operation.certificate(...)` calls it.

    Raises   what the operation raises, but for a composition that does not exist; LeafTypeError for what is no layout
             of offsets whose integers are known, and for tuples of tilers; DivisibilityError where the checker cannot
             be shown that it is right
    """
    tried = ({"of": operation, **part} for part in _MAKERS[operation](*arguments))
    made = next((c for c in tried if checker.check(c) is None), None)
    if made is None:
        given = " and ".join(map(shown, arguments))
        raise DivisibilityError(
            f"{operation}.certificate of {given}", "an answer that the checker can follow", "check it by its offsets"
        )
    return made


def _modes(name: str, layout: object) -> Modes:
    """The modes of a layout as plain integers, as a function of every integer."""
    modes = flat_modes(as_layout(f"{name}.certificate", layout))
    values = [(known(s), known(d)) for s, d in modes]
    if any(s is None or d is None for s, d in values):
        what = f"{name}.certificate of {shown(layout)}"
        raise LeafTypeError(what, "a layout of offsets whose integers are known", "give numbers for its symbols")
    rest = [(1, 0)] if ends_empty(layout.shape) else []  # type: ignore[attr-defined]  # what is left of an index goes to no mode
    return [(int(s), int(d)) for s, d in values] + rest  # type: ignore[arg-type]


def _ways(linear: Modes, /, **made: Any) -> Iterator[Certificate]:
    """The certificate that a layout is linear over the pieces, shown by its bounds, in one pass; else by every
    coordinate."""
    yield {"by_bounds": True, **made}
    if "cut" in made:
        yield {"by_bounds": True, **made, "cut": [_refined(linear, pieces) for pieces in made["cut"]]}
    yield {"by_bounds": False, **made}


def _refined(a: Modes, pieces: Pieces) -> Pieces:
    """The same pieces, cut where they come to a place at which a changes its step."""
    for p in checker.bounds(checker.coalesce(a, everywhere=True)):
        pieces = [part for piece in pieces for part in _cut_at(p, *piece)]
    return pieces


def _cut_at(p: int, n: int, x: int, t: int) -> Pieces:
    k = p // math.gcd(p, x)
    return [(k, x, t), (n // k, x * k, t * k)] if 1 < k < n and n % k == 0 else [(n, x, t)]


def _cut(b: Layout, r: Layout) -> list[Pieces]:
    """The pieces of r along each mode of b, whose shape r's refines."""
    return [
        _placed(d, list(zip(leaves(s), leaves(t))))
        for (s, t), d in zip(_along(b.shape, r.shape, r.stride), map(known, leaves(b.stride)))
    ]


def _along(shape: IntTree, refined: IntTree, strides: IntTree) -> Iterator[tuple[Any, Any]]:
    """For each integer of a shape, what stands there in one that refines it, and in its strides."""
    if not isinstance(shape, tuple):
        yield refined, strides
        return
    for mode, *parts in zip(shape, refined, strides):
        yield from _along(mode, *parts)


def _placed(d: Any, modes: Sequence[tuple[Any, Any]]) -> Pieces:
    """The modes of a result as pieces of a mode of stride d."""
    out: Pieces = []
    for n, t in modes:
        out.append((int(n), int(d), int(t)))
        d *= n
    return out


# ------------------------------------------------------------------------------------------- one for each operation


def _coalesce(layout: Layout) -> Iterator[Certificate]:
    if not as_layout("coalesce.certificate", layout).plain_modes():
        what = f"coalesce.certificate of {shown(layout)}"
        raise LeafTypeError(
            what, "static integers", "write static(layout): modes of dynamic ones stay apart whatever their values are"
        )
    yield {"a": _modes("coalesce", layout), "r": _modes("coalesce", coalesce(layout))}


def _composition(a: Layout, tiler: Layout) -> Iterator[Certificate]:
    outer, b = _modes("composition", a), _one_layout("composition", tiler)
    inner = _modes("composition", b)
    try:
        r = composition(a, b)
    except DivisibilityError as error:
        return _no_composition(outer, inner, error)
    return _ways(outer, a=outer, b=inner, cut=_cut(b, r))


def _no_composition(a: Modes, b: Modes, error: TlaError) -> Iterator[Certificate]:
    """Show that no layout is the composition: its values along one mode are those of no layout, or modes do not
    add up somewhere."""
    for k, (s, _d) in enumerate(b):
        if s <= SEARCHED:
            yield {"of": "no mode", "a": a, "b": b, "mode": k}
    corners = itertools.product(*[sorted({0, s - 1}) for s, _d in b])
    every = itertools.product(*[range(s) for s, _d in b])
    for c in itertools.islice(itertools.chain(corners, every), SEARCHED):
        if checker.at(a, checker.offset(b, c)) != sum(checker.at(a, k * d) for k, (_s, d) in zip(c, b)):
            yield {"of": "no composition", "a": a, "b": b, "coordinate": list(c)}
    raise error


def _complement(layout: Layout, cotarget: IntTupleLike | None = None) -> Iterator[Certificate]:
    r = complement(layout, cotarget)
    a, rest = _modes("complement", filter_zeros(layout)), _modes("complement", r)
    reached = known(cosize(layout) if cotarget is None else product(as_int_tuple(cotarget)))
    for covered in (reached, 0):  # 0 claims no more than that no two share an offset
        yield {"a": a, "r": rest, "woven": _woven(a, rest), "covered": covered}


def _woven(a: Modes, r: Modes) -> Modes:
    return sorted((m for m in a + r if m[0] != 1), key=lambda m: (m[1], m[0]))


def _right_inverse(layout: Layout) -> Iterator[Certificate]:
    a, steps = _modes("right_inverse", layout), _modes("right_inverse", right_inverse(layout))
    values = itertools.accumulate([1, *(n for n, _x in steps)], int.__mul__)
    return _ways(a, a=a, pieces=[(n, x, t) for (n, x), t in zip(steps, values)])


def _left_inverse(layout: Layout) -> Iterator[Certificate]:
    a, r = _injective("left_inverse", layout), _modes("left_inverse", left_inverse(layout))
    places = itertools.accumulate([1, *(n for n, _d in a)], int.__mul__)
    return _ways(r, a=a, r=r, cut=[[(n, d, place)] for (n, d), place in zip(a, places)])


def _injective(name: str, layout: Layout) -> Modes:
    modes = _modes(name, layout)
    if any(s > 1 and d == 0 for s, d in modes):
        what = f"{name}.certificate: {shown(layout)} has a mode of stride 0"
        raise LeafTypeError(what, "a layout without such modes", f"leave them out: filter_zeros, then {name}")
    return modes


def _logical_divide(a: Layout, tiler: Layout) -> Iterator[Certificate]:
    outer, b = _modes("logical_divide", a), _one_layout("logical_divide", tiler)
    inner, r = _injective("logical_divide", b), complement(b, coalesce(a).shape)
    rest = _modes("logical_divide", r)
    tiles, copies = logical_divide(a, b)
    cut = _cut(b, tiles) + _cut(r, copies)
    for covered in (checker.size(outer), 0):
        yield from _ways(outer, a=outer, b=inner, r=rest, woven=_woven(inner, rest), covered=covered, cut=cut)


def _logical_product(a: Layout, tiler: Layout) -> Iterator[Certificate]:
    block, b = _modes("logical_product", filter_zeros(a)), _one_layout("logical_product", tiler)
    inner, made = _modes("logical_product", b), logical_product(a, b)
    rest = _modes("logical_product", complement(a, mul(size(a), cosize(b))))
    return _ways(rest, a=block, b=inner, r=rest, woven=_woven(block, rest), cut=_cut(b, made[1]))


def _one_layout(name: str, tiler: Any) -> Layout:
    if isinstance(tiler, tuple):
        what = f"{name}.certificate by {shown(tiler)}"
        raise LeafTypeError(
            what, "one layout or one integer", f"give each mode its own: {name}.certificate(a[0], {shown(tiler[0])})"
        )
    layout: Layout = as_layout(f"{name}.certificate", Layout(tiler, 1) if is_int(tiler) else tiler)
    return layout


_MAKERS: dict[str, Callable[..., Iterator[Certificate]]] = {
    "coalesce": _coalesce,
    "composition": _composition,
    "complement": _complement,
    "right_inverse": _right_inverse,
    "left_inverse": _left_inverse,
    "logical_divide": _logical_divide,
    "logical_product": _logical_product,
}
