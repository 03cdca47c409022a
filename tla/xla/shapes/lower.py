"""XLA's tiled layouts as hierarchical ones: shape:stride, one mode per logical dimension.

Parse, plan, apply. The plan is the digits of every dimension after all tile levels, major to minor: a digit of extent n
at place p is (coordinate // p) % n. Strides are running products of the slots that the digits take.

Where a tile cuts what is no digit (it does not divide what the tile before it leaves, or `*` merges dimensions), the
plan goes up to there, into coordinates, and another plan begins from these: the layouts of all plans are composed.

Source: XLA docs/tiled_layout.md for the meaning; the digits are ours.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from ...algebra.coalesce import coalesce
from ...algebra.compose import compose
from ...algebra.flat_modes import has_symbols
from ...core.basis import E, ScaledBasis
from ...core.composed import ComposedLayout
from ...core.digits import ENUMERABLE, merged
from ...core.errors import DivisibilityError, LoweringError, RangeError, RankError, Unproven
from ...core.int_tuple import leaves, size
from ...core.ints import IntTupleLike, as_static, static
from ...core.kinds import AnyLayout
from ...core.layout import Layout, static_layout
from ...core.questions import at_most
from .arguments import integers_of
from .array_shape import COMBINE, ArrayShape, groups
from .grammar import as_shape, named_shape
from .index import logical_dimensions
from .map_chain import offsets_in
from .tile_padding import UNREACHED, Digit, plan, tiled, untiled
from .values import Shape


def lower(shape: Shape | str, /, **sizes: IntTupleLike) -> Layout | ComposedLayout:
    """The layout of an XLA array: one mode per logical dimension, in logical order; offsets in elements.

    sizes     what the names stand for that are dimensions of a text, as in bf16[M,N]: integers, or symbols with facts.
              A name that is not given becomes dim(name)
    Returns   a Layout where there is one: extents padded to whole tiles, numbers static, origin_shape = the dimensions.
              A mode is coalesced; digits of extent 1 are dropped, and a mode with no digit left is _1:_0. Slots that no
              coordinate reaches (the rows that the tile of a scalar pads) count in padded_element_count, not here. Else
              a ComposedLayout, exact: through the coordinates in the tiles. Past 65,536 elements only a proof makes a
              Layout of tiles that do not divide each other
    Raises    ParseError for a text that is no shape; LoweringError for SC, or a dimension without a bound

    >>> print(lower("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}"))
    (_8,_1,(_2,_4,_160),(_128,_128)):(_20971520,_0,(_1,_256,_131072),(_2,_1024))
    >>> lower("f32[3,5]{1,0:T(2,2)}")
    parse('((_2,_2),(_2,_3)):((_2,_12),(_1,_4))', origin_shape=parse('(_3,_5)'))
    >>> print(lower("f32[6,10]{1,0:T(3,5)(2,2)}"))
    (_2,_2,(_2,_2),(_2,_3)):(_48,_24,(_2,_12),(_1,_4)) o _0 o ((_3,_2),(_5,_2)):((_1@2,_1@0),(_1@3,_1@1))
    >>> from tla import dim
    >>> print(lower("bf16[M,N]{1,0:T(8,128)(2,1)}", N=dim("N", multiple_of=128)))
    ((_2,_4,ceil(M/8)),(_128,N//128)):((_1,_256,8*N),(_2,_1024))

    Law: lower(shape)(*index) == linear_index(shape, index) for every index of the array.
    Source: XLA docs/tiled_layout.md; docs/xla.md.
    """
    shape = named_shape(shape, sizes)
    dims = logical_dimensions(shape)
    whole: Layout | ComposedLayout
    *inner, whole = _stages(shape)
    if not inner:
        return whole
    if 0 in dims:
        return Layout(tuple(map(as_static, dims)), (static(0),) * len(dims))
    for stage in reversed(inner):
        whole = _after(whole, _padded(stage, whole))
    if isinstance(whole, Layout):
        return _valid(coalesce(whole, tuple(map(as_static, dims))), dims)  # mode by mode
    return _valid(_by_axes(whole, dims) or whole, dims)


def lower_padded(dims: Sequence[int], minor_to_major: Sequence[int], padded_dimensions: Sequence[int]) -> Layout:
    """The layout of the early form, which padded every logical dimension at its high end and had no tiles.

    dims, minor_to_major   of the array
    padded_dimensions      as many, each at least its dimension [elements]

    >>> lower_padded((2, 3), (0, 1), (3, 5))
    parse('(_3,_5):(_1,_3)', origin_shape=parse('(_2,_3)'))

    Raises RankError where the numbers do not fit each other, RangeError for a padded dimension smaller than its
    dimension, or an order that is none. Source: xla_data.proto of 2017, Layout.padded_dimensions, which has
    no text form.
    """
    sizes, padded = integers_of("dims", dims), integers_of("padded_dimensions", padded_dimensions)
    order = integers_of("minor_to_major", minor_to_major)
    if not len(sizes) == len(padded) == len(order):
        what = f"{len(sizes)}, {len(padded)} and {len(order)} numbers"
        raise RankError(what, "equal ranks", "give one for each dimension")
    if sorted(order) != [*range(len(sizes))]:
        what = f"minor_to_major {order}"
        raise RangeError(what, f"each of 0 to {len(sizes) - 1} once", "list them, the minor-most first")
    for n, p in zip(sizes, padded):
        if not 0 <= n <= p:
            what = f"the dimension {n}, padded to {p}"
            raise RangeError(what, "padded_dimensions that are no smaller", "pad more, or not at all")
    strides = dict(zip(order, itertools.accumulate((padded[d] for d in order), initial=1, func=int.__mul__)))
    steps = (strides[d] for d in range(len(sizes)))
    return Layout(tuple(map(static, padded)), tuple(map(static, steps)), tuple(map(static, sizes)))


def _after(outer: object, stage: Layout) -> Any:
    """outer after stage: one layout where that is known to exist."""
    try:
        return compose(outer, stage)
    except (DivisibilityError, Unproven):  # of symbols
        return ComposedLayout(outer, static(0), stage)


def _padded(stage: Layout, outer: AnyLayout) -> Layout:
    """The stage with the most significant digits padded as `outer` pads them: those alone in their coordinate."""
    goes_to = [d.path[0] for d in leaves(stage.stride) if isinstance(d, ScaledBasis)]
    shapes = []
    for s, d in zip(stage.shape, stage.stride):
        *lower, n = s if isinstance(s, tuple) else (s,)
        top = d[-1] if isinstance(d, tuple) else d
        if isinstance(top, ScaledBasis) and top.value == 1 and goes_to.count(top.path[0]) == 1:
            n = size(outer.shape[top.path[0]])
        shapes.append(_nested([*lower, n]))
    return Layout(tuple(shapes), stage.stride)


def _valid(layout: Layout | ComposedLayout, dims: tuple[int, ...]) -> Layout | ComposedLayout:
    """The layout with the dimensions for its origin_shape."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, _valid(layout.inner, dims))  # type: ignore[no-any-return]
    return Layout(layout.shape, layout.stride, tuple(map(as_static, dims)))


def _by_axes(whole: ComposedLayout, dims: tuple[int, ...]) -> Layout | None:
    """The one layout that a composed one is, if it is; None where it is not, or is too large to go through.

    The offsets along each dimension, with 0 in the others, determine its mode; that these add up is checked everywhere.
    """
    if has_symbols(dims) or math.prod(dims) > ENUMERABLE:
        return None
    truth = offsets_in(whole, dims).reshape(dims)
    modes = [_axis(truth[(0,) * d + (slice(None),) + (0,) * (len(dims) - d - 1)].tolist()) for d in range(len(dims))]
    if None in modes:
        return None
    found = static_layout([mode or [] for mode in modes])
    return found if (offsets_in(found, dims) == truth.ravel()).all() else None


def _axis(offsets: list[int]) -> list[tuple[int, int]] | None:
    """The modes of a function of one coordinate by its values; None if it is no layout. The last one may overhang."""
    modes: list[tuple[int, int]] = []
    while len(offsets) > 1:
        step = offsets[1]
        n = next((c for c, x in enumerate(offsets) if x != c * step), len(offsets))
        modes.append((n, step))
        heads = offsets[::n]
        if any(x != heads[i // n] + i % n * step for i, x in enumerate(offsets)):
            return None
        offsets = heads
    return modes


def digits(shape: Shape | str) -> tuple[tuple[Digit, ...], ...]:
    """The digits of each logical dimension with their strides, the least significant first; those of extent 1 left out.

    >>> [(d.role, d.extent, d.stride) for d in digits("bf16[16,256]{1,0:T(8,128)(2,1)}")[0]]
    [('packing', 2, 1), ('sublane', 4, 256), ('tile', 2, 2048)]
    """
    shape = as_shape(shape)
    return tuple(_in_memory(plan(shape), logical_dimensions(shape)))


def _stages(shape: ArrayShape) -> list[Layout]:
    """Layouts to compose, the first from the array's coordinates, the last into offsets: one where one plan does."""
    stages, digits, dims = [], untiled(shape), logical_dimensions(shape)
    for level, tile in enumerate(shape.effective_layout.tiles):
        try:
            digits = tiled(digits, tile, level, shape)
        except LoweringError:
            digits = [UNREACHED] * (len(tile) - len(digits)) + digits
            left = len(digits) - len(tile)
            merged = [*zip(range(left)), *(group for group, _t in groups(tuple(range(left, len(digits))), tile))]
            stages.append(_into_coordinates(digits, merged, dims))
            dims = tuple(math.prod(digits[k].slots for k in group) for group in merged)
            digits = [Digit(k, n, 1, n, "") for k, n in enumerate(dims)]
            digits = tiled(digits, tuple(t for t in tile if t != COMBINE), level, shape)
    stages.append(_layout(digits, dims, valid=None if stages else dims))
    return stages


def _into_coordinates(digits: list[Digit], merged: list[tuple[int, ...]], dims: tuple[int, ...]) -> Layout:
    """The layout from coordinates to the digits, each group of these merged into one coordinate, the last fastest."""
    strides: list[Any] = [None] * len(digits)
    for k, group in enumerate(merged):
        step = 1
        for at in reversed(group):
            strides[at] = E[k] * as_static(step)
            step *= digits[at].slots
    modes = _by_dimension(digits, strides, dims)
    shapes = tuple(_mode([digit.extent for digit in ds], 1) for ds in modes)
    return Layout(shapes, tuple(_nested([digit.stride for digit in ds]) for ds in modes))


def _in_memory(digits: Sequence[Digit], dims: tuple[int, ...]) -> list[tuple[Digit, ...]]:
    """The digits of each dimension with their strides in memory, where they lie major to minor."""
    from_minor = digits[::-1]
    return _by_dimension(from_minor, itertools.accumulate([d.slots for d in from_minor], operator.mul, initial=1), dims)


def _layout(digits: Sequence[Digit], dims: tuple[int, ...], valid: tuple[int, ...] | None) -> Layout:
    modes = [merged([(d.extent, d.stride) for d in ds]) for ds in _in_memory(digits, dims)]
    if all(type(n) is int and n > 0 for n in dims):
        return static_layout(modes, valid)  # 64 bits hold the array's bytes: so they do its extents and strides
    shape, stride = (tuple(_mode([m[k] for m in mode], 1 - k) for mode in modes) for k in range(2))
    return Layout(shape, stride, None if valid is None else tuple(map(as_static, valid)))


_PLACE = operator.attrgetter("place")


def _by_dimension(digits: Iterable[Digit], strides: Iterable[Any], dims: tuple[int, ...]) -> list[tuple[Digit, ...]]:
    """Each dimension's digits with these strides, least significant first, as far as each counts on from the last."""
    found = list[list[Digit]]([] for _n in dims)
    for digit, stride in zip(digits, strides):
        if digit.extent != 1 and digit.dimension is not None:
            found[digit.dimension].append(Digit(*digit[:5], stride))
    return [_counting_on(sorted(ds, key=_PLACE), n) for ds, n in zip(found, dims)]


def _counting_on(digits: list[Digit], n: int) -> tuple[Digit, ...]:
    out: list[Digit] = []
    weight = 1
    for digit in digits:
        if digit.place != weight:
            # Padding left a gap below it, and padding does so at the top only: no coordinate reaches this digit.
            assert not at_most(digit.place, n - 1)
            break
        out.append(digit)
        weight *= digit.extent
    return tuple(out)


def _mode(numbers: list[int], empty: int) -> object:
    """The shape or stride of a mode: one static integer, or a tuple of them."""
    return _nested([as_static(n) for n in numbers or [empty]])


def _nested(leaves: list[Any]) -> Any:
    return leaves[0] if len(leaves) == 1 else tuple(leaves) if leaves else static(0)
