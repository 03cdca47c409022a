"""The algebra of layouts: coalesce, composition.

A result equals its definition on the whole domain, or is refused. What is static is worked in plain ints; the profile of
a result never depends on the value of a dynamic integer, and whether it is right does, and is checked with the value.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeVar, cast

from ..core.arithmetic import ceil_div as divide_up
from ..core.basis import ScaledBasis
from ..core.cache import memo
from ..core.coord import ends_empty
from ..core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError, Reason, Unproven
from ..core.int_tuple import (
    IntTuple,
    Underscore,
    as_int_tuple,
    by_kind_of_tiler,
    elsewhere,
    leaves,
    like,
    opened,
    product,
    product_each,
    require_congruent,
    shown,
)
from ..core.ints import (
    INT64_MAX,
    INT64_MIN,
    Int,
    add,
    at_most,
    ceil_div,
    equal,
    is_constant,
    is_int,
    known,
    leaf,
    mul,
    require,
    require_positive,
    settled,
    static,
)
from ..core.layout import (
    Layout,
    Shape,
    Stride,
    as_layout,
    compact_col_major,
    join,
    plain_layout,
    spread_valid,
    unchecked_layout,
    valid_as_one,
    valid_by_leaves,
    valid_leaves,
)
from .codomain import cosize
from .composition_cuts import Mode, Outer, OuterOfSymbols, Piece, outer_of, path_of, step_of
from .digits import Modes, Pieces, Steps, merged, wrapped

_0, _1 = Int[0](), Int[1]()

MEND = "make the extents multiples of each other, or cut the inner layout smaller"

# -------------------------------------------------------------------------------------------------- coalesce


@memo
def coalesce(layout: Layout, profile: Any = None) -> Layout:
    """The same function of an integer in the fewest modes.

    profile   a tuple coalesces mode by mode in its nesting, and keeps the modes that it does not reach
    Returns   depth at most 1, no two neighbours that merge. A mode merges into its left neighbour where that is static
              knowledge: a dynamic extent on the right, or a dynamic stride, stays. origin_shape is kept with a profile
    Raises    RankError where the profile has more modes than the layout

    >>> from tla import coalesce, parse
    >>> print(coalesce(parse("(_2,(_1,_6)):(_1,(_6,_2))")), coalesce(parse("(_4,2):(_1,_4)")))
    _12:_1 (_4,2):(_1,_4)
    >>> print(coalesce(parse("((_2,_2),(_4,_2)):((_1,_2),(_4,_16))"), (_1, _1)))
    (_4,_8):(_1,_4)

    Law: size(R) == size(A), and R(i) == A(i) for every i.
    Source: CuTe `coalesce`.
    """
    if not isinstance(layout, Layout):
        return elsewhere(coalesce, layout, profile)
    if profile is None and layout._origin is None and (plain := layout.plain_modes()):
        return wrapped(merged(plain))
    profile = as_int_tuple(_1 if profile is None else profile)
    if isinstance(profile, tuple):
        modes = _top_modes("coalesce", layout, profile)
        if len(profile) > len(modes):
            raise RankError(
                f"coalesce: profile {shown(profile)} for {shown(layout)}", f"at most {len(modes)} modes", "give one for each mode, or fewer"
            )
        return join([*map(coalesce, modes, profile), *modes[len(profile) :]], layout._origin)
    return _valid_of_index(from_modes(merge(flat_modes(layout))), layout)


def _valid_of_index(new: Layout, old: Layout) -> Layout:
    """A layout that is the same function of an integer as `old`, with what of it is valid."""
    if old._origin is None:
        return new
    count = valid_as_one(old)
    return Layout(new.shape, new.stride, ... if count is None else spread_valid(product_each(new.shape), count))


def _top_modes(name: str, layout: Layout, goes_through: tuple[Any, ...]) -> tuple[Layout, ...]:
    """The modes of a layout for a tuple that goes through them. One integer is one mode, with none in it."""
    if not isinstance(layout.shape, tuple) and any(isinstance(x, tuple) for x in goes_through):
        raise RankError(f"{name}: nested tuples for {shown(layout)}, which is one integer", "an integer, or a layout", "nest no deeper")
    return tuple(layout)


def flat_modes(layout: Layout) -> list[Mode]:
    return list(zip(leaves(layout.shape), leaves(layout.stride)))


def from_modes(modes: Iterable[Mode]) -> Layout:
    """The layout of flat modes: none is _1:_0, one stands alone."""
    shape, stride = tuple(zip(*modes)) or ((_1,), (_0,))
    for n in shape + stride:
        leaf(n)  # sizes multiply here: what 64 bits cannot hold is refused, as where a layout is made
    return unchecked_layout(shape[0], stride[0]) if len(shape) == 1 else unchecked_layout(Shape(*shape), Stride(*stride))


def merge(modes: list[Mode], unbounded: bool = False) -> list[Mode]:
    """Flat modes coalesced. With `unbounded`, as a function of every integer: then the last mode stays, whatever its extent."""
    out: list[Mode] = []  # reversed
    for s, d in reversed(modes):
        if not out:
            out.append((s, d))
        elif type(s) is Int and s == 1:
            continue
        elif is_constant(1, out[-1][0]) and not (unbounded and len(out) == 1):
            out[-1] = (s, d)
        elif _continues(s, d, *out[-1]):
            out[-1] = (mul(s, out[-1][0]), d)
        else:
            out.append((s, d))
    if len(out) == 1 and is_constant(1, out[0][0]) and not unbounded:
        return []
    return out[::-1]


def _continues(s: Any, d: Any, n: Any, following: Any) -> bool:
    """Whether the mode n:following goes on where s:d ends, whatever the dynamic integers hold."""
    if path_of(d) != path_of(following):
        return False
    d, following = step_of(d), step_of(following)
    if type(d) is type(following) is Int and type(n) is Int:
        return int.__mul__(s, d) == following if type(s) is Int else d == following == 0
    return int not in map(type, (s, d, n, following)) and equal(mul(s, d), following) is True


# ----------------------------------------------------------------------------------------------- composition


def by_mode(f: Callable[[Layout, Layout], Layout], keep_rest: bool = False) -> Callable[[Layout, Any], Layout]:
    """Lift f(layout, layout) to tilers: _ keeps a mode, an integer n means n:1, a tuple goes mode by mode.

    keep_rest   whether the modes that a tuple does not reach stay (divides) or go (composition)
    """

    @functools.wraps(f)
    def lifted(a: Layout, tiler: Any) -> Layout:
        if not isinstance(a, Layout):
            return elsewhere(remembered, a, tiler)
        if isinstance(tiler, Layout):
            return f(a, tiler)
        if isinstance(tiler, Underscore):
            return a
        if type(tiler) is Int and tiler > 0:
            return f(a, unchecked_layout(tiler, _0 if keep_rest and tiler == 1 else _1))  # the stride of _1 is CuTe's
        if is_int(tiler):
            return f(a, Layout(tiler, compact_col_major(tiler) if keep_rest else _1))
        if not isinstance(tiler, tuple):
            return cast(Layout, by_kind_of_tiler(remembered, a, tiler))
        tiler = opened(tiler)
        modes = _top_modes(f.__name__, a, tiler)
        if len(tiler) > len(modes):
            n = len(tiler) - len(modes)
            raise RankError(f"{f.__name__}: {len(tiler)} tiles for {shown(a)}", f"at most {len(modes)}, one per mode", f"drop the last {n}")
        return join([*_each_mode(lifted, modes, tiler), *(modes[len(tiler) :] if keep_rest else ())])

    remembered = memo(lifted)
    return remembered


def _each_mode(f: Callable[[Layout, Any], Layout], modes: tuple[Layout, ...], tiler: tuple[Any, ...]) -> Iterator[Layout]:
    """f of each mode with its tiler; what cannot be proved of several is one error."""
    unproven: list[Reason] = []
    for mode, t in zip(modes, tiler):
        try:
            yield f(mode, t)
        except Unproven as error:
            unproven.append(error.reason)
    if len(unproven) == 1:
        raise Unproven(*unproven[0])
    if unproven:
        raise Unproven(*("; ".join(dict.fromkeys(parts)) for parts in zip(*unproven)))


@by_mode
def composition(a: Layout, b: Layout) -> Layout:
    """The layout R with R(c) == a(b(c)): b's coordinates, a's offsets.

    a         the outer function; past its size it goes on along its last mode
    b         a layout; or a tiler: an integer n for n:1, or a tuple of tilers, one per mode of a (the rest is dropped)
    Returns   each integer of b's shape becomes one, or a tuple of integers with its product
    Raises    DivisibilityError where no such layout exists, or none was found; RankError for more tilers than modes

    >>> from tla import composition, parse, _4
    >>> print(composition(parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)")))
    ((_2,_2),_3):((_24,_2),_8)
    >>> print(composition(parse("(_8,_16):(_16,_1)"), (_4, parse("_2:_8"))))
    (_4,_2):(_16,_8)
    >>> composition(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: composition: (_3,_2):(_5,_1) o (_2,_2):(_1,_2): its modes carry together past 3
      expected  steps that go evenly through the outer layout
      fix       make the extents multiples of each other, or cut the inner layout smaller

    Law: R(c) == a(b(c)) for every coordinate c of b, and b's shape is compatible with R's. Valid is what is valid of b and
    goes to what is valid of a, where that is known to be a box.
    Source: CuTe `composition`; the search is ours, and finds a layout wherever one exists on small domains.
    """
    made = _composed(a, b)
    return made if a._origin is None and b._origin is None else _valid_after(made, a, b)


def _valid_after(made: Layout, a: Layout, b: Layout) -> Layout:
    """The composition of a and b with what of it is valid."""
    own, reached = valid_leaves(b), list(leaves(b.shape))
    if own is None:
        return unchecked_layout(made.shape, made.stride, ...)
    for path in {*map(path_of, leaves(b.stride))} if a._origin is not None else ():
        if len(path) > 1:
            return unchecked_layout(made.shape, made.stride, ...)
        count = valid_as_one(a[path[0]] if path and isinstance(a.shape, tuple) else a)
        steps = [(step_of(d), k, s) for k, (s, d) in enumerate(flat_modes(b)) if path_of(d) == path and not is_constant(1, s)]
        found = None if count is None else _reaching(count, steps)
        if found is None:
            return unchecked_layout(made.shape, made.stride, ...)
        for k, n in found:
            reached[k] = n
    valid = valid_by_leaves(b, unchecked_layout(b.shape, b.stride, ...), [_least(n, m) for n, m in zip(own, reached)])
    if isinstance(b.shape, tuple) or valid._origin is None or valid._origin is ...:
        return Layout(made.shape, made.stride, valid._origin)
    return Layout(made.shape, made.stride, spread_valid(product_each(made.shape), valid._origin[0]))


def _least(n: Any, m: Any) -> Any:
    """The smaller of two counts; None where that is not known."""
    fits = at_most(n, m)
    return None if fits is None else n if fits else m


def _reaching(count: Any, steps: list[tuple[Any, int, Any]]) -> list[tuple[int, Any]] | None:
    """Of modes (stride, place, extent), how much of each goes to what is below count; None where that is no box."""
    if not all(at_most(0, d) and at_most(1, s) for d, _k, s in steps):
        return None
    if at_most(functools.reduce(add, (mul(s - 1, d) for d, _k, s in steps), _1), count):
        return [(k, s) for _d, k, s in steps]
    if not all(known(d) is not None for d, _k, _s in steps):
        return None
    steps = sorted(steps, key=lambda step: step[0])
    places = itertools.accumulate((s for _d, _k, s in steps), mul, initial=_1)
    if not all(equal(d, place) for (d, _k, _s), place in zip(steps, places)):
        return None
    found = spread_valid([s for _d, _k, s in steps], count)
    return None if found is ... else [(k, n) for (_d, k, _s), n in zip(steps, found)]


def _composed(a: Layout, b: Layout) -> Layout:
    plain_a, plain_b = a.plain_modes(), b.plain_modes()
    if plain_a and plain_b:
        cut, why = cut_by(plain_a, plain_b)
        _require(why, a, b)
        return cut_like(b.shape, cut)
    _require_places(a, b)
    outers: dict[tuple[int, ...], Outer | OuterOfSymbols] = {}  # of the modes of a that b goes to; () is all of a, for offsets
    for path in map(path_of, leaves(b.stride)):
        if path not in outers:
            inner = [(s, d) for s, d in flat_modes(b) if path_of(d) == path]
            outers[path] = outer_of(_mode_at(a, b, path), inner, lambda: f"composition of {shown(a)} o {shown(b)}")
    if any(equal(s, 0) for s in leaves(b.shape)):
        if any(is_constant(0, s) for s in leaves(b.shape)):
            strides = iter([_0 if path_of(d) else d for d in leaves(b.stride)])  # there are no coordinates to go to
            return unchecked_layout(b.shape, like(b.stride, strides, Stride))
        if any(len(o.modes) > 1 for o in outers.values()):  # one mode is never cut: the profile is that of other extents
            what = f"composition: {shown(b)} has a dynamic extent of 0"
            raise RangeError(what, "extents of 1 or more, or a static 0", "compose nothing then")
    if any(equal(s, 0) for s in leaves(a.shape)):
        raise RangeError(f"composition: {shown(a)} has no elements", "an outer layout that has some", "compose only what is not empty")
    parts = [(path_of(d), s, outers[path_of(d)].pieces(s, step_of(d))) for s, d in flat_modes(b)]
    for path, outer in outers.items():
        own = [(s, pieces) for p, s, pieces in parts if p == path]
        _require(outer.why_not_parts([pieces for _s, pieces in own], [s for s, _pieces in own]), a, b)
    shapes, strides = (iter([_joined(cls, pieces, k) for _path, _s, pieces in parts]) for k, cls in ((0, Shape), (2, Stride)))
    return unchecked_layout(like(b.shape, shapes, Shape), like(b.shape, strides, Stride))


def _require_places(a: Layout, b: Layout) -> None:
    """RankError where b has no value: where one of its strides goes along a mode, and another one into that mode."""
    paths = {path_of(d) for s, d in flat_modes(b) if not is_constant(1, s) and not is_constant(0, step_of(d))}
    inside = next((p for p in paths for q in paths if len(q) < len(p) and p[: len(q)] == q), None)
    if inside is not None:
        what = f"composition: {shown(a)} o {shown(b)}: the mode {'@'.join(map(str, reversed(inside)))} is an integer and a tuple"
        raise RankError(what, "coordinates of one nesting", "use basis elements of other modes")


def _require(why: str | None, a: Layout, b: Layout) -> None:
    if why:
        raise DivisibilityError(f"composition: {shown(a)} o {shown(b)}: {why}", "steps that go evenly through the outer layout", MEND)


def cut_by(a: Modes, b: Modes) -> tuple[list[Pieces], str | None]:
    """The pieces of each mode of b, as steps of a; and why they do not make the composition, None if they do."""
    outer = merged(a, unbounded=True)
    if len(outer) == 1:  # linear
        ((_s, step),) = outer
        return [[(s, d, d * step)] for s, d in b], None
    steps = Steps(outer)
    cut = [steps.runs(s, d) if s > 1 and d else [(s, d, _of_one(steps, d))] for s, d in b]
    return cut, steps.why_not([piece for pieces in cut for piece in pieces], exact=True)


def _of_one(steps: Steps, d: int) -> int:
    """The stride of a mode of extent 1, which the law leaves open: CuTe's."""
    for s, _d in steps.functions[0][:-1]:
        d = -(-d // s) if d > 0 else d // s  # away from 0
    return d * steps.functions[0][-1][1]


def cut_like(profile: Any, cut: list[Pieces]) -> Layout:
    """The static layout in which each integer of the profile is cut into pieces."""
    plain = [(n, t) for pieces in cut for n, _x, t in pieces]
    for _n, t in plain:
        if not INT64_MIN <= t <= INT64_MAX:
            leaf(t)  # refuses it
    return plain_layout(plain, functools.partial(_wrapped_like, profile, cut))


def _wrapped_like(profile: Any, cut: list[Pieces]) -> tuple[Any, Any]:
    shapes = (static(p[0][0]) if len(p) == 1 else tuple.__new__(Shape, [static(n) for n, _x, _t in p]) for p in cut)
    strides = (static(p[0][2]) if len(p) == 1 else tuple.__new__(Stride, [static(t) for _n, _x, t in p]) for p in cut)
    return like(profile, shapes, Shape), like(profile, strides, Stride)


def _mode_at(a: Layout, b: Layout, path: tuple[int, ...]) -> list[Mode]:
    """The modes of a that a path leads to, merged; past their size they go on along the last one."""
    for i in path:
        if not isinstance(a.shape, tuple) or i >= len(a.shape):
            what = f"composition: {shown(b)} goes to mode {'@'.join(map(str, reversed(path)))} of {shown(a)}"
            raise RankError(what, "coordinates that the outer layout has", "nest the coordinates no deeper than its shape")
        a = a[i]
    rest = [(_1, _0)] if ends_empty(a.shape) else []  # what is left of an index goes to the last mode: here, to none
    return merge([*flat_modes(a), *rest], unbounded=True)


def _joined(cls: type[IntTuple], pieces: list[Piece], k: int) -> Any:
    return pieces[0][k] if len(pieces) == 1 else cls(*(p[k] for p in pieces))


# ------------------------------------------------------------------------------------- filter, complement


def filter_zeros(layout: Layout, profile: Any = None) -> Layout:
    """The layout with extent 1 for every mode of static stride 0: the same offsets, each as often as it is different.

    profile   congruent to the shape: its static zeros count instead of the strides'
    Raises    RangeError for such a mode of a dynamic extent of 0, Unproven where it may be one: it has no offsets

    >>> from tla import filter_zeros, parse
    >>> print(filter_zeros(parse("((_4,8),_3):((_0,_1),0)")))
    ((_1,8),_3):((_0,_1),0)

    Source: CuTe `filter_zeros`.
    """
    if not isinstance(layout, Layout):
        return elsewhere(filter_zeros, layout, profile)
    zeros = layout.stride if profile is None else as_int_tuple(profile)
    require_congruent("filter_zeros", layout.shape, zeros)
    # an extent of static 0 stays: what has no offsets must not get one
    gone = [is_constant(0, z) and not is_constant(0, s) for s, z in zip(leaves(layout.shape), leaves(zeros))]
    for s in itertools.compress(leaves(layout.shape), gone):
        if not require("<=", 1, s, lambda: f"filter_zeros of {shown(layout)}"):
            what = f"filter_zeros of {shown(layout)}: a dynamic extent of 0"
            raise RangeError(what, "extents of 1 or more, or a static 0", "leave out what is empty")
    extents = iter([_1 if one else s for one, s in zip(gone, leaves(layout.shape))])
    new = unchecked_layout(like(layout.shape, extents, Shape), layout.stride)
    valid = valid_leaves(layout)
    return valid_by_leaves(new, layout, valid and [*map(_least, valid, leaves(new.shape))])


def filter(layout: Layout, profile: Any = None) -> Layout:
    """The coalesced layout without its modes of static stride 0: what is left of a broadcast.

    profile   a tuple filters mode by mode, as coalesce does

    >>> import tla
    >>> print(tla.filter(tla.parse("((_4,8),_3):((_0,_1),_8)")))
    (8,_3):(_1,_8)

    Source: CuTe `filter`.
    """
    return coalesce(filter_zeros(layout), profile)


@memo
def complement(layout: Layout, cotarget: Any = None) -> Layout:
    """The offsets that `layout` leaves out, as a layout: the other half of a tiling.

    layout     injective; its modes of static stride 0 do not count
    cotarget   an integer or a shape; the result reaches offsets up to its size [elements]. By default as far as `layout`
    Returns    R, ordered by stride, with (layout, R) injective
    Raises     InjectivityError where two coordinates of `layout` share an offset, or its modes interleave in a way that
               is not known to be injective; Unproven where the order of its strides is not known; DivisibilityError for
               a cotarget with dynamic modes that do not divide

    >>> from tla import Int, complement, parse
    >>> print(complement(parse("(_2,_2):(_4,_1)"), Int[24]()))
    (_2,_3):(_2,_8)

    Law: no two coordinates of (layout, R) share an offset. Where each stride is a multiple of where the mode before it ends,
    extent * stride, they cover [0, size(cotarget)); so they do not of (_7,_3):(_1,_16), where 14 and 15 stay free. Then R has no
    more modes than that takes, and for a cotarget that is static or one integer no more elements; another one rounds up in the
    mode where the layout ends, as CuTe does, so that its static extents stay static.
    Source: CuTe `complement`; static cotargets that do not divide are covered here.
    """
    as_layout("complement", layout)
    plain = layout.plain_modes()
    if plain and type(cotarget) is Int and cotarget >= 0 and (free := plain_complement(plain, int(cotarget))):
        return wrapped(free)
    modes = _counted(layout)
    target = cosize(filter(layout)) if cotarget is None else as_int_tuple(cotarget)
    if any(at_most(n, -1) for n in leaves(target)):
        raise RangeError(f"complement of {shown(layout)}: the cotarget {shown(target)}", "0 or more", "give how many offsets to reach")
    gaps, period = _gaps(layout, modes)
    return from_modes(merge([*gaps, *_covering(target, period)]))


def reach_of(layout: Layout) -> Any:
    """How far the modes of a layout reach with the gaps between them filled: what complement counts from."""
    return _gaps(layout, _counted(layout))[1]


def _counted(layout: Layout) -> list[Mode]:
    """The modes that a complement goes by: those that step."""
    modes = [(s, d) for s, d in flat_modes(layout) if not is_constant(0, d) and not is_constant(1, s)]
    if any(isinstance(d, ScaledBasis) for _s, d in modes):
        raise LeafTypeError(f"complement of {shown(layout)}", "a layout of offsets", "coordinates have no order: take each mode for itself")
    return modes


M = TypeVar("M", bound="tuple[Any, ...]")


def by_stride(modes: list[M], where: Callable[[], str]) -> list[M]:
    """Modes (extent, stride, ...) by their strides, the smallest first, where that order is known whatever dynamic integers hold."""
    if len(modes) < 2 or all(type(m[1]) is Int for m in modes):
        return sorted(modes, key=itemgetter(1))
    if any(type(m[1]) is int for m in modes):
        raise Unproven(f"{where()}: the order of its strides is not static", "static strides, or one mode", "write its strides as Int[N]()")
    out: list[M] = []
    rest = [*modes]
    while rest:
        first = smallest(rest)
        if first is None:  # what is not known is asked for
            first = next(m for m in rest if not any(at_most(m[1], n[1]) is False for n in rest))
            for m in rest:
                require("<=", first[1], m[1], where)
        rest.remove(first)
        out.append(first)
    return out


def smallest(modes: list[M]) -> M | None:
    """The mode whose stride is proved to be no larger than any other; None where none is."""
    return next((m for m in modes if all(at_most(m[1], n[1]) for n in modes)), None)


def plain_complement(modes: Modes, n: int) -> Modes | None:
    """The complement of static modes in range(n); None where it is refused, with a reason, below."""
    out, period = [], 1
    for d, s in sorted([(d, s) for s, d in modes if d and s > 1]):
        gap = d // period
        if gap < 1:
            return None
        if gap > 1:  # no two of these merge: each reaches up to d, and the next begins at d * s
            out.append((gap, period))
        period = d * s
    return out if n <= period else [*out, (-(-n // period), period)]


def ends_and_strides(layout: Layout) -> list[tuple[Any, Any]]:
    """For each mode that steps, in the order of the strides, where those before it end, and its stride: where the first does not
    divide the second, some of what lies between is in no copy of them."""
    modes = by_stride(_counted(layout), lambda: f"the order of {shown(layout)}")
    return [*zip([_1, *(mul(s, d) for s, d in modes)], (d for _s, d in modes))]


def _gaps(layout: Layout, modes: list[Mode]) -> tuple[list[Mode], Any]:
    """The gaps that modes leave below them, in the order of their strides, and the offset where the last mode ends."""
    out: list[Mode] = []
    period: Any = _1

    def where() -> str:
        return f"complement of {shown(layout)}"

    for s, d in by_stride(modes, where):
        require_positive("complement: an extent or stride", s)
        require_positive("complement: an extent or stride", d)
        if not require("<=", period, d, where):
            raise InjectivityError(
                f"{where()}: the mode {s}:{d} starts inside of what is below it, which reaches up to {period}",
                "each stride past the reach of the smaller ones",
                f"use a stride of {period:d} or more",
            )
        out.append((settled(d // period, d, period), period))
        period = mul(d, s)
    return out, period


def _covering(target: Any, period: Any) -> list[Mode]:
    """Compact modes from `period` on that reach the size of target: one for each run of static or dynamic modes in it."""
    size = product(target)
    if type(size) is Int or known(size) is None or not isinstance(target, tuple):
        return [(settled(ceil_div(size, period), size, period), period)]
    out, start = [], period
    parts = target if is_constant(1, period) else divide_up(target, period)
    for _static, run in itertools.groupby(leaves(parts), key=lambda n: type(n) is Int):
        n = functools.reduce(mul, run)
        out.append((n, start))
        start = mul(start, n)
    if at_most(size, start) is False:
        what = f"complement: the cotarget {shown(target)} does not divide by {period} mode by mode"
        raise DivisibilityError(what, f"modes that {period} divides, or that divide it", f"give the cotarget as one integer, {size}")
    return out


def with_shape(layout: Layout, shape: Any) -> Layout:
    """The layout seen through another shape: the same function of an integer, in other modes.

    >>> from tla import parse, with_shape, _4
    >>> print(with_shape(parse("(_2,_8):(_1,_4)"), (_4, _4)))
    ((_2,_2),_4):((_1,_4),_8)

    Raises what composition does. Source: CuTe `Layout::with_shape`.
    """
    target = as_int_tuple(shape)
    return composition(layout, Layout(target, compact_col_major(target)))
