"""Coalesce, and the filters that coalesce what is left.

Source: CuTe include/cute/layout.hpp.
"""

from __future__ import annotations

import itertools
from typing import Any, SupportsIndex, TypeAlias

from ..core.cache import memo
from ..core.digits import merged
from ..core.errors import RankError
from ..core.int_tuple import Underscore, as_int_tuple, leaves, like, opened, shown
from ..core.ints import IntTree, IntTupleLike, _1, is_constant
from ..core.kinds import by_kind, certified
from ..core.layout import Layout, carried, join, unchecked_layout, with_valid
from ..core.profiles import require_congruent
from ..core.questions import no_elements, require
from ..core.strides import Shape
from ..core.valid import ALL
from .flat_modes import flat_modes, from_modes, merge, wrapped

#: A profile: an integer, `_`, `:` or None for a mode, or a tuple of these, nested.
ProfileLike: TypeAlias = "SupportsIndex | Underscore | slice | tuple[ProfileLike, ...] | None"


@certified
@memo
@by_kind(Layout)
def coalesce(layout: Layout, profile: ProfileLike = None) -> Layout:
    """The same function of an integer in the fewest modes.

    profile   a tuple coalesces mode by mode in its nesting, and keeps the modes that it does not reach; an integer, `_`
              or None in it stands for a mode
    Returns   depth at most 1, no two neighbours that merge. A mode merges into its left neighbour where that is static
              knowledge: a dynamic extent on the right, or a dynamic stride, stays. origin_shape is kept with a profile
    Raises    RankError where the profile has more modes than the layout

    >>> from tla import coalesce, parse
    >>> print(coalesce(parse("(_2,(_1,_6)):(_1,(_6,_2))")), coalesce(parse("(_4,2):(_1,_4)")))
    _12:_1 (_4,2):(_1,_4)
    >>> print(coalesce(parse("((_2,_2),(_4,_2)):((_1,_2),(_4,_16))"), (_1, _1)))
    (_4,_8):(_1,_4)
    >>> print(coalesce(parse("((_2,_2),(_4,_2)):((_1,_2),(_4,_16))"), (None, None)))
    (_4,_8):(_1,_4)

    Law: size(R) == size(A), and R(i) == A(i) for every i.
    Source: CuTe `coalesce`.
    """
    if layout._valid is not ALL:
        return carried(lambda place: place, layout, coalesce(with_valid(layout, ALL), profile))
    if profile is None and (plain := layout.plain_modes()):
        return wrapped(merged(plain))
    profile = as_int_tuple(_whole_modes(opened(profile)))
    if isinstance(profile, tuple):
        modes = top_modes("coalesce", layout, profile)
        if len(profile) > len(modes):
            what = f"coalesce: profile {shown(profile)} for {shown(layout)}"
            raise RankError(what, f"at most {len(modes)} modes", "give one for each mode, or fewer")
        return join([*map(coalesce, modes, profile), *modes[len(profile) :]])
    return from_modes(merge(flat_modes(layout)))


def _whole_modes(profile: Any) -> IntTree:
    """A profile with an integer for each `_`, which is all of a mode."""
    if isinstance(profile, tuple):
        return tuple(map(_whole_modes, profile))
    return _1 if profile is None or isinstance(profile, Underscore) else profile


def top_modes(name: str, layout: Layout, goes_through: tuple[Any, ...]) -> tuple[Layout, ...]:
    """The modes of a layout for a tuple that goes through them. One integer is one mode, with none in it."""
    if not isinstance(layout.shape, tuple) and any(isinstance(x, tuple) for x in goes_through):
        what = f"{name}: nested tuples for {shown(layout)}, which is one integer"
        raise RankError(what, "an integer, or a layout", "nest no deeper")
    return tuple(layout)


@by_kind(Layout)
def filter_zeros(layout: Layout, profile: IntTupleLike | None = None) -> Layout:
    """The layout with extent 1 for every mode of static stride 0: no offset is repeated by a broadcast.

    profile   congruent to the shape: its static zeros count instead of the strides'
    Raises    RangeError for such a mode of a dynamic extent of 0, Unproven where it may be one: it has no offsets

    >>> from tla import filter_zeros, parse
    >>> print(filter_zeros(parse("((_4,8),_3):((_0,_1),0)")))
    ((_1,8),_3):((_0,_1),0)

    Source: CuTe `filter_zeros`.
    """
    zeros = layout.stride if profile is None else as_int_tuple(profile)
    if layout._valid is not ALL:
        return carried(lambda place: filter_zeros(place, zeros), layout)
    require_congruent("filter_zeros", layout.shape, zeros)
    # an extent of static 0 stays: what has no offsets must not get one
    gone = [is_constant(0, z) and not is_constant(0, s) for s, z in zip(leaves(layout.shape), leaves(zeros))]
    for s in itertools.compress(leaves(layout.shape), gone):
        if not require("<=", 1, s, lambda: f"filter_zeros of {shown(layout)}"):
            raise no_elements(f"filter_zeros of {shown(layout)}")
    extents = iter([_1 if one else s for one, s in zip(gone, leaves(layout.shape))])
    return unchecked_layout(like(layout.shape, extents, Shape), layout.stride)


@by_kind(Layout)
def filter(layout: Layout, profile: ProfileLike = None) -> Layout:
    """The coalesced layout without its modes of static stride 0: what is left of a broadcast.

    profile   a tuple filters mode by mode, as coalesce does

    >>> import tla
    >>> print(tla.filter(tla.parse("((_4,8),_3):((_0,_1),_8)")))
    (8,_3):(_1,_8)

    Source: CuTe `filter`.
    """
    return coalesce(filter_zeros(layout), profile)
