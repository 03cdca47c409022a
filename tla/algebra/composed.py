"""The algebra on composed layouts.

What changes the coordinates only acts on the inner layout. What tla/algebra/swizzled.py moves through a swizzle, and
what is inverted or recast here, is proved bit by bit or checked on the whole domain.

Source: CuTe include/cute/swizzle_layout.hpp and layout_composed.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..core.composed import ComposedLayout, innermost
from ..core.conversions import idx2crd
from ..core.coord import CoordLike
from ..core.digits import ENUMERABLE, first_of
from ..core.errors import DivisibilityError, LeafTypeError, Reason, Unproven
from ..core.int_tuple import get, leaves, like, product_each, shown, size
from ..core.ints import Int, IntLike, Leaf, _0, _1, is_constant, is_int, known, static
from ..core.kinds import AnyLayout, on, over
from ..core.layout import Layout, as_layout, join
from ..core.leaf_arithmetic import mul
from ..core.make_layout import MakeLayout
from ..core.profiles import flatten
from ..core.questions import equal
from ..core.swizzle import Swizzle, make_swizzle
from . import coalesce, divide, modes
from .codomain import coshape, cosize
from .common import max_common_layout, nullspace
from .complement import complement
from .composition import composition
from .divide import logical_product
from .exhaustive import agree, first_difference, values_of
from .flat_modes import flat_modes, has_symbols, wrapped
from .inverse import left_inverse, right_inverse
from .modes import dice, slice_, slice_and_offset
from .predicates import (
    differs,
    is_bijective,
    is_compact,
    is_injective,
    is_surjective,
    number_of_offsets,
    same_map,
    without_broadcasts,
)
from .recast import downcast, upcast

# -------------------------------------------------------------------------------------------------- inverses


@on(ComposedLayout, right_inverse)
def _right_inverse(layout: ComposedLayout) -> Any:
    swizzle = _swizzle_of("right_inverse", layout)
    what = f"right_inverse of {shown(layout)}"
    if not is_constant(0, layout.offset):
        raise DivisibilityError(f"{what}: nothing is at offset 0", "an offset of 0", "invert it without the offset")
    found = right_inverse(layout.inner)
    n = known(size(found))
    if n is None:
        raise Unproven(what, "a known size", "give its symbols values first")
    block = 1 << (swizzle.reads | swizzle.changes).bit_length()  # a swizzle moves offsets inside of blocks of this size
    if n % block > ENUMERABLE:
        expected = f"at most {ENUMERABLE:,}, to check them"
        raise Unproven(f"{what}: {n % block} offsets past whole blocks", expected, "take a smaller tile")
    start = n - n % block
    outside = first_difference(lambda x: swizzle(start + x) // n, lambda x: 0 * x, n % block)  # it comes from there
    fits = n if outside is None else start + outside
    whole = static(fits) if type(size(found)) is Int else fits
    try:
        return composition(composition(found, swizzle), Layout(whole, _1))
    except (DivisibilityError, Unproven):
        return ComposedLayout(found, _0, ComposedLayout(swizzle, _0, Layout(whole, _1)))


@on(ComposedLayout, left_inverse)
def _left_inverse(layout: ComposedLayout) -> Any:
    """The plain inverse with the swizzle in front of it, where every value agrees; else the inverse of each part, the
    last one first."""
    swizzle, found, n = _swizzle_of("left_inverse", layout), left_inverse(layout.inner), known(size(layout))
    if n is not None and n > ENUMERABLE:  # an inner layout that has an inverse has no negative strides
        most = layout.offset + int(cosize(layout.inner)) - 1
        return _undone(layout, swizzle, found, max(most, swizzle.reads | swizzle.changes))
    values = values_of(layout, f"left_inverse of {shown(layout)}")
    if is_constant(0, layout.offset):
        try:
            moved = composition(found, swizzle)
            if agree(moved, lambda y: found(swizzle(y)), values):
                return moved
        except (DivisibilityError, Unproven):
            pass
    return _undone(layout, swizzle, found, max(values, default=0))


def _undone(layout: ComposedLayout, swizzle: Swizzle, found: AnyLayout, most: IntLike) -> Any:
    """The inverse of each part, for offsets of as many bits as `most`: a swizzle is its own."""
    span = 1 << int(most).bit_length()
    whole = Layout(static(span) if layout.is_static else span, _1)
    return ComposedLayout(found, -layout.offset, ComposedLayout(swizzle, _0, whole))


@on(ComposedLayout, nullspace)
def _nullspace(layout: ComposedLayout) -> Layout:
    """The nullspace of a swizzled layout: a swizzle maps 0, and nothing else, to 0."""
    _swizzle_of("nullspace", layout)
    if not is_constant(0, layout.offset):
        raise DivisibilityError(
            f"nullspace of {shown(layout)}: nothing may be at offset 0", "an offset of _0", "move it into the pointer"
        )
    return nullspace(layout.inner)


def _swizzle_of(name: str, layout: ComposedLayout) -> Swizzle:
    if not isinstance(layout.outer, Swizzle) or not isinstance(layout.inner, Layout):
        what = f"{name} of {shown(layout)}"
        raise DivisibilityError(
            what, "a swizzle of a layout", "invert its parts: the inverse of A o B is that of B after that of A"
        )
    return layout.outer


@on(ComposedLayout, max_common_layout)
def _max_common_layout(a: ComposedLayout, b: Any) -> Layout:
    """The part of the inner layout of a swizzled one that stays together, at every place, so that one vector
    can move it."""
    swizzle = _swizzle_of("max_common_layout", a)
    if not is_constant(0, a.offset):
        raise DivisibilityError(
            f"max_common_layout of {shown(a)}: nothing is at offset 0", "an offset of _0", "move it into the pointer"
        )
    found, together = max_common_layout(a.inner, b), 1 << swizzle.base
    if not swizzle.bits or size(found) <= together:
        return found
    return wrapped(first_of(found.plain_modes(), together))


# ---------------------------------------------------------------------------------------------------- widths


@on(Swizzle, upcast)
def _upcast_swizzle(n: int) -> Callable[[Swizzle], Swizzle]:
    def up(swizzle: Swizzle) -> Swizzle:
        k = _log2(f"upcast[{n}] of {swizzle}", n)
        if swizzle.base < k and swizzle.bits and swizzle.shift < 0:
            what = f"upcast[{n}] of {swizzle}: bits inside of a wide element move others"
            raise DivisibilityError(what, f"a base of {k} or more", "use a narrower element")
        return make_swizzle(max(swizzle.bits + min(swizzle.base - k, 0), 0), max(swizzle.base - k, 0), swizzle.shift)

    return up


@on(Swizzle, downcast)
def _downcast_swizzle(n: int) -> Callable[[Swizzle], Swizzle]:
    return lambda sw: make_swizzle(sw.bits, sw.base + _log2(f"downcast[{n}] of {sw}", n), sw.shift)


def _log2(what: str, n: int) -> int:
    if n & (n - 1):
        raise DivisibilityError(what, "a power of 2", "recast the layout without its swizzle")
    return int(n).bit_length() - 1


@on(ComposedLayout, upcast)
def _upcast(n: int) -> Callable[[ComposedLayout], Any]:
    def up(layout: ComposedLayout) -> Any:
        if known(layout.offset) is None or layout.offset % n:
            raise DivisibilityError(
                f"upcast[{n}] of {shown(layout)}", f"an offset that {n} divides", "move it into the pointer"
            )
        return _recast(upcast, n, layout, layout.offset // static(n))

    return up


@on(ComposedLayout, downcast)
def _downcast(n: int) -> Callable[[ComposedLayout], Any]:
    return lambda layout: _recast(downcast, n, layout, mul(layout.offset, static(n)))


def _recast(operation: Any, n: int, layout: ComposedLayout, offset: Leaf) -> Any:
    """A composed layout whose parts are recast one by one, checked on the whole domain."""
    result = ComposedLayout(operation[n](layout.outer), offset, operation[n](layout.inner))
    wide, narrow = (result, layout) if operation is upcast else (layout, result)
    if isinstance(layout.outer, Layout) and not _same_elements(wide, narrow, n):  # a swizzle has whole elements
        raise DivisibilityError(
            f"{operation.__name__}[{n}] of {shown(layout)}", "parts that keep wide elements whole", "recast each apart"
        )
    return result


def _same_elements(wide: AnyLayout, narrow: AnyLayout, n: int) -> bool:
    """Whether each narrow element lies in the wide one of its coordinate: n of them, or as many as there are."""
    values_of(narrow, "recast")  # which refuses what is too large to go through
    steps = [1 if d % n == 0 else n // int(d) for _s, d in flat_modes(innermost(narrow))]
    shape = flatten(narrow.shape)
    for coord in itertools.product(*(range(int(s)) for s in leaves(shape))):
        place = [x // step for x, step in zip(coord, steps)]
        one, other = (like(shape, iter(c)) for c in (coord, place))
        if flatten(narrow)(one) // n != flatten(wide)(other):
            return False
    return True


# ------------------------------------------------------------------------------------------------- questions


@on(ComposedLayout, coshape)
def _coshape(layout: ComposedLayout, *path: int) -> Leaf:
    if path:
        return coshape(get[path](layout))
    if _is_permuted(layout):
        return coshape(layout.inner)
    values = values_of(layout, f"cosize of {shown(layout)}")
    span = max(values) + 1 - min(0, *values) if values else 0
    return static(int(span)) if layout.is_static else int(span)


def _is_permuted(layout: ComposedLayout) -> bool:
    """Whether a swizzle only permutes the offsets 0 to n - 1 of a layout that has each of them once.

    It permutes each aligned block of as many offsets as its highest bit reaches, so any number of these.
    """
    outer = layout.outer
    if not isinstance(outer, Swizzle) or not equal(layout.offset, 0) or known(size(layout)) is None:
        return False
    block = 1 << (outer.reads | outer.changes).bit_length()
    return int(size(layout)) % block == 0 and bool(is_bijective(layout.inner))


@on(ComposedLayout, is_injective)
def _is_injective(layout: ComposedLayout) -> Reason | bool | None:
    if isinstance(layout.outer, Swizzle):  # which is a permutation
        return is_injective._decide(layout.inner)
    return _on_values(layout, lambda values: len(set(values)) == len(values), "two coordinates share an offset")


@on(ComposedLayout, is_surjective)
def _is_surjective(layout: ComposedLayout, n: Any = None) -> Reason | bool | None:
    n = number_of_offsets(n)
    if _is_permuted(layout) and (n is None or known(n) == known(size(layout))):
        return True

    def reached(values: list[int]) -> bool:
        wanted = int(cosize(layout) if n is None else n)
        return wanted <= len(values) and set(values) >= set(range(wanted))

    return _on_values(layout, reached, "there are gaps")


def _on_values(layout: ComposedLayout, holds: Callable[[list[int]], bool], otherwise: str) -> Reason | bool | None:
    try:
        values = values_of(layout, "a question")
    except Unproven:
        return None
    if holds(values):
        return True
    return Reason(f"{shown(layout)}: {otherwise}", "another layout", "look them up in tla.offsets(layout)")


@on(ComposedLayout, is_compact)
def _is_compact(layout: ComposedLayout) -> Reason | bool | None:
    return is_bijective._decide(without_broadcasts(layout))


@on(ComposedLayout, same_map)
def _same_map(a: ComposedLayout, b: Any) -> Reason | bool | None:
    if not isinstance(b, (Layout, ComposedLayout)):
        b = as_layout("same_map", b)  # which refuses it
    if a == b:
        return True
    origins = a.origin_shape, b.origin_shape
    if None in origins or has_symbols(a.shape, b.shape, *origins):
        return None
    if a.origin_shape != b.origin_shape or product_each(a.shape) != product_each(b.shape):
        return Reason(f"{shown(a)} and {shown(b)} have other extents", "equal ones", "compare layouts of one shape")
    try:
        pairs = zip(values_of(a, "same_map"), values_of(b, "same_map"))
    except Unproven:
        return None
    first = next((i for i, (x, y) in enumerate(pairs) if x != y), None)
    return True if first is None else differs(a, b, tuple(leaves(idx2crd(first, product_each(a.shape)))))


# --------------------------------------------------------------------------------------------- put together


@on(ComposedLayout, logical_product, argument=1)
def _product_of_tile(a: Layout, b: ComposedLayout) -> AnyLayout:
    """logical_product(a, b): the swizzle of the copies in front of both, where it leaves the block as it is."""
    if not known(size(a)) or not known(size(b)) or size(a) * size(b) > ENUMERABLE:
        what = f"logical_product: {shown(a)} by {shown(b)}"
        raise Unproven(what, f"at most {ENUMERABLE:,} elements, to check them", "use smaller tiles")
    rest = complement(a, mul(size(a), cosize(b)))
    copies = composition(rest, b)
    if isinstance(copies, Layout):
        return join([a, copies])
    result = ComposedLayout(copies.outer, copies.offset, join([a, copies.inner]))
    n, copy_count = int(size(a)), int(size(b))
    if first_difference(result, lambda x: a(x % n) + copies(x // n), n * copy_count) is not None:
        what = f"logical_product: {shown(a)} by {shown(b)}: the swizzle moves elements of the block"
        raise DivisibilityError(what, "a swizzle of whole blocks", "use a base of more bits")
    return result


@on(Swizzle, MakeLayout)
def _whole(swizzle: Swizzle, *_more: Any) -> Any:
    """MakeLayout(swizzle): over all the bits that it knows."""
    return ComposedLayout(swizzle, _0, Layout(static(swizzle.period), _1))


@on(ComposedLayout, MakeLayout)
def _side_by_side(*modes: Any) -> Any:
    """MakeLayout(a, b, ...) of a swizzled layout and others: each adds its offset to that of the swizzled one.

    A swizzle repeats: what is added in whole periods passes it unchanged.
    """
    at, layout = next((i, m) for i, m in enumerate(modes) if isinstance(m, ComposedLayout))
    what = f"MakeLayout of {shown(layout)} and others"
    swizzle, inner = _swizzle_of("MakeLayout", layout), layout.inner
    period = swizzle.period
    others = [*modes[:at], *modes[at + 1 :]]
    for m in others:
        if not isinstance(m, Layout):
            fix = "put the plain layouts together first, and swizzle the result"
            raise LeafTypeError(f"{what}: {shown(m)}", "one swizzled layout, and plain ones", fix)
        for s, d in flat_modes(m):
            if not is_int(d):
                raise LeafTypeError(
                    f"{what}: a layout of coordinates", "offsets in all", "compose the coordinates with a layout first"
                )
            if not (is_constant(1, s) or equal(d % static(period), 0) is True):
                fix = "use tile_to_shape or append, which put the mode inside of the swizzle"
                raise DivisibilityError(
                    f"{what}: a stride of {d}", f"a multiple of {period}, where the swizzle repeats", fix
                )
    return layout.over(lambda _inner: join([*others[:at], inner, *others[at:]]))


# ------------------------------------------------------------------------- operations on the coordinates only


over(ComposedLayout, coalesce.coalesce, coalesce.filter, coalesce.filter_zeros, without_broadcasts)
over(ComposedLayout, modes.append, modes.prepend, modes.reverse, modes.group, modes.replace, modes.select, modes.take)
over(ComposedLayout, divide.logical_divide, divide.flat_divide, divide.tiled_divide, divide.zipped_divide)
over(ComposedLayout, logical_product, divide.flat_product, divide.tiled_product, divide.zipped_product)
over(ComposedLayout, divide.blocked_product, divide.raked_product, divide.tile_to_shape)


@on(ComposedLayout, slice_, argument=1)
def _slice(coord: CoordLike, layout: ComposedLayout) -> AnyLayout:
    return slice_and_offset(coord, layout)[0]


@on(ComposedLayout, dice, argument=1)
def _dice(coord: CoordLike, layout: ComposedLayout) -> Any:
    return layout.over(lambda inner: dice(coord, inner))
