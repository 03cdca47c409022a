"""Common parts of two layouts (vectors, domains), sums of layouts, and null spaces.

Source: CuTe include/cute/layout.hpp; NVIDIA's reference implementation, PyCuTe.
"""

from __future__ import annotations

import itertools
import math
from operator import itemgetter

from ..core.basis import Encoding, as_stride, steps_of
from ..core.digits import ENUMERABLE, Modes, Steps, merged
from ..core.errors import DivisibilityError, RankError, Unproven
from ..core.int_tuple import as_shape, leaves, like, shown, size
from ..core.ints import Int, IntLike, Leaf, _0, _1, is_constant, is_static, static
from ..core.kinds import by_kind
from ..core.layout import Layout, as_layout
from ..core.leaf_arithmetic import plus
from ..core.profiles import flatten
from ..core.questions import equal, require_positive
from ..core.strides import compact_col_major
from .coalesce import coalesce
from .composition import composition
from .flat_modes import Mode, flat_modes, from_modes, has_symbols, merge, step_of, wrapped
from .inverse import of_nothing, offsets_only, placed, right_inverse
from .inverse_digits import common
from .plain_integers import naming_static, noting

_ONE = Layout(_1, _0)


# -------------------------------------------------------------------------------------------- common vectors


@naming_static
@noting
@by_kind(Layout)
def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The places at which two layouts hold the same consecutive offsets, from 0 on: what one vector copy can move.

    >>> from tla import max_common_layout, parse
    >>> print(max_common_layout(parse("(_4,_8):(_8,_1)"), parse("(_4,_8):(_16,_1)")))
    _8:_4

    Law: a(R(i)) == i == b(R(i)) on R's whole domain, R goes into b's, and none is larger where in one of them each
    offset has one place; else it is searched as right_inverse does. Of dynamic integers nothing is asked: places past a
    dynamic extent, and along a dynamic stride, do not count. Raises what right_inverse does. Source: CuTe
    `max_common_layout`.
    """
    if not isinstance(b, Layout):
        return max_common_layout(b, a)  # what is common to two has no order
    for x in (a, b):
        offsets_only("max_common_layout", x)
    if nothing := of_nothing("max_common_layout", a, b):
        return nothing
    if has_symbols(a.shape, a.stride, b.shape, b.stride):
        return _common(a, right_inverse(b))
    (outer, places_a, ends_a), (inner, n, _ends) = _fixed(a), _fixed(b)
    return wrapped(merged(common(outer, inner, n if ends_a else min(n, places_a))))


def _fixed(layout: Layout) -> tuple[Modes, int, bool]:
    """The merged modes that are the same whatever dynamic integers hold: to the first dynamic extent, behind which no
    place is fixed. And how many places come before it; and whether it is the last mode, or there is none, so that no
    place does behind.

    A dynamic stride becomes a number past the sum of all before it, which no offset in question is.
    """
    modes, n, ends = [], 1, True
    flat = flat_modes(layout)
    for i, (s, d) in enumerate(flat):
        modes.append((int(s) if type(s) is Int else 1, int(d) if type(d) is Int else 1 << 128 * (i + 1)))
        n *= modes[-1][0]
        if type(s) is not Int:
            ends = i == len(flat) - 1
            break
    return merged(modes or [(1, 0)], unbounded=True), n, ends


def _common(a: Layout, inverse: Layout) -> Layout:
    """The head of an inverse for which it is one of a, too."""
    try:
        together = merge(flat_modes(composition(a, inverse)))
    except (DivisibilityError, Unproven):
        return _ONE
    if not together or type(together[0][0]) is not Int or not is_constant(1, together[0][1]):
        return _ONE
    return composition(inverse, Layout(together[0][0], _1))


def max_common_vector(a: Layout, b: Layout) -> Leaf:
    """The number of consecutive offsets that two layouts hold at the same places:
    size(max_common_layout(a, b)) [elements].

    >>> from tla import max_common_vector, parse
    >>> print(max_common_vector(parse("(_4,_8):(_8,_1)"), parse("(_4,_8):(_16,_1)")))
    _8

    Source: CuTe `max_common_vector`.
    """
    return size(max_common_layout(a, b))


@by_kind(Layout)
def max_alignment(layout: Layout) -> Leaf:
    """An n so that the layout is made of runs of n consecutive offsets, each beginning at a multiple of n [elements].

    The largest one where no stride is negative and no two coordinates share an offset. Of a tensor its
    start counts too.

    >>> from tla import max_alignment, parse
    >>> print(max_alignment(parse("(_8,_4):(_1,_24)")), max_alignment(parse("(_8,4):(_1,20)")))
    _8 _1

    Dynamic strides may be anything. Source: CuTe `max_alignment`.
    """
    offsets_only("max_alignment", layout)
    run, strides = _1, []
    moving = ((d, s) for s, d in flat_modes(layout) if type(d) is Int and not is_constant(0, d))
    for d, s in sorted(moving, key=itemgetter(0)):
        if d == run and type(s) is Int and s > 0:
            run = static(run * s)
        elif not is_constant(1, s):
            strides.append(int(d))
    unknown = any(type(d) is not Int and not is_constant(1, s) for s, d in flat_modes(layout))
    return _1 if unknown else static(math.gcd(run, *strides))


# ------------------------------------------------------------------------------- null spaces, domains and sums


@naming_static
@noting
@by_kind(Layout)
def nullspace(layout: Layout) -> Layout:
    """The places that a layout maps to 0, as a layout of places.

    Its modes of static stride 0, side by side. A dynamic stride that happens to be 0 does not count: its value is not
    known to the kernel.

    >>> from tla import nullspace, parse
    >>> print(nullspace(parse("(_2,_4,_6):(_1,_2,_0)")), nullspace(parse("(_4,_8):(_1,_4)")))
    _6:_8 _1:_0

    Law: layout(R(i)) == 0, and every i with layout(i) == 0 is in R's image, where strides are static.
    Raises DivisibilityError where positive and negative strides cancel in a way that no layout says, and Unproven where
    that is not known: the modes of one sign have more than 65,536 coordinates, or there are more zeros. Of a swizzled
    layout, with its offset 0, that of the layout inside.
    Source: CuTe `nullspace`, which takes strides of 0 only.
    """
    if nothing := of_nothing("nullspace", layout):
        return nothing
    shape = tuple(leaves(layout.shape))
    strides = tuple(leaves(layout.stride))
    zeros = [(s, p) for s, p, d in zip(shape, leaves(compact_col_major(shape)), strides) if is_constant(0, step_of(d))]
    negative = is_static(layout.stride) and any(step < 0 for d in strides for _path, step in steps_of(d))
    if negative and (hidden := _cancelling(layout)):
        zeros = [*(m for m in zeros if m[0] != 1), *hidden]
    if not zeros:
        return _ONE
    return Layout(*zeros[0]) if len(zeros) == 1 else Layout(*map(tuple, zip(*zeros)))


def _cancelling(layout: Layout) -> list[Mode]:
    """The modes of places where strides of both signs cancel."""
    modes = [(s, d, p) for s, d, p in placed(layout) if not is_constant(0, step_of(d)) and not is_constant(1, s)]
    what = f"nullspace of {shown(layout)}"
    code = Encoding(d for _s, d, _p in modes)
    values = [code(d) for _s, d, _p in modes]
    if not any(v < 0 for v in values) or all(v < 0 for v in values):
        return []
    if not is_static(layout.shape):
        raise Unproven(
            f"{what}: how far strides of both signs cancel is not static", "static extents", "write static(layout)"
        )
    up, down = (
        [(int(s), abs(v), int(p)) for (s, _d, p), v in zip(modes, values) if (v < 0) is sign] for sign in (False, True)
    )
    few = max(math.prod(s for s, _v, _p in side) for side in (up, down)) <= ENUMERABLE
    over, under = (_places_of(side if few else []) for side in (up, down))
    if not few or sum(len(places) * len(under.get(value, ())) for value, places in over.items()) > ENUMERABLE:
        expected = f"at most {ENUMERABLE:,} coordinates of each sign, and as many zeros"
        fix = "take a smaller layout, or strides of one sign"
        raise Unproven(f"{what}: strides of both signs, which may cancel", expected, fix)
    places = sorted(x + y for value, xs in over.items() for x, y in itertools.product(xs, under.get(value, ())))
    digits = _as_digits(places)
    if digits is None:
        raise DivisibilityError(
            f"{what}: its zeros are at {shown(tuple(places))}", "strides that do not cancel", "take its modes apart"
        )
    return [(static(n), static(r)) for n, r in digits]


def _places_of(modes: list[tuple[int, int, int]]) -> dict[int, list[int]]:
    """The places of each offset, of modes (extent, stride, place)."""
    out = {0: [0]}
    for s, v, p in modes:
        moved: dict[int, list[int]] = {}
        for c, (value, places) in itertools.product(range(s), out.items()):
            moved.setdefault(value + c * v, []).extend(x + c * p for x in places)
        out = moved
    return out


def _as_digits(places: list[int]) -> list[tuple[int, int]] | None:
    """Modes whose places are these, each once; None if there are none.

    Places are not negative, so no step is, and each step is a place: the smallest one is a step."""
    if places == [0]:
        return []
    r, wanted = places[1], set(places)
    most = next(n for n in itertools.count(1) if n * r not in wanted)
    for n in range(most, 1, -1):
        heads = _heads(places, n, r)
        digits = None if heads is None else _as_digits(heads)
        if digits is not None:
            return [(n, r), *digits]
    return None


def _heads(places: list[int], n: int, r: int) -> list[int] | None:
    """The places at which runs of n steps r begin, if the places are made of such runs."""
    left, heads = set(places), []
    for x in places:
        if x in left:
            run = {x + c * r for c in range(n)}
            if not run <= left:
                return None
            left -= run
            heads.append(x)
    return heads


@naming_static
def domain_distribute(a: IntLike, n: IntLike) -> Layout:
    """Up to n places spread over the modes of a shape: of each, from the first on, the part that divides what
    is left of n.

    a   a static shape, or a layout for its shape
    n   a static integer

    >>> from tla import domain_distribute, _64, _3, _8, _1024
    >>> print(domain_distribute(((_64, _3), (_8, _8)), _1024))
    (_64,_16):(_1,_192)

    Raises Unproven for what is not static. Source: CuTe `domain_distribute`.
    """
    shape, rest = as_shape(a), size(n)
    if not is_static(shape) or type(rest) is not Int:
        raise Unproven(
            f"domain_distribute: {shown(n)} over {shown(shape)}", "static sizes", "write them as Int[N](), or static(x)"
        )
    require_positive(f"domain_distribute over {shown(shape)}", rest)
    out = []
    for s, place in zip(leaves(shape), leaves(compact_col_major(flatten(shape)))):
        part = static(math.gcd(s, rest))
        rest = rest // part
        out.append((part, place))
    return from_modes(merge(out))


@naming_static
def greatest_common_domain(a: IntLike, b: IntLike) -> Layout:
    """The part of two shapes' domains that both have as digits: a layout of places that both can be composed with.

    a, b   shapes, or layouts for their shapes; static

    >>> from tla import greatest_common_domain, parse
    >>> print(greatest_common_domain(parse("(_5,_3,_4)"), parse("(_10,_6)")))
    (_5,_2):(_1,_30)

    Its modes are flat, not merged; (_1):(_0) where nothing is common. Raises Unproven for what is not static.
    Source: NVIDIA's reference implementation, PyCuTe `greatest_common_domain`.
    """
    shapes = [as_shape(x) for x in (a, b)]
    for s in (s for x in shapes for s in leaves(x)):
        require_positive("greatest_common_domain: an extent", s)
    if not all(map(is_static, shapes)):
        what = f"greatest_common_domain of {shown(a)} and {shown(b)}"
        raise Unproven(what, "static shapes", "write them as Int[N](), or static(x)")
    found = []  # by where each digit begins, and the last one ends
    ends = (itertools.accumulate(leaves(x), int.__mul__, initial=1) for x in shapes)
    for (low, end), (start, stop) in itertools.product(*map(itertools.pairwise, ends)):
        place = math.lcm(low, start)
        if end % place == stop % place == 0:
            found.append((place, math.gcd(end // place, stop // place)))
    out = [(static(n), static(place)) for place, n in sorted(found) if n > 1]
    return Layout(*map(tuple, zip(*(out or [(_1, _0)]))))


@naming_static
def layout_add(a: Layout, b: Layout) -> Layout:
    """The sum of two layouts of one size: R(i) == a(i) + b(i), coalesced.

    >>> from tla import layout_add, parse
    >>> print(layout_add(parse("(_4,_3):(_1,_4)"), parse("(_4,_3):(_3,_1)")), layout_add(parse("_12:_2"), parse("(_4,_3):(_3,_1)")))
    (_4,_3):(_4,_5) (_4,_3):(_5,_9)
    >>> print(layout_add(parse("(_4,_3):(_1@0,_1@1)"), parse("(_4,_3):(_1@1,_2@0)")))                # of coordinates
    (_4,_3):(_1@0+_1@1,_2@0+_1@1)

    Raises RankError for other sizes, DivisibilityError where the sum is no layout, Unproven for shapes that are dynamic
    and not the same. Source: NVIDIA's reference implementation, PyCuTe `layout_add`.
    """
    a, b = as_layout("layout_add", a), as_layout("layout_add", b)
    what = f"layout_add: {shown(a)} and {shown(b)}"
    if equal(size(a), size(b)) is False:
        raise RankError(
            f"{what} have {size(a)} and {size(b)} coordinates", "layouts of one size", "take a tile of the larger one"
        )
    if a.shape == b.shape and [*map(is_static, leaves(a.shape))] == [*map(is_static, leaves(b.shape))]:
        return coalesce(Layout(a.shape, like(a.shape, map(_sum, leaves(a.stride), leaves(b.stride)))))
    if not (a.is_static and b.is_static):
        raise Unproven(
            f"{what}: their shapes are not static", "static layouts, or equal shapes", "write static(a), static(b)"
        )
    if size(a) == 0:
        return from_modes([(_0, _0)])
    code = Encoding((*leaves(a.stride), *leaves(b.stride)), sums=True)
    both = Steps(*(merged([(int(s), code(d)) for s, d in flat_modes(x)] or [(1, 0)], unbounded=True) for x in (a, b)))
    pieces = both.runs(int(size(a)), 1)
    if why := both.why_not(pieces):
        raise DivisibilityError(
            f"{what}: {why}", "shapes whose digits fit each other", "take the part that greatest_common_domain gives"
        )
    modes = [(static(n), code.stride(t)) for n, t in merged((n, t) for n, _x, t in pieces)]
    if any(d is None for _s, d in modes):
        expected = "two layouts of offsets, or two of coordinates"
        raise RankError(f"{what}: offsets and coordinates", expected, "use basis elements in both")
    return from_modes(modes)


def _sum(a: Leaf, b: Leaf) -> Leaf:
    """The sum of two strides, as a stride."""
    total = plus(a, b)
    return as_stride(total) if isinstance(total, tuple) else total
